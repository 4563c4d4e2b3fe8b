/** mpmml schedule PLAN */
import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  drawGantt,
  drawNetwork,
  type JobChange,
  type ParsePlanOptions,
  type Plan,
  prepareSchedule,
  readPlan,
  type Schedule,
  type ScheduledJob,
  type ScheduleOptions,
  type WhatIf,
} from '../../lib/schedule.js'
import { positive } from '../arguments.js'
import { newCommand } from '../commands.js'
import { note } from '../csv-kind.js'
import { chainText, counted } from '../graph.js'
import { exact, labelled, print, printJson, table, withStatus } from '../output.js'
import { checkOutputs } from '../output-file.js'
import { inputPath, openPipes, PIPE, shownInput, shownOutput, writeOut } from '../pipes.js'

type Changes = Record<string, JobChange>

type Columns = NonNullable<ParsePlanOptions['columns']>

interface Flags {
  set?: Changes
  start?: string
  weekdays?: number[]
  holidays?: string[]
  hoursPerDay?: number
  daysPerWeek?: number
  unit?: ParsePlanOptions['unit']
  columns?: Columns
  keep?: string[]
  svg?: string
  network?: string
  arrows?: true
  title?: string
  format: 'csv' | 'json' | 'xml'
  json?: true
}

const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']

/** Parses days such as "mon-fri" or "mon,wed,fri". */
function readDays(text: string): number[] {
  return text.split(',').flatMap((part) => {
    const [first, last = first] = part
      .split('-')
      .map((day) => days.indexOf(day.trim().toLowerCase().slice(0, 3)) + 1 || Number(day))
    if (!(first! >= 1 && last! >= first! && last! <= 7))
      throw new InvalidArgumentError('It must be days such as mon-fri, or mon,wed,fri.')
    return Array.from({ length: last! - first! + 1 }, (_, at) => first! + at)
  })
}

const fields: Record<string, keyof JobChange> = {
  duration: 'duration',
  notbefore: 'notBefore',
  deadline: 'deadline',
}

/** Parses a change such as "4.duration=8". */
function readChange(text: string, before: Changes = {}): Changes {
  const [, id, name, value] = /^(.+)\.([\w-]+)=(.*)$/.exec(text) ?? []
  const field = fields[name?.replace('-', '').toLowerCase() ?? '']
  if (!field || value === undefined)
    throw new InvalidArgumentError('It must be ID.duration=TIME, ID.not-before=TIME or ID.deadline=TIME.')
  return { ...before, [id!]: { ...before[id!], [field]: value === '' ? null : value } }
}

const roles: readonly (keyof Columns)[] = ['id', 'name', 'duration', 'predecessors', 'notBefore', 'deadline']

/** Parses names of columns such as "id=Nr,duration=Tage". */
function readColumns(text: string): Columns {
  return Object.fromEntries(
    text.split(',').map((part) => {
      const [name, ...column] = part.split('=')
      const role = roles.find((each) => each.toLowerCase() === name!.trim().replace('-', '').toLowerCase())
      if (!role || column.length === 0)
        throw new InvalidArgumentError(`It must be ROLE=COLUMN, and the roles are ${roles.join(', ')}.`)
      return [role, column.join('=').trim()]
    }),
  )
}

const list = (text: string) => text.split(',').map((part) => part.trim())

export function scheduleCommand(signal: AbortSignal): Command {
  const command = newCommand('schedule')
  return command
    .argument('<PLAN>', 'a table of jobs: .csv, .json, or .xml of MS Project')
    .addOption(
      new Option('--set <id.duration=time>', 'change a job, and show what moves; may be repeated').argParser(
        readChange,
      ),
    )
    .option('--start <date>', 'first day, such as 2026-01-05: the schedule has dates')
    .addOption(
      new Option('--weekdays <days>', 'working days, such as mon-sat; mon-fri by default').argParser(
        readDays,
      ),
    )
    .addOption(
      new Option(
        '--holidays <dates>',
        'days without work, such as 2026-12-25,2026-12-28/2027-01-01',
      ).argParser(list),
    )
    .addOption(
      new Option('--hours-per-day <hours>', 'working hours of a day; 8 by default').argParser(positive),
    )
    .addOption(
      new Option('--days-per-week <days>', 'working days of a week; 5 by default').argParser(positive),
    )
    .addOption(
      new Option('--unit <name>', 'unit of numbers without one').choices([
        'minutes',
        'hours',
        'days',
        'weeks',
        'months',
      ]),
    )
    .addOption(
      new Option(
        '--columns <role=name,...>',
        'columns that headings do not tell, such as duration=Netto',
      ).argParser(readColumns),
    )
    .addOption(new Option('--keep <names>', 'other columns that the result keeps').argParser(list))
    .option('--svg <file>', 'draw a Gantt chart')
    .option('--network <file>', 'draw a network of up to 50 jobs (PERT)')
    .option('--arrows', 'draw the links in the Gantt chart')
    .option('--title <text>', 'title of the Gantt chart')
    .addOption(new Option('--format <name>', 'what - holds').choices(['csv', 'json', 'xml']).default('csv'))
    .option('--json', 'print one JSON value')
    .addHelpText(
      'after',
      `
The first line of a .csv names its columns: id, name, duration and predecessors in the usual spellings, and deadline and not before. Predecessors are
ids such as 3, 3FS+2d, 5SS, 4FF-1d or 2SF, with commas or semicolons between them. Times are numbers, or have a unit, such as 4h or 2 weeks.`,
    )
    .action(async (path: string, flags: Flags) => {
      await openPipes(
        command,
        { inputs: [path], holds: flags.format, texts: [flags.svg, flags.network] },
        { json: flags.json },
        signal,
      )
      await checkOutputs([flags.svg, flags.network], [path])
      const { record, text } = await compute(path, flags, signal)
      if (flags.json) await printJson(record)
      else if (flags.svg !== PIPE && flags.network !== PIPE) await print(text)
    })
}

/** Output of `schedule --json`. */
interface ScheduleRecord extends Schedule {
  /** End of the project without the changes. */
  endBefore?: number
  moved?: WhatIf['moved']
}

async function compute(path: string, flags: Flags, signal: AbortSignal) {
  const { set, svg, network, arrows, title, columns, keep, unit, hoursPerDay, daysPerWeek } = flags
  const { start, weekdays, holidays } = flags
  const plan = await withStatus(`reading ${shownInput(path)}`, () =>
    readPlan(inputPath(path), { columns, keep, unit, hoursPerDay, daysPerWeek, signal }),
  )
  if (plan.jobs.length > 1 && plan.jobs.every(({ predecessors }) => predecessors.length === 0))
    note(
      `no job of ${shownInput(path)} waits for another one: --columns predecessors=NAME names their column`,
    )
  const options: ScheduleOptions = { start, weekdays, holidays, signal }
  const prepared = await withStatus('computing the schedule', () => prepareSchedule(plan, options))
  let record: ScheduleRecord = prepared.schedule
  if (set) {
    const { endBefore, moved, schedule } = await prepared.whatIf(set, { signal })
    record = { ...(await schedule()), endBefore, moved }
  }
  const drawings = [
    [svg, () => drawGantt(record, plan, { arrows, title: title ?? shownInput(path) })],
    [network, () => drawNetwork(record, plan)],
  ] as const
  for (const [file, draw] of drawings) if (file !== undefined) await writeOut(file, draw())
  return { record, text: describe(record, plan, path, flags) }
}

function describe(
  { end, endBefore, criticalPath, jobs, moved, dates }: ScheduleRecord,
  { unit }: Plan,
  path: string,
  { svg, network }: Flags,
): string {
  const names = new Map(jobs.map(({ id, name }) => [id, name]))
  const late = jobs.filter(({ totalSlack }) => totalSlack < 0)
  const before = endBefore === undefined ? '' : `; ${exact(endBefore)} without the changes`
  const head = labelled([
    ['plan', `${counted(jobs.length, 'job')}  ${shownInput(path)}`],
    ['end', `${exact(end)} ${unit}${dates ? `, ${dates.end}` : ''}${before}`],
    ['critical', chainText(criticalPath.map((id) => names.get(id)!))],
    ['late', late.map(({ name, totalSlack }) => `${name} by ${exact(-totalSlack)}`).join(', ')],
    ['moved', moved && (moved.length === 0 ? 'no job' : moved.map(movedText).join(', '))],
    ['chart', svg && shownOutput(svg)],
    ['network', network && shownOutput(network)],
  ])
  const times = dates
    ? ({ dates: own }: ScheduledJob) => [
        own!.earliestStart,
        own!.earliestFinish,
        own!.latestStart,
        own!.latestFinish,
      ]
    : (job: ScheduledJob) =>
        [job.earliestStart, job.earliestFinish, job.latestStart, job.latestFinish].map(exact)
  const rows = jobs.map((job) => [
    `${job.id}`,
    job.name,
    exact(job.duration),
    ...times(job),
    exact(job.totalSlack),
    exact(job.freeFloat),
    job.critical ? 'critical' : '',
  ])
  const heads = [
    'id',
    'job',
    'duration',
    'start',
    'finish',
    'latest start',
    'latest finish',
    'slack',
    'free',
    '',
  ]
  return `${head}\n\n${table([heads, ...rows])}`
}

const movedText = ({ name, earliestFinish, before }: WhatIf['moved'][number]) => {
  const by = earliestFinish - before.earliestFinish
  return `${name} ${by < 0 ? '' : '+'}${exact(by)}`
}
