/** Strongly connected components. */
import type { CompressedRows } from './compressed.js'

/** Nodes that reach each other are in one component. */
export interface Components {
  readonly count: number
  /**
   * The component of each node. They are numbered so that edges between components lead from higher numbers to lower
   * ones: a component comes after all that it reaches.
   */
  readonly of: Int32Array
  /** All nodes, by component: those of component c are `start[c]` up to `start[c + 1]` of `members`. */
  readonly members: Int32Array
  readonly start: Int32Array
}

/**
 * The strongly connected components of a graph.
 *
 * @see R. Tarjan, Depth-first search and linear graph algorithms, SIAM Journal on Computing 1 (1972). The recursion is a
 *   list here, because a path may be as long as there are nodes.
 */
export function strongComponents({
  nodes,
  start,
  to,
}: Pick<CompressedRows, 'nodes' | 'start' | 'to'>): Components {
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
  for (let root = 0; root < nodes; root++) {
    if (index[root] !== 0) continue
    path[depth++] = root
    open[opened++] = root
    low[root] = index[root] = ++visited
    while (depth > 0) {
      const i = path[depth - 1]!
      const end = start[i + 1]!
      let k = next[i]!
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
  return { count, of, members, start: first.slice(0, count + 1) }
}
