/** Values of operands by kinds. Each kind covers one arithmetic of a product, or a limit of an arithmetic. */
import type { OperandArray, ProductStructure } from '../../../lib/index.js'
import { arrays } from '../../../native/tools/fuzz/algebra.mjs'
import { writeGarbageOutside } from '../../../native/tools/fuzz/values.mjs'
import type { Size } from '../cases.js'
import { Random, kinds as sumKinds, translatedLimit } from '../generators.js'
import type { SemiringName } from '../oracle.js'
import { type Algebra, type Elements, elements } from './case.js'

type Value = (random: Random, algebra: Algebra) => number

const zero: Value = (_, algebra) => algebra.zero
const one: Value = (_, algebra) => algebra.one
const some =
  (share: number, rare: Value, value: Value): Value =>
  (random, algebra) =>
    random.chance(share) ? rare(random, algebra) : value(random, algebra)
const picked =
  (...values: number[]): Value =>
  (random) =>
    random.pick(values)
const whole =
  (low: number, high: number): Value =>
  (random) =>
    random.integer(low, high)

/** Value at a distance of `steps` from `end`, which is an end of the type's range. */
const inward = (end: number, { zero, one }: Algebra, steps: number) =>
  end === Math.min(zero, one) ? end + steps : end - steps

/** Kinds for the semirings on integers that order elements and don't add them. */
const orders: Record<string, Value> = {
  small: whole(-9, 9),
  'any int32': whole(-(2 ** 31), 2 ** 31 - 1),
  ends: picked(-(2 ** 31), -(2 ** 31) + 1, -1, 0, 1, 2 ** 31 - 2, 2 ** 31 - 1),
  'zero scattered': some(0.3, zero, whole(-1000, 1000)),
  'mostly zero': some(0.97, zero, whole(-1000, 1000)),
  'zero alone': zero,
  'one alone': one,
  'all of int16': some(0.3, picked(-32767, 32766, 0, -1), some(0.1, zero, whole(-32767, 32766))),
  // A wrong padding value of a tile decides a result.
  'next to zero': (random, algebra) => inward(algebra.zero, algebra, random.integer(1, 9)),
  'next to one': (random, algebra) => inward(algebra.one, algebra, random.integer(1, 9)),
  ties: whole(-1, 1),
}

/** Random numbers from −1 to 1. */
const uniform = (random: Random) => random.bits() / 2 ** 31 - 1
const least = ({ dtype }: Algebra) => (dtype === 'float32' ? 2 ** -149 : Number.MIN_VALUE)
const isSingle = ({ dtype }: Algebra) => dtype === 'float32'
// Table of powers, because computing a power takes longer than the rest of an element.
const powers = Float64Array.from({ length: 61 }, (_, index) => 2 ** (index - 30))
const number: Value = (random) => uniform(random) * powers[random.integer(0, 60)]!
const specials = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0]
/** Zeros of both signs and of the semiring among numbers of one sign, as in lengths and logarithms of probabilities. */
const ofOneSign = (sign: number) =>
  some(
    0.2,
    (random, algebra) => random.pick([0, -0, algebra.zero]),
    (random) => sign * random.integer(1, 1000),
  )

/** Kinds for floats; max-times clears the signs. */
const floats: Record<string, Value> = {
  'whole numbers': whole(-1000, 1000),
  'any numbers': number,
  probabilities: (random) => random.bits() / 2 ** 32,
  'zero scattered': some(0.3, zero, number),
  'mostly zero': some(0.97, zero, number),
  'zero alone': zero,
  'one alone': one,
  ties: whole(-1, 1),
  'ties and zero': some(0.3, zero, whole(-1, 1)),
  'far from 0': (random) => 1e7 + random.integer(0, 99),
  'above 0': whole(1, 1001),
  'below 0': whole(-1001, -1),
  'from 0 up': ofOneSign(1),
  'from 0 down': ofOneSign(-1),
  'mostly below 0': (random) => (random.chance(0.02) ? 1 : -1) * (1 + random.integer(0, 1000)),
  'mostly above 0': (random) => (random.chance(0.02) ? -1 : 1) * (1 + random.integer(0, 1000)),
  subnormals: (random, algebra) => random.integer(-9, 9) * least(algebra),
  'zeros of both signs': picked(0, -0),
  'zeros of both signs, and zero': (random, algebra) => random.pick([0, -0, algebra.zero]),
  'zeros of both signs among small numbers': (random, algebra) =>
    random.pick([0, -0, least(algebra), -least(algebra), 1, -1]),
  'infinities scattered': some(
    0.2,
    picked(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0),
    number,
  ),
  'infinities and zeros alone': picked(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0),
  'infinities that meet no zero': some(
    0.01,
    (_, algebra) => -algebra.zero,
    (random) => 10 * uniform(random),
  ),
  'NaN scattered': some(0.3, picked(Number.NaN), number),
  'NaN alone': picked(Number.NaN),
  'NaN, infinities and zeros': picked(...specials, 1, -1),
  anything: some(
    0.1,
    (random, algebra) => random.pick([...specials, least(algebra)]),
    (random, { kind }) => uniform(random) * (kind === 'ordinary' ? 10 : 1e30),
  ),
  'sums that overflow': (random, algebra) =>
    uniform(random) * (algebra.kind === 'ordinary' ? 1 : isSingle(algebra) ? 3.4e38 : 1.79e308),
  'sums that round to the same': picked(2 ** 24, 1, -1, 2 ** -30),
  'products that round to the same': picked(1, 1 + 2 ** -23, 3),
  // Products of such values are near the least subnormal number, or near the largest finite number.
  'products that underflow': (random, algebra) =>
    (1 + random.bits() / 2 ** 32) *
    2 ** (isSingle(algebra) ? random.integer(-76, -70) : random.integer(-540, -530)),
  'products that overflow': (random, algebra) =>
    algebra.kind === 'ordinary'
      ? uniform(random)
      : (1 + random.bits() / 2 ** 32) * 2 ** (isSingle(algebra) ? 63 : 511),
}

const bytes: Record<string, Value> = {
  'few bits': some(0.95, picked(0), picked(1)),
  'many bits': some(0.1, picked(0), picked(1)),
  'few bytes': some(0.95, picked(0), whole(1, 255)),
  'any bytes': some(0.5, picked(0), whole(1, 255)),
  'even bytes': picked(0, 0, 0, 0, 0, 0, 2, 128),
  'all true': whole(1, 255),
  'all false': picked(0),
}

type Kinds = Record<string, Value>
const kindsOf = ({ isWhole, isTruth }: Algebra): Kinds => (isWhole ? orders : isTruth ? bytes : floats)

export const kindNamesOf = (algebra: Algebra): string[] =>
  Object.keys(algebra.isInteger ? sumKinds : kindsOf(algebra))

/** Kind with zeros and other values, for tests whose subject isn't values. */
export const mixed = ({ isInteger, isTruth }: Algebra) =>
  isInteger ? 'small, ε scattered' : isTruth ? 'few bytes' : 'zero scattered'

/** Kinds that detect a wrong padding value of a tile. */
export function decisive({ isInteger, isWhole, isTruth }: Algebra): string[] {
  if (isInteger) return ['low + small', 'high + small']
  if (isWhole) return ['next to zero', 'next to one']
  return isTruth ? ['few bits', 'all true'] : ['below 0', 'above 0', 'anything']
}

/** Kinds with many equally good candidates. */
export const tied = ({ isInteger, isTruth }: Algebra) =>
  isInteger ? 'few levels, ties' : isTruth ? 'many bits' : 'ties'

const own = ['neighbour', 'before']

/** Cache of generated operands: many cases differ only in the form of the call. */
const drawn = new Map<string, [Elements, Elements]>()
const MAX_DRAWN = 400

const copyOf = (matrix: Elements): Elements => ({ ...matrix, data: matrix.data.slice() })

/** Returns new operands of a product of these sizes, or of a batch of products. */
export function valuesFor(
  algebra: Algebra,
  kind: string,
  [m, k, n]: Size,
  batch?: number,
  seed = 1,
): [a: Elements, b: Elements] {
  const key = `${algebra.semiring} ${algebra.dtype} ${kind} ${m} ${k} ${n} ${batch} ${seed}`
  let sides = drawn.get(key)
  if (!sides) {
    sides = draw(algebra, kind, [m, k, n], batch, seed)
    if ((batch ?? 1) * k * (m + n) > 2 ** 17) return sides
    if (drawn.size === MAX_DRAWN) drawn.clear()
    drawn.set(key, sides)
  }
  return [copyOf(sides[0]), copyOf(sides[1])]
}

function draw(
  algebra: Algebra,
  kind: string,
  [m, k, n]: Size,
  batch: number | undefined,
  seed: number,
): [a: Elements, b: Elements] {
  const name = own.includes(kind) ? mixed(algebra) : kind
  const random = new Random(seed + 7919 * kindNamesOf(algebra).indexOf(name) + (own.includes(kind) ? 5 : 0))
  const isProduct = algebra.kind === 'product'
  const make = (element: Sides[0], rows: number, cols: number): Elements => {
    const data = new arrays[algebra.dtype]((batch ?? 1) * rows * cols) as OperandArray
    for (let row = 0, at = 0; at < data.length; row++) {
      for (let col = 0; col < cols; col++, at++) {
        const x = element(row, col)
        data[at] = isProduct && x < 0 ? -x : x
      }
    }
    return elements(data, rows, cols, batch)
  }
  const [elementA, elementB] = algebra.isInteger
    ? sumValues(name, algebra, random)
    : alike(name, algebra, random)
  return [make(elementA, m, k), make(elementB, k, n)]
}

type Sides = [a: (row: number, col: number) => number, b: (row: number, col: number) => number]

function alike(name: string, algebra: Algebra, random: Random): Sides {
  const value = kindsOf(algebra)[name]!
  const element = () => value(random, algebra)
  return [element, element]
}

function sumValues(name: string, { semiring, zero, least, most }: Algebra, random: Random): Sides {
  const limit = translatedLimit(semiring as SemiringName)
  const context = { random, zero, least, most, limit }
  const [a, b] = sumKinds[name as keyof typeof sumKinds]
  return [(row, col) => a(context, row, col), (row, col) => b(context, row, col)]
}

/** Matrix of the type of the operands with values of a kind, for example C0. */
export const startFor = (
  algebra: Algebra,
  kind: string,
  rows: number,
  cols: number,
  batch?: number,
  seed = 3,
) => valuesFor(algebra, kind, [rows, cols, 0], batch, seed)[0]

/** Writes elements outside of the structure that would decide results. */
export function spoiled(
  algebra: Algebra,
  structure: ProductStructure,
  matrices: { a: Elements; b: Elements; c0?: Elements | undefined },
) {
  const random = new Random(7)
  writeGarbageOutside(random, matrices.a, structure.a, algebra)
  writeGarbageOutside(random, matrices.b, structure.b, algebra)
  if (matrices.c0) writeGarbageOutside(random, matrices.c0, structure.c, algebra)
  return matrices
}
