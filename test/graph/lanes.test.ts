/** Searches from many nodes at once, compared with the definition. */
import { describe, expect, it } from 'vitest'
import { longestPaths, reducePaths, shortestPaths } from '../../lib/graph.js'
import { Random } from '../support/generators.js'
import { randomGraph } from '../support/graphs.js'
import { bestFrom, pathAlgebras, type WeightedEdges } from '../support/paths-oracle.js'

const NONE = 2 ** 31 - 1

const distancesFrom = (graph: WeightedEdges, source: number) =>
  bestFrom(graph, pathAlgebras['min-plus'], source).value.map((value) => value ?? Infinity)

function expectedTable(
  graph: WeightedEdges,
  sources: readonly number[],
  targets: readonly number[],
): number[] {
  const rows = new Map<number, number[]>()
  for (const source of sources) if (!rows.has(source)) rows.set(source, distancesFrom(graph, source))
  return sources.flatMap((source) => targets.map((target) => rows.get(source)![target]!))
}

const plain = (data: Int32Array) => [...data].map((value) => (value === NONE ? Infinity : value))
const range = (count: number) => Array.from({ length: count }, (_, at) => at)

describe('searches from many nodes at once', () => {
  // Threads search from up to 8, 16 or 32 roots at once.
  it.each([6, 11, 12, 16, 17, 33, 64, 65, 130])('equal the definition: %i sources', async (count) => {
    const random = new Random(count)
    for (let round = 0; round < 6; round++) {
      const nodes = random.integer(1, 90)
      const most = [0, 1, 9, 2 ** 20][round % 4]!
      const graph = randomGraph(random, nodes, random.integer(0, 4 * nodes), () => random.integer(0, most))
      const some = (length: number) => Array.from({ length }, () => random.integer(0, nodes - 1))
      const sources = some(count)
      const targets = round % 2 ? some(random.integer(6, 100)) : range(nodes)
      const options = { sources, targets, method: 'search' as const }
      const { distances } = await shortestPaths(graph, options)
      expect(plain(distances.data)).toEqual(expectedTable(graph, sources, targets))
      const back = { ...graph, from: graph.to, to: graph.from }
      const swapped = await shortestPaths(back, { ...options, sources: targets, targets: sources })
      for (const [row, source] of sources.entries())
        for (const [col, target] of targets.entries())
          expect(swapped.distances.at(target, source)).toBe(distances.data[row * targets.length + col])
      const negative = { ...graph, weight: graph.weight.map((weight) => -weight) }
      const longest = await longestPaths(negative, options)
      expect(
        [...longest.distances.data].map((value) => (value === -(2 ** 31) ? Infinity : 0 - value)),
      ).toEqual(plain(distances.data))
    }
  })

  it('end in graphs whose nodes improve many times', async () => {
    const line = {
      nodes: 300,
      from: range(299),
      to: range(299).map((node) => node + 1),
      weight: range(299).map((e) => e % 7),
    }
    const sources = range(70).map((at) => (at * 37) % 300)
    const { distances } = await shortestPaths(line, { sources, method: 'search' })
    expect(plain(distances.data)).toEqual(expectedTable(line, sources, range(300)))
  })

  it.each([2 ** 28 / 64, 2 ** 28 / 64 + 1, 2 ** 30])('never wrap sums: weights up to %d', async (largest) => {
    const random = new Random(4)
    const ring = {
      nodes: 64,
      from: range(64),
      to: range(64).map((node) => (node + 1) % 64),
      weight: range(64).map(() => largest),
    }
    const sources = range(64).map(() => random.integer(0, 63))
    const targets = range(8)
    const longest = Math.max(
      ...sources.map((source) => Math.max(...targets.map((target) => (target - source + 64) % 64))),
    )
    const found = shortestPaths(ring, { sources, targets, method: 'search' })
    if (longest * largest > 2 ** 31 - 2)
      await expect(found).rejects.toMatchObject({ code: 'ERR_MPMML_OVERFLOW' })
    else expect(plain((await found).distances.data)).toEqual(expectedTable(ring, sources, targets))
  })

  it('return numbers for each node, and omit long paths', async () => {
    const random = new Random(9)
    const graph = randomGraph(random, 80, 400, () => random.integer(1, 9))
    const { values } = await reducePaths(graph, { reduce: 'mean', method: 'search' })
    const within = await shortestPaths(graph, { limit: 12, method: 'search' })
    for (const source of range(80)) {
      const distances = distancesFrom(graph, source)
      const others = distances.filter((value, node) => node !== source && value < Infinity)
      const mean = others.reduce((sum, value) => sum + value, 0) / others.length
      if (others.length === 0) expect(values[source]).toBeNaN()
      else expect(values[source]).toBeCloseTo(mean, 9)
      const row = plain(within.distances.data.subarray(80 * source, 80 * source + 80))
      expect(row).toEqual(distances.map((value) => (value > 12 ? Infinity : value)))
    }
  })
})
