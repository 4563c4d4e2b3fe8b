/**
 * Reads sparse matrices of scipy.sparse.save_npz: .npz archives with the arrays format, shape and data, and
 * arrays with the positions of the values. Source: scipy.sparse, "save_npz" and "load_npz".
 */

import { show } from '../describe.js'
import { FileError } from '../errors.js'
import { PER_STEP, type Steps } from '../graph-core/slices.js'
import { MAX_DIMENSION } from '../matrix.js'
import { fromLatin1, swapBytes } from '../platform.js'
import { type Accepted, EntryCollector, type EntrySink } from './entries.js'
import { type NpyHeader, NpyProblem, namedProblem } from './npy-header.js'
import { fileType } from './npy-types.js'
import type { FileWork } from './progress.js'

/** Returns whether arrays of these names represent a sparse matrix. */
export const isSparseArchive = (names: readonly string[]): boolean =>
  ['format', 'shape', 'data'].every((name) => names.includes(name))

/** Names of the arrays with the positions of values, by format. */
const places: Record<string, readonly string[]> = {
  csr: ['indptr', 'indices'],
  csc: ['indptr', 'indices'],
  coo: ['row', 'col'],
}

/** One array of an archive. */
interface Part extends Omit<NpyHeader, 'fortranOrder'> {
  readonly name: string
  readonly bytes: Uint8Array
}

type Integers = ArrayLike<number | bigint>

/** An archive that holds a sparse matrix. */
interface Archive {
  /** Name of the archive in messages. */
  readonly name: string
  /** The names of its arrays. */
  readonly names: readonly string[]
  /** Reads the .npy file of an array. */
  read(array: string): Promise<Omit<Part, 'name'>>
  readonly work: FileWork
}

/** Passes the entries of a sparse matrix to a sink. */
export async function readSparseArchive<Result>(
  { name, names, read, work }: Archive,
  sink: EntrySink<Result>,
): Promise<Result> {
  const part = async (array: string): Promise<Part> => {
    if (!names.includes(array))
      throw new FileError(`${name}: expected an array ${show(array)}: it is not complete`)
    return { name: `${name}, array ${show(array)}`, ...(await read(array)) }
  }
  const format = textOf(await part('format'))
  const needed = Object.hasOwn(places, format) ? places[format]! : undefined
  if (!needed) {
    throw new FileError(
      `${name}: expected a sparse matrix of SciPy's in the format csr, csc or coo, but it is ${show(format)}: ` +
        'save it as scipy.sparse.save_npz(file, a.tocsr())',
    )
  }
  const shape = integersOf(await part('shape'))
  if (shape.length !== 2) {
    throw new FileError(`${name}: expected a matrix (2-D), but it is ${shape.length}-D`)
  }
  const [rows, cols] = Array.from(shape, (size) =>
    inRange(size, 0, MAX_DIMENSION, () => `${name}: a dimension`),
  )
  const { values, integral } = valuesOf(await part('data'))
  const accepted = await work.inSlices(
    sink.begin(
      { rows, cols, most: values.length, values: integral ? 'integer' : 'real' },
      {
        fail: (problem) => {
          throw new FileError(`${name}: ${problem}`)
        },
      },
    ),
  )
  const [first, second] = [integersOf(await part(needed[0]!)), integersOf(await part(needed[1]!))]
  assertLength(second, values.length, `${name}, array ${show(needed[1])}`)
  const sizes = [rows!, cols!] as const
  const entries = { name, values, integral, accepted, sizes, first, second }
  await work.inSlices(
    format === 'coo' ? pairs(entries, sink) : lines(entries, sink, format === 'csr' ? 0 : 1),
  )
  return work.inSlices(sink.end(rows!, cols!, integral))
}

/** The arrays of a sparse matrix. */
interface Entries {
  readonly name: string
  readonly values: Integers
  readonly integral: boolean
  readonly accepted: Accepted
  readonly sizes: readonly [rows: number, cols: number]
  readonly first: Integers
  readonly second: Integers
}

/** Reads rows, columns and values one by one. */
class EntryReader {
  readonly #entries: Entries
  readonly #collector: EntryCollector

  constructor(entries: Entries, sink: EntrySink<unknown>) {
    this.#entries = entries
    this.#collector = new EntryCollector((block) => sink.take(block))
  }

  /** Passes entry `e` to the sink. */
  add(row: number, col: number, e: number): void {
    const { name, values, integral, accepted } = this.#entries
    const value = values[e]!
    const checked = integral
      ? inRange(value, accepted.least, accepted.most, () => `${name}: the value of entry ${e}`)
      : (value as number)
    this.#collector.add(row, col, checked)
  }

  /** Returns the validated index of entry `e` along an axis. */
  index(value: number | bigint, axis: 0 | 1, e: number): number {
    const { name, sizes } = this.#entries
    return inRange(value, 0, sizes[axis] - 1, () => `${name}: the place of entry ${e}`)
  }

  end(): void {
    this.#collector.flush()
  }
}

/** Passes entries in coordinate format to a sink. */
function* pairs(entries: Entries, sink: EntrySink<unknown>): Steps<void> {
  const { name, values, first, second } = entries
  assertLength(first, values.length, `${name}, array "row"`)
  const reader = new EntryReader(entries, sink)
  for (let e = 0; e < values.length; e++) {
    if (e % PER_STEP === 0) yield
    reader.add(reader.index(first[e]!, 0, e), reader.index(second[e]!, 1, e), e)
  }
  reader.end()
}

/** Passes entries in compressed rows (axis 0) or columns (axis 1) to a sink. */
function* lines(entries: Entries, sink: EntrySink<unknown>, axis: 0 | 1): Steps<void> {
  const { name, values, sizes, first, second } = entries
  assertLength(first, sizes[axis] + 1, `${name}, array "indptr"`)
  const reader = new EntryReader(entries, sink)
  let e = 0
  for (let line = 0; line < sizes[axis]; line++) {
    if (line % PER_STEP === 0) yield
    const end = inRange(first[line + 1]!, e, values.length, () => `${name}: the end of line ${line}`)
    for (; e < end; e++) {
      if (e % PER_STEP === 0) yield
      if (axis === 0) reader.add(line, reader.index(second[e]!, 1, e), e)
      else reader.add(reader.index(second[e]!, 0, e), line, e)
    }
  }
  if (Number(first[0]) !== 0 || e !== values.length) {
    throw new FileError(`${name}: its lines have ${e} entries, but it has ${values.length}: it is damaged`)
  }
  reader.end()
}

/** Returns the text of an array without dimensions, in bytes or in UTF-32. */
const textOf = ({ bytes }: Part): string => fromLatin1(bytes, 0, bytes.length).replaceAll('\0', '')

function numbersOf({ name, descr, shape, bytes }: Part): { values: Integers; kind: string } {
  try {
    const type = fileType(descr)
    if (shape.length !== 1 || shape[0]! * BigInt(type.size) !== BigInt(bytes.length)) {
      throw new NpyProblem(
        `its header claims (${shape.join(', ')}) ${type.name}, but ${bytes.length} bytes follow it: it is damaged`,
      )
    }
    if (type.swapped) swapBytes(bytes, type.size)
    return { values: type.elements(bytes), kind: type.name }
  } catch (error) {
    throw namedProblem(name, error)
  }
}

const isFloat = (kind: string) => kind.startsWith('float')

function integersOf(part: Part): Integers {
  const { values, kind } = numbersOf(part)
  if (isFloat(kind)) throw new FileError(`${part.name}: expected integers, but it has ${kind}`)
  return values
}

function valuesOf(part: Part): { values: Integers; integral: boolean } {
  const { values, kind } = numbersOf(part)
  return { values, integral: !isFloat(kind) }
}

/** @param what - gives the name of the value in a message. */
function inRange(value: number | bigint, least: number, most: number, what: () => string): number {
  if (value >= least && value <= most) return Number(value)
  throw new FileError(`${what()} must be from ${least} to ${most}, but it is ${value}`)
}

function assertLength(values: Integers, length: number, what: string): void {
  if (values.length === length) return
  throw new FileError(`${what}: expected ${length} elements, but it has ${values.length}: it is damaged`)
}
