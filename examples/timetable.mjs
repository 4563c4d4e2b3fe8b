/**
 * A railway timetable. On a line from the Harbour by Mill and Castle to the Lake three shuttles run, and
 * passengers change between them. The program computes the least period, the critical circuit, the slack of
 * departures, and the duration of a delay. A[j, i] is the least number of minutes between departure i and
 * departure j of the next period. The departures of the next period are x(k + 1) = A ⊗ x(k) in max-plus.
 *
 *   node examples/timetable.mjs                          the answers
 *   node examples/timetable.mjs -o timetable.svg         and a picture: stations over time
 *
 * The railway is fictional. The model follows B. Heidergott, G. J. Olsder and J. van der Woude, Max Plus at
 * Work, chapter 8.
 */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { EPSILON, matrix, mpmm } from 'mpmml'
import { eigenvectors, maximumCycleMean } from 'mpmml/algebra'
import { line, picture, text } from './drawing.mjs'

const stations = ['Harbour', 'Mill', 'Castle', 'Lake']

/** Departures: start and end station, and the travel time in minutes. */
const departures = [
  { from: 0, to: 1, takes: 33 },
  { from: 1, to: 0, takes: 33 },
  { from: 1, to: 2, takes: 35 },
  { from: 2, to: 1, takes: 36 },
  { from: 2, to: 3, takes: 22 },
  { from: 3, to: 2, takes: 23 },
]

/** Waiting conditions of departures: the returning train, and connecting passengers. Minutes after the arrival. */
const waits = [
  { for: 1, departure: 0, minutes: 4, why: 'same train' },
  { for: 0, departure: 1, minutes: 4, why: 'same train' },
  { for: 3, departure: 2, minutes: 4, why: 'same train' },
  { for: 2, departure: 3, minutes: 4, why: 'same train' },
  { for: 5, departure: 4, minutes: 5, why: 'same train' },
  { for: 4, departure: 5, minutes: 5, why: 'same train' },
  { for: 0, departure: 2, minutes: 8, why: 'passengers' },
  { for: 3, departure: 1, minutes: 8, why: 'passengers' },
  { for: 2, departure: 4, minutes: 6, why: 'passengers' },
  { for: 5, departure: 3, minutes: 6, why: 'passengers' },
]

const name = ({ from, to }) => `${stations[from]}–${stations[to]}`
const minutesOf = (wait) => departures[wait.for].takes + wait.minutes

/** Formats minutes as a time: 41.25 is "0:41:15". */
function clock(minutes) {
  const seconds = Math.round(60 * minutes)
  const two = (value) => String(value).padStart(2, '0')
  return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}

function precedence() {
  const n = departures.length
  const data = new Int32Array(n * n).fill(EPSILON)
  for (const wait of waits) data[wait.departure * n + wait.for] = minutesOf(wait)
  return matrix(n, n, data)
}

/** Number of periods until a late departure makes no other one late; Infinity if that never happens. */
async function periodsOfDelay(a, times, period, late, minutes) {
  const column = (shift) =>
    matrix(
      times.length,
      1,
      Float64Array.from(times, (time, i) => time + shift(i)),
    )
  const float = matrix(
    ...a.shape,
    Float64Array.from(a.data, (value) => (value === EPSILON ? -Infinity : value)),
  )
  let x = column((i) => (i === late ? minutes : 0))
  for (let k = 1; k <= 100; k++) {
    // Trains don't leave before their planned departure.
    const planned = column(() => k * period)
    x = (await mpmm(float, x, { accumulate: planned })).c
    if (x.data.every((time, i) => time === planned.data[i])) return k
  }
  return Infinity
}

/** Draws stations over time with a line per train. Lines of the critical circuit are strong. */
function draw(times, period, critical) {
  const [left, right, top, pitch, hours] = [90, 860, 50, 90, 3]
  const x = (minutes) => left + ((right - left) * minutes) / (60 * hours)
  const y = (station) => top + pitch * station
  const parts = [
    text(left, 24, `Departures every ${clock(period)}; the strong ones decide this`, { weight: 'bold' }),
  ]
  for (const [station, label] of stations.entries()) {
    parts.push(line(left, y(station), right, y(station), { faint: true }))
    parts.push(text(left - 10, y(station) + 4, label, { anchor: 'end' }))
  }
  for (let hour = 0; hour <= hours; hour++) {
    parts.push(line(x(60 * hour), y(0), x(60 * hour), y(3), { faint: true }))
    parts.push(text(x(60 * hour), y(3) + 22, `${hour}:00`, { anchor: 'middle' }))
  }
  for (const [i, { from, to, takes }] of departures.entries()) {
    for (let at = times[i]; at + takes <= 60 * hours; at += period) {
      parts.push(line(x(at), y(from), x(at + takes), y(to), { strong: critical.includes(i) }))
    }
  }
  return picture(900, y(3) + 40, 'Trains between Harbour and Lake', parts)
}

const { values } = parseArgs({ options: { output: { type: 'string', short: 'o' } } })
const a = precedence()
const { numerator, denominator, value: period, cycle } = await maximumCycleMean(a)
// The cycle follows the edges of A, from each departure to the departure that it waits for. Trains run in the
// opposite direction.
const critical = cycle.toReversed()
console.log(`Trains can leave every ${clock(period)}: ${numerator}/${denominator} minutes, and no sooner.`)
console.log(`What decides it: ${[...critical, critical[0]].map((i) => name(departures[i])).join(' → ')}`)

const { vectors } = await eigenvectors(a)
const least = Math.min(...vectors[0].values)
const times = Array.from(vectors[0].values, (time) => time - least)
console.log('\ndeparture       first at')
for (const [i, departure] of departures.entries()) {
  console.log(`${name(departure).padEnd(14)}  ${clock(times[i])}${critical.includes(i) ? '  critical' : ''}`)
}

console.log('\nwaits for       departure       because of  to spare')
for (const wait of waits) {
  const spare = times[wait.departure] + period - times[wait.for] - minutesOf(wait)
  const cells = [name(departures[wait.for]).padEnd(14), name(departures[wait.departure]).padEnd(14), wait.why]
  console.log(`${cells.join('  ')}   ${clock(spare)}`)
}

const planned = 45
const [late, minutes] = [critical[0], 12]
const periods = await periodsOfDelay(a, times, planned, late, minutes)
console.log(
  `\nA timetable for every ${planned} minutes has ${clock(planned - period)} to spare on each step of the critical circuit:\n` +
    `if ${name(departures[late])} leaves ${minutes} minutes late, all trains are on time again after ${periods} periods.`,
)
if (values.output) await writeFile(values.output, draw(times, period, critical))
