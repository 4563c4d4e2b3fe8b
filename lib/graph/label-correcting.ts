/** Searches in which edges may make paths better that have reached a node before. */
import type { Components } from './components.js'
import { exactWeight } from './cycles.js'
import { edgeGains } from './rules.js'
import { PER_STEP, type Steps } from './slices.js'
import { requireExact, type Search } from './tree.js'

/** The nodes of a cycle that gains, in the direction of the rows, and its weight. */
export interface FoundCycle {
  readonly nodes: number[]
  readonly weight: number
}

/** Not in the tree. */
const OUT = -1

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
  // The tree within a component as a list in preorder, and the number of children of each node. Below the last node is the
  // one that all hang on that are reached from outside.
  readonly #after: Int32Array
  readonly #previous: Int32Array
  readonly #children: Int32Array
  readonly #queue: Int32Array
  readonly #queued: Uint8Array
  #looked = 0

  constructor(search: Search, components: Components) {
    const { nodes } = search.rows
    this.#search = search
    this.#components = components
    this.#after = new Int32Array(nodes + 1)
    this.#previous = new Int32Array(nodes + 1)
    this.#children = new Int32Array(nodes + 1)
    this.#queue = new Int32Array(nodes)
    this.#queued = new Uint8Array(nodes)
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
        if (this.#looked >= PER_STEP) {
          this.#looked = 0
          yield
        }
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
    const { of, members, start: first } = this.#components
    const [after, previous, children] = [this.#after, this.#previous, this.#children]
    const [queue, queued] = [this.#queue, this.#queued]
    const { unreached, single } = rules
    const sum = rules.extension === 'sum'
    const top = rows.nodes
    const size = first[component + 1]! - first[component]!
    let head = 0
    let length = 0
    const enqueue = (node: number) => {
      if (queued[node] === 1) return
      queued[node] = 1
      const place = head + length++
      queue[place < size ? place : place - size] = node
    }
    const hang = (node: number, parent: number) => {
      const next = after[parent]!
      after[parent] = node
      previous[node] = parent
      after[node] = next
      previous[next] = node
      children[parent]!++
      children[node] = 0
    }
    after[top] = previous[top] = top
    children[top] = 0
    for (let at = first[component]!; at < first[component + 1]!; at++) {
      const i = members[at]!
      children[i] = OUT
      if (key[i] === unreached) continue
      hang(i, top)
      enqueue(i)
    }
    while (length > 0) {
      const i = queue[head]!
      if (++head === size) head = 0
      length--
      queued[i] = 0
      // It will be reached again, by a better path.
      if (children[i] === OUT) continue
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
        // A node that was taken out comes back even if rounding made nothing better of what is above it.
        if (candidate === key[j] && children[j] !== OUT) continue
        if (children[j] !== OUT) {
          let next = j
          let open = 1
          while (open > 0 && next !== i) {
            open += children[next]! - 1
            next = after[next]!
            this.#looked++
          }
          if (open > 0) {
            const cycle = this.#cycle(i, j)
            if (cycle) return cycle
            continue
          }
          const last = previous[j]!
          const parent = before[j]!
          children[parent >= 0 && of[parent] === component ? parent : top]!--
          for (let below = j; below !== next; below = after[below]!) children[below] = OUT
          after[last] = next
          previous[next] = last
          if (this.#looked >= PER_STEP) {
            this.#looked = 0
            yield
          }
        }
        key[j] = candidate
        before[j] = i
        hang(j, i)
        enqueue(j)
      }
      this.#looked += end - start[i]! + 1
      if (this.#looked >= PER_STEP) {
        this.#looked = 0
        yield
      }
    }
    return null
  }

  /**
   * The cycle that the edge from i to j closes, which is above i in the tree; null if it gains only because sums of floats
   * are rounded.
   */
  #cycle(i: number, j: number): FoundCycle | null {
    const { tree, rules } = this.#search
    const nodes: number[] = []
    const keys = [this.#keyBetween(i, j)]
    for (let node = i; ; node = tree.before[node]!) {
      nodes.push(node)
      if (node === j) break
      keys.push(this.#keyBetween(tree.before[node]!, node))
    }
    const { gains, weight } = exactWeight(rules, keys)
    return gains ? { nodes: nodes.reverse(), weight } : null
  }

  /** The key of the best edge from one node to another. */
  #keyBetween(from: number, to: number): number {
    const { rows, rules } = this.#search
    const product = rules.extension === 'product'
    let best = Number.NaN
    for (let k = rows.start[from]!; k < rows.start[from + 1]!; k++) {
      if (rows.to[k] !== to) continue
      const key = rows.key[k]!
      if (!(product ? key <= best : key >= best)) best = key
    }
    return best
  }
}
