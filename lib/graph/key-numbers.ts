/**
 * Numbers keys of nodes in the order of their first occurrence. Strings are in a hash table that grows in parts,
 * so that no call takes long; its hash is seeded, so that input can't provoke collisions. A Map of them takes twice
 * as long.
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

export class KeyNumbers<Key> {
  /** The keys by number. */
  readonly keys: Key[] = []
  /** Numbers of keys that aren't strings. */
  readonly #others = new Map<Key, number>()
  /** Each slot contains the hash of a string and its number plus 1; 0 marks a free slot. */
  readonly #tables = Array.from({ length: PARTS }, () => new Int32Array(2 * FIRST_CAPACITY))
  readonly #counts = new Int32Array(PARTS)

  has(key: Key): boolean {
    return this.#numberOf(key, false) >= 0
  }

  /** Returns the number of a key; a new key gets the next number. */
  number(key: Key): number {
    return this.#numberOf(key, true)
  }

  /** Returns the number of a key; for a new key -1, or the next number if it `isAdded`. */
  #numberOf(key: Key, isAdded: boolean): number {
    const { keys } = this
    if (typeof key !== 'string') {
      const number = this.#others.get(key)
      if (number !== undefined || !isAdded) return number ?? -1
      this.#others.set(key, keys.length)
      return keys.push(key) - 1
    }
    const hash = hashOf(key)
    const part = hash & (PARTS - 1)
    const table = this.#tables[part]!
    const mask = table.length - 2
    let at = (hash >>> 7) & mask
    for (; table[at + 1] !== 0; at = (at + 2) & mask) {
      const number = table[at + 1]! - 1
      if (table[at] === hash && keys[number] === key) return number
    }
    if (!isAdded) return -1
    table[at] = hash
    table[at + 1] = keys.push(key)
    // The parts grow at different loads, from 3/8 to 6/8 of the capacity, so that they don't all grow at the
    // same time.
    if (++this.#counts[part]! * 16 * PARTS > table.length * 3 * (PARTS + part)) this.#enlarge(part)
    return keys.length - 1
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
