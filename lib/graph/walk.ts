/** Paths, read from trees of them. */
import { ValueError } from '../errors.js'
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
 * The nodes from `node` up to the root of tree `index`, which is the node `root`; null if there is no way. It has an end
 * even if the trees are none: the user may have written to them, and sums of floats are rounded.
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
    throw new ValueError(
      `the next nodes between ${node} and ${root} don't lead there: they were changed, or a cycle of float weights is so ` +
        'near to no gain that rounding decides',
    )
  }
  return path
}
