/**
 * Parses numbers in text directly from its bytes: a regular expression for each number would be slower than
 * the disk.
 */
import { show } from '../describe.js'
import { FileError } from '../errors.js'
import type { Steps } from '../graph-core/slices.js'
import { fromLatin1, fromUtf8, toUtf8 } from '../platform.js'
import { adviceFor } from './advice.js'
import { infinityOf, isDecimal, isExact, isInteger, LONGEST_NUMBER, numberOf, refusalOf } from './decimal.js'

const NEWLINE = 10
const SPACE = 32
const TAB = 9
const ZERO = 48
const MINUS = 45
const PLUS = 43
const POINT = 46
const COMMA = 44
/** Code of the letter e, with the bit that distinguishes e from E. */
const EXPONENT = 101
const LOWER_CASE = 32

/**
 * Integers up to this limit are exact. Their products and quotients with powers of ten up to 10^22 are
 * correctly rounded, because they round once.
 */
const EXACT = Number.MAX_SAFE_INTEGER
const tens = Array.from({ length: 23 }, (_, digits) => Number(`1e${digits}`))

/** Number of bytes that identify a line in messages. */
const SHORTENED = 1000
/** Limit of a word in messages, in bytes. */
const MAX_OF_WORD = 400

/**
 * Longest substring in characters that V8 copies instead of referencing the string: SlicedString::kMinLength
 * is 13.
 */
const LONGEST_COPIED = 12

/**
 * Frequent words for infinities and NaN. Some files have so many of them that creating strings would take
 * most of the time.
 */
const usualWords: [Uint8Array, number][] = [
  [toUtf8('-inf'), Number.NEGATIVE_INFINITY],
  [toUtf8('inf'), Number.POSITIVE_INFINITY],
  [toUtf8('nan'), Number.NaN],
]

/** Parser of a text that receives consecutive windows of whole lines. */
export interface LineParser<Result> {
  /**
   * Parses the lines of the reader's window. The parser may leave a record of several lines whose end isn't
   * in the window: the next window then begins with the record.
   */
  lines(reader: TextReader): Steps<void>
  /** Returns the result. Called after the last line. */
  end(reader: TextReader): Steps<Result>
}

/** Text in UTF-8, line by line, in a window of whole lines: each ends with \n, the last one too. */
export class TextReader {
  bytes: Uint8Array = new Uint8Array(0)
  /** Name of the text in errors. */
  readonly name: string
  position = 0
  /** End of the window. */
  end = 0
  /** Upper bound of the bytes after the window. */
  later = 0
  /** The number of the line, from 1. */
  line = 1
  /** Whether the number last read was written as an integer. */
  integral = true
  /** Byte that separates cells; -1 for blanks. */
  separator = -1
  /** Whether a comma may be a decimal point. */
  decimalComma = false
  /** Whether the window is the last one. */
  isLast = false
  /** First number whose point may separate thousands; null once another number shows that it doesn't. */
  #doubtful: { readonly text: string; readonly line: number } | null | undefined
  /** Byte of the decimal point in this text; -1 until a number has one. */
  #point = -1
  /** All bytes of the window as characters, computed on first use. */
  #characters = ''

  constructor(name: string) {
    this.name = name
  }

  /** Starts a window with the lines of `bytes`, which at most `later` bytes follow. */
  window(bytes: Uint8Array, later: number, isLast: boolean): void {
    this.bytes = bytes
    this.#characters = ''
    this.position = 0
    this.end = bytes.length
    this.later = later
    this.isLast = isLast
  }

  /** Upper bound of the remaining bytes of the text. */
  get left(): number {
    return this.end - this.position + this.later
  }

  /** Skips spaces, and tabs unless they separate cells. */
  skipBlanks(): void {
    const { bytes } = this
    const tab = this.separator === TAB ? SPACE : TAB
    let byte = bytes[this.position]
    while (byte === SPACE || byte === tab) byte = bytes[++this.position]
  }

  /** Skips blanks, and returns whether the line ends after them. */
  atLineEnd(): boolean {
    this.skipBlanks()
    return this.bytes[this.position] === NEWLINE
  }

  nextLine(): void {
    this.position = this.bytes.indexOf(NEWLINE, this.position) + 1
    this.line++
  }

  /**
   * Skips empty lines, and lines that begin with the byte `comment`. Returns whether the window has another
   * line.
   */
  nextContent(comment = -1): boolean {
    while (this.position < this.end) {
      if (this.bytes[this.position] === NEWLINE) {
        this.position++
        this.line++
      } else if (!this.atLineEnd() && this.bytes[this.position] !== comment) return true
      else this.nextLine()
    }
    return false
  }

  /** Returns the rest of the line, shortened. */
  restOfLine(): string {
    return this.#text(this.position, this.bytes.indexOf(NEWLINE, this.position), SHORTENED).trim()
  }

  /** Returns the text of bytes. */
  textOf(start: number, end: number): string {
    const { bytes } = this
    for (let at = start; at < end; at++) if (bytes[at]! >= 0x80) return fromUtf8(bytes, start, end)
    return this.#slice(start, end)
  }

  /**
   * Returns bytes as characters. A long substring is copied, because a reference would retain the whole
   * string in memory.
   */
  #slice(start: number, end: number): string {
    if (end - start > LONGEST_COPIED) return fromLatin1(this.bytes, start, end)
    if (this.#characters === '') this.#characters = fromLatin1(this.bytes, 0, this.bytes.length)
    return this.#characters.slice(start, end)
  }

  /** Returns the text of the bytes up to `end`, of at most `most` bytes and without incomplete characters. */
  #text(start: number, end: number, most: number): string {
    let last = Math.min(end, start + most)
    while (last < end && (this.bytes[last]! & 0xc0) === 0x80) last--
    return fromUtf8(this.bytes, start, last)
  }

  /** Returns the text up to the next blank, separator or line end, shortened. */
  word(): string {
    this.skipBlanks()
    const most = this.position + MAX_OF_WORD
    let end = this.position
    while (end <= most && !this.ends(end)) end++
    return this.#text(this.position, end, MAX_OF_WORD)
  }

  /** Skips the text that {@link word} returns. */
  skipWord(): void {
    while (!this.ends(this.position)) this.position++
  }

  /** Returns whether no number continues at `at`. */
  ends(at: number): boolean {
    const byte = this.bytes[at]
    return byte === NEWLINE || byte === SPACE || byte === TAB || byte === this.separator
  }

  /** Reads a decimal number, correctly rounded; `what` is its name in errors. */
  number(what: string, advice = ''): number {
    const value = this.decimal()
    return Number.isNaN(value) ? this.#wrongNumber(what, this.word(), advice) : value
  }

  /** Returns whether the next word is `word`, and skips it in this case. */
  skipIf(word: Uint8Array): boolean {
    this.skipBlanks()
    const { bytes, position } = this
    for (let at = 0; at < word.length; at++) if (bytes[position + at] !== word[at]) return false
    if (!this.ends(position + word.length)) return false
    this.position += word.length
    return true
  }

  /** Reads a number like {@link number}, an infinity or NaN. */
  floating(what: string): number {
    const value = this.decimal()
    if (!Number.isNaN(value)) return value
    this.integral = false
    for (const [word, meaning] of usualWords) if (this.skipIf(word)) return meaning
    const word = this.word()
    const infinity = infinityOf(word.replace('−', '-'))
    if (Number.isNaN(infinity) && !/^[+-]?nan$/i.test(word)) return this.#wrongNumber(what)
    this.skipWord()
    return infinity
  }

  /**
   * Reads a decimal number. Fractions are rounded to float64, integers must be exact. Returns NaN without
   * moving the reader if there is no such number.
   */
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
    if (byte === POINT || (byte === COMMA && this.decimalComma)) {
      if (byte !== this.#point) {
        // One of two points would be a thousands separator.
        if (this.#point >= 0) return Number.NaN
        this.#point = byte
      }
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
      if (this.decimalComma && this.#doubtful !== null) this.#doubt(this.#slice(first, at))
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
      if (at - start > LONGEST_NUMBER) return Number.NaN
      value = Math.abs(Number(this.#slice(start, at).replace(',', '.')))
      if (!Number.isFinite(value)) return Number.NaN
      if (this.integral && !isExact(this.#slice(first, last), value)) return Number.NaN
    }
    this.position = at
    return negative ? -value : value
  }

  /** Returns the number in a text that was read from the line, such as a quoted cell, by {@link decimal}. */
  numberIn(text: string, what: string): number {
    const { bytes, position } = this
    const characters = this.#characters
    this.bytes = toUtf8(`${text}\n`)
    this.position = 0
    this.#characters = ''
    const value = this.decimal()
    const isWhole = this.atLineEnd() && this.position === this.bytes.length - 1
    this.bytes = bytes
    this.position = position
    this.#characters = characters
    return Number.isNaN(value) || !isWhole ? this.#wrongNumber(what, text) : value
  }

  /**
   * Records a number with a decimal point: 1,000 may be 1 or 1000, unless the text also has a number such as
   * 0,5 or 1,25.
   */
  #doubt(text: string): void {
    if (this.separator === TAB && text.includes('.')) return
    if (!/^[1-9]\d{0,2}[.,]\d{3}$/.test(text)) this.#doubtful = null
    else if (this.#doubtful === undefined) this.#doubtful = { text, line: this.line }
  }

  /** Throws at the end of the text if all points in its numbers may be thousands separators. */
  assertClear(): void {
    if (!this.#doubtful) return
    this.line = this.#doubtful.line
    const { text } = this.#doubtful
    this.fail(
      `the decimal point must be clear, but ${show(text)} may be ${text.replace(/[.,]/, '')} or ${Number(text.replace(',', '.'))}: write it without thousands separators, or with another number of decimals`,
    )
  }

  #wrongNumber(what: string, word = this.word(), advice = ''): never {
    if (word === '') this.fail(`${what} is missing`)
    const pointed = this.decimalComma ? word.replace(',', '.') : word
    if (!isDecimal(pointed)) {
      this.fail(`${what} must be a number, but it is ${show(word)}${advice || adviceFor(word)}`)
    }
    if (Number.isNaN(numberOf(pointed))) this.fail(`${what} ${refusalOf(pointed)}`)
    return this.fail(
      `${what} is ${show(word)}, but numbers before it have another decimal point: write all with a point, and none with thousands separators`,
    )
  }

  /**
   * Reads an integer from `least` to `most`.
   *
   * @param advice - end of the message for another text, such as `: scale it`.
   */
  integer(what: string, least: number, most: number, advice = ''): number {
    const start = this.position
    const value = this.decimal()
    if (this.integral && value >= least && value <= most) return value + 0
    this.position = start
    const word = this.word()
    if (Number.isNaN(value) && !isInteger(word)) this.#wrongNumber(what, word, advice)
    const expected = isInteger(word) ? `from ${least} to ${most}` : 'an integer'
    return this.fail(`${what} must be ${expected}, but it is ${word}${advice}`)
  }

  /** Skips the end of the line; throws if the line has more text. */
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
