/** Converts precedences of jobs to matrices of waiting times. */
import { typeName } from '../describe.js'
import { DeviceMatrix } from '../device/device.js'
import { DTypeError } from '../errors.js'
import { isEdgeList } from '../graph-core/edges.js'
import type { DenseMatrix, MatrixLike } from '../matrix.js'
import type { OperandArray } from '../storage.js'
import { readBack } from '../view.js'
import type { TokenEdgeList } from './tokens.js'
import { assertSquare, type NamedWeights } from './weights.js'

/**
 * Reverses each edge. In precedences of {@link earliestStarts} an edge from i to j means that j starts after
 * i. In a matrix A of x(k + 1) = A ⊗ x(k), element [j, i] means that j waits for i: {@link trajectory},
 * {@link periodicRegime}, {@link eigenvectors} and {@link cycleTimes} read it so. The function converts each
 * form to the other; applied twice, it changes nothing.
 *
 * @param graph - an edge list, or a square matrix. The result shares its arrays, or its memory on a device.
 * @returns The edge list with `from` and `to` exchanged; the transpose of a matrix.
 * @throws ERR_MPMML_DTYPE for a value that is neither; ERR_MPMML_SHAPE for a matrix that isn't square.
 * @example
 * ```js
 * const precedences = { nodes: 2, from: [0, 1], to: [1, 0], weight: [5, 3] }
 * const { values } = await cycleTimes(reverseEdges(precedences))
 * console.log(values.join()) // 4,4
 * ```
 */
export function reverseEdges<List extends TokenEdgeList | NamedWeights>(graph: List): List
export function reverseEdges<Data extends OperandArray>(graph: DeviceMatrix<Data>): DeviceMatrix<Data>
export function reverseEdges<Data extends OperandArray>(graph: MatrixLike<Data>): DenseMatrix<Data>
export function reverseEdges(graph: unknown): unknown {
  if (typeof graph !== 'object' || graph === null) {
    throw new DTypeError(
      `graph must be an edge list { nodes, from, to, weight } or a square matrix { data, shape }, but it is ${typeName(graph)}`,
    )
  }
  if (isEdgeList(graph)) return { ...graph, from: graph.to, to: graph.from }
  if (graph instanceof DeviceMatrix) return graph.transpose()
  const view = readBack(graph as MatrixLike<OperandArray>, 'graph', 'operand')
  assertSquare(view)
  const { data, rows, cols, rowStride, colStride, offset } = view
  return { data, shape: [cols, rows], strides: [colStride, rowStride], offset }
}
