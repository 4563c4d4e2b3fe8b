/** Measures how soon an aborted product settles, and whether it affects the next product. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type DenseMatrix, type Device, type DeviceMatrix, type MpmmOptions, mpmm } from '../../lib/index.js'
import { elapsed, repeat } from '../experiment.js'
import { greatest } from '../min-max.js'
import { integers } from '../timing/values.js'
import { firstDifference } from '../verify.js'
import { type Bench, naiveProduct, type Suite } from './suite.js'

const NEXT = 200

interface Operands {
  a: DenseMatrix | DeviceMatrix
  b: DenseMatrix | DeviceMatrix
}

/** Product that runs after an aborted product. */
interface Next extends Operands {
  expected: DenseMatrix
}

/**
 * Delay of the abort after the call in ms, computed from the duration of the whole product; null: before the
 * call.
 */
const moments = {
  'before the call': null,
  'right after the call': () => 0,
  'while another one runs before it': (whole: number) => whole / 3,
  'half-way': (whole: number) => whole / 2,
} as const

/** Awaits an aborted product, and returns the time of its end and its error code. */
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

async function abortCalls(
  bench: Bench,
  of: string,
  { a, b }: Operands,
  next: Next,
  options: MpmmOptions,
): Promise<void> {
  const repetitions = bench.times(2, 7)
  const goal = bench.usually({ must: 50, aim: 20 })
  const multiply = (given: MpmmOptions): Promise<unknown> => mpmm(a, b, given as never)
  const product = (given: MpmmOptions) => settled(multiply(given))
  const timeNext = async () => {
    const begin = performance.now()
    const { c } = (await mpmm(next.a, next.b, options as never)) as unknown as {
      c: DenseMatrix | DeviceMatrix
    }
    const ms = performance.now() - begin
    if (firstDifference(await download(c), next.expected)) bench.wrong(`${of}: the next product is wrong`)
    return ms
  }
  await product(options)
  const whole = await elapsed(() => product(options))
  bench.figure(of, 'the whole product', 'ms', whole)
  bench.figure(of, `a product of ${NEXT}³, otherwise`, 'ms', await repeat(repetitions, 3, timeNext))
  for (const [when, moment] of Object.entries(moments)) {
    bench.onPart(`${of} ${when}`, 0.5)
    const codes = new Map<string, number>()
    const samples = await repeat(repetitions, 0, async () => {
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
      codes.set(code, (codes.get(code) ?? 0) + 1)
      if (code !== 'done' && code !== 'ERR_MPMML_ABORTED') bench.wrong(`${of} ${when}: ${code}`)
      const other = await before
      if (other && other.code !== 'done')
        bench.wrong(`${of} ${when}: the other product ended with ${other.code}`)
      // A product may finish before the abort: `end` precedes `aborted` then.
      return { settling: Math.max(0, end - aborted), next: await timeNext() }
    })
    const note = [...codes].map(([code, count]) => `${count} ${code}`).join(', ')
    const settling = samples.map((sample) => sample.settling)
    bench.figure(of, `aborted ${when}: until it settles`, 'ms', settling, { ...goal, note })
    bench.figure(of, 'the longest of them', 'ms', greatest(settling), goal)
    bench.figures(of, samples, [[`the next ${NEXT}³ after it`, 'ms', (sample) => sample.next]])
  }
}

async function uploaded(device: Device, { a, b }: Operands): Promise<Operands> {
  const upload = async (source: DenseMatrix | DeviceMatrix) =>
    (await device.upload(source as DenseMatrix)) as DeviceMatrix
  return { a: await upload(a), b: await upload(b) }
}

export const abort: Suite = {
  shows: 'aborted products: the time until the promise settles, and the time of the next product',
  grid(bench) {
    const size = bench.pick(512, 8192, 2048)
    const square = (rows: number, seed: number) => integers([rows, rows], seed)
    const large = { a: square(size, 1), b: square(size, 2) }
    const small = { a: square(NEXT, 3), b: square(NEXT, 4) }
    const expected = naiveProduct(small.a, small.b)
    const [arrays, resident] = [`${size}³ of arrays`, `${size}³, resident`]
    return [
      [arrays, () => abortCalls(bench, arrays, large, { ...small, expected }, bench.place)],
      [
        resident,
        async () => {
          const device = await bench.device()
          const next = { ...(await uploaded(device, small)), expected }
          await abortCalls(bench, resident, await uploaded(device, large), next, {})
        },
      ],
    ]
  },
}
