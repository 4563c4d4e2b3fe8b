/** Measures products of triangular and banded matrices, which compute only the needed steps. */
import {
  type DeviceMatrix,
  mpmm,
  mpmmGrouped,
  type ProductStructure,
  type VariantName,
} from '../../lib/index.js'
import { elapsed, median } from '../experiment.js'
import { gopsOf, type Timed, timeProduct, triangles } from '../future-work.js'
import { integers } from '../timing/values.js'
import { type Bench, differsFromNaive, type FigureGoal, type Suite, type SuiteCase, topsOf } from './suite.js'

/**
 * Returns the number of tables of a strand, one per pair of first and last base. BPMax multiplies each by
 * others.
 */
const tablesOf = (bases: number) => (bases * (bases - 1)) / 2

const figureGoal = { must: 22, aim: 28 }

async function compare(bench: Bench, structure: ProductStructure): Promise<void> {
  const [a, b] = [integers([150, 170], 3), integers([170, 130], 4)]
  const [left, right] = await bench.upload(a, b)
  const { c } = await mpmm(left, right, { structure })
  bench.wrong(differsFromNaive(await c.download(), a, b, structure))
  c.dispose()
}

const teraOps = (timed: Timed) => gopsOf(timed).map((gops) => gops / 1000)

/** Compares the time of a structured product with a product of whole matrices by the same kernel. */
async function against(
  bench: Bench,
  of: string,
  n: number,
  structure: ProductStructure,
  limits: FigureGoal = {},
): Promise<void> {
  const device = await bench.device()
  const request = { n, repetitions: bench.times(3, 11) }
  const part = await timeProduct(device, { ...request, structure })
  const variant = part.how.split(',')[0] as VariantName
  const whole = await timeProduct(device, { ...request, variant })
  const wholeMs = median(whole.ms)
  const needed = `${((100 * part.steps) / whole.steps).toFixed(1)} % of the steps`
  bench.figure(of, 'kernel', 'ms', part.ms, { note: part.how })
  const shares = part.ms.map((ms) => ms / wholeMs)
  bench.figure(of, 'kernel / that of the whole product', 'x', shares, { ...limits, note: needed })
  bench.figure(of, 'speed in needed steps', 'TOPS', teraOps(part))
  bench.figure(of, 'speed of the whole product', 'TOPS', teraOps(whole), { note: whole.how })
}

async function batched(bench: Bench, count: number, n: number): Promise<void> {
  const request = { n, batch: count, structure: triangles, repetitions: bench.times(3, 11) }
  const batch = await timeProduct(await bench.device(), request)
  const goal = { ...bench.ofGpu(figureGoal), note: batch.how }
  bench.figure(`${count} × ${n}³ in a batch`, 'speed in needed steps', 'TOPS', teraOps(batch), goal)
}

/** Multiplies tables of pairs of intervals in one call. Each product is accumulated to a separate table. */
async function grouped(bench: Bench, bases: number, n: number): Promise<void> {
  const sources = Array.from({ length: bases }, (_, index) => integers([n, n], index))
  const tables = await bench.upload(...sources)
  const products: { a: DeviceMatrix; b: DeviceMatrix; out: DeviceMatrix; accumulate: true }[] = []
  for (const [i, a] of tables.entries()) {
    for (const b of tables.slice(i + 1))
      products.push({ a, b, out: await bench.full([n, n]), accumulate: true })
  }
  const multiply = async () => {
    let steps = 0
    const ms = await elapsed(async () => {
      const results = await mpmmGrouped(products, { structure: triangles })
      steps = results.reduce((sum, { gops, timing }) => sum + (gops * timing.kernelMs * 1e6) / 2, 0)
    })
    return topsOf(steps, ms)
  }
  await bench.measure(`${products.length} × ${n}³ in a group`, [3, 11, 1], multiply, [
    ['speed in needed steps, whole call', 'TOPS', (tops) => tops, bench.ofGpu(figureGoal)],
  ])
}

export const structure: Suite = {
  shows: 'products of triangles and bands, resident, against those of whole matrices with the same kernel',
  grid(bench) {
    const sizes = bench.pick([128], [1024, 2048, 4096, 8192], [256, 512, 1024, 2048])
    const largest = sizes.at(-1)!
    const width = largest / 16
    const band: ProductStructure = { a: { band: [width, width] }, b: { band: [width, width] } }
    const [bases, n] = bench.pick([4, 64], [32, 1024], [8, 256]) as [number, number]
    const bands = `${largest}³, bands of ${2 * width + 1} diagonals`
    return [
      [
        'right results',
        async () => {
          for (const one of [triangles, band, { a: 'lower', b: 'upper' } as const]) await compare(bench, one)
        },
      ],
      ...sizes.map((size): SuiteCase => {
        const limits = size === 8192 ? bench.ofGpu({ must: 0.2, aim: 0.175 }) : {}
        return [`${size}³`, () => against(bench, `${size}³ upper × upper → upper`, size, triangles, limits)]
      }),
      ['bands', () => against(bench, bands, largest, band)],
      ['a batch', () => batched(bench, tablesOf(bases), n)],
      ['a group', () => grouped(bench, bases, n)],
    ]
  },
}
