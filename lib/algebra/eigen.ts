/** Eigenvalues and eigenvectors. */
import { OutOfMemoryError } from '../errors.js'
import { availableFor } from '../graph-core/memory-check.js'
import { findReachable } from '../graph-core/reached.js'
import { type Rows, transpose } from '../graph-core/rows.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import {
  asMean,
  bestCycle,
  type CycleMean,
  type CycleOptions,
  fractionOf,
  numeratorOf,
  onSpectral,
  type Spectral,
} from './best-cycles.js'
import { innerEdges } from './component-edges.js'
import { type Critical, criticalCycle, findCritical } from './critical.js'
import { PolicyIteration } from './howard.js'
import { keysOf, type Weights } from './weights.js'

/** An eigenvector: entry i of each array belongs to node i. */
export interface Eigenvector<Key = number> {
  /**
   * The node whose entry is 0: the least node of a component of the critical graph. Its name if nodes have
   * names.
   */
  node: Key
  /**
   * Numerators of the eigenvector, which is numerators / denominator. Exact for int32 weights. An entry that
   * is the semiring's zero is −Infinity (Infinity in min-plus).
   */
  numerators: Float64Array
  /** Denominator of the eigenvalue, for int32 weights. */
  denominator: number
  /** The eigenvector as numbers. */
  values: Float64Array
}

/** An eigenvalue and its eigenvectors. */
export interface Eigenvectors<Key = number> {
  /** The eigenvalue, as the mean of a cycle that attains it. */
  eigenvalue: CycleMean<Key>
  /**
   * Basis of the eigenspace: the eigenvectors are the vectors ⊕ over b of cᵇ ⊗ vectors[b], for any numbers
   * cᵇ, at least one of which isn't the semiring's zero. The basis has one vector per component of the
   * critical graph, in the order of its components.
   */
  vectors: Eigenvector<Key>[]
  /** The names of the nodes, by their numbers, if they have names. */
  keys?: ArrayLike<Key>
}

/**
 * Computes the eigenvectors v of a matrix, A ⊗ v = λ ⊗ v, for the eigenvalue λ from {@link maximumCycleMean}.
 * In max-plus the maximum of A[i, j] + v[j] over j is λ + v[i]. In a timetable with x(k + 1) = A ⊗ x(k),
 * departures at v repeat with the period λ.
 *
 * Entry i of a vector is the weight of the best walk from node i to the vector's node, after λ is subtracted
 * from each edge's weight. The entry is the semiring's zero if no such walk exists. If the matrix is
 * irreducible, all entries are finite. A reducible matrix may have more eigenvalues: {@link
 * componentCycleMeans} computes the eigenvalues of its components, and {@link cycleTimes} the growth rate of
 * each node.
 *
 * If edges have tokens, x(k) = λᵏ ⊗ v solves x(k) = A₀ ⊗ x(k) ⊕ A₁ ⊗ x(k − 1) ⊕ …: the greatest of w − t · λ + v[j], over the edges
 * from i to j of weight w with t tokens, is v[i].
 *
 * @returns null if the graph has no cycle: then only the semiring's zero is an eigenvalue.
 * @throws Rejects with the errors of {@link maximumCycleMean}, and with OverflowError (ERR_MPMML_OVERFLOW)
 * for numerators beyond 2^53.
 * @see P. Butkovič, Max-linear Systems: Theory and Algorithms, section 4.3: the principal eigenspace; `howard` of ScicosLab's
 *   max-plus toolbox, `mpeigen` of MaxPlus.jl, `maxplusmaxalgol` of Scilab's max-plus toolbox, which give one eigenvector
 * @example
 * const { eigenvalue, vectors } = await eigenvectors(matrix(2, 2, [3, 7, 2, 4]))
 * console.log(eigenvalue.value, vectors[0].values.join()) // 4.5 0,-2.5
 */
export async function eigenvectors<Key = number>(
  graph: Weights<Key>,
  options?: CycleOptions,
): Promise<Eigenvectors<Key> | null> {
  return await onSpectral(graph, options, 'the search for the eigenvectors', function* (spectral) {
    const critical = yield* findCritical(spectral)
    if (!critical) return null
    assertCapacity(critical.parts.length, spectral.components.of.length)
    const vectors: Eigenvector<Key>[] = []
    if (spectral.components.count === 1) {
      for (const [target] of critical.parts) {
        const cycle = criticalCycle(critical, target!)
        yield* spectral.iteration.solve(0, spectral.components.of.length, cycle)
        vectors.push(yield* vectorOf(spectral, cycle))
      }
    } else {
      const before = yield* transpose(spectral.graph.rows)
      for (const [target] of critical.parts)
        vectors.push(yield* vectorTo(spectral, critical, target!, before))
    }
    return { eigenvalue: asMean<Key>(spectral, critical.best), vectors, ...keysOf<Key>(spectral.graph) }
  })
}

/**
 * Computes the eigenvector of a critical node in a graph of several components, by policy iteration on all
 * nodes that reach it.
 */
function* vectorTo<Key>(
  spectral: Spectral,
  critical: Critical,
  target: number,
  before: Rows,
): Steps<Eigenvector<Key>> {
  const { graph, inner, components } = spectral
  const { members, within } = yield* findReachable(before, Int32Array.of(components.members[target]!))
  // The nodes that reach the target count as one component; the other nodes are in none.
  const of = Int32Array.from(within, (is) => is - 1)
  const own = yield* innerEdges(graph, { of, members })
  yield
  // `inner.edge` and `own.edge` identify edges by their positions in the graph's rows.
  const placeOf = new Map(criticalCycle(critical, target).map((k) => [inner.edge[k]!, -1]))
  for (let k = 0; k < own.edge.length; k++) if (placeOf.has(own.edge[k]!)) placeOf.set(own.edge[k]!, k)
  const cycle = [...placeOf.values()]
  const iteration = new PolicyIteration(own)
  yield* iteration.solve(0, members.length, cycle)
  return yield* vectorOf({ graph, inner: own, iteration, components: { members } }, cycle)
}

const ENTRY = 'an entry of the eigenvector, times its denominator,'

/** Computes the values of all nodes of a solved component from the first edge of a cycle. */
function* vectorOf<Key>(
  solved: Pick<Spectral, 'graph' | 'inner' | 'iteration'> & { components: { members: Int32Array } },
  cycle: number[],
): Steps<Eigenvector<Key>> {
  const { graph, inner, iteration } = solved
  const { members } = solved.components
  const best = bestCycle(inner, iteration, cycle)
  const denominator = graph.exact ? fractionOf(solved, best)[1] : best.tokens
  const none = graph.semiring === 'max-plus' ? -Infinity : Infinity
  const numerators = new Float64Array(graph.rows.nodes).fill(none)
  const values = new Float64Array(graph.rows.nodes).fill(none)
  for (let position = 0; position < members.length; position++) {
    if (position % PER_SLICE === PER_SLICE - 1) yield
    const value = BigInt(inner.sign) * iteration.exactValue(position)
    // Over floats the denominator is the number of tokens.
    const scaled = value / BigInt(best.tokens / denominator)
    const numerator = numeratorOf(graph, scaled, inner.bits, ENTRY)
    // Adding 0 turns −0 into 0.
    numerators[members[position]!] = numerator + 0
    values[members[position]!] = numerator / denominator + 0
  }
  const node = members[iteration.root]!
  return { node: (graph.names ? graph.names.keys[node] : node) as Key, numerators, denominator, values }
}

/** Throws OutOfMemoryError if the eigenvectors don't fit in memory. */
function assertCapacity(count: number, length: number): void {
  const bytes = 16 * count * length
  const available = availableFor(bytes)
  if (bytes <= available) return
  throw new OutOfMemoryError(
    `the ${count} eigenvectors, one for each component of the critical graph, of ${length} elements need ${bytes} bytes, but ` +
      `${available} are available: criticalGraph gives the components`,
  )
}
