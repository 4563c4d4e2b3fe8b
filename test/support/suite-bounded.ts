/** Products of which one operand has neighbours along K that differ by little: on a GPU's tensor cores, chunk by chunk. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Device, mpmm, mpmmSync, openDevice } from '../../lib/index.js'
import { semirings } from './cases.js'
import { expectElements, expectError, thrown } from './expect.js'
import { type Plain, Random } from './generators.js'
import { tensorCores } from './machine.js'
import {
  type Dense,
  type OracleOptions,
  oracle,
  type SemiringName,
  type Strided,
  zeroValue,
} from './oracle.js'
import { caught } from './resident.js'
import { exponentVariants } from './table.js'

/** K is neither whole tiles of 64 steps nor whole chunks of 32. */
const [m, k, n] = [141, 613, 150] as const
const chunk = 32

/** An element of the bounded operand: line and step. */
type Element = (line: number, step: number) => number

/** Differences of ±1, columns far apart. */
function walk(seed: number): Element {
  const values = new Map<number, Int32Array>()
  return (line, step) => {
    let steps = values.get(line)
    if (!steps) {
      const random = new Random(seed + line)
      steps = new Int32Array(k)
      steps[0] = random.integer(-100_000_000, 100_000_000)
      for (let at = 1; at < k; at++) steps[at] = steps[at - 1]! + (random.chance(0.5) ? 1 : -1)
      values.set(line, steps)
    }
    return steps[step]!
  }
}

/** Whole chunks are `most` apart, and go up and down by a million from one to the next. */
const jumps =
  (most: number): Element =>
  (line, step) =>
    (line % 7) * 1_000_000 +
    (Math.floor(step / chunk) % 2) * 1_000_000 +
    (step % chunk === 9 ? most : step % 5)

/** Lines spread by `most`: all chunks but the sixth are that far below it. */
const tall =
  (most: number): Element =>
  (line, step) =>
    line * 1000 + (Math.floor(step / chunk) === 5 ? most - (step % 5) : step % 7)

/** Results at the places where those lines are low, high, and where both are equally good but for 1. */
const acrossTall =
  (most: number): Element =>
  (line, step) => {
    const at = Math.floor(step / chunk)
    const kind = line % 6
    if (kind === 0) return step === 9 * chunk + (line % chunk) ? -line : Number.NaN
    if (kind === 1) return at === 5 ? -100_000_000 + step : at === 9 ? 100_000_000 : Number.NaN
    if (kind === 2) return Number.NaN
    return (at === 5 ? kind - 4 - most : at === 9 ? 0 : -40_000) + (step % 2)
  }

/** In these chunks of some lines, one step is 32 better and one 32 worse than the others. */
function rough(line: number, step: number, chunks: readonly number[], other: Element): number {
  if (line % 3 !== 1 || !chunks.includes(Math.floor(step / chunk))) return other(line, step)
  return other(line, step) + (step % chunk === 7 ? 32 : step % chunk === 21 ? -32 : 0)
}

/** The last chunk, which isn't whole, is ε in some lines, and chunk 2 holds anything. */
const holes: Element = (line, step) => {
  if (step >= 608 && line % 2) return Number.NaN
  if (Math.floor(step / chunk) === 2) return ((line * 7919 + step * 104_729) % 20_011) * 1000
  return step % 31
}

const bounded: [string, Element, fits: boolean][] = [
  ['differences of ±1', walk(1), true],
  ['31 within a chunk', jumps(31), true],
  ['32 within a chunk', jumps(32), false],
  // Two of the 20 chunks are rough: they are computed in integers.
  ['an ε', (line, step) => (line === n - 1 && step === 3 ? Number.NaN : step % 3), true],
  ['32 within two chunks', (line, step) => rough(line, step, [4, 18], jumps(31)), true],
  ['32 within three chunks', (line, step) => rough(line, step, [4, 11, 18], jumps(31)), false],
  ['chunks of ε, and one without bounds', holes, true],
  // Chunks that aren't aligned are 32 apart, aligned ones 31.
  ['a slope', (line, step) => step + line, true],
]

/** Stores elements as the right operand, or as the left if `isLeft`. NaN stands for ε. */
function operand(element: Element, isLeft: boolean, semiring: SemiringName): Plain {
  const lines = isLeft ? m : n
  const data = new Int32Array(lines * k)
  for (let line = 0; line < lines; line++) {
    for (let step = 0; step < k; step++) {
      const value = element(line, step)
      data[isLeft ? line * k + step : step * n + line] = Number.isNaN(value) ? zeroValue(semiring) : value
    }
  }
  return { data, shape: isLeft ? [m, k] : [k, n] }
}

/** Anything: `zeros` of the elements are ε, and whole chunks and some whole lines. */
function anything(isLeft: boolean, zeros: number, semiring: SemiringName, spread = 200_000_000): Plain {
  const random = new Random(17)
  const element: Element = (line, step) =>
    random.chance(zeros) ||
    (zeros > 0 && (line % 11 === 4 || (line % 5 === 2 && Math.floor(step / chunk) % 3 !== 1)))
      ? Number.NaN
      : random.integer(-spread / 2, spread / 2)
  return operand(element, isLeft, semiring)
}

export function boundedSuite(backend: 'cpu' | 'cuda'): void {
  const variantsOf = (semiring: SemiringName) =>
    backend === 'cuda' && tensorCores() ? exponentVariants(semiring, 'exponentbounded') : []

  let device: Device
  beforeAll(async () => {
    device = await openDevice({ backend })
  })
  afterAll(() => device.close())

  describe.each(semirings)('%s', (semiring) => {
    const own = variantsOf(semiring)

    const expected = (a: Strided, b: Strided, options: Partial<OracleOptions> = {}): Dense => {
      const product = oracle(a, b, { semiring, ...options })
      return product.overflow ? expect.fail('no sum leaves int32') : product
    }

    async function expectProduct(a: Plain, b: Plain, fits: boolean, what: string): Promise<void> {
      const right = expected(a, b)
      expectElements(mpmmSync(a, b, { backend, semiring }).c as Strided, right, what)
      const there = { a: await device.upload(a), b: await device.upload(b) }
      const { c } = await mpmm(there.a, there.b, { semiring })
      expectElements((await c.download()) as Strided, right, `${what}, resident`)
      c.dispose()
      for (const variant of own) {
        if (fits) {
          const result = mpmmSync(a, b, { semiring, variant })
          expectElements(result.c as Strided, right, `${what}, ${variant}`)
          expect(result.path).toBe('exponent-bounded')
          const resident = await mpmm(there.a, there.b, { semiring, variant })
          expectElements((await resident.c.download()) as Strided, right, `${what}, ${variant}, resident`)
          resident.c.dispose()
        } else {
          expectError(
            thrown(() => mpmmSync(a, b, { semiring, variant })),
            'ERR_MPMML_VARIANT',
            `variant ${variant} can't run this product`,
          )
          expectError(await caught(mpmm(there.a, there.b, { semiring, variant })), 'ERR_MPMML_VARIANT')
        }
      }
      for (const matrix of [there.a, there.b]) matrix.dispose()
    }

    it.each(bounded)('B: %s', async (what, element, fits) => {
      const b = operand(element, false, semiring)
      for (const zeros of [0, 0.3, 0.95]) {
        await expectProduct(anything(true, zeros, semiring), b, fits, `${what}, ${zeros} of A is ε`)
      }
    })

    it.each(bounded)('A: %s', async (what, element, fits) => {
      const a = operand(element, true, semiring)
      for (const zeros of [0, 0.95]) {
        await expectProduct(a, anything(false, zeros, semiring), fits, `${what}, ${zeros} of B is ε`)
      }
    })

    // Offsets of lines that spread by up to 10 900 fit halves of words, others don't.
    it.each([0, 31, 10_899, 10_900, 10_901, 12_000, 70_000])('lines that spread by %i', async (most) => {
      for (const isLeft of [false, true]) {
        const tallOne = operand(tall(most), isLeft, semiring)
        for (const sign of [1, -1]) {
          const other = operand((line, step) => sign * acrossTall(most)(line, step), !isLeft, semiring)
          const [a, b] = isLeft ? [tallOne, other] : [other, tallOne]
          await expectProduct(a, b, true, `${isLeft ? 'A' : 'B'} spreads by ${most}, ${sign}`)
        }
      }
    })

    it('distances that are just short enough, and one more', async () => {
      // 6 · (1_000_031 + x) + 512 < 2^31: the distances of B and of A.
      const most = Math.floor((2 ** 31 - 513) / 6) - 1_000_031
      for (const [spread, fits] of [
        [most, true],
        [most + 1, false],
      ] as const) {
        const a = anything(true, 0.5, semiring, 2)
        const zero = zeroValue(semiring)
        // A row has both ends, in chunks of their own.
        a.data.fill(zero, 0, k)
        a.data[5] = -100_000_000
        a.data[k - 1] = -100_000_000 + spread
        const b = operand(jumps(31), false, semiring)
        await expectProduct(a, b, fits, `${spread}`)
      }
    })

    it.each([
      ['smooth', walk(5)],
      ['smooth, with a great spread', jumps(31)],
      ['with rough chunks', holes],
    ] as const)('batches, C0, strides and int16: %s', (_what, narrow) => {
      const a = anything(true, 0.4, semiring)
      const b = operand(narrow, false, semiring)
      const c0 = operand(
        (line, step) => ((line + step) % 3 ? Number.NaN : 150_000_000 - line),
        false,
        semiring,
      )
      const accumulate = { data: c0.data.subarray(0, m * n), shape: [m, n] }
      const right = expected(a, b, { c0: accumulate })
      const batch = {
        data: new Int32Array([...b.data, ...operand(walk(6), false, semiring).data]),
        shape: [2, k, n],
      }
      const short = anything(true, 0, semiring, 30_000)
      const int16 = { data: Int16Array.from(short.data), shape: short.shape }
      const transposed = { data: new Int32Array(n * k), shape: [k, n], strides: [1, k] }
      for (let step = 0; step < k; step++) {
        for (let col = 0; col < n; col++) transposed.data[col * k + step] = b.data[step * n + col]!
      }
      for (const variant of [undefined, ...own]) {
        const options = { backend, semiring, ...(variant && { variant }) } as const
        expectElements(mpmmSync(a, b, { ...options, accumulate }).c as Strided, right, `C0, ${variant}`)
        expectElements(mpmmSync(a, batch, options).c as Strided, expected(a, batch), `batch, ${variant}`)
        expectElements(
          mpmmSync(a, transposed, options).c as Strided,
          expected(a, b),
          `transposed, ${variant}`,
        )
        expectElements(
          mpmmSync(int16, transposed, options).c as Strided,
          expected(short, b),
          `int16, ${variant}`,
        )
      }
    })
  })
}
