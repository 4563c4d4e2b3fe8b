/** Measures and checks witnesses, closures, paths and cycle means. */
import { type CycleMean, maximumCycleMean } from '../../lib/algebra.js'
import { shortestPaths } from '../../lib/graph.js'
import { type DenseMatrix, type ElementArray, info, mpmm } from '../../lib/index.js'
import { elapsed, median } from '../experiment.js'
import { Draw } from '../random.js'
import { randomMatrix, type ValueKind, type Values, valueKinds } from '../timing/values.js'
import { firstDifference } from '../verify.js'
import { randomNetwork, wrongMean } from './graph/network.js'
import { wrongDistances, wrongPath, wrongWitness } from './graph/samples.js'
import { compete } from './peers/contest.js'
import { programs } from './peers/programs.js'
import { type Bench, type FigureGoal, type Repetitions, type Suite, type SuiteCase, topsOf } from './suite.js'

/** Weights are so small that paths of any length fit in int32. */
const weights: Values = {
  dtype: 'int32',
  minimum: 1,
  maximum: 10_000,
  zeroFraction: 0.1,
  summary: 'int32 from 1 to 10 000, 10 % without an edge',
}

/** Returns a random graph as a matrix of weights, or a batch of such matrices. */
export const randomGraph = (shape: [number, number] | [number, number, number]) =>
  randomMatrix(shape, weights, 1, { semiring: 'min-plus' }) as DenseMatrix

const USUALLY: Repetitions = [2, 7, 1]

/** Times calls. The first call isn't counted, and `check` receives its result. */
async function timeCalls<Result extends { distances: object; next?: unknown }>(
  bench: Bench,
  of: string,
  what: string,
  call: () => Promise<Result>,
  check: (result: Result) => Promise<void> | void,
  goal: FigureGoal,
  repetitions = USUALLY,
): Promise<number[]> {
  return bench.measure(
    of,
    repetitions,
    async (nth) => {
      let result!: Result
      const ms = await elapsed(async () => {
        result = await call()
      })
      if (nth < 0) await check(result)
      for (const matrix of [result.distances, result.next])
        (matrix as Partial<Disposable>)?.[Symbol.dispose]?.()
      return ms
    },
    [[what, 'ms', (ms) => ms, goal]],
  )
}

/**
 * Times distances on a device, with and without next nodes. Some rows are compared with Dijkstra's algorithm.
 */
async function resident(bench: Bench, nodes: number): Promise<void> {
  const of = `${nodes} nodes, resident`
  const host = randomGraph([nodes, nodes])
  const [graph] = await bench.upload(host)
  const goal = bench.ofGpu({ must: 50, aim: 40 })
  await timeCalls(
    bench,
    of,
    'all distances',
    () => shortestPaths(graph),
    async ({ distances }) => {
      for (const source of [0, nodes >> 1]) {
        using view = distances.view({ rows: [source, source + 1] })
        bench.wrong(wrongDistances(host.data, nodes, source, (await view.download()).data), of)
      }
    },
    goal,
  )
  const draw = new Draw(nodes)
  await timeCalls(
    bench,
    of,
    'with the next nodes',
    () => shortestPaths(graph, { paths: true }),
    async (result) => {
      for (let sample = 0; sample < 100; sample++) {
        const [from, to] = [draw.integer(0, nodes - 1), draw.integer(0, nodes - 1)]
        using length = result.distances.view({ rows: [from, from + 1], cols: [to, to + 1] })
        const { data } = await length.download()
        bench.wrong(wrongPath(host.data, nodes, await result.path(from, to), [from, to], data[0]!), of)
      }
    },
    bench.ofGpu({ must: 62, aim: 50 }),
  )
}

/** Compares the time of a closure with that of a product with equally many steps, n³. */
async function shareOfProduct(bench: Bench, nodes: number): Promise<void> {
  const of = `${nodes} nodes, resident`
  const host = randomGraph([nodes, nodes])
  const [graph] = await bench.upload(host)
  const steps = nodes ** 3
  const device = await bench.device()
  let productMs = 0
  {
    using out = await device.full([nodes, nodes], 0)
    const product = () => elapsed(() => mpmm(graph, graph, { semiring: 'min-plus', out }))
    const times = await bench.measure(of, [2, 3, 1], product, [
      ['the product of the matrix with itself', 'TOPS', (ms) => topsOf(steps, ms)],
    ])
    productMs = median(times)
  }
  const closure = await timeCalls(
    bench,
    of,
    'all distances',
    () => shortestPaths(graph),
    async ({ distances }) => {
      using view = distances.view({ rows: [0, 1] })
      bench.wrong(wrongDistances(host.data, nodes, 0, (await view.download()).data), of)
    },
    {},
    [2, 3, 1],
  )
  bench.figures(of, closure, [
    ['all distances, n³ steps', 'TOPS', (ms) => topsOf(steps, ms)],
    [
      "the same against the product's speed",
      '%',
      (ms) => (100 * productMs) / ms,
      { ...bench.ofGpu({ must: 75, aim: 90 }), moreIsBetter: true },
    ],
  ])
}

/** Times distances from arrays in host memory to arrays in host memory. */
async function hostToHost(bench: Bench, nodes: number): Promise<void> {
  const of = `${nodes} nodes, arrays`
  const host = randomGraph([nodes, nodes])
  const goal = bench.ofGpu({ must: 25, aim: 18 })
  const call = () => shortestPaths(host, bench.place)
  await timeCalls(
    bench,
    of,
    'all distances',
    call,
    ({ distances }) =>
      bench.wrong(wrongDistances(host.data, nodes, 0, distances.data.subarray(0, nodes)), of),
    goal,
  )
}

/** Times one call with many small graphs. */
async function batched(bench: Bench, count: number, nodes: number): Promise<void> {
  const of = `${count} graphs of ${nodes} nodes, resident`
  const host = randomGraph([count, nodes, nodes])
  const size = nodes * nodes
  const part = (data: ElementArray, graph: number) => data.subarray(graph * size, (graph + 1) * size)
  const [graphs] = await bench.upload(host)
  await timeCalls(
    bench,
    of,
    'all distances',
    () => shortestPaths(graphs),
    async ({ distances }) => {
      const { data } = await distances.download()
      for (let graph = 0; graph < count; graph += Math.ceil(count / 100)) {
        const found = part(data, graph)
        for (let source = 0; source < nodes; source++) {
          const row = found.subarray(source * nodes, (source + 1) * nodes)
          bench.wrong(wrongDistances(part(host.data, graph), nodes, source, row), `${of}: graph ${graph}`)
        }
      }
    },
    bench.ofGpu({ must: 10, aim: 5 }),
  )
}

/** Compares all distances on the CPU with SciPy, which computes in float64 on one core. */
async function againstSciPy(bench: Bench, nodes: number): Promise<void> {
  const of = `${nodes} nodes, arrays, CPU`
  const weights = randomGraph([nodes, nodes])
  const find = () => shortestPaths(weights, { backend: 'cpu' })
  const { distances } = await find()
  const name = 'scipy_floyd_warshall'
  const samples = await compete(bench, {
    of,
    implementations: [
      { what: 'all distances', note: `${info().cpu.threads} threads`, call: () => elapsed(find) },
    ],
    programs: [name],
    operands: { weights },
    options: {},
    request: {},
    compare: (theirs) => differenceOf(distances, theirs),
    rounds: bench.times(2, 5),
    unit: 'ms',
    figureOf: (ms) => ms,
    remark: ', one thread',
  })
  const theirs = samples.get(programs[name].title)
  if (!theirs) return
  const goal = { ...bench.usually({ must: 20, aim: 40 }), moreIsBetter: true }
  bench.figures(of, samples.get('all distances')!, [
    ['its time / the time here', 'x', (ms) => median(theirs) / ms, goal],
  ])
}

/** Describes the difference between distances of mpmml and of another program; undefined if there is none. */
export function differenceOf(
  here: DenseMatrix<ElementArray>,
  theirs: DenseMatrix<ElementArray>,
): string | undefined {
  const difference = firstDifference(theirs, here)
  if (!difference) return undefined
  const { index, value, expected, count } = difference
  return `element ${index.join(', ')} is ${value}, but ${expected} here; ${count} differ`
}

/** Kinds of values, with goals for products with a witness on an H200 in TOPS. */
const kinds: [values: ValueKind, goal?: FigureGoal][] = [
  ['int32', { must: 24, aim: 30 }],
  ['16bit', { must: 32, aim: 36 }],
  ['float32', { must: 22, aim: 28 }],
  ['levels'],
]

/** Times resident products on a GPU with and without a witness. */
async function witnessOnGpu(bench: Bench, values: ValueKind, goal: FigureGoal | undefined): Promise<void> {
  const size = bench.quick ? 128 : 8192
  const random = (seed: number) => randomMatrix([size, size], valueKinds[values], seed)
  const [a, b] = [random(1), random(2)]
  const [left, right, out] = await bench.upload(a, b, random(3))
  const of = `${size}³, ${valueKinds[values].summary}`
  const both = async (nth: number) => {
    const plain = await mpmm(left, right, { out })
    const { witness, ...tracked } = await mpmm(left, right, { out, witness: true })
    if (nth === -2) bench.wrong(wrongWitness(a, b, await out.download(), await witness.download(), 64), of)
    witness.dispose()
    return { plain: plain.gops, tracked: tracked.gops, note: `${tracked.variant}, ${tracked.arithmetic}` }
  }
  await bench.measure(of, [3, 7, 2], both, [
    ['the product', 'TOPS', ({ plain }) => plain / 1000],
    ['with witness', 'TOPS', ({ tracked }) => tracked / 1000, ({ note }) => ({ ...bench.ofGpu(goal), note })],
  ])
}

async function witnessOnCpu(bench: Bench): Promise<void> {
  const size = bench.quick ? 64 : 1024
  const of = `${size}³, any int32, one core`
  const [a, b] = [1, 2].map((seed) => randomMatrix([size, size], valueKinds.int32, seed))
  const both = async (nth: number) => {
    const plain = await mpmm(a!, b!, { backend: 'cpu' })
    const tracked = await mpmm(a!, b!, { backend: 'cpu', witness: true })
    if (nth < 0) bench.wrong(wrongWitness(a!, b!, tracked.c, tracked.witness, 200), of)
    return { ratio: plain.timing.kernelMs / tracked.timing.kernelMs, note: tracked.variant }
  }
  const goal = { ...bench.usually({ must: 0.6, aim: 0.85 }), moreIsBetter: true }
  await bench.measure(of, [3, 11, 1], both, [
    ['speed with witness / without', 'x', ({ ratio }) => ratio, ({ note }) => ({ ...goal, note })],
  ])
}

async function cycleMean(bench: Bench): Promise<void> {
  const [nodes, edges] = bench.quick ? [1000, 10_000] : [100_000, 1_000_000]
  const of = `${nodes} nodes, ${edges} edges, one core`
  const network = randomNetwork(nodes, edges)
  let mean: CycleMean | null = null
  const find = () =>
    elapsed(async () => {
      mean = await maximumCycleMean(network)
    })
  const goal = bench.usually({ must: 1000, aim: 300 })
  await bench.measure(of, [2, 5, 1], find, [['maximum cycle mean', 'ms', (ms) => ms, goal]])
  bench.wrong(mean ? wrongMean(network, mean) : 'no cycle was found', of)
}

export const graph: Suite = {
  shows: 'the winning index beside each product, all shortest distances and paths, and cycle means',
  grid(bench) {
    const nodes = bench.pick(100, 8192, 1024)
    const many = bench.pick(200, 32_768, 2048)
    const some = bench.pick(100, 4096, 1024)
    const count = bench.pick(20, 10_000, 1000)
    const witnesses = kinds.map(
      ([values, goal]): SuiteCase => [`witness, ${values}`, () => witnessOnGpu(bench, values, goal)],
    )
    return [
      ...(bench.gpu ? witnesses : []),
      [`${nodes} nodes, resident`, () => resident(bench, nodes)],
      [`${many} nodes, resident`, () => shareOfProduct(bench, many)],
      [`${some} nodes, arrays`, () => hostToHost(bench, some)],
      [`${count} graphs`, () => batched(bench, count, bench.quick ? 16 : 64)],
      // The following cases run without a GPU and have goals on any machine.
      ['all distances on the CPU, and by SciPy', () => againstSciPy(bench, bench.quick ? 100 : 2048)],
    ]
  },
  onOneCore: (bench) => [
    ['witness on one core', () => witnessOnCpu(bench)],
    ['cycle mean', () => cycleMean(bench)],
  ],
}
