/** Reads vectors from NumPy files: arrays of one dimension, such as the edges of a graph. */
import { show } from '../describe.js'
import { FileError } from '../errors.js'
import type { Matrix } from '../matrix.js'
import type { ElementArray } from '../storage.js'
import { pathOf } from './files.js'
import { type ReadNpyOptions, readNpy } from './npy.js'
import { type ReadNpzOptions, readNpz } from './npz.js'

/**
 * Reads a vector from a NumPy .npy file: an array of one dimension, or a matrix of one row or one column.
 * Types and options are those of {@link readNpy}.
 *
 * @param path - a regular file.
 * @throws Rejects as {@link readNpy} does, and with FileError (ERR_MPMML_FILE) for an array that is no vector.
 * @example
 * await writeNpy('times.npy', matrix(1, 3, [4, 0, 7]))
 * console.log(await readVector('times.npy')) // Int32Array(3) [ 4, 0, 7 ]
 */
export async function readVector(path: string | URL, options: ReadNpyOptions = {}): Promise<ElementArray> {
  return vectorOf(await readNpy(path, options), pathOf(path))
}

/**
 * Reads vectors from a NumPy .npz file, such as the edges of a graph: arrays of one dimension, or matrices of
 * one row or one column. Types and options are those of {@link readNpz}.
 *
 * @param path - a regular file.
 * @returns the vectors by the names of the arrays.
 * @throws Rejects as {@link readNpz} does, and with FileError (ERR_MPMML_FILE) for an array that is no vector.
 * @example
 * // numpy.savez('edges.npz', from_=…, to=…, weight=…)
 * const [from_, to, weight] = [matrix(1, 2, [0, 1]), matrix(1, 2, [1, 2]), matrix(1, 2, [4, -1])]
 * await writeNpz('edges.npz', { from_, to, weight })
 * const edges = await readVectors('edges.npz')
 * console.log(edges.from_.join(), edges.to.join(), edges.weight.join()) // 0,1 1,2 4,-1
 */
export async function readVectors(
  path: string | URL,
  options: ReadNpzOptions = {},
): Promise<Record<string, ElementArray>> {
  const matrices = Object.entries(await readNpz(path, options))
  return Object.fromEntries(
    matrices.map(([array, matrix]) => [array, vectorOf(matrix, `${pathOf(path)}, array ${show(array)}`)]),
  )
}

/** Returns the contiguous elements of a matrix of one row or column. */
function vectorOf({ data, shape }: Matrix<ElementArray>, name: string): ElementArray {
  if (shape.length === 2 && (shape[0] === 1 || shape[1] === 1)) return data
  throw new FileError(
    `${name}: expected a vector (1-D), or a matrix of one row or column, but its shape is (${shape.join(', ')}); ` +
      'save a.ravel()',
  )
}
