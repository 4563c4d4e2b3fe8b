/** Reads XML in chunks by the package saxes, with limits for untrusted input. */
import type { SaxesParser, SaxesTagPlain } from 'saxes'
import { FileError, MpmmlError } from '../errors.js'
import type { Steps } from '../graph-core/slices.js'
import type { Saxes } from './saxes.js'

/** Most characters from the beginning of a tag, a comment or other markup to the end of the next tag. */
const LONGEST_MARKUP = 2 ** 20
/** Limit in characters of a stored text. */
const LONGEST_TEXT = 2 ** 24
const MAX_LEVELS = 1000
/** Characters that are parsed at once, in about a millisecond. */
const SLICE = 1 << 14

export type XmlAttributes = Readonly<Record<string, string>>

/**
 * Attributes of a tag. V8 stores an instance of a constructor by its shape. V8 stores an object without
 * prototype, which saxes would create, in a hash table, which is 5 times slower.
 */
const Attributes = function Attributes() {} as unknown as new () => Record<string, string>
Attributes.prototype = Object.create(null)

/** Consumer of the elements of a document. */
export interface XmlHandler {
  /** Called for a start tag. */
  open(name: string, attributes: XmlAttributes): void
  /**
   * Called with the text that {@link XmlReader.keepText} requests: the text of an element, or the text before
   * its first child element.
   */
  text(text: string): void
  /** Called for an end tag. */
  close(): void
}

/**
 * A document that is well-formed so far. Only the predefined entities of XML are supported; declarations of a
 * DOCTYPE are ignored.
 */
export class XmlReader {
  readonly #name: string
  readonly #handler: XmlHandler
  readonly #parser: SaxesParser
  #level = 0
  #keepsText = false
  #text = ''
  readonly #add = (text: string): void => {
    if (!this.#keepsText) return
    this.#text += text
    this.#assertShort(this.#text.length)
  }
  #written = 0
  /** Position after the last tag. */
  #done = 0
  /** Position at which a tag or other markup began after `#done`; -1 for none. */
  #begun = -1

  /** @param name - name of the document in errors. */
  constructor(name: string, saxes: Saxes, handler: XmlHandler) {
    this.#name = name
    this.#handler = handler
    // More handlers would double the time, because V8 converts an object with that many added properties to a
    // dictionary.
    const parser = new (saxes as typeof import('saxes')).SaxesParser()
    parser.on('opentagstart', (tag) => {
      tag.attributes = new Attributes()
    })
    parser.on('opentag', (tag) => this.#open(tag))
    parser.on('closetag', () => this.#close())
    parser.on('text', this.#add)
    parser.on('cdata', this.#add)
    parser.off('text')
    this.#parser = parser
  }

  /** The number of the line, from 1. */
  get line(): number {
    return this.#parser.line
  }

  /** Stores the text of the element that has just been opened. */
  keepText(): void {
    this.#keepsText = true
    this.#text = ''
    this.#parser.on('text', this.#add)
  }

  *write(text: string): Steps<void> {
    for (let at = 0; at < text.length; at += SLICE) {
      const slice = text.slice(at, at + SLICE)
      this.#parse(slice)
      this.#assertBounded(slice)
      yield
    }
  }

  /** Ends the document. Throws FileError if it is incomplete. */
  end(): void {
    this.#parse(null)
  }

  #parse(slice: string | null): void {
    try {
      this.#parser.write(slice)
    } catch (error) {
      if (error instanceof MpmmlError) throw error
      // The message begins with the line and column.
      const problem = (error as Error).message.replace(/^[\d:]+ /, '').replace(/\.$/, '')
      this.fail(`the text must be well-formed XML, but it has an error (${problem}): correct it`)
    }
  }

  fail(problem: string, line = this.line): never {
    throw new FileError(`${this.#name}, line ${line}: ${problem}`)
  }

  #open({ name, attributes }: SaxesTagPlain): void {
    this.#done = this.#parser.position
    this.#passText()
    if (++this.#level > MAX_LEVELS) this.fail(`elements are nested more than ${MAX_LEVELS} deep`)
    this.#handler.open(name, attributes)
  }

  #close(): void {
    this.#done = this.#parser.position
    this.#passText()
    this.#level--
    this.#handler.close()
  }

  #passText(): void {
    if (!this.#keepsText) return
    this.#keepsText = false
    this.#parser.off('text')
    this.#handler.text(this.#text)
  }

  #assertShort(length: number): void {
    if (length > LONGEST_TEXT) this.fail(`a text has more than ${LONGEST_TEXT} characters`)
  }

  #assertBounded(slice: string): void {
    if (this.#begun < this.#done) {
      const next = slice.indexOf('<', Math.max(this.#done - this.#written, 0))
      this.#begun = next < 0 ? -1 : this.#written + next
    }
    this.#written += slice.length
    if (this.#keepsText) this.#assertShort(this.#text.length + this.#written - this.#done)
    if (this.#begun >= 0 && this.#written - this.#begun > LONGEST_MARKUP) {
      this.fail(`a tag, a comment or a declaration has more than ${LONGEST_MARKUP} characters`)
    }
  }
}
