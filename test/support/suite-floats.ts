/** What every backend must do with floating-point elements: test/cpu and test/gpu run it. */
import { describe, expect, it } from 'vitest'
import { type MpmmOptions, matrix, mpmmSync, type VariantName, variants, zeroOf } from '../../lib/index.js'
import { ragged, type Size, sizes } from './cases.js'
import {
  type FloatArray,
  type FloatMatrix,
  type FloatProduct,
  type FloatSemiring,
  type FloatType,
  floatArrays,
  floatMismatch,
  floatOracle,
  floatZeros,
} from './float-oracle.js'
import { Random } from './generators.js'
import { missing } from './table.js'

const semirings: FloatSemiring[] = ['max-plus', 'min-plus', 'plus-times']
export const types: FloatType[] = ['float32', 'float64']

const isOne = <Name extends string>(name: string, names: Name[]): name is Name =>
  (names as string[]).includes(name)

type Value = (random: Random, semiring: FloatSemiring, type: FloatType) => number

const uniform = (random: Random, scale: number) => (random.bits() / 2 ** 31 - 1) * scale

const special = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0]

/** Zeros of both signs and of the semiring among numbers of one sign, as in lengths and logarithms of probabilities. */
const ofOneSign = (random: Random, semiring: FloatSemiring, sign: number) =>
  random.chance(0.2) ? random.pick([0, -0, floatZeros[semiring]]) : sign * random.integer(1, 1000)

/** Kinds of values; NaN and infinities of both signs belong to the last ones. */
const kinds: Record<string, Value> = {
  'whole numbers': (random) => random.integer(-1000, 1000),
  'any numbers': (random) => uniform(random, 1) * 2 ** random.integer(-30, 30),
  'zero scattered': (random, semiring) => (random.chance(0.3) ? floatZeros[semiring] : uniform(random, 1e6)),
  'zero alone': (_, semiring) => floatZeros[semiring],
  'mostly zero': (random, semiring) => (random.chance(0.97) ? floatZeros[semiring] : uniform(random, 10)),
  subnormals: (random, _, type) =>
    random.integer(-9, 9) * (type === 'float32' ? 2 ** -149 : Number.MIN_VALUE),
  'far from 0': (random) => 1e7 + random.integer(0, 99),
  'from 0 up': (random, semiring) => ofOneSign(random, semiring, 1),
  'from 0 down': (random, semiring) => ofOneSign(random, semiring, -1),
  'mostly below 0': (random) => (random.chance(0.02) ? 1 : -1) * (1 + random.integer(0, 1000)),
  'mostly above 0': (random) => (random.chance(0.02) ? -1 : 1) * (1 + random.integer(0, 1000)),
  'zeros of both signs': (random, semiring) => random.pick([0, -0, floatZeros[semiring]]),
  'infinities that meet no zero': (random, semiring) =>
    random.chance(0.01) ? -floatZeros[semiring] : uniform(random, 10),
  'sums that overflow': (random, semiring, type) =>
    semiring === 'plus-times' ? uniform(random, 1) : uniform(random, type === 'float32' ? 3.4e38 : 1.79e308),
  anything: (random, semiring, type) =>
    random.chance(0.1)
      ? random.pick([...special, type === 'float32' ? 2 ** -149 : Number.MIN_VALUE])
      : uniform(random, semiring === 'plus-times' ? 10 : 1e30),
  'NaN and infinities everywhere': (random) => random.pick([...special, 1, -1]),
}

function random(kind: string, semiring: FloatSemiring, type: FloatType, shape: number[], seed: number) {
  const source = new Random(seed)
  const length = shape.reduce((product, size) => product * size, 1)
  const data: FloatArray = new floatArrays[type](length)
  for (let index = 0; index < length; index++) data[index] = kinds[kind]!(source, semiring, type)
  return { data, shape }
}

export const floatKinds = Object.keys(kinds)

export function operands(kind: string, semiring: FloatSemiring, type: FloatType, [m, k, n]: Size, seed = 1) {
  return {
    a: random(kind, semiring, type, [m, k], 2 * seed),
    b: random(kind, semiring, type, [k, n], 2 * seed + 1),
  }
}

interface Options extends Omit<MpmmOptions, 'semiring' | 'out' | 'accumulate'> {
  semiring: FloatSemiring
  accumulate?: FloatMatrix
}

function expectProduct(a: FloatMatrix, b: FloatMatrix, options: Options, what = '') {
  const { semiring, accumulate } = options
  const result = mpmmSync(a, b, options)
  expect(
    floatMismatch(result.c, floatOracle(a, b, semiring, accumulate)),
    `${what} ${result.variant}`,
  ).toBeUndefined()
  expect(result.c.data).toBeInstanceOf(a.data.constructor)
  return result
}

/** The same elements at other places. */
const layouts: Record<string, (source: FloatMatrix) => FloatMatrix> = {
  transposed: ({ data, shape }) => {
    const [rows, cols] = shape as unknown as [number, number]
    return {
      data: data.map((_, index) => data[(index % rows) * cols + Math.floor(index / rows)]!),
      shape,
      strides: [1, rows],
    }
  },
  'every third element of something larger': ({ data, shape }) => {
    const spread = new (data.constructor as typeof Float64Array)(3 * data.length + 2).fill(1e30)
    data.forEach((value, index) => {
      spread[3 * index + 2] = value
    })
    return { data: spread, shape, strides: [3 * shape[1]!, 3], offset: 2 }
  },
}

export function floatSuite(backend: 'cpu' | 'cuda'): void {
  for (const type of types) {
    for (const semiring of semirings)
      describe(`${semiring} on ${type}`, () => products(backend, semiring, type))
  }
  describe('every floating-point variant', () => {
    for (const { name, semiring, dtype, parameters, ...row } of variants()) {
      // Exponents are for few values: suite-levels.ts.
      if (row.family === 'exponent' || row.family === 'warpexponent') continue
      if (row.backend !== backend || !isOne(semiring, semirings) || !isOne(dtype, types)) continue
      const cannot = missing({ name, semiring, dtype, parameters, ...row })
      it.skipIf(cannot !== undefined)(cannot === undefined ? name : `${name} (skipped: ${cannot})`, () => {
        variant(name, semiring, dtype)
      })
    }
  })
}

function products(backend: 'cpu' | 'cuda', semiring: FloatSemiring, type: FloatType): void {
  it.each(floatKinds)('%s', (kind) => {
    const { a, b } = operands(kind, semiring, type, [70, 90, 110])
    const result = expectProduct(a, b, { backend, semiring })
    expect([result.backend, result.path]).toEqual([backend, 'direct'])
  })

  it.each(sizes)('%i × %i × %i', (...size) => {
    const { a, b } = operands('zero scattered', semiring, type, size, 3)
    expectProduct(a, b, { backend, semiring })
  })

  it('layouts, batches and C0', () => {
    const one = operands('zero scattered', semiring, type, ragged, 4)
    for (const layout of Object.values(layouts)) {
      expectProduct(layout(one.a), layout(one.b), { backend, semiring })
      expectProduct(layout(one.a), one.b, { backend, semiring })
    }
    const a = random('zero scattered', semiring, type, [4, 20, 18], 5)
    const b = random('zero scattered', semiring, type, [4, 18, 130], 6)
    for (const kind of ['any numbers', 'anything']) {
      const accumulate = random(kind, semiring, type, [4, 20, 130], 7)
      expectProduct(a, b, { backend, semiring, accumulate }, kind)
      const out = { ...accumulate, data: accumulate.data.slice() }
      const result = mpmmSync(a, b, { backend, semiring, out, accumulate: true })
      expect(result.c).toBe(out)
      expect(floatMismatch(out, floatOracle(a, b, semiring, accumulate))).toBeUndefined()
    }
    expectProduct(a, { data: b.data.subarray(18 * 130), shape: [18, 130] }, { backend, semiring })
  })

  it('one NaN of either sign among numbers of one sign', () => {
    for (const kind of ['from 0 up', 'from 0 down']) {
      for (const sign of [0x00, 0x80]) {
        const { a, b } = operands(kind, semiring, type, [70, 90, 110], 14)
        const bytes = new Uint8Array(b.data.buffer)
        const last = 4321 * b.data.BYTES_PER_ELEMENT - 1
        bytes[last] = sign | 0x7f
        bytes[last - 1] = 0xff
        expect(b.data[4320]).toBeNaN()
        expectProduct(a, b, { backend, semiring }, `${kind}, ${sign}`)
      }
    }
  })

  it('K = 0 gives zero, or the numbers of C0', () => {
    const none = (rows: number, cols: number) => matrix(rows, cols, new floatArrays[type](0))
    const { c } = mpmmSync(none(2, 0), none(0, 3), { backend, semiring })
    expect([...c.data]).toEqual(Array(6).fill(floatZeros[semiring]))
    const accumulate = random('anything', semiring, type, [2, 3], 8)
    expectProduct(none(2, 0), none(0, 3), { backend, semiring, accumulate })
  })

  it('a matrix and a vector', () => {
    for (const size of [
      [1, 1000, 333],
      [333, 1000, 1],
      [4, 70, 2001],
      [2001, 7, 5],
    ] as Size[]) {
      const { a, b } = operands('any numbers', semiring, type, size, 9)
      expectProduct(a, b, { backend, semiring })
      expectProduct(layouts.transposed!(a), layouts.transposed!(b), { backend, semiring })
    }
  })
}

/** Products that several variants compute. */
const knownProducts = new Map<string, ReturnType<typeof operands> & { expected: FloatProduct }>()

function known(kind: string, semiring: FloatSemiring, type: FloatType, size: Size) {
  const key = [kind, semiring, type, size].join()
  const before = knownProducts.get(key)
  if (before) return before
  const { a, b } = operands(kind, semiring, type, size, 11)
  const product = { a, b, expected: floatOracle(a, b, semiring) }
  knownProducts.set(key, product)
  return product
}

function variant(name: VariantName, semiring: FloatSemiring, type: FloatType): void {
  for (const size of sizes) {
    for (const kind of ['far from 0', 'from 0 down', 'mostly below 0', 'any numbers', 'anything']) {
      const { a, b, expected } = known(kind, semiring, type, size)
      const result = mpmmSync(a, b, { variant: name, semiring })
      expect(floatMismatch(result.c, expected), `${kind}, ${size}`).toBeUndefined()
      expect(result.variant).toBe(name)
    }
  }
  const { a, b } = operands('anything', semiring, type, ragged, 12)
  const accumulate = random('anything', semiring, type, [37, 43], 13)
  expectProduct(a, b, { variant: name, semiring, accumulate })
  for (const layout of Object.values(layouts)) {
    expectProduct(layout(a), layout(b), { variant: name, semiring, accumulate: layout(accumulate) })
  }
  expect(zeroOf(semiring, type)).toBe(floatZeros[semiring])
}
