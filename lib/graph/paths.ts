/** Public functions that find best paths. */
import type { DeviceMatrix } from '../device/device.js'
import type { EdgeList, KeyedEdgeList, NamedEdgeList, NodeNumbers } from '../graph-core/edges.js'
import type { MatrixLike } from '../matrix.js'
import type { ElementsOf } from '../product/options.js'
import type { ElementArray, OperandArray } from '../storage.js'
import type { PathOptions } from './options.js'
import { answering, readQuery } from './query.js'
import {
  type NamedPaths,
  type PathsResult,
  type PathsWithNext,
  type ResidentPaths,
  type ResidentPathsWithNext,
  resultOf,
} from './result.js'
import type { PathSemiring } from './rules.js'
import { answer } from './solve.js'

/** The options of path functions for nodes that have names. */
export interface NamedPathOptions<Key = unknown> extends Omit<PathOptions, 'sources' | 'targets'> {
  /** Names of the sources in an array, or one name; see {@link PathOptions.sources}. */
  sources?: ArrayLike<Key> | Key | undefined
  /** Names of the targets in an array, or one name; see {@link PathOptions.targets}. */
  targets?: ArrayLike<Key> | Key | undefined
}

/** Weights in arrays. */
export type WeightsOf<Data extends ElementArray = ElementArray> = MatrixLike<Data> | EdgeList<Data>

/** int32 weights outside an Int32Array: an Int16Array of a matrix, or a plain array of an edge list. */
export type Integers = MatrixLike<Int16Array> | EdgeList<never>

/** int32 weights in a plain array, of edges whose nodes have names. */
export type NamedIntegers<Key = unknown> = NamedEdgeList<Key, never> | KeyedEdgeList<Key, never>

/** Options that request `next` and `path()`. */
export type WithPaths = PathOptions & { paths: true }

/**
 * Finds best paths over one semiring.
 *
 * Weights are a square matrix, or a batch of square matrices as [batch, n, n]. Element [i, j] is the weight
 * of the edge from node i to node j; the semiring's zero means no edge. Weights may also be an edge list `{
 * nodes, from, to, weight }`: the best of parallel edges counts. A weight on the diagonal, or a self-loop, is
 * a cycle of one edge: it has no effect unless it improves paths.
 *
 * All pairs are computed by a blocked closure, on a GPU or the CPU. If there are few edges, nested dissection
 * or a search from each node computes them. Some pairs (`sources`, `targets`) are computed by dissection or
 * searches if that is cheaper ({@link PathOptions.method}). The work doesn't block the event loop for long.
 * Don't write to, transfer or detach the arrays until the promise settles.
 *
 * int32 sums are exact, however large intermediate sums are: `overflow` applies only to requested distances
 * outside the finite range. Over floats each sum or product is rounded.
 *
 * @throws Rejects, and never throws, with an {@link MpmmlError}: ERR_MPMML_CYCLE (a {@link CycleError}) if an
 * improving cycle is on a path from some source to some target; ERR_MPMML_SHAPE for a matrix that isn't
 * square and arrays of unequal lengths; ERR_MPMML_DTYPE; ERR_MPMML_VALUE for NaN, for a weight below 0 in
 * max-times and for nodes that don't exist; ERR_MPMML_OPTION; ERR_MPMML_OVERFLOW; ERR_MPMML_OUT_OF_MEMORY;
 * ERR_MPMML_ABORTED; ERR_MPMML_NO_CUDA; ERR_MPMML_CUDA; ERR_MPMML_DISPOSED and ERR_MPMML_DEVICE for matrices
 * of a device.
 */
export interface PathFunction {
  <Key>(
    graph: NamedIntegers<Key>,
    options?: NamedPathOptions<NoInfer<Key>>,
  ): Promise<NamedPaths<Key, Int32Array>>
  <Key, Data extends ElementArray = Int32Array>(
    graph: NamedEdgeList<Key, Data> | KeyedEdgeList<Key, Data>,
    options?: NamedPathOptions<NoInfer<Key>>,
  ): Promise<NamedPaths<Key, Data>>
  <Data extends OperandArray>(
    graph: DeviceMatrix<Data>,
    options: WithPaths,
  ): Promise<ResidentPathsWithNext<ElementsOf<Data>>>
  <Data extends OperandArray>(
    graph: DeviceMatrix<Data>,
    options?: PathOptions,
  ): Promise<ResidentPaths<ElementsOf<Data>>>
  (graph: Integers, options: WithPaths): Promise<PathsWithNext<Int32Array>>
  (graph: Integers, options?: PathOptions): Promise<PathsResult<Int32Array>>
  <Data extends ElementArray = Int32Array>(
    graph: WeightsOf<Data>,
    options: WithPaths,
  ): Promise<PathsWithNext<Data>>
  <Data extends ElementArray = Int32Array>(
    graph: WeightsOf<Data>,
    options?: PathOptions,
  ): Promise<PathsResult<Data>>
}

/** Edges without weights. */
export interface LinkList {
  /** Number of nodes; their indices begin at 0. */
  readonly nodes: number
  /** The node that each edge leaves. */
  readonly from: NodeNumbers
  /** The node that each edge enters. */
  readonly to: NodeNumbers
  /**
   * Weights, which are read only if they are a Uint8Array: 0 means no edge. With other arrays, and without
   * weights, every edge counts.
   */
  readonly weight?: EdgeList<ElementArray>['weight'] | undefined
}

/** Any form of weights that path functions accept. */
export type AnyWeights =
  | MatrixLike<OperandArray>
  | DeviceMatrix<OperandArray>
  | EdgeList<ElementArray>
  | LinkList
  | NamedEdgeList
  | KeyedEdgeList
  | NamedLinkList

/** Edges without weights between named nodes. */
export interface NamedLinkList<Key = unknown> extends Omit<NamedEdgeList<Key>, 'weight'> {
  /** Weights of a {@link LinkList}. */
  readonly weight?: LinkList['weight']
}

/** A {@link LinkList} with the names of its nodes: edges refer to nodes by index. */
export interface KeyedLinkList<Key = unknown> extends LinkList {
  /** The name of each node. */
  readonly keys: ArrayLike<Key>
}

/** A {@link PathFunction} over bytes. */
export interface ClosureFunction {
  <Key>(
    graph: NamedLinkList<Key> | KeyedLinkList<Key>,
    options?: NamedPathOptions<NoInfer<Key>>,
  ): Promise<NamedPaths<Key, Uint8Array>>
  (graph: DeviceMatrix<Uint8Array>, options: WithPaths): Promise<ResidentPathsWithNext<Uint8Array>>
  (graph: DeviceMatrix<Uint8Array>, options?: PathOptions): Promise<ResidentPaths<Uint8Array>>
  (graph: MatrixLike<Uint8Array> | LinkList, options: WithPaths): Promise<PathsWithNext<Uint8Array>>
  (graph: MatrixLike<Uint8Array> | LinkList, options?: PathOptions): Promise<PathsResult<Uint8Array>>
}

const finder = (semiring: PathSemiring) =>
  (async (graph: unknown, options?: unknown) => {
    const question = await readQuery(semiring, graph, options)
    return resultOf(question, await answering(question, () => answer(question)))
  }) as PathFunction & ClosureFunction

/**
 * Finds shortest paths, over min-plus: the length of a path is the sum of its weights, and the least length
 * is the best. Infinity means no edge, in int32 the value 2^31 − 1. A cycle of negative weight is a {@link
 * CycleError}; otherwise weights of 0 or below are allowed.
 *
 * See {@link PathFunction} for weights, results and errors.
 *
 * @see R. W. Floyd, Algorithm 97: Shortest path, Communications of the ACM 5 (1962); S. Warshall, A theorem on Boolean matrices,
 *   Journal of the ACM 9 (1962)
 * @example
 * const graph = { nodes: 3, from: [0, 1, 0], to: [1, 2, 2], weight: [4, -1, 9] }
 * const { distances, path } = await shortestPaths(graph, { paths: true, sources: 0 })
 * console.log(distances.data.join(), path(0, 2).join(' → ')) // 0,4,3 0 → 1 → 2
 */
export const shortestPaths: PathFunction = finder('min-plus')

/**
 * Finds longest paths, over max-plus: the greatest sum of weights is the best. −Infinity means no edge, in
 * int32 {@link EPSILON}. A cycle of positive weight is a {@link CycleError}. On a graph without cycles, such
 * as a precedence graph, each edge is read once per source.
 *
 * See {@link PathFunction} for weights, results and errors.
 *
 * @example
 * const graph = { nodes: 3, from: [0, 1, 0], to: [1, 2, 2], weight: [4, 7, 9] }
 * const { distances, path } = await longestPaths(graph, { paths: true, sources: 0 })
 * console.log(distances.data.join(), path(0, 2).join(' → ')) // 0,4,11 0 → 1 → 2
 */
export const longestPaths: PathFunction = finder('max-plus')

/**
 * Finds widest paths, over max-min: the width of a path is the least of its weights, and the greatest width
 * is the best. −Infinity means no edge, in int32 the value −2^31. The width from a node to itself is
 * Infinity, in int32 the value 2^31 − 1. Nothing overflows, and no cycle improves paths.
 *
 * See {@link PathFunction} for weights, results and errors.
 *
 * @example
 * const pipes = { nodes: 3, from: [0, 1, 0], to: [1, 2, 2], weight: [4, 7, 3] }
 * const { distances } = await widestPaths(pipes, { sources: 0, targets: 2 })
 * console.log(distances.data.join()) // 4
 */
export const widestPaths: PathFunction = finder('max-min')

/**
 * Finds most reliable paths, over max-times on float32 and float64. The value of a path is the product of its
 * weights, such as probabilities, and the greatest value is the best. The weight 0 means no edge. Weights
 * above 1 are allowed; a cycle whose product is above 1 is a {@link CycleError}.
 *
 * See {@link PathFunction} for weights, results and errors.
 *
 * @example
 * const links = { nodes: 3, from: [0, 1, 0], to: [1, 2, 2], weight: Float64Array.of(0.5, 0.5, 0.2) }
 * const { distances } = await mostReliablePaths(links, { sources: 0, targets: 2 })
 * console.log(distances.data.join()) // 0.25
 */
export const mostReliablePaths: PathFunction = finder('max-times')

/**
 * Computes which nodes reach which, over or-and: `distances` is a Uint8Array matrix with 1 for each pair that
 * a path connects. Every node reaches itself by the empty path. Paths that a search finds have the fewest
 * edges.
 *
 * A matrix must be a matrix of bytes: 0 means no edge, any other byte means an edge. Other matrices are
 * rejected, because 0 is a weight in some of them and no edge in others: convert them with
 * `Uint8Array.from(data, (weight) => …)`. In an edge list every edge counts, and weights may be omitted. Only
 * in a Uint8Array of weights 0 means no edge.
 *
 * See {@link PathFunction} for results and errors.
 *
 * @example
 * const { distances } = await transitiveClosure({ nodes: 3, from: [0, 1], to: [1, 2] })
 * console.log(distances.data.join()) // 1,1,1,0,1,1,0,0,1
 */
export const transitiveClosure: ClosureFunction = finder('or-and')
