/** What `mpmml bench` measures, and the record that it makes. */
import { type DataType, info, type Semiring } from '../../lib/index.js'
import { machine, tensorPeak } from '../../lib/lab.js'
import { type ProductShape, squares } from '../arguments.js'
import { ChildError } from '../child.js'
import { type Circumstances, circumstances } from '../circumstances.js'
import { hasSums } from '../dtype.js'
import { shapeName } from '../output.js'
import { startProgress } from '../progress.js'
import type { Product, Row, TrialCeiling, TrialRequest } from './protocol.js'
import { runTrial } from './trials.js'
import { type ValueKind, type Values, valueKinds } from './values.js'

export interface BenchRequest {
  backend: 'auto' | 'cuda' | 'cpu' | 'all'
  device: number
  dtype: DataType
  semiring: Semiring
  /** Sizes or shapes; null: the backend's own. */
  shapes: ProductShape[] | null
  values: ValueKind[] | null
  repetitions: number | null
  quick: boolean
}

/** A trial: its ceiling and what was measured. */
export interface TrialRecord {
  backend: 'cuda' | 'cpu'
  threads: number | null
  device: string
  /** Null if the trial failed before it was measured. */
  ceiling: TrialCeiling | null
  /** What the GPU's tensor cores could do at the highest clock, 10^9 operations per second; null if it isn't known. */
  tensorGops: number | null
  rows: (Row & { percentOfCeiling: number | null })[]
  failures: (Product & { reason: string })[]
}

/** What `bench --json` prints. */
export interface BenchRecord extends Circumstances {
  dtype: DataType
  semiring: Semiring
  trials: TrialRecord[]
}

const defaults = {
  cuda: [
    ...squares([1024, 2048, 4096, 8192]),
    { batch: 20, m: 1024, n: 1024, k: 1024 },
    { batch: 1, m: 8191, n: 8193, k: 8209 },
    { batch: 1, m: 8192, n: 64, k: 8192 },
    { batch: 1, m: 64, n: 8192, k: 8192 },
    { batch: 1, m: 8192, n: 8192, k: 64 },
  ],
  cpu: [...squares([16, 64, 256, 1024, 2048]), { batch: 1, m: 1021, n: 1031, k: 1033 }],
}
const quick = { cuda: squares([1024, 4096]), cpu: squares([256, 512]) }

interface Trial {
  request: TrialRequest
  threads: number | null
}

/** @throws NoCudaError if a GPU is asked for and none can be used. */
function trialsOf(request: BenchRequest): Trial[] {
  const { cuda, cpu } = info()
  const wanted = request.backend
  if (wanted === 'cuda') machine(request.device)
  const { dtype, semiring } = request
  const kindsOf = (backend: 'cuda' | 'cpu') =>
    (Object.keys(valueKinds) as ValueKind[]).filter((kind) => {
      const { cpuAlone = false, gpuAlone = false, sumsAlone = false, ...values }: Values = valueKinds[kind]
      return (
        values.dtype === dtype &&
        !(request.quick && kind.endsWith('-eps')) &&
        !(sumsAlone && !hasSums(semiring)) &&
        !(backend === 'cuda' ? cpuAlone : gpuAlone)
      )
    })
  const trial = (backend: 'cuda' | 'cpu', threads: number | null): Trial => {
    const values = request.values ?? kindsOf(backend)
    const shapes = request.shapes ?? (request.quick ? quick : defaults)[backend]
    const products = shapes.flatMap((shape) => values.map((kind) => ({ ...shape, values: kind })))
    return {
      request: {
        backend,
        device: request.device,
        dtype,
        semiring,
        repetitions: request.repetitions,
        products,
      },
      threads,
    }
  }
  const onGpu = wanted === 'cuda' || (wanted !== 'cpu' && cuda.reason === '')
  const onCpu = wanted === 'cpu' || wanted === 'all' || !onGpu
  return [
    ...(onGpu ? [trial('cuda', null)] : []),
    ...(onCpu && cpu.threads > 1 ? [trial('cpu', 1)] : []),
    ...(onCpu ? [trial('cpu', null)] : []),
  ]
}

/** Roughly proportional to the time that a product takes: repetitions fill a second, and operands have to be made. */
const costOf = ({ request, threads }: Trial, { batch, m, n, k }: Product) => {
  const stepsPerSecond = request.backend === 'cuda' ? 1.5e13 : threads === 1 ? 2.5e10 : 5e10
  return 1 + (5 * batch * m * n * k) / stepsPerSecond + (batch * (m * k + k * n)) / 2e8
}

export async function runBench(request: BenchRequest, signal: AbortSignal): Promise<BenchRecord> {
  const trials = trialsOf(request)
  const total = trials.reduce(
    (sum, trial) => sum + trial.request.products.reduce((cost, product) => cost + costOf(trial, product), 0),
    0,
  )
  const progress = startProgress(total)
  const records: TrialRecord[] = []
  try {
    let done = 0
    for (const trial of trials) {
      records.push(
        await record(trial, signal, (next, product) => {
          if (product) done += costOf(trial, product)
          progress.show(next, done)
        }),
      )
    }
  } finally {
    progress.end()
  }
  const { dtype, semiring } = request
  const onGpu = trials.some((trial) => trial.request.backend === 'cuda')
  return { ...circumstances(onGpu ? request.device : null), dtype, semiring, trials: records }
}

async function record(
  trial: Trial,
  signal: AbortSignal,
  show: (next: string, done: Product | null) => void,
): Promise<TrialRecord> {
  const { backend, products } = trial.request
  const result: TrialRecord = {
    backend,
    threads: trial.threads,
    device: '',
    ceiling: null,
    tensorGops: (backend === 'cuda' && tensorPeak(machine(trial.request.device))) || null,
    rows: [],
    failures: [],
  }
  let count = 0
  const next = () => {
    const product = products[count]
    return product ? `${backend} ${shapeName(product)} ${product.values}` : backend
  }
  show(next(), null)
  await runTrial(
    trial.request,
    trial.threads,
    (message) => {
      if (message.type === 'started') {
        const { threads, device, ceiling } = message
        Object.assign(result, { threads, device, ceiling })
        return
      }
      const product = products[count++] ?? null
      if (message.type === 'row') {
        const { row } = message
        const { byteGops, halfGops, gops } = result.ceiling ?? {}
        const narrow = row.path.startsWith('byte') ? byteGops : row.path.startsWith('half') ? halfGops : null
        const ceiling = row.path.startsWith('exponent') ? result.tensorGops : (narrow ?? gops)?.median
        result.rows.push({ ...row, percentOfCeiling: ceiling ? (100 * row.gops.median) / ceiling : null })
      } else {
        const reason = message.message + (message.code ? ` [${message.code}]` : '')
        if (!message.product) throw new ChildError(reason)
        result.failures.push({ ...message.product, reason })
      }
      show(next(), product)
    },
    signal,
  )
  return result
}
