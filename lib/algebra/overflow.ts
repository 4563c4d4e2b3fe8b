/** Overflow policies, where products don't apply them. */
import { isInteger, typeNameOf } from '../elements.js'
import { OptionError } from '../errors.js'
import { choice } from '../options.js'
import type { Overflow } from '../product/options.js'

/** The option `overflow`, which is only for integers. */
export const policy = choice(['throw', 'saturate', 'wrap'], undefined)

/** The policy for elements of a type, by its number. */
export function policyFor(asked: Overflow | undefined, type: number): Overflow {
  if (asked === undefined) return 'throw'
  if (isInteger(type)) return asked
  throw new OptionError(
    `option overflow is for integers, but the elements are of ${typeNameOf(type)}, which has infinities for what is too large: leave it out`,
  )
}
