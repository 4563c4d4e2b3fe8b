/** The example of a timetable, run by the command in its first comment. */
import { expect, it } from 'vitest'
import { withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'
import { drawn, headOf, lines, strongLines } from './support.js'

const example = 'timetable.mjs'

/**
 * Copy of the example's railway: the travel times of trains in minutes, then the connections between
 * departures.
 */
const takes: Record<string, number> = {
  'Harbour–Mill': 33,
  'Mill–Harbour': 33,
  'Mill–Castle': 35,
  'Castle–Mill': 36,
  'Castle–Lake': 22,
  'Lake–Castle': 23,
}
const waits: [before: string, after: string, minutes: number][] = [
  ['Mill–Harbour', 'Harbour–Mill', 4],
  ['Harbour–Mill', 'Mill–Harbour', 4],
  ['Castle–Mill', 'Mill–Castle', 4],
  ['Mill–Castle', 'Castle–Mill', 4],
  ['Lake–Castle', 'Castle–Lake', 5],
  ['Castle–Lake', 'Lake–Castle', 5],
  ['Harbour–Mill', 'Mill–Castle', 8],
  ['Castle–Mill', 'Mill–Harbour', 8],
  ['Mill–Castle', 'Castle–Lake', 6],
  ['Lake–Castle', 'Castle–Mill', 6],
]

/** Returns the greatest mean of all circuits, found by enumerating every path of at most six steps. */
function greatestMean(): { mean: number; circuit: string[] } {
  let best = { mean: 0, circuit: [] as string[] }
  const follow = (path: string[], minutes: number) => {
    for (const [before, after, wait] of waits) {
      if (before !== path.at(-1)) continue
      const sum = minutes + takes[before]! + wait
      if (after === path[0]) {
        if (sum / path.length > best.mean) best = { mean: sum / path.length, circuit: path }
      } else if (!path.includes(after)) follow([...path, after], sum)
    }
  }
  for (const departure of Object.keys(takes)) follow([departure], 0)
  return best
}

/** "1:02:30" → 62.5 */
const minutesOf = (text: string) =>
  text.split(':').reduce((total, part, at) => total + Number(part) * [60, 1, 1 / 60][at]!, 0)

describeUnless(withoutBuild, 'the timetable', () => {
  it('prints the cycle time and the critical circuit', async () => {
    const [first, second] = await lines(example)
    const { mean, circuit } = greatestMean()
    expect(mean).toBe(40.25)
    expect(first).toBe('Trains can leave every 0:40:15: 161/4 minutes, and no sooner.')
    const shown = second!.replace('What decides it: ', '').split(' → ')
    expect(shown.at(-1)).toBe(shown[0])
    const start = shown.indexOf(circuit[0]!)
    expect([...shown.slice(start, -1), ...shown.slice(0, start)]).toEqual(circuit)
  })

  it('schedules each departure after its connections, and prints the slack', async () => {
    const all = await lines(example)
    const times = new Map<string, number>()
    const start = all.findIndex((line) => /^departure +first at$/.test(line))
    for (const line of all.slice(start + 1, start + 7)) {
      const [, name, at] = /^(\S+) +(\d+:\d\d:\d\d)/.exec(line)!
      times.set(name!, minutesOf(at!))
    }
    expect([...times.keys()].sort()).toEqual(Object.keys(takes).sort())
    const table = all.findIndex((line) => line.startsWith('waits for'))
    const rows = all.slice(table + 1, table + 1 + waits.length)
    const { mean, circuit } = greatestMean()
    for (const row of rows) {
      const [, before, after, , spare] = /^(\S+) +(\S+) +(same train|passengers) +(\d+:\d\d:\d\d)$/.exec(row)!
      const wait = waits.find(([a, b]) => a === before && b === after)!
      const expected = times.get(after!)! + mean - times.get(before!)! - takes[before!]! - wait[2]
      expect(minutesOf(spare!), row).toBeCloseTo(expected, 3)
      const at = circuit.indexOf(before!)
      if (at >= 0 && circuit[(at + 1) % circuit.length] === after) expect(expected).toBeCloseTo(0, 3)
    }
  })

  it('prints the duration of a delay', async () => {
    const all = (await lines(example)).join('\n')
    expect(all).toMatch(/A timetable for every 45 minutes has 0:04:45 to spare/)
    const [, late, minutes, periods] =
      /if (\S+) leaves (\d+) minutes late, all trains are on time again after (\d+) periods/.exec(all)!
    // Computes delays by a loop over the departures, starting from the times of the table.
    const times = new Map(
      [...all.matchAll(/^(\S+–\S+) +(\d+:\d\d:\d\d)(?: {2}critical)?$/gm)].map(([, name, at]) => [
        name!,
        minutesOf(at!),
      ]),
    )
    let delays = new Map([[late!, Number(minutes)]])
    let count = 0
    for (; delays.size > 0; count++) {
      const next = new Map<string, number>()
      for (const [before, after, wait] of waits) {
        const arrival = times.get(before)! + (delays.get(before) ?? 0) + takes[before]! + wait
        const delay = arrival - (times.get(after)! + 45)
        if (delay > 1e-9) next.set(after, Math.max(next.get(after) ?? 0, delay))
      }
      delays = next
    }
    expect(Number(periods)).toBe(count)
  })

  it('draws trains over time', async () => {
    const picture = await drawn(example)
    expect(picture.querySelector('title')!.textContent).toContain('Trains')
    expect(strongLines(picture).length).toBeGreaterThan(8)
    const labels = [...picture.querySelectorAll('text')].map(({ textContent }) => textContent)
    for (const station of ['Harbour', 'Mill', 'Castle', 'Lake']) expect(labels).toContain(station)
  })

  it('lists its options', () => expect(headOf(example)).toContain('-o timetable.svg'))
})
