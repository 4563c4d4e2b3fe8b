/** Converts edge lists to matrices. */

import { UINT8 } from '../elements.js'
import { denseMatrix } from '../graph/dense.js'
import { type PathSemiring, pathSemirings, rulesOf } from '../graph/rules.js'
import { type EdgeList, type NamedEdgeList, readingEdges } from '../graph-core/edges.js'
import type { NodeNames } from '../graph-core/names.js'
import { atOnce, inSlices, type Steps } from '../graph-core/slices.js'
import type { DenseMatrix } from '../matrix.js'
import { addon } from '../native.js'
import { choice, Options, type OptionsOf } from '../options.js'
import type { ReadOptions } from '../product/options.js'
import type { ElementArray } from '../storage.js'
import { refuseTokens } from './tokens.js'

/** The options of {@link weightMatrix}. `undefined` means the default. */
export interface WeightMatrixOptions {
  /** 'max-plus' by default. In 'or-and' every edge counts, and the elements are bytes. */
  semiring?: PathSemiring | undefined
}

const matrixOptions = new Options({
  semiring: choice(pathSemirings, 'max-plus'),
} satisfies OptionsOf<WeightMatrixOptions>)

/**
 * Converts an edge list to a matrix, for functions that take only matrices, such as {@link mpmm}. Element [i,
 * j] is the weight of the edge from i to j, or the best weight of parallel edges. The element is the
 * semiring's zero if no edge exists. The matrix has n² elements. The call is synchronous.
 *
 * @param graph - an edge list.
 * @throws ERR_MPMML_DTYPE, ERR_MPMML_SHAPE and ERR_MPMML_VALUE for a value that is no edge list of this semiring, and for edges with tokens; ERR_MPMML_OPTION; ERR_MPMML_OUT_OF_MEMORY.
 * @example
 * const a = weightMatrix({ nodes: 2, from: [0, 1], to: [1, 0], weight: [2, -3] })
 * console.log((await mpmm(a, a)).c.data[0]) // -1
 */
export function weightMatrix<Data extends ElementArray = Int32Array>(
  graph: EdgeList<Data> | NamedEdgeList<unknown, Data>,
  options?: WeightMatrixOptions,
): DenseMatrix<Data> {
  const { semiring } = matrixOptions.read(options)
  return atOnce(makingMatrix(graph, semiring)).matrix as DenseMatrix<Data>
}

/** An edge list as a matrix. */
interface ListMatrix {
  readonly matrix: DenseMatrix<ElementArray>
  /** The names of the nodes; null if they are numbered. */
  readonly names: NodeNames | null
}

/** Creates the matrix of an edge list, in slices. */
function* makingMatrix(edges: EdgeList | NamedEdgeList, name: PathSemiring): Steps<ListMatrix> {
  refuseTokens(
    edges,
    'a matrix has no place for them: make one of the edges with 0 tokens, one of those with 1, and so on',
  )
  const read = yield* readingEdges(edges, { weightless: name === 'or-and' })
  const type = name === 'or-and' ? UINT8 : read.type
  return { matrix: yield* denseMatrix(read, rulesOf(name, type), type), names: read.names }
}

/** Creates the matrix of an edge list that the user passed in place of a matrix. */
export async function listMatrix(
  edges: EdgeList | NamedEdgeList,
  { semiring, signal }: Pick<ReadOptions, 'semiring' | 'signal'>,
): Promise<ListMatrix> {
  const name = matrixOptions.read({ semiring: addon.semirings[semiring]!.name }).semiring
  return await inSlices(makingMatrix(edges, name), signal, 'the matrix')
}
