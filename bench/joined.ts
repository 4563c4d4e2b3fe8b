/** Entries of a sparse file as a product reads them: those of one place joined by ⊕. */
import type { SparseEntries } from '../lib/files.js'
import type { Semiring } from '../lib/index.js'

/** x ⊕ y; NaN if one of them is. */
function join(semiring: Semiring, x: number, y: number): number {
  if (semiring === 'plus-times') return x + y
  return semiring.startsWith('min') ? Math.min(x, y) : Math.max(x, y)
}

/** The same matrix with one entry per place, in the order of the first ones. */
export function joinEntries(entries: SparseEntries, semiring: Semiring): SparseEntries {
  const { shape, row, col, value } = entries
  const several = placesOfSeveral(entries)
  if (several.size === 0) return entries
  /** Where the entry of such a place is kept. */
  const kept = new Map<bigint, number>()
  const joined = { row: row.slice(), col: col.slice(), value: value.slice() }
  let count = 0
  for (let e = 0; e < row.length; e++) {
    const place = (BigInt(row[e]!) << 32n) | BigInt(col[e]!)
    const before = kept.get(place)
    if (before !== undefined) {
      joined.value[before] = join(semiring, joined.value[before]!, value[e]!)
      continue
    }
    if (several.has(place)) kept.set(place, count)
    joined.row[count] = row[e]!
    joined.col[count] = col[e]!
    joined.value[count] = value[e]!
    count++
  }
  return {
    shape,
    row: joined.row.subarray(0, count),
    col: joined.col.subarray(0, count),
    value: joined.value.subarray(0, count),
  }
}

/** Places that have several entries, as row · 2^32 + column. */
function placesOfSeveral({ row, col }: SparseEntries): Set<bigint> {
  const places = new BigUint64Array(row.length)
  // Not made of BigInts: there may be 10^8 entries. The lower half comes first on every platform of Node.js.
  const halves = new Uint32Array(places.buffer)
  for (let e = 0; e < row.length; e++) {
    halves[2 * e] = col[e]!
    halves[2 * e + 1] = row[e]!
  }
  places.sort()
  const several = new Set<bigint>()
  for (let e = 1; e < row.length; e++) {
    if (halves[2 * e] === halves[2 * e - 2] && halves[2 * e + 1] === halves[2 * e - 1])
      several.add(places[e]!)
  }
  return several
}
