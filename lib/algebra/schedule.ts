/** Start times of jobs with precedences: PERT and CPM. */
import { signal } from '../abort.js'
import { show } from '../describe.js'
import { elementType, FLOAT64, INT32, newArray } from '../elements.js'
import { CycleError, OverflowError, ValueError } from '../errors.js'
import { longestPaths, shortestPaths } from '../graph/paths.js'
import { cycleText } from '../graph-core/cycles.js'
import { type EdgeList, makeEdges } from '../graph-core/edges.js'
import { assertMemoryFits, type MemoryRequirement } from '../graph-core/memory-check.js'
import { type NodeNames, naming, nodeText } from '../graph-core/names.js'
import { markedNodes } from '../graph-core/reached.js'
import { ownersOf, type WeightedRows } from '../graph-core/rows.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { MAX_INT32, MIN_INT32 } from '../integers.js'
import { checkedLater, Options, type OptionsOf, type ReadOf } from '../options.js'
import type { ElementsOf, MpmmOptions } from '../product/options.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { edgesWithGaps, findingCriticalPath, Gaps } from './slack.js'
import { refuseTokens } from './tokens.js'
import { elementText, readVector, type Vector, type VectorForm } from './vector.js'
import { type IntegerEdges, keysOf, readGraph, type WeightedGraph, type Weights } from './weights.js'

/** The options of {@link earliestStarts}. `undefined` means the default. */
export interface EarliestOptions extends Pick<MpmmOptions, 'signal'> {
  /** Earliest allowed start of the jobs: one number for all jobs, or one for each; 0 by default. */
  release?: number | Vector | undefined
  /**
   * Durations of the jobs: one number of at least 0 for all, or one for each. Default 0. They only affect the
   * end of the project.
   */
  durations?: number | Vector | undefined
}

// These options are numbers, or vectors of the project's element type.
const earliestSet = {
  release: checkedLater<number | Vector>(),
  durations: checkedLater<number | Vector>(),
  signal,
} satisfies OptionsOf<EarliestOptions>
const earliestOptions = new Options(earliestSet)

/** Result of {@link earliestStarts}: arrays have an element for each job, lists have the names of jobs if they have names. */
export interface EarliestStarts<Data extends ElementArray = ElementArray, Key = number> {
  /** The earliest start of each job. */
  starts: Data
  /** End of the last job: the greatest of starts[i] + durations[i]. It is 0 without jobs. */
  end: number
  /**
   * A critical path. Each of its jobs starts as soon as the previous job allows; the first job starts at its
   * release, and the last job ends when the project does. Among equally long paths it is one with the most
   * jobs, so that it includes milestones, whose duration is 0.
   */
  criticalPath: Key[]
  /** All critical jobs, ascending: a delay of any of them delays the project. */
  critical: Key[]
  /** The names of the jobs, by their numbers, if they have names. */
  keys?: ArrayLike<Key>
}

/**
 * Computes the earliest start times of jobs with precedences, for PERT and the critical path method: the
 * least x with x[j] ≥ x[i] + w for each edge from i to j of weight w, and x[i] ≥ release[i].
 *
 * An edge from i to j of weight w means that j starts at least w after the start of i: w is the duration of i
 * plus a lag. A negative w is a deadline: i starts at most −w after the start of j.
 *
 * The function searches for longest paths, see {@link longestPaths}. Without cycles each edge is read once.
 * Results over int32 are exact; over floats each sum is rounded. A job is critical if its slack doesn't
 * exceed the rounding errors.
 *
 * @param graph - an edge list, or an n × n matrix, in which −Infinity (EPSILON in int32) is no edge. If the
 * nodes of an edge list have names, the result and errors identify jobs by these names.
 * @throws Rejects with CycleError (ERR_MPMML_CYCLE) if the sum of the weights of a cycle is above 0: its jobs
 * would have to start after themselves. The error's `cycle` has the numbers of the jobs, `keys` their names,
 * and `weight` the sum, which is the time that they take too long. With OverflowError (ERR_MPMML_OVERFLOW) if
 * a time isn't an int32; and with the errors of {@link maximumCycleMean}.
 * @see F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity, on x = A ⊗ x ⊕ b; R. Sedgewick, K. Wayne,
 *   Algorithms, 4th edition, section 4.4
 * @example
 * // Walls, then the roof and the wires, then paint.
 * const jobs = {
 *   nodes: ['walls', 'roof', 'wires', 'paint'],
 *   from: ['walls', 'walls', 'roof', 'wires'],
 *   to: ['roof', 'wires', 'paint', 'paint'],
 *   weight: [5, 5, 3, 4],
 * }
 * const { starts, end, criticalPath } = await earliestStarts(jobs, { durations: [5, 3, 4, 2] })
 * console.log(starts.join(), end, criticalPath.join()) // 0,5,5,9 11 walls,wires,paint
 */
export function earliestStarts<Key = number>(
  graph: IntegerEdges<Key>,
  options?: EarliestOptions,
): Promise<EarliestStarts<Int32Array, Key>>
export function earliestStarts<Data extends OperandArray, Key = number>(
  graph: Weights<Key, Data>,
  options?: EarliestOptions,
): Promise<EarliestStarts<ElementsOf<Data>, Key>>
export async function earliestStarts(
  graph: Weights,
  options?: EarliestOptions,
): Promise<EarliestStarts<ElementArray, unknown>> {
  return (await start(await readProject(graph, earliestOptions.read(options)))).result
}

/** The options of {@link latestStarts}. `undefined` means the default. */
export interface LatestOptions extends EarliestOptions {
  /**
   * Latest allowed end of the jobs: one number for all jobs, or one for each; by default the earliest end of
   * the project.
   */
  deadline?: number | Vector | undefined
}

const latestOptions = new Options({
  ...earliestSet,
  deadline: checkedLater<number | Vector>(),
} satisfies OptionsOf<LatestOptions>)

/** Result of {@link latestStarts}. */
export interface LatestStarts<Data extends ElementArray = ElementArray, Key = number> {
  /** The latest start of each job. */
  starts: Data
  /**
   * Time by which each job may be later than its earliest start without missing a deadline. Jobs whose slack
   * is 0 are critical. A negative slack is the time by which deadlines are missed. Over floats, a slack is 0
   * if it doesn't exceed the rounding errors of its sums.
   */
  slack: Data
  /** All jobs whose slack is 0 or negative, in the order of their numbers. */
  critical: Key[]
  /** The names of the jobs, by their numbers, if they have names. */
  keys?: ArrayLike<Key>
  /** Result of {@link earliestStarts} for the same project. */
  earliest: EarliestStarts<Data, Key>
}

/**
 * Computes the latest start times that meet deadlines, and the slack of each job: the greatest x with x[j] ≥
 * x[i] + w for each edge from i to j of weight w, and x[i] + durations[i] ≤ deadline[i].
 *
 * The errors are those of {@link earliestStarts}.
 *
 * @throws Rejects with the errors of {@link earliestStarts}.
 * @example
 * const jobs = { nodes: 4, from: [0, 0, 1, 2], to: [1, 2, 3, 3], weight: [5, 5, 3, 4] }
 * const { starts, slack, critical } = await latestStarts(jobs, { durations: [5, 3, 4, 2] })
 * console.log(starts.join(), slack.join(), critical.join()) // 0,6,5,9 0,1,0,0 0,2,3
 */
export function latestStarts<Key = number>(
  graph: IntegerEdges<Key>,
  options?: LatestOptions,
): Promise<LatestStarts<Int32Array, Key>>
export function latestStarts<Data extends OperandArray, Key = number>(
  graph: Weights<Key, Data>,
  options?: LatestOptions,
): Promise<LatestStarts<ElementsOf<Data>, Key>>
export async function latestStarts(
  graph: Weights,
  options?: LatestOptions,
): Promise<LatestStarts<ElementArray, unknown>> {
  const { deadline: given, ...rest } = latestOptions.read(options)
  const project = await readProject(graph, rest)
  const { type, signal } = project
  const { rows, names } = project.graph
  const { nodes } = rows
  const deadline = given === undefined ? null : await times(given, project.graph, type, 'deadline')
  const started = await start(project)
  const { starts: first } = started.result
  const late = deadline
    ? await findSlack(started, (i) => started.gaps.deadline(i, deadline[i]!))
    : started.slack
  const starts = newArray(type, nodes)
  const slack = newArray(type, nodes)
  for (let i = 0; i < nodes; i++) {
    const job = () => nodeText(i, names)
    starts[i] = exactly(first[i]! + late[i]!, type, () => `the latest start of job ${job()}`)
    slack[i] = exactly(late[i]!, type, () => `the slack of job ${job()}`)
  }
  const finding = function* () {
    return yield* namingMarked(yield* marking(nodes, (i) => late[i]! <= 0), names)
  }
  const critical = await inSlices(finding(), signal, WORK)
  return { starts, slack, critical, ...keysOf(project.graph), earliest: started.result }
}

interface Project {
  readonly graph: WeightedGraph
  /** The number of the element type. */
  readonly type: number
  readonly release: ElementArray
  readonly durations: ElementArray
  readonly signal: AbortSignal | undefined
}

const WORK = 'the search for start times'
const PROJECT: MemoryRequirement = { what: 'a project', perNode: 240, perEdge: 80 }

async function readProject(
  precedences: Weights,
  { signal, ...options }: ReadOf<typeof earliestOptions>,
): Promise<Project> {
  refuseTokens(precedences, 'a project is done once: leave out `tokens`, and the edges that have some')
  const graph = await readGraph(precedences, 'max-plus', signal, WORK)
  const { nodes, weight } = graph.rows
  assertMemoryFits(PROJECT, nodes, weight.length)
  const type = elementType(weight)
  const release = await times(options.release ?? 0, graph, type, 'release')
  const durations = await times(options.durations ?? 0, graph, type, 'durations', 0)
  return { graph, type, release, durations, signal }
}

async function times(
  value: number | Vector,
  { rows, names }: WeightedGraph,
  type: number,
  name: string,
  least = -Infinity,
): Promise<ElementArray> {
  const isOne = typeof value === 'number'
  const form: VectorForm = {
    name,
    length: isOne ? 1 : rows.nodes,
    type,
    semiring: 'max-plus',
    names: isOne ? null : names,
  }
  const read = await readVector(isOne ? [value] : value, form)
  for (let i = 0; i < read.length; i++) {
    const isTime = Number.isFinite(read[i]) && !(type === INT32 && read[i] === MIN_INT32)
    if (isTime && read[i]! >= least) continue
    const expected = isTime ? `${show(least)} or more` : 'a time, which is finite'
    const position = isOne ? name : elementText(form, i, read.length)
    throw new ValueError(`${position} is ${show(read[i])}, but it must be ${expected}`)
  }
  return isOne ? newArray(type, rows.nodes).fill(read[0]!) : read
}

const jobsOf = (nodes: number) => new Int32Array(nodes).map((_, i) => i)

/** Marks with 1 the jobs for which `isOne` returns true. */
function* marking(nodes: number, isOne: (job: number) => boolean): Steps<Uint8Array> {
  const marks = new Uint8Array(nodes)
  for (let i = 0; i < nodes; i++) {
    if (i % PER_SLICE === PER_SLICE - 1) yield
    marks[i] = isOne(i) ? 1 : 0
  }
  return marks
}

function* namingMarked(marks: Uint8Array, names: NodeNames | null): Steps<unknown[]> {
  return yield* naming(yield* markedNodes(marks), names)
}

/** A project with its earliest start times. */
interface Started extends Project {
  readonly result: EarliestStarts<ElementArray, unknown>
  readonly gaps: Gaps
  /** The edges, with their gaps as weights. */
  readonly gapRows: WeightedRows<Float64Array>
  /** Time by which each job may be later without delaying the project. */
  readonly slack: Float64Array
}

async function start(project: Project): Promise<Started> {
  const { graph, type, release, durations, signal } = project
  const { rows } = graph
  const { nodes } = rows
  const found = await longestPaths(extended(rows, release, 'from'), {
    sources: [nodes],
    targets: jobsOf(nodes),
    signal,
  }).catch((error) => {
    throw error instanceof CycleError ? waitingForItself(error, graph, type) : error
  })
  const starts: ElementArray = found.distances.data
  let last = -1
  let end = 0
  for (let i = 0; i < nodes; i++) {
    const own = starts[i]! + durations[i]!
    if (last >= 0 && own <= end) continue
    last = i
    end = own
  }
  if (last >= 0) exactly(end, type, () => `the end of job ${nodeText(last, graph.names)}`)
  const measuring = function* () {
    const gaps = yield* Gaps.of({ rows, type, release, durations, starts })
    return { gaps, gapRows: yield* edgesWithGaps(rows, gaps) }
  }
  const { gaps, gapRows } = await inSlices(measuring(), signal, WORK)
  const error = last < 0 ? 0 : gaps.endError(last)
  const left = (i: number) => gaps.deadline(i, end, error)
  const slack = await findSlack({ gapRows, signal }, left)
  const describing = function* () {
    const isCritical = yield* marking(nodes, (i) => slack[i] === 0)
    const isLast = yield* marking(nodes, (i) => left(i) === 0)
    const path = yield* findingCriticalPath(rows, gaps, isCritical, isLast)
    const criticalPath = yield* naming(path, graph.names)
    return { starts, end, criticalPath, critical: yield* namingMarked(isCritical, graph.names) }
  }
  const result = { ...(await inSlices(describing(), signal, WORK)), ...keysOf(graph) }
  return { ...project, result, gaps, gapRows, slack }
}

/**
 * Computes the slack of each job from the time between its end and its own deadline: the shortest path of
 * gaps to a node after all jobs.
 */
async function findSlack(
  { gapRows, signal }: Pick<Started, 'gapRows' | 'signal'>,
  toDeadline: (job: number) => number,
): Promise<Float64Array> {
  const { nodes } = gapRows
  const left = new Float64Array(nodes).map((_, i) => toDeadline(i))
  const { distances } = await shortestPaths(extended(gapRows, left, 'to'), {
    sources: jobsOf(nodes),
    targets: [nodes],
    signal,
  })
  return distances.data
}

/**
 * Returns the graph with an additional node, and edges with these weights from this node to all other nodes,
 * or in the opposite direction.
 */
function extended<Data extends ElementArray>(
  rows: WeightedRows,
  weights: Data,
  direction: 'from' | 'to',
): EdgeList<Data> {
  const { nodes } = rows
  const count = rows.to.length
  const from = new Int32Array(count + nodes)
  const to = new Int32Array(count + nodes)
  const weight = newArray(elementType(weights), count + nodes) as Data
  from.set(ownersOf(rows))
  to.set(rows.to)
  weight.set(rows.weight)
  for (let i = 0; i < nodes; i++) {
    from[count + i] = direction === 'from' ? nodes : i
    to[count + i] = direction === 'from' ? i : nodes
    weight[count + i] = weights[i]!
  }
  return makeEdges(nodes + 1, from, to, weight)
}

/** Returns the error for jobs that wait for each other in a cycle of positive weight. */
function waitingForItself(
  { cycle, weight }: CycleError,
  { rows, names }: WeightedGraph,
  type: number,
): CycleError {
  let size = 0
  for (const [at, i] of cycle.entries()) {
    let lag = -Infinity
    for (let k = rows.start[i]!; k < rows.start[i + 1]!; k++)
      if (rows.to[k] === cycle[(at + 1) % cycle.length]) lag = Math.max(lag, rows.weight[k]!)
    size += Math.abs(lag)
  }
  // Each decimal differs from its float by at most half a unit in the last place, and so does each sum.
  const unit = type === INT32 ? 0 : type === FLOAT64 ? 2 ** -53 : 2 ** -24
  const advice =
    weight <= unit * size * (cycle.length + 1)
      ? 'rounding of fractions makes as much, so the plan may be feasible: count in a smaller unit of whole numbers, such as minutes, or ' +
        'let one of its deadlines be a little later'
      : `shorten its jobs, or let one of its deadlines be ${show(weight)} later`
  return new CycleError(
    `the weights of jobs that wait for each other must have a sum of 0 or less, but the circle ${cycleText(cycle, names)} has the weight ` +
      `${show(weight)}, above 0, so that each of its jobs would start that much after itself: ${advice}`,
    { cycle, weight, keys: names ? cycle.map((job) => names.keys[job]) : undefined },
  )
}

/** Returns a time of the element type. Throws OverflowError if int32 can't represent the time. */
function exactly(value: number, type: number, what: () => string): number {
  if (type !== INT32 || (value > MIN_INT32 && value <= MAX_INT32)) return value
  throw new OverflowError(
    `${what()} is ${value}, outside the finite range -2^31 + 1 to 2^31 - 1: use weights of float64, or a coarser unit of time`,
  )
}
