/** Distances of integers, whose sums are exact, as they are stored in int32. */
import type { OverflowError } from '../errors.js'
import type { NodeNames } from '../graph-core/names.js'
import { type Finite, finiteOf, storedAs } from '../overflow.js'
import type { Overflow } from '../product/options.js'
import { overflowError } from './refusals.js'
import type { PathRules } from './rules.js'

export class StoredDistances {
  /** The error for the first distance that the policy doesn't allow. */
  overflow: OverflowError | null = null
  readonly #policy: Overflow
  readonly #rules: PathRules
  readonly #finite: Finite

  readonly #names: NodeNames | null

  constructor(rules: PathRules, policy: Overflow, names: NodeNames | null) {
    this.#names = names
    this.#policy = policy
    this.#rules = rules
    this.#finite = finiteOf(rules.maximizes)
  }

  /** A distance as the overflow policy stores it; `item` is the index of the matrix if there is a batch. */
  of(value: number, from: number, to: number, item: number | undefined): number {
    const kept = storedAs(this.#policy, value, this.#finite)
    if (!Number.isNaN(kept)) return kept
    this.overflow ??= overflowError(value, from, to, item, this.#rules, this.#names)
    return this.#rules.zero
  }
}
