/** Checks of cycle means and eigenvectors by exact fractions, and the graphs to check. */
import { expect } from 'vitest'
import type { SumSemiring } from '../../lib/algebra/weights.js'
import {
  type CycleMean,
  eigenvectors,
  maximumCycleMean,
  minimumCycleMean,
  type Weights,
} from '../../lib/algebra.js'
import { matrix, zeroOf } from '../../lib/index.js'
import { expectSame } from './expect.js'
import type { Random } from './generators.js'
import { add, bestWalks, equal, type Fraction, less, meanOf, rational, tokensOf } from './graph-oracle.js'
import { addEdge, randomGraph } from './graphs.js'
import type { WeightedEdges } from './paths-oracle.js'

export const bestMean = (graph: Weights<number>, semiring: SumSemiring) =>
  semiring === 'max-plus' ? maximumCycleMean(graph) : minimumCycleMean(graph)

export const asFraction = ({
  numerator,
  denominator,
}: {
  numerator: number
  denominator: number
}): Fraction => {
  const [a, b] = rational(numerator)
  return [a, b * BigInt(denominator)]
}

export const times = ([a, b]: Fraction, factor: number): Fraction => [a * BigInt(factor), b]

export const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b))

/** Checks a cycle edge by edge, and its mean. */
export function expectCycle(
  graph: WeightedEdges,
  { cycle, edges, numerator, denominator, value }: CycleMean,
): void {
  expectSame(edges.length, cycle.length)
  expectSame(new Set(cycle).size, cycle.length)
  expectSame(Math.min(...cycle), cycle[0])
  for (const [k, e] of edges.entries()) {
    expectSame(graph.from[e], cycle[k])
    expectSame(graph.to[e], cycle[(k + 1) % cycle.length])
  }
  expectSame(value, numerator / denominator)
}

export function expectExact(graph: WeightedEdges, mean: CycleMean, expected: Fraction): void {
  expectCycle(graph, mean)
  expectSame(equal(meanOf(graph, mean.edges), expected), true)
  expectSame(equal(asFraction(mean), expected), true)
  expectSame(gcd(BigInt(mean.numerator), BigInt(mean.denominator)), 1n)
}

export const worse = (semiring: SumSemiring) => (a: Fraction, b: Fraction) =>
  semiring === 'max-plus' ? less(a, b) : less(b, a)

export function best(means: Fraction[], semiring: SumSemiring): Fraction | undefined {
  const isWorse = worse(semiring)
  return means.reduce<Fraction | undefined>((so, mean) => (so && !isWorse(so, mean) ? so : mean), undefined)
}

export const kinds: [string, (random: Random) => number][] = [
  ['small weights', (random) => random.integer(-5, 5)],
  ['zero and one', (random) => random.integer(0, 1)],
  ['negative weights', (random) => random.integer(-1000, -990)],
  ['any weights', (random) => random.integer(-(2 ** 31) + 1, 2 ** 31 - 2)],
  ['weights at the edges', (random) => random.pick([-(2 ** 31) + 1, 2 ** 31 - 2, 2 ** 31 - 3])],
]

/**
 * Checks that each element of an eigenvector is the weight of the best walk to a critical node. This implies
 * A ⊗ v = λ ⊗ v. `list` is the graph in the form of the argument.
 */
export async function expectEigenvectors(
  list: Weights<number>,
  graph: WeightedEdges,
  semiring: SumSemiring,
  components?: number[][],
): Promise<void> {
  const integers = !('weight' in list) || Array.isArray(list.weight)
  const { eigenvalue, vectors } = (await eigenvectors(list, { semiring }))!
  if (components) expect(vectors.map(({ node }) => node)).toEqual(components.map(([node]) => node))
  const lambda = meanOf(graph, eigenvalue.edges)
  for (const { node, numerators, denominator, values } of vectors) {
    const expected = bestWalks(graph, node, lambda, semiring === 'max-plus')
    if (integers) expectSame(denominator, eigenvalue.denominator)
    for (let i = 0; i < graph.nodes; i++) {
      const walk = expected[i]!
      if (walk === null) {
        expectSame(numerators[i], semiring === 'max-plus' ? -Infinity : Infinity)
        expectSame(values[i], numerators[i])
        continue
      }
      expectSame(values[i], numerators[i]! / denominator + 0)
      if (integers) expectSame(equal([BigInt(numerators[i]!), BigInt(denominator)], walk), true)
      else expectNear(values[i]!, walk, denominator)
    }
    expectSame(values[node], 0)
    // The equation A ⊗ v = λ ⊗ v also proves that the compared walks are the right ones.
    if (!integers) continue
    const v = (i: number): Fraction => [BigInt(numerators[i]!), BigInt(denominator)]
    for (let i = 0; i < graph.nodes; i++) {
      const candidates = graph.from.flatMap((from, e) =>
        from === i && Number.isFinite(values[graph.to[e]!])
          ? [add(add(rational(graph.weight[e]!), v(graph.to[e]!)), times(lambda, 1 - tokensOf(graph, e)))]
          : [],
      )
      const sum = best(candidates, semiring)
      if (Number.isFinite(values[i])) expectSame(equal(sum!, add(lambda, v(i))), true)
      else expectSame(sum, undefined)
    }
  }
}

/**
 * Checks a float against an exact fraction: at most three roundings, or infinite if the product with its
 * divisor is too large.
 */
export function expectNear(value: number, [numerator, denominator]: Fraction, divisor: number): void {
  if (!Number.isFinite(value)) {
    expect(numerator * BigInt(Math.sign(value) * divisor) > denominator * 2n ** 1023n).toBe(true)
    return
  }
  const [a, b] = rational(value)
  const difference = a * denominator - numerator * b
  const size = difference < 0n ? -difference : difference
  const bound = numerator * b < 0n ? -numerator * b : numerator * b
  expectSame(size * 2n ** 50n <= bound || Math.abs(value) < 1e-300, true)
}

/** A cycle through all nodes, so that the graph is strongly connected, and random edges. */
export function connected(random: Random, nodes: number, edges: number, weight: () => number): WeightedEdges {
  const graph = randomGraph(random, nodes, edges, weight)
  for (let i = 0; i < nodes; i++) addEdge(graph, i, (i + 1) % nodes, weight)
  return graph
}

export type Rows = (number | null)[][]

/** Matrix of int32 of rows in which null stands for the semiring's zero. */
export const int32 = (rows: Rows, semiring: SumSemiring = 'max-plus') =>
  matrix(
    rows.length,
    rows.length,
    rows.flat().map((value) => value ?? zeroOf(semiring)),
  )

export const none = null
