/** Products of triangles and bands: what it saves that only the needed steps are computed. */
import {
  type Device,
  type DeviceMatrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  openDevice,
  type ProductStructure,
  type VariantName,
} from '../../lib/index.js'
import { gopsOf, type Timed, timeProduct, triangles } from '../needed.js'
import { firstDifference, naiveVariant } from '../verify.js'
import { integers } from './draw.js'
import type { Asked, Findings, Suite } from './protocol.js'

/** The tables of a strand of so many bases, by the first one and the last one: BPMax multiplies each by others. */
const tablesOf = (bases: number) => (bases * (bases - 1)) / 2

async function compare(device: Device, structure: ProductStructure, findings: Findings): Promise<void> {
  const [a, b] = [integers([150, 170], 3), integers([170, 130], 4)]
  using left = await device.upload(a)
  using right = await device.upload(b)
  const { c } = await mpmm(left, right, { structure })
  const expected = mpmmSync(a, b, { structure, variant: naiveVariant('max-plus', 'int32') })
  const difference = firstDifference(await c.download(), expected.c)
  if (difference) findings.wrong(`${difference.count} elements differ from the naive product`)
  c.dispose()
}

const teraOps = (timed: Timed) => gopsOf(timed).map((gops) => gops / 1000)

/** A structure against the product of whole matrices with the same kernel. */
async function against(
  device: Device,
  of: string,
  request: { n: number; structure: ProductStructure; repetitions: number },
  asked: Asked,
  findings: Findings,
): Promise<void> {
  const part = await timeProduct(device, request)
  const { structure: _, ...rest } = request
  const variant = part.how.split(',')[0] as VariantName
  const whole = await timeProduct(device, { ...rest, variant })
  const median = [...whole.ms].sort((x, y) => x - y)[whole.ms.length >> 1]!
  const needed = `${((100 * part.steps) / whole.steps).toFixed(1)} % of the steps`
  findings.figure(of, 'kernel', 'ms', part.ms, { note: part.how })
  findings.figure(
    of,
    'kernel / that of the whole product',
    'x',
    part.ms.map((ms) => ms / median),
    { ...asked, note: needed },
  )
  findings.figure(of, 'speed in needed steps', 'TOPS', teraOps(part), { moreIsBetter: true })
  findings.figure(of, 'speed of the whole product', 'TOPS', teraOps(whole), {
    moreIsBetter: true,
    note: whole.how,
  })
}

/** The tables of pairs of intervals in one call, each product accumulated to a table of its own. */
async function grouped(
  device: Device,
  bases: number,
  n: number,
  repetitions: number,
  asked: Asked,
  findings: Findings,
): Promise<void> {
  const tables: DeviceMatrix[] = []
  for (let index = 0; index < bases; index++) tables.push(await device.upload(integers([n, n], index)))
  const products: { a: DeviceMatrix; b: DeviceMatrix; out: DeviceMatrix; accumulate: true }[] = []
  for (let i = 0; i < bases; i++) {
    for (let j = i + 1; j < bases; j++) {
      const out = await device.full([n, n], 0)
      products.push({ a: tables[i]!, b: tables[j]!, out: out as DeviceMatrix, accumulate: true })
    }
  }
  const speeds: number[] = []
  for (let repetition = -1; repetition < repetitions; repetition++) {
    const begin = performance.now()
    const results = await mpmmGrouped(products, { structure: triangles })
    const ms = performance.now() - begin
    const steps = results.reduce((sum, { gops, timing }) => sum + (gops * timing.kernelMs * 1e6) / 2, 0)
    if (repetition >= 0) speeds.push((2 * steps) / ms / 1e9)
  }
  const of = `${products.length} × ${n}³ in a group`
  findings.figure(of, 'speed in needed steps, whole call', 'TOPS', speeds, { ...asked, moreIsBetter: true })
  for (const { out } of products) out.dispose()
  for (const table of tables) table.dispose()
}

export const structure: Suite = {
  shows: 'products of triangles and bands, resident, against those of whole matrices with the same kernel',
  async run({ backend, device: index, quick, repetitions }, findings) {
    const device = await openDevice({ backend, device: index })
    const gpu = backend === 'cuda' && !quick
    const sizes = quick ? [128] : gpu ? [1024, 2048, 4096, 8192] : [256, 512, 1024, 2048]
    const times = repetitions ?? (quick ? 3 : 11)
    const largest = sizes.at(-1)!
    const width = largest / 16
    const band: ProductStructure = { a: { band: [width, width] }, b: { band: [width, width] } }
    for (const one of [triangles, band, { a: 'lower', b: 'upper' }] as ProductStructure[]) {
      await compare(device, one, findings)
    }
    for (const [at, n] of sizes.entries()) {
      findings.progress(`${n}³`, (0.6 * at) / sizes.length)
      const asked = gpu && n === 8192 ? { must: 0.2, aim: 0.175 } : {}
      const request = { n, structure: triangles, repetitions: times }
      await against(device, `${n}³ upper × upper → upper`, request, asked, findings)
    }
    findings.progress('bands', 0.6)
    const request = { n: largest, structure: band, repetitions: times }
    await against(device, `${largest}³, bands of ${2 * width + 1} diagonals`, request, {}, findings)
    const [bases, n] = quick ? [4, 64] : gpu ? [32, 1024] : [8, 256]
    const asked = gpu ? { must: 22, aim: 28 } : {}
    findings.progress('a batch', 0.7)
    const count = tablesOf(bases)
    const batch = await timeProduct(device, { n, batch: count, structure: triangles, repetitions: times })
    findings.figure(`${count} × ${n}³ in a batch`, 'speed in needed steps', 'TOPS', teraOps(batch), {
      ...asked,
      moreIsBetter: true,
      note: batch.how,
    })
    findings.progress('a group', 0.85)
    await grouped(device, bases, n, times, asked, findings)
    await device.close()
  },
}
