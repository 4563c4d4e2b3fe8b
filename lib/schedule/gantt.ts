/** Drawing of a schedule as a Gantt chart in SVG. */
import { LimitError } from '../errors.js'
import { assertObject, Options } from '../options.js'
import { Calendar } from './calendar.js'
import {
  type GanttOptions,
  ganttSet,
  type LinkType,
  type Plan,
  type Schedule,
  type ScheduledJob,
} from './options.js'
import { bar, frame, line, shortened, shown, text } from './svg.js'
import { inUnit } from './units.js'

const options = new Options(ganttSet)

const TOP = 46
const PITCH = 36
const FOOT = 34
/** Labels of the axis: as many dates fit into 360 pixels. */
const MAX_TICKS = 4
const MAX_JOBS = 5000
const LONGEST_NAME = 30

/** Throws unless these are a schedule and its plan. */
export function assertSchedule(schedule: unknown, plan: unknown): void {
  assertObject(schedule, 'schedule', 'a result of schedule()', ['end', 'jobs'])
  assertObject(plan, 'plan', 'the plan of the schedule, as parsePlan() returns it', ['jobs', 'unit'])
}

/** Step of an axis: 1, 2 or 5 times a power of ten. */
function niceStep(length: number, most: number): number {
  const power = 10 ** Math.floor(Math.log10(length / most))
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => length / step <= most)!
}

/** Times and labels of the axis. */
function ticksOf({ dates }: Schedule, plan: Plan, length: number): { time: number; label: string }[] {
  const perDay = inUnit(1, 'days', plan)
  const unit = dates ? perDay : 1
  const step = dates ? Math.max(1, niceStep(length / unit, MAX_TICKS)) : niceStep(length, 2 * MAX_TICKS)
  const calendar = dates && new Calendar(dates.start, dates.weekdays, dates.holidays)
  return Array.from({ length: Math.floor(length / (step * unit) + 1e-9) + 1 }, (_, at) => ({
    time: at * step * unit,
    label: calendar ? calendar.date(at * step) : shown(at * step),
  }))
}

/** Text about a job, which a pointer on its bar shows. */
export const aboutJob = (job: ScheduledJob, unit: string): string =>
  `${job.name}: ${job.dates ? `${job.dates.earliestStart} to ${job.dates.earliestFinish}` : `${shown(job.earliestStart)} to ${shown(job.earliestFinish)} ${unit}`}, slack ${shown(job.totalSlack)}${job.critical ? ', critical' : ''}`

/**
 * Draws a schedule as a Gantt chart: a bar for each job, from its earliest start to its earliest finish. Critical jobs have filled bars and bold
 * names, other jobs outlined bars; a line behind a bar is the slack, and a diamond a milestone. The drawing has a light and a dark theme, and its
 * texts keep their size at any width from 360 pixels.
 *
 * @param schedule - result of `schedule()`; with some of its jobs only these are drawn.
 * @param plan - the plan of the schedule, for the unit and the links.
 * @returns SVG. All texts of the plan are escaped.
 * @throws LimitError (ERR_MPMML_LIMIT) for more than 5000 jobs; ERR_MPMML_DTYPE; ERR_MPMML_OPTION.
 * @example
 * const plan = parsePlan('id,task,days,after\n1,walls,5,\n2,roof,3,1\n')
 * await writeFile('plan.svg', drawGantt(await schedule(plan, { start: '2026-01-05' }), plan, { arrows: true }))
 * console.log((await readFile('plan.svg', 'utf8')).includes('2026-01-05')) // true
 */
export function drawGantt(schedule: Schedule, plan: Plan, given?: GanttOptions): string {
  const { title, width, arrows } = options.read(given)
  assertSchedule(schedule, plan)
  const { jobs, end, dates } = schedule
  if (jobs.length > MAX_JOBS)
    throw new LimitError(
      `a Gantt chart must have at most ${MAX_JOBS} jobs, but it has ${jobs.length}: give it some of them, such as { ...schedule, jobs: schedule.jobs.filter((job) => job.critical) }`,
    )
  const last = Math.max(end, ...jobs.map((job) => job.latestFinish))
  const length = last > 0 ? last : 1
  const x = (time: number) => `${Number(((100 * Math.max(0, time)) / length).toFixed(3))}%`
  const height = TOP + PITCH * jobs.length + FOOT
  const bottom = height - FOOT
  const position = new Map(jobs.map((job, row) => [`${job.id}`, { job, y: TOP + PITCH * row + 18 }]))
  const parts = [
    text(0, 16, shortened(title, 40), { isBold: true }),
    text('100%', 16, dates ? `ends ${dates.end}` : `${shown(end)} ${plan.unit}`, {
      kind: 'faint',
      anchor: 'end',
    }),
    ...ticksOf(schedule, plan, length).flatMap(({ time, label }, at) => {
      const anchor = at === 0 ? 'start' : time > 0.9 * length ? 'end' : 'middle'
      return [line('axis', x(time), 40, x(time), bottom), text(x(time), 35, label, { kind: 'faint', anchor })]
    }),
  ]
  if (arrows) parts.push(...linesOf(plan, position, x))
  for (const { job, y } of position.values()) {
    const kind = job.critical ? 'strong' : 'bar'
    const middle = y + 6
    const slack = job.totalSlack === 0 ? '' : ` · slack ${shown(job.totalSlack)}`
    parts.push(
      text(0, y - 5, shortened(job.name, LONGEST_NAME), { isBold: job.critical }),
      text('100%', y - 5, `${shown(job.duration)}${slack}`, { kind: 'faint', anchor: 'end' }),
    )
    if (job.totalSlack !== 0) {
      parts.push(
        line('slack', x(job.earliestFinish), middle, x(job.latestFinish), middle),
        line('slack', x(job.latestFinish), middle - 4, x(job.latestFinish), middle + 4),
      )
    }
    const wide = job.duration === 0 ? 0 : x(job.duration)
    parts.push(bar(kind, x(job.earliestStart), y, wide, aboutJob(job, plan.unit)))
  }
  const foot = height - 10
  parts.push(
    bar('strong', 0, foot - 10, 22, 'critical'),
    text(28, foot, 'critical'),
    bar('bar', 92, foot - 10, 22, 'not critical'),
    text(120, foot, 'other'),
    line('slack', 170, foot - 4, 192, foot - 4),
    text(198, foot, 'slack'),
    bar('bar', 250, foot - 10, 0, 'milestone'),
    text(262, foot, 'milestone'),
  )
  const label = `Gantt chart of ${jobs.length} jobs over ${shown(end)} ${plan.unit}`
  const inner = `<svg role="presentation" x="1.5%" width="97%" height="${height}" overflow="visible">\n${parts.join('\n')}\n</svg>`
  return frame(width ?? '100%', height, label, [inner])
}

const fromFinish = (type: LinkType) => type === 'FS' || type === 'FF'
const toFinish = (type: LinkType) => type === 'FF' || type === 'SF'

type Places = ReadonlyMap<string, { job: ScheduledJob; y: number }>

/** Arrows of the links: down or up from a bar, and along to the other one. */
function linesOf(plan: Plan, place: Places, x: (time: number) => string): string[] {
  const lines: string[] = []
  for (const { id, predecessors } of plan.jobs) {
    const to = place.get(`${id}`)
    for (const { id: first, type } of to ? predecessors : []) {
      const from = place.get(`${first}`)
      if (!from) continue
      const begin = x(fromFinish(type) ? from.job.earliestFinish : from.job.earliestStart)
      const finish = x(toFinish(type) ? to!.job.earliestFinish : to!.job.earliestStart)
      const isDown = to!.y > from.y
      const y = to!.y + 6
      const leave = isDown ? from.y + 12 : from.y
      if (begin === finish) lines.push(line('link', begin, leave, finish, isDown ? to!.y : to!.y + 12, true))
      else lines.push(line('link', begin, leave, begin, y), line('link', begin, y, finish, y, true))
    }
  }
  return lines
}
