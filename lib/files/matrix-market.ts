/**
 * Parser of Matrix Market files (.mtx): the coordinate format of sparse matrices, and the array format.
 * https://math.nist.gov/MatrixMarket/formats.html
 */
import { show } from '../describe.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import { MAX_INT32, MIN_INT32 } from '../integers.js'
import { MAX_DIMENSION } from '../matrix.js'
import { type Accepted, assertCapacity, assertCount, type EntrySink } from './entries.js'
import type { LineParser, TextReader } from './text.js'

const COMMENT = '%'.charCodeAt(0)

type Symmetry = 'general' | 'symmetric' | 'skew-symmetric'

/** The first line of a file. */
interface Banner {
  format: 'coordinate' | 'array'
  field: 'integer' | 'real' | 'pattern'
  symmetry: Symmetry
}

const fields: Record<string, Banner['field']> = {
  integer: 'integer',
  'unsigned-integer': 'integer',
  real: 'real',
  double: 'real',
  pattern: 'pattern',
}

function readBanner(reader: TextReader, arrays: boolean): Banner {
  const banner = reader.restOfLine()
  const [head, object, format, field, symmetry, ...rest] = banner.toLowerCase().split(/\s+/)
  if (head !== '%%matrixmarket' || object !== 'matrix' || rest.length > 0) {
    reader.fail(`expected "%%MatrixMarket matrix coordinate …", but got ${show(banner)}`)
  }
  if (format !== 'coordinate' && !(arrays && format === 'array')) {
    reader.fail(
      arrays
        ? `the format must be coordinate or array, but it is ${show(format)}`
        : `the format must be coordinate, but it is ${show(format)}: only sparse files are edge lists`,
    )
  }
  const known = field !== undefined && Object.hasOwn(fields, field) ? fields[field] : undefined
  if (!known || (known === 'pattern' && format === 'array')) {
    const expected = format === 'array' ? 'integer or real' : 'integer, real or pattern'
    const reason = field === 'complex' ? ', which have no order' : ''
    reader.fail(`entries must be ${expected}, but they are ${show(field)}${reason}`)
  }
  if (symmetry !== 'general' && symmetry !== 'symmetric' && symmetry !== 'skew-symmetric') {
    reader.fail(`the matrix must be general, symmetric or skew-symmetric, but it is ${show(symmetry)}`)
  }
  reader.nextLine()
  return { format, field: known, symmetry }
}

/** @param arrays - whether array files are read. They hold no sparse matrix. */
export function matrixMarketParser<Result>(sink: EntrySink<Result>, arrays = false): LineParser<Result> {
  let banner: Banner | undefined
  let body: LineParser<Result> | undefined
  return {
    *lines(reader) {
      banner ??= readBanner(reader, arrays)
      if (!body && reader.nextContent(COMMENT)) {
        const parser = banner.format === 'array' ? arrayParser : coordinateParser
        body = yield* parser(banner, sink, reader)
      }
      if (body) yield* body.lines(reader)
    },
    *end(reader) {
      banner ??= readBanner(reader, arrays)
      const sizes = banner.format === 'array' ? 'ROWS COLUMNS' : 'ROWS COLUMNS ENTRIES'
      return body ? yield* body.end(reader) : reader.fail(`the line "${sizes}" is missing`)
    },
  }
}

function* coordinateParser<Result>(
  banner: Banner,
  sink: EntrySink<Result>,
  reader: TextReader,
): Steps<LineParser<Result>> {
  const { field, symmetry } = banner
  const [rows, cols] = readSizes(reader, symmetry)
  const said = reader.integer('the number of entries', 0, MAX_DIMENSION)
  assertCapacity(reader, said, field === 'pattern' ? '1 1\n'.length : '1 1 1\n'.length, 'entries')
  const skew = symmetry === 'skew-symmetric'
  const general = symmetry === 'general'
  const accepted = yield* sink.begin({ rows, cols, most: general ? said : 2 * said, values: field }, reader)
  reader.endLine()
  let count = 0
  return {
    *lines(reader) {
      while (reader.nextContent(COMMENT)) {
        if (count++ === said) assertCount(reader, count, said, 'entries')
        const i = reader.integer('the row', 1, rows) - 1
        const j = reader.integer('the column', 1, cols) - 1
        const value = readValue(reader, banner, accepted)
        if (!general && (i < j || (skew && i === j))) {
          reader.fail(`a ${symmetry} file has entries below the diagonal${skew ? '' : ' and on it'} only`)
        }
        sink.add(i, j, value)
        if (!general && i !== j) sink.add(j, i, skew ? 0 - value : value)
        reader.endLine()
        if (count % PER_SLICE === 0) yield
      }
    },
    *end(reader) {
      assertCount(reader, count, said, 'entries')
      return yield* sink.end(rows, cols, field !== 'real')
    },
  }
}

/**
 * Parses the elements of an array file, column by column. The diagonal of a skew-symmetric matrix, which files
 * omit, is 0.
 */
function* arrayParser<Result>(
  banner: Banner,
  sink: EntrySink<Result>,
  reader: TextReader,
): Steps<LineParser<Result>> {
  const { field, symmetry } = banner
  const [rows, cols] = readSizes(reader, symmetry)
  const skew = symmetry === 'skew-symmetric'
  const general = symmetry === 'general'
  const said = general ? rows * cols : (rows * (skew ? rows - 1 : rows + 1)) / 2
  assertCapacity(reader, said, '1\n'.length, 'elements')
  const accepted = yield* sink.begin({ rows, cols, most: rows * cols, values: field }, reader)
  reader.endLine()
  const first = (col: number) => (general ? 0 : skew ? col + 1 : col)
  let row = first(0)
  let col = 0
  let count = 0
  return {
    *lines(reader) {
      while (reader.nextContent(COMMENT)) {
        // Some programs write more than one element in a line.
        do {
          if (count++ === said) assertCount(reader, count, said, 'elements')
          const value = readValue(reader, banner, accepted)
          sink.add(row, col, value)
          if (!general && row !== col) sink.add(col, row, skew ? 0 - value : value)
          if (++row === rows) row = first(++col)
          if (count % PER_SLICE === 0) yield
        } while (!reader.atLineEnd())
        reader.endLine()
      }
    },
    *end(reader) {
      assertCount(reader, count, said, 'elements')
      for (let i = 0; skew && i < rows; i++) sink.add(i, i, 0)
      return yield* sink.end(rows, cols, field !== 'real')
    },
  }
}

function readSizes(reader: TextReader, symmetry: Symmetry): [rows: number, cols: number] {
  const rows = reader.integer('the number of rows', 0, MAX_DIMENSION)
  const cols = reader.integer('the number of columns', 0, MAX_DIMENSION)
  if (symmetry !== 'general' && rows !== cols)
    reader.fail(`a ${symmetry} matrix is square, but this one is ${rows} × ${cols}`)
  return [rows, cols]
}

function readValue(
  reader: TextReader,
  { format, field, symmetry }: Banner,
  { least, most, special }: Accepted,
): number {
  if (field === 'pattern') return 1
  const what = format === 'array' ? 'the element' : 'the entry'
  if (field === 'real') return special ? reader.floating(what) : reader.number(what)
  const advice =
    most === MAX_INT32 ? ": read it with dtype: 'float64', or write real in the first line of the file" : ''
  const value = reader.integer(what, least, most, advice)
  if (symmetry === 'skew-symmetric' && value === MIN_INT32 && -value > most)
    reader.fail(`the entry −2^31 has no negative in int32${advice}`)
  return value
}
