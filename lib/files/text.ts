/** Numbers in text, read from its bytes: a regular expression for each would take longer than the disk. */
import { isUint8Array } from '../array-types.js'
import { requireOrdinary } from '../borrowed.js'
import { show, typeName } from '../describe.js'
import { DTypeError, FileError } from '../errors.js'
import { fromLatin1, fromUtf8, toUtf8 } from '../host.js'
import { HALF_DIGITS, nearest } from './decimal.js'

const NEWLINE = 10
const RETURN = 13
const SPACE = 32
const TAB = 9
const ZERO = 48
const MINUS = 45
const PLUS = 43
const POINT = 46
/** e as a lower-case letter: what the bit that tells E from e is set in. */
const EXPONENT = 101
const LOWER_CASE = 32

/** Integers up to here are exact, and so are quotients of them and powers of ten up to 10^22 after one rounding. */
const EXACT = Number.MAX_SAFE_INTEGER
const tens = Array.from({ length: 23 }, (_, digits) => Number(`1e${digits}`))

/** More characters than the exact decimal digits of any float64. */
const LONGEST_NUMBER = 2000

/** So many bytes of a line tell what it is. */
const SHORTENED = 1000

/** What stands for numbers that have no digits. */
const infinities = /^([+-]?)(inf|infinity|∞)$/i
/** These are so many in some files that to make strings of them would take most of the time. */
const usualWords: [Uint8Array, number][] = [
  [toUtf8('-inf'), Number.NEGATIVE_INFINITY],
  [toUtf8('inf'), Number.POSITIVE_INFINITY],
  [toUtf8('nan'), Number.NaN],
]
const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/** What reads lines: it is given windows of whole lines, one after the other, and then the end. */
export interface LineParser<Result> {
  /** Reads all lines of the reader's window. */
  lines(reader: TextReader): void
  /** Called after the last line. */
  end(reader: TextReader): Result
}

/** Text, line by line, in a window of whole lines: each ends with a line break, the last one too. */
export class TextReader {
  bytes: Uint8Array = new Uint8Array(0)
  /** What errors call the text. */
  readonly name: string
  position = 0
  /** Where the window ends. */
  end = 0
  /** At most so many bytes follow the window. */
  later = 0
  /** The number of the line, from 1. */
  line = 1
  /** Whether the number last read was written as an integer. */
  integral = true
  /** What may stand between numbers besides spaces and tabs. */
  separator = -1
  #begun = false

  constructor(name: string) {
    this.name = name
  }

  /** Goes on with the first `end` of `bytes`, which end with a line break; at most `later` bytes come after them. */
  window(bytes: Uint8Array, end: number, later: number): void {
    this.bytes = bytes
    this.position = 0
    this.end = end
    this.later = later
    if (this.#begun) return
    this.#begun = true
    if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
      this.fail('the text is in UTF-16: save it as UTF-8')
    }
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.position = 3
  }

  /** At most so many bytes are left of the text. */
  get left(): number {
    return this.end - this.position + this.later
  }

  skipBlanks(): void {
    const { bytes } = this
    let byte = bytes[this.position]
    while (byte === SPACE || byte === TAB) byte = bytes[++this.position]
  }

  /** Whether nothing but blanks is left of the line; they are skipped. */
  atLineEnd(): boolean {
    this.skipBlanks()
    const byte = this.bytes[this.position]
    if (byte === RETURN) this.#requireBreak()
    return byte === NEWLINE || byte === RETURN
  }

  /** What follows a carriage return would be lost if it weren't the end of the line. */
  #requireBreak(): void {
    const { bytes } = this
    let at = this.position
    while (bytes[at] === RETURN || bytes[at] === SPACE || bytes[at] === TAB) at++
    if (bytes[at] === NEWLINE) return
    this.fail('a carriage return without a line break is in it: end lines by \\n or \\r\\n')
  }

  nextLine(): void {
    this.position = this.bytes.indexOf(NEWLINE, this.position) + 1
    this.line++
  }

  /** Skips empty lines, and those that begin with the byte `comment`. Whether there is another line in the window. */
  nextContent(comment = -1): boolean {
    while (this.position < this.end) {
      if (!this.atLineEnd() && this.bytes[this.position] !== comment) return true
      this.nextLine()
    }
    return false
  }

  /** The rest of the line, shortened. */
  restOfLine(): string {
    const end = this.bytes.indexOf(NEWLINE, this.position)
    return fromUtf8(this.bytes, this.position, Math.min(end, this.position + SHORTENED)).trim()
  }

  /** Whether {@link restOfLine} shortens the line. */
  get isLong(): boolean {
    return this.bytes.indexOf(NEWLINE, this.position) > this.position + SHORTENED
  }

  /** The bytes up to the next blank, separator or line end, shortened. */
  word(): string {
    this.skipBlanks()
    let end = this.position
    while (!this.ends(end)) end++
    return fromUtf8(this.bytes, this.position, Math.min(end, this.position + 400))
  }

  /** Goes behind what {@link word} gave. */
  skipWord(): void {
    while (!this.ends(this.position)) this.position++
  }

  /** Whether no number goes on at `at`. */
  ends(at: number): boolean {
    const byte = this.bytes[at]
    return byte === NEWLINE || byte === SPACE || byte === RETURN || byte === TAB || byte === this.separator
  }

  /** Reads a decimal number, correctly rounded; `what` is what errors call it. */
  number(what: string): number {
    const value = this.decimal()
    return Number.isNaN(value) ? this.#wrongNumber(what) : value
  }

  /** Whether the next word is `word`; goes behind it if it is. */
  skipIf(word: Uint8Array): boolean {
    this.skipBlanks()
    const { bytes, position } = this
    for (let at = 0; at < word.length; at++) if (bytes[position + at] !== word[at]) return false
    if (!this.ends(position + word.length)) return false
    this.position += word.length
    return true
  }

  /** The same as {@link number}, or an infinity, or NaN. */
  floating(what: string): number {
    const value = this.decimal()
    if (!Number.isNaN(value)) return value
    this.integral = false
    for (const [word, meaning] of usualWords) if (this.skipIf(word)) return meaning
    const word = this.word()
    const infinity = infinities.exec(word.replace('−', '-'))
    if (!infinity && !/^[+-]?nan$/i.test(word)) return this.#wrongNumber(what)
    this.skipWord()
    if (!infinity) return Number.NaN
    return infinity[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }

  /** Reads a decimal number that float64 can hold; NaN, and the reader stays before it, if there is none. */
  decimal(): number {
    this.skipBlanks()
    const { bytes } = this
    const start = this.position
    let at = start
    let byte = bytes[at]!
    const negative = byte === MINUS
    if (negative || byte === PLUS) byte = bytes[++at]!
    const first = at
    let value = 0
    let digit = byte - ZERO
    while (digit >= 0 && digit <= 9) {
      value = 10 * value + digit
      digit = bytes[++at]! - ZERO
    }
    byte = digit + ZERO
    let digits = at - first
    let exponent = 0
    this.integral = true
    if (byte === POINT) {
      this.integral = false
      const point = at
      digit = bytes[++at]! - ZERO
      while (digit >= 0 && digit <= 9) {
        value = 10 * value + digit
        digit = bytes[++at]! - ZERO
      }
      byte = digit + ZERO
      exponent = point + 1 - at
      digits -= exponent
    }
    if (digits === 0) return Number.NaN
    const last = at
    if ((byte | LOWER_CASE) === EXPONENT) {
      this.integral = false
      byte = bytes[++at]!
      const down = byte === MINUS
      if (down || byte === PLUS) byte = bytes[++at]!
      const begin = at
      let power = 0
      digit = byte - ZERO
      while (digit >= 0 && digit <= 9) {
        if (power < 100000) power = 10 * power + digit
        digit = bytes[++at]! - ZERO
      }
      if (at === begin) return Number.NaN
      exponent += down ? -power : power
    }
    if (!this.ends(at)) return Number.NaN
    if (value <= EXACT && exponent > -tens.length && exponent < tens.length) {
      if (exponent < 0) value /= tens[-exponent]!
      else if (exponent > 0) value *= tens[exponent]!
    } else {
      value = this.#rounded(first, last, exponent)
      if (Number.isNaN(value) && at - start <= LONGEST_NUMBER) {
        value = Math.abs(Number(fromLatin1(bytes, start, at)))
      }
      if (!Number.isFinite(value)) return Number.NaN
    }
    this.position = at
    return negative ? -value : value
  }

  /** The digits from `at` up to `last`, times a power of ten, correctly rounded; NaN if they are too many. */
  #rounded(at: number, last: number, exponent: number): number {
    const { bytes } = this
    let high = 0
    let low = 0
    let count = 0
    for (; at < last; at++) {
      const digit = bytes[at]! - ZERO
      if (digit < 0 || (count === 0 && digit === 0)) continue
      if (count < HALF_DIGITS) high = 10 * high + digit
      else low = 10 * low + digit
      if (++count > 2 * HALF_DIGITS) return Number.NaN
    }
    return nearest(high, low, Math.max(count - HALF_DIGITS, 0), exponent)
  }

  /** The number that a text is, which was taken from the line; otherwise as {@link number}. */
  numberIn(text: string, what: string): number {
    const value = decimal.test(text) ? Number(text) : Number.NaN
    return Number.isFinite(value) ? value : this.#wrongNumber(what, text)
  }

  #wrongNumber(what: string, word = this.word()): never {
    if (word === '') this.fail(`${what} is missing`)
    if (decimal.test(word)) this.fail(`${what} is ${show(word)}, beyond the range of numbers`)
    return this.fail(`${what} must be a number, but it is ${show(word)}`)
  }

  /** Reads an integer from `least` to `most`. */
  integer(what: string, least: number, most: number): number {
    const start = this.position
    const value = this.number(what)
    if (this.integral && value >= least && value <= most) return value + 0
    // As it was written: a number so large may have been rounded.
    this.position = start
    const expected = this.integral ? `from ${least} to ${most}` : 'an integer'
    return this.fail(`${what} must be ${expected}, but it is ${this.word()}`)
  }

  /** The same for integers from 1 on, which are most of a large file. */
  index(what: string, most: number): number {
    const { bytes } = this
    let at = this.position
    let byte = bytes[at]!
    while (byte === SPACE || byte === TAB) byte = bytes[++at]!
    const first = at
    let value = 0
    let digit = byte - ZERO
    while (digit >= 0 && digit <= 9 && value < 100_000_000) {
      value = 10 * value + digit
      digit = bytes[++at]! - ZERO
    }
    byte = digit + ZERO
    if ((byte === SPACE || byte === NEWLINE) && at > first && value >= 1 && value <= most) {
      this.position = at
      return value
    }
    return this.integer(what, 1, most)
  }

  /** Goes to the next line, which must be the only thing that is left of this one. */
  endLine(): void {
    if (this.bytes[this.position] === NEWLINE) {
      this.position++
      this.line++
      return
    }
    if (!this.atLineEnd())
      this.fail(`expected the end of the line, but it goes on with ${show(this.restOfLine())}`)
    this.nextLine()
  }

  fail(problem: string): never {
    throw new FileError(`${this.name}, line ${this.line}: ${problem}`)
  }
}

/** Parses all of a text in memory. */
export function parseText<Result>(
  content: Uint8Array | string,
  name: string,
  parser: LineParser<Result>,
): Result {
  if (typeof content !== 'string' && !isUint8Array(content)) {
    throw new DTypeError(`${name} must be text, or its bytes in a Uint8Array, but it is ${typeName(content)}`)
  }
  requireOrdinary(content, `the bytes of ${name}`)
  const bytes = typeof content === 'string' ? toUtf8(content) : content
  const reader = new TextReader(name)
  const whole = bytes.lastIndexOf(NEWLINE) + 1
  if (whole > 0) {
    reader.window(bytes, whole, bytes.length - whole)
    parser.lines(reader)
  }
  if (whole < bytes.length) {
    const rest = new Uint8Array(bytes.length - whole + 1)
    rest.set(bytes.subarray(whole))
    rest[rest.length - 1] = NEWLINE
    reader.window(rest, rest.length, 0)
    parser.lines(reader)
  }
  return parser.end(reader)
}
