/** Random choices that are the same for the same seed (splitmix32). */
export class Random {
  #state

  /** @param {number} seed */
  constructor(seed) {
    this.#state = seed | 0
  }

  /** Returns an integer from 0 to 2^32 − 1. */
  bits() {
    this.#state = (this.#state + 0x9e3779b9) | 0
    let x = this.#state ^ (this.#state >>> 16)
    x = Math.imul(x, 0x21f0aaad)
    x ^= x >>> 15
    x = Math.imul(x, 0x735a2d97)
    return (x ^ (x >>> 15)) >>> 0
  }

  /** Returns a number in [0, 1). */
  share() {
    return this.bits() / 2 ** 32
  }

  /**
   * Returns an integer from `low` to `high`, both included.
   *
   * @param {number} low
   * @param {number} high
   */
  integer(low, high) {
    return low + Math.floor(this.share() * (high - low + 1))
  }

  /**
   * Returns an integer from `low` to `high`, uniform in the logarithm: each power of two is as likely as the
   * next.
   */
  size(low, high) {
    return Math.min(high, Math.floor(low * ((high + 1) / low) ** this.share()))
  }

  /** @param {number} probability */
  chance(probability) {
    return this.share() < probability
  }

  /**
   * Returns one of the choices.
   *
   * @template T
   * @param {readonly T[]} choices
   * @returns {T}
   */
  pick(choices) {
    return choices[this.integer(0, choices.length - 1)]
  }

  /** Returns an independent source, seeded from this one. */
  fork() {
    return new Random(this.bits())
  }
}

/** The source of one case: cases of a seed don't depend on each other. */
export const randomOf = (seed, index) =>
  new Random(new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)).bits())
