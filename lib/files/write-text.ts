/** Writes matrices as text: Matrix Market, CSV and DIMACS. */
import { Readable } from 'node:stream'
import { zeroOf } from '../built-in-semirings.js'
import { isInteger, newArray, typeNameOf } from '../elements.js'
import { FileError, ShapeError } from '../errors.js'
import { shapeOf } from '../layout.js'
import type { ElementArray } from '../storage.js'
import type { Semiring } from '../variant-names.js'
import { assertStillAttached, type HostView } from '../view.js'
import { infiniteZero } from './dense.js'
import { isGzipName } from './names.js'
import { gather } from './npy-content.js'
import type { FileWork } from './progress.js'
import type { TextFormat } from './text-matrices.js'

/** A matrix to be written, and its zero. */
interface Source {
  readonly view: HostView<ElementArray>
  readonly semiring: Semiring
  readonly zero: number
  /** Number of elements that equal zero of the semiring. */
  readonly zeros: number
  readonly name: string
  readonly reached: (share: number) => void
}

/** Number of elements that are checked between two turns of the event loop. */
const PER_TURN = 1 << 21

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
  const zeros = await countZeros(view, zero, () => work.reached(0))
  await writeLines(name, writers[format]({ view, semiring, zero, zeros, name, reached }), work)
}

/** Writes lines to a file, compressed if its name ends with .gz. */
export const writeLines = (name: string, lines: Iterable<string>, work: FileWork): Promise<void> =>
  work.write(name, bytesOf(lines, isGzipName(name)))

async function* bytesOf(lines: Iterable<string>, isCompressed: boolean): AsyncGenerator<Uint8Array, void> {
  const pieces = Readable.from(inPieces(lines), { objectMode: false, highWaterMark: 1 })
  if (!isCompressed) return yield* pieces
  const { createGzip } = await import('node:zlib')
  const compressed = createGzip()
  pieces.on('error', (error) => compressed.destroy(error))
  yield* pieces.pipe(compressed)
}

/** Counts the elements that equal `zero`, and yields to the event loop at intervals. */
async function countZeros(view: HostView<ElementArray>, zero: number, goOn: () => void): Promise<number> {
  const row = newArray(view.type, view.cols)
  let zeros = 0
  let looked = 0
  for (let i = 0; i < view.rows; i++) {
    gather(view, i * view.cols, row)
    for (const value of row) if (value === zero) zeros++
    looked += view.cols
    if (looked < PER_TURN) continue
    looked = 0
    await new Promise((resolve) => setImmediate(resolve))
    goOn()
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

const writers: Record<TextFormat, (source: Source) => Iterable<string>> = {
  'matrix-market': matrixMarket,
  csv: (source) => cells(source, ','),
  tsv: (source) => cells(source, '\t'),
  dimacs,
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

function* matrixMarket(source: Source): Generator<string, void> {
  const { view, zero, zeros } = source
  const { rows, cols } = view
  const field = isInteger(view.type) ? 'integer' : 'real'
  if (zeros === 0) {
    yield `%%MatrixMarket matrix array ${field} general\n${rows} ${cols}\n`
    const { rowStride, colStride } = view
    const columns = { ...view, rows: cols, cols: rows, rowStride: colStride, colStride: rowStride }
    for (const column of rowsOf({ ...source, view: columns })) {
      for (const value of column) yield `${numberText(value, false)}\n`
    }
    return
  }
  yield coordinateHead(field, rows, cols, rows * cols - zeros)
  let i = 0
  for (const row of rowsOf(source)) {
    i++
    for (let j = 0; j < cols; j++) {
      if (row[j] !== zero) yield coordinateLine(i - 1, j, row[j]!)
    }
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

/** Returns the first lines of a coordinate file of Matrix Market. */
export const coordinateHead = (field: 'integer' | 'real', rows: number, cols: number, count: number) =>
  `%%MatrixMarket matrix coordinate ${field} general\n${rows} ${cols} ${count}\n`

export const coordinateLine = (row: number, col: number, value: number) =>
  `${row + 1} ${col + 1} ${numberText(value, false)}\n`

/** Returns the first line of a DIMACS file. Throws ShapeError for a matrix that isn't square. */
export function arcHead(name: string, rows: number, cols: number, count: number): string {
  if (rows === cols) return `p sp ${rows} ${count}\n`
  throw new ShapeError(`${name}: a graph has a square matrix, but this one is ${rows} × ${cols}: write .mtx`)
}

/** Returns the line of an arc. Throws FileError for a weight that isn't int32. */
export function arcLine(name: string, row: number, col: number, value: number): string {
  if ((value | 0) === value) return `a ${row + 1} ${col + 1} ${value}\n`
  throw new FileError(
    `${name}: the weights of a DIMACS file are int32 integers, but at index [${row}, ${col}] there is ${value}: write .mtx`,
  )
}

function* dimacs(source: Source): Generator<string, void> {
  const { view, zero, zeros, name } = source
  const { rows, cols } = view
  yield arcHead(name, rows, cols, rows * cols - zeros)
  let i = 0
  for (const row of rowsOf(source)) {
    for (let j = 0; j < row.length; j++) if (row[j] !== zero) yield arcLine(name, i, j, row[j]!)
    i++
  }
}
