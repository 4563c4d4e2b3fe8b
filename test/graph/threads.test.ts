/**
 * Searches on several threads: results equal those on one thread, and errors if the system refuses memory or
 * threads. Uses the output of `npm run build:ts`.
 */
import { describe, expect, it } from 'vitest'
import { components, kShortestPaths, shortestPaths, spanningTree, topologicalOrder } from '../../lib/graph.js'
import { readOutput, withoutBuild } from '../support/child.js'
import { errorWithoutMemory } from '../support/expect.js'
import { describeUnless } from '../support/skip.js'

const library = new URL('../../dist/lib/graph.js', import.meta.url)

/** Output of a program with a limit of threads for searches. */
function run(threads: number): string {
  const program = `
    import { createHash } from 'node:crypto'
    import { kShortestPaths, mostReliablePaths, shortestPaths, transitiveClosure } from ${JSON.stringify(library.href)}
    let seed = 7
    const random = (most) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % most
    const list = (count, make) => Int32Array.from({ length: count }, make)
    const graph = (nodes, edges, least) => ({
      nodes,
      from: list(edges, () => random(nodes)),
      to: list(edges, () => random(nodes)),
      weight: list(edges, () => least + random(5)),
    })
    const tell = async (promise) => {
      const { distances, next, cycle, message } = await promise.catch((error) => error)
      const hash = createHash('sha256')
      for (const data of [distances?.data, next?.data]) if (data) hash.update(data)
      console.log(hash.digest('hex').slice(0, 12), cycle?.join() ?? '', message ?? '')
    }
    const sources = list(300, () => random(500))
    const plain = graph(500, 2500, 0)
    await tell(shortestPaths(plain, { sources, paths: true }))
    await tell(shortestPaths(plain, { targets: sources, paths: true }))
    await tell(mostReliablePaths({ ...plain, weight: Float64Array.from(plain.weight, (w) => 1 - w / 9) }, { sources, paths: true }))
    const ends = list(3600, (_, e) => (e % 1800) + (e < 1800 ? 1 : 60))
    const streets = { nodes: 1860, from: list(3600, (_, e) => e % 1800), to: ends, weight: list(3600, () => random(5)) }
    const both = { ...streets, from: [...streets.from, ...ends], to: [...ends, ...streets.from], weight: [...streets.weight, ...streets.weight] }
    await tell(shortestPaths(both, { sources, paths: true, method: 'dissection' }))
    await tell(shortestPaths({ ...both, weight: Float64Array.from(both.weight, (w) => w / 7) }, { method: 'dissection' }))
    await tell(transitiveClosure(graph(700, 900, 0), { sources: list(200, (_, i) => i) }))
    // Many cycles: each search finds another one.
    const rings = { nodes: 600, from: list(600, (_, i) => i), to: list(600, (_, i) => (i % 3 === 2 ? i - 2 : i + 1)), weight: new Float64Array(600).fill(-1) }
    await tell(shortestPaths(rings, { sources: list(200, (_, i) => 599 - 3 * i) }))
    const far = { nodes: 400, from: list(399, (_, i) => i), to: list(399, (_, i) => i + 1), weight: list(399, () => 2 ** 30) }
    await tell(shortestPaths(far, { sources: list(300, (_, i) => 299 - i) }))
    console.log(JSON.stringify(await kShortestPaths(plain, 0, 9, 40)))`
  return readOutput(program, { env: { MPMML_NUM_THREADS: String(threads) } })
}

describeUnless(withoutBuild, 'any number of threads', () => {
  it('returns equal distances, paths, cycles and errors', () => {
    const alone = run(1)
    expect(alone).toContain('the distance from 299 to 301 is')
    expect(alone).toContain('597,598,599 ')
    for (const threads of [2, 7]) for (let again = 0; again < 3; again++) expect(run(threads)).toBe(alone)
  })
})

describe('memory that the system refuses', () => {
  const line = {
    nodes: 40,
    from: Int32Array.from({ length: 39 }, (_, i) => i),
    weight: new Int32Array(39).fill(2),
  }
  const graph = { ...line, to: line.from.map((i) => i + 1) }
  const negative = { ...graph, weight: graph.weight.map((w, e) => (e === 5 ? -1 : w)) }
  const sources = [0, 1, 2, 3]
  const works: [string, () => Promise<unknown>][] = [
    ['searches', () => shortestPaths(graph, { sources, paths: true })],
    [
      'searches with negative weights',
      () => shortestPaths(negative, { sources, targets: [39, 3], paths: true }),
    ],
    ['components', () => components(graph)],
    ['weak components', () => components(graph, { kind: 'weak' })],
    ['an order', () => topologicalOrder(graph)],
    ['a spanning tree', () => spanningTree(graph)],
    ['several paths', () => kShortestPaths(graph, 0, 39, 3)],
  ]

  it.each(works)('is reported: %s', async (_, work) => {
    let refused = 0
    for (let nth = 1; ; nth++) {
      const error = await errorWithoutMemory(work, nth, 1)
      if (error === undefined) break
      expect(error).toMatchObject({ code: 'ERR_MPMML_OUT_OF_MEMORY' })
      refused++
    }
    expect(refused).toBeGreaterThan(2)
  })
})
