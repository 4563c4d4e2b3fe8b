/** Reductions of paths, compared with reductions of the distances by definition. */
import { describe, expect, it } from 'vitest'
import { eachBlock } from '../../lib/graph/reduce.js'
import { reducePaths } from '../../lib/graph.js'
import { CycleError, openDevice } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { expectSame } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { randomGraph } from '../support/graphs.js'
import { bestFrom, pathAlgebras } from '../support/paths-oracle.js'

const semirings = ['min-plus', 'max-plus', 'max-min', 'max-times'] as const

/** Draws a graph of small weights over a semiring, with sources and targets in some rounds. */
function drawQuery(
  random: Random,
  semiring: (typeof semirings)[number],
  round: number,
  weights: [number, number],
) {
  const nodes = random.integer(1, 40)
  const weight = () => {
    const value = random.integer(...weights)
    if (semiring === 'max-times') return 2 ** -value
    return semiring === 'max-plus' ? -value : value
  }
  const graph = randomGraph(random, nodes, random.integer(0, 3 * nodes), weight)
  const Type = semiring === 'max-times' ? Float64Array : Int32Array
  const given = { ...graph, weight: Type.from(graph.weight) }
  const some = () => Array.from({ length: random.integer(1, 90) }, () => random.integer(0, nodes - 1))
  const sources = round % 2 ? some() : undefined
  const targets = round % 3 ? some() : undefined
  return { graph, given, sources, targets, all: Array.from({ length: nodes }, (_, node) => node) }
}

describe.each(semirings)('%s', (semiring) => {
  it.each(['search', 'dissection'] as const)('are right by %s', async (method) => {
    const random = new Random(51)
    const algebra = pathAlgebras[semiring]
    for (let round = 0; round < 12; round++) {
      const { graph, given, sources, targets, all } = drawQuery(random, semiring, round, [1, 9])
      const options = { semiring, method, sources, targets }
      const worst = await reducePaths(given, options)
      const mean = await reducePaths(given, { ...options, reduce: 'mean' })
      expect(worst.method).toBe(method)
      for (const [row, source] of (sources ?? all).entries()) {
        const { value } = bestFrom(graph, algebra, source)
        const values = (targets ?? all)
          .filter((target) => target !== source && value[target] !== null)
          .map((target) => value[target]!)
        expectSame(worst.reached[row], values.length)
        expectSame(mean.reached[row], values.length)
        const expected = values.reduce((a, b) => (algebra.better(a, b) ? b : a), values[0] ?? Number.NaN)
        expectSame(worst.values[row], expected)
        // Sums of a few small numbers are exact.
        const sum = values.reduce((a, b) => a + b, 0)
        expectSame(mean.values[row], sum / values.length)
      }
    }
  })
})

describe.each(semirings)('the nearest, %s', (semiring) => {
  it.each(['search', 'dissection', 'closure', 'auto'] as const)('are right by %s', async (method) => {
    const random = new Random(52)
    const algebra = pathAlgebras[semiring]
    for (let round = 0; round < 16; round++) {
      // Edges of weight 0 lead back to equally near nodes with lower numbers. Few different weights cause
      // many equal distances.
      const least = semiring === 'max-times' ? 0 : round % 2
      const { graph, given, sources, targets, all } = drawQuery(random, semiring, round, [least, 3])
      const k = random.integer(1, 12)
      const found = await reducePaths(given, { semiring, method, sources, targets, reduce: { nearest: k } })
      if (method !== 'auto') expect(found.method).toBe(method)
      for (const [row, source] of (sources ?? all).entries()) {
        const expected = nearest(graph, algebra, source, targets ?? all).slice(0, k)
        expectSame(found.reached[row], expected.length)
        expect(found.of(source)).toEqual(expected)
        const rest = Array.from({ length: k - expected.length })
        const none = { 'min-plus': Infinity, 'max-times': 0 }[semiring as string] ?? -Infinity
        const columns = (data: ArrayLike<number>) => Array.from(data).slice(row * k, (row + 1) * k)
        expect(columns(found.nodes.data)).toEqual([
          ...expected.map(({ node }) => node),
          ...rest.map(() => -1),
        ])
        expect(columns(found.distances.data)).toEqual([
          ...expected.map(({ distance }) => distance),
          ...rest.map(() => none),
        ])
      }
    }
  })
})

/** All targets that a source reaches, in order of the distances by definition. */
function nearest(
  graph: Parameters<typeof bestFrom>[0],
  algebra: Parameters<typeof bestFrom>[1],
  source: number,
  targets: readonly number[],
) {
  const { value } = bestFrom(graph, algebra, source)
  return [...new Set(targets)]
    .filter((target) => target !== source && value[target] !== null)
    .map((node) => ({ node, distance: value[node]! + 0 }))
    .sort((a, b) => {
      if (algebra.better(a.distance, b.distance)) return -1
      return algebra.better(b.distance, a.distance) ? 1 : a.node - b.node
    })
}

it('finds the nearest nodes if edges improve paths, and for floats', async () => {
  const algebra = pathAlgebras['min-plus']
  const random = new Random(53)
  for (const Type of [Int32Array, Float32Array, Float64Array]) {
    const potential = Array.from({ length: 30 }, () => random.integer(0, 9))
    const plain = randomGraph(random, 30, 90, () => random.integer(0, 3))
    const shifted = plain.weight.map((w, e) => w + potential[plain.from[e]!]! - potential[plain.to[e]!]!)
    const graph = { ...plain, weight: shifted }
    for (const method of ['search', 'closure'] as const) {
      const found = await reducePaths(
        { ...graph, weight: Type.from(shifted) },
        { method, reduce: { nearest: 4 } },
      )
      for (let node = 0; node < 30; node++) {
        expect(found.of(node)).toEqual(nearest(graph, algebra, node, [...potential.keys()]).slice(0, 4))
      }
    }
  }
})

it('ends a search for the nearest nodes early', async () => {
  // A path around the whole ring would have sums beyond 2^53.
  const nodes = 4_300_000
  const from = Int32Array.from({ length: nodes }, (_, i) => i)
  const to = from.map((i) => (i + 1) % nodes)
  const ring = { nodes, from, to, weight: new Int32Array(nodes).fill(2 ** 31 - 2) }
  const sources = [0, 1234, nodes - 1]
  await expect(reducePaths(ring, { sources, method: 'search' })).rejects.toThrow(/2\^53/)
  const { of } = await reducePaths(ring, { sources, reduce: { nearest: 2 } })
  for (const node of sources) {
    expect(of(node)).toEqual([
      { node: (node + 1) % nodes, distance: 2 ** 31 - 2 },
      { node: (node + 2) % nodes, distance: 2 ** 32 - 4 },
    ])
  }
})

it('finds the nearest nodes within a limit, by names', async () => {
  const named = {
    nodes: ['a', 'b', 'c', 'd'],
    from: ['a', 'a', 'a', 'b'],
    to: ['b', 'c', 'd', 'd'],
    weight: [2, 2, 9, 4],
  }
  const { of, keys } = await reducePaths(named, { sources: ['b', 'a'], reduce: { nearest: 3 }, limit: 5 })
  expect(of('a')).toEqual([
    { node: 'b', distance: 2 },
    { node: 'c', distance: 2 },
  ])
  expect(of('b')).toEqual([{ node: 'd', distance: 4 }])
  expect(keys).toEqual(named.nodes)
  expect(() => of('c')).toThrow(coded('VALUE', 'not among the sources'))
  expect(() => of('x')).toThrow(coded('VALUE'))
})

it('returns equal numbers by a closure and by searches', async () => {
  const random = new Random(54)
  for (const Type of [Int32Array, Float32Array, Float64Array]) {
    const graph = randomGraph(random, 50, 120, () => random.integer(0, 20))
    const given = { ...graph, weight: Type.from(graph.weight) }
    const sources = [3, 1, 3, 49]
    const targets = [7, 7, 0, 1, 12]
    for (const reduce of ['eccentricity', 'mean'] as const) {
      const [a, b] = await Promise.all(
        (['search', 'closure'] as const).map((method) =>
          reducePaths(given, { sources, targets, reduce, method }),
        ),
      )
      expect(b!.method).toBe('closure')
      expect([b!.values, b!.reached]).toEqual([a!.values, a!.reached])
    }
  }
})

it('uses a closure for a dense matrix', async () => {
  const random = new Random(55)
  const n = 300
  const data = Int32Array.from({ length: n * n }, () => random.integer(1, 1000))
  const found = await reducePaths({ data, shape: [n, n] }, { reduce: { nearest: 5 } })
  expect(found.method).toBe('closure')
  const searched = await reducePaths({ data, shape: [n, n] }, { reduce: { nearest: 5 }, method: 'search' })
  expect(searched.method).toBe('search')
  expect([searched.nodes.data, searched.distances.data]).toEqual([found.nodes.data, found.distances.data])
})

it('reads distances on a device in blocks of rows', async () => {
  const device = await openDevice({ backend: 'cpu' })
  const data = Int32Array.from({ length: 35 }, (_, at) => at)
  const distances = await device.upload({ data, shape: [7, 5] })
  for (const [bytes, starts] of [
    [80, [0, 2, 4, 6]],
    [1, [0, 1, 2, 3, 4, 5, 6]],
    [undefined, [0]],
  ] as const) {
    const read: number[] = []
    const firsts: number[] = []
    const use = async (rows: ArrayLike<number>, first: number) => {
      firsts.push(first)
      read.push(...Array.from(rows))
    }
    await eachBlock(distances, use, bytes)
    expect(firsts).toEqual(starts)
    expect(read).toEqual([...data])
  }
  await device.close()
})

it('returns values beyond int32 without overflow', async () => {
  const weight = new Int32Array(9).fill(2 ** 31 - 2)
  const line = { nodes: 10, from: [...weight.keys()], to: Array.from(weight, (_, i) => i + 1), weight }
  for (const method of ['search', 'dissection', 'closure'] as const) {
    const { values } = await reducePaths(line, { method, sources: [0, 9] })
    expect([...values]).toEqual([9 * (2 ** 31 - 2), Number.NaN])
    const { of } = await reducePaths(line, { method, reduce: { nearest: 2 }, targets: [8, 9] })
    expect(of(0)).toEqual([
      { node: 8, distance: 8 * (2 ** 31 - 2) },
      { node: 9, distance: 9 * (2 ** 31 - 2) },
    ])
  }
})

it('accepts names, and matrices', async () => {
  const named = { nodes: ['a', 'b', 'c'], from: ['a', 'b', 'c'], to: ['b', 'c', 'a'], weight: [4, 1, 2] }
  const { values, sources } = await reducePaths(named, { sources: ['c', 'a'] })
  expect([...values]).toEqual([6, 5])
  expect(sources).toHaveLength(2)
  const data = Float64Array.of(Infinity, 4, Infinity, Infinity)
  const matrix = await reducePaths({ data, shape: [2, 2] }, { reduce: 'mean', backend: 'cpu' })
  expect([matrix.backend, matrix.device.length > 0]).toEqual(['cpu', true])
  expect([...matrix.values]).toEqual([4, Number.NaN])
  expect([...matrix.reached]).toEqual([1, 0])
})

it('has the errors of paths', async () => {
  const ring = { nodes: 2, from: [0, 1], to: [1, 0], weight: [1, -2] }
  await expect(reducePaths(ring)).rejects.toThrow(CycleError)
  const data = new Float64Array(8)
  await expect(reducePaths({ data, shape: [2, 2, 2] })).rejects.toThrow(coded('SHAPE', 'batch'))
  await expect(reducePaths(ring, { semiring: 'or-and' as 'min-plus' })).rejects.toThrow(coded('OPTION'))
  await expect(reducePaths(ring, { reduce: 'median' as 'mean' })).rejects.toThrow(coded('OPTION'))
  for (const reduce of [
    'nearest',
    'nearest 1',
    'nearest=1',
    { nearest: 0 },
    { nearest: '1' },
    {},
    { nearest: 1.5 },
    { nearest: 1, k: 2 },
    null,
    5,
  ]) {
    await expect(reducePaths(ring, { reduce: reduce as 'mean' })).rejects.toThrow(
      coded('OPTION', 'nearest: 5'),
    )
  }
  await expect(reducePaths(ring, { reduce: { nearest: 1 } })).rejects.toThrow(CycleError)
  await expect(reducePaths(ring, { reduce: 'mean', method: 'closure' })).rejects.toThrow(CycleError)
  await expect(reducePaths(ring, { limit: 4 })).rejects.toThrow(coded('OPTION', 'limit'))
  await expect(reducePaths(ring, { limit: 4, method: 'closure' })).rejects.toThrow(coded('OPTION', 'limit'))
  await expect(reducePaths(ring, { sources: [7] })).rejects.toThrow(coded('VALUE'))
  await expect(reducePaths(ring, { signal: AbortSignal.abort() })).rejects.toThrow(coded('ABORTED'))
  expect([...(await reducePaths({ ...ring, weight: [1, 2] }, { targets: [] })).values]).toEqual([
    Number.NaN,
    Number.NaN,
  ])
})
