/** Batches of matrices that are smaller than a tile: what counts is how fast they are read and written. */
import { mpmm } from '../../lib/index.js'
import { repeat } from '../experiment.js'
import { integers } from '../timing/values.js'
import { type Bench, differsFromNaive, type Suite } from './suite.js'

/** The memory that the kernels are measured against, in bytes per millisecond: 4 TB/s. */
const BYTES_PER_MS = 4e9

async function time(bench: Bench, count: number, size: number): Promise<void> {
  const device = await bench.device()
  const a = integers([count, size, size], 1, { zeroFraction: 0.1 })
  const b = integers([count, size, size], 2, { zeroFraction: 0.1 })
  using left = await device.upload(a)
  using right = await device.upload(b)
  using out = await device.full([count, size, size], 0)
  const of = `${count} × ${size}³`
  const samples = await repeat(bench.repetitions ?? 21, 3, async () => {
    const begin = performance.now()
    const { timing, variant, path } = await mpmm(left, right, { out })
    return { whole: performance.now() - begin, kernel: timing.kernelMs, how: `${variant}, ${path}` }
  })
  const difference = differsFromNaive(await out.download(), a, b)
  if (difference) bench.wrong(`${of}: ${difference}`)
  const bytes = 3 * count * size * size * 4
  const asked = bench.ofGpu({ must: 3, aim: 1.5 })
  bench.figures(of, samples, [
    ['kernel / its bytes at 4 TB/s', 'x', ({ kernel }) => (kernel * BYTES_PER_MS) / bytes, asked],
    ['kernel', 'ms', ({ kernel }) => kernel, { note: samples.at(-1)!.how }],
    ['the whole call', 'ms', ({ whole }) => whole],
  ])
}

export const small: Suite = {
  shows: 'batches of tiny products, resident: the kernel against the time to move the bytes',
  grid(bench) {
    const scale = bench.pick(0.001, 1, 0.1)
    const batches = [
      { count: 1e6, size: 4 },
      { count: 1e5, size: 16 },
    ]
    return batches.map(({ count, size }) => [`${size}³`, () => time(bench, count * scale, size)])
  },
}
