/** Paths by dissection, compared with the definition and with searches. */
import { describe, expect, it } from 'vitest'
import {
  longestPaths,
  mostReliablePaths,
  type PathFunction,
  shortestPaths,
  transitiveClosure,
  widestPaths,
} from '../../lib/graph.js'
import { CycleError, OverflowError } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { expectSame } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { addEdge, randomGraph } from '../support/graphs.js'
import {
  bestFrom,
  type PathAlgebraName,
  pathAlgebras,
  valueOfPath,
  type WeightedEdges,
} from '../support/paths-oracle.js'

const functions: Record<PathAlgebraName, PathFunction> = {
  'min-plus': shortestPaths,
  'max-plus': longestPaths,
  'max-min': widestPaths,
  'max-times': mostReliablePaths,
  'or-and': transitiveClosure as PathFunction,
}

const method = 'dissection'

/** Grid of streets, some of which are missing, one-way, or have parallel edges. */
function streets(
  random: Random,
  width: number,
  height: number,
  weight: (from: number, to: number) => number,
): WeightedEdges {
  const graph: WeightedEdges = { nodes: width * height, from: [], to: [], weight: [] }
  const street = (a: number, b: number) => {
    const kind = random.integer(0, 9)
    if (kind > 0) addEdge(graph, a, b, weight)
    if (kind > 2) addEdge(graph, b, a, weight)
    if (kind === 9) addEdge(graph, a, b, weight)
  }
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const node = y * width + x
      if (x + 1 < width) street(node, node + 1)
      if (y + 1 < height) street(node, node + width)
    }
  }
  return graph
}

/** Weights without improving cycles. Single edges may improve a path. */
function weightOf(random: Random, semiring: PathAlgebraName, nodes: number, least: number) {
  const potential = Array.from({ length: nodes }, () => random.integer(-6, 6))
  return (from: number, to: number) => {
    const bad = random.integer(least, 9)
    const lift = potential[from]! - potential[to]!
    switch (semiring) {
      case 'min-plus':
        return bad + lift
      case 'max-plus':
        return lift - bad
      case 'max-times':
        return 2 ** -bad
      default:
        return bad
    }
  }
}

/** Compares a result with the definition, path by path. */
async function check(semiring: PathAlgebraName, graph: WeightedEdges, options: object): Promise<void> {
  const algebra = pathAlgebras[semiring]
  const weight = semiring === 'max-times' ? Float64Array.from(graph.weight) : Int32Array.from(graph.weight)
  const paths = semiring !== 'max-times'
  const result = await functions[semiring]({ ...graph, weight }, { ...options, paths, method })
  expect(result.method).toBe(method)
  const all = Array.from({ length: graph.nodes }, (_, node) => node)
  const { sources, targets } = result
  for (const source of new Set(sources ?? all)) {
    const { value } = bestFrom(graph, algebra, source)
    for (const target of new Set(targets ?? all)) {
      const stated = result.distances.at(source, target)
      if (source === target) continue
      const expected = value[target]!
      if (expected === null) {
        expectSame([0, -(2 ** 31), 2 ** 31 - 1].includes(stated), true)
        if (paths) expectSame(result.path(source, target), null)
        continue
      }
      const truth = semiring === 'or-and' ? 1 : expected
      expectSame(stated, truth)
      // Only some of the paths are checked, because the oracle is slow at finding edges.
      if (!paths || (source + target) % 4) continue
      const path = result.path(source, target)!
      expectSame(path[0], source)
      expectSame(path.at(-1), target)
      if (semiring === 'or-and') expectSame(path.length > 1, true)
      else expectSame(valueOfPath(graph, algebra, path), expected)
    }
  }
}

describe.each(Object.keys(functions) as PathAlgebraName[])('%s', (semiring) => {
  it('finds the best paths of streets', async () => {
    const random = new Random(31)
    for (const [width, height] of [
      [7, 8],
      [9, 10],
      [30, 2],
    ] as const) {
      // Graphs with and without weights of 0.
      for (const least of [0, 1]) {
        const weight = weightOf(random, semiring, width * height, least)
        await check(semiring, streets(random, width, height, semiring === 'or-and' ? () => 1 : weight), {})
      }
    }
  })

  it('finds the best paths of any graph', async () => {
    const random = new Random(32)
    for (let round = 0; round < 8; round++) {
      const nodes = random.integer(1, 50)
      const weight = semiring === 'or-and' ? () => 1 : weightOf(random, semiring, nodes, 1)
      const graph = randomGraph(random, nodes, random.integer(0, 3 * nodes), weight)
      await check(semiring, graph, {})
    }
  })

  it('finds the best paths between some sources and targets, in their order', async () => {
    const random = new Random(33)
    const graph = streets(random, 8, 9, semiring === 'or-and' ? () => 1 : weightOf(random, semiring, 72, 1))
    const some = (count: number) => Array.from({ length: count }, () => random.integer(0, 71))
    await check(semiring, graph, { sources: some(70) })
    await check(semiring, graph, { targets: some(70) })
    await check(semiring, graph, { sources: some(9), targets: some(80) })
    await check(semiring, graph, { sources: some(80), targets: some(9) })
    await check(semiring, graph, { sources: [5], targets: [7, 5] })
  })
})

const line = (nodes: number, weight: number) => ({
  nodes,
  from: Array.from({ length: nodes - 1 }, (_, i) => i),
  to: Array.from({ length: nodes - 1 }, (_, i) => i + 1),
  weight: new Array<number>(nodes - 1).fill(weight),
})

describe('numbers', () => {
  it('are exact if intermediate sums exceed int32', async () => {
    const far = line(60, 2 ** 30)
    far.from.push(59)
    far.to.push(0)
    far.weight.push(-(2 ** 31) + 2)
    const sources = [0]
    await expect(shortestPaths(far, { method, sources })).rejects.toThrow(OverflowError)
    const near = await shortestPaths(far, { method, sources: [59], targets: [1, 2, 3] })
    expect([...near.distances.data]).toEqual([-(2 ** 30) + 2, 2, 2 ** 30 + 2])
    const most = await shortestPaths(far, { method, sources, targets: [1, 5], overflow: 'saturate' })
    expect([...most.distances.data]).toEqual([2 ** 30, 2 ** 31 - 2])
    const wrapped = await shortestPaths(far, { method, sources, targets: [5], overflow: 'wrap' })
    expect([...wrapped.distances.data]).toEqual([(5 * 2 ** 30) | 0])
  })

  it('may be the least and the greatest widths', async () => {
    const weight = Int32Array.of(-(2 ** 31) + 1, 2 ** 31 - 1)
    const graph = { nodes: 4, from: [0, 1], to: [1, 2], weight }
    const { distances } = await widestPaths(graph, { method })
    const none = -(2 ** 31)
    const one = 2 ** 31 - 1
    expect([...distances.data]).toEqual(
      [
        [one, none + 1, none + 1, none],
        [none, one, one, none],
        [none, none, one, none],
        [none, none, none, one],
      ].flat(),
    )
  })

  it('may be floats', async () => {
    const random = new Random(34)
    for (const Type of [Float32Array, Float64Array]) {
      const graph = streets(random, 9, 9, () => random.integer(0, 99) / 8)
      const given = { ...graph, weight: Type.from(graph.weight) }
      // Eighths are exact in both types.
      const { distances } = await shortestPaths(given, { method })
      for (let source = 0; source < 81; source++) {
        const { value } = bestFrom(graph, pathAlgebras['min-plus'], source)
        expect([...distances.data.subarray(81 * source, 81 * (source + 1))]).toEqual(
          value.map((known) => known ?? Number.POSITIVE_INFINITY),
        )
      }
    }
  })
})

describe('dissection without a result', () => {
  it('rejects an improving cycle', async () => {
    const random = new Random(35)
    const graph = streets(random, 9, 9, () => 5)
    for (const [from, to] of [
      [40, 41],
      [41, 50],
      [50, 40],
    ] as const) {
      addEdge(graph, from, to, -1)
    }
    const error = await shortestPaths(graph, { method }).catch((caught) => caught)
    expect(error).toBeInstanceOf(CycleError)
    expect([...error.cycle].sort()).toEqual([40, 41, 50])
    expect(error.weight).toBe(-3)
  })

  it('rejects a graph with an improving cycle that is on no requested path, which a search accepts', async () => {
    const graph = { nodes: 4, from: [0, 2, 3], to: [1, 3, 2], weight: [4, -1, -1] }
    expect([...(await shortestPaths(graph, { sources: [0] })).distances.data.slice(0, 2)]).toEqual([0, 4])
    await expect(shortestPaths(graph, { sources: [0], method })).rejects.toThrow(coded('OPTION'))
  })

  it.each([
    ['limit', { limit: 4, method }],
    ['limit', { limit: 4, method: 'closure' }],
    ['cuda', { backend: 'cuda', method }],
    ['cuda', { backend: 'cuda', method: 'search' }],
    ["'dissection' or 'closure'", { method: 'magic' }],
  ])('rejects options, and names the wrong one: %s', async (text, options) => {
    const promise = shortestPaths(line(5, 1), options as object)
    await expect(promise).rejects.toThrow(coded('OPTION', text))
  })

  it('rejects paths of rounded sums, and improving edges with rounded weights', async () => {
    const graph = { ...line(5, 1), weight: new Float64Array(4).fill(0.1) }
    await expect(shortestPaths(graph, { method, paths: true })).rejects.toThrow(coded('OPTION'))
    const gaining = { ...graph, weight: new Float64Array(4).fill(-0.1) }
    await expect(shortestPaths(gaining, { method })).rejects.toThrow(coded('OPTION'))
  })
})

it('is chosen if it is faster, and is reported as the method', async () => {
  const graph = streets(new Random(36), 70, 70, () => 3)
  const options = { backend: 'cpu' as const, sources: Array.from({ length: 2000 }, (_, i) => i) }
  const { method: found, distances } = await shortestPaths(graph, options)
  expect(found).toBe('dissection')
  const searched = await shortestPaths(graph, { ...options, method: 'search' })
  expect(searched.method).toBe('search')
  expect(Buffer.from(distances.data.buffer).equals(Buffer.from(searched.distances.data.buffer))).toBe(true)
  // Random graphs have large separators.
  const wild = randomGraph(new Random(37), 3000, 30_000, () => 3)
  expect((await shortestPaths(wild, options)).method).not.toBe('dissection')
  expect((await shortestPaths(graph, { sources: [0] })).method).toBe('search')
  expect((await shortestPaths(line(5, 1), { method: 'closure' })).method).toBe('closure')
})

it('is aborted', async () => {
  const graph = streets(new Random(38), 100, 100, () => 3)
  for (const delay of [0, 10, 30]) {
    const controller = new AbortController()
    const promise = shortestPaths(graph, {
      method,
      sources: Array.from({ length: 2000 }, (_, i) => i),
      signal: controller.signal,
    })
    setTimeout(() => controller.abort(), delay)
    await expect(promise).rejects.toThrow(coded('ABORTED'))
  }
})
