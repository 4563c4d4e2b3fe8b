/**
 * Solves path queries by the closure of all pairs. Repeats the closure in float64 if rounding prevents a
 * result.
 */

import { CPU, CUDA, WEBGPU } from '../backend.js'
import { storedZeroOf } from '../built-in-semirings.js'
import { type ClosureResult, computeClosure } from '../closure/closure.js'
import { DeviceMatrix, onHost } from '../device/device.js'
import { assertUsable, Resident } from '../device/resident.js'
import { elementType, FLOAT64, isInteger } from '../elements.js'
import { CycleError } from '../errors.js'
import { cycleError } from '../graph-core/cycles.js'
import { findReachable } from '../graph-core/reached.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { isFromListener } from '../listener.js'
import { type DenseMatrix, rowMajorMatrix, type Shape } from '../matrix.js'
import { UNSET } from '../options.js'
import { finiteOf, storedAs } from '../overflow.js'
import type { ElementArray } from '../storage.js'
import { type HostView, readBack } from '../view.js'
import { exactWeight, listedKeys, matrixKeys } from './cycles.js'
import { denseMatrix } from './dense.js'
import { type Graph, keyedRows } from './keyed.js'
import type { FoundBy } from './options.js'
import { findNextNodeCycle, type PathForest, type PathTrees } from './path-trees.js'
import { materialize, type PathQuery, placed, shapeOf, sizesOf, WORK } from './query.js'
import { overflowError } from './refusals.js'
import { edgeImproves, edgeKey, type PathRules, rulesOf } from './rules.js'
import { makeArray } from './search.js'

/** Distances, next nodes, and the trees of the paths if they are requested. */
export interface PathResult extends ClosureResult {
  readonly forest: PathForest | null
  readonly method: FoundBy
}

/**
 * Computes the closure of the weights and selects the requested rows and columns. Returns null if rounded
 * sums of floats have produced next nodes that don't lead to their targets.
 */
export async function solveByClosure(question: PathQuery): Promise<PathResult | null> {
  const { query, weights, batched, closing } = question
  const { nodes, sources, targets, paths } = query
  let view = weights.view
  let options = closing
  if (!view) {
    view = await dense(question)
    // The matrix is used nowhere else, so the closure may overwrite it with the distances.
    options = { ...closing, out: rowMajorMatrix(view.data as ElementArray, [nodes, nodes]) }
  }
  const closed = await computeClosure(view, options, { reflexive: true, next: paths, name: 'graph' })
  const { distances, next } = closed
  let answered = false
  try {
    if (next && !(await leads(question, distances, next))) return null
    if (!sources && !targets) {
      answered = true
      return { ...closed, method: 'closure', forest: next && forestOf(next, nodes, batched) }
    }
    const all = { distances: await onHost(distances), next: next && (await onHost(next)) }
    const chosen = await part(question, all.distances)
    const chosenNext = all.next && (await part(question, all.next))
    return {
      ...closed,
      ...(await placed(question, chosen, chosenNext)),
      method: 'closure',
      forest: all.next && forestOf(all.next, nodes, batched),
    }
  } finally {
    // Only matrices that the user receives stay on a device.
    if (!answered)
      for (const matrix of [distances, next]) if (matrix instanceof DeviceMatrix) matrix.dispose()
  }
}

/** Returns the edge list as a new matrix. */
async function dense({ query, weights, type, closing }: PathQuery): Promise<HostView> {
  const matrix = await inSlices(denseMatrix(weights.edges!, query.rules, type), closing.signal, WORK)
  return readBack(matrix, 'graph', 'operand')
}

/** Returns whether following the next nodes leads to their targets. */
async function leads(
  { query: { rules, nodes }, type, batch, closing }: PathQuery,
  distances: DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>,
  next: DenseMatrix<Int32Array> | DeviceMatrix<Int32Array>,
): Promise<boolean> {
  // Without rounding, next nodes always lead to their targets. If no edge improves paths, distances never
  // grow along a path, rounded or not.
  if (isInteger(type) || rules.extension === 'bottleneck') return true
  if (
    !(distances instanceof DeviceMatrix) &&
    !(await inSlices(gaining(distances.data, rules), closing.signal, WORK))
  ) {
    return true
  }
  const { data } = await onHost(next)
  for (let item = 0; item < batch; item++) {
    const trees = { data, offset: item * nodes * nodes, rootStride: 1, nodeStride: nodes }
    if (await inSlices(findNextNodeCycle(trees, nodes), closing.signal, WORK)) return false
  }
  return true
}

/** Returns whether some distance is better than the empty path, so that some edge improves paths. */
function* gaining(distances: ElementArray, rules: PathRules): Steps<boolean> {
  for (let at = 0; at < distances.length; at++) {
    if (at % PER_SLICE === PER_SLICE - 1) yield
    if (edgeImproves(rules, edgeKey(rules, distances[at]!))) return true
  }
  return false
}

/** Returns whether {@link solveInFloat64} can solve a query that {@link solveByClosure} can't. */
export function canRetryInFloat64({ query: { sources, targets }, type }: PathQuery): boolean {
  return type !== FLOAT64 || sources !== null || targets !== null
}

/**
 * Computes the closure in float64, where sums of int32 are exact and sums of float32 nearly so. Uses only
 * nodes on a path from some source to some target: improving cycles and overflows elsewhere don't matter.
 * Returns null if rounding still decides the next nodes.
 *
 * @throws CycleError, OverflowError if they concern a requested pair.
 */
export async function solveInFloat64(question: PathQuery): Promise<PathResult | null> {
  const began = performance.now()
  const { query, type, batched, closing } = question
  const { rules } = query
  const wide = await inFloat64(question)
  const { view } = wide.weights
  const wideRules = wide.query.rules
  const all = await solveByClosure({
    ...wide,
    query: { ...wide.query, sources: null, targets: null },
    // The weights are used nowhere else, so the closure may overwrite them with the distances.
    closing: {
      ...wide.closing,
      out: rowMajorMatrix((view as HostView).data as ElementArray, matrixShape(question)),
    },
  }).catch(async (error) => {
    const certain =
      error instanceof CycleError && !isFromListener(error) ? await certainCycle(question, error) : error
    if (certain) throw certain
    return null
  })
  if (!all) return null
  const data = makeArray('the distances', type, sizesOf(question))
  const finite = finiteOf(rules.maximizes)
  let lost = false
  const store: Store = (value, from, to, item) => {
    if (value === wideRules.zero) return rules.zero
    if (rules.exact) {
      const stored = storedAs(query.overflow, value, finite)
      if (!Number.isNaN(stored)) return stored
      throw overflowError(value, from, to, batched ? item : undefined, rules, question.names)
    }
    const rounded = rules.single ? Math.fround(value) : value
    // A path exists, but float32 rounds its distance to the semiring's zero, which means no path.
    if (rounded === rules.zero) lost = true
    return rounded
  }
  const full = all.distances as DenseMatrix<ElementArray>
  await inSlices(copyPart(full.data, data, question, store), closing.signal, WORK)
  if (lost) return null
  const next = all.next && (await part(question, all.next as DenseMatrix<Int32Array>))
  return {
    ...all,
    ...(await placed(question, rowMajorMatrix(data, shapeOf(question)), next)),
    timing: { totalMs: performance.now() - began, kernelMs: all.timing.kernelMs },
  }
}

/** Returns the shape of the weights as matrices. */
const matrixShape = ({ query: { nodes }, batched, batch }: PathQuery): Shape =>
  batched ? [batch, nodes, nodes] : [nodes, nodes]

/** Returns the query in float64, without edges that are on no path from a source to a target. */
export async function inFloat64(question: PathQuery): Promise<PathQuery> {
  const { query, weights, closing } = question
  const matrix = rowMajorMatrix(await widened(question), matrixShape(question))
  const session = weights.view?.memory?.session
  // WebGPU has no float64.
  const isByWebGpu = !session && closing.backend === WEBGPU
  const placement = isByWebGpu
    ? { backend: CPU }
    : session && {
        backend: session.backend === 'cuda' ? CUDA : CPU,
        device: session.devices === 0 && session.backend === 'cuda' ? session.index : UNSET,
        devices: session.devices,
      }
  return {
    ...question,
    query: { ...query, rules: rulesOf(query.rules.semiring, FLOAT64) },
    weights: { view: readBack(matrix, 'graph', 'operand'), edges: null },
    type: FLOAT64,
    closing: { ...closing, ...placement, overflow: UNSET },
  }
}

/** Returns the weights in float64, without edges that are on no path from a source to a target. */
async function widened(question: PathQuery): Promise<Float64Array> {
  const { query, weights, batch, closing } = question
  const { rules, nodes } = query
  const view = weights.view ? await materialize(weights.view) : await dense(question)
  const data = makeArray('the weights', FLOAT64, [batch, nodes, nodes]) as Float64Array
  const zero = storedZeroOf(rules.semiring, view)
  const wideZero = rulesOf(rules.semiring, FLOAT64).zero
  function* widening(item: number): Steps<void> {
    const between = yield* nodesBetween({ matrix: view, item }, question)
    let position = item * nodes * nodes
    for (let i = 0; i < nodes; i++) {
      let at = view.offset + item * view.batchStride + i * view.rowStride
      for (let j = 0; j < nodes; j++, at += view.colStride) {
        const value = view.data[at]!
        const isEdge = value !== zero && (!between || (between[i] === 1 && between[j] === 1))
        data[position++] = isEdge ? value : wideZero
        if (position % PER_SLICE === 0) yield
      }
    }
  }
  for (let item = 0; item < batch; item++) await inSlices(widening(item), closing.signal, WORK)
  return data
}

/**
 * Marks with 1 the nodes that some source reaches and that reach some target. Returns null if all nodes do.
 */
function* nodesBetween(graph: Graph, { query }: PathQuery): Steps<Uint8Array | null> {
  const { sources, targets, rules } = query
  const from = sources && (yield* findReachable(yield* keyedRows(graph, 'forward', rules), sources))
  const to = targets && (yield* findReachable(yield* keyedRows(graph, 'backward', rules), targets))
  if (!from || !to) return (from ?? to)?.within ?? null
  return from.within.map((is, node) => is & to.within[node]!)
}

/** Returns the error for a cycle that a closure found; null if the cycle improves paths only by rounding. */
export async function certainCycle(
  { query, weights }: PathQuery,
  found: CycleError,
): Promise<CycleError | null> {
  const { rules } = query
  const { cycle, batch } = found
  const keys = weights.edges
    ? listedKeys(weights.edges, rules, cycle)
    : matrixKeys(await materialize(weights.view), batch ?? 0, rules, cycle)
  const { gains, weight } = exactWeight(rules, keys)
  return gains ? cycleError({ nodes: cycle, weight, batch }, rules, weights.edges?.names) : null
}

/** Returns the path trees of a matrix of next nodes: column j is the tree of the paths to node j. */
function forestOf(next: NonNullable<ClosureResult['next']>, nodes: number, batched: boolean): PathForest {
  if (!(next instanceof DeviceMatrix)) {
    const trees = (item: number): PathTrees => ({
      data: next.data,
      offset: item * nodes * nodes,
      rootStride: 1,
      nodeStride: nodes,
    })
    return { forward: false, every: true, trees }
  }
  // The user owns the matrix, so paths can be read until the user disposes it.
  const trees = async (item: number, index: number): Promise<PathTrees> => {
    assertUsable(Resident.viewOf(next)!, 'next, which path() reads,')
    const column = next.view({ cols: [index, index + 1], ...(batched && { batch: item }) })
    try {
      return { data: (await column.download()).data, offset: 0, rootStride: 0, nodeStride: 1 }
    } finally {
      column.dispose()
    }
  }
  return { forward: false, every: true, trees }
}

/** Copies the rows of the sources and the columns of the targets. */
async function part<Data extends ElementArray>(
  question: PathQuery,
  all: DenseMatrix<Data>,
): Promise<DenseMatrix<Data>> {
  const data = makeArray('the distances', elementType(all.data), sizesOf(question)) as Data
  await inSlices(
    copyPart(all.data, data, question, (value) => value),
    question.closing.signal,
    WORK,
  )
  return rowMajorMatrix(data, shapeOf(question))
}

/** Returns the value to store for a distance between two nodes of a batch entry. */
type Store = (value: number, from: number, to: number, item: number) => number

function* copyPart(
  from: ElementArray,
  into: ElementArray,
  { query, batch }: PathQuery,
  store: Store,
): Steps<void> {
  const { nodes, sources, targets } = query
  const [rows, cols] = [sources?.length ?? nodes, targets?.length ?? nodes]
  let position = 0
  for (let item = 0; item < batch; item++) {
    for (let row = 0; row < rows; row++) {
      const source = sources ? sources[row]! : row
      const start = (item * nodes + source) * nodes
      for (let col = 0; col < cols; col++) {
        const target = targets ? targets[col]! : col
        into[position++] = store(from[start + target]!, source, target, item)
        if (position % PER_SLICE === 0) yield
      }
    }
  }
}
