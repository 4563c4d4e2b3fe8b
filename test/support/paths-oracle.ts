/** Slow algorithm for best paths, by definition. Shares no code with the library. */

export interface WeightedEdges {
  nodes: number
  from: number[]
  to: number[]
  weight: number[]
  /** Number of tokens of each edge, as in timed event graphs. */
  tokens?: number[]
}

/** Operations and order of the values of paths. */
export interface PathAlgebra {
  extend(path: number, edge: number): number
  better(a: number, b: number): boolean
  /** Value of the empty path. */
  one: number
}

const least = (a: number, b: number) => a < b
const greatest = (a: number, b: number) => a > b
const sum = (a: number, b: number) => a + b

export const pathAlgebras = {
  'min-plus': { extend: sum, better: least, one: 0 },
  'max-plus': { extend: sum, better: greatest, one: 0 },
  'max-min': { extend: Math.min, better: greatest, one: Number.POSITIVE_INFINITY },
  'max-times': { extend: (a: number, b: number) => a * b, better: greatest, one: 1 },
  'or-and': { extend: (a: number, b: number) => (a && b ? 1 : 0), better: greatest, one: 1 },
} as const satisfies Record<string, PathAlgebra>

export type PathAlgebraName = keyof typeof pathAlgebras

export interface FromSource {
  /** Value of the best path to each node; null without a path. */
  value: (number | null)[]
  /** Whether paths to the node can be improved without bound. */
  endless: boolean[]
}

/**
 * Bellman–Ford with one round per node; it ends early after a round without changes. Nodes that improve in
 * the last round have no best path.
 */
export function bestFrom(
  { nodes, from, to, weight }: WeightedEdges,
  { extend, better, one }: PathAlgebra,
  source: number,
): FromSource {
  const value = new Array<number | null>(nodes).fill(null)
  const endless = new Array<boolean>(nodes).fill(false)
  value[source] = one
  let changes = true
  for (let round = 0; round < 2 * nodes && changes; round++) {
    changes = false
    for (let e = 0; e < from.length; e++) {
      const [i, j] = [from[e]!, to[e]!]
      const before = value[i]!
      if (before === null) continue
      if (endless[i] && !endless[j]) {
        endless[j] = true
        changes = true
      }
      const candidate = extend(before, weight[e]!)
      const known = value[j]!
      if (known !== null && !better(candidate, known)) continue
      // Values of unbounded nodes stay small if they aren't propagated further.
      if (round < nodes) value[j] = candidate
      else if (endless[j]) continue
      else endless[j] = true
      changes = true
    }
  }
  return { value, endless }
}

/** Weight of the best edge from one node to another; null without an edge. */
export function bestEdge(
  { from, to, weight }: WeightedEdges,
  { better }: PathAlgebra,
  i: number,
  j: number,
): number | null {
  let best: number | null = null
  for (let e = 0; e < from.length; e++) {
    if (from[e] !== i || to[e] !== j) continue
    if (best === null || better(weight[e]!, best)) best = weight[e]!
  }
  return best
}

/** Value of a path, edge by edge; null if one of its edges doesn't exist. */
export function valueOfPath(
  graph: WeightedEdges,
  algebra: PathAlgebra,
  path: readonly number[],
): number | null {
  let value = algebra.one
  for (let at = 1; at < path.length; at++) {
    const edge = bestEdge(graph, algebra, path[at - 1]!, path[at]!)
    if (edge === null) return null
    value = algebra.extend(value, edge)
  }
  return value
}
