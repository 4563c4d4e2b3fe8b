/**
 * Feeds parsers with the lines of a text: decodes its bytes strictly, converts all line ends to \n, and
 * passes windows of whole lines. The module depends on no files, so that texts in memory use it too.
 */
import { isUint8Array } from '../array-types.js'
import { assertOrdinaryArray } from '../borrowed.js'
import { show, typeName } from '../describe.js'
import { DTypeError } from '../errors.js'
import { atOnce, type Steps } from '../graph-core/slices.js'
import { newBytes, toUtf8 } from '../platform.js'
import { StrictDecoder } from './encoding.js'
import { type LineParser, TextReader } from './text.js'

/** Parser of a text that arrives in chunks, which may end anywhere. */
export interface TextFeed<Result> {
  /**
   * Parses the next characters.
   *
   * @param later - upper bound of the number of bytes that follow them.
   */
  characters(text: string, later: number, isLast: boolean): Steps<void>
  /** Returns the result. Called after the last characters. */
  end(): Steps<Result>
}

/** Bytes that are parsed between two yields: up to 2 ms of work. */
export const WINDOW = 1 << 16

/** Limit of a line in bytes, longer than the lines of any matrix. */
const LONGEST_LINE = 1 << 28

const NEWLINE = 10
const RETURN = 13

export class LineFeed<Result> implements TextFeed<Result> {
  readonly #reader: TextReader
  readonly #parser: LineParser<Result>
  /** Lines that aren't parsed yet, as the first `#filled` bytes. */
  #bytes = newBytes(2 * WINDOW)
  #filled = 0
  /** End of the last complete line among them. */
  #whole = 0
  /**
   * Size at which an incomplete record is parsed again: twice the size of the last attempt, so that all
   * attempts together take linear time.
   */
  #needed = 0
  #hasBegun = false
  #endsInReturn = false

  /** @param name - name of the text in errors. */
  constructor(name: string, parser: LineParser<Result>) {
    this.#reader = new TextReader(name)
    this.#parser = parser
  }

  /** Parses the next characters of the text, as far as their lines are complete. */
  *characters(given: string, later: number, isLast: boolean): Steps<void> {
    const reader = this.#reader
    const start = this.#filled
    this.#append(joinLineEnds(toUtf8(this.#unmarked(given))))
    if (isLast && this.#filled > 0 && this.#bytes[this.#filled - 1] !== NEWLINE)
      this.#append(Uint8Array.of(NEWLINE))
    const last = this.#bytes.subarray(start, this.#filled).lastIndexOf(NEWLINE)
    if (last >= 0) this.#whole = start + last + 1
    const whole = this.#whole
    const zero = this.#bytes.subarray(start, this.#filled).indexOf(0)
    if (zero >= 0) {
      reader.line += countLines(this.#bytes.subarray(0, start + zero))
      reader.fail('it has a character of code 0: is this a text file? Save it as UTF-8')
    }
    if (whole === 0 || (whole < this.#needed && !isLast)) {
      if (this.#filled > LONGEST_LINE)
        reader.fail(`the line has more than ${start} bytes: is this a text file?`)
      return
    }
    reader.window(this.#bytes.subarray(0, whole), this.#filled - whole + later, isLast)
    yield* this.#parser.lines(reader)
    const { position } = reader
    this.#bytes.copyWithin(0, position, this.#filled)
    this.#filled -= position
    this.#whole -= position
    this.#needed = 2 * this.#whole
  }

  end(): Steps<Result> {
    return this.#parser.end(this.#reader)
  }

  /** Returns the text without a byte order mark, and without the second half of a line end that was divided. */
  #unmarked(given: string): string {
    if (given === '') return given
    const marked = !this.#hasBegun && given.startsWith('\ufeff')
    const cut = marked || (this.#endsInReturn && given.startsWith('\n'))
    this.#hasBegun = true
    this.#endsInReturn = given.endsWith('\r')
    return cut ? given.slice(1) : given
  }

  #append(bytes: Uint8Array): void {
    const length = this.#filled + bytes.length
    if (length > this.#bytes.length) {
      const larger = newBytes(2 * length)
      larger.set(this.#bytes.subarray(0, this.#filled))
      this.#bytes = larger
    }
    this.#bytes.set(bytes, this.#filled)
    this.#filled = length
  }
}

/** Replaces every line end by \n in place, and returns the shortened bytes. */
function joinLineEnds(bytes: Uint8Array): Uint8Array {
  let end = bytes.indexOf(RETURN)
  if (end < 0) return bytes
  for (let at = end; at < bytes.length; at++) {
    const isReturn = bytes[at] === RETURN
    bytes[end++] = isReturn ? NEWLINE : bytes[at]!
    if (isReturn && bytes[at + 1] === NEWLINE) at++
  }
  return bytes.subarray(0, end)
}

/** Throws DTypeError unless `content` is a text or bytes and `name`, for messages, is a string. */
function assertText(content: unknown, name: unknown): asserts content is Uint8Array | string {
  if (typeof name !== 'string') throw new DTypeError(`name must be a string, but it is ${show(name)}`)
  if (typeof content !== 'string' && !isUint8Array(content)) {
    throw new DTypeError(`${name} must be text, or its bytes in a Uint8Array, but it is ${typeName(content)}`)
  }
  assertOrdinaryArray(content, `the bytes of ${name}`)
}

/** Options of functions that parse text in memory. */
export interface ContentOptions {
  /** Name of the content in errors. The default names its kind, such as 'the graph'. */
  name?: string | undefined
}

/** Parses all of a text in memory. */
export function parseText<Result>(
  content: Uint8Array | string,
  name: string,
  feed: TextFeed<Result>,
): Result {
  assertText(content, name)
  const { length } = content
  const decoder = new StrictDecoder(name)
  for (let at = 0, end = 0; at < length; at = end) {
    end = Math.min(at + WINDOW, length)
    // A slice must not end within a surrogate pair.
    if (typeof content === 'string' && (content.charCodeAt(end) & 0xfc00) === 0xdc00) end++
    const [later, isLast] = [length - end, end === length]
    const text =
      typeof content === 'string' ? content.slice(at, end) : decoder.decode(content.subarray(at, end), isLast)
    atOnce(feed.characters(text, later, isLast))
  }
  return atOnce(feed.end())
}

/** Parses all lines of a text in memory. */
export function parseLines<Result>(
  content: Uint8Array | string,
  name: string,
  parser: LineParser<Result>,
): Result {
  return parseText(content, name, new LineFeed(name, parser))
}

function countLines(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++
  return count
}
