/** docs/thesis.md: a source file and one command for each algorithm and each exhibit of the thesis. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { exhibits } from '../../bench/report/thesis.js'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/thesis.md', root), 'utf8')

/** Returns the cells of the rows in a section whose first cell begins with `name`. */
const rowsOf = (heading: string, name: string) => {
  const [, section] = new RegExp(`^## ${heading}\n(.+?)^## `, 'ms').exec(page)!
  return [...section!.matchAll(/^\| (.+) \|$/gm)]
    .map(([, row]) => row!.split(' | '))
    .filter(([first]) => first!.startsWith(name))
}

const sourcesIn = (row: string[]) =>
  [...row.join(' ').matchAll(/`(native\/[^`]+)`/g)].map(([, file]) => file!)
const commandsIn = (row: string[]) =>
  [...row.join(' ').matchAll(/`npx mpmml ([^`]+)`/g)].map(([, line]) => line!)

describe('the thesis guide', () => {
  it('has a source file and a command for each of the five algorithms', () => {
    const rows = rowsOf('Algorithms', 'Algorithm ')
    expect(rows.map(([first]) => first!.slice(0, 11))).toEqual([1, 2, 3, 4, 5].map((n) => `Algorithm ${n}`))
    for (const row of rows) {
      expect(commandsIn(row)).toHaveLength(1)
      expect(sourcesIn(row)).toHaveLength(1)
    }
    // The source file of each algorithm contains the number of the algorithm.
    for (const [index, row] of rows.entries()) {
      const source = readFileSync(new URL(sourcesIn(row)[0]!, root), 'utf8')
      expect(source).toContain(`Algorithm ${index + 1}`)
    }
  })

  it('has one row with one command for each of the 19 exhibits', () => {
    expect(exhibits).toHaveLength(19)
    for (const name of exhibits) {
      const rows = rowsOf('Tables and figures', name).filter(([first]) => first === name)
      expect(rows, name).toHaveLength(1)
      const [command, ...more] = commandsIn(rows[0]!)
      expect(more).toEqual([])
      // Table 2.1 is calculated, so it needs no GPU.
      if (name === 'Table 2.1') expect(command).toBe('occupancy --registers 32,40 --threads 1024 --gpu sm_52')
      else expect(command).toBe(`report --only ${name.toLowerCase().replace(' ', '-')}`)
      expect(sourcesIn(rows[0]!)).toHaveLength(1)
    }
  })

  it('names only source files that exist', () => {
    const named = [...page.matchAll(/`((?:native|test|lib|bench)\/[^`]+\.\w+)`/g)].map(([, file]) => file!)
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((file) => !existsSync(new URL(file, root)))).toEqual([])
  })

  it('covers every drawing of the thesis', () => {
    for (const name of ['1.1', '3.1', '3.4', '3.7', '3.10', '3.11'])
      expect(page).toMatch(new RegExp(`Figures? ${name.replace('.', '\\.')}\\b`))
  })
})
