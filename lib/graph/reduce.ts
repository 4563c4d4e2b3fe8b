/** Reduces the distances of each source to a few numbers, without storing all distances. */

import { deviceName } from '../backend.js'
import { DeviceMatrix } from '../device/device.js'
import { OutOfMemoryError, OverflowError, ShapeError } from '../errors.js'
import { inSlices } from '../graph-core/slices.js'
import { isFromListener } from '../listener.js'
import { type DenseMatrix, rowMajorMatrix, type Shape } from '../matrix.js'
import { checkedLater, choice, Options, type OptionsOf } from '../options.js'
import { longWorkSet, type Progress } from '../product/options.js'
import { runNative } from '../run-native.js'
import type { ElementArray } from '../storage.js'
import { showShape } from '../view.js'
import { inFloat64 } from './all-pairs.js'
import { type PathOptions, pathSet } from './options.js'
import type { AnyWeights } from './paths.js'
import { answering, graphsOf, type PathQuery, readQuery, WORK } from './query.js'
import { reducingRows } from './reducers.js'
import { type Nearest, type ReadReduction, type Reduced, type Reduction, reduction } from './reduction.js'
import { type FoundPaths, PairPositions } from './result.js'
import { type PathSemiring, weightedSemirings } from './rules.js'
import { roomForReduced, searchReduced } from './search.js'
import { answer, choose } from './solve.js'

/** The options of {@link reducePaths}. `undefined` means the default. */
export interface ReduceOptions<Key = unknown>
  extends Pick<PathOptions, 'limit' | 'method' | 'backend' | 'device' | 'devices' | 'signal'> {
  /**
   * 'eccentricity', the default, computes the worst value over the best paths from a source, such as the
   * distance to the farthest target. 'mean' computes the mean of the values, with a sum in float64. `{
   * nearest: k }` finds the k targets with the best paths, and their values.
   */
  reduce?: Reduction | undefined
  /** Semiring of the paths: 'min-plus' by default, the semiring of {@link shortestPaths}. */
  semiring?: Exclude<PathSemiring, 'or-and'> | undefined
  /** Indices or names of the sources; see {@link PathOptions.sources}. */
  sources?: PathOptions['sources'] | ArrayLike<Key> | Key | undefined
  /** Indices or names of the targets; see {@link PathOptions.targets}. */
  targets?: PathOptions['targets'] | ArrayLike<Key> | Key | undefined
  /** Listener of the progress; see {@link PathOptions.onProgress}. */
  onProgress?: ((progress: Progress) => void) | undefined
}

const reduceOptions = new Options({
  reduce: reduction,
  semiring: choice(weightedSemirings, 'min-plus'),
  sources: checkedLater(),
  targets: checkedLater(),
  limit: checkedLater(),
  method: pathSet.method,
  backend: checkedLater(),
  device: checkedLater(),
  devices: checkedLater(),
  ...longWorkSet,
} satisfies OptionsOf<ReduceOptions>)

/** Result of {@link reducePaths}. */
export interface ReducedPaths extends FoundPaths {
  /** Number of each source, in their order; NaN if the source reaches no target except itself. */
  readonly values: Float64Array
  /** Number of targets that each source reaches, the source itself excluded. */
  readonly reached: Int32Array
}

/** Nearest targets from {@link reducePaths}: one row per source, in their order, with k columns. */
export interface NearestPaths<Key = unknown> extends FoundPaths {
  /**
   * The targets, the nearest first, and the lowest index first among equally near ones; −1 after the last
   * target.
   */
  readonly nodes: DenseMatrix<Int32Array>
  /** Distances to the targets in `nodes`; the semiring's zero in float64 after the last target. */
  readonly distances: DenseMatrix<Float64Array>
  /** Number of entries of each row: k, or fewer if the source reaches fewer targets. */
  readonly reached: Int32Array
  /** The names of the nodes, by their numbers, if they have names. */
  readonly keys?: ArrayLike<Key>
  /**
   * Returns the nearest targets of a source, by names if nodes have names.
   *
   * @throws ArgumentError (ERR_MPMML_VALUE) or ArgumentError (ERR_MPMML_DTYPE) for a value that isn't one of the sources.
   */
  of(source: Key): { node: Key; distance: number }[]
}

/**
 * Reduces the best paths from each source, to all targets that it reaches except itself, to a few numbers.
 * Distances aren't stored, so memory is needed for the graph and the numbers, not for all pairs. Only a
 * closure, which matrices use, needs the memory of another matrix. It runs on the backend of {@link
 * PathFunction}; searches run on the CPU cores. Values of integers are exact, however large; the mean is
 * rounded.
 *
 * If no edge improves paths, a search for the nearest targets ends when it has found them.
 *
 * @param graph - an edge list or a square matrix, see {@link PathFunction}; not a batch.
 * @throws Rejects with an {@link MpmmlError}, as {@link PathFunction} does; but no distance overflows.
 * @example
 * const roads = { nodes: 3, from: [0, 1, 2], to: [1, 2, 0], weight: [4, 1, 2] }
 * const { values } = await reducePaths(roads, { reduce: 'eccentricity' })
 * console.log(values.join(), Math.min(...values)) // 5,3,6 3
 * const { nodes, distances } = await reducePaths(roads, { reduce: { nearest: 1 } })
 * console.log(nodes.data.join(), distances.data.join()) // 1,2,0 4,1,2
 */
export function reducePaths<Key = unknown>(
  graph: AnyWeights,
  options: ReduceOptions<Key> & { reduce: Nearest },
): Promise<NearestPaths<Key>>
export function reducePaths<Key = unknown>(
  graph: AnyWeights,
  options?: ReduceOptions<Key> & { reduce?: Exclude<Reduction, Nearest> | undefined },
): Promise<ReducedPaths>
export function reducePaths<Key = unknown>(
  graph: AnyWeights,
  options?: ReduceOptions<Key>,
): Promise<ReducedPaths | NearestPaths<Key>>
export async function reducePaths(
  graph: AnyWeights,
  options?: ReduceOptions,
): Promise<ReducedPaths | NearestPaths> {
  const began = performance.now()
  const { reduce, semiring, ...requested } = reduceOptions.read(options)
  const question = await readQuery(semiring as PathSemiring, graph, requested)
  const { query, weights: given, batched } = question
  const { sources, targets } = query
  // A target that is listed twice counts once among the nearest.
  const distinct = reduce.kind === 'nearest' && targets ? Int32Array.from(new Set(targets)).sort() : targets
  const { found, ...how } = await answering(question, async () => {
    if (!batched) return reduced({ ...question, query: { ...query, targets: distinct } }, reduce)
    throw new ShapeError(
      `${showShape(given.view!, 'graph')} must be one matrix, not a batch: call it once for each`,
    )
  })
  const timing = { totalMs: performance.now() - began, kernelMs: how.timing.kernelMs }
  const rest = { sources, targets, ...how, timing }
  if (!found.nodes) return { values: found.values, reached: found.reached, ...rest }
  return { ...nearestOf(question, found, reduce), ...rest }
}

interface Found extends Pick<FoundPaths, 'method' | 'backend' | 'device' | 'timing'> {
  readonly found: Reduced
}

async function reduced(question: PathQuery, reduction: ReadReduction): Promise<Found> {
  const { query, weights, type, closing, borrowed } = question
  // An edge list may have few edges and many nodes, so no array may have the size of all pairs.
  const { how, must } = choose(question, weights.view ? 'either' : 'search')
  if (how === 'closure') {
    const closed = await reduceByClosure(question, reduction, must)
    if (closed) return closed
  }
  const graphOf = await graphsOf(question)
  const { signal, onProgress } = closing
  const found = roomForReduced(query, reduction)
  const searching = performance.now()
  const method = await runNative({ signal, onProgress, what: WORK, borrowed }, (call) =>
    searchReduced(graphOf(0), query, reduction, found, type, call),
  )
  const ms = performance.now() - searching
  return { found, method, backend: 'cpu', device: deviceName(-1), timing: { totalMs: ms, kernelMs: ms } }
}

/**
 * Computes the closure of the weights and reduces its distances. Returns null if memory doesn't suffice and
 * another method is allowed.
 */
async function reduceByClosure(
  question: PathQuery,
  reduction: ReadReduction,
  must: boolean,
): Promise<Found | null> {
  const { query, closing } = question
  const method = query.method === 'auto' ? 'closure' : query.method
  const found = roomForReduced(query, reduction)
  const closeOver = async (requested: PathQuery) => {
    const { rules } = requested.query
    return { rules, ...(await answer({ ...requested, query: { ...requested.query, method } })) }
  }
  try {
    // In float64 no sum of this many int32 weights is rounded or overflows.
    const closed = await closeOver(question).catch(async (error) => {
      if (error instanceof OverflowError && !isFromListener(error))
        return closeOver(await inFloat64(question))
      throw error
    })
    const { distances, method, backend, device, timing, rules } = closed
    try {
      await eachBlock(distances, (rows, first) =>
        inSlices(reducingRows(rows, first, { ...query, rules }, reduction, found), closing.signal, WORK),
      )
    } finally {
      if (distances instanceof DeviceMatrix) distances.dispose()
    }
    return { found, method, backend, device, timing }
  } catch (error) {
    if (error instanceof OutOfMemoryError && !must && !isFromListener(error)) return null
    throw error
  }
}

/** Bytes of distances that are copied from a device at once. */
const BLOCK_BYTES = 1 << 26

/**
 * Calls `use` for consecutive blocks of rows.
 *
 * @param bytes - limit of the bytes that are copied from a device at once, for elements of 8 bytes. A block
 * has at least one row.
 */
export async function eachBlock(
  distances: DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>,
  use: (rows: ElementArray, first: number) => Promise<void>,
  bytes = BLOCK_BYTES,
): Promise<void> {
  if (!(distances instanceof DeviceMatrix)) return use(distances.data, 0)
  const [count, cols] = distances.shape as [number, number]
  const step = Math.max(1, Math.floor(bytes / (8 * Math.max(1, cols))))
  for (let first = 0; first < count; first += step) {
    const block = distances.view({ rows: [first, Math.min(count, first + step)] })
    try {
      await use((await block.download()).data, first)
    } finally {
      block.dispose()
    }
  }
}

/** Returns the nearest targets in the form of the public result. */
function nearestOf(
  question: PathQuery,
  { values, nodes, reached }: Reduced,
  { most }: ReadReduction,
): Pick<NearestPaths, 'nodes' | 'distances' | 'reached' | 'keys' | 'of'> {
  const { names } = question
  const positions = new PairPositions(question.query, 1, names)
  const of = (source: unknown) => {
    const row = positions.rowOf(source)
    return Array.from({ length: reached[row]! }, (_, at) => {
      const node = nodes![row * most + at]!
      return { node: names ? names.keys[node] : node, distance: values[row * most + at]! }
    })
  }
  const shape: Shape = [reached.length, most]
  return {
    nodes: rowMajorMatrix(nodes!, shape),
    distances: rowMajorMatrix(values, shape),
    reached,
    ...(names && { keys: names.keys }),
    of,
  }
}
