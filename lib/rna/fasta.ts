/** Sequences in FASTA. */

import { typedArrayName } from '../array-types.js'
import { show, typeName } from '../describe.js'
import { DTypeError, FileError } from '../errors.js'
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
 * at the end of lines left out; a line that starts with ; is a comment. The sequence may come without a first line, if there is
 * only one.
 *
 * @param text - the text of the file, or its bytes in UTF-8.
 * @param name - what messages call the text.
 * @throws FileError (ERR_MPMML_FILE) for a letter that is no base, with its line and column; for a record without bases, and if
 *   there is no record; DTypeError (ERR_MPMML_DTYPE) if `text` is neither a string nor bytes.
 * @example
 * const [{ name, sequence }] = parseFasta('>one a strand\nGGGaaa\nTTT\n')
 * console.log(name, sequence) // one GGGAAAUUU
 */
export function parseFasta(text: string | Uint8Array, name = 'the text'): FastaRecord[] {
  if (typeof name !== 'string') throw new DTypeError(`name must be a string, but it is ${show(name)}`)
  const records: { head: string; line: number; parts: string[] }[] = []
  for (const [index, raw] of textOf(text, name)
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .entries()) {
    const line = raw.trimEnd()
    if (line === '' || line.startsWith(';')) continue
    if (line.startsWith('>')) {
      records.push({ head: line.slice(1).trim(), line: index + 1, parts: [] })
      continue
    }
    if (records.length === 0) records.push({ head: '', line: index + 1, parts: [] })
    const wrong = wrongLetter(line)
    if (wrong >= 0) {
      throw new FileError(
        `${name}: line ${index + 1}, column ${wrong + 1}: expected a base, ${expectedBases}, but found ${show(line[wrong])}`,
      )
    }
    records.at(-1)!.parts.push(line)
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

const utf8 = new TextDecoder('utf-8', { fatal: true })

function textOf(given: unknown, name: string): string {
  if (typeof given === 'string') return given
  if (typedArrayName(given) !== 'Uint8Array') {
    throw new DTypeError(
      `${name} must be a string or the bytes of a file in a Uint8Array, but it is ${typeName(given)}: readFasta takes a path`,
    )
  }
  try {
    return utf8.decode(given as Uint8Array)
  } catch (error) {
    throw new FileError(`${name} must be UTF-8, but some of its bytes are not: save it in this encoding`, {
      cause: error,
    })
  }
}
