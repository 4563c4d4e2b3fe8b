/** Errors that verifyPaths finds, and results that it accepts. */
import { describe, expect, it } from 'vitest'
import { mostReliablePaths, shortestPaths, verifyPaths } from '../../lib/graph.js'
import { matrix, openDevice } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'

const NONE = 2 ** 31 - 1
// The path 0 → 1 → 2 → 3, a longer edge 0 → 2, and a cycle 1 ⇄ 4 of weight 0. Node 5 is isolated.
const graph = {
  nodes: 6,
  from: [0, 1, 2, 0, 1, 4],
  to: [1, 2, 3, 2, 4, 1],
  weight: [3, -1, 4, 9, 2, -2],
}
const lines = (values: number[][]) => matrix(values.length, values[0]!.length, values.flat())
const distances = () =>
  lines([
    [0, 3, 2, 6, 5, NONE],
    [NONE, 0, -1, 3, 2, NONE],
    [NONE, NONE, 0, 4, NONE, NONE],
    [NONE, NONE, NONE, 0, NONE, NONE],
    [NONE, -2, -3, 1, 0, NONE],
    [NONE, NONE, NONE, NONE, NONE, 0],
  ])
const next = () =>
  lines([
    [-1, 1, 1, 1, 1, -1],
    [-1, -1, 2, 2, 4, -1],
    [-1, -1, -1, 3, -1, -1],
    [-1, -1, -1, -1, -1, -1],
    [-1, 1, 1, 1, -1, -1],
    [-1, -1, -1, -1, -1, -1],
  ])
const semiring = 'min-plus'
const at = (i: number, j: number) => 6 * i + j

describe('all pairs', () => {
  it('accepts right results', async () => {
    expect(await verifyPaths(graph, { distances: distances() }, { semiring })).toEqual({
      distances: 36,
      paths: null,
    })
    const both = { distances: distances(), next: next(), semiring } as const
    expect(await verifyPaths(graph, both)).toEqual({ distances: 36, paths: 36 })
  })

  it.each<[string, number, number, number, string]>([
    ['too long', 0, 3, 7, 'the distance from 0 to 3 is 7, but the edge between 2 and 3 makes it 6'],
    ['too short', 0, 3, 5, 'the distance from 0 to 3 is 5, but no path has this value'],
    [
      'missing',
      1,
      4,
      NONE,
      'the distance from 1 to 4 is 2147483647, but the edge between 1 and 4 makes it 2',
    ],
    ['made up', 3, 5, 8, 'the distance from 3 to 5 is 8, but no path has this value'],
    ['not that of the empty path', 2, 2, 1, 'the distance from 2 to 2 is 1, but it must be 0'],
  ])('rejects a distance that is %s', async (_, i, j, value, message) => {
    const wrong = distances()
    wrong.data[at(i, j)] = value
    await expect(verifyPaths(graph, { distances: wrong }, { semiring })).rejects.toEqual(
      coded('VALUE', message),
    )
  })

  it('rejects distances that no edge improves, but that no path has, because of a cycle of weight 0', async () => {
    const wrong = distances()
    // Distances as if node 3 led to the cycle.
    wrong.data[at(3, 1)] = -10
    wrong.data[at(3, 4)] = -8
    wrong.data[at(3, 2)] = -11
    const found = verifyPaths(graph, { distances: wrong }, { semiring })
    await expect(found).rejects.toThrow('no path has this value')
  })

  it.each<[string, number, number, number, string]>([
    [
      'an edge that does not exist',
      0,
      3,
      3,
      'the node after 0 on the path to 3 is 3, but there is no such edge',
    ],
    ['a longer path', 0, 2, 2, 'this way the path has 9, and the distance is 2'],
    ['a node for no path', 2, 0, 3, 'it must be -1, because there is no path'],
    ['no node for a path', 0, 4, -1, 'it must be a node, because there is a path'],
    ['a node on the diagonal', 1, 1, 4, 'it must be -1, because they are the same node'],
    ['a node that does not exist', 0, 1, 6, 'it must be a node'],
    ['a way that goes round', 1, 2, 4, 'the next nodes go round in a cycle'],
  ])('rejects next nodes with %s', async (_, i, j, value, message) => {
    const wrong = next()
    wrong.data[at(i, j)] = value
    const found = verifyPaths(graph, { distances: distances(), next: wrong }, { semiring })
    await expect(found).rejects.toEqual(coded('VALUE', message))
  })

  it('accepts floats with rounding errors', async () => {
    const random = new Random(31)
    const count = 300
    const pick = () => Array.from({ length: count }, () => random.integer(0, 59))
    const weight = Float32Array.from({ length: count }, () => random.bits() / 2 ** 32)
    const floats = { nodes: 60, from: pick(), to: pick(), weight }
    const result = await shortestPaths(floats, {
      paths: true,
      targets: Array.from({ length: 60 }, (_, i) => i),
    })
    const all = { distances: result.distances, next: result.next, semiring } as const
    expect(await verifyPaths(floats, all)).toEqual({ distances: 3600, paths: 3600 })
    const far = result.distances.data.findIndex((value) => value > 1 && value < Infinity)
    result.distances.data[far]! += 0.001
    await expect(verifyPaths(floats, all)).rejects.toEqual(coded('VALUE'))
  })

  it('accepts floats whose sums and products exceed the type', async () => {
    // In float32 the length of 0 → 1 → 2 is the value of no path; in float64 it is finite.
    const far = { nodes: 3, from: [0, 1], to: [1, 2], weight: Float32Array.of(3e38, 3e38) }
    const lengths = await shortestPaths(far, { paths: true })
    expect(lengths.distances.data[2]).toBe(Number.POSITIVE_INFINITY)
    expect(await verifyPaths(far, lengths)).toEqual({ distances: 9, paths: 9 })
    for (const [type, tiny] of [
      [Float32Array, 1e-30],
      [Float64Array, 1e-200],
    ] as const) {
      const weak = { nodes: 3, from: [0, 1], to: [1, 2], weight: type.of(tiny, tiny) }
      const values = await mostReliablePaths(weak, { paths: true })
      expect(values.distances.data[2]).toBe(0)
      expect(await verifyPaths(weak, values)).toEqual({ distances: 9, paths: 9 })
    }
  })

  it('accepts products with few significant digits, in any order of roundings', async () => {
    const random = new Random(32)
    for (const [type, tiny] of [
      [Float32Array, 2 ** -140],
      [Float64Array, 2 ** -1065],
    ] as const) {
      for (let round = 0; round < 20; round++) {
        // Chain whose first products are subnormal numbers.
        const data = new type(81)
        for (let i = 0; i < 8; i++) data[i * 9 + i + 1] = i === 0 ? tiny : 0.5 + random.bits() / 2 ** 33
        const weights = { data, shape: [9, 9] }
        expect(await verifyPaths(weights, await mostReliablePaths(weights, { paths: true }))).toEqual({
          distances: 81,
          paths: 81,
        })
      }
    }
  })

  it('accepts a batch, and results on a device', async () => {
    const weights = matrix([2, 2, 2], [0, 5, NONE, 0, 0, 7, -7, 0])
    const device = await openDevice({ backend: 'cpu' })
    const right = matrix([2, 2, 2], [0, 5, NONE, 0, 0, 7, -7, 0])
    const resident = { distances: await device.upload(right) }
    const options = { semiring } as const
    expect(await verifyPaths(await device.upload(weights), resident, options)).toMatchObject({ distances: 8 })
    right.data[5] = 6
    await expect(verifyPaths(weights, { distances: right }, options)).rejects.toThrow(
      'the distance from 0 to 1 in matrix 1 of the batch is 6',
    )
    await device.close()
  })
})

describe('some pairs', () => {
  it('rejects a path of the right length that begins or ends at another node', async () => {
    // Only the end of this path is wrong: its next node and its length are right.
    const two = { nodes: 4, from: [0, 1, 1], to: [1, 2, 3], weight: [5, 5, 5] }
    const along = await shortestPaths(two, { sources: 0, targets: 2, paths: true })
    await expect(verifyPaths(two, { ...along, path: () => [0, 1, 3] })).rejects.toThrow(
      'the path from 0 to 2 leads from 0 to 3',
    )
    // Only the beginning of this path is wrong.
    const merge = { nodes: 4, from: [0, 3, 1], to: [1, 1, 2], weight: [5, 5, 5] }
    const into = await shortestPaths(merge, { sources: 0, targets: 2, paths: true })
    await expect(verifyPaths(merge, { ...into, path: () => [3, 1, 2] })).rejects.toThrow(
      'the path from 0 to 2 leads from 3 to 2',
    )
  })

  it('accepts results for sources, for targets, and for both', async () => {
    for (const options of [
      { sources: [0, 4] },
      { targets: [2, 3] },
      { sources: [0, 1, 5], targets: [3, 4] },
    ]) {
      const result = await shortestPaths(graph, { ...options, paths: true })
      const { length } = result.distances.data
      expect(await verifyPaths(graph, result)).toEqual({ distances: length, paths: length })
      for (let position = 0; position < length; position++) {
        const { distances } = result
        const retained = distances.data[position]!
        distances.data[position] = 77
        await expect(verifyPaths(graph, result)).rejects.toEqual(coded('VALUE'))
        distances.data[position] = retained
        const before = result.next.data[position]!
        result.next.data[position] = before + 1
        await expect(verifyPaths(graph, result)).rejects.toEqual(coded('VALUE'))
        result.next.data[position] = before
      }
      const lying = { ...result, path: () => [0, 2] }
      await expect(verifyPaths(graph, lying)).rejects.toEqual(coded('VALUE'))
    }
  })
})

it.each<[string, () => Promise<unknown>, string]>([
  ['no semiring', () => verifyPaths(graph, { distances: distances() }), 'OPTION'],
  [
    'a semiring without paths',
    () => verifyPaths(graph, { distances: distances() }, { semiring: 'plus-times' as never }),
    'OPTION',
  ],
  [
    'distances of another shape',
    () => verifyPaths(graph, { distances: matrix(5, 5) }, { semiring }),
    'SHAPE',
  ],
  [
    'distances of more graphs than there are',
    () => verifyPaths(matrix([2, 2, 2]), { distances: matrix([3, 2, 2]) }, { semiring }),
    'SHAPE',
  ],
  [
    'distances of fewer graphs than there are',
    () => verifyPaths(matrix([2, 2, 2]), { distances: matrix([1, 2, 2]) }, { semiring }),
    'SHAPE',
  ],
  [
    'distances of one graph for a batch of one',
    () => verifyPaths(matrix([1, 2, 2]), { distances: matrix(2, 2) }, { semiring }),
    'SHAPE',
  ],
  [
    'distances of another type',
    () => verifyPaths(graph, { distances: matrix(6, 6, new Float64Array(36)) }, { semiring }),
    'DTYPE',
  ],
  [
    'next nodes of another type',
    () =>
      verifyPaths(
        graph,
        { distances: distances(), next: matrix(6, 6, new Float32Array(36)) as never },
        { semiring },
      ),
    'DTYPE',
  ],
  [
    'a signal that was aborted',
    () => verifyPaths(graph, { distances: distances() }, { semiring, signal: AbortSignal.abort() }),
    'ABORTED',
  ],
])('rejects %s', async (_, call, code) => {
  await expect(call()).rejects.toEqual(coded(code))
})
