/** Topological orders of graphs, or a cycle of the graph. */
import { findingComponents } from './components.js'
import type { Rows } from './rows.js'
import { PER_SLICE, type Steps } from './slices.js'

/** An order of all nodes, or the nodes of a cycle that makes it impossible. */
export type TopologicalOrder =
  | { readonly order: Int32Array; readonly cycle: null }
  | { readonly order: null; readonly cycle: number[] }

/** Orders nodes so that each follows the nodes to which its edges lead. */
export function* findingOrder(rows: Rows): Steps<TopologicalOrder> {
  const { nodes, start, to } = rows
  // Components that a component reaches precede it.
  const { count, of, members } = yield* findingComponents(rows)
  let looked = 0
  for (let i = 0; i < nodes; i++) {
    if (++looked % PER_SLICE === 0) yield
    for (let k = start[i]!; k < start[i + 1]!; k++) {
      if (++looked % PER_SLICE === 0) yield
      if (to[k] === i) return { order: null, cycle: [i] }
    }
  }
  return count === nodes ? { order: members, cycle: null } : { order: null, cycle: cycleOf(rows, of) }
}

/** Returns a cycle. Some component of the rows must have more than one node. */
function cycleOf({ nodes, start, to }: Rows, of: Int32Array): number[] {
  const inside = (i: number) => {
    for (let k = start[i]!; k < start[i + 1]!; k++) if (of[to[k]!] === of[i]) return to[k]!
    return -1
  }
  let node = 0
  while (node < nodes && inside(node) < 0) node++
  const position = new Map<number, number>()
  const path: number[] = []
  for (; !position.has(node); node = inside(node)) {
    position.set(node, path.length)
    path.push(node)
  }
  return path.slice(position.get(node))
}
