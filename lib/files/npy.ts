/** NumPy's .npy files: read into matrices exactly or refused with the reason, and written as NumPy writes them. */

import type { FileHandle } from 'node:fs/promises'
import { bytesOf, newArray, typeNameOf } from '../elements.js'
import { FileError, MpmmlError } from '../errors.js'
import { swapBytes } from '../host.js'
import { shapeOf } from '../layout.js'
import type { Matrix, MatrixLike } from '../matrix.js'
import { Options, type OptionsOf } from '../options.js'
import { longWorkSet } from '../product/options.js'
import { bufferOf, type ElementArray, firstByteOf } from '../storage.js'
import { type HostView, readHostView, requireStillThere, requireThere } from '../view.js'
import { openForReading, pathOf, readFully, systemReason, writeComplete, writeFully } from './files.js'
import { type MemoryOptions, maxBytes, newMatrixData } from './memory.js'
import {
  asMatrix,
  bytesType,
  checkedContent,
  gather,
  isRowMajor,
  type Offender,
  outOfRange,
} from './npy-content.js'
import { formatHeader, NpyProblem } from './npy-header.js'
import { readHeader } from './npy-start.js'
import { type FileType, littleEndian } from './npy-types.js'
import { type FileOptions, FileWork, fileOptions } from './progress.js'

/** Bytes of one read or write: enough for the full speed of a disk, few enough to stop soon after a signal. */
const chunkBytes = 1 << 22

/** Elements that JavaScript converts or gathers between two turns of the event loop: at most some milliseconds. */
const PER_TURN = 1 << 18

/** Reads at once: one thread doesn't copy as much as the memory takes. */
const READERS = 4

/** The options of {@link readNpy}. `undefined` means the default. */
export interface ReadNpyOptions extends FileOptions, MemoryOptions {
  /** 'uint8' reads booleans and integers of any size into a Uint8Array, for 'or-and'. */
  dtype?: 'uint8' | undefined
}

export const readNpySet = { dtype: bytesType, maxBytes, ...longWorkSet } satisfies OptionsOf<ReadNpyOptions>
const readOptions = new Options(readNpySet)

/**
 * Reads a matrix (2-D), a row (1-D), or a batch of matrices (3-D), from a NumPy .npy file of format 1.0, 2.0 or 3.0.
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
 * @throws FileError for a file that can't be read, is damaged, or holds something else than these types in 1 to
 *   3 dimensions; OptionError for another dtype; LimitError; OutOfMemoryError; AbortedError.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * const { shape, data } = await readNpy('a.npy')
 * console.log(shape.join(' × '), data.join()) // 2 × 2 1,2,3,4
 */
export async function readNpy(
  path: string | URL,
  options: ReadNpyOptions & { dtype: 'uint8' },
): Promise<Matrix<Uint8Array>>
export async function readNpy(path: string | URL, options?: ReadNpyOptions): Promise<Matrix<ElementArray>>
export async function readNpy(path: string | URL, options?: ReadNpyOptions): Promise<Matrix<ElementArray>> {
  const { dtype, maxBytes, ...rest } = readOptions.read(options)
  const name = pathOf(path)
  return FileWork.run('reading a file', rest, async (work) => {
    const { file, size } = await openForReading(name, 'a NumPy .npy file')
    try {
      return await readMatrix(file, size, name, dtype, maxBytes, work)
    } catch (error) {
      if (error instanceof NpyProblem) throw new FileError(`${name}: ${error.message}`, { cause: error })
      if (error instanceof MpmmlError) throw error
      throw new FileError(`${name} can't be read: ${systemReason(error)}`, { cause: error })
    } finally {
      await file.close()
    }
  })
}

async function readMatrix(
  file: FileHandle,
  size: number,
  name: string,
  asked: 'uint8' | undefined,
  maxBytes: number,
  work: FileWork,
): Promise<Matrix<ElementArray>> {
  const { header, dataOffset } = await readHeader(file, size)
  const { type, shape, count } = checkedContent(header, size - dataOffset, asked)
  const data = newMatrixData(count, name, type.dtype, maxBytes)
  const bad = type.convert
    ? await readConverted(file, dataOffset, type, data, work)
    : await readStraight(file, dataOffset, type, data, work)
  work.end()
  if (bad) throw outOfRange(bad, type, shape, header)
  return asMatrix(data, shape, header)
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
  work: FileWork,
): Promise<undefined> {
  let next = 0
  let read = 0
  const reader = async () => {
    while (next < data.byteLength) {
      const at = next
      const length = Math.min(chunkBytes, data.byteLength - at)
      next += length
      await readChunk(file, Buffer.from(data.buffer, at, length), dataOffset + at, type)
      read += length
      work.reached(read / data.byteLength)
    }
  }
  // All of them must have ended before the file is closed.
  const readers = await Promise.allSettled(Array.from({ length: READERS }, reader))
  for (const outcome of readers) if (outcome.status === 'rejected') throw outcome.reason
}

async function readConverted(
  file: FileHandle,
  dataOffset: number,
  type: FileType,
  data: ElementArray,
  work: FileWork,
): Promise<Offender | undefined> {
  // A buffer of its own, not one of Node's pool: its start is aligned for every element type.
  const buffer = Buffer.from(
    new ArrayBuffer(Math.min(chunkBytes, PER_TURN * type.size, data.length * type.size)),
  )
  const step = buffer.length / type.size
  for (let done = 0; done < data.length; done += step) {
    work.reached(done / data.length)
    const count = Math.min(step, data.length - done)
    const bytes = buffer.subarray(0, count * type.size)
    await readChunk(file, bytes, dataOffset + done * type.size, type)
    const bad = type.convert!(bytes, count, data, done)
    if (bad >= 0) return { index: done + bad, value: type.value(bytes, bad) }
  }
  return undefined
}

/**
 * Writes a matrix or a batch of matrices as a NumPy .npy file: format 1.0, of its own element type, little-endian, C
 * order, whatever the matrix' strides are. The file appears under its name only when it is complete; a regular file that stands
 * there before is replaced, anything else refused.
 *
 * @param matrix - is read while the file is written: leave it alone until the promise settles.
 * @throws FileError with the system's reason; ShapeError and DTypeError for what isn't a matrix; AbortedError.
 * @example
 * // A transpose is strides; the file is in C order.
 * await writeNpy('a.npy', { data: Int32Array.of(1, 2, 3, 4), shape: [2, 2], strides: [1, 2] })
 * console.log((await readNpy('a.npy')).data.join()) // 1,3,2,4
 */
export async function writeNpy(
  path: string | URL,
  matrix: MatrixLike<ElementArray>,
  options?: FileOptions,
): Promise<void> {
  const asked = fileOptions.read(options)
  const name = pathOf(path)
  const view = readHostView(matrix, 'matrix', 'result')
  requireThere(view, 'matrix')
  await FileWork.run(`writing ${name}`, asked, (work) =>
    writeComplete(
      name,
      async (file) => {
        for (const bytes of npyBytes(view, (done) => work.reached(done))) await writeFully(file, bytes)
        work.end()
      },
      work.signal,
    ),
  )
}

/** The bytes of a file in pieces: each is valid until the next is asked for. `reached` is called with the share that is done. */
export function* npyBytes(
  view: HostView<ElementArray>,
  reached: (share: number) => void,
  pieceBytes = chunkBytes,
): Generator<Uint8Array, void> {
  const { data, type } = view
  const size = bytesOf(type)
  const count = view.batch * view.rows * view.cols
  const step = pieceBytes / size
  yield formatHeader(shapeOf(view), typeNameOf(type))
  if (isRowMajor(view) && littleEndian) {
    const start = firstByteOf(data) + view.offset * size
    for (let done = 0; done < count; done += step) {
      reached(done / count)
      requireStillThere(view, 'matrix')
      yield new Uint8Array(bufferOf(data), start + done * size, Math.min(step, count - done) * size)
    }
    requireStillThere(view, 'matrix')
  } else {
    const chunk = newArray(type, Math.min(count, step, PER_TURN))
    const bytes = Buffer.from(chunk.buffer)
    for (let done = 0; done < count; done += chunk.length) {
      reached(done / count)
      requireStillThere(view, 'matrix')
      const length = Math.min(chunk.length, count - done)
      gather(view, done, chunk.subarray(0, length))
      if (!littleEndian) swapBytes(bytes, size)
      yield bytes.subarray(0, size * length)
    }
  }
}
