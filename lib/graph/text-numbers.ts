/**
 * Maps strings to numbers by a hash table that grows in parts, so that no call takes long. Its hash is
 * seeded, so that input can't provoke collisions.
 */

/** Number of hash tables among which the strings are divided. */
const PARTS = 256
const FIRST_CAPACITY = 8

const seed = (Math.random() * 2 ** 32) | 0

function hashOf(text: string): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x9e3779b1)
    hash ^= hash >>> 15
  }
  return hash
}

export class TextNumbers {
  readonly #texts: readonly unknown[]
  /** Each slot contains a hash and the string's number plus 1; 0 marks a free slot. */
  readonly #tables = Array.from({ length: PARTS }, () => new Int32Array(2 * FIRST_CAPACITY))
  readonly #counts = new Int32Array(PARTS)

  /** @param texts - the strings by number, to which the caller adds each new string. */
  constructor(texts: readonly unknown[]) {
    this.#texts = texts
  }

  /**
   * Returns the number of a string; for a new string `next`, which becomes its number unless it is negative.
   */
  number(text: string, next: number): number {
    const hash = hashOf(text)
    const part = hash & (PARTS - 1)
    const table = this.#tables[part]!
    const mask = table.length - 2
    let at = (hash >>> 7) & mask
    for (; table[at + 1] !== 0; at = (at + 2) & mask) {
      const number = table[at + 1]! - 1
      if (table[at] === hash && this.#texts[number] === text) return number
    }
    if (next < 0) return next
    table[at] = hash
    table[at + 1] = next + 1
    // The parts grow at different loads, from 3/8 to 6/8 of the capacity, so that they don't all grow at the
    // same time.
    if (++this.#counts[part]! * 16 * PARTS > table.length * 3 * (PARTS + part)) this.#enlarge(part)
    return next
  }

  #enlarge(part: number): void {
    const old = this.#tables[part]!
    const table = new Int32Array(2 * old.length)
    const mask = table.length - 2
    for (let from = 0; from < old.length; from += 2) {
      if (old[from + 1] === 0) continue
      let at = (old[from]! >>> 7) & mask
      while (table[at + 1] !== 0) at = (at + 2) & mask
      table[at] = old[from]!
      table[at + 1] = old[from + 1]!
    }
    this.#tables[part] = table
  }
}
