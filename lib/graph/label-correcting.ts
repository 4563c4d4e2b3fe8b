/** Searches in which edges may make paths better that have reached a node before. */
import type { Components } from '../graph-core/components.js'
import { PER_STEP, type Steps } from '../graph-core/slices.js'
import { exactWeight } from './cycles.js'
import { bestKey } from './keyed.js'
import { NodeQueue } from './node-queue.js'
import { Preorder } from './preorder.js'
import { edgeGains } from './rules.js'
import { requireExact, type Search } from './tree.js'

/** The nodes of a cycle that gains, in the direction of the rows, and its weight. */
export interface FoundCycle {
  readonly nodes: number[]
  readonly weight: number
}

/**
 * Best paths, one strong component after another: what a component gets from those before it is final. A component of one
 * node costs its edges, so in a graph without cycles each edge is looked at once. Others are searched by Bellman and Ford with
 * a queue; a node that becomes better takes all that hang below it out of the tree, and if it hangs below itself there is
 * a cycle that gains.
 *
 * @see R. E. Tarjan, Shortest paths, AT&T Bell Laboratories (1981); B. V. Cherkassky, A. V. Goldberg, Negative-cycle
 *   detection algorithms, Mathematical Programming 85 (1999)
 */
export class LabelCorrecting {
  readonly #search: Search
  readonly #components: Components
  /** The tree within a component: what is reached from outside hangs on the top. */
  readonly #hanging: Preorder
  readonly #queue: NodeQueue
  #looked = 0

  constructor(search: Search, components: Components) {
    const { nodes } = search.rows
    this.#search = search
    this.#components = components
    this.#hanging = new Preorder(nodes)
    this.#queue = new NodeQueue(nodes)
  }

  /** Finds the best paths from `root`, or a cycle that gains and that it reaches. */
  *from(root: number): Steps<FoundCycle | null> {
    const { tree, rules } = this.#search
    tree.plant(root, rules)
    return yield* this.#settle(this.#components.of[root]!)
  }

  /** The same as if another node had edges to all nodes, with the key of the empty path. */
  *fromAll(): Steps<FoundCycle | null> {
    const { tree, rules } = this.#search
    tree.key.fill(rules.startKey)
    tree.before.fill(-1)
    return yield* this.#settle(this.#components.count - 1)
  }

  /** Finds the best paths to the nodes of a component and of all that come after it. */
  *#settle(last: number): Steps<FoundCycle | null> {
    const { tree, rules, rows } = this.#search
    const { members, start: first } = this.#components
    const { key } = tree
    // Edges lead to components with lower numbers.
    for (let component = last; component >= 0; component--) {
      const begin = first[component]!
      const end = first[component + 1]!
      if (end - begin > 1) {
        const cycle = yield* this.#within(component)
        if (cycle) return cycle
      }
      for (let at = begin; at < end; at++) {
        const i = members[at]!
        if (this.#isTurnOver()) yield
        this.#looked++
        if (key[i] === rules.unreached) continue
        this.#looked += rows.start[i + 1]! - rows.start[i]!
        if (this.#leave(i, component)) return this.#cycle(i, i)
      }
    }
    return null
  }

  /** Follows the edges of node i that leave its component. Whether there is a loop at i that gains. */
  #leave(i: number, component: number): boolean {
    const { rows, tree, rules } = this.#search
    const { start, to, key: weight } = rows
    const { key, before } = tree
    const { of } = this.#components
    const sum = rules.extension === 'sum'
    const own = key[i]!
    requireExact(own, rules)
    const end = start[i + 1]!
    for (let k = start[i]!; k < end; k++) {
      const j = to[k]!
      const edge = weight[k]!
      const other = of[j]!
      if (other === component) {
        if (j === i && edgeGains(rules, edge)) return true
        continue
      }
      if (other < 0) continue
      let candidate = sum ? own + edge : own * edge
      if (rules.single) candidate = Math.fround(candidate)
      if (candidate < key[j]!) {
        key[j] = candidate
        before[j] = i
      }
    }
    return false
  }

  /** Finds the best paths within a component, from those of its nodes that are reached. */
  *#within(component: number): Steps<FoundCycle | null> {
    const { rows, tree, rules } = this.#search
    const { start, to, key: weight } = rows
    const { key, before } = tree
    const { of } = this.#components
    const [hanging, queue] = [this.#hanging, this.#queue]
    const { unreached, single } = rules
    const sum = rules.extension === 'sum'
    this.#begin(component)
    while (!queue.isEmpty) {
      const i = queue.take()
      // It will be reached again, by a better path.
      if (!hanging.has(i)) continue
      const own = key[i]!
      requireExact(own, rules)
      const end = start[i + 1]!
      for (let k = start[i]!; k < end; k++) {
        const j = to[k]!
        if (of[j] !== component) continue
        const edge = weight[k]!
        let candidate = sum ? own + edge : own * edge
        if (single) candidate = Math.fround(candidate)
        if (candidate > key[j]! || candidate >= unreached) continue
        if (hanging.has(j)) {
          // A node that was taken out comes back even if rounding made nothing better of what is above it.
          if (candidate === key[j]) continue
          const last = hanging.endOf(j, i)
          if (last === undefined) {
            const cycle = this.#cycle(i, j)
            if (cycle) return cycle
            continue
          }
          const parent = before[j]!
          hanging.takeOut(j, parent >= 0 && of[parent] === component ? parent : hanging.top, last)
          if (this.#isTurnOver()) yield
        }
        key[j] = candidate
        before[j] = i
        hanging.hang(j, i)
        queue.add(j)
      }
      this.#looked += end - start[i]! + 1
      if (this.#isTurnOver()) yield
    }
    return null
  }

  /** Makes the tree and the queue of a component: of its nodes that are reached from outside. */
  #begin(component: number): void {
    const { tree, rules } = this.#search
    const { members, start: first } = this.#components
    const [hanging, queue] = [this.#hanging, this.#queue]
    const end = first[component + 1]!
    hanging.begin()
    queue.begin(end - first[component]!)
    for (let at = first[component]!; at < end; at++) {
      const i = members[at]!
      hanging.leaveOut(i)
      if (tree.key[i] === rules.unreached) continue
      hanging.hang(i, hanging.top)
      queue.add(i)
    }
  }

  /** Whether so much has been looked at that others may have their turn; then it counts anew. */
  #isTurnOver(): boolean {
    if (this.#looked + this.#hanging.looked < PER_STEP) return false
    this.#looked = this.#hanging.looked = 0
    return true
  }

  /**
   * The cycle that the edge from i to j closes, which is above i in the tree; null if it gains only because sums of floats
   * are rounded.
   */
  #cycle(i: number, j: number): FoundCycle | null {
    const { tree, rules, rows } = this.#search
    const nodes: number[] = []
    const keys = [bestKey(rows, rules, i, j)]
    for (let node = i; ; node = tree.before[node]!) {
      nodes.push(node)
      if (node === j) break
      keys.push(bestKey(rows, rules, tree.before[node]!, node))
    }
    const { gains, weight } = exactWeight(rules, keys)
    return gains ? { nodes: nodes.reverse(), weight } : null
  }
}
