/** Compressed sparse rows: the edges that leave each node, next to each other. */
import { OutOfMemoryError } from '../errors.js'
import type { ElementArray } from '../storage.js'
import type { Edges } from './edges.js'

/** The edges of node i are `start[i]` up to `start[i + 1]` of the other arrays, by ascending `to`, each `to` once. */
export interface CompressedRows<Data extends ElementArray = ElementArray> {
  readonly nodes: number
  readonly start: Int32Array
  readonly to: Int32Array
  readonly weight: Data
  /** The index of the edge in the edge list; the first of those that are equally good. */
  readonly edge: Int32Array
}

/** What a semiring is to a graph. */
export interface EdgeRules {
  /** The weight of no edge. */
  readonly zero: number
  /** Whether ⊕ is a maximum; a minimum if not. */
  readonly maximizes: boolean
}

/** Where each key's entries begin, by counting them: the first step of a stable sort. */
function starts(keys: Int32Array, count: number): Int32Array {
  const start = new Int32Array(count + 1)
  for (let e = 0; e < keys.length; e++) start[keys[e]! + 1]!++
  for (let i = 0; i < count; i++) start[i + 1]! += start[i]!
  return start
}

/** The edges in the order of their rows and columns; among equals as in the list. */
function byRowAndColumn(edges: Edges): Int32Array {
  const { nodes, from, to } = edges
  const columns = starts(to, nodes)
  const byColumn = new Int32Array(to.length)
  for (let e = 0; e < to.length; e++) byColumn[columns[to[e]!]!++] = e
  const rows = starts(from, nodes)
  const order = new Int32Array(to.length)
  for (let k = 0; k < byColumn.length; k++) {
    const e = byColumn[k]!
    order[rows[from[e]!]!++] = e
  }
  return order
}

/** Sorts the edges into rows, joins parallel ones by ⊕ and leaves out those whose weight is zero. */
export function compressRows(edges: Edges, rules: EdgeRules): CompressedRows {
  const { nodes, from, to, weight } = edges
  try {
    const order = byRowAndColumn(edges)
    const start = new Int32Array(nodes + 1)
    let count = 0
    let row = -1
    let column = -1
    // The kept edges are written over `order`: there are never more of them than have been read.
    for (let k = 0; k < order.length; k++) {
      const e = order[k]!
      const value = weight[e]!
      if (value === rules.zero) continue
      const i = from[e]!
      const j = to[e]!
      if (i === row && j === column) {
        const best = weight[order[count - 1]!]!
        if (rules.maximizes ? value > best : value < best) order[count - 1] = e
        continue
      }
      row = i
      column = j
      order[count++] = e
      start[i + 1]!++
    }
    for (let i = 0; i < nodes; i++) start[i + 1]! += start[i]!
    const edge = order.slice(0, count)
    const targets = new Int32Array(count)
    const values = new (weight.constructor as Int32ArrayConstructor)(count)
    for (let k = 0; k < count; k++) {
      targets[k] = to[edge[k]!]!
      values[k] = weight[edge[k]!]!
    }
    return { nodes, start, to: targets, weight: values, edge }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new OutOfMemoryError(`there is no memory for a graph of ${nodes} nodes and ${to.length} edges`, {
      cause: error,
    })
  }
}
