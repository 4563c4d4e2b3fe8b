/**
 * Schedules of plans: tables of jobs with predecessors, as spreadsheets and MS Project write them, with slack, critical paths, dates, changes and
 * drawings.
 *
 * @packageDocumentation
 */
import './globals.js'

export {
  type DelayResult,
  delay,
} from './schedule/delay.js'
export { drawDelay } from './schedule/delay-drawing.js'
export { drawGantt } from './schedule/gantt.js'
export type {
  JobId,
  JobList,
  ParsePlanOptions,
  Plan,
  PlanJob,
  PlanLink,
  ReadPlanOptions,
  Schedule,
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
  type RecoveryTimes,
  recoveryTimes,
  type Timetable,
} from './schedule/timetable.js'
export type { TimeUnit } from './schedule/units.js'
