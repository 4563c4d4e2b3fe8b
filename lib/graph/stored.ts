/** Distances of integers, whose sums are exact, as they are stored in int32. */
import { show } from '../describe.js'
import { OverflowError } from '../errors.js'
import { type Finite, finiteOf, storedAs } from '../overflow.js'
import type { Overflow } from '../product/options.js'
import type { PathRules } from './rules.js'

export class StoredDistances {
  /** The error for the first distance that the policy doesn't allow. */
  overflow: OverflowError | null = null
  readonly #policy: Overflow
  readonly #zero: number
  readonly #finite: Finite

  constructor({ maximizes, zero }: PathRules, policy: Overflow) {
    this.#policy = policy
    this.#zero = zero
    this.#finite = finiteOf(maximizes)
  }

  /** A distance as the overflow policy stores it; `item` is the index of the matrix if there is a batch. */
  of(value: number, from: number, to: number, item: number | undefined): number {
    const kept = storedAs(this.#policy, value, this.#finite)
    if (!Number.isNaN(kept)) return kept
    const [least, most] = this.#finite
    const where = item === undefined ? '' : ` in matrix ${item} of the batch`
    this.overflow ??= new OverflowError(
      `the distance from ${from} to ${to}${where} is ${show(value)}, outside the finite range ${least} to ${most}: ` +
        "use weights in a Float64Array, or choose overflow 'saturate' or 'wrap'",
    )
    return this.#zero
  }
}
