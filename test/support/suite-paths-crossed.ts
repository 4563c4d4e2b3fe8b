/** Best paths in pairwise combinations of graphs, targets, methods, nodes and arithmetic. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import {
  longestPaths,
  mostReliablePaths,
  type PathOptions,
  type PathSemiring,
  type PathsResult,
  shortestPaths,
  transitiveClosure,
  widestPaths,
} from '../../lib/graph.js'
import {
  type Device,
  DeviceMatrix,
  type MatrixLike,
  type Overflow,
  openDevice,
  zeroOf,
} from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { coded } from './coded.js'
import { expectSame } from './expect.js'
import { Random } from './generators.js'
import { randomGraph } from './graphs.js'
import { withoutCuda } from './machine.js'
import { pairwise } from './pairwise.js'
import { bestFrom, pathAlgebras, valueOfPath, type WeightedEdges } from './paths-oracle.js'

type Find = (weights: unknown, options?: PathOptions) => Promise<PathsResult>
const arrays = { int32: Int32Array, float32: Float32Array, float64: Float64Array, uint8: Uint8Array }
type Type = keyof typeof arrays

/**
 * Path problem over a semiring. `limit` is between the values of paths, and worse than the value of the empty
 * path.
 */
interface Objective {
  find: Find
  types: Type[]
  weights: number[]
  limit: number | undefined
  /** Sign of weights so large that the sum of two exceeds int32. */
  far?: number
}
const sums: Type[] = ['int32', 'float32', 'float64']
const objectives: Record<PathSemiring, Objective> = {
  'min-plus': { find: shortestPaths as Find, types: sums, weights: [0, 0, 1, 2, 3, 9], limit: 2.5, far: 1 },
  'max-plus': { find: longestPaths as Find, types: sums, weights: [0, 0, -1, -2, -7], limit: -2.5, far: -1 },
  'max-min': { find: widestPaths as Find, types: sums, weights: [-3, 0, 1, 2, 3], limit: 0.5 },
  'max-times': {
    find: mostReliablePaths as Find,
    types: ['float32', 'float64'],
    weights: [1, 1, 0.5, 0.25],
    limit: 0.375,
  },
  'or-and': { find: transitiveClosure as Find, types: ['uint8'], weights: [1], limit: undefined },
}

/** Graphs in memory: `batch` is undefined for a single one. */
const forms = {
  'an edge list': { batch: undefined, strided: false },
  'a matrix': { batch: undefined, strided: false },
  'a matrix in strides': { batch: undefined, strided: true },
  'a batch of one': { batch: 1, strided: false },
  'a batch of three': { batch: 3, strided: false },
  'a batch of three in strides': { batch: 3, strided: true },
} as const
type Form = keyof typeof forms

const NODES = 8
type Side = number[] | number | undefined
/** Sources and targets: searches begin at the smaller side. */
const queries: [sources: Side, targets: Side][] = [
  ...[undefined, 3, [6, 0, 5]].flatMap((sources) =>
    [undefined, 7, [1, 5, 2]].map((targets): [Side, Side] => [sources, targets]),
  ),
  [
    [2, 2],
    [4, 0, 4, 2],
  ],
  [undefined, []],
]
/** Queries on a GPU, where each case takes longer: all nodes, some to some, some to all, and a repeated source. */
const fewQueries = [0, 5, 6, 9].map((at) => queries[at]!)
const everyNode = Array.from({ length: NODES }, (_, node) => node)
const listed = (side: Side) => (side === undefined ? everyNode : [side].flat())

/** Weights of int32 whose sums exceed it, and the policy for them. */
const policies: (Overflow | undefined)[] = [undefined, 'throw', 'saturate', 'wrap']

/** The graphs as a matrix or a batch. With strides the storage is column-major with gaps. */
function matrixOf(graphs: WeightedEdges[], semiring: PathSemiring, type: Type, form: Form): MatrixLike {
  const { batch, strided } = forms[form]
  const zero = zeroOf(semiring, type)
  const { better } = pathAlgebras[semiring]
  const [lead, offset] = strided ? [NODES + 2, 3] : [NODES, 0]
  const [row, col] = strided ? [1, lead] : [lead, 1]
  const item = lead * NODES + (strided ? 1 : 0)
  const data = new arrays[type](offset + item * graphs.length).fill(zero)
  for (const [index, { from, to, weight }] of graphs.entries()) {
    for (const [e, value] of weight.entries()) {
      const at = offset + index * item + from[e]! * row + to[e]! * col
      if (data[at] === zero || better(value, data[at]!)) data[at] = value
    }
  }
  const shape = [...(batch === undefined ? [] : [batch]), NODES, NODES]
  const strides = [...(batch === undefined ? [] : [item]), row, col]
  return { data, shape, strides, offset } as MatrixLike
}

/** Stored value of an exact distance under the policy; null if it causes an error. */
function storedAs(exact: number | null, semiring: PathSemiring, type: Type, overflow: Overflow | undefined) {
  if (exact === null) return zeroOf(semiring, type)
  if (type !== 'int32') return exact
  if (exact === Infinity) return 2 ** 31 - 1
  const [least, most] = semiring === 'min-plus' ? [-(2 ** 31), 2 ** 31 - 2] : [1 - 2 ** 31, 2 ** 31 - 1]
  if (exact >= least && exact <= most) return exact
  if (overflow === 'wrap') return exact | 0
  return overflow === 'saturate' ? Math.min(Math.max(exact, least), most) : null
}

export function crossedPaths(backend: BackendName): void {
  let one: Device
  let several: Device | undefined
  const hasSeveral = backend === 'cuda' || withoutCuda() !== undefined
  const places = ['arrays', 'a device', ...(hasSeveral ? ['devices'] : [])]
  // Edge lists are in arrays only. Sharded matrices don't support strides.
  const inputs = (Object.keys(forms) as Form[]).flatMap((form) =>
    places
      .filter((place) => place === 'arrays' || form !== 'an edge list')
      .filter((place) => place !== 'devices' || (form !== 'a batch of one' && !forms[form].strided))
      .map((place) => ({ form, place })),
  )
  beforeAll(async () => {
    one = await openDevice({ backend })
    if (!hasSeveral) return
    addon.pretendDevices(5)
    several = await openDevice({ devices: [0, 1, 2] })
  })
  afterAll(async () => {
    await several?.close()
    await one.close()
    addon.pretendDevices(0)
  })

  // On a GPU the types of a semiring alternate.
  const kinds = Object.entries(objectives).flatMap(([semiring, { types }], turn) =>
    types
      .filter((_, at) => backend === 'cpu' || at === turn % types.length)
      .map((type) => [semiring as PathSemiring, type] as const),
  )
  it.each(kinds)('equal the definition: %s over %s', async (semiring, type) => {
    const { find, weights, limit, far } = objectives[semiring]
    const random = new Random(47)
    const algebra = pathAlgebras[semiring]
    const cases = [true, false].flatMap((paths) =>
      pairwise({
        paths: [paths],
        input: inputs,
        query: backend === 'cpu' ? queries : fewQueries,
        method: [undefined, 'search', 'closure', 'dissection'] as const,
        overflow: far !== undefined && type === 'int32' ? policies : [undefined],
        limit: limit === undefined ? [undefined] : [undefined, limit],
      }),
    )
    let refused = 0
    const there: unknown[] = []
    for (const requested of cases) {
      for (const matrix of there.splice(0)) (matrix as DeviceMatrix).dispose()
      const { input, query, method, paths, overflow } = requested
      const { form, place } = input
      const [sources, targets] = query
      const mayLimit = (method === undefined || method === 'search') && overflow === undefined
      const bound = mayLimit && (backend === 'cpu' || method === 'search') ? requested.limit : undefined
      const weight = () => (overflow ? far! * (2 ** 30 + random.integer(-3, 3)) : random.pick(weights))
      const graphs = Array.from({ length: forms[form].batch ?? 1 }, () =>
        randomGraph(random, NODES, random.integer(6, 20), weight),
      )
      const isList = form === 'an edge list'
      const given = isList
        ? { ...graphs[0]!, weight: arrays[type].from(graphs[0]!.weight) }
        : matrixOf(graphs, semiring, type, form)
      const device = isList || place === 'arrays' ? undefined : place === 'devices' ? several : one
      const operand = device ? await device.upload(given as never) : given
      if (device) there.push(operand)
      const searches = method === 'search' || method === 'dissection'
      const options = { method, sources, targets, paths, overflow, limit: bound }
      const what = JSON.stringify({ ...requested, limit: bound })
      const rows = listed(sources)
      const cols = listed(targets)
      const exact = graphs.map((graph) => rows.map((i) => bestFrom(graph, algebra, i).value))
      const isFar = (value: number | null) =>
        bound !== undefined && value !== null && algebra.better(bound, value)
      const stored = exact.map((values) =>
        values.map((value) =>
          cols.map((j) => storedAs(isFar(value[j]!) ? null : value[j]!, semiring, type, overflow)),
        ),
      )
      const work = find(operand, { ...(device ? {} : { backend: searches ? 'cpu' : backend }), ...options })
      if (stored.flat(2).includes(null)) {
        await expect(work, what).rejects.toEqual(coded('OVERFLOW'))
        continue
      }
      const result = await work.catch((error) => {
        // Dissection supports neither rounded sums with paths nor graphs without small separators.
        if (method !== 'dissection' || error.code !== 'ERR_MPMML_OPTION') throw error
      })
      if (!result) {
        refused++
        continue
      }
      const { distances, next, path } = result
      if (device) there.push(distances, ...(next ? [next] : []))
      const [found, after] = await Promise.all(
        [distances, next].map(async (matrix) =>
          matrix instanceof DeviceMatrix ? matrix.download() : matrix,
        ),
      )
      expectSame(distances instanceof DeviceMatrix, device !== undefined, what)
      const shape = [...(forms[form].batch === undefined ? [] : [graphs.length]), rows.length, cols.length]
      expect(found!.shape, what).toEqual(shape)
      expect(found!.data, what).toEqual(arrays[type].from(stored.flat(2) as number[]))
      if (!paths) {
        expectSame(after, undefined, what)
        continue
      }
      for (const [item, graph] of graphs.entries()) {
        for (const [row, i] of rows.entries()) {
          for (const [col, j] of cols.entries()) {
            const value = exact[item]![row]![j]!
            const step = after!.data[(item * rows.length + row) * cols.length + col]
            const nodes = (await path(i, j, forms[form].batch && item)) as number[] | null
            const pair = `${what}: ${item}, ${i} → ${j}`
            if (value === null || isFar(value)) {
              expectSame(nodes, null, pair)
              expectSame(step, -1, pair)
              continue
            }
            expectSame(nodes![0], i, pair)
            expectSame(nodes!.at(-1), j, pair)
            expectSame(nodes![1] ?? -1, step, pair)
            expectSame(valueOfPath(graph, algebra, nodes!), value, pair)
          }
        }
      }
    }
    expect(refused).toBeLessThan(cases.length / 5)
  })
}
