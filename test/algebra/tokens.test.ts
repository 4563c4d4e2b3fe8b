/**
 * Edges with tokens: x(k) = A₀ x(k) ⊕ A₁ x(k − 1) ⊕ …. The tests compare the literal recursion, and its form
 * as one matrix.
 */
import { describe, expect, it } from 'vitest'
import type { SumSemiring } from '../../lib/algebra/weights.js'
import {
  criticalGraph,
  cycleTimes,
  earliestStarts,
  eigenvectors,
  maximumCycleMean,
  minimumCycleMean,
  periodicRegime,
  plus,
  reverseEdges,
  star,
  type TokenEdgeList,
  trajectory,
  weightMatrix,
} from '../../lib/algebra.js'
import { EPSILON, matrix, mpmm, zeroOf } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'

type List = { nodes: number; from: number[]; to: number[]; weight: number[]; tokens: number[] }

/**
 * Random edge list without a cycle of edges without tokens: such edges lead to earlier nodes of some order.
 */
function randomList(random: Random, nodes: number, edges: number, most: number): List {
  const rank = Array.from({ length: nodes }, () => random.bits())
  const list: List = { nodes, from: [], to: [], weight: [], tokens: [] }
  for (let e = 0; e < edges; e++) {
    const [i, j] = [random.integer(0, nodes - 1), random.integer(0, nodes - 1)]
    list.from.push(i)
    list.to.push(j)
    list.weight.push(random.integer(-9, 9))
    list.tokens.push(rank[j]! < rank[i]! ? random.integer(0, most) : random.integer(1, most))
  }
  return list
}

const better = (semiring: SumSemiring, a: number, b: number) =>
  semiring === 'max-plus' ? Math.max(a, b) : Math.min(a, b)

/**
 * States by the number of their round. `given` has the states up to round 0; unknown states are the
 * semiring's zero.
 */
function states(
  list: List,
  given: Map<number, number[]>,
  steps: number,
  semiring: SumSemiring,
  input?: number[][],
) {
  const none = semiring === 'max-plus' ? -Infinity : Infinity
  const known = new Map(given)
  const valueAt = (k: number, i: number): number => {
    const row = known.get(k)
    if (row?.[i] !== undefined) return row[i]
    if (k <= 0) return none
    let best = input ? input[k - 1]![i]! : none
    for (const [e, from] of list.from.entries()) {
      if (from === i)
        best = better(semiring, best, valueAt(k - list.tokens[e]!, list.to[e]!) + list.weight[e]!)
    }
    const own = row ?? []
    own[i] = best
    known.set(k, own)
    return best
  }
  return Array.from({ length: steps + 1 }, (_, k) =>
    Array.from({ length: list.nodes }, (_, i) => valueAt(k, i)),
  )
}

const int32 = (values: number[], semiring: SumSemiring) =>
  Int32Array.from(values, (value) => (Number.isFinite(value) ? value : zeroOf(semiring)))

describe.each<SumSemiring>(['max-plus', 'min-plus'])('%s: trajectories', (semiring) => {
  const random = new Random(semiring.length + 50)
  it.each(Array.from({ length: 40 }, (_, index) => index))(
    'have the states of the recursion: graph %i',
    async () => {
      const nodes = random.integer(1, 6)
      const list = randomList(random, nodes, random.integer(0, 14), random.integer(1, 4))
      const none = semiring === 'max-plus' ? -Infinity : Infinity
      const rows = random.integer(1, 5)
      const last = Array.from({ length: rows }, () =>
        Array.from({ length: nodes }, () => (random.chance(0.2) ? none : random.integer(-9, 9))),
      )
      const given = new Map(last.map((row, at) => [at + 1 - rows, row]))
      const steps = random.integer(0, 8)
      const expected = states(list, given, steps, semiring).flat()
      const x0 = matrix(rows, nodes, int32(last.flat(), semiring))
      const result = await trajectory(list as TokenEdgeList<Int32Array>, x0, { steps, semiring })
      expect(result.shape).toEqual([steps + 1, nodes])
      expect(result.data).toEqual(int32(expected, semiring))
      const floats = { ...list, weight: Float64Array.from(list.weight) }
      const wide = await trajectory(floats, matrix(rows, nodes, Float64Array.from(last.flat())), {
        steps,
        semiring,
      })
      expect(wide.data.map((value) => value + 0)).toEqual(Float64Array.from(expected, (value) => value + 0))
      // A vector is x(0); earlier states are zero.
      const only = states(list, new Map([[0, last.at(-1)!]]), steps, semiring).flat()
      const vector = await trajectory(list as TokenEdgeList<Int32Array>, int32(last.at(-1)!, semiring), {
        steps,
        semiring,
      })
      expect(vector.data).toEqual(int32(only, semiring))
    },
  )

  it('have inputs', async () => {
    const list = randomList(random, 5, 12, 3)
    const steps = 6
    const b = Array.from({ length: 5 }, () => [random.integer(0, 9), random.integer(0, 9)])
    const u = Array.from({ length: 2 }, () =>
      Array.from({ length: steps }, (_, k) => 3 * k + random.integer(0, 3)),
    )
    const input = Array.from({ length: steps }, (_, k) =>
      b.map((row) => better(semiring, row[0]! + u[0]![k]!, row[1]! + u[1]![k]!)),
    )
    const expected = states(list, new Map([[0, [0, 0, 0, 0, 0]]]), steps, semiring, input)
    const driven = { b: matrix(5, 2, b.flat()), u: matrix(2, steps, u.flat()) }
    const { data } = await trajectory(list as TokenEdgeList<Int32Array>, [0, 0, 0, 0, 0], {
      steps,
      semiring,
      input: driven,
    })
    expect(data).toEqual(int32(expected.flat(), semiring))
  })

  it('are unchanged if all edges have one token', async () => {
    const { tokens, ...list } = randomList(random, 6, 20, 1)
    const x0 = [0, 1, 2, 3, 4, 5]
    const [one, other] = [{ ...list, tokens: tokens.map(() => 1) }, list]
    const options = { steps: 9, semiring }
    const [a, b] = await Promise.all([trajectory(one, x0, options), trajectory(other, x0, options)])
    expect(a.data).toEqual(b.data)
    expect(await periodicRegime(one, x0, { semiring })).toEqual(await periodicRegime(other, x0, { semiring }))
    expect(await eigenvectors(one, { semiring })).toEqual(await eigenvectors(other, { semiring }))
    expect(await criticalGraph(one, { semiring })).toEqual(await criticalGraph(other, { semiring }))
  })

  it.each(Array.from({ length: 40 }, (_, index) => index))(
    'have the regime of long trajectories: graph %i',
    async () => {
      const nodes = random.integer(1, 5)
      const list = randomList(random, nodes, random.integer(1, 10), 3)
      // Each node has a loop, so that a regime exists for every x(0).
      for (let i = 0; i < nodes; i++) {
        for (const [at, value] of [i, i, random.integer(-9, 9), 1].entries()) {
          ;[list.from, list.to, list.weight, list.tokens][at]!.push(value)
        }
      }
      const x0 = Array.from({ length: nodes }, () => random.integer(-9, 9))
      const { transient, period, growth } = await periodicRegime(list, x0, { semiring })
      const x = states(list, new Map([[0, x0]]), transient + 3 * period + 12, semiring)
      const holds = (k: number, c: number, by: (i: number) => number) =>
        x[k]!.every((value, i) => x[k + c]![i]! === value + by(i))
      for (let k = transient; k + period < x.length; k++)
        expect(holds(k, period, (i) => growth[i]!)).toBe(true)
      if (transient > 0) expect(holds(transient - 1, period, (i) => growth[i]!)).toBe(false)
      // No shorter period satisfies the definition.
      const tail = transient + period
      for (let c = 1; c < period; c++) {
        const by = (i: number) => x[tail + c]![i]! - x[tail]![i]!
        const all = Array.from({ length: period }, (_, k) => holds(tail + k, c, by))
        expect(all.every(Boolean)).toBe(false)
      }
      const { numerators, denominators } = await cycleTimes(list, { semiring })
      for (let i = 0; i < nodes; i++) expect(growth[i]! * denominators[i]!).toBe(period * numerators[i]!)
    },
  )
})

describe('one matrix A₀* ⊗ A₁', () => {
  it.each(Array.from({ length: 20 }, (_, index) => index))(
    'has the states of the edges with tokens: graph %i',
    async (seed) => {
      const random = new Random(seed + 900)
      const nodes = random.integer(2, 7)
      const list = randomList(random, nodes, 3 * nodes, 1)
      const part = (tokens: number) => {
        const of = list.tokens.flatMap((own, e) => (own === tokens ? [e] : []))
        const pick = (values: number[]) => of.map((e) => values[e]!)
        return { nodes, from: pick(list.from), to: pick(list.to), weight: pick(list.weight) }
      }
      const { c: a } = await mpmm((await star(part(0))).c, weightMatrix(part(1)))
      const x0 = Int32Array.from({ length: nodes }, () => random.integer(0, 9))
      const typed = list as TokenEdgeList<Int32Array>
      expect((await trajectory(typed, x0, { steps: 9 })).data).toEqual(
        (await trajectory(a, x0, { steps: 9 })).data,
      )
      const [mean, expected] = [await maximumCycleMean(list), await maximumCycleMean(a)]
      expect(mean && [mean.numerator, mean.denominator]).toEqual(
        expected && [expected.numerator, expected.denominator],
      )
      const critical = await criticalGraph(list)
      expect(critical?.cyclicity).toBe((await criticalGraph(a))?.cyclicity)
    },
  )
})

it('computes a production line whose pallet has two tokens', async () => {
  // A saw takes 3, a drill 5 and packing 2. A pallet returns 4 after packing begins. With two pallets the
  // drill has no slack.
  const line = (pallets: number): List => ({
    nodes: 3,
    from: [1, 2, 0, 1, 2, 0],
    to: [0, 1, 0, 1, 2, 2],
    weight: [3, 5, 3, 5, 2, 4],
    tokens: [0, 0, 1, 1, 1, pallets],
  })
  const means = await Promise.all([1, 2, 3].map(async (pallets) => (await maximumCycleMean(line(pallets)))!))
  expect(means.map(({ numerator, denominator }) => [numerator, denominator])).toEqual([
    [12, 1],
    [6, 1],
    [5, 1],
  ])
  expect(means.map(({ cycle }) => cycle.join())).toEqual(['0,2,1', '0,2,1', '1'])
  expect(means.map(({ edges }) => edges.join())).toEqual(['5,1,0', '5,1,0', '3'])
  expect((await criticalGraph(line(2)))!.cyclicity).toBe(2)
})

describe('tokens', () => {
  const list = { nodes: 2, from: [0, 1], to: [1, 0], weight: [3, 4] }
  it('may be of any kind of array, and beyond 16 bits', async () => {
    for (const tokens of [
      [0, 2 ** 31 - 1],
      Uint32Array.of(0, 2 ** 31 - 1),
      Float64Array.of(2 ** 31 - 1, 0),
    ]) {
      const mean = (await maximumCycleMean({ ...list, tokens }))!
      expect([mean.numerator, mean.denominator]).toEqual([7, 2 ** 31 - 1])
    }
    const { numerator, denominator } = (await minimumCycleMean({
      ...list,
      tokens: [2 ** 31 - 1, 2 ** 31 - 1],
    }))!
    expect([numerator, denominator]).toEqual([7, 2 ** 32 - 2])
    const tokens = [0, 2 ** 31 - 1]
    expect((await trajectory({ ...list, tokens }, [1, 2], { steps: 2 })).data).toEqual(
      Int32Array.of(1, 2, EPSILON, EPSILON, EPSILON, EPSILON),
    )
  })

  it('are ignored on a missing edge', async () => {
    const weight = [3, 4, EPSILON]
    const mean = await maximumCycleMean({
      nodes: 2,
      from: [0, 1, 0],
      to: [1, 0, 0],
      weight,
      tokens: [1, 0, 0],
    })
    expect(mean!.value).toBe(7)
  })

  it('are kept when edges are reversed', async () => {
    const reversed = reverseEdges({ ...list, tokens: [0, 2] })
    expect((await cycleTimes(reversed)).values.join()).toBe('3.5,3.5')
  })

  it.each([
    ['no array', '2', 'DTYPE', /tokens must be an array of whole numbers, such as an Int32Array, but it is/],
    ['too few', [1], 'SHAPE', /there are 1 entries and 2 edges/],
    ['a text', [1, '1'], 'DTYPE', /tokens\[1\] must be a number of tokens, an integer, but it is '1'/],
    ['a half', [0.5, 1], 'DTYPE', /tokens\[0\] .* 0.5/],
    ['NaN', [1, Number.NaN], 'DTYPE', /tokens\[1\] .* NaN/],
    ['below 0', [1, -1], 'VALUE', /tokens\[1\] is -1, but an edge has from 0 to 2\^31 - 1 tokens/],
    ['too many', [1, 2 ** 31], 'VALUE', /tokens\[1\] is 2147483648/],
    [
      'none on a cycle',
      [0, 0],
      'CYCLE',
      /^the cycle 0 → 1 → 0 has no token, .* put a token on one of its edges$/,
    ],
  ])('%s', async (_, tokens, code, message) => {
    const wrong = { ...list, tokens } as TokenEdgeList<Int32Array>
    for (const call of [
      () => maximumCycleMean(wrong),
      () => trajectory(wrong, [0, 0], { steps: 1 }),
      () => periodicRegime(wrong, [0, 0]),
    ])
      await expect(call()).rejects.toEqual(coded(code, message))
  })

  it('are rejected with a sum beyond 2^53', async () => {
    const count = 2 ** 22 + 2 ** 11
    const many = {
      nodes: 1,
      from: new Int32Array(count),
      to: new Int32Array(count),
      weight: new Int32Array(count),
    }
    const tokens = new Int32Array(count).fill(2 ** 31 - 1)
    await expect(maximumCycleMean({ ...many, tokens })).rejects.toEqual(coded('OVERFLOW', /2\^53 - 1 in all/))
  })

  it('are rejected on a loop without one, with the names of a cycle', async () => {
    const loop = { nodes: 3, from: [2, 1], to: [2, 0], weight: [1, 1], tokens: [0, 0] }
    const error = await maximumCycleMean(loop).catch((error) => error)
    expect([error.code, error.cycle]).toEqual(['ERR_MPMML_CYCLE', [2]])
    const keyed = { ...list, keys: ['press', 'oven'], tokens: [0, 0] }
    const named = await maximumCycleMean(keyed).catch((error) => error)
    expect(named.message).toMatch(/^the cycle press → oven → press has no token/)
    expect(named.keys).toEqual(['press', 'oven'])
  })

  it('name a cycle of edges without them, from its least node on', async () => {
    const random = new Random(48)
    let cycles = 0
    for (let round = 0; round < 40; round++) {
      const graph = randomList(random, 6, 14, 1)
      const tokens = graph.from.map((from, e) => (from === graph.to[e] || random.chance(0.2) ? 1 : 0))
      const error = await maximumCycleMean({ ...graph, tokens } as TokenEdgeList<Int32Array>).catch(
        (error) => error,
      )
      if (error?.code !== 'ERR_MPMML_CYCLE') continue
      cycles++
      const cycle = error.cycle as number[]
      expect(cycle[0]).toBe(Math.min(...cycle))
      for (const [at, node] of cycle.entries()) {
        const next = cycle[(at + 1) % cycle.length]
        const edges = tokens.filter((_, e) => graph.from[e] === node && graph.to[e] === next)
        expect(edges).toContain(0)
      }
    }
    expect(cycles).toBeGreaterThan(10)
  })

  it('are rejected by functions in which they have no meaning', async () => {
    const edges = { ...list, tokens: [0, 1] }
    await expect(earliestStarts(edges)).rejects.toEqual(coded('VALUE', /a project is done once/))
    expect(() => weightMatrix(edges)).toThrow(coded('VALUE', /a matrix has no place for them/))
    await expect(star(edges)).rejects.toEqual(coded('VALUE', /a matrix has no place for them/))
  })

  it.each([
    ['of other columns', matrix(2, 3), 'SHAPE', /x0 must be a vector of 2 elements/],
    ['of no rows', matrix(0, 2), 'SHAPE', /x0 must be a vector of 2 elements/],
    ['of floats', matrix(2, 2, new Float64Array(4)), 'DTYPE', /x0 must be of int32/],
  ])('are rejected with last states %s', async (_, x0, code, message) => {
    const edges = { ...list, tokens: [0, 1] }
    await expect(trajectory(edges, x0, { steps: 1 })).rejects.toEqual(coded(code, message))
  })

  it('are rejected with states outside int32, which name the round', async () => {
    const edges = { nodes: 2, from: [0, 1], to: [1, 0], weight: [2 ** 30, 2 ** 30], tokens: [0, 2] }
    await expect(trajectory(edges, [0, 0], { steps: 2 })).rejects.toEqual(
      coded('OVERFLOW', /element 0 of x\(2\)/),
    )
    const { data } = await trajectory(edges, [0, 0], { steps: 2, overflow: 'saturate' })
    expect(data.slice(-2)).toEqual(Int32Array.of(2 ** 31 - 1, 2 ** 30))
  })
})

it('computes star and plus of edge lists in their semiring', async () => {
  const list = { nodes: 3, from: [0, 1, 0], to: [1, 2, 2], weight: [4, -1, 9] }
  for (const semiring of ['max-plus', 'min-plus', 'max-min', 'or-and'] as const) {
    const dense = weightMatrix(list, { semiring })
    expect((await star(list, { semiring })).c.data).toEqual((await star(dense, { semiring })).c.data)
    expect((await plus(list, { semiring })).c.data).toEqual((await plus(dense, { semiring })).c.data)
  }
  const cyclic = { nodes: 2, from: [0, 1], to: [1, 0], weight: [2, -1] }
  await expect(star(cyclic)).rejects.toEqual(coded('CYCLE', /0 → 1 → 0/))
  await expect(star(list, { semiring: 'plus-times' })).rejects.toEqual(coded('OPTION', /./))
})
