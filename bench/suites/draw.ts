/** What suites compute with: random, and the same for the same seed. */
import type { DenseMatrix, Shape } from '../../lib/index.js'
import { randomMatrix } from '../timing/values.js'

/** The largest magnitude that no 16-bit arithmetic holds, and of which sums of twenty are still int32. */
export const ANY_INT32 = 100_000_000

/** Integers from −`limit` to `limit`, and the zero of max-plus. */
export function integers(
  shape: Readonly<Shape>,
  seed: number,
  { limit = ANY_INT32, zeroFraction = 0 } = {},
): DenseMatrix {
  const values = { dtype: 'int32', minimum: -limit, maximum: limit, zeroFraction, summary: '' } as const
  return randomMatrix(shape, values, seed) as DenseMatrix
}

/** Random choices. */
export class Draw {
  #state: number

  constructor(seed: number) {
    this.#state = Math.imul(seed + 1, 0x9e3779b1) | 1
  }

  /** From 0 up to 1: Marsaglia's xorshift32. */
  share(): number {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return (this.#state >>> 0) / 2 ** 32
  }

  /** From `low` to `high`, both included. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.share() * (high - low + 1))
  }

  chance(probability: number): boolean {
    return this.share() < probability
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.integer(0, choices.length - 1)]!
  }
}
