/** Computes weights of cycles exactly, to decide whether a cycle of floats improves paths. */

import type { Edges } from '../graph-core/edges.js'
import { fractionBits, scaled, unscaled } from '../graph-core/fractions.js'
import type { HostView } from '../view.js'
import { edgeKey, isBetterEdge, type PathRules } from './rules.js'

interface ExactWeight {
  readonly gains: boolean
  /** Exact weight, rounded only if no number represents it. */
  readonly weight: number
}

/** Returns the exact weight of a cycle of edges with the given keys, and whether it improves paths. */
export function exactWeight({ extension, maximizes }: PathRules, keys: readonly number[]): ExactWeight {
  // One infinite key decides the weight, because no key is the semiring's zero.
  if (!keys.every(Number.isFinite)) return { gains: true, weight: maximizes ? Infinity : -Infinity }
  const bits = fractionBits(keys)
  if (extension === 'product') {
    const product = productOf(keys.map((key) => scaled(key, bits)))
    const unit = bits * keys.length
    return { gains: product > 1n << BigInt(unit), weight: unscaled(product, unit) }
  }
  let sum = 0n
  for (const key of keys) sum += scaled(key, bits)
  return { gains: sum < 0n, weight: unscaled(maximizes ? -sum : sum, bits) }
}

/**
 * Multiplies numbers pairwise in a tree. Multiplying 10^5 numbers one after the other would take seconds,
 * because the number of digits grows.
 */
function productOf(factors: bigint[]): bigint {
  let products = factors
  while (products.length > 1) {
    const half = Math.ceil(products.length / 2)
    products = Array.from({ length: half }, (_, at) => products[2 * at]! * (products[2 * at + 1] ?? 1n))
  }
  return products[0] ?? 1n
}

/** Returns the keys of the edges of a cycle in an edge list: the best key of parallel edges. */
export function listedKeys(edges: Edges, rules: PathRules, cycle: readonly number[]): number[] {
  const positions = new Map(cycle.map((node, at) => [node, at]))
  const keys = new Array<number>(cycle.length).fill(Number.NaN)
  for (let e = 0; e < edges.from.length; e++) {
    const at = positions.get(edges.from[e]!)
    if (at === undefined || edges.to[e] !== cycle[(at + 1) % cycle.length]) continue
    const key = edgeKey(rules, edges.weight[e]!)
    if (isBetterEdge(rules, key, keys[at]!)) keys[at] = key
  }
  return keys
}

/** Returns the keys of the edges of a cycle in matrix `item` of a batch. */
export function matrixKeys(
  matrix: HostView,
  item: number,
  rules: PathRules,
  cycle: readonly number[],
): number[] {
  const { data, offset, batchStride, rowStride, colStride } = matrix
  return cycle.map((from, at) => {
    const to = cycle[(at + 1) % cycle.length]!
    return edgeKey(rules, data[offset + item * batchStride + from * rowStride + to * colStride]!)
  })
}
