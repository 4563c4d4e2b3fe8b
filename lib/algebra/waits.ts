/** From precedences of jobs to matrices of waits. */
import { show } from '../describe.js'
import { DTypeError } from '../errors.js'
import { isEdgeList } from '../graph-core/edges.js'
import type { NamedTokenEdgeList, TokenEdgeList } from './tokens.js'

/**
 * Turns each edge round. In precedences, as {@link earliestStarts} takes them, an edge from i to j says that j starts after i. In a
 * matrix A of x(k + 1) = A ⊗ x(k), element [j, i] says that j waits for i: {@link trajectory}, {@link periodicRegime},
 * {@link eigenvectors} and {@link cycleTimes} read it so. This makes the one from the other; twice, it changes nothing.
 *
 * @param edges - An edge list. Its arrays are shared with the result, not copied.
 * @returns The edge list with `from` and `to` exchanged.
 * @throws {DTypeError} `edges` isn't an edge list.
 * @example
 * ```js
 * const precedences = { nodes: 2, from: [0, 1], to: [1, 0], weight: [5, 3] }
 * const { values } = await cycleTimes(waitsFor(precedences))
 * console.log(values.join()) // 4,4
 * ```
 */
export function waitsFor<List extends TokenEdgeList | NamedTokenEdgeList>(edges: List): List {
  if (isEdgeList(edges)) return { ...edges, from: edges.to, to: edges.from }
  throw new DTypeError(
    `edges must be an edge list { nodes, from, to, weight }, but they are ${show(edges)}: ` +
      'transpose a matrix by its strides',
  )
}
