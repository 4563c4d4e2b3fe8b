/** Compressed sparse rows: the edges that leave each node, next to each other. */
import { OutOfMemoryError } from '../errors.js'
import type { ElementArray } from '../storage.js'
import type { Edges } from './edges.js'
import { PER_STEP, type Steps } from './slices.js'

/** The edges of node i are `start[i]` up to `start[i + 1]` of the other arrays, in the order of the edge list. */
export interface CompressedRows<Data extends ElementArray = ElementArray> {
  readonly nodes: number
  readonly start: Int32Array
  readonly to: Int32Array
  readonly weight: Data
  /** The index of the edge in the edge list. */
  readonly edge: Int32Array
}

/** Sorts the edges into rows, and leaves out those whose weight is `zero`. */
export function* compressingRows(edges: Edges, zero: number): Steps<CompressedRows> {
  const { nodes, from, to, weight } = edges
  try {
    const start = new Int32Array(nodes + 1)
    for (let e = 0; e < from.length; e++) {
      if (e % PER_STEP === PER_STEP - 1) yield
      if (weight[e] !== zero) start[from[e]! + 1]!++
    }
    for (let i = 0; i < nodes; i++) start[i + 1]! += start[i]!
    const count = start[nodes]!
    const next = start.slice(0, nodes)
    const targets = new Int32Array(count)
    const edge = new Int32Array(count)
    const values = new (weight.constructor as Int32ArrayConstructor)(count)
    for (let e = 0; e < from.length; e++) {
      if (e % PER_STEP === PER_STEP - 1) yield
      const value = weight[e]!
      if (value === zero) continue
      const k = next[from[e]!]!++
      targets[k] = to[e]!
      values[k] = value
      edge[k] = e
    }
    return { nodes, start, to: targets, weight: values, edge }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new OutOfMemoryError(`there is no memory for a graph of ${nodes} nodes and ${to.length} edges`, {
      cause: error,
    })
  }
}
