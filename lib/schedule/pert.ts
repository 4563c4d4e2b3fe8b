/** Drawing of a plan as a network of boxes in SVG (PERT). */
import { LimitError } from '../errors.js'
import { escapeXml } from '../xml-text.js'
import { aboutJob, assertSchedule } from './gantt.js'
import type { Plan, Schedule, ScheduledJob } from './options.js'
import { curve, frame, rectangle, shortened, shown, text } from './svg.js'

const MAX_JOBS = 50
const [WIDTH, HEIGHT, ACROSS, DOWN, MARGIN, TOP] = [150, 62, 56, 22, 12, 34]
const ROUNDS = 4

/**
 * Draws the network of a plan: a box for each job, in columns from left to right by the number of jobs before it. A box has the earliest start,
 * the duration and the earliest finish on top, and the latest start, the slack and the latest finish at its bottom. Critical jobs have thick frames
 * and bold names.
 *
 * @param schedule - result of `schedule()`.
 * @param plan - the plan of the schedule.
 * @returns SVG, with a light and a dark theme. All texts of the plan are escaped.
 * @throws LimitError (ERR_MPMML_LIMIT) for more than 50 jobs; ERR_MPMML_DTYPE.
 * @example
 * const plan = parsePlan('id,task,days,after\n1,walls,5,\n2,roof,3,1\n')
 * await writeFile('network.svg', drawNetwork(await schedule(plan), plan))
 * console.log((await readFile('network.svg', 'utf8')).includes('roof')) // true
 */
export function drawNetwork(schedule: Schedule, plan: Plan): string {
  assertSchedule(schedule, plan)
  const { jobs, end } = schedule
  if (jobs.length > MAX_JOBS)
    throw new LimitError(
      `a network must have at most ${MAX_JOBS} jobs to be readable, but it has ${jobs.length}: draw a Gantt chart, or a part of the plan`,
    )
  const numbers = new Map(jobs.map(({ id }, at) => [`${id}`, at]))
  const links = plan.jobs.flatMap(({ id, predecessors }) =>
    predecessors.flatMap((link) => {
      const [from, to] = [numbers.get(`${link.id}`), numbers.get(`${id}`)]
      const isPlain = link.type === 'FS' && link.lag === 0
      const sign = link.lag > 0 ? '+' : ''
      const lag = link.lag === 0 ? '' : `${sign}${shown(link.lag)}`
      return from === undefined || to === undefined
        ? []
        : [{ from, to, label: isPlain ? '' : `${link.type}${lag}` }]
    }),
  )
  const columns = columnsOf(jobs.length, links)
  const rows = Math.max(1, ...columns.map((column) => column.length))
  const width = Math.max(300, 2 * MARGIN + columns.length * (WIDTH + ACROSS) - ACROSS)
  const height = TOP + rows * (HEIGHT + DOWN) + MARGIN
  const position: { x: number; y: number }[] = []
  for (const [column, members] of columns.entries()) {
    const first = TOP + ((rows - members.length) * (HEIGHT + DOWN)) / 2
    for (const [row, job] of members.entries())
      position[job] = { x: MARGIN + column * (WIDTH + ACROSS), y: first + row * (HEIGHT + DOWN) }
  }
  const arrows = links.map(({ from, to, label }) => {
    const [a, b] = [position[from]!, position[to]!]
    const [x1, y1, x2, y2] = [a.x + WIDTH, a.y + HEIGHT / 2, b.x, b.y + HEIGHT / 2]
    const named = label && text((x1 + x2) / 2, (y1 + y2) / 2 - 5, label, { kind: 'faint', anchor: 'middle' })
    return `${curve(`M${x1} ${y1}C${x1 + ACROSS / 2} ${y1} ${x2 - ACROSS / 2} ${y2} ${x2} ${y2}`)}${named}`
  })
  const boxes = jobs.map((job, at) => box(job, position[at]!, plan.unit))
  const label = `Network of ${jobs.length} jobs over ${shown(end)} ${plan.unit}`
  return frame(width, height, label, [text(MARGIN, 20, label, { isBold: true }), ...arrows, ...boxes])
}

type LinkPlace = { readonly from: number; readonly to: number }

/** Columns of jobs, by the longest chain of links before them; links that close a circle don't count. */
function columnsOf(count: number, links: readonly LinkPlace[]): number[][] {
  const level = new Array<number>(count).fill(0)
  for (let round = 0; round < count; round++)
    for (const { from, to } of links) level[to] = Math.min(count - 1, Math.max(level[to]!, level[from]! + 1))
  const used = [...new Set(level)].sort((a, b) => a - b)
  const columns = used.map((each) => [...level.keys()].filter((job) => level[job] === each))
  // Each job goes to the middle of its neighbours, so that fewer links cross.
  const row = new Array<number>(count).fill(0)
  const number = () => {
    for (const column of columns) for (const [at, job] of column.entries()) row[job] = at - column.length / 2
  }
  number()
  for (let round = 0; round < ROUNDS; round++) {
    for (const column of columns) {
      const wish = new Map(
        column.map((job) => {
          const near = links.flatMap(({ from, to }) =>
            to === job ? [row[from]!] : from === job ? [row[to]!] : [],
          )
          return [
            job,
            near.length === 0 ? row[job]! : near.reduce((sum, each) => sum + each, 0) / near.length,
          ]
        }),
      )
      column.sort((a, b) => wish.get(a)! - wish.get(b)!)
      number()
    }
  }
  return columns
}

function box(job: ScheduledJob, { x, y }: { x: number; y: number }, unit: string): string {
  const { critical } = job
  const row = (below: number, values: readonly number[]) =>
    values.map((value, at) =>
      text(x + [6, WIDTH / 2, WIDTH - 6][at]!, y + below, shown(value), {
        kind: 'faint',
        anchor: ['start', 'middle', 'end'][at]!,
      }),
    )
  return [
    `<g><title>${escapeXml(aboutJob(job, unit))}</title>`,
    rectangle('paper', x, y, WIDTH, HEIGHT),
    rectangle(critical ? 'strongbox' : 'box', x, y, WIDTH, HEIGHT, critical ? 3 : 1),
    ...row(15, [job.earliestStart, job.duration, job.earliestFinish]),
    text(x + WIDTH / 2, y + 36, shortened(job.name, 20), { anchor: 'middle', isBold: critical }),
    ...row(56, [job.latestStart, job.totalSlack, job.latestFinish]),
    '</g>',
  ].join('')
}
