/** Path queries: reads and checks the options and the graph of a path function once. */

import { throwIfAborted } from '../abort.js'
import { assertOrdinaryArray, BorrowedArrays, during } from '../borrowed.js'
import { readSemiring } from '../built-in-semirings.js'
import type { ClosureResult } from '../closure/closure.js'
import { typeName } from '../describe.js'
import { type Device, DeviceMatrix } from '../device/device.js'
import { ResidentView } from '../device/resident.js'
import { UINT8 } from '../elements.js'
import { DTypeError, OptionError, ShapeError } from '../errors.js'
import { type Edges, isEdgeList, isNodeArray, nodeNumbers, readingEdges } from '../graph-core/edges.js'
import { isKeyArray, type NodeNames, numbering } from '../graph-core/names.js'
import { atOnce, inSlices } from '../graph-core/slices.js'
import type { DenseMatrix, Shape } from '../matrix.js'
import { addon } from '../native.js'
import { Options, UNSET } from '../options.js'
import { assertIntegers } from '../overflow.js'
import { asProduct, type ReadOptions, THROW } from '../product/options.js'
import { assertConsistent } from '../product/prepare.js'
import { forwardOnly } from '../product/progress.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { type HostView, readBack, readView, showShape, type View } from '../view.js'
import type { Graph } from './keyed.js'
import { pathSet } from './options.js'
import { type PathSemiring, rulesOf } from './rules.js'
import type { Query } from './search.js'

/** Weights: a matrix, or an edge list. */
export type Weights =
  | { readonly view: View; readonly edges: null }
  | { readonly view: null; readonly edges: Edges }

export interface PathQuery {
  readonly query: Query
  readonly weights: Weights
  /** The names of the nodes; null if they have none. */
  readonly names: NodeNames | null
  /** The arrays of the weights. */
  readonly borrowed: BorrowedArrays
  /** The number of the element type of distances. */
  readonly type: number
  readonly batched: boolean
  readonly batch: number
  /** The options of a closure. */
  readonly closing: ReadOptions
}

/** [batch, rows, cols] of the distances. */
export function sizesOf({ query: { nodes, sources, targets }, batch }: PathQuery): [number, number, number] {
  return [batch, sources?.length ?? nodes, targets?.length ?? nodes]
}

/** The shape of the distances. */
export function shapeOf(question: PathQuery): Shape {
  const [batch, rows, cols] = sizesOf(question)
  return question.batched ? [batch, rows, cols] : [rows, cols]
}

/** Moves both matrices to the device of the weights, if the weights are on a device. */
export async function placed(
  { weights }: PathQuery,
  distances: DenseMatrix<ElementArray>,
  next: DenseMatrix<Int32Array> | null,
): Promise<Pick<ClosureResult, 'distances' | 'next'>> {
  const device = weights.view?.memory?.session.owner as Device | undefined
  if (!device) return { distances, next }
  const there = await device.upload(distances)
  try {
    return { distances: there, next: next && (await device.upload(next)) }
  } catch (error) {
    there.dispose()
    throw error
  }
}

/** Returns a matrix in an array: the matrix itself, or a copy of a matrix on a device. */
export async function materialize(view: View): Promise<HostView> {
  if (!view.memory) return view
  return readBack(await new DeviceMatrix<OperandArray>(view).download(), 'graph', 'operand')
}

/** Returns a query's graphs in the form that searches read, by their index in the batch. */
export async function graphsOf({ weights: { view, edges } }: PathQuery): Promise<(item: number) => Graph> {
  if (!view) return () => ({ edges })
  const matrix = await materialize(view)
  return (item) => ({ matrix, item })
}

/** Runs the work that answers a query, and then releases the query's matrix on a device. */
export async function answering<Result>(
  { weights: { view }, borrowed }: PathQuery,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await during(borrowed, work)
  } finally {
    if (view?.memory) view.dispose()
  }
}

/** Name of the work in messages. */
export const WORK = 'the search for paths'

const pathOptions = new Options(pathSet)

/**
 * Reads the arguments of a path function.
 *
 * @param isForProof - whether this function checks the whole edge list. Then sources and targets are numbers
 * even if nodes have names.
 */
export async function readQuery(
  semiring: PathSemiring,
  graph: unknown,
  options: unknown,
  isForProof = false,
): Promise<PathQuery> {
  const { paths, sources, targets, limit, method, ...rest } = pathOptions.read(options)
  const isLinks = semiring === 'or-and'
  if (limit !== undefined && isLinks) {
    throw new OptionError('option limit is for values of paths, and or-and has none: leave it out')
  }
  if (limit !== undefined && (method === 'dissection' || method === 'closure')) {
    throw new OptionError(
      `option limit is for searches, and method '${method}' finds all paths: leave out one of them`,
    )
  }
  const index = readSemiring(semiring)
  const closing = asProduct({ ...rest, onProgress: forwardOnly(rest.onProgress), semiring: index })
  const { signal, overflow } = closing
  throwIfAborted(signal, WORK)
  if (typeof graph !== 'object' || graph === null) {
    throw new DTypeError(
      `graph must be a square matrix { data, shape } or an edge list { nodes, from, to, weight }, but it is ${typeName(graph)}`,
    )
  }
  const reading = { weightless: isLinks, takes: !isForProof }
  const weights: Weights = isEdgeList(graph)
    ? { view: null, edges: await inSlices(readingEdges(graph, reading), signal, WORK) }
    : { view: readView(graph, 'graph', 'operand'), edges: null }
  const { view, edges } = weights
  const nodes = view ? view.rows : edges.nodes
  const names = edges?.names ?? null
  // In or-and every edge of a list counts, so weights of other types don't matter.
  const type = view ? view.type : isLinks ? UINT8 : edges.type
  const query = {
    nodes,
    sources: readNodes(sources, nodes, 'sources', isForProof ? null : names),
    targets: readNodes(targets, nodes, 'targets', isForProof ? null : names),
    rules: rulesOf(semiring, type),
    paths,
    overflow: addon.overflowPolicies[overflow === UNSET ? THROW : overflow]!,
    limit,
    method,
  }
  if (overflow !== UNSET) assertIntegers(type, 'the weights are')
  const question = { query, names, type, closing }
  if (!view) return { ...question, weights, borrowed: edges.borrowed, batched: false, batch: 1 }
  const borrowed = new BorrowedArrays()
  borrowed.view(view, 'graph')
  if (view.rows !== view.cols) {
    throw new ShapeError(
      `${showShape(view, 'graph')} must be square: row i has the weights of the edges from node i, column j of those to node j`,
    )
  }
  if (view.memory) assertConsistent(closing, view.memory.session)
  // The user may dispose a matrix of a device as soon as this function gives control back.
  const held = view.memory ? new ResidentView(view.memory, view) : view
  const { batched, batch } = view
  return { ...question, weights: { view: held, edges: null }, borrowed, batched, batch }
}

/** Reads nodes by their numbers or names. Returns null if the option is omitted. */
export function readNodes(
  value: unknown,
  nodes: number,
  name: string,
  names: NodeNames | null,
): Int32Array | null {
  if (value === undefined) return null
  assertOrdinaryArray(value, name)
  if (names) return atOnce(numbering(isKeyArray(value) ? value : [value], names, name))
  const values = typeof value === 'number' ? [value] : value
  if (isNodeArray(values)) return atOnce(nodeNumbers(values, nodes, name))
  throw new OptionError(
    `option ${name} must be the number of a node, or an array of them, but it is ${typeName(value)}`,
  )
}
