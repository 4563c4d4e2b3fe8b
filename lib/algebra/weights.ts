/** Weighted graphs, as the functions of the toolkit take them: an edge list, or a matrix in an array or on a device. */
import { show, showList } from '../describe.js'
import { DeviceMatrix } from '../device/device.js'
import { INT32, newArray, typeNameOf } from '../elements.js'
import { OutOfMemoryError, ShapeError, ValueError } from '../errors.js'
import { type CompressedRows, compressingRows } from '../graph/compressed.js'
import { type EdgeList, isEdgeList, readingEdges } from '../graph/edges.js'
import { PER_STEP, type Steps } from '../graph/slices.js'
import { type Need, requireSpace } from '../graph/space.js'
import { shapeOf } from '../layout.js'
import { MAX_DIMENSION, type MatrixLike } from '../matrix.js'
import { choice } from '../options.js'
import { storedZeroOf, zeroOf } from '../semirings.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { type HostView, readHostView, requireThere, type View } from '../view.js'

/** The semirings whose ⊗ is a sum. */
export type SumSemiring = 'max-plus' | 'min-plus'

/**
 * A weighted graph: an edge list, or a square matrix, whose element [i, j] is the weight of the edge from i to j, and the
 * semiring's zero if there is none. A matrix of a device is copied from it.
 */
export type Weights = EdgeList | MatrixLike<OperandArray> | DeviceMatrix<OperandArray>

/** The option `semiring`. */
export const sumSemiring = choice(['max-plus', 'min-plus'], 'max-plus')

/** A graph that has been read: its edges by rows. */
export interface Graph {
  readonly rows: CompressedRows
  readonly semiring: SumSemiring
  /** Whether the weights are int32, so that sums of them are exact. */
  readonly exact: boolean
  /** The number of entries of the edge list; null for a matrix, whose rows are in the order of its columns. */
  readonly listed: number | null
  /** The number of edge k of the rows, which leads from i: its index in the edge list, or i · nodes + j of a matrix. */
  numberOf(k: number, i: number): number
}

/** A matrix where JavaScript can read it. */
export async function onHost<Data extends OperandArray>(
  matrix: MatrixLike<Data> | DeviceMatrix<Data>,
): Promise<MatrixLike<Data>> {
  return matrix instanceof DeviceMatrix ? await matrix.download() : matrix
}

/** Reads a graph; weights that aren't finite, other than the semiring's zero, are refused. */
export async function readGraph(weights: Weights, semiring: SumSemiring): Promise<Steps<Graph>> {
  if (isEdgeList(weights)) return readList(weights, semiring)
  const view = readHostView(await onHost(weights), 'the matrix', 'operand')
  requireThere(view, 'the matrix')
  requireSquare(view)
  return readMatrix(view, semiring)
}

const ROWS: Need = { what: 'a graph', perNode: 16, perEdge: 24 }

function* readList(list: EdgeList, semiring: SumSemiring): Steps<Graph> {
  const edges = yield* readingEdges(list)
  requireSpace(ROWS, edges.nodes, edges.from.length)
  const rows = yield* compressingRows(edges, zeroOf(semiring, typeNameOf(edges.type)))
  const { weight, edge } = rows
  if (edges.type !== INT32) {
    for (let k = 0; k < weight.length; k++) {
      if (k % PER_STEP === PER_STEP - 1) yield
      if (!Number.isFinite(weight[k])) requireFinite(weight[k]!, () => `weight[${edge[k]}]`)
    }
  }
  return { rows, semiring, exact: edges.type === INT32, listed: edges.from.length, numberOf: (k) => edge[k]! }
}

export function requireSquare(view: View): void {
  if (view.batched || view.rows !== view.cols) {
    throw new ShapeError(`the matrix must be one square matrix, but its shape is ${showList(shapeOf(view))}`)
  }
}

function requireFinite(value: number, place: () => string): void {
  if (Number.isFinite(value)) return
  throw new ValueError(
    `${place()} is ${show(value)}, but weights must be finite: the semiring's zero is no edge, and nothing else is infinite`,
  )
}

function* readMatrix(view: HostView, semiring: SumSemiring): Steps<Graph> {
  const zero = storedZeroOf(semiring, view)
  const { data, offset, rows: nodes, rowStride, colStride } = view
  const start = new Int32Array(nodes + 1)
  let count = 0
  let looked = 0
  for (let i = 0; i < nodes; i++) {
    for (let j = 0, at = offset + i * rowStride; j < nodes; j++, at += colStride) {
      if (data[at] !== zero) count++
    }
    if (count > MAX_DIMENSION) {
      throw new OutOfMemoryError(`the matrix has more than 2^31 - 1 edges: use a smaller one`)
    }
    start[i + 1] = count
    looked += nodes
    if (looked >= PER_STEP) {
      looked = 0
      yield
    }
  }
  const { to, weight } = edgeArrays(view, count)
  let k = 0
  for (let i = 0; i < nodes; i++) {
    // The matrix may have been written to meanwhile, which nobody may do: its edges are those that were counted.
    const end = start[i + 1]!
    for (let j = 0, at = offset + i * rowStride; j < nodes && k < end; j++, at += colStride) {
      const value = data[at]!
      if (value === zero) continue
      if (!Number.isFinite(value)) requireFinite(value, () => `element [${i}, ${j}]`)
      to[k] = j
      weight[k++] = value
    }
    start[i + 1] = k
    looked += nodes
    if (looked >= PER_STEP) {
      looked = 0
      yield
    }
  }
  const rows = { nodes, start, to, weight, edge: new Int32Array(0) }
  return { rows, semiring, exact: view.type === INT32, listed: null, numberOf: (k, i) => i * nodes + to[k]! }
}

function edgeArrays({ data, type }: HostView, count: number): { to: Int32Array; weight: ElementArray } {
  try {
    return { to: new Int32Array(count), weight: newArray(type, count) }
  } catch (error) {
    throw new OutOfMemoryError(`there is no memory for a graph of ${data.length} edges`, { cause: error })
  }
}
