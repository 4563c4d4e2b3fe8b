/** Tokens of edges: the number of earlier rounds that an edge refers to. */
import { BorrowedArrays, throughout } from '../borrowed.js'
import { show, typeName } from '../describe.js'
import { CycleError, DTypeError, OverflowError, ShapeError, ValueError } from '../errors.js'
import { cycleText, leastOf, rotated } from '../graph-core/cycles.js'
import { type EdgeList, isEdgeList, isNodeArray, type NodeNumbers } from '../graph-core/edges.js'
import type { NodeNames } from '../graph-core/names.js'
import { type EdgeRows, selectEdges, selected } from '../graph-core/rows.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import { findingOrder } from '../graph-core/topological-order.js'
import { MAX_INT32 } from '../integers.js'
import type { ElementArray } from '../storage.js'

/**
 * Tokens of an edge list, as the places of a timed event graph have. An edge from i to j of weight w with t tokens means that node i waits
 * for round k − t of node j: x_i(k) ≥ w + x_j(k − t). So x(k) = A₀ ⊗ x(k) ⊕ A₁ ⊗ x(k − 1) ⊕ …, where Aₜ has the edges with t tokens.
 *
 * Parallel edges with different tokens all count. Around each cycle there must be a token.
 *
 * @see F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity, section 2.5
 */
export interface EdgeTokens {
  /** Number of tokens of each edge, an integer of at least 0. Default 1 for all. */
  readonly tokens?: ArrayLike<number> | undefined
}

/** An edge list whose edges may have tokens. */
export type TokenEdgeList<Data extends ElementArray = ElementArray> = EdgeList<Data> & EdgeTokens

/** Tokens that have been read. */
export interface Tokens {
  /** Tokens of each edge of the rows. */
  readonly of: Int32Array
  /** Greatest number of tokens of an edge, at least 1. */
  readonly most: number
  /** All nodes, each after the nodes that it waits for without a token. */
  readonly order: Int32Array
}

/**
 * Reads the tokens of an edge list, whose edges are in `rows`. Returns null if the list has no tokens.
 *
 * @throws CycleError for a cycle without a token, and the errors of {@link readingCounts}.
 */
export function* readingTokens(
  list: EdgeTokens,
  rows: EdgeRows,
  names: NodeNames | null,
  length: number,
): Steps<Tokens | null> {
  const counts = yield* readingCounts(list, length)
  if (!counts) return null
  const of = yield* selectEdges(counts, rows.edge, new Int32Array(rows.edge.length))
  let most = 1
  for (let k = 0; k < of.length; k++) {
    if (k % PER_SLICE === PER_SLICE - 1) yield
    if (of[k]! > most) most = of[k]!
  }
  // Nodes that a node waits for in the same round precede it.
  const { order, cycle } = yield* findingOrder(yield* selected(rows, (k) => of[k] === 0))
  if (cycle) throw withoutToken(cycle, names)
  return { of, most, order }
}

/**
 * Reads the tokens of an edge list of `length` edges into a new array. Returns null if the list has no tokens.
 *
 * @throws ERR_MPMML_DTYPE, ERR_MPMML_SHAPE and ERR_MPMML_VALUE for values that aren't tokens; OverflowError.
 */
export function* readingCounts({ tokens: given }: EdgeTokens, length: number): Steps<Int32Array | null> {
  if (given === undefined) return null
  if (!isNodeArray(given)) {
    throw new DTypeError(
      `tokens must be an array of whole numbers, such as an Int32Array, but it is ${typeName(given)}`,
    )
  }
  const loan = new BorrowedArrays()
  const counts = loan.array(given, 'tokens')
  if (counts.length !== length) {
    throw new ShapeError(
      `tokens must have one entry for each edge, but there are ${counts.length} entries and ${length} edges`,
    )
  }
  return yield* throughout(loan, counting(counts))
}

function* counting(given: NodeNumbers): Steps<Int32Array> {
  const counts = new Int32Array(given.length)
  let total = 0
  for (let e = 0; e < counts.length; e++) {
    if (e % PER_SLICE === PER_SLICE - 1) yield
    counts[e] = readCount(given[e], `tokens[${e}]`)
    total += counts[e]!
  }
  if (Number.isSafeInteger(total)) return counts
  throw new OverflowError(
    `there are ${total} tokens, but sums of them must be exact: the edges may have 2^53 - 1 in all`,
  )
}

function readCount(value: unknown, position: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    throw new DTypeError(`${position} must be a number of tokens, an integer, but it is ${show(value)}`)
  }
  if (value >= 0 && value <= MAX_INT32) return value
  throw new ValueError(`${position} is ${show(value)}, but an edge has from 0 to 2^31 - 1 tokens`)
}

function withoutToken(nodes: number[], names: NodeNames | null): CycleError {
  const cycle = rotated(nodes, leastOf(nodes))
  return new CycleError(
    `the cycle ${cycleText(cycle, names)} has no token, so each of its nodes waits for itself and none ever begins: ` +
      'put a token on one of its edges',
    { cycle, keys: names ? cycle.map((node) => names.keys[node]) : undefined },
  )
}

/**
 * Throws ValueError for an edge list with tokens; `why` explains why tokens have no meaning, and what to do.
 */
export function refuseTokens(edges: unknown, why: string): void {
  if (!isEdgeList(edges) || (edges as EdgeTokens).tokens === undefined) return
  throw new ValueError(`the edges have tokens, but ${why}`)
}
