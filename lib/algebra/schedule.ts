/** Start times of jobs with precedences: PERT and CPM. */
import { signal } from '../abort.js'
import { show } from '../describe.js'
import { elementType, INT32, newArray } from '../elements.js'
import { OverflowError, ValueError } from '../errors.js'
import { longestPaths } from '../graph/paths.js'
import { type EdgeList, makeEdges } from '../graph-core/edges.js'
import { ownersOf } from '../graph-core/rows.js'
import { type Need, requireSpace } from '../graph-core/space.js'
import { checkedLater, Options, type OptionsOf, type ReadOf } from '../options.js'
import type { MpmmOptions } from '../product/options.js'
import type { ElementArray } from '../storage.js'
import { refuseTokens } from './tokens.js'
import { readVector, type Vector } from './vector.js'
import { type Graph, readGraph, type Weights } from './weights.js'

/** The options of {@link earliestStarts}. `undefined` means the default. */
export interface EarliestOptions extends Pick<MpmmOptions, 'signal'> {
  /** From when on each job may start: one number for all, 0 by default, or one for each. */
  release?: number | Vector | undefined
  /** How long each job takes: one number of 0 or more for all, 0 by default, or one for each. They only say when the project ends. */
  durations?: number | Vector | undefined
}

// Numbers, or vectors of the project's element type.
const earliestSet = {
  release: checkedLater<number | Vector>(),
  durations: checkedLater<number | Vector>(),
  signal,
} satisfies OptionsOf<EarliestOptions>
const earliestOptions = new Options(earliestSet)

/** What {@link earliestStarts} gives. */
export interface EarliestStarts<Data extends ElementArray = ElementArray> {
  /** The earliest start of each job. */
  starts: Data
  /** When the last job ends: the greatest of starts[i] + durations[i]. It is 0 without jobs. */
  end: number
  /**
   * A critical path: the jobs of which each starts as soon as the one before it lets it; the first starts at its release, and the last
   * ends last.
   */
  criticalPath: number[]
}

/**
 * The earliest start times of jobs with precedences, as in PERT and the critical path method: the least x with
 * x[j] ≥ x[i] + w for each edge from i to j of weight w, and x[i] ≥ release[i].
 *
 * An edge from i to j of weight w says that j starts at least w after the start of i: w is how long i takes, and what is waited
 * besides. If w is negative, it is a deadline: i starts at most −w after the start of j.
 *
 * The work is a search of longest paths: see {@link longestPaths}. Without circles each edge is looked at once. Over int32 it is exact,
 * over floats each sum is rounded.
 *
 * @param precedences - an edge list, or an n × n matrix, in which −Infinity (EPSILON in int32) is no edge.
 * @throws Rejects with CycleError (ERR_MPMML_CYCLE) if the weights around a circle have a sum above 0: then its jobs would start
 *   after themselves. Its `cycle` has the jobs and its `weight` by how much too long they take. With OverflowError
 *   (ERR_MPMML_OVERFLOW) if a time isn't an int32; and with what {@link maximumCycleMean} rejects with.
 * @see F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity, on x = A ⊗ x ⊕ b; R. Sedgewick, K. Wayne,
 *   Algorithms, 4th edition, section 4.4
 * @example
 * // Walls, then the roof and the wires, then paint.
 * const jobs = { nodes: 4, from: [0, 0, 1, 2], to: [1, 2, 3, 3], weight: [5, 5, 3, 4] }
 * const { starts, end, criticalPath } = await earliestStarts(jobs, { durations: [5, 3, 4, 2] })
 * console.log(starts.join(), end, criticalPath.join()) // 0,5,5,9 11 0,2,3
 */
export async function earliestStarts(
  precedences: Weights,
  options?: EarliestOptions,
): Promise<EarliestStarts> {
  return await earliest(await readProject(precedences, earliestOptions.read(options)))
}

/** The options of {@link latestStarts}. `undefined` means the default. */
export interface LatestOptions extends EarliestOptions {
  /** Until when each job must have ended: one number for all, or one for each. By default it is when the project ends at the earliest. */
  deadline?: number | Vector | undefined
}

const latestOptions = new Options({
  ...earliestSet,
  deadline: checkedLater<number | Vector>(),
} satisfies OptionsOf<LatestOptions>)

/** What {@link latestStarts} gives. */
export interface LatestStarts<Data extends ElementArray = ElementArray> {
  /** The latest start of each job. */
  starts: Data
  /**
   * How much each job may be later than its earliest start without missing a deadline. Jobs whose slack is 0 are critical. A
   * negative slack says that deadlines can't be met, and by how much.
   */
  slack: Data
  /** What {@link earliestStarts} gives for the same project. */
  earliest: EarliestStarts<Data>
}

/**
 * The latest start times that meet deadlines, and the slack of each job: the greatest x with x[j] ≥ x[i] + w for each edge from i to
 * j of weight w, and x[i] + durations[i] ≤ deadline[i].
 *
 * Its errors are those of {@link earliestStarts}.
 *
 * @throws Rejects with what {@link earliestStarts} rejects with.
 * @example
 * const jobs = { nodes: 4, from: [0, 0, 1, 2], to: [1, 2, 3, 3], weight: [5, 5, 3, 4] }
 * const { starts, slack } = await latestStarts(jobs, { durations: [5, 3, 4, 2] })
 * console.log(starts.join(), slack.join()) // 0,6,5,9 0,1,0,0
 */
export async function latestStarts(precedences: Weights, options?: LatestOptions): Promise<LatestStarts> {
  const { deadline: asked, ...rest } = latestOptions.read(options)
  const project = await readProject(precedences, rest)
  const { graph, type, durations, signal } = project
  const first = await earliest(project)
  const deadline = await times(asked ?? first.end, graph, type, 'deadline')
  const { nodes } = graph.rows
  // x[i] is the least of deadline[j] − durations[j] less the longest path from i to j: a path that goes on to a last node.
  const last = newArray(type, nodes)
  for (let i = 0; i < nodes; i++)
    last[i] = exactly(durations[i]! - deadline[i]!, type, () => `deadline[${i}] - durations[${i}]`)
  const { distances } = await longestPaths(extended(graph, last, 'to'), {
    targets: [nodes],
    sources: jobsOf(nodes),
    signal,
  })
  const starts = newArray(type, nodes)
  const slack = newArray(type, nodes)
  for (let i = 0; i < nodes; i++) {
    starts[i] = exactly(0 - distances.data[i]!, type, () => `the latest start of job ${i}`)
    slack[i] = exactly(starts[i]! - first.starts[i]!, type, () => `the slack of job ${i}`)
  }
  return { starts, slack, earliest: first }
}

interface Project {
  readonly graph: Graph
  /** The number of the element type. */
  readonly type: number
  readonly release: ElementArray
  readonly durations: ElementArray
  readonly signal: AbortSignal | undefined
}

const PROJECT: Need = { what: 'a project', perNode: 200, perEdge: 48 }

async function readProject(
  precedences: Weights,
  { signal, ...options }: ReadOf<typeof earliestOptions>,
): Promise<Project> {
  refuseTokens(precedences, 'a project is done once: leave out `tokens`, and the edges that have some')
  const graph = await readGraph(precedences, 'max-plus', signal, 'the search for start times')
  const { nodes, weight } = graph.rows
  requireSpace(PROJECT, nodes, weight.length)
  const type = elementType(weight)
  const release = await times(options.release ?? 0, graph, type, 'release')
  const durations = await times(options.durations ?? 0, graph, type, 'durations', 0)
  return { graph, type, release, durations, signal }
}

async function times(
  value: number | Vector,
  { rows }: Graph,
  type: number,
  name: string,
  least = -Infinity,
): Promise<ElementArray> {
  const { nodes } = rows
  const isOne = typeof value === 'number'
  const read = await readVector(isOne ? [value] : value, isOne ? 1 : nodes, type, 'max-plus', name)
  for (let i = 0; i < read.length; i++) {
    const isTime = Number.isFinite(read[i]) && !(type === INT32 && read[i] === -(2 ** 31))
    if (isTime && read[i]! >= least) continue
    const expected = isTime ? `${show(least)} or more` : 'a time, which is finite'
    throw new ValueError(`${name}${isOne ? '' : `[${i}]`} is ${show(read[i])}, but it must be ${expected}`)
  }
  return isOne ? newArray(type, nodes).fill(read[0]!) : read
}

const jobsOf = (nodes: number) => Int32Array.from({ length: nodes }, (_, i) => i)

async function earliest({ graph, type, release, durations, signal }: Project): Promise<EarliestStarts> {
  const { nodes } = graph.rows
  const found = await longestPaths(extended(graph, release, 'from'), {
    sources: [nodes],
    targets: jobsOf(nodes),
    paths: true,
    signal,
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
  if (last >= 0) exactly(end, type, () => `the end of job ${last}`)
  return { starts, end, criticalPath: last < 0 ? [] : found.path(nodes, last)!.slice(1) }
}

/** The graph with one more node, and an edge between it and each other: from it with these weights, or to it. */
function extended({ rows }: Graph, weights: ElementArray, direction: 'from' | 'to'): EdgeList<Float64Array> {
  const { nodes } = rows
  const count = rows.to.length
  const from = new Int32Array(count + nodes)
  const to = new Int32Array(count + nodes)
  const weight = newArray(elementType(weights), count + nodes)
  from.set(ownersOf(rows))
  to.set(rows.to)
  weight.set(rows.weight)
  for (let i = 0; i < nodes; i++) {
    from[count + i] = direction === 'from' ? nodes : i
    to[count + i] = direction === 'from' ? i : nodes
    weight[count + i] = weights[i]!
  }
  // Of whatever type: it decides only what the results are called here.
  return makeEdges(nodes + 1, from, to, weight as Float64Array)
}

/** A time as the type holds it. */
function exactly(value: number, type: number, what: () => string): number {
  if (type !== INT32 || (value > -(2 ** 31) && value < 2 ** 31)) return value
  throw new OverflowError(
    `${what()} is ${value}, outside the finite range -2^31 + 1 to 2^31 - 1: use weights of float64, or a coarser unit of time`,
  )
}
