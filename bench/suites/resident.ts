/** Products of matrices that stay on a device, queued one after the other. */
import { type Device, type DeviceMatrix, mpmm } from '../../lib/index.js'
import { elapsed, repeat } from '../experiment.js'
import { ANY_INT32, integers } from '../timing/values.js'
import type { Asked, Bench, Suite, SuiteCase } from './suite.js'

const CHAIN = 10

/** No sum of a chain leaves int32: that of eleven elements. So nothing has to look at the values in between. */
const kinds = {
  'any int32': ANY_INT32,
  '16-bit sums': 1000,
}

/** What the issue of the resident matrices asks of a chain on an H200, as multiples of its kernels. */
const asked: Record<number, Asked> = {
  1024: { must: 1.25, aim: 1.1 },
  2048: { must: 1.1, aim: 1.04 },
  4096: { must: 1.04, aim: 1.01 },
}

const uploadSquare = (device: Device, size: number, limit: number, seed: number): Promise<DeviceMatrix> =>
  device.upload(integers([size, size], seed, { limit }))

/** Queues `count` products, each on the result of the one before, in two buffers in turn. */
function queueChain(
  start: DeviceMatrix,
  step: DeviceMatrix,
  buffers: readonly DeviceMatrix[],
  count: number,
) {
  let from = start
  return Array.from({ length: count }, (_, index) => {
    const out = buffers[index % buffers.length]!
    const running = mpmm(from, step, { out })
    from = out
    return running
  })
}

async function chains(bench: Bench, size: number, kind: keyof typeof kinds): Promise<void> {
  const device = await bench.device()
  using start = await uploadSquare(device, size, kinds[kind], 1)
  using step = await uploadSquare(device, size, kinds[kind], 2)
  using first = await device.full([size, size], 0)
  using second = await device.full([size, size], 0)
  // The first two warm up: kernels are loaded, and packed forms are made.
  const samples = await repeat(bench.times(3, 21), 2, async () => {
    const begin = performance.now()
    const running = queueChain(start, step, [first, second], CHAIN)
    const queued = performance.now() - begin
    const results = await Promise.all(running)
    const whole = performance.now() - begin
    const kernels = results.reduce((sum, { timing }) => sum + timing.kernelMs, 0)
    return { whole, queued, kernels, path: results[0]!.path }
  })
  bench.figures(`ten of ${size}³, ${kind}`, samples, [
    [
      'whole time / sum of the kernels',
      'x',
      ({ whole, kernels }) => whole / kernels,
      bench.gpu ? asked[size] : {},
    ],
    ['whole time', 'ms', ({ whole }) => whole, { note: samples[0]!.path }],
    ['sum of the kernels', 'ms', ({ kernels }) => kernels],
    ['until the ten calls have returned', 'ms', ({ queued }) => queued],
  ])
}

async function single(bench: Bench, size: number): Promise<void> {
  const device = await bench.device()
  using a = await uploadSquare(device, size, kinds['any int32'], 1)
  using b = await uploadSquare(device, size, kinds['any int32'], 2)
  using out = await device.full([size, size], 0)
  using second = await device.full([size, size], 0)
  const of = `${size}³, any int32`
  const isAsked = bench.gpu && size === 256
  const repetitions = bench.times(20, 400)

  const awaited = async (what: string, call: () => Promise<{ kernelMs: number }>) => {
    const samples = await repeat(repetitions, 20, async () => {
      const begin = performance.now()
      const { kernelMs } = await call()
      return { whole: performance.now() - begin, kernelMs }
    })
    const limits = isAsked ? { must: 60, aim: 35 } : {}
    bench.figures(of, samples, [[what, 'µs', ({ whole }) => 1000 * whole, limits]])
    return samples.map(({ kernelMs }) => 1000 * kernelMs)
  }
  const kernels = await awaited('one await each, into out', async () => (await mpmm(a, b, { out })).timing)
  await awaited('one await each, a new matrix', async () => {
    const { c, timing } = await mpmm(a, b)
    c.dispose()
    return timing
  })
  bench.figure(of, 'its kernel', 'µs', kernels)

  const perProduct = async (what: string, queue: () => Promise<unknown>[]) => {
    const time = async () => (1000 * (await elapsed(() => Promise.all(queue())))) / CHAIN
    const samples = await repeat(repetitions / 2, 5, time)
    bench.figure(of, what, 'µs', samples, isAsked ? { must: 30, aim: 20 } : {})
  }
  await perProduct('ten queued, per product', () =>
    Array.from({ length: CHAIN }, (_, index) => mpmm(a, b, { out: index % 2 === 0 ? out : second })),
  )
  await perProduct('ten in a chain, per product', () => queueChain(a, b, [out, second], CHAIN))
}

export const resident: Suite = {
  shows: 'chains of ten products, each on the result of the one before, queued without awaiting',
  grid(bench) {
    const sizes = bench.pick([64], [1024, 2048, 4096], [128, 256, 512, 1024])
    const names = Object.keys(kinds) as (keyof typeof kinds)[]
    const size = bench.pick(32, 256, 128)
    return [
      ...sizes.flatMap((side) =>
        names.map((kind): SuiteCase => [`${side}³ ${kind}`, () => chains(bench, side, kind)]),
      ),
      [`${size}³`, () => single(bench, size)],
    ]
  },
}
