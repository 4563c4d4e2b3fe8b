/**
 * Reads and writes sparse matrices as lists of entries, because they may be far too large as dense matrices.
 */

import { throwIfAborted } from '../abort.js'
import { isFloat64Array, isInt32Array } from '../array-types.js'
import { assertOrdinaryArray, BorrowedArrays, throughout } from '../borrowed.js'
import { show, typeName } from '../describe.js'
import { DTypeError, FileError, ShapeError, ValueError } from '../errors.js'
import { atOnce, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { dimension } from '../matrix.js'
import { choice, Options, type OptionsOf } from '../options.js'
import { longWorkSet } from '../product/options.js'
import { dimacsParser } from './dimacs.js'
import { type EntryArrays, EntryList } from './entries.js'
import { pathOf } from './files.js'
import { findInLines, readLines } from './lines.js'
import { matrixMarketParser } from './matrix-market.js'
import { type MemoryOptions, maxBytes } from './memory.js'
import { formatInName, formatOf, type SparseFormat } from './names.js'
import {
  type FileOptions,
  FileWork,
  fileOptions,
  type ReadFileOptions,
  type WriteFileOptions,
  writeFileSet,
} from './progress.js'
import type { TextReader } from './text.js'
import { entryFormat, writeLines } from './write-text.js'

const formats = ['matrix-market', 'dimacs'] as const
const readable = [...formats, 'npz'] as const

/** A sparse matrix: entry e is the value `value[e]` in row `row[e]` and column `col[e]`, from 0. */
export interface SparseEntries {
  /** Numbers of rows and columns. */
  readonly shape: readonly [rows: number, cols: number]
  /** The row of each entry, from 0. */
  readonly row: Int32Array
  /** The column of each entry, from 0. */
  readonly col: Int32Array
  /** The value of each entry: int32 integers, or real numbers. */
  readonly value: Int32Array | Float64Array
}

/** The options of {@link readEntries}. `undefined` means the default. */
export interface ReadEntriesOptions extends FileOptions, MemoryOptions {
  /** Format of the file. Default: by the file's extension. */
  format?: SparseFormat | 'npz' | undefined
}

/** The options of {@link writeEntries}. `undefined` means the default. */
export interface WriteEntriesOptions extends WriteFileOptions {
  /** Format of the file. Default: by the file's extension. */
  format?: SparseFormat | undefined
}

const readOptions = new Options({
  format: choice(readable, undefined),
  maxBytes,
  ...longWorkSet,
} satisfies OptionsOf<ReadEntriesOptions>)

const writeOptions = new Options({
  format: choice(formats, undefined),
  ...writeFileSet,
} satisfies OptionsOf<WriteEntriesOptions>)

/**
 * Reads the entries of a Matrix Market coordinate file (.mtx), of a DIMACS file (.gr) or of a sparse matrix
 * that scipy.sparse.save_npz wrote (.npz: csr, csc or coo), in the order of the file. For a symmetric or
 * skew-symmetric file the result includes the entries of the other half. Integers and patterns become int32,
 * real numbers float64. Entries with equal positions aren't joined: see {@link combineDuplicates}.
 *
 * @throws FileError (ERR_MPMML_FILE) for a file that can't be read or is invalid; ERR_MPMML_OPTION;
 * LimitError; ERR_MPMML_OUT_OF_MEMORY; AbortedError.
 * @example
 * const entries = { shape: [1000, 1000], row: Int32Array.of(0, 999), col: Int32Array.of(7, 3), value: Int32Array.of(5, -2) }
 * await writeEntries('sparse.mtx', entries)
 * const { shape, row, col, value } = await readEntries('sparse.mtx')
 * console.log(shape.join(' × '), row.join(), col.join(), value.join()) // 1000 × 1000 0,999 7,3 5,-2
 */
export async function readEntries(path: string | URL, options?: ReadEntriesOptions): Promise<SparseEntries> {
  const { format, maxBytes, ...rest } = readOptions.read(options)
  const name = pathOf(path)
  const list = new EntryList(name, false, maxBytes)
  const { rows, cols, row, col, value } = await read(name, formatOf(name, format, readable), list, {
    maxBytes,
    ...rest,
  })
  return { shape: [rows, cols], row, col, value }
}

async function read(
  name: string,
  format: SparseFormat | 'npz',
  list: EntryList,
  options: ReadFileOptions & { maxBytes: number },
): Promise<EntryArrays> {
  if (format !== 'npz') {
    const parser = format === 'dimacs' ? dimacsParser(list) : matrixMarketParser(list)
    return readLines(name, 'a sparse matrix', parser, options)
  }
  const { readSparseNpz } = await import('./npz.js')
  const found = await readSparseNpz(name, list, options)
  if (found) return found
  throw new FileError(
    `${name}: expected a sparse matrix of scipy.sparse.save_npz, but it has other arrays: use readNpz`,
  )
}

/**
 * Returns whether a file contains the entries of a sparse matrix, which {@link readEntries} reads. The result
 * depends on the file's extension, and on the first line or the names of the arrays.
 *
 * @throws Rejects with FileError (ERR_MPMML_FILE) if the file can't be read; ERR_MPMML_OPTION; AbortedError.
 * @example
 * await writeMatrix('dense.mtx', matrix(2, 2, [1, 2, 3, 4]))
 * console.log(await isSparseFile('dense.mtx')) // false
 */
export async function isSparseFile(path: string | URL, options?: FileOptions): Promise<boolean> {
  const requested = fileOptions.read(options)
  const name = pathOf(path)
  throwIfAborted(requested.signal, 'reading a file')
  const format = formatInName(name, readable)
  if (format === 'npz') {
    const [{ npzNames }, { isSparseArchive }] = await Promise.all([import('./npz.js'), import('./scipy.js')])
    return isSparseArchive(await npzNames(name, options))
  }
  if (format !== 'matrix-market') return format === 'dimacs'
  const look = function* (reader: TextReader): Steps<boolean> {
    yield
    return /^%%MatrixMarket\s+matrix\s+coordinate\s/i.test(reader.restOfLine())
  }
  const isCoordinate = await findInLines(name, 'a matrix', look, requested)
  return isCoordinate === true
}

/**
 * Writes the entries of a sparse matrix to a Matrix Market coordinate file (.mtx) or a DIMACS file (.gr). The file appears under
 * its name only when it is complete.
 *
 * @throws FileError (ERR_MPMML_FILE) with the system's reason; ERR_MPMML_EXISTS; ERR_MPMML_SHAPE,
 * ERR_MPMML_DTYPE and ERR_MPMML_VALUE for a value that isn't a list of entries; ERR_MPMML_OPTION;
 * AbortedError.
 * @example
 * const entries = { shape: [1000, 1000], row: Int32Array.of(0, 999), col: Int32Array.of(7, 3), value: Int32Array.of(5, -2) }
 * await writeEntries('sparse.mtx', entries)
 * console.log((await readFile('sparse.mtx', 'utf8')).split('\n')[0]) // %%MatrixMarket matrix coordinate integer general
 */
export async function writeEntries(
  path: string | URL,
  entries: SparseEntries,
  options?: WriteEntriesOptions,
): Promise<void> {
  const { format: requested, ...rest } = writeOptions.read(options)
  const name = pathOf(path)
  const format = formatOf(name, requested, formats)
  assertEntryArrays(entries)
  const { shape, row, col, value } = entries
  const loan = new BorrowedArrays()
  const borrowed = {
    shape: [shape[0], shape[1]] as const,
    row: loan.array(row, 'row'),
    col: loan.array(col, 'col'),
    value: loan.array(value, 'value'),
  }
  await FileWork.run(`writing ${name}`, rest, async (work) => {
    await work.inSlices(throughout(loan, checkingPlaces(borrowed)))
    await writeLines(name, throughout(loan, entryLines(borrowed, format, name, work)), work)
  })
}

/** @throws ERR_MPMML_SHAPE, ERR_MPMML_DTYPE, ERR_MPMML_VALUE. */
export function assertEntries(entries: SparseEntries): void {
  assertEntryArrays(entries)
  atOnce(checkingPlaces(entries))
}

/** @throws ERR_MPMML_SHAPE, ERR_MPMML_DTYPE. */
function assertEntryArrays(entries: SparseEntries): void {
  if (typeof entries !== 'object' || entries === null) {
    throw new DTypeError(
      `entries must be a sparse matrix { shape, row, col, value }, but it is ${typeName(entries)}: readEntries gives one`,
    )
  }
  const { shape, row, col, value } = entries
  if (!(isInt32Array(row) && isInt32Array(col))) {
    throw new DTypeError(
      `row and col must be Int32Arrays, but they are ${typeName(row)} and ${typeName(col)}`,
    )
  }
  if (!(isInt32Array(value) || isFloat64Array(value))) {
    throw new DTypeError(`value must be an Int32Array or a Float64Array, but it is ${typeName(value)}`)
  }
  assertOrdinaryArray(row, 'row')
  assertOrdinaryArray(col, 'col')
  assertOrdinaryArray(value, 'value')
  if (!Array.isArray(shape) || shape.length !== 2) {
    throw new ShapeError(`shape must be [rows, cols], but it is ${show(shape)}`)
  }
  for (const size of shape) dimension(size, 'shape', shape)
  if (row.length !== col.length || row.length !== value.length) {
    throw new ShapeError(
      `row, col and value must have one entry each, but they have ${row.length}, ${col.length} and ${value.length}`,
    )
  }
}

/** @throws ERR_MPMML_VALUE for an entry outside of the matrix. */
function* checkingPlaces({ shape: [rows, cols], row, col }: SparseEntries): Steps<void> {
  for (let e = 0; e < row.length; e++) {
    if (e % PER_SLICE === 0) yield
    if (row[e]! >= 0 && row[e]! < rows && col[e]! >= 0 && col[e]! < cols) continue
    throw new ValueError(
      `entry ${e} stands at [${row[e]}, ${col[e]}], outside of the matrix of ${rows} × ${cols}: rows and columns count from 0`,
    )
  }
}

function* entryLines(
  { shape, row, col, value }: SparseEntries,
  format: SparseFormat,
  name: string,
  work: FileWork,
): Generator<string, void> {
  const field = isInt32Array(value) ? 'integer' : 'real'
  const { head, line } = entryFormat(format, name, field, shape, row.length)
  yield head
  for (let e = 0; e < row.length; e++) {
    if (e % PER_SLICE === 0) work.reached(e / row.length)
    yield line(row[e]!, col[e]!, value[e]!)
  }
}
