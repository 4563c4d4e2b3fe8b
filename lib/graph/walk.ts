/** Paths, read from trees of them. */
import { ValueError } from '../errors.js'
import { PER_STEP, type Steps } from '../graph-core/slices.js'
import type { OperandArray } from '../storage.js'

/**
 * Trees of best paths: that of root r has at `data[offset + r · rootStride + i · nodeStride]` the neighbour of node i on the
 * way to the root; negative for the root, and for nodes that have no way.
 */
export interface Trees {
  readonly data: OperandArray
  readonly offset: number
  readonly rootStride: number
  readonly nodeStride: number
}

/**
 * The nodes from `node` up to the root of tree `index`, which is the node `root`; null if there is no way. It has an end
 * even if the trees are none: the user may have written to them.
 */
export function walk(
  { data, offset, rootStride, nodeStride }: Trees,
  index: number,
  root: number,
  node: number,
  nodes: number,
): number[] | null {
  const path = [node]
  for (let at = node; at !== root; path.push(at)) {
    at = data[offset + index * rootStride + at * nodeStride]!
    if (at < 0) return null
    if (path.length < nodes && at < nodes) continue
    throw new ValueError(`the next nodes between ${node} and ${root} don't lead there: they were changed`)
  }
  return path
}

/** Trees are looked at together, so that what lies in one row of a matrix is read at once. */
const TOGETHER = 16

/** A node from which the way to the root goes round in a cycle, and the root; null if all trees, one for each node, are trees. */
export function* findingRound(
  { data, offset, rootStride, nodeStride }: Trees,
  nodes: number,
): Steps<[node: number, root: number] | null> {
  const copies = new Int32Array(TOGETHER * nodes)
  // By which walk a node was passed; by all of them if it leads to the root, or has no way.
  const passed = new Int32Array(nodes)
  let looked = 0
  for (let first = 0; first < nodes; first += TOGETHER) {
    const count = Math.min(TOGETHER, nodes - first)
    for (let node = 0; node < nodes; node++) {
      const begin = offset + first * rootStride + node * nodeStride
      for (let at = 0; at < count; at++) copies[at * nodes + node] = data[begin + at * rootStride]!
    }
    for (let at = 0; at < count; at++) {
      const above = copies.subarray(at * nodes, (at + 1) * nodes)
      passed.fill(-1)
      passed[first + at] = nodes
      for (let from = 0; from < nodes; from++) {
        for (let node = from; node >= 0 && passed[node] !== nodes; node = above[node]!) {
          if (passed[node] === from) return [from, first + at]
          passed[node] = from
        }
        for (let node = from; node >= 0 && passed[node] === from; node = above[node]!) passed[node] = nodes
      }
      looked += nodes
      if (looked < PER_STEP) continue
      looked = 0
      yield
    }
  }
  return null
}
