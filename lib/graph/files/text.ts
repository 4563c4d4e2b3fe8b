/** Numbers in text, read from its bytes: a regular expression for each would take longer than the disk. */
import { show, typeName } from '../../describe.js'
import { DTypeError, FileError } from '../../errors.js'

const NEWLINE = 10
const RETURN = 13
const SPACE = 32
const TAB = 9
const ZERO = 48
const NINE = 57
const MINUS = 45
const PLUS = 43
const POINT = 46

/** Integers up to here are exact, and so are quotients of them and powers of ten up to 10^22 after one rounding. */
const EXACT = Number.MAX_SAFE_INTEGER
const tens = Array.from({ length: 23 }, (_, digits) => Number(`1e${digits}`))

/** Text, line by line. Reading begins at the first line that isn't empty. */
export class TextReader {
  readonly bytes: Uint8Array
  /** What errors call the text. */
  readonly name: string
  position = 0
  /** The number of the line, from 1. */
  line = 1
  /** Whether the number last read was written as an integer. */
  integral = true
  /** What may stand between numbers besides spaces and tabs. */
  separator = -1

  constructor(content: Uint8Array | string, name: string) {
    if (typeof content !== 'string' && !(content instanceof Uint8Array)) {
      throw new DTypeError(
        `${name} must be text, or its bytes in a Uint8Array, but it is ${typeName(content)}`,
      )
    }
    this.bytes = typeof content === 'string' ? Buffer.from(content) : content
    this.name = name
    if (this.bytes[0] === 0xef && this.bytes[1] === 0xbb && this.bytes[2] === 0xbf) this.position = 3
  }

  get done(): boolean {
    return this.position >= this.bytes.length
  }

  skipBlanks(): void {
    const { bytes } = this
    while (bytes[this.position] === SPACE || bytes[this.position] === TAB) this.position++
  }

  /** Whether nothing but blanks is left of the line; they are skipped. */
  atLineEnd(): boolean {
    this.skipBlanks()
    const byte = this.bytes[this.position]
    return byte === undefined || byte === NEWLINE || byte === RETURN
  }

  nextLine(): void {
    const end = this.bytes.indexOf(NEWLINE, this.position)
    this.position = end < 0 ? this.bytes.length : end + 1
    this.line++
  }

  /** Skips empty lines, and those that begin with the byte `comment`. Whether there is another line. */
  nextContent(comment = -1): boolean {
    while (!this.done) {
      if (!this.atLineEnd() && this.bytes[this.position] !== comment) return true
      this.nextLine()
    }
    return false
  }

  /** The rest of the line. */
  restOfLine(): string {
    const end = this.bytes.indexOf(NEWLINE, this.position)
    const rest = this.bytes.subarray(this.position, end < 0 ? undefined : end)
    return new TextDecoder('latin1').decode(rest.subarray(0, 1000)).trim()
  }

  /** The bytes up to the next blank, separator or line end. */
  #word(start: number): string {
    let end = start
    while (!this.#ends(end)) end++
    return new TextDecoder('latin1').decode(this.bytes.subarray(start, Math.min(end, start + 400)))
  }

  #ends(at: number): boolean {
    const byte = this.bytes[at]
    return (
      byte === undefined ||
      byte === SPACE ||
      byte === NEWLINE ||
      byte === TAB ||
      byte === RETURN ||
      byte === this.separator
    )
  }

  /** Reads a decimal number, correctly rounded; `what` is what errors call it. */
  number(what: string): number {
    this.skipBlanks()
    const { bytes } = this
    const start = this.position
    let at = start
    const negative = bytes[at] === MINUS
    if (negative || bytes[at] === PLUS) at++
    let value = 0
    let digits = 0
    let decimals = 0
    let byte = bytes[at]
    for (; byte! >= ZERO && byte! <= NINE; byte = bytes[++at]) {
      value = 10 * value + (byte! - ZERO)
      digits++
    }
    this.integral = byte !== POINT
    if (byte === POINT) {
      byte = bytes[++at]
      for (; byte! >= ZERO && byte! <= NINE; byte = bytes[++at]) {
        value = 10 * value + (byte! - ZERO)
        digits++
        decimals++
      }
    }
    if (digits === 0 || !this.#ends(at) || value > EXACT || decimals >= tens.length)
      return this.#slow(start, what)
    this.position = at
    if (decimals > 0) value /= tens[decimals]!
    return negative ? -value : value
  }

  /** Numbers with exponents, of many digits, and what isn't a number. */
  #slow(start: number, what: string): number {
    const word = this.#word(start)
    if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word)) {
      this.fail(word === '' ? `${what} is missing` : `${what} must be a number, but it is ${show(word)}`)
    }
    const value = Number(word)
    if (!Number.isFinite(value)) this.fail(`${what} is ${word}, beyond the range of numbers`)
    this.integral = /^[+-]?\d+$/.test(word)
    this.position = start + word.length
    return value
  }

  /** Reads an integer from `least` to `most`. */
  integer(what: string, least: number, most: number): number {
    this.skipBlanks()
    const start = this.position
    const value = this.number(what)
    if (!this.integral) this.fail(`${what} must be an integer, but it is ${this.#word(start)}`)
    if (!(value >= least && value <= most)) {
      this.fail(`${what} must be from ${least} to ${most}, but it is ${value}`)
    }
    return value + 0
  }

  /** Goes to the next line, which must be the only thing that is left of this one. */
  endLine(): void {
    if (!this.atLineEnd())
      this.fail(`expected the end of the line, but it goes on with ${show(this.restOfLine())}`)
    this.nextLine()
  }

  fail(problem: string): never {
    throw new FileError(`${this.name}, line ${this.line}: ${problem}`)
  }
}
