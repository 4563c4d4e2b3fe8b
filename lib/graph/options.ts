/** The options of the path functions. */

import { whereSet } from '../backend.js'
import type { BackendChoice } from '../backend-name.js'
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import type { NodeNumbers } from '../graph-core/edges.js'
import { boolean, checkedLater, choice, type OptionsOf, option } from '../options.js'
import { longWorkSet, type MpmmOptions, type Overflow, overflow, type Progress } from '../product/options.js'

/** Method that found paths. */
export type FoundBy = 'search' | 'dissection' | 'closure'

/** Method to find paths. */
export type PathMethod = 'auto' | FoundBy

const pathMethods: readonly PathMethod[] = ['auto', 'search', 'dissection', 'closure']

/** The options of {@link shortestPaths} and the other path functions. `undefined` means the default. */
export interface PathOptions extends Pick<MpmmOptions, 'device' | 'devices' | 'signal'> {
  /**
   * Whether the result has `next` and `path()`; false by default. They need at least as much memory as the
   * distances.
   */
  paths?: boolean | undefined
  /**
   * First nodes of paths: an array, or one node. Row i of `distances` belongs to source i. All nodes by
   * default.
   */
  sources?: NodeNumbers | number | undefined
  /** Last nodes of paths: column j of `distances` belongs to target j. All nodes by default. */
  targets?: NodeNumbers | number | undefined
  /**
   * Limit of path values: paths with worse values count as none. Values above the limit are worse in shortest
   * paths, values below it in the others. The search stops at the limit, so finding the near nodes in a large
   * graph is fast. Not allowed for `transitiveClosure`, nor if an edge improves paths, such as an edge of
   * negative weight in shortest paths.
   *
   * The limit applies to the empty path from a node to itself, too. No node is reached, not even a source, if
   * the limit is better than the value of the empty path. Such limits are below 0 in shortest paths, above 0
   * in longest paths and above 1 in most reliable paths.
   */
  limit?: number | undefined
  /**
   * 'auto', the default, selects the method with the lowest estimated cost. 'search' runs one search per
   * requested node. 'dissection' divides the graph by small separators, which road networks, grids and meshes
   * have. It then computes the distances from many nodes at once. 'closure' computes all pairs from the
   * matrix of weights. 'search' and 'dissection' run on the CPU. Integer distances, and all distances of
   * `widestPaths`, don't depend on the method. Methods may round floating-point distances differently, and
   * may choose different paths of equal value.
   *
   * 'dissection' doesn't support `limit`. If sums or products are rounded, it supports neither `paths` nor
   * edges that improve paths.
   */
  method?: PathMethod | undefined
  /**
   * Policy for a distance outside the finite range of int32: 'throw', the default, rejects with
   * ERR_MPMML_OVERFLOW; 'saturate' stores the nearest finite value; 'wrap' stores the distance modulo 2^32.
   * Intermediate sums are exact. Only for integers.
   */
  overflow?: Overflow | undefined
  /**
   * 'auto', the default, selects the lowest estimated cost: all pairs on a GPU or on the CPU, or one search
   * per requested node on the CPU. 'cuda' always computes all pairs on a GPU. If no GPU can be used, 'cuda'
   * is an error. 'cuda' also fails if the weight of a cycle of floats is so near to the semiring's one that
   * rounding prevents the closure from finding paths.
   */
  backend?: BackendChoice | undefined
  /**
   * Listener of the progress: `done` is the completed fraction of the steps of a closure, or of the searches.
   * {@link MpmmOptions.onProgress} documents when it is called.
   */
  onProgress?: ((progress: Progress) => void) | undefined
}

export const pathSet = {
  paths: boolean(false),
  sources: checkedLater(),
  targets: checkedLater(),
  limit: option(undefined, readLimit),
  method: choice(pathMethods, 'auto'),
  overflow,
  ...whereSet,
  ...longWorkSet,
} satisfies OptionsOf<PathOptions>

/** The options of {@link kShortestPaths} and of tables of a prepared graph. `undefined` means the default. */
export type SearchOptions = Pick<PathOptions, 'limit' | 'signal' | 'onProgress'>

export const searchSet = { limit: pathSet.limit, ...longWorkSet } satisfies OptionsOf<SearchOptions>

/** Option that aborts the call. */
export type AbortOptions = Pick<PathOptions, 'signal'>

function readLimit(value: unknown): number {
  if (typeof value === 'number' && !Number.isNaN(value)) return value
  throw new OptionError(`option limit must be a number, the worst value of a path, but it is ${show(value)}`)
}
