/** Sequences in FASTA. */

import { isUint8Array } from '../array-types.js'
import { requireOrdinary } from '../borrowed.js'
import { show, typeName } from '../describe.js'
import { DTypeError, FileError } from '../errors.js'
import { StrictDecoder } from '../files/encoding.js'
import { expectedBases, wrongLetter } from './strand.js'

/** A record of a FASTA file. */
export interface FastaRecord {
  /** The first word after >; '' if there is none. */
  name: string
  /** What follows the name on its line. */
  description: string
  /** Upper case, with U and never T. */
  sequence: string
}

/**
 * Reads FASTA: records of a line that starts with > and of lines of bases. Lower case and T are taken, empty lines and spaces
 * at the end of lines left out; a line that starts with ; is a comment. Without a line that starts with > there may be one line of
 * bases only, because several may be one strand or several.
 *
 * @param text - the text, or its bytes.
 * @param name - what messages call the text.
 * @throws FileError (ERR_MPMML_FILE) for a letter that is no base, with its line and column; for a record without bases, if there is no
 *   record, and for several lines of bases without a record's first line; DTypeError for other values than text and bytes.
 * @example
 * const [{ name, sequence }] = parseFasta('>one a strand\nGGGaaa\nTTT\n')
 * console.log(name, sequence) // one GGGAAAUUU
 */
export function parseFasta(text: string | Uint8Array, name = 'the text'): FastaRecord[] {
  if (typeof name !== 'string') throw new DTypeError(`name must be a string, but it is ${show(name)}`)
  const records: { head: string; line: number; parts: string[]; isBare: boolean }[] = []
  for (const [index, raw] of textOf(text, name)
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .entries()) {
    const line = raw.trimEnd()
    if (line === '' || line.startsWith(';')) continue
    if (line.startsWith('>')) {
      records.push({ head: line.slice(1).trim(), line: index + 1, parts: [], isBare: false })
      continue
    }
    if (records.length === 0) records.push({ head: '', line: index + 1, parts: [], isBare: true })
    const wrong = wrongLetter(line)
    if (wrong >= 0) {
      throw new FileError(
        `${name}: line ${index + 1}, column ${wrong + 1}: expected a base, ${expectedBases}, but found ${show(line[wrong])}`,
      )
    }
    const record = records.at(-1)!
    if (record.isBare && record.parts.length > 0) {
      throw new FileError(
        `${name}: line ${index + 1}: several lines of bases may be one strand or several: write a line such as >name before each strand`,
      )
    }
    record.parts.push(line)
  }
  if (records.length === 0)
    throw new FileError(`${name}: expected a FASTA record, a line such as >name and lines of bases`)
  return records.map(({ head, line, parts }) => {
    if (parts.length === 0)
      throw new FileError(`${name}: line ${line}: the record ${show(head)} has no bases`)
    // With s, because a header may have Unicode's line separators.
    const [, word, rest] = /^(\S*)\s*(.*)$/s.exec(head)!
    return { name: word!, description: rest!, sequence: parts.join('').toUpperCase().replaceAll('T', 'U') }
  })
}

function textOf(given: string | Uint8Array, name: string): string {
  if (typeof given === 'string') return given
  if (isUint8Array(given)) {
    requireOrdinary(given, `the bytes of ${name}`)
    return new StrictDecoder(name).decode(given, true)
  }
  throw new DTypeError(`${name} must be text, or its bytes in a Uint8Array, but it is ${typeName(given)}`)
}
