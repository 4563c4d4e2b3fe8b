/**
 * Distances of graphs that are large enough for squarings and essential edges, on a GPU, compared with the definition of
 * Floyd–Warshall.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { star } from '../../lib/algebra.js'
import { shortestPaths, verifyPaths } from '../../lib/graph.js'
import { type Device, type Matrix, matrix, openDevice } from '../../lib/index.js'
import { Random } from '../support/generators.js'
import { shortestDistances } from '../support/graph-oracle.js'
import { withoutCuda } from '../support/machine.js'
import { zeroValue } from '../support/oracle.js'
import { describeUnless } from '../support/skip.js'

const NONE = zeroValue('min-plus')

/** Weights of a graph for min-plus; the diagonal is an ordinary weight. */
type Weigh = (random: Random, nodes: number) => (from: number, to: number) => number

const plane: (noise: number) => Weigh = (noise) => (random, nodes) => {
  const at = Array.from({ length: nodes }, () => [random.integer(0, 1e6), random.integer(0, 1e6)] as const)
  return (i, j) =>
    Math.ceil(
      Math.hypot(at[i]![0] - at[j]![0], at[i]![1] - at[j]![1]) * (1 + (noise * random.integer(0, 100)) / 100),
    )
}

const graphs: [string, number, Weigh][] = [
  ['random weights', 790, (random) => () => random.integer(1, 10_000)],
  ['large weights', 820, (random) => () => random.integer(1, 100_000_000)],
  ['weights of 0, 1 and 2', 771, (random) => () => random.integer(0, 2)],
  ['equal weights', 768, () => () => 3],
  ['a plane with noise', 900, plane(1)],
  ['a plane without noise, in which every edge is essential', 850, plane(0)],
  [
    'few edges',
    1025,
    (random, nodes) => () => (random.integer(0, nodes) < 16 ? random.integer(1, 10_000) : NONE),
  ],
  [
    'two parts without an edge between them',
    900,
    (random, nodes) => (i, j) => (i < nodes / 3 === j < nodes / 3 ? random.integer(1, 1000) : NONE),
  ],
  ['best ways of many edges', 800, () => (i, j) => (i - j) ** 2],
  [
    'a hub and a long tail',
    1100,
    (random) => (i, j) =>
      i === 5 || j === 9 ? 1 : j === i + 1 ? 2 : i < 1000 && j < 1000 ? random.integer(5, 5000) : NONE,
  ],
]

/** Distances from one node by Dijkstra's algorithm on the whole matrix. No weight is negative. */
function distancesFrom(source: number, nodes: number, weights: Int32Array): Int32Array {
  const d = new Int32Array(nodes).fill(NONE)
  const isDone = new Uint8Array(nodes)
  d[source] = 0
  for (;;) {
    let nearest = -1
    for (let node = 0; node < nodes; node++) {
      if (!isDone[node] && d[node] !== NONE && (nearest < 0 || d[node]! < d[nearest]!)) nearest = node
    }
    if (nearest < 0) return d
    isDone[nearest] = 1
    for (let node = 0; node < nodes; node++) {
      const weight = weights[nearest * nodes + node]!
      if (weight !== NONE) d[node] = Math.min(d[node]!, d[nearest]! + weight)
    }
  }
}

describeUnless(withoutCuda(), 'cuda', () => {
  let opened: Promise<Device> | undefined
  const device = () => {
    opened ??= openDevice({ backend: 'cuda' })
    return opened
  }
  afterAll(async () => (await opened)?.close())

  describe.each(graphs)('%s', (_, nodes, weigh) => {
    const weight = weigh(new Random(nodes), nodes)
    const weights = Int32Array.from({ length: nodes * nodes }, (_, at) =>
      weight(Math.floor(at / nodes), at % nodes),
    )
    const distances = shortestDistances(weights, nodes)

    it('has the right distances of a resident matrix', async () => {
      using graph = await (await device()).upload(matrix(nodes, nodes, weights))
      using found = (await shortestPaths(graph)).distances
      expect((await found.download()).data).toEqual(distances)
    })

    it('has next nodes that lead along best paths', async () => {
      const graph = matrix(nodes, nodes, weights)
      const result = await shortestPaths(graph, { paths: true, backend: 'cuda' })
      expect(result.distances.data).toEqual(distances)
      await verifyPaths(graph, result)
    })

    it('has the same distances over max-plus with opposite signs', async () => {
      const longest = matrix(
        nodes,
        nodes,
        weights.map((x) => (x === NONE ? zeroValue('max-plus') : -x)),
      ) as Matrix<Int32Array>
      const { c } = await star(longest, { semiring: 'max-plus', backend: 'cuda' })
      expect(c.data).toEqual(distances.map((x) => (x === NONE ? zeroValue('max-plus') : -x)))
    })
  })

  // The squarings of these graphs need few of their steps.
  describe.each(graphs.slice(0, 2).concat(graphs.slice(6, 9)))('%s, of 2500 nodes', (_, _nodes, weigh) => {
    const nodes = 2500
    const weight = weigh(new Random(nodes), nodes)
    const weights = Int32Array.from({ length: nodes * nodes }, (_, at) =>
      weight(Math.floor(at / nodes), at % nodes),
    )

    it('has the distances of Dijkstra’s algorithm', async () => {
      using graph = await (await device()).upload(matrix(nodes, nodes, weights))
      using found = (await shortestPaths(graph)).distances
      const { data } = await found.download()
      for (let source = 0; source < nodes; source += 119) {
        expect(data.subarray(source * nodes, (source + 1) * nodes)).toEqual(
          distancesFrom(source, nodes, weights),
        )
      }
    })
  })

  it('is closed in every matrix of a batch', async () => {
    const nodes = 770
    const each = graphs.map(([, , weigh], seed) => {
      const weight = weigh(new Random(seed), nodes)
      return Int32Array.from({ length: nodes * nodes }, (_, at) => weight(Math.floor(at / nodes), at % nodes))
    })
    const all = new Int32Array(each.length * nodes * nodes)
    for (const [item, weights] of each.entries()) all.set(weights, item * nodes * nodes)
    const { c } = await star(matrix([each.length, nodes, nodes], all), {
      semiring: 'min-plus',
      backend: 'cuda',
    })
    for (const [item, weights] of each.entries()) {
      expect(c.data.subarray(item * nodes * nodes, (item + 1) * nodes * nodes)).toEqual(
        shortestDistances(weights, nodes),
      )
    }
  })

  it('is left to elimination with negative weights', async () => {
    const nodes = 790
    const random = new Random(3)
    // Potentials: no cycle is negative.
    const height = Array.from({ length: nodes }, () => random.integer(0, 1000))
    const weights = Int32Array.from({ length: nodes * nodes }, (_, at) => {
      const [i, j] = [Math.floor(at / nodes), at % nodes]
      return random.integer(0, 5000) + height[i]! - height[j]!
    })
    for (let i = 0; i < nodes; i++) weights[i * nodes + i] = 0
    const { distances } = await shortestPaths(matrix(nodes, nodes, weights), { backend: 'cuda' })
    expect(distances.data).toEqual(shortestDistances(weights, nodes))
  })
})
