/** Finds the k shortest paths between two nodes. */
import { FLOAT64 } from '../elements.js'
import { ValueError } from '../errors.js'
import {
  type EdgeList,
  type Edges,
  type KeyedEdgeList,
  type NamedEdgeList,
  numberOfNode,
} from '../graph-core/edges.js'
import { listRows, selectEdges } from '../graph-core/rows.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { addon } from '../native.js'
import { Options, whole } from '../options.js'
import { callNative, type NativeCall } from '../run-native.js'
import type { ElementArray } from '../storage.js'
import { sourceOf } from './keyed.js'
import { type SearchOptions, searchSet } from './options.js'
import { shortestPaths, transitiveClosure } from './paths.js'
import { type PathRules, rulesOf } from './rules.js'
import { assertAnswer, keysOf, onGraph } from './structure.js'

const searchOptions = new Options(searchSet)

const MAX_PATHS = 2 ** 24
const count = whole(undefined, 0, MAX_PATHS)

/** Path with its length. */
export interface RankedPath<Key = number> {
  /** Sum of the weights of the path's edges. */
  readonly length: number
  /** Nodes of the path, both ends included. */
  readonly path: Key[]
}

/**
 * Finds the k shortest loopless paths from one node to another, the shortest first; fewer if no more exist.
 * The option `limit` is the largest length of a path; it isn't allowed if a weight is negative.
 * Of parallel edges the shortest counts. The choice among equally long paths is deterministic. The result is
 * empty if k is 0.
 *
 * Weights may be negative. Lengths over int32 are exact. Over floats each sum is rounded. If a float weight
 * is negative, the values that paths are compared by are rounded, too.
 *
 * @throws Rejects with CycleError for a cycle of negative weight on a path to the target; with
 * ERR_MPMML_OPTION, ERR_MPMML_VALUE, ERR_MPMML_DTYPE, and with the other errors of {@link shortestPaths}.
 * @see J. Y. Yen, Finding the k shortest loopless paths in a network, Management Science 17 (1971)
 * @example
 * const graph = { nodes: ['A', 'B', 'C'], from: ['A', 'B', 'A'], to: ['B', 'C', 'C'], weight: [1, 2, 5] }
 * const paths = await kShortestPaths(graph, 'A', 'C', 3)
 * console.log(paths.map(({ length, path }) => `${length}: ${path.join(' → ')}`).join(', ')) // 3: A → B → C, 5: A → C
 */
export function kShortestPaths<Key, Data extends ElementArray = Int32Array>(
  graph: NamedEdgeList<Key, Data> | KeyedEdgeList<Key, Data>,
  from: NoInfer<Key>,
  to: NoInfer<Key>,
  k: number,
  options?: SearchOptions,
): Promise<RankedPath<Key>[]>
export function kShortestPaths<Data extends ElementArray = Int32Array>(
  graph: EdgeList<Data>,
  from: number,
  to: number,
  k: number,
  options?: SearchOptions,
): Promise<RankedPath[]>
export async function kShortestPaths(
  graph: unknown,
  from: unknown,
  to: unknown,
  k: number,
  options?: SearchOptions,
): Promise<RankedPath<unknown>[]> {
  const { limit, ...its } = searchOptions.read(options)
  const most = count.read(k, 'k')!
  return onGraph(graph, its, WORK, true, async (edges, call) => {
    const rules = rulesOf('min-plus', edges.type)
    const source = numberOfNode(from, edges, 'from')
    const query = { source, target: numberOfNode(to, edges, 'to'), most, limit }
    if (most === 0) return []
    const found =
      (await rank(edges, rules, query, call)) ?? (await rankReduced(edges, query, call, its.signal))
    return found.map(({ length, path }) => ({ length, path: keysOf(path, edges.names) }))
  })
}

const WORK = 'the search for paths'

interface RankedQuery {
  readonly source: number
  readonly target: number
  readonly most: number
  readonly limit: number | undefined
}

interface Ranked {
  readonly length: number
  readonly path: Int32Array
}

/**
 * Returns the shortest paths by the weights of the edges; null if a float is negative and no limit is given.
 */
async function rank(
  edges: Edges,
  rules: PathRules,
  query: RankedQuery,
  call: NativeCall,
): Promise<Ranked[] | null> {
  const request = { ...sourceOf({ edges }, rules), ...query }
  const { refusal, paths, lengths } = await callNative(call, (report, cancel) =>
    addon.graphShortest(request, report, cancel),
  )
  if (refusal?.kind === 'gains' && query.limit === undefined) return null
  assertAnswer(refusal, edges, rules)
  return paths.map((path, at) => ({ path, length: lengths[at]! }))
}

/**
 * Returns the shortest paths for float weights of which some are negative. Reweights each edge by the
 * distances of its ends from the source, so that no weight is below 0 (Johnson). Uses only nodes on paths to
 * the target.
 *
 * @see D. B. Johnson, Efficient algorithms for shortest paths in sparse networks, Journal of the ACM 24 (1977)
 */
async function rankReduced(
  edges: Edges,
  query: RankedQuery,
  call: NativeCall,
  signal: AbortSignal | undefined,
): Promise<Ranked[]> {
  const { names, from, to } = edges
  const { source, target } = query
  const links = await inSlices(
    selecting(edges, () => true),
    signal,
    WORK,
  )
  const ahead = (await transitiveClosure(links, { sources: source, signal })).distances.data
  const behind = (await transitiveClosure(links, { targets: target, signal })).distances.data
  if (ahead[target] === 0) return []
  const isBetween = (node: number) => ahead[node] === 1 && behind[node] === 1
  const part = await inSlices(
    selecting(edges, (e) => isBetween(from[e]!) && isBetween(to[e]!)),
    signal,
    WORK,
  )
  // The name of the source is needed only in errors, which look up nodes by number.
  const sources = names ? [names.keys[source]] : [source]
  const named = { ...part, ...(names && { keys: names.keys }) }
  const { distances } = await shortestPaths(named as EdgeList<Float64Array>, {
    sources: sources as number[],
    signal,
  })
  const reduced = await inSlices(reducing(part, distances.data), signal, WORK)
  const list = { ...edges, ...part, weight: reduced, type: FLOAT64 }
  const found = (await rank(list, rulesOf('min-plus', FLOAT64), query, call))!
  return await inSlices(measuring(part, edges.weight instanceof Float32Array, found), signal, WORK)
}

/** Returns the selected edges with weights in float64. Omits edges of infinite length. */
function* selecting(
  { nodes, from, to, weight }: Edges,
  isIn: (edge: number) => boolean,
): Steps<{ nodes: number; from: Int32Array; to: Int32Array; weight: Float64Array }> {
  const selected = new Int32Array(from.length)
  let count = 0
  for (let e = 0; e < from.length; e++) {
    if (e % PER_SLICE === PER_SLICE - 1) yield
    if (weight[e] === Infinity || !isIn(e)) continue
    if (weight[e] === -Infinity) {
      throw new ValueError(
        `weight[${e}] must be finite, because another weight is negative and lengths are compared by differences, but it is -Infinity: ` +
          'leave the edge out, or give it a finite weight',
      )
    }
    selected[count++] = e
  }
  const edges = selected.subarray(0, count)
  return {
    nodes,
    from: yield* selectEdges(from, edges, new Int32Array(count)),
    to: yield* selectEdges(to, edges, new Int32Array(count)),
    weight: yield* selectEdges(weight, edges, new Float64Array(count)),
  }
}

type Part = Pick<Edges, 'nodes' | 'from' | 'to' | 'weight'>

/**
 * Returns the reduced weight of each edge: its weight less the difference of its ends' distances from the
 * source. It is at least 0.
 */
function* reducing({ from, to, weight }: Part, distances: ElementArray): Steps<Float64Array> {
  const reduced = new Float64Array(weight.length)
  for (let e = 0; e < weight.length; e++) {
    if (e % PER_SLICE === PER_SLICE - 1) yield
    reduced[e] = Math.max(0, distances[from[e]!]! + weight[e]! - distances[to[e]!]!)
  }
  return reduced
}

/** Returns the paths with the sums of their weights, in the order of their lengths. */
function* measuring(part: Part, isSingle: boolean, paths: readonly Ranked[]): Steps<Ranked[]> {
  const { start, to, edge } = yield* listRows(part, null)
  const measured: Ranked[] = []
  let looked = 0
  for (const { path } of paths) {
    let length = 0
    for (let at = 1; at < path.length; at++) {
      let best = Infinity
      for (let k = start[path[at - 1]!]!; k < start[path[at - 1]! + 1]!; k++) {
        if (++looked % PER_SLICE === 0) yield
        if (to[k] === path[at]) best = Math.min(best, part.weight[edge[k]!]!)
      }
      length = isSingle ? Math.fround(length + best) : length + best
    }
    measured.push({ path, length })
  }
  return measured.sort((a, b) => a.length - b.length)
}
