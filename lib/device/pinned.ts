/** Arrays in pinned memory. */
import { show } from '../describe.js'
import { DTypeError, fromNative, OutOfMemoryError } from '../errors.js'
import { addon } from '../native.js'

/**
 * An Int32Array of `length` zeros in pinned (page-locked) memory, which a GPU copies directly: operands and results in
 * such arrays aren't copied through the library's own pinned buffers. Pinned memory isn't swapped out and is slow to
 * allocate, so make few such arrays and use them again. The first call in a process may take some hundred milliseconds,
 * in which CUDA starts.
 *
 * For float32 and float64 take an array over its buffer: `new Float64Array(pinnedInt32Array(2 * n).buffer)`.
 *
 * If CUDA can't be used, an ordinary Int32Array is returned: the same program runs with and without a GPU.
 *
 * @param length - number of elements, an integer of 0 or more
 * @throws DTypeError (ERR_MPMML_DTYPE) if `length` is no such number, OutOfMemoryError (ERR_MPMML_OUT_OF_MEMORY) if there
 *   is no memory for it.
 * @example
 * const floats = new Float32Array(pinnedInt32Array(4).buffer)
 * const { c } = await mpmm(matrix(2, 2, floats), matrix(2, 2, Float32Array.of(1, 2, 3, 4)))
 * console.log(c.data.join()) // 3,4,3,4
 */
export function pinnedInt32Array(length: number): Int32Array {
  if (!Number.isSafeInteger(length) || length < 0) {
    throw new DTypeError(`length must be an integer of 0 or more, but it is ${show(length)}`)
  }
  try {
    return addon.pinnedInt32Array(length) ?? new Int32Array(length)
  } catch (error) {
    if (error instanceof RangeError) {
      throw new OutOfMemoryError(
        `there is no memory for an array of ${length} elements: make a smaller one`,
        {
          cause: error,
        },
      )
    }
    throw fromNative(error)
  }
}
