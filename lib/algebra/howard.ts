/**
 * Computes cycle means by Howard's policy iteration: the best ratio of the weight of a cycle to its tokens.
 * Every cycle has a token; if each edge has one, the ratio is the mean of the weights.
 *
 * A policy chooses one edge from each node. It leads each node into a cycle; the best of its cycles has the
 * ratio p/q, and each node a value: the sum of (weight − tokens · p/q) along the path to that cycle. If
 * another edge gives a node a greater value, the policy chooses it instead. If no edge does, no cycle of the
 * component is better.
 *
 * Rounding never affects the result. Values are stored times q, as integers. If values may be beyond 2^53, or
 * weights have too many binary digits after the point, sums have a known error bound. Differences within the
 * bound are compared again with BigInt.
 *
 * Each round selects one cycle. A backward search changes the policy of the places that don't lead to the
 * cycle. New values are used as soon as they are known.
 *
 * @see J. Cochet-Terrasson, G. Cohen, S. Gaubert, M. McGettrick, J.-P. Quadrat, Numerical computation of spectral elements in
 *   max-plus algebra
 * @see A. Dasdan, S. S. Irani, R. K. Gupta, Efficient algorithms for optimum cycle mean and optimum cost to time ratio problems,
 *   which compares it with others
 */

import { assertTerminates } from '../graph-core/caps.js'
import { scaled, signOf } from '../graph-core/fractions.js'
import { type EdgeRows, selectEdges, transpose } from '../graph-core/rows.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import type { Inner } from './component-edges.js'

const EXACT = Number.MAX_SAFE_INTEGER
/** Twice the error of one rounding, relative to its result. */
const ROUNDING = 2 ** -52
/** Depth below which the order of nodes doesn't change the number of rounds. */
const SHALLOW = 64

/** The sums of a policy in integers of any size, in units of 2^-bits. */
interface ExactSums {
  readonly mean: bigint
  readonly sums: bigint[]
}

/**
 * Edges that enter each position; they come from the positions `to`. `edge` are their indices in the inner edges.
 */
interface Entering extends EdgeRows {
  readonly weight: Float64Array
  readonly tokens: Int32Array
}

/** A cycle of a policy: `sum` is the sum of its weights, up to `error`. */
interface PolicyCycle {
  readonly position: number
  readonly sum: number
  readonly error: number
  readonly tokens: number
}

/** Arrays with an entry for each position. */
const newPlaces = (nodes: number) => ({
  /**
   * Chosen edge of each position, its target and its weight: next to each other in memory, because they are read
   * together.
   */
  policy: new Int32Array(nodes),
  next: new Int32Array(nodes),
  cost: new Float64Array(nodes),
  /**
   * For each position, along the policy to the cycle: the sum of weights, the number of edges, the number of
   * tokens, and `cycle's tokens · sum − cycle's sum · tokens`.
   */
  sum: new Float64Array(nodes),
  steps: new Int32Array(nodes),
  tokens: new Float64Array(nodes),
  value: new Float64Array(nodes),
  order: new Int32Array(nodes),
  mark: new Int32Array(nodes),
  path: new Int32Array(nodes),
})

export class PolicyIteration {
  readonly inner: Inner
  readonly #places: ReturnType<typeof newPlaces>
  /** Number of policy evaluations. */
  rounds = 0
  #stamp = 0
  #entering: Entering | undefined
  #first = 0
  #end = 0
  #heaviest = 0
  #cycle: PolicyCycle = { position: 0, sum: 0, error: 0, tokens: 1 }
  #error = 0
  /** Whether the mean equals the mean of the previous round: better cycles are rare from then on. */
  #settled = false
  /** Whether all places are near the cycle. */
  #isShallow = false
  /** Node on the cycle that must be chosen; −1 if any cycle may be chosen. */
  #target = -1
  #exact: ExactSums | undefined

  constructor(inner: Inner) {
    this.inner = inner
    this.#places = newPlaces(inner.start.length - 1)
  }

  /**
   * Finds the best cycle of the component of places `first` up to `end`, which must have an edge. Returns the
   * edges of the cycle. Until the next call, the other methods refer to this component.
   *
   * @param target - the edges of a known best cycle. Values then belong to the paths to the node that its
   * first edge leaves. The component may be any set of nodes that reach this node.
   */
  *solve(first: number, end: number, target?: readonly number[]): Steps<number[]> {
    // If the component was solved before, its old policy is a better start.
    if (!target || first !== this.#first || end !== this.#end) {
      this.#first = first
      this.#end = end
      this.#heaviest = yield* this.#chooseHeaviest()
    }
    this.#target = -1
    this.#settled = false
    if (target) this.#aimAt(target)
    // No known graph needs more rounds than it has edges: T. D. Hansen, U. Zwick, Lower bounds for Howard's
    // algorithm, 2010.
    const { start } = this.inner
    const most = this.rounds + SHALLOW + 2 * (start[end]! - start[first]!)
    do {
      yield
      assertTerminates(++this.rounds, most, 'the search for the best cycle')
      yield* this.#evaluate()
      yield
    } while (yield* this.#error === 0 ? this.#improve() : this.#improveCarefully())
    return this.#edgesOf(this.#cycle.position)
  }

  /** Chooses the heaviest edge of each position. Returns the greatest absolute weight of all. */
  *#chooseHeaviest(): Steps<number> {
    const { start, weight } = this.inner
    const end = this.#end
    let heaviest = 0
    for (let p = this.#first; p < end; p++) {
      let best = start[p]!
      let most = weight[best]!
      const last = start[p + 1]!
      for (let k = best; k < last; k++) {
        const value = weight[k]!
        if (value > most) {
          most = value
          best = k
        }
        if (Math.abs(value) > heaviest) heaviest = Math.abs(value)
      }
      this.#choose(p, best)
      if (p % PER_SLICE === PER_SLICE - 1) yield
    }
    return heaviest
  }

  #choose(position: number, edge: number): void {
    const { policy, next, cost } = this.#places
    policy[position] = edge
    next[position] = this.inner.to[edge]!
    cost[position] = this.inner.weight[edge]!
  }

  /** Sets the policy of a cycle's places to the cycle's edges. */
  #aimAt(cycle: readonly number[]): void {
    let position = this.inner.to[cycle.at(-1)!]!
    this.#target = position
    for (const edge of cycle) {
      this.#choose(position, edge)
      position = this.inner.to[edge]!
    }
  }

  /** The position whose value is 0. */
  get root(): number {
    return this.#cycle.position
  }

  /** Returns the exact sum of the weights of a cycle's edges, in units of 2^-bits. */
  exactSum(edges: Iterable<number>): bigint {
    let sum = 0n
    for (const k of edges) sum += this.#exactWeight(k)
    return sum
  }

  /**
   * Returns the exact value of a position of the component last solved, times the tokens of its cycle, in units
   * of 2^-bits.
   */
  exactValue(position: number): bigint {
    const { value, tokens } = this.#places
    if (this.#error === 0) return BigInt(value[position]!)
    const { mean, sums } = this.#exactSums()
    return sums[position - this.#first]! * BigInt(this.#cycle.tokens) - mean * BigInt(tokens[position]!)
  }

  /**
   * Returns whether edge k from `position` is as good as the chosen one: it lies on a path along which values
   * don't decrease.
   */
  isTight(k: number, position: number): boolean {
    const { policy, value } = this.#places
    if (k === policy[position]) return true
    const difference = this.#candidate(k) - value[position]!
    if (this.#error === 0) return difference === 0
    return !(Math.abs(difference) > this.#error) && this.#compare(k, policy[position]!) === 0
  }

  #exactWeight(k: number): bigint {
    const { integers, bits, weight } = this.inner
    return integers ? BigInt(weight[k]!) : scaled(weight[k]!, bits)
  }

  #edgesOf(position: number): number[] {
    const { policy, next } = this.#places
    const edges: number[] = []
    let p = position
    do {
      edges.push(policy[p]!)
      assertTerminates(edges.length, policy.length, 'a cycle')
      p = next[p]!
    } while (p !== position)
    return edges
  }

  #cycleAt(position: number): PolicyCycle {
    const { integers, tokens: tokensOf } = this.inner
    const { policy, next, cost } = this.#places
    let sum = 0
    let size = 0
    let length = 0
    let tokens = 0
    let p = position
    do {
      sum += cost[p]!
      size += Math.abs(cost[p]!)
      assertTerminates(++length, cost.length, 'a cycle')
      tokens += tokensOf[policy[p]!]!
      p = next[p]!
    } while (p !== position)
    return { position, sum, tokens, error: integers && size <= EXACT ? 0 : ROUNDING * length * size }
  }

  #isBetter(a: PolicyCycle, b: PolicyCycle): boolean {
    const left = a.sum * b.tokens
    const right = b.sum * a.tokens
    const size = Math.abs(left) + Math.abs(right)
    let error = a.error * b.tokens + b.error * a.tokens
    if (error > 0 || size > EXACT) error += ROUNDING * 2 * size
    if (Math.abs(left - right) > error) return left > right
    if (error === 0) return false
    const exactly = (cycle: PolicyCycle) => this.exactSum(this.#edgesOf(cycle.position))
    return exactly(a) * BigInt(b.tokens) > exactly(b) * BigInt(a.tokens)
  }

  /**
   * Finds the cycles of the policy and selects the best one. Changes the policy so that all nodes lead to
   * this cycle, and computes their values.
   */
  *#evaluate(): Steps<void> {
    const first = this.#first
    const end = this.#end
    const { order, mark, path, next } = this.#places
    // Orders nodes so that each follows the node that it leads to, except the first of a cycle.
    let ordered = first
    let best: PolicyCycle | undefined
    let cycles = 0
    if (this.#stamp > 2 ** 30) {
      mark.fill(0)
      this.#stamp = 0
    }
    const oldest = this.#stamp
    // The target is first, so that it is the first node of its cycle.
    for (let origin = this.#target < 0 ? first : first - 1; origin < end; origin++) {
      let p = origin < first ? this.#target : origin
      if (mark[p]! > oldest) continue
      const stamp = ++this.#stamp
      let depth = 0
      while (mark[p]! <= oldest) {
        mark[p] = stamp
        path[depth++] = p
        p = next[p]!
      }
      if (mark[p] === stamp) {
        cycles++
        if (!best || this.#target < 0) {
          const cycle = this.#cycleAt(p)
          if (!best || this.#isBetter(cycle, best)) best = cycle
        }
        order[ordered++] = p
        while (path[depth - 1] !== p) order[ordered++] = path[--depth]!
        depth--
      }
      while (depth > 0) order[ordered++] = path[--depth]!
    }
    yield
    if (cycles > 1) yield* this.#leadTo(best!.position)
    yield
    this.#value(best!)
  }

  /** Changes the policy so that all places lead to a cycle, and orders the places again. */
  *#leadTo(root: number): Steps<void> {
    const first = this.#first
    const end = this.#end
    const { order, mark, path, next } = this.#places
    const stamp = ++this.#stamp
    // Places that lead to the cycle already come first, in unchanged order; the other places follow.
    let reached = first
    mark[root] = stamp
    for (let o = first; o < end; o++) {
      const p = order[o]!
      if (p !== root && mark[next[p]!] !== stamp) continue
      mark[p] = stamp
      path[reached - first] = p
      reached++
    }
    for (let o = first; o < reached; o++) order[o] = path[o - first]!
    yield
    yield* this.#lead(reached, stamp)
  }

  /** Computes the values of all places, which lead to a cycle, and the bound of their errors. */
  #value(cycle: PolicyCycle): void {
    const first = this.#first
    const end = this.#end
    const { integers, tokens: tokensOf, mostTokens } = this.inner
    const { policy, sum, value, steps, tokens, order, next, cost } = this.#places
    const root = cycle.position
    sum[root] = steps[root] = tokens[root] = value[root] = 0
    const { tokens: turn } = cycle
    const mean = cycle.sum
    let largest = 0
    let furthest = 0
    let most = 0
    for (let o = first; o < end; o++) {
      const p = order[o]!
      if (p === root) continue
      const j = next[p]!
      const total = cost[p]! + sum[j]!
      const far = steps[j]! + 1
      const passed = tokens[j]! + tokensOf[policy[p]!]!
      sum[p] = total
      steps[p] = far
      tokens[p] = passed
      value[p] = turn * total - mean * passed
      if (far > furthest) furthest = far
      if (passed > most) most = passed
      if (Math.abs(total) > largest) largest = Math.abs(total)
    }
    this.#isShallow = furthest < SHALLOW
    if (!this.#isShallow) this.#orderBySteps(furthest)
    // Only the strategy of the next rounds depends on this comparison, not the result, so rounding is
    // harmless.
    this.#settled = mean * this.#cycle.tokens === this.#cycle.sum * turn
    this.#cycle = cycle
    this.#exact = undefined
    // Bound of |cycle's tokens · (weight + sum) − cycle's sum · tokens| over all edges.
    const size = turn * (largest + this.#heaviest) + Math.abs(mean) * (most + mostTokens)
    const inexact = integers && largest <= EXACT ? 0 : ROUNDING * (furthest + 1) * largest
    this.#error = cycle.error * (most + mostTokens) + inexact * turn
    if (this.#error > 0 || !integers || size > EXACT) {
      // Without the minimum, the error bound of subnormal numbers would be rounded to 0, as if sums were
      // exact.
      this.#error = Math.max(2 * (this.#error + 8 * ROUNDING * size), Number.MIN_VALUE)
    }
  }

  /**
   * Orders nodes by their distance to the cycle, nearest first. Better values are used as soon as they are
   * known: in a layered graph one round in this order finds the best paths through all layers.
   */
  #orderBySteps(furthest: number): void {
    const first = this.#first
    const end = this.#end
    const { steps, order } = this.#places
    const position = new Int32Array(furthest + 2)
    for (let p = first; p < end; p++) position[steps[p]! + 1]!++
    for (let far = 0; far <= furthest; far++) position[far + 1]! += position[far]!
    const { path } = this.#places
    for (let o = first; o < end; o++) path[o - first] = order[o]!
    for (let o = 0; o < end - first; o++) {
      const p = path[o]!
      order[first + position[steps[p]!]!++] = p
    }
  }

  *#edgesTo(): Steps<Entering> {
    if (this.#entering) return this.#entering
    const rows = yield* transpose(this.inner)
    const weight = yield* selectEdges(this.inner.weight, rows.edge, new Float64Array(rows.edge.length))
    const tokens = yield* selectEdges(this.inner.tokens, rows.edge, new Int32Array(rows.edge.length))
    this.#entering = { ...rows, weight, tokens }
    return this.#entering
  }

  /**
   * Changes the policy so that all unmarked nodes lead to marked nodes, which are the first `reached` nodes
   * in order.
   */
  *#lead(reached: number, stamp: number): Steps<void> {
    const { start, edge, to: from } = yield* this.#edgesTo()
    const { order, mark } = this.#places
    for (let o = this.#first; reached < this.#end; o++) {
      const j = order[o]!
      for (let at = start[j]!; at < start[j + 1]!; at++) {
        const p = from[at]!
        if (mark[p] === stamp) continue
        mark[p] = stamp
        this.#choose(p, edge[at]!)
        order[reached++] = p
      }
      if (o % PER_SLICE === PER_SLICE - 1) yield
    }
  }

  #candidate(k: number): number {
    const { weight, tokens, to } = this.inner
    return this.#cycle.tokens * weight[k]! - this.#cycle.sum * tokens[k]! + this.#places.value[to[k]!]!
  }

  /** Chooses better edges if values are exact. A better value is used at once, unless it is too large to be exact. */
  *#improve(): Steps<boolean> {
    const { start, to, weight, tokens } = this.inner
    const { policy, value, next, cost } = this.#places
    const { tokens: turn, sum } = this.#cycle
    const end = this.#end
    const { order, path: queue, mark } = this.#places
    const stamp = ++this.#stamp
    // If paths are short, reading rows in the order of memory is faster.
    const inOrder = !this.#isShallow
    let waiting = 0
    for (let o = this.#first; o < end; o++) {
      if (o % PER_SLICE === PER_SLICE - 1) yield
      const p = inOrder ? order[o]! : o
      let most = value[p]!
      let best = -1
      const last = start[p + 1]!
      for (let k = start[p]!; k < last; k++) {
        const candidate = turn * weight[k]! - sum * tokens[k]! + value[to[k]!]!
        if (candidate > most) {
          most = candidate
          best = k
        }
      }
      if (best < 0) continue
      policy[p] = best
      next[p] = to[best]!
      cost[p] = weight[best]!
      mark[p] = stamp
      queue[waiting++] = p
      if (most <= EXACT) value[p] = most
    }
    if (waiting === 0) return false
    yield* this.#spread(waiting, stamp)
    return true
  }

  /**
   * Propagates better values backwards from the nodes in the queue, which are marked. Around a cycle that is
   * better than the known one this would never end. Therefore it stops after as many edges as the graph has,
   * or half as many while the mean still improves, and the policy is evaluated again.
   */
  *#spread(waiting: number, stamp: number): Steps<void> {
    const { start, edge, to: from, weight, tokens } = yield* this.#edgesTo()
    const { policy, value, next, cost } = this.#places
    const { tokens: turn, sum } = this.#cycle
    const { path: queue, mark } = this.#places
    const size = this.#end - this.#first
    const edges = this.inner.start[this.#end]! - this.inner.start[this.#first]!
    let left = this.#settled ? edges : edges / 2
    let looked = 0
    for (let head = 0; waiting > 0 && left > 0; waiting--) {
      if (++looked % PER_SLICE === 0) yield
      const j = queue[head]!
      if (++head === size) head = 0
      mark[j] = 0
      const base = value[j]!
      const last = start[j + 1]!
      left -= last - start[j]!
      for (let at = start[j]!; at < last; at++) {
        const p = from[at]!
        // In this order both terms are exact, and so is their sum unless it is beyond 2^53.
        const candidate = turn * weight[at]! - sum * tokens[at]! + base
        if (candidate <= value[p]! || candidate > EXACT) continue
        value[p] = candidate
        policy[p] = edge[at]!
        next[p] = j
        cost[p] = weight[at]!
        if (mark[p] === stamp) continue
        mark[p] = stamp
        let tail = head + waiting - 1
        if (tail >= size) tail -= size
        queue[tail] = p
        waiting++
      }
    }
  }

  /**
   * Improves the policy for values with an error, which may be infinite for weights near the largest numbers.
   */
  *#improveCarefully(): Steps<boolean> {
    const { start } = this.inner
    const { policy, value } = this.#places
    const error = this.#error
    // Sums belong to the old policy until all places have been improved.
    const { path: chosen } = this.#places
    let changed = false
    for (let p = this.#first; p < this.#end; p++) {
      if (p % PER_SLICE === PER_SLICE - 1) yield
      const old = policy[p]!
      let most = value[p]!
      let best = old
      for (let k = start[p]!; k < start[p + 1]!; k++) {
        if (k === old) continue
        const candidate = this.#candidate(k)
        if (candidate < most - error) continue
        if (!(candidate > most + error) && this.#compare(k, best) <= 0) continue
        most = candidate
        best = k
      }
      chosen[p] = best
      if (best !== old) changed = true
    }
    if (changed) for (let p = this.#first; p < this.#end; p++) this.#choose(p, chosen[p]!)
    return changed
  }

  /** Returns the sign of the difference between the values that two edges give to their position. */
  #compare(k: number, l: number): number {
    const { to, tokens } = this.inner
    const { tokens: passed } = this.#places
    const { mean, sums } = this.#exactSums()
    const first = this.#first
    const [i, j] = [to[k]!, to[l]!]
    const difference = this.#exactWeight(k) + sums[i - first]! - this.#exactWeight(l) - sums[j - first]!
    const more = tokens[k]! + passed[i]! - tokens[l]! - passed[j]!
    return signOf(difference * BigInt(this.#cycle.tokens) - mean * BigInt(more))
  }

  #exactSums(): ExactSums {
    this.#exact ??= this.#sumExactly()
    return this.#exact
  }

  #sumExactly(): ExactSums {
    const { policy, next, order } = this.#places
    const first = this.#first
    const root = this.#cycle.position
    const sums: bigint[] = new Array(this.#end - first).fill(0n)
    for (let o = first; o < this.#end; o++) {
      const p = order[o]!
      if (p !== root) sums[p - first] = this.#exactWeight(policy[p]!) + sums[next[p]! - first]!
    }
    return { mean: this.exactSum(this.#edgesOf(root)), sums }
  }
}
