/** Distances of integers, whose sums are exact, as they are stored in int32. */
import { show } from '../describe.js'
import { OverflowError } from '../errors.js'
import type { Overflow } from '../product/options.js'
import type { PathRules } from './rules.js'

const LEAST = -(2 ** 31)
const MOST = 2 ** 31 - 1

export class StoredDistances {
  /** The error for the first distance that the policy doesn't allow. */
  overflow: OverflowError | null = null
  readonly #policy: Overflow
  readonly #zero: number
  readonly #least: number
  readonly #most: number

  constructor({ maximizes, zero }: PathRules, policy: Overflow) {
    this.#policy = policy
    this.#zero = zero
    this.#least = maximizes ? LEAST + 1 : LEAST
    this.#most = maximizes ? MOST : MOST - 1
  }

  /** A distance as the overflow policy stores it; `item` is the index of the matrix if there is a batch. */
  of(value: number, from: number, to: number, item: number | undefined): number {
    const [least, most] = [this.#least, this.#most]
    if (value >= least && value <= most) return value
    if (this.#policy === 'saturate') return value < least ? least : most
    // ToInt32 is modulo 2^32.
    if (this.#policy === 'wrap') return value | 0
    const where = item === undefined ? '' : ` in matrix ${item} of the batch`
    this.overflow ??= new OverflowError(
      `the distance from ${from} to ${to}${where} is ${show(value)}, outside the finite range ${least} to ${most}: ` +
        "use weights in a Float64Array, or choose overflow 'saturate' or 'wrap'",
    )
    return this.#zero
  }
}
