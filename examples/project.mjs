/**
 * A project: when can each job start, which jobs may be late, and which decide when all is done (CPM)? And if nobody knows exactly how
 * long jobs take: until when will it be done, and how surely (PERT)? The earliest starts are longest paths in the graph of
 * the jobs: an edge from each job to those that wait for it.
 *
 *   node examples/project.mjs                       the answers, and a chart
 *   node examples/project.mjs -o project.svg        and the chart as a picture: critical jobs are strong
 *
 * The house is made up.
 */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { latestStarts } from 'mpmml/algebra'
import { line, picture, text } from './drawing.mjs'

/** Days that a job takes at best, usually and at worst, and the jobs that it waits for. */
const jobs = [
  { name: 'plans', days: [8, 10, 18], after: [] },
  { name: 'foundation', days: [6, 8, 10], after: ['plans'] },
  { name: 'windows ordered', days: [20, 22, 36], after: ['plans'] },
  { name: 'walls', days: [10, 12, 20], after: ['foundation'] },
  { name: 'roof', days: [5, 6, 7], after: ['walls'] },
  { name: 'windows built in', days: [2, 3, 4], after: ['walls', 'windows ordered'] },
  { name: 'wires and pipes', days: [7, 10, 13], after: ['roof'] },
  { name: 'plaster', days: [4, 5, 6], after: ['wires and pipes', 'windows built in'] },
  { name: 'floors', days: [5, 8, 11], after: ['plaster'] },
  { name: 'garden', days: [3, 6, 15], after: ['walls'] },
]

/** An edge for each wait; its weight is what the first of both jobs takes. */
function precedences(durations) {
  const waits = jobs.flatMap(({ after }, to) =>
    after.map((name) => ({ from: jobs.findIndex((job) => job.name === name), to })),
  )
  return {
    nodes: jobs.length,
    from: waits.map(({ from }) => from),
    to: waits.map(({ to }) => to),
    weight: Float64Array.from(waits, ({ from }) => durations[from]),
  }
}

/** PERT's mean of a job of three estimates, and its variance. */
const mean = ([best, usual, worst]) => (best + 4 * usual + worst) / 6
const variance = ([best, , worst]) => ((worst - best) / 6) ** 2

/** The probability that a normal variable is at most z: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17. */
function normal(z) {
  if (z < 0) return 1 - normal(-z)
  const t = 1 / (1 + 0.2316419 * z)
  const terms = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429]
  const tail = terms.reduceRight((sum, term) => t * (term + sum), 0)
  return 1 - (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * tail
}

const day = (value) => value.toFixed(1).padStart(5)

/** A bar for each job; dots are how much later it may end. */
function bar(start, takes, slack) {
  const [from, to, last] = [start, start + takes, start + takes + slack].map(Math.round)
  return ' '.repeat(from) + (slack > 0 ? '─' : '█').repeat(to - from) + '·'.repeat(last - to)
}

function draw(starts, durations, slack, end) {
  const [left, right, top, pitch] = [150, 860, 40, 28]
  const x = (days) => left + ((right - left) * days) / end
  const parts = []
  for (let days = 0; days <= end; days += 10) {
    parts.push(line(x(days), top - 14, x(days), top + pitch * jobs.length, { faint: true }))
    parts.push(text(x(days), top - 20, days, { anchor: 'middle' }))
  }
  for (const [job, { name }] of jobs.entries()) {
    const y = top + pitch * (job + 0.5)
    const finish = starts[job] + durations[job]
    parts.push(text(left - 10, y + 4, name, { anchor: 'end' }))
    if (slack[job] > 0) parts.push(line(x(finish), y, x(finish + slack[job]), y, { faint: true }))
    parts.push(line(x(starts[job]), y, x(finish), y, { strong: slack[job] === 0 }))
  }
  return picture(900, top + pitch * jobs.length + 20, 'The jobs over days', parts)
}

const { values } = parseArgs({ options: { output: { type: 'string', short: 'o' } } })
const durations = Float64Array.from(jobs, ({ days }) => mean(days))
const { slack: exact, earliest } = await latestStarts(precedences(durations), { durations })
const { starts, end, criticalPath } = earliest
// Sixths of days are rounded.
const slack = exact.map((days) => (Math.abs(days) < 1e-9 ? 0 : days))
console.log('job               takes  start  slack')
for (const [job, { name }] of jobs.entries()) {
  const cells = [name.padEnd(16), day(durations[job]), day(starts[job]), day(slack[job])]
  console.log(`${cells.join('  ')}  ${bar(starts[job], durations[job], slack[job])}`)
}
console.log(`\nThe house takes ${end.toFixed(1)} days. The jobs that decide this:`)
console.log(criticalPath.map((job) => jobs[job].name).join(' → '))

const deviation = Math.sqrt(criticalPath.reduce((sum, job) => sum + variance(jobs[job].days), 0))
console.log(
  `\nThe days of these jobs vary by ${deviation.toFixed(1)} together (standard deviation), so it is done`,
)
for (const probability of [0.5, 0.9, 0.99]) {
  let days = end
  while (normal((days - end) / deviation) < probability) days += 0.1
  console.log(`  within ${day(days)} days with a probability of ${100 * probability} %`)
}
if (values.output) await writeFile(values.output, draw(starts, durations, slack, end))
