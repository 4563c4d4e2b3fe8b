/** A project: longest chains of jobs, and how much later each may be. */
import { CycleError } from 'mpmml'
import { latestStarts } from 'mpmml/algebra'
import { cellsOf, InputError, numberOf } from './csv.js'
import { html, picture, shown, svg, table } from './dom.js'
import { MOST_ROWS, type Tool } from './tool.js'

interface Plan {
  readonly names: readonly string[]
  readonly durations: Float64Array
  /** Edges from each job to those that wait for it. */
  readonly from: readonly number[]
  readonly to: readonly number[]
}

function read(text: string): Plan {
  const lines = cellsOf(text)
  // Names of the columns.
  if (!/\d/.test(lines[0]?.cells[1] ?? '0')) lines.shift()
  const names = lines.map(({ cells }) => cells[0]!)
  const numbers = new Map<string, number>()
  for (const [job, name] of names.entries()) if (!numbers.has(name)) numbers.set(name, job)
  if (names.length === 0)
    throw new InputError('Enter a line for each job: its name, how long it takes, and the jobs it waits for.')
  const from: number[] = []
  const to: number[] = []
  const durations = Float64Array.from(lines, ({ line, cells: [name, duration = '', ...after] }, job) => {
    if (name === '') throw new InputError(`Line ${line}: the job has no name.`)
    const value = numberOf(duration)
    if (!(value >= 0 && value < Number.POSITIVE_INFINITY)) {
      throw new InputError(
        `Line ${line}: expected how long “${name}” takes, a number of 0 or more, but found “${duration}”.`,
      )
    }
    if (numbers.get(name!) !== job)
      throw new InputError(`Line ${line}: there are two jobs “${name}”: each needs its own name.`)
    // A name may have these marks.
    for (const first of after.flatMap((cell) => (numbers.has(cell) ? [cell] : cell.split(/[;,|]/)))) {
      if (first.trim() === '') continue
      const other = numbers.get(first.trim())
      if (other === undefined)
        throw new InputError(`Line ${line}: “${name}” waits for “${first.trim()}”, which is no job.`)
      from.push(other)
      to.push(job)
    }
    return value
  })
  return { names, durations, from, to }
}

function chart(
  plan: Plan,
  starts: Float64Array,
  slack: Float64Array,
  end: number,
  width: number,
): SVGSVGElement {
  const { names, durations } = plan
  const pitch = 30
  const top = 24
  const left = Math.min(150, Math.round(width * 0.38))
  const right = width - 16
  const height = top + pitch * names.length + 6
  const x = (time: number) => left + ((right - left) * time) / (end || 1)
  const step = niceStep(end, (right - left) / 55)
  const ticks = Array.from({ length: Math.floor(end / step) + 1 }, (_, index) => index * step)
  const letters = Math.floor((left - 8) / 8)
  return picture(
    width,
    height,
    `Gantt chart of ${names.length} jobs over ${shown(end)} units of time`,
    ...ticks.flatMap((time) => [
      svg('line', { class: 'axis', x1: x(time), x2: x(time), y1: top - 6, y2: height }),
      svg('text', { class: 'tick', x: x(time), y: top - 10 }, shown(time)),
    ]),
    ...names.flatMap((name, job) => {
      const y = top + pitch * job + 4
      const finish = starts[job]! + durations[job]!
      const critical = slack[job] === 0
      const short = name.length > letters ? `${name.slice(0, letters - 1)}…` : name
      const middle = y + (pitch - 8) / 2
      return [
        svg('text', { x: left - 8, y: middle + 4, 'text-anchor': 'end' }, short),
        !critical &&
          svg('line', { class: 'slack', x1: x(finish), x2: x(finish + slack[job]!), y1: middle, y2: middle }),
        svg(
          'rect',
          {
            class: critical ? 'bar strong' : 'bar',
            x: x(starts[job]!),
            y,
            width: Math.max(x(finish) - x(starts[job]!), 2),
            height: pitch - 8,
            rx: 3,
          },
          svg(
            'title',
            {},
            `${name}: ${shown(starts[job]!)} to ${shown(finish)}, slack ${shown(slack[job]!)}`,
          ),
        ),
      ]
    }),
  )
}

/** 1, 2 or 5 times a power of ten, so that there are at most so many steps. */
function niceStep(end: number, most: number): number {
  const least = (end || 1) / Math.max(most, 1)
  const power = 10 ** Math.floor(Math.log10(least))
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10)
}

export const project: Tool = {
  id: 'project',
  title: 'Project plan',
  about:
    'When can each job start, when must it, and which jobs decide when all is done? The earliest starts are the longest chains of jobs.',
  fields: [
    {
      name: 'plan',
      label: 'Jobs',
      hint: 'A line for each: name, duration, and the jobs that it waits for, with semicolons between them.',
      rows: 14,
    },
  ],
  example: {
    plan: `job,days,after
plans,10
foundation,8,plans
windows ordered,22,plans
walls,12,foundation
roof,6,walls
windows built in,3,walls;windows ordered
wires and pipes,10,roof
plaster,5,wires and pipes;windows built in
floors,8,plaster
garden,6,walls`,
  },
  program: `import { latestStarts } from 'mpmml/algebra'

// Job 1 starts 10 days after job 0 at the earliest, job 2 22 days after it, and job 3 after both.
const jobs = { nodes: 4, from: [0, 0, 1, 2], to: [1, 2, 3, 3], weight: [10, 10, 8, 22] }
const { earliest, slack } = await latestStarts(jobs, { durations: [10, 8, 22, 3] })
console.log(earliest.end, earliest.criticalPath, slack) // 35 [ 0, 2, 3 ] Int32Array(4) [ 0, 14, 0, 0 ]`,
  async answer({ plan: text }, signal) {
    const plan = read(text!)
    const { names, durations, from, to } = plan
    const weight = Float64Array.from(from, (job) => durations[job]!)
    const precedences = { nodes: names.length, from, to, weight }
    const found = await latestStarts(precedences, { durations, signal }).catch((error) => {
      if (!(error instanceof CycleError)) throw error
      const circle = [...error.cycle, error.cycle[0]!].map((job) => names[job])
      throw new InputError(`These jobs wait for each other in a circle: ${circle.join(' → ')}.`)
    })
    const starts = found.earliest.starts as Float64Array
    const latest = found.starts as Float64Array
    const slack = found.slack as Float64Array
    const { end, criticalPath } = found.earliest
    return (width) => [
      html('p', { class: 'answer' }, `All is done after `, html('strong', {}, shown(end)), '.'),
      html('p', {}, `What decides it: ${criticalPath.map((job) => names[job]).join(' → ')}`),
      names.length > MOST_ROWS
        ? html('p', {}, `${names.length} jobs: too many to draw.`)
        : chart(plan, starts, slack, end, width),
      table(
        names.length > MOST_ROWS ? `Starts of the first ${MOST_ROWS} jobs` : 'Starts',
        ['job', 'takes', 'earliest', 'latest', 'slack'],
        names
          .slice(0, MOST_ROWS)
          .map((name, job) => [
            name,
            shown(durations[job]!),
            shown(starts[job]!),
            shown(latest[job]!),
            shown(slack[job]!),
          ]),
        (job) => slack[job] === 0,
      ),
    ]
  },
}
