/** Edge lists whose nodes get their numbers in the order in which their names come. */

import { show } from '../describe.js'
import { newArray } from '../elements.js'
import { DTypeError, OutOfMemoryError, ValueError } from '../errors.js'
import type { EdgeList } from '../graph-core/edges.js'
import { addon } from '../native.js'

/** A graph whose nodes have names, as the readers make it. */
export interface NamedGraph<Key = string> extends EdgeList<Int32Array | Float64Array> {
  /** The name of each node. */
  readonly keys: readonly Key[]
  /** The number of the node that each edge leaves. */
  readonly from: Int32Array
  /** The number of the node that each edge enters. */
  readonly to: Int32Array
  readonly weight: Int32Array | Float64Array
}

const BYTES_PER_EDGE = 16

export class NamedEdges<Key> {
  readonly #keys: Key[] = []
  readonly #numbers = new Map<Key, number>()
  #from = new Int32Array(64)
  #to = new Int32Array(64)
  #weight = new Float64Array(64)
  #count = 0
  #integral = true

  /** The number of a node, which is new if it wasn't named before. */
  node(key: Key): number {
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const node = this.#keys.length
    this.#keys.push(key)
    this.#numbers.set(key, node)
    return node
  }

  /** Bytes of the edges. */
  get bytes(): number {
    return this.#count * BYTES_PER_EDGE
  }

  add(from: Key, to: Key, weight: number): void {
    if (this.#count === this.#from.length) this.#grow()
    const e = this.#count++
    this.#from[e] = this.node(from)
    this.#to[e] = this.node(to)
    this.#weight[e] = weight
    if ((weight | 0) !== weight) this.#integral = false
  }

  end(): NamedGraph<Key> {
    const weight = this.#weight.subarray(0, this.#count)
    const type = addon.dataTypes.indexOf(this.#integral ? 'int32' : 'float64')
    const kept = newArray(type, this.#count) as Int32Array | Float64Array
    kept.set(weight)
    return {
      nodes: this.#keys.length,
      keys: this.#keys,
      from: this.#from.slice(0, this.#count),
      to: this.#to.slice(0, this.#count),
      weight: kept,
    }
  }

  #grow(): void {
    const length = 2 * this.#count
    try {
      const [from, to, weight] = [new Int32Array(length), new Int32Array(length), new Float64Array(length)]
      from.set(this.#from)
      to.set(this.#to)
      weight.set(this.#weight)
      this.#from = from
      this.#to = to
      this.#weight = weight
    } catch (error) {
      throw new OutOfMemoryError(`there is no memory for ${length} edges`, { cause: error })
    }
  }
}

/** A weight that an edge of the user's graph has. Throws DTypeError and ValueError for what isn't one; `edge` gives its name. */
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
