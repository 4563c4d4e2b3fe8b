/** What is made of the distances of each source, in place of them. */
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { PER_STEP, type Steps } from '../graph-core/slices.js'
import { MAX_DIMENSION } from '../matrix.js'
import { type Option, option } from '../options.js'
import type { ElementArray } from '../storage.js'
import type { Query } from './search.js'

/** So many of the best targets of each source: `{ nearest: 5 }`, or the text 'nearest 5'. */
export type Nearest = `nearest ${number}` | { readonly nearest: number }

/** What {@link reducePaths} makes of the distances of each source. */
export type Reduction = 'eccentricity' | 'mean' | Nearest

export interface ReadReduction {
  readonly kind: 'eccentricity' | 'mean' | 'nearest'
  /** How many numbers there are for each source. */
  readonly most: number
}

/** What was made of distances: a row for each source. */
export interface Reduced {
  readonly values: Float64Array
  /** How many targets the numbers of each source are made of. */
  readonly reached: Int32Array
  /** The nodes that the values are of, if they are the nearest. */
  readonly nodes: Int32Array | null
}

function readReduction(value: unknown, name: string): ReadReduction {
  if (value === 'eccentricity' || value === 'mean') return { kind: value, most: 1 }
  const asked = typeof value === 'object' && value !== null ? value : {}
  const [, digits] = /^nearest[ =](\d{1,10})$/.exec(String(value)) ?? []
  const most = digits === undefined ? 'nearest' in asked && asked.nearest : Number(digits)
  const isAlone = digits !== undefined || Object.keys(asked).length === 1
  if (isAlone && Number.isInteger(most) && Number(most) >= 1 && Number(most) <= MAX_DIMENSION) {
    return { kind: 'nearest', most: Number(most) }
  }
  throw new OptionError(
    `option ${name} must be 'eccentricity', 'mean' or { nearest: k } with a whole number k from 1, but it is ${show(value)}`,
  )
}

/** On the command line it is a text. */
export const reduction: Option<ReadReduction> = option({ kind: 'eccentricity', most: 1 }, readReduction, {
  commandLine: {
    flag: '--reduce <what>',
    summary:
      'a number for each node in place of distances: eccentricity or mean; or nearest=5, its nearest nodes',
  },
})

/**
 * Makes of rows of distances what is made of them, and writes it.
 *
 * @param first - the index of the first row among the sources.
 */
export function* reducingRows(
  rows: ElementArray,
  first: number,
  { rules, nodes, sources, targets }: Query,
  { kind, most }: ReadReduction,
  into: Reduced,
): Steps<void> {
  const cols = targets?.length ?? nodes
  const sign = rules.maximizes ? -1 : 1
  const nearest = new NearestOfRow(most)
  for (let at = 0, row = first; at < rows.length; at += cols, row++) {
    const source = sources ? sources[row]! : row
    let [count, sum, worst] = [0, 0, Number.NEGATIVE_INFINITY]
    nearest.begin()
    for (let col = 0; col < cols; col++) {
      if (col % PER_STEP === PER_STEP - 1) yield
      const value = rows[at + col]!
      const target = targets ? targets[col]! : col
      if (value === rules.zero || target === source) continue
      const key = sign * value
      count++
      if (kind === 'nearest') nearest.add(key, target)
      else if (kind === 'mean') sum += value
      else if (key > worst) worst = key
    }
    if (kind === 'nearest') {
      into.reached[row] = nearest.count
      nearest.write(into, row, sign)
    } else if (count > 0) {
      into.reached[row] = count
      // An addition, because zero has no sign.
      into.values[row] = (kind === 'mean' ? sum / count : sign * worst) + 0
    }
    yield
  }
}

/** The nearest targets of a row, which come by their numbers: of equal ones the first stays. */
class NearestOfRow {
  count = 0
  readonly #most: number
  readonly #keys: number[] = []
  readonly #nodes: number[] = []

  constructor(most: number) {
    this.#most = most
  }

  begin(): void {
    this.count = 0
  }

  add(key: number, node: number): void {
    const [keys, nodes] = [this.#keys, this.#nodes]
    if (this.count === this.#most && key >= keys[this.count - 1]!) return
    let at = this.count === this.#most ? this.count - 1 : this.count++
    for (; at > 0 && keys[at - 1]! > key; at--) {
      keys[at] = keys[at - 1]!
      nodes[at] = nodes[at - 1]!
    }
    keys[at] = key
    nodes[at] = node
  }

  write({ values, nodes }: Reduced, row: number, sign: number): void {
    for (let at = 0; at < this.count; at++) {
      values[row * this.#most + at] = sign * this.#keys[at]! + 0
      nodes![row * this.#most + at] = this.#nodes[at]!
    }
  }
}
