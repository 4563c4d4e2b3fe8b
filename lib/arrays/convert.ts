/** Elements from one type to another, with the zeros of each. */

import { storedZeroOf, zeroOf } from '../built-in.js'
import { bytesOfStored } from '../elements.js'
import { OverflowError } from '../errors.js'
import { addon } from '../native.js'
import type { ElementArray, OperandArray } from '../storage.js'
import type { Semiring } from '../variant-names.js'
import { type ArrayType, resultType } from './job.js'

/** What stands for the zero among elements of a type on disk. */
export function zeroOn(semiring: Semiring, dtype: ArrayType): number {
  const type = addon.dataTypes.indexOf(resultType(dtype))
  return storedZeroOf(semiring, { type, bytes: bytesOfStored(dtype) })
}

/**
 * Widens elements. They may lie at the end of the memory in which the wider ones are made, from its start on: none is overwritten
 * before it is read.
 */
export function widen(from: OperandArray, to: ElementArray, zeroFrom: number, zeroTo: number): void {
  for (let index = 0; index < from.length; index++) {
    const value = from[index]!
    to[index] = value === zeroFrom ? zeroTo : value
  }
}

/** The least and the greatest finite int32 of a semiring, whose zero is one of the ends. */
const LEAST = -(2 ** 31) + 1
const MOST = 2 ** 31 - 2

/**
 * Exact float64 results as int32.
 *
 * @param place - says which element it is, for a message.
 * @throws OverflowError, unless results outside are to be `saturated`.
 */
export function narrow(
  from: Float64Array,
  to: Int32Array,
  semiring: Semiring,
  saturated: boolean,
  place: (index: number) => string,
): void {
  const zero = zeroOf(semiring, 'float64')
  const zeroTo = zeroOf(semiring, 'int32')
  // The end that isn't the zero is finite.
  const [least, most] = zeroTo < 0 ? [LEAST, MOST + 1] : [LEAST - 1, MOST]
  for (let index = 0; index < from.length; index++) {
    const value = from[index]!
    if (value >= least && value <= most) to[index] = value
    else if (value === zero) to[index] = zeroTo
    else if (saturated) to[index] = value < 0 ? least : most
    else {
      throw new OverflowError(
        `${place(index)} is ${value}, outside the finite range of int32, ${least} … ${most}: scale the values, use float64, or ` +
          "choose overflow 'saturate'",
      )
    }
  }
}
