/** Operands for products, reproducible by their seed. */
import { Random } from '../../native/tools/fuzz/random.mjs'
import { finiteRange, type SemiringName, zeroValue } from './oracle.js'

export { Random }

/** Largest magnitude of finite values that may meet a zero in plain int32 sums (docs/types.md). */
export const translatedLimit = (semiring: SemiringName): number =>
  semiring === 'max-plus' ? 357913941 : 357913940

interface Context {
  random: Random
  zero: number
  least: number
  most: number
  limit: number
}

type Element = (context: Context, row: number, col: number) => number

const anyFinite: Element = ({ random, least, most }) => random.integer(least, most)
const half: Element = ({ random }) => random.integer(-(2 ** 30) + 1, 2 ** 30 - 1)
const low: Element = ({ random, least }) => least + random.integer(0, 1000)
const high: Element = ({ random, most }) => most - random.integer(0, 1000)
const near0: Element = ({ random }) => random.integer(-1000, 1000)
const int16: Element = ({ random }) => random.pick([-32767, 32766, random.integer(-32767, 32766)])
const within: Element = ({ random, limit }) => random.integer(-limit, limit)
const atLimit: Element = ({ random, limit }) => random.pick([limit, -limit, limit - 1, 1 - limit])
const beyondLimit: Element = ({ random, limit }) => random.pick([limit + 1, -limit - 1, limit, -limit])
const extremes: Element = ({ random, least, most, zero }) =>
  random.pick([least, most, least + 1, most - 1, 0, -1, 1, zero])
const lowestInLimit: Element = ({ random, limit }) => -limit + random.integer(0, 3)
const highestInLimit: Element = ({ random, limit }) => limit - random.integer(0, 3)

/** Values within `spread` of a number far from 0; the ends of the range occur often. */
const around =
  (center: number, spread: number): Element =>
  ({ random }) =>
    center + (random.chance(0.5) ? random.pick([0, spread]) : random.integer(0, spread))

/**
 * Values as in `around`, but each row of A or column of B has a separate centre between ±10^8. With `empty`,
 * every fifth line is all ε.
 */
const aroundInLines =
  (side: 'A' | 'B', spread: number, empty = false): Element =>
  (context, row, col) => {
    const line = side === 'A' ? row : col
    if (empty && line % 5 === 3) return context.zero
    return around((((line * 37) % 201) - 100) * 1_000_000, spread)(context, row, col)
  }

/** The best element of A meets the worst of B in every product, and vice versa: no sum is near the best of both. */
const bestMeetsWorst =
  (side: 'A' | 'B'): Element =>
  ({ least, most, random }, row, col) => {
    const even = (side === 'A' ? col : row) % 2 === 0
    return even === (side === 'A') ? most - random.integer(0, 9) : least + random.integer(0, 9)
  }

/**
 * The best elements meet only zeros. Every sum differs by 2^31 − 4 to 2^31 + 4 from the sum of the best
 * elements. The difference is equal for all sums of a result, and another for neighbouring results. Only
 * every `period`-th row of A has this property.
 */
const farFromBest =
  (side: 'A' | 'B', period = 1): Element =>
  ({ zero }, row, col) => {
    const [line, k] = side === 'A' ? [row, col] : [col, row]
    const up = zero < 0 ? 1 : -1
    if (k % 3 === (side === 'A' ? 0 : 1)) return up * 2 ** 30
    if (k % 3 === (side === 'A' ? 1 : 0) && line % period === 0) return zero
    return -up * ((line % 5) - 2)
  }

/** Sums of 2^31 and −2^31, plus or minus 5, and zeros, in alternate rows of C. */
const sumsAtTheEnds =
  (side: 'A' | 'B'): Element =>
  ({ zero }, row, col) => {
    const [line, k] = side === 'A' ? [row, col] : [col, row]
    if (side === 'A' && line % 3 !== k % 2) return zero
    return (k % 2 === 0 ? 1 : -1) * 2 ** 30 + (side === 'A' ? (line % 5) - 2 : (line % 7) - 3)
  }

const beyondOne: Element = ({ random }) => random.integer(1_500_000_000, 2_000_000_000)
const beyondOther: Element = ({ random }) => -random.integer(1_500_000_000, 2_000_000_000)
const atAnEnd: Element = ({ random }) =>
  random.pick([-(2 ** 30), 2 ** 30 - 1, 2 ** 30, 1 - 2 ** 30, -(2 ** 30) - 1])
const ontoZero: Element = ({ random }) => random.pick([2 ** 30, -(2 ** 30), 2 ** 30 - 1, 3, 2 ** 31 - 4])

const zero: Element = (context) => context.zero
const some =
  (probability: number, element: Element): Element =>
  (context, row, col) =>
    context.random.chance(probability) ? context.zero : element(context, row, col)
const zeroLines =
  (element: Element): Element =>
  (context, row, col) =>
    row % 3 === 1 || col % 5 === 2 ? context.zero : element(context, row, col)

/**
 * Kinds of operands, as [A, B]. In kinds with "low" or "high" in their names all sums are far below or above
 * 0. A wrong padding value of a tile then decides a result, and is detected.
 */
export const kinds = {
  small: [near0, near0],
  'half range': [half, half],
  'full range': [anyFinite, anyFinite],
  'small, ε scattered': [some(0.3, near0), some(0.3, near0)],
  'full range, ε scattered': [some(0.3, anyFinite), some(0.3, anyFinite)],
  'ε in A alone': [some(0.5, within), within],
  'ε in B alone': [within, some(0.5, within)],
  'ε in rows and columns': [zeroLines(near0), zeroLines(near0)],
  'mostly ε': [some(0.97, within), some(0.97, within)],
  'all ε': [zero, zero],
  'A all ε, B finite': [zero, anyFinite],
  'A finite, B all ε': [anyFinite, zero],
  'translated limit, ε': [some(0.2, atLimit), some(0.2, atLimit)],
  'translated limit, low, ε': [some(0.2, lowestInLimit), some(0.2, lowestInLimit)],
  'translated limit, high, ε': [some(0.2, highestInLimit), some(0.2, highestInLimit)],
  'beyond the translated limit, ε': [some(0.2, beyondLimit), some(0.2, beyondLimit)],
  'low + small': [low, (context) => context.random.integer(0, 1000)],
  'small + low': [(context) => context.random.integer(0, 1000), low],
  'high + small': [high, (context) => context.random.integer(-1000, 0)],
  'small + high': [(context) => context.random.integer(-1000, 0), high],
  'low + low': [low, low],
  'high + high': [high, high],
  'low + low, ε': [some(0.2, low), some(0.2, low)],
  'high + high, ε': [some(0.2, high), some(0.2, high)],
  'low + high': [low, high],
  extremes: [extremes, extremes],
  'sums at the ends': [sumsAtTheEnds('A'), sumsAtTheEnds('B')],
  'sums beyond one end': [beyondOne, beyondOne],
  'sums beyond the other end': [beyondOther, beyondOther],
  'sums at an end, and one or two beyond': [atAnEnd, atAnEnd],
  'sums that wrap onto ε': [ontoZero, ontoZero],
  'sums beyond the ends, ε': [some(0.3, atAnEnd), some(0.3, ontoZero)],
  'the best meets the worst': [bestMeetsWorst('A'), bestMeetsWorst('B')],
  'far from the best': [farFromBest('A'), farFromBest('B')],
  'far from the best in some rows': [farFromBest('A', 7), farFromBest('B')],
  'spreads of 16 bits': [around(-1_000_000_000, 40000), around(900_000_000, 25535)],
  'spreads beyond 16 bits': [around(1_000_000_000, 40000), around(-900_000_000, 25536)],
  'spreads of 14 bits, ε': [some(0.2, around(-1_000_000_000, 16383)), some(0.2, around(-900_000_000, 16383))],
  'spreads of 14 bits, ε in A alone': [some(0.2, around(900_000_000, 16383)), around(900_000_000, 16383)],
  'spreads beyond 14 bits, ε': [some(0.2, around(300_000_000, 16384)), some(0.2, around(-300_000_000, 9))],
  'all of int16': [int16, int16],
  'all of int16, ε': [some(0.2, int16), some(0.2, int16)],
  'equal elements': [around(3, 0), around(-9, 0)],
  '31 levels of B, any A, ε': [some(0.3, within), around(-5000, 31)],
  '31 levels of A, any B, ε': [around(100_000_000, 31), some(0.3, within)],
  '37 levels of B, any A, ε': [some(0.3, within), around(7, 37)],
  '38 levels of A and B': [around(5, 38), around(7, 38)],
  '41 levels of both, ε': [some(0.2, around(9, 20)), some(0.2, around(-900, 21))],
  '49 levels of both, ε': [some(0.2, around(9, 24)), some(0.2, around(-900, 25))],
  '50 levels of both, ε': [some(0.2, around(9, 25)), some(0.2, around(-900, 25))],
  '31 levels in columns of B, any A, ε': [some(0.3, within), aroundInLines('B', 31)],
  '31 levels in rows of A, any B, ε': [aroundInLines('A', 31), some(0.3, within)],
  '32 levels in rows of A, any B': [aroundInLines('A', 32), within],
  '37 levels in columns of B, any A, ε': [some(0.3, within), aroundInLines('B', 37)],
  '37 levels in rows of A, rows of ε, any B, ε': [aroundInLines('A', 37, true), some(0.3, within)],
  '38 levels in rows of A and columns of B': [aroundInLines('A', 38), aroundInLines('B', 38)],
  '41 levels in lines of both, ε': [some(0.2, aroundInLines('A', 20)), some(0.2, aroundInLines('B', 21))],
  '42 levels in lines of both, ε': [some(0.2, aroundInLines('A', 21)), some(0.2, aroundInLines('B', 21))],
  '49 levels in lines of both, ε': [some(0.2, aroundInLines('A', 24)), some(0.2, aroundInLines('B', 25))],
  '50 levels in lines of both, ε': [some(0.2, aroundInLines('A', 25)), some(0.2, aroundInLines('B', 25))],
  'few levels, ties': [around(5, 2), around(-900, 2)],
  'few levels, mostly ε': [some(0.97, around(-70, 20)), some(0.97, around(70, 20))],
} satisfies Record<string, [Element, Element]>

export type Kind = keyof typeof kinds
export const kindNames = Object.keys(kinds) as Kind[]

/** Row-major matrix in the form of an argument. */
export interface Plain {
  data: Int32Array
  shape: [number, number] | [number, number, number]
}

/** Operands of `kind`; a batch of products if `batch` is given. */
export function operands(
  kind: Kind,
  semiring: SemiringName,
  [m, k, n]: readonly [m: number, k: number, n: number],
  seed = 1,
  batch?: number,
): { a: Plain; b: Plain } {
  const [least, most] = finiteRange(semiring)
  const random = new Random(seed + 7919 * kindNames.indexOf(kind))
  const context: Context = {
    random,
    zero: zeroValue(semiring),
    least,
    most,
    limit: translatedLimit(semiring),
  }
  const make = (element: Element, rows: number, cols: number): Plain => {
    const data = new Int32Array((batch ?? 1) * rows * cols)
    for (let i = 0; i < data.length; i++) {
      data[i] = element(context, Math.floor(i / Math.max(cols, 1)), i % Math.max(cols, 1))
    }
    return { data, shape: batch === undefined ? [rows, cols] : [batch, rows, cols] }
  }
  const [elementA, elementB] = kinds[kind]
  return { a: make(elementA, m, k), b: make(elementB, k, n) }
}

/** Integers from `low` to `high`, row-major. */
export function randomMatrix(
  rows: number,
  cols: number,
  seed: number,
  [low, high]: readonly [number, number] = [-1000, 1000],
): Plain {
  const random = new Random(seed)
  return {
    data: Int32Array.from({ length: rows * cols }, () => random.integer(low, high)),
    shape: [rows, cols],
  }
}

export const listOf = (length: number, next: (index: number) => number): number[] =>
  Array.from({ length }, (_, index) => next(index))
