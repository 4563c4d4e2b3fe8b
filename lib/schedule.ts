/**
 * Schedules of plans: tables of jobs with predecessors, as spreadsheets and MS Project write them, with slack, critical paths, dates, changes and
 * drawings.
 *
 * @packageDocumentation
 */
import './globals.js'

export {
  type DelayOptions,
  type DelayResult,
  delay,
  type LateDeparture,
} from './schedule/delay.js'
export { drawDelay } from './schedule/delay-drawing.js'
export { drawGantt } from './schedule/gantt.js'
export type {
  ColumnRole,
  GanttOptions,
  JobDates,
  JobId,
  JobList,
  LinkType,
  ParsePlanOptions,
  Plan,
  PlanJob,
  PlanLink,
  PlanOptions,
  ReadPlanOptions,
  Schedule,
  ScheduleDates,
  ScheduledJob,
  ScheduleOptions,
} from './schedule/options.js'
export { drawNetwork } from './schedule/pert.js'
export { parsePlan } from './schedule/read.js'
export { readPlan } from './schedule/read-plan.js'
export {
  type JobChange,
  type MovedJob,
  type PreparedSchedule,
  prepareSchedule,
  schedule,
  type WhatIf,
} from './schedule/schedule.js'
export {
  type RecoveryOptions,
  type RecoveryTimes,
  recoveryTimes,
  type Timetable,
  type TimetableConnection,
  type TimetableStability,
} from './schedule/timetable.js'
export type { TimeUnit } from './schedule/units.js'
