/** Results of path functions: distances and paths between nodes, which users identify by numbers or names. */
import type { BackendName } from '../backend-name.js'
import { show } from '../describe.js'
import { DeviceMatrix } from '../device/device.js'
import { OptionError, ValueError } from '../errors.js'
import { numberOfNode } from '../graph-core/edges.js'
import { type NodeNames, nodeText } from '../graph-core/names.js'
import type { DenseMatrix } from '../matrix.js'
import type { ElementArray } from '../storage.js'
import type { PathResult } from './all-pairs.js'
import type { FoundBy, PathOptions } from './options.js'
import { type NodePair, readPath } from './path-trees.js'
import type { PathQuery } from './query.js'
import type { PathSemiring } from './rules.js'
import type { Query } from './search.js'

/** Fields of all results about paths: the sources, the targets, and the method. */
export interface FoundPaths {
  /** Node of each row; null if the rows are all nodes. */
  readonly sources: Int32Array | null
  /** Node of each column; null if the columns are all nodes. */
  readonly targets: Int32Array | null
  /**
   * Method that found the paths: see {@link PathOptions.method}. For a batch, the method of the last graph.
   */
  readonly method: FoundBy
  /** The backend that computed the result: searches and dissection run on the CPU. */
  readonly backend: BackendName
  /** The name of the GPU or of the processor. */
  readonly device: string
  /** Durations in milliseconds: of the whole call, and of the kernels or the search. */
  readonly timing: { readonly totalMs: number; readonly kernelMs: number }
}

interface AnyPaths extends FoundPaths {
  /** The semiring that paths are compared in. */
  readonly semiring: PathSemiring
}

/** A matrix of distances that is read by nodes. */
export interface Distances<Data extends ElementArray = ElementArray, Key = number> extends DenseMatrix<Data> {
  /**
   * Returns the distance from one node to another, by their numbers or names, not by row and column.
   *
   * @param batch - the index of the matrix, if weights are a batch.
   * @throws ArgumentError (ERR_MPMML_VALUE) or ArgumentError (ERR_MPMML_DTYPE) for a value that isn't a node, or not one of the sources or
   *   targets.
   */
  at(from: Key, to: Key, batch?: number): number
}

/** Result of the path functions for a graph in arrays. */
export interface PathsResult<Data extends ElementArray = ElementArray> extends AnyPaths {
  /**
   * Value of the best path from the source of the row to the target of the column. The shape is [sources,
   * targets], or [batch, sources, targets] if the weights are a batch. The value is the semiring's zero if no
   * path exists, and the semiring's one from a node to itself.
   */
  readonly distances: Distances<Data>
  /**
   * Node after the source on a best path to the target, in the shape of `distances`, with `paths: true`. −1
   * if no path exists, or if source and target are equal.
   */
  readonly next?: DenseMatrix<Int32Array>
  /**
   * Returns the nodes of a best path from one node to another, both included; [from] if they are equal, and
   * null if no path exists. The choice among equally good paths is deterministic.
   *
   * @param batch - the index of the matrix, if weights are a batch.
   * @throws ArgumentError (ERR_MPMML_OPTION) without `paths: true`; ArgumentError (ERR_MPMML_VALUE) or ArgumentError
   *   (ERR_MPMML_DTYPE) for a value that isn't a node, or not one of the sources or targets.
   */
  path(from: number, to: number, batch?: number): number[] | null
}

/** A {@link PathsResult} of a call with `paths: true`. */
export interface PathsWithNext<Data extends ElementArray = ElementArray> extends PathsResult<Data> {
  readonly next: DenseMatrix<Int32Array>
}

/** Result of the path functions for nodes that have names. */
export interface NamedPaths<Key = unknown, Data extends ElementArray = ElementArray> extends AnyPaths {
  /** Names of the nodes by index, for the indices in `sources`, `targets` and `next`. */
  readonly keys: ArrayLike<Key>
  /** Distances: see {@link PathsResult.distances}. */
  readonly distances: Distances<Data, Key>
  /** Numbers of the next nodes: see {@link PathsResult.next}. */
  readonly next?: DenseMatrix<Int32Array>
  /** Returns the names of the nodes of a best path: see {@link PathsResult.path}. */
  path(from: Key, to: Key): Key[] | null
}

/** Result of the path functions for a graph on a device, where the matrices are too. */
export interface ResidentPaths<Data extends ElementArray = ElementArray> extends AnyPaths {
  /** Distances: see {@link PathsResult.distances}. */
  readonly distances: DeviceMatrix<Data>
  /** Next nodes: see {@link PathsResult.next}. */
  readonly next?: DeviceMatrix<Int32Array>
  /**
   * Returns the nodes of a best path: see {@link PathsResult.path}. Reads one column of {@link next} per
   * path. May be rejected with DisposedError (ERR_MPMML_DISPOSED) after {@link next} has been disposed.
   */
  path(from: number, to: number, batch?: number): Promise<number[] | null>
}

/** {@link ResidentPaths} of a call with `paths: true`. */
export interface ResidentPathsWithNext<Data extends ElementArray = ElementArray> extends ResidentPaths<Data> {
  readonly next: DeviceMatrix<Int32Array>
}

/**
 * Finds the rows and columns of nodes. References only the needed fields of the query.
 */
export class PairPositions {
  readonly nodes: number
  readonly names: NodeNames | null
  readonly #batch: number
  readonly #sources: Int32Array | null
  readonly #targets: Int32Array | null
  /** First position of each node among the sources, and among the targets; computed at the first use. */
  #rows: Map<number, number> | undefined
  #cols: Map<number, number> | undefined

  constructor({ nodes, sources, targets }: Query, batch: number, names: NodeNames | null) {
    this.nodes = nodes
    this.names = names
    this.#batch = batch
    this.#sources = sources
    this.#targets = targets
  }

  /** The row of a source. */
  rowOf(from: unknown): number {
    return this.#rowOf(numberOfNode(from, this, 'from'))
  }

  of(from: unknown, to: unknown, item = 0): NodePair {
    const [source, target] = [numberOfNode(from, this, 'from'), numberOfNode(to, this, 'to')]
    const batch = this.#batch
    if (this.#targets) this.#cols ??= positionsOf(this.#targets)
    const row = this.#rowOf(source)
    const col = this.#among(target, this.#cols, 'to', 'targets')
    if (!(Number.isInteger(item) && item >= 0 && item < batch)) {
      throw new ValueError(
        `batch must be the index of a matrix, an integer from 0 to ${batch - 1}, but it is ${show(item)}`,
      )
    }
    return { source, target, row, col, item }
  }

  #rowOf(source: number): number {
    if (this.#sources) this.#rows ??= positionsOf(this.#sources)
    return this.#among(source, this.#rows, 'from', 'sources')
  }

  #among(node: number, positions: Map<number, number> | undefined, name: string, requested: string): number {
    const position = positions ? positions.get(node) : node
    if (position !== undefined) return position
    throw new ValueError(
      `${name} is ${nodeText(node, this.names)}, which is not among the ${requested} that were asked for`,
    )
  }
}

function positionsOf(nodes: Int32Array): Map<number, number> {
  const map = new Map<number, number>()
  for (let at = nodes.length - 1; at >= 0; at--) map.set(nodes[at]!, at)
  return map
}

/** Returns distances with the method `at`, which reads them by nodes. */
export function readable(distances: DenseMatrix<ElementArray>, places: PairPositions): Distances {
  const { data, shape, strides, offset } = distances
  const at = (from: unknown, to: unknown, batch?: number) => {
    const { row, col, item } = places.of(from, to, batch)
    const [rowStride, colStride] = strides.slice(-2) as [number, number]
    const skipped = shape.length === 3 ? item * strides[0]! : 0
    return data[offset + skipped + row * rowStride + col * colStride]!
  }
  // The method isn't enumerable, so that copies and comparisons see the matrix alone.
  return Object.defineProperty({ ...distances }, 'at', { value: at, enumerable: false }) as Distances
}

/** The result of a path function. */
export function resultOf(
  { query, batch, names }: PathQuery,
  { distances, next, forest, ...how }: PathResult,
): unknown {
  const { sources, targets, rules, nodes } = query
  const positions = new PairPositions(query, batch, names)
  const keysOf = (path: number[] | null) => (names && path ? path.map((node) => names.keys[node]) : path)
  const path = (from: unknown, to: unknown, item?: number) => {
    if (!forest) throw new OptionError('path() needs the option paths: true, so that the paths are kept')
    const found = readPath(forest, nodes, positions.of(from, to, item))
    return found instanceof Promise ? found.then(keysOf) : keysOf(found)
  }
  const isResident = distances instanceof DeviceMatrix
  return {
    semiring: rules.semiring,
    distances: isResident ? distances : readable(distances, positions),
    ...(next && { next }),
    sources,
    targets,
    ...(names && { keys: names.keys }),
    path: isResident ? async (from: unknown, to: unknown, item?: number) => path(from, to, item) : path,
    ...how,
  }
}
