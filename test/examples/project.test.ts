/**
 * The example of a project, run by the command in its first comment. Expected dates are counted on a
 * calendar.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DOMParser } from 'linkedom'
import { expect, it } from 'vitest'
import { withoutBuild } from '../support/child.js'
import { describeUnless } from '../support/skip.js'
import { headOf, lines } from './support.js'

const example = 'project.mjs'

describeUnless(withoutBuild, 'the project', () => {
  it('prints dates and slack of each job, and the critical path', async () => {
    const all = await lines(example)
    // Plans take 10 working days from Monday, 2 March. A lag has 5 days. Good Friday and Easter Monday are
    // holidays.
    expect(all[0]).toBe('plans             2026-03-02 to 2026-03-13, slack 0')
    expect(all[1]).toBe('foundation        2026-03-23 to 2026-04-01, slack 0')
    expect(all[3]).toBe('walls             2026-04-02 to 2026-04-22, slack 0')
    expect(all.at(-1)).toBe(
      'Done on 2026-05-27. What decides it: plans → foundation → walls → roof → wires and pipes → plaster → floors → garden → moved in',
    )
  })

  it('draws a bar for each job, filled if the job is critical', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mpmml-example-'))
    try {
      await lines(example, ['-o', join(folder, 'picture.svg')])
      const text = readFileSync(join(folder, 'picture.svg'), 'utf8')
      expect(text).not.toMatch(/NaN|undefined/)
      const picture = new DOMParser().parseFromString(text, 'image/svg+xml')
      const labels = [...picture.querySelectorAll('text')].map(({ textContent }) => textContent)
      expect(labels).toEqual(expect.arrayContaining(['plans', 'windows ordered', '2026-03-02']))
      // The legend contains one of the three bars.
      expect(picture.querySelectorAll('rect.bar')).toHaveLength(3)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('lists its options', () => expect(headOf(example)).toContain('-o project.svg'))
})
