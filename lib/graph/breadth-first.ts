/** Searches by the number of edges, which look at nothing else. */
import { PER_STEP, type Steps } from '../graph-core/slices.js'
import type { Search } from './tree.js'

/** The nodes that are to be reached; a search ends when it has all of them. */
export interface Wanted {
  /** 1 for each. */
  readonly is: Uint8Array
  readonly count: number
}

/** Paths of the fewest edges, in a semiring in which all paths are equal. */
export function* breadthFirst(
  { rows, rules, tree }: Search,
  queue: Int32Array,
  root: number,
  wanted: Wanted | null,
): Steps<void> {
  const { start, to, key: weight } = rows
  const { key, before } = tree
  const { unreached } = rules
  tree.plant(root, rules)
  let left = wanted ? wanted.count : -1
  if (wanted?.is[root] && --left === 0) return
  let length = 0
  let looked = 0
  queue[length++] = root
  for (let head = 0; head < length; head++) {
    const i = queue[head]!
    const end = start[i + 1]!
    for (let k = start[i]!; k < end; k++) {
      const j = to[k]!
      if (key[j] !== unreached) continue
      key[j] = weight[k]!
      before[j] = i
      queue[length++] = j
      if (wanted?.is[j] && --left === 0) return
    }
    looked += end - start[i]! + 1
    if (looked >= PER_STEP) {
      looked = 0
      yield
    }
  }
}
