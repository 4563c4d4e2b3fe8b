/** Graphs as searches read them: rows of edges with keys that are to be minimised. */
import { show } from '../describe.js'
import { OutOfMemoryError, ValueError } from '../errors.js'
import { storedZeroOf } from '../semirings.js'
import type { HostView } from '../view.js'
import type { Edges } from './edges.js'
import { edgeGains, edgeKey, type PathRules } from './rules.js'
import { PER_STEP, type Steps } from './slices.js'

/** The edges that leave each node, or those that enter it. */
export interface KeyedRows {
  readonly nodes: number
  /** The edges of node i are `start[i]` up to `start[i + 1]` of the other arrays. */
  readonly start: Int32Array
  readonly to: Int32Array
  readonly key: Float64Array
  /** Whether no edge can make a path better that has reached it. */
  readonly monotone: boolean
}

/** A graph from which rows can be made. */
export type Graph = { readonly edges: Edges } | { readonly matrix: HostView; readonly item: number }

const MOST_EDGES = 2 ** 31 - 1

/** Which way edges lead: from their rows' nodes, or to them. */
export type Direction = 'forward' | 'backward'

/** Makes the rows of a graph. */
export function* keyedRows(graph: Graph, direction: Direction, rules: PathRules): Steps<KeyedRows> {
  try {
    return yield* 'edges' in graph
      ? listRows(graph.edges, direction, rules)
      : matrixRows(graph.matrix, graph.item, direction, rules)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new OutOfMemoryError('there is no memory for the edges of the graph', { cause: error })
  }
}

/** Makes sums of counts. */
function* accumulate(counts: Int32Array): Steps<void> {
  let sum = 0
  for (let i = 0; i < counts.length; i++) {
    if (i % PER_STEP === PER_STEP - 1) yield
    sum += counts[i]!
    counts[i] = sum
  }
}

/** Throws ValueError for a weight that no path can have. */
export function requireWeight({ extension, semiring, zero }: PathRules, value: number, place: string): void {
  if (Number.isNaN(value)) {
    throw new ValueError(
      `${place} is NaN, which no path can be compared with: no edge is ${show(zero)} in ${semiring}`,
    )
  }
  if (extension === 'product' && value < 0) {
    throw new ValueError(`${place} is ${show(value)}, but ${semiring} has no elements below 0`)
  }
}

/** The weights of an edge list; null in or-and if edges are there whatever they weigh. */
export function weightsOf({ weight }: Edges, { dtype }: PathRules): Edges['weight'] | null {
  return dtype === 'uint8' && !(weight instanceof Uint8Array) ? null : weight
}

/**
 * The rows of an edge list. Of parallel edges all are kept, because a search takes the best one anyway; edges whose weight is
 * zero are left out.
 */
function* listRows(edges: Edges, direction: Direction, rules: PathRules): Steps<KeyedRows> {
  const { nodes } = edges
  const [from, to] = direction === 'forward' ? [edges.from, edges.to] : [edges.to, edges.from]
  const weights = weightsOf(edges, rules)
  const start = new Int32Array(nodes + 1)
  let monotone = true
  for (let e = 0; e < from.length; e++) {
    if (e % PER_STEP === PER_STEP - 1) yield
    const weight = weights ? weights[e]! : 1
    if (!(weight > 0)) requireWeight(rules, weight, `weight[${e}]`)
    if (weight === rules.zero) continue
    start[from[e]! + 1]!++
    if (edgeGains(rules, edgeKey(rules, weight))) monotone = false
  }
  yield* accumulate(start)
  const next = start.slice(0, nodes)
  const targets = new Int32Array(start[nodes]!)
  const key = new Float64Array(start[nodes]!)
  for (let e = 0; e < from.length; e++) {
    if (e % PER_STEP === PER_STEP - 1) yield
    const weight = weights ? weights[e]! : 1
    if (weight === rules.zero) continue
    const k = next[from[e]!]!++
    targets[k] = to[e]!
    key[k] = edgeKey(rules, rules.dtype === 'uint8' ? 1 : weight)
  }
  return { nodes, start, to: targets, key, monotone }
}

/** The rows of a square matrix, one of a batch. */
function* matrixRows(
  matrix: HostView,
  item: number,
  direction: Direction,
  rules: PathRules,
): Steps<KeyedRows> {
  const { rows: nodes, data } = matrix
  const origin = matrix.offset + item * matrix.batchStride
  const [rowStride, colStride] =
    direction === 'forward' ? [matrix.rowStride, matrix.colStride] : [matrix.colStride, matrix.rowStride]
  const zero = storedZeroOf(rules.semiring, matrix)
  const bytes = rules.dtype === 'uint8'
  const start = new Int32Array(nodes + 1)
  const perStep = Math.ceil(PER_STEP / Math.max(nodes, 1))
  let monotone = true
  let count = 0
  for (let i = 0; i < nodes; i++) {
    if (i % perStep === perStep - 1) yield
    for (let j = 0, at = origin + i * rowStride; j < nodes; j++, at += colStride) {
      const weight = data[at]!
      if (!(weight > 0)) {
        const [row, col] = direction === 'forward' ? [i, j] : [j, i]
        requireWeight(rules, weight, `weights[${matrix.batched ? `${item}, ` : ''}${row}, ${col}]`)
      }
      if (weight === zero) continue
      count++
      if (edgeGains(rules, edgeKey(rules, weight))) monotone = false
    }
    start[i + 1] = count
  }
  if (count > MOST_EDGES) throw new RangeError('edges are numbered by int32')
  const to = new Int32Array(count)
  const key = new Float64Array(count)
  let k = 0
  for (let i = 0; i < nodes; i++) {
    if (i % perStep === perStep - 1) yield
    for (let j = 0, at = origin + i * rowStride; j < nodes; j++, at += colStride) {
      const weight = data[at]!
      if (weight === zero) continue
      to[k] = j
      key[k++] = edgeKey(rules, bytes ? 1 : weight)
    }
  }
  return { nodes, start, to, key, monotone }
}
