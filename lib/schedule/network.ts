/**
 * The network of a plan: jobs with the links to their predecessors as compressed rows, with times as integer
 * multiples of a fraction of the plan's unit.
 *
 * A job takes its duration without a break, so each link is one edge between two starts. Its weight is the lag, plus the duration of the
 * predecessor if its finish counts (FS and FF), minus the duration of the job if its own finish waits (FF and SF).
 */
import { show } from '../describe.js'
import { CycleError, OverflowError, ValueError } from '../errors.js'
import { leastOf, rotated } from '../graph-core/cycles.js'
import { selected } from '../graph-core/rows.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import { findingOrder } from '../graph-core/topological-order.js'
import { greatestDivisor } from '../integers.js'
import type { Calendar } from './calendar.js'
import type { JobId, LinkType, Plan } from './options.js'
import { type Fraction, fractionOf, inUnit } from './units.js'

/** Times of each job. */
export interface Times {
  readonly duration: Float64Array
  readonly release: Float64Array
  /** Infinity for none. */
  readonly deadline: Float64Array
}

export interface Network {
  readonly plan: Plan
  /** Numbers of the jobs, by their ids. */
  readonly numbers: ReadonlyMap<string, number>
  /** Integer value of one unit of the plan. */
  readonly scale: number
  /** Integer value of a working day. */
  readonly perDay: number
  /** Sum of the magnitudes of all times: an upper bound of every result. */
  readonly total: number
  readonly times: Times
  /** Links of job j are from `start[j]` until before `start[j + 1]`. */
  readonly start: Int32Array
  readonly from: Int32Array
  readonly lag: Float64Array
  /** 1 if the finish of the predecessor counts. */
  readonly afterFinish: Uint8Array
  /** 1 if the finish of the job waits. */
  readonly ofFinish: Uint8Array
  /** Jobs in topological order, predecessors first; null if links form a cycle. */
  readonly order: Int32Array | null
}

/** Largest sum of times: sums of a few of them stay exact. */
const MAX_TIME = 2 ** 50

/** Collects the fractions of times, and finds their common denominator. */
export class TimeScale {
  readonly #known = new Map<number, Fraction>()

  /** @param scale - common denominator of earlier times. */
  constructor(public scale = 1) {}

  add(value: number, what: () => string): void {
    if (Number.isSafeInteger(value) || this.#known.has(value)) return
    const found = Number.isFinite(value) ? fractionOf(value) : null
    if (Number.isFinite(value) && !found) this.#refuse(`${what()} is ${value}`)
    if (!found) throw new ValueError(`${what()} must be a finite number, but it is ${show(value)}`)
    const scale = (this.scale / greatestDivisor(this.scale, found[1])) * found[1]
    if (!(scale <= MAX_TIME)) this.#refuse(`${what()} is ${value} beside times with other fractions`)
    this.scale = scale
    this.#known.set(value, found)
  }

  /** Returns the time in parts. */
  of(value: number): number {
    if (Number.isSafeInteger(value)) return value * this.scale
    const [p, q] = this.#known.get(value)!
    return p * (this.scale / q)
  }

  #refuse(problem: string): never {
    throw new OverflowError(
      `times must be multiples of one part of the unit that isn't too fine, but ${problem}: round times to fewer decimals`,
    )
  }
}

/** Returns a time in parts of the unit; throws for a time whose sums would be rounded. */
export function exact(value: number, what: () => string): number {
  if (Math.abs(value) <= MAX_TIME) return value
  throw new OverflowError(
    `${what()} is beyond the range of exact sums: use a coarser unit of time, or round times to fewer decimals`,
  )
}

const afterFinish: Record<LinkType, number> = { FS: 1, SS: 0, FF: 1, SF: 0 }
const ofFinish: Record<LinkType, number> = { FS: 0, SS: 0, FF: 1, SF: 1 }

/** Working days of a limit that is a date. */
export function daysOf(date: string, role: 'notBefore' | 'deadline', calendar: Calendar | null): number {
  if (!calendar)
    throw new ValueError(
      `the plan has the date ${date}, but no first day: set option start, such as '2026-01-05'`,
    )
  return calendar.daysBefore(date) + (role === 'deadline' && calendar.isWorking(date) ? 1 : 0)
}

/** Builds the network of a plan. */
export function* buildingNetwork(plan: Plan, calendar: Calendar | null): Steps<Network> {
  const { jobs } = plan
  const nodes = jobs.length
  const numbers = new Map<string, number>()
  const parts = new TimeScale()
  const day = inUnit(1, 'days', plan)
  parts.add(day, () => 'a working day')
  const start = new Int32Array(nodes + 1)
  const limits = { notBefore: new Float64Array(nodes), deadline: new Float64Array(nodes).fill(Infinity) }
  let looked = 0
  for (const [at, job] of jobs.entries()) {
    const { id, duration, predecessors } = job
    numbers.set(`${id}`, at)
    const what = () => `a time of job ${show(id)}`
    parts.add(duration, what)
    if (duration < 0)
      throw new ValueError(`the duration of job ${show(id)} must be 0 or more, but it is ${show(duration)}`)
    for (const { lag } of predecessors) parts.add(lag, what)
    for (const role of ['notBefore', 'deadline'] as const) {
      const given = job[role]
      if (given === undefined) continue
      if (typeof given === 'number') parts.add(given, what)
      limits[role][at] = typeof given === 'number' ? given : daysOf(given, role, calendar)
    }
    start[at + 1] = start[at]! + predecessors.length
    looked += 1 + predecessors.length
    if (looked > PER_SLICE / 4) {
      looked = 0
      yield
    }
  }
  if (numbers.size < nodes)
    throw new ValueError('each job of a plan must have an id of its own, but two have the same')
  const links = start[nodes]!
  const from = new Int32Array(links)
  const lag = new Float64Array(links)
  const kinds = { afterFinish: new Uint8Array(links), ofFinish: new Uint8Array(links) }
  const duration = new Float64Array(nodes)
  const perDay = parts.of(day)
  let sum = 0
  let k = 0
  for (const [at, job] of jobs.entries()) {
    const what = () => `the sum of times up to job ${show(job.id)}`
    duration[at] = parts.of(job.duration)
    for (const role of ['notBefore', 'deadline'] as const) {
      const given = job[role]
      if (given === undefined) continue
      const limit = limits[role][at]!
      limits[role][at] = exact(typeof given === 'number' ? parts.of(given) : limit * perDay, what)
    }
    sum += duration[at]! + Math.abs(limits.notBefore[at]!)
    if (job.deadline !== undefined) sum += Math.abs(limits.deadline[at]!)
    for (const link of job.predecessors) {
      const number = numbers.get(`${link.id}`)
      if (number === undefined)
        throw new ValueError(
          `job ${show(job.id)} must wait for jobs of the plan, but it waits for ${show(link.id)}`,
        )
      from[k] = number
      lag[k] = parts.of(link.lag)
      kinds.afterFinish[k] = afterFinish[link.type]
      kinds.ofFinish[k] = ofFinish[link.type]
      sum += Math.abs(lag[k]!)
      k++
    }
    exact(sum, what)
    if (at % 1024 === 1023) yield
  }
  const rows = { nodes, start, to: from }
  /** Returns whether a link is a wait for the finish of another job, or of a job for itself. */
  const isWait = (k: number, job: number) =>
    (kinds.afterFinish[k]! > kinds.ofFinish[k]! && lag[k]! >= 0) || from[k] === job
  const network = {
    plan,
    numbers,
    scale: parts.scale,
    perDay,
    total: sum,
    times: { duration, release: limits.notBefore, deadline: limits.deadline },
    start,
    from,
    lag,
    ...kinds,
  }
  const { order } = yield* findingOrder(rows)
  // A lead may form a feasible cycle: a job that starts at most some time after another job.
  if (!order) {
    const { cycle } = yield* findingOrder(yield* selected(rows, isWait))
    const circle = cycle?.reverse()
    if (circle) throw waitingInCircle(plan, circle, weightOf(network, circle) / parts.scale)
  }
  return { ...network, order }
}

/** Sum of the greatest waits of a circle of FS links. */
function weightOf({ start, from, lag, times }: Omit<Network, 'order'>, circle: readonly number[]): number {
  let sum = 0
  for (const [at, first] of circle.entries()) {
    const job = circle[(at + 1) % circle.length]!
    let most = 0
    for (let k = start[job]!; k < start[job + 1]!; k++) if (from[k] === first) most = Math.max(most, lag[k]!)
    sum += times.duration[first]! + most
  }
  return sum
}

const MAX_SHOWN = 12

/** The error for jobs that wait for each other. `circle` has a job behind each one that it waits for. */
export function waitingInCircle(
  plan: Plan,
  circle: readonly number[],
  weight: number,
  cause?: unknown,
): CycleError {
  const cycle = rotated(circle, leastOf(circle))
  const name = (job: number) => plan.jobs[job]!.name
  const chain = [cycle[0]!, ...[...cycle.slice(1)].reverse(), cycle[0]!].map(name)
  const shown = chain.length > MAX_SHOWN ? [...chain.slice(0, MAX_SHOWN - 1), '…', chain.at(-1)!] : chain
  const [first, second, ...others] = shown
  const text = [`${first} waits for ${second}`, ...others.map((each) => `which waits for ${each}`)].join(', ')
  return new CycleError(
    `jobs must not wait for themselves, but ${text}: remove one of these links, or give it a lead of ${show(weight)} ${plan.unit} or more`,
    { cause, cycle, weight, keys: cycle.map((job): JobId => plan.jobs[job]!.id) },
  )
}
