/** Selects the edges within strong components: cycles have only such edges. */
import type { Components } from '../graph-core/components.js'
import { fractionBits } from '../graph-core/fractions.js'
import { type EdgeRows, restrict, selectEdges } from '../graph-core/rows.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import type { WeightedGraph } from './weights.js'

/** The edges within components, between places: nodes in the order of their components. `edge` are indices in the graph's rows. */
export interface Inner extends EdgeRows {
  /**
   * Weights times 2^bits, negated for minima. The products are integers; if `integers` is false, weights
   * aren't scaled.
   */
  readonly weight: Float64Array
  readonly integers: boolean
  readonly bits: number
  readonly sign: 1 | -1
  /** Number of tokens of each edge. Default 1. */
  readonly tokens: Int32Array
  /** Greatest number of tokens of an edge, at least 1. */
  readonly mostTokens: number
}

/** Returns the edges within components; components below 0 have none. */
export function* innerEdges(
  { rows, semiring, tokens: given }: Pick<WeightedGraph, 'rows' | 'semiring' | 'tokens'>,
  { of, members }: Pick<Components, 'of' | 'members'>,
): Steps<Inner> {
  const inner = yield* restrict(rows, of, members)
  const { edge } = inner
  const weight = new Float64Array(edge.length)
  const sign = semiring === 'max-plus' ? 1 : -1
  let largest = 0
  for (let k = 0; k < edge.length; k++) {
    if (k % PER_SLICE === PER_SLICE - 1) yield
    const value = sign * rows.weight[edge[k]!]!
    weight[k] = value
    if (Math.abs(value) > largest) largest = Math.abs(value)
  }
  const bits = fractionBits(weight)
  const integers = bits <= 1023 && largest * 2 ** bits <= Number.MAX_SAFE_INTEGER
  if (integers && bits > 0) for (let k = 0; k < edge.length; k++) weight[k]! *= 2 ** bits
  const tokens = new Int32Array(edge.length)
  if (given) yield* selectEdges(given.of, edge, tokens)
  else tokens.fill(1)
  return { ...inner, weight, integers, bits, sign, tokens, mostTokens: given ? given.most : 1 }
}
