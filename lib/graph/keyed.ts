/** Converts graphs to the form that searches read: rows of edges, whose keys are minimised. */

import { storedZeroOf } from '../built-in-semirings.js'
import { show } from '../describe.js'
import { FLOAT64, UINT8 } from '../elements.js'
import { ValueError } from '../errors.js'
import type { Edges } from '../graph-core/edges.js'
import { type Direction, inMemory, listRows, matrixRows, type Rows, selectEdges } from '../graph-core/rows.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import type { HostView } from '../view.js'
import { edgeKey, isBetterEdge, type PathRules } from './rules.js'

/** The edges that leave each node, or that enter it. */
export interface KeyedRows extends Rows {
  readonly key: Float64Array
}

/** A graph that can be converted to rows of edges. */
export type Graph = { readonly edges: Edges } | { readonly matrix: HostView; readonly item: number }

/** Converts a graph to rows of edges. */
export function keyedRows(graph: Graph, direction: Direction, rules: PathRules): Steps<KeyedRows> {
  return 'edges' in graph
    ? inMemory(graph.edges.nodes, keyedList(graph.edges, direction, rules))
    : inMemory(graph.matrix.rows, keyedMatrix(graph.matrix, graph.item, direction, rules))
}

/** Throws ValueError for a weight that no path can have. */
export function assertWeight(
  { extension, semiring, zero }: PathRules,
  value: number,
  position: () => string,
): void {
  if (Number.isNaN(value)) {
    throw new ValueError(
      `${position()} is NaN, which no path can be compared with: no edge is ${show(zero)} in ${semiring}`,
    )
  }
  if (extension === 'product' && value < 0) {
    throw new ValueError(`${position()} is ${show(value)}, but ${semiring} has no elements below 0`)
  }
}

/**
 * Returns the weights of an edge list; null in or-and if weights don't matter because every listed edge
 * counts.
 */
export function weightsOf({ weight, type }: Edges, { dtype }: PathRules): Edges['weight'] | null {
  return dtype === 'uint8' && type !== UINT8 ? null : weight
}

/** Returns the graph in the form that native code reads. */
export function sourceOf(graph: Graph, rules: PathRules) {
  if ('edges' in graph) {
    const { nodes, from, to, weight } = graph.edges
    // A NaN weight is an error even if weights don't matter.
    return {
      nodes,
      from,
      to,
      weights: weight,
      zero: rules.zero,
      hasZero: weightsOf(graph.edges, rules) !== null,
    }
  }
  const { matrix, item } = graph
  return {
    nodes: matrix.rows,
    weights: matrix.data,
    zero: storedZeroOf(rules.semiring, matrix),
    offset: matrix.offset + item * matrix.batchStride,
    matrixRowStride: matrix.rowStride,
    matrixColStride: matrix.colStride,
  }
}

/**
 * Returns the keyed rows of an edge list. Keeps all parallel edges, because a search uses the best one
 * anyway.
 */
function* keyedList(edges: Edges, direction: Direction, rules: PathRules): Steps<KeyedRows> {
  const weights = weightsOf(edges, rules)
  const rows = yield* listRows(edges, weights && rules.zero, direction)
  const key = new Float64Array(rows.edge.length)
  if (weights) yield* selectEdges(weights, rows.edge, key)
  return yield* keyed(rows, key, rules, (_, k) => `weight[${rows.edge[k]}]`)
}

/** Returns the keyed rows of one square matrix of a batch. */
function* keyedMatrix(
  matrix: HostView,
  item: number,
  direction: Direction,
  rules: PathRules,
): Steps<KeyedRows> {
  const { rowStride, colStride, batched } = matrix
  const forward = direction === 'forward'
  const origin = { ...matrix, offset: matrix.offset + item * matrix.batchStride }
  const turned = forward ? origin : { ...origin, rowStride: colStride, colStride: rowStride }
  const rows = yield* matrixRows(turned, storedZeroOf(rules.semiring, matrix), FLOAT64)
  return yield* keyed(rows, rows.weight as Float64Array, rules, (i, k) => {
    const [row, col] = forward ? [i, rows.to[k]] : [rows.to[k], i]
    return `graph[${batched ? `${item}, ` : ''}${row}, ${col}]`
  })
}

/** Replaces weights by their keys. `placeOf` names the weight of edge k of node i in messages. */
function* keyed(
  { nodes, start, to }: Rows,
  key: Float64Array,
  rules: PathRules,
  placeOf: (i: number, k: number) => string,
): Steps<KeyedRows> {
  const links = rules.dtype === 'uint8'
  let looked = 0
  for (let i = 0; i < nodes; i++) {
    const end = start[i + 1]!
    for (let k = start[i]!; k < end; k++) {
      const weight = links ? 1 : key[k]!
      if (!(weight > 0)) assertWeight(rules, weight, () => placeOf(i, k))
      key[k] = edgeKey(rules, weight)
    }
    looked += end - start[i]! + 1
    if (looked < PER_SLICE) continue
    looked = 0
    yield
  }
  return { nodes, start, to, key }
}

/** Returns the key of the best edge from one node to another; NaN if no edge exists. */
export function bestKey({ start, to, key }: KeyedRows, rules: PathRules, from: number, end: number): number {
  let best = Number.NaN
  for (let k = start[from]!; k < start[from + 1]!; k++) {
    if (to[k] === end && isBetterEdge(rules, key[k]!, best)) best = key[k]!
  }
  return best
}
