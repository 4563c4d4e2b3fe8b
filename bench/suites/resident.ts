/** Measures chains of queued products of device-resident matrices. */
import { type DeviceMatrix, mpmm } from '../../lib/index.js'
import { elapsed } from '../experiment.js'
import { ANY_INT32 } from '../timing/values.js'
import type { Bench, FigureGoal, Suite, SuiteCase } from './suite.js'

const CHAIN = 10

/**
 * Limits of values. Sums of a chain, of at most eleven elements, fit in int32, so intermediate results need
 * no scan.
 */
const kinds = { 'any int32': ANY_INT32, '16-bit sums': 1000 }

/** Goals of a chain on an H200, as multiples of the time of its kernels. */
const goals: Record<number, FigureGoal> = {
  1024: { must: 1.25, aim: 1.1 },
  2048: { must: 1.1, aim: 1.04 },
  4096: { must: 1.04, aim: 1.01 },
}

/** Queues `count` products, each of which multiplies the previous result. Two buffers alternate. */
function queueChain(start: DeviceMatrix, step: DeviceMatrix, buffers: readonly DeviceMatrix[]) {
  let from = start
  return Array.from({ length: CHAIN }, (_, index) => {
    const out = buffers[index % buffers.length]!
    const running = mpmm(from, step, { out })
    from = out
    return running
  })
}

async function chains(bench: Bench, size: number, kind: keyof typeof kinds): Promise<void> {
  const { a, b, out } = await bench.squares(size, kinds[kind])
  const buffers = [out, await bench.full([size, size])]
  const call = async () => {
    const begin = performance.now()
    const running = queueChain(a, b, buffers)
    const queued = performance.now() - begin
    const results = await Promise.all(running)
    const whole = performance.now() - begin
    const kernels = results.reduce((sum, { timing }) => sum + timing.kernelMs, 0)
    return { whole, queued, kernels, arithmetic: results[0]!.arithmetic }
  }
  // The first two calls warm up: they load kernels and create packed forms.
  await bench.measure(`ten of ${size}³, ${kind}`, [3, 21, 2], call, [
    [
      'whole time / sum of the kernels',
      'x',
      ({ whole, kernels }) => whole / kernels,
      bench.gpu ? goals[size] : {},
    ],
    ['whole time', 'ms', ({ whole }) => whole, ({ arithmetic }) => ({ note: arithmetic })],
    ['sum of the kernels', 'ms', ({ kernels }) => kernels],
    ['until the ten calls have returned', 'ms', ({ queued }) => queued],
  ])
}

async function single(bench: Bench, size: number): Promise<void> {
  const { a, b, out } = await bench.squares(size)
  const second = await bench.full([size, size])
  const of = `${size}³, any int32`
  const goal = (limits: FigureGoal) => (bench.gpu && size === 256 ? limits : {})
  const awaited = (what: string, call: () => Promise<number>) => {
    const time = async () => {
      const begin = performance.now()
      const kernelMs = await call()
      return { whole: performance.now() - begin, kernelMs }
    }
    return bench.measure(of, [20, 400, 20], time, [
      [what, 'µs', ({ whole }) => 1000 * whole, goal({ must: 60, aim: 35 })],
    ])
  }
  const intoOut = async () => (await mpmm(a, b, { out })).timing.kernelMs
  const samples = await awaited('one await each, into out', intoOut)
  await awaited('one await each, a new matrix', async () => {
    const { c, timing } = await mpmm(a, b)
    c.dispose()
    return timing.kernelMs
  })
  bench.figures(of, samples, [['its kernel', 'µs', ({ kernelMs }) => 1000 * kernelMs]])
  const perProduct = async (what: string, queue: () => Promise<unknown>[]) => {
    const time = async () => (1000 * (await elapsed(() => Promise.all(queue())))) / CHAIN
    await bench.measure(of, [10, 200, 5], time, [[what, 'µs', (us) => us, goal({ must: 30, aim: 20 })]])
  }
  await perProduct('ten queued, per product', () =>
    Array.from({ length: CHAIN }, (_, index) => mpmm(a, b, { out: index % 2 === 0 ? out : second })),
  )
  await perProduct('ten in a chain, per product', () => queueChain(a, b, [out, second]))
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
