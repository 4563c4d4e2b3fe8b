/** Reads XML in chunks by the package saxes, with limits on what a hostile text can take. */
import type { SaxesParser, SaxesTagPlain } from 'saxes'
import { FileError } from '../errors.js'
import type { Steps } from '../graph-core/slices.js'
import type { Saxes } from './saxes.js'

/** Most characters of a tag, a comment, a declaration or a CDATA section. */
const LONGEST_MARKUP = 2 ** 20
/** Most characters of a text that is kept. */
const LONGEST_TEXT = 2 ** 24
const MOST_ATTRIBUTES = 1000
const MOST_LEVELS = 1000
/** Characters that are parsed at once, in about a millisecond. */
const SLICE = 1 << 14

export type XmlAttributes = Readonly<Record<string, string>>

/** Consumer of the elements of a document. */
export interface XmlHandler {
  /** Called for a start tag. */
  open(name: string, attributes: XmlAttributes): void
  /** Called for the text that {@link XmlReader.keepText} asks for: that of an element, or what precedes the first element in it. */
  text(text: string): void
  /** Called for an end tag. */
  close(): void
}

/** A document that is well-formed so far. Entities are those of XML: what a DOCTYPE declares is not used. */
export class XmlReader {
  readonly #name: string
  readonly #handler: XmlHandler
  readonly #parser: SaxesParser
  #level = 0
  #attributes = 0
  #keepsText = false
  #text = ''
  #written = 0
  /** Place behind the last piece of markup. */
  #done = 0
  /** Place where markup began that has no end yet; -1 for none. */
  #begun = -1

  /** @param name - name of the document in errors. */
  constructor(name: string, saxes: Saxes, handler: XmlHandler) {
    this.#name = name
    this.#handler = handler
    const parser = new saxes.SaxesParser()
    this.#parser = parser
    parser.on('error', ({ message }) => {
      // Begins with the place.
      const problem = message.replace(/^[\d:]+ /, '').replace(/\.$/, '')
      this.fail(`the text must be well-formed XML, but it has an error (${problem}): correct it`)
    })
    parser.on('opentag', (tag) => this.#open(tag))
    parser.on('closetag', () => this.#close())
    parser.on('attribute', () => {
      if (++this.#attributes > MOST_ATTRIBUTES) this.fail(`a tag has more than ${MOST_ATTRIBUTES} attributes`)
    })
    const markupEnds = () => {
      this.#done = parser.position
    }
    parser.on('comment', markupEnds)
    parser.on('processinginstruction', markupEnds)
    parser.on('xmldecl', markupEnds)
    parser.on('doctype', markupEnds)
    parser.on('cdata', (text) => {
      markupEnds()
      this.#add(text)
    })
  }

  /** The number of the line, from 1. */
  get line(): number {
    return this.#parser.line
  }

  /** Keeps the text of the element that has just been opened. */
  keepText(): void {
    this.#keepsText = true
    this.#text = ''
    this.#parser.on('text', (text) => this.#add(text))
  }

  *write(text: string): Steps<void> {
    for (let at = 0; at < text.length; at += SLICE) {
      const slice = text.slice(at, at + SLICE)
      this.#parser.write(slice)
      this.#requireBounded(slice)
      yield
    }
  }

  /** Ends the document. Throws FileError if it is incomplete. */
  end(): void {
    this.#parser.close()
  }

  fail(problem: string, line = this.line): never {
    throw new FileError(`${this.#name}, line ${line}: ${problem}`)
  }

  #open({ name, attributes }: SaxesTagPlain): void {
    this.#done = this.#parser.position
    this.#attributes = 0
    this.#passText()
    if (++this.#level > MOST_LEVELS) this.fail(`elements are nested more than ${MOST_LEVELS} deep`)
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

  #add(text: string): void {
    if (!this.#keepsText) return
    this.#text += text
    this.#requireShort(this.#text.length)
  }

  #requireShort(length: number): void {
    if (length > LONGEST_TEXT) this.fail(`a text has more than ${LONGEST_TEXT} characters`)
  }

  #requireBounded(slice: string): void {
    if (this.#begun < this.#done) {
      const next = slice.indexOf('<', Math.max(this.#done - this.#written, 0))
      this.#begun = next < 0 ? -1 : this.#written + next
    }
    this.#written += slice.length
    if (this.#keepsText) this.#requireShort(this.#text.length + this.#written - this.#done)
    if (this.#begun >= 0 && this.#written - this.#begun > LONGEST_MARKUP) {
      this.fail(`a tag, a comment or a declaration has more than ${LONGEST_MARKUP} characters`)
    }
  }
}
