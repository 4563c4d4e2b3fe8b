/**
 * Reads sparse matrices of scipy.sparse.save_npz: .npz archives with the arrays format, shape and data, and
 * arrays with the positions of the values. Source: scipy.sparse, "save_npz" and "load_npz".
 */

import { show } from '../describe.js'
import { FileError } from '../errors.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import { MAX_DIMENSION } from '../matrix.js'
import { fromLatin1, swapBytes } from '../platform.js'
import type { EntrySink } from './entries.js'
import { type NpyHeader, NpyProblem, namedProblem } from './npy-header.js'
import { fileType } from './npy-types.js'
import type { FileWork } from './progress.js'

/** Returns whether arrays of these names represent a sparse matrix. */
export const isSparseArchive = (names: readonly string[]): boolean =>
  ['format', 'shape', 'data'].every((name) => names.includes(name))

/** Names of the arrays with the positions of values, by format. */
const positions: Record<string, readonly string[]> = {
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
  const needed = Object.hasOwn(positions, format) ? positions[format]! : undefined
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
  const { values, kind } = numbersOf(await part('data'))
  const integral = !isFloat(kind)
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
  const index = (value: number | bigint, size: number, e: number) =>
    inRange(value, 0, size - 1, () => `${name}: the place of entry ${e}`)
  const add = (row: number, col: number, e: number) => {
    const value = values[e]!
    const what = () => `${name}: the value of entry ${e}`
    sink.add(row, col, integral ? inRange(value, accepted.least, accepted.most, what) : Number(value))
  }
  /** Passes entries in coordinate format to the sink. */
  function* pairs(): Steps<void> {
    assertLength(first, values.length, `${name}, array "row"`)
    for (let e = 0; e < values.length; e++) {
      if (e % PER_SLICE === 0) yield
      add(index(first[e]!, rows!, e), index(second[e]!, cols!, e), e)
    }
  }
  /** Passes entries in compressed rows or columns to the sink. */
  function* lines(): Steps<void> {
    const [count, size] = format === 'csr' ? [rows!, cols!] : [cols!, rows!]
    assertLength(first, count + 1, `${name}, array "indptr"`)
    let e = 0
    for (let line = 0; line < count; line++) {
      if (line % PER_SLICE === 0) yield
      const end = inRange(first[line + 1]!, e, values.length, () => `${name}: the end of line ${line}`)
      for (; e < end; e++) {
        if (e % PER_SLICE === 0) yield
        const other = index(second[e]!, size, e)
        if (format === 'csr') add(line, other, e)
        else add(other, line, e)
      }
    }
    if (Number(first[0]) !== 0 || e !== values.length) {
      throw new FileError(`${name}: its lines have ${e} entries, but it has ${values.length}: it is damaged`)
    }
  }
  await work.inSlices(format === 'coo' ? pairs() : lines())
  return work.inSlices(sink.end(rows!, cols!, integral))
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

/** @param what - gives the name of the value in a message. */
function inRange(value: number | bigint, least: number, most: number, what: () => string): number {
  if (value >= least && value <= most) return Number(value)
  throw new FileError(`${what()} must be from ${least} to ${most}, but it is ${value}`)
}

function assertLength(values: Integers, length: number, what: string): void {
  if (values.length === length) return
  throw new FileError(`${what}: expected ${length} elements, but it has ${values.length}: it is damaged`)
}
