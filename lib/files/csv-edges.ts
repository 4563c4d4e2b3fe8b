/**
 * Reads edge lists in CSV: a line for each edge. The first line may name the columns; the default is
 * `FROM,TO,WEIGHT`.
 */

import { show } from '../describe.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import { MAX_INT32 } from '../integers.js'
import { MAX_DIMENSION } from '../matrix.js'
import { cellsOfLine, cellText, isQuoted, nextCell, stepsUntilUnfinished, untilUnfinished } from './cells.js'
import { decideDialect } from './dialect.js'
import type { EntrySink } from './entries.js'
import { type ColumnOptions, type EdgeColumns, edgeColumns, namesColumns, type Role } from './headings.js'
import { Pieces } from './pieces.js'
import type { LineParser, TextReader } from './text.js'

const NEWLINE = 10
const COMMENT = '#'.charCodeAt(0)
const EXCLAMATION = '!'.charCodeAt(0)

/** Records before the first yield: functions that V8 has just compiled take 2 ms for 64 records. */
const FIRST_STEP = 64

/** Limit of comments before the first edge that are checked. */
const MAX_DOUBTFUL = 64

/** Names of the columns, in messages. */
const shown: Record<Role, string> = {
  from: 'the node where the edge begins',
  to: 'the node where the edge ends',
  weight: 'the weight',
  tokens: 'the number of tokens',
  none: 'a cell',
}

/** Edges whose nodes are read from cells. */
export interface EdgeCells<Result> {
  /** Reads the cell of a node, and returns its number. */
  node(reader: TextReader, role: Role): number
  /** Returns whether an edge has the node. */
  has(name: string): boolean
  join(from: number, to: number, weight: number): void
  end(): Steps<Result>
}

/** Options of {@link csvEdgesParser}. */
export interface CsvEdgeOptions extends ColumnOptions {
  /** Whether the file's extension is that of TSV, whose separators are tabs. */
  readonly isTsv: boolean
}

/** Reads an edge list. The result has tokens if they are requested and the file has a column for them. */
export function csvEdgesParser<Result extends object>(
  edges: EdgeCells<Result>,
  options: CsvEdgeOptions,
): LineParser<Result & { tokens?: Int32Array }> {
  /** Tokens of edges, in the order of the edges. */
  const tokenColumn = new Pieces((length) => new Int32Array(length))
  let columns: EdgeColumns | undefined
  let headingLine = 1
  /** Lines before the first edge that are comments, or edges of nodes with names such as #1. */
  const doubtfulComments: { line: number; text: string }[] = []
  let done = 0
  /** Number of records at the next yield. */
  let pause = FIRST_STEP

  const begin = function* (reader: TextReader): Steps<EdgeColumns> {
    const records = yield* decideDialect(reader, options.isTsv, true)
    const found = edgeColumns(records, options, (problem) => reader.fail(problem))
    if (reader.nextContent(COMMENT) && found.isHeading) {
      headingLine = reader.line
      cellsOfLine(reader)
    }
    return found
  }

  const record = (reader: TextReader, { roles, isHeading }: EdgeColumns) => {
    let from = 0
    let to = 0
    let weight = 1
    let tokens = -1
    for (let column = 0; ; column++) {
      const role = roles[column]!
      if (role === 'from') from = edges.node(reader, role)
      else if (role === 'to') to = edges.node(reader, role)
      else if (role === 'weight') {
        weight = isQuoted(reader)
          ? reader.numberIn(cellText(reader), shown.weight)
          : reader.number(shown.weight)
      } else if (role === 'tokens') {
        tokens = reader.integer(shown.tokens, 0, MAX_INT32)
      } else cellText(reader)
      const more = nextCell(reader)
      if (more && column + 1 === roles.length) refuseLonger(reader, roles, isHeading)
      if (!more && column + 1 < roles.length) refuseShorter(reader, roles[column + 1]!, options.named)
      if (!more) break
    }
    reader.endLine()
    edges.join(from, to, weight)
    if (tokens >= 0) tokenColumn.add(tokens)
  }

  /** Goes to the next record; returns false at the end of the window. */
  const hasRecord = (reader: TextReader): boolean => {
    while (reader.nextContent()) {
      if (reader.bytes[reader.position] !== COMMENT) return true
      const isDoubtful = options.named && (columns || doubtfulComments.length < MAX_DOUBTFUL)
      if (isDoubtful && mayBeName(reader)) {
        const comment = { line: reader.line, text: reader.restOfLine() }
        if (columns) assertComment(reader, comment, columns.roles.length)
        else doubtfulComments.push(comment)
      }
      reader.nextLine()
    }
    return false
  }

  /** Returns whether the # of a comment may be the first character of a name: no blank follows it, but separators do. */
  const mayBeName = (reader: TextReader): boolean => {
    const { bytes, position, separator } = reader
    const next = bytes[position + 1]!
    if (reader.ends(position + 1) || next === COMMENT || next === EXCLAMATION) return false
    if (!columns || separator < 0) return true
    let cells = 1
    for (let at = position; bytes[at] !== NEWLINE; at++) if (bytes[at] === separator) cells++
    return cells === columns.roles.length
  }

  return {
    *lines(reader) {
      while (hasRecord(reader)) {
        if (!columns) {
          const found = yield* stepsUntilUnfinished(reader, begin(reader))
          if (!found) return
          for (const comment of doubtfulComments) assertComment(reader, comment, found.roles.length)
          columns = found
          continue
        }
        const known = columns
        if (untilUnfinished(reader, () => record(reader, known) ?? true) === undefined) break
        if (++done < pause) continue
        pause += Math.max(FIRST_STEP, Math.min(done >> 3, PER_SLICE))
        yield
      }
    },
    *end(reader) {
      reader.assertClear()
      const name = columns?.doubtful.find((each) => edges.has(each))
      if (name !== undefined) {
        reader.line = headingLine
        reader.fail(
          `the first line may name the columns, or be an edge: ${show(name)} is a node, too; put a heading such as from,to before it`,
        )
      }
      const result = yield* edges.end()
      const { count } = tokenColumn
      return count === 0 ? result : { ...result, tokens: yield* tokenColumn.into(new Int32Array(count)) }
    },
  }
}

function refuseLonger(reader: TextReader, roles: readonly Role[], isHeading: boolean): never {
  if (roles.length === 2 && !isHeading) {
    reader.fail('this edge has a weight, but the first one has none: write one for each edge, or for none')
  }
  const more = isHeading
    ? `the heading has ${roles.length} names`
    : 'name the columns in the first line, such as from,to,weight'
  return reader.fail(
    `expected the end of the line, but it goes on with ${show(reader.restOfLine())}: ${more}`,
  )
}

function refuseShorter(reader: TextReader, role: Role, named: boolean): never {
  if (named)
    reader.fail(
      `expected ${role === 'to' ? 'FROM,TO' : 'FROM,TO,WEIGHT or the cells that the first line has'}, but ${shown[role]} is missing`,
    )
  if (role === 'weight') reader.fail(`${shown.weight} is missing`)
  const separators = reader.separator < 0 ? 'a blank' : show(String.fromCharCode(reader.separator))
  return reader.fail(`expected ${separators} and ${shown[role]}, but the line ends`)
}

/** Refuses a line that begins with # and may be an edge. */
function assertComment(
  reader: TextReader,
  { line, text }: { line: number; text: string },
  cells: number,
): void {
  const separator = reader.separator < 0 ? /\s+/ : String.fromCharCode(reader.separator)
  const parts = text.slice(1).split(separator)
  if (parts.length !== cells || namesColumns(parts)) return
  reader.line = line
  reader.fail(
    `${show(text)} may be a comment, or an edge of a node whose name begins with #: write a blank after the # of a comment, or enclose the name in quotation marks`,
  )
}

/** Advice for nodes that aren't numbers from 0 to the largest one. */
const ADVICE = ': number the nodes from 0, or read them as names by keys: true'

/**
 * Passes edges between numbered nodes to a sink.
 *
 * @param nodes - number of nodes; one more than the largest number in the file if undefined.
 */
export function numberedCells<Result>(sink: EntrySink<Result>, nodes: number | undefined): EdgeCells<Result> {
  let largest = -1
  return {
    node(reader, role) {
      const most = (nodes ?? MAX_DIMENSION) - 1
      if (most < 0) reader.fail('there is an edge, but no nodes')
      const node = reader.integer(shown[role], 0, most, ADVICE)
      if (node > largest) largest = node
      return node
    },
    has: () => false,
    join: (from, to, weight) => sink.add(from, to, weight),
    end: () => sink.end(nodes ?? largest + 1, nodes ?? largest + 1, true),
  }
}
