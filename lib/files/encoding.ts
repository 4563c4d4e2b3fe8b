/**
 * Decodes the bytes of text files strictly: a byte that the encoding doesn't have is an error, never U+FFFD.
 *
 * The encoding is determined by the byte order mark, else by the zero bytes of UTF-16 in the first
 * characters, else by an XML declaration; the default is UTF-8. The module depends only on TextDecoder, so
 * that it runs in browsers too.
 */
import { show } from '../describe.js'
import { FileError } from '../errors.js'

/** Bytes within which an XML declaration must end. */
const LONGEST_DECLARATION = 1024
/** Bytes per call of the decoder. The search for a wrong byte decodes a slice up to 16 times. */
const SLICE = 1 << 16

const NEWLINE = 10
const declarationStart = [...'<?xml'].map((letter) => letter.charCodeAt(0))
const declared = /^<\?xml\s[^>]*?\sencoding\s*=\s*(?:"([^"]*)"|'([^']*)')/

/**
 * Characters of windows-1252 at 0x80 to 0x9f, which some versions of Node.js decode as control characters.
 */
const WINDOWS = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'
const lacksWindows = () => new TextDecoder('windows-1252').decode(Uint8Array.of(0x80)) !== '€'
const mended = (text: string) =>
  text.replace(/[\x80-\x9f]/g, (letter) => WINDOWS[letter.charCodeAt(0) - 0x80]!)

const beginsWith = (bytes: Uint8Array, start: readonly number[]) =>
  start.every((byte, at) => bytes[at] === byte)

/** Returns the number of bytes of an incomplete UTF-8 character at the end of `bytes`. */
function openUtf8(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}

/** Returns the number of bytes of an incomplete UTF-16 character at the end of `bytes`. */
function openUtf16(bytes: Uint8Array, high: 0 | 1): number {
  const odd = bytes.length % 2
  const unit = bytes.length - odd - 2
  return odd + (unit >= 0 && (bytes[unit + high]! & 0xfc) === 0xd8 ? 2 : 0)
}

/** An encoding, and the reason for its choice for messages. */
interface Encoding {
  readonly label: string
  /** Bytes of the byte order mark. */
  readonly mark: number
  readonly reason: string
}

/** Returns the encoding of a text by its first bytes; null if `bytes` are too few to decide. */
function detected(bytes: Uint8Array, isLast: boolean): Encoding | null {
  const isXml = beginsWith(bytes, declarationStart)
  const end = isXml ? bytes.indexOf('>'.charCodeAt(0)) : -1
  if (
    !isLast &&
    (bytes.length < declarationStart.length || (isXml && end < 0 && bytes.length < LONGEST_DECLARATION))
  )
    return null
  const of = (label: string, mark: number, reason: string) => ({ label, mark, reason })
  const [a, b, c, d] = bytes
  const marked = ', as its byte order mark says'
  if (beginsWith(bytes, [0xef, 0xbb, 0xbf])) return of('utf-8', 3, marked)
  if (beginsWith(bytes, [0xff, 0xfe, 0, 0]) || beginsWith(bytes, [0, 0, 0xfe, 0xff]))
    return of('utf-32', 4, marked)
  if (a === 0xff && b === 0xfe) return of('utf-16le', 2, marked)
  if (a === 0xfe && b === 0xff) return of('utf-16be', 2, marked)
  const zeros = ', as the zeros among its bytes show'
  if (a && b === 0 && c && d === 0) return of('utf-16le', 0, zeros)
  if (a === 0 && b && c === 0 && d) return of('utf-16be', 0, zeros)
  const start = isXml ? String.fromCharCode(...bytes.subarray(0, Math.min(end, LONGEST_DECLARATION))) : ''
  const found = declared.exec(start)
  const label = (found?.[1] ?? found?.[2] ?? 'utf-8').toLowerCase()
  // A declaration that is readable byte by byte isn't UTF-16. .NET declares UTF-16 in strings that are then
  // saved as UTF-8.
  if (!found || /^(utf-?16|ucs-?2)/.test(label)) return of('utf-8', 0, '')
  return of(label, 0, ', as its XML declaration says')
}

/**
 * Decodes the bytes of a text, which come in chunks of any size.
 *
 * @example
 * const decoder = new StrictDecoder('names.csv')
 * const text = decoder.decode(first, false) + decoder.decode(last, true)
 */
export class StrictDecoder {
  readonly #name: string
  /** First bytes, until the encoding is known; then null. */
  #start: Uint8Array | null = new Uint8Array(0)
  #encoding: Encoding = { label: 'utf-8', mark: 0, reason: '' }
  #decoder = new TextDecoder()
  #open: (bytes: Uint8Array) => number = () => 0
  /** Bytes of an incomplete character, which the next chunk completes. */
  #carry: Uint8Array = new Uint8Array(0)
  /** Number of bytes before the carry. */
  #offset = 0
  #line = 1
  #isMended = false

  /** @param name - name of the text in errors. */
  constructor(name: string) {
    this.#name = name
  }

  /**
   * Returns the text of the next bytes, without the byte order mark. The bytes of an incomplete character wait for the next chunk.
   *
   * @param isLast - true for the last chunk, which may be empty.
   * @throws FileError (ERR_MPMML_FILE) for an encoding that TextDecoder doesn't know, and for the first byte that the encoding
   *   doesn't have, with its line and offset.
   */
  decode(bytes: Uint8Array, isLast: boolean): string {
    let rest = bytes
    if (this.#start) {
      rest = joined(this.#start, bytes)
      const encoding = detected(rest, isLast)
      if (!encoding) {
        this.#start = new Uint8Array(rest)
        return ''
      }
      this.#begin(encoding)
      rest = rest.subarray(encoding.mark)
    }
    let text = ''
    for (let at = 0; at < rest.length; at += SLICE) text += this.#slice(rest.subarray(at, at + SLICE))
    if (isLast && !decodes(this.#decoder)) this.#refuse(this.#carry, 0, 'the text ends within a character')
    return text
  }

  #begin(encoding: Encoding): void {
    this.#start = null
    this.#encoding = encoding
    this.#offset = encoding.mark
    try {
      this.#decoder = this.#newDecoder()
    } catch {
      throw new FileError(
        `${this.#name}: the text must be in an encoding that TextDecoder knows, but it is in ${show(encoding.label)}${encoding.reason}: save it as UTF-8`,
      )
    }
    const { encoding: known } = this.#decoder
    this.#isMended = known === 'windows-1252' && lacksWindows()
    if (known === 'utf-8') this.#open = openUtf8
    if (known === 'utf-16le') this.#open = (bytes) => openUtf16(bytes, 1)
    if (known === 'utf-16be') this.#open = (bytes) => openUtf16(bytes, 0)
  }

  #newDecoder(): TextDecoder {
    return new TextDecoder(this.#encoding.label, { fatal: true, ignoreBOM: true })
  }

  #slice(bytes: Uint8Array): string {
    let text: string
    const all = joined(this.#carry, bytes)
    try {
      text = this.#decoder.decode(bytes, { stream: true })
    } catch {
      const at = this.#wrongByte(all)
      return this.#refuse(all, at, `it is 0x${all[at]!.toString(16).padStart(2, '0')}`)
    }
    const open = this.#open(all)
    // The bytes are copied, because callers reuse their chunk and slice() of a Buffer shares memory.
    this.#carry = new Uint8Array(all.subarray(all.length - open))
    this.#offset += all.length - open
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.#line++
    return this.#isMended ? mended(text) : text
  }

  /** Returns the offset of the first byte that can't be decoded, by bisection. */
  #wrongByte(bytes: Uint8Array): number {
    let good = 0
    let bad = bytes.length
    while (bad - good > 1) {
      const middle = (good + bad) >> 1
      if (decodes(this.#newDecoder(), bytes.subarray(0, middle))) good = middle
      else bad = middle
    }
    // The error is at the start of the incomplete character, not at the byte after it.
    return good - this.#open(bytes.subarray(0, good))
  }

  #refuse(bytes: Uint8Array, at: number, problem: string): never {
    const { label, reason } = this.#encoding
    const line = this.#line + bytes.subarray(0, at).filter((byte) => byte === NEWLINE).length
    throw new FileError(
      `${this.#name}, line ${line}: byte ${this.#offset + at} must be ${label.toUpperCase()}${reason}, but ${problem}: save the text as UTF-8`,
    )
  }
}

/** Returns whether the bytes can be decoded; without bytes, whether the text is complete. */
function decodes(decoder: TextDecoder, bytes?: Uint8Array): boolean {
  try {
    decoder.decode(bytes, { stream: bytes !== undefined })
    return true
  } catch {
    return false
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second
  const bytes = new Uint8Array(first.length + second.length)
  bytes.set(first)
  bytes.set(second, first.length)
  return bytes
}
