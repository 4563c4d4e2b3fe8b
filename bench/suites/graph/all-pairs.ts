/** All shortest distances of dense graphs, and of many small ones. */
import { shortestPaths } from '../../../lib/graph.js'
import { type DenseMatrix, type Device, type ElementArray, mpmm } from '../../../lib/index.js'
import { randomMatrix, type Values } from '../../timing/values.js'
import { Draw } from '../draw.js'
import type { Asked, Findings } from '../protocol.js'
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
export async function timed(repetitions: number, call: (first: boolean) => Promise<void>): Promise<number[]> {
  const samples = []
  for (let repetition = -1; repetition < repetitions; repetition++) {
    const begin = performance.now()
    await call(repetition < 0)
    if (repetition >= 0) samples.push(performance.now() - begin)
  }
  return samples
}

/** Distances on a device, and with the next nodes; from some nodes they are compared with Dijkstra's algorithm. */
export async function resident(
  device: Device,
  nodes: number,
  repetitions: number,
  asked: { distances?: Asked; next?: Asked },
  findings: Findings,
): Promise<void> {
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
        if (wrong) findings.wrong(`${of}: ${wrong}`)
      }
    }
    distances.dispose()
  })
  findings.figure(of, 'all distances', 'ms', plain, asked.distances)
  const draw = new Draw(nodes)
  const withNext = await timed(repetitions, async (first) => {
    const result = await shortestPaths(graph, { paths: true })
    if (first) {
      for (let sample = 0; sample < 100; sample++) {
        const ends = [draw.integer(0, nodes - 1), draw.integer(0, nodes - 1)] as const
        using length = result.distances.view({ rows: [ends[0], ends[0] + 1], cols: [ends[1], ends[1] + 1] })
        const { data } = await length.download()
        const wrong = wrongPath(host.data, nodes, await result.path(...ends), ends, data[0]!)
        if (wrong) findings.wrong(`${of}: ${wrong}`)
      }
    }
    result.distances.dispose()
    result.next!.dispose()
  })
  findings.figure(of, 'with the next nodes', 'ms', withNext, asked.next)
}

/** n³ steps of a closure against the n³ steps of a product. */
export async function shareOfProduct(
  device: Device,
  nodes: number,
  repetitions: number,
  asked: Asked,
  findings: Findings,
): Promise<void> {
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
      if (wrong) findings.wrong(`${of}: ${wrong}`)
    }
    distances.dispose()
  })
  const tops = (ms: number) => (2 * nodes ** 3) / ms / 1e9
  findings.figure(of, 'the product of the matrix with itself', 'TOPS', product.map(tops), {
    moreIsBetter: true,
  })
  findings.figure(of, 'all distances', 'ms', closure)
  findings.figure(of, 'all distances, n³ steps', 'TOPS', closure.map(tops), { moreIsBetter: true })
  const median = [...product].sort((a, b) => a - b)[product.length >> 1]!
  findings.figure(
    of,
    "the same against the product's speed",
    '%',
    closure.map((ms) => (100 * median) / ms),
    { ...asked, moreIsBetter: true },
  )
}

/** Arrays in, arrays out. */
export async function hostToHost(
  backend: 'cuda' | 'cpu',
  device: number,
  nodes: number,
  repetitions: number,
  asked: Asked,
  findings: Findings,
): Promise<void> {
  const of = `${nodes} nodes, arrays`
  const host = randomGraph([nodes, nodes], 1)
  const samples = await timed(repetitions, async (first) => {
    const { distances } = await shortestPaths(host, { backend, device })
    if (!first) return
    const row = distances.data.subarray(0, nodes)
    const wrong = wrongDistances(host.data, nodes, 0, row)
    if (wrong) findings.wrong(`${of}: ${wrong}`)
  })
  findings.figure(of, 'all distances', 'ms', samples, asked)
}

/** Many small graphs in one call. */
export async function batched(
  device: Device,
  count: number,
  nodes: number,
  repetitions: number,
  asked: Asked,
  findings: Findings,
): Promise<void> {
  const of = `${count} graphs of ${nodes} nodes, resident`
  const host = randomGraph([count, nodes, nodes], 1)
  const size = nodes * nodes
  const part = (data: ElementArray, graph: number) => data.subarray(graph * size, (graph + 1) * size)
  using graphs = await device.upload(host)
  const samples = await timed(repetitions, async (first) => {
    const { distances } = await shortestPaths(graphs)
    if (first) {
      const { data } = await distances.download()
      for (let graph = 0; graph < count; graph += Math.ceil(count / 100)) {
        const found = part(data, graph)
        for (let source = 0; source < nodes; source++) {
          const row = found.subarray(source * nodes, (source + 1) * nodes)
          const wrong = wrongDistances(part(host.data, graph), nodes, source, row)
          if (wrong) findings.wrong(`${of}: graph ${graph}: ${wrong}`)
        }
      }
    }
    distances.dispose()
  })
  findings.figure(of, 'all distances', 'ms', samples, asked)
}
