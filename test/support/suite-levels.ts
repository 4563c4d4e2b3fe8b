/** Products whose elements are few levels apart within the lines of an operand: on a GPU's tensor cores as exponents. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type DataType,
  type Device,
  type DeviceMatrix,
  type MatrixLike,
  mpmm,
  mpmmSync,
  openDevice,
  plan,
} from '../../lib/index.js'
import { semirings } from './cases.js'
import { expectElements, expectError, thrown } from './expect.js'
import { type FloatMatrix, floatMismatch, floatOracle } from './float-oracle.js'
import { type Plain, Random } from './generators.js'
import { tensorCores } from './machine.js'
import { type Dense, oracle, type SemiringName, type Strided, zeroValue } from './oracle.js'
import { caught } from './resident.js'
import { exponentVariants } from './table.js'

/** The elements of an operand's lines: the rows of A, the columns of B. */
interface Lines {
  /** How far elements of the last line are apart. Those of other lines are less. */
  spread: number
  /** The share of ε. */
  zeros?: number
  /** Whether every fifth line is all ε. */
  empty?: boolean
  /** Whether the last line has an ε. */
  oneZero?: boolean
}

/** More than one slot of pinned memory holds, and more than the library looks at to guess how lines are. */
const [m, k, n] = [300, 530, 310] as const
const anything: Lines = { spread: 200_000_000, zeros: 0.3 }

const cases: [string, Lines, Lines, paths: string[]][] = [
  ['31 in B, anything in A', anything, { spread: 31 }, ['exponent', 'exponent-wide']],
  ['32 in B, anything in A', anything, { spread: 32 }, ['exponent-wide']],
  ['37 in B, anything in A', anything, { spread: 37 }, ['exponent-wide']],
  ['38 in B, anything in A', anything, { spread: 38 }, []],
  ['31 in A, anything in B', { spread: 31 }, anything, ['exponent', 'exponent-wide']],
  ['38 in A, anything in B', { spread: 38 }, anything, []],
  ['31 in A with an ε', { spread: 31, oneZero: true }, anything, []],
  ['31 in A with rows of ε', { spread: 31, empty: true }, anything, ['exponent', 'exponent-wide']],
  [
    '41 in both, ε',
    { spread: 20, zeros: 0.2 },
    { spread: 21, zeros: 0.2, empty: true },
    ['exponent', 'exponent-wide'],
  ],
  ['42 in both, ε', { spread: 21, zeros: 0.2 }, { spread: 21, zeros: 0.2 }, ['exponent-wide']],
  ['49 in both, ε', { spread: 24, zeros: 0.2 }, { spread: 25, zeros: 0.2 }, ['exponent-wide']],
  ['50 in both, ε', { spread: 25, zeros: 0.2 }, { spread: 25, zeros: 0.2 }, []],
]

function lines(
  side: 'A' | 'B',
  { spread, zeros = 0, empty = false, oneZero = false }: Lines,
  semiring: SemiringName,
  seed: number,
  batch?: number,
): Plain {
  const random = new Random(seed)
  const [rows, cols] = side === 'A' ? [m, k] : [k, n]
  const [count, length] = side === 'A' ? [m, k] : [n, k]
  const items = batch ?? 1
  const data = new Int32Array(items * rows * cols)
  const zero = zeroValue(semiring)
  for (let item = 0; item < items; item++) {
    for (let line = 0; line < count; line++) {
      const isLast = item === items - 1 && line === count - 1
      const center = spread > 1000 ? -100_000_000 : (((line * 37) % 201) - 100) * 1_000_000
      for (let step = 0; step < length; step++) {
        const at = item * rows * cols + (side === 'A' ? line * cols + step : step * cols + line)
        data[at] = center + random.integer(0, isLast ? spread : spread - 1)
        if (isLast && step < 2) data[at] = center + step * spread
        else if ((empty && line % 5 === 3) || random.chance(zeros)) data[at] = zero
        else if (isLast && oneZero && step === length - 1) data[at] = zero
      }
    }
  }
  return { data, shape: batch === undefined ? [rows, cols] : [batch, rows, cols] }
}

/** Floats of a line: offset + step · an integer. */
interface FloatLines extends Lines {
  step?: number
  offset?: number
  /** How far the lines are apart, in steps. */
  apart?: number
  /** The last element of all. */
  last?: number
}

const [floatM, floatK, floatN] = [300, 530, 310] as const
const anyWhole: FloatLines = { spread: 100_000, zeros: 0.3 }
const both = ['exponent', 'exponent-wide']

const floatCases: [string, FloatLines, FloatLines, paths: string[]][] = [
  ['whole numbers, 31 in B', anyWhole, { spread: 31 }, both],
  ['whole numbers, 32 in A', { spread: 32 }, anyWhole, ['exponent-wide']],
  ['whole numbers, 38 in A', { spread: 38 }, anyWhole, []],
  [
    'steps of 1/2 from −3.25',
    { spread: 31, step: 0.5, offset: -3.25 },
    { ...anyWhole, step: 0.5, apart: 0 },
    both,
  ],
  ['steps of 3 and of 6', { spread: 15, step: 6, offset: 1 }, { ...anyWhole, step: 3, offset: 0.5 }, both],
  ['steps of 6 and of 4, 18 of 6', { spread: 18, step: 6 }, { ...anyWhole, step: 4 }, []],
  ['steps of 1/10, which floats round', { spread: 9, step: 0.1 }, { spread: 9, step: 0.1 }, []],
  ['41 in both, ε', { spread: 20, zeros: 0.2 }, { spread: 21, zeros: 0.2 }, both],
  ['50 in both, ε', { spread: 25, zeros: 0.2 }, { spread: 25, zeros: 0.2 }, []],
  ['31 and columns of ε', anyWhole, { spread: 31, empty: true }, both],
  // Floats have 24 bits.
  ['sums up to 2²⁴', { spread: 31, apart: 0, last: 2 ** 24 - 31 }, { spread: 31, apart: 0 }, both],
  ['sums beyond 2²⁴', { spread: 31, apart: 0, last: 2 ** 24 - 30 }, { spread: 31, apart: 0 }, []],
  ['−0 in A', { spread: 31, apart: 0, last: -0 }, anyWhole, both],
  ['−0 in A and B', { spread: 31, apart: 0, last: -0 }, { ...anyWhole, last: -0 }, []],
  ['NaN in A', { spread: 31, last: Number.NaN }, { spread: 31 }, []],
  ['the other infinity in B', { spread: 31 }, { spread: 31, last: Number.POSITIVE_INFINITY }, []],
  ['a tiny number in A', { spread: 31, last: 2 ** -149 }, { spread: 31 }, []],
]

function floatLines(side: 'A' | 'B', lines: FloatLines, semiring: SemiringName, seed: number): FloatMatrix {
  const { spread, zeros = 0, empty = false, step = 1, offset = 0, apart = 50, last } = lines
  const random = new Random(seed)
  const [rows, cols] = side === 'A' ? [floatM, floatK] : [floatK, floatN]
  const sign = semiring === 'max-plus' ? 1 : -1
  const data = new Float32Array(rows * cols)
  for (let at = 0; at < data.length; at++) {
    const [row, col] = [Math.floor(at / cols), at % cols]
    const [line, k] = side === 'A' ? [row, col] : [col, row]
    const level = k < 2 ? k * spread : random.integer(0, spread)
    const zero = (empty && line % 5 === 3) || random.chance(zeros)
    const value = offset + step * ((((line * 37) % 201) - 100) * apart + level)
    data[at] = zero ? -sign * Number.POSITIVE_INFINITY : value
  }
  if (last !== undefined) data[data.length - 1] = Object.is(last, -0) ? -0 : sign * last
  return { data, shape: [rows, cols] }
}

/** By the path of their sums. */
const accumulators = { exponent: 'exponent', 'exponent-wide': 'exponentwide' }

export function levelsSuite(backend: 'cpu' | 'cuda'): void {
  const computes = backend === 'cuda' && tensorCores()
  /** The variants that compute exponents here, and their paths. */
  const variantsOf = (semiring: SemiringName, dtype: DataType = 'int32') =>
    (computes ? Object.entries(accumulators) : []).flatMap(([path, accumulator]) =>
      exponentVariants(semiring, accumulator, dtype).map((variant) => [path, variant] as const),
    )
  const wideVariantsOf = (semiring: SemiringName) =>
    variantsOf(semiring).filter(([path]) => path === 'exponent-wide')
  const expected = (a: Strided, b: Strided, semiring: SemiringName): Dense => {
    const product = oracle(a, b, { semiring })
    return product.overflow ? expect.fail('no sum leaves int32') : product
  }

  let device: Device
  beforeAll(async () => {
    device = await openDevice({ backend })
  })
  afterAll(() => device.close())

  describe.each(semirings)('%s', (semiring) => {
    it.each(cases)('%s', async (_, linesA, linesB, paths) => {
      const a = lines('A', linesA, semiring, 1)
      const b = lines('B', linesB, semiring, 2)
      const right = expected(a, b, semiring)
      expectElements(mpmmSync(a, b, { backend, semiring }).c as Strided, right)
      const there = { a: await device.upload(a), b: await device.upload(b) }
      for (const [path, variant] of variantsOf(semiring)) {
        if (paths.includes(path)) {
          expect((await plan(a, b, { semiring, variant })).path).toBe(path)
          const result = mpmmSync(a, b, { semiring, variant })
          expectElements(result.c as Strided, right, variant)
          expect(result.path).toBe(path)
          // Twice, because what is found about the lines stays known.
          for (const turn of ['first', 'second']) {
            const { c, path: taken } = await mpmm(there.a, there.b, { semiring, variant })
            expectElements((await c.download()) as Strided, right, `${variant}, resident, ${turn}`)
            expect(taken).toBe(path)
            c.dispose()
          }
        } else {
          const refusal = [`variant ${variant} can't run this product`] as const
          expectError(
            thrown(() => mpmmSync(a, b, { semiring, variant })),
            'ERR_MPMML_VARIANT',
            ...refusal,
          )
          expectError(
            await caught(mpmm(there.a, there.b, { semiring, variant })),
            'ERR_MPMML_VARIANT',
            ...refusal,
          )
        }
      }
      const { c } = await mpmm(there.a, there.b, { semiring })
      expectElements((await c.download()) as Strided, right, 'resident')
      for (const matrix of [c, there.a, there.b]) matrix.dispose()
    })

    it.each(floatCases)('float32: %s', async (_, linesA, linesB, paths) => {
      const a = floatLines('A', linesA, semiring, 1)
      const b = floatLines('B', linesB, semiring, 2)
      const accumulate = floatLines('B', { spread: 9, zeros: 0.5 }, semiring, 3)
      const c0 = { data: accumulate.data.subarray(0, floatM * floatN), shape: [floatM, floatN] }
      const right = floatOracle(a, b, semiring)
      const rightWithC0 = floatOracle(a, b, semiring, c0)
      const matches = (c: unknown, wanted: typeof right, what: string) =>
        expect(floatMismatch(c as FloatMatrix, wanted), what).toBeUndefined()
      const product = mpmm as (a: unknown, b: unknown, options: object) => ReturnType<typeof mpmm>
      const productNow = mpmmSync as (a: unknown, b: unknown, options: object) => ReturnType<typeof mpmmSync>
      matches(productNow(a, b, { backend, semiring }).c, right, 'by itself')
      const there = [await device.upload(a as never), await device.upload(b as never)]
      for (const [path, variant] of variantsOf(semiring, 'float32')) {
        const options = { semiring, variant }
        if (paths.includes(path)) {
          const result = productNow(a, b, options)
          matches(result.c, right, variant)
          expect(result.path).toBe(path)
          matches(productNow(a, b, { ...options, accumulate: c0 }).c, rightWithC0, `${variant}, accumulated`)
          const resident = await product(there[0], there[1], options)
          matches(await (resident.c as unknown as DeviceMatrix).download(), right, `${variant}, resident`)
          expect(resident.path).toBe(path)
        } else {
          expectError(
            thrown(() => productNow(a, b, options)),
            'ERR_MPMML_VARIANT',
          )
          expectError(await caught(product(there[0], there[1], options)), 'ERR_MPMML_VARIANT')
        }
      }
      const { c } = await product(there[0], there[1], { semiring })
      matches(await (c as unknown as DeviceMatrix).download(), right, 'resident')
      for (const matrix of [c as unknown as DeviceMatrix, ...there]) matrix.dispose()
    })

    // A sum has 31 steps, a tile 62: equal elements reach the greatest sum, which is just below that of the next level.
    it.each([1, 30, 31, 32, 61, 62, 63, 93, 124, 125])(
      '%i steps that are all equal, or one but the last',
      (depth) => {
        const sign = semiring === 'max-plus' ? 1 : -1
        const element = (line: number, step: number): number =>
          sign *
          (line % 3 === 0
            ? 5
            : line % 3 === 1
              ? step === depth - 1
                ? 4
                : 3
              : step === line % depth
                ? 41
                : 4)
        const a = { data: new Int32Array(40 * depth), shape: [40, depth] }
        const b = { data: new Int32Array(depth * 50), shape: [depth, 50] }
        for (let step = 0; step < depth; step++) {
          for (let row = 0; row < 40; row++) a.data[row * depth + step] = element(row, step)
          for (let col = 0; col < 50; col++) b.data[step * 50 + col] = element(col, step)
        }
        const right = expected(a, b, semiring)
        for (const [, variant] of [[undefined, undefined], ...wideVariantsOf(semiring)] as const) {
          const options = { backend, semiring, ...(variant && { variant }) } as const
          expectElements(mpmmSync(a, b, options).c as Strided, right, variant)
        }
      },
    )

    it('a line of a batch decides', async () => {
      const a = lines('A', anything, semiring, 3)
      for (const [spread, fits] of [
        [37, true],
        [38, false],
      ] as const) {
        const b = lines('B', { spread }, semiring, 4, 2)
        const right = expected(a, b, semiring)
        expectElements(mpmmSync(a, b, { backend, semiring }).c as Strided, right)
        for (const [path, variant] of wideVariantsOf(semiring)) {
          if (fits) {
            const result = mpmmSync(a, b, { semiring, variant })
            expectElements(result.c as Strided, right, variant)
            expect(result.path).toBe(path)
          } else {
            expectError(
              thrown(() => mpmmSync(a, b, { semiring, variant })),
              'ERR_MPMML_VARIANT',
            )
          }
        }
      }
    })

    it('views have lines of their own', async () => {
      // The rows of A have few levels, its columns any; its last row is one level too far apart.
      const a = lines('A', { spread: 38 }, semiring, 5)
      const b = lines('B', anything, semiring, 6)
      const there = { a: await device.upload(a), b: await device.upload(b) }
      const transposed = ({ data, shape: [rows, cols] }: Plain): MatrixLike & Strided => ({
        data,
        shape: [cols, rows],
        strides: [1, cols],
      })
      for (const [path, variant] of [[undefined, undefined], ...wideVariantsOf(semiring)] as const) {
        const options = variant ? { semiring, variant } : { semiring }
        const all = there.a.view({ rows: [0, m - 1] })
        const { c, path: taken } = await mpmm(all, there.b, options)
        const some = { data: a.data, shape: [m - 1, k] }
        expectElements((await c.download()) as Strided, expected(some, b, semiring), 'without the last row')
        if (path) expect(taken).toBe(path)
        // Bᵀ ⊗ Aᵀ: the columns of Aᵀ are the rows of A.
        const other = await mpmm(there.b.transpose(), all.transpose(), options)
        const right = expected(
          transposed(b),
          transposed({ data: a.data.subarray(0, (m - 1) * k), shape: [m - 1, k] }),
          semiring,
        )
        expectElements((await other.c.download()) as Strided, right, 'transposed')
        if (path) expect(other.path).toBe(path)
        if (variant) {
          expectError(await caught(mpmm(there.a, there.b, options)), 'ERR_MPMML_VARIANT')
          // The lines of Aᵀ as the left operand are A's columns.
          expectError(await caught(mpmm(all.transpose(), all, options)), 'ERR_MPMML_VARIANT')
        }
        for (const matrix of [c, other.c]) matrix.dispose()
      }
      for (const matrix of [there.a, there.b]) matrix.dispose()
    })

    it('what is written is looked at again', async () => {
      const a = lines('A', { spread: 31 }, semiring, 7)
      const b = lines('B', anything, semiring, 8)
      const there = { a: await device.upload(a), b: await device.upload(b) }
      const product = async (what: string) => {
        const right = expected(a, b, semiring)
        const { c } = await mpmm(there.a, there.b, { semiring })
        expectElements((await c.download()) as Strided, right, what)
        c.dispose()
      }
      for (const [, variant] of variantsOf(semiring)) {
        ;(await mpmm(there.a, there.b, { semiring, variant })).c.dispose()
      }
      await product('as it was uploaded')
      // One element that is better than all others.
      const better = 300_000_000 * (semiring === 'max-plus' ? 1 : -1)
      const d = { data: new Int32Array(m * k).fill(zeroValue(semiring)), shape: [m, k] }
      a.data[k] = d.data[k] = better
      const written = await device.upload(d)
      await there.a.combine(written, { semiring })
      for (const [, variant] of variantsOf(semiring)) {
        expectError(await caught(mpmm(there.a, there.b, { semiring, variant })), 'ERR_MPMML_VARIANT')
      }
      await product('after an element was written')
      for (const matrix of [written, there.a, there.b]) matrix.dispose()
    })
  })
}
