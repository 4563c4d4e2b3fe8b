/** Schedules of plans by the critical path method, with the four kinds of links (precedence diagrams), and changes of a prepared plan. */
import { signal } from '../abort.js'
import { show } from '../describe.js'
import { OptionError, ValueError } from '../errors.js'
import { inSlices, type Steps } from '../graph-core/slices.js'
import { assertNames, assertObject, Options, type OptionsOf, option } from '../options.js'
import { Calendar, isDate, limitOf, readHolidays, readWeekdays } from './calendar.js'
import { buildingNetwork, daysOf, exact, type Network, TimeScale, type Times } from './network.js'
import {
  type JobId,
  type JobList,
  type Plan,
  type PlanJob,
  planOptions,
  type Schedule,
  type ScheduledJob,
  type ScheduleOptions,
} from './options.js'
import { readingRecords } from './read.js'
import { type Solution, solve } from './sweep.js'
import { timeOf } from './units.js'

const scheduleOptions = new Options({
  start: option<string | Date | undefined>(undefined, (value, name) => {
    if (typeof value === 'string' || value instanceof Date) return value
    throw new OptionError(`option ${name} must be a date such as '2026-01-05', but it is ${show(value)}`)
  }),
  weekdays: option([1, 2, 3, 4, 5], readWeekdays),
  holidays: option<readonly string[]>([], readHolidays),
  signal,
} satisfies OptionsOf<ScheduleOptions>)

const WORK = 'the schedule'

/** Number of jobs that are described between two yields: about a millisecond. */
const PER_SLICE = 1024

/**
 * Change of a job in a what-if: times as numbers in the plan's unit, or texts such as '8d' and dates; null
 * removes a limit.
 */
export interface JobChange {
  /** New duration, 0 or more. */
  duration?: number | string | undefined
  /** New earliest start. */
  notBefore?: number | string | null | undefined
  /** New latest finish. */
  deadline?: number | string | null | undefined
}

/** A job whose earliest times a change moves. */
export interface MovedJob {
  /** Id of the job in the plan. */
  id: JobId
  /** Name of the job in the plan. */
  name: string
  /** Earliest start with the change, in the plan's unit. */
  earliestStart: number
  /** Earliest finish with the change, in the plan's unit. */
  earliestFinish: number
  /** Times before the change. */
  before: { earliestStart: number; earliestFinish: number }
}

/** Result of {@link PreparedSchedule.whatIf}. */
export interface WhatIf {
  /** Finish of the last job, with the change. */
  end: number
  /** Finish of the last job, without the change. */
  endBefore: number
  /** Ids of a chain of jobs that decides the end, with the change. */
  criticalPath: JobId[]
  /** Jobs whose earliest start or finish changes. */
  moved: MovedJob[]
  /** Returns the whole schedule with the change. */
  schedule(): Promise<Schedule>
}

/** A plan that is ready for changes. */
export interface PreparedSchedule {
  /** Plan that was prepared. */
  readonly plan: Plan
  /** Schedule of the plan without changes. */
  readonly schedule: Schedule
  /**
   * Computes the schedule with other times of some jobs, in one sweep over the links. The prepared plan doesn't change.
   *
   * @param changes - changes by the ids of the jobs, or by names that one job has.
   * @throws Rejects with ERR_MPMML_VALUE for an id that no job has, or a wrong time; CycleError; OverflowError; AbortedError.
   */
  whatIf(
    changes: Readonly<Record<string, JobChange>>,
    options?: Pick<ScheduleOptions, 'signal'>,
  ): Promise<WhatIf>
}

/**
 * Schedules a plan by the critical path method: the earliest and latest start and finish of each job, its total slack and free float, all
 * critical jobs, and one critical path. Links are finish to start, start to start, finish to finish and start to finish, with lags and leads. Jobs
 * may have times not before and deadlines.
 *
 * All times are computed as integers of one part of the plan's unit, so that no result is rounded before it is a number again. The work takes time
 * in proportion to jobs and links; links in a circle that leads keep feasible take a search of longest paths.
 *
 * @param plan - plan of {@link parsePlan} or {@link readPlan}, or a list of jobs as {@link parsePlan} takes it.
 * @returns times in the plan's unit. With the option `start`, jobs have dates as well.
 * @throws Rejects with CycleError (ERR_MPMML_CYCLE) for jobs that wait for themselves, with their names; ArgumentError (ERR_MPMML_VALUE) for wrong
 *   jobs; OverflowError (ERR_MPMML_OVERFLOW) for times with too many different fractions; ERR_MPMML_OPTION; AbortedError.
 * @see J. E. Kelley, Critical-Path Planning and Scheduling: Mathematical Basis, Operations Research 9 (1961); S. E. Elmaghraby, J. Kamburowski,
 *   The Analysis of Activity Networks under Generalized Precedence Relations, Management Science 38 (1992)
 * @example
 * const { end, criticalPath } = await schedule([
 *   { id: 1, name: 'walls', duration: 5.5 },
 *   { id: 2, name: 'roof', duration: 3, predecessors: '1' },
 *   { id: 3, name: 'wires', duration: 4, predecessors: '1FS-1d' },
 * ])
 * console.log(end, criticalPath.join()) // 8.5 1,2
 */
export async function schedule(plan: Plan | JobList, options?: ScheduleOptions): Promise<Schedule> {
  return (await prepareSchedule(plan, options)).schedule
}

/**
 * Prepares a plan for changes: its schedule is computed once, and each {@link PreparedSchedule.whatIf} costs one sweep more.
 *
 * @param plan - plan as {@link schedule} takes it.
 * @throws Rejects with what {@link schedule} rejects with.
 * @example
 * const plan = parsePlan('id,days,after\n1,5,\n2,3,1\n3,4,1\n')
 * const { whatIf } = await prepareSchedule(plan)
 * const { end, endBefore, moved } = await whatIf({ 2: { duration: '6d' } })
 * console.log(endBefore, end, moved.map(({ id }) => id).join()) // 9 11 2
 */
export async function prepareSchedule(
  plan: Plan | JobList,
  options?: ScheduleOptions,
): Promise<PreparedSchedule> {
  const { start, weekdays, holidays, signal } = scheduleOptions.read(options)
  const own = await inSlices(normalized(plan), signal, WORK)
  const first = start ?? own.start
  const calendar = first === undefined ? null : new Calendar(first, weekdays, holidays)
  const network = await inSlices(buildingNetwork(own, calendar), signal, WORK)
  const solution = await solve(network, network.times, signal)
  const described = await inSlices(describing(network, solution, calendar), signal, WORK)
  let names: Names | undefined
  return {
    plan: own,
    schedule: described,
    async whatIf(changes, options) {
      const { signal } = whatIfOptions.read(options)
      names ??= namesOf(own)
      const changed = changing(network, names, changes, calendar)
      const found = await solve(changed, changed.times, signal)
      return {
        end: found.end / changed.scale,
        endBefore: described.end,
        criticalPath: idsOf(own, found),
        moved: await inSlices(moving(changed, found, network, solution), signal, WORK),
        schedule: () => inSlices(describing(changed, found, calendar), signal, WORK),
      }
    },
  }
}

const whatIfOptions = new Options({ signal } satisfies OptionsOf<Pick<ScheduleOptions, 'signal'>>)

const isLink = (each: unknown) => {
  const { id, type, lag } = (each ?? {}) as Record<string, unknown>
  return (
    (typeof id === 'string' || typeof id === 'number') &&
    ['FS', 'SS', 'FF', 'SF'].includes(type as string) &&
    typeof lag === 'number'
  )
}

const isLimit = (limit: unknown) =>
  limit === undefined || typeof limit === 'number' || (typeof limit === 'string' && isDate(limit))

/** Returns whether a job is as parsers return it, so that nothing is to be read. */
const isNormal = (job: unknown) => {
  const { id, name, duration, predecessors, notBefore, deadline } = (job ?? {}) as Partial<PlanJob>
  return (
    (typeof id === 'string' || typeof id === 'number') &&
    typeof name === 'string' &&
    typeof duration === 'number' &&
    [notBefore, deadline].every(isLimit) &&
    Array.isArray(predecessors) &&
    predecessors.every(isLink)
  )
}

/** Validates a plan or a list of jobs of the user. */
function* normalized(plan: Plan | JobList): Steps<Plan> {
  const given = plan as Partial<Plan> | null | undefined
  if (!Array.isArray(plan) && Array.isArray(given?.jobs)) {
    const { unit, hoursPerDay, daysPerWeek, jobs, start } = given as Plan
    let isReady = jobs.length > 0 && unit !== undefined
    for (let at = 0; at < jobs.length && isReady; at++) {
      isReady = isNormal(jobs[at])
      if (at % PER_SLICE === PER_SLICE - 1) yield
    }
    if (isReady) {
      const read = planOptions.read({ unit, hoursPerDay, daysPerWeek })
      return { ...read, unit, jobs, ...(start !== undefined && { start }) }
    }
  }
  return yield* readingRecords(plan, planOptions.read({}))
}

const idsOf = ({ jobs }: Plan, { path }: Solution) => path.map((job) => jobs[job]!.id)

/** Returns the results of a solution in the plan's unit. */
function* describing(network: Network, solution: Solution, calendar: Calendar | null): Steps<Schedule> {
  const { plan, scale, perDay, start, from } = network
  const { earliest, latest, end, weight, times } = solution
  const { duration } = times
  const nodes = earliest.length
  const free = new Float64Array(nodes)
  for (let job = 0; job < nodes; job++) free[job] = end - (earliest[job]! + duration[job]!)
  for (let job = 0; job < nodes; job++) {
    if (job % (8 * PER_SLICE) === 0) yield
    for (let k = start[job]!; k < start[job + 1]!; k++) {
      const gap = earliest[job]! - (earliest[from[k]!]! + weight[k]!)
      if (gap < free[from[k]!]!) free[from[k]!] = gap
    }
  }
  // V8 stores small integers without allocation, unlike doubles.
  const inUnits = (time: number) => {
    const value = time / scale
    return (value | 0) === value ? value | 0 : value
  }
  const jobs: ScheduledJob[] = new Array(nodes)
  for (let job = 0; job < nodes; job++) {
    if (job % PER_SLICE === 0) yield
    const { id, name, columns } = plan.jobs[job]!
    const takes = duration[job]!
    const [early, late] = [earliest[job]!, latest[job]!]
    const described: ScheduledJob = {
      id,
      name,
      duration: inUnits(takes),
      earliestStart: inUnits(early),
      earliestFinish: inUnits(early + takes),
      latestStart: inUnits(late),
      latestFinish: inUnits(late + takes),
      totalSlack: inUnits(late - early),
      freeFloat: inUnits(free[job]!),
      critical: late <= early,
    }
    if (calendar) described.dates = datesOf(calendar, perDay, early, late, takes)
    if (columns) described.columns = columns
    jobs[job] = described
  }
  return {
    end: end / scale,
    criticalPath: idsOf(plan, solution),
    jobs,
    ...(calendar && { dates: calendar.dates(finishOn(calendar, perDay, end, 0)) }),
  }
}

/** Date of a finish. Work that ends with a day ends on that day, and a milestone lies on the day of the work before it. */
function finishOn(calendar: Calendar, perDay: number, finish: number, start: number): string {
  const day = Math.floor(finish / perDay)
  const isAtStart = finish % perDay === 0 && (finish !== 0 || finish > start)
  return calendar.date(isAtStart ? day - 1 : day)
}

function datesOf(
  calendar: Calendar,
  perDay: number,
  early: number,
  late: number,
  duration: number,
): NonNullable<ScheduledJob['dates']> {
  const finish = (time: number) => finishOn(calendar, perDay, time + duration, time)
  const start = (time: number) => (duration === 0 ? finish(time) : calendar.date(Math.floor(time / perDay)))
  return {
    earliestStart: start(early),
    earliestFinish: finish(early),
    latestStart: start(late),
    latestFinish: finish(late),
  }
}

/** Numbers of jobs by their names; undefined for a name that several jobs have. */
type Names = ReadonlyMap<string, number | undefined>

function namesOf({ jobs }: Plan): Names {
  const names = new Map<string, number | undefined>()
  for (const [job, { name }] of jobs.entries()) names.set(name, names.has(name) ? undefined : job)
  return names
}

/** Network with other times of some jobs. */
function changing(network: Network, names: Names, changes: unknown, calendar: Calendar | null): Network {
  assertObject(changes, 'changes', 'an object with changes by the ids of jobs')
  const { plan, numbers, scale, perDay } = network
  const fail = (problem: string): never => {
    throw new ValueError(problem)
  }
  const set: [values: keyof Times, job: number, value: number][] = []
  for (const [id, change] of Object.entries(changes)) {
    const job = numbers.get(id) ?? names.get(id)
    if (job === undefined)
      return fail(`changes must be of jobs of the plan, but no job has the id ${show(id)}`)
    assertNames(change, ['duration', 'notBefore', 'deadline'], `the change of job ${show(id)}`)
    const { duration, notBefore, deadline } = change as JobChange
    if (duration !== undefined) {
      const value = timeOf(duration, `the duration of job ${show(id)}`, plan, false, fail)
      if (value < 0) fail(`the duration of job ${show(id)} must be 0 or more, but it is ${show(duration)}`)
      set.push(['duration', job, value])
    }
    for (const [role, values, given, none] of [
      ['notBefore', 'release', notBefore, 0],
      ['deadline', 'deadline', deadline, Infinity],
    ] as const) {
      if (given === undefined) continue
      const limit = given === null ? none : limitOf(given, role, plan, false, fail)
      if (typeof limit === 'number') set.push([values, job, limit])
      else set.push([values, job, (daysOf(limit, role, calendar) * perDay) / scale])
    }
  }
  return withTimes(network, set)
}

/** Network with some times, in the plan's unit, in the place of others; its scale becomes finer if they need it. */
function withTimes(network: Network, set: readonly [keyof Times, number, number][]): Network {
  const parts = new TimeScale(network.scale)
  for (const [, job, value] of set) {
    if (value !== Infinity) parts.add(value, () => `a time of job ${show(network.plan.jobs[job]!.id)}`)
  }
  const { scale } = parts
  const factor = scale / network.scale
  const { duration, release, deadline } = network.times
  const scaled = (values: Float64Array) =>
    factor === 1 ? values.slice() : values.map((each) => each * factor)
  let total = network.total * factor
  exact(total, () => 'the sum of all times')
  const times = { duration: scaled(duration), release: scaled(release), deadline: scaled(deadline) }
  for (const [values, job, given] of set) {
    const value = given === Infinity ? given : parts.of(given)
    times[values][job] = value
    if (value !== Infinity) total = exact(total + Math.abs(value), () => 'the sum of all times')
  }
  return { ...network, scale, perDay: network.perDay * factor, total, times, lag: scaled(network.lag) }
}

function* moving(changed: Network, after: Solution, network: Network, before: Solution): Steps<MovedJob[]> {
  const { plan } = network
  const moved: MovedJob[] = []
  const factor = changed.scale / network.scale
  for (const [at, { id, name }] of plan.jobs.entries()) {
    if (at % PER_SLICE === 0) yield
    const start = before.earliest[at]!
    const finish = start + before.times.duration[at]!
    const newStart = after.earliest[at]!
    const newFinish = newStart + after.times.duration[at]!
    if (newStart === start * factor && newFinish === finish * factor) continue
    moved.push({
      id,
      name,
      earliestStart: newStart / changed.scale,
      earliestFinish: newFinish / changed.scale,
      before: { earliestStart: start / network.scale, earliestFinish: finish / network.scale },
    })
  }
  return moved
}
