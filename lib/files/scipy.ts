/**
 * The sparse matrices of scipy.sparse.save_npz: .npz archives with the arrays format, shape and data, and others that say where
 * each value stands. Source: scipy.sparse, "save_npz" and "load_npz".
 */

import { show } from '../describe.js'
import { FileError } from '../errors.js'
import { atOnce } from '../graph-core/slices.js'
import { swapBytes } from '../host.js'
import { MAX_DIMENSION } from '../matrix.js'
import { type Accepted, EntryCollector, type EntrySink } from './entries.js'
import { NpyProblem, parseHeader, parsePreamble, truncatedHeader } from './npy-header.js'
import { fileType } from './npy-types.js'

/** Whether arrays of these names are a sparse matrix. */
export const isSparseArchive = (names: readonly string[]): boolean =>
  ['format', 'shape', 'data'].every((name) => names.includes(name))

/** The arrays that say where the values of a format stand. */
const places: Record<string, readonly string[]> = {
  csr: ['indptr', 'indices'],
  csc: ['indptr', 'indices'],
  coo: ['row', 'col'],
}

/** One array of an archive. */
interface Part {
  readonly name: string
  readonly descr: string | undefined
  readonly shape: readonly bigint[]
  readonly bytes: Buffer
}

type Integers = ArrayLike<number | bigint>

/**
 * Hands the entries of a sparse matrix to a sink.
 *
 * @param name - what errors call the file.
 * @param read - gives the bytes of an array's .npy file.
 */
export async function readSparseArchive<Result>(
  name: string,
  names: readonly string[],
  sink: EntrySink<Result>,
  read: (array: string) => Promise<Buffer>,
): Promise<Result> {
  const part = async (array: string): Promise<Part> => {
    if (!names.includes(array))
      throw new FileError(`${name}: expected an array ${show(array)}: it is not complete`)
    return parsed(`${name}, array ${show(array)}`, await read(array))
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
  const [rows, cols] = Array.from(shape, (size) => inRange(size, 0, MAX_DIMENSION, `${name}: a dimension`))
  const { values, integral } = valuesOf(await part('data'))
  const accepted = atOnce(
    sink.begin(
      { rows, cols, most: values.length, values: integral ? 'integer' : 'real' },
      {
        fail: (problem) => {
          throw new FileError(`${name}: ${problem}`)
        },
      },
    ),
  )
  const entries = new EntryCollector((block) => sink.take(block))
  const add = (row: number, col: number, e: number) =>
    entries.add(row, col, entryValue(values[e]!, integral, accepted, `${name}: the value of entry ${e}`))
  const [first, second] = [integersOf(await part(needed[0]!)), integersOf(await part(needed[1]!))]
  const index = (value: number | bigint, size: number, e: number) =>
    inRange(value, 0, size - 1, `${name}: the place of entry ${e}`)
  requireLength(second, values.length, `${name}, array ${show(needed[1])}`)
  if (format === 'coo') {
    requireLength(first, values.length, `${name}, array "row"`)
    for (let e = 0; e < values.length; e++) add(index(first[e]!, rows!, e), index(second[e]!, cols!, e), e)
  } else {
    const lines = format === 'csr' ? rows! : cols!
    requireLength(first, lines + 1, `${name}, array "indptr"`)
    let e = 0
    for (let line = 0; line < lines; line++) {
      const end = inRange(first[line + 1]!, e, values.length, `${name}: the end of line ${line}`)
      for (; e < end; e++) {
        if (format === 'csr') add(line, index(second[e]!, cols!, e), e)
        else add(index(second[e]!, rows!, e), line, e)
      }
    }
    if (Number(first[0]) !== 0 || e !== values.length) {
      throw new FileError(`${name}: its lines have ${e} entries, but it has ${values.length}: it is damaged`)
    }
  }
  entries.flush()
  return atOnce(sink.end(rows!, cols!, integral))
}

function parsed(name: string, file: Buffer): Part {
  try {
    const { start, length } = parsePreamble(file)
    if (file.length < start + length) throw truncatedHeader(file.length, start + length)
    const { descr, shape } = parseHeader(file.toString('latin1', start, start + length))
    // A copy, which is aligned for every type.
    const bytes = Buffer.from(new ArrayBuffer(file.length - start - length))
    file.copy(bytes, 0, start + length)
    return { name, descr, shape, bytes }
  } catch (error) {
    if (error instanceof NpyProblem) throw new FileError(`${name}: ${error.message}`, { cause: error })
    throw error
  }
}

/** The text that an array without dimensions holds, in bytes or in UTF-32. */
const textOf = ({ bytes }: Part): string => bytes.toString('latin1').replaceAll('\0', '')

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
    if (error instanceof NpyProblem) throw new FileError(`${name}: ${error.message}`, { cause: error })
    throw error
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

function entryValue(
  value: number | bigint,
  integral: boolean,
  { least, most }: Accepted,
  what: string,
): number {
  return integral ? inRange(value, least, most, what) : (value as number)
}

function inRange(value: number | bigint, least: number, most: number, what: string): number {
  if (value >= least && value <= most) return Number(value)
  throw new FileError(`${what} must be from ${least} to ${most}, but it is ${value}`)
}

function requireLength(values: Integers, length: number, what: string): void {
  if (values.length === length) return
  throw new FileError(`${what}: expected ${length} elements, but it has ${values.length}: it is damaged`)
}
