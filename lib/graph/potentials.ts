/** Searches from many nodes if edges may make paths better: potentials take that from the edges, once for all searches. */

import type { Components } from '../graph-core/components.js'
import { PER_STEP, type Steps } from '../graph-core/slices.js'
import type { Wanted } from './breadth-first.js'
import { dijkstra, NodeHeap } from './dijkstra.js'
import type { FoundCycle, LabelCorrecting } from './label-correcting.js'
import type { Search } from './tree.js'

/** From so many searches on the potentials are worth one more: measured on networks of 2000 to 100 000 nodes. */
const FEWEST = 3

/** Whether it takes less time than {@link LabelCorrecting} from each node, and is exact. */
export function potentialsPay({ rows, rules }: Search, components: Components, searches: number): boolean {
  if (!rules.exact || searches < FEWEST) return false
  const { count, members } = components
  // Without cycles each edge is looked at once anyway.
  if (2 * (members.length - count) < members.length) return false
  let largest = 0
  for (const key of rows.key) if (Math.abs(key) > largest) largest = Math.abs(key)
  // A key, and the potentials of two nodes.
  return 3 * largest * rows.nodes <= Number.MAX_SAFE_INTEGER
}

/**
 * Makes the edges' keys those by which they differ from the potentials of their ends. None is negative, and best paths stay the
 * best. A cycle that gains is returned instead; it is reached from a root, as all components are.
 *
 * @see D. B. Johnson, Efficient algorithms for shortest paths in sparse networks, Journal of the ACM 24 (1977)
 */
export function* reweight(
  { rows, tree }: Search,
  { of }: Components,
  labels: LabelCorrecting,
): Steps<Potentials | FoundCycle> {
  const cycle = yield* labels.fromAll()
  if (cycle) return cycle
  const potential = tree.key.slice()
  const { nodes, start, to, key } = rows
  let looked = 0
  for (let i = 0; i < nodes; i++) {
    const end = start[i + 1]!
    for (let k = start[i]!; k < end; k++) {
      // What isn't looked at leads to no node that was asked for.
      key[k] = of[to[k]!]! < 0 ? Number.POSITIVE_INFINITY : key[k]! + potential[i]! - potential[to[k]!]!
    }
    looked += end - start[i]! + 1
    if (looked < PER_STEP) continue
    looked = 0
    yield
  }
  return new Potentials(potential, tree.key)
}

/** What edges were made shorter by. */
export class Potentials {
  readonly #potential: Float64Array
  readonly #heap: NodeHeap

  constructor(potential: Float64Array, key: Float64Array) {
    this.#potential = potential
    this.#heap = new NodeHeap(key)
  }

  /** Best paths from `root`, with the keys that they have in the graph as it was. */
  *search(state: Search, root: number, wanted: Wanted | null): Steps<void> {
    yield* dijkstra(state, this.#heap, root, wanted)
    const { key } = state.tree
    const own = this.#potential[root]!
    for (let node = 0; node < key.length; node++) {
      if (node % PER_STEP === PER_STEP - 1) yield
      key[node]! += this.#potential[node]! - own
    }
  }
}
