/** What paths amount to: a number for each node, without the distances that it is made of. */
import { deviceName } from '../backend.js'
import { ShapeError } from '../errors.js'
import { choice, Options, type OptionsOf, option } from '../options.js'
import { longWorkSet, type Progress } from '../product/options.js'
import { showShape } from '../view.js'
import type { FoundBy, PathOptions } from './options.js'
import type { AnyWeights } from './paths.js'
import { ask, hostViewOf, release, WORK } from './question.js'
import { type PathSemiring, pathSemirings } from './rules.js'
import { watched } from './run.js'
import { type Reduction, reductions, searchReduced } from './search.js'

const methods = ['auto', 'search', 'dissection'] as const
const semirings = pathSemirings.filter((name) => name !== 'or-and')

/** The options of {@link reducePaths}. `undefined` means the default. */
export interface ReduceOptions<Key = unknown> {
  /**
   * 'eccentricity', the default: the value of the worst of the best paths from a source, such as the distance to the farthest target.
   * 'mean': the mean of the values, which is added up in float64.
   */
  reduce?: Reduction | undefined
  /** What paths are compared in: 'min-plus', that of {@link shortestPaths}, by default. */
  semiring?: Exclude<PathSemiring, 'or-and'> | undefined
  /** As {@link PathOptions.sources}, or names. */
  sources?: PathOptions['sources'] | ArrayLike<Key> | Key | undefined
  /** As {@link PathOptions.targets}, or names. */
  targets?: PathOptions['targets'] | ArrayLike<Key> | Key | undefined
  /** As {@link PathOptions.method}; a closure would need the memory of all distances. */
  method?: 'auto' | 'search' | 'dissection' | undefined
  /** Gives up, with ERR_MPMML_ABORTED. */
  signal?: AbortSignal | undefined
  /** As {@link PathOptions.onProgress}. */
  onProgress?: ((progress: Progress) => void) | undefined
}

const asGiven = (value: unknown): unknown => value

const reduceOptions = new Options({
  reduce: choice(reductions, 'eccentricity'),
  semiring: choice(semirings, 'min-plus'),
  sources: option(undefined, asGiven),
  targets: option(undefined, asGiven),
  method: choice(methods, 'auto'),
  ...longWorkSet,
} satisfies OptionsOf<ReduceOptions>)

/** What {@link reducePaths} gives. */
export interface ReducedPaths {
  /** A number for each source, in their order; NaN if it reaches no target but itself. */
  readonly values: Float64Array
  /** How many targets each source reaches, itself left out. */
  readonly reached: Int32Array
  /** The numbers of the sources; null if they are all nodes. */
  readonly sources: Int32Array | null
  /** The same of the targets. */
  readonly targets: Int32Array | null
  /** How the paths were found. */
  readonly method: FoundBy
  /** The name of the processor. */
  readonly device: string
  /** Milliseconds: of all the work, and of the searches. */
  readonly timing: { readonly totalMs: number; readonly kernelMs: number }
}

/**
 * Makes one number of the best paths from each source to all targets that it reaches but itself, and keeps no distances: so it takes
 * memory for the graph and not for all pairs. It runs on the CPU, on all cores and off JavaScript's thread. Values of integers are exact, however
 * large; the mean is rounded.
 *
 * @param weights - an edge list, or a square matrix, as of {@link PathFunction}; not a batch.
 * @throws Rejects with an {@link MpmmlError}, as {@link PathFunction} does; but no distance overflows.
 * @example
 * const roads = { nodes: 3, from: [0, 1, 2], to: [1, 2, 0], weight: [4, 1, 2] }
 * const { values } = await reducePaths(roads, { reduce: 'eccentricity' })
 * console.log(values.join(), Math.min(...values)) // 5,3,6 3
 */
export async function reducePaths<Key = unknown>(
  weights: AnyWeights,
  options?: ReduceOptions<Key>,
): Promise<ReducedPaths> {
  const began = performance.now()
  const { reduce, semiring, signal, onProgress, ...asked } = reduceOptions.read(options)
  const question = await ask(semiring as PathSemiring, weights, { ...asked, signal, onProgress })
  try {
    const { query, weights: given, type, batched } = question
    if (batched) {
      throw new ShapeError(
        `${showShape(given.view!, 'weights')} must be one matrix, not a batch: call it once for each`,
      )
    }
    const matrix = given.view && (await hostViewOf(given.view))
    const graph = matrix ? { matrix, item: 0 } : { edges: given.edges! }
    const searching = performance.now()
    const found = await watched({ signal, onProgress: question.closing.onProgress }, WORK, 1, (calls) =>
      searchReduced(graph, query, reduce, type, calls),
    )
    const { sources, targets } = query
    const ended = performance.now()
    return {
      ...found,
      sources,
      targets,
      device: deviceName(-1),
      timing: { totalMs: ended - began, kernelMs: ended - searching },
    }
  } finally {
    release(question)
  }
}
