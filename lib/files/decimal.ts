/**
 * Decimal numbers in text, as float64. Fractions are rounded. An integer must be exact: one beyond 2^53 that float64 would round is refused,
 * unless a decimal point or an exponent makes it a real number.
 */
import { show } from '../describe.js'

/** More characters than the exact decimal digits of any float64. */
export const LONGEST_NUMBER = 2000

const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
const integer = /^[+-]?\d+$/
/** Spellings of infinity in XML Schema, Python, Java and by hand. */
const infinity = /^([+-]?)(inf|infinity|∞)$/i

/** Returns whether a text is a decimal number of any magnitude. */
export const isDecimal = (text: string): boolean => text.length <= LONGEST_NUMBER && decimal.test(text)

/** Returns whether a text is a decimal integer of any magnitude. */
export const isInteger = (text: string): boolean => integer.test(text)

/**
 * Returns whether `value`, the float64 nearest to a decimal text, equals the text if the text is an integer.
 * True for real numbers, which may be rounded.
 */
export const isExact = (text: string, value: number): boolean =>
  Math.abs(value) <= Number.MAX_SAFE_INTEGER || !isInteger(text) || BigInt(text) === BigInt(value)

/**
 * Returns the value of a decimal text. NaN if the text isn't a number, is out of range, or is an integer that
 * float64 would round.
 */
export function numberOf(text: string): number {
  const value = isDecimal(text) ? Number(text) : Number.NaN
  return Number.isFinite(value) && isExact(text, value) ? value : Number.NaN
}

/** Returns the infinity that a text denotes; NaN for other texts. */
export function infinityOf(text: string): number {
  const found = text.length <= LONGEST_NUMBER && infinity.exec(text)
  if (!found) return Number.NaN
  return found[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

/**
 * Returns the end of the error message, after the number's name, for a decimal text that {@link numberOf}
 * refuses.
 */
export const refusalOf = (text: string): string =>
  Number.isFinite(Number(text))
    ? `must be a number that float64 holds, but it is ${show(text)}, an integer beyond 2^53 that would be rounded: write it with a decimal point if it may be, or scale it`
    : `is ${show(text)}, beyond the range of numbers`

/*
 * Converts decimal digits to float64. Number() rounds all decimal numbers correctly, but creating the string
 * takes longer than reading the digits. This module computes the value to about 100 bits. If it is too near
 * to the midpoint of two floats, the result is NaN and the caller uses Number() (Ziv's rounding test).
 */

/** A number as the unevaluated sum of two floats: A. Dekker, A Floating-Point Technique for Extending the Available Precision (1971). */
interface Pair {
  readonly high: number
  readonly low: number
}

/** 2^27 + 1: splits 53 bits into two halves, whose products are exact. */
const SPLITTER = 134217729

/** Returns the rounding error of `product` = x·y. */
function productError(x: number, y: number, product: number): number {
  const tx = SPLITTER * x
  const xHigh = tx - (tx - x)
  const xLow = x - xHigh
  const ty = SPLITTER * y
  const yHigh = ty - (ty - y)
  const yLow = y - yHigh
  return xLow * yLow - (product - xHigh * yHigh - xLow * yHigh - xHigh * yLow)
}

/** Digits of each half of a number: 10^15 < 2^53. */
export const HALF_DIGITS = 15
const LARGEST_POWER = 290
const powers: Pair[] = []

/** Returns 10^exponent to more than 105 bits. */
function power(exponent: number): Pair {
  const known = powers[exponent]
  if (known) return known
  const exact = 10n ** BigInt(exponent)
  const high = Number(exact)
  const made = { high, low: Number(exact - BigInt(high)) }
  powers[exponent] = made
  return made
}
for (let exponent = 0; exponent <= LARGEST_POWER; exponent++) power(exponent)

/** Bound of the relative error of the values computed here, with a wide margin. */
const TOLERANCE = 2 ** -98

/**
 * Returns the float64 nearest to (high·10^digits + low)·10^exponent; NaN if about 100 bits don't determine
 * it. `high` and `low` are integers below 10^15, `digits` from 0 to 15.
 */
export function nearest(high: number, low: number, digits: number, exponent: number): number {
  if (high === 0 && low === 0) return 0
  if (exponent < -LARGEST_POWER || exponent > LARGEST_POWER - 2 * HALF_DIGITS) return Number.NaN
  const shift = powers[digits]!.high
  const scaled = high * shift
  const rest = productError(high, shift, scaled) + low
  const whole = scaled + rest
  const part = rest - (whole - scaled)
  let value: number
  let correction: number
  if (exponent >= 0) {
    const ten = powers[exponent]!
    const product = whole * ten.high
    const more = productError(whole, ten.high, product) + (whole * ten.low + part * ten.high)
    value = product + more
    correction = more - (value - product)
  } else {
    const ten = powers[-exponent]!
    const quotient = whole / ten.high
    const back = quotient * ten.high
    const left = whole - back - productError(quotient, ten.high, back) + (part - quotient * ten.low)
    const more = left / ten.high
    value = quotient + more
    correction = more - (value - quotient)
  }
  const margin = value * TOLERANCE
  const above = value + (correction + margin)
  return above === value + (correction - margin) ? above : Number.NaN
}
