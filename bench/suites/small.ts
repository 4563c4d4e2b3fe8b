/**
 * Measures batches of matrices that are smaller than a tile, for which memory bandwidth limits the kernel.
 */
import { mpmm } from '../../lib/index.js'
import { elapsed } from '../experiment.js'
import { integers } from '../timing/values.js'
import { type Bench, differsFromNaive, type Suite } from './suite.js'

/** Reference bandwidth of device memory, in bytes per ms: 4 TB/s. */
const BYTES_PER_MS = 4e9

async function time(bench: Bench, count: number, size: number): Promise<void> {
  const batch = (seed: number) => integers([count, size, size], seed, { zeroFraction: 0.1 })
  const [a, b] = [batch(1), batch(2)]
  const [left, right] = await bench.upload(a, b)
  const out = await bench.full([count, size, size])
  const of = `${count} × ${size}³`
  const bytes = 3 * count * size * size * 4
  const call = async () => {
    let how = { kernel: 0, note: '' }
    const whole = await elapsed(async () => {
      const { timing, variant, arithmetic } = await mpmm(left, right, { out })
      how = { kernel: timing.kernelMs, note: `${variant}, ${arithmetic}` }
    })
    return { whole, ...how }
  }
  const goal = bench.ofGpu({ must: 3, aim: 1.5 })
  await bench.measure(of, [21, 21, 3], call, [
    ['kernel / its bytes at 4 TB/s', 'x', ({ kernel }) => (kernel * BYTES_PER_MS) / bytes, goal],
    ['kernel', 'ms', ({ kernel }) => kernel, ({ note }) => ({ note })],
    ['the whole call', 'ms', ({ whole }) => whole],
  ])
  bench.wrong(differsFromNaive(await out.download(), a, b), of)
}

export const small: Suite = {
  shows: 'batches of tiny products, resident: the kernel against the time to move the bytes',
  grid(bench) {
    const scale = bench.pick(0.001, 1, 0.1)
    return [
      ['4³', () => time(bench, 1e6 * scale, 4)],
      ['16³', () => time(bench, 1e5 * scale, 16)],
    ]
  },
}
