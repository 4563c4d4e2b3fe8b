/** Best paths: the functions that users call, and what they give. */
import { during } from '../borrowed.js'
import { DeviceMatrix } from '../device/device.js'
import { OptionError } from '../errors.js'
import type { EdgeList, KeyedEdgeList, NamedEdgeList, NodeNumbers } from '../graph-core/edges.js'
import type { DenseMatrix, MatrixLike } from '../matrix.js'
import type { ElementsOf } from '../product/options.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { answer } from './answer.js'
import type { Ways } from './closing.js'
import type { FoundBy, PathOptions } from './options.js'
import { Places } from './places.js'
import { ask, namesOf, release } from './question.js'
import type { PathSemiring } from './rules.js'
import { type Trees, walk } from './walk.js'

/** What all results of path functions have. */
interface AnyPaths {
  /** The semiring that paths are compared in. */
  readonly semiring: PathSemiring
  /** The nodes that the rows are of, in this order; null if they are all nodes. */
  readonly sources: Int32Array | null
  /** The same for the columns. */
  readonly targets: Int32Array | null
  /** How the paths were found: see {@link PathOptions.method}. Of a batch, how those of the last graph were. */
  readonly method: FoundBy
  /** What computed it: searches and dissection run on the CPU. */
  readonly backend: 'cuda' | 'cpu'
  /** The name of the GPU or of the processor. */
  readonly device: string
  /** Milliseconds: of all the work, and of the kernels or the search. */
  readonly timing: { readonly totalMs: number; readonly kernelMs: number }
}

/** A matrix of distances that is read by nodes. */
export interface Distances<Data extends ElementArray = ElementArray, Key = number> extends DenseMatrix<Data> {
  /**
   * The distance from one node to another, by their numbers or names: not by rows and columns.
   *
   * @param batch - the index of the matrix, if weights are a batch.
   * @throws ValueError (ERR_MPMML_VALUE) or DTypeError (ERR_MPMML_DTYPE) for what isn't a node, or wasn't among the sources or
   *   targets.
   */
  at(from: Key, to: Key, batch?: number): number
}

/** What the path functions give for weights in arrays. */
export interface PathsResult<Data extends ElementArray = ElementArray> extends AnyPaths {
  /**
   * The value of the best path from the source of the row to the target of the column: a row for each source, a column for each
   * target, as [batch, sources, targets] if the weights are a batch. It is the semiring's zero if there is no path, and its one
   * from a node to itself.
   */
  readonly distances: Distances<Data>
  /**
   * With `paths: true`, of the same shape: the node after the source on a best path to the target; −1 if there is no path,
   * or they are the same node.
   */
  readonly next?: DenseMatrix<Int32Array>
  /**
   * The nodes of a best path from one node to another, both included; [from] if they are the same, and null if there is no
   * path. Of paths that are equally good it is always the same one.
   *
   * @param batch - the index of the matrix, if weights are a batch.
   * @throws OptionError (ERR_MPMML_OPTION) without `paths: true`; ValueError (ERR_MPMML_VALUE) or DTypeError
   *   (ERR_MPMML_DTYPE) for what isn't a node, or wasn't among the sources or targets.
   */
  path(from: number, to: number, batch?: number): number[] | null
}

/** A {@link PathsResult} that was asked for with `paths: true`. */
export interface PathsWithNext<Data extends ElementArray = ElementArray> extends PathsResult<Data> {
  readonly next: DenseMatrix<Int32Array>
}

/** What the path functions give for nodes that have names. */
export interface NamedPaths<Key = unknown, Data extends ElementArray = ElementArray> extends AnyPaths {
  /** The names of the nodes, by their numbers: those of `sources`, `targets` and `next`. */
  readonly keys: ArrayLike<Key>
  /** As {@link PathsResult.distances}. */
  readonly distances: Distances<Data, Key>
  /** As {@link PathsResult.next}: it has numbers. */
  readonly next?: DenseMatrix<Int32Array>
  /** As {@link PathsResult.path}, from a name to a name. */
  path(from: Key, to: Key): Key[] | null
}

/** The options of path functions for nodes that have names. */
export interface NamedPathOptions<Key = unknown> extends Omit<PathOptions, 'sources' | 'targets'> {
  /** As {@link PathOptions.sources}: names in an array, or one of them. */
  sources?: ArrayLike<Key> | Key | undefined
  /** As {@link PathOptions.targets}. */
  targets?: ArrayLike<Key> | Key | undefined
}

/** What the path functions give for weights on a device: the matrices are there too. */
export interface ResidentPaths<Data extends ElementArray = ElementArray> extends AnyPaths {
  /** As {@link PathsResult.distances}. */
  readonly distances: DeviceMatrix<Data>
  /** As {@link PathsResult.next}. */
  readonly next?: DeviceMatrix<Int32Array>
  /**
   * As {@link PathsResult.path}. It reads {@link next}, a column for each path: once that has been disposed, it may be rejected with
   * DisposedError (ERR_MPMML_DISPOSED).
   */
  path(from: number, to: number, batch?: number): Promise<number[] | null>
}

/** {@link ResidentPaths} that were asked for with `paths: true`. */
export interface ResidentPathsWithNext<Data extends ElementArray = ElementArray> extends ResidentPaths<Data> {
  readonly next: DeviceMatrix<Int32Array>
}

/** Weights in arrays. */
export type WeightsOf<Data extends ElementArray = ElementArray> = MatrixLike<Data> | EdgeList<Data>

/** int32 weights that aren't in an Int32Array; an edge list has them in a plain array. */
export type Integers = MatrixLike<Int16Array> | EdgeList<never>

/** int32 weights in a plain array, of edges whose nodes have names. */
export type NamedIntegers<Key = unknown> = NamedEdgeList<Key, never> | KeyedEdgeList<Key, never>

/** Asks for `next` and `path()`. */
export type WithPaths = PathOptions & { paths: true }

/**
 * A function that finds best paths.
 *
 * Weights are a square matrix, or a batch of them as [batch, n, n]: row i has the edges that leave node i, column j those that
 * enter node j, and the semiring's zero is no edge. Or they are an edge list `{ nodes, from, to, weight }`: of parallel edges the better one counts.
 * Either way, a weight on the diagonal or a self-loop is a cycle of one edge: if it doesn't gain, it changes nothing.
 *
 * All pairs are computed by a blocked closure, on a GPU or the CPU, or if there are few edges by dissection or by a search from each
 * node; some pairs (`sources`, `targets`) by these from their nodes if that is cheaper ({@link PathOptions.method}). The work doesn't keep the event loop from other things for long.
 * Don't write to, transfer or detach the arrays until the promise settles.
 *
 * int32 sums are exact however large they are on the way: only a distance that is asked for and isn't in the finite range is a matter of `overflow`.
 * Over floats each sum or product is rounded.
 *
 * @throws Rejects, and never throws, with an {@link MpmmlError}: ERR_MPMML_CYCLE (a {@link CycleError}) if a cycle gains that is
 *   on the way from some source to some target; ERR_MPMML_SHAPE for a matrix that isn't square and arrays of unequal
 *   lengths; ERR_MPMML_DTYPE; ERR_MPMML_VALUE for NaN, for a weight below 0 in max-times and for nodes that don't exist;
 *   ERR_MPMML_OPTION; ERR_MPMML_OVERFLOW; ERR_MPMML_OUT_OF_MEMORY; ERR_MPMML_ABORTED; ERR_MPMML_NO_CUDA; ERR_MPMML_CUDA;
 *   ERR_MPMML_DISPOSED and ERR_MPMML_DEVICE for matrices of a device.
 */
export interface PathFunction {
  <Key>(
    weights: NamedIntegers<Key>,
    options?: NamedPathOptions<NoInfer<Key>>,
  ): Promise<NamedPaths<Key, Int32Array>>
  <Key, Data extends ElementArray = Int32Array>(
    weights: NamedEdgeList<Key, Data>,
    options?: NamedPathOptions<NoInfer<Key>>,
  ): Promise<NamedPaths<Key, Data>>
  <Key, Data extends ElementArray = Int32Array>(
    weights: KeyedEdgeList<Key, Data>,
    options?: NamedPathOptions<NoInfer<Key>>,
  ): Promise<NamedPaths<Key, Data>>
  <Data extends OperandArray>(
    weights: DeviceMatrix<Data>,
    options: WithPaths,
  ): Promise<ResidentPathsWithNext<ElementsOf<Data>>>
  <Data extends OperandArray>(
    weights: DeviceMatrix<Data>,
    options?: PathOptions,
  ): Promise<ResidentPaths<ElementsOf<Data>>>
  (weights: Integers, options: WithPaths): Promise<PathsWithNext<Int32Array>>
  (weights: Integers, options?: PathOptions): Promise<PathsResult<Int32Array>>
  <Data extends ElementArray = Int32Array>(
    weights: WeightsOf<Data>,
    options: WithPaths,
  ): Promise<PathsWithNext<Data>>
  <Data extends ElementArray = Int32Array>(
    weights: WeightsOf<Data>,
    options?: PathOptions,
  ): Promise<PathsResult<Data>>
}

/** Edges that are there or not. */
export interface LinkList {
  /** How many nodes there are; they are numbered from 0. */
  readonly nodes: number
  /** The node that each edge leaves. */
  readonly from: NodeNumbers
  /** The node that each edge enters. */
  readonly to: NodeNumbers
  /** Only those of a Uint8Array are looked at: 0 is no edge. Else every edge counts, whatever it weighs. */
  readonly weight?: EdgeList<ElementArray>['weight'] | undefined
}

/** Whatever is taken as weights. */
export type AnyWeights =
  | MatrixLike<OperandArray>
  | DeviceMatrix<OperandArray>
  | EdgeList<ElementArray>
  | LinkList
  | NamedEdgeList
  | KeyedEdgeList
  | NamedLinkList

/** Edges that are there or not, of nodes that have names. */
export interface NamedLinkList<Key = unknown> extends Omit<NamedEdgeList<Key>, 'weight'> {
  /** As in a {@link LinkList}. */
  readonly weight?: LinkList['weight']
}

/** The same with numbers in the edges. */
export interface KeyedLinkList<Key = unknown> extends LinkList {
  /** The name of each node. */
  readonly keys: ArrayLike<Key>
}

/** A {@link PathFunction} over bytes. */
export interface ClosureFunction {
  <Key>(
    weights: NamedLinkList<Key>,
    options?: NamedPathOptions<NoInfer<Key>>,
  ): Promise<NamedPaths<Key, Uint8Array>>
  <Key>(
    weights: KeyedLinkList<Key>,
    options?: NamedPathOptions<NoInfer<Key>>,
  ): Promise<NamedPaths<Key, Uint8Array>>
  (weights: DeviceMatrix<Uint8Array>, options: WithPaths): Promise<ResidentPathsWithNext<Uint8Array>>
  (weights: DeviceMatrix<Uint8Array>, options?: PathOptions): Promise<ResidentPaths<Uint8Array>>
  (weights: MatrixLike<Uint8Array> | LinkList, options: WithPaths): Promise<PathsWithNext<Uint8Array>>
  (weights: MatrixLike<Uint8Array> | LinkList, options?: PathOptions): Promise<PathsResult<Uint8Array>>
}

const finder = (semiring: PathSemiring) =>
  ((weights: unknown, options?: unknown) => find(semiring, weights, options)) as PathFunction &
    ClosureFunction

/**
 * Shortest paths, over min-plus: the length of a path is the sum of its weights, and the least one is the best. No edge is
 * Infinity, or 2^31 − 1 in int32. A cycle of negative weight is a {@link CycleError}; weights of 0 or below are right otherwise.
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
 * Longest paths, over max-plus: the greatest sum of weights is the best. No edge is −Infinity, or {@link EPSILON} in int32. A
 * cycle of positive weight is a {@link CycleError}. On a graph without cycles, such as a precedence graph, each edge
 * is looked at once for each source.
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
 * Widest paths, over max-min: the width of a path is the least of its weights, and the greatest width is the best. No edge is
 * −Infinity, or −2^31 in int32; the width from a node to itself is Infinity, or 2^31 − 1 in int32. Nothing overflows, and no
 * cycle gains.
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
 * Most reliable paths, over max-times on float32 and float64: the value of a path is the product of its weights, such as
 * probabilities, and the greatest is the best. No edge is 0. Weights above 1 are taken; a cycle whose product is above 1 is a
 * {@link CycleError}.
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
 * Which nodes reach which, over or-and: `distances` is a Uint8Array matrix with 1 if there is a path, every node's
 * empty path to itself included. A search gives paths of the fewest edges.
 *
 * A matrix must be of bytes: 0 is no edge, any other is one. Matrices of numbers are refused, because 0 is a weight in some of them and no edge
 * in others: convert them with `Uint8Array.from(data, (weight) => …)`. In an edge list every edge counts, whatever it weighs, and weights
 * may be left out; only of a Uint8Array the weight 0 is no edge.
 *
 * See {@link PathFunction} for results and errors.
 *
 * @example
 * const { distances } = await transitiveClosure({ nodes: 3, from: [0, 1], to: [1, 2] })
 * console.log(distances.data.join()) // 1,1,1,0,1,1,0,0,1
 */
export const transitiveClosure: ClosureFunction = finder('or-and')

async function find(semiring: PathSemiring, weights: unknown, options: unknown): Promise<unknown> {
  const question = await ask(semiring, weights, options)
  const found = await during(question.borrowed, () => answer(question)).finally(() => release(question))
  const { distances, next, method, backend, device, timing } = found
  const { query } = question
  const { sources, targets } = query
  const names = namesOf(question)
  const places = new Places(query, question.batch, names)
  const reader = new PathReader(places, found.ways)
  const resident = distances instanceof DeviceMatrix
  return {
    semiring,
    distances: resident ? distances : readable(distances, places),
    ...(next && { next }),
    sources,
    targets,
    ...(names && { keys: names.keys }),
    path: resident
      ? async (from: unknown, to: unknown, batch?: number) => reader.read(from, to, batch)
      : (from: unknown, to: unknown, batch?: number) => reader.read(from, to, batch),
    method,
    backend,
    device,
    timing,
  }
}

/** The distances, which are read by nodes too. */
export function readable(distances: DenseMatrix<ElementArray>, places: Places): Distances {
  const { data, shape, strides, offset } = distances
  const at = (from: unknown, to: unknown, batch?: number) => {
    const { row, col, item } = places.of(from, to, batch)
    const [rowStride, colStride] = strides.slice(-2) as [number, number]
    const skipped = shape.length === 3 ? item * strides[0]! : 0
    return data[offset + skipped + row * rowStride + col * colStride]!
  }
  // What is copied or compared is the matrix alone.
  return Object.defineProperty({ ...distances }, 'at', { value: at, enumerable: false }) as Distances
}

/** Reads paths from an answer. */
class PathReader {
  readonly #places: Places
  readonly #ways: Ways | null

  constructor(places: Places, ways: Ways | null) {
    this.#places = places
    this.#ways = ways
  }

  read(from: unknown, to: unknown, batch?: number): unknown[] | null | Promise<unknown[] | null> {
    const ways = this.#ways
    if (!ways) throw new OptionError('path() needs the option paths: true, so that the ways are kept')
    const { nodes, names } = this.#places
    const { source, target, row, col, item } = this.#places.of(from, to, batch)
    const { forward, every, none } = ways
    if (none) return null
    const [root, node] = forward ? [source, target] : [target, source]
    const index = every ? root : forward ? row : col
    const trees = ways.trees(item, index)
    const along = (found: Trees) => {
      const path = walk(found, index, root, node, nodes)
      if (forward) path?.reverse()
      return names && path ? path.map((at) => names.keys[at]) : path
    }
    return trees instanceof Promise ? trees.then(along) : along(trees)
  }
}
