/** Compressed rows of graphs: the edges that leave each node, or those that enter it, next to each other. */
import { newArray } from '../elements.js'
import { OutOfMemoryError } from '../errors.js'
import { MAX_DIMENSION } from '../matrix.js'
import type { ElementArray } from '../storage.js'
import type { HostView } from '../view.js'
import type { Edges } from './edges.js'
import { PER_SLICE, type Steps } from './slices.js'

/** The edges of node i are `start[i]` up to `start[i + 1]` of the other arrays. */
export interface Rows {
  readonly nodes: number
  readonly start: Int32Array
  /** The node at the other end of each edge. */
  readonly to: Int32Array
}

/** Rows whose edges come from an edge list, or from other rows. */
export interface EdgeRows extends Rows {
  /** Index of each edge in the edge list or the original rows. */
  readonly edge: Int32Array
}

export interface WeightedRows<Data extends ElementArray = ElementArray> extends Rows {
  readonly weight: Data
}

/** Direction of edges: from their rows' nodes, or to them. */
export type Direction = 'forward' | 'backward'

/**
 * Computes the start of each label's items in an order sorted by label: label l has the items `start[l]` up
 * to `start[l + 1]`. Items with negative labels are omitted.
 */
export function* startsOf(label: Int32Array, labels: number): Steps<Int32Array> {
  const start = new Int32Array(labels + 1)
  for (let at = 0; at < label.length; at++) {
    if (at % PER_SLICE === PER_SLICE - 1) yield
    const own = label[at]!
    if (own >= 0) start[own + 1]!++
  }
  let sum = 0
  for (let l = 1; l <= labels; l++) {
    if (l % PER_SLICE === PER_SLICE - 1) yield
    sum += start[l]!
    start[l] = sum
  }
  return start
}

/** Sorts items by their labels; items of one label ascend. Items with negative labels are omitted. */
export function* sorted(label: Int32Array, labels: number): Steps<{ start: Int32Array; item: Int32Array }> {
  const start = yield* startsOf(label, labels)
  const next = start.slice(0, labels)
  const item = new Int32Array(start[labels]!)
  for (let at = 0; at < label.length; at++) {
    if (at % PER_SLICE === PER_SLICE - 1) yield
    const own = label[at]!
    if (own >= 0) item[next[own]!++] = at
  }
  return { start, item }
}

/** Gathers the values at a list of indices. */
export function* selectEdges<Data extends ElementArray>(
  values: ElementArray,
  indices: Int32Array,
  into: Data,
): Steps<Data> {
  for (let at = 0; at < indices.length; at++) {
    if (at % PER_SLICE === PER_SLICE - 1) yield
    into[at] = values[indices[at]!]!
  }
  return into
}

/**
 * Builds the rows of an edge list, each in the order of the list. Edges whose weight is `zero` are omitted,
 * unless `zero` is null.
 */
export function* listRows(
  { nodes, from, to, weight }: Pick<Edges, 'nodes' | 'from' | 'to' | 'weight'>,
  zero: number | null,
  direction: Direction = 'forward',
): Steps<EdgeRows> {
  const [own, other] = direction === 'forward' ? [from, to] : [to, from]
  const label = zero === null ? own : yield* withoutZeros(own, weight, zero)
  const { start, item: edge } = yield* sorted(label, nodes)
  return { nodes, start, to: yield* selectEdges(other, edge, new Int32Array(edge.length)), edge }
}

/** Returns the labels, with −1 for items whose weight is `zero`. */
function* withoutZeros(label: Int32Array, weight: ElementArray, zero: number): Steps<Int32Array> {
  let retained = label
  for (let e = 0; e < label.length; e++) {
    if (e % PER_SLICE === PER_SLICE - 1) yield
    if (weight[e] !== zero) continue
    if (retained === label) retained = label.slice()
    retained[e] = -1
  }
  return retained
}

/** A square matrix of weights. */
export type WeightMatrix = Pick<HostView, 'data' | 'offset' | 'rows' | 'rowStride' | 'colStride'>

/**
 * Builds the rows of a matrix, each in the order of its columns. Elements that are `zero` are no edges.
 *
 * @param type - number of the element type of the rows' weights.
 */
export function* matrixRows(
  { data, offset, rows: nodes, rowStride, colStride }: WeightMatrix,
  zero: number,
  type: number,
): Steps<WeightedRows> {
  const start = new Int32Array(nodes + 1)
  const perStep = Math.ceil(PER_SLICE / Math.max(nodes, 1))
  let count = 0
  for (let i = 0; i < nodes; i++) {
    if (i % perStep === perStep - 1) yield
    for (let j = 0, at = offset + i * rowStride; j < nodes; j++, at += colStride) {
      if (data[at] !== zero) count++
    }
    if (count > MAX_DIMENSION) {
      throw new OutOfMemoryError('the matrix has more than 2^31 - 1 edges: use a smaller one')
    }
    start[i + 1] = count
  }
  const to = new Int32Array(count)
  const weight = newArray(type, count)
  let k = 0
  for (let i = 0; i < nodes; i++) {
    if (i % perStep === perStep - 1) yield
    // The limit is the counted number of edges, in case the user modified the matrix meanwhile, which isn't
    // allowed.
    const end = start[i + 1]!
    for (let j = 0, at = offset + i * rowStride; j < nodes && k < end; j++, at += colStride) {
      const value = data[at]!
      if (value === zero) continue
      to[k] = j
      weight[k++] = value
    }
    start[i + 1] = k
  }
  return { nodes, start, to, weight }
}

/** Returns the rows of the edges for which `isKept` is true of their number and their row's node. */
export function* selected(
  { nodes, start, to }: Rows,
  isKept: (edge: number, node: number) => boolean,
): Steps<EdgeRows> {
  const first = new Int32Array(nodes + 1)
  const ends = new Int32Array(to.length)
  const edge = new Int32Array(to.length)
  let retained = 0
  let looked = 0
  for (let i = 0; i < nodes; i++) {
    for (let k = start[i]!; k < start[i + 1]!; k++) {
      if (++looked % PER_SLICE === 0) yield
      if (!isKept(k, i)) continue
      ends[retained] = to[k]!
      edge[retained++] = k
    }
    first[i + 1] = retained
  }
  return { nodes, start: first, to: ends.subarray(0, retained), edge: edge.subarray(0, retained) }
}

/** Returns the node of the row of each edge. */
export function ownersOf({ nodes, start, to }: Rows): Int32Array {
  const owner = new Int32Array(to.length)
  for (let i = 0; i < nodes; i++) owner.fill(i, start[i], start[i + 1])
  return owner
}

/** Transposes rows: groups the edges by their other end, each row in the order of the original rows. */
export function* transpose(rows: Rows): Steps<EdgeRows> {
  const { start, item: edge } = yield* sorted(rows.to, rows.nodes)
  const to = yield* selectEdges(ownersOf(rows), edge, new Int32Array(edge.length))
  return { nodes: rows.nodes, start, to, edge }
}

/**
 * Returns the rows of the edges within parts of a graph: both ends have equal labels of at least 0.
 *
 * @param order - nodes that become nodes 0, 1, … of the result; it must contain all labelled nodes.
 */
export function* restrict({ nodes, start, to }: Rows, label: Int32Array, order: Int32Array): Steps<EdgeRows> {
  const count = order.length
  const position = new Int32Array(nodes)
  for (let p = 0; p < count; p++) position[order[p]!] = p
  const first = new Int32Array(count + 1)
  const ends = new Int32Array(to.length)
  const edge = new Int32Array(to.length)
  let retained = 0
  for (let p = 0; p < count; p++) {
    if (p % PER_SLICE === PER_SLICE - 1) yield
    const i = order[p]!
    const own = label[i]!
    const end = own < 0 ? 0 : start[i + 1]!
    for (let k = start[i]!; k < end; k++) {
      const j = to[k]!
      if (label[j] !== own) continue
      ends[retained] = position[j]!
      edge[retained++] = k
    }
    first[p + 1] = retained
  }
  return { nodes: count, start: first, to: ends.subarray(0, retained), edge: edge.subarray(0, retained) }
}

/** Creates rows of a graph of `nodes` nodes. An allocation failure becomes an error that names the edges. */
export function* inMemory<Result>(nodes: number, making: Steps<Result>): Steps<Result> {
  try {
    return yield* making
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new OutOfMemoryError(`out of memory: cannot allocate the edges of a graph of ${nodes} nodes`, {
      cause: error,
    })
  }
}
