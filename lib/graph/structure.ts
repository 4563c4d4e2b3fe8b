/** Computes components, topological orders and spanning trees of graphs. */

import { signal } from '../abort.js'
import { during } from '../borrowed.js'
import { show } from '../describe.js'
import { newArray, UINT8 } from '../elements.js'
import { CycleError, DTypeError, OptionError } from '../errors.js'
import { cycleText, leastOf, rotated } from '../graph-core/cycles.js'
import {
  type EdgeList,
  type Edges,
  isEdgeList,
  isNode,
  type KeyedEdgeList,
  type NamedEdgeList,
  readingEdges,
} from '../graph-core/edges.js'
import { assertMemoryFits, type MemoryRequirement } from '../graph-core/memory-check.js'
import { type NodeNames, naming } from '../graph-core/names.js'
import { selectEdges } from '../graph-core/rows.js'
import { atOnce, inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { addon, type GraphRefusal } from '../native.js'
import { choice, Options, type OptionsOf } from '../options.js'
import { type ControlOptions, type NativeCall, runNative } from '../run-native.js'
import type { ElementArray } from '../storage.js'
import { sourceOf } from './keyed.js'
import type { AbortOptions } from './options.js'
import type { KeyedLinkList, LinkList, NamedLinkList } from './paths.js'
import { refusalError } from './refusals.js'
import { type PathRules, rulesOf } from './rules.js'

/** Result of {@link components}. */
export interface GraphComponents<Key = number> {
  /** Number of components. */
  readonly count: number
  /** Component of each node, by its number. */
  readonly labels: Int32Array
  /** The nodes of a component, in the order of their numbers. */
  members(component: number): Key[]
}

/** The options of {@link components}. `undefined` means the default. */
export interface ComponentOptions extends AbortOptions {
  /**
   * 'strong', the default: nodes that reach each other. 'weak': nodes that are connected if the direction of
   * edges is ignored.
   */
  kind?: 'strong' | 'weak' | undefined
}

const componentOptions = new Options({
  kind: choice(['strong', 'weak'], 'strong'),
  signal,
} satisfies OptionsOf<ComponentOptions>)

const NEED: MemoryRequirement = { what: 'the work on a graph', perNode: 64, perEdge: 32 }

/** Throws DTypeError for a value that isn't meant as an edge list. */
export function assertEdgeList(graph: unknown): asserts graph is EdgeList | NamedEdgeList {
  if (isEdgeList(graph)) return
  throw new DTypeError(`the graph must be an edge list { nodes, from, to }, but it is ${show(graph)}`)
}

/** Reads a graph and does the work on it off the event loop. */
export async function onGraph<Result>(
  graph: unknown,
  its: ControlOptions,
  what: string,
  isWeighted: boolean,
  work: (edges: Edges, call: NativeCall) => Promise<Result>,
): Promise<Result> {
  assertEdgeList(graph)
  const edges = await inSlices(
    readingEdges(graph, { weightless: !isWeighted, takes: true }),
    its.signal,
    what,
  )
  assertMemoryFits(NEED, edges.nodes, edges.to.length)
  const { borrowed } = edges
  return during(borrowed, () => runNative({ ...its, what, borrowed }, (call) => work(edges, call)))
}

const linkRules = () => rulesOf('or-and', UINT8)

const linksOf = (edges: Edges) => sourceOf({ edges }, linkRules())

/** Throws the error if native code has rejected the graph. */
export function assertAnswer(refusal: GraphRefusal | undefined, edges: Edges, rules: PathRules): void {
  if (refusal) throw refusalError(refusal, { edges }, rules, false, undefined)
}

export const keysOf = (nodes: Int32Array, names: NodeNames | null) => atOnce(naming(nodes, names))

/**
 * Computes the components of a graph. Strong components are numbered in topological order: edges between them
 * lead from lower numbers to higher ones. Weak components are numbered by their first nodes. Weights don't
 * matter.
 *
 * @throws Rejects with an MpmmlError if `graph` is no edge list, as {@link shortestPaths} does.
 * @example
 * const { count, members } = await components({ nodes: ['a', 'b', 'c'], from: ['a', 'b', 'b'], to: ['b', 'a', 'c'] })
 * console.log(count, members(0).join(), members(1).join()) // 2 a,b c
 */
export function components<Key>(
  graph: NamedLinkList<Key> | KeyedLinkList<Key>,
  options?: ComponentOptions,
): Promise<GraphComponents<Key>>
export function components(graph: LinkList, options?: ComponentOptions): Promise<GraphComponents>
export async function components(
  graph: unknown,
  options?: ComponentOptions,
): Promise<GraphComponents<unknown>> {
  const { kind, ...its } = componentOptions.read(options)
  return onGraph(graph, its, 'the search for components', false, async (edges, { report, cancel }) => {
    const request = { ...linksOf(edges), strong: kind === 'strong' }
    const { refusal, of: labels, members, start } = await addon.graphComponents(request, report, cancel)
    assertAnswer(refusal, edges, linkRules())
    const count = start.length - 1
    return {
      count,
      labels,
      members(component) {
        if (isNode(component, count))
          return keysOf(members.subarray(start[component], start[component + 1]), edges.names)
        throw new OptionError(`a component has a number from 0 to ${count - 1}, but it is ${show(component)}`)
      },
    }
  })
}

const orderOptions = new Options({ signal } satisfies OptionsOf<AbortOptions>)

/**
 * Returns all nodes in topological order, in which each edge leads from an earlier node to a later one. The
 * order is deterministic.
 *
 * @throws Rejects with CycleError (ERR_MPMML_CYCLE), which contains the cycle, if the graph has a cycle or
 * self-loop; and with the errors of {@link components}.
 * @example
 * const order = await topologicalOrder({ nodes: ['roof', 'walls', 'floor'], from: ['floor', 'walls'], to: ['walls', 'roof'] })
 * console.log(order.join()) // floor,walls,roof
 */
export function topologicalOrder<Key>(
  graph: NamedLinkList<Key> | KeyedLinkList<Key>,
  options?: AbortOptions,
): Promise<Key[]>
export function topologicalOrder(graph: LinkList, options?: AbortOptions): Promise<number[]>
export async function topologicalOrder(graph: unknown, options?: AbortOptions): Promise<unknown[]> {
  const its = orderOptions.read(options)
  const what = 'the ordering of a graph'
  return onGraph(graph, its, what, false, async (edges, { report, cancel }) => {
    const { refusal, order } = await addon.graphOrder(linksOf(edges), report, cancel)
    if (refusal?.kind === 'cycle') throw unordered([...refusal.cycle], edges.names)
    assertAnswer(refusal, edges, linkRules())
    return inSlices(naming(order, edges.names), its.signal, what)
  })
}

function unordered(nodes: number[], names: NodeNames | null): CycleError {
  const cycle = rotated(nodes, leastOf(nodes))
  return new CycleError(
    `the cycle ${cycleText(cycle, names)} has no order, because each of its nodes comes before itself: leave out one of its edges`,
    { cycle, keys: names ? cycle.map((node) => names.keys[node]) : undefined },
  )
}

/** The options of {@link spanningTree}. `undefined` means the default. */
export interface SpanningTreeOptions extends AbortOptions {
  /** 'min', the default: the least sum of weights; 'max': the greatest. */
  best?: 'min' | 'max' | undefined
}

const treeOptions = new Options({
  best: choice(['min', 'max'], 'min'),
  signal,
} satisfies OptionsOf<SpanningTreeOptions>)

/** Result of {@link spanningTree}: an edge list with the edges of the tree. */
export interface SpanningTree<Data extends ElementArray = ElementArray> extends EdgeList<Data> {
  /** Index of each edge in the graph's list, ascending. */
  readonly edges: Int32Array
  /** The number of the node that each edge leaves. */
  readonly from: Int32Array
  /** The number of the node that each edge enters. */
  readonly to: Int32Array
  readonly weight: Data
  /** The sum of the weights: exact for integers up to 2^53. */
  readonly total: number
}

/**
 * Computes a spanning tree: edges that connect all nodes with the least or greatest sum of weights; a forest
 * if the graph isn't connected. Edges are undirected, so each needs to be given only once. Among edges of
 * equal weight the first ones are chosen.
 *
 * @throws Rejects with an MpmmlError if `graph` is no edge list, as {@link shortestPaths} does.
 * @see J. B. Kruskal, On the shortest spanning subtree of a graph and the traveling salesman problem, Proceedings of the AMS 7 (1956)
 * @example
 * const { edges, total } = await spanningTree({ nodes: 3, from: [0, 1, 0], to: [1, 2, 2], weight: [4, 1, 2] })
 * console.log(edges.join(), total) // 1,2 3
 */
export function spanningTree<Key, Data extends ElementArray = Int32Array>(
  graph: NamedEdgeList<Key, Data> | KeyedEdgeList<Key, Data>,
  options?: SpanningTreeOptions,
): Promise<SpanningTree<Data> & { readonly keys: ArrayLike<Key> }>
export function spanningTree<Data extends ElementArray = Int32Array>(
  graph: EdgeList<Data>,
  options?: SpanningTreeOptions,
): Promise<SpanningTree<Data>>
export async function spanningTree(graph: unknown, options?: SpanningTreeOptions): Promise<SpanningTree> {
  const { best, ...its } = treeOptions.read(options)
  const what = 'the search for a spanning tree'
  return onGraph(graph, its, what, true, async (given, { report, cancel }) => {
    const semiring = best === 'min' ? 'min-plus' : 'max-plus'
    const rules = rulesOf(semiring, given.type)
    const request = { ...sourceOf({ edges: given }, rules), ...rules.native }
    const { refusal, edges } = await addon.graphSpanningTree(request, report, cancel)
    assertAnswer(refusal, given, rules)
    return inSlices(pickingTree(given, new Int32Array(edges)), its.signal, what)
  })
}

/** Returns the tree that consists of the selected edges. */
function* pickingTree(
  { nodes, from, to, weight, type, names }: Edges,
  edges: Int32Array,
): Steps<SpanningTree> {
  const { length } = edges
  const weights = yield* selectEdges(weight, edges, newArray(type, length))
  let total = 0
  for (let at = 0; at < length; at++) {
    if (at % PER_SLICE === PER_SLICE - 1) yield
    total += weights[at]!
  }
  return {
    nodes,
    ...(names && { keys: names.keys }),
    from: yield* selectEdges(from, edges, new Int32Array(length)),
    to: yield* selectEdges(to, edges, new Int32Array(length)),
    weight: weights,
    edges,
    total,
  }
}
