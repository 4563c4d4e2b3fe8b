/** Numbers keys of nodes in the order of their first occurrence. */

/**
 * Number of maps among which the keys are divided, so that no call takes long: a single map of 2 million
 * strings takes a second to grow.
 */
const PARTS = 256

/** Differs between processes, so that no file can have names of one part only. */
const seed = (Math.random() * 2 ** 32) | 0

function partOf(key: unknown): number {
  if (typeof key !== 'string') return 0
  let hash = seed
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x9e3779b1)
  return hash >>> 24
}

export class KeyNumbers<Key> {
  /** The keys by number. */
  readonly keys: Key[] = []
  readonly #parts = Array.from({ length: PARTS }, () => new Map<Key, number>())

  has(key: Key): boolean {
    return this.#parts[partOf(key)]!.has(key)
  }

  /** Returns the number of a key; a new key gets the next number. */
  number(key: Key): number {
    const part = this.#parts[partOf(key)]!
    const known = part.get(key)
    if (known !== undefined) return known
    part.set(key, this.keys.length)
    return this.keys.push(key) - 1
  }
}
