/** What leads to some nodes. */
import type { CompressedRows } from '../graph/compressed.js'
import { PER_STEP, type Steps } from '../graph/slices.js'

/** The nodes before each node: those of node j are `from[start[j]]` up to `from[start[j + 1]]`. */
export interface Before {
  readonly start: Int32Array
  readonly from: Int32Array
}

export function* reversed({ nodes, start, to }: CompressedRows): Steps<Before> {
  const first = new Int32Array(nodes + 1)
  const count = start[nodes]!
  for (let k = 0; k < count; k++) {
    if (k % PER_STEP === PER_STEP - 1) yield
    first[to[k]! + 1]!++
  }
  for (let j = 0; j < nodes; j++) first[j + 1]! += first[j]!
  const next = first.slice(0, nodes)
  const from = new Int32Array(count)
  let looked = 0
  for (let i = 0; i < nodes; i++) {
    for (let k = start[i]!; k < start[i + 1]!; k++) from[next[to[k]!]!++] = i
    looked += start[i + 1]! - start[i]! + 1
    if (looked < PER_STEP) continue
    looked = 0
    yield
  }
  return { start: first, from }
}

/** The nodes from which some of `targets` can be reached, these first, and 1 for each of them. */
export function* reaching(
  targets: Int32Array,
  { start, from }: Before,
): Steps<{ members: Int32Array; within: Uint8Array }> {
  const nodes = start.length - 1
  const within = new Uint8Array(nodes)
  const members = new Int32Array(nodes)
  let count = 0
  const add = (i: number) => {
    if (within[i] === 1) return
    within[i] = 1
    members[count++] = i
  }
  for (const target of targets) add(target)
  let looked = 0
  for (let at = 0; at < count; at++) {
    const j = members[at]!
    for (let k = start[j]!; k < start[j + 1]!; k++) add(from[k]!)
    looked += start[j + 1]! - start[j]! + 1
    if (looked < PER_STEP) continue
    looked = 0
    yield
  }
  return { members: members.subarray(0, count), within }
}
