/** How soon a product that is given up settles, and whether the next one is affected. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type DenseMatrix,
  type Device,
  type DeviceMatrix,
  type MpmmOptions,
  mpmm,
  mpmmSync,
  openDevice,
} from '../../lib/index.js'
import { greatest } from '../extremes.js'
import { firstDifference, naiveVariant } from '../verify.js'
import { integers } from './draw.js'
import type { Asked, Findings, Suite } from './protocol.js'

const NEXT = 200

interface Operands {
  a: DenseMatrix | DeviceMatrix
  b: DenseMatrix | DeviceMatrix
}

/** The product that comes after one that was given up. */
interface Next extends Operands {
  expected: DenseMatrix
}

/** When it is given up, after the call; null: before it. */
const moments = {
  'before the call': null,
  'right after the call': () => 0,
  'while another one runs before it': (whole: number) => whole / 3,
  'half-way': (whole: number) => whole / 2,
} as const

/** What became of a product that was given up. */
async function settled(promise: Promise<unknown>): Promise<{ end: number; code: string }> {
  try {
    const result = await promise
    const { c } = result as { c: DenseMatrix | DeviceMatrix }
    if ('dispose' in c) c.dispose()
    return { end: performance.now(), code: 'done' }
  } catch (error) {
    return { end: performance.now(), code: (error as { code?: string }).code ?? String(error) }
  }
}

async function download(c: DenseMatrix | DeviceMatrix): Promise<DenseMatrix> {
  if (!('download' in c)) return c
  const copy = await c.download()
  c.dispose()
  return copy
}

async function giveUp(
  of: string,
  { a, b }: Operands,
  next: Next,
  options: MpmmOptions,
  repetitions: number,
  asked: Asked,
  findings: Findings,
): Promise<void> {
  const multiply = (given: MpmmOptions): Promise<unknown> => mpmm(a, b, given as never)
  const product = (given: MpmmOptions) => settled(multiply(given))
  const timeNext = async () => {
    const begin = performance.now()
    const { c } = (await mpmm(next.a, next.b, options as never)) as unknown as {
      c: DenseMatrix | DeviceMatrix
    }
    const ms = performance.now() - begin
    if (firstDifference(await download(c), next.expected)) findings.wrong(`${of}: the next product is wrong`)
    return ms
  }
  await product(options)
  const begin = performance.now()
  await product(options)
  const whole = performance.now() - begin
  findings.figure(of, 'the whole product', 'ms', whole)
  const usual = []
  for (let repetition = -3; repetition < repetitions; repetition++) {
    const ms = await timeNext()
    if (repetition >= 0) usual.push(ms)
  }
  findings.figure(of, `a product of ${NEXT}³, otherwise`, 'ms', usual)
  for (const [when, moment] of Object.entries(moments)) {
    findings.progress(`${of} ${when}`, 0.5)
    const [settling, after, codes] = [[] as number[], [] as number[], new Map<string, number>()]
    for (let repetition = 0; repetition < repetitions; repetition++) {
      const controller = new AbortController()
      const before = when.startsWith('while another') ? product(options) : null
      const abort = () => {
        const now = performance.now()
        controller.abort()
        return now
      }
      const early = moment === null ? abort() : 0
      const running = product({ ...options, signal: controller.signal })
      const pause = moment?.(whole) ?? 0
      if (pause > 0) await sleep(pause)
      const aborted = moment === null ? early : abort()
      const { end, code } = await running
      // A product that was done before it could be given up settled before.
      settling.push(Math.max(0, end - aborted))
      codes.set(code, (codes.get(code) ?? 0) + 1)
      if (code !== 'done' && code !== 'ERR_MPMML_ABORTED') findings.wrong(`${of} ${when}: ${code}`)
      const other = await before
      if (other && other.code !== 'done')
        findings.wrong(`${of} ${when}: the other product ended with ${other.code}`)
      after.push(await timeNext())
    }
    const note = [...codes].map(([code, count]) => `${count} ${code}`).join(', ')
    findings.figure(of, `given up ${when}: until it settles`, 'ms', settling, { ...asked, note })
    findings.figure(of, 'the longest of them', 'ms', greatest(settling), asked)
    findings.figure(of, `the next ${NEXT}³ after it`, 'ms', after)
  }
}

async function uploaded(device: Device, { a, b }: Operands): Promise<Operands> {
  const upload = async (source: DenseMatrix | DeviceMatrix) =>
    (await device.upload(source as DenseMatrix)) as DeviceMatrix
  return { a: await upload(a), b: await upload(b) }
}

export const abort: Suite = {
  shows: 'products that are given up: the time until the promise settles, and what the next product takes',
  async run({ backend, device: index, quick, repetitions }, findings) {
    const size = quick ? 512 : backend === 'cuda' ? 8192 : 2048
    const asked = quick ? {} : { must: 50, aim: 20 }
    const times = repetitions ?? (quick ? 2 : 7)
    const square = (rows: number, seed: number) => integers([rows, rows], seed)
    const large = { a: square(size, 1), b: square(size, 2) }
    const small = { a: square(NEXT, 3), b: square(NEXT, 4) }
    const variant = naiveVariant('max-plus', 'int32')
    const expected = mpmmSync(small.a, small.b, { variant }).c
    await giveUp(
      `${size}³ of arrays`,
      large,
      { ...small, expected },
      { backend, device: index },
      times,
      asked,
      findings,
    )
    const device = await openDevice({ backend, device: index })
    const there = await uploaded(device, large)
    const next = { ...(await uploaded(device, small)), expected }
    await giveUp(`${size}³, resident`, there, next, {}, times, asked, findings)
    await device.close()
  },
}
