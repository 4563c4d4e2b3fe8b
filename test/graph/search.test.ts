/** Searches in larger graphs: algorithms compared with each other, and planted cycles. */
import { describe, expect, it } from 'vitest'
import { REPORT_FIELDS } from '../../lib/fields.js'
import { rulesOf } from '../../lib/graph/rules.js'
import { divide, makeRoom, type Query, search } from '../../lib/graph/search.js'
import { shortestPaths } from '../../lib/graph.js'
import { readingEdges } from '../../lib/graph-core/edges.js'
import { atOnce } from '../../lib/graph-core/slices.js'
import { CycleError } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { coded } from '../support/coded.js'
import { expectSame } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { reachability } from '../support/graph-oracle.js'
import { addEdge, randomGraph } from '../support/graphs.js'
import {
  bestFrom,
  type PathAlgebraName,
  pathAlgebras,
  valueOfPath,
  type WeightedEdges,
} from '../support/paths-oracle.js'

const semiringsWithCycles = ['min-plus', 'max-plus', 'max-times'] as const

/** Edges without improving cycles in every semiring: each weight is the difference of the potentials of its ends, plus a loss. */
function withoutGain(random: Random, semiring: PathAlgebraName, nodes: number, count: number): WeightedEdges {
  const potential = Array.from({ length: nodes }, () => random.integer(-6, 6))
  return randomGraph(random, nodes, count, (from, to) => {
    const bad = random.pick([0, 0, 1, 2, 5])
    const lift = potential[from]! - potential[to]!
    if (semiring === 'max-times') return 2 ** (lift - bad)
    return semiring === 'min-plus' ? bad + lift : lift - bad
  })
}

async function find(
  graph: WeightedEdges,
  semiring: (typeof semiringsWithCycles)[number],
  options: Partial<Query> = {},
  Type: Int32ArrayConstructor | Float64ArrayConstructor = Float64Array,
) {
  const edges = atOnce(readingEdges({ ...graph, weight: Type.from(graph.weight) }))
  const rules = rulesOf(semiring, edges.type)
  const query = {
    nodes: graph.nodes,
    rules,
    sources: null,
    targets: null,
    paths: true,
    overflow: 'throw',
    limit: undefined,
    ...options,
  } as const
  const room = makeRoom(query, 1, edges.type)
  const report = new Float64Array(REPORT_FIELDS)
  await search({ edges }, query, room, { report, cancel: new Int32Array(1), borrowed: null })
  return room
}

describe.each(semiringsWithCycles)('%s', (semiring) => {
  const algebra = pathAlgebras[semiring]

  it('finds paths that improve many times', async () => {
    const random = new Random(21)
    for (let round = 0; round < 60; round++) {
      const nodes = random.integer(20, 80)
      const graph = withoutGain(random, semiring, nodes, random.integer(nodes, 6 * nodes))
      const sources = Int32Array.of(random.integer(0, nodes - 1), random.integer(0, nodes - 1))
      const { distances, trees } = await find(graph, semiring, { sources })
      for (const [row, source] of sources.entries()) {
        const { value } = bestFrom(graph, algebra, source)
        const expected = value.map((known) => known ?? rulesOf(semiring, 2).zero)
        expect([...distances.subarray(row * nodes, (row + 1) * nodes)]).toEqual(expected)
        for (let node = 0; node < nodes; node++) {
          if (value[node] === null) continue
          const path = [node]
          while (path[0] !== source) path.unshift(trees![row * nodes + path[0]!]!)
          expectSame(valueOfPath(graph, algebra, path), value[node])
        }
      }
    }
  })

  it('finds a planted cycle from every node that reaches it, and from no other', async () => {
    const random = new Random(22)
    let found = 0
    for (let round = 0; round < 60; round++) {
      const nodes = random.integer(10, 60)
      const graph = withoutGain(random, semiring, nodes, random.integer(nodes, 3 * nodes))
      const length = random.integer(1, 6)
      const ring = Array.from({ length: nodes }, (_, i) => i)
      for (let at = 0; at < length; at++) {
        const other = random.integer(at, nodes - 1)
        ;[ring[at], ring[other]] = [ring[other]!, ring[at]!]
      }
      const one = semiring === 'max-times' ? 1 : 0
      const gain = semiring === 'max-times' ? 1.0009765625 : semiring === 'min-plus' ? -1 : 1
      for (let at = 0; at < length; at++) {
        addEdge(graph, ring[at]!, ring[(at + 1) % length]!, at === 0 ? gain : one)
      }
      const reach = reachability(graph)
      for (let source = 0; source < nodes; source++) {
        const { endless } = bestFrom(graph, algebra, source)
        let error: unknown
        try {
          await find(graph, semiring, { sources: Int32Array.of(source), paths: false })
        } catch (caught) {
          error = caught
        }
        const matters = endless.some((is) => is)
        expectSame(error instanceof CycleError, matters)
        if (source === ring[0] || reach[source]![ring[0]!]) expectSame(matters, true)
        if (!(error instanceof CycleError)) {
          expectSame(error, undefined)
          continue
        }
        found++
        const { cycle, weight } = error
        expectSame(valueOfPath(graph, algebra, [...cycle, cycle[0]!]), weight)
        expectSame(algebra.better(weight, algebra.one), true)
        expectSame(cycle[0] === source || reach[source]![cycle[0]!], true)
      }
    }
    expect(found).toBeGreaterThan(500)
  })
})

it('continues beyond nodes whose improvement is lost by rounding', async () => {
  // Node 1 improves by 2^-53 after the search has reached node 3 from it. The rounded distance of 3 stays,
  // and 3 leads to 4.
  const step = 0.5 + 2 ** -53
  const graph = {
    nodes: 5,
    from: [0, 0, 1, 2, 3, 4],
    to: [1, 2, 3, 1, 4, 0],
    weight: [1, 1.5, 1e6, -step, 1, 1e9],
  }
  const { distances, trees } = await find(graph, 'min-plus', { sources: Int32Array.of(0) })
  expect([...distances]).toEqual([0, 1 - 2 ** -53, 1.5, 1000001, 1000002])
  expect([...trees!]).toEqual([-1, 2, 0, 1, 3])
})

describe.each(['min-plus', 'max-plus'] as const)('searches of integers by potentials: %s', (semiring) => {
  const algebra = pathAlgebras[semiring]

  it('are right, and ignore cycles that are not between requested nodes', async () => {
    const random = new Random(25)
    const seen = { right: 0, gaining: 0, elsewhere: 0 }
    for (let round = 0; round < 400; round++) {
      // A ring of most nodes, which leads to the other nodes. No edge leads back from these.
      const nodes = random.integer(6, 40)
      const core = Math.ceil(0.7 * nodes)
      const all = withoutGain(random, semiring, nodes, random.integer(nodes, 3 * nodes))
      const retained = all.from.flatMap((i, e) => (i < core || all.to[e]! >= core ? [e] : []))
      const graph = {
        nodes,
        from: retained.map((e) => all.from[e]!),
        to: retained.map((e) => all.to[e]!),
        weight: retained.map((e) => all.weight[e]!),
      }
      const add = (from: number, to: number, weight: number) =>
        addEdge(graph, from, to, semiring === 'min-plus' ? weight : -weight)
      for (let i = 0; i < core; i++) add(i, (i + 1) % core, 20)
      if (random.chance(0.7)) {
        const [i, j] = random.chance(0.7) ? [core, nodes - 1] : [0, 1]
        add(i, j, 30)
        add(j, i, -31)
      }
      const among = (most: number) =>
        Int32Array.from({ length: random.integer(3, 7) }, () => random.integer(0, most))
      const [sources, targets] = [among(nodes - 1), random.pick([null, among(core - 1), among(nodes - 1)])]
      const ends = targets ? [...targets] : Array.from({ length: nodes }, (_, node) => node)
      const rows = Array.from(sources, (source) => bestFrom(graph, algebra, source))
      const leads = ends.some((end) => rows.some(({ endless }) => endless[end]))
      const { zero } = rulesOf(semiring, addon.dataTypes.indexOf('int32'))
      let room: Awaited<ReturnType<typeof find>>
      try {
        room = await find(graph, semiring, { sources, targets }, Int32Array)
      } catch (error) {
        expect(error).toBeInstanceOf(CycleError)
        expect(leads).toBe(true)
        const { cycle, weight } = error as CycleError
        expect(valueOfPath(graph, algebra, [...cycle, cycle[0]!])).toBe(weight)
        expect(algebra.better(weight, 0)).toBe(true)
        seen.gaining++
        continue
      }
      expect(leads).toBe(false)
      if (rows.some(({ endless }) => endless.includes(true))) seen.elsewhere++
      const expected = rows.flatMap(({ value }) => ends.map((end) => value[end] ?? zero))
      expect([...room.distances]).toEqual(expected)
      seen.right++
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(20)
  })
})

describe('searches of long paths', () => {
  it('reject sums of integers beyond 2^53, and round sums of floats', async () => {
    const nodes = 2 ** 22 + 8
    const from = Int32Array.from({ length: nodes - 1 }, (_, i) => i)
    const line = (weight: Int32Array | Float64Array) => ({ nodes, from, to: from.map((i) => i + 1), weight })
    const most = 2 ** 31 - 2
    const ask = { sources: 0, targets: nodes - 1, overflow: 'saturate' } as const
    await expect(shortestPaths(line(new Int32Array(nodes - 1).fill(most)), ask)).rejects.toEqual(
      coded('OVERFLOW', 'beyond 2^53'),
    )
    const lower = line(new Int32Array(nodes - 1).fill(most - 4096))
    expect([...(await shortestPaths(lower, ask)).distances.data]).toEqual([most])
    await expect(shortestPaths(line(new Int32Array(nodes - 1).fill(-most)), ask)).rejects.toEqual(
      coded('OVERFLOW', 'beyond 2^53'),
    )
    const { distances } = await shortestPaths(line(new Float64Array(nodes - 1).fill(most)), {
      sources: 0,
      targets: nodes - 1,
    })
    expect(distances.data[0]! / ((nodes - 1) * most)).toBeCloseTo(1, 9)
  })
})

describe('a dissection', () => {
  const side = 40
  const graph: WeightedEdges = { nodes: side * side, from: [], to: [], weight: [] }
  for (let node = 0; node < graph.nodes; node++) {
    if (node % side > 0) addEdge(graph, node - 1, node, () => 1 + (node % 7))
    if (node >= side) addEdge(graph, node, node - side, () => 2 + (node % 5))
  }
  const edges = atOnce(readingEdges({ ...graph, weight: Int32Array.from(graph.weight) }))
  const rules = rulesOf('min-plus', edges.type)
  const query: Query = {
    nodes: graph.nodes,
    rules,
    sources: null,
    targets: null,
    paths: false,
    overflow: 'throw',
    limit: undefined,
  }
  const calls = () => ({ report: new Float64Array(REPORT_FIELDS), cancel: new Int32Array(1), borrowed: null })
  const divided = (query: Query, within?: number) => divide({ edges }, query, edges.type, calls(), within)

  /** Distances from some nodes, and their method. */
  async function found(query: Query) {
    const room = makeRoom(query, 1, edges.type)
    const method = await search({ edges }, query, room, calls())
    return { method, ...room }
  }

  const expected = (source: number) =>
    bestFrom(graph, pathAlgebras['min-plus'], source).value.map((known) => known ?? rules.zero)

  it('is computed if the alternative takes longer', async () => {
    const division = (await divided(query, 1e6))!
    const { method, distances } = await found({ ...query, division })
    expect(method).toBe('dissection')
    for (const source of [0, 777, graph.nodes - 1]) {
      expect([...distances.subarray(source * graph.nodes, (source + 1) * graph.nodes)]).toEqual(
        expected(source),
      )
    }
    expect(await divided(query, 0.01)).toBeNull()
    expect(await divided({ ...query, method: 'search' }, 1e6)).toBeNull()
    expect(await divided({ ...query, limit: 5 }, 1e6)).toBeNull()
  })

  it('serves queries from few nodes, also with paths', async () => {
    const division = (await divided({ ...query, method: 'dissection', direction: 'forward' }))!
    for (const sources of [[3], [5, 1599, 5, 700]]) {
      const nodeOptions: Query = {
        ...query,
        sources: Int32Array.from(sources),
        direction: 'forward',
        division,
      }
      // The method for these nodes would be searches if no dissection existed.
      expect((await found({ ...nodeOptions, division: undefined })).method).toBe('search')
      for (const paths of [false, true]) {
        const { method, distances, next } = await found({ ...nodeOptions, paths })
        expect(method).toBe('dissection')
        expect([...distances]).toEqual(sources.flatMap(expected))
        const searched = await found({ ...nodeOptions, paths, method: 'search' })
        expect(searched.method).toBe('search')
        if (paths) expect(next!.map(Math.sign)).toEqual(searched.next!.map(Math.sign))
      }
    }
  })

  it('is not used with other values, another direction or another graph', async () => {
    const division = (await divided({ ...query, method: 'dissection', direction: 'forward' }))!
    const sources = Int32Array.of(3)
    const nodeOptions: Query = { ...query, sources, targets: Int32Array.of(9), division }
    expect((await found({ ...nodeOptions, direction: 'backward' })).method).toBe('search')
    const widths = await found({
      ...nodeOptions,
      rules: rulesOf('max-min', edges.type),
      direction: 'forward',
    })
    expect(widths.method).toBe('search')
    const smaller = {
      edges: { ...edges, nodes: 2, from: Int32Array.of(0), to: Int32Array.of(1), weight: Int32Array.of(4) },
    }
    const small: Query = { ...query, nodes: 2, sources: null, direction: 'forward', division }
    const room = makeRoom(small, 1, edges.type)
    await search(smaller, small, room, calls())
    expect([...room.distances]).toEqual([0, 4, rules.zero, 0])
    const nothing = { ...small, division: {} as never }
    await expect(search(smaller, nothing, room, calls())).rejects.toThrow(/division/)
  })
})
