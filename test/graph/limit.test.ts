/** Option `limit` of path functions: paths with worse values are ignored, also empty paths. */
import { describe, expect, it } from 'vitest'
import {
  type EdgeList,
  kShortestPaths,
  longestPaths,
  mostReliablePaths,
  type PathFunction,
  type PathsResult,
  reducePaths,
  shortestPaths,
  transitiveClosure,
  widestPaths,
} from '../../lib/graph.js'
import { openDevice } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'

const NODES = 7
const arrays = { int32: Int32Array, float32: Float32Array, float64: Float64Array }
type Type = keyof typeof arrays

/** Path function with the algebra of its paths, and weights that never improve a path. */
interface Objective {
  readonly semiring: 'min-plus' | 'max-plus' | 'max-min' | 'max-times'
  readonly paths: PathFunction
  readonly types: readonly Type[]
  /** `empty` is the value of the empty path, and `none` the value of no path. */
  readonly empty: (type: Type) => number
  readonly none: (type: Type) => number
  readonly weight: (random: Random) => number
  readonly extend: (path: number, edge: number) => number
  readonly isBetter: (a: number, b: number) => boolean
  /** Limits. The first `excluding` limits are better than the empty path. */
  readonly limits: readonly number[]
  readonly excluding: number
}

const all: readonly Type[] = ['int32', 'float32', 'float64']
const most = 2 ** 31 - 1
const less = (a: number, b: number) => a < b
const greater = (a: number, b: number) => a > b
const objectives: Record<string, Objective> = {
  shortest: {
    semiring: 'min-plus',
    paths: shortestPaths,
    types: all,
    empty: () => 0,
    none: (type) => (type === 'int32' ? most : Infinity),
    weight: (random) => random.integer(0, 4),
    extend: (path, edge) => path + edge,
    isBetter: less,
    limits: [-Infinity, -1e300, -(2 ** 31), -1, -0.5, -0, 0, 0.5, 2, 2.5, 1e300, Infinity],
    excluding: 5,
  },
  longest: {
    semiring: 'max-plus',
    paths: longestPaths,
    types: all,
    empty: () => 0,
    none: (type) => (type === 'int32' ? -(2 ** 31) : -Infinity),
    weight: (random) => -random.integer(0, 4),
    extend: (path, edge) => path + edge,
    isBetter: greater,
    limits: [Infinity, 1e300, 1, 0.5, 0, -0, -0.5, -2, -2.5, -1e300, -Infinity],
    excluding: 4,
  },
  widest: {
    semiring: 'max-min',
    paths: widestPaths,
    types: all,
    empty: (type) => (type === 'int32' ? most : Infinity),
    none: (type) => (type === 'int32' ? -(2 ** 31) : -Infinity),
    weight: (random) => random.integer(-1, 4),
    extend: Math.min,
    isBetter: greater,
    limits: [most, 3, 2.5, 2, 0.5, -0.5, -1e300, -Infinity],
    excluding: 0,
  },
  'most reliable': {
    semiring: 'max-times',
    paths: mostReliablePaths,
    types: ['float32', 'float64'],
    empty: () => 1,
    none: () => 0,
    weight: (random) => random.pick([1, 0.5, 0.25]),
    extend: (path, edge) => path * edge,
    isBetter: greater,
    limits: [Infinity, 2, 1 + 2 ** -40, 1, 0.75, 0.5, 0.3, 0, -1],
    excluding: 3,
  },
}

/** Best values between all nodes by definition, without a limit. */
function bestValues(objective: Objective, type: Type, { from, to, weight }: EdgeList) {
  const best = Array.from({ length: NODES }, (_, i) =>
    Array.from({ length: NODES }, (_, j) => (i === j ? objective.empty(type) : objective.none(type))),
  )
  const list = Array.from(from, (i, e) => [Number(i), Number(to[e]), weight![e]!] as const)
  for (let length = 1; length < NODES; length++) {
    for (const row of best) {
      for (const [i, j, edge] of list) {
        if (row[i] === objective.none(type)) continue
        const value = objective.extend(row[i]!, edge)
        if (objective.isBetter(value, row[j]!)) row[j] = value
      }
    }
  }
  return best
}

function randomGraph({ weight }: Objective, type: Type, seed: number) {
  const random = new Random(seed)
  const edges = 2 * NODES
  const ends = () => Int32Array.from({ length: edges }, () => random.integer(0, NODES - 1))
  return {
    nodes: NODES,
    from: ends(),
    to: ends(),
    weight: arrays[type].from(Array.from({ length: edges }, () => weight(random))),
  } satisfies EdgeList
}

/** Matrix of an edge list, with the best of parallel edges. */
function matrixOf(objective: Objective, type: Type, { from, to, weight }: ReturnType<typeof randomGraph>) {
  const data = new arrays[type](NODES * NODES).fill(objective.none(type))
  from.forEach((i, e) => {
    const position = i * NODES + to[e]!
    if (objective.isBetter(weight[e]!, data[position]!)) data[position] = weight[e]!
  })
  return data
}

const every = Array.from({ length: NODES }, (_, node) => node)
const nodeSets = [
  ['all pairs', {}],
  ['one source', { sources: 2 }],
  ['one target', { targets: [3] }],
  ['three sources and one target', { sources: [0, 4, 2], targets: [2] }],
  ['two sources and four targets', { sources: [5, 1], targets: [1, 0, 5, 3] }],
] as const

for (const [name, objective] of Object.entries(objectives)) {
  describe(`limit of ${name} paths`, () => {
    const { isBetter, limits, excluding } = objective

    it.each(objective.types.flatMap((type) => nodeSets.map(([what, nodes]) => ({ type, what, nodes }))))(
      'keeps the paths within the limit: $type, $what',
      async ({ type, nodes }) => {
        const graph = randomGraph(objective, type, 7)
        const best = bestValues(objective, type, graph)
        const one = matrixOf(objective, type, graph)
        // In the batch the graph is the second one, after a graph without edges.
        const batch = new arrays[type](2 * NODES * NODES).fill(objective.none(type))
        batch.set(one, NODES * NODES)
        const forms = [
          [graph, undefined],
          [{ data: one, shape: [NODES, NODES] }, undefined],
          [{ data: batch, shape: [2, NODES, NODES] }, 1],
        ] as const
        const rows = 'sources' in nodes ? [nodes.sources].flat() : every
        const cols = 'targets' in nodes ? [nodes.targets].flat() : every
        for (const limit of limits) {
          const values = rows.map((i) =>
            cols.map((j) => (isBetter(limit, best[i]![j]!) ? objective.none(type) : best[i]![j]!)),
          )
          for (const [form, item] of forms) {
            for (const paths of [false, true]) {
              const options = { ...nodes, limit, paths }
              const found = (await objective.paths(form as never, options)) as unknown as PathsResult
              const label = `${limit}, ${item ?? 'alone'}, ${paths}`
              const first = (item ?? 0) * rows.length * cols.length
              const last = first + rows.length * cols.length
              expect(
                Array.from(found.distances.data.slice(first, last), (x) => x + 0),
                label,
              ).toEqual(values.flat().map((x) => x + 0))
              if (!paths) continue
              rows.forEach((i, row) => {
                cols.forEach((j, col) => {
                  const path = found.path(i, j, item)
                  const value = values[row]![col]!
                  expect(path === null, `${label}: ${i} to ${j}`).toBe(value === objective.none(type))
                  if (path) expect([path[0], path.at(-1)]).toEqual([i, j])
                })
              })
            }
          }
        }
      },
    )

    it.each(objective.types)('excludes paths beyond the limit from reductions: %s', async (type) => {
      const graph = randomGraph(objective, type, 11)
      const best = bestValues(objective, type, graph)
      for (const limit of limits) {
        const within = best.map((row, i) =>
          row.flatMap((value, j) =>
            i === j || value === objective.none(type) || isBetter(limit, value) ? [] : [value],
          ),
        )
        const options = { semiring: objective.semiring, limit } as const
        const { values, reached } = await reducePaths(graph, options)
        expect([...reached], `${limit}`).toEqual(within.map(({ length }) => length))
        const worst = within.map((row) =>
          row.length === 0 ? Number.NaN : row.reduce((a, b) => (isBetter(a, b) ? b : a)),
        )
        expect(
          Array.from(values, (x) => x + 0),
          `${limit}`,
        ).toEqual(worst.map((x) => x + 0))
        const nearest = await reducePaths(graph, { ...options, reduce: { nearest: 2 } })
        expect([...nearest.reached], `${limit}`).toEqual(within.map(({ length }) => Math.min(2, length)))
      }
    })

    it('excludes the empty path, and so every path, if it is better than that one', async () => {
      for (const type of objective.types) {
        const graph = randomGraph(objective, type, 5)
        const better = widerThanAny(type, limits.slice(0, excluding))
        for (const limit of better) {
          const { distances, next, path } = await objective.paths(graph, { sources: 1, paths: true, limit })
          expect([...distances.data]).toEqual(every.map(() => objective.none(type)))
          expect([...next!.data]).toEqual(every.map(() => -1))
          expect(every.map((node) => path(1, node))).toEqual(every.map(() => null))
        }
      }
    })

    it('is rejected by methods that compute all paths', async () => {
      for (const limit of [limits[0]!, limits.at(-1)!]) {
        for (const method of ['dissection', 'closure'] as const) {
          const graph = randomGraph(objective, objective.types[0]!, 3)
          await expect(objective.paths(graph, { limit, method })).rejects.toEqual(
            coded('OPTION', 'option limit is for searches'),
          )
        }
      }
    })
  })
}

/** The given limits. For widest paths of integers there are also limits that no int32 attains. */
const widerThanAny = (type: Type, limits: readonly number[]) =>
  limits.length > 0 || type !== 'int32' ? limits : [2 ** 31 - 0.5, 2 ** 31, Infinity]

describe('limit', () => {
  it('excludes all paths of a matrix on a device if it is better than the empty path', async () => {
    const device = await openDevice({ backend: 'cpu' })
    const weights = await device.upload({ data: Int32Array.of(most, 3, 1, most), shape: [2, 2] })
    const { distances, next, path } = await shortestPaths(weights, { sources: [0], paths: true, limit: -1 })
    expect([...(await distances.download()).data]).toEqual([most, most])
    expect([...(await next!.download()).data]).toEqual([-1, -1])
    expect(await path(0, 0)).toBeNull()
    await device.close()
  })

  it('is rejected if an edge improves paths, also if the limit is better than the empty path', async () => {
    const graph = { nodes: 3, from: [0, 1], to: [1, 2], weight: [2, -1] }
    for (const limit of [-1, 0, 5]) {
      for (const options of [{ sources: 0 }, {}, { sources: [0, 1, 2], targets: [2] }]) {
        await expect(shortestPaths(graph, { ...options, limit })).rejects.toEqual(
          coded('OPTION', 'option limit is for weights'),
        )
      }
      await expect(reducePaths(graph, { limit })).rejects.toEqual(coded('OPTION', 'option limit is for'))
    }
  })

  it('is rejected for semirings without values, for a GPU, and if it is no number', async () => {
    const graph = { nodes: 2, from: [0], to: [1], weight: [2] }
    await expect(transitiveClosure(graph, { limit: 3 })).rejects.toEqual(coded('OPTION', 'or-and has none'))
    await expect(shortestPaths(graph, { limit: Number.NaN })).rejects.toEqual(
      coded('OPTION', 'limit must be a number'),
    )
    await expect(shortestPaths(graph, { limit: 3, backend: 'cuda' })).rejects.toMatchObject({
      code: /OPTION|NO_CUDA/,
    })
  })

  it('excludes the empty path from the k shortest paths', async () => {
    for (const weight of [Int32Array.of(2, 1), Float64Array.of(2, 1)]) {
      const graph = { nodes: 3, from: [0, 1], to: [1, 2], weight }
      expect(await kShortestPaths(graph, 1, 1, 3, { limit: -1 })).toEqual([])
      expect(await kShortestPaths(graph, 1, 1, 3, { limit: 0 })).toEqual([{ length: 0, path: [1] }])
    }
  })
})
