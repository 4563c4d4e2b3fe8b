/** mpmml schedule. Expected times are computed by hand. */
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../support/folder.js'
import { fails, json, mpmml, succeeds } from './support.js'

const path = useFolder()

function write(name: string, content: string): string {
  writeFileSync(path(name), content)
  return path(name)
}

const plan = () =>
  write(
    'plan.csv',
    '\ufeffID;Task;Duration (d);Predecessors;Who\n1;Design;5,5;;Ann\n2;Tooling;8;1FS+2d;Bob\n3;Docs;2;1;Cid\n4;Release;0;"2;3";\n',
  )

describe('schedule', () => {
  it('prints the end, the critical path and a row for each job', async () => {
    const printed = await succeeds(['schedule', plan()])
    expect(printed).toMatch(/^plan +4 jobs {2}.*plan\.csv$/m)
    expect(printed).toMatch(/^end +15\.5 days$/m)
    expect(printed).toMatch(/^critical +Design → Tooling → Release$/m)
    expect(printed).toMatch(/^3 +Docs +2 +5\.5 +7\.5 +13\.5 +15\.5 +8 +8$/m)
    expect(printed).toMatch(/^2 +Tooling +8 .* critical$/m)
  })

  it('prints the result of the function as JSON', async () => {
    const found = await json(['schedule', plan()])
    expect(Object.keys(found)).toEqual(['end', 'criticalPath', 'jobs'])
    expect(found).toMatchObject({ end: 15.5, criticalPath: ['1', '2', '4'] })
    expect(found.jobs[2]).toEqual({
      id: '3',
      name: 'Docs',
      duration: 2,
      earliestStart: 5.5,
      earliestFinish: 7.5,
      latestStart: 13.5,
      latestFinish: 15.5,
      totalSlack: 8,
      freeFloat: 8,
      critical: false,
    })
  })

  it('changes jobs with --set, and shows the effect', async () => {
    const args = [
      'schedule',
      plan(),
      '--set',
      '2.duration=9',
      '--set',
      '3.not-before=1w',
      '--set',
      '4.deadline=16',
    ]
    const printed = await succeeds(args)
    expect(printed).toMatch(/^end +16\.5 days; 15\.5 without the changes$/m)
    expect(printed).toMatch(/^moved +Tooling \+1, Release \+1$/m)
    expect(printed).toMatch(/^late +Design by 0\.5, Tooling by 0\.5, Release by 0\.5$/m)
    const found = await json(args)
    expect(found).toMatchObject({ end: 16.5, endBefore: 15.5 })
    expect(found.moved.map(({ id }: { id: string }) => id)).toEqual(['2', '4'])
  })

  it('prints dates with --start, --weekdays and --holidays', async () => {
    const args = [
      'schedule',
      plan(),
      '--start',
      '2026-01-05',
      '--weekdays',
      'mon-sat',
      '--holidays',
      '2026-01-06',
    ]
    const { dates, jobs } = await json(args)
    expect(dates).toMatchObject({ start: '2026-01-05', end: '2026-01-23' })
    expect(jobs[0].dates.earliestFinish).toBe('2026-01-12')
    expect(await succeeds(args)).toMatch(/^1 +Design +5\.5 +2026-01-05 +2026-01-12 /m)
  })

  it('draws with --svg and --network', async () => {
    const printed = await succeeds([
      'schedule',
      plan(),
      '--svg',
      path('p.svg'),
      '--network',
      path('n.svg'),
      '--arrows',
    ])
    expect(printed).toMatch(/^chart +.*p\.svg$/m)
    expect(readFileSync(path('p.svg'), 'utf8')).toMatch(/^<svg .*Gantt chart of 4 jobs/)
    expect(readFileSync(path('n.svg'), 'utf8')).toMatch(/^<svg .*Network of 4 jobs/)
  })

  it('reads other tables with --columns, --keep and --unit', async () => {
    const file = write('other.csv', 'Key,Netto,Wer\nA,3,Ann\n')
    const { jobs } = await json([
      'schedule',
      file,
      '--columns',
      'duration=Netto',
      '--keep',
      'Wer',
      '--unit',
      'hours',
    ])
    expect(jobs[0]).toMatchObject({ id: 'A', duration: 3, columns: { Wer: 'Ann' } })
  })

  it('notes that no job waits for another one', async () => {
    const { stderr, status } = await mpmml(['schedule', write('alone.csv', 'id,days,vorher\n1,3,\n2,4,1\n')])
    expect(stderr).toMatch(/no job of .*alone\.csv waits for another one: --columns/)
    expect(status).toBe(0)
  })

  it('reads standard input', async () => {
    expect(await succeeds(['schedule', '-'], { input: 'id,days\n1,3\n' })).toMatch(/^end +3 days$/m)
  })

  it('names the jobs of a cycle, and the line of a wrong predecessor', async () => {
    const circle = write('circle.csv', 'id,task,days,after\n1,Design,1,2\n2,Testing,1,1\n')
    expect(await fails(['schedule', circle])).toContain('Design waits for Testing, which waits for Design')
    const wrong = await fails(['schedule', write('wrong.csv', 'id,days,after\n1,1,7\n')])
    expect(wrong).toMatch(/wrong\.csv, line 2: .*'7' is none/)
  })

  it.each([
    ['--set', 'duration=3'],
    ['--set', '1.days=3'],
    ['--set', '1.constructor=3'],
    ['--weekdays', 'monday-fry'],
    ['--columns', 'weight=Netto'],
    ['--hours-per-day', '0'],
  ])('reports wrong usage for %s %s', async (option, value) => {
    expect(await fails(['schedule', plan(), option, value], 2)).toContain('It must be')
  })
})
