/**
 * Proves from the edges alone that distances and paths are right, independently of the algorithm that found
 * them.
 */
import { show } from '../describe.js'
import { ValueError } from '../errors.js'
import { findReachable } from '../graph-core/reached.js'
import { PER_STEP, type Steps } from '../graph-core/slices.js'
import type { OperandArray } from '../storage.js'
import { bestKey, type Graph, type KeyedRows, keyedRows } from './keyed.js'
import { findNextNodeCycle } from './path-trees.js'
import { isBetterEdge, type PathRules, valueOfKey } from './rules.js'
import type { Query } from './search.js'

/** A matrix of a batch. */
export interface Table {
  readonly data: OperandArray
  readonly offset: number
  readonly rowStride: number
  readonly colStride: number
}

/** Graph, query and distances to verify: one entry of a batch. */
export interface VerificationTask {
  readonly graph: Graph
  readonly query: Query
  readonly distances: Table
  /** " in matrix 3 of the batch" */
  readonly where: string
}

export function entry({ data, offset, rowStride, colStride }: Table, row: number, col: number): number {
  return data[offset + row * rowStride + col * colStride]!
}

const keyOf = (rules: PathRules, value: number) =>
  value === rules.zero ? rules.unreached : rules.maximizes ? 0 - value : value

const shown = (rules: PathRules, key: number) =>
  show(key === rules.unreached ? rules.zero : valueOfKey(rules, key))

function extend({ extension, single }: PathRules, path: number, edge: number): number {
  if (extension === 'bottleneck') return Math.max(path, edge)
  const longer = extension === 'sum' ? path + edge : path * edge
  return single ? Math.fround(longer) : longer
}

/** Largest difference of keys that are equal except for rounding. */
export class Tolerance {
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

/**
 * Proves all distances of a graph. A full row or column (from one source to all nodes, or from all nodes to
 * one target) is proved by its edges; distances from some sources to some targets by an independent
 * computation.
 */
export function* proveDistances(subject: VerificationTask): Steps<void> {
  const { graph, query, distances } = subject
  const { nodes, rules, sources, targets } = query
  const forward = sources !== null || targets === null
  const rows = yield* keyedRows(graph, forward ? 'forward' : 'backward', rules)
  const key = new Float64Array(nodes)
  const closeness = new Tolerance(rules, nodes)
  const roots = forward ? sources : targets
  const count = roots?.length ?? nodes
  if (sources && targets) {
    const { within } = yield* findReachable(yield* keyedRows(graph, 'backward', rules), targets)
    for (let row = 0; row < count; row++) {
      yield* relax(rows, rules, within, sources[row]!, key)
      closeness.over(key)
      for (let col = 0; col < targets.length; col++) {
        const target = targets[col]!
        const stated = keyOf(rules, entry(distances, row, col))
        if (!closeness.differ(stated, key[target]!)) continue
        fail(
          subject,
          sources[row]!,
          target,
          entry(distances, row, col),
          `it should be ${shown(rules, key[target]!)}`,
        )
      }
    }
    return
  }
  const queue = new Int32Array(nodes)
  for (let line = 0; line < count; line++) {
    for (let node = 0; node < nodes; node++) {
      key[node] = keyOf(rules, forward ? entry(distances, line, node) : entry(distances, node, line))
    }
    closeness.over(key)
    const root = roots ? roots[line]! : line
    const say = (node: number, problem: string): never => {
      const [from, to] = forward ? [root, node] : [node, root]
      return fail(subject, from, to, shown(rules, key[node]!), problem)
    }
    yield* proveLine(rows, rules, closeness, key, root, queue, say)
  }
}

function fail(
  { where }: VerificationTask,
  from: number,
  to: number,
  value: number | string,
  problem: string,
): never {
  throw new ValueError(`the distance from ${from} to ${to}${where} is ${value}, but ${problem}`)
}

/**
 * Proves the distances between `root` and all nodes: no edge improves one, and edges that attain it lead from
 * the root to each node.
 */
function* proveLine(
  { nodes, start, to, key: weight }: KeyedRows,
  rules: PathRules,
  closeness: Tolerance,
  key: Float64Array,
  root: number,
  queue: Int32Array,
  say: (node: number, problem: string) => never,
): Steps<void> {
  if (key[root] !== rules.startKey) say(root, `it must be ${show(rules.one)}, that of the empty path`)
  const proved = new Uint8Array(nodes)
  let length = 0
  let looked = 0
  queue[length++] = root
  proved[root] = 1
  for (let head = 0; head < length; head++) {
    const i = queue[head]!
    for (let k = start[i]!; k < start[i + 1]!; k++) {
      const j = to[k]!
      const candidate = extend(rules, key[i]!, weight[k]!)
      const known = key[j]!
      if (candidate > known && proved[j] === 1) continue
      const slack = closeness.slack(candidate, known)
      if (candidate < known - slack && candidate < rules.unreached) {
        say(j, `the edge between ${i} and ${j} makes it ${shown(rules, candidate)}`)
      }
      if (proved[j] === 1 || !(candidate <= known + slack) || known === rules.unreached) continue
      proved[j] = 1
      queue[length++] = j
    }
    looked += start[i + 1]! - start[i]! + 1
    if (looked >= PER_STEP) {
      looked = 0
      yield
    }
  }
  for (let node = 0; node < nodes; node++) {
    if (proved[node] === 0 && key[node] !== rules.unreached) say(node, 'no path has this value')
  }
}

/**
 * Returns the best keys from `root` on paths through nodes that are `within`, by the plain Bellman-Ford
 * algorithm.
 */
function* relax(
  { nodes, start, to, key: weight }: KeyedRows,
  rules: PathRules,
  within: Uint8Array,
  root: number,
  key: Float64Array,
): Steps<void> {
  key.fill(rules.unreached)
  key[root] = rules.startKey
  let now = within[root] === 1 ? [root] : []
  let looked = 0
  for (let round = 0; now.length > 0; round++) {
    if (round > nodes) {
      if (rules.exact) throw new ValueError(`a cycle that ${root} reaches gains, so there are no best paths`)
      // Over floats a cycle may improve paths only within rounding. A larger improvement means that the
      // stated keys are wrong.
      return
    }
    const better = new Set<number>()
    for (const i of now) {
      for (let k = start[i]!; k < start[i + 1]!; k++) {
        const j = to[k]!
        if (within[j] === 0) continue
        const candidate = extend(rules, key[i]!, weight[k]!)
        if (!(candidate < key[j]!)) continue
        key[j] = candidate
        better.add(j)
      }
      looked += start[i + 1]! - start[i]! + 1
      if (looked >= PER_STEP) {
        looked = 0
        yield
      }
    }
    now = [...better]
  }
}

/**
 * Proves the next nodes of all pairs. Each step goes along an edge to a node with the remaining distance, and
 * the steps to each target form a tree. Therefore each path has the stated length.
 */
export function* proveNext(subject: VerificationTask, next: Table): Steps<void> {
  const { graph, query, distances, where } = subject
  const { nodes, rules } = query
  const rows = yield* keyedRows(graph, 'forward', rules)
  const closeness = new Tolerance(rules, nodes)
  const best = new Float64Array(nodes)
  const key = new Float64Array(nodes)
  const wrong = (from: number, to: number, problem: string): never => {
    throw new ValueError(
      `the node after ${from} on the path to ${to}${where} is ${entry(next, from, to)}, but ${problem}`,
    )
  }
  const perStep = Math.ceil(PER_STEP / Math.max(nodes, 1))
  for (let i = 0; i < nodes; i++) {
    if (i % perStep === perStep - 1) yield
    best.fill(Number.NaN)
    for (let k = rows.start[i]!; k < rows.start[i + 1]!; k++) {
      const j = rows.to[k]!
      const weight = rows.key[k]!
      if (isBetterEdge(rules, weight, best[j]!)) best[j] = weight
    }
    for (let j = 0; j < nodes; j++) key[j] = keyOf(rules, entry(distances, i, j))
    closeness.over(key)
    for (let j = 0; j < nodes; j++) {
      const after = entry(next, i, j)
      if (i === j || key[j] === rules.unreached) {
        if (after !== -1)
          wrong(i, j, `it must be -1, because ${i === j ? 'they are the same node' : 'there is no path'}`)
        continue
      }
      if (!(after >= 0 && after < nodes)) wrong(i, j, 'it must be a node, because there is a path')
      const edge = best[after]!
      if (Number.isNaN(edge)) wrong(i, j, 'there is no such edge')
      const rest = keyOf(rules, entry(distances, after, j))
      const whole = extend(rules, rest, edge)
      if (closeness.differ(whole, key[j]!)) {
        wrong(
          i,
          j,
          `this way the path has ${shown(rules, whole)}, and the distance is ${shown(rules, key[j]!)}`,
        )
      }
    }
  }
  const { data, offset, rowStride, colStride } = next
  const round = yield* findNextNodeCycle(
    { data, offset, rootStride: colStride, nodeStride: rowStride },
    nodes,
  )
  if (round) wrong(...round, 'the next nodes go round in a cycle')
}

/** Reads the path between two nodes. */
export type PathReader = (from: number, to: number) => number[] | null | Promise<number[] | null>

/** Proves the paths between sources and targets by following each path. */
export async function* verifyPathsBetween(
  subject: VerificationTask,
  next: Table,
  way: PathReader,
): AsyncGenerator<void, void, void> {
  const { graph, query, distances, where } = subject
  const { nodes, rules } = query
  const rows = yield* keyedRows(graph, 'forward', rules)
  const closeness = new Tolerance(rules, nodes)
  const rowCount = query.sources?.length ?? nodes
  const colCount = query.targets?.length ?? nodes
  for (let row = 0; row < rowCount; row++) {
    for (let col = 0; col < colCount; col++) {
      const from = query.sources?.[row] ?? row
      const to = query.targets?.[col] ?? col
      const path = await way(from, to)
      const said = `the path from ${from} to ${to}${where}`
      const stated = keyOf(rules, entry(distances, row, col))
      const after = entry(next, row, col)
      if (after !== (path?.[1] ?? -1)) {
        throw new ValueError(`${said} begins with ${show(path?.[1] ?? -1)}, but the next node is ${after}`)
      }
      if (path === null) {
        if (stated !== rules.unreached)
          throw new ValueError(`${said} is missing, but the distance is ${shown(rules, stated)}`)
        continue
      }
      if (path[0] !== from || path.at(-1) !== to)
        throw new ValueError(`${said} leads from ${show(path[0])} to ${show(path.at(-1))}`)
      const terms = new Float64Array(path.length)
      let key = rules.startKey
      for (let at = 1; at < path.length; at++) {
        const edge = bestKey(rows, rules, path[at - 1]!, path[at]!)
        if (Number.isNaN(edge))
          throw new ValueError(`${said} has no edge from ${show(path[at - 1])} to ${show(path[at])}`)
        key = extend(rules, key, edge)
        terms[at] = Math.max(Math.abs(edge), Math.abs(key))
      }
      closeness.over(terms)
      if (closeness.differ(key, stated)) {
        throw new ValueError(`${said} has ${shown(rules, key)}, but the distance is ${shown(rules, stated)}`)
      }
      yield
    }
  }
}
