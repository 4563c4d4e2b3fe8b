/** Best paths from some nodes to some, by a search from each: on JavaScript's thread, in slices. */
import { bytesOf, INT32, newArray } from '../elements.js'
import { OutOfMemoryError } from '../errors.js'
import { findingComponents } from '../graph-core/components.js'
import { cycleError } from '../graph-core/cycles.js'
import { findingReached } from '../graph-core/reached.js'
import type { Direction } from '../graph-core/rows.js'
import { PER_STEP, type Steps } from '../graph-core/slices.js'
import { type Need, requireSpace } from '../graph-core/space.js'
import { allocate } from '../matrix.js'
import type { Overflow } from '../product/options.js'
import type { ElementArray } from '../storage.js'
import { breadthFirst, type Wanted } from './breadth-first.js'
import { dijkstra, NodeHeap } from './dijkstra.js'
import { type Graph, keyedRows } from './keyed.js'
import { type FoundCycle, LabelCorrecting } from './label-correcting.js'
import { Potentials, potentialsPay, reweight } from './potentials.js'
import { type PathRules, valueOfKey } from './rules.js'
import type { Searched } from './searched.js'
import { StoredDistances } from './stored.js'
import { type Search, Tree } from './tree.js'
import type { Trees } from './walk.js'

/** What is asked of a graph. */
export interface Query {
  readonly nodes: number
  readonly rules: PathRules
  /** Null: all nodes. */
  readonly sources: Int32Array | null
  readonly targets: Int32Array | null
  readonly paths: boolean
  readonly overflow: Overflow
}

/** The results for one graph: parts of arrays that those of a batch share. */
export interface Results {
  readonly distances: ElementArray
  /** The nodes after the sources; null if they aren't asked for. */
  readonly next: Int32Array | null
  /** The trees of a search that don't follow from `next`; null if they do, or aren't asked for. */
  readonly trees: Int32Array | null
  /** The index in the batch, if it is one. */
  readonly item: number | undefined
}

/** From which side a query is searched: the one with fewer nodes. All pairs backward, because then `next` is the trees. */
export function directionOf({ sources, targets }: Query): Direction {
  if (!sources) return 'backward'
  return targets && targets.length < sources.length ? 'backward' : 'forward'
}

/** How many searches a query takes. */
export function rootsOf(query: Query): number {
  const { sources, targets, nodes } = query
  return (directionOf(query) === 'forward' ? sources : targets)?.length ?? nodes
}

const countOf = (nodes: Int32Array | null, all: number) => nodes?.length ?? all

/** An array for results that messages call `name`; `besides` are bytes of others that haven't been written yet. */
export function makeArray(
  name: string,
  type: number,
  [batch, rows, cols]: readonly [number, number, number],
  besides = 0,
): ElementArray {
  const length = batch * rows * cols
  try {
    return allocate(length, name, type, newArray, undefined, besides)
  } catch (error) {
    if (!(error instanceof OutOfMemoryError)) throw error
    const size = `${batch > 1 ? `${batch} × ` : ''}${rows} × ${cols} elements, ${length * bytesOf(type)} bytes`
    throw new OutOfMemoryError(
      `there is no memory for ${name}, ${size}: ask for fewer \`sources\` or \`targets\` at a time`,
    )
  }
}

/** Makes the arrays for the results of a batch of graphs, whose element type has the number `type`. */
export function makeRoom(query: Query, batch: number, type: number): Omit<Results, 'item'> {
  const { nodes, sources, targets, paths } = query
  const shape = [batch, countOf(sources, nodes), countOf(targets, nodes)] as const
  const distances = makeArray('the distances', type, shape)
  if (!paths) return { distances, next: null, trees: null }
  const next = makeArray('the next nodes', INT32, shape, distances.byteLength) as Int32Array
  if (!sources) return { distances, next, trees: null }
  const besides = distances.byteLength + next.byteLength
  const trees = makeArray('the paths', INT32, [batch, rootsOf(query), nodes], besides) as Int32Array
  return { distances, next, trees }
}

/** Where the trees of a result are. */
export function treesOf(
  query: Query,
  { next, trees }: Pick<Results, 'next' | 'trees'>,
  item: number,
): Trees | null {
  const { nodes, targets } = query
  if (trees) {
    return { data: trees, offset: item * rootsOf(query) * nodes, rootStride: nodes, nodeStride: 1 }
  }
  const cols = countOf(targets, nodes)
  return next && { data: next, offset: item * nodes * cols, rootStride: 1, nodeStride: cols }
}

const SEARCH: Need = { what: 'a search', perNode: 88, perEdge: 24 }

/** Searches one graph, and writes the results. */
export function* search(graph: Graph, query: Query, results: Results, searched: Searched): Steps<void> {
  const { rules, nodes } = query
  const direction = directionOf(query)
  const forward = direction === 'forward'
  const [roots, ends] = forward ? [query.sources, query.targets] : [query.targets, query.sources]
  const count = countOf(roots, nodes)
  if (count === 0 || ends?.length === 0) return
  requireSpace(SEARCH, nodes, 'edges' in graph ? graph.edges.to.length : 0)
  const rows = yield* keyedRows(graph, direction, rules)
  const tree = new Tree(nodes)
  const run = yield* searcher(graph, { rows, rules, tree }, query, direction, results.item)
  const writer = new Writer(query, results, tree, forward)
  for (let index = 0; index < count; index++) {
    const root = roots ? roots[index]! : index
    yield* searched.counting(run(root), nodes + rows.to.length)
    yield* writer.write(index, root)
  }
  // Last, because a cycle that gains is the worse news, as it is of a closure.
  const { overflow } = writer.stored
  if (overflow) throw overflow
}

/** The cheapest way to search these rows from a root. */
function* searcher(
  graph: Graph,
  state: Search,
  query: Query,
  direction: Direction,
  item: number | undefined,
): Steps<(root: number) => Steps<void>> {
  const { rows, rules } = state
  const { nodes } = rows
  const [roots, ends] =
    direction === 'forward' ? [query.sources, query.targets] : [query.targets, query.sources]
  const wanted = ends && wantedOf(ends, nodes)
  if (rows.monotone) {
    if (rules.semiring === 'or-and') {
      const queue = new Int32Array(nodes)
      return (root) => breadthFirst(state, queue, root, wanted)
    }
    const heap = new NodeHeap(state.tree.key)
    return (root) => dijkstra(state, heap, root, wanted)
  }
  // A cycle from which no asked node is reached makes nothing better that was asked for.
  const opposite = direction === 'forward' ? 'backward' : 'forward'
  const reaching = ends && (yield* findingReached(yield* keyedRows(graph, opposite, rules), ends))
  const components = yield* findingComponents(rows, { roots, within: reaching?.within })
  const labels = new LabelCorrecting(state, components)
  const gaining = ({ nodes, weight }: FoundCycle) =>
    cycleError({ nodes: direction === 'forward' ? nodes : nodes.reverse(), weight, batch: item }, rules)
  if (potentialsPay(state, components, countOf(roots, nodes))) {
    const potentials = yield* reweight(state, components, labels)
    if (!(potentials instanceof Potentials)) throw gaining(potentials)
    return (root) => potentials.search(state, root, wanted)
  }
  return function* (root) {
    const cycle = yield* labels.from(root)
    if (cycle) throw gaining(cycle)
  }
}

function wantedOf(ends: Int32Array, nodes: number): Wanted {
  const is = new Uint8Array(nodes)
  let count = 0
  for (const end of ends) {
    if (is[end] === 1) continue
    is[end] = 1
    count++
  }
  return { is, count }
}

/** Writes what was found from a root. */
class Writer {
  readonly stored: StoredDistances
  readonly #query: Query
  readonly #results: Results
  readonly #tree: Tree
  readonly #forward: boolean
  /** The nodes after the root, and the nodes whose one is looked for. */
  readonly #first: Int32Array
  readonly #chain: Int32Array

  constructor(query: Query, results: Results, tree: Tree, forward: boolean) {
    const { nodes, rules } = query
    this.#query = query
    this.#results = results
    this.#tree = tree
    this.#forward = forward
    const chains = forward && results.next !== null
    this.#first = new Int32Array(chains ? nodes : 0)
    this.#chain = new Int32Array(chains ? nodes : 0)
    this.stored = new StoredDistances(rules, query.overflow)
  }

  /** `index` is that of the root among the roots. */
  *write(index: number, root: number): Steps<void> {
    const { nodes, sources, targets, rules } = this.#query
    const { distances, next, trees, item = 0 } = this.#results
    const { key, before } = this.#tree
    const [rows, cols] = [countOf(sources, nodes), countOf(targets, nodes)]
    const ends = this.#forward ? targets : sources
    const count = this.#forward ? cols : rows
    const step = this.#forward ? 1 : cols
    const offset = item * rows * cols + (this.#forward ? index * cols : index)
    if (this.#first.length > 0) this.#first.fill(-1)
    for (let at = 0; at < count; at++) {
      if (at % PER_STEP === PER_STEP - 1) yield
      const end = ends ? ends[at]! : at
      const place = offset + at * step
      const own = key[end]!
      if (own === rules.unreached) distances[place] = rules.zero
      else distances[place] = this.#stored(valueOfKey(rules, own), root, end)
      if (next) next[place] = this.#forward ? this.#firstOf(root, end) : before[end]!
    }
    if (trees) trees.set(before, (item * rootsOf(this.#query) + index) * nodes)
  }

  #stored(value: number, root: number, end: number): number {
    if (!this.#query.rules.exact) return value
    const [from, to] = this.#forward ? [root, end] : [end, root]
    return this.stored.of(value, from, to, this.#results.item)
  }

  /** The node after the root on the path to `end`; -1 if there is none. */
  #firstOf(root: number, end: number): number {
    const { before } = this.#tree
    const first = this.#first
    const chain = this.#chain
    let length = 0
    let node = end
    while (first[node]! < 0) {
      const above = before[node]!
      if (above < 0) return -1
      if (above === root) {
        first[node] = node
        break
      }
      chain[length++] = node
      node = above
    }
    const found = first[node]!
    for (let at = 0; at < length; at++) first[chain[at]!] = found
    return found
  }
}
