/**
 * Proves from the edges alone that distances and paths are right, independently of the algorithm that found
 * them.
 */
import { show } from '../describe.js'
import { ValueError } from '../errors.js'
import { findReachable } from '../graph-core/reached.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import type { HostView } from '../view.js'
import { bestKey, type Graph, type KeyedRows, keyedRows } from './keyed.js'
import { findNextNodeCycle } from './path-trees.js'
import { isBetterEdge, type PathRules, valueOfKey } from './rules.js'
import type { Query } from './search.js'

/** Reads the path between two nodes. */
export type PathReader = (from: number, to: number) => number[] | null | Promise<number[] | null>

/** A matrix of a batch, by row and column. */
type Table = (row: number, col: number) => number

const tableOf =
  ({ data, offset, batchStride, rowStride, colStride }: HostView, item: number): Table =>
  (row, col) =>
    data[offset + item * batchStride + row * rowStride + col * colStride]!

/** Largest difference of keys that are equal except for rounding. */
class Tolerance {
  /** Unit of rounding times the largest number of roundings; 0 if nothing is rounded. */
  readonly #relative: number
  /** Tolerance near 0, where products of subnormal numbers lose digits. */
  readonly #absolute: number
  readonly #isSum: boolean
  #largest = 0

  constructor({ extension, dtype }: PathRules, nodes: number) {
    const unit = dtype === 'float32' ? 2 ** -24 : dtype === 'float64' ? 2 ** -53 : 0
    const least = dtype === 'float32' ? 2 ** -149 : Number.MIN_VALUE
    const times = 4 * (nodes + 1)
    this.#relative = extension === 'bottleneck' ? 0 : times * unit
    this.#absolute = extension === 'product' ? times * least : 0
    this.#isSum = extension === 'sum'
  }

  /**
   * Raises the tolerance for comparisons of these keys: the error of a sum is relative to the largest of its
   * terms.
   */
  over(keys: Float64Array): void {
    this.#largest = 0
    if (this.#relative === 0 || !this.#isSum) return
    for (const key of keys) {
      const size = Math.abs(key)
      if (size > this.#largest && size < Number.POSITIVE_INFINITY) this.#largest = size
    }
  }

  slack(a: number, b: number): number {
    if (this.#relative === 0 || a === b) return 0
    const size = Math.max(this.#largest, Math.abs(a), Math.abs(b))
    return size < Number.POSITIVE_INFINITY ? this.#relative * size + this.#absolute : 0
  }

  differ(a: number, b: number): boolean {
    return a !== b && !(Math.abs(a - b) <= this.slack(a, b))
  }
}

/** Proof of the distances, and of the paths, of one graph. */
export class Proof {
  readonly #graph: Graph
  readonly #query: Query
  readonly #rules: PathRules
  readonly #distances: Table
  readonly #item: number
  /** " in matrix 3 of the batch" */
  readonly #where: string
  readonly #tolerance: Tolerance

  /** @param distances - distances of all entries of a batch, of which the proof is about `item`. */
  constructor(graph: Graph, query: Query, distances: HostView, item: number) {
    this.#graph = graph
    this.#query = query
    this.#rules = query.rules
    this.#distances = tableOf(distances, item)
    this.#item = item
    this.#where = distances.batched ? ` in matrix ${item} of the batch` : ''
    this.#tolerance = new Tolerance(query.rules, query.nodes)
  }

  #keyOf(value: number): number {
    const { zero, unreached, maximizes } = this.#rules
    return value === zero ? unreached : maximizes ? 0 - value : value
  }

  #shown(key: number): string {
    const rules = this.#rules
    return show(key === rules.unreached ? rules.zero : valueOfKey(rules, key))
  }

  #extend(path: number, edge: number): number {
    const { extension, single } = this.#rules
    if (extension === 'bottleneck') return Math.max(path, edge)
    const longer = extension === 'sum' ? path + edge : path * edge
    return single ? Math.fround(longer) : longer
  }

  #fail(from: number, to: number, value: number | string, problem: string): never {
    throw new ValueError(`the distance from ${from} to ${to}${this.#where} is ${value}, but ${problem}`)
  }

  /**
   * Proves all distances. A full row or column (from one source to all nodes, or from all nodes to one target)
   * is proved by its edges; distances from some sources to some targets by an independent computation.
   */
  *distances(): Steps<void> {
    const { nodes, sources, targets } = this.#query
    const forward = sources !== null || targets === null
    const rows = yield* keyedRows(this.#graph, forward ? 'forward' : 'backward', this.#rules)
    const key = new Float64Array(nodes)
    if (sources && targets) return yield* this.#some(rows, sources, targets, key)
    const roots = forward ? sources : targets
    for (let line = 0; line < (roots?.length ?? nodes); line++) {
      for (let node = 0; node < nodes; node++) {
        key[node] = this.#keyOf(forward ? this.#distances(line, node) : this.#distances(node, line))
      }
      yield* this.#line(rows, key, roots ? roots[line]! : line, forward)
    }
  }

  *#some(rows: KeyedRows, sources: Int32Array, targets: Int32Array, key: Float64Array): Steps<void> {
    const { within } = yield* findReachable(yield* keyedRows(this.#graph, 'backward', this.#rules), targets)
    for (const [row, source] of sources.entries()) {
      yield* this.#relax(rows, within, source, key)
      this.#tolerance.over(key)
      for (const [col, target] of targets.entries()) {
        const stated = this.#distances(row, col)
        if (!this.#tolerance.differ(this.#keyOf(stated), key[target]!)) continue
        this.#fail(source, target, stated, `it should be ${this.#shown(key[target]!)}`)
      }
    }
  }

  /**
   * Proves the distances between `root` and all nodes: no edge improves one, and edges that attain it lead from
   * the root to each node.
   */
  *#line(
    { nodes, start, to, key: weight }: KeyedRows,
    key: Float64Array,
    root: number,
    forward: boolean,
  ): Steps<void> {
    const rules = this.#rules
    const fail = (node: number, problem: string): never => {
      const [from, end] = forward ? [root, node] : [node, root]
      return this.#fail(from, end, this.#shown(key[node]!), problem)
    }
    this.#tolerance.over(key)
    if (key[root] !== rules.startKey) fail(root, `it must be ${show(rules.one)}, that of the empty path`)
    const proved = new Uint8Array(nodes)
    const queue = new Int32Array(nodes)
    let length = 0
    let looked = 0
    queue[length++] = root
    proved[root] = 1
    for (let head = 0; head < length; head++) {
      const i = queue[head]!
      for (let k = start[i]!; k < start[i + 1]!; k++) {
        const j = to[k]!
        const candidate = this.#extend(key[i]!, weight[k]!)
        const known = key[j]!
        if (candidate > known && proved[j] === 1) continue
        const slack = this.#tolerance.slack(candidate, known)
        if (candidate < known - slack && candidate < rules.unreached) {
          fail(j, `the edge between ${i} and ${j} makes it ${this.#shown(candidate)}`)
        }
        if (proved[j] === 1 || !(candidate <= known + slack) || known === rules.unreached) continue
        proved[j] = 1
        queue[length++] = j
      }
      looked += start[i + 1]! - start[i]! + 1
      if (looked >= PER_SLICE) {
        looked = 0
        yield
      }
    }
    for (let node = 0; node < nodes; node++) {
      if (proved[node] === 0 && key[node] !== rules.unreached) fail(node, 'no path has this value')
    }
  }

  /**
   * Computes the best keys from `root` on paths through nodes that are `within`, by the plain Bellman-Ford
   * algorithm.
   */
  *#relax(
    { nodes, start, to, key: weight }: KeyedRows,
    within: Uint8Array,
    root: number,
    key: Float64Array,
  ): Steps<void> {
    key.fill(this.#rules.unreached)
    key[root] = this.#rules.startKey
    let now = within[root] === 1 ? [root] : []
    let looked = 0
    for (let round = 0; now.length > 0; round++) {
      if (round > nodes) {
        if (this.#rules.exact)
          throw new ValueError(`a cycle that ${root} reaches gains, so there are no best paths`)
        // Over floats a cycle may improve paths only within rounding. A larger improvement means that the
        // stated keys are wrong.
        return
      }
      const better = new Set<number>()
      for (const i of now) {
        for (let k = start[i]!; k < start[i + 1]!; k++) {
          const j = to[k]!
          if (within[j] === 0) continue
          const candidate = this.#extend(key[i]!, weight[k]!)
          if (!(candidate < key[j]!)) continue
          key[j] = candidate
          better.add(j)
        }
        looked += start[i + 1]! - start[i]! + 1
        if (looked >= PER_SLICE) {
          looked = 0
          yield
        }
      }
      now = [...better]
    }
  }

  /**
   * Proves the next nodes of all pairs. Each step goes along an edge to a node with the remaining distance,
   * and the steps to each target form a tree. Therefore each path has the stated length.
   */
  *nextNodes(view: HostView): Steps<void> {
    const { nodes } = this.#query
    const rules = this.#rules
    const rows = yield* keyedRows(this.#graph, 'forward', rules)
    const next = tableOf(view, this.#item)
    const best = new Float64Array(nodes)
    const key = new Float64Array(nodes)
    const wrong = (from: number, to: number, problem: string): never => {
      throw new ValueError(
        `the node after ${from} on the path to ${to}${this.#where} is ${next(from, to)}, but ${problem}`,
      )
    }
    const perStep = Math.ceil(PER_SLICE / Math.max(nodes, 1))
    for (let i = 0; i < nodes; i++) {
      if (i % perStep === perStep - 1) yield
      best.fill(Number.NaN)
      for (let k = rows.start[i]!; k < rows.start[i + 1]!; k++) {
        const j = rows.to[k]!
        if (isBetterEdge(rules, rows.key[k]!, best[j]!)) best[j] = rows.key[k]!
      }
      for (let j = 0; j < nodes; j++) key[j] = this.#keyOf(this.#distances(i, j))
      this.#tolerance.over(key)
      for (let j = 0; j < nodes; j++) {
        const after = next(i, j)
        if (i === j || key[j] === rules.unreached) {
          const reason = i === j ? 'they are the same node' : 'there is no path'
          if (after !== -1) wrong(i, j, `it must be -1, because ${reason}`)
          continue
        }
        if (!(after >= 0 && after < nodes)) wrong(i, j, 'it must be a node, because there is a path')
        const edge = best[after]!
        if (Number.isNaN(edge)) wrong(i, j, 'there is no such edge')
        const whole = this.#extend(this.#keyOf(this.#distances(after, j)), edge)
        if (this.#tolerance.differ(whole, key[j]!)) {
          const [length, stated] = [this.#shown(whole), this.#shown(key[j]!)]
          wrong(i, j, `this way the path has ${length}, and the distance is ${stated}`)
        }
      }
    }
    const { data, offset, batchStride, rowStride, colStride } = view
    const trees = {
      data,
      offset: offset + this.#item * batchStride,
      rootStride: colStride,
      nodeStride: rowStride,
    }
    const round = yield* findNextNodeCycle(trees, nodes)
    if (round) wrong(...round, 'the next nodes go round in a cycle')
  }

  /** Proves the paths between sources and targets by following each path. */
  async *paths(view: HostView, read: PathReader): AsyncGenerator<void, void, void> {
    const { nodes, sources, targets } = this.#query
    const rules = this.#rules
    const rows = yield* keyedRows(this.#graph, 'forward', rules)
    const next = tableOf(view, this.#item)
    for (let row = 0; row < (sources?.length ?? nodes); row++) {
      for (let col = 0; col < (targets?.length ?? nodes); col++) {
        yield
        const from = sources?.[row] ?? row
        const to = targets?.[col] ?? col
        const path = await read(from, to)
        const fail = (problem: string): never => {
          throw new ValueError(`the path from ${from} to ${to}${this.#where} ${problem}`)
        }
        const stated = this.#keyOf(this.#distances(row, col))
        const first = path?.[1] ?? -1
        if (next(row, col) !== first)
          fail(`begins with ${show(first)}, but the next node is ${next(row, col)}`)
        if (path === null) {
          if (stated !== rules.unreached) fail(`is missing, but the distance is ${this.#shown(stated)}`)
          continue
        }
        if (path[0] !== from || path.at(-1) !== to)
          fail(`leads from ${show(path[0])} to ${show(path.at(-1))}`)
        const terms = new Float64Array(path.length)
        let key = rules.startKey
        for (let at = 1; at < path.length; at++) {
          const edge = bestKey(rows, rules, path[at - 1]!, path[at]!)
          if (Number.isNaN(edge)) fail(`has no edge from ${show(path[at - 1])} to ${show(path[at])}`)
          key = this.#extend(key, edge)
          terms[at] = Math.max(Math.abs(edge), Math.abs(key))
        }
        this.#tolerance.over(terms)
        if (this.#tolerance.differ(key, stated)) {
          fail(`has ${this.#shown(key)}, but the distance is ${this.#shown(stated)}`)
        }
      }
    }
  }
}
