/** Sparse networks, and a check of their maximum cycle mean. */
import type { CycleMean } from '../../../lib/algebra.js'
import type { EdgeList } from '../../../lib/graph.js'
import { Draw } from '../../random.js'

type Network = EdgeList<Int32Array> & { from: Int32Array; to: Int32Array; weight: Int32Array }

/** Returns a strongly connected network: a ring through all nodes, and edges between random nodes. */
export function randomNetwork(nodes: number, edges: number): Network {
  const draw = new Draw(nodes)
  const from = Int32Array.from({ length: edges }, (_, e) => (e < nodes ? e : draw.integer(0, nodes - 1)))
  const to = Int32Array.from({ length: edges }, (_, e) =>
    e < nodes ? (e + 1) % nodes : draw.integer(0, nodes - 1),
  )
  const weight = Int32Array.from({ length: edges }, () => draw.integer(1, 1000))
  return { nodes, from, to, weight }
}

/**
 * Describes the error of a maximum cycle mean; undefined if the mean is correct. The returned cycle must have
 * the mean. No cycle may have a greater mean: after subtracting the mean from all weights, Bellman-Ford
 * relaxation must converge.
 */
export function wrongMean(network: Network, mean: CycleMean): string | undefined {
  const { nodes, from, to, weight } = network
  const { numerator, denominator, cycle } = mean
  const following = new Map(cycle.map((i, at) => [i, cycle[(at + 1) % cycle.length]!]))
  const best = new Map<number, number>()
  for (let e = 0; e < from.length; e++) {
    const i = from[e]!
    if (following.get(i) === to[e]) best.set(i, Math.max(best.get(i) ?? Number.NEGATIVE_INFINITY, weight[e]!))
  }
  const sum = cycle.reduce((total, i) => total + (best.get(i) ?? Number.NaN), 0)
  if (sum * denominator !== numerator * cycle.length) {
    return `its cycle has the mean ${sum} / ${cycle.length}, not ${numerator} / ${denominator}`
  }
  const values = new Float64Array(nodes)
  for (let round = 0; round <= nodes; round++) {
    let changes = false
    for (let e = 0; e < from.length; e++) {
      const value = values[from[e]!]! + denominator * weight[e]! - numerator
      if (value > values[to[e]!]!) {
        values[to[e]!] = value
        changes = true
      }
    }
    if (!changes) return undefined
  }
  return `a cycle has a greater mean than ${numerator} / ${denominator}`
}
