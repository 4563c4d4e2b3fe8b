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
