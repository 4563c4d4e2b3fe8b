/** Prepared graphs: results of all functions compared with those for edge lists, and tables of distances. */
import { describe, expect, expectTypeOf, it, vi } from 'vitest'
import { cycleTimes } from '../../lib/algebra.js'
import * as graphs from '../../lib/graph.js'
import { type PreparedGraph, type PreparedNamedGraph, prepareGraph, shortestPaths } from '../../lib/graph.js'
import { EPSILON } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'
import { randomGraph } from '../support/graphs.js'
import { bestFrom, pathAlgebras } from '../support/paths-oracle.js'

const NONE = 2 ** 31 - 1

/** Outcome of a call without the properties that differ between calls. */
const outcome = async (call: () => unknown) => {
  try {
    const { timing: _, ...rest } = (await call()) as { timing?: unknown }
    return JSON.parse(JSON.stringify(rest))
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return { code, message }
  }
}

/** Grid, which has small separators. */
function grid(side: number, random: Random) {
  const edges = { nodes: side * side, from: [] as number[], to: [] as number[], weight: [] as number[] }
  for (let node = 0; node < edges.nodes; node++) {
    for (const other of [(node + 1) % side ? node + 1 : -1, node + side]) {
      if (other < 0 || other >= edges.nodes) continue
      edges.from.push(node, other)
      edges.to.push(other, node)
      edges.weight.push(random.integer(1, 99), random.integer(1, 99))
    }
  }
  return edges
}

/** Distances by the oracle. */
const rowsOf = (edges: ReturnType<typeof grid>, sources: number[], targets: number[]) =>
  sources.flatMap((source) => {
    const { value } = bestFrom(edges, pathAlgebras['min-plus'], source)
    return targets.map((target) => value[target] ?? NONE)
  })

describe('prepareGraph', () => {
  const named = {
    nodes: ['A', 'B', 'C', 'D', 'alone'],
    from: ['A', 'B', 'A', 'C', 'C', 'A', 'D'],
    to: ['B', 'C', 'C', 'D', 'C', 'B', 'A'],
    weight: [4, 3, 9, 1, 0, 2, 5],
  }
  // Ids beyond 2^31, such as OpenStreetMap has.
  const ids = [4_294_967_301, 9_007_199_254_740_991, 3, 12_000_000_000, 7]
  const idOf = (name: string) => ids[named.nodes.indexOf(name)]!
  const shapes = {
    names: named,
    'names and negative weights': { ...named, weight: [4, -3, 9, 1, 0, 2, 5] },
    'a negative cycle': { ...named, weight: [4, -9, 9, 1, 0, 2, 5] },
    floats: { ...named, weight: Float64Array.of(4.5, 3, 9, 1, 0, Number.POSITIVE_INFINITY, 5) },
    'sparse ids': { ...named, nodes: ids, from: named.from.map(idOf), to: named.to.map(idOf) },
    keys: {
      nodes: 5,
      keys: named.nodes,
      from: named.from.map((name) => named.nodes.indexOf(name)),
      to: named.to.map((name) => named.nodes.indexOf(name)),
      weight: named.weight,
    },
    bytes: { ...named, weight: Uint8Array.of(1, 1, 0, 1, 1, 0, 1) },
    'no edges': { nodes: ['A', 'B', 'C', 'D', 'alone'], from: [], to: [], weight: [] },
  }
  const calls: Record<string, (graph: never, name: (name: string) => unknown) => unknown> = {
    shortestPaths: (g) => shortestPaths(g),
    'shortestPaths with paths': async (g, n) => {
      const { next, path } = (await shortestPaths(g, {
        paths: true,
        targets: [n('C'), n('D')],
      } as never)) as {
        next: unknown
        path: (a: unknown, b: unknown) => unknown
      }
      return { next, path: path(n('A'), n('D')) }
    },
    'shortestPaths from some': (g, n) => shortestPaths(g, { sources: [n('A'), n('A'), n('C')] } as never),
    'shortestPaths to one': (g, n) => shortestPaths(g, { targets: n('D') } as never),
    'shortestPaths with a limit': (g) => shortestPaths(g, { limit: 5 } as never),
    'shortestPaths by dissection': (g) => shortestPaths(g, { method: 'dissection' } as never),
    'shortestPaths from a stranger': (g) => shortestPaths(g, { sources: 'nobody' } as never),
    longestPaths: (g) => graphs.longestPaths(g),
    widestPaths: (g) => graphs.widestPaths(g),
    mostReliablePaths: (g) => graphs.mostReliablePaths(g),
    transitiveClosure: (g) => graphs.transitiveClosure(g),
    reducePaths: (g) => graphs.reducePaths(g, { reduce: { nearest: 2 } }),
    nearestSources: (g, n) => graphs.nearestSources(g, [n('B'), n('D')] as never),
    kShortestPaths: (g, n) => graphs.kShortestPaths(g, n('A') as never, n('D') as never, 5),
    components: (g) => graphs.components(g),
    topologicalOrder: (g) => graphs.topologicalOrder(g),
    spanningTree: (g) => graphs.spanningTree(g),
    pathEdges: (g, n) => graphs.pathEdges(g, [n('A'), n('B'), n('C')] as never),
    verifyPaths: async (g) => graphs.verifyPaths(g, (await shortestPaths(g)) as never),
    cycleTimes: (g) => cycleTimes(g),
  }

  for (const [what, graph] of Object.entries(shapes)) {
    it.each(Object.keys(calls))(`has the results of an edge list with ${what} in %s`, async (name) => {
      const nameOf = what === 'sparse ids' ? idOf : (each: string) => each
      const prepared = await prepareGraph(graph as never)
      const call = calls[name]!
      const expected = await outcome(() => call(graph as never, nameOf))
      expect(await outcome(() => call(prepared as never, nameOf))).toEqual(expected)
      // The graph is unchanged.
      expect(await outcome(() => call(prepared as never, nameOf))).toEqual(expected)
    })
  }

  it('keeps copies of the arrays', async () => {
    const graph = {
      nodes: ['A', 'B', 'C'],
      from: ['A', 'B'],
      to: ['B', 'C'],
      weight: Int32Array.of(4, 3),
    }
    const prepared = await prepareGraph(graph)
    graph.weight.fill(99)
    graph.nodes.reverse()
    graph.to[0] = 'C'
    prepared.weight.fill(0)
    prepared.from.fill(2)
    expect([...prepared.weight, ...prepared.from, ...prepared.to]).toEqual([4, 3, 0, 1, 1, 2])
    expect((await prepared.table('A', ['B', 'C'])).data).toEqual(Int32Array.of(4, 7))
    expect(Object.isFrozen(prepared) && Object.isFrozen(prepared.keys)).toBe(true)
    expect((await shortestPaths(structuredClone(prepared), { sources: 'A' })).distances.data.join()).toBe(
      '0,4,7',
    )
  })

  it('accepts edges without weights for functions that need none', async () => {
    const prepared = await prepareGraph({ nodes: 3, from: [0, 1], to: [1, 2] })
    expect([...(await graphs.topologicalOrder(prepared))]).toEqual([0, 1, 2])
    await expect(shortestPaths(prepared as never)).rejects.toThrow(coded('DTYPE'))
    await expect(prepared.table(0, 1)).rejects.toThrow(coded('DTYPE'))
  })

  it('rejects values other than graphs, tokens, and unknown options', async () => {
    const list = { nodes: 2, from: [0], to: [1], weight: [1] }
    const wrong: [unknown, unknown, string][] = [
      [null, {}, 'DTYPE'],
      [{ data: Int32Array.of(1), shape: [1, 1] }, {}, 'DTYPE'],
      [{ ...list, to: [2] }, {}, 'VALUE'],
      [{ ...list, weight: [1, 2] }, {}, 'SHAPE'],
      [{ ...list, weight: Float64Array.of(Number.NaN) }, {}, 'VALUE'],
      [{ ...list, tokens: [1] }, {}, 'VALUE'],
      [list, { memory: -1 }, 'OPTION'],
      [list, { pairs: true }, 'OPTION'],
      [list, { signal: AbortSignal.abort() }, 'ABORTED'],
    ]
    for (const [graph, options, code] of wrong)
      await expect(prepareGraph(graph as never, options as never)).rejects.toThrow(coded(code))
  })

  it('has the types of the edge list', async () => {
    expectTypeOf(await prepareGraph({ nodes: 1, from: [], to: [], weight: [] })).toEqualTypeOf<
      PreparedGraph<Int32Array>
    >()
    expectTypeOf(
      await prepareGraph({ nodes: ['A'], from: [], to: [], weight: new Float64Array() }),
    ).toEqualTypeOf<PreparedNamedGraph<string, Float64Array<ArrayBuffer>>>()
    const prepared = await prepareGraph(named)
    expectTypeOf(prepared).toEqualTypeOf<PreparedNamedGraph<string, Int32Array>>()
    expectTypeOf((await prepared.table('A')).at('A', 'B')).toEqualTypeOf<number>()
    expectTypeOf((await shortestPaths(prepared)).distances.data).toEqualTypeOf<Int32Array<ArrayBuffer>>()
  })
})

describe('table of a prepared graph', () => {
  /** Native searches of the work: the number of their roots, or 'division'. */
  const watched = async (work: () => Promise<unknown>) => {
    const spy = vi.spyOn(addon, 'graphSearch')
    try {
      await work()
      return spy.mock.calls.map(([{ roots, divides, division }]) => {
        if (divides) return 'division'
        return division ? `${roots?.length} swept` : (roots?.length ?? 'all')
      })
    } finally {
      spy.mockRestore()
    }
  }

  it('has a row for each source and a column for each target, by names', async () => {
    const random = new Random(51)
    for (let round = 0; round < 60; round++) {
      const nodes = random.integer(1, 12)
      const edges = randomGraph(random, nodes, random.integer(0, 4 * nodes), () => random.integer(-1, 20))
      const keys = Array.from({ length: nodes }, (_, node) => `stop ${node}`)
      const weight = round % 2 ? edges.weight : Float64Array.from(edges.weight, (value) => value / 4)
      const graph = {
        nodes: keys,
        from: [...edges.from].map((node) => keys[node]!),
        to: [...edges.to].map((node) => keys[node]!),
        weight,
      }
      const some = () =>
        Array.from({ length: random.integer(0, 2 * nodes) }, () => keys[random.integer(0, nodes - 1)]!)
      const prepared = await prepareGraph(graph as typeof graph & { weight: Float64Array }, {
        memory: random.pick([0, 100, 2 ** 20]),
      })
      for (let time = 0; time < 4; time++) {
        const [sources, targets] = [
          random.pick([undefined, some(), keys[0]!]),
          random.pick([undefined, some()]),
        ]
        const limit = random.pick([undefined, 6])
        const expected = await outcome(async () => {
          const { distances } = await shortestPaths(graph as never, { sources, targets, limit } as never)
          return distances
        })
        expect(await outcome(() => prepared.table(sources, targets, { limit }))).toEqual(expected)
      }
    }
  })

  it('sweeps a graph that is dissected once', async () => {
    const random = new Random(52)
    const edges = grid(40, random)
    const prepared = await prepareGraph(edges)
    const [sources, targets] = [5, 50].map((skip) => Array.from({ length: 20 }, (_, at) => skip + 61 * at))
    const expected = rowsOf(edges, sources!, targets!)
    const searches = await watched(async () => {
      for (const _ of 'abc') expect([...(await prepared.table(sources, targets)).data]).toEqual(expected)
    })
    expect(searches).toEqual(['division', '20 swept', '20 swept', '20 swept'])
    const { data } = await prepared.table(targets![3], sources)
    expect([...data]).toEqual(rowsOf(edges, [targets![3]!], sources!))
  })

  it('caches rows of a graph without small separators, and drops the rows that were used first', async () => {
    const random = new Random(53)
    const edges = randomGraph(random, 300, 3000, () => random.integer(1, 99))
    const list = { ...edges, from: [...edges.from], to: [...edges.to], weight: [...edges.weight] }
    const prepared = await prepareGraph(list, { memory: 4 * 300 * 10 })
    const targets = [7, 8, 9, 7]
    const tableOf = async (...sources: number[]) => {
      const { data } = await prepared.table(sources, targets)
      expect([...data]).toEqual(rowsOf(list, sources, targets))
    }
    expect(await watched(() => tableOf(1, 2, 3, 1))).toEqual(['division', 3])
    expect(await watched(() => tableOf(2, 3))).toEqual([])
    expect(await watched(() => tableOf(1, 4, 5, 6, 7, 8, 9, 10))).toEqual([7])
    // Ten rows are cached: one more displaces the row of node 2.
    expect(await watched(() => tableOf(11))).toEqual([1])
    expect(await watched(() => tableOf(3, 1, 11))).toEqual([])
    expect(await watched(() => tableOf(2))).toEqual([1])
  })

  it('searches from the targets if they are few', async () => {
    const prepared = await prepareGraph(grid(20, new Random(54)))
    const sources = Array.from({ length: 300 }, (_, node) => node)
    expect(await watched(() => prepared.table(sources, 399))).toEqual(['division', 1])
  })

  it('returns the distances of valid pairs although others have none', async () => {
    // The sum to node 2 is too large, and nodes 3 and 4 form an improving cycle. Neither is requested.
    const prepared = await prepareGraph({
      nodes: 5,
      from: [0, 1, 0, 3, 4],
      to: [1, 2, 3, 4, 3],
      weight: [2 ** 30, 2 ** 30, 1, -5, 1],
    })
    for (const _ of 'ab') expect([...(await prepared.table([0], [0, 1])).data]).toEqual([0, 2 ** 30])
    await expect(prepared.table([0], [1, 4])).rejects.toThrow(coded('CYCLE'))
    await expect(prepared.table([0], [2])).rejects.toThrow(coded('OVERFLOW'))
  })

  it('is dissected in a later call if the first one is aborted, and serves other calls in the meantime', async () => {
    const random = new Random(55)
    const edges = grid(60, random)
    const prepared = await prepareGraph(edges)
    const controller = new AbortController()
    const first = prepared.table([0], [99], { signal: controller.signal })
    const second = prepared.table([1], [98])
    controller.abort('left')
    await expect(first).rejects.toThrow(coded('ABORTED'))
    expect([...(await second).data]).toEqual(rowsOf(edges, [1], [98]))
    expect([...(await prepared.table([0], [99])).data]).toEqual(rowsOf(edges, [0], [99]))
    await expect(prepared.table([0], [1], { signal: AbortSignal.abort() })).rejects.toThrow(coded('ABORTED'))
    await expect(prepared.table([0], [1], { colour: 1 } as never)).rejects.toThrow(coded('OPTION'))
    await expect(prepared.table([0.5], [1])).rejects.toThrow(coded('DTYPE'))
    await expect(prepared.table([0], [1], { limit: EPSILON })).resolves.toMatchObject({
      data: Int32Array.of(NONE),
    })
  })
})
