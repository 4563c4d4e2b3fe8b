/** The nearest source of each node, compared with the distances from each source, and the edges of paths. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { kShortestPaths, nearestSources, pathEdges } from '../../lib/graph.js'
import { CycleError, zeroOf } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'
import { randomGraph } from '../support/graphs.js'
import { bestFrom, pathAlgebras, type WeightedEdges } from '../support/paths-oracle.js'

const semirings = ['min-plus', 'max-plus', 'max-min', 'max-times'] as const
type Typed = (weight: number[]) => Int32Array | Float32Array | Float64Array
const types: readonly [string, Typed][] = [
  ['int32', (weight) => Int32Array.from(weight)],
  ['float64', (weight) => Float64Array.from(weight, (value) => value / 4)],
  ['float32', (weight) => Float32Array.from(weight, (value) => value / 4)],
]

describe('nearestSources', () => {
  for (const semiring of semirings)
    it.each(types)(`returns the best of all rows of ${semiring} over %s`, async (dtype, typed) => {
      if (semiring === 'max-times' && dtype === 'int32') return
      const random = new Random(71)
      const isBetter =
        semiring === 'min-plus' ? (a: number, b: number) => a < b : (a: number, b: number) => a > b
      const none = zeroOf(semiring, dtype as 'int32')
      // int32 has no infinities: the ends of its range represent them.
      const ends = [-(2 ** 31), 2 ** 31 - 1] as const
      const stored = (value: number) =>
        dtype === 'int32' ? Math.min(Math.max(value, ends[0]), ends[1]) : value
      let compared = 0
      for (let round = 0; round < 80; round++) {
        const nodes = random.integer(1, 9)
        const [least, most] = semiring === 'max-times' ? [0, 4] : semiring === 'max-plus' ? [-9, 1] : [-1, 9]
        const graph = randomGraph(random, nodes, random.integer(0, 3 * nodes), () =>
          random.integer(least, most),
        )
        const weight = typed(graph.weight)
        const exact: WeightedEdges = { ...graph, weight: [...weight] }
        const sources = Array.from({ length: random.integer(0, 4) }, () => random.integer(0, nodes - 1))
        const rows = sources.map((source) => bestFrom(exact, pathAlgebras[semiring], source))
        const found = await nearestSources({ ...graph, weight }, sources, { semiring }).catch(
          (error) => error,
        )
        if (found instanceof CycleError) {
          expect(rows.some(({ endless }) => endless.includes(true))).toBe(true)
          continue
        }
        compared++
        for (let node = 0; node < nodes; node++) {
          const candidates = rows.map(({ value }) => value[node] ?? none).map(stored)
          const best = candidates.reduce((a, b) => (isBetter(a, b) ? a : b), none)
          expect(found.distances[node]).toBe(best + 0)
          const path = found.path(node)
          if (best === none && path === null) {
            expect(found.nearest[node]).toBe(-1)
            continue
          }
          expect(path.at(-1)).toBe(node)
          expect(path[0]).toBe(found.nearest[node])
          expect(candidates[sources.indexOf(path[0])]).toBe(best)
          const edges = await pathEdges({ ...graph, weight }, path, { semiring })
          for (const [at, e] of edges.entries())
            expect([graph.from[e], graph.to[e]]).toEqual([path[at], path[at + 1]])
        }
      }
      expect(compared).toBeGreaterThan(20)
    })

  it('uses names, and never returns a node that the graph does not have', async () => {
    const list = {
      nodes: ['A', 'B', 'C', 'D'],
      from: ['A', 'B', 'D'],
      to: ['B', 'C', 'C'],
      weight: [4, 3, 5],
    }
    const { distances, nearest, path, keys, backend, device, timing } = await nearestSources(list, ['A', 'D'])
    expect([backend, device.length > 0, timing.totalMs >= timing.kernelMs]).toEqual(['cpu', true, true])
    expect(() => path('X')).toThrow(coded('VALUE', "to is 'X'"))
    expectTypeOf(path('A')).toEqualTypeOf<string[] | null>()
    expectTypeOf(distances).toExtend<Int32Array>()
    expect([[...distances], [...nearest], Array.from(keys!)]).toEqual([
      [0, 4, 5, 0],
      [0, 0, 3, 3],
      list.nodes,
    ])
    expect(path('C')).toEqual(['D', 'C'])
    expect(path('A')).toEqual(['A'])
    expect((await nearestSources(list, 'B')).path('A')).toBeNull()
    expect((await nearestSources(list, [])).nearest).toEqual(new Int32Array(4).fill(-1))
    expect(() => path('X')).toThrow(expect.objectContaining({ code: 'ERR_MPMML_VALUE' }))
    await expect(nearestSources(list, ['X'])).rejects.toEqual(coded('VALUE', /sources\[0\] is 'X'/))
    const round = { ...list, from: ['A', 'B', 'A'], to: ['B', 'A', 'C'], weight: [1, -2, 0] }
    await expect(nearestSources(round, ['A'])).rejects.toMatchObject({ keys: ['A', 'B'], cycle: [0, 1] })
    const numbered = { nodes: 2, from: [0, 1], to: [1, 0], weight: [1, -2] }
    await expect(nearestSources(numbered, 0)).rejects.toMatchObject({ keys: undefined, cycle: [0, 1] })
    const far = { nodes: 3, from: [0, 1], to: [1, 2], weight: [2 ** 30, 2 ** 30] }
    await expect(nearestSources(far, 0)).rejects.toEqual(coded('OVERFLOW', /from the nearest source to 2/))
    const outside = { nodes: 2, from: Int32Array.of(2), to: Int32Array.of(1), weight: Int32Array.of(1) }
    await expect(nearestSources(outside, 0)).rejects.toEqual(
      coded('VALUE', /from\[0\] is 2, but the nodes are 0 to 1/),
    )
    await expect(nearestSources(numbered, 2)).rejects.toEqual(coded('VALUE', /sources\[0\] is 2/))
  })

  it('stops at a limit', async () => {
    const line = { nodes: 4, from: [0, 1, 2], to: [1, 2, 3], weight: [1, 1, 1] }
    const { nearest } = await nearestSources(line, 0, { limit: 2 })
    expect([...nearest]).toEqual([0, 0, 0, -1])
  })
})

describe('pathEdges', () => {
  it('selects the best of parallel edges in each semiring, and the first of equal ones', async () => {
    const graph = {
      nodes: 2,
      from: [1, 0, 0, 0, 0],
      to: [0, 1, 1, 1, 1],
      weight: Float64Array.of(9, 3, 2, 2, 5),
    }
    for (const [semiring, edge] of [
      ['min-plus', 2],
      ['max-plus', 4],
      ['max-min', 4],
      ['max-times', 4],
      ['or-and', 1],
    ] as const) {
      expect([...(await pathEdges(graph, [0, 1], { semiring }))]).toEqual([edge])
    }
  })

  it('accepts the paths that functions return, walks, and paths without edges', async () => {
    const graph = {
      nodes: ['A', 'B', 'C'],
      from: ['A', 'B', 'C', 'A'],
      to: ['B', 'C', 'A', 'C'],
      weight: [1, 2, 3, 4],
    }
    const [first, second] = await kShortestPaths(graph, 'A', 'C', 2)
    expect([...(await pathEdges(graph, first!.path))]).toEqual([0, 1])
    expect([...(await pathEdges(graph, second!.path))]).toEqual([3])
    expect([...(await pathEdges(graph, ['A', 'B', 'C', 'A', 'C', 'A']))]).toEqual([0, 1, 2, 3, 2])
    expect(await pathEdges(graph, ['A'])).toEqual(new Int32Array(0))
    expect(await pathEdges(graph, [])).toEqual(new Int32Array(0))
    await expect(pathEdges(graph, ['B', 'A'])).rejects.toEqual(coded('VALUE', /none leads from B to A/))
    await expect(pathEdges(graph, ['B', 'X'])).rejects.toEqual(coded('VALUE', /path\[1\] is 'X'/))
    await expect(pathEdges(graph, null as never)).rejects.toEqual(coded('DTYPE', /path/))
    const none = { nodes: 2, from: [0], to: [1], weight: [2 ** 31 - 1] }
    await expect(pathEdges(none, [0, 1])).rejects.toEqual(coded('VALUE', /none leads from 0 to 1/))
  })
})
