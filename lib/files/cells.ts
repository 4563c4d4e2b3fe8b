/**
 * Cells of CSV, TSV and lines with blanks: the only tokenizer of these formats. A cell in quotation marks may
 * contain separators, line ends and doubled quotation marks (RFC 4180). All functions work at the position of
 * a reader and take linear time.
 */
import { show } from '../describe.js'
import type { Steps } from '../graph-core/slices.js'
import type { TextReader } from './text.js'

const NEWLINE = 10
const QUOTATION = '"'.charCodeAt(0)

/** Limit of a cell in bytes, longer than any name. */
const LONGEST_CELL = 1 << 20

/** Thrown where the window ends within a quoted cell. The record is read again in the next window. */
class UnfinishedRecord extends Error {}

const unfinished = new UnfinishedRecord()

/** Returns whether the next cell is in quotation marks. */
export function isQuoted(reader: TextReader): boolean {
  reader.skipBlanks()
  return reader.bytes[reader.position] === QUOTATION
}

/** Returns the text of the next cell without surrounding blanks and quotation marks, and skips the cell. */
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

/** Throws for a window that ends within a quoted cell. */
function endless(reader: TextReader): never {
  if (reader.isLast) reader.fail('a cell begins with a quotation mark, but none ends it: add it')
  if (reader.end - reader.position > LONGEST_CELL) refuseLong(reader)
  return awaitMore()
}

/** Stops the parsing of this window: see {@link untilUnfinished}. */
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

/** Returns all cells of the line, and skips the line. */
export function cellsOfLine(reader: TextReader): string[] {
  const cells: string[] = []
  do cells.push(cellText(reader))
  while (nextCell(reader))
  reader.endLine()
  return cells
}

/**
 * Calls `read` and then restores the reader's position.
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

/**
 * Calls `read`. If the window ends within a quoted cell, the reader's position is restored and the result is
 * undefined.
 */
export function untilUnfinished<Result>(reader: TextReader, read: () => Result): Result | undefined {
  const { position, line } = reader
  try {
    return read()
  } catch (error) {
    return goBack(reader, position, line, error)
  }
}

/**
 * Runs `steps`. If the window ends within a quoted cell, the reader's position is restored: see {@link
 * untilUnfinished}.
 */
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
