/** Measures the products of `mpmml bench`, in a process for each backend and number of threads. */
import type { BackendName } from '../../lib/index.js'
import {
  type DataType,
  type DenseMatrix,
  info,
  matrix,
  mpmm,
  mpmmSync,
  type OperandArray,
  openDevice,
  pinned,
  plan,
  type Semiring,
  type Shape,
  type VariantName,
} from '../../lib/index.js'
import {
  ceiling,
  ceilingName,
  cpuCeiling,
  cpuCeilingName,
  cpuNaiveLoop,
  measure,
  type Spread,
  spread,
} from '../../lib/lab.js'
import type { ProductShape } from '../arguments.js'
import { hasSums } from '../dtype.js'
import { type Case, type Experiment, repeat, repetitionsFor } from '../experiment.js'
import { shapeName } from '../output.js'
import { verify } from '../verify.js'
import { operandsOf, type ValueKind, valuesOf } from './values.js'

/** Product to measure. */
export interface Product extends ProductShape {
  values: ValueKind
}

/** Products that a subprocess measures, one after the other. */
export interface ProductsRequest {
  backend: BackendName
  device: number
  dtype: DataType
  semiring: Semiring
  /** Number of timed repetitions; null: chosen by the time of one repetition. */
  repetitions: number | null
  products: Product[]
}

/** Measurements of a product. Times are in milliseconds. */
export interface Row extends Product {
  backend: BackendName
  /** Threads on the CPU; null on a GPU. */
  threads: number | null
  variant: string
  path: string
  /** Naive variant with which a small product of equal values was compared successfully. */
  verified: string
  kernelMs: Spread
  /** Time of packing and of the scan of values, which are separate passes on a GPU. */
  prepareMs: Spread | null
  analysisMs: Spread | null
  /** Speed of the kernel in 10^9 operations per second, with 2 operations per step. */
  gops: Spread
  /**
   * Duration of the whole call from JavaScript with ordinary arrays. On a GPU, pinned operands and results
   * are measured too.
   */
  callMs: Spread
  pinnedCallMs: Spread | null
}

/** Peak rate that products are compared with, measured in the same process. */
export interface TrialCeiling {
  name: string
  gops: Spread
  /** Clock of the GPU; null on the CPU, whose clock is unknown. */
  clockMHz: number | null
  /** On the CPU: the peak rates of 16-bit and 8-bit sums, and the speed of a plain loop on one core. */
  halfGops: Spread | null
  byteGops: Spread | null
  naiveLoopGops: Spread | null
}

/** Results of a subprocess: first the device and its peak rate, then a row per product. */
export type ProductsResult =
  | { threads: number | null; device: string; ceiling: TrialCeiling | null }
  | { row: Row }

/** Size of the verified product: not a multiple of any tile, and small enough for the naive product. */
const small = { m: 149, n: 163, k: 131 }

async function verifySmall(product: Product, semiring: Semiring, variant: VariantName): Promise<string> {
  const { a, b } = operandsOf({ batch: 1, ...small }, product.values, { semiring, inElements: true })
  const options = { semiring }
  const computed = await mpmm(a, b, { ...options, variant })
  return (await verify(a, b, options, computed)).variant
}

/**
 * Returns the results of repeated calls: the requested number, or as many as fill a second. Before them
 * `warmUp` calls and one timed call run.
 */
export async function repeatedly<Sample>(
  { repetitions }: Pick<ProductsRequest, 'repetitions'>,
  warmUp: number,
  call: () => Promise<Sample>,
  msOf: (sample: Sample) => number,
): Promise<Sample[]> {
  const [first] = await repeat(1, warmUp, call)
  return repeat(repetitions ?? repetitionsFor(msOf(first!), 1000), 0, call)
}

/**
 * Limit of steps up to which calls on the CPU use mpmmSync, and are timed in groups of 100, because they take
 * microseconds.
 */
const SMALL_STEPS = 64 ** 3
const CALLS_AT_ONCE = 100
const WARMING_UP = 20

/** Copies a matrix to pinned memory. */
async function inPinned(matrix: DenseMatrix<OperandArray>): Promise<DenseMatrix<OperandArray>> {
  const { data } = matrix
  const dtype = data.constructor.name.replace(/Array$/, '').toLowerCase() as 'int32'
  const copy = await pinned(dtype, data.length)
  copy.set(data)
  return { ...matrix, data: copy as DenseMatrix<OperandArray>['data'] }
}

async function timeCalls(
  request: ProductsRequest,
  product: Product,
  isPinned: boolean,
): Promise<{ callMs: number[]; kernelMs: number[] }> {
  const { batch, m, n, k } = product
  const { backend, device, semiring, dtype } = request
  const operands = operandsOf(product, product.values, { semiring })
  const [a, b] = isPinned
    ? [await inPinned(operands.a), await inPinned(operands.b)]
    : [operands.a, operands.b]
  const shape: Shape = batch === 1 ? [m, n] : [batch, m, n]
  const out = isPinned ? matrix(shape, await pinned(dtype, batch * m * n)) : undefined
  const options = { backend, device, semiring, out }
  const once = async () => {
    const start = performance.now()
    const { timing } = await mpmm(a, b, options)
    return { call: performance.now() - start, kernel: timing.kernelMs }
  }
  const many = async () => {
    const start = performance.now()
    let kernel = 0
    for (let count = 0; count < CALLS_AT_ONCE; count++) kernel += mpmmSync(a, b, options).timing.kernelMs
    return { call: (performance.now() - start) / CALLS_AT_ONCE, kernel: kernel / CALLS_AT_ONCE }
  }
  const isSmall = request.backend === 'cpu' && batch * m * n * k <= SMALL_STEPS
  // The first calls load kernels, allocate memory and compile JavaScript. The next call estimates the
  // duration of a call.
  const warmUp = isSmall ? WARMING_UP : 1
  const times = await repeatedly(request, warmUp, isSmall ? many : once, ({ call }) => call)
  return { callMs: times.map(({ call }) => call), kernelMs: times.map(({ kernel }) => kernel) }
}

/** Times the kernel in products of resident matrices, for values that native code can't generate. */
async function timeResident(request: ProductsRequest, product: Product, variant: VariantName) {
  const { semiring } = request
  const device = await openDevice({ backend: 'cuda', device: request.device })
  const { a, b } = operandsOf(product, product.values, { semiring })
  const [left, right] = [await device.upload(a), await device.upload(b)]
  const once = async () => {
    const { c, timing } = await mpmm(left, right, { semiring, variant })
    c.dispose()
    return timing.kernelMs
  }
  const times = await repeatedly(request, 1, once, (ms) => ms)
  await device.close()
  return ofSamples(product, times)
}

const ofSamples = ({ batch, m, n, k }: Product, kernelMs: number[]) => ({
  kernelMs: spread(kernelMs),
  gops: spread(kernelMs.map((ms) => (2 * batch * m * n * k) / ms / 1e6)),
  prepareMs: null,
  analysisMs: null,
})

/** Times only the kernel: on a GPU with device-resident operands, on the CPU as calls report it. */
export async function timeKernel(
  request: ProductsRequest,
  product: Product,
  variant: VariantName,
  called: number[],
) {
  if (request.backend !== 'cuda') return ofSamples(product, called)
  const { batch, m, n, k } = product
  const { device, semiring } = request
  const { minimum, maximum, zeroFraction, bounded } = valuesOf(product.values, semiring, k)
  if (bounded) return timeResident(request, product, variant)
  const options = { m, n, k, batch, device, minimum, maximum, zeroFraction }
  const once = await measure(variant, { ...options, repetitions: 1 })
  const repetitions = request.repetitions ?? repetitionsFor(once.kernelMs.median, 1000)
  const { kernelMs, gops, prepareMs, analysisMs } = await measure(variant, { ...options, repetitions })
  return { kernelMs, gops, prepareMs, analysisMs }
}

async function timeProduct(request: ProductsRequest, product: Product, threads: number | null): Promise<Row> {
  const { backend, device, semiring } = request
  const { a, b } = operandsOf(product, product.values, { semiring })
  const { variant, arithmetic: path } = await plan(a, b, { backend, device, semiring })
  const verified = await verifySmall(product, semiring, variant)
  const calls = await timeCalls(request, product, false)
  const kernel = await timeKernel(request, product, variant, calls.kernelMs)
  const pinnedCalls = backend === 'cuda' ? await timeCalls(request, product, true) : null
  return {
    ...product,
    backend,
    threads,
    variant,
    path,
    verified,
    ...kernel,
    callMs: spread(calls.callMs),
    pinnedCallMs: pinnedCalls && spread(pinnedCalls.callMs),
  }
}

/** Size of the plain loop's product, which exceeds the L1 cache. */
const loop = { m: 512, n: 1024, k: 1024 }

/** Measures the speed of steps on registers, in 10^9 operations per second; null if unknown. */
export async function measureCeiling(
  { device, dtype, semiring }: Pick<ProductsRequest, 'device' | 'dtype' | 'semiring'>,
  threads: number | null,
): Promise<TrialCeiling | null> {
  const nothingNarrow = { halfGops: null, byteGops: null, naiveLoopGops: null }
  if (threads === null) {
    if (ceilingName(dtype, semiring) === undefined) return null
    return { ...(await ceiling({ device, dtype, semiring })), ...nothingNarrow }
  }
  const steps = cpuCeilingName(semiring)
  if (steps === undefined) return null
  const { isa, gops } = await cpuCeiling({ threads, dtype, semiring })
  const whole = { name: `${steps} of ${dtype} with ${isa}`, gops, clockMHz: null }
  if (dtype !== 'int32' || !hasSums(semiring)) return { ...whole, ...nothingNarrow }
  return {
    ...whole,
    halfGops: (await cpuCeiling({ threads, bits: 16 })).gops,
    byteGops: (await cpuCeiling({ threads, bits: 8 })).gops,
    naiveLoopGops: (await cpuNaiveLoop(loop)).gops,
  }
}

/**
 * Returns the peak rate for the arithmetic of a path, in 10^9 operations per second; undefined if unknown.
 */
export function ceilingOf(
  path: string,
  { ceiling, tensorGops }: { ceiling: TrialCeiling | null; tensorGops: number | null },
): number | undefined {
  if (path.startsWith('exponent')) return tensorGops ?? undefined
  const { byteGops, halfGops, gops } = ceiling ?? {}
  const narrow = path.startsWith('byte') ? byteGops : path.startsWith('half') ? halfGops : null
  return (narrow ?? gops)?.median
}

/**
 * Returns a cost that is roughly proportional to the duration. Repetitions fill a second, and operands must
 * be generated.
 */
function costOf({ batch, m, n, k }: Product, backend: BackendName, threads: number | null): number {
  const stepsPerSecond =
    backend === 'cuda' ? 1.5e13 : backend === 'webgpu' ? 2e12 : threads === 1 ? 2.5e10 : 5e10
  return 1 + (5 * batch * m * n * k) / stepsPerSecond + (batch * (m * k + k * n)) / 2e8
}

export const products: Experiment<ProductsRequest, ProductsResult> = {
  grid(request) {
    const { backend, device } = request
    const { cpu, cuda } = info()
    const threads = backend === 'cpu' ? cpu.threads : null
    const name = async () => {
      if (backend === 'cpu') return cpu.model
      if (backend === 'cuda') return String(cuda.devices[device]?.name)
      const opened = await openDevice({ backend })
      await opened.close()
      return opened.name
    }
    const start: Case<ProductsResult> = {
      what: 'ceiling',
      cost: 1,
      measure: async () => ({
        threads,
        device: await name(),
        ceiling: backend === 'webgpu' ? null : await measureCeiling(request, threads),
      }),
    }
    const each = request.products.map(
      (product): Case<ProductsResult> => ({
        what: `${shapeName(product)} ${product.values}`,
        cost: costOf(product, backend, threads),
        measure: async () => ({ row: await timeProduct(request, product, threads) }),
      }),
    )
    return [start, ...each]
  },
}
