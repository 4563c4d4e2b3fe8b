/**
 * A process that measures: one for each backend and number of threads, so that no trial inherits the other's threads,
 * caches or memory. Its parent (trials.ts) sends a request and gets messages.
 */
import {
  info,
  matrix,
  mpmm,
  mpmmSync,
  openDevice,
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
  spread,
} from '../../lib/lab.js'
import { hasSums } from '../dtype.js'
import { verify } from '../verify.js'
import type { Message, Product, Row, TrialCeiling, TrialRequest } from './protocol.js'
import { newArray, operandsOf, valuesOf } from './values.js'

const send = (message: Message) =>
  new Promise<void>((resolve, reject) => {
    process.send!(message, (error: Error | null) => (error ? reject(error) : resolve()))
  })

/** Repetitions that fill `budget` milliseconds, an odd number so that the median is one of them. */
function repetitionsFor(ms: number, budget: number): number {
  return 2 * Math.min(10, Math.max(1, Math.floor(budget / Math.max(ms, 0.01) / 2))) + 1
}

/** No multiple of any tile, and small enough for the naive product. */
const small = { m: 149, n: 163, k: 131 }

async function verifySmall(product: Product, semiring: Semiring, variant: VariantName): Promise<string> {
  const { a, b } = operandsOf({ batch: 1, ...small }, product.values, { semiring, inElements: true })
  const options = { semiring }
  const computed = await mpmm(a, b, { ...options, variant })
  return (await verify(a, b, options, computed)).variant
}

/** Up to so many steps the CPU's calls are mpmmSync's, and timed so many at a time: they take microseconds. */
const SMALL_STEPS = 64 ** 3
const CALLS_AT_ONCE = 100
const WARMING_UP = 20

async function timeCalls(
  request: TrialRequest,
  product: Product,
  pinned: boolean,
): Promise<{ callMs: number[]; kernelMs: number[] }> {
  const { batch, m, n, k } = product
  const { backend, device, semiring, dtype } = request
  const { a, b } = operandsOf(product, product.values, { semiring, pinned })
  const shape: Shape = batch === 1 ? [m, n] : [batch, m, n]
  const out = pinned ? matrix(shape, newArray(dtype, batch * m * n, true)) : undefined
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
  const call = request.backend === 'cpu' && batch * m * n * k <= SMALL_STEPS ? many : once
  // The first calls load kernels, allocate and have their JavaScript compiled; the one after shows how long one takes.
  for (let count = call === many ? WARMING_UP : 1; count > 0; count--) await call()
  const repetitions = request.repetitions ?? repetitionsFor((await call()).call, 1000)
  const times = []
  for (let repetition = 0; repetition < repetitions; repetition++) times.push(await call())
  return { callMs: times.map(({ call }) => call), kernelMs: times.map(({ kernel }) => kernel) }
}

/** The kernel in products of resident matrices, for values that native code can't make. */
async function timeResident(request: TrialRequest, product: Product, variant: VariantName) {
  const { batch, m, n, k } = product
  const { semiring } = request
  const device = await openDevice({ backend: 'cuda', device: request.device })
  const { a, b } = operandsOf(product, product.values, { semiring })
  const [left, right] = [await device.upload(a), await device.upload(b)]
  const once = async () => {
    const { c, timing } = await mpmm(left, right, { semiring, variant })
    c.dispose()
    return timing.kernelMs
  }
  await once()
  const repetitions = request.repetitions ?? repetitionsFor(await once(), 1000)
  const times = []
  for (let repetition = 0; repetition < repetitions; repetition++) times.push(await once())
  await device.close()
  const gops = spread(times.map((ms) => (2 * batch * m * n * k) / ms / 1e6))
  return { kernelMs: spread(times), gops, prepareMs: null, analysisMs: null }
}

/** Only the kernel: on a GPU on operands that are already there, on the CPU as the calls report it. */
async function timeKernel(request: TrialRequest, product: Product, variant: VariantName, called: number[]) {
  const { batch, m, n, k } = product
  if (request.backend === 'cpu') {
    const kernelMs = spread(called)
    const gops = spread(called.map((ms) => (2 * batch * m * n * k) / ms / 1e6))
    return { kernelMs, gops, prepareMs: null, analysisMs: null }
  }
  const { device, semiring } = request
  const { minimum, maximum, zeroFraction, bounded } = valuesOf(product.values, semiring, k)
  if (bounded) return timeResident(request, product, variant)
  const options = { m, n, k, batch, device, minimum, maximum, zeroFraction }
  const once = await measure(variant, { ...options, repetitions: 1 })
  const repetitions = request.repetitions ?? repetitionsFor(once.kernelMs.median, 1000)
  const { kernelMs, gops, prepareMs, analysisMs } = await measure(variant, { ...options, repetitions })
  return { kernelMs, gops, prepareMs, analysisMs }
}

async function timeProduct(request: TrialRequest, product: Product, threads: number | null): Promise<Row> {
  const { backend, device, semiring } = request
  const { a, b } = operandsOf(product, product.values, { semiring })
  const { variant, path } = await plan(a, b, { backend, device, semiring })
  const verified = await verifySmall(product, semiring, variant)
  const calls = await timeCalls(request, product, false)
  const kernel = await timeKernel(request, product, variant, calls.kernelMs)
  const pinned = backend === 'cuda' ? await timeCalls(request, product, true) : null
  return {
    ...product,
    backend,
    threads,
    variant,
    path,
    verified,
    ...kernel,
    callMs: spread(calls.callMs),
    pinnedCallMs: pinned && spread(pinned.callMs),
  }
}

/** The loop's product: large enough that it isn't all in the nearest cache. */
const loop = { m: 512, n: 1024, k: 1024 }

async function measureCeiling(
  { device, dtype, semiring }: TrialRequest,
  threads: number | null,
): Promise<TrialCeiling | null> {
  if (threads === null) {
    if (ceilingName(dtype, semiring) === undefined) return null
    return {
      ...(await ceiling({ device, dtype, semiring })),
      halfGops: null,
      byteGops: null,
      naiveLoopGops: null,
    }
  }
  const steps = cpuCeilingName(semiring)
  if (steps === undefined) return null
  const { isa, gops } = await cpuCeiling({ threads, dtype, semiring })
  const name = `${steps} of ${dtype} with ${isa}`
  if (dtype !== 'int32' || !hasSums(semiring))
    return { name, gops, clockMHz: null, halfGops: null, byteGops: null, naiveLoopGops: null }
  const half = await cpuCeiling({ threads, bits: 16 })
  const byte = await cpuCeiling({ threads, bits: 8 })
  const naiveLoop = await cpuNaiveLoop(loop)
  return {
    name,
    gops,
    clockMHz: null,
    halfGops: half.gops,
    byteGops: byte.gops,
    naiveLoopGops: naiveLoop.gops,
  }
}

function failure(product: Product | null, error: unknown): Message {
  const { code, message } = error as { code?: string; message?: string }
  return { type: 'failed', product, code: code ?? null, message: message ?? String(error) }
}

async function run(request: TrialRequest): Promise<void> {
  const { backend, device, products } = request
  const { cpu, cuda } = info()
  const threads = backend === 'cpu' ? cpu.threads : null
  const name = backend === 'cpu' ? cpu.model : String(cuda.devices[device]?.name)
  try {
    await send({
      type: 'started',
      threads,
      device: name,
      ceiling: await measureCeiling(request, threads),
    })
  } catch (error) {
    return send(failure(null, error))
  }
  for (const product of products) {
    let message: Message
    try {
      message = { type: 'row', row: await timeProduct(request, product, threads) }
    } catch (error) {
      message = failure(product, error)
    }
    await send(message)
  }
}

process.once('message', async (request: TrialRequest) => {
  await run(request).catch(() => {
    process.exitCode = 1
  })
  process.disconnect()
})
// The parent process is gone.
process.once('disconnect', () => process.exit())
