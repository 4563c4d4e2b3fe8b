/** Overflow policies of functions other than products. */
import { isInteger, typeNameOf } from './elements.js'
import { OptionError, OverflowError } from './errors.js'
import { MAX_INT32, MIN_INT32 } from './integers.js'
import { choice } from './options.js'
import type { Overflow } from './product/options.js'

/** The option `overflow` of functions that allow it only for integers. */
export const policy = choice(['throw', 'saturate', 'wrap'], undefined)

/** Returns the policy for elements of a type, by its number. */
export function policyFor(requested: Overflow | undefined, type: number): Overflow {
  if (requested === undefined) return 'throw'
  assertIntegers(type, 'the elements are')
  return requested
}

/** Throws OptionError if a policy is given for a type that doesn't overflow; `what` is whose type it is: "a is". */
export function assertIntegers(type: number, what: string): void {
  if (isInteger(type)) return
  throw new OptionError(
    `option overflow is for integers, but ${what} of ${typeNameOf(type)}, which has infinities for what is too large: leave it out`,
  )
}

/** The least and the greatest finite value. */
export type Finite = readonly [least: number, most: number]

/** Returns the finite range of int32, which excludes the zero of the semiring. */
export const finiteOf = (maximizes: boolean): Finite =>
  maximizes ? [MIN_INT32 + 1, MAX_INT32] : [MIN_INT32, MAX_INT32 - 1]

/** Returns the int32 value that a policy stores; NaN if the policy rejects the value. */
export function storedAs(policy: Overflow, value: number, [least, most]: Finite): number {
  if (value >= least && value <= most) return value
  if (policy === 'saturate') return value < least ? least : most
  // ToInt32 is modulo 2^32.
  return policy === 'wrap' ? value | 0 : Number.NaN
}

/** Returns the error for a value of int32 that isn't in the finite range; `what` names it. */
export const outsideError = (what: string, value: number, [least, most]: Finite, advice: string) =>
  new OverflowError(`${what} is ${value}, outside the finite range ${least} to ${most}: ${advice}`)
