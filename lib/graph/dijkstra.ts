/** Searches in which no edge makes a path better: the best unfinished node is final. */

import { PER_STEP, type Steps } from '../graph-core/slices.js'
import type { Wanted } from './breadth-first.js'
import { requireExact, type Search } from './tree.js'

/** Nodes by their keys, the least on top: a binary heap. */
export class NodeHeap {
  readonly #key: Float64Array
  readonly #node: Int32Array
  /** Where each node is, plus 1; 0 if it isn't in the heap. */
  readonly #place: Int32Array
  #size = 0

  constructor(key: Float64Array) {
    this.#key = key
    this.#node = new Int32Array(key.length)
    this.#place = new Int32Array(key.length)
  }

  get size(): number {
    return this.#size
  }

  clear(): void {
    for (let at = 0; at < this.#size; at++) this.#place[this.#node[at]!] = 0
    this.#size = 0
  }

  /** Adds a node, or moves one that is there and whose key has become less. */
  raise(node: number): void {
    const key = this.#key
    const nodes = this.#node
    const place = this.#place
    const own = key[node]!
    let at = place[node]! - 1
    if (at < 0) at = this.#size++
    while (at > 0) {
      const above = (at - 1) >> 1
      const other = nodes[above]!
      if (key[other]! <= own) break
      nodes[at] = other
      place[other] = at + 1
      at = above
    }
    nodes[at] = node
    place[node] = at + 1
  }

  /** Takes the node with the least key. */
  pop(): number {
    const key = this.#key
    const nodes = this.#node
    const place = this.#place
    const least = nodes[0]!
    place[least] = 0
    const size = --this.#size
    if (size === 0) return least
    const last = nodes[size]!
    const own = key[last]!
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= size) break
      if (below + 1 < size && key[nodes[below + 1]!]! < key[nodes[below]!]!) below++
      const other = nodes[below]!
      if (key[other]! >= own) break
      nodes[at] = other
      place[other] = at + 1
      at = below
    }
    nodes[at] = last
    place[last] = at + 1
    return least
  }
}

/**
 * Best paths from `root`, in rows that are monotone.
 *
 * @see E. W. Dijkstra, A note on two problems in connexion with graphs, Numerische Mathematik 1 (1959)
 */
export function* dijkstra(
  { rows, rules, tree }: Search,
  heap: NodeHeap,
  root: number,
  wanted: Wanted | null,
): Steps<void> {
  const { start, to, key: weight } = rows
  const { key, before } = tree
  const { extension, single } = rules
  const sum = extension === 'sum'
  const product = extension === 'product'
  tree.plant(root, rules)
  heap.clear()
  heap.raise(root)
  let left = wanted ? wanted.count : -1
  let looked = 0
  while (heap.size > 0) {
    const i = heap.pop()
    const own = key[i]!
    requireExact(own, rules)
    if (wanted?.is[i] && --left === 0) return
    const end = start[i + 1]!
    for (let k = start[i]!; k < end; k++) {
      const j = to[k]!
      const edge = weight[k]!
      let candidate = sum ? own + edge : product ? own * edge : own > edge ? own : edge
      if (single) candidate = Math.fround(candidate)
      // A node that is final has a key that no candidate is below.
      if (candidate < key[j]!) {
        key[j] = candidate
        before[j] = i
        heap.raise(j)
      }
    }
    looked += end - start[i]! + 1
    if (looked >= PER_STEP) {
      looked = 0
      yield
    }
  }
}
