/**
 * Reads weighted graphs for the functions of the max-plus toolkit: an edge list, or a matrix in an array or
 * on a device.
 */

import { BorrowedArrays, throughout } from '../borrowed.js'
import { storedZeroOf, zeroOf } from '../built-in-semirings.js'
import { show, showList } from '../describe.js'
import { type DeviceMatrix, onHost } from '../device/device.js'
import { INT32, isInteger, newArray, typeNameOf } from '../elements.js'
import { ShapeError, ValueError } from '../errors.js'
import { isEdgeList, type KeyedEdgeList, type NamedEdgeList, readingEdges } from '../graph-core/edges.js'
import { assertMemoryFits, type MemoryRequirement } from '../graph-core/memory-check.js'
import type { NodeNames } from '../graph-core/names.js'
import { inMemory, listRows, matrixRows, selectEdges, type WeightedRows } from '../graph-core/rows.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { shapeOf } from '../layout.js'
import type { MatrixLike } from '../matrix.js'
import { choice } from '../options.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { type HostView, readBack, type View } from '../view.js'
import { type EdgeTokens, readingTokens, type TokenEdgeList, type Tokens } from './tokens.js'

/** The semirings whose ⊗ is a sum. */
export type SumSemiring = 'max-plus' | 'min-plus'

/** An edge list whose nodes have names, which results and errors use. */
export type NamedWeights<Key = unknown, Data extends ElementArray = ElementArray> = (
  | NamedEdgeList<Key, Data>
  | KeyedEdgeList<Key, Data>
) &
  EdgeTokens

/**
 * Weighted graph: an edge list or a square matrix. Element [i, j] of a matrix is the weight of the edge from
 * i to j, or the semiring's zero if no edge exists. A matrix of a device is copied to the host.
 */
export type Weights<Key = unknown, Data extends OperandArray = OperandArray> =
  | TokenEdgeList<Extract<Data, ElementArray>>
  | NamedWeights<Key, Extract<Data, ElementArray>>
  | MatrixLike<Data>
  | DeviceMatrix<Data>

/** An edge list whose int32 weights are in a plain array. */
export type IntegerEdges<Key = unknown> = TokenEdgeList<never> | NamedWeights<Key, never>

/** The option `semiring`. */
export const sumSemiring = choice(['max-plus', 'min-plus'], 'max-plus')

/** A graph that has been read. */
export interface WeightedGraph {
  readonly rows: WeightedRows
  readonly semiring: SumSemiring
  /** Whether the weights are int32, so that sums of them are exact. */
  readonly exact: boolean
  /** Edge list that the graph was read from; null for a matrix. */
  readonly list: ListedEdges | null
  /** Null if each edge has one token. */
  readonly tokens: Tokens | null
  /** The names of the nodes; null if they are numbered. */
  readonly names: NodeNames | null
}

/** Positions of the rows' edges in an edge list. */
interface ListedEdges {
  readonly index: Int32Array
  /** Number of entries of the list. */
  readonly length: number
}

/**
 * Returns the user's number of edge k of the rows, which leads from i to j: its index in the edge list, or i
 * · nodes + j for a matrix.
 */
export function numberOf({ list, rows }: WeightedGraph, k: number, i: number): number {
  return list ? list.index[k]! : i * rows.nodes + rows.to[k]!
}

/** The names of the nodes, as results have them. */
export const keysOf = <Key>({ names }: { readonly names: NodeNames | null }) =>
  names && { keys: names.keys as ArrayLike<Key> }

/**
 * Reads a graph in slices, for work that messages call `what`. Rejects infinite weights other than the
 * semiring's zero.
 */
export async function readGraph(
  graph: Weights,
  semiring: SumSemiring,
  signal: AbortSignal | undefined,
  what: string,
): Promise<WeightedGraph> {
  if (isEdgeList(graph)) return await inSlices(readList(graph, semiring), signal, what)
  const view = readBack(await onHost(graph), 'the matrix', 'operand')
  const loan = new BorrowedArrays()
  loan.view(view, 'the matrix')
  assertSquare(view)
  return await inSlices(throughout(loan, readMatrix(view, semiring)), signal, what)
}

const ROWS: MemoryRequirement = { what: 'a graph', perNode: 16, perEdge: 28 }

function* readList(given: TokenEdgeList | NamedWeights, semiring: SumSemiring): Steps<WeightedGraph> {
  const edges = yield* readingEdges(given)
  const { nodes, type, from, weight } = edges
  assertMemoryFits(ROWS, nodes, from.length)
  const making = function* () {
    const rows = yield* listRows(edges, zeroOf(semiring, typeNameOf(type)))
    const index = rows.edge
    const values = yield* selectEdges(weight, index, newArray(type, index.length))
    const tokens = yield* readingTokens(given, rows, edges.names, from.length)
    return { rows: { ...rows, weight: values }, list: { index, length: from.length }, tokens }
  }
  const { rows, list, tokens } = yield* inMemory(nodes, making())
  yield* assertFinite(rows, type, (_, k) => `weight[${list.index[k]}]`)
  return { rows, semiring, exact: type === INT32, list, tokens, names: edges.names }
}

export function assertSquare(view: View): void {
  if (view.batched || view.rows !== view.cols) {
    throw new ShapeError(`the matrix must be one square matrix, but its shape is ${showList(shapeOf(view))}`)
  }
}

function* readMatrix(view: HostView, semiring: SumSemiring): Steps<WeightedGraph> {
  const { type } = view
  const rows = yield* inMemory(view.rows, matrixRows(view, storedZeroOf(semiring, view), type))
  yield* assertFinite(rows, type, (i, k) => `element [${i}, ${rows.to[k]}]`)
  return { rows, semiring, exact: type === INT32, list: null, tokens: null, names: null }
}

/**
 * Throws ValueError for a weight that isn't finite. `placeOf` names the weight of edge k of node i in
 * messages.
 */
function* assertFinite(
  { start, weight }: WeightedRows,
  type: number,
  placeOf: (i: number, k: number) => string,
): Steps<void> {
  if (isInteger(type)) return
  let i = 0
  for (let k = 0; k < weight.length; k++) {
    if (k % PER_SLICE === PER_SLICE - 1) yield
    if (Number.isFinite(weight[k])) continue
    while (start[i + 1]! <= k) i++
    throw new ValueError(
      `${placeOf(i, k)} is ${show(weight[k])}, but weights must be finite: the semiring's zero is no edge, and nothing else is infinite`,
    )
  }
}
