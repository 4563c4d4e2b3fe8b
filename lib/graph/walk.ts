/** Paths, read from trees of them. */
import type { ElementArray } from '../storage.js'

/**
 * Trees of best paths: that of root r has at `data[offset + r · rootStride + i · nodeStride]` the neighbour of node i on the
 * way to the root; negative for the root, and for nodes that have no way.
 */
export interface Trees {
  readonly data: ElementArray
  readonly offset: number
  readonly rootStride: number
  readonly nodeStride: number
}

/**
 * The nodes from `node` up to the root of tree `index`, which is the node `root`; null if there is no way. A way has no more
 * nodes than there are: what isn't a tree, which only rounded sums can make, has no end.
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
    if (path.length > nodes) {
      throw new Error(
        `the next nodes from ${node} to ${root} go round in a cycle: sums of floats are rounded, and here the cycle's weight is too near to no gain`,
      )
    }
  }
  return path
}
