/** What a search from one node finds. */
import { OutOfMemoryError, OverflowError } from '../errors.js'
import type { KeyedRows } from './keyed.js'
import type { PathRules } from './rules.js'

/** The best paths from a root: a tree. */
export class Tree {
  /** The key of the best path to each node. */
  readonly key: Float64Array
  /** The node before each on that path; -1 for the root, and for nodes that aren't reached. */
  readonly before: Int32Array

  constructor(nodes: number) {
    try {
      this.key = new Float64Array(nodes)
      this.before = new Int32Array(nodes)
    } catch (error) {
      throw new OutOfMemoryError(`there is no memory for the search of a graph of ${nodes} nodes`, {
        cause: error,
      })
    }
  }

  /** Only the root is reached, by the empty path. */
  plant(root: number, { unreached, startKey }: PathRules): void {
    this.key.fill(unreached)
    this.before.fill(-1)
    this.key[root] = startKey
  }
}

/** A search from one node after another. */
export interface Search {
  readonly rows: KeyedRows
  readonly rules: PathRules
  readonly tree: Tree
}

/** Throws OverflowError for a sum of integers that isn't exact. */
export function requireExact(key: number, { exact }: PathRules): void {
  if (!exact || Number.isSafeInteger(key)) return
  throw new OverflowError(
    'the sum of the weights of a path is beyond 2^53, so it is not exact: scale the weights, or use a Float64Array, whose sums are rounded',
  )
}
