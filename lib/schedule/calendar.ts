/** A working calendar: weekdays and holidays, which map working days to dates and back. All dates are days, without time zones. */
import { show } from '../describe.js'
import { OptionError, OverflowError } from '../errors.js'
import type { Schedule } from './options.js'
import { timeOf, type Units } from './units.js'

const DAY_MS = 86_400_000
/** 31 December 9999, in days since 1970. */
const LAST_DAY = 2_932_896

const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T\s].*)?$/
const german = /^(?:\p{L}{2,3}\.?\s+)?(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})(?:\s+\d{1,2}:\d{2}(?::\d{2})?)?$/u

const textOf = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** Returns whether a string is a date that exists, such as 2026-12-01. */
export function isDate(text: string): boolean {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(time) && textOf(time / DAY_MS) === text
}

const padded = (value: number, digits: number) => `${value}`.padStart(digits, '0')

/**
 * Returns the day of a Date as 2026-12-01. A Date at midnight in UTC, but not in the local time zone, is a day
 * in UTC, because `new Date('2026-12-01')` is one. Any other Date, such as `new Date(2026, 11, 1)`, is a day in
 * the local time zone.
 */
function dayText(date: Date): string {
  const isLocal = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0
  if (!isLocal && date.getTime() % DAY_MS === 0) return date.toISOString()
  return `${padded(date.getFullYear(), 4)}-${padded(date.getMonth() + 1, 2)}-${padded(date.getDate(), 2)}`
}

/**
 * Reads a date, such as 2026-12-01, 01.12.2026 or a Date, and returns it as 2026-12-01. A time of day is
 * ignored.
 */
export function readDate(value: unknown, what: string, fail: (problem: string) => never): string {
  const isValid = value instanceof Date && !Number.isNaN(value.getTime())
  const text = isValid ? dayText(value) : typeof value === 'string' ? value.trim() : ''
  const [, year, month, day] = iso.exec(text) ?? []
  const [, day2, month2, year2] = german.exec(text) ?? []
  const [y, m, d] = year ? [year, month, day] : [year2?.length === 2 ? `20${year2}` : year2, month2, day2]
  const date = y === undefined ? '' : `${y}-${m!.padStart(2, '0')}-${d!.padStart(2, '0')}`
  if (isDate(date)) return date
  return fail(`${what} must be a date such as 2026-12-01, but it is ${show(value)}`)
}

/** Reads a limit of a job: a time from the start of the plan, or a date. */
export function limitOf(
  value: unknown,
  role: 'notBefore' | 'deadline',
  units: Units,
  decimalComma: boolean,
  fail: (problem: string) => never,
): number | string {
  const what = role === 'deadline' ? 'the deadline' : 'the time not before'
  const text = typeof value === 'string' ? value.trim() : ''
  const isTime = typeof value === 'number' || (/^[-+]?[\d.,]+\s*\p{L}*$/u.test(text) && !german.test(text))
  return isTime ? timeOf(value, what, units, decimalComma, fail) : readDate(value, what, fail)
}

const dayOf = (date: string) => Date.parse(date) / DAY_MS

/** 1 for Monday to 7 for Sunday; 1 January 1970 was a Thursday. */
const weekdayOf = (day: number) => ((((day + 3) % 7) + 7) % 7) + 1

/** Working days, which are numbered from 0, the first day of the plan. */
export class Calendar {
  readonly start: string
  readonly #weekdays: readonly number[]
  readonly #holidays: readonly string[]
  /** Holidays on weekdays of work, ascending. */
  readonly #free: readonly number[]
  readonly #isFree = new Set<number>()
  /** Cache of the dates of the working days 0, 1, … and −1, −2, …. */
  readonly #later: number[] = []
  readonly #earlier: number[] = []

  constructor(start: string | Date, weekdays: readonly number[], holidays: readonly string[]) {
    const fail = (problem: string): never => {
      throw new OptionError(problem)
    }
    this.#weekdays = weekdays
    this.#holidays = holidays
    for (const holiday of holidays) {
      const [first, last = first] = String(holiday)
        .split('/')
        .map((each) => dayOf(readDate(each, 'each of option holidays', fail)))
      if (!(last! >= first! && last! - first! < 1000))
        fail(`a range of option holidays must be first/last, of up to 1000 days, but it is ${show(holiday)}`)
      for (let day = first!; day <= last!; day++) this.#isFree.add(day)
    }
    this.#free = [...this.#isFree].filter((day) => weekdays.includes(weekdayOf(day))).sort((a, b) => a - b)
    this.#later.push(this.#next(dayOf(readDate(start, 'option start', fail)) - 1, 1))
    this.start = textOf(this.#later[0]!)
  }

  #isWorking(day: number): boolean {
    return this.#weekdays.includes(weekdayOf(day)) && !this.#isFree.has(day)
  }

  #next(day: number, step: 1 | -1): number {
    let next = day + step
    while (!this.#isWorking(next)) next += step
    if (next > LAST_DAY || next < -LAST_DAY)
      throw new OverflowError(
        'dates must be in years up to 9999, but the plan takes longer: is its unit right? Leave out option start for times without dates',
      )
    return next
  }

  /** Returns the date of a working day. */
  date(index: number): string {
    const [days, at, step] =
      index >= 0 ? [this.#later, index, 1 as const] : [this.#earlier, -1 - index, -1 as const]
    while (days.length <= at) days.push(this.#next(days.at(-1) ?? this.#later[0]!, step))
    return textOf(days[at]!)
  }

  /** Returns the number of working days from the first day of the plan until before a date; negative for earlier dates. */
  daysBefore(date: string): number {
    return this.#workdaysBefore(dayOf(date)) - this.#workdaysBefore(this.#later[0]!)
  }

  /** Returns the number of working days from a fixed early Monday until before a day. */
  #workdaysBefore(day: number): number {
    const weeks = Math.floor((day + 3) / 7)
    let count = weeks * this.#weekdays.length
    for (let each = 7 * weeks - 3; each < day; each++) if (this.#weekdays.includes(weekdayOf(each))) count++
    let [low, high] = [0, this.#free.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#free[middle]! < day) low = middle + 1
      else high = middle
    }
    return count - low
  }

  /** Returns whether a date is a working day. */
  isWorking(date: string): boolean {
    return this.#isWorking(dayOf(date))
  }

  dates(end: string): NonNullable<Schedule['dates']> {
    return { start: this.start, end, weekdays: this.#weekdays, holidays: this.#holidays }
  }
}

/** Reads the option `weekdays`. */
export function readWeekdays(value: unknown, name: string): readonly number[] {
  const isDay = (each: unknown) => Number.isInteger(each) && (each as number) >= 1 && (each as number) <= 7
  if (Array.isArray(value) && value.length > 0 && value.every(isDay))
    return [...new Set(value as number[])].sort()
  throw new OptionError(
    `option ${name} must be a list of numbers from 1 for Monday to 7 for Sunday, but it is ${show(value)}`,
  )
}

/** Reads the option `holidays`. */
export function readHolidays(value: unknown, name: string): readonly string[] {
  if (Array.isArray(value) && value.length <= 1000 && value.every((each) => typeof each === 'string'))
    return [...value]
  throw new OptionError(
    `option ${name} must be a list of up to 1000 dates such as '2026-12-25', but it is ${show(value)}`,
  )
}
