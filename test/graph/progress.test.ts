/** onProgress and cancellation of the path functions, for searches and closures. */
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { mostReliablePaths, type PathOptions, shortestPaths } from '../../lib/graph.js'
import { forwardOnly } from '../../lib/product/progress.js'
import { coded } from '../support/coded.js'
import { errorOf } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { inTime } from '../support/in-time.js'

// Forced choice between searches and a closure; undefined leaves it to the estimate. Closures run on one
// thread, so that they take long enough on any machine.
const forced = vi.hoisted(() => {
  process.env.MPMML_NUM_THREADS = '1'
  return { search: undefined as boolean | undefined }
})
vi.mock('../../lib/backend-selection.js', async (original) =>
  (await import('../support/forced-search.js')).forcedSearch(original, forced),
)
const { setInterval } = globalThis
beforeEach(() => {
  forced.search = undefined
  // Listeners are called so frequently that even short work calls them.
  vi.spyOn(globalThis, 'setInterval').mockImplementation(((tick: () => void) =>
    setInterval(tick, 1)) as never)
})

function randomGraph(nodes: number, edges: number, least: number) {
  const random = new Random(nodes)
  const pick = (from: number, to: number) =>
    Int32Array.from({ length: edges }, () => random.integer(from, to))
  return { nodes, from: pick(0, nodes - 1), to: pick(0, nodes - 1), weight: pick(least, 1000) }
}

// Each work would take a tenth of a second or more, but is aborted.
const several = randomGraph(20_000, 100_000, 0)
const one = randomGraph(500_000, 3_000_000, 0)
// No edge leads back, so there is no improving cycle.
const negative = (() => {
  const { from, to, ...rest } = randomGraph(20_000, 200_000, -1000)
  return {
    ...rest,
    from: from.map((node, e) => Math.min(node, to[e]!)),
    to: to.map((node, e) => Math.max(node, from[e]!) + (node === from[e] ? 1 : 0)),
    nodes: 20_001,
  }
})()
const matrix = { data: new Float32Array(5000 * 5000).fill(1), shape: [5000, 5000] }

const works: [string, boolean | undefined, (options: PathOptions) => Promise<unknown>][] = [
  ['a search from each node', true, (options) => shortestPaths(several, options)],
  ['one search', true, (options) => shortestPaths(one, { ...options, sources: 0 })],
  ['searches with negative weights', true, (options) => shortestPaths(negative, options)],
  ['a closure', undefined, (options) => shortestPaths(matrix, { ...options, backend: 'cpu' })],
  [
    'a closure of which a part is asked',
    false,
    (options) => shortestPaths(matrix, { ...options, sources: 0, backend: 'cpu' }),
  ],
]

describe.each(works)('progress of %s', (_, search, work) => {
  beforeEach(() => {
    forced.search = search
  })

  it('is reported to onProgress as the completed share', () =>
    inTime(async () => {
      const controller = new AbortController()
      const reason = new Error('enough')
      const shares: number[] = []
      const running = work({
        signal: controller.signal,
        onProgress({ done }) {
          shares.push(done)
          if (done > 0 && done < 1) controller.abort(reason)
        },
      })
      const error = await errorOf(running)
      // On a busy machine the listener may be called again before the work has stopped.
      expect(shares).toEqual([...shares].sort((x, y) => x - y))
      if (error === undefined) return false
      expect(error).toMatchObject({ code: 'ERR_MPMML_ABORTED', cause: reason })
      expect(shares.at(-1)).toBeGreaterThan(0)
      expect(shares.at(-1)).toBeLessThan(1)
      return true
    }))

  it('ends if the listener throws, and the work rejects with the thrown value', () =>
    inTime(async () => {
      const thrown = new Error('nobody listens any more')
      let calls = 0
      const running = work({
        onProgress() {
          calls++
          throw thrown
        },
      })
      const error = await errorOf(running)
      if (calls === 0) return false
      expect(error).toBe(thrown)
      expect(calls).toBe(1)
      return true
    }))

  it('does not begin if the signal is aborted before', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(work({ signal })).rejects.toMatchObject({
      code: 'ERR_MPMML_ABORTED',
      cause: signal.reason,
    })
  })
})

it.each([
  ['searches', true],
  ['a closure', false],
] as const)('%s: reports 1 as the last share', async (_, search) => {
  forced.search = search
  const shares: number[] = []
  const graph = randomGraph(search ? 1500 : 1200, 9000, 0)
  await shortestPaths(graph, { backend: 'cpu', onProgress: ({ done }) => shares.push(done) })
  expect(shares).toEqual([...shares].sort((a, b) => a - b))
  expect(shares.filter((done) => done < 0 || done > 1)).toEqual([])
  expect(shares.at(-1)).toBe(1)
})

it('rejects a listener that is not a function', async () => {
  await expect(shortestPaths(matrix, { onProgress: 5 as never })).rejects.toEqual(
    coded('OPTION', 'onProgress'),
  )
})

it('never decreases, even if a search follows a closure that failed', () => {
  const reports: number[] = []
  const tick = forwardOnly(({ done }) => reports.push(done))!
  for (const done of [0, 0.3, 0.7, 0, 0.2, 0.8, 1]) tick({ done })
  expect(reports).toEqual([0, 0.3, 0.7, 0.7, 0.7, 0.8, 1])
  expect(forwardOnly(undefined)).toBeUndefined()
})

it('aborts the exact product of a long cycle whose rounded product is close to 1', async () => {
  // The product of the cycle exceeds 1 by 2^-98, and the rounded product grows with each turn around the
  // cycle.
  const step = 80
  const weights = [1 + 2 ** -26, 1 - 2 ** -26 + 2 ** -52]
  const ulp = 2 ** -52
  for (let at = 0; at < 13_981; at++) weights.push(1 + step * ulp, 1 - (step / 2) * ulp, 1 - (step / 2) * ulp)
  const nodes = weights.length
  const graph = {
    nodes: nodes + 1,
    from: [0, ...weights.map((_, i) => i + 1)],
    to: [1, ...weights.map((_, i) => ((i + 1) % nodes) + 1)],
    weight: Float64Array.from([1 + 7 / 64, ...weights]),
  }
  for (const delay of [50, 200]) {
    const controller = new AbortController()
    const running = mostReliablePaths(graph, { sources: 0, signal: controller.signal })
    setTimeout(() => controller.abort(), delay)
    await expect(running).rejects.toEqual(coded('ABORTED'))
  }
})
