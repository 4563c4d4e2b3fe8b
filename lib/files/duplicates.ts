/** Joins entries of sparse matrices that have equal positions. */

import { readSemiring } from '../built-in-semirings.js'
import { joinOf } from '../semiring-order.js'
import type { Semiring } from '../variant-names.js'
import { assertEntries, type SparseEntries } from './sparse.js'

/**
 * Joins entries of a sparse matrix with equal rows and columns by the semiring's ⊕, as {@link readMatrix}
 * does. Other entries are unchanged, in their order. If entries are joined over plus-times, whose sums may
 * leave int32, the values become float64.
 *
 * @throws ERR_MPMML_OPTION for a semiring that doesn't exist; ERR_MPMML_SHAPE, ERR_MPMML_DTYPE and
 * ERR_MPMML_VALUE for a value that isn't a list of entries.
 * @example
 * const entries = { shape: [2, 2], row: Int32Array.of(0, 1, 0), col: Int32Array.of(1, 1, 1), value: Int32Array.of(5, 3, 7) }
 * const { row, col, value } = combineDuplicates(entries, 'max-plus')
 * console.log(row.join(), col.join(), value.join()) // 0,1 1,1 7,3
 */
export function combineDuplicates(entries: SparseEntries, semiring: Semiring): SparseEntries {
  assertEntries(entries)
  const join = joinOf(readSemiring(semiring))
  const { shape, row, col } = entries
  const positions = new Positions(row, col)
  let value: SparseEntries['value'] | undefined
  const isJoined = new Uint8Array(row.length)
  let count = row.length
  for (let e = 0; e < row.length; e++) {
    const first = positions.firstAt(e)
    if (first === e) continue
    value ??= semiring === 'plus-times' ? Float64Array.from(entries.value) : entries.value.slice()
    value[first] = join(value[first]!, value[e]!)
    isJoined[e] = 1
    count--
  }
  if (!value) return entries
  const rest = { shape, row: new Int32Array(count), col: new Int32Array(count), value }
  for (let e = 0, at = 0; e < row.length; e++) {
    if (isJoined[e]) continue
    rest.row[at] = row[e]!
    rest.col[at] = col[e]!
    value[at++] = value[e]!
  }
  return { ...rest, value: value.subarray(0, count) }
}

const [ROW_FACTOR, COL_FACTOR] = [0x9e3779b1, 0x85ebca6b]

/**
 * Positions of entries in a hash table with linear probing. A Map takes at most 2^24 positions, and a BigInt
 * or a string for each of them.
 */
class Positions {
  /** Index of the first entry with a position, plus 1; 0 for a free slot. */
  readonly #slots: Uint32Array
  readonly #shift: number
  /** Random, so that no file can hold positions that all have one slot. */
  readonly #seed = Math.floor(Math.random() * 2 ** 32)

  constructor(
    readonly row: Int32Array,
    readonly col: Int32Array,
  ) {
    const bits = Math.max(1, Math.ceil(Math.log2(2 * row.length + 1)))
    this.#slots = new Uint32Array(2 ** bits)
    this.#shift = 32 - bits
  }

  /** Returns the index of the first entry with the position of entry e, and adds entry e if it is the first. */
  firstAt(e: number): number {
    const [slots, row, col] = [this.#slots, this.row, this.col]
    const [i, j] = [row[e]!, col[e]!]
    let hash = Math.imul(i ^ this.#seed, ROW_FACTOR)
    hash = Math.imul((hash ^ (hash >>> 15)) + j, COL_FACTOR)
    hash = Math.imul(hash ^ (hash >>> 13) ^ this.#seed, ROW_FACTOR)
    let slot = (hash ^ (hash >>> 16)) >>> this.#shift
    for (let first = slots[slot]!; first > 0; first = slots[slot]!) {
      if (row[first - 1] === i && col[first - 1] === j) return first - 1
      slot = slot + 1 === slots.length ? 0 : slot + 1
    }
    slots[slot] = e + 1
    return e
  }
}
