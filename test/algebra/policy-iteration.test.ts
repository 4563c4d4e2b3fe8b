/**
 * Policy iteration compared with Karp's algorithm in BigInt, with sums beyond 2^53 and with planted cycles.
 */
import { describe, expect, it } from 'vitest'
import { criticalGraph, eigenvectors, maximumCycleMean } from '../../lib/algebra.js'
import { best, connected, expectEigenvectors, expectExact, kinds } from '../support/cycle-means.js'
import { expectSame } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { add, equal, type Fraction, karp, meanOf, rational } from '../support/graph-oracle.js'
import { addEdge, randomGraph } from '../support/graphs.js'
import type { WeightedEdges } from '../support/paths-oracle.js'

describe('policy iteration', () => {
  it.each(
    kinds.flatMap(([name, weight], index) =>
      [20, 60, 120].map((nodes) => ({ name, weight, nodes, seed: index * 1000 + nodes })),
    ),
  )('has the results of Karp’s algorithm in BigInt: $name, $nodes nodes', async ({ weight, nodes, seed }) => {
    const random = new Random(seed)
    for (const edges of [0, nodes, 4 * nodes]) {
      const graph = connected(random, nodes, edges, () => weight(random))
      expectExact(graph, (await maximumCycleMean(graph))!, karp(graph)!)
      await expectEigenvectors(graph, graph, 'max-plus')
      const apart = randomGraph(random, nodes, edges, () => weight(random))
      const mean = karp(apart)
      if (mean) {
        expectExact(apart, (await maximumCycleMean(apart))!, mean)
        await expectEigenvectors(apart, apart, 'max-plus')
      } else expect(await maximumCycleMean(apart)).toBeNull()
    }
  })

  it('compares values beyond 2^53 exactly: two cycles that differ by 1 in 10^14', async () => {
    // A long cycle of weights near 2^31: the values times the length of the cycle exceed 2^53.
    const nodes = 2101
    const large = 2 ** 31 - 2
    for (const difference of [-1, 0, 1]) {
      const graph: WeightedEdges = { nodes, from: [], to: [], weight: [] }
      const edge = (from: number, to: number, weight: number) => addEdge(graph, from, to, weight)
      for (let i = 0; i < nodes; i++) edge(i, (i + 1) % nodes, i % 2 ? large : -large)
      // A detour replaces two edges by two others, which are better or worse by 1, or equal.
      edge(10, 500, 0)
      edge(500, 12, difference)
      const sum = graph.weight.slice(0, nodes).reduce((total, weight) => total + weight, 0)
      expect(sum).toBe(-large)
      const edges = (first: number, end: number) => Array.from({ length: end - first }, (_, at) => first + at)
      const cycles = [
        edges(0, nodes),
        [...edges(12, 500), nodes + 1],
        [nodes, ...edges(500, nodes), ...edges(0, 10)],
      ]
      const expected = best(
        cycles.map((cycle) => meanOf(graph, cycle)),
        'max-plus',
      )!
      expectExact(graph, (await maximumCycleMean(graph))!, expected)
      const { vectors } = (await eigenvectors(graph))!
      const edgesOf: number[][] = Array.from({ length: nodes }, () => [])
      for (const [e, from] of graph.from.entries()) edgesOf[from]!.push(e)
      for (const { numerators, denominator } of vectors) {
        const v = (i: number): Fraction => [BigInt(numerators[i]!), BigInt(denominator)]
        for (let i = 0; i < nodes; i++) {
          const candidates = edgesOf[i]!.map((e) => add(rational(graph.weight[e]!), v(graph.to[e]!)))
          expectSame(equal(best(candidates, 'max-plus')!, add(expected, v(i))), true)
        }
      }
    }
  })
})

describe('policy iteration with integers whose sums exceed 2^53', () => {
  const P = 2 ** 52

  function ring(weights: number[], first = 0): WeightedEdges {
    const nodes = weights.map((_, i) => first + i)
    return { nodes: first + nodes.length, from: nodes, to: [...nodes.slice(1), first], weight: weights }
  }

  /** Two rings, and edges between their first nodes that are on no critical cycle. */
  function joined(one: number[], other: number[]): WeightedEdges {
    const [a, b] = [ring(one), ring(other, one.length)]
    return {
      nodes: b.nodes,
      from: [...a.from, ...b.from, 0, a.nodes],
      to: [...a.to, ...b.to, a.nodes, 0],
      weight: [...a.weight, ...b.weight, -P, -P],
    }
  }

  async function expectMean(graph: WeightedEdges, expected: Fraction): Promise<void> {
    const mean = await maximumCycleMean({ ...graph, weight: Float64Array.from(graph.weight) })
    expectExact(graph, mean!, expected)
  }

  it('finds the mean of a cycle whose sum is small', async () => {
    // 2^53 + 1 is rounded to 2^53, so in some orders the sum is -1.
    const weights = [P, P, 1, 1, -P, -P, -1]
    for (let turn = 0; turn < weights.length; turn++) {
      const rotatedValues = [...weights.slice(turn), ...weights.slice(0, turn)]
      for (const graph of [joined([0], rotatedValues), joined(rotatedValues, [0])])
        await expectMean(graph, [1n, 7n])
    }
  })

  it('compares two cycles by products of lengths', async () => {
    for (const t of [2 ** 49 + 3, 2 ** 49 + 2 ** 48 + 1, 2 ** 49 - 7]) {
      // 9 times the sum of the better cycle exceeds 10 times the sum of the other cycle by 1.
      const spread = (length: number, sum: number) => {
        const weights = new Array<number>(length).fill(Math.floor(sum / length))
        weights[0]! += sum - length * weights[0]!
        return weights
      }
      const [better, worse] = [spread(10, 10 * t + 9), spread(9, 9 * t + 8)]
      const expected: Fraction = [10n * BigInt(t) + 9n, 10n]
      for (const graph of [joined(better, worse), joined(worse, better)]) await expectMean(graph, expected)
    }
  })

  it('finds the mean of a cycle of a few nodes', async () => {
    // A random search found this graph.
    const graph = {
      nodes: 4,
      from: [0, 1, 2, 3, 3, 1, 0, 2, 0],
      to: [1, 2, 3, 0, 0, 2, 0, 2, 2],
      weight: [
        -562949953421313, -1, -17592186044416, -4503599627370497, 0, 1125899906842625, -1125899906842623, -1,
        4503599627370497,
      ],
    }
    await expectMean(graph, [4486007441326081n, 3n])
  })

  it('finds a cycle after a long path', async () => {
    // Each partial sum along the path loses nearly half a unit in the last place. The sums along the path
    // back are exact.
    const steps = 100
    const there: number[] = []
    let total = 0
    let exact = 0n
    for (let step = 0; step < steps; step++) {
      const unit = 2 ** Math.max(0, Math.floor(Math.log2(total + P)) - 52)
      const weight = P + Math.max(0, unit / 2 - 1)
      there.unshift(weight)
      total += weight
      exact += BigInt(weight)
    }
    expect(exact - BigInt(total)).toBeGreaterThan(1000n)
    // The weight of the whole cycle is 1, which is better than the loop of weight 0 at its first node.
    const back = new Array<number>(steps).fill(-P)
    back[0] = Number(1n - exact + BigInt(P) * BigInt(steps - 1))
    const graph = ring([...back, ...there])
    addEdge(graph, 0, 0, 0)
    expect(graph.weight.reduce((sum, weight) => sum + BigInt(weight), 0n)).toBe(1n)
    await expectMean(graph, [1n, BigInt(2 * steps)])
  })
})

describe('planted cycles', () => {
  it.each([1, 2, 3, 7, 50, 1000])('finds a cycle of %i nodes among 2000', async (length) => {
    const random = new Random(length)
    const graph = connected(random, 2000, 8000, () => random.integer(0, 1000))
    const nodes = Array.from({ length: 2000 }, (_, i) => i)
    for (let i = 0; i < length; i++) {
      const other = random.integer(i, 1999)
      ;[nodes[i], nodes[other]] = [nodes[other]!, nodes[i]!]
    }
    const planted = nodes.slice(0, length)
    for (let k = 0; k < length; k++) {
      addEdge(graph, planted[k]!, planted[(k + 1) % length]!, k === 0 ? 1002 : 1001)
    }
    const mean = (await maximumCycleMean(graph))!
    expectExact(graph, mean, [BigInt(1001 * length + 1), BigInt(length)])
    expect([...mean.cycle].sort()).toEqual([...planted].sort())
    const critical = (await criticalGraph(graph))!
    expect([...critical.nodes]).toEqual([...planted].sort((a, b) => a - b))
    expect(critical.cyclicity).toBe(length)
  })
})
