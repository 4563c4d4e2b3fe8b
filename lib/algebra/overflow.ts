/** Overflow policies, where products don't apply them. */
import { isInteger, typeNameOf } from '../elements.js'
import { OptionError } from '../errors.js'
import { readChoice } from '../options.js'
import type { Overflow } from '../product/options.js'

const policies = ['throw', 'saturate', 'wrap'] as const

/** Reads the option `overflow` for elements of a type, by its number. */
export function readOverflow(value: unknown, type: number): Overflow {
  if (value === undefined) return 'throw'
  const policy = policies[readChoice(policies, value, 'overflow')]!
  if (isInteger(type)) return policy
  throw new OptionError(
    `option overflow is for integers, but the elements are of ${typeNameOf(type)}, which has infinities for what is too large: leave it out`,
  )
}
