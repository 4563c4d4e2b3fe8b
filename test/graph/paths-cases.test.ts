/** Best paths: published examples, exactness, cycles, bad input, and matrices on a device. */
import { beforeEach, describe, expect, it, vi } from 'vitest'
import {
  longestPaths,
  mostReliablePaths,
  type PathOptions,
  reducePaths,
  shortestPaths,
  transitiveClosure,
  verifyPaths,
  widestPaths,
} from '../../lib/graph.js'
import { CycleError, matrix, openDevice } from '../../lib/index.js'
import { coded } from '../support/coded.js'

// Forced choice between searches and a closure; undefined leaves it to the estimate.
const forced = vi.hoisted(() => ({ search: undefined as boolean | undefined }))
vi.mock('../../lib/backend-selection.js', async (original) =>
  (await import('../support/forced-search.js')).forcedSearch(original, forced),
)
beforeEach(() => {
  forced.search = undefined
})

const NONE = 2 ** 31 - 1
const both = [
  ['searched', true],
  ['from all pairs', false],
] as const

describe.each(both)('examples: %s', (_, search) => {
  beforeEach(() => {
    forced.search = search
  })

  // https://docs.scipy.org/doc/scipy/reference/generated/scipy.sparse.csgraph.floyd_warshall.html and …johnson.html
  const scipy = { from: [0, 0, 1, 2, 2], to: [1, 2, 3, 0, 3], weight: [1, 2, 1, 2, 3] }
  const undirected = {
    nodes: 4,
    from: [...scipy.from, ...scipy.to],
    to: [...scipy.to, ...scipy.from],
    weight: [...scipy.weight, ...scipy.weight],
  }
  const predecessors = [
    [-9999, 0, 0, 1],
    [1, -9999, 0, 1],
    [2, 0, -9999, 2],
    [1, 3, 3, -9999],
  ]

  it("agree with SciPy's for all pairs", async () => {
    const { distances, path } = await shortestPaths(undirected, { paths: true })
    expect([...distances.data]).toEqual([0, 1, 2, 2, 1, 0, 3, 1, 2, 3, 0, 3, 2, 1, 3, 0])
    for (const [i, row] of predecessors.entries()) {
      for (const [j, before] of row.entries()) expect(path(i, j)!.at(-2) ?? -9999).toBe(before)
    }
  })

  it("agree with SciPy's from one node", async () => {
    const weights = { ...undirected, weight: Float64Array.from(undirected.weight) }
    const { distances, next, path } = await shortestPaths(weights, { paths: true, sources: 0 })
    expect(distances).toEqual(matrix(1, 4, Float64Array.of(0, 1, 2, 2)))
    expect(next).toEqual(matrix(1, 4, [-1, 1, 2, 1]))
    expect([0, 1, 2, 3].map((j) => path(0, j)!.at(-2) ?? -9999)).toEqual([-9999, 0, 0, 1])
  })

  it('include the one of the documentation', async () => {
    const graph = { nodes: 3, from: [0, 1, 0], to: [1, 2, 2], weight: [4, -1, 9] }
    const { distances, path } = await shortestPaths(graph, { paths: true })
    expect([...distances.data]).toEqual([0, 4, 3, NONE, 0, -1, NONE, NONE, 0])
    expect(path(0, 2)).toEqual([0, 1, 2])
  })

  it('include a cycle of weight 0, on which all nodes are equally near', async () => {
    const ring = { nodes: 4, from: [0, 1, 2, 3], to: [1, 2, 3, 0], weight: [1, -1, 2, -2] }
    const { distances, path } = await shortestPaths(ring, { paths: true })
    expect([...distances.data]).toEqual([0, 1, 0, 2, -1, 0, -1, 1, 0, 1, 0, 2, -2, -1, -2, 0])
    expect(path(3, 2)).toEqual([3, 0, 1, 2])
    const zeros = { ...ring, from: [...ring.from, ...ring.to], to: [...ring.to, ...ring.from] }
    const all = await shortestPaths({ ...zeros, weight: new Int32Array(8) }, { paths: true })
    for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) expect(all.path(i, j)!.at(-1)).toBe(j)
  })

  it('include graphs without nodes, with one node, and without edges', async () => {
    const empty = await shortestPaths(matrix(0, 0), { paths: true })
    expect(empty.distances.shape).toEqual([0, 0])
    const one = await longestPaths({ nodes: 1, from: [], to: [], weight: [] }, { paths: true })
    expect([...one.distances.data, ...one.next.data]).toEqual([0, -1])
    expect(one.path(0, 0)).toEqual([0])
    const three = await widestPaths(
      { nodes: 3, from: [], to: [], weight: [] },
      { paths: true, targets: [2, 0] },
    )
    expect([...three.distances.data]).toEqual([-(2 ** 31), NONE, -(2 ** 31), -(2 ** 31), NONE, -(2 ** 31)])
    expect(three.path(1, 2)).toBeNull()
    const none = await shortestPaths(three.distances as never, { sources: [], targets: [] }).catch(
      (error) => error,
    )
    expect(none.code).toBe('ERR_MPMML_SHAPE')
  })

  it('include parallel edges, self-loops that do not improve paths, and edges of weight zero', async () => {
    const graph = { nodes: 3, from: [0, 0, 1, 0, 1], to: [1, 1, 1, 2, 2], weight: [5, 3, 0, NONE, 1] }
    expect([...(await shortestPaths(graph, { sources: 0 })).distances.data]).toEqual([0, 3, 4])
    const widest = { ...graph, weight: [5, 3, 9, -(2 ** 31), 1] }
    expect([...(await widestPaths(widest, { sources: 0 })).distances.data]).toEqual([NONE, 5, 1])
  })

  it('include int16 weights, with the zero of int16', async () => {
    const low = -(2 ** 15)
    const { distances } = await longestPaths(matrix(2, 2, Int16Array.of(low, 7, low, low)), {
      sources: [0, 1],
    })
    expect(distances.data).toEqual(Int32Array.of(0, 7, -(2 ** 31), 0))
    const high = 2 ** 15 - 1
    const shortest = await shortestPaths(matrix(2, 2, Int16Array.of(high, 7, high, high)))
    expect(shortest.distances.data).toEqual(Int32Array.of(0, 7, NONE, 0))
  })

  it('include edges without weights, and with weights of any type', async () => {
    const links = { nodes: 3, from: [0, 1], to: [1, 0] }
    const expected = Uint8Array.of(1, 1, 0, 1, 1, 0, 0, 0, 1)
    for (const weight of [undefined, [0, -5], Float64Array.of(0, Infinity), Uint8Array.of(7, 255)]) {
      expect((await transitiveClosure({ ...links, weight })).distances.data).toEqual(expected)
    }
    const { distances, path } = await transitiveClosure(
      { ...links, weight: Uint8Array.of(1, 0) },
      { paths: true },
    )
    expect(distances.data).toEqual(Uint8Array.of(1, 1, 0, 0, 1, 0, 0, 0, 1))
    expect(path(0, 1)).toEqual([0, 1])
  })

  it('include a repeated source', async () => {
    const graph = { nodes: 2, from: [0], to: [1], weight: [3] }
    const { distances, path } = await shortestPaths(graph, { sources: [0, 0, 1], targets: 1, paths: true })
    expect([...distances.data]).toEqual([3, 3, 0])
    expect(path(0, 1)).toEqual([0, 1])
  })
})

describe('integers', () => {
  const far = 2 ** 30
  // 0 → 1 → 2 → 3 → 4: too far at 2 and 3, near again at 4.
  const chain = { nodes: 5, from: [0, 1, 2, 3], to: [1, 2, 3, 4], weight: [far, far, far, -far * 2] }

  it.each(both)('saturate at the end of int32 that they exceed: %s', async (_, search) => {
    forced.search = search
    const far = 2 ** 30
    const graph = { nodes: 4, from: [0, 1, 2], to: [1, 2, 3] }
    const options = { sources: 0, overflow: 'saturate' } as const
    const longest = await longestPaths({ ...graph, weight: [-far, -far, -far] }, options)
    expect([...longest.distances.data]).toEqual([0, -far, 1 - 2 ** 31, 1 - 2 ** 31])
    const shortest = await shortestPaths({ ...graph, weight: [far, far, far] }, options)
    expect([...shortest.distances.data]).toEqual([0, far, 2 ** 31 - 2, 2 ** 31 - 2])
    const back = await shortestPaths({ ...graph, weight: [-far, -far, -far] }, options)
    expect([...back.distances.data]).toEqual([0, -far, -(2 ** 31), -(2 ** 31)])
  })

  it('are exact in intermediate sums: only requested distances must fit', async () => {
    forced.search = true
    const { distances, path } = await shortestPaths(chain, { sources: 0, targets: [1, 4], paths: true })
    expect([...distances.data]).toEqual([far, far])
    expect(path(0, 4)).toEqual([0, 1, 2, 3, 4])
  })

  it.each([
    ['saturate', 2 ** 31 - 2, 2 ** 31 - 2],
    ['wrap', -(2 ** 31), -far],
  ] as const)('overflow: %s', async (overflow, two, three) => {
    forced.search = true
    const { distances } = await shortestPaths(chain, { sources: 0, overflow })
    expect([...distances.data]).toEqual([0, far, two, three, far])
  })

  it.each(both)('cause an error that names the pair under overflow throw: %s', async (_, search) => {
    forced.search = search
    await expect(shortestPaths(chain, { sources: [4, 0], targets: [4, 3] })).rejects.toEqual(
      coded('OVERFLOW', /from 0 to 3 is 3221225472, outside the finite range -2147483648 to 2147483646/),
    )
  })

  it('may be the ends of the finite range', async () => {
    forced.search = true
    const to = (weights: number[]) => ({
      nodes: 3,
      from: [0, 1],
      to: [1, 2],
      weight: weights,
    })
    const ends = { sources: 0, targets: 2 }
    const most = await shortestPaths(to([2 ** 31 - 2, 0]), ends)
    expect(most.distances.data[0]).toBe(2 ** 31 - 2)
    await expect(shortestPaths(to([2 ** 31 - 2, 1]), ends)).rejects.toMatchObject({
      code: 'ERR_MPMML_OVERFLOW',
    })
    const least = await shortestPaths(to([-(2 ** 31), 0]), ends)
    expect(least.distances.data[0]).toBe(-(2 ** 31))
    const longest = await longestPaths(to([2 ** 31 - 2, 1]), ends)
    expect(longest.distances.data[0]).toBe(2 ** 31 - 1)
    await expect(longestPaths(to([-(2 ** 31) + 1, -1]), ends)).rejects.toMatchObject({
      code: 'ERR_MPMML_OVERFLOW',
    })
  })

  it('may exceed int32 on the path back from the farthest node, which is not computed', async () => {
    forced.search = true
    for (const nodes of [2, 3, 7]) {
      const heavy = Math.floor((2 ** 31 - 2) / (nodes - 1))
      const ring = Array.from({ length: nodes }, (_, node) => node)
      const graph = {
        nodes,
        from: ring,
        to: ring.map((node) => (node + 1) % nodes),
        weight: ring.map(() => heavy),
      }
      const far = ring.map((node) => node * heavy)
      for (const options of [{}, { targets: ring }, { limit: 2 ** 31 - 2 }]) {
        const { distances, path } = await shortestPaths(graph, { sources: 0, paths: true, ...options })
        expect([...distances.data]).toEqual(far)
        expect(path(0, nodes - 1)).toEqual(ring)
      }
      const least = { ...graph, weight: graph.weight.map((weight) => -weight) }
      expect([...(await longestPaths(least, { sources: 0 })).distances.data].map(Math.abs)).toEqual(far)
      const { values } = await reducePaths(graph, { method: 'search' })
      expect([...values]).toEqual(ring.map(() => far.at(-1)))
      const { of } = await reducePaths(graph, { reduce: { nearest: nodes }, method: 'search' })
      expect(of(0).map(({ distance }) => distance)).toEqual(far.slice(1))
    }
  })

  it('form exact weights of cycles beyond int32', async () => {
    forced.search = true
    const least = -(2 ** 31)
    const ring = { nodes: 3, from: [0, 1, 2], to: [1, 2, 0], weight: [least, least, 5] }
    await expect(shortestPaths(ring)).rejects.toMatchObject({ cycle: [0, 1, 2], weight: -4294967291 })
  })
})

describe('improving cycles', () => {
  // 0 → 1 ⇄ 2 (improving) → 3, and 4 → 0; 5 → 3.
  const graph = {
    nodes: 6,
    from: [0, 1, 2, 2, 4, 5],
    to: [1, 2, 1, 3, 0, 3],
    weight: [1, 2, -3, 1, 1, 1],
  }

  it.each(both)('are errors only if they are on requested paths: %s', async (_, search) => {
    forced.search = search
    const cycle = { code: 'ERR_MPMML_CYCLE', cycle: [1, 2], weight: -1, batch: undefined }
    await expect(shortestPaths(graph, { sources: 0 })).rejects.toMatchObject(cycle)
    await expect(shortestPaths(graph, { sources: [5, 4] })).rejects.toMatchObject(cycle)
    await expect(shortestPaths(graph, { targets: 3 })).rejects.toMatchObject(cycle)
    await expect(shortestPaths(graph, { sources: 4, targets: [0, 3] })).rejects.toMatchObject(cycle)
    // Node 5 doesn't reach the cycle, and the cycle doesn't reach node 0.
    const beside = await shortestPaths(graph, { sources: [3, 5], paths: true })
    expect([...beside.distances.data]).toEqual([
      NONE,
      NONE,
      NONE,
      0,
      NONE,
      NONE,
      NONE,
      NONE,
      NONE,
      1,
      NONE,
      0,
    ])
    expect(beside.path(5, 3)).toEqual([5, 3])
    const before = await shortestPaths(graph, { sources: 4, targets: 0, paths: true })
    expect([...before.distances.data]).toEqual([1])
    expect([...(await shortestPaths(graph, { targets: 0 })).distances.data]).toEqual([
      0,
      NONE,
      NONE,
      NONE,
      1,
      NONE,
    ])
    // Only one of the requested pairs is affected by the cycle.
    await expect(shortestPaths(graph, { sources: [0, 5], targets: [3, 0] })).rejects.toMatchObject(cycle)
  })

  it.each(both)('are reported before distances that are too large: %s', async (_, search) => {
    forced.search = search
    // The distance from 0 to 2 is too large, and 3 is on a cycle.
    const far = 2 ** 31 - 2
    const graph = { nodes: 4, from: [0, 1, 3], to: [1, 2, 3], weight: [far, far, -1] }
    for (const options of [{}, { sources: [0, 3] }, { sources: [0, 3], targets: [2, 3, 1] }]) {
      await expect(shortestPaths(graph, options)).rejects.toEqual(coded('CYCLE'))
    }
    await expect(shortestPaths(graph, { sources: 0 })).rejects.toEqual(coded('OVERFLOW'))
  })

  it.each(both)('are reported with the index of their matrix in a batch: %s', async (_, search) => {
    forced.search = search
    const data = Float32Array.of(0, 1, Infinity, 0, 0, 1, -2, 0)
    const error = await shortestPaths(matrix([2, 2, 2], data), { sources: 0 }).catch((error) => error)
    expect(error).toBeInstanceOf(CycleError)
    expect(error).toMatchObject({ cycle: [0, 1], weight: -1, batch: 1 })
    expect(error.message).toContain('in matrix 1 of the batch')
  })

  it('may be self-loops', async () => {
    forced.search = true
    const loop = { nodes: 3, from: [0, 1, 1], to: [1, 1, 2], weight: [5, 2, 1] }
    await expect(longestPaths(loop, { sources: 0 })).rejects.toMatchObject({ cycle: [1], weight: 2 })
    await expect(longestPaths(loop, { targets: 2 })).rejects.toMatchObject({ cycle: [1], weight: 2 })
    expect([...(await longestPaths(loop, { sources: 2 })).distances.data]).toEqual([
      -(2 ** 31),
      -(2 ** 31),
      0,
    ])
    const double = { ...loop, weight: Float64Array.of(0.5, 1.5, 1) }
    await expect(mostReliablePaths(double, { sources: 0 })).rejects.toMatchObject({ cycle: [1], weight: 1.5 })
  })

  it('are shortened in the message if they are long', async () => {
    forced.search = true
    const nodes = 20
    const from = Array.from({ length: nodes }, (_, i) => i)
    const ring = { nodes, from, to: from.map((i) => (i + 1) % nodes), weight: from.map(() => -1) }
    const error = await shortestPaths(ring, { targets: 7 }).catch((error) => error)
    expect(error).toMatchObject({ cycle: from, weight: -20 })
    expect(error.message).toContain(
      'the cycle 0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → … → 0 has the weight -20, below 0',
    )
  })

  it('are improving in floats only without rounding: searches', async () => {
    forced.search = true
    const around = 0.1 + 0.4 - 0.4
    expect(around).toBeLessThan(0.1)
    const weight = Float64Array.of(0.1, 0.4, -0.4)
    const graph = { nodes: 3, from: [0, 1, 2], to: [1, 2, 1], weight }
    const { distances, path } = await shortestPaths(graph, { sources: 0, paths: true })
    expect([...distances.data]).toEqual([0, 0.1, 0.5])
    expect(path(0, 1)).toEqual([0, 1])
    const less = { ...graph, weight: Float64Array.of(0.1, 0.4, -0.4000000001) }
    await expect(shortestPaths(less, { sources: 0 })).rejects.toMatchObject({ cycle: [1, 2] })
  })

  it('are not reported if only the rounding of subnormal products improves paths', async () => {
    forced.search = true
    const least = 2 ** -1074
    // The product of the cycle is exactly 1, but 3 · 0.5 is rounded to 2.
    const weight = Float64Array.of(3 * least, 0.5, 2)
    const graph = { nodes: 3, from: [0, 1, 2], to: [1, 2, 1], weight }
    const { distances } = await mostReliablePaths(graph, { sources: 0 })
    expect([...distances.data]).toEqual([1, 3 * least, 2 * least])
    await expect(
      mostReliablePaths({ ...graph, weight: Float64Array.of(3 * least, 0.5, 2 + 2 ** -51) }, { sources: 0 }),
    ).rejects.toMatchObject({ cycle: [1, 2] })
  })

  it.each(both)('are improving in floats only without rounding: all pairs, %s', async (_, search) => {
    forced.search = search
    // The exact sum is 0, but the rounded sum is less if -0.4 is added first or second.
    const weight = [0.1, 0.1, 0.2, -0.4]
    expect([
      weight[3]! + weight[0]! + weight[1]! + weight[2]!,
      weight[0]! + weight[1]! + weight[2]! + weight[3]!,
    ]).toEqual([expect.closeTo(-2.8e-17, 18), 0])
    for (let turn = 0; turn < 4; turn++) {
      for (let mirror = 0; mirror < 2; mirror++) {
        const from = [0, 1, 2, 3].map((i) => (mirror ? 3 - i : i) ^ (turn & 1) ^ (turn & 2))
        const ring = { nodes: 4, from, to: [...from.slice(1), from[0]!], weight: Float64Array.from(weight) }
        const all = await shortestPaths(ring, { paths: true })
        expect(await verifyPaths(ring, all)).toEqual({ distances: 16, paths: 16 })
      }
    }
    const gaining = { nodes: 3, from: [0, 1, 2], to: [1, 2, 0], weight: Float64Array.of(0.1, 0.3, -0.4) }
    // 0.1 + 0.3 is 0.4 after rounding, but less before rounding.
    await expect(shortestPaths(gaining)).rejects.toMatchObject({
      cycle: [0, 1, 2],
      weight: -2.7755575615628914e-17,
    })
  })
})

describe('bad input', () => {
  const list = { nodes: 3, from: [0, 1], to: [1, 2], weight: [5, 7] }
  const square = matrix(2, 2, [0, 1, 2, 0])
  const floats = matrix(2, 2, Float64Array.of(0, 1, Number.NaN, 0))
  it.each<[string, (options?: PathOptions) => Promise<unknown>, string, string]>([
    ['nothing', () => shortestPaths(undefined as never), 'DTYPE', 'graph must be a square matrix'],
    ['a number', () => shortestPaths(3 as never), 'DTYPE', 'or an edge list'],
    ['an object', () => shortestPaths({} as never), 'DTYPE', 'graph.data'],
    [
      'a matrix that is not square',
      () => shortestPaths(matrix(2, 3)),
      'SHAPE',
      'graph [2, 3] must be square',
    ],
    ['a node outside', () => shortestPaths({ ...list, nodes: 2 }), 'VALUE', 'to[1] is 2'],
    ['no arrays', () => transitiveClosure({ nodes: 2 } as never), 'DTYPE', 'from must be'],
    ['bytes for min-plus', () => shortestPaths(matrix(1, 1, Uint8Array.of(0))), 'DTYPE', 'min-plus has'],
    ['integers for max-times', () => mostReliablePaths(square), 'DTYPE', 'max-times has'],
    ['integers for or-and', () => transitiveClosure(square as never), 'DTYPE', 'or-and has'],
    [
      'NaN in a list',
      () => shortestPaths({ ...list, weight: Float32Array.of(1, NaN) }),
      'VALUE',
      'weight[1] is NaN',
    ],
    ['NaN in a matrix', (options) => shortestPaths(floats, options), 'VALUE', 'graph[1, 0] is NaN'],
    [
      'less than 0 in max-times',
      (options) => mostReliablePaths({ ...list, weight: Float64Array.of(0.5, -0.5) }, options),
      'VALUE',
      'weight[1] is -0.5',
    ],
    [
      'less than 0 in a matrix of max-times',
      (options) => mostReliablePaths(matrix([2, 2, 2], Float64Array.of(0, 1, 0, 0, 0, 1, 1, -1)), options),
      'VALUE',
      'graph[1, 1, 1] is -1',
    ],
    ['a source that does not exist', () => shortestPaths(list, { sources: 3 }), 'VALUE', 'sources[0] is 3'],
    ['a target below 0', () => shortestPaths(list, { targets: [0, -1] }), 'VALUE', 'targets[1] is -1'],
    [
      'half a source',
      () => shortestPaths(list, { sources: [0.5] }),
      'DTYPE',
      'sources[0] must be the number',
    ],
    [
      'a string for sources',
      () => shortestPaths(list, { sources: '0' as never }),
      'OPTION',
      'option sources',
    ],
    ['null for targets', () => shortestPaths(list, { targets: null as never }), 'OPTION', 'option targets'],
    [
      'overflow of floats',
      () => shortestPaths(floats, { overflow: 'wrap' }),
      'OPTION',
      'option overflow is for integers',
    ],
    [
      'more nodes than any memory',
      () => shortestPaths({ nodes: 2 ** 31 - 1, from: [], to: [], weight: [] }),
      'OUT_OF_MEMORY',
      'request fewer `sources` or `targets`',
    ],
  ])('%s', async (_, call, code, message) => {
    // Errors that depend on values are detected by searches and by closures.
    for (const search of call.length === 0 ? [undefined] : [true, false]) {
      forced.search = search
      const options = search ? { targets: 0 } : undefined
      await expect(call(options)).rejects.toEqual(coded(code, message))
    }
  })

  it('is rejected for paths and nodes that were not requested', async () => {
    const plain = await shortestPaths(list)
    expect(() => plain.path(0, 1)).toThrow(coded('OPTION'))
    const { path } = await shortestPaths(list, { paths: true, sources: [0, 1], targets: 2 })
    expect(path(0, 2)).toEqual([0, 1, 2])
    const refused = (from: unknown, to: unknown, batch?: unknown) => {
      try {
        path(from as number, to as number, batch as number)
      } catch (error) {
        return (error as { code: string }).code
      }
      return undefined
    }
    expect(refused(2, 2)).toBe('ERR_MPMML_VALUE')
    expect(refused(0, 1)).toBe('ERR_MPMML_VALUE')
    expect(refused(0, 3)).toBe('ERR_MPMML_VALUE')
    expect(refused(-1, 2)).toBe('ERR_MPMML_VALUE')
    expect(refused('0', 2)).toBe('ERR_MPMML_DTYPE')
    expect(refused(0, 2, 1)).toBe('ERR_MPMML_VALUE')
    expect(refused(0, 2, '0')).toBe('ERR_MPMML_VALUE')
    expect(refused(0, 2, 0)).toBeUndefined()
  })
})

describe('large graphs', () => {
  const nodes = 20_000
  const random = (seed: number) => (e: number) => Math.imul(e + seed, 0x9e3779b1) >>> 0
  const edges = Int32Array.from({ length: 200_000 }, (_, e) => e)
  const graph = {
    nodes,
    from: edges.map((e) => random(1)(e) % nodes),
    to: edges.map((e) => random(7)(e) % nodes),
    weight: edges.map((e) => random(13)(e) % 1000),
  }

  it('let the event loop turn', async () => {
    // There are more searches than fit in three turns of the event loop, after which they are aborted.
    // Without yields they would end first.
    const sources = Array.from({ length: 500 }, (_, i) => i)
    const controller = new AbortController()
    let turns = 0
    const turn = () => {
      turns++
      if (turns < 3) setImmediate(turn)
      else controller.abort()
    }
    setImmediate(turn)
    const { signal } = controller
    await expect(shortestPaths(graph, { sources, signal })).rejects.toMatchObject({
      code: 'ERR_MPMML_ABORTED',
    })
    expect(turns).toBe(3)
  })

  it('may be a path of 10^5 nodes', async () => {
    const length = 100_000
    const from = Int32Array.from({ length: length - 1 }, (_, i) => i)
    const chain = {
      nodes: length,
      from,
      to: from.map((i) => i + 1),
      weight: from.map((i) => (i % 2 ? -1 : 1)),
    }
    const { distances, path } = await longestPaths(chain, { sources: 0, paths: true })
    expect(distances.data[length - 1]).toBe(1)
    expect(path(0, length - 1)!.length).toBe(length)
    const back = await longestPaths(chain, { targets: [length - 1], paths: true })
    expect(back.path(0, length - 1)!.length).toBe(length)
  })
})

describe('matrices of a device', () => {
  const none = Infinity
  const weights = matrix(3, 3, Float64Array.of(none, 2, none, none, none, -1, none, none, none))

  it('return distances and next on the device', async () => {
    forced.search = true
    const device = await openDevice({ backend: 'cpu' })
    const resident = await device.upload(weights)
    const { distances, next, path, backend } = await shortestPaths(resident, { paths: true, targets: [2, 1] })
    expect(backend).toBe('cpu')
    expect(distances.device).toBe(device)
    expect((await distances.download()).data).toEqual(Float64Array.of(1, 2, -1, 0, 0, none))
    expect((await next.download()).data).toEqual(Int32Array.of(1, 1, 2, -1, -1, -1))
    expect(await path(0, 2)).toEqual([0, 1, 2])
    expect(await path(2, 1)).toBeNull()
    await expect(path(0, 0)).rejects.toEqual(coded('VALUE'))
    const plain = await shortestPaths(resident, { sources: 0 })
    await expect(plain.path(0, 1)).rejects.toEqual(coded('OPTION'))
    await expect(shortestPaths(resident, { backend: 'cuda' })).rejects.toMatchObject({
      code: 'ERR_MPMML_OPTION',
    })
    resident.dispose()
    await expect(shortestPaths(resident)).rejects.toEqual(coded('DISPOSED'))
    await device.close()
  })

  it.each([
    ['closed', false],
    ['searched', true],
  ])('leave no memory in use on the device after they have been disposed: %s', async (_, search) => {
    forced.search = search
    const device = await openDevice({ backend: 'cpu' })
    const resident = await device.upload(weights)
    const { used } = device.memory()
    for (const query of [{}, { sources: [0] }, { targets: [2, 1] }, { sources: [0, 1], targets: [2] }]) {
      const { distances, next, path } = await shortestPaths(resident, { ...query, paths: true })
      expect(await path(0, 2)).toEqual([0, 1, 2])
      distances.dispose()
      expect(await path(0, 2)).toEqual([0, 1, 2])
      next.dispose()
      expect(device.memory().used).toBe(used)
      // Some paths are cached in arrays.
      const after = await path(0, 2).catch(({ code, message }) => ({ code, message }))
      if (Array.isArray(after)) expect(after).toEqual([0, 1, 2])
      else expect(after).toEqual(coded('DISPOSED', /^next, which path/))
    }
    await device.close()
  })

  it('may be disposed during a search', async () => {
    forced.search = true
    const device = await openDevice({ backend: 'cpu' })
    const resident = await device.upload(weights)
    const running = shortestPaths(resident, { sources: 0 })
    resident.dispose()
    expect((await (await running).distances.download()).data).toEqual(Float64Array.of(0, 2, 1))
    expect(device.memory().used).toBeLessThan(weights.data.byteLength)
    await device.close()
  })
})
