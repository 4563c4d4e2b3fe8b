/** Graphs that exceed the available memory: an error before any write. */
import { afterEach, expect, it, vi } from 'vitest'
import {
  criticalGraph,
  cycleTimes,
  earliestStarts,
  eigenvectors,
  latestStarts,
  maximumCycleMean,
  periodicRegime,
  trajectory,
} from '../../lib/algebra.js'
import { shortestPaths } from '../../lib/graph.js'
import { matrix } from '../../lib/index.js'
import { coded } from '../support/coded.js'

afterEach(() => {
  vi.restoreAllMocks()
})

const nodes = 20_000
const graph = { nodes, from: [0, 1], to: [1, 0], weight: [5, -5] }
const state = new Int32Array(nodes)

const calls: [string, number, () => Promise<unknown>][] = [
  ['shortestPaths', 80 * nodes, () => shortestPaths(graph, { sources: 0, targets: 1 })],
  ['trajectory', 15 * nodes, () => trajectory(graph, state, { steps: 1 })],
  ['periodicRegime', 15 * nodes, () => periodicRegime(graph, state)],
  ['maximumCycleMean', 100 * nodes, () => maximumCycleMean(graph)],
  ['cycleTimes', 100 * nodes, () => cycleTimes(graph)],
  ['eigenvectors', 100 * nodes, () => eigenvectors(graph)],
  ['criticalGraph', 100 * nodes, () => criticalGraph(graph)],
  ['earliestStarts', 100 * nodes, () => earliestStarts(graph)],
  ['latestStarts', 100 * nodes, () => latestStarts(graph)],
]

it.each(calls)('%s: is rejected if %i bytes are available', async (_, available, call) => {
  await call()
  vi.spyOn(process, 'availableMemory').mockReturnValue(available)
  await expect(call()).rejects.toEqual(
    coded('OUT_OF_MEMORY', /of 20000 nodes and 2 edges may need \d+ bytes, but \d+ are available/),
  )
})

it('rejects a search whose distances and next nodes fit separately, but not together', async () => {
  const sources = Array.from({ length: 1000 }, (_, node) => node)
  vi.spyOn(process, 'availableMemory').mockReturnValue(140_000_000)
  const error = await shortestPaths(graph, { sources, paths: true }).then(
    () => null,
    (error: Error) => error.message,
  )
  expect(error).toMatch(/cannot allocate the next nodes, 1000 × 20000 elements, 80000000 bytes/)
})

it('checks the available memory for matrices of medium size too', () => {
  vi.spyOn(process, 'availableMemory').mockReturnValue(100_000_000)
  expect(() => matrix(5000, 5000)).toThrow(/need 100000000 bytes, but 83222784 are available/)
  expect(matrix(4000, 4000).shape).toEqual([4000, 4000])
})
