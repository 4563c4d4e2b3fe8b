/** Operands for products over the semirings without sums: kinds of values, and layouts. */
import type { Size } from './cases.js'
import { Random } from './generators.js'
import {
  type OtherMatrix,
  type OtherSemiring,
  type OtherType,
  otherArrays,
  otherOne,
  otherTypes,
  otherZero,
} from './semirings-oracle.js'

/** A semiring and one of its element types. */
export interface Algebra {
  semiring: OtherSemiring
  type: OtherType
}

export const otherSemirings = Object.keys(otherTypes) as OtherSemiring[]
export const algebras: Algebra[] = otherSemirings.flatMap((semiring) =>
  otherTypes[semiring].map((type) => ({ semiring, type })),
)

type Value = (random: Random, algebra: Algebra) => number

const zero: Value = (_, { semiring, type }) => otherZero(semiring, type)
const one: Value = (_, { semiring, type }) => otherOne(semiring, type)
const some =
  (share: number, rare: Value, value: Value): Value =>
  (random, algebra) =>
    random.chance(share) ? rare(random, algebra) : value(random, algebra)
const picked =
  (...values: number[]): Value =>
  (random) =>
    random.pick(values)

/** From −1 to 1. */
const uniform = (random: Random) => random.bits() / 2 ** 31 - 1
const least = (type: OtherType) => (type === 'float32' ? 2 ** -149 : Number.MIN_VALUE)

const integers: Record<string, Value> = {
  small: (random) => random.integer(-9, 9),
  'any int32': (random) => random.integer(-(2 ** 31), 2 ** 31 - 1),
  ends: picked(-(2 ** 31), -(2 ** 31) + 1, -1, 0, 1, 2 ** 31 - 2, 2 ** 31 - 1),
  'zero scattered': some(0.3, zero, (random) => random.integer(-1000, 1000)),
  'mostly zero': some(0.97, zero, (random) => random.integer(-1000, 1000)),
  'zero alone': zero,
  'one alone': one,
  // What fills the border of a tile decides a result if it isn't neutral.
  'next to zero': (random, algebra) => inward(zero(random, algebra), random.integer(1, 9)),
  'next to one': (random, algebra) => inward(one(random, algebra), random.integer(1, 9)),
}

/** A value `steps` away from the end of int32 that `end` is. */
const inward = (end: number, steps: number) => (end < 0 ? end + steps : end - steps)

const number: Value = (random) => uniform(random) * 2 ** random.integer(-30, 30)
const floats: Record<string, Value> = {
  'whole numbers': (random) => random.integer(-1000, 1000),
  'any numbers': number,
  probabilities: (random) => random.bits() / 2 ** 32,
  'zero scattered': some(0.3, zero, number),
  'mostly zero': some(0.97, zero, number),
  'zero alone': zero,
  'one alone': one,
  subnormals: (random, { type }) => random.integer(-9, 9) * least(type),
  'zeros of both signs': picked(0, -0),
  'zeros of both signs among small numbers': (random, { type }) =>
    random.pick([0, -0, least(type), -least(type), 1, -1]),
  'above 0': (random) => 1 + random.integer(0, 1000),
  'below 0': (random) => -1 - random.integer(0, 1000),
  'infinities scattered': some(
    0.2,
    picked(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0),
    number,
  ),
  'infinities and zeros alone': picked(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0),
  'NaN scattered': some(0.3, picked(Number.NaN), number),
  'NaN alone': picked(Number.NaN),
  anything: some(
    0.4,
    picked(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, 2 ** -149, 1, -1),
    (random) => uniform(random) * 1e30,
  ),
  // Products of these lie about the least subnormal number, and about the largest finite one.
  'products that underflow': (random, { type }) =>
    (1 + random.bits() / 2 ** 32) *
    2 ** (type === 'float32' ? random.integer(-76, -70) : random.integer(-540, -530)),
  'products that overflow': (random, { type }) =>
    (1 + random.bits() / 2 ** 32) * 2 ** (type === 'float32' ? 63 : 511),
}

const byte: Value = (random) => random.integer(1, 255)
const bytes: Record<string, Value> = {
  'few bits': some(0.95, picked(0), picked(1)),
  'many bits': some(0.1, picked(0), picked(1)),
  'few bytes': some(0.95, picked(0), byte),
  'any bytes': some(0.5, picked(0), byte),
  'even bytes': picked(0, 0, 0, 0, 0, 0, 2, 128),
  'all true': byte,
  'all false': picked(0),
}

export const kindsOf = (type: OtherType): Record<string, Value> =>
  type === 'int32' ? integers : type === 'uint8' ? bytes : floats

/** A kind with zeros and other values, for tests that aren't about values. */
export const mixed = (type: OtherType) => (type === 'uint8' ? 'few bytes' : 'zero scattered')

/** Kinds on which a tile's border that isn't neutral shows. */
export const decisive = (type: OtherType): string[] =>
  type === 'int32'
    ? ['next to zero', 'next to one']
    : type === 'uint8'
      ? ['few bits', 'all true']
      : ['below 0', 'above 0', 'anything']

/** A dense matrix, or a batch of them. Elements of max-times are 0 or more; −0 and NaN stay. */
export function randomOther(kind: string, algebra: Algebra, shape: number[], seed: number) {
  const random = new Random(seed + 7919 * kind.length)
  const value = kindsOf(algebra.type)[kind]!
  const length = shape.reduce((product, size) => product * size, 1)
  const data = new otherArrays[algebra.type](length)
  for (let index = 0; index < length; index++) {
    const x = value(random, algebra)
    data[index] = algebra.semiring === 'max-times' && x < 0 ? -x : x
  }
  return { data, shape }
}

/** The operands of a product; of a batch of products where `batch` is given. */
export function otherOperands(kind: string, algebra: Algebra, [m, k, n]: Size, seed = 1, batch?: number) {
  const shape = (rows: number, cols: number) => (batch === undefined ? [rows, cols] : [batch, rows, cols])
  return {
    a: randomOther(kind, algebra, shape(m, k), 2 * seed),
    b: randomOther(kind, algebra, shape(k, n), 2 * seed + 1),
  }
}

/** What stands beside the elements: it would decide results, and is no element of max-times. */
const junkOf = ({ semiring, type }: Algebra) =>
  semiring === 'max-times' ? -5 : type === 'uint8' ? 255 : otherOne(semiring, type)

type Layout = (source: { data: OtherMatrix['data']; shape: number[] }, algebra: Algebra) => OtherMatrix

/** The elements of a matrix at other places of a larger array. */
const spread =
  (
    place: (rows: number, cols: number) => { strides: [number, number]; offset: number; length: number },
  ): Layout =>
  ({ data, shape }, algebra) => {
    const [rows, cols] = shape as [number, number]
    const { strides, offset, length } = place(rows, cols)
    const larger = new (data.constructor as typeof Float64Array)(length).fill(junkOf(algebra))
    data.forEach((value, index) => {
      larger[offset + Math.floor(index / cols) * strides[0] + (index % cols) * strides[1]] = value
    })
    return { data: larger as OtherMatrix['data'], shape, strides, offset }
  }

/** Layouts in which each element has a place of its own. */
export const layouts: Record<string, Layout> = {
  'row-major': (source) => source,
  transposed: spread((rows, cols) => ({ strides: [1, rows], offset: 0, length: rows * cols })),
  'in a larger matrix': spread((rows, cols) => ({
    strides: [cols + 3, 1],
    offset: cols + 5,
    length: (rows + 2) * (cols + 3),
  })),
  'transposed, in a larger matrix': spread((rows, cols) => ({
    strides: [1, rows + 5],
    offset: 1,
    length: (rows + 5) * (cols + 1),
  })),
  'every third element': spread((rows, cols) => ({
    strides: [3 * cols, 3],
    offset: 2,
    length: 3 * rows * cols + 2,
  })),
  'a subarray': ({ data, shape }, algebra) => {
    const longer = new (data.constructor as typeof Float64Array)(data.length + 8).fill(junkOf(algebra))
    longer.set(data, 3)
    return { data: longer.subarray(3) as OtherMatrix['data'], shape }
  },
}

/** Layouts of operands only: their elements share places. */
export const overlappingLayouts: Record<string, Layout> = {
  'rows that overlap': ({ data, shape }) => ({ data, shape, strides: [1, 1] }),
  'rows that overlap by one': ({ data, shape }) => ({
    data,
    shape,
    strides: [Math.max(shape[1]! - 1, 1), 1],
  }),
  'one row again and again': ({ data, shape }) => ({ data, shape, strides: [0, 1] }),
  'one column again and again': ({ data, shape }) => ({ data, shape, strides: [1, 0] }),
}
