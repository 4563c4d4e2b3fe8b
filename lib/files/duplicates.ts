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
  const several = placesOfSeveral(entries)
  if (several.size === 0) return entries
  const { shape } = entries
  const row = entries.row.slice()
  const col = entries.col.slice()
  const value = semiring === 'plus-times' ? Float64Array.from(entries.value) : entries.value.slice()
  /** Index of the kept entry by its position in the matrix. */
  const retained = new Map<bigint, number>()
  let count = 0
  for (let e = 0; e < row.length; e++) {
    const position = (BigInt(row[e]!) << 32n) | BigInt(col[e]!)
    const before = retained.get(position)
    if (before !== undefined) {
      value[before] = join(value[before]!, value[e]!)
      continue
    }
    if (several.has(position)) retained.set(position, count)
    row[count] = row[e]!
    col[count] = col[e]!
    value[count] = value[e]!
    count++
  }
  return {
    shape,
    row: row.subarray(0, count),
    col: col.subarray(0, count),
    value: value.subarray(0, count),
  }
}

/** Returns the positions with several entries, as row · 2^32 + column. */
function placesOfSeveral({ row, col }: SparseEntries): Set<bigint> {
  const positions = new BigUint64Array(row.length)
  // Halves are written instead of BigInts, which would be slow for 10^8 entries. The lower half comes first
  // (little-endian).
  const halves = new Uint32Array(positions.buffer)
  for (let e = 0; e < row.length; e++) {
    halves[2 * e] = col[e]!
    halves[2 * e + 1] = row[e]!
  }
  positions.sort()
  const several = new Set<bigint>()
  for (let e = 1; e < row.length; e++) {
    if (halves[2 * e] === halves[2 * e - 2] && halves[2 * e + 1] === halves[2 * e - 1])
      several.add(positions[e]!)
  }
  return several
}
