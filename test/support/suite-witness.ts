/** The option `witness`: the same for both backends, for arrays and matrices on a device, by itself and in groups. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type DenseMatrix,
  type Device,
  type DeviceMatrix,
  type GroupedProduct,
  type MatrixLike,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  type OperandArray,
  openDevice,
  plan,
  type VariantName,
  variants,
  type WitnessedResult,
} from '../../lib/index.js'
import { type Algebra, algebras, arrayOf, zeroOf } from './algebras.js'
import { layoutsOf, policies, type Size } from './cases.js'
import { expectError, thrown } from './expect.js'
import { type Witnessed, witnessOracle } from './expected-witness.js'
import { listOf, Random } from './generators.js'
import type { Strided } from './oracle.js'
import { caught, elements, type Made, made } from './resident.js'
import { type Options, untyped } from './untyped.js'

type Any = MatrixLike<OperandArray>
type Result = WitnessedResult<DenseMatrix, true>
const { product, productNow, group } = untyped<true>()

const idempotent = algebras.filter(({ semiring }) => semiring !== 'plus-times')
const int32Sums = idempotent.filter(
  ({ semiring, type }) => type === 'int32' && (semiring === 'max-plus' || semiring === 'min-plus'),
)
const typed = ({ type }: Algebra, values: number[]): OperandArray =>
  (arrayOf[type] as { from(values: number[]): OperandArray }).from(values)

/** Around tiles, slabs of K and windows in them; primes; thin. */
const sizes: Size[] = [
  [1, 1, 1],
  [3, 64, 5],
  [17, 65, 33],
  [33, 63, 31],
  [37, 257, 67],
  [131, 31, 37],
  [13, 1031, 14],
  [2, 700, 67],
  [66, 513, 3],
  [1, 2000, 1],
]

/** Sizes of one product that is large enough for several blocks and threads. */
const large: Size = [131, 600, 147]

interface Kind {
  /** How much of an operand is zero. */
  zeros: number
  /** The finite values: few lead to ties. */
  spread: number
  /** For int32, what is added to all of them. */
  center?: number
}
const kinds: Record<string, Kind> = {
  ties: { zeros: 0, spread: 3 },
  'ties and ε': { zeros: 0.3, spread: 3 },
  'mostly ε': { zeros: 0.95, spread: 1000 },
  'only ε': { zeros: 1, spread: 0 },
  '7-bit values': { zeros: 0, spread: 127 },
  '7-bit values far from 0': { zeros: 0, spread: 127, center: 900_000_000 },
  '6-bit values and ε': { zeros: 0.2, spread: 62 },
  '16-bit values': { zeros: 0, spread: 30_000 },
  '16-bit values far from 0': { zeros: 0, spread: 20_000, center: 900_000_000 },
  '14-bit values and ε': { zeros: 0.2, spread: 16_000 },
  'any values': { zeros: 0, spread: 300_000_000 },
  'any values and ε': { zeros: 0.1, spread: 300_000_000 },
}

function value(
  random: Random,
  { type, semiring }: Algebra,
  { zeros, spread, center = 0 }: Kind,
  zero: number,
) {
  if (random.chance(zeros)) return zero
  if (type === 'uint8') return random.pick([0, 0, 0, 1, 255])
  const least = semiring === 'max-times' ? 0 : -spread >> 1
  const integer = random.integer(least, spread >> 1)
  return type === 'int32' ? center + integer : spread > 10 ? integer / 1024 : integer
}

function filled(algebra: Algebra, kind: Kind, shape: number[], seed: number): Made {
  const random = new Random(seed)
  const zero = zeroOf(algebra)
  const length = shape.reduce((count, size) => count * size, 1)
  return made(
    typed(
      algebra,
      listOf(length, () => value(random, algebra, kind, zero)),
    ),
    shape,
  )
}

/** Some equal to results, some better, some worse, some zero. */
export function startsFor({ values, shape }: Witnessed, algebra: Algebra, seed: number): Made {
  const random = new Random(seed)
  const zero = zeroOf(algebra)
  const starts = values.map((result) => {
    const other = algebra.type === 'uint8' ? random.integer(0, 1) : Math.max(0, result) + random.integer(0, 2)
    return random.pick([result, result, zero, other, values[random.integer(0, values.length - 1)]!])
  })
  return made(typed(algebra, starts), shape)
}

/** Fails unless the witness, and the result, are as the definition says. */
export function expectWitness(result: { c: Any; witness: Any }, expected: Witnessed, what: string): void {
  expect(Array.from(result.witness.shape), what).toEqual(expected.shape)
  expect(result.witness.data, what).toBeInstanceOf(Int32Array)
  const [values, came] = [elements(result.c), elements(result.witness)]
  const at = came.findIndex((k, index) => k !== expected.witness[index])
  if (at >= 0) {
    const count = came.filter((k, index) => k !== expected.witness[index]).length
    expect.fail(
      `${what}: witness ${at} is ${came[at]} and should be ${expected.witness[at]}; ${count} of ${came.length} differ ` +
        `(C is ${values[at]} there, and should be ${expected.values[at]})`,
    )
  }
  const wrong = values.findIndex((x, index) => x !== expected.values[index])
  if (wrong >= 0)
    expect.fail(`${what}: C ${wrong} is ${values[wrong]} and should be ${expected.values[wrong]}`)
}

/** Computes the product with its witness, and checks both. An overflow must be an error. */
function expectWitnessed(algebra: Algebra, a: Any, b: Any, options: Options, what: string, c0?: Any): void {
  const { overflow = 'throw' } = options
  const expected = witnessOracle(algebra, a, b, overflow, c0)
  const all: Options = { ...options, semiring: algebra.semiring, witness: true }
  if (algebra.type === 'float32' || algebra.type === 'float64') delete all.overflow
  if (c0) all.accumulate = c0 as never
  if (expected.overflow === undefined || overflow !== 'throw') {
    expectWitness(productNow(a, b, all), expected, what)
    return
  }
  expectError(
    thrown(() => productNow(a, b, all)),
    'ERR_MPMML_OVERFLOW',
  )
}

export function witnessSuite(backend: 'cpu' | 'cuda'): void {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ backend })
  })
  afterAll(() => device.close())
  const open = () => device

  describe.each(idempotent)('$semiring on $type', (algebra) => {
    values(backend, algebra)
    special(backend, algebra)
    places(backend, algebra, open)
  })
  describe.each(int32Sums)('$semiring on int32', (algebra) => overflowing(backend, algebra))
  describe('what is asked for', () => asking(backend, open))
  describe('every variant', () => {
    for (const { name, backend: its, semiring, dtype } of variants()) {
      if (its !== backend || semiring === 'plus-times') continue
      it(name, () => everyVariant(name, { semiring, type: dtype }, backend))
    }
  })
}

function values(backend: 'cpu' | 'cuda', algebra: Algebra): void {
  it.each(Object.entries(kinds))('%s', (name, kind) => {
    for (const [m, k, n] of sizes) {
      const a = filled(algebra, kind, [m, k], m + k)
      const b = filled(algebra, kind, [k, n], k + n + 1)
      expectWitnessed(algebra, a, b, { backend }, `${name}, ${m} × ${k} × ${n}`)
    }
  })

  it.each(['ties', 'any values and ε'])('%s, in several blocks', (name) => {
    const [m, k, n] = large
    const [a, b] = [filled(algebra, kinds[name]!, [m, k], 5), filled(algebra, kinds[name]!, [k, n], 6)]
    expectWitnessed(algebra, a, b, { backend }, name)
    const { c } = productNow(a, b, { backend, semiring: algebra.semiring })
    const starts = startsFor({ values: elements(c), shape: [m, n], witness: [] }, algebra, 7)
    expectWitnessed(algebra, a, b, { backend }, `${name}, accumulated`, starts)
  })

  it('where C0 is better than the candidates, equal to the best, or worse', () => {
    for (const [m, k, n] of sizes) {
      for (const name of ['ties', 'ties and ε', 'any values and ε', '14-bit values and ε']) {
        const a = filled(algebra, kinds[name]!, [m, k], 3)
        const b = filled(algebra, kinds[name]!, [k, n], 4)
        const c0 = startsFor(witnessOracle(algebra, a, b), algebra, 5)
        const what = `${name}, ${m} × ${k} × ${n}`
        expectWitnessed(algebra, a, b, { backend }, what, c0)
        const expected = witnessOracle(algebra, a, b, 'throw', c0)
        const out = made(c0.data.slice(), [...c0.shape])
        const options = { backend, semiring: algebra.semiring, witness: true, accumulate: true, out } as never
        expectWitness(productNow(a, b, options), expected, `${what}, in place`)
      }
    }
  })

  it('K = 0 has no candidates', () => {
    for (const c0 of [undefined, filled(algebra, kinds.ties!, [3, 4], 1)]) {
      expectWitnessed(
        algebra,
        made(new arrayOf[algebra.type](0) as OperandArray, [3, 0]),
        made(new arrayOf[algebra.type](0) as OperandArray, [0, 4]),
        { backend },
        'K = 0',
        c0,
      )
    }
  })

  it('the winner is alone, anywhere in K', () => {
    const zero = zeroOf(algebra)
    const isLow = algebra.semiring.startsWith('max') || algebra.semiring === 'or-and'
    for (const k of [7, 130, 1500]) {
      const a = made(
        typed(
          algebra,
          listOf(9 * k, () => zero),
        ),
        [9, k],
      )
      const b = made(
        typed(
          algebra,
          listOf(k * 20, () => (isLow ? 1 : 2)),
        ),
        [k, 20],
      )
      for (let row = 0; row < 9; row++) a.data[row * k + Math.floor((row * (k - 1)) / 8)] = 1
      const expected = Array.from({ length: 180 }, (_, index) =>
        Math.floor((Math.floor(index / 20) * (k - 1)) / 8),
      )
      const { witness } = productNow(a, b, { backend, semiring: algebra.semiring, witness: true })
      expect(Array.from(witness.data), `K = ${k}`).toEqual(expected)
    }
  })

  it('K is larger than 65 536', () => {
    for (const [m, k, n, name] of [
      [1, 70_001, 3, 'ties'],
      [1, 70_001, 3, '16-bit values'],
      [13, 66_000, 13, 'any values and ε'],
    ] as const) {
      const a = filled(algebra, kinds[name]!, [m, k], 8)
      const b = filled(algebra, kinds[name]!, [k, n], 9)
      expectWitnessed(algebra, a, b, { backend }, `${name}, ${m} × ${k} × ${n}`)
    }
  })
}

/** Signed zeros, NaN and infinities of floating-point numbers; the ends of int32. */
function special(backend: 'cpu' | 'cuda', algebra: Algebra): void {
  if (algebra.type === 'uint8') return
  const isFloat = algebra.type !== 'int32'
  const isTimes = algebra.semiring === 'max-times'
  const isSum = algebra.semiring === 'max-plus' || algebra.semiring === 'min-plus'
  const infinity = Number.POSITIVE_INFINITY
  const lists: Record<string, number[]> = isFloat
    ? {
        'signed zeros': [0, -0, -0],
        'NaN and signed zeros': [0, -0, Number.NaN],
        'NaN and infinities': [Number.NaN, infinity, isTimes ? 0 : -infinity, 1, 2],
        'only NaN': [Number.NaN],
        'sums that round to the same': isTimes ? [1, 1 + 2 ** -23, 3] : [2 ** 24, 1, -1, 2 ** -30],
        'results that become infinite': isTimes ? [1e30, 1e200, 0] : [3.4e38, 1.7e308, 0, zeroOf(algebra)],
        'very small numbers': [1e-45, 5e-324, 1e-40, 0, 1],
      }
    : { 'the ends': isSum ? [] : [-(2 ** 31), 2 ** 31 - 1, 0, 2 ** 31 - 2, 1 - 2 ** 31] }
  for (const [name, list] of Object.entries(lists)) {
    if (list.length === 0) continue
    it(name, () => {
      for (const [m, k, n] of sizes) {
        const random = new Random(m + n)
        const of = (rows: number, cols: number) =>
          made(
            typed(
              algebra,
              listOf(rows * cols, () => random.pick(list)),
            ),
            [rows, cols],
          )
        const [a, b, c0] = [of(m, k), of(k, n), of(m, n)]
        const what = `${name}, ${m} × ${k} × ${n}`
        expectWitnessed(algebra, a, b, { backend }, what)
        expectWitnessed(algebra, a, b, { backend }, `${what}, accumulated`, c0)
      }
    })
  }
}

/** Layouts, batches, devices, groups, and the ways to ask. */
function places(backend: 'cpu' | 'cuda', algebra: Algebra, open: () => Device): void {
  const [m, k, n] = [19, 150, 45]
  const kind = kinds[algebra.type === 'int32' ? 'ties and ε' : 'any values and ε']!
  const options = { backend, semiring: algebra.semiring, witness: true } as const

  it.each(Object.keys(layoutsOf))('operands and results that are %s', (name) => {
    const layout = layoutsOf[name]! as unknown as (source: Any) => Strided
    const inType = (source: Made): Any => {
      const { data, ...rest } = layout({ ...source, data: Int32Array.from(source.data, (_, i) => i) })
      return {
        ...rest,
        data: typed(
          algebra,
          Array.from(data, (index) => source.data[index] ?? 0),
        ),
      }
    }
    for (const [rows, steps, cols] of [
      [m, k, n],
      [2, 90, 40],
      [40, 90, 2],
    ] as Size[]) {
      const [a, b] = [filled(algebra, kind, [rows, steps], 1), filled(algebra, kind, [steps, cols], 2)]
      const expected = witnessOracle(algebra, a, b)
      const c0 = startsFor(expected, algebra, 3)
      const what = `${name}, ${rows} × ${steps} × ${cols}`
      expectWitness(productNow(inType(a), b, options), expected, `${what}: a`)
      expectWitness(productNow(a, inType(b), options), expected, `${what}: b`)
      const out = inType(c0)
      const accumulated = { ...options, accumulate: true, out } as never
      expectWitness(productNow(a, b, accumulated), witnessOracle(algebra, a, b, 'throw', c0), `${what}: out`)
    }
  })

  it.each([
    [3, 3],
    [1, 3],
    [3, 1],
    [1, 1],
    [0, 0],
  ])('batches of %i and %i', (items, others) => {
    for (const [rows, steps, cols] of [
      [m, k, n],
      [2, 90, 40],
    ] as Size[]) {
      const a = filled(algebra, kind, [items, rows, steps], 1)
      const b = filled(algebra, kind, [others, steps, cols], 2)
      const expected = witnessOracle(algebra, a, b)
      const what = `${items} and ${others}, ${rows} × ${steps} × ${cols}`
      expectWitness(productNow(a, b, options), expected, what)
      if (items === 0) continue
      const c0 = startsFor(expected, algebra, 4)
      expectWitnessed(algebra, a, b, { backend }, `${what}, accumulated`, c0)
      const one = filled(algebra, kind, [rows, cols], 5)
      expectWitnessed(algebra, a, b, { backend }, `${what}, one C0`, one)
    }
  })

  it('of matrices on a device stays there', async () => {
    const device = open()
    for (const [rows, steps, cols] of [
      [m, k, n],
      [2, 90, 40],
      [3, 0, 4],
      [0, 3, 4],
    ] as Size[]) {
      const [a, b] = [filled(algebra, kind, [rows, steps], 1), filled(algebra, kind, [steps, cols], 2)]
      const expected = witnessOracle(algebra, a, b)
      const c0 = startsFor(expected, algebra, 3)
      const accumulated = witnessOracle(algebra, a, b, 'throw', c0)
      const A = await device.upload(a as DenseMatrix)
      const B = await device.upload(b as DenseMatrix)
      const [out, C0] = [await device.upload(c0 as DenseMatrix), await device.upload(c0 as DenseMatrix)]
      const resident = { semiring: algebra.semiring, witness: true }
      const what = `${rows} × ${steps} × ${cols}`
      for (const [more, should] of [
        [{}, expected],
        [{ accumulate: C0 }, accumulated],
        [{ accumulate: true, out }, accumulated],
      ] as const) {
        const result = (await product(A, B, { ...resident, ...more } as never)) as unknown as {
          c: DeviceMatrix
          witness: DeviceMatrix<Int32Array>
        }
        expect(result.witness.dtype).toBe('int32')
        const there = { c: await result.c.download(), witness: await result.witness.download() }
        expectWitness(there, should, what)
        // It is a matrix like any other.
        expect((await result.witness.download()).data).toEqual(there.witness.data)
        result.witness.dispose()
      }
      const now = productNow(a, B.transpose().transpose(), resident as never) as unknown as {
        c: DeviceMatrix
        witness: DeviceMatrix
      }
      expectWitness(
        { c: await now.c.download(), witness: await now.witness.download() },
        expected,
        `${what}, now`,
      )
    }
  })

  it('of a group, in arrays and on a device', async () => {
    const device = open()
    const shapes: Size[] = [
      [4, 4, 4],
      [m, k, n],
      [1, 1, 1],
      [0, 5, 3],
      [5, 0, 3],
      [130, 66, 40],
      [2, 90, 70],
      [4, 4, 4],
    ]
    const sources = shapes.map(([rows, steps, cols], seed) => {
      const [a, b] = [
        filled(algebra, kind, [rows, steps], seed),
        filled(algebra, kind, [steps, cols], seed + 50),
      ]
      const c0 = seed % 2 === 0 ? startsFor(witnessOracle(algebra, a, b), algebra, seed) : undefined
      return { a, b, c0, expected: witnessOracle(algebra, a, b, 'throw', c0) }
    })
    const inArrays = await group(
      sources.map(({ a, b, c0 }) => ({ a, b, ...(c0 && { accumulate: c0 }) })) as GroupedProduct[],
      options as never,
    )
    for (const [index, { expected }] of sources.entries()) {
      expectWitness(inArrays[index]!, expected, `products[${index}]`)
    }
    const products = await Promise.all(
      sources.map(async ({ a, b, c0 }, index) => {
        const out = c0 && index % 4 === 0 ? await device.upload(c0 as DenseMatrix) : undefined
        return {
          a: await device.upload(a as DenseMatrix),
          b,
          ...(c0 && { accumulate: out ?? (await device.upload(c0 as DenseMatrix)) }),
          ...(out && { out }),
        }
      }),
    )
    const resident = await group(products as never, { semiring: algebra.semiring, witness: true })
    for (const [index, { expected }] of sources.entries()) {
      const { c, witness } = resident[index] as unknown as { c: DeviceMatrix; witness: DeviceMatrix }
      const there = { c: await c.download(), witness: await witness.download() }
      expectWitness(there, expected, `products[${index}] on a device`)
    }
  })
}

/** Sums that leave int32: what is stored decides which candidates attain a result. */
function overflowing(backend: 'cpu' | 'cuda', algebra: Algebra): void {
  const highest = 2 ** 31 - 1
  const kindsOfSums: Record<string, (random: Random) => number> = {
    'many sums beyond both ends': (random) => random.integer(-highest, highest - 1),
    'sums at an end, and one or two beyond': (random) =>
      random.pick([-(2 ** 30), 2 ** 30 - 1, 2 ** 30, 1 - 2 ** 30, -(2 ** 30) - 1]),
    'sums beyond one end': (random) => random.integer(1_500_000_000, 2_000_000_000),
    'sums beyond the other end': (random) => random.integer(-2_000_000_000, -1_500_000_000),
    'sums that wrap onto the zero': (random) =>
      random.pick([2 ** 30, -(2 ** 30), 2 ** 30 - 1, 3, 2 ** 31 - 4]),
  }
  describe.each(policies)('%s', (overflow) => {
    it.each(Object.entries(kindsOfSums))('%s', (name, next) => {
      const zero = zeroOf(algebra)
      for (const [m, k, n] of sizes) {
        for (const zeros of [0, 0.3, 0.97]) {
          const random = new Random(m + k)
          const of = (rows: number, cols: number) =>
            made(
              Int32Array.from({ length: rows * cols }, () => (random.chance(zeros) ? zero : next(random))),
              [rows, cols],
            )
          const [a, b, c0] = [of(m, k), of(k, n), of(m, n)]
          const what = `${name}, ${m} × ${k} × ${n}, ${zeros}`
          expectWitnessed(algebra, a, b, { backend, overflow }, what)
          expectWitnessed(algebra, a, b, { backend, overflow }, `${what}, accumulated`, c0)
        }
      }
    })
  })

  it('throw: candidates beyond an end that lose aren’t equal to a result at that end', () => {
    const isLow = algebra.semiring === 'max-plus'
    const end = isLow ? 1 - 2 ** 31 : 2 ** 31 - 2
    const beyond = isLow ? -1 : 1
    const a = made(Int32Array.of(end, end, end), [1, 3])
    const b = made(Int32Array.of(2 * beyond, beyond, 0), [3, 1])
    const options = { backend, semiring: algebra.semiring, witness: true } as const
    expect(Array.from(productNow(a, b, options).witness.data)).toEqual([2])
    expect(Array.from(productNow(a, b, { ...options, overflow: 'saturate' }).witness.data)).toEqual([0])
    const c0 = made(Int32Array.of(end), [1, 1])
    const lost = made(Int32Array.of(2 * beyond, beyond, zeroOf(algebra)), [3, 1])
    expect(Array.from(productNow(a, lost, { ...options, accumulate: c0 } as never).witness.data)).toEqual([
      -1,
    ])
    expect(
      Array.from(
        productNow(a, lost, { ...options, accumulate: c0, overflow: 'saturate' } as never).witness.data,
      ),
    ).toEqual([0])
  })

  it('int16 operands, beside each other and beside int32', () => {
    const narrowZero = algebra.semiring === 'max-plus' ? -32768 : 32767
    for (const [m, k, n] of sizes) {
      const random = new Random(k)
      const narrow = (rows: number, cols: number, spread: number) =>
        made(
          Int16Array.from({ length: rows * cols }, () =>
            random.chance(0.1) ? narrowZero : random.integer(-spread, spread - 1),
          ),
          [rows, cols],
        )
      for (const spread of [3, 32767]) {
        const what = `${m} × ${k} × ${n}, ±${spread}`
        expectWitnessed(algebra, narrow(m, k, spread), narrow(k, n, spread), { backend }, what)
        const wide = filled(algebra, kinds['any values and ε']!, [k, n], 2)
        expectWitnessed(algebra, narrow(m, k, spread), wide, { backend }, `${what}, int32`)
      }
    }
  })
}

interface Case {
  what: string
  a: Made
  b: Made
  expected: Witnessed
}
/** The products that all variants of a semiring and type compute: expected once. */
const casesOf = new Map<string, Case[]>()

function casesFor(algebra: Algebra): Case[] {
  const key = `${algebra.semiring} ${algebra.type}`
  const known = casesOf.get(key)
  if (known) return known
  const cases: Case[] = []
  for (const [m, k, n] of [
    [5, 70, 9],
    [37, 300, 69],
    [2, 130, 70],
    [70, 130, 1],
  ] as Size[]) {
    for (const [name, kind] of Object.entries(kinds)) {
      const [a, b] = [filled(algebra, kind, [m, k], 1), filled(algebra, kind, [k, n], 2)]
      const expected = witnessOracle(algebra, a, b)
      cases.push({ what: `${name}, ${m} × ${k} × ${n}`, a, b, expected })
    }
  }
  casesOf.set(key, cases)
  return cases
}

function everyVariant(variant: VariantName, algebra: Algebra, backend: 'cpu' | 'cuda'): void {
  let ran = 0
  for (const { what, a, b, expected } of casesFor(algebra)) {
    const options = { backend, semiring: algebra.semiring, variant, witness: true } as const
    let result: Result
    try {
      result = productNow(a, b, options)
    } catch (error) {
      expectError(error, 'ERR_MPMML_VARIANT')
      continue
    }
    ran++
    expect(result.variant).toBe(variant)
    expectWitness(result, expected, what)
  }
  // Some are for other processors, or for other values.
  if (ran === 0) expect(() => productNow(matrix(1, 1), matrix(1, 1), { variant })).toThrow(variant)
}

function asking(backend: 'cpu' | 'cuda', open: () => Device): void {
  const one = matrix(2, 2, [1, 2, 3, 4])
  const floats = made(new Float32Array(4), [2, 2])

  it('is an option that isn’t set by default', async () => {
    expect('witness' in mpmmSync(one, one, { backend })).toBe(false)
    expect('witness' in mpmmSync(one, one, { backend, witness: false })).toBe(false)
    expect('witness' in (await mpmm(one, one, { backend, witness: undefined }))).toBe(false)
    const [result] = await mpmmGrouped([{ a: one, b: one }], { backend })
    expect('witness' in result!).toBe(false)
    expect((await mpmm(one, one, { backend, witness: true })).witness).toEqual(matrix(2, 2, [1, 1, 1, 1]))
  })

  it('must be a boolean', async () => {
    for (const witness of [1, 'yes', null, one]) {
      const options = { backend, witness } as never
      expectError(
        thrown(() => mpmmSync(one, one, options)),
        'ERR_MPMML_OPTION',
        'witness',
        'boolean',
      )
      expectError(await caught(mpmm(one, one, options)), 'ERR_MPMML_OPTION', 'witness')
      expectError(await caught(mpmmGrouped([{ a: one, b: one }], options)), 'ERR_MPMML_OPTION', 'witness')
    }
  })

  it('is refused for plus-times, with the reason', async () => {
    const options = { backend, semiring: 'plus-times', witness: true } as const
    for (const error of [
      thrown(() => productNow(floats, floats, options)),
      await caught(product(floats, floats, options)),
      await caught(group([{ a: floats, b: floats }] as never, options)),
      await caught(product(await open().upload(floats as never), floats, { ...options, backend: 'auto' })),
    ]) {
      expectError(error, 'ERR_MPMML_OPTION', 'witness', 'plus-times', 'every k')
    }
    expect(productNow(floats, floats, { ...options, witness: false }).c.data).toEqual(new Float32Array(4))
  })

  it('has the plan that is run', async () => {
    await using device = await openDevice({ backend })
    for (const algebra of idempotent) {
      for (const kind of [kinds['ties and ε']!, kinds['16-bit values']!, kinds['any values']!]) {
        const [m, n, k] = [150, 170, 300]
        const [a, b] = [filled(algebra, kind, [m, k], 1), filled(algebra, kind, [k, n], 2)]
        const options = {
          backend,
          semiring: algebra.semiring,
          overflow: 'saturate',
          witness: true,
        } as Options
        if (algebra.type !== 'int32') delete options.overflow
        const planned = await plan(a as never, b as never, options as never)
        expect(planned.variant, algebra.semiring).toBe((await product(a, b, options)).variant)
        const [there, other] = [await device.upload(a as never), await device.upload(b as never)]
        const { backend: _, ...others } = options
        const ofDevice = await plan(there as never, other as never, others as never)
        const ran = (await product(there as never, other as never, others)) as unknown as {
          variant: VariantName
        }
        expect(ofDevice.variant, algebra.semiring).toBe(ran.variant)
      }
    }
  })

  it('asks for a plan only with a semiring that has witnesses', async () => {
    const options = { backend, semiring: 'plus-times', witness: true } as const
    expectError(
      await caught(plan(floats as never, floats as never, options as never)),
      'ERR_MPMML_OPTION',
      'witness',
    )
  })

  it('of thousands of products, and none of those of the next group', async () => {
    await using device = await openDevice({ backend })
    const count = 2500
    const matrices = Array.from({ length: 5 }, (_, index) =>
      filled({ semiring: 'max-plus', type: 'int32' }, kinds.ties!, [1 + index, 1 + index], index),
    )
    const uploaded = await Promise.all(matrices.map((it) => device.upload(it as DenseMatrix)))
    const expected = matrices.map((it) => witnessOracle({ semiring: 'max-plus', type: 'int32' }, it, it))
    const out = await device.full([1, 1], 0)
    const { used } = device.memory()
    const products = Array.from({ length: count }, (_, index) => {
      const a = uploaded[index % 5]!
      return { a, b: a, ...(index === 2000 && { out }) }
    })
    const results = await group(products as never, { witness: true })
    expect(results[2000]!.c).toBe(out)
    for (const index of [0, 1, 255, 256, 257, 1003, 2000, 2001, count - 1]) {
      const { c, witness } = results[index] as unknown as { c: DeviceMatrix; witness: DeviceMatrix }
      const there = { c: await c.download(), witness: await witness.download() }
      expectWitness(there, expected[index % 5]!, `products[${index}]`)
    }
    const dispose = (made: object) => (made as DeviceMatrix).dispose()
    for (const [index, { c, witness }] of results.entries()) {
      if (index !== 2000) dispose(c)
      dispose(witness)
    }
    expect(device.memory().used).toBe(used)
    for (const [index, result] of (await group(products as never)).entries()) {
      expect('witness' in result).toBe(false)
      if (index !== 2000) dispose(result.c)
    }
    expect(device.memory().used).toBe(used)
    products[2400] = { a: uploaded[0]!, b: uploaded[1]! }
    expectError(
      await caught(group(products as never, { witness: true })),
      'ERR_MPMML_SHAPE',
      'products[2400]',
    )
    expect(device.memory().used).toBe(used)
  })

  it('several products at once, and given up', async () => {
    const algebra = { semiring: 'max-plus', type: 'int32' } as const
    const tasks = Array.from({ length: 8 }, (_, index) => ({
      a: filled(algebra, kinds.ties!, [60 + index, 150], index),
      b: filled(algebra, kinds.ties!, [150, 70 - index], index + 20),
    }))
    const together = await Promise.all(tasks.map(({ a, b }) => product(a, b, { backend, witness: true })))
    for (const [index, { a, b }] of tasks.entries()) {
      expectWitness(together[index]!, witnessOracle(algebra, a, b), `task ${index}`)
    }
    const { a, b } = tasks[0]!
    const error = await caught(product(a, b, { backend, witness: true, signal: AbortSignal.abort() }))
    expectError(error, 'ERR_MPMML_ABORTED')
  })
}
