/**
 * Units of working time, texts such as `2.5 days`, and exact arithmetic on them: a number stands for the
 * nearest simple fraction, 5.5 for 11/2 and 22 / 3 for 22/3. So all times of a plan are integer multiples of
 * a common fraction of its unit.
 */
import { show } from '../describe.js'
import { adviceFor } from '../files/advice.js'
import { greatestDivisor } from '../integers.js'

/** Unit of working time. */
export type TimeUnit = 'minutes' | 'hours' | 'days' | 'weeks' | 'months'

export const timeUnits: readonly TimeUnit[] = ['minutes', 'hours', 'days', 'weeks', 'months']

const names: Record<TimeUnit, RegExp> = {
  minutes: /^(m|mins?|minutes?|minuten)$/,
  hours: /^(h|hrs?|hours?|std|stdn?|stunden?)$/,
  days: /^(d|dys?|days?|t|tage?|tagen|workdays?|workingdays?|arbeitstage?)$/,
  weeks: /^(w|wks?|weeks?|wo|wochen?)$/,
  months: /^(mo|mons?|months?|monate?|monaten)$/,
}

/** Returns the unit that a word names; undefined for any other word. */
export function unitOf(word: string): TimeUnit | undefined {
  const text = word.toLowerCase().replace(/\.$/, '')
  return timeUnits.find((unit) => names[unit].test(text))
}

/** Returns whether a word names calendar time, such as `edays` or `fTage` of MS Project. */
const isElapsed = (word: string) => /^[ef]/i.test(word) && unitOf(word.slice(1)) !== undefined

/** Fraction p / q in lowest terms, q > 0. */
export type Fraction = readonly [p: number, q: number]

const reduced = (p: number, q: number): Fraction => {
  const divisor = greatestDivisor(Math.abs(p), q)
  return [p / divisor, q / divisor]
}

/** Largest denominator of a fraction whose decimals don't end, such as 22 / 3. */
const MAX_PARTS = 10 ** 6

/** Returns the fraction that a number stands for: a decimal of up to 9 places, or the simplest one that rounds to it. Null for others. */
export function fractionOf(value: number): Fraction | null {
  if (Number.isSafeInteger(value)) return [value, 1]
  const decimal = /^(-?\d+)\.(\d{1,9})$/.exec(String(value))
  if (decimal) {
    const p = Number(decimal[1]! + decimal[2]!)
    return Number.isSafeInteger(p) ? reduced(p, 10 ** decimal[2]!.length) : null
  }
  // Continued fractions: each convergent is the nearest fraction of its size.
  let [p0, q0, p, q] = [0, 1, 1, 0]
  for (let rest = Math.abs(value), step = 0; step < 40; step++) {
    const whole = Math.floor(rest)
    ;[p0, q0, p, q] = [p, q, whole * p + p0, whole * q + q0]
    if (!(q <= MAX_PARTS) || !Number.isSafeInteger(p)) return null
    if (p / q === Math.abs(value)) return [value < 0 ? -p : p, q]
    rest = 1 / (rest - whole)
  }
  return null
}

/** Units of a plan. */
export interface Units {
  readonly unit: TimeUnit
  readonly hoursPerDay: number
  readonly daysPerWeek: number
}

/** Minutes of a unit, as a fraction. */
function minutesOf(unit: TimeUnit, { hoursPerDay, daysPerWeek }: Units): Fraction {
  const [hours, hourParts] = fractionOf(hoursPerDay) ?? [hoursPerDay, 1]
  const [days, dayParts] = fractionOf(daysPerWeek) ?? [daysPerWeek, 1]
  if (unit === 'minutes') return [1, 1]
  if (unit === 'hours') return [60, 1]
  if (unit === 'days') return reduced(60 * hours, hourParts)
  return reduced((unit === 'weeks' ? 1 : 4) * 60 * hours * days, hourParts * dayParts)
}

/** Converts a number of units `from` to the plan's unit; the result is the float nearest to the exact quotient. */
export function inUnit(value: number, from: TimeUnit, units: Units): number {
  if (from === units.unit) return value
  const [p, q] = minutesOf(from, units)
  const [r, s] = minutesOf(units.unit, units)
  const [n, d] = fractionOf(value) ?? [value, 1]
  return (n * p * s) / (d * q * r)
}

/** Longer texts are no times: their search takes time with the square of their length. */
const LONGEST_TIME = 100

const timeText = /^([+−–-]?)\s*(\d+[.,]?\d*|[.,]\d+)\s*(\p{L}*)\.?\s*\??$/u

/**
 * Reads a time, such as `5,5`, `2 days` or `3h`, in the plan's unit.
 *
 * @param decimalComma - whether a comma is a decimal point for certain.
 * @param fail - refuses the text.
 */
function readTime(
  text: string,
  what: string,
  units: Units,
  decimalComma: boolean,
  fail: (problem: string) => never,
): number {
  const found = text.length > LONGEST_TIME ? null : timeText.exec(text)
  if (!found) {
    const word = text.slice(0, LONGEST_TIME).replace(/\s+/g, '')
    if (word.endsWith('%'))
      fail(`${what} must be a time, but it is ${show(text)}: write the time that the percentage stands for`)
    return fail(
      `${what} must be a number of ${units.unit}, or a time such as 2d or 4 hours, but it is ${show(text)}${adviceFor(word)}`,
    )
  }
  const [, sign, digits, word] = found as unknown as [string, string, string, string]
  if (!decimalComma && /^\d{1,3},\d{3}$/.test(digits))
    fail(
      `${what} may be a decimal or a number with a thousands separator, but not both: write ${show(digits)} with a point or without the comma`,
    )
  const value = Number(digits.replace(',', '.')) * (sign !== '' && sign !== '+' ? -1 : 1) + 0
  if (word === '') return value
  const unit = unitOf(word)
  if (unit) return inUnit(value, unit, units)
  if (isElapsed(word))
    fail(
      `${what} must be working time, but ${show(text)} is elapsed time of the calendar: write the working time in it`,
    )
  return fail(`${what} must be in minutes, hours, days, weeks or months, but it is ${show(text)}`)
}

/** Reads a time of an object or a cell: a number, or a text. */
export function timeOf(
  value: unknown,
  what: string,
  units: Units,
  decimalComma: boolean,
  fail: (problem: string) => never,
): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value + 0
  if (typeof value === 'string') return readTime(value.trim(), what, units, decimalComma, fail)
  return fail(`${what} must be a finite number, or a text such as '2d', but it is ${show(value)}`)
}
