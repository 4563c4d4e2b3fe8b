/** Converts elements between types, and the zero of one type to the zero of the other. */

import { storedZeroOf, zeroOf } from '../built-in-semirings.js'
import { bytesOfStored } from '../elements.js'
import { addon } from '../native.js'
import { finiteOf, outsideError, storedAs } from '../overflow.js'
import type { Overflow } from '../product/options.js'
import type { ElementArray, OperandArray } from '../storage.js'
import type { Semiring } from '../variant-names.js'
import { type ArrayType, resultType } from './job.js'

/** Returns the element that represents the semiring's zero in a type on disk. */
export function zeroOn(semiring: Semiring, dtype: ArrayType): number {
  const type = addon.dataTypes.indexOf(resultType(dtype))
  return storedZeroOf(semiring, { type, bytes: bytesOfStored(dtype) })
}

/**
 * Widens elements. The source may be the end of the target's memory: the loop ascends, so that each element
 * is read before it is overwritten.
 */
export function widen(from: OperandArray, to: ElementArray, zeroFrom: number, zeroTo: number): void {
  for (let index = 0; index < from.length; index++) {
    const value = from[index]!
    to[index] = value === zeroFrom ? zeroTo : value
  }
}

/**
 * Converts exact float64 results to int32.
 *
 * @param position - returns the position of an element for a message.
 * @throws OverflowError for a result outside the finite range, if the policy is 'throw'.
 */
export function narrow(
  from: Float64Array,
  to: Int32Array,
  semiring: Semiring,
  policy: Overflow,
  position: (index: number) => string,
): void {
  const zero = zeroOf(semiring, 'float64')
  const zeroTo = zeroOf(semiring, 'int32')
  const finite = finiteOf(zeroTo < 0)
  for (let index = 0; index < from.length; index++) {
    const value = from[index]!
    const stored = value === zero ? zeroTo : storedAs(policy, value, finite)
    if (Number.isNaN(stored)) {
      throw outsideError(
        position(index),
        value,
        finite,
        "scale the values, use float64, or choose overflow 'saturate'",
      )
    }
    to[index] = stored
  }
}
