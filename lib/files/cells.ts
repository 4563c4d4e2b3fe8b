/**
 * Cells of CSV, TSV and lines with blanks: the only tokenizer of these formats. A cell in quotation marks may have separators, line ends and
 * doubled quotation marks in it (RFC 4180). All functions work at the position of a reader and take linear time.
 */
import { show } from '../describe.js'
import type { Steps } from '../graph-core/slices.js'
import type { TextReader } from './text.js'

const NEWLINE = 10
const QUOTATION = '"'.charCodeAt(0)

/** Bytes of a cell that is longer than any name. */
const LONGEST_CELL = 1 << 20

/** Thrown where the window ends within a quoted cell: the record is read again when more of it has come. */
class UnfinishedRecord extends Error {}

const unfinished = new UnfinishedRecord()

/** Returns whether the next cell is in quotation marks. */
export function isQuoted(reader: TextReader): boolean {
  reader.skipBlanks()
  return reader.bytes[reader.position] === QUOTATION
}

/** Returns the text of the next cell and goes behind it. Blanks around it aren't part of it, nor are quotation marks. */
export function cellText(reader: TextReader): string {
  if (isQuoted(reader)) return quotedText(reader)
  const { bytes, position, separator } = reader
  let end = position
  let quotations = 0
  for (let byte = bytes[end]!; byte !== NEWLINE; byte = bytes[++end]!) {
    if (separator < 0 ? reader.ends(end) : byte === separator) break
    if (byte === QUOTATION) quotations++
    if (end - position > LONGEST_CELL) refuseLong(reader)
  }
  reader.position = end
  const text = reader.textOf(position, end).trim()
  if (quotations % 2 === 1) {
    reader.fail(
      `the cell ${show(text)} has one quotation mark: enclose the cell in quotation marks and double those in it`,
    )
  }
  return text
}

function quotedText(reader: TextReader): string {
  const { bytes, position } = reader
  let end = position + 1
  let doubled = false
  for (; ; end += 2) {
    end = bytes.indexOf(QUOTATION, end)
    if (end < 0) endless(reader)
    if (end - position > LONGEST_CELL) refuseLong(reader)
    if (bytes[end + 1] !== QUOTATION) break
    doubled = true
  }
  const text = reader.textOf(position + 1, end)
  reader.position = end + 1
  if (!reader.ends(end + 1)) {
    reader.fail(
      `a quoted cell must end at a separator, but ${show(reader.restOfLine())} follows it: double quotation marks that are part of a cell`,
    )
  }
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) reader.line++
  return doubled ? text.replaceAll('""', '"') : text
}

/** Ends a window within a quoted cell. */
function endless(reader: TextReader): never {
  if (reader.isLast) reader.fail('a cell begins with a quotation mark, but none ends it: add it')
  if (reader.end - reader.position > LONGEST_CELL) refuseLong(reader)
  return awaitMore()
}

/** Ends what is read of this window: see {@link untilUnfinished}. */
export function awaitMore(): never {
  throw unfinished
}

function refuseLong(reader: TextReader): never {
  return reader.fail(
    `a cell must have at most ${LONGEST_CELL} bytes, but this one is longer: is a quotation mark missing?`,
  )
}

/** Goes to the next cell of the line; returns false at the end of the line. */
export function nextCell(reader: TextReader): boolean {
  if (reader.atLineEnd()) return false
  if (reader.separator < 0) return true
  if (reader.bytes[reader.position] !== reader.separator) {
    reader.fail(
      `expected ${show(String.fromCharCode(reader.separator))} or the end of the line, but got ${show(reader.restOfLine())}`,
    )
  }
  reader.position++
  return true
}

/** Reads all cells of the line, and goes to the next one. */
export function cellsOfLine(reader: TextReader): string[] {
  const cells: string[] = []
  do cells.push(cellText(reader))
  while (nextCell(reader))
  reader.endLine()
  return cells
}

/**
 * Does `read` at the reader's position, and comes back to it.
 *
 * @returns undefined if the window ends within a quoted cell.
 */
export function lookAhead<Result>(reader: TextReader, read: () => Result): Result | undefined {
  const { position, line } = reader
  const result = untilUnfinished(reader, read)
  reader.position = position
  reader.line = line
  return result
}

/** Does `read`. If the window ends within a quoted cell, the reader goes back to where it was and the result is undefined. */
export function untilUnfinished<Result>(reader: TextReader, read: () => Result): Result | undefined {
  const { position, line } = reader
  try {
    return read()
  } catch (error) {
    return goBack(reader, position, line, error)
  }
}

/** Does `steps` as {@link untilUnfinished} does its work. */
export function* stepsUntilUnfinished<Result>(
  reader: TextReader,
  steps: Steps<Result>,
): Steps<Result | undefined> {
  const { position, line } = reader
  try {
    return yield* steps
  } catch (error) {
    return goBack(reader, position, line, error)
  }
}

function goBack(reader: TextReader, position: number, line: number, error: unknown): undefined {
  if (error !== unfinished) throw error
  reader.position = position
  reader.line = line
}
