/** Edges within strong components, which are all that cycles are made of. */
import type { Components } from '../graph/components.js'
import type { CompressedRows } from '../graph/compressed.js'
import { PER_STEP, type Steps } from '../graph/slices.js'
import { fractionBits } from './fractions.js'

/** The edges within components, between places: nodes in the order of their components. */
export interface Inner {
  readonly start: Int32Array
  readonly to: Int32Array
  /** Weights times 2^bits, negated for minima. Integers, unless `integers` says no: then they are not scaled. */
  readonly weight: Float64Array
  /** The index of the edge in the compressed rows. */
  readonly edge: Int32Array
  readonly integers: boolean
  readonly bits: number
  readonly sign: 1 | -1
}

/** Finds them. */
export function* innerEdges(
  rows: CompressedRows,
  { of, members }: Pick<Components, 'of' | 'members'>,
  maximizes: boolean,
): Steps<Inner> {
  const { nodes } = rows
  const place = new Int32Array(nodes)
  for (let p = 0; p < nodes; p++) place[members[p]!] = p
  const start = new Int32Array(nodes + 1)
  const to = new Int32Array(rows.to.length)
  const edge = new Int32Array(rows.to.length)
  let count = 0
  for (let p = 0; p < nodes; p++) {
    const i = members[p]!
    const own = of[i]!
    const end = rows.start[i + 1]!
    for (let k = rows.start[i]!; k < end; k++) {
      const j = rows.to[k]!
      if (of[j] !== own) continue
      to[count] = place[j]!
      edge[count++] = k
    }
    start[p + 1] = count
    if (p % PER_STEP === PER_STEP - 1) yield
  }
  const weight = new Float64Array(count)
  const sign = maximizes ? 1 : -1
  let largest = 0
  for (let k = 0; k < count; k++) {
    if (k % PER_STEP === PER_STEP - 1) yield
    const value = sign * rows.weight[edge[k]!]!
    weight[k] = value
    if (Math.abs(value) > largest) largest = Math.abs(value)
  }
  const bits = fractionBits(weight)
  const integers = bits <= 1023 && largest * 2 ** bits <= Number.MAX_SAFE_INTEGER
  if (integers && bits > 0) for (let k = 0; k < count; k++) weight[k]! *= 2 ** bits
  return { start, to: to.subarray(0, count), edge: edge.subarray(0, count), weight, integers, bits, sign }
}

/** The edges that lead to each place. */
export interface Reversed {
  readonly start: Int32Array
  readonly edge: Int32Array
  readonly from: Int32Array
  readonly weight: Float64Array
}

export function* reversed({ start, to, weight }: Inner): Steps<Reversed> {
  const nodes = start.length - 1
  const first = new Int32Array(nodes + 1)
  for (let k = 0; k < to.length; k++) first[to[k]! + 1]!++
  for (let p = 0; p < nodes; p++) first[p + 1]! += first[p]!
  const next = first.slice(0, nodes)
  const edge = new Int32Array(to.length)
  const from = new Int32Array(to.length)
  const weights = new Float64Array(to.length)
  for (let p = 0; p < nodes; p++) {
    for (let k = start[p]!; k < start[p + 1]!; k++) {
      const at = next[to[k]!]!++
      edge[at] = k
      from[at] = p
      weights[at] = weight[k]!
    }
    if (p % PER_STEP === PER_STEP - 1) yield
  }
  return { start: first, edge, from, weight: weights }
}
