/** The example of widest paths, run by the command in its first comment. */
import { expect, it } from 'vitest'
import { withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'
import { drawn, headOf, lines, run, strongLines } from './support.js'

const example = 'widest-paths.mjs'
const links: [string, string, number][] = [
  ['Dock', 'Yard', 40],
  ['Dock', 'Mill', 100],
  ['Yard', 'Hall', 100],
  ['Mill', 'Hall', 40],
  ['Mill', 'Park', 10],
  ['Yard', 'Gate', 25],
  ['Hall', 'Gate', 10],
  ['Hall', 'Park', 100],
  ['Gate', 'Tower', 100],
  ['Park', 'Tower', 25],
  ['Park', 'Gate', 40],
]
const widthOf = (a: string, b: string) =>
  links.find(([p, q]) => (p === a && q === b) || (p === b && q === a))?.[2] ?? 0

/**
 * Returns the width of the widest path: the greatest width whose links of at least that width connect both
 * ends.
 */
function widest(from: string, to: string): number {
  const widths = [...new Set(links.map(([, , width]) => width))].sort((a, b) => b - a)
  return widths.find((least) => {
    const reached = new Set([from])
    for (const _ of links) {
      for (const [a, b, width] of links) {
        if (width < least) continue
        if (reached.has(a)) reached.add(b)
        if (reached.has(b)) reached.add(a)
      }
    }
    return reached.has(to)
  })!
}

describeUnless(withoutBuild, 'widest paths', () => {
  it('have the greatest width between all places', async () => {
    const [head, ...rows] = await lines(example)
    expect(head).toBe('from   to     Gbit/s  path')
    expect(rows).toHaveLength(7 * 6)
    for (const row of rows) {
      const [from, to, width, path] = /^(\w+) +(\w+) +(\d+) {2}(.+)$/.exec(row)!.slice(1)
      const places = path!.split(' → ')
      expect([places[0], places.at(-1)]).toEqual([from, to])
      const narrowest = Math.min(...places.slice(1).map((place, at) => widthOf(places[at]!, place)))
      expect([Number(width), narrowest], row).toEqual([widest(from!, to!), widest(from!, to!)])
    }
  })

  it('are printed and drawn between two places', async () => {
    const args = ['--from', 'Dock', '--to', 'Tower']
    expect((await lines(example, args)).slice(1)).toHaveLength(1)
    const picture = await drawn(example, args)
    expect(picture.querySelectorAll('circle')).toHaveLength(7)
    expect(picture.querySelectorAll('line')).toHaveLength(links.length)
    const [row] = (await lines(example, args)).slice(1)
    expect(strongLines(picture)).toHaveLength(row!.split('→').length - 1)
  })

  it('are rejected for unknown places', async () => {
    const { status, stderr } = await run(example, ['--from', 'Moon'])
    expect(status).not.toBe(0)
    expect(stderr).toContain('there is no place Moon')
  })

  it('are computed by a program that lists its options', () => {
    for (const option of ['--from', '--to', '-o']) expect(headOf(example)).toContain(option)
  })
})
