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
  /** Whether `next` and `path()` are wanted; false by default. They take memory of the size of the distances, or more. */
  paths?: boolean | undefined
  /**
   * The nodes that paths begin at: an array, or one node. They are the rows of `distances`, in this order. All nodes if it
   * is left out.
   */
  sources?: NodeNumbers | number | undefined
  /** The nodes that paths end at: the columns of `distances`. */
  targets?: NodeNumbers | number | undefined
  /**
   * Limit of path values: paths with worse values count as none, which are lengths above it in shortest
   * paths, below it in the others. The search stops at the limit, so few near nodes of a large graph cost
   * little. Not allowed for `transitiveClosure`, nor if an edge improves paths, such as one of negative
   * weight in shortest paths.
   *
   * The empty path from a node to itself has to be within the limit, too: if the limit is better than it (below 0 in shortest paths, above
   * 0 in longest ones, above 1 in most reliable ones), no node is reached, the sources included.
   */
  limit?: number | undefined
  /**
   * 'auto', the default, selects the method with the lowest estimated cost. 'search' searches from each of
   * the requested nodes. 'dissection' divides the graph by small separators, as roads, grids and meshes have
   * them, and sweeps from many nodes at once. 'closure' computes all pairs of the matrix of weights. The
   * first two run on the CPU. Distances of integers, and all of `widestPaths`, are the same whatever the
   * method; those of floats may be rounded differently, and of paths that are equally good each may take
   * another one.
   *
   * 'dissection' isn't for `limit`, and of rounded sums and products not for `paths`, nor if an edge makes paths better.
   */
  method?: PathMethod | undefined
  /**
   * Policy for a distance outside the finite range of int32: 'throw', the default, rejects with
   * ERR_MPMML_OVERFLOW; 'saturate' takes the nearest finite value, 'wrap' the distance modulo 2^32.
   * Intermediate sums are exact. Only for integers.
   */
  overflow?: Overflow | undefined
  /**
   * 'auto', the default, selects the lowest estimated cost: all pairs on a GPU or on the CPU, or a search
   * from each of the requested nodes, which runs on the CPU. 'cuda' computes all pairs on a GPU, never by a
   * search: it is an error if no GPU can be used, or if rounding keeps a closure from finding paths because
   * the weight of a cycle of floats is nearly one.
   */
  backend?: BackendChoice | undefined
  /**
   * Listener of the progress, called as {@link MpmmOptions.onProgress} is: `done` is the completed fraction
   * of the steps of a closure, or of the searches.
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

function readLimit(value: unknown): number {
  if (typeof value === 'number' && !Number.isNaN(value)) return value
  throw new OptionError(`option limit must be a number, the worst value of a path, but it is ${show(value)}`)
}
