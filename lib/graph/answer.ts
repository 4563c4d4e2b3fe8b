/** Answers to questions for paths: from all pairs, or by searches. */
import { type Closed, closeWeights } from '../algebra/close.js'
import { AUTO, CPU, deviceName } from '../backend.js'
import { type Device, DeviceMatrix } from '../device/device.js'
import { elementType } from '../elements.js'
import { CycleError, OutOfMemoryError, OverflowError } from '../errors.js'
import { type DenseMatrix, rowMajor, type Shape } from '../matrix.js'
import { ProgressReports } from '../product/progress.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { type HostView, readHostView, type View } from '../view.js'
import { searchIsCheaper } from './choose.js'
import { cycleError, exactWeight, listedKeys, matrixKeys } from './cycles.js'
import { denseMatrix } from './dense.js'
import type { Graph } from './keyed.js'
import { type Question, WORK } from './question.js'
import { directionOf, makeArray, makeRoom, rootsOf, search, treesOf } from './search.js'
import { Searched } from './searched.js'
import { inSlices, PER_STEP, type Steps } from './slices.js'
import type { Trees } from './walk.js'

/** Either both matrices are in arrays, or both on the device of the weights. */
export interface Answer {
  readonly distances: DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>
  readonly next: DenseMatrix<Int32Array> | DeviceMatrix<Int32Array> | null
  readonly ways: Ways | null
  readonly backend: 'cuda' | 'cpu'
  readonly device: string
  readonly timing: { readonly totalMs: number; readonly kernelMs: number }
}

/** Where paths are read from: a tree for each node that they begin at, or for each node that they end at. */
export interface Ways {
  /** Whether the roots of the trees are where paths begin. */
  readonly forward: boolean
  /** Whether there is a tree for every node; else only for those that were asked for, in their order. */
  readonly every: boolean
  /** The trees of a graph of the batch; only that with this index is read. */
  trees(item: number, index: number): Trees | Promise<Trees>
}

/** Finds what a question asks for. */
export async function answer(question: Question): Promise<Answer> {
  const { query, weights, batch, closing } = question
  const { nodes, sources, targets } = query
  const some = sources !== null || targets !== null
  const work = {
    nodes,
    edges: weights.edges?.to.length ?? nodes * nodes,
    listed: weights.edges !== null,
    batch,
    roots: rootsOf(query),
    resident: weights.view?.memory?.session.backend ?? null,
  }
  // All pairs of a matrix are always closed: then `next` is the same on every backend, also where paths are equally good.
  const maySearch = some || work.listed
  if (maySearch && (await searchIsCheaper(closing, work))) return bySearch(question)
  try {
    return await byClosure(question)
  } catch (error) {
    // Cycles, and sums that leave the type, may be of pairs that nobody asked for, which a search doesn't look at.
    const mayNotMatter = error instanceof CycleError || error instanceof OverflowError
    // Who asks for a GPU must hear that its memory isn't enough.
    const isTooMuch =
      error instanceof OutOfMemoryError && (closing.backend === AUTO || closing.backend === CPU)
    if (some && (mayNotMatter || isTooMuch)) return bySearch(question)
    if (!(error instanceof CycleError)) throw error
    const certain = await certainCycle(question, error)
    if (certain) throw certain
    return bySearch(question)
  }
}

/** The error for a cycle that a closure found; null if it gains only because sums of floats are rounded. */
async function certainCycle({ query, weights }: Question, found: CycleError): Promise<CycleError | null> {
  const { rules } = query
  const { cycle, batch } = found
  const keys = weights.edges
    ? listedKeys(weights.edges, rules, cycle)
    : matrixKeys(await onHost(weights.view), batch ?? 0, rules, cycle)
  const { gains, weight } = exactWeight(rules, keys)
  return gains ? cycleError(rules, cycle, weight, batch) : null
}

const asMatrix = <Data extends ElementArray>(data: Data, shape: Shape): DenseMatrix<Data> => ({
  data,
  shape,
  strides: rowMajor(shape),
  offset: 0,
})

/** [batch, rows, cols] of the distances. */
function sizesOf({ query: { nodes, sources, targets }, batch }: Question): [number, number, number] {
  return [batch, sources?.length ?? nodes, targets?.length ?? nodes]
}

function shapeOf(question: Question): Shape {
  const [batch, rows, cols] = sizesOf(question)
  return question.batched ? [batch, rows, cols] : [rows, cols]
}

const deviceOf = (view: View | null) => view?.memory?.session.owner as Device | undefined

async function bySearch(question: Question): Promise<Answer> {
  const { query, weights, type, batched, batch, closing } = question
  const { view, edges } = weights
  const started = performance.now()
  const room = makeRoom(query, batch, type)
  const matrix = view && (await onHost(view))
  const searching = performance.now()
  const searched = new Searched(batch * rootsOf(query))
  const { onProgress } = closing
  const progress = onProgress
    ? new ProgressReports(
        onProgress,
        () => searched.share,
        () => searched.stop(),
      )
    : null
  try {
    for (let item = 0; item < batch; item++) {
      const graph: Graph = matrix ? { matrix, item } : { edges: edges! }
      const results = { ...room, item: batched ? item : undefined }
      await inSlices(search(graph, query, results, searched), closing.signal, WORK)
    }
  } catch (error) {
    progress?.end(false)
    throw error
  }
  progress?.end(true)
  const kernelMs = performance.now() - searching
  const distances = asMatrix(room.distances, shapeOf(question))
  const next = room.next && asMatrix(room.next, shapeOf(question))
  const device = deviceOf(view)
  return {
    distances: device ? await device.upload(distances) : distances,
    next: next && device ? await device.upload(next) : next,
    ways: next && {
      forward: directionOf(query) === 'forward',
      every: !query.sources && !query.targets,
      trees: (item) => treesOf(query, room, item)!,
    },
    backend: 'cpu',
    device: deviceName(-1),
    timing: { totalMs: performance.now() - started, kernelMs },
  }
}

/** A matrix in an array: itself, or its copy. */
export async function onHost(view: View): Promise<HostView> {
  if (!view.memory) return view
  return readHostView(await new DeviceMatrix<OperandArray>(view).download(), 'weights', 'operand')
}

async function byClosure(question: Question): Promise<Answer> {
  const { query, weights, type, batched, closing } = question
  const { nodes, sources, targets, paths } = query
  let view = weights.view
  let options = closing
  if (!view) {
    const matrix = await inSlices(denseMatrix(weights.edges!, query.rules, type), closing.signal, WORK)
    // Nobody else has it, so it may become the distances.
    view = readHostView(matrix, 'weights', 'operand')
    options = { ...closing, out: matrix }
  }
  const closed = await closeWeights(view, options, { reflexive: true, next: paths, name: 'weights' })
  const some = sources !== null || targets !== null
  const { distances, next, backend, device, timing } = closed
  const ways = next && waysOf(next, nodes, batched)
  return {
    distances: some ? await part(question, distances) : distances,
    next: some && next ? await part(question, next) : next,
    ways,
    backend,
    device,
    timing,
  }
}

/** Columns of next nodes are trees: column j has the ways to j. */
function waysOf(next: NonNullable<Closed['next']>, nodes: number, batched: boolean): Ways {
  if (!(next instanceof DeviceMatrix)) {
    const trees = (item: number): Trees => ({
      data: next.data,
      offset: item * nodes * nodes,
      rootStride: 1,
      nodeStride: nodes,
    })
    return { forward: false, every: true, trees }
  }
  // What the user got may be disposed while paths are still asked for.
  const kept = next.view()
  const trees = async (item: number, index: number): Promise<Trees> => {
    const column = kept.view({ cols: [index, index + 1], ...(batched && { batch: item }) })
    try {
      return { data: (await column.download()).data, offset: 0, rootStride: 0, nodeStride: 1 }
    } finally {
      column.dispose()
    }
  }
  return { forward: false, every: true, trees }
}

/** The rows of the sources and the columns of the targets, where the whole matrix is, which is let go. */
async function part<Data extends ElementArray>(
  question: Question,
  all: DenseMatrix<Data> | DeviceMatrix<Data>,
): Promise<DenseMatrix<Data> | DeviceMatrix<Data>> {
  const device = all instanceof DeviceMatrix ? all.device : null
  const host = all instanceof DeviceMatrix ? await all.download() : all
  if (all instanceof DeviceMatrix) all.dispose()
  const data = makeArray('the distances', elementType(host.data), sizesOf(question)) as Data
  await inSlices(copyPart(host.data, data, question), question.closing.signal, WORK)
  const chosen = asMatrix(data, shapeOf(question))
  return device ? device.upload(chosen) : chosen
}

function* copyPart(from: ElementArray, to: ElementArray, { query, batch }: Question): Steps<void> {
  const { nodes, sources, targets } = query
  const [rows, cols] = [sources?.length ?? nodes, targets?.length ?? nodes]
  let place = 0
  for (let item = 0; item < batch; item++) {
    for (let row = 0; row < rows; row++) {
      const start = (item * nodes + (sources ? sources[row]! : row)) * nodes
      for (let col = 0; col < cols; col++) {
        to[place++] = from[start + (targets ? targets[col]! : col)]!
        if (place % PER_STEP === 0) yield
      }
    }
  }
}
