/**
 * Cycle means, cycle times, eigenvectors and critical graphs, compared with all simple cycles and best walks.
 */
import { describe, expect, it } from 'vitest'
import type { SumSemiring } from '../../lib/algebra/weights.js'
import {
  componentCycleMeans,
  criticalGraph,
  cycleTimes,
  eigenvectors,
  type TokenEdgeList,
} from '../../lib/algebra.js'
import { coded } from '../support/coded.js'
import {
  asFraction,
  best,
  bestMean,
  expectCycle,
  expectEigenvectors,
  expectExact,
  gcd,
  kinds,
} from '../support/cycle-means.js'
import { expectSame } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { equal, meanOf, reachability, simpleCycles, tokensOf } from '../support/graph-oracle.js'
import { randomGraph } from '../support/graphs.js'
import type { WeightedEdges } from '../support/paths-oracle.js'

const fractions: [string, (random: Random) => number][] = [
  ['halves', (random) => random.integer(-9, 9) / 2],
  ['tenths', (random) => random.integer(-20, 20) / 10],
  ['anything', (random) => random.bits() / 2 ** 32 - 0.5],
  ['many magnitudes', (random) => (random.integer(-9, 9) / 10) * 10 ** random.integer(-15, 15)],
  ['subnormal', (random) => random.integer(-9, 9) * 5e-324],
  ['large', (random) => random.pick([1.7e308, -1.7e308, 1.6e308, 1e300, 1])],
  ['one more digit', (random) => 2 ** 53 + 2 * random.integer(0, 3) + random.integer(0, 1) * 0.5],
]

/** Generators of the number of tokens of an edge; null specifies no tokens. */
const tokenKinds: [string, null | ((random: Random) => number)][] = [
  ['no tokens', null],
  ['few tokens', (random) => random.integer(0, 3)],
  ['0 or 1 token', (random) => random.integer(0, 1)],
  ['many tokens', (random) => random.pick([0, 1, 2, 1000, 2 ** 15])],
]

/**
 * Adds random tokens to edges. A cycle without a token is an error, after which one of its edges gets a
 * token.
 */
async function addTokens(graph: WeightedEdges, draw: () => number, semiring: SumSemiring): Promise<void> {
  const tokens = graph.from.map(draw)
  graph.tokens = tokens
  const cycles = simpleCycles(graph)
  for (;;) {
    const without = cycles.filter((cycle) => cycle.every((e) => tokens[e] === 0))
    if (without.length === 0) return
    const list = { ...graph, weight: Float64Array.from(graph.weight) }
    const error = await bestMean(list, semiring).then(
      () => expect.fail('there is a cycle without a token'),
      (error) => error,
    )
    expect(error).toEqual(coded('CYCLE', /^the cycle .* has no token/))
    const found = without.find((cycle) => cycle.map((e) => graph.from[e]).join() === error.cycle.join())
    expect(error.message).toContain(`the cycle ${[...error.cycle, error.cycle[0]].join(' → ')} has no token`)
    tokens[found!.at(-1)!]!++
  }
}

describe.each<SumSemiring>(['max-plus', 'min-plus'])('%s: cycle means and eigenvectors', (semiring) => {
  describe.each([
    ...kinds.map((kind) => [...kind, true] as const),
    ...fractions.map((kind) => [...kind, false] as const),
  ])('%s', (name, weight, integers) => {
    const random = new Random(name.length * 7919 + (semiring === 'max-plus' ? 1 : 2))
    it.each(tokenKinds)('have the results of the definition: %s', async (_, draw) => {
      // One test has all graphs, because thousands of tests take longer than their checks.
      for (let index = 0; index < (draw ? 15 : 40); index++) {
        await expectMeans(draw).catch((cause) => {
          throw new Error(`graph ${index}: ${cause.message}`, { cause })
        })
      }
    })

    async function expectMeans(draw: (typeof tokenKinds)[number][1]): Promise<void> {
      const nodes = random.integer(1, 6)
      const graph = randomGraph(random, nodes, random.integer(0, 14), () => weight(random))
      if (draw) await addTokens(graph, () => draw(random), semiring)
      const list: TokenEdgeList = integers ? graph : { ...graph, weight: Float64Array.from(graph.weight) }
      const cycles = simpleCycles(graph)
      const expected = best(
        cycles.map((cycle) => meanOf(graph, cycle)),
        semiring,
      )
      const mean = await bestMean(list, semiring)
      if (!expected) {
        expect(mean).toBeNull()
        expect(await criticalGraph(list, { semiring })).toBeNull()
        expect(await eigenvectors(list, { semiring })).toBeNull()
      } else {
        expectCycle(graph, mean!)
        expect(equal(meanOf(graph, mean!.edges), expected)).toBe(true)
        if (integers) expectExact(graph, mean!, expected)
        const critical = (await criticalGraph(list, { semiring }))!
        const attaining = cycles.filter((cycle) => equal(meanOf(graph, cycle), expected))
        const onThem = new Set(attaining.flat().map((e) => graph.from[e]!))
        expect([...critical.nodes]).toEqual([...onThem].sort((a, b) => a - b))
        expect([...critical.edges]).toEqual([...new Set(attaining.flat())].sort((a, b) => a - b))
        const reach = reachability({
          nodes,
          from: [...critical.edges].map((e) => graph.from[e]!),
          to: [...critical.edges].map((e) => graph.to[e]!),
          weight: [],
        })
        const parts = [...onThem].map((i) =>
          [...onThem]
            .filter((j) => i === j || (reach[i]![j] && reach[j]![i]))
            .sort((a, b) => a - b)
            .join(),
        )
        expect(critical.components.map((part) => part.join()).sort()).toEqual([...new Set(parts)].sort())
        const cyclicity = [...new Set(parts)]
          .map((part) =>
            attaining
              .filter((cycle) => part.split(',').includes(String(graph.from[cycle[0]!])))
              .map((cycle) => BigInt(cycle.reduce((sum, e) => sum + tokensOf(graph, e), 0)))
              .reduce(gcd, 0n),
          )
          .reduce((multiple, divisor) => (multiple * divisor) / gcd(multiple, divisor), 1n)
        expect(critical.cyclicity).toBe(Number(cyclicity))
        await expectEigenvectors(list, graph, semiring, critical.components)
      }

      const reach = reachability(graph)
      const times = await cycleTimes(list, { semiring })
      for (let i = 0; i < nodes; i++) {
        const reached = cycles.filter(
          (cycle) => graph.from[cycle[0]!] === i || reach[i]![graph.from[cycle[0]!]!],
        )
        const time = best(
          reached.map((cycle) => meanOf(graph, cycle)),
          semiring,
        )
        if (!time) {
          expectSame(times.denominators[i], 0)
          expectSame(times.values[i], semiring === 'max-plus' ? -Infinity : Infinity)
        } else if (integers) {
          const [numerator, denominator] = [times.numerators[i]!, times.denominators[i]!]
          expectSame(equal(asFraction({ numerator, denominator }), time), true)
          expectSame(times.values[i], numerator / denominator)
        }
      }

      const { component, means } = await componentCycleMeans(list, { semiring })
      for (let i = 0; i < nodes; i++) {
        for (let j = 0; j < nodes; j++) {
          expectSame(component[i] === component[j], i === j || (reach[i]![j]! && reach[j]![i]!))
        }
        const own = cycles.filter((cycle) => component[graph.from[cycle[0]!]!] === component[i])
        const expectedOwn = best(
          own.map((cycle) => meanOf(graph, cycle)),
          semiring,
        )
        const ownMean = means[component[i]!]!
        if (expectedOwn) expectSame(equal(meanOf(graph, ownMean.edges), expectedOwn), true)
        else expectSame(ownMean, null)
      }
      for (let e = 0; e < graph.from.length; e++) {
        expectSame(component[graph.from[e]!]! >= component[graph.to[e]!]!, true)
      }
    }
  })
})
