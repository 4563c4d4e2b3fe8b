/** Computes products and paths of arrays on disk in one process: all jobs of a plan, one after the other. */
import { throwIfAborted } from '../abort.js'
import { optionsOf } from '../backend.js'
import { typeName } from '../describe.js'
import { openDevice } from '../device/device.js'
import { DTypeError, OptionError } from '../errors.js'
import { pathOf } from '../files/files.js'
import { type PathOptions, pathSet } from '../graph/options.js'
import { type EdgeList, isEdgeList, type KeyedEdgeList, type NamedEdgeList } from '../graph-core/edges.js'
import { checkedLater, choice, listener, Options, type OptionsOf, type ReadOf, UNSET } from '../options.js'
import { Engine } from './block-pipeline.js'
import { graphPaths, isGraphName } from './graph-paths.js'
import type { BlockPlan } from './job.js'
import { WORK } from './names.js'
import {
  type ArraysProgress,
  type RunOptions,
  runSet,
  usualMemory,
  type WorkOptions,
  workSet,
} from './options.js'
import { begin, type Matrices } from './plan.js'
import { type ArraysResult, runJobs } from './run.js'

/** The options of {@link multiplyArrays} and {@link shortestPathsArrays}. */
export interface ArraysOptions extends WorkOptions, RunOptions {
  /**
   * Listener of progress, called after blocks and after products of a block, at most four times per second.
   */
  onProgress?: ((progress: ArraysProgress) => void) | undefined
}

/**
 * The options of {@link shortestPathsArrays}. Options that {@link ArraysOptions} doesn't have apply to edge
 * lists and files of graphs, whose paths are searched on the CPU. The options `block.cols`, `block.depth`,
 * `device` and `deviceMemory` apply to matrices, and are refused for edge lists.
 */
export interface PathsArraysOptions<Key = unknown> extends ArraysOptions {
  /**
   * Start nodes of the paths, which are the rows of the result: numbers, or names if nodes have names.
   * Default: all nodes.
   */
  sources?: PathOptions['sources'] | ArrayLike<Key> | Key | undefined
  /** End nodes of the paths, which are the columns of the result. Default: all nodes. */
  targets?: PathOptions['targets'] | ArrayLike<Key> | Key | undefined
  /** See {@link PathOptions.limit}. */
  limit?: PathOptions['limit']
  /** See {@link PathOptions.method}: 'auto' (default), 'search' or 'dissection'. */
  method?: 'auto' | 'search' | 'dissection' | undefined
}

const arraysSet = {
  ...workSet,
  onProgress: listener<ArraysProgress>(),
  ...runSet,
} satisfies OptionsOf<ArraysOptions>

const arraysOptions = new Options(arraysSet)

const pathsOptions = new Options({
  ...arraysSet,
  sources: checkedLater(),
  targets: checkedLater(),
  limit: pathSet.limit,
  method: choice(['auto', 'search', 'dissection'] as const, undefined),
} satisfies OptionsOf<PathsArraysOptions>)

/**
 * Computes C = A ⊗ B of matrices on disk that may be larger than memory: Zarr arrays of version 3 (`.zarr`,
 * which need the package zarrita, and `s3://bucket/name.zarr`, which need aws4fetch too) and NumPy files
 * (`.npy`). Reading, multiplication and writing of blocks overlap, and together take no more memory than the
 * option `memory` allows.
 *
 * C appears under its name when it is complete. Until then its parts are in the folder or prefix `C.partial`.
 * After any end of the process, `resume: true` continues the work.
 *
 * @param a - M × K
 * @param b - K × N
 * @param c - the output, M × N
 * @throws Rejects with an {@link MpmmlError}: ERR_MPMML_SHAPE, ERR_MPMML_DTYPE, ERR_MPMML_OPTION, ERR_MPMML_FILE, ERR_MPMML_PACKAGE,
 *   ERR_MPMML_EXISTS, ERR_MPMML_RESUME, ERR_MPMML_CHANGED, ERR_MPMML_CHUNK, ERR_MPMML_DISK_FULL, ERR_MPMML_OVERFLOW,
 *   ERR_MPMML_VALUE, ERR_MPMML_ABORTED, ERR_MPMML_NO_CUDA, ERR_MPMML_CUDA, ERR_MPMML_OUT_OF_MEMORY.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * await multiplyArrays('a.npy', 'a.npy', 'c.npy', { memory: '8GiB' })
 * console.log((await readNpy('c.npy')).data.join()) // 5,6,7,8
 */
export async function multiplyArrays(
  a: string | URL,
  b: string | URL,
  c: string | URL,
  options: ArraysOptions = {},
): Promise<ArraysResult> {
  return run({ kind: 'multiply', a, b, c }, arraysOptions.read(options))
}

/**
 * Computes the shortest distances between nodes of a graph. The matrix of distances may be larger than
 * memory, and has the form of the result of `shortestPaths`. Another `semiring` gives its best paths:
 * 'max-plus' longest, 'max-min' widest.
 *
 * Weights may be a square matrix on disk, .zarr or .npy: element [i, j] is the weight of the edge from i to
 * j, and the semiring's zero is no edge. The algorithm is blocked Floyd–Warshall: a step for each block of
 * the diagonal reads and writes the whole matrix. The disk needs room for the result and two intermediate
 * matrices.
 *
 * Weights may also be an edge list, as `shortestPaths` takes it, or a file that `readGraph` reads: .gr, .mtx,
 * .csv or .graphml. The graph is then in memory. Searches or dissection compute the distances of all nodes,
 * or of `sources` and `targets`, in blocks of rows that fit the option `memory`. Semirings are 'min-plus',
 * 'max-plus', 'max-min' and 'max-times'.
 *
 * Files and errors are as for {@link multiplyArrays}.
 *
 * @throws Rejects with what {@link multiplyArrays} rejects with, and ERR_MPMML_CYCLE if a cycle gains.
 * @example
 * const none = zeroOf('min-plus')
 * await writeNpy('roads.npy', matrix(3, 3, [none, 4, 9, none, none, 1, none, none, none]))
 * await shortestPathsArrays('roads.npy', 'distances.npy')
 * console.log((await readNpy('distances.npy')).data.slice(0, 3).join()) // 0,4,5
 * await shortestPathsArrays({ nodes: 3, from: [0, 1], to: [1, 2], weight: [4, 1] }, 'from0.npy', { sources: 0 })
 * console.log((await readNpy('from0.npy')).data.join()) // 0,4,5
 */
export async function shortestPathsArrays(
  weights: string | URL | EdgeList | NamedEdgeList | KeyedEdgeList,
  distances: string | URL,
  options: PathsArraysOptions = {},
): Promise<ArraysResult> {
  const { sources, targets, limit, method, ...read } = pathsOptions.read(options)
  const ofGraph = { sources, targets, limit, method }
  if (isPath(weights) && !isGraphName(pathOf(weights))) {
    assertUnset(ofGraph, 'edge lists and files of graphs, and a matrix on disk is closed as a whole')
    return run({ kind: 'shortest-paths', a: weights, c: distances }, read)
  }
  if (!isPath(weights) && !isEdgeList(weights)) {
    throw new DTypeError(
      `weights must be the path of a matrix or a graph, or an edge list { nodes, from, to, weight }, but it is ${typeName(weights)}`,
    )
  }
  const started = performance.now()
  const { onProgress, backend, device, deviceMemory, ...work } = read
  assertUnset(
    { device: device === UNSET ? undefined : device, deviceMemory },
    'the paths of matrices on disk, and those of an edge list are searched on the CPU',
  )
  const { rows, cols = rows, depth = rows } = work.block
  if (cols !== rows || depth !== rows) {
    throw new OptionError(
      'option block must have only rows for an edge list, whose distances are cut into blocks of whole rows: leave out cols and depth',
    )
  }
  const { plan, runner } = await graphPaths({ weights, output: distances, work, backend, ...ofGraph })
  return runJobs(plan, runner, { started, onProgress, signal: work.signal })
}

/** Throws OptionError for an option that was given although it is for other work. */
function assertUnset(given: Readonly<Record<string, unknown>>, work: string): void {
  const [name] = Object.entries(given).find(([, value]) => value !== undefined) ?? []
  if (name !== undefined) throw new OptionError(`option ${name} is for ${work}: leave it out`)
}

const isPath = (weights: unknown): weights is string | URL =>
  typeof weights === 'string' || weights instanceof URL

async function run(matrices: Matrices, options: ReadOf<typeof arraysOptions>): Promise<ArraysResult> {
  const started = performance.now()
  const { onProgress, deviceMemory, backend, device, ...work } = options
  const { signal } = work
  throwIfAborted(signal, WORK)
  // Evaluated once, because the default is a share of the free memory.
  const memory = work.memory ?? usualMemory()
  // CUDA takes hundreds of milliseconds to start.
  const opened = openDevice(optionsOf({ backend, device, devices: 0 }))
  // The await after planning handles the error.
  opened.catch(() => {})
  let engine!: Engine
  let plan: BlockPlan
  try {
    plan = await begin(matrices, { ...work, memory }, async (planned) => {
      engine = await Engine.open(planned, opened, { memory, deviceMemory, signal })
    })
  } catch (error) {
    await opened.then((unused) => unused.close()).catch(() => {})
    throw error
  }
  return runJobs(plan, engine, { started, onProgress, signal })
}
