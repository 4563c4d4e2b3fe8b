/** Batches of matrices that are smaller than a tile: what counts is how fast they are read and written. */
import { type Device, mpmm, mpmmSync, openDevice } from '../../lib/index.js'
import { firstDifference, naiveVariant } from '../verify.js'
import { integers } from './draw.js'
import type { Findings, Suite } from './protocol.js'

/** The memory that the kernels are measured against, in bytes per millisecond: 4 TB/s. */
const BYTES_PER_MS = 4e9

async function time(
  device: Device,
  count: number,
  size: number,
  repetitions: number,
  isAsked: boolean,
  findings: Findings,
): Promise<void> {
  const a = integers([count, size, size], 1, { zeroFraction: 0.1 })
  const b = integers([count, size, size], 2, { zeroFraction: 0.1 })
  using left = await device.upload(a)
  using right = await device.upload(b)
  using out = await device.full([count, size, size], 0)
  const of = `${count} × ${size}³`
  const samples = []
  let how = ''
  for (let repetition = -3; repetition < repetitions; repetition++) {
    const begin = performance.now()
    const { timing, variant, path } = await mpmm(left, right, { out })
    const whole = performance.now() - begin
    how = `${variant}, ${path}`
    if (repetition >= 0) samples.push({ whole, kernel: timing.kernelMs })
  }
  const expected = mpmmSync(a, b, { variant: naiveVariant('max-plus', 'int32') })
  const difference = firstDifference(await out.download(), expected.c)
  if (difference) findings.wrong(`${of}: ${difference.count} elements differ from the naive product`)
  const bytes = 3 * count * size * size * 4
  findings.figure(
    of,
    'kernel / its bytes at 4 TB/s',
    'x',
    samples.map(({ kernel }) => (kernel * BYTES_PER_MS) / bytes),
    isAsked ? { must: 3, aim: 1.5 } : {},
  )
  findings.figure(
    of,
    'kernel',
    'ms',
    samples.map(({ kernel }) => kernel),
    { note: how },
  )
  findings.figure(
    of,
    'the whole call',
    'ms',
    samples.map(({ whole }) => whole),
  )
}

export const small: Suite = {
  shows: 'batches of tiny products, resident: the kernel against the time to move the bytes',
  async run({ backend, device: index, quick, repetitions }, findings) {
    const device = await openDevice({ backend, device: index })
    const isAsked = backend === 'cuda' && !quick
    const scale = quick ? 0.001 : backend === 'cuda' ? 1 : 0.1
    const batches = [
      { count: 1e6, size: 4 },
      { count: 1e5, size: 16 },
    ]
    for (const [at, { count, size }] of batches.entries()) {
      findings.progress(`${size}³`, at / batches.length)
      await time(device, count * scale, size, repetitions ?? 21, isAsked, findings)
    }
    await device.close()
  },
}
