/** mpmml timetable. Expected delays are computed by hand. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fails, json, root, succeeds, useFolder } from './support.js'

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

  it('--json prints what the function returns', async () => {
    const { leastPeriod, late, goneBy, departures } = await json(args)
    expect([leastPeriod, goneBy, departures.length]).toEqual([20.5, 4, 4])
    expect(late[0]).toEqual({ round: 0, departure: 'AB', delay: 10, because: null })
  })

  it('refuses short periods and unknown departures', async () => {
    expect(await fails(['timetable', rail, '--period', '20', '--delay', 'AB=10'])).toContain('at least 20.5')
    expect(await fails(['timetable', rail, '--period', '24', '--delay', 'XY=10'])).toContain("'XY'")
    expect(await fails(['timetable', rail, '--period', '24', '--delay', 'AB'], 2)).toContain('DEPARTURE=TIME')
  })
})
