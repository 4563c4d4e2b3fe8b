/** Parses sequences in FASTA. */

import { show } from '../describe.js'
import { FileError } from '../errors.js'
import { type ContentOptions, parseLines } from '../files/line-feed.js'
import type { LineParser, TextReader } from '../files/text.js'
import { Options, type OptionsOf, string } from '../options.js'
import { fromLatin1 } from '../platform.js'
import { codeOfBase, expectedBases } from './strand.js'

const [NEWLINE, RECORD, COMMENT] = ['\n', '>', ';'].map((mark) => mark.charCodeAt(0))

/** A record of a FASTA file. */
export interface FastaRecord {
  /** The first word after >; '' if there is none. */
  name: string
  /** Text after the name on its line. */
  description: string
  /** Bases in upper case, with U instead of T. */
  sequence: string
}

/** The options of {@link parseFasta}. `undefined` means the default. */
export interface FastaOptions extends ContentOptions {}

const fastaOptions = new Options({ name: string('the text') } satisfies OptionsOf<FastaOptions>)

/**
 * Reads FASTA: records of a line that starts with > and of lines of bases. Lower case and T are allowed.
 * Empty lines and spaces at the end of lines are ignored; a line that starts with ; is a comment. Without a
 * line that starts with > only one line of bases is allowed, because several lines are ambiguous: one strand
 * or several.
 *
 * @param content - a text, or its bytes.
 * @throws FileError (ERR_MPMML_FILE) for a letter that is no base, with its line and column; for a record without bases, if there is no
 *   record, and for several lines of bases without a record's first line; ERR_MPMML_DTYPE for other values than text and bytes; ERR_MPMML_OPTION.
 * @example
 * const [{ name, sequence }] = parseFasta('>one a strand\nGGGaaa\nTTT\n')
 * console.log(name, sequence) // one GGGAAAUUU
 */
export function parseFasta(content: string | Uint8Array, options?: FastaOptions): FastaRecord[] {
  const { name } = fastaOptions.read(options)
  return parseLines(content, name, new FastaParser(name))
}

/** Parser of FASTA. */
export class FastaParser implements LineParser<FastaRecord[]> {
  readonly #name: string
  readonly #records: FastaRecord[] = []
  /** First line of the open record, without its mark, and the number of the line. */
  #head = ''
  #line = 0
  #isBare = false
  /** Bases of the open record, as the codes of their letters. */
  #bases = new Uint8Array(1024)
  #count = 0

  constructor(name: string) {
    this.#name = name
  }

  // biome-ignore lint/correctness/useYield: a window takes about a millisecond
  *lines(reader: TextReader) {
    const { bytes } = reader
    for (; reader.position < reader.end; reader.line++) {
      const { position: start } = reader
      if (bytes[start] === RECORD) {
        this.#close()
        const end = bytes.indexOf(NEWLINE!, start)
        this.#head = reader.textOf(start + 1, end).trim()
        this.#line = reader.line
        reader.position = end + 1
      } else if (bytes[start] === COMMENT) reader.position = bytes.indexOf(NEWLINE!, start) + 1
      else this.#read(reader)
    }
  }

  // biome-ignore lint/correctness/useYield: nothing is left to do
  *end() {
    this.#close()
    if (this.#line === 0) this.#fail('expected a FASTA record, a line such as >name and lines of bases')
    return this.#records
  }

  /** Reads a line of bases, a comment or an empty line. */
  #read(reader: TextReader): void {
    const { bytes, position: start } = reader
    const first = this.#count
    let count = first
    let at = start
    for (let base = codeOfBase[bytes[at]!]!; base > 0; base = codeOfBase[bytes[++at]!]!) {
      if (count === this.#bases.length) this.#enlarge()
      this.#bases[count++] = base
    }
    let end = at
    if (bytes[at] !== NEWLINE) {
      end = bytes.indexOf(NEWLINE!, at)
      const rest = reader.textOf(at, end)
      if (rest.trim() !== '') {
        this.#fail(
          `line ${reader.line}, column ${at - start + 1}: expected a base, ${expectedBases}, but found ${show(rest[0])}`,
        )
      }
    }
    reader.position = end + 1
    if (at === start) return
    if (this.#line === 0) {
      this.#isBare = true
      this.#line = reader.line
    } else if (this.#isBare) {
      this.#fail(
        `line ${reader.line}: several lines of bases may be one strand or several: write a line such as >name before each strand`,
      )
    }
    this.#count = count
  }

  #enlarge(): void {
    const larger = new Uint8Array(2 * this.#bases.length)
    larger.set(this.#bases)
    this.#bases = larger
  }

  /** Ends the open record, if there is one. */
  #close(): void {
    if (this.#line === 0) return
    const head = this.#head
    if (this.#count === 0) this.#fail(`line ${this.#line}: the record ${show(head)} has no bases`)
    const blank = head.search(/\s/)
    this.#records.push({
      name: blank < 0 ? head : head.slice(0, blank),
      description: blank < 0 ? '' : head.slice(blank).trimStart(),
      sequence: fromLatin1(this.#bases, 0, this.#count),
    })
    this.#count = 0
    this.#isBare = false
  }

  #fail(problem: string): never {
    throw new FileError(`${this.#name}: ${problem}`)
  }
}
