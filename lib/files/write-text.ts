/** Writes matrices as text: Matrix Market, CSV and DIMACS. */
import { pipeline, Readable } from 'node:stream'
import { zeroOf } from '../built-in-semirings.js'
import { isInteger, newArray, typeNameOf } from '../elements.js'
import { FileError, ShapeError } from '../errors.js'
import type { Steps } from '../graph-core/slices.js'
import { shapeOf } from '../layout.js'
import type { ElementArray } from '../storage.js'
import type { Semiring } from '../variant-names.js'
import { assertStillAttached, gather, type HostView } from '../view.js'
import { infiniteZero } from './dense.js'
import { isGzipName, type SparseFormat } from './names.js'
import type { FileWork } from './progress.js'
import type { TextFormat } from './text-matrices.js'

/** A matrix to be written, and its zero. */
interface Source {
  readonly view: HostView<ElementArray>
  readonly semiring: Semiring
  readonly zero: number
  readonly name: string
  readonly reached: (share: number) => void
}

/** Characters of one write. */
const PIECE = 1 << 17

/** Writes one matrix as text. */
export async function writeTextMatrix(
  name: string,
  format: TextFormat,
  view: HostView<ElementArray>,
  semiring: Semiring,
  work: FileWork,
): Promise<void> {
  if (view.batched) {
    throw new ShapeError(
      `${name}: a ${format} file holds one matrix, but this is a batch of shape [${shapeOf(view).join(', ')}]: ` +
        'write .npy, or a file for each',
    )
  }
  const zero = zeroOf(semiring, typeNameOf(view.type))
  const reached = (share: number) => work.reached(share)
  const source = { view, semiring, zero, name, reached }
  const lines =
    format === 'csv' || format === 'tsv'
      ? cells(source, format === 'csv' ? ',' : '\t')
      : elements(source, format, await work.inSlices(countingZeros(view, zero)))
  await writeLines(name, lines, work)
}

/** Writes lines to a file, compressed if its name ends with .gz. */
export const writeLines = (name: string, lines: Iterable<string>, work: FileWork): Promise<void> =>
  work.write(name, bytesOf(lines, isGzipName(name)))

async function* bytesOf(lines: Iterable<string>, isCompressed: boolean): AsyncGenerator<Uint8Array, void> {
  if (!isCompressed) return yield* inPieces(lines)
  const { createGzip } = await import('node:zlib')
  const compressed = createGzip()
  // The callback ignores errors, because the reader of the stream gets them too.
  pipeline(Readable.from(inPieces(lines), { objectMode: false, highWaterMark: 1 }), compressed, () => {})
  yield* compressed
}

function* countingZeros(view: HostView<ElementArray>, zero: number): Steps<number> {
  const row = newArray(view.type, view.cols)
  let zeros = 0
  for (let i = 0; i < view.rows; i++) {
    gather(view, i * view.cols, row)
    for (const value of row) if (value === zero) zeros++
    yield
  }
  return zeros
}

function* inPieces(lines: Iterable<string>): Generator<Buffer, void> {
  let text = ''
  for (const line of lines) {
    text += line
    if (text.length < PIECE) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text.length > 0) yield Buffer.from(text)
}

/** Yields the rows, each in the same array. */
function* rowsOf({ view, reached }: Source): Generator<ElementArray, void> {
  const row = newArray(view.type, view.cols)
  for (let i = 0; i < view.rows; i++) {
    reached(i / view.rows)
    assertStillAttached(view, 'matrix')
    gather(view, i * view.cols, row)
    yield row
  }
}

/**
 * Formats a number for all formats. If `pointed`, integers get a decimal point, so that readers take them for
 * floats. Beyond 2^53 the shortest digits of a float may denote another integer, so an exponent marks a real
 * number.
 */
export function numberText(value: number, pointed: boolean): string {
  if (Number.isInteger(value)) {
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER) return value.toExponential()
    const digits = Object.is(value, -0) ? '-0' : String(value)
    return pointed && !digits.includes('e') ? `${digits}.0` : digits
  }
  if (Number.isNaN(value)) return 'nan'
  return Number.isFinite(value) ? String(value) : value > 0 ? 'inf' : '-inf'
}

/** Formats a matrix as its elements that aren't zero; as an array of Matrix Market if none is. */
function* elements(source: Source, format: SparseFormat, zeros: number): Generator<string, void> {
  const { view, zero, name } = source
  const { rows, cols, rowStride, colStride } = view
  const field = isInteger(view.type) ? 'integer' : 'real'
  if (zeros === 0 && format === 'matrix-market') {
    yield `%%MatrixMarket matrix array ${field} general\n${rows} ${cols}\n`
    const columns = { ...view, rows: cols, cols: rows, rowStride: colStride, colStride: rowStride }
    for (const column of rowsOf({ ...source, view: columns })) {
      for (const value of column) yield `${numberText(value, false)}\n`
    }
    return
  }
  const { head, line } = entryFormat(format, name, field, [rows, cols], rows * cols - zeros)
  yield head
  let i = 0
  for (const row of rowsOf(source)) {
    for (let j = 0; j < cols; j++) if (row[j] !== zero) yield line(i, j, row[j]!)
    i++
  }
}

function* cells(source: Source, separator: string): Generator<string, void> {
  const { view, zero, semiring, name } = source
  if (view.rows === 0 || view.cols === 0) {
    throw new ShapeError(
      `${name}: a matrix of ${view.rows} × ${view.cols} has no cells to write: write .npy or .mtx`,
    )
  }
  const integers = isInteger(view.type)
  const infinity = infiniteZero(semiring)
  const zeroText = numberText(Number.isNaN(infinity) ? zero : infinity, !integers)
  for (const row of rowsOf(source)) {
    let line = ''
    for (let j = 0; j < row.length; j++) {
      const value = row[j]!
      line += `${j > 0 ? separator : ''}${value === zero && value !== 0 ? zeroText : numberText(value, !integers)}`
    }
    yield `${line}\n`
  }
}

/**
 * Returns the first lines of a sparse file, and a function that formats an entry, whose row and column count
 * from 0.
 *
 * @throws ShapeError for a matrix that isn't square, and FileError for a weight that isn't int32, in DIMACS.
 */
export function entryFormat(
  format: SparseFormat,
  name: string,
  field: 'integer' | 'real',
  [rows, cols]: readonly [rows: number, cols: number],
  count: number,
): { head: string; line: (row: number, col: number, value: number) => string } {
  if (format === 'matrix-market') {
    return {
      head: `%%MatrixMarket matrix coordinate ${field} general\n${rows} ${cols} ${count}\n`,
      line: (row, col, value) => `${row + 1} ${col + 1} ${numberText(value, false)}\n`,
    }
  }
  if (rows !== cols)
    throw new ShapeError(
      `${name}: a graph has a square matrix, but this one is ${rows} × ${cols}: write .mtx`,
    )
  return {
    head: `p sp ${rows} ${count}\n`,
    line(row, col, value) {
      if ((value | 0) === value) return `a ${row + 1} ${col + 1} ${value}\n`
      throw new FileError(
        `${name}: the weights of a DIMACS file are int32 integers, but at index [${row}, ${col}] there is ${value}: write .mtx`,
      )
    },
  }
}
