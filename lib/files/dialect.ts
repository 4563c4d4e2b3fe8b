/**
 * Detects the separator of a CSV file from all of its first lines. One line isn't enough, because a comma may
 * be part of a name or a number.
 */
import { formatAny } from '../describe.js'
import { FileError } from '../errors.js'
import type { Steps } from '../graph-core/slices.js'
import { awaitMore, cellText, nextCell, untilUnfinished } from './cells.js'
import { TextReader } from './text.js'

const NEWLINE = 10
const COMMENT = '#'.charCodeAt(0)
const COMMA = ','.charCodeAt(0)
const TAB = '\t'.charCodeAt(0)
/** Blanks, of which any number separate cells. */
const BLANKS = -1

/** Separators, in the order of preference if the lines don't decide. */
const candidates = [TAB, ';'.charCodeAt(0), COMMA, '|'.charCodeAt(0)]

/** Limits of the inspected records and bytes. */
const MAX_RECORDS = 64
const MAX_BYTES = 1 << 13

/** Returns whether a file's extension is that of TSV, whose separators are tabs. */
export const isTsvName = (name: string) => /\.tsv(\.gz)?$/i.test(name)

/** Records of a file under one separator. */
interface Sample {
  readonly separator: number
  readonly records: readonly (readonly string[])[]
  /** Cells of the first record. */
  readonly columns: number
  /** Whether all records have as many cells, two or more. */
  readonly isEven: boolean
  /** Whether all cells after the first line look like numbers. */
  readonly isNumeric: boolean
  /** Whether a third or later column looks like numbers. */
  readonly isWeighted: boolean
  /** Whether the first record ends beyond the inspected text. */
  readonly isUnfinished: boolean
}

/** Returns whether a cell may be meant as a number, with any marks that group digits. */
const looksNumeric = (cell: string) =>
  /^[-+]?[\d.,]*\d[\d.,]*(e[-+]?\d+)?$|^[-+−]?(inf|infinity|∞|nan|ε|\.)$/i.test(cell)

/**
 * Decides the separator of the lines that follow, and whether their commas are decimal points; `reader` gets both. Skips a line such as
 * `sep=;`, which states the separator for Excel.
 *
 * @param isTsv - whether the file's extension is that of TSV.
 * @param isList - whether lines are edges. Then two cells by either of two separators are ambiguous, such as
 * 0;1,5.
 * @returns the first records; fewer than the file has.
 */
export function* decideDialect(
  reader: TextReader,
  isTsv: boolean,
  isList: boolean,
): Steps<Sample['records']> {
  if (!reader.isLast && reader.end - reader.position < MAX_BYTES) awaitMore()
  // A tab at the end of the line isn't part of its text.
  const declared = /^"?sep=([,;|]?)"?$/i.exec(reader.restOfLine())?.[1]
  if (declared !== undefined) reader.nextLine()
  const only = declared === undefined ? null : (declared || '\t').charCodeAt(0)
  const separators = only === null ? [...candidates, BLANKS] : [only]
  const sampled = function* (size: number): Steps<Sample[]> {
    const first = beginning(reader, size)
    const samples: Sample[] = []
    for (const separator of separators) {
      samples.push(sampleOf(first, separator))
      yield
    }
    return samples
  }
  let size = MAX_BYTES
  let samples = yield* sampled(size)
  // A first record with long quoted cells may need more than the default bytes.
  while (samples.some(({ isUnfinished }) => isUnfinished)) {
    if (size >= reader.end - reader.position) {
      if (!reader.isLast) awaitMore()
      break
    }
    size *= 4
    samples = yield* sampled(size)
  }
  const { separator, records } = only === null ? best(reader, samples, isTsv, isList) : samples[0]!
  reader.separator = separator
  reader.decimalComma = separator === TAB || separator === candidates[1]
  return records
}

/** Returns a reader of the first lines. A long last line is truncated. */
function beginning({ name, bytes, position, isLast }: TextReader, size: number): TextReader {
  const reader = new TextReader(name)
  const some = bytes.subarray(position, position + size)
  const whole = some.lastIndexOf(NEWLINE) + 1
  const isAll = isLast && position + size >= bytes.length
  if (whole > 0) reader.window(some.subarray(0, whole), 0, isAll)
  else reader.window(withNewline(some), 0, isAll)
  return reader
}

function withNewline(bytes: Uint8Array): Uint8Array {
  const line = new Uint8Array(bytes.length + 1)
  line.set(bytes)
  line[bytes.length] = NEWLINE
  return line
}

function sampleOf(reader: TextReader, separator: number): Sample {
  const records: string[][] = []
  reader.position = 0
  reader.separator = separator
  let cells: string[] = []
  const isFinished = untilUnfinished(reader, () => {
    try {
      while (records.length < MAX_RECORDS && reader.nextContent(COMMENT)) {
        cells = []
        do cells.push(cellText(reader))
        while (nextCell(reader))
        records.push(cells)
        reader.endLine()
      }
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      if (records.length === 0) records.push(cells)
    }
    return true
  })
  const columns = records[0]?.length ?? 0
  const body = records.length > 1 ? records.slice(1) : records
  const isColumnNumeric = (column: number) => body.every((cells) => looksNumeric(cells[column] ?? ''))
  const numeric = Array.from({ length: columns }, (_, column) => isColumnNumeric(column))
  return {
    separator,
    records,
    columns,
    isEven: columns > 1 && records.every((cells) => cells.length === columns),
    isNumeric: numeric.every(Boolean),
    isWeighted: columns > 2 && numeric.includes(true),
    isUnfinished: records.length === 0 && !isFinished,
  }
}

function best(reader: TextReader, samples: readonly Sample[], isTsv: boolean, isList: boolean): Sample {
  const blanks = samples.at(-1)!
  const [tab] = samples
  const even = samples.slice(0, -1).filter(({ isEven }) => isEven)
  const rank = ({ isNumeric, isWeighted, columns }: Sample) =>
    (isNumeric ? 2 ** 24 : 0) + (isWeighted ? 2 ** 23 : 0) + columns
  const [first, second] = even.sort((a, b) => rank(b) - rank(a))
  if (isTsv && tab!.isEven) return tab!
  // For example 0 1 4,5 isn't an edge from a node named 0 1 4.
  const isPlain = blanks.isEven && blanks.isNumeric
  if (isPlain && first && first !== tab && !first.isNumeric && blanks.columns > first.columns) return blanks
  const isTie =
    first &&
    second &&
    (rank(first) === rank(second) || (isList && first.columns === 2 && second.columns === 2))
  if (isTie && first !== tab) {
    const names = [first, second].map(({ separator }) => `'${String.fromCharCode(separator)}'`)
    reader.fail(
      `the separator may be ${formatAny(names)}: put a line sep=${names[0]![1]} before it, or quote the cells that have the other one`,
    )
  }
  if (first) return first
  // If no separator divides all lines evenly, the first line's separator is used, and the error names the
  // line where it fails.
  const matches = ({ records, columns }: Sample) =>
    columns < 2 ? 0 : records.filter((cells) => cells.length === columns).length
  const uneven = samples.slice(0, -1).filter(({ columns }) => columns > 1)
  const tabbed = isTsv && tab!.records.some((cells) => cells.length > 1) ? tab : undefined
  if (isPlain || (blanks.isEven && blanks.isWeighted && !isTsv)) return blanks
  const line = reader.restOfLine()
  const occurring = samples
    .slice(0, -1)
    .find(({ separator }) => line.includes(String.fromCharCode(separator)))
  return tabbed ?? uneven.sort((a, b) => matches(b) - matches(a))[0] ?? occurring ?? blanks
}
