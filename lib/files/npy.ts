/** NumPy's .npy files: read into matrices exactly or refused with the reason, and written as NumPy writes them. */
import type { FileHandle } from 'node:fs/promises'
import { endianness } from 'node:os'
import { show } from '../describe.js'
import { bytesOf, newArray, typeNameOf } from '../elements.js'
import { FileError, MpmmlError, OptionError } from '../errors.js'
import { shapeOf } from '../layout.js'
import { allocate, MAX_DIMENSION, type Matrix, type MatrixLike, type Shape } from '../matrix.js'
import { addon } from '../native.js'
import type { ElementArray } from '../storage.js'
import { type HostView, readHostView, requireStillThere, requireThere } from '../view.js'
import {
  openForReading,
  pathOf,
  readFully,
  systemReason,
  throwIfAborted,
  writeComplete,
  writeFully,
} from './files.js'
import {
  formatHeader,
  type NpyHeader,
  NpyProblem,
  parseHeader,
  parsePreamble,
  preambleLength,
} from './npy-header.js'
import { type FileType, fileType, swapBytes } from './npy-types.js'

/** Bytes of one read or write: enough for the full speed of a disk, few enough to stop soon after a signal. */
const chunkBytes = 1 << 23

export interface FileOptions {
  /** Gives up reading or writing; the error's `cause` is the signal's reason. */
  signal?: AbortSignal | undefined
}

export interface ReadNpyOptions extends FileOptions {
  /** 'uint8' reads booleans and integers of any size into a Uint8Array, for 'or-and'. */
  dtype?: 'uint8' | undefined
}

/**
 * Reads a matrix (2-D), or a batch of matrices (3-D), from a NumPy .npy file of format 1.0, 2.0 or 3.0.
 *
 * int32, float32 and float64 in C order are read straight into the result, whose data is an Int32Array, a Float32Array or a
 * Float64Array. Fortran order is kept and described by strides. The other integer types of 8 to 64 bits are converted
 * to int32 exactly, and so are big-endian files: a value outside int32's range is an error that names it and its index.
 * Note that −2^31 is {@link EPSILON} whichever integer type it comes from. Booleans become a Uint8Array of 0 and 1; any byte
 * but 0 is true, as it is in NumPy.
 *
 * With the option `dtype: 'uint8'` uint8 is read as it is into a Uint8Array, booleans become 0 and 1, and the other integer
 * types are converted exactly: a value outside 0 … 255 is an error that names it and its index.
 *
 * @param path - a regular file.
 * @returns a matrix with data of its own.
 * @throws FileError for a file that can't be read, is damaged, or holds something else than these types in 2 or
 *   3 dimensions; OptionError for another dtype; OutOfMemoryError; AbortedError.
 */
export async function readNpy(
  path: string | URL,
  options: ReadNpyOptions & { dtype: 'uint8' },
): Promise<Matrix<Uint8Array>>
export async function readNpy(path: string | URL, options?: ReadNpyOptions): Promise<Matrix<ElementArray>>
export async function readNpy(
  path: string | URL,
  options: ReadNpyOptions = {},
): Promise<Matrix<ElementArray>> {
  const { dtype, signal } = options
  if (dtype !== undefined && dtype !== 'uint8') {
    throw new OptionError(`option dtype must be 'uint8' or left out, but it is ${show(dtype)}`)
  }
  const name = pathOf(path)
  const { file, size } = await openForReading(name, 'a NumPy .npy file')
  try {
    return await readMatrix(file, size, name, dtype, signal)
  } catch (error) {
    if (error instanceof NpyProblem) throw new FileError(`${name}: ${error.message}`, { cause: error })
    if (error instanceof MpmmlError) throw error
    throw new FileError(`${name} can't be read: ${systemReason(error)}`, { cause: error })
  } finally {
    await file.close()
  }
}

async function readMatrix(
  file: FileHandle,
  size: number,
  name: string,
  asked: 'uint8' | undefined,
  signal: AbortSignal | undefined,
): Promise<Matrix<ElementArray>> {
  const { header, dataOffset } = await readHeader(file, size)
  const type = fileType(header.descr, asked)
  const shape = checkedShape(header.shape)
  const count = checkedCount(shape, type, BigInt(size - dataOffset))
  const data = allocate(count, name, addon.dataTypes.indexOf(type.dtype))
  const bad = type.convert
    ? await readConverted(file, dataOffset, type, data, signal)
    : await readStraight(file, dataOffset, type, data, signal)
  if (bad) {
    throw new NpyProblem(
      `its ${type.name} value ${bad.value} at index [${indices(bad.index, shape, header.fortranOrder).join(', ')}] ` +
        `is outside the range of ${type.dtype === 'uint8' ? 'uint8, 0 … 255' : 'int32, −2147483648 … 2147483647'}; ` +
        'scale or clip the values first',
    )
  }
  return header.fortranOrder ? { data, shape, strides: fortranStrides(shape) } : { data, shape }
}

async function readHeader(
  file: FileHandle,
  size: number,
): Promise<{ header: NpyHeader; dataOffset: number }> {
  if (size === 0)
    throw new NpyProblem('expected a NumPy .npy file, but it is empty; write one with numpy.save')
  const preamble = Buffer.alloc(Math.min(size, preambleLength))
  const { start, length } = parsePreamble(preamble.subarray(0, await readFully(file, preamble, 0)))
  const text = Buffer.alloc(Math.max(0, Math.min(length, size - start)))
  if ((await readFully(file, text, start)) < length) {
    throw new NpyProblem(
      `the file ends within its header: it has ${size} bytes, its header needs ${start + length}; it is truncated`,
    )
  }
  return { header: parseHeader(text.toString('latin1')), dataOffset: start + length }
}

function checkedShape(claimed: bigint[]): Shape {
  const text = `(${claimed.join(', ')}${claimed.length === 1 ? ',' : ''})`
  const advice: Record<number, string> = {
    0: 'make it a matrix with a.reshape(1, 1)',
    1: 'make it a row with a.reshape(1, -1) or a column with a.reshape(-1, 1)',
  }
  if (claimed.length < 2 || claimed.length > 3) {
    throw new NpyProblem(
      `expected a matrix (2-D) or a batch of them (3-D), but its shape is ${text}, ${claimed.length}-D; ` +
        (advice[claimed.length] ?? 'make it a batch with a.reshape(-1, *a.shape[-2:])'),
    )
  }
  if (claimed.some((dimension) => dimension < 0n || dimension > MAX_DIMENSION)) {
    throw new NpyProblem(
      `expected dimensions of 0 … ${MAX_DIMENSION}, but its header claims ${text}; it is damaged`,
    )
  }
  return claimed.map(Number) as Shape
}

/** The number of elements, once the header's claim agrees with the bytes that are there. */
function checkedCount(shape: number[], type: FileType, present: bigint): number {
  const count = shape.map(BigInt).reduce((product, dimension) => product * dimension)
  const claimed = count * BigInt(type.size)
  if (claimed !== present) {
    throw new NpyProblem(
      `its header claims (${shape.join(', ')}) ${type.name}, ${claimed} bytes of data, but ${present} follow it; ` +
        (present < claimed ? 'it is truncated' : 'it has trailing bytes'),
    )
  }
  return Number(count)
}

/** What a conversion stopped at. */
interface Offender {
  index: number
  value: number | bigint
}

async function readChunk(file: FileHandle, bytes: Buffer, position: number, type: FileType): Promise<void> {
  if ((await readFully(file, bytes, position)) < bytes.length) {
    throw new NpyProblem('the file became shorter while it was read')
  }
  if (type.swapped) swapBytes(bytes, type.size)
}

async function readStraight(
  file: FileHandle,
  dataOffset: number,
  type: FileType,
  data: ElementArray,
  signal: AbortSignal | undefined,
): Promise<undefined> {
  for (let done = 0; done < data.byteLength; done += chunkBytes) {
    throwIfAborted(signal, 'reading a file')
    const length = Math.min(chunkBytes, data.byteLength - done)
    await readChunk(file, Buffer.from(data.buffer, done, length), dataOffset + done, type)
  }
}

async function readConverted(
  file: FileHandle,
  dataOffset: number,
  type: FileType,
  data: ElementArray,
  signal: AbortSignal | undefined,
): Promise<Offender | undefined> {
  // A buffer of its own, not one of Node's pool: its start is aligned for every element type.
  const buffer = Buffer.from(new ArrayBuffer(Math.min(chunkBytes, data.length * type.size)))
  const step = buffer.length / type.size
  for (let done = 0; done < data.length; done += step) {
    throwIfAborted(signal, 'reading a file')
    const count = Math.min(step, data.length - done)
    const bytes = buffer.subarray(0, count * type.size)
    await readChunk(file, bytes, dataOffset + done * type.size, type)
    const bad = type.convert!(bytes, count, data, done)
    if (bad >= 0) return { index: done + bad, value: type.value(bytes, bad) }
  }
  return undefined
}

/** Where the element stands that is number `linear` in the file. */
function indices(linear: number, shape: readonly number[], fortranOrder: boolean): number[] {
  const result = shape.map(() => 0)
  const order = shape.map((_, axis) => axis)
  if (!fortranOrder) order.reverse()
  let rest = linear
  for (const axis of order) {
    result[axis] = rest % shape[axis]!
    rest = Math.floor(rest / shape[axis]!)
  }
  return result
}

function fortranStrides(shape: Shape): Shape {
  return shape.length === 2 ? [1, shape[0]] : [1, shape[0], shape[0] * shape[1]]
}

/**
 * Writes a matrix or a batch of matrices as a NumPy .npy file: format 1.0, of its own element type, little-endian, C
 * order, whatever the matrix' strides are. The file appears under its name only when it is complete; a regular file that stands
 * there before is replaced, anything else refused.
 *
 * @param matrix - is read while the file is written: leave it alone until the promise settles.
 * @throws FileError with the system's reason; ShapeError and DTypeError for what isn't a matrix; AbortedError.
 */
export async function writeNpy(
  path: string | URL,
  matrix: MatrixLike<ElementArray>,
  options: FileOptions = {},
): Promise<void> {
  const name = pathOf(path)
  const view = readHostView(matrix, 'matrix', 'result')
  requireThere(view, 'matrix')
  const { signal } = options
  const shape = shapeOf(view)
  await writeComplete(
    name,
    async (file) => {
      await writeFully(file, formatHeader(shape, typeNameOf(view.type)))
      const count = view.batch * view.rows * view.cols
      const size = bytesOf(view.type)
      const chunk = newArray(view.type, Math.min(count, chunkBytes / size))
      const bytes = Buffer.from(chunk.buffer)
      for (let done = 0; done < count; done += chunk.length) {
        throwIfAborted(signal, `writing ${name}`)
        requireStillThere(view, 'matrix')
        const length = Math.min(chunk.length, count - done)
        gather(view, done, chunk.subarray(0, length))
        if (endianness() === 'BE') swapBytes(bytes, size)
        await writeFully(file, bytes.subarray(0, size * length))
      }
    },
    signal,
  )
}

/** Fills `out` with the view's elements in row-major order, from number `first` on. */
function gather(view: HostView, first: number, out: ElementArray): void {
  const { data, rows, cols, colStride } = view
  let row = Math.floor(first / cols)
  let col = first % cols
  for (let filled = 0; filled < out.length; row++, col = 0) {
    const start =
      view.offset +
      Math.floor(row / rows) * view.batchStride +
      (row % rows) * view.rowStride +
      col * colStride
    const count = Math.min(cols - col, out.length - filled)
    if (colStride === 1) out.set(data.subarray(start, start + count), filled)
    else for (let index = 0; index < count; index++) out[filled + index] = data[start + index * colStride]!
    filled += count
  }
}
