/** Parses lines of cells: CSV with commas, semicolons, tabs or spaces. */
import { cellsOfLine } from '../../lib/files/cells.js'
import { decideDialect } from '../../lib/files/dialect.js'
import { TextReader } from '../../lib/files/text.js'
import { atOnce } from '../../lib/graph-core/slices.js'
import { toUtf8 } from '../../lib/platform.js'
import { PER_STEP, type Steps } from './slices.js'

const COMMENT = '#'.charCodeAt(0)

/**
 * Input that can't be used in a computation. `field` is the name of the wrong field, by default the first
 * one.
 */
export class InputError extends Error {
  constructor(
    message: string,
    readonly field?: string,
  ) {
    super(message)
  }
}

/** Returns the result of `read` for a field; errors of the library become messages for the user. */
export function reading<Result>(read: () => Result, field?: string): Result {
  try {
    return read()
  } catch (error) {
    const { message } = error as Error
    throw new InputError(
      `${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, '.'),
      field,
    )
  }
}

export async function textIn(file: File): Promise<string> {
  const text = await file.text()
  if (text.includes('\0')) throw new InputError(`${file.name} is no text: save it as .csv.`)
  return text
}

export interface Line {
  readonly line: number
  readonly cells: string[]
}

/** Reads the cells of each line that isn't empty or a comment, by the library's tokenizer. */
export function* readCells(text: string): Steps<Line[]> {
  const reader = new TextReader('the text')
  reader.window(toUtf8(`${text.replace(/\r\n?/g, '\n')}\n`), 0, true)
  const read: Line[] = []
  if (reader.nextContent(COMMENT)) reading(() => atOnce(decideDialect(reader, false, false)))
  for (let next = PER_STEP; reader.nextContent(COMMENT); ) {
    const { line } = reader
    read.push({ line, cells: reading(() => cellsOfLine(reader)) })
    if (reader.position < next) continue
    next = reader.position + PER_STEP
    yield
  }
  return read
}

/** Returns the cells of a short text without yielding. */
export function cellsOf(text: string): Line[] {
  const steps = readCells(text)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Returns the number in a cell; NaN if the cell has no number, and `none` for an empty cell, "." or "ε". */
export function numberOf(cell: string, none = Number.NaN): number {
  if (/^([.ε]|)$/.test(cell)) return none
  if (/^[+]?(inf|infinity|∞)$/i.test(cell)) return Number.POSITIVE_INFINITY
  if (/^[-−](inf|infinity|∞)$/i.test(cell)) return Number.NEGATIVE_INFINITY
  return Number(cell.replace('−', '-'))
}
