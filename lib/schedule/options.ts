/** Types of plans and schedules, and their options. */
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import type { ContentOptions } from '../files/line-feed.js'
import type { FileOptions } from '../files/progress.js'
import {
  assertNames,
  boolean,
  choice,
  Options,
  type OptionsOf,
  option,
  type ReadOf,
  string,
} from '../options.js'
import { type TimeUnit, timeUnits } from './units.js'

/** Id of a job: text in files, a number or text in objects. 4 and '4' name one job. */
export type JobId = string | number

/** Link of a job to a predecessor. */
export interface PlanLink {
  /** Id of the predecessor. */
  id: JobId
  /** Event of the predecessor, and event of the job that waits for it: S for start, F for finish. */
  type: 'FS' | 'SS' | 'FF' | 'SF'
  /** Time between the two events, in the plan's unit; a negative lag is a lead. */
  lag: number
}

export type LinkType = PlanLink['type']

/** A job of a plan. */
export interface PlanJob {
  /** Id, which no other job has. */
  id: JobId
  /** Name; the id if the table has no names. */
  name: string
  /** Duration in the plan's unit; 0 for a milestone. */
  duration: number
  /** Links to the job's predecessors. */
  predecessors: PlanLink[]
  /** Earliest start: time from the start of the plan, or a date such as '2026-12-01'. */
  notBefore?: number | string
  /** Latest finish: time from the start of the plan, or a date, which includes that day. */
  deadline?: number | string
  /** Cells of the columns that the option `keep` names. */
  columns?: Record<string, string>
}

/** A plan, as {@link parsePlan} and {@link readPlan} return it. */
export interface Plan {
  /** Unit of all times. */
  unit: TimeUnit
  /** Working hours of a day, which convert hours and minutes to days. */
  hoursPerDay: number
  /** Working days of a week. */
  daysPerWeek: number
  /** Jobs, in the order of the table. */
  jobs: PlanJob[]
  /** First day, if the file has it. */
  start?: string
}

/**
 * Jobs that a program writes: objects whose properties are named like columns in files, with numbers or with texts as in a file. Predecessors may
 * be a list of ids, texts or links as in {@link PlanJob}.
 */
export type JobList = readonly object[]

/** Part of a job that a column has. */
export type ColumnRole = 'id' | 'name' | 'duration' | 'predecessors' | 'notBefore' | 'deadline'

/** The options of {@link parsePlan}. `undefined` means the default. */
export interface PlanOptions {
  /** Names of columns with unusual headings, such as `{ duration: 'Tage netto' }`. */
  columns?: { readonly [Role in ColumnRole]?: string | undefined } | undefined
  /** Names of other columns that jobs keep, or true for all of them; none by default. */
  keep?: boolean | readonly string[] | undefined
  /** Unit of numbers without a unit, and of the results. By default that of the heading, such as `Duration (h)`, or days. */
  unit?: TimeUnit | undefined
  /** Working hours of a day; 8 by default. */
  hoursPerDay?: number | undefined
  /** Working days of a week; 5 by default. A month has 4 weeks. */
  daysPerWeek?: number | undefined
}

/** The options of {@link readPlan}. `undefined` means the default. */
export interface ReadPlanOptions extends PlanOptions, FileOptions {}

/** The options of {@link parsePlan}. `undefined` means the default. */
export interface ParsePlanOptions extends PlanOptions, ContentOptions {}

/** The options of {@link schedule} and {@link prepareSchedule}. `undefined` means the default. */
export interface ScheduleOptions {
  /**
   * First day, such as '2026-01-05'. With it the schedule has dates. A Date is its day in the local time zone,
   * such as `new Date(2026, 0, 5)`. A Date at midnight in UTC, such as `new Date('2026-01-05')`, is its day in
   * UTC.
   */
  start?: string | Date | undefined
  /** Working days of a week: numbers from 1 for Monday to 7 for Sunday; Monday to Friday by default. */
  weekdays?: readonly number[] | undefined
  /** Days without work, such as '2026-12-25', or first and last day, such as '2026-12-24/2027-01-01'. */
  holidays?: readonly string[] | undefined
  /** Ends the work with AbortedError when it is aborted. */
  signal?: AbortSignal | undefined
}

/** A job of a schedule. Times are in the plan's unit, from the start of the plan. */
export interface ScheduledJob {
  /** Id of the job in the plan. */
  id: JobId
  /** Name of the job in the plan. */
  name: string
  /** Duration of the job in the plan. */
  duration: number
  /** Least start that satisfies all links and earliest starts. */
  earliestStart: number
  /** Earliest start plus duration. */
  earliestFinish: number
  /** Latest start that meets the deadlines and doesn't delay the end. */
  latestStart: number
  /** Latest start plus duration. */
  latestFinish: number
  /** Latest start minus earliest start. A missed deadline makes it negative, by the delay. */
  totalSlack: number
  /** Time by which the job may be later without delaying any other job, or the end. */
  freeFloat: number
  /** Whether the total slack is 0 or negative. */
  critical: boolean
  /** Days on which work on the job starts and finishes, if the schedule has a start date. */
  dates?: {
    /** Day of the earliest start, such as '2026-01-05'. */
    earliestStart: string
    /** Day of the earliest finish, whose end may be the finish. */
    earliestFinish: string
    /** Day of the latest start. */
    latestStart: string
    /** Day of the latest finish. */
    latestFinish: string
  }
  /** Cells of the columns that the option `keep` of {@link parsePlan} names. */
  columns?: Record<string, string>
}

/** Result of {@link schedule}. */
export interface Schedule {
  /** Finish of the last job. */
  end: number
  /** Ids of a chain of jobs that decides the end; of several chains, one with the most jobs. */
  criticalPath: JobId[]
  /** All jobs, in the order of the plan. */
  jobs: ScheduledJob[]
  /** Exists if there is a start date. */
  dates?: {
    /** First working day. */
    start: string
    /** Day on which the last job finishes. */
    end: string
    /** Working days of a week, from 1 for Monday to 7 for Sunday. */
    weekdays: readonly number[]
    /** Days without work, as the option `holidays` has them. */
    holidays: readonly string[]
  }
}

const roles: readonly ColumnRole[] = ['id', 'name', 'duration', 'predecessors', 'notBefore', 'deadline']

/** A number of hours or days that a larger unit has. */
const part = (usual: number, most: number) =>
  option(usual, (value, name) => {
    if (typeof value === 'number' && value > 0 && value <= most) return value
    throw new OptionError(`option ${name} must be a number above 0, up to ${most}, but it is ${show(value)}`)
  })

export const planSet = {
  columns: option<Partial<Record<ColumnRole, string>>>({}, (value, name) => {
    assertNames(value, roles, `option ${name}`)
    for (const [role, column] of Object.entries(value))
      if (column !== undefined && typeof column !== 'string')
        throw new OptionError(
          `option ${name}.${role} must be the name of a column, but it is ${show(column)}`,
        )
    return value as Partial<Record<ColumnRole, string>>
  }),
  keep: option<boolean | readonly string[]>(false, (value, name) => {
    if (typeof value === 'boolean') return value
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
    throw new OptionError(`option ${name} must be a boolean or names of columns, but it is ${show(value)}`)
  }),
  unit: choice(timeUnits, undefined),
  hoursPerDay: part(8, 24),
  daysPerWeek: part(5, 7),
} satisfies OptionsOf<PlanOptions>

export const planOptions = new Options(planSet)

/** Options of a plan, read. */
export type ReadPlanSet = ReadOf<typeof planOptions>

/** The options of drawings. `undefined` means the default. */
export interface GanttOptions {
  /** Title of the drawing; 'Plan' by default. */
  title?: string | undefined
  /**
   * Width in pixels. By default the drawing fills the width of its container, and its texts keep their size.
   */
  width?: number | undefined
  /** Whether arrows show the links between jobs; false by default. */
  arrows?: boolean | undefined
}

export const ganttSet = {
  title: string('Plan'),
  width: option<number | undefined>(undefined, (value, name) => {
    if (typeof value === 'number' && value >= 100 && value <= 20_000) return value
    throw new OptionError(`option ${name} must be pixels from 100 to 20000, but it is ${show(value)}`)
  }),
  arrows: boolean(false),
} satisfies OptionsOf<GanttOptions>
