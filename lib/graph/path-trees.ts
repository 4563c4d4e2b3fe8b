/** Reads single paths from trees of best paths. */
import { ValueError } from '../errors.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import type { OperandArray } from '../storage.js'

/**
 * Trees of best paths. `data[offset + r · rootStride + i · nodeStride]` is the neighbour of node i on its
 * path to root r. It is negative for the root, and for nodes without a path to it.
 */
export interface PathTrees {
  readonly data: OperandArray
  readonly offset: number
  readonly rootStride: number
  readonly nodeStride: number
}

/** Trees that paths are read from: one per first node of paths, or one per last node. */
export interface PathForest {
  /** Whether the roots of the trees are the first nodes of paths. */
  readonly forward: boolean
  /** Whether every node has a tree; otherwise only the requested nodes have one, in their order. */
  readonly every: boolean
  /**
   * Whether no path counts, not even an empty one, because `limit` is better than the value of the empty
   * path.
   */
  readonly none?: boolean
  /** Returns the trees of batch entry `item`. Callers read only the tree with this index. */
  trees(item: number, index: number): PathTrees | Promise<PathTrees>
}

/** Row and column of the distance between two nodes. */
export interface NodePair {
  /** The numbers of the nodes. */
  readonly source: number
  readonly target: number
  readonly row: number
  readonly col: number
  readonly item: number
}

/** Returns the nodes of the path between two of `nodes` nodes; null if no path exists. */
export function readPath(
  { forward, every, none, trees }: PathForest,
  nodes: number,
  { source, target, row, col, item }: NodePair,
): number[] | null | Promise<number[] | null> {
  if (none) return null
  const [root, node] = forward ? [source, target] : [target, source]
  const index = every ? root : forward ? row : col
  const along = (tree: PathTrees) => {
    const path = walk(tree, index, root, node, nodes)
    return forward && path ? path.reverse() : path
  }
  const found = trees(item, index)
  return found instanceof Promise ? found.then(along) : along(found)
}

/**
 * Returns the nodes from `node` up to the root of tree `index`, which is the node `root`; null if no path
 * exists. It terminates even if the trees contain cycles, because the user may have written to them.
 */
export function walk(
  { data, offset, rootStride, nodeStride }: PathTrees,
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

/**
 * Number of trees that are checked together, so that neighbouring elements of a row are read together.
 */
const TOGETHER = 16

/**
 * Returns a node whose path to a root runs into a cycle, and the root; null if the entries of each root form
 * a tree. Expects a tree for every node.
 */
export function* findNextNodeCycle(
  { data, offset, rootStride, nodeStride }: PathTrees,
  nodes: number,
): Steps<[node: number, root: number] | null> {
  const copies = new Int32Array(TOGETHER * nodes)
  // Index of the walk that passed each node; `nodes` if the node leads to the root, or has no path to the
  // root.
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
      if (looked < PER_SLICE) continue
      looked = 0
      yield
    }
  }
  return null
}
