/** Computes cycle means of graphs and cycle times of their nodes. */

import { signal } from '../abort.js'
import type { Steps } from '../graph-core/slices.js'
import { Options, type OptionsOf } from '../options.js'
import {
  asMean,
  type BestCycle,
  bestOfAll,
  type CycleMean,
  type CycleOptions,
  compare,
  fractionOf,
  onSpectral,
  type Spectral,
  solve,
} from './best-cycles.js'
import { keysOf, type SumSemiring, type Weights } from './weights.js'

/**
 * Computes the maximum cycle mean of a graph, and a cycle that attains it. The maximum cycle mean is the
 * eigenvalue of the matrix, the λ of A ⊗ v = λ ⊗ v. It is also the cycle time of a timetable: if each edge
 * takes its weight, the timetable can't repeat in a shorter time.
 *
 * An irreducible matrix, whose graph is strongly connected, has only one eigenvalue. A reducible matrix may
 * have several eigenvalues, each the cycle mean of a component: the maximum cycle mean is the greatest of
 * them.
 *
 * If edges have tokens, the result is the maximum cycle ratio: the sum of a cycle's weights divided by the
 * sum of its tokens. Without tokens each edge has one. See {@link TokenEdgeList}.
 *
 * The result is exact for int32 weights. For float weights the cycle is exactly a best one, and its mean is
 * rounded.
 *
 * Howard's policy iteration runs on JavaScript's thread, in slices of some milliseconds between which the
 * event loop runs. Don't write to the arrays until the promise settles.
 *
 * @param graph - an edge list, or an n × n matrix whose elements are edges unless they are the semiring's
 * zero. All other elements must be finite. Matrices of float32, float64 and of a device are accepted, too.
 * @returns null if the graph has no cycle: then only the semiring's zero is an eigenvalue.
 * @throws Rejects with ArgumentError (ERR_MPMML_DTYPE), ArgumentError (ERR_MPMML_SHAPE) and ArgumentError (ERR_MPMML_VALUE) for a value that
 *   isn't a graph of finite weights; CycleError (ERR_MPMML_CYCLE) for a cycle without a token; ArgumentError (ERR_MPMML_OPTION); OverflowError (ERR_MPMML_OVERFLOW) if the sum of a
 *   cycle's weights is beyond 2^53; ResourceError (ERR_MPMML_OUT_OF_MEMORY); AbortedError (ERR_MPMML_ABORTED).
 * @see P. Butkovič, Max-linear Systems: Theory and Algorithms, section 4.2; F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat,
 *   Synchronization and Linearity, section 2.5, on tokens; B. Heidergott,
 *   G. J. Olsder, J. van der Woude, Max Plus at Work; A. Dasdan, S. S. Irani, R. K. Gupta on cost to time ratios
 * @see `karp` and `howard` of ScicosLab's max-plus toolbox, `maxplusmcm` of Scilab's, `howard` of MaxPlus.jl,
 *   `extremum_cycle_mean` of Sage
 * @example
 * // F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity
 * const { numerator, denominator, cycle } = await maximumCycleMean(matrix(2, 2, [3, 7, 2, 4]))
 * console.log(`${numerator}/${denominator} by ${cycle.join(' → ')}`) // 9/2 by 0 → 1
 */
export function maximumCycleMean<Key = number>(
  graph: Weights<Key>,
  options?: Pick<CycleOptions, 'signal'>,
): Promise<CycleMean<Key> | null> {
  return meanOf(graph, options, 'max-plus')
}

/**
 * Computes the minimum cycle mean of a graph: {@link maximumCycleMean} over min-plus, whose zero means no
 * edge.
 *
 * @throws Rejects with the errors of {@link maximumCycleMean}.
 * @example
 * const graph = { nodes: 2, from: [0, 1, 0], to: [1, 0, 0], weight: [3, 4, 5] }
 * const { numerator, denominator } = await minimumCycleMean(graph)
 * console.log(numerator, denominator) // 7 2
 */
export function minimumCycleMean<Key = number>(
  graph: Weights<Key>,
  options?: Pick<CycleOptions, 'signal'>,
): Promise<CycleMean<Key> | null> {
  return meanOf(graph, options, 'min-plus')
}

const meanOptions = new Options({ signal } satisfies OptionsOf<Pick<CycleOptions, 'signal'>>)

async function meanOf<Key>(
  graph: Weights<Key>,
  options: Pick<CycleOptions, 'signal'> | undefined,
  semiring: SumSemiring,
): Promise<CycleMean<Key> | null> {
  const read = { ...meanOptions.read(options), semiring }
  return await onSpectral(graph, read, 'the search for the best cycle', function* (spectral) {
    const best = yield* bestOfAll(spectral)
    return best && asMean<Key>(spectral, best)
  })
}

/** The cycle means of strongly connected components. */
export interface ComponentMeans<Key = number> {
  /** The component of each node. Edges between components lead from higher numbers to lower ones. */
  component: Int32Array
  /**
   * Best cycle mean of each component; null for a component without a cycle, which is a single node without a
   * self-loop.
   */
  means: (CycleMean<Key> | null)[]
  /** The names of the nodes, by their numbers, if they have names. */
  keys?: ArrayLike<Key>
}

/**
 * Computes the best cycle mean of each strongly connected component: {@link maximumCycleMean}, or {@link
 * minimumCycleMean} with `semiring: 'min-plus'`. The mean is the eigenvalue of the component's matrix.
 *
 * @throws Rejects with the errors of {@link maximumCycleMean}.
 * @example
 * const graph = { nodes: 3, from: [0, 1, 1, 2], to: [1, 0, 2, 2], weight: [3, 4, 0, 8] }
 * const { component, means } = await componentCycleMeans(graph)
 * console.log(component.join(), means.map(({ value }) => value).join()) // 1,1,0 8,3.5
 */
export async function componentCycleMeans<Key = number>(
  graph: Weights<Key>,
  options?: CycleOptions,
): Promise<ComponentMeans<Key>> {
  return await onSpectral(graph, options, 'the search for the best cycles', function* (spectral) {
    const means: (CycleMean<Key> | null)[] = []
    for (let component = 0; component < spectral.components.count; component++) {
      const best = yield* solve(spectral, component)
      means.push(best && asMean<Key>(spectral, best))
    }
    return { component: spectral.components.of, means, ...keysOf<Key>(spectral.graph) }
  })
}

/** Cycle times of nodes: entry i of each array belongs to node i. */
export interface CycleTimes<Key = number> {
  /**
   * Numerators of the cycle times as in {@link CycleMean}, exact for int32 weights. The semiring's zero, −Infinity or Infinity, for
   * nodes that reach no cycle.
   */
  numerators: Float64Array
  /** Denominators of the cycle times; 0 for a node that reaches no cycle. */
  denominators: Float64Array
  /**
   * Quotients numerators / denominators; the semiring's zero, −Infinity or Infinity, for nodes that reach no
   * cycle.
   */
  values: Float64Array
  /** The names of the nodes, by their numbers, if they have names. */
  keys?: ArrayLike<Key>
}

/**
 * Computes the cycle time of each node: the best mean of the cycles that the node reaches. The cycle time is
 * the limit of x(k) / k for x(k + 1) = A ⊗ x(k) and any finite x(0). If edges have tokens, the recurrence is
 * x(k) = A₀ ⊗ x(k) ⊕ A₁ ⊗ x(k − 1) ⊕ …. A[i, j] is the weight of the edge from i to j.
 *
 * @throws Rejects with the errors of {@link maximumCycleMean}.
 * @see `maxplusctv` of Scilab's max-plus toolbox, the eigenvalues that `howard` of MaxPlus.jl gives
 * @example
 * const graph = { nodes: 3, from: [0, 1, 2], to: [1, 0, 2], weight: [3, 4, 2] }
 * console.log((await cycleTimes(graph)).values.join()) // 3.5,3.5,2
 */
export async function cycleTimes<Key = number>(
  graph: Weights<Key>,
  options?: CycleOptions,
): Promise<CycleTimes<Key>> {
  return await onSpectral(graph, options, 'the search for the best cycles', timesOf<Key>)
}

/** The cycle times of all nodes. */
export function* timesOf<Key>(spectral: Spectral): Steps<CycleTimes<Key>> {
  const { components, graph } = spectral
  const { rows } = graph
  const { nodes } = rows
  const numerators = new Float64Array(nodes)
  const denominators = new Float64Array(nodes)
  const values = new Float64Array(nodes).fill(graph.semiring === 'max-plus' ? -Infinity : Infinity)
  const bests: (BestCycle | null)[] = []
  // The components that a component reaches have lower numbers.
  for (let component = 0; component < components.count; component++) {
    const members = components.members.subarray(components.start[component], components.start[component + 1])
    let best = yield* solve(spectral, component)
    let met = component
    for (const i of members) {
      for (let k = rows.start[i]!; k < rows.start[i + 1]!; k++) {
        const other = components.of[rows.to[k]!]!
        if (other === met) continue
        met = other
        const theirs = bests[other]
        if (theirs && theirs !== best && (!best || compare(theirs, best) > 0)) best = theirs
      }
    }
    bests.push(best)
    if (!best) continue
    const [numerator, denominator] = fractionOf(spectral, best)
    for (const i of members) {
      numerators[i] = numerator
      denominators[i] = denominator
      values[i] = numerator / denominator
    }
  }
  return { numerators, denominators, values, ...keysOf<Key>(graph) }
}
