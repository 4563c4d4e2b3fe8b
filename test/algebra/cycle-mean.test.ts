/** Cycle means, cycle times, eigenvectors and critical graphs, against all simple cycles, best walks, and Karp in BigInt. */
import { describe, expect, it } from 'vitest'
import {
  type CycleMean,
  componentCycleMeans,
  criticalGraph,
  cycleTimes,
  eigenvectors,
  maximumCycleMean,
  minimumCycleMean,
  type SumSemiring,
  type TokenEdgeList,
  type Weights,
} from '../../lib/algebra.js'
import { EPSILON, matrix, mpmm, openDevice, zeroOf } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { expectSame } from '../support/expect.js'
import { Random } from '../support/generators.js'
import {
  add,
  bestWalks,
  equal,
  type Fraction,
  karp,
  less,
  meanOf,
  rational,
  reachability,
  simpleCycles,
  tokensOf,
} from '../support/graph-oracle.js'
import { addEdge, randomGraph } from '../support/graphs.js'
import { givenUp } from '../support/in-time.js'
import type { WeightedEdges } from '../support/paths-oracle.js'

type Rows = (number | null)[][]

const bestMean = (graph: Weights, semiring: SumSemiring) =>
  semiring === 'max-plus' ? maximumCycleMean(graph) : minimumCycleMean(graph)

const asFraction = ({ numerator, denominator }: { numerator: number; denominator: number }): Fraction => {
  const [a, b] = rational(numerator)
  return [a, b * BigInt(denominator)]
}

const times = ([a, b]: Fraction, factor: number): Fraction => [a * BigInt(factor), b]

const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b))

/** Walks the cycle edge by edge. */
function expectCycle(graph: WeightedEdges, { cycle, edges, numerator, denominator, value }: CycleMean): void {
  expectSame(edges.length, cycle.length)
  expectSame(new Set(cycle).size, cycle.length)
  expectSame(Math.min(...cycle), cycle[0])
  for (const [k, e] of edges.entries()) {
    expectSame(graph.from[e], cycle[k])
    expectSame(graph.to[e], cycle[(k + 1) % cycle.length])
  }
  expectSame(value, numerator / denominator)
}

function expectExact(graph: WeightedEdges, mean: CycleMean, expected: Fraction): void {
  expectCycle(graph, mean)
  expectSame(equal(meanOf(graph, mean.edges), expected), true)
  expectSame(equal(asFraction(mean), expected), true)
  expectSame(gcd(BigInt(mean.numerator), BigInt(mean.denominator)), 1n)
}

const worse = (semiring: SumSemiring) => (a: Fraction, b: Fraction) =>
  semiring === 'max-plus' ? less(a, b) : less(b, a)

function best(means: Fraction[], semiring: SumSemiring): Fraction | undefined {
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

/** How many tokens edges have; null: none is said. */
const tokenKinds: [string, null | ((random: Random) => number)][] = [
  ['no tokens', null],
  ['few tokens', (random) => random.integer(0, 3)],
  ['0 or 1 token', (random) => random.integer(0, 1)],
  ['many tokens', (random) => random.pick([0, 1, 2, 1000, 2 ** 15])],
]

/** Gives random tokens to edges; cycles without one are errors, each of which gets one. */
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

describe.each<SumSemiring>(['max-plus', 'min-plus'])('%s: against all simple cycles', (semiring) => {
  describe.each([
    ...kinds.map((kind) => [...kind, true] as const),
    ...fractions.map((kind) => [...kind, false] as const),
  ])('%s', (name, weight, integers) => {
    const random = new Random(name.length * 7919 + (semiring === 'max-plus' ? 1 : 2))
    it.each(tokenKinds)('%s', async (_, draw) => {
      // One test for all: thousands of tests take longer than what they look at.
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

/**
 * Each entry of the eigenvector of a critical node is the best walk to it, so that A ⊗ v = λ ⊗ v. `list` is the graph as it is
 * given to the library.
 */
async function expectEigenvectors(
  list: Weights,
  graph: WeightedEdges,
  semiring: SumSemiring,
  components?: Int32Array[],
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
    // The definition, which also says that these walks are the right thing to look at.
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

/** Rounded at most three times, and infinite if it is too large, times what it is the quotient of. */
function expectNear(value: number, [numerator, denominator]: Fraction, divisor: number): void {
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
function connected(random: Random, nodes: number, edges: number, weight: () => number): WeightedEdges {
  const graph = randomGraph(random, nodes, edges, weight)
  for (let i = 0; i < nodes; i++) addEdge(graph, i, (i + 1) % nodes, weight)
  return graph
}

describe('against Karp in BigInt', () => {
  it.each(
    kinds.flatMap(([name, weight], index) =>
      [20, 60, 120].map((nodes) => ({ name, weight, nodes, seed: index * 1000 + nodes })),
    ),
  )('$name, $nodes nodes', async ({ weight, nodes, seed }) => {
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

  it('values that are beyond 2^53 are compared exactly: two cycles that differ by 1 in 10^14', async () => {
    // One long cycle of weights near 2^31, whose values are beyond 2^53 when they are multiplied by its length.
    const nodes = 2101
    const large = 2 ** 31 - 2
    for (const difference of [-1, 0, 1]) {
      const graph: WeightedEdges = { nodes, from: [], to: [], weight: [] }
      const edge = (from: number, to: number, weight: number) => addEdge(graph, from, to, weight)
      for (let i = 0; i < nodes; i++) edge(i, (i + 1) % nodes, i % 2 ? large : -large)
      // A detour over two edges in the place of another two, better or worse by 1, or equal.
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

describe('whole numbers whose sums are beyond 2^53 are not taken for exact', () => {
  const P = 2 ** 52

  function ring(weights: number[], first = 0): WeightedEdges {
    const nodes = weights.map((_, i) => first + i)
    return { nodes: first + nodes.length, from: nodes, to: [...nodes.slice(1), first], weight: weights }
  }

  /** Two rings, and edges between their first nodes that no good cycle has. */
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

  it('of a cycle, whose sum is small', async () => {
    // 2^53 + 1 is rounded to 2^53, so in some orders the sum is -1.
    const weights = [P, P, 1, 1, -P, -P, -1]
    for (let turn = 0; turn < weights.length; turn++) {
      const turned = [...weights.slice(turn), ...weights.slice(0, turn)]
      for (const graph of [joined([0], turned), joined(turned, [0])]) await expectMean(graph, [1n, 7n])
    }
  })

  it('of two cycles, times the length of the other', async () => {
    for (const t of [2 ** 49 + 3, 2 ** 49 + 2 ** 48 + 1, 2 ** 49 - 7]) {
      // 9 times the better one's sum is 10 times the other's plus 1.
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

  it('of a few nodes', async () => {
    // Found at random.
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

  it('of a long way to a cycle', async () => {
    // Each sum along the way loses nearly half of what its last digit stands for, and the way back nothing.
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
    // Together they gain 1, against the loop of 0 that they begin and end at.
    const back = new Array<number>(steps).fill(-P)
    back[0] = Number(1n - exact + BigInt(P) * BigInt(steps - 1))
    const graph = ring([...back, ...there])
    addEdge(graph, 0, 0, 0)
    expect(graph.weight.reduce((sum, weight) => sum + BigInt(weight), 0n)).toBe(1n)
    await expectMean(graph, [1n, BigInt(2 * steps)])
  })
})

describe('planted cycles', () => {
  it.each([1, 2, 3, 7, 50, 1000])('of %i nodes among 2000 are found', async (length) => {
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

/** A matrix of int32, in which null is the semiring's zero. */
const int32 = (rows: Rows, semiring: SumSemiring = 'max-plus') =>
  matrix(
    rows.length,
    rows.length,
    rows.flat().map((value) => value ?? zeroOf(semiring)),
  )

const none = null

describe('published examples', () => {
  const book: Rows = [
    [3, 7],
    [2, 4],
  ]
  it('F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity: [3 7; 2 4] has the eigenvalue 4.5 and the eigenvector (2.5, 0)', async () => {
    const { eigenvalue, vectors } = (await eigenvectors(int32(book)))!
    expect(eigenvalue).toMatchObject({ numerator: 9, denominator: 2, value: 4.5, cycle: [0, 1] })
    expect(vectors.length).toBe(1)
    expect(vectors[0]!.values[0]! - vectors[0]!.values[1]!).toBe(2.5)
  })

  it('MaxPlus.jl documentation: A*A*A of A = [4 3; 7 ε] is [14 13; 17 14], whose eigenvalue is three times that of A', async () => {
    const a: Rows = [
      [4, 3],
      [7, none],
    ]
    expect(await maximumCycleMean(int32(a))).toMatchObject({ numerator: 5, denominator: 1, cycle: [0, 1] })
    const power3: Rows = [
      [14, 13],
      [17, 14],
    ]
    expect(await maximumCycleMean(int32(power3))).toMatchObject({ numerator: 15, denominator: 1 })
  })

  // mpeigen(S) gives λ and v; v is an eigenvector of each block.
  it.each<[Rows, number[], number[]]>([
    [
      [
        [1, 2],
        [3, 4],
      ],
      [4, 4],
      [2, 4],
    ],
    [
      [
        [none, 2, none],
        [0, none, none],
        [none, none, 2],
      ],
      [1, 1, 2],
      [1, 0, 2],
    ],
    [
      [
        [1, 1],
        [none, 2],
      ],
      [2, 2],
      [1, 2],
    ],
    [
      [
        [3, 7],
        [2, none],
      ],
      [4.5, 4.5],
      [4.5, 2],
    ],
    [
      [
        [3, none],
        [2, 4],
      ],
      [3, 4],
      [3, 4],
    ],
  ])('MaxPlus.jl, test/test_howard.jl: mpeigen(%j) is %j, %j', async (rows, lambda, v) => {
    expect([...(await cycleTimes(int32(rows))).values]).toEqual(lambda)
    // Theirs is one vector; where the cycle times differ, only its entries of the greatest are one of A.
    const { eigenvalue, vectors } = (await eigenvectors(int32(rows)))!
    expect(eigenvalue.value).toBe(Math.max(...lambda))
    const support = lambda.flatMap((value, i) => (value === eigenvalue.value ? [i] : []))
    const { values } = vectors[0]!
    for (const i of support) expect(values[i]! - values[support[0]!]!).toBe(v[i]! - v[support[0]!]!)
  })

  it('ScicosLab, howard: of [2 1; ε 0] 2 is an eigenvalue with the eigenvector (v(1), ε)', async () => {
    const { eigenvalue, vectors } = (await eigenvectors(
      int32([
        [2, 1],
        [none, 0],
      ]),
    ))!
    expect(eigenvalue.value).toBe(2)
    expect(vectors.map(({ values }) => [...values])).toEqual([[0, -Infinity]])
  })

  it('Sage, extremum_cycle_mean: 3 in max-plus, 5/3 in min-plus, and the closure of the matrix less it', async () => {
    const rows: Rows = [
      [-2, 1, -3],
      [3, 0, 3],
      [5, 2, 1],
    ]
    expect(await maximumCycleMean(int32(rows))).toMatchObject({ numerator: 3, denominator: 1 })
    const least: Rows = [
      [none, 1, 10, none],
      [none, none, 3, none],
      [none, none, none, 2],
      [8, 0, none, none],
    ]
    const weights = int32(least, 'min-plus')
    expect(await minimumCycleMean(weights)).toMatchObject({ numerator: 5, denominator: 3, cycle: [1, 2, 3] })
    // weak_transitive_closure() of the matrix less 5/3: the columns of critical nodes are eigenvectors.
    const { vectors } = (await eigenvectors(weights, { semiring: 'min-plus' }))!
    expect(vectors.map(({ node, numerators, denominator }) => [node, denominator, ...numerators])).toEqual([
      [1, 3, -2, 0, -4, -5],
    ])
  })

  it('Scilab, maxplusmaxalgol: λ = 8 and v = (15, 15, 17, 10, 16, 13)', async () => {
    const rows: Rows = [
      [none, 3, none, none, 7, none],
      [2, none, 6, none, 7, 2],
      [none, 7, 8, 9, none, none],
      [none, none, none, 1, 2, none],
      [8, none, 7, none, none, 2],
      [0, none, none, 6, 5, none],
    ]
    const { eigenvalue, vectors } = (await eigenvectors(int32(rows)))!
    expect(eigenvalue).toMatchObject({ numerator: 8, denominator: 1, cycle: [2] })
    expect(vectors.length).toBe(1)
    expect([...vectors[0]!.values].map((value) => value + 17)).toEqual([15, 15, 17, 10, 16, 13])
    expect(
      await cycleTimes(
        int32([
          [7, none],
          [0, 3],
        ]),
      ),
    ).toMatchObject({ values: Float64Array.of(7, 7) })
    expect(
      await cycleTimes(
        int32([
          [8, none],
          [0, 11],
        ]),
      ),
    ).toMatchObject({ values: Float64Array.of(8, 11) })
  })
})

describe('matrices', () => {
  const rows: Rows = [
    [-2, 1, none],
    [3, none, 3],
    [5, 2, 1],
  ]

  it('are graphs: element [i, j] is the edge i · n + j from i to j', async () => {
    const mean = (await maximumCycleMean(int32(rows)))!
    expect(mean).toEqual({ numerator: 3, denominator: 1, value: 3, cycle: [0, 1, 2], edges: [1, 5, 6] })
    expect(await criticalGraph(int32(rows))).toMatchObject({
      nodes: Int32Array.of(0, 1, 2),
      edges: [1, 5, 6],
      components: [Int32Array.of(0, 1, 2)],
      cyclicity: 3,
    })
  })

  it('may have strides, other types, and be on a device', async () => {
    const { data } = int32(rows)
    const expected = await maximumCycleMean(int32(rows))
    const apart = new Int32Array(40).fill(99)
    for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) apart[5 + 2 * i + 7 * j] = data[3 * i + j]!
    expect(await maximumCycleMean({ data: apart, shape: [3, 3], strides: [2, 7], offset: 5 })).toEqual(
      expected,
    )
    const half = Int16Array.from(data, (value) => (value === EPSILON ? -(2 ** 15) : value))
    expect(await maximumCycleMean({ data: half, shape: [3, 3] })).toEqual(expected)
    for (const Type of [Float32Array, Float64Array]) {
      const floats = new Type(data).map((value) => (value === EPSILON ? -Infinity : value))
      const mean = (await maximumCycleMean(matrix(3, 3, floats)))!
      expect(mean).toMatchObject({ value: 3, cycle: expected!.cycle })
    }
    const device = await openDevice({ backend: 'cpu' })
    try {
      expect(await maximumCycleMean(await device.upload(int32(rows)))).toEqual(expected)
      expect(await maximumCycleMean(await device.upload({ data: half, shape: [3, 3] }))).toEqual(expected)
    } finally {
      await device.close()
    }
  })

  it.each([10, 60, 300])('%i nodes: against Karp by products', async (n) => {
    const random = new Random(n)
    for (const share of [1, 0.5, 2 / n]) {
      const data = Int32Array.from({ length: n * n }, () =>
        random.chance(share) ? random.integer(-(10 ** 6), 10 ** 6) : EPSILON,
      )
      // R. Karp, A characterization of the minimum cycle mean in a digraph (1978): x(k) = x(k - 1) ⊗ A from x(0) = 0.
      const a = matrix(
        n,
        n,
        Float64Array.from(data, (value) => (value === EPSILON ? -Infinity : value)),
      )
      let x = matrix(1, n, new Float64Array(n))
      const walks = [x.data]
      for (let k = 1; k <= n; k++) {
        x = (await mpmm(x, a)).c
        walks.push(x.data)
      }
      let expected = -Infinity
      for (let v = 0; v < n; v++) {
        if (walks[n]![v] === -Infinity) continue
        const means = walks.slice(0, n).map((walk, k) => (walks[n]![v]! - walk[v]!) / (n - k))
        expected = Math.max(expected, Math.min(...means))
      }
      const mean = await maximumCycleMean(matrix(n, n, data))
      expect(mean?.value ?? -Infinity).toBe(expected)
    }
  })
})

describe('what edges mean', () => {
  it('parallel edges: the better one counts, and is named', async () => {
    const graph = { nodes: 1, from: [0, 0, 0, 0], to: [0, 0, 0, 0], weight: [3, 5, 5, -1] }
    expect(await maximumCycleMean(graph)).toEqual({
      numerator: 5,
      denominator: 1,
      value: 5,
      cycle: [0],
      edges: [1],
    })
    expect(await minimumCycleMean(graph)).toMatchObject({ numerator: -1, edges: [3] })
  })

  it("the semiring's zero is no edge", async () => {
    const graph = { nodes: 1, from: [0], to: [0], weight: [EPSILON] }
    expect(await maximumCycleMean(graph)).toBeNull()
    expect(await minimumCycleMean(graph)).toMatchObject({ numerator: -(2 ** 31) })
    const float = { ...graph, weight: Float32Array.of(-Infinity) }
    expect(await maximumCycleMean(float)).toBeNull()
    await expect(minimumCycleMean(float)).rejects.toEqual(coded('VALUE', /^weight\[0\] is -Infinity/))
  })

  it('no nodes and no edges', async () => {
    const none = { nodes: 0, from: [], to: [], weight: [] }
    for (const graph of [none, { ...none, nodes: 1 }, { ...none, nodes: 3 }, matrix(0, 0), int32([[null]])]) {
      expect(await maximumCycleMean(graph)).toBeNull()
      expect(await eigenvectors(graph)).toBeNull()
      expect(await criticalGraph(graph)).toBeNull()
    }
    expect((await cycleTimes(none)).values.length).toBe(0)
    expect(await componentCycleMeans({ ...none, nodes: 2 })).toMatchObject({ means: [null, null] })
  })

  it('a zero mean has no sign, and an eigenvector no negative zero', async () => {
    const graph = { nodes: 2, from: [0, 1], to: [1, 0], weight: [0, 0] }
    for (const semiring of ['max-plus', 'min-plus'] as const) {
      expect((await bestMean(graph, semiring))!.numerator).toBe(0)
      expect([...(await eigenvectors(graph, { semiring }))!.vectors[0]!.values]).toEqual([0, 0])
    }
  })
})

describe('bad input', () => {
  const graph = { nodes: 2, from: [0, 1], to: [1, 0], weight: [1, 2] }
  const functions = {
    maximumCycleMean,
    minimumCycleMean,
    componentCycleMeans,
    cycleTimes,
    eigenvectors,
    criticalGraph,
  }
  const cases: [string, unknown, string, RegExp][] = [
    ['nothing', undefined, 'DTYPE', /must be a matrix/],
    ['a number', 3, 'DTYPE', /must be a matrix/],
    ['a matrix that is not square', matrix(2, 3), 'SHAPE', /must be one square matrix.*\[2, 3\]/],
    ['a batch', matrix([2, 3, 3]), 'SHAPE', /must be one square matrix.*\[2, 3, 3\]/],
    ['a matrix of uint8', matrix(1, 1, new Uint8Array(1)), 'DTYPE', /max-plus has|min-plus has/],
    ['NaN in a matrix', matrix(1, 1, Float64Array.of(NaN)), 'VALUE', /element \[0, 0\] is NaN/],
    ['NaN in a list', { ...graph, weight: Float64Array.of(1, NaN) }, 'VALUE', /weight\[1\] is NaN/],
    ['a short matrix', { data: new Int32Array(3), shape: [2, 2] }, 'SHAPE', /at least 4 elements/],
    ['a list without ends', { nodes: 2, from: [0] }, 'DTYPE', /to must be an array of node numbers/],
    ['a node outside', { ...graph, to: [1, 2] }, 'VALUE', /to\[1\] is 2/],
    ['a negative node', { ...graph, from: [0, -1] }, 'VALUE', /from\[1\] is -1/],
    ['arrays of unequal lengths', { ...graph, from: [0] }, 'SHAPE', /1, 2 and 2 entries/],
    ['a negative number of nodes', { ...graph, nodes: -1 }, 'SHAPE', /nodes must be/],
    ['weights that are no integers', { ...graph, weight: [1, 0.5] }, 'DTYPE', /weight\[1\]/],
  ]
  for (const [name, call] of Object.entries(functions)) {
    it.each(cases)(`${name}: %s`, async (_, weights, code, message) => {
      await expect(call(weights as never)).rejects.toEqual(coded(code, message))
    })
    it(`${name}: options`, async () => {
      await expect(call(graph, { ring: 1 } as never)).rejects.toEqual(
        coded('OPTION', /there is no option 'ring'/),
      )
      await expect(call(graph, { signal: 1 } as never)).rejects.toEqual(coded('OPTION', /AbortSignal/))
      const signal = AbortSignal.abort('enough')
      await expect(call(graph, { signal })).rejects.toMatchObject({
        code: 'ERR_MPMML_ABORTED',
        cause: 'enough',
      })
    })
  }

  it('other semirings', async () => {
    await expect(criticalGraph(graph, { semiring: 'max-min' as never })).rejects.toEqual(
      coded('OPTION', /option semiring must be 'max-plus' or 'min-plus'/),
    )
    await expect(maximumCycleMean(graph, { semiring: 'min-plus' } as never)).rejects.toEqual(coded('OPTION'))
  })

  it('+∞ in max-plus', async () => {
    await expect(maximumCycleMean(matrix(1, 1, Float64Array.of(Infinity)))).rejects.toEqual(
      coded('VALUE', /element \[0, 0\] is Infinity/),
    )
  })
})

describe('large graphs', () => {
  it('a cycle of 10^6 nodes', async () => {
    const nodes = 1_000_000
    const from = Int32Array.from({ length: nodes }, (_, i) => i)
    const graph = { nodes, from, to: from.map((i) => (i + 1) % nodes), weight: from.map((i) => i % 2) }
    const mean = (await maximumCycleMean(graph))!
    expect(mean).toMatchObject({ numerator: 1, denominator: 2 })
    expect(mean.cycle.length).toBe(nodes)
  })

  it('300 000 nodes of which each is a component', async () => {
    const nodes = 300_000
    const from = Int32Array.from({ length: nodes }, (_, i) => i)
    const graph = { nodes, from, to: from, weight: from }
    expect(await maximumCycleMean(graph)).toMatchObject({ numerator: nodes - 1, cycle: [nodes - 1] })
    expect((await cycleTimes(graph)).values[17]).toBe(17)
  })

  it('more eigenvectors than there is memory for: one for each of 300 000 loops of equal weight', async () => {
    const nodes = 300_000
    const from = Int32Array.from({ length: nodes }, (_, i) => i)
    const graph = { nodes, from, to: from, weight: new Int32Array(nodes) }
    await expect(eigenvectors(graph)).rejects.toEqual(coded('OUT_OF_MEMORY', /the 300000 eigenvectors/))
    expect((await criticalGraph(graph))!.components.length).toBe(nodes)
  })

  it('the event loop turns while a search runs, and a signal ends it', async () => {
    const random = new Random(5)
    const graph = connected(random, 20_000, 400_000, () => random.integer(-1000, 1000))
    const [error] = await givenUp(
      (signal) => [criticalGraph(graph, { signal })],
      (controller) => {
        let turns = 0
        const timer = setInterval(() => {
          if (++turns < 3) return
          clearInterval(timer)
          controller.abort('enough')
        }, 1)
      },
    )
    expect(error).toMatchObject({ code: 'ERR_MPMML_ABORTED', cause: 'enough' })
  })
})
