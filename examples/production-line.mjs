/**
 * Analyses a production line. Parts are sawn and drilled, frames are painted, both are assembled on a pallet
 * and packed, and the pallet comes back. The program computes the parts per hour, the bottleneck, and the
 * number of parts until the schedule is periodic.
 *
 *   node examples/production-line.mjs                   with two pallets
 *   node examples/production-line.mjs --pallets 3       with another number of them
 *   node examples/production-line.mjs -o line.svg       and the chart as a picture: strong if no pause follows
 *
 * x(k) are the times at which the machines begin the k-th part. Machines wait for each other, by A0, and for
 * the previous part, by A1: x(k) = A0 ⊗ x(k) ⊕ A1 ⊗ x(k − 1) in max-plus. The solution is x(k) = A ⊗ x(k − 1)
 * with A = A0* ⊗ A1. The line is fictional.
 */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { EPSILON, matrix, mpmm } from 'mpmml'
import { maximumCycleMean, periodicRegime, star, trajectory } from 'mpmml/algebra'
import { line, picture, text } from './drawing.mjs'

/** Minutes per part, and the machines whose parts each machine needs. */
const machines = [
  { name: 'saw', takes: 3, after: [] },
  { name: 'drill', takes: 5, after: ['saw'] },
  { name: 'paint', takes: 4, after: [] },
  { name: 'assemble', takes: 6, after: ['drill', 'paint'] },
  { name: 'pack', takes: 2, after: ['assemble'] },
]
/** Minutes that a pallet takes from packing back to assembly. */
const WAY_BACK = 5
/** Number of parts in the chart. */
const PARTS = 6

const indexOf = (name) => machines.findIndex((machine) => machine.name === name)
const [assemble, pack] = [indexOf('assemble'), indexOf('pack')]

function square(size, entries) {
  const data = new Int32Array(size * size).fill(EPSILON)
  for (const [i, j, minutes] of entries) data[i * size + j] = Math.max(data[i * size + j], minutes)
  return matrix(size, size, data)
}

/** Returns A0*: the least delay between the starts of machines j and i on one part. */
async function withinPart(size) {
  const entries = machines.flatMap(({ after }, i) =>
    after.map((name) => [i, indexOf(name), machines[indexOf(name)].takes]),
  )
  return (await star(square(size, entries))).c
}

/** Returns A1: the least delay between machine j's start on one part and machine i's start on the next. */
function betweenParts(size, pallets) {
  const entries = machines.flatMap(({ takes, after }, i) => [
    [i, i, takes],
    // A part leaves its machine only when the next machine starts on it, because there are no buffers.
    ...after.map((name) => [indexOf(name), i, 0]),
  ])
  // The k-th part uses the pallet of part k − pallets. Additional entries of x store the packing times of
  // earlier parts.
  const remembered = Array.from({ length: pallets - 1 }, (_, at) => machines.length + at)
  const chain = [pack, ...remembered, assemble]
  for (const [at, i] of chain.slice(1).entries()) {
    entries.push([i, chain[at], at === 0 ? machines[pack].takes + WAY_BACK : 0])
  }
  return square(size, entries)
}

const counted = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`

/** Returns a text chart with a row per machine and a column per minute, with the number of the part. */
function chart(starts) {
  const end = starts.at(-1)[pack] + machines[pack].takes
  return machines.map(({ name, takes }, i) => {
    const row = Array(end).fill('·')
    for (const [part, times] of starts.entries()) row.fill(String(part + 1), times[i], times[i] + takes)
    return `${name.padEnd(8)}  ${row.join('')}`
  })
}

/**
 * Draws a row per machine over minutes, with a bar per part. A bar is strong if the next part follows without
 * a pause.
 */
function draw(starts) {
  const [left, right, top, pitch] = [100, 860, 50, 40]
  const end = starts.at(-1)[pack] + machines[pack].takes
  const x = (minutes) => left + ((right - left) * minutes) / end
  const bottom = top + pitch * machines.length
  const parts = []
  for (let minutes = 0; minutes <= end; minutes += 10) {
    parts.push(line(x(minutes), top - 14, x(minutes), bottom, { faint: true }))
    parts.push(text(x(minutes), top - 20, minutes, { anchor: 'middle' }))
  }
  for (const [i, { name, takes }] of machines.entries()) {
    const y = top + pitch * (i + 0.5)
    parts.push(text(left - 10, y + 4, name, { anchor: 'end' }))
    for (const [part, times] of starts.entries()) {
      const finish = times[i] + takes
      parts.push(line(x(times[i]), y, x(finish), y, { strong: starts[part + 1]?.[i] === finish }))
      parts.push(text(x(times[i]), y - 6, part + 1, { size: 11 }))
    }
  }
  return picture(900, bottom + 20, 'When each machine works on which part, in minutes', parts)
}

const { values } = parseArgs({
  options: { pallets: { type: 'string', default: '2' }, output: { type: 'string', short: 'o' } },
})
const pallets = Number(values.pallets)
if (!(Number.isInteger(pallets) && pallets >= 1 && pallets <= 100)) {
  throw new RangeError(`--pallets must be a whole number from 1 to 100, but it is ${values.pallets}`)
}
const size = machines.length + pallets - 1
const within = await withinPart(size)
const { c: a } = await mpmm(within, betweenParts(size, pallets))

// For the first part machines wait only for each other.
const { c: first } = await mpmm(within, matrix(size, 1))
const { data } = await trajectory(a, first.data, { steps: PARTS - 1 })
const starts = Array.from({ length: PARTS }, (_, part) => data.subarray(part * size, (part + 1) * size))
console.log(chart(starts).join('\n'))

const { numerator, denominator, value } = await maximumCycleMean(a)
const fraction = denominator === 1 ? '' : ` (${numerator}/${denominator})`
const busiest = machines.reduce((most, machine) => (machine.takes > most.takes ? machine : most))
const reason =
  value > busiest.takes
    ? `the pallets hold it up: ${busiest.name}, the machine with the most work, needs only ${busiest.takes}`
    : `${busiest.name}, the machine with the most work, holds it up`
console.log(`
With ${counted(pallets, 'pallet')} there is a part every ${value} minutes${fraction}, ${(60 / value).toFixed(1)} per hour;
${reason}.`)

const { transient, period, growth } = await periodicRegime(a, first.data)
console.log(
  `From part ${transient + 1} on the line has its rhythm: ${counted(period, 'part')} in ${growth[pack]} minutes.`,
)
if (values.output) await writeFile(values.output, draw(starts))
