/** mpmml timetable. Expected delays are computed by hand. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../support/folder.js'
import { fails, json, root, succeeds } from './support.js'

const path = useFolder()
const rail = join(root, 'examples', 'rail.csv')
const args = ['timetable', rail, '--period', '24', '--delay', 'AB=10']

describe('timetable', () => {
  it('prints the period, the critical circuit, slack and delays in names, and draws', async () => {
    const printed = await succeeds([...args, '--svg', path('d.svg')])
    expect(printed).toMatch(/^period +24; at least 20\.5, so 3\.5 to spare$/m)
    expect(printed).toMatch(/^critical +(CB → BC → CB|BC → CB → BC)$/m)
    expect(printed).toMatch(/^delay +AB by 10; gone by round 4$/m)
    expect(printed).toMatch(/^AB +BA +3 +18$/m)
    expect(printed).toMatch(/^1 +BC +10 +AB$/m)
    const svg = readFileSync(path('d.svg'), 'utf8')
    expect(svg).toContain('Delays of 4 departures in 4 rounds: gone by round 4')
    expect(svg).toContain('BC in round 3: 3 late, because of CB')
  })

  it('prints the result of the function as JSON', async () => {
    const { leastPeriod, late, goneBy, departures } = await json(args)
    expect([leastPeriod, goneBy, departures.length]).toEqual([20.5, 4, 4])
    expect(late[0]).toEqual({ round: 0, departure: 'AB', delay: 10, because: null })
  })

  it('prints recovery times between all departures', async () => {
    // The slacks equal those of `delay`: 18 for AB by BA, 7 for BC by CB, 9 for BA by CB. Other connections
    // have none.
    const printed = await succeeds([...args, '--recovery'])
    expect(printed).toMatch(/^stable +if each connection takes at most 3\.5 longer$/m)
    expect(printed).toMatch(/^AB +0 +18 +0 +0$/m)
    const { recovery, stabilityMargin } = await json([...args, '--recovery'])
    expect(stabilityMargin).toBe(3.5)
    expect(recovery).toEqual([
      [18, 18, 18, 18],
      [0, 18, 0, 0],
      [9, 27, 7, 7],
      [9, 27, 0, 7],
    ])
    expect(await json(args)).not.toHaveProperty('recovery')
  })

  it('rejects short periods and unknown departures', async () => {
    expect(await fails(['timetable', rail, '--period', '20', '--delay', 'AB=10'])).toContain('at least 20.5')
    expect(await fails(['timetable', rail, '--period', '24', '--delay', 'XY=10'])).toContain("'XY'")
    expect(await fails(['timetable', rail, '--period', '24', '--delay', 'AB'], 2)).toContain('DEPARTURE=TIME')
  })
})
