/** The example of a project, run as its first lines say. */
import { describe, expect, it } from 'vitest'
import { built, drawn, headOf, lines, named, strongLines } from './support.js'

const example = 'project.mjs'

/** The house, typed again: best, usual and worst days, and what a job waits for. */
const jobs: Record<string, [days: [number, number, number], after: string[]]> = {
  plans: [[8, 10, 18], []],
  foundation: [[6, 8, 10], ['plans']],
  'windows ordered': [[20, 22, 36], ['plans']],
  walls: [[10, 12, 20], ['foundation']],
  roof: [[5, 6, 7], ['walls']],
  'windows built in': [
    [2, 3, 4],
    ['walls', 'windows ordered'],
  ],
  'wires and pipes': [[7, 10, 13], ['roof']],
  plaster: [
    [4, 5, 6],
    ['wires and pipes', 'windows built in'],
  ],
  floors: [[5, 8, 11], ['plaster']],
  garden: [[3, 6, 15], ['walls']],
}
const takes = (name: string) => {
  const [best, usual, worst] = jobs[name]![0]
  return (best + 4 * usual + worst) / 6
}
/** By recursion: as soon as the last of those before is done. */
const start = (name: string): number =>
  Math.max(0, ...jobs[name]![1].map((before) => start(before) + takes(before)))
const end = Math.max(...Object.keys(jobs).map((name) => start(name) + takes(name)))
/** And as late as the first of those after allows. */
const latest = (name: string): number =>
  Math.min(
    end,
    ...Object.keys(jobs)
      .filter((other) => jobs[other]![1].includes(name))
      .map(latest),
  ) - takes(name)

describe.skipIf(!built)(named('the project'), () => {
  it('has earliest starts, slacks and bars', async () => {
    const [head, ...rows] = await lines(example)
    expect(head).toBe('job               takes  start  slack')
    for (const [at, name] of Object.keys(jobs).entries()) {
      const row = rows[at]!
      const numbers = /^(.{16}) +([\d.]+) +([\d.]+) +([\d.]+) {2}( *)([█─]+)(·*)$/.exec(row)!
      const slack = latest(name) - start(name)
      expect(numbers[1]!.trim()).toBe(name)
      expect(numbers.slice(2, 5).map(Number), row).toEqual(
        [takes(name), start(name), slack].map((days) => Number(days.toFixed(1))),
      )
      const cells = numbers.slice(5).map((part) => part.length)
      expect(cells, row).toEqual([
        Math.round(start(name)),
        Math.round(start(name) + takes(name)) - Math.round(start(name)),
        Math.round(latest(name) + takes(name)) - Math.round(start(name) + takes(name)),
      ])
      expect(numbers[6]![0]).toBe(slack > 1e-9 ? '─' : '█')
    }
  })

  it('has the critical jobs, and how sure the end is', async () => {
    const all = (await lines(example)).join('\n')
    expect(all).toContain(`The house takes ${end.toFixed(1)} days.`)
    const critical = /^(plans → .+)$/m.exec(all)![1]!.split(' → ')
    for (const [at, name] of critical.entries()) {
      expect(latest(name)).toBeCloseTo(start(name), 9)
      const next = critical[at + 1]
      if (next) expect(jobs[next]![1]).toContain(name)
    }
    expect(start(critical.at(-1)!) + takes(critical.at(-1)!)).toBe(end)
    const deviation = Math.sqrt(
      critical.reduce((sum, name) => sum + ((jobs[name]![0][2] - jobs[name]![0][0]) / 6) ** 2, 0),
    )
    // Quantiles of the normal distribution, from a table.
    for (const [percent, z] of [
      [50, 0],
      [90, 1.2816],
      [99, 2.3263],
    ] as const) {
      const days = Number(
        new RegExp(`within +([\\d.]+) days with a probability of ${percent} %`).exec(all)![1],
      )
      expect(Math.abs(days - (end + z * deviation)), `${percent} %`).toBeLessThan(0.2)
    }
  })

  it('is drawn as bars, the critical ones strong', async () => {
    const picture = await drawn(example)
    const labels = [...picture.querySelectorAll('text')].map(({ textContent }) => textContent)
    expect(labels).toEqual(expect.arrayContaining(Object.keys(jobs)))
    const critical = Object.keys(jobs).filter((name) => latest(name) - start(name) < 1e-9)
    expect(strongLines(picture)).toHaveLength(critical.length)
  })

  it('names its options', () => expect(headOf(example)).toContain('-o project.svg'))
})
