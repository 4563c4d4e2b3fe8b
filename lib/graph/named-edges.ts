/** Builds edge lists whose nodes are numbered in the order of the first occurrence of their names. */

import { show } from '../describe.js'
import { DTypeError, ValueError } from '../errors.js'
import { EntryList } from '../files/entries.js'
import { assertWithinLimit } from '../files/memory.js'
import type { EdgeList } from '../graph-core/edges.js'
import type { Steps } from '../graph-core/slices.js'
import { KeyNumbers } from './key-numbers.js'

/** Graph that {@link readGraph} and {@link parseGraph} return. */
export interface ReadEdgeList extends EdgeList<Int32Array | Float64Array> {
  /** The node that each edge leaves, from 0. */
  readonly from: Int32Array
  /** The node that each edge enters, from 0. */
  readonly to: Int32Array
  readonly weight: Int32Array | Float64Array
  /**
   * Number of tokens of each edge, if tokens are requested and the text has them: see `TokenEdgeList` of
   * mpmml/algebra.
   */
  readonly tokens?: Int32Array
}

/** Graph whose nodes have names, returned by {@link readGraph} and {@link parseGraph}. */
export interface NamedGraph<Key = string> extends EdgeList<Int32Array | Float64Array> {
  /** The name of each node. */
  readonly keys: readonly Key[]
  /** The number of the node that each edge leaves. */
  readonly from: Int32Array
  /** The number of the node that each edge enters. */
  readonly to: Int32Array
  readonly weight: Int32Array | Float64Array
}

/** Bytes of a name, in addition to its characters. */
const BYTES_PER_NAME = 64

export class NamedEdges<Key> {
  readonly #numbers = new KeyNumbers<Key>()
  readonly #list: EntryList
  readonly #name: string
  readonly #maxBytes: number
  #nameBytes = 0

  /** @param name - name of the graph in errors. */
  constructor(name = 'the graph', maxBytes = Number.POSITIVE_INFINITY) {
    this.#name = name
    this.#maxBytes = maxBytes
    this.#list = new EntryList(name, true, maxBytes)
  }

  has(key: Key): boolean {
    return this.#numbers.has(key)
  }

  /** Returns the index of a node. A name that hasn't occurred before gets the next index. */
  node(key: Key): number {
    const next = this.#numbers.keys.length
    const node = this.#numbers.number(key)
    if (node < next) return node
    this.#nameBytes += BYTES_PER_NAME + (typeof key === 'string' ? key.length : 0)
    if (this.#nameBytes > this.#maxBytes) assertWithinLimit(this.#nameBytes, this.#maxBytes, this.#name)
    return node
  }

  /** Adds an edge between nodes by their numbers. */
  join(from: number, to: number, weight: number): void {
    this.#list.add(from, to, weight)
  }

  *end(): Steps<NamedGraph<Key>> {
    const { keys } = this.#numbers
    const { row, col, value } = yield* this.#list.end(keys.length, keys.length, true)
    return { nodes: keys.length, keys, from: row, to: col, weight: value }
  }
}

/**
 * Returns the weight of an edge of the user's graph. Throws DTypeError or ValueError if `value` is no weight;
 * `edge` returns the name of the edge for messages.
 */
export function edgeWeight(value: unknown, edge: () => string): number {
  if (typeof value !== 'number' && typeof value !== 'bigint') {
    throw new DTypeError(
      `the weight of ${edge()} must be a number, but it is ${show(value)}: name another attribute by option weight`,
    )
  }
  const weight = Number(value)
  if (Number.isNaN(weight))
    throw new ValueError(`the weight of ${edge()} is NaN, which no path can be compared with`)
  if (typeof value === 'bigint' && !(Number.isFinite(weight) && BigInt(weight) === value)) {
    throw new ValueError(
      `the weight of ${edge()} is ${value}, which no float64 holds exactly: scale the weights, or make numbers of them`,
    )
  }
  return weight
}
