/**
 * Inspects CSV files before they are read, because a command line has to guess whether numbers are edges or a
 * matrix.
 */
import type { Steps } from '../graph-core/slices.js'
import { cellsOfLine, stepsUntilUnfinished, untilUnfinished } from './cells.js'
import { decideDialect, isTsvName } from './dialect.js'
import { edgeColumns, isWord, namesColumns } from './headings.js'
import { findInLines } from './lines.js'
import type { TextReader } from './text.js'

const COMMENT = '#'.charCodeAt(0)

/** Limit of the counted lines of data. */
const MAX_ROWS = 4

/** The result of {@link lookAtCsv}. */
export interface CsvLook {
  /** Cells of the first line of data; 0 if there is none. */
  readonly columns: number
  /** Lines of data, of which no more than 4 are counted. */
  readonly rows: number
  /** Whether the first line names the columns. */
  readonly hasHeading: boolean
  /** Whether the first line names the columns where edges begin and end. */
  readonly isList: boolean
  /** Whether edges have weights. */
  readonly hasWeights: boolean
  /** Whether a column is named tokens. */
  readonly hasTokens: boolean
  /** Whether all nodes of the inspected lines are integers of at least 0. */
  readonly isNumbered: boolean
}

const nothing: CsvLook = {
  columns: 0,
  rows: 0,
  hasHeading: false,
  isList: false,
  hasWeights: true,
  hasTokens: false,
  isNumbered: true,
}

/** Calls {@link findInLines}; returns undefined if the file can't be read. */
const find = <Result>(path: string, lines: (reader: TextReader) => Steps<Result | undefined>) =>
  findInLines(path, 'a graph', lines).catch(() => undefined)

/**
 * Inspects the first lines of a CSV file, compressed or not.
 *
 * @returns the number of columns and of lines, and their kind. If the file can't be read, the result has no
 * columns; the reader of the file reports the error.
 * @throws Nothing.
 * @example
 * await writeFile('roads.csv', 'from,to,km\n0,1,4\n')
 * const { columns, isList, isNumbered } = await lookAtCsv('roads.csv')
 * console.log(columns, isList, isNumbered) // 3 true true
 */
export async function lookAtCsv(path: string): Promise<CsvLook> {
  const found = await find(path, function* (reader) {
    if (!reader.nextContent(COMMENT)) return undefined
    const records = yield* stepsUntilUnfinished(reader, decideDialect(reader, isTsvName(path), false))
    return records && lookOf(records)
  })
  return found ?? nothing
}

function lookOf(records: readonly (readonly string[])[]): CsvLook {
  const [first = []] = records
  const isList = namesColumns(first)
  const hasHeading = isList || first.every((cell) => isWord(cell))
  const body = records.slice(hasHeading ? 1 : 0, (hasHeading ? 1 : 0) + MAX_ROWS)
  const [from, to] = isList ? placesOf(records) : [0, 1]
  return {
    columns: (hasHeading && body.length > 0 ? body[0]! : hasHeading ? [] : first).length,
    rows: body.length,
    hasHeading,
    isList,
    hasWeights: isList ? rolesOf(records)?.includes('weight') !== false : first.length !== 2,
    hasTokens: first.some((cell) => /^tokens$/i.test(cell)),
    isNumbered: body.every((cells) => [from, to].every((column) => /^\d+$/.test(cells[column] ?? ''))),
  }
}

/** Returns the roles of the columns; undefined if they are ambiguous. */
function rolesOf(records: readonly (readonly string[])[]) {
  try {
    const wishes = { weight: undefined, named: true, tokens: true }
    return edgeColumns(records, wishes, (problem) => {
      throw new Error(problem)
    }).roles
  } catch {
    return undefined
  }
}

function placesOf(records: readonly (readonly string[])[]): [number, number] {
  const roles = rolesOf(records)
  return roles ? [roles.indexOf('from'), roles.indexOf('to')] : [0, 1]
}

/**
 * Returns the first node of a list of edges that has a name, or a number too large for nodes.
 *
 * @returns undefined if all nodes have numbers, or the file isn't an edge list.
 * @throws Nothing.
 * @example
 * await writeFile('roads.csv', '0,1,4\n1,Oslo,5\n')
 * console.log(await namedNodeInCsv('roads.csv')) // Oslo
 */
export async function namedNodeInCsv(path: string): Promise<string | undefined> {
  let places: [number, number] | undefined
  const found = await find(path, function* (reader): Steps<{ name: string | undefined } | undefined> {
    while (reader.nextContent(COMMENT)) {
      if (!places) {
        const records = yield* stepsUntilUnfinished(reader, decideDialect(reader, isTsvName(path), false))
        if (!records) return undefined
        const isList = namesColumns(records[0] ?? [])
        const columns = records.at(-1)?.length ?? 0
        if (!isList && (columns < 2 || columns > 3)) return { name: undefined }
        places = isList ? placesOf(records) : [0, 1]
        if (isList || (records[0]?.every((cell) => isWord(cell)) && records.length > 1)) cellsOfLine(reader)
        continue
      }
      const cells = untilUnfinished(reader, () => cellsOfLine(reader))
      if (!cells) return undefined
      for (const column of places) {
        const name = cells[column] ?? ''
        if (/^\d{10,}$/.test(name) || (name !== '' && !/^[-+]?[.\d]/.test(name)))
          return { name: /^ε$|^[-+]?(nan|inf(inity)?)$/i.test(name) ? undefined : name }
      }
      yield
    }
    return undefined
  })
  return found?.name
}
