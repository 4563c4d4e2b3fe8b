/**
 * Cases that combine several dimensions: any two values of different dimensions occur together in at least
 * one case. The greedy construction is that of D. Cohen, S. Dalal, M. Fredman and G. Patton, The AETG System
 * (1997), without its random choices.
 */

/** The values of each dimension by its name; at least two dimensions. */
export type Dimensions = Record<string, readonly unknown[]>

/** One value of each dimension. */
export type Crossed<D extends Dimensions> = { [Name in keyof D]: D[Name][number] }

/**
 * Returns cases in which every pair of values of any two dimensions occurs.
 *
 * The cases depend on the dimensions alone. Their number is near the product of the sizes of the two largest dimensions, which
 * is the least possible. No cases result if a dimension has no values.
 */
export function pairwise<D extends Dimensions>(dimensions: D): Crossed<D>[] {
  const names = Object.keys(dimensions)
  const sizes = names.map((name) => dimensions[name]!.length)
  if (sizes.includes(0)) return []
  const missing = new MissingPairs(sizes)
  const rows: number[][] = []
  while (rows.length === 0 || missing.count > 0) {
    const row = nextRow(sizes, missing, rows.length)
    missing.remove(row)
    rows.push(row)
  }
  return rows.map(
    (row) => Object.fromEntries(names.map((name, at) => [name, dimensions[name]![row[at]!]])) as Crossed<D>,
  )
}

/** Pairs of values that don't occur in a case yet; dimensions and values are indices. */
class MissingPairs {
  count = 0
  readonly #pairs: boolean[][][][]

  constructor(sizes: readonly number[]) {
    this.#pairs = sizes.map((size, x) =>
      sizes.map((other, y) =>
        Array.from({ length: size }, () => {
          if (x < y) this.count += other
          return new Array<boolean>(other).fill(x !== y)
        }),
      ),
    )
  }

  has(x: number, i: number, y: number, j: number): boolean {
    return this.#pairs[x]![y]![i]![j]!
  }

  /** The number of missing pairs of value `i` of dimension `x` with the values that a row has already, or with all values. */
  with(x: number, i: number, row?: readonly (number | undefined)[]): number {
    let count = 0
    this.#pairs[x]!.forEach((pairs, y) => {
      if (!row) count += pairs[i]!.filter(Boolean).length
      else if (row[y] !== undefined && pairs[i]![row[y]]) count++
    })
    return count
  }

  remove(row: readonly number[]): void {
    for (let x = 0; x < row.length; x++) {
      for (let y = 0; y < row.length; y++) {
        const pairs = this.#pairs[x]![y]![row[x]!]!
        if (x < y && pairs[row[y]!]) this.count--
        pairs[row[y]!] = false
      }
    }
  }
}

/**
 * Returns a case that begins with the value that has most missing pairs. Each further value covers as many
 * missing pairs as possible.
 */
function nextRow(sizes: readonly number[], missing: MissingPairs, turn: number): number[] {
  const row = new Array<number | undefined>(sizes.length).fill(undefined)
  const best = (x: number, count: (i: number) => number) => {
    let found = 0
    let most = -1
    // Values with equally many missing pairs alternate, so that their pairs with later dimensions differ.
    for (let step = 0; step < sizes[x]!; step++) {
      const i = (step + turn) % sizes[x]!
      const here = count(i)
      if (here > most) [found, most] = [i, here]
    }
    return { found, most }
  }
  const starts = sizes.map((_, x) => ({ x, ...best(x, (i) => missing.with(x, i)) }))
  const start = starts.reduce((one, other) => (other.most > one.most ? other : one))
  row[start.x] = start.found
  // Large dimensions first, because they have the most pairs.
  const order = sizes.map((_, x) => x).filter((x) => x !== start.x)
  order.sort((x, y) => sizes[y]! - sizes[x]! || x - y)
  for (const x of order) {
    // Ties are resolved by the number of missing pairs with dimensions that have no value yet.
    const scale = 1 + sizes.reduce((sum, size) => sum + size, 0)
    row[x] = best(x, (i) => missing.with(x, i, row) * scale + missing.with(x, i)).found
  }
  return row as number[]
}
