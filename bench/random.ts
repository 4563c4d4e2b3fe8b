/** Pseudorandom generator; equal seeds give equal sequences. */
export class Draw {
  #state: number

  constructor(seed: number) {
    // Multiplication decorrelates neighbouring seeds.
    this.#state = Math.imul(seed + 1, 0x9e3779b1) | 1
  }

  /** Returns an integer from 0, below 2^32, by Marsaglia's xorshift32. */
  word(): number {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return this.#state >>> 0
  }

  /** Returns a number in [0, 1). */
  share(): number {
    return this.word() / 2 ** 32
  }

  /** Returns an integer from `low` to `high`, both included. */
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
