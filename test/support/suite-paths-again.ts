/**
 * Paths that a closure can't find directly, and that are recomputed in float64. The tests of both backends
 * run this suite.
 */
import { describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import { solveInFloat64 } from '../../lib/graph/all-pairs.js'
import { walk } from '../../lib/graph/path-trees.js'
import { readQuery } from '../../lib/graph/query.js'
import {
  longestPaths,
  mostReliablePaths,
  type PathOptions,
  shortestPaths,
  verifyPaths,
} from '../../lib/graph.js'
import { CycleError, matrix } from '../../lib/index.js'
import { coded } from './coded.js'
import { Random } from './generators.js'
import { useDevice } from './homes.js'
import { bestFrom, pathAlgebras, valueOfPath, type WeightedEdges } from './paths-oracle.js'

type Floats = typeof Float32Array | typeof Float64Array

/** Each edge and its reverse together weigh exactly 0; there is no other cycle. */
export function balanced(random: Random, nodes: number, Type: Floats): Float32Array | Float64Array {
  const data = new Type(nodes * nodes).fill(Number.POSITIVE_INFINITY)
  for (let i = 0; i < nodes; i++) data[i * nodes + i] = 0
  for (let j = 1; j < nodes; j++) {
    const i = random.integer(0, j - 1)
    data[i * nodes + j] = (random.bits() / 2 ** 31 - 1) * 10 ** random.integer(-1, 2)
    data[j * nodes + i] = -data[i * nodes + j]!
  }
  return data
}

/** Follows the next nodes of all pairs: each path ends at its target. */
function expectEnds(next: ArrayLike<number>, nodes: number): void {
  for (let to = 0; to < nodes; to++) {
    for (let from = 0; from < nodes; from++) {
      let node = from
      for (let steps = 0; node !== to && node >= 0; steps++) {
        if (steps > nodes) expect.fail(`the way from ${from} to ${to} goes round in a cycle`)
        node = next[node * nodes + to]!
      }
    }
  }
}

export function pathsAgain(backend: BackendName): void {
  const open = useDevice({ backend })

  describe('cycles of floats with weight 0', () => {
    const [a, b] = [Math.fround(0.143942118), Math.fround(4.60958433)]
    const none = Number.POSITIVE_INFINITY
    const three = matrix(3, 3, Float32Array.of(0, a, -b, -a, 0, none, b, none, 0))

    it('cause no endless paths', async () => {
      const result = await shortestPaths(three, { backend, paths: true })
      expect(result.path(0, 2)).toEqual([0, 2])
      expect(result.path(1, 2)).toEqual([1, 0, 2])
      expect(result.path(2, 1)).toEqual([2, 0, 1])
      expect(await verifyPaths(three, result)).toEqual({ distances: 9, paths: 9 })
      expect(result.backend).toBe(backend)
    })

    it('cause no endless paths on a device', async () => {
      const weights = await open().upload(three)
      const result = await shortestPaths(weights, { paths: true })
      expect(result.distances.device).toBe(open())
      expect(await result.path(1, 2)).toEqual([1, 0, 2])
      expect(await verifyPaths(weights, result)).toEqual({ distances: 9, paths: 9 })
      expect(result.backend).toBe(backend)
    })

    it('cause no endless paths in a batch, and from and to some nodes', async () => {
      const batch = matrix([2, 3, 3], Float32Array.of(...three.data, ...three.data))
      const all = await shortestPaths(batch, { backend, paths: true })
      expect(all.path(1, 2, 1)).toEqual([1, 0, 2])
      expect(await verifyPaths(batch, all)).toEqual({ distances: 18, paths: 18 })
      const some = await shortestPaths(three, { backend, paths: true, sources: [1, 2], targets: [2, 1] })
      expect(some.path(1, 2)).toEqual([1, 0, 2])
      expect(await verifyPaths(three, some)).toEqual({ distances: 4, paths: 4 })
      expect(some.backend).toBe(backend)
    })

    it("are not solved by all pairs if float32 can't represent the length of a path", async () => {
      // Besides the cycle a path of two edges is longer than any float32. Rounded cycles cause the
      // recomputation in float64.
      const data = new Float32Array(36).fill(none)
      three.data.forEach((weight, at) => {
        data[Math.floor(at / 3) * 6 + (at % 3)] = weight
      })
      data[3 * 6 + 4] = data[4 * 6 + 5] = 3e38
      const weights = matrix(6, 6, data)
      const question = await readQuery('min-plus', weights, { backend, paths: true })
      expect(await solveInFloat64(question)).toBeNull()
      await expect(shortestPaths(weights, { backend, paths: true, method: 'closure' })).rejects.toEqual(
        coded('OPTION', 'computes the paths of all pairs'),
      )
      if (backend === 'cuda') return
      const { distances, next, path } = await shortestPaths(weights, { paths: true })
      expect(distances.at(3, 5)).toBe(none)
      expect([next.data[3 * 6 + 5], path(3, 5), path(1, 2)]).toEqual([-1, null, [1, 0, 2]])
    })

    it('may be in thousands of matrices', async () => {
      const random = new Random(34)
      for (let round = 0; round < 1500; round++) {
        const nodes = round % 50 === 0 ? 40 : random.integer(3, 8)
        const data = balanced(random, nodes, Float32Array) as Float32Array
        for (const [find, weights] of [
          [shortestPaths, matrix(nodes, nodes, data)],
          [
            longestPaths,
            matrix(
              nodes,
              nodes,
              data.map((value) => -value),
            ),
          ],
        ] as const) {
          const result = await find(weights, { backend, paths: true })
          expectEnds(result.next.data, nodes)
          await verifyPaths(weights, result)
          expect(result.backend).toBe(backend)
        }
      }
    })

    it('include products of 1', async () => {
      const random = new Random(35)
      for (let round = 0; round < 500; round++) {
        const nodes = random.integer(3, 12)
        const data = balanced(random, nodes, Float32Array).map((value) => {
          const half = Math.round(value * 8) / 8
          // (1 + 1/2^k), whose reciprocal is rounded down.
          const other = Math.fround(1 / (1 + Math.abs(half)))
          const down = other * (1 + Math.abs(half)) > 1 ? other - 2 ** -25 : other
          return value === none ? 0 : half >= 0 ? 1 + half : down
        }) as Float32Array
        const weights = matrix(nodes, nodes, data)
        try {
          const result = await mostReliablePaths(weights, { backend, paths: true })
          expectEnds(result.next.data, nodes)
          await verifyPaths(weights, result)
        } catch (error) {
          // The exact product of the rounded weights may exceed 1.
          expect(error).toBeInstanceOf(CycleError)
          expect((error as CycleError).weight).toBeGreaterThanOrEqual(1)
        }
      }
    })
  })

  describe.each(['min-plus', 'max-plus'] as const)('%s: all pairs again, for some of them', (semiring) => {
    const algebra = pathAlgebras[semiring]
    const find = semiring === 'min-plus' ? shortestPaths : longestPaths
    const sign = semiring === 'min-plus' ? 1 : -1
    const again = async (weights: unknown, options: PathOptions) =>
      solveInFloat64(await readQuery(semiring, weights, { backend, paths: true, ...options }))
    const dataOf = async (
      of: { data: ArrayLike<number> } | { download(): Promise<{ data: ArrayLike<number> }> },
    ) => Array.from('data' in of ? of.data : (await of.download()).data)

    it("ignores cycles that aren't between the requested nodes", async () => {
      const random = new Random(23)
      const seen = { right: 0, gaining: 0, elsewhere: 0 }
      for (let round = 0; round < 150; round++) {
        const nodes = random.integer(4, 12)
        const graph: WeightedEdges = { nodes, from: [], to: [], weight: [] }
        for (let e = random.integer(nodes, 2 * nodes); e > 0; e--) {
          graph.from.push(random.integer(0, nodes - 1))
          graph.to.push(random.integer(0, nodes - 1))
          graph.weight.push(sign * random.integer(-2, 9))
        }
        const some = (most: number) =>
          Array.from({ length: random.integer(1, most) }, () => random.integer(0, nodes - 1))
        const [sources, targets] = random.pick([
          [some(2), some(2)],
          [some(2), undefined],
          [undefined, some(2)],
        ])
        const all = Array.from({ length: nodes }, (_, node) => node)
        const rows = (sources ?? all).map((source) => bestFrom(graph, algebra, source))
        const leads = (targets ?? all).some((target) => rows.some(({ endless }) => endless[target]))
        const anywhere = all.some((node) => bestFrom(graph, algebra, node).endless.includes(true))
        let found: Awaited<ReturnType<typeof again>>
        try {
          found = await again(graph, { sources, targets })
        } catch (error) {
          expect(error).toBeInstanceOf(CycleError)
          const { cycle, weight } = error as CycleError
          expect(valueOfPath(graph, algebra, [...cycle, cycle[0]!])).toBe(weight)
          expect(leads).toBe(true)
          seen.gaining++
          continue
        }
        expect(leads).toBe(false)
        seen.right++
        if (anywhere) seen.elsewhere++
        const zero = sign === 1 ? 2 ** 31 - 1 : -(2 ** 31)
        const expected = rows.flatMap(({ value }) => (targets ?? all).map((target) => value[target] ?? zero))
        expect(await dataOf(found!.distances)).toEqual(expected)
        expect(found!.backend).toBe(backend)
        for (const [row, source] of (sources ?? all).entries()) {
          for (const [col, target] of (targets ?? all).entries()) {
            const path = walk(await found!.forest!.trees(0, target), target, target, source, nodes)
            const value = expected[row * (targets ?? all).length + col]
            if (value === zero) expect(path).toBeNull()
            else expect(path!.length === 1 ? 0 : valueOfPath(graph, algebra, path!)).toBe(value)
          }
        }
        const whole = await find(graph, { backend, sources, targets, paths: true })
        expect([...whole.distances.data]).toEqual(expected)
        expect(whole.backend).toBe(backend)
      }
      expect(Math.min(...Object.values(seen))).toBeGreaterThan(10)
    })

    it("ignores distances beyond int32 that aren't requested", async () => {
      const far = 2 ** 31 - 3
      const graph = { nodes: 4, from: [0, 1, 2], to: [1, 2, 3], weight: [far, 10, -20].map((w) => sign * w) }
      const distance = async (target: number, options: PathOptions = {}) => {
        const requested = { sources: 0, targets: target, ...options }
        const result = await find(graph, { backend, ...requested })
        expect(result.backend).toBe(backend)
        expect(await dataOf((await again(graph, requested))!.distances)).toEqual([...result.distances.data])
        return result.distances.data[0]
      }
      expect(await distance(3)).toBe(sign * (far - 10))
      expect(await distance(2, { overflow: 'saturate' })).toBe(sign === 1 ? 2 ** 31 - 2 : -(2 ** 31) + 1)
      expect(await distance(2, { overflow: 'wrap' })).toBe((sign * (far + 10)) | 0)
      for (const call of [() => find(graph, { backend, sources: 0 }), () => again(graph, { sources: 0 })]) {
        await expect(call()).rejects.toMatchObject({
          code: 'ERR_MPMML_OVERFLOW',
          message: expect.stringContaining(`from 0 to 2 is ${sign * (far + 10)}, outside the finite range`),
        })
      }
    })

    it('accepts a batch of int16, in an array and on a device', async () => {
      const none = sign === 1 ? 2 ** 15 - 1 : -(2 ** 15)
      const edge = (weight: number) => sign * weight
      // Nodes 2 and 3 form an improving cycle in the second matrix, and lead nowhere.
      const data = Int16Array.of(
        ...[none, edge(5), none, none, none, none, edge(7), none, none, none, none, edge(1)],
        ...[none, none, none, none],
        ...[none, edge(5), edge(1), none, none, none, none, none, none, none, none, edge(-3)],
        ...[none, none, edge(1), none],
      )
      const zero = sign === 1 ? 2 ** 31 - 1 : -(2 ** 31)
      const weights = { data, shape: [2, 4, 4] as [number, number, number] }
      const options = { sources: [0], targets: [1, 3] }
      const matters = { sources: [0], targets: [1] }
      await expect(again(weights, options)).rejects.toMatchObject({ code: 'ERR_MPMML_CYCLE', batch: 1 })
      expect(await dataOf((await again(weights, matters))!.distances)).toEqual([edge(5), edge(5)])
      expect(zero).not.toBe(none)
      const resident = await open().upload(weights)
      const found = (await again(resident, { ...matters, backend: undefined }))!
      expect(found.backend).toBe(backend)
      expect(found.distances).toMatchObject({ shape: [2, 1, 1], device: open() })
      expect(await dataOf(found.distances)).toEqual([edge(5), edge(5)])
      expect(await dataOf(found.next!)).toEqual([1, 1])
    })
  })
}
