/** The example of a production line, run by the command in its first comment. */
import { expect, it } from 'vitest'
import { withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'
import { drawn, headOf, lines, run, strongLines } from './support.js'

const example = 'production-line.mjs'
const names = ['saw', 'drill', 'paint', 'assemble', 'pack'] as const
type Machine = (typeof names)[number]
const takes: Record<Machine, number> = { saw: 3, drill: 5, paint: 4, assemble: 6, pack: 2 }
const after: Record<Machine, Machine[]> = {
  saw: [],
  drill: ['saw'],
  paint: [],
  assemble: ['drill', 'paint'],
  pack: ['assemble'],
}

/** Returns the start times of each part on each machine, computed part by part. */
function simulate(pallets: number, parts: number): Record<Machine, number>[] {
  const starts: Record<Machine, number>[] = []
  for (let part = 0; part < parts; part++) {
    const times = {} as Record<Machine, number>
    for (const machine of names) {
      let time = 0
      for (const before of after[machine]) time = Math.max(time, times[before] + takes[before])
      const last = starts[part - 1]
      if (last) {
        time = Math.max(time, last[machine] + takes[machine])
        // The next machine must have taken the previous part before this machine can start.
        for (const next of names) if (after[next].includes(machine)) time = Math.max(time, last[next])
      }
      const pallet = starts[part - pallets]
      if (machine === 'assemble' && pallet) time = Math.max(time, pallet.pack + takes.pack + 5)
      times[machine] = time
    }
    starts.push(times)
  }
  return starts
}

describeUnless(withoutBuild, 'the production line', () => {
  it.each([1, 2, 3, 5])('has the throughput of %i pallets', async (pallets) => {
    const all = await lines(example, ['--pallets', String(pallets)])
    const starts = simulate(pallets, 200)
    for (const [at, machine] of names.entries()) {
      const row = all[at]!.slice(10)
      expect(all[at]!.slice(0, 10).trim()).toBe(machine)
      for (let part = 0; part < 6; part++) {
        const first = starts[part]![machine]
        const digits = [...row].flatMap((cell, minute) => (cell === String(part + 1) ? [minute] : []))
        expect(digits, `${machine} ${part}`).toEqual(
          Array.from({ length: takes[machine] }, (_, i) => first + i),
        )
      }
    }
    const text = all.join('\n')
    const minutes = (starts[199]!.pack - starts[99]!.pack) / 100
    expect(text).toContain(`a part every ${minutes} minutes`)
    expect(text).toContain(`${(60 / minutes).toFixed(1)} per hour`)
    expect(text).toContain(minutes > 6 ? 'the pallets hold it up' : 'holds it up')
    const [, from, parts, growth] = /From part (\d+) on .*: (\d+) parts? in (\d+) minutes/
      .exec(text)!
      .map(Number)
    const repeats = (k: number) =>
      names.every((machine) => starts[k + parts!]![machine] - starts[k]![machine] === growth)
    for (let k = from! - 1; k < 100; k++) expect(repeats(k), `part ${k + 1}`).toBe(true)
    expect(growth! / parts!).toBe(minutes)
  })

  it.each([1, 2, 4])(
    'draws a bar for each part and machine of %i pallets, with a strong line if no pause follows',
    async (pallets) => {
      const picture = await drawn(example, ['--pallets', String(pallets)])
      const isBar = (line: Element) => line.getAttribute('y1') === line.getAttribute('y2')
      expect([...picture.querySelectorAll('line')].filter(isBar).length).toBe(6 * names.length)
      const starts = simulate(pallets, 6)
      const without = names.map(
        (machine) =>
          starts.filter((times, part) => starts[part + 1]?.[machine] === times[machine] + takes[machine])
            .length,
      )
      const rows = [
        ...new Set([...picture.querySelectorAll('line')].filter(isBar).map((bar) => bar.getAttribute('y1'))),
      ]
      const strong = strongLines(picture).map((bar) => bar.getAttribute('y1'))
      expect(rows.map((row) => strong.filter((y) => y === row).length)).toEqual(without)
    },
  )

  it('uses two pallets by default', async () => {
    expect(await lines(example)).toEqual(await lines(example, ['--pallets', '2']))
  })

  it.each(['0', '1.5', 'many', '101'])('rejects %s pallets', async (pallets) => {
    const { status, stderr } = await run(example, ['--pallets', pallets])
    expect(status).not.toBe(0)
    expect(stderr).toContain('--pallets must be a whole number')
  })

  it('lists its options', () => expect(headOf(example)).toMatch(/--pallets.*-o/s))
})
