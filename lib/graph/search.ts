/**
 * Finds best paths between some nodes by one search per source or target, in native code on all CPU cores.
 */

import { zeroOf } from '../built-in-semirings.js'
import { bytesOf, elementType, FLOAT64, INT32, newArray } from '../elements.js'
import { OutOfMemoryError } from '../errors.js'
import { assertMemoryFits, type MemoryRequirement } from '../graph-core/memory-check.js'
import type { Direction } from '../graph-core/rows.js'
import { allocate } from '../matrix.js'
import {
  addon,
  type GraphSearchRequest,
  type GraphSource,
  indexIn,
  type NativeDissection,
} from '../native.js'
import { finiteOf } from '../overflow.js'
import type { Overflow } from '../product/options.js'
import { callNative, type NativeCall } from '../run-native.js'
import type { ElementArray, OrdinaryArray } from '../storage.js'
import { type Graph, sourceOf } from './keyed.js'
import type { FoundBy, PathMethod } from './options.js'
import type { PathForest } from './path-trees.js'
import type { ReadReduction, Reduced } from './reduction.js'
import { refusalError } from './refusals.js'
import { excludesEmpty, type PathRules } from './rules.js'

/** Path query on a graph. */
export interface Query {
  readonly nodes: number
  readonly rules: PathRules
  /** Null: all nodes. */
  readonly sources: Int32Array | null
  readonly targets: Int32Array | null
  /** Direction of the search; undefined: from the side with fewer nodes. */
  readonly direction?: Direction | undefined
  readonly paths: boolean
  readonly overflow: Overflow
  /** Paths with worse values count as none; undefined: all count. */
  readonly limit: number | undefined
  /** Method of the search; closures aren't computed here. */
  readonly method?: PathMethod | undefined
  /** Result of {@link divide} for this graph and these rules. */
  readonly division?: NativeDissection | undefined
  /** Limit of memory in bytes, results excluded; undefined: the available memory. */
  readonly memory?: number | undefined
}

/** Arrays for the results of a batch of graphs. */
export interface ResultArrays {
  readonly distances: ElementArray
  /** Next nodes after the sources; null if they aren't requested. */
  readonly next: Int32Array | null
  /** Trees of a search; null if they follow from `next` or aren't requested. */
  readonly trees: Int32Array | null
}

/**
 * Returns the direction in which a query is searched: from the side with fewer nodes. All pairs with paths
 * are searched backward, because `next` then contains the trees. All pairs without paths are searched
 * forward, because a search then writes a row instead of a column.
 */
export function directionOf({ sources, targets, paths, direction }: Query): Direction {
  if (direction) return direction
  if (!sources) return targets || paths ? 'backward' : 'forward'
  return targets && targets.length < sources.length ? 'backward' : 'forward'
}

/** Returns the number of searches of a query. */
export function rootsOf(query: Query): number {
  const { sources, targets, nodes } = query
  return (directionOf(query) === 'forward' ? sources : targets)?.length ?? nodes
}

const countOf = (nodes: Int32Array | null, all: number) => nodes?.length ?? all

/**
 * Allocates an array for results that messages call `name`. `besides` is the size in bytes of other arrays
 * that are allocated but not written yet.
 */
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
      `out of memory: cannot allocate ${name}, ${size}: request fewer \`sources\` or \`targets\` at a time`,
    )
  }
}

/** Allocates the arrays for the results of a batch of graphs; `type` is the code of the element type. */
export function makeRoom(query: Query, batch: number, type: number): ResultArrays {
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

/** The trees of a search whose `next` was requested. */
export function forestOf(query: Query, { next, trees }: ResultArrays): PathForest {
  const { nodes, sources, targets, rules, limit } = query
  const cols = countOf(targets, nodes)
  const [data, size, rootStride, nodeStride] = trees
    ? [trees, rootsOf(query) * nodes, nodes, 1]
    : [next!, nodes * cols, 1, cols]
  return {
    forward: directionOf(query) === 'forward',
    every: !sources && !targets,
    none: excludesEmpty(rules, limit),
    trees: (item) => ({ data, offset: item * size, rootStride, nodeStride }),
  }
}

/** Memory of a search with one thread. */
const SEARCH: MemoryRequirement = { what: 'a search', perNode: 112, perEdge: 24 }
/** Bytes per node of each additional thread. */
const BYTES_PER_WORKER = 40

/** Returns the most bytes that a search takes with one thread. */
export const searchBytes = (nodes: number, edges: number) => nodes * SEARCH.perNode + edges * SEARCH.perEdge

/** Fields of a request that differ from call to call. */
type RequestFields = Omit<Partial<GraphSearchRequest>, keyof GraphSource | 'roots' | 'ends'>

/**
 * Calls native code for one graph; no other function does.
 *
 * @param type - code of the type of distances.
 * @param requested - arrays for the results, if distances are written.
 * @throws Rejects with the error for a graph that has no answer; `item` is the index of the matrix in a
 * batch.
 */
async function searchGraph(
  graph: Graph,
  query: Query,
  type: number,
  call: NativeCall,
  requested: RequestFields,
  item?: number,
) {
  const { rules, nodes, sources, targets } = query
  const backward = requested.backward ?? directionOf(query) === 'backward'
  const edges = 'edges' in graph ? graph.edges.to.length : 0
  const available = assertMemoryFits(SEARCH, nodes, edges)
  const spare = Math.min(available, query.memory ?? Number.POSITIVE_INFINITY) - searchBytes(nodes, edges)
  const [least, most] = finiteOf(rules.maximizes)
  const request: GraphSearchRequest = {
    ...sourceOf(graph, rules),
    ...rules.native,
    backward,
    roots: backward ? targets : sources,
    ends: backward ? sources : targets,
    limit: query.limit,
    overflow: indexIn(addon.overflowPolicies, query.overflow),
    least,
    most,
    method: indexIn(addon.pathMethods, query.method ?? 'auto'),
    memory: Math.max(0, Math.floor(spare)),
    maxWorkers: 1 + Math.max(0, Math.floor(spare / (nodes * BYTES_PER_WORKER))),
    distances: requested.distances ?? newArray(type, 0),
    place: 0,
    treePlace: 0,
    rootStride: 0,
    endStride: 0,
    ...requested,
  }
  const found = await callNative(call, (report, cancel) => addon.graphSearch(request, report, cancel))
  if (found.refusal) throw refusalError(found.refusal, graph, rules, backward, item)
  return found
}

/**
 * Computes the nested dissection of a graph for several queries; returns null if searches or another method
 * are faster.
 *
 * @param within - the milliseconds that another method takes.
 */
export async function divide(
  graph: Graph,
  query: Query,
  type: number,
  call: NativeCall,
  within?: number,
): Promise<NativeDissection | null> {
  const next = query.paths ? new Int32Array(1) : null
  return (await searchGraph(graph, query, type, call, { next, within, divides: true })).division ?? null
}

/**
 * Searches one graph, and writes the results.
 *
 * @param item - the index of the matrix if there is a batch.
 * @returns the method that found the results.
 */
export async function search(
  graph: Graph,
  query: Query,
  { distances, next, trees }: ResultArrays,
  call: NativeCall,
  item?: number,
): Promise<FoundBy> {
  const { nodes, sources, targets, division } = query
  const [rows, cols] = [countOf(sources, nodes), countOf(targets, nodes)]
  if (rows === 0 || cols === 0) return 'search'
  const backward = directionOf(query) === 'backward'
  const index = item ?? 0
  const { dissected } = await searchGraph(
    graph,
    query,
    elementType(distances),
    call,
    {
      backward,
      distances,
      next,
      trees,
      place: index * rows * cols,
      treePlace: index * (backward ? cols : rows) * nodes,
      rootStride: backward ? 1 : cols,
      endStride: backward ? cols : 1,
      division,
    },
    item,
  )
  return dissected ? 'dissection' : 'search'
}

/**
 * Searches one graph as {@link search} does, and reduces the distances of each source to numbers. `type` is
 * the code of the type of distances.
 */
export async function searchReduced(
  graph: Graph,
  query: Query,
  { kind, most }: ReadReduction,
  found: Reduced,
  type: number,
  call: NativeCall,
): Promise<FoundBy> {
  const { rules, nodes, sources, targets } = query
  if (countOf(sources, nodes) === 0 || countOf(targets, nodes) === 0) return 'search'
  const { dissected } = await searchGraph(graph, query, type, call, {
    backward: false,
    noPath: zeroOf(rules.semiring, 'float64'),
    reduction: indexIn(addon.pathReductions, kind),
    reduced: found.values,
    reached: found.reached,
    nearest: found.nodes ?? undefined,
    maxNearest: most,
  })
  return dissected ? 'dissection' : 'search'
}

/** Allocates the arrays for reduced distances, initialized as if no paths existed. */
export function roomForReduced({ rules, nodes, sources }: Query, { kind, most }: ReadReduction): Reduced {
  const count = countOf(sources, nodes)
  const isNearest = kind === 'nearest'
  const array = (type: number, cols: number) => makeArray('the results', type, [1, count, cols])
  const values = array(FLOAT64, most) as Float64Array
  values.fill(isNearest ? zeroOf(rules.semiring, 'float64') : Number.NaN)
  const reached = array(INT32, 1) as Int32Array
  return { values, reached, nodes: isNearest ? (array(INT32, most) as Int32Array).fill(-1) : null }
}
