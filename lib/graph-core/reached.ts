/** Sets of nodes: those that are reachable from other nodes, and those of marks. */
import type { Rows } from './rows.js'
import { PER_SLICE, type Steps } from './slices.js'

/** Returns the nodes whose mark is 1, ascending. */
export function* markedNodes(marks: Uint8Array): Steps<Int32Array> {
  const found = new Int32Array(marks.length)
  let count = 0
  for (let node = 0; node < marks.length; node++) {
    if (node % PER_SLICE === PER_SLICE - 1) yield
    if (marks[node] === 1) found[count++] = node
  }
  return found.slice(0, count)
}

export interface Reached {
  /** Reached nodes, in order of their distance in edges. */
  readonly members: Int32Array
  /** Mask of nodes: 1 for reached nodes. */
  readonly within: Uint8Array
}

/**
 * Finds the nodes that `roots` reach, including `roots`. With transposed rows, finds the nodes that reach
 * `roots`.
 */
export function* findReachable({ nodes, start, to }: Rows, roots: Int32Array): Steps<Reached> {
  const within = new Uint8Array(nodes)
  const members = new Int32Array(nodes)
  let count = 0
  const add = (node: number) => {
    if (within[node] === 1) return
    within[node] = 1
    members[count++] = node
  }
  for (const root of roots) add(root)
  let looked = 0
  for (let at = 0; at < count; at++) {
    const i = members[at]!
    const end = start[i + 1]!
    for (let k = start[i]!; k < end; k++) add(to[k]!)
    looked += end - start[i]! + 1
    if (looked < PER_SLICE) continue
    looked = 0
    yield
  }
  return { members: members.subarray(0, count), within }
}
