/** Edges within strong components, which are all that cycles are made of. */
import type { Components } from '../graph-core/components.js'
import { fractionBits } from '../graph-core/fractions.js'
import { type EdgeRows, restrict, type WeightedRows } from '../graph-core/rows.js'
import { PER_STEP, type Steps } from '../graph-core/slices.js'

/** The edges within components, between places: nodes in the order of their components. `edge` are indices in the graph's rows. */
export interface Inner extends EdgeRows {
  /** Weights times 2^bits, negated for minima. Integers, unless `integers` says no: then they are not scaled. */
  readonly weight: Float64Array
  readonly integers: boolean
  readonly bits: number
  readonly sign: 1 | -1
}

/** Finds them; components below 0 have no places. */
export function* innerEdges(
  rows: WeightedRows,
  { of, members }: Pick<Components, 'of' | 'members'>,
  maximizes: boolean,
): Steps<Inner> {
  const inner = yield* restrict(rows, of, members)
  const { edge } = inner
  const weight = new Float64Array(edge.length)
  const sign = maximizes ? 1 : -1
  let largest = 0
  for (let k = 0; k < edge.length; k++) {
    if (k % PER_STEP === PER_STEP - 1) yield
    const value = sign * rows.weight[edge[k]!]!
    weight[k] = value
    if (Math.abs(value) > largest) largest = Math.abs(value)
  }
  const bits = fractionBits(weight)
  const integers = bits <= 1023 && largest * 2 ** bits <= Number.MAX_SAFE_INTEGER
  if (integers && bits > 0) for (let k = 0; k < edge.length; k++) weight[k]! *= 2 ** bits
  return { ...inner, weight, integers, bits, sign }
}
