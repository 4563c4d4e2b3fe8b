/** Strongly connected components. */
import type { Rows } from './rows.js'
import { PER_SLICE, type Steps } from './slices.js'

/** Strongly connected components: nodes that reach each other are in one component. */
export interface Components {
  readonly count: number
  /**
   * Component of each node; -1 for a node outside of the part. Edges between components lead from higher to
   * lower numbers: a component comes after all components that it reaches.
   */
  readonly of: Int32Array
  /**
   * Nodes of the part, sorted by component: component c has `members` from `start[c]` until before `start[c +
   * 1]`.
   */
  readonly members: Int32Array
  readonly start: Int32Array
}

/** Part of a graph that is searched. */
export interface GraphPart {
  /** Start nodes: only nodes that they reach are searched. Default: all nodes. */
  readonly roots?: Int32Array | null
  /** Mask of nodes: only nodes with a 1 are considered. */
  readonly within?: Uint8Array | null | undefined
}

/** Index of nodes outside of the part, greater than the index of any searched node. */
const MASKED = 2 ** 31 - 1

/**
 * Finds the strongly connected components of a graph, or of a part of it.
 *
 * @see R. Tarjan, Depth-first search and linear graph algorithms, SIAM Journal on Computing 1 (1972). The recursion is a
 *   list here, because a path may be as long as there are nodes.
 */
export function* findingComponents(
  { nodes, start, to }: Rows,
  { roots = null, within = null }: GraphPart = {},
): Steps<Components> {
  const of = new Int32Array(nodes).fill(-1)
  const index = new Int32Array(nodes)
  const low = new Int32Array(nodes)
  const next = start.slice(0, nodes)
  const path = new Int32Array(nodes)
  const open = new Int32Array(nodes)
  const members = new Int32Array(nodes)
  const first = new Int32Array(nodes + 1)
  let visited = 0
  let depth = 0
  let opened = 0
  let closed = 0
  let count = 0
  let looked = 0
  if (within) for (let i = 0; i < nodes; i++) if (within[i] === 0) index[i] = MASKED
  const tries = roots ? roots.length : nodes
  for (let at = 0; at < tries; at++) {
    const root = roots ? roots[at]! : at
    if (index[root] !== 0) continue
    path[depth++] = root
    open[opened++] = root
    low[root] = index[root] = ++visited
    while (depth > 0) {
      const i = path[depth - 1]!
      const end = start[i + 1]!
      let k = next[i]!
      if (looked >= PER_SLICE) {
        looked = 0
        yield
      }
      const begin = k
      let lowest = low[i]!
      let child = -1
      for (; k < end; k++) {
        const j = to[k]!
        const seen = index[j]!
        if (seen === 0) {
          child = j
          break
        }
        if (seen < lowest && of[j] === -1) lowest = seen
      }
      looked += k - begin + 1
      low[i] = lowest
      next[i] = k
      if (child >= 0) {
        path[depth++] = child
        open[opened++] = child
        low[child] = index[child] = ++visited
        continue
      }
      depth--
      if (depth > 0) {
        const parent = path[depth - 1]!
        if (lowest < low[parent]!) low[parent] = lowest
      }
      if (lowest !== index[i]) continue
      let member: number
      do {
        member = open[--opened]!
        of[member] = count
        members[closed++] = member
      } while (member !== i)
      first[++count] = closed
    }
  }
  return { count, of, members: members.subarray(0, closed), start: first.slice(0, count + 1) }
}
