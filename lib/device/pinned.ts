/** Allocates arrays in pinned memory. */

import { show, showChoices } from '../describe.js'
import { type ElementArray, type PinnedArrays, storedArrays } from '../element-types.js'
import { bytesOfStored, bytesOf as bytesOfType, arrayOver as elementsOver } from '../elements.js'
import { DTypeError, fromNative, OutOfMemoryError } from '../errors.js'
import { addon } from '../native.js'
import { maxBytes, takesForeignMemory } from '../platform.js'

/**
 * Minimum size in bytes of pinned results. Finding pinned memory takes a few µs, in which a smaller array can
 * be allocated and written.
 */
const MIN_PINNED = 2 ** 16

/**
 * Returns an array in pinned memory for the result of a product on device `device`; null if no pinned memory
 * is available. The content is undefined.
 */
export function pinnedResult(type: number, length: number, device: number): ElementArray | null {
  const bytes = length * bytesOfType(type)
  if (bytes < MIN_PINNED || bytes > maxBytes || !takesForeignMemory) return null
  const buffer = addon.resultBuffer(bytes, device)
  return buffer && elementsOver(type, buffer)
}

/**
 * Creates an array of `length` zeros in pinned (page-locked) memory, which a GPU copies directly: operands
 * and results in such arrays aren't copied through the library's own pinned buffers. Pinned memory isn't
 * swapped out and is slow to allocate and to free (on other threads), so create few such arrays and reuse
 * them.
 *
 * If CUDA can't be used, the result is an ordinary array, so that a program runs with and without a GPU.
 *
 * @param dtype - 'int32', 'int16', 'float32', 'float64' or 'uint8'
 * @param length - number of elements, an integer of 0 or more
 * @throws Rejects with ArgumentError (ERR_MPMML_DTYPE) for an unknown type or an invalid `length`,
 * ResourceError (ERR_MPMML_OUT_OF_MEMORY) if the memory isn't available.
 * @example
 * const out = matrix(2, 2, await pinned('float32', 4))
 * await mpmm(matrix(2, 2, Float32Array.of(0, 0, 0, 0)), matrix(2, 2, Float32Array.of(1, 2, 3, 4)), { out })
 * console.log(out.data.join()) // 3,4,3,4
 */
export async function pinned<Type extends keyof PinnedArrays>(
  dtype: Type,
  length: number,
): Promise<PinnedArrays[Type]> {
  if (typeof dtype !== 'string' || !Object.hasOwn(storedArrays, dtype)) {
    throw new DTypeError(`dtype must be ${showChoices(Object.keys(storedArrays))}, but it is ${show(dtype)}`)
  }
  const bytes = bytesOf(dtype, length)
  try {
    return arrayOver(dtype, await addon.pinnedBuffer(bytes), length)
  } catch (error) {
    throw refusal(error, length)
  }
}

/** Allocates bytes in pinned memory synchronously, for the library's own threads. */
export function pinnedBytes(length: number): Uint8Array {
  try {
    return arrayOver('uint8', addon.pinnedBufferSync(length), length)
  } catch (error) {
    throw refusal(error, length)
  }
}

/** Returns the bytes of an array. Throws if `length` exceeds the limits. */
function bytesOf(dtype: keyof PinnedArrays, length: number): number {
  if (!Number.isSafeInteger(length) || length < 0) {
    throw new DTypeError(`length must be an integer of 0 or more, but it is ${show(length)}`)
  }
  const bytes = length * bytesOfStored(dtype)
  if (bytes > maxBytes) throw noMemory(length)
  return bytes
}

function arrayOver<Type extends keyof PinnedArrays>(
  dtype: Type,
  buffer: ArrayBuffer | null,
  length: number,
): PinnedArrays[Type] {
  const Type = storedArrays[dtype]
  return (buffer ? new Type(buffer) : new Type(length)) as PinnedArrays[Type]
}

const refusal = (error: unknown, length: number) =>
  error instanceof RangeError ? noMemory(length, error) : fromNative(error)

const noMemory = (length: number, cause?: unknown) =>
  new OutOfMemoryError(
    `out of memory: cannot allocate an array of ${length} elements: create a smaller one`,
    { cause },
  )
