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

/** The result of {@link inspectCsv}. */
export interface CsvKind {
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

const nothing: CsvKind = {
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
 * const { columns, isList, isNumbered } = await inspectCsv('roads.csv')
 * console.log(columns, isList, isNumbered) // 3 true true
 */
export async function inspectCsv(path: string): Promise<CsvKind> {
  const found = await find(path, function* (reader) {
    if (!reader.nextContent(COMMENT)) return undefined
    const records = yield* stepsUntilUnfinished(reader, decideDialect(reader, isTsvName(path), false))
    return records && kindOf(records)
  })
  return found ?? nothing
}

function kindOf(records: readonly (readonly string[])[]): CsvKind {
  const [first = []] = records
  const { isList, hasHeading, nodes, hasWeights } = layoutOf(records)
  const body = records.slice(hasHeading ? 1 : 0, (hasHeading ? 1 : 0) + MAX_ROWS)
  return {
    columns: (hasHeading && body.length > 0 ? body[0]! : hasHeading ? [] : first).length,
    rows: body.length,
    hasHeading,
    isList,
    hasWeights,
    hasTokens: first.some((cell) => /^tokens$/i.test(cell)),
    isNumbered: body.every((cells) => nodes.every((column) => /^\d+$/.test(cells[column] ?? ''))),
  }
}

/** Returns the kind of the first line, and the columns of the nodes of edges. */
function layoutOf(records: readonly (readonly string[])[]) {
  const [first = []] = records
  const isList = namesColumns(first)
  const roles = isList ? rolesOf(records) : undefined
  return {
    isList,
    hasHeading: isList || first.every((cell) => isWord(cell)),
    nodes: roles ? [roles.indexOf('from'), roles.indexOf('to')] : [0, 1],
    hasWeights: isList ? roles?.includes('weight') !== false : first.length !== 2,
  }
}

/** Returns the roles of the columns; undefined if they are ambiguous. */
function rolesOf(records: readonly (readonly string[])[]) {
  try {
    const options = { weight: undefined, named: true, tokens: true }
    return edgeColumns(records, options, (problem) => {
      throw new Error(problem)
    }).roles
  } catch {
    return undefined
  }
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
  let nodes: number[] | undefined
  const found = await find(path, function* (reader): Steps<{ name: string | undefined } | undefined> {
    while (reader.nextContent(COMMENT)) {
      if (!nodes) {
        const records = yield* stepsUntilUnfinished(reader, decideDialect(reader, isTsvName(path), false))
        if (!records) return undefined
        const layout = layoutOf(records)
        const columns = records.at(-1)?.length ?? 0
        if (!layout.isList && (columns < 2 || columns > 3)) return { name: undefined }
        nodes = layout.nodes
        if (layout.isList || (layout.hasHeading && records.length > 1)) cellsOfLine(reader)
        continue
      }
      const cells = untilUnfinished(reader, () => cellsOfLine(reader))
      if (!cells) return undefined
      for (const column of nodes) {
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
