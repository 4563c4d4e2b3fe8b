/**
 * Computes earliest and latest starts of a network: by a forward and a backward sweep, or by a search if
 * links form cycles.
 */
import { CycleError } from '../errors.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { type Network, type Times, waitingInCircle } from './network.js'

/** Start times of a network, in its integers. */
export interface Solution {
  readonly times: Times
  readonly earliest: Float64Array
  readonly latest: Float64Array
  readonly end: number
  /** Weights of the links, as edges between starts. */
  readonly weight: Float64Array
  /** Jobs of a critical path. */
  readonly path: readonly number[]
}

const WORK = 'the schedule'

/** Computes the start times. */
export async function solve(
  network: Network,
  times: Times,
  signal: AbortSignal | undefined,
): Promise<Solution> {
  const weight = await inSlices(weighing(network, times), signal, WORK)
  if (network.order) return inSlices(sweeping(network, network.order, times, weight), signal, WORK)
  return search(network, times, weight, signal)
}

function* weighing(
  { start, from, lag, afterFinish, ofFinish }: Network,
  { duration }: Times,
): Steps<Float64Array> {
  const weight = new Float64Array(lag.length)
  for (let job = 0; job < duration.length; job++) {
    if (job % PER_SLICE === PER_SLICE - 1) yield
    for (let k = start[job]!; k < start[job + 1]!; k++)
      weight[k] = lag[k]! + afterFinish[k]! * duration[from[k]!]! - ofFinish[k]! * duration[job]!
  }
  return weight
}

function* sweeping(
  { start, from }: Network,
  order: Int32Array,
  times: Times,
  weight: Float64Array,
): Steps<Solution> {
  const { duration, release, deadline } = times
  const nodes = duration.length
  const earliest = new Float64Array(nodes)
  // The chain with the most jobs that ends at a job, in which each starts as soon as the one before it lets it.
  const count = new Int32Array(nodes)
  const before = new Int32Array(nodes).fill(-1)
  let end = 0
  for (let at = 0; at < nodes; at++) {
    if (at % PER_SLICE === PER_SLICE - 1) yield
    const job = order[at]!
    let time = Math.max(0, release[job]!)
    let jobs = 1
    for (let k = start[job]!; k < start[job + 1]!; k++) {
      const first = from[k]!
      const own = earliest[first]! + weight[k]!
      if (own < time || (own === time && count[first]! < jobs)) continue
      time = own
      jobs = count[first]! + 1
      before[job] = first
    }
    earliest[job] = time
    count[job] = jobs
    end = Math.max(end, time + duration[job]!)
  }
  const latest = new Float64Array(nodes)
  let last = -1
  for (let job = 0; job < nodes; job++) {
    latest[job] = Math.min(end, deadline[job]!) - duration[job]!
    if (earliest[job]! + duration[job]! === end && (last < 0 || count[job]! > count[last]!)) last = job
  }
  yield
  for (let at = nodes - 1; at >= 0; at--) {
    if (at % PER_SLICE === 0) yield
    const job = order[at]!
    const time = latest[job]!
    for (let k = start[job]!; k < start[job + 1]!; k++) {
      const own = time - weight[k]!
      if (own < latest[from[k]!]!) latest[from[k]!] = own
    }
  }
  const path: number[] = []
  for (let job = last; job >= 0; job = before[job]!) path.push(job)
  return { times, earliest, latest, end, weight, path: path.reverse() }
}

/** Computes the start times of a network with cycles by a search of longest paths. */
async function search(
  { plan, scale, start, from }: Network,
  times: Times,
  weight: Float64Array,
  signal: AbortSignal | undefined,
): Promise<Solution> {
  // Loaded for plans with circles only, because it loads the addon.
  const { earliestStarts, latestStarts } = await import('../algebra/schedule.js')
  const nodes = times.duration.length
  const to = new Int32Array(from.length)
  for (let job = 0; job < nodes; job++) to.fill(job, start[job]!, start[job + 1]!)
  const edges = { nodes, from, to, weight }
  const options = {
    durations: times.duration,
    release: times.release.map((each) => Math.max(0, each)),
    signal,
  }
  const { starts, end, criticalPath } = await earliestStarts(edges, options).catch((error) => {
    if (!(error instanceof CycleError)) throw error
    throw waitingInCircle(plan, error.cycle, error.weight / scale, error)
  })
  const deadline = times.deadline.map((each) => Math.min(end, each))
  const { starts: latest } = await latestStarts(edges, { ...options, deadline })
  return { times, earliest: starts, latest, end, weight, path: criticalPath }
}
