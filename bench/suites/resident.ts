/** Products of matrices that stay on a device, queued one after the other. */
import { type Device, type DeviceMatrix, mpmm, openDevice } from '../../lib/index.js'
import { ANY_INT32, integers } from './draw.js'
import type { Asked, Findings, Suite } from './protocol.js'

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

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

async function chains(
  device: Device,
  size: number,
  kind: keyof typeof kinds,
  repetitions: number,
  findings: Findings,
): Promise<void> {
  using start = await uploadSquare(device, size, kinds[kind], 1)
  using step = await uploadSquare(device, size, kinds[kind], 2)
  using first = await device.full([size, size], 0)
  using second = await device.full([size, size], 0)
  const samples = []
  // The first two warm up: kernels are loaded, and packed forms are made.
  for (let repetition = -2; repetition < repetitions; repetition++) {
    const begin = performance.now()
    const running = queueChain(start, step, [first, second], CHAIN)
    const queued = performance.now() - begin
    const results = await Promise.all(running)
    const whole = performance.now() - begin
    const kernels = sum(results.map(({ timing }) => timing.kernelMs))
    if (repetition >= 0) samples.push({ whole, queued, kernels, path: results[0]!.path })
  }
  const of = `ten of ${size}³, ${kind}`
  findings.figure(
    of,
    'whole time / sum of the kernels',
    'x',
    samples.map(({ whole, kernels }) => whole / kernels),
    device.backend === 'cuda' ? asked[size] : {},
  )
  findings.figure(
    of,
    'whole time',
    'ms',
    samples.map(({ whole }) => whole),
    { note: samples[0]!.path },
  )
  findings.figure(
    of,
    'sum of the kernels',
    'ms',
    samples.map(({ kernels }) => kernels),
  )
  findings.figure(
    of,
    'until the ten calls have returned',
    'ms',
    samples.map(({ queued }) => queued),
  )
}

async function single(device: Device, size: number, repetitions: number, findings: Findings): Promise<void> {
  using a = await uploadSquare(device, size, kinds['any int32'], 1)
  using b = await uploadSquare(device, size, kinds['any int32'], 2)
  using out = await device.full([size, size], 0)
  using second = await device.full([size, size], 0)
  const of = `${size}³, any int32`
  const isAsked = device.backend === 'cuda' && size === 256

  const awaited = async (what: string, call: () => Promise<{ kernelMs: number }>, asked: Asked) => {
    const samples = []
    for (let repetition = -20; repetition < repetitions; repetition++) {
      const begin = performance.now()
      const { kernelMs } = await call()
      if (repetition >= 0) samples.push({ whole: performance.now() - begin, kernelMs })
    }
    findings.figure(
      of,
      what,
      'µs',
      samples.map(({ whole }) => 1000 * whole),
      asked,
    )
    return samples.map(({ kernelMs }) => 1000 * kernelMs)
  }
  const kernels = await awaited(
    'one await each, into out',
    async () => (await mpmm(a, b, { out })).timing,
    isAsked ? { must: 60, aim: 35 } : {},
  )
  await awaited(
    'one await each, a new matrix',
    async () => {
      const { c, timing } = await mpmm(a, b)
      c.dispose()
      return timing
    },
    isAsked ? { must: 60, aim: 35 } : {},
  )
  findings.figure(of, 'its kernel', 'µs', kernels)

  const perProduct = async (what: string, queue: () => Promise<unknown>[]) => {
    const samples = []
    for (let repetition = -5; repetition < repetitions / 2; repetition++) {
      const begin = performance.now()
      await Promise.all(queue())
      if (repetition >= 0) samples.push((1000 * (performance.now() - begin)) / CHAIN)
    }
    findings.figure(of, what, 'µs', samples, isAsked ? { must: 30, aim: 20 } : {})
  }
  await perProduct('ten queued, per product', () =>
    Array.from({ length: CHAIN }, (_, index) => mpmm(a, b, { out: index % 2 === 0 ? out : second })),
  )
  await perProduct('ten in a chain, per product', () => queueChain(a, b, [out, second], CHAIN))
}

export const resident: Suite = {
  shows: 'chains of ten products, each on the result of the one before, queued without awaiting',
  async run({ backend, device: index, quick, repetitions }, findings) {
    const device = await openDevice({ backend, device: index })
    const sizes = quick ? [64] : backend === 'cuda' ? [1024, 2048, 4096] : [128, 256, 512, 1024]
    const names = Object.keys(kinds) as (keyof typeof kinds)[]
    for (const [at, size] of sizes.entries()) {
      for (const kind of names) {
        findings.progress(`${size}³ ${kind}`, at / (sizes.length + 1))
        await chains(device, size, kind, repetitions ?? (quick ? 3 : 21), findings)
      }
    }
    const size = quick ? 32 : backend === 'cuda' ? 256 : 128
    findings.progress(`${size}³`, sizes.length / (sizes.length + 1))
    await single(device, size, repetitions ?? (quick ? 20 : 400), findings)
    await device.close()
  },
}
