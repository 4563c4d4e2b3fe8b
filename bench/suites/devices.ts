/** One product, and many, on several GPUs of a host against one. */

import { star } from '../../lib/algebra.js'
import {
  type DenseMatrix,
  type MpmmResult,
  matrix,
  mpmm,
  mpmmGrouped,
  openDevice,
  pinnedInt32Array,
  type VariantName,
} from '../../lib/index.js'
import { firstDifference } from '../verify.js'
import { ANY_INT32, integers } from './draw.js'
import type { Asked, Findings, Suite } from './protocol.js'

/**
 * The kernel that limits a product, as the numbers to reach mean it: for random operands that are large enough another
 * family takes a tenth of the time, and transfers limit.
 */
const PLAIN = 'pipelined_maxplus_i32_128x64x16_8x8_st2_sl1'

/** What the issue of several GPUs asks of four against one, as multiples of the speed of one. */
const asked = {
  resident: { must: 3.7, aim: 3.9 },
  pinned: { must: 3.4, aim: 3.8 },
  pageable: { must: 3, aim: 3.5 },
  small: { must: 2.2, aim: 3 },
  paths: { must: 3.2, aim: 3.7 },
  group: { must: 3.6, aim: 3.9 },
} as const

const median = (values: readonly number[]) => [...values].sort((x, y) => x - y)[values.length >> 1]!

/** A matrix of random numbers that repeat: to draw each of a billion would take longer than all products. */
function filled(size: number, pinned: boolean, seed: number): DenseMatrix {
  const data = pinned ? pinnedInt32Array(size * size) : new Int32Array(size * size)
  const block = integers([1021, Math.min(1031, size)], seed, { limit: ANY_INT32 }).data
  for (let at = 0; at < data.length; at += block.length) {
    data.set(block.subarray(0, Math.min(block.length, data.length - at)), at)
  }
  return matrix(size, size, data)
}

/** 1, 2, 4, … and all. */
function countsOf(devices: number): number[] {
  const counts = [1]
  while (counts.at(-1)! * 2 < devices) counts.push(counts.at(-1)! * 2)
  return devices > 1 ? [...counts, devices] : counts
}

type Run = (
  devices: readonly number[],
) => Promise<{ ms: number; kernelMs: number; used: number; computed: string }>

class Measured {
  constructor(
    readonly all: readonly number[],
    readonly repetitions: number,
    readonly findings: Findings,
  ) {}

  /** Times `run` on one device, on two and so on. */
  async times(of: string, asked: Pick<Asked, 'must' | 'aim'>, run: Run): Promise<void> {
    let one = 0
    for (const count of countsOf(this.all.length)) {
      const devices = this.all.slice(0, count)
      await run(devices)
      const samples = []
      for (let repetition = 0; repetition < this.repetitions; repetition++) samples.push(await run(devices))
      const times = samples.map(({ ms }) => ms)
      const on = count === 1 ? 'on one' : `on ${count}`
      const kernels = median(samples.map(({ kernelMs }) => kernelMs))
      const note = `kernels ${kernels.toFixed(1)} ms, ${samples[0]!.computed}`
      this.findings.figure(of, `whole time ${on}`, 'ms', times, { note })
      if (count === 1) {
        one = median(times)
        continue
      }
      const speeds = times.map((ms) => one / ms)
      const limits = count === 4 ? asked : {}
      this.findings.figure(of, `speed ${on} / on one`, 'x', speeds, { ...limits, moreIsBetter: true })
      if (samples[0]!.used !== count) this.findings.wrong(`${of} ${on}: ${samples[0]!.used} took part`)
    }
  }
}

const told = (begin: number, { timing, devices, variant }: MpmmResult) => ({
  ms: performance.now() - begin,
  kernelMs: timing.kernelMs,
  used: devices.length,
  computed: variant,
})

/** Which kernels compute, and what a row is called by that. */
interface Kernels {
  variant?: VariantName
  by: string
}
const plain: Kernels = { variant: PLAIN, by: 'plain kernels' }
const chosen: Kernels = { by: 'kernels as chosen' }

async function hostToHost(
  measured: Measured,
  size: number,
  pinned: boolean,
  { by, ...options }: Kernels,
  limits: Asked,
): Promise<void> {
  const [a, b, out] = [1, 2, 3].map((seed) => filled(size, pinned, seed)) as [
    DenseMatrix,
    DenseMatrix,
    DenseMatrix,
  ]
  await measured.times(
    `${size}³ host to host, ${pinned ? 'pinned' : 'pageable'}, ${by}`,
    limits,
    async (devices) => {
      const begin = performance.now()
      return told(begin, (await mpmm(a, b, { devices, out, ...options })) as MpmmResult)
    },
  )
}

async function resident(
  measured: Measured,
  size: number,
  { by, ...options }: Kernels,
  limits: Asked,
): Promise<void> {
  const [a, b] = [filled(size, true, 1), filled(size, true, 2)]
  await measured.times(`${size}³ resident, ${by}`, limits, async (devices) => {
    await using device = await openDevice({ devices })
    const [x, y, out] = await Promise.all([device.upload(a), device.upload(b), device.full([size, size], 0)])
    await mpmm(x, y, { out, ...options })
    const begin = performance.now()
    const { timing, variant } = await mpmm(x, y, { out, ...options })
    const ms = performance.now() - begin
    return { ms, kernelMs: timing.kernelMs, used: device.devices.length, computed: variant }
  })
}

async function paths(measured: Measured, size: number, limits: Asked): Promise<void> {
  const lengths = filled(size, true, 1)
  for (const [index, length] of lengths.data.entries()) lengths.data[index] = Math.abs(length >> 8)
  await measured.times(`all-pairs shortest paths of ${size} nodes, resident`, limits, async (devices) => {
    await using device = await openDevice({ devices })
    const there = await device.upload(lengths)
    const begin = performance.now()
    const distances = await star(there, { semiring: 'min-plus' })
    const ms = performance.now() - begin
    distances.c.dispose()
    return { ms, kernelMs: ms, used: device.devices.length, computed: 'passes of pivots, and products' }
  })
}

async function group(measured: Measured, size: number, count: number): Promise<void> {
  const [a, b] = [filled(size, true, 1), filled(size, true, 2)]
  const products = Array.from({ length: count }, () => ({
    a,
    b,
    out: matrix(size, size, pinnedInt32Array(size * size)),
  }))
  await measured.times(`${count} products of ${size}³`, asked.group, async (devices) => {
    const begin = performance.now()
    const results = await mpmmGrouped(products, { devices })
    const used = new Set(results.flatMap((result) => result.devices)).size
    const { timing, variant } = results[0]!
    return { ms: performance.now() - begin, kernelMs: timing.kernelMs, used, computed: variant }
  })
}

async function same(all: readonly number[], findings: Findings): Promise<void> {
  const [a, b] = [integers([1537, 1100], 7), integers([1100, 1411], 8)]
  const one = await mpmm(a, b, { devices: [all[0]!] })
  const several = await mpmm(a, b, { devices: all })
  if (firstDifference(several.c, one.c))
    findings.wrong('a product on several devices differs from that on one')
}

export const devices: Suite = {
  shows: 'products of several GPUs of this host, against one',
  async run({ backend, quick, repetitions }, findings) {
    if (backend === 'cpu') return
    const probe = await openDevice({ devices: 'all' })
    const all = probe.devices
    await probe.close()
    await same(all, findings)
    const measured = new Measured(all, repetitions ?? (quick ? 2 : 5), findings)
    const steps: [string, () => Promise<void>][] = quick
      ? [
          ['2048³', () => hostToHost(measured, 2048, true, plain, {})],
          ['resident', () => resident(measured, 2048, plain, {})],
        ]
      : [
          ['8192³', () => hostToHost(measured, 8192, true, plain, asked.small)],
          ['8192³ as chosen', () => hostToHost(measured, 8192, true, chosen, {})],
          ['32768³, pinned', () => hostToHost(measured, 32768, true, plain, asked.pinned)],
          ['32768³, pageable', () => hostToHost(measured, 32768, false, plain, asked.pageable)],
          ['32768³, pinned, as chosen', () => hostToHost(measured, 32768, true, chosen, {})],
          ['32768³, resident', () => resident(measured, 32768, plain, asked.resident)],
          ['32768³, resident, as chosen', () => resident(measured, 32768, chosen, {})],
          ['shortest paths', () => paths(measured, 32768, asked.paths)],
          ['64 products', () => group(measured, 4096, 64)],
        ]
    for (const [index, [what, step]] of steps.entries()) {
      findings.progress(what, index / steps.length)
      await step()
    }
  },
}
