/** Reduces rows of distances. */
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import type { ElementArray } from '../storage.js'
import type { ReadReduction, Reduced } from './reduction.js'
import type { Query } from './search.js'

/**
 * Reduces rows of distances, and stores the results.
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
      if (col % PER_SLICE === PER_SLICE - 1) yield
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
      // Adding 0 converts −0 to 0.
      into.values[row] = (kind === 'mean' ? sum / count : sign * worst) + 0
    }
    yield
  }
}

/**
 * Nearest targets of a row. Targets arrive in the order of their indices, and the first of equally near
 * targets is kept.
 */
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
