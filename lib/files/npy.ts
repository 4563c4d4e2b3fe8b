/** Reads NumPy's .npy files exactly, or refuses them with a reason, and writes them as NumPy does. */

import type { Matrix, MatrixLike } from '../matrix.js'
import { Options, type OptionsOf } from '../options.js'
import { longWorkSet } from '../product/options.js'
import type { ElementArray } from '../storage.js'
import { assertAttached, readBack } from '../view.js'
import { pathOf } from './files.js'
import { type MemoryOptions, maxBytes, newMatrixData } from './memory.js'
import { bytesType, npyPieces } from './npy-content.js'
import { decodeMatrix } from './npy-decoder.js'
import { decodeFile, readingNpy } from './npy-file.js'
import { type FileOptions, FileWork, type WriteFileOptions, writeFileOptions } from './progress.js'

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
 * int32, float32 and float64 in C order are read straight into the result, whose data is an Int32Array, a
 * Float32Array or a Float64Array. Fortran order is preserved and described by strides. The other integer
 * types of 8 to 64 bits and big-endian files are converted exactly: a value outside int32's range is an error
 * that names the value and its index. Note that −2^31 is {@link EPSILON} whichever integer type it comes
 * from. Booleans become a Uint8Array of 0 and 1; any byte but 0 is true, as in NumPy.
 *
 * With the option `dtype: 'uint8'` uint8 is read unchanged into a Uint8Array, booleans become 0 and 1, and
 * the other integer types are converted exactly: a value outside 0 … 255 is an error that names the value and
 * its index.
 *
 * @param path - a regular file.
 * @returns a matrix with data of its own.
 * @throws FileError for a file that can't be read, is damaged, or has another element type or other than 1 to
 * 3 dimensions; ERR_MPMML_OPTION for another dtype; LimitError; ERR_MPMML_OUT_OF_MEMORY; AbortedError.
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
  return FileWork.run('reading a file', rest, (work) =>
    readingNpy(name, async (file, size) => {
      const decoder = decodeMatrix(size, dtype, (count, type) => newMatrixData(count, name, type, maxBytes))
      const matrix = await decodeFile(name, decoder, file, (position) => work.reached(position / size))
      work.end()
      return matrix
    }),
  )
}

/**
 * Writes a matrix or a batch of matrices as a NumPy .npy file: format 1.0, the matrix's element type,
 * little-endian, C order for any strides. The file appears under its name only when it is complete. An
 * existing regular file is replaced unless `overwrite` is false; anything else with the name is an error.
 *
 * @param matrix - read while the file is written: don't modify it until the promise settles.
 * @throws FileError with the system's reason; ERR_MPMML_EXISTS; ERR_MPMML_SHAPE and ERR_MPMML_DTYPE for a value that isn't a matrix; ERR_MPMML_OPTION;
 *   AbortedError.
 * @example
 * // A transpose is strides; the file is in C order.
 * await writeNpy('a.npy', { data: Int32Array.of(1, 2, 3, 4), shape: [2, 2], strides: [1, 2] })
 * console.log((await readNpy('a.npy')).data.join()) // 1,3,2,4
 */
export async function writeNpy(
  path: string | URL,
  matrix: MatrixLike<ElementArray>,
  options?: WriteFileOptions,
): Promise<void> {
  const requested = writeFileOptions.read(options)
  const name = pathOf(path)
  const view = readBack(matrix, 'matrix', 'result')
  assertAttached(view, 'matrix')
  await FileWork.write(name, requested, (work) => npyPieces(view, (share) => work.reached(share)))
}
