/**
 * Borrows the user's arrays for a call. Every array that native code reads, or that is read after an `await`,
 * is registered here.
 *
 * A buffer that can shrink or that other threads can write is rejected at entry. JavaScript can't prevent the
 * transfer of an ordinary buffer, so each native call and the end of the call check whether it is still
 * attached.
 */
import { isTypedArray, type TypedArray, typedArrayName } from './array-types.js'
import type { Name } from './describe.js'
import { AbortedError } from './errors.js'
import { isFromListener } from './listener.js'
import { assertLength, assertOrdinaryBuffer, bytesIn, lengthOf } from './storage.js'
import { assertAttached, type View } from './view.js'

/** Arrays that a call uses. Products implement it by their views, which avoids one object per product. */
export interface Borrowed {
  /** Throws DTypeError if an array was transferred away since it was borrowed. */
  requireStillThere(): void
}

/**
 * Limit in bytes of arrays that are copied. Copying 64 KiB takes about 5 µs, less than one native call in the
 * background.
 */
const MAX_COPIED = 2 ** 16

/**
 * Copies a typed array. Doesn't use `slice`, because Buffer.slice shares memory, and subclasses can override
 * `slice`.
 */
export function copyOf<Values extends TypedArray>(values: Values): Values {
  const name = typedArrayName(values) as 'Int32Array'
  return new globalThis[name](values as unknown as Int32Array) as unknown as Values
}

/**
 * Throws DTypeError for a typed array in a shared, resizable or detached buffer. Callers use it for arrays
 * that they copy before the event loop runs. Values of other types are accepted.
 */
export function assertOrdinaryArray(values: unknown, name: Name): void {
  if (isTypedArray(values)) assertOrdinaryBuffer(values, name)
}

/** Borrowed arrays of one call. */
export class BorrowedArrays implements Borrowed {
  readonly #arrays: { readonly data: TypedArray; readonly length: number; readonly name: Name }[] = []

  /**
   * Borrows an array and returns it, or a copy if it is small. Other values, such as arrays of numbers, are returned unchanged.
   *
   * @throws ERR_MPMML_DTYPE for a shared, resizable or detached buffer.
   */
  array<Values>(values: Values, name: Name): Values {
    assertOrdinaryArray(values, name)
    if (!isTypedArray(values)) return values
    if (bytesIn(values) <= MAX_COPIED) return copyOf(values)
    this.#arrays.push({ data: values, length: lengthOf(values), name })
    return values
  }

  /**
   * Borrows a matrix and returns it. Matrices on a device are in memory of the library, so they are checked
   * only at entry.
   *
   * @throws ERR_MPMML_DTYPE for a shared, resizable or detached buffer; ERR_MPMML_SHAPE for one that is too short; ERR_MPMML_DISPOSED.
   */
  view<Any extends View>(view: Any, name: Name): Any {
    assertAttached(view, name)
    if (!view.memory) this.#arrays.push({ data: view.data, length: view.reach, name: `${name}.data` })
    return view
  }

  requireStillThere(): void {
    for (const { data, length, name } of this.#arrays) assertLength(data, length, name)
  }
}

/**
 * Returns the result of work that reads borrowed arrays. If an array was detached, rejects with the error for
 * the array, even if the work fails with another error.
 */
export async function during<Result>(borrowed: Borrowed, work: () => Promise<Result>): Promise<Result> {
  let result: Result
  try {
    result = await work()
  } catch (error) {
    throw explained(borrowed, error)
  }
  borrowed.requireStillThere()
  return result
}

/** Returns the result of work in steps that reads borrowed arrays; see {@link during}. */
export function* throughout<Step, Result>(
  borrowed: Borrowed,
  steps: Generator<Step, Result, void>,
): Generator<Step, Result, void> {
  let result: Result
  try {
    result = yield* steps
  } catch (error) {
    throw explained(borrowed, error)
  }
  borrowed.requireStillThere()
  return result
}

/**
 * Returns the error to report: the error of a detached array replaces any error, except errors of the signal
 * and of the listener.
 */
function explained(borrowed: Borrowed, error: unknown): unknown {
  if (!(error instanceof AbortedError || isFromListener(error))) borrowed.requireStillThere()
  return error
}
