/**
 * Converts between matrices and the bytes of .npy files in memory, for example in requests and responses of a
 * service.
 */

import { isUint8Array } from '../array-types.js'
import { assertOrdinaryArray } from '../borrowed.js'
import { show } from '../describe.js'
import { bytesOf, newUnwrittenArray, typeNameOf, UINT8 } from '../elements.js'
import { DTypeError } from '../errors.js'
import { shapeOf } from '../layout.js'
import { allocate, type Matrix, type MatrixLike } from '../matrix.js'
import { addon } from '../native.js'
import { Options, type OptionsOf } from '../options.js'
import type { ElementArray } from '../storage.js'
import type { DataType } from '../variant-names.js'
import { assertAttached, readBack } from '../view.js'
import { bytesType, npyPieces } from './npy-content.js'
import { DecodedStream, decodeMatrix } from './npy-decoder.js'
import { formatHeader, namedProblem } from './npy-header.js'

const parseOptions = new Options({ dtype: bytesType } satisfies OptionsOf<{ dtype?: 'uint8' }>)

/**
 * Returns the matrix, or batch of matrices, in the bytes of a NumPy .npy file. Types, orders and the option
 * `dtype` are handled as by {@link readNpy}. The call blocks, and copies the elements.
 *
 * @param bytes - complete file.
 * @param options - `dtype`: see {@link ReadNpyOptions}.
 * @throws FileError (ERR_MPMML_FILE) for bytes that aren't a .npy file; ERR_MPMML_DTYPE for a value that
 * isn't a Uint8Array; ERR_MPMML_OPTION for another dtype; ERR_MPMML_OUT_OF_MEMORY.
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
  assertOrdinaryArray(bytes, 'the bytes')
  const newData = (count: number, type: DataType) =>
    allocate(count, 'the matrix', addon.dataTypes.indexOf(type))
  try {
    const stream = new DecodedStream(decodeMatrix(bytes.length, dtype, newData))
    stream.push(bytes)
    return stream.end()
  } catch (error) {
    throw namedProblem('bytes of a .npy file', error)
  }
}

/**
 * Returns the bytes of a NumPy .npy file for a matrix or a batch of matrices, equal to the file that {@link
 * writeNpy} writes. The call blocks, and copies the elements.
 *
 * @throws ERR_MPMML_SHAPE and ERR_MPMML_DTYPE for a value that isn't a matrix; ERR_MPMML_OUT_OF_MEMORY.
 * @example
 * const bytes = formatNpy(matrix(2, 2, [1, 2, 3, 4]))
 * console.log(bytes.length, Buffer.from(bytes).toString('latin1', 1, 6)) // 144 NUMPY
 */
export function formatNpy(matrix: MatrixLike<ElementArray>): Uint8Array {
  const view = readBack(matrix, 'matrix', 'result')
  assertAttached(view, 'matrix')
  const header = formatHeader(shapeOf(view), typeNameOf(view.type))
  const length = header.length + view.batch * view.rows * view.cols * bytesOf(view.type)
  const file = allocate(length, 'the file', UINT8, newUnwrittenArray) as Uint8Array
  let at = 0
  for (const piece of npyPieces(view, () => {})) {
    file.set(piece, at)
    at += piece.length
  }
  return file
}
