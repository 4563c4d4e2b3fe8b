/** Finds the edges of paths. */

import { signal } from '../abort.js'
import { assertOrdinaryArray } from '../borrowed.js'
import { show } from '../describe.js'
import { UINT8 } from '../elements.js'
import { DTypeError, ValueError } from '../errors.js'
import {
  type EdgeList,
  type Edges,
  type KeyedEdgeList,
  type NamedEdgeList,
  numberOfNode,
} from '../graph-core/edges.js'
import { isKeyArray, nodeText } from '../graph-core/names.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { choice, Options, type OptionsOf } from '../options.js'
import { assertWeight, weightsOf } from './keyed.js'
import type { AbortOptions } from './options.js'
import type { KeyedLinkList, LinkList, NamedLinkList } from './paths.js'
import { edgeKey, isBetterEdge, type PathSemiring, pathSemirings, rulesOf } from './rules.js'
import { onGraph } from './structure.js'

/** The options of {@link pathEdges}. `undefined` means the default. */
export interface PathEdgesOptions extends AbortOptions {
  /** The semiring that parallel edges are compared in; 'min-plus' by default. */
  semiring?: PathSemiring | undefined
}

const edgesOptions = new Options({
  semiring: choice(pathSemirings, 'min-plus'),
  signal,
} satisfies OptionsOf<PathEdgesOptions>)

/**
 * Finds the edges of a path, such as one of {@link shortestPaths} or {@link kShortestPaths}: the best of
 * parallel edges, and the first of equally good ones. Reads each edge of the graph once.
 *
 * @param graph - the edge list that the path is in.
 * @param path - node indices, or names if nodes have names.
 * @returns The index of each step's edge in the list: one element fewer than the path has nodes.
 * @throws Rejects with ArgumentError (ERR_MPMML_VALUE) if no edge leads from a node of the path to the next;
 * with the errors of {@link shortestPaths} for a value that isn't an edge list.
 * @example
 * const graph = { nodes: ['A', 'B', 'C'], from: ['A', 'B', 'A', 'A'], to: ['B', 'C', 'C', 'B'], weight: [4, 1, 9, 2] }
 * const { path } = await shortestPaths(graph, { paths: true, sources: 'A' })
 * console.log((await pathEdges(graph, path('A', 'C'))).join()) // 3,1
 */
export function pathEdges<Key>(
  graph: NamedEdgeList<Key> | KeyedEdgeList<Key> | NamedLinkList<Key> | KeyedLinkList<Key>,
  path: ArrayLike<NoInfer<Key>>,
  options?: PathEdgesOptions,
): Promise<Int32Array>
export function pathEdges(
  graph: EdgeList | LinkList,
  path: ArrayLike<number>,
  options?: PathEdgesOptions,
): Promise<Int32Array>
export async function pathEdges(
  graph: unknown,
  path: unknown,
  options?: PathEdgesOptions,
): Promise<Int32Array> {
  const { semiring, signal } = edgesOptions.read(options)
  const what = 'the search for edges'
  if (!isKeyArray(path)) throw new DTypeError(`path must be an array of nodes, but it is ${show(path)}`)
  assertOrdinaryArray(path, 'path')
  const given = Array.from(path)
  return await onGraph(graph, { signal }, what, semiring !== 'or-and', (edges) => {
    const nodes = Int32Array.from(given, (node, at) => numberOfNode(node, edges, `path[${at}]`))
    return inSlices(findingEdges(edges, nodes, semiring), signal, what)
  })
}

function* findingEdges(edges: Edges, path: Int32Array, semiring: PathSemiring): Steps<Int32Array> {
  const { from, to, names } = edges
  const links = semiring === 'or-and'
  const rules = rulesOf(semiring, links ? UINT8 : edges.type)
  const weights = weightsOf(edges, rules)
  // Steps of the path that leave each node: a path may pass a node twice.
  const steps = new Map<number, number[]>()
  for (let at = 0; at + 1 < path.length; at++) {
    if (at % PER_SLICE === PER_SLICE - 1) yield
    const others = steps.get(path[at]!)
    if (others) others.push(at)
    else steps.set(path[at]!, [at])
  }
  const count = Math.max(0, path.length - 1)
  const found = new Int32Array(count).fill(-1)
  const best = new Float64Array(count).fill(Number.NaN)
  for (let e = 0; e < from.length; e++) {
    if (e % PER_SLICE === PER_SLICE - 1) yield
    const leaving = steps.get(from[e]!)
    if (!leaving || (weights && weights[e] === rules.zero)) continue
    if (weights) assertWeight(rules, weights[e]!, () => `weight[${e}]`)
    const key = weights && !links ? edgeKey(rules, weights[e]!) : 1
    for (const at of leaving) {
      if (path[at + 1] !== to[e] || !isBetterEdge(rules, key, best[at]!)) continue
      best[at] = key
      found[at] = e
    }
  }
  const missing = found.indexOf(-1)
  if (missing < 0) return found
  const text = (at: number) => nodeText(path[at]!, names)
  throw new ValueError(
    `each node of the path must have an edge to the next, but none leads from ${text(missing)} to ${text(missing + 1)}: pass the graph ` +
      'that the path is of',
  )
}
