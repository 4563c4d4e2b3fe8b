/** Compares one product, and groups of products, on several GPUs of a host with one GPU. */

import { star } from '../../lib/algebra.js'
import {
  type DenseMatrix,
  type MpmmResult,
  matrix,
  mpmm,
  mpmmGrouped,
  openDevice,
  pinned,
  type VariantName,
} from '../../lib/index.js'
import { median } from '../experiment.js'
import { ANY_INT32, integers } from '../timing/values.js'
import { firstDifference } from '../verify.js'
import type { Bench, FigureGoal, Suite, SuiteCase } from './suite.js'

/**
 * Variant for which the goals are defined, because it makes products compute-bound. The library would choose
 * a family that takes a tenth of the time for large random operands, so transfers would limit.
 */
const PLAIN = 'pipelined_maxplus_i32_128x64x16_8x8_st2_sl1'

/** Goals of four GPUs, as multiples of the speed of one GPU. */
const goal = {
  resident: { must: 3.7, aim: 3.9 },
  pinned: { must: 3.4, aim: 3.8 },
  pageable: { must: 3, aim: 3.5 },
  small: { must: 2.2, aim: 3 },
  paths: { must: 3.2, aim: 3.7 },
  group: { must: 3.6, aim: 3.9 },
} as const

const newArray = async (size: number, isPinned: boolean) =>
  isPinned ? pinned('int32', size * size) : new Int32Array(size * size)

/**
 * Returns a matrix of repeating random numbers, because drawing a billion of them would take longer than all
 * products.
 */
async function filled(
  size: number,
  isPinned: boolean,
  seed: number,
  ofNumber = (x: number) => x,
): Promise<DenseMatrix> {
  const data = await newArray(size, isPinned)
  const block = integers([1021, Math.min(1031, size)], seed, { limit: ANY_INT32 }).data.map(ofNumber)
  for (let at = 0; at < data.length; at += block.length) {
    data.set(block.subarray(0, Math.min(block.length, data.length - at)), at)
  }
  return matrix(size, size, data)
}

/**
 * Matrices of a product in host memory. Rows of the table share these matrices, because allocating large ones
 * takes seconds.
 */
interface Host {
  readonly kind: string
  readonly a: DenseMatrix
  readonly b: DenseMatrix
  readonly out: DenseMatrix
}

async function host(size: number, isPinned: boolean): Promise<Host> {
  return {
    kind: `${size}³ host to host, ${isPinned ? 'pinned' : 'pageable'}`,
    a: await filled(size, isPinned, 1),
    b: await filled(size, isPinned, 2),
    out: matrix(size, size, await newArray(size, isPinned)),
  }
}

/** Returns the powers of two below the number of devices, and that number. */
function countsOf(devices: number): number[] {
  const counts = [1]
  while (counts.at(-1)! * 2 < devices) counts.push(counts.at(-1)! * 2)
  return devices > 1 ? [...counts, devices] : counts
}

interface Sample {
  readonly ms: number
  readonly kernelMs: number
  /** Number of devices that computed blocks of the product. */
  readonly used: number
  readonly computed: string
}

/** Prepared measurement on some devices. */
interface Ready {
  run(): Promise<Sample>
  close?(): Promise<void>
}

/** Time for the repetitions of a row: the largest products of one GPU take two seconds each. */
const ROW_MS = 3000
const MIN_REPETITIONS = 2
const MAX_REPETITIONS = 5

class Measured {
  /** Indices of all devices; assigned before the first measurement. */
  all: readonly number[] = []

  constructor(readonly bench: Bench) {}

  /** Times a measurement on increasing numbers of devices. */
  async times(
    of: string,
    figureGoal: Pick<FigureGoal, 'must' | 'aim'>,
    open: (devices: readonly number[]) => Promise<Ready>,
  ): Promise<void> {
    let one = 0
    for (const count of countsOf(this.all.length)) {
      const ready = await open(this.all.slice(0, count))
      const samples = await this.#samples(ready)
      await ready.close?.()
      const times = samples.map(({ ms }) => ms)
      const on = count === 1 ? 'on one' : `on ${count}`
      const kernels = median(samples.map(({ kernelMs }) => kernelMs))
      const note = `kernels ${kernels.toFixed(1)} ms, ${samples[0]!.computed}`
      this.bench.figure(of, `whole time ${on}`, 'ms', times, { note })
      if (samples[0]!.used !== count) this.bench.wrong(`${of} ${on}: ${samples[0]!.used} took part`)
      if (count === 1) {
        one = median(times)
        continue
      }
      const speeds = times.map((ms) => one / ms)
      const limits = count === 4 ? figureGoal : {}
      this.bench.figure(of, `speed ${on} / on one`, 'x', speeds, { ...limits, moreIsBetter: true })
    }
  }

  async #samples(ready: Ready): Promise<Sample[]> {
    await ready.run()
    const { repetitions, quick } = this.bench
    // Number of repetitions; null: as many as fit in ROW_MS.
    const fixedCount = repetitions ?? (quick ? 2 : null)
    const began = performance.now()
    const samples: Sample[] = []
    const isEnough = () =>
      samples.length >= (fixedCount ?? MAX_REPETITIONS) ||
      (fixedCount === null && samples.length >= MIN_REPETITIONS && performance.now() - began > ROW_MS)
    while (!isEnough()) samples.push(await ready.run())
    return samples
  }
}

const sampleOf = (begin: number, { timing, devices, variant }: MpmmResult) => ({
  ms: performance.now() - begin,
  kernelMs: timing.kernelMs,
  used: devices.length,
  computed: variant,
})

/** Choice of kernels, and its name in rows. */
interface Kernels {
  variant?: VariantName
  by: string
}
const plain: Kernels = { variant: PLAIN, by: 'plain kernels' }
const chosen: Kernels = { by: 'kernels as chosen' }

async function hostToHost(
  measured: Measured,
  { kind, a, b, out }: Host,
  { by, ...options }: Kernels,
  limits: FigureGoal,
): Promise<void> {
  await measured.times(`${kind}, ${by}`, limits, async (devices) => ({
    async run() {
      const begin = performance.now()
      return sampleOf(begin, (await mpmm(a, b, { devices, out, ...options })) as MpmmResult)
    },
  }))
}

async function resident(
  measured: Measured,
  { a, b }: Host,
  { by, ...options }: Kernels,
  limits: FigureGoal,
): Promise<void> {
  const { shape } = a
  await measured.times(`${shape[0]}³ resident, ${by}`, limits, async (devices) => {
    const device = await openDevice({ devices })
    const [x, y, out] = await Promise.all([device.upload(a), device.upload(b), device.full(shape, 0)])
    return {
      async run() {
        const begin = performance.now()
        const { timing, variant } = await mpmm(x, y, { out, ...options })
        const ms = performance.now() - begin
        return { ms, kernelMs: timing.kernelMs, used: device.devices.length, computed: variant }
      },
      close: () => device.close(),
    }
  })
}

async function paths(measured: Measured, size: number, limits: FigureGoal): Promise<void> {
  const lengths = await filled(size, true, 1, (number) => Math.abs(number >> 8))
  await measured.times(`all-pairs shortest paths of ${size} nodes, resident`, limits, async (devices) => {
    const device = await openDevice({ devices })
    const there = await device.upload(lengths)
    return {
      async run() {
        const begin = performance.now()
        const distances = await star(there, { semiring: 'min-plus' })
        const ms = performance.now() - begin
        distances.c.dispose()
        return { ms, kernelMs: ms, used: device.devices.length, computed: 'passes of pivots, and products' }
      },
      close: () => device.close(),
    }
  })
}

/** Times a group of products of one size, as many as fit in the output matrix. */
async function group(measured: Measured, size: number, { out: { data } }: Host): Promise<void> {
  const [a, b] = [await filled(size, true, 1), await filled(size, true, 2)]
  const products = Array.from({ length: data.length / size ** 2 }, (_, index) => ({
    a,
    b,
    out: matrix(size, size, data.subarray(index * size ** 2, (index + 1) * size ** 2)),
  }))
  await measured.times(`${products.length} products of ${size}³`, goal.group, async (devices) => ({
    async run() {
      const begin = performance.now()
      const results = await mpmmGrouped(products, { devices })
      const ms = performance.now() - begin
      const used = new Set(results.flatMap((result) => result.devices)).size
      const { timing, variant } = results[0]!
      return { ms, kernelMs: timing.kernelMs, used, computed: variant }
    },
  }))
}

/** Finds the devices, and checks that a product on all of them equals the product on one. */
async function probe(measured: Measured): Promise<void> {
  const device = await openDevice({ devices: 'all' })
  measured.all = device.devices
  await device.close()
  const [a, b] = [integers([1537, 1100], 7), integers([1100, 1411], 8)]
  const one = await mpmm(a, b, { devices: [measured.all[0]!] })
  const several = await mpmm(a, b, { devices: measured.all })
  if (firstDifference(several.c, one.c))
    measured.bench.wrong('a product on several devices differs from that on one')
}

export const devices: Suite = {
  shows: 'products of several GPUs of this host, against one',
  grid(bench) {
    if (!bench.gpu) return []
    const measured = new Measured(bench)
    let locked!: Host
    let pageable!: Host
    const make = (size: number) => async () => {
      locked = await host(size, true)
    }
    const makePageable = async () => {
      pageable = await host(32768, false)
    }
    const quickly: SuiteCase[] = [
      ['matrices of 2048²', make(2048)],
      ['2048³', () => hostToHost(measured, locked, plain, {})],
      ['resident', () => resident(measured, locked, plain, {})],
    ]
    const usual: SuiteCase[] = [
      ['matrices of 8192²', make(8192)],
      ['8192³', () => hostToHost(measured, locked, plain, goal.small)],
      ['8192³ as chosen', () => hostToHost(measured, locked, chosen, {})],
      ['matrices of 32768²', make(32768)],
      ['32768³, pinned', () => hostToHost(measured, locked, plain, goal.pinned)],
      ['32768³, pinned, as chosen', () => hostToHost(measured, locked, chosen, {})],
      ['32768³, resident', () => resident(measured, locked, plain, goal.resident)],
      ['32768³, resident, as chosen', () => resident(measured, locked, chosen, {})],
      ['64 products', () => group(measured, 4096, locked)],
      ['matrices in pageable memory', makePageable],
      ['32768³, pageable', () => hostToHost(measured, pageable, plain, goal.pageable)],
      ['shortest paths', () => paths(measured, 32768, goal.paths)],
    ]
    return [['the same on all', () => probe(measured)], ...(bench.quick ? quickly : usual)]
  },
}
