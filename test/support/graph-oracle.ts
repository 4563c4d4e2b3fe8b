/** Slow algorithms for graphs: over all simple cycles, or in integers of any size. Shares no code with the library. */

export interface PlainGraph {
  nodes: number
  from: number[]
  to: number[]
  weight: number[]
  /** Number of tokens of each edge; 1 by default. */
  tokens?: number[]
}

/** Number of tokens of edge e. */
export const tokensOf = ({ tokens }: { tokens?: number[] }, e: number): number => (tokens ? tokens[e]! : 1)

/** Edges of a cycle, in order. */
export type Cycle = number[]

/** Returns all simple cycles: each once, from its least node. */
export function simpleCycles({ nodes, from, to }: PlainGraph): Cycle[] {
  const found: Cycle[] = []
  const extend = (origin: number, node: number, edges: number[], visited: Set<number>) => {
    for (let e = 0; e < from.length; e++) {
      if (from[e] !== node) continue
      const next = to[e]!
      if (next === origin) found.push([...edges, e])
      else if (next > origin && !visited.has(next)) {
        extend(origin, next, [...edges, e], new Set(visited).add(next))
      }
    }
  }
  for (let origin = 0; origin < nodes; origin++) extend(origin, origin, [], new Set([origin]))
  return found
}

/** Exact value of a number as a fraction of integers. */
export function rational(value: number): [bigint, bigint] {
  let denominator = 1n
  let scaled = value
  while (!Number.isInteger(scaled)) {
    scaled *= 2
    denominator *= 2n
  }
  return [BigInt(scaled), denominator]
}

export type Fraction = [numerator: bigint, denominator: bigint]

export const add = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d]
export const less = ([a, b]: Fraction, [c, d]: Fraction): boolean => a * d < c * b
export const equal = ([a, b]: Fraction, [c, d]: Fraction): boolean => a * d === c * b

/** Exact mean of a cycle: its weight divided by its tokens, which must be positive. */
export function meanOf(graph: PlainGraph, cycle: Cycle): Fraction {
  let sum: Fraction = [0n, 1n]
  let tokens = 0n
  for (const e of cycle) {
    sum = add(sum, rational(graph.weight[e]!))
    tokens += BigInt(tokensOf(graph, e))
  }
  return [sum[0], sum[1] * tokens]
}

/** Nodes that each node reaches by at least one edge. */
export function reachability({ nodes, from, to }: PlainGraph): boolean[][] {
  const reach = Array.from({ length: nodes }, () => new Array<boolean>(nodes).fill(false))
  for (let e = 0; e < from.length; e++) reach[from[e]!]![to[e]!] = true
  for (let k = 0; k < nodes; k++) {
    for (let i = 0; i < nodes; i++) {
      if (!reach[i]![k]) continue
      for (let j = 0; j < nodes; j++) if (reach[k]![j]) reach[i]![j] = true
    }
  }
  return reach
}

/**
 * Greatest cycle mean for integer weights by R. Karp, A characterization of the minimum cycle mean in a digraph (1978). Walks begin
 * at every node at once, as from a source with edges of weight 0 to all.
 */
export function karp({ nodes, from, to, weight }: PlainGraph): Fraction | null {
  const walks: (bigint | null)[][] = [new Array(nodes).fill(0n)]
  for (let k = 1; k <= nodes; k++) {
    const next: (bigint | null)[] = new Array(nodes).fill(null)
    const last = walks[k - 1]!
    for (let e = 0; e < from.length; e++) {
      const length = last[from[e]!]!
      if (length === null) continue
      const longer = length + BigInt(weight[e]!)
      const known = next[to[e]!]!
      if (known === null || longer > known) next[to[e]!] = longer
    }
    walks.push(next)
  }
  let best: Fraction | null = null
  for (let v = 0; v < nodes; v++) {
    const whole = walks[nodes]![v]!
    if (whole === null) continue
    let least: Fraction | null = null
    for (let k = 0; k < nodes; k++) {
      const part = walks[k]![v]!
      if (part === null) continue
      const mean: Fraction = [whole - part, BigInt(nodes - k)]
      if (!least || less(mean, least)) least = mean
    }
    if (least && (!best || less(best, least))) best = least
  }
  return best
}

/**
 * Weights of the best walks from each node to `target`. Each token of an edge reduces its weight by `shift`;
 * the walk without edges has weight 0. Null if a cycle is better than 0.
 */
export function bestWalks(
  graph: PlainGraph,
  target: number,
  shift: Fraction,
  maximizes: boolean,
): (Fraction | null)[] {
  const { nodes, from, to, weight } = graph
  const best: (Fraction | null)[] = new Array(nodes).fill(null)
  best[target] = [0n, 1n]
  for (let changed = true, round = 0; changed; round++) {
    if (round > nodes) throw new Error('a cycle is better than 0')
    changed = false
    for (let e = 0; e < from.length; e++) {
      const rest = best[to[e]!]!
      if (rest === null) continue
      const [a, b] = add(add(rational(weight[e]!), [-shift[0] * BigInt(tokensOf(graph, e)), shift[1]]), rest)
      const known = best[from[e]!]!
      if (known !== null && !(maximizes ? less(known, [a, b]) : less([a, b], known))) continue
      const divisor = greatestDivisor(a < 0n ? -a : a, b)
      best[from[e]!] = [a / divisor, b / divisor]
      changed = true
    }
  }
  return best
}

const greatestDivisor = (a: bigint, b: bigint): bigint => (b === 0n ? a : greatestDivisor(b, a % b))

/** The int32 that stands for no edge and no path over min-plus. */
const NONE = 2 ** 31 - 1

/** Elements of int32 as real numbers: infinity stands for no edge. */
export const realOf = (data: ArrayLike<number>) =>
  Float64Array.from(data, (value) => (value === NONE ? Number.POSITIVE_INFINITY : value))

/**
 * Best paths between all nodes by R. Floyd and S. Warshall (1962), for weights without improving cycles. Paths
 * without edges have the value `empty`.
 */
export function floydWarshall(
  weights: ArrayLike<number>,
  nodes: number,
  { better = Math.min, along = (x: number, y: number) => x + y, empty = 0 } = {},
): Float64Array {
  const d = Float64Array.from(weights)
  for (let i = 0; i < nodes; i++) d[i * nodes + i] = better(d[i * nodes + i]!, empty)
  for (let k = 0; k < nodes; k++) {
    for (let i = 0; i < nodes; i++) {
      for (let j = 0; j < nodes; j++)
        d[i * nodes + j] = better(d[i * nodes + j]!, along(d[i * nodes + k]!, d[k * nodes + j]!))
    }
  }
  return d
}

/** Shortest distances of int32 weights, as int32. */
export const shortestDistances = (weights: ArrayLike<number>, nodes: number): Int32Array =>
  Int32Array.from(floydWarshall(realOf(weights), nodes), (value) => Math.min(value, NONE))
