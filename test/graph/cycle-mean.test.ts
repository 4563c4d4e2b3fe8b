/** Cycle means, cycle times, eigenvectors and critical graphs, against all simple cycles, and Karp in BigInt. */
import { describe, expect, it } from 'vitest'
import {
  type CycleMean,
  componentCycleMeans,
  criticalGraph,
  cycleMean,
  cycleTimes,
  eigenvector,
  type PathSemiring,
} from '../../lib/algebra/cycle-mean.js'
import type { EdgeList } from '../../lib/graph/edges.js'
import { EPSILON } from '../../lib/index.js'
import { Random } from '../support/generators.js'
import {
  add,
  equal,
  type Fraction,
  karp,
  less,
  meanOf,
  type PlainGraph,
  rational,
  reachability,
  simpleCycles,
} from '../support/graph-oracle.js'

type Rows = (number | null)[][]

function graphOf(rows: Rows): PlainGraph {
  const graph: PlainGraph = { nodes: rows.length, from: [], to: [], weight: [] }
  for (const [i, row] of rows.entries()) {
    for (const [j, value] of row.entries()) {
      if (value === null) continue
      graph.from.push(i)
      graph.to.push(j)
      graph.weight.push(value)
    }
  }
  return graph
}

function randomGraph(random: Random, nodes: number, edges: number, weight: () => number): PlainGraph {
  const graph: PlainGraph = { nodes, from: [], to: [], weight: [] }
  for (let e = 0; e < edges; e++) {
    graph.from.push(random.integer(0, nodes - 1))
    graph.to.push(random.integer(0, nodes - 1))
    graph.weight.push(weight())
  }
  return graph
}

const asFraction = ({ numerator, denominator }: { numerator: number; denominator: number }): Fraction => {
  const [a, b] = rational(numerator)
  return [a, b * BigInt(denominator)]
}

const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b))

/** Walks the cycle edge by edge. */
function expectCycle(graph: PlainGraph, { cycle, edges, numerator, denominator, value }: CycleMean): void {
  expect(edges.length).toBe(cycle.length)
  expect(new Set(cycle).size).toBe(cycle.length)
  expect(Math.min(...cycle)).toBe(cycle[0])
  for (const [k, e] of edges.entries()) {
    expect(graph.from[e]).toBe(cycle[k])
    expect(graph.to[e]).toBe(cycle[(k + 1) % cycle.length])
  }
  expect(value).toBe(numerator / denominator)
}

function expectExact(graph: PlainGraph, mean: CycleMean, expected: Fraction): void {
  expectCycle(graph, mean)
  expect(equal(meanOf(graph, mean.edges), expected)).toBe(true)
  expect(equal(asFraction(mean), expected)).toBe(true)
  expect(gcd(BigInt(mean.numerator), BigInt(mean.denominator))).toBe(1n)
}

const worse = (semiring: PathSemiring) => (a: Fraction, b: Fraction) =>
  semiring === 'max-plus' ? less(a, b) : less(b, a)

function best(means: Fraction[], semiring: PathSemiring): Fraction | undefined {
  const isWorse = worse(semiring)
  return means.reduce<Fraction | undefined>((so, mean) => (so && !isWorse(so, mean) ? so : mean), undefined)
}

const kinds: [string, (random: Random) => number][] = [
  ['small weights', (random) => random.integer(-5, 5)],
  ['zero and one', (random) => random.integer(0, 1)],
  ['negative weights', (random) => random.integer(-1000, -990)],
  ['any weights', (random) => random.integer(-(2 ** 31) + 1, 2 ** 31 - 2)],
  ['weights at the edges', (random) => random.pick([-(2 ** 31) + 1, 2 ** 31 - 2, 2 ** 31 - 3])],
]
const fractions: [string, (random: Random) => number][] = [
  ['halves', (random) => random.integer(-9, 9) / 2],
  ['tenths', (random) => random.integer(-20, 20) / 10],
  ['anything', (random) => random.bits() / 2 ** 32 - 0.5],
  ['many magnitudes', (random) => (random.integer(-9, 9) / 10) * 10 ** random.integer(-15, 15)],
  ['subnormal', (random) => random.integer(-9, 9) * 5e-324],
  ['large', (random) => random.pick([1.7e308, -1.7e308, 1.6e308, 1e300, 1])],
  ['one more digit', (random) => 2 ** 53 + 2 * random.integer(0, 3) + random.integer(0, 1) * 0.5],
]

describe.each<PathSemiring>(['max-plus', 'min-plus'])('%s: against all simple cycles', (semiring) => {
  describe.each([
    ...kinds.map((kind) => [...kind, true] as const),
    ...fractions.map((kind) => [...kind, false] as const),
  ])('%s', (name, weight, integers) => {
    const random = new Random(name.length * 7919 + (semiring === 'max-plus' ? 1 : 2))
    it.each(Array.from({ length: 40 }, (_, index) => index))('graph %i', () => {
      const nodes = random.integer(1, 6)
      const graph = randomGraph(random, nodes, random.integer(0, 14), () => weight(random))
      const list: EdgeList = integers ? graph : { ...graph, weight: Float64Array.from(graph.weight) }
      const cycles = simpleCycles(graph)
      const expected = best(
        cycles.map((cycle) => meanOf(graph, cycle)),
        semiring,
      )
      const mean = cycleMean(list, { semiring })
      if (!expected) {
        expect(mean).toBeNull()
        expect(criticalGraph(list, { semiring })).toBeNull()
      } else {
        expectCycle(graph, mean!)
        expect(equal(meanOf(graph, mean!.edges), expected)).toBe(true)
        if (integers) expectExact(graph, mean!, expected)
        const critical = criticalGraph(list, { semiring })!
        const attaining = cycles.filter((cycle) => equal(meanOf(graph, cycle), expected))
        const onThem = new Set(attaining.flat().map((e) => graph.from[e]!))
        expect([...critical.nodes]).toEqual([...onThem].sort((a, b) => a - b))
        // Of parallel edges that are equally good the first is named.
        const first = (e: number) =>
          graph.from.findIndex(
            (i, f) =>
              i === graph.from[e] && graph.to[f] === graph.to[e] && graph.weight[f] === graph.weight[e],
          )
        expect([...critical.edges]).toEqual([...new Set(attaining.flat().map(first))].sort((a, b) => a - b))
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
              .reduce((divisor, cycle) => gcd(divisor, BigInt(cycle.length)), 0n),
          )
          .reduce((multiple, divisor) => (multiple * divisor) / gcd(multiple, divisor), 1n)
        expect(critical.cyclicity).toBe(Number(cyclicity))
      }

      const reach = reachability(graph)
      const times = cycleTimes(list, { semiring })
      for (let i = 0; i < nodes; i++) {
        const reached = cycles.filter(
          (cycle) => graph.from[cycle[0]!] === i || reach[i]![graph.from[cycle[0]!]!],
        )
        const time = best(
          reached.map((cycle) => meanOf(graph, cycle)),
          semiring,
        )
        if (!time) {
          expect(times.denominators[i]).toBe(0)
          expect(times.values[i]).toBe(semiring === 'max-plus' ? -Infinity : Infinity)
        } else if (integers) {
          const [numerator, denominator] = [times.numerators[i]!, times.denominators[i]!]
          expect(equal(asFraction({ numerator, denominator }), time)).toBe(true)
          expect(times.values[i]).toBe(numerator / denominator)
        }
      }

      const { component, means } = componentCycleMeans(list, { semiring })
      for (let i = 0; i < nodes; i++) {
        for (let j = 0; j < nodes; j++) {
          expect(component[i] === component[j]).toBe(i === j || (reach[i]![j]! && reach[j]![i]!))
        }
        const own = cycles.filter((cycle) => component[graph.from[cycle[0]!]!] === component[i])
        const expectedOwn = best(
          own.map((cycle) => meanOf(graph, cycle)),
          semiring,
        )
        const ownMean = means[component[i]!]!
        if (expectedOwn) expect(equal(meanOf(graph, ownMean.edges), expectedOwn)).toBe(true)
        else expect(ownMean).toBeNull()
      }
      for (let e = 0; e < graph.from.length; e++) {
        expect(component[graph.from[e]!]).toBeGreaterThanOrEqual(component[graph.to[e]!]!)
      }

      if (means.length === 1 && means[0] && integers) expectEigenvector(graph, semiring)
    })
  })
})

function expectEigenvector(graph: PlainGraph, semiring: PathSemiring): void {
  const { eigenvalue, numerators, denominator, values } = eigenvector(graph, { semiring })
  const v = (i: number): Fraction => [BigInt(numerators[i]!), BigInt(denominator)]
  for (let i = 0; i < graph.nodes; i++) {
    const candidates = graph.from.flatMap((from, e) =>
      from === i ? [add(rational(graph.weight[e]!), v(graph.to[e]!))] : [],
    )
    expect(equal(best(candidates, semiring)!, add(asFraction(eigenvalue), v(i)))).toBe(true)
    expect(values[i]).toBe(numerators[i]! / denominator)
  }
}

/** A cycle through all nodes, so that the graph is strongly connected, and random edges. */
function connected(random: Random, nodes: number, edges: number, weight: () => number): PlainGraph {
  const graph = randomGraph(random, nodes, edges, weight)
  for (let i = 0; i < nodes; i++) {
    graph.from.push(i)
    graph.to.push((i + 1) % nodes)
    graph.weight.push(weight())
  }
  return graph
}

describe('against Karp in BigInt', () => {
  it.each(
    kinds.flatMap(([name, weight], index) =>
      [20, 60, 120].map((nodes) => ({ name, weight, nodes, seed: index * 1000 + nodes })),
    ),
  )('$name, $nodes nodes', ({ weight, nodes, seed }) => {
    const random = new Random(seed)
    for (const edges of [0, nodes, 4 * nodes]) {
      const graph = connected(random, nodes, edges, () => weight(random))
      expectExact(graph, cycleMean(graph)!, karp(graph)!)
      expectEigenvector(graph, 'max-plus')
      const apart = randomGraph(random, nodes, edges, () => weight(random))
      const mean = karp(apart)
      if (mean) expectExact(apart, cycleMean(apart)!, mean)
      else expect(cycleMean(apart)).toBeNull()
    }
  })

  it('values that are beyond 2^53 are compared exactly: two cycles that differ by 1 in 10^14', () => {
    // One long cycle of weights near 2^31, whose values are beyond 2^53 when they are multiplied by its length.
    const nodes = 3001
    const large = 2 ** 31 - 2
    for (const difference of [-1, 0, 1]) {
      const graph: PlainGraph = { nodes, from: [], to: [], weight: [] }
      const edge = (from: number, to: number, weight: number) => {
        graph.from.push(from)
        graph.to.push(to)
        graph.weight.push(weight)
      }
      for (let i = 0; i < nodes; i++) edge(i, (i + 1) % nodes, i % 2 ? large : -large)
      // A detour over two edges in the place of another two, better or worse by 1, or equal.
      edge(10, 500, 0)
      edge(500, 12, difference)
      const sum = graph.weight.slice(0, nodes).reduce((total, weight) => total + weight, 0)
      expect(sum).toBe(-large)
      const expected = karp(graph)!
      expectExact(graph, cycleMean(graph)!, expected)
      expectEigenvector(graph, 'max-plus')
    }
  })
})

describe('planted cycles', () => {
  it.each([1, 2, 3, 7, 50, 1000])('of %i nodes among 2000 are found', (length) => {
    const random = new Random(length)
    const graph = connected(random, 2000, 8000, () => random.integer(0, 1000))
    const nodes = Array.from({ length: 2000 }, (_, i) => i)
    for (let i = 0; i < length; i++) {
      const other = random.integer(i, 1999)
      ;[nodes[i], nodes[other]] = [nodes[other]!, nodes[i]!]
    }
    const planted = nodes.slice(0, length)
    for (let k = 0; k < length; k++) {
      graph.from.push(planted[k]!)
      graph.to.push(planted[(k + 1) % length]!)
      graph.weight.push(k === 0 ? 1002 : 1001)
    }
    const mean = cycleMean(graph)!
    expectExact(graph, mean, [BigInt(1001 * length + 1), BigInt(length)])
    expect([...mean.cycle].sort()).toEqual([...planted].sort())
    expect([...criticalGraph(graph)!.nodes]).toEqual([...planted].sort((a, b) => a - b))
    expect(criticalGraph(graph)!.cyclicity).toBe(length)
  })
})

describe('published examples', () => {
  const book: Rows = [
    [3, 7],
    [2, 4],
  ]
  it('F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity: [3 7; 2 4] has the eigenvalue 4.5 and the eigenvector (2.5, 0)', () => {
    const { eigenvalue, values } = eigenvector(graphOf(book))
    expect(eigenvalue).toMatchObject({ numerator: 9, denominator: 2, value: 4.5, cycle: [0, 1] })
    expect(values[0]! - values[1]!).toBe(2.5)
  })

  it('MaxPlus.jl documentation: A*A*A of A = [4 3; 7 ε] is [14 13; 17 14], whose eigenvalue is three times that of A', () => {
    const graph = graphOf([
      [4, 3],
      [7, null],
    ])
    expect(cycleMean(graph)).toMatchObject({ numerator: 5, denominator: 1, cycle: [0, 1] })
    const power3 = graphOf([
      [14, 13],
      [17, 14],
    ])
    expect(cycleMean(power3)).toMatchObject({ numerator: 15, denominator: 1 })
  })
})

describe('what edges mean', () => {
  it('parallel edges: the better one counts, and is named', () => {
    const graph = { nodes: 1, from: [0, 0, 0, 0], to: [0, 0, 0, 0], weight: [3, 5, 5, -1] }
    expect(cycleMean(graph)).toEqual({ numerator: 5, denominator: 1, value: 5, cycle: [0], edges: [1] })
    expect(cycleMean(graph, { semiring: 'min-plus' })).toMatchObject({ numerator: -1, edges: [3] })
  })

  it("the semiring's zero is no edge", () => {
    const graph = { nodes: 1, from: [0], to: [0], weight: [EPSILON] }
    expect(cycleMean(graph)).toBeNull()
    expect(cycleMean(graph, { semiring: 'min-plus' })).toMatchObject({ numerator: -(2 ** 31) })
    const float = { ...graph, weight: Float32Array.of(-Infinity) }
    expect(cycleMean(float)).toBeNull()
    expect(() => cycleMean(float, { semiring: 'min-plus' })).toThrow(
      expect.objectContaining({ code: 'ERR_MPMML_VALUE' }),
    )
  })

  it('no nodes and no edges', () => {
    const none = { nodes: 0, from: [], to: [], weight: [] }
    expect(cycleMean(none)).toBeNull()
    expect(cycleTimes(none).values.length).toBe(0)
    expect(criticalGraph({ ...none, nodes: 3 })).toBeNull()
    for (const nodes of [0, 1, 3]) {
      expect(() => eigenvector({ ...none, nodes })).toThrow(
        expect.objectContaining({ code: 'ERR_MPMML_SHAPE' }),
      )
    }
  })

  it('a zero mean has no sign, and an eigenvector no negative zero', () => {
    const graph = { nodes: 2, from: [0, 1], to: [1, 0], weight: [0, 0] }
    for (const semiring of ['max-plus', 'min-plus'] as const) {
      expect(cycleMean(graph, { semiring })!.numerator).toBe(0)
      expect([...eigenvector(graph, { semiring }).values]).toEqual([0, 0])
    }
  })

  it('refuses other semirings and options', () => {
    const graph = { nodes: 0, from: [], to: [], weight: [] }
    expect(() => cycleMean(graph, { semiring: 'max-min' as never })).toThrow(
      "option semiring must be 'max-plus' or 'min-plus'",
    )
    expect(() => cycleMean(graph, { ring: 1 } as never)).toThrow(
      expect.objectContaining({ code: 'ERR_MPMML_OPTION' }),
    )
  })
})

describe('large graphs', () => {
  it('a cycle of 10^6 nodes', () => {
    const nodes = 1_000_000
    const from = Int32Array.from({ length: nodes }, (_, i) => i)
    const graph = { nodes, from, to: from.map((i) => (i + 1) % nodes), weight: from.map((i) => i % 2) }
    const mean = cycleMean(graph)!
    expect(mean).toMatchObject({ numerator: 1, denominator: 2 })
    expect(mean.cycle.length).toBe(nodes)
  })

  it('10^6 nodes of which each is a component', () => {
    const nodes = 1_000_000
    const from = Int32Array.from({ length: nodes }, (_, i) => i)
    const graph = { nodes, from, to: from, weight: from }
    expect(cycleMean(graph)).toMatchObject({ numerator: nodes - 1, cycle: [nodes - 1] })
    expect(cycleTimes(graph).values[17]).toBe(17)
  })
})
