/** The bytes of .npy files in memory, such as those that a service gets and sends. */

import { isUint8Array } from '../array-types.js'
import { requireOrdinary } from '../borrowed.js'
import { show } from '../describe.js'
import { bytesOf, newUnwrittenArray, typeNameOf } from '../elements.js'
import { DTypeError, FileError } from '../errors.js'
import { fromLatin1, swapBytes } from '../host.js'
import { shapeOf } from '../layout.js'
import { allocate, type Matrix, type MatrixLike } from '../matrix.js'
import { addon } from '../native.js'
import { Options, type OptionsOf } from '../options.js'
import type { ElementArray } from '../storage.js'
import { readHostView, requireThere } from '../view.js'
import { asMatrix, bytesType, checkedContent, gather, type Offender, outOfRange } from './npy-content.js'
import { formatHeader, NpyProblem, parseHeader, parsePreamble, truncatedHeader } from './npy-header.js'
import { type FileType, littleEndian } from './npy-types.js'

/** Bytes that are converted at once: a copy of them is aligned for every element type. */
const chunkBytes = 1 << 16

const parseOptions = new Options({ dtype: bytesType } satisfies OptionsOf<{ dtype?: 'uint8' }>)

/**
 * The matrix, or batch of matrices, that the bytes of a NumPy .npy file hold. What {@link readNpy} says about types, orders
 * and the option `dtype` is true of it too. It blocks, and copies the elements.
 *
 * @param bytes - all of the file.
 * @param options - `dtype`: as the option of {@link readNpy}.
 * @throws FileError (ERR_MPMML_FILE) for bytes that are no such file; DTypeError for what isn't a Uint8Array; OptionError
 *   for another dtype; OutOfMemoryError.
 * @example
 * const bytes = formatNpy(matrix(2, 2, [1, 2, 3, 4]))
 * console.log(parseNpy(bytes).data.join()) // 1,2,3,4
 */
export function parseNpy(bytes: Uint8Array, options: { dtype: 'uint8' }): Matrix<Uint8Array>
export function parseNpy(bytes: Uint8Array, options?: { dtype?: 'uint8' | undefined }): Matrix<ElementArray>
export function parseNpy(bytes: Uint8Array, options?: { dtype?: 'uint8' | undefined }): Matrix<ElementArray> {
  const { dtype } = parseOptions.read(options)
  if (!isUint8Array(bytes)) {
    throw new DTypeError(`expected the bytes of a .npy file in a Uint8Array, but got ${show(bytes)}`)
  }
  requireOrdinary(bytes, 'the bytes')
  try {
    return parse(bytes, dtype)
  } catch (error) {
    if (error instanceof NpyProblem)
      throw new FileError(`bytes of a .npy file: ${error.message}`, { cause: error })
    throw error
  }
}

function parse(file: Uint8Array, asked: 'uint8' | undefined): Matrix<ElementArray> {
  const { start, length } = parsePreamble(file)
  const end = start + length
  if (file.length < end) throw truncatedHeader(file.length, end)
  const header = parseHeader(fromLatin1(file, start, end))
  const { type, shape, count } = checkedContent(header, file.length - end, asked)
  const data = allocate(count, 'the matrix', addon.dataTypes.indexOf(type.dtype))
  const bad = readElements(file.subarray(end), type, data)
  if (bad) throw outOfRange(bad, type, shape, header)
  return asMatrix(data, shape, header)
}

function readElements(bytes: Uint8Array, type: FileType, data: ElementArray): Offender | undefined {
  if (!type.convert) {
    const target = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    target.set(bytes.subarray(0, target.length))
    if (type.swapped) swapBytes(target, type.size)
    return undefined
  }
  const aligned = new Uint8Array(Math.min(chunkBytes, bytes.length))
  for (let from = 0; from < bytes.length; from += chunkBytes) {
    const given = bytes.subarray(from, from + chunkBytes)
    const chunk = aligned.subarray(0, given.length)
    chunk.set(given)
    if (type.swapped) swapBytes(chunk, type.size)
    const done = from / type.size
    const bad = type.convert(chunk, chunk.length / type.size, data, done)
    if (bad >= 0) return { index: done + bad, value: type.value(chunk, bad) }
  }
  return undefined
}

/**
 * The bytes of the NumPy .npy file that {@link writeNpy} writes for a matrix or a batch of matrices. It blocks, and copies
 * the elements.
 *
 * @throws ShapeError and DTypeError for what isn't a matrix; OutOfMemoryError.
 * @example
 * const bytes = formatNpy(matrix(2, 2, [1, 2, 3, 4]))
 * console.log(bytes.length, Buffer.from(bytes).toString('latin1', 1, 6)) // 144 NUMPY
 */
export function formatNpy(matrix: MatrixLike<ElementArray>): Uint8Array {
  const view = readHostView(matrix, 'matrix', 'result')
  requireThere(view, 'matrix')
  const header = formatHeader(shapeOf(view), typeNameOf(view.type))
  // One array of elements holds the header too, whose length is a multiple of 64.
  const before = header.length / bytesOf(view.type)
  const count = view.batch * view.rows * view.cols
  const file = allocate(before + count, 'the file', view.type, newUnwrittenArray)
  const bytes = new Uint8Array(file.buffer, file.byteOffset, file.byteLength)
  bytes.set(header)
  gather(view, 0, file.subarray(before))
  if (!littleEndian) swapBytes(bytes.subarray(header.length), bytesOf(view.type))
  return bytes
}
