/** Numbers keys of nodes in the order of their first occurrence. */

/** Number of hash tables among which the strings are divided, so that no call takes long to enlarge one. */
const PARTS = 256
const FIRST_CAPACITY = 8

/** Differs between processes, so that no file can provoke collisions. */
const seed = (Math.random() * 2 ** 32) | 0

function hashOf(text: string): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x9e3779b1)
    hash ^= hash >>> 15
  }
  return hash
}

/** Strings are in own hash tables, because maps of a million strings take three times as long. */
export class KeyNumbers<Key> {
  /** The keys by number. */
  readonly keys: Key[] = []
  /** Numbers of keys that aren't strings. */
  readonly #others = new Map<Key, number>()
  /** Each slot contains a hash and the string's number plus 1; 0 marks a free slot. */
  readonly #tables = Array.from({ length: PARTS }, () => new Int32Array(2 * FIRST_CAPACITY))
  readonly #counts = new Int32Array(PARTS)

  has(key: Key): boolean {
    if (typeof key !== 'string') return this.#others.has(key)
    const hash = hashOf(key)
    const table = this.#tables[hash & (PARTS - 1)]!
    return table[this.#slot(table, hash, key) + 1] !== 0
  }

  /** Returns the number of a key; a new key gets the next number. */
  number(key: Key): number {
    const next = this.keys.length
    if (typeof key !== 'string') {
      const known = this.#others.get(key)
      if (known !== undefined) return known
      this.#others.set(key, next)
    } else {
      const hash = hashOf(key)
      const part = hash & (PARTS - 1)
      const table = this.#tables[part]!
      const at = this.#slot(table, hash, key)
      if (table[at + 1] !== 0) return table[at + 1]! - 1
      table[at] = hash
      table[at + 1] = next + 1
      // The parts grow at different loads, from 3/8 to 6/8 of the capacity, so that they don't all grow at the
      // same time.
      if (++this.#counts[part]! * 16 * PARTS > table.length * 3 * (PARTS + part)) this.#enlarge(part)
    }
    this.keys.push(key)
    return next
  }

  /** Returns the slot of a string, or the free slot where it belongs. */
  #slot(table: Int32Array, hash: number, key: Key): number {
    const mask = table.length - 2
    let at = (hash >>> 7) & mask
    while (table[at + 1] !== 0 && !(table[at] === hash && this.keys[table[at + 1]! - 1] === key)) {
      at = (at + 2) & mask
    }
    return at
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
