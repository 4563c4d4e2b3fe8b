/** What separates the cells of a line of CSV or TSV, and whether its cells are names of columns. */
import { show } from '../describe.js'
import type { TextReader } from './text.js'

/** Tabs are blanks: between numbers one is as good as many. */
const SEPARATORS = [',', ';']
const SEMICOLON = ';'.charCodeAt(0)

/** Commas between digits, and semicolons: the commas are decimal ones. */
const isDecimal = (line: string) => line.includes(';') && !/(^|\D),|,(\D|$)/.test(line)

/** The separator of the line; -1 if only blanks separate. */
export function separatorOf(reader: TextReader): number {
  const line = reader.restOfLine()
  if (isDecimal(line)) return SEMICOLON
  for (const separator of SEPARATORS) if (line.includes(separator)) return separator.charCodeAt(0)
  return -1
}

/** Whether a cell can't be meant as a number: it begins with a letter or a quotation mark, but is no number in quotes. */
export const isHeading = (cell: string): boolean =>
  /^\s*(["'](?!\s*[-+]?[\d.])|_|(?!(ε|nan|inf(inity)?)\s*$)\p{L})/iu.test(cell)

/** Whether no cell of the line can be meant as a number. */
export function headings(reader: TextReader): boolean {
  const separator = reader.separator < 0 ? /\s+/ : String.fromCharCode(reader.separator)
  const cells = reader.restOfLine().split(separator)
  // Where a long line is shortened a cell may have lost its letters.
  if (cells.length > 1 && reader.isLong) cells.pop()
  return cells.every(isHeading)
}

/** Goes behind the separator that must come next. */
export function separate(reader: TextReader): void {
  if (reader.separator < 0) return
  reader.skipBlanks()
  if (reader.bytes[reader.position] !== reader.separator) {
    reader.fail(
      `expected ${show(String.fromCharCode(reader.separator))}, but got ${show(reader.restOfLine())}`,
    )
  }
  reader.position++
}
