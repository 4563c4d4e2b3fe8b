/** Types that TypeScript infers for paths: checked by `npm run lint`. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { maximumCycleMean, power, star, trajectory } from '../../lib/algebra.js'
import {
  components,
  longestPaths,
  nearestSources,
  type PathsResult,
  type PathsWithNext,
  pathEdges,
  prepareGraph,
  type ResidentPaths,
  type ResidentPathsWithNext,
  reducePaths,
  shortestPaths,
  spanningTree,
  topologicalOrder,
  transitiveClosure,
} from '../../lib/graph.js'
import { matrix, openDevice } from '../../lib/index.js'
import { coded } from '../support/coded.js'

const list = { nodes: 2, from: [0], to: [1], weight: [3] }
const floats = { ...list, weight: Float64Array.of(3) }

describe('the type of a result', () => {
  it('has next if the option requests it, and the element type of the weights', async () => {
    const plain = await shortestPaths(list, { sources: 0 })
    expectTypeOf(plain).toEqualTypeOf<PathsResult<Int32Array>>()
    const withNext = await shortestPaths(floats, { sources: 0, paths: true })
    expectTypeOf(withNext).toExtend<PathsWithNext<Float64Array>>()
    expectTypeOf(withNext.next.data).toExtend<Int32Array>()
    expectTypeOf(withNext.path(0, 1)).toEqualTypeOf<number[] | null>()
    const narrow = await shortestPaths(matrix(1, 1, Int16Array.of(3)), { sources: 0 })
    expectTypeOf(narrow).toExtend<PathsResult<Int32Array>>()
    const maybe = await shortestPaths(list, { sources: 0, paths: list.nodes > 1 })
    expectTypeOf(maybe).toEqualTypeOf<PathsResult<Int32Array>>()
    const links = await transitiveClosure({ nodes: 2, from: [0], to: [1] }, { sources: 0, paths: true })
    expectTypeOf(links).toExtend<PathsWithNext<Uint8Array>>()
    expect(withNext.path(0, 1)).toEqual([0, 1])
  })

  it('is resident if the weights are', async () => {
    await using device = await openDevice({ backend: 'cpu' })
    const weights = await device.upload(matrix(1, 1, Float32Array.of(0)))
    const plain = await shortestPaths(weights)
    expectTypeOf(plain).toExtend<ResidentPaths<Float32Array>>()
    const withNext = await shortestPaths(weights, { paths: true })
    expectTypeOf(withNext).toExtend<ResidentPathsWithNext<Float32Array>>()
    expectTypeOf(withNext.path(0, 0)).toEqualTypeOf<Promise<number[] | null>>()
    expect(await withNext.path(0, 0)).toEqual([0])
  })

  it('excludes calls that would be errors', async () => {
    // @ts-expect-error: an edge list needs weights
    await expect(shortestPaths({ nodes: 2, from: [0], to: [1] })).rejects.toThrow('weight must be')
    // @ts-expect-error: there is no such option
    await expect(shortestPaths(list, { source: 0 })).rejects.toThrow("'source'")
    // @ts-expect-error: or-and has bytes
    await expect(transitiveClosure(matrix(1, 1, Int32Array.of(0)))).rejects.toThrow('uint8')
  })
  it('allows fractions in a plain array of weights, which every function rejects', async () => {
    const lists = [
      { nodes: 2, from: [0], to: [1], weight: [0.5] },
      { nodes: 2, keys: [0, 1], from: [0], to: [1], weight: [0.5] },
      { nodes: [0, 1], from: [0], to: [1], weight: [0.5] },
    ]
    const calls: ((list: never) => unknown)[] = [
      shortestPaths,
      (list) => longestPaths(list, { sources: 0 }),
      transitiveClosure,
      (list) => nearestSources(list, { sources: [0] }),
      (list) => pathEdges(list, [0, 1]),
      (list) => reducePaths(list, { reduce: 'mean' }),
      prepareGraph,
      components,
      spanningTree,
      topologicalOrder,
      star,
      (list) => power(list, 2),
      maximumCycleMean,
      (list) => trajectory(list, [0, 0], { steps: 1 }),
    ]
    const refusal = coded('DTYPE', 'weight[0] must be an integer from -2^31 to 2^31 - 1, but it is 0.5: put')
    for (const call of calls) {
      for (const list of lists) await expect((async () => call(list as never))()).rejects.toThrow(refusal)
    }
  })
})
