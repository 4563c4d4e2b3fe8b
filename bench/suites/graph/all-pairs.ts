/** All shortest distances of dense graphs, and of many small ones. */
import { shortestPaths } from '../../../lib/graph.js'
import { type DenseMatrix, type ElementArray, mpmm } from '../../../lib/index.js'
import { Draw } from '../../draw.js'
import { elapsed, median, repeat } from '../../experiment.js'
import { randomMatrix, type Values } from '../../timing/values.js'
import type { Bench } from '../suite.js'
import { wrongDistances, wrongPath } from './samples.js'

/** Small enough for paths of any length to be int32. */
const weights: Values = {
  dtype: 'int32',
  minimum: 1,
  maximum: 10_000,
  zeroFraction: 0.1,
  summary: 'int32 from 1 to 10 000, 10 % without an edge',
}

/** A graph as a matrix of weights, or a batch of them. */
export const randomGraph = (shape: [number, number] | [number, number, number], seed: number) =>
  randomMatrix(shape, weights, seed, { semiring: 'min-plus' }) as DenseMatrix

/** The milliseconds of each of `repetitions` calls, after one that isn't counted. */
export const timed = (repetitions: number, call: (first: boolean) => Promise<void>): Promise<number[]> =>
  repeat(repetitions, 1, (nth) => elapsed(() => call(nth < 0)))

/** Distances on a device, and with the next nodes; from some nodes they are compared with Dijkstra's algorithm. */
export async function resident(bench: Bench, nodes: number): Promise<void> {
  const device = await bench.device()
  const repetitions = bench.times(2, 7)
  const of = `${nodes} nodes, resident`
  const host = randomGraph([nodes, nodes], 1)
  using graph = await device.upload(host)
  const plain = await timed(repetitions, async (first) => {
    const { distances } = await shortestPaths(graph)
    if (first) {
      for (const source of [0, nodes >> 1]) {
        using view = distances.view({ rows: [source, source + 1] })
        const { data } = await view.download()
        const wrong = wrongDistances(host.data, nodes, source, data)
        if (wrong) bench.wrong(`${of}: ${wrong}`)
      }
    }
    distances.dispose()
  })
  bench.figure(of, 'all distances', 'ms', plain, bench.ofGpu({ must: 50, aim: 40 }))
  const draw = new Draw(nodes)
  const withNext = await timed(repetitions, async (first) => {
    const result = await shortestPaths(graph, { paths: true })
    if (first) {
      for (let sample = 0; sample < 100; sample++) {
        const ends = [draw.integer(0, nodes - 1), draw.integer(0, nodes - 1)] as const
        using length = result.distances.view({ rows: [ends[0], ends[0] + 1], cols: [ends[1], ends[1] + 1] })
        const { data } = await length.download()
        const wrong = wrongPath(host.data, nodes, await result.path(...ends), ends, data[0]!)
        if (wrong) bench.wrong(`${of}: ${wrong}`)
      }
    }
    result.distances.dispose()
    result.next!.dispose()
  })
  bench.figure(of, 'with the next nodes', 'ms', withNext, bench.ofGpu({ must: 62, aim: 50 }))
}

/** n³ steps of a closure against the n³ steps of a product. */
export async function shareOfProduct(bench: Bench, nodes: number): Promise<void> {
  const device = await bench.device()
  const repetitions = bench.times(2, 3)
  const of = `${nodes} nodes, resident`
  const host = randomGraph([nodes, nodes], 1)
  using graph = await device.upload(host)
  let product: number[]
  {
    using out = await device.full([nodes, nodes], 0)
    product = await timed(repetitions, async () => {
      await mpmm(graph, graph, { semiring: 'min-plus', out })
    })
  }
  const closure = await timed(repetitions, async (first) => {
    const { distances } = await shortestPaths(graph)
    if (first) {
      using view = distances.view({ rows: [0, 1] })
      const wrong = wrongDistances(host.data, nodes, 0, (await view.download()).data)
      if (wrong) bench.wrong(`${of}: ${wrong}`)
    }
    distances.dispose()
  })
  const tops = (ms: number) => (2 * nodes ** 3) / ms / 1e9
  bench.figure(of, 'the product of the matrix with itself', 'TOPS', product.map(tops))
  const productMs = median(product)
  bench.figures(of, closure, [
    ['all distances', 'ms', (ms) => ms],
    ['all distances, n³ steps', 'TOPS', tops],
    [
      "the same against the product's speed",
      '%',
      (ms) => (100 * productMs) / ms,
      { ...bench.ofGpu({ must: 75, aim: 90 }), moreIsBetter: true },
    ],
  ])
}

/** Arrays in, arrays out. */
export async function hostToHost(bench: Bench, nodes: number): Promise<void> {
  const of = `${nodes} nodes, arrays`
  const host = randomGraph([nodes, nodes], 1)
  const samples = await timed(bench.times(2, 7), async (first) => {
    const { distances } = await shortestPaths(host, bench.place)
    if (!first) return
    const row = distances.data.subarray(0, nodes)
    const wrong = wrongDistances(host.data, nodes, 0, row)
    if (wrong) bench.wrong(`${of}: ${wrong}`)
  })
  bench.figure(of, 'all distances', 'ms', samples, bench.ofGpu({ must: 25, aim: 18 }))
}

/** Many small graphs in one call. */
export async function batched(bench: Bench, count: number, nodes: number): Promise<void> {
  const device = await bench.device()
  const of = `${count} graphs of ${nodes} nodes, resident`
  const host = randomGraph([count, nodes, nodes], 1)
  const size = nodes * nodes
  const part = (data: ElementArray, graph: number) => data.subarray(graph * size, (graph + 1) * size)
  using graphs = await device.upload(host)
  const samples = await timed(bench.times(2, 7), async (first) => {
    const { distances } = await shortestPaths(graphs)
    if (first) {
      const { data } = await distances.download()
      for (let graph = 0; graph < count; graph += Math.ceil(count / 100)) {
        const found = part(data, graph)
        for (let source = 0; source < nodes; source++) {
          const row = found.subarray(source * nodes, (source + 1) * nodes)
          const wrong = wrongDistances(part(host.data, graph), nodes, source, row)
          if (wrong) bench.wrong(`${of}: graph ${graph}: ${wrong}`)
        }
      }
    }
    distances.dispose()
  })
  bench.figure(of, 'all distances', 'ms', samples, bench.ofGpu({ must: 10, aim: 5 }))
}
