/** What the path functions are asked: read, then checked. */

import { throwIfAborted } from '../abort.js'
import { Loan, requireOrdinary } from '../borrowed.js'
import { requireSemiringType } from '../built-in.js'
import { typeName } from '../describe.js'
import { type Device, DeviceMatrix } from '../device/device.js'
import { ResidentView } from '../device/resident.js'
import { UINT8 } from '../elements.js'
import { DTypeError, ShapeError } from '../errors.js'
import { type Edges, isEdgeList, nodeNumbers, readingEdges, takingEdges } from '../graph-core/edges.js'
import { isKeyArray, type NodeNames, numbering } from '../graph-core/names.js'
import { atOnce, inSlices } from '../graph-core/slices.js'
import type { Shape } from '../matrix.js'
import { addon } from '../native.js'
import { LEFT_OUT } from '../options.js'
import { requireIntegers } from '../overflow.js'
import type { ReadOptions } from '../product/options.js'
import { requireNoContradiction } from '../product/prepare.js'
import type { OperandArray } from '../storage.js'
import { type HostView, readHostView, readView, showShape, type View } from '../view.js'
import { nodeList, readPathOptions } from './options.js'
import { type PathSemiring, rulesOf } from './rules.js'
import type { Query } from './search.js'

/** Weights: a matrix, or an edge list. */
export type Weights =
  | { readonly view: View; readonly edges: null }
  | { readonly view: null; readonly edges: Edges }

export interface Question {
  readonly query: Query
  readonly weights: Weights
  /** The arrays of the weights. */
  readonly borrowed: Loan
  /** The number of the element type of distances. */
  readonly type: number
  readonly batched: boolean
  readonly batch: number
  /** What closures get to know. */
  readonly closing: ReadOptions
}

/** [batch, rows, cols] of the distances. */
export function sizesOf({ query: { nodes, sources, targets }, batch }: Question): [number, number, number] {
  return [batch, sources?.length ?? nodes, targets?.length ?? nodes]
}

/** The shape of the distances. */
export function shapeOf(question: Question): Shape {
  const [batch, rows, cols] = sizesOf(question)
  return question.batched ? [batch, rows, cols] : [rows, cols]
}

/** The device that the weights are on. */
export const deviceOf = ({ weights }: Question) => weights.view?.memory?.session.owner as Device | undefined

/** A matrix in an array: itself, or its copy. */
export async function hostViewOf(view: View): Promise<HostView> {
  if (!view.memory) return view
  return readHostView(await new DeviceMatrix<OperandArray>(view).download(), 'weights', 'operand')
}

const throws = addon.overflowPolicies.indexOf('throw')

/** Lets go of what the question holds. */
export function release({ weights: { view } }: Question): void {
  if (view?.memory) view.dispose()
}

/** What messages of aborted work call it. */
export const WORK = 'the search for paths'

/** Whether `value` is meant as an edge list. */
function isList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) {
    throw new DTypeError(
      `weights must be a square matrix { data, shape } or an edge list { nodes, from, to, weight }, but it is ${typeName(value)}`,
    )
  }
  return isEdgeList(value)
}

/** How {@link ask} reads. */
export interface Asking {
  /** Whether the nodes and weights of an edge list are checked here. */
  readonly isChecked?: boolean
  /** Whether sources and targets are numbers even if nodes have names. */
  readonly inNumbers?: boolean
}

/** Reads the arguments of a path function. */
export async function ask(
  semiring: PathSemiring,
  value: unknown,
  optionsValue: unknown,
  { isChecked = false, inNumbers = false }: Asking = {},
): Promise<Question> {
  const { paths, sources, targets, limit, method, closing } = readPathOptions(optionsValue, semiring)
  const { signal } = closing
  throwIfAborted(signal, WORK)
  const reading = isChecked ? readingEdges : takingEdges
  const weights: Weights = isList(value)
    ? {
        view: null,
        edges: await inSlices(reading(value, 'weights', semiring === 'or-and'), signal, WORK),
      }
    : { view: readMatrix(value), edges: null }
  const { view, edges } = weights
  const nodes = view ? view.rows : edges.nodes
  const names = inNumbers ? null : (edges?.names ?? null)
  const asked = {
    sources: readNodes(sources, nodes, 'sources', names),
    targets: readNodes(targets, nodes, 'targets', names),
  }
  // An edge list of or-and has edges, whatever they weigh.
  const type = view ? view.type : semiring === 'or-and' ? UINT8 : edges.type
  requireSemiringType(closing.semiring, type)
  if (closing.overflow !== LEFT_OUT) requireIntegers(type, 'the weights are')
  const loan = new Loan()
  if (view) {
    loan.view(view, 'weights')
    if (view.rows !== view.cols) {
      throw new ShapeError(
        `${showShape(view, 'weights')} must be square: row i has the weights of the edges from node i, column j of those to node j`,
      )
    }
    if (view.memory) requireNoContradiction(closing, view.memory.session)
  }
  const policy = addon.overflowPolicies[closing.overflow === LEFT_OUT ? throws : closing.overflow]!
  return {
    query: { nodes, rules: rulesOf(semiring, type), ...asked, paths, overflow: policy, limit, method },
    // The user may dispose a matrix of a device as soon as this function gives control back.
    weights: view?.memory ? { view: new ResidentView(view.memory, view), edges: null } : weights,
    borrowed: edges?.borrowed ?? loan,
    type,
    batched: view?.batched ?? false,
    batch: view?.batch ?? 1,
    closing,
  }
}

const readMatrix = (value: unknown) => readView(value, 'weights', 'operand')

/** Reads nodes by their numbers or names; null if the option wasn't given. */
export function readNodes(
  value: unknown,
  nodes: number,
  name: string,
  names: NodeNames | null,
): Int32Array | null {
  if (value === undefined) return null
  requireOrdinary(value, name)
  if (names) return atOnce(numbering(isKeyArray(value) ? value : [value], names, name))
  const values = nodeList(value, name)
  return atOnce(nodeNumbers(values, nodes, name))
}

/** The names of the nodes; null if they have none. */
export const namesOf = ({ weights }: Question): NodeNames | null => weights.edges?.names ?? null
