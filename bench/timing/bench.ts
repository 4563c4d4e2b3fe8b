/** Measures the products of `mpmml bench`, and collects their record. */
import type { BackendChoice, BackendName } from '../../lib/index.js'
import { type DataType, info, type Semiring } from '../../lib/index.js'
import { machine, tensorPeak } from '../../lib/lab.js'
import { type ProductShape, squares } from '../arguments.js'
import { hasSums } from '../dtype.js'
import { backendsOf, type RunEnvironment, runEnvironment } from '../environment.js'
import { costOf } from '../experiment.js'
import { ChildError, runInSubprocesses, type Subprocess } from '../subprocesses/run.js'
import {
  ceilingOf,
  type Product,
  type ProductsRequest,
  type ProductsResult,
  products,
  type Row,
  type TrialCeiling,
} from './products.js'
import { type ValueKind, type Values, valueKinds } from './values.js'

export interface BenchRequest extends Omit<ProductsRequest, 'backend' | 'products'> {
  backend: BackendChoice | 'all'
  /** Requested shapes; null: the backend's default shapes. */
  shapes: ProductShape[] | null
  /** Kinds of values; null: all kinds of the element type. */
  values: ValueKind[] | null
  quick: boolean
}

/** Measurements of one subprocess, and the peak rate for comparison. */
export interface TrialRecord {
  backend: BackendName
  threads: number | null
  device: string
  /** Peak rate; null if the subprocess failed before measuring it. */
  ceiling: TrialCeiling | null
  /**
   * Peak rate of the GPU's tensor cores at the highest clock, 10^9 operations per second; null if unknown.
   */
  tensorGops: number | null
  rows: (Row & { percentOfCeiling: number | null })[]
  failures: (Product & { reason: string })[]
}

/** Output of `bench --json`. */
export interface BenchRecord extends RunEnvironment {
  dtype: DataType
  semiring: Semiring
  trials: TrialRecord[]
}

const defaults: Record<BackendName, ProductShape[]> = {
  webgpu: squares([256, 1024, 2048, 4096]),
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
const quick: Record<BackendName, ProductShape[]> = {
  webgpu: squares([256, 1024]),
  cuda: squares([1024, 4096]),
  cpu: squares([256, 512]),
}

/** @throws ResourceError if a GPU is requested and no GPU is usable. */
function requestsOf(request: BenchRequest): { request: ProductsRequest; threads: number | null }[] {
  const { device, dtype, semiring, repetitions } = request
  const kindsOf = (backend: BackendName) =>
    (Object.keys(valueKinds) as ValueKind[]).filter((kind) => {
      const { cpuAlone = false, gpuAlone = false, sumsAlone = false, ...values }: Values = valueKinds[kind]
      return (
        values.dtype === dtype &&
        !(request.quick && kind.endsWith('-eps')) &&
        !(sumsAlone && !hasSums(semiring)) &&
        !(backend === 'cuda' ? cpuAlone : gpuAlone)
      )
    })
  const on = (backend: BackendName, threads: number | null) => {
    const values = request.values ?? kindsOf(backend)
    const shapes = request.shapes ?? (request.quick ? quick : defaults)[backend]
    const list = shapes.flatMap((shape) => values.map((kind) => ({ ...shape, values: kind })))
    return { request: { backend, device, dtype, semiring, repetitions, products: list }, threads }
  }
  const onCpu = info().cpu.threads > 1 ? [on('cpu', 1), on('cpu', null)] : [on('cpu', null)]
  return backendsOf(request.backend, device).flatMap((backend) =>
    backend === 'cpu' ? onCpu : [on(backend, null)],
  )
}

export async function runBench(request: BenchRequest, signal: AbortSignal): Promise<BenchRecord> {
  const requests = requestsOf(request)
  const trials = requests.map((one) => trialOf(one.request, one.threads))
  await runInSubprocesses(
    trials.map(({ trial }) => trial),
    signal,
  )
  const { dtype, semiring } = request
  const onGpu = requests.some((one) => one.request.backend === 'cuda')
  return {
    ...runEnvironment(onGpu ? request.device : null),
    dtype,
    semiring,
    trials: trials.map(({ record }) => record),
  }
}

/** Returns a trial and the record that it fills. */
function trialOf(
  request: ProductsRequest,
  threads: number | null,
): { trial: Subprocess<ProductsResult>; record: TrialRecord } {
  const { backend, device } = request
  const record: TrialRecord = {
    backend,
    threads,
    device: '',
    ceiling: null,
    tensorGops: (backend === 'cuda' && tensorPeak(machine(device))) || null,
    rows: [],
    failures: [],
  }
  let started = false
  const trial: Subprocess<ProductsResult> = {
    experiment: 'products',
    request,
    what: backend,
    does: `measured the ${backend} backend`,
    threads,
    cost: costOf(products.grid(request)),
    found(found) {
      if ('row' in found) record.rows.push(withShare(found.row, record))
      else Object.assign(record, found)
      started = true
    },
    failed(reason) {
      if (!started) throw new ChildError(reason)
      const { rows, failures } = record
      failures.push({ ...request.products[rows.length + failures.length]!, reason })
    },
  }
  return { trial, record }
}

function withShare(row: Row, record: TrialRecord): TrialRecord['rows'][number] {
  const most = ceilingOf(row.path, record)
  return { ...row, percentOfCeiling: most ? (100 * row.gops.median) / most : null }
}
