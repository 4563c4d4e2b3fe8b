/** Best paths from some nodes to some, by a search from each: in native code, on all cores. */

import { storedZeroOf, zeroOf } from '../built-in.js'
import { bytesOf, FLOAT64, INT32, newArray } from '../elements.js'
import { OutOfMemoryError } from '../errors.js'
import { availableMemory } from '../free-memory.js'
import type { Direction } from '../graph-core/rows.js'
import { type Need, requireSpace } from '../graph-core/space.js'
import { allocate } from '../matrix.js'
import { addon, type GraphSearchRequest, indexIn, type NativeDivision } from '../native.js'
import { finiteOf } from '../overflow.js'
import type { Overflow } from '../product/options.js'
import { callNative, type NativeCall } from '../run-native.js'
import type { ElementArray, OrdinaryArray } from '../storage.js'
import { type Graph, weightsOf } from './keyed.js'
import type { FoundBy, PathMethod } from './options.js'
import type { ReadReduction, Reduced } from './reduction.js'
import { refusalError } from './refusals.js'
import { nativeRulesOf, type PathRules } from './rules.js'
import type { Trees } from './walk.js'

const searched = (request: GraphSearchRequest, call: NativeCall) =>
  callNative(call, (report, cancel) => addon.graphSearch(request, report, cancel))

/** What is asked of a graph. */
export interface Query {
  readonly nodes: number
  readonly rules: PathRules
  /** Null: all nodes. */
  readonly sources: Int32Array | null
  readonly targets: Int32Array | null
  /** From which side it is searched, if not from that with fewer nodes. */
  readonly direction?: Direction | undefined
  readonly paths: boolean
  readonly overflow: Overflow
  /** Paths with worse values count as none; undefined: all count. */
  readonly limit: number | undefined
  /** How they are found; a closure isn't done here. */
  readonly method?: PathMethod | undefined
  /** What {@link divide} gave for this graph and these rules. */
  readonly division?: NativeDivision | undefined
  /** The most bytes that it takes besides the results; undefined: what is available. */
  readonly memory?: number | undefined
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

/**
 * From which side a query is searched: the one with fewer nodes. The paths of all pairs backward, because then `next` is the trees;
 * without paths forward, because then a search writes a row and not a column.
 */
export function directionOf({ sources, targets, paths, direction }: Query): Direction {
  if (direction) return direction
  if (!sources) return targets || paths ? 'backward' : 'forward'
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
): OrdinaryArray<ElementArray> {
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

/** With one thread. */
const SEARCH: Need = { what: 'a search', perNode: 112, perEdge: 24 }
/** Of each more. */
const BYTES_PER_WORKER = 40

/** The bytes that a search takes at most, with one thread. */
export const searchBytes = (nodes: number, edges: number) => nodes * SEARCH.perNode + edges * SEARCH.perEdge

/** What native code writes if it writes nothing. `type` is that of distances. */
const nothingOf = (type: number) => ({
  distances: newArray(type, 0),
  next: null,
  trees: null,
  place: 0,
  treePlace: 0,
  rootStride: 0,
  endStride: 0,
})

/**
 * Divides a graph by separators, for several queries; null if searches answer, or another way, sooner.
 *
 * @param within - the milliseconds that another way takes.
 */
export async function divide(
  graph: Graph,
  query: Query,
  type: number,
  call: NativeCall,
  within?: number,
): Promise<NativeDivision | null> {
  const backward = directionOf(query) === 'backward'
  const request: GraphSearchRequest = {
    ...questionOf(graph, query, backward),
    ...nothingOf(type),
    next: query.paths ? new Int32Array(1) : null,
    within,
    divides: true,
  }
  const { refusal, division } = await searched(request, call)
  if (refusal) throw refusalError(refusal, graph, query.rules, backward, undefined)
  return division ?? null
}

/** Searches one graph, and writes the results. It gives how: by `'search'` or `'dissection'`. */
export async function search(
  graph: Graph,
  query: Query,
  results: Results,
  call: NativeCall,
): Promise<FoundBy> {
  const { rules, nodes, sources, targets } = query
  const backward = directionOf(query) === 'backward'
  const roots = backward ? targets : sources
  const cols = countOf(targets, nodes)
  if (countOf(sources, nodes) === 0 || cols === 0) return 'search'
  const item = results.item ?? 0
  const request: GraphSearchRequest = {
    ...questionOf(graph, query, backward),
    distances: results.distances,
    next: results.next,
    trees: results.trees,
    place: item * countOf(sources, nodes) * cols,
    treePlace: item * countOf(roots, nodes) * nodes,
    rootStride: backward ? 1 : cols,
    endStride: backward ? cols : 1,
    division: query.division,
  }
  const { refusal, dissected } = await searched(request, call)
  if (refusal) throw refusalError(refusal, graph, rules, backward, results.item)
  return dissected ? 'dissection' : 'search'
}

/** What native code is asked, without where it writes. Throws OutOfMemoryError. */
function questionOf(graph: Graph, query: Query, backward: boolean) {
  const { rules, nodes, sources, targets } = query
  const [roots, ends] = backward ? [targets, sources] : [sources, targets]
  const edges = 'edges' in graph ? graph.edges.to.length : 0
  requireSpace(SEARCH, nodes, edges)
  const most = Math.min(availableMemory(), query.memory ?? Number.POSITIVE_INFINITY)
  const spare = most - searchBytes(nodes, edges)
  const [least, greatest] = finiteOf(rules.maximizes)
  return {
    ...sourceOf(graph, rules),
    ...nativeRulesOf(rules),
    backward,
    roots,
    ends,
    limit: query.limit,
    overflow: indexIn(addon.overflowPolicies, query.overflow),
    least,
    most: greatest,
    method: indexIn(addon.pathMethods, query.method ?? 'auto'),
    memory: Math.max(0, Math.floor(spare)),
    mostWorkers: 1 + Math.max(0, Math.floor(spare / (nodes * BYTES_PER_WORKER))),
  }
}

/** Searches one graph as {@link search} does, and makes numbers of the distances of each source. `type` is that of distances. */
export async function searchReduced(
  graph: Graph,
  query: Query,
  reduction: ReadReduction,
  type: number,
  call: NativeCall,
): Promise<{ found: Reduced; method: FoundBy }> {
  const { rules, nodes, sources, targets } = query
  const found = roomForReduced(query, reduction)
  if (countOf(sources, nodes) === 0 || countOf(targets, nodes) === 0) return { found, method: 'search' }
  const request: GraphSearchRequest = {
    ...questionOf(graph, query, false),
    ...nothingOf(type),
    noPath: zeroOf(rules.semiring, 'float64'),
    reduction: indexIn(addon.pathReductions, reduction.kind),
    reduced: found.values,
    reached: found.reached,
    nearest: found.nodes ?? undefined,
    mostNearest: reduction.most,
  }
  const { refusal, dissected } = await searched(request, call)
  if (refusal) throw refusalError(refusal, graph, rules, false, undefined)
  return { found, method: dissected ? 'dissection' : 'search' }
}

/** Makes the arrays for what is made of distances, as they are if there are no paths. */
export function roomForReduced({ rules, nodes, sources }: Query, { kind, most }: ReadReduction): Reduced {
  const count = countOf(sources, nodes)
  const isNearest = kind === 'nearest'
  const values = makeArray('the results', FLOAT64, [1, count, most]) as Float64Array
  values.fill(isNearest ? zeroOf(rules.semiring, 'float64') : Number.NaN)
  const reached = makeArray('the results', INT32, [1, count, 1]) as Int32Array
  if (!isNearest) return { values, reached, nodes: null }
  return {
    values,
    reached,
    nodes: (makeArray('the results', INT32, [1, count, most]) as Int32Array).fill(-1),
  }
}

/** The graph as native code reads it. */
function sourceOf(graph: Graph, rules: PathRules) {
  if ('edges' in graph) {
    const { nodes, from, to, weight } = graph.edges
    // NaN is refused even where weights don't count.
    return {
      nodes,
      from,
      to,
      weights: weight,
      zero: rules.zero,
      hasZero: weightsOf(graph.edges, rules) !== null,
    }
  }
  const { matrix, item } = graph
  return {
    nodes: matrix.rows,
    weights: matrix.data,
    zero: storedZeroOf(rules.semiring, matrix),
    offset: matrix.offset + item * matrix.batchStride,
    matrixRowStride: matrix.rowStride,
    matrixColStride: matrix.colStride,
  }
}
