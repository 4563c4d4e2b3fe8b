/** Edge lists as matrices. */

import { readSemiring, requireSemiringType } from '../built-in.js'
import { UINT8 } from '../elements.js'
import { denseMatrix } from '../graph/dense.js'
import { type PathSemiring, pathSemirings, rulesOf } from '../graph/rules.js'
import { type EdgeList, readingEdges } from '../graph-core/edges.js'
import { atOnce } from '../graph-core/slices.js'
import type { DenseMatrix } from '../matrix.js'
import { readChoice } from '../options.js'
import type { ElementArray } from '../storage.js'

/**
 * The matrix of an edge list, for functions that take matrices only, such as {@link star}: element [i, j] is the weight of the edge from
 * i to j, the better one of parallel edges; it is the semiring's zero where there is none. It takes n² elements, and blocks.
 *
 * @param semiring - 'max-plus' by default. In 'or-and' every edge counts, and the elements are bytes.
 * @throws DTypeError, ShapeError and ValueError for what is no edge list of this semiring; OptionError; OutOfMemoryError.
 * @example
 * const { c } = await star(weightMatrix({ nodes: 2, from: [0, 1], to: [1, 0], weight: [2, -3] }))
 * console.log(c.data.join()) // 0,2,-3,0
 */
export function weightMatrix<Data extends ElementArray = Int32Array>(
  edges: EdgeList<Data>,
  semiring: PathSemiring = 'max-plus',
): DenseMatrix<Data> {
  const name = pathSemirings[readChoice(pathSemirings, semiring, 'semiring')]!
  const read = atOnce(readingEdges(edges, 'the graph', name === 'or-and'))
  const type = name === 'or-and' ? UINT8 : read.type
  requireSemiringType(readSemiring(name), type)
  return atOnce(denseMatrix(read, rulesOf(name, type), type)) as DenseMatrix<Data>
}
