/** Schedules of plans, compared with a scheduler by definition and with published examples. */
import { describe, expect, it } from 'vitest'
import { ArgumentError, CycleError, OverflowError } from '../../lib/index.js'
import { type JobChange, parsePlan, prepareSchedule, type Schedule, schedule } from '../../lib/schedule.js'
import { Random } from '../support/generators.js'
import {
  isCriticalPath,
  type Kind,
  type OracleJob,
  scheduleByDefinition,
} from '../support/schedule-oracle.js'

const kinds: readonly Kind[] = ['FS', 'SS', 'FF', 'SF']

/** Returns the oracle's jobs as records for the library, with times in quarters of the unit. */
const recordsOf = (jobs: readonly OracleJob[]) =>
  jobs.map(({ duration, links, notBefore, deadline }, id) => ({
    id: `J${id}`,
    duration: duration / 4,
    predecessors: links.map(([first, type, lag]) => ({ id: `J${first}`, type, lag: lag / 4 })),
    ...(notBefore !== undefined && { notBefore: notBefore / 4 }),
    ...(deadline !== undefined && { deadline: deadline / 4 }),
  }))

function randomJobs(random: Random, count: number, isCircular: boolean): OracleJob[] {
  const jobs: OracleJob[] = []
  for (let job = 0; job < count; job++) {
    const links: OracleJob['links'] = []
    for (let link = random.integer(0, 3); link > 0; link--) {
      const first = isCircular ? random.integer(0, count - 1) : random.integer(0, job)
      if (first === job) continue
      const kind = kinds[random.integer(0, 3)]!
      links.push([first, kind, random.integer(0, 3) === 0 ? random.integer(isCircular ? -40 : -9, 9) : 0])
    }
    const duration = random.integer(0, 3) === 0 ? 0 : random.integer(1, 30)
    const own: OracleJob = { duration, links }
    if (random.integer(0, 7) === 0) own.notBefore = random.integer(0, 60)
    if (random.integer(0, 7) === 0) own.deadline = random.integer(0, 90)
    jobs.push(own)
  }
  return jobs
}

function expectSame(found: Schedule, jobs: readonly OracleJob[]): void {
  const expected = scheduleByDefinition(jobs)!
  expect(found.end).toBe(expected.end / 4)
  for (const [at, job] of found.jobs.entries()) {
    const [early, late] = [expected.earliest[at]!, expected.latest[at]!]
    const { duration } = jobs[at]!
    expect(job).toEqual({
      id: `J${at}`,
      name: `J${at}`,
      duration: duration / 4,
      earliestStart: early / 4,
      earliestFinish: (early + duration) / 4,
      latestStart: late / 4,
      latestFinish: (late + duration) / 4,
      totalSlack: (late - early) / 4,
      freeFloat: expected.free[at]! / 4,
      critical: late <= early,
    })
  }
  const path = found.criticalPath.map((id) => Number(`${id}`.slice(1)))
  expect(isCriticalPath(jobs, expected, path), `${found.criticalPath}`).toBe(true)
}

describe('schedule', () => {
  it('equals the definition for random plans with all links, milestones, limits and quarters', async () => {
    const random = new Random(51)
    for (let plan = 0; plan < 80; plan++) {
      const jobs = randomJobs(random, random.integer(1, 14), false)
      expectSame(await schedule(recordsOf(jobs)), jobs)
    }
  })

  it('equals the definition if links form cycles, and rejects jobs that wait for themselves', async () => {
    const random = new Random(52)
    let [feasible, refused] = [0, 0]
    for (let plan = 0; plan < 120; plan++) {
      const jobs = randomJobs(random, random.integer(2, 6), true)
      const found = await schedule(recordsOf(jobs)).catch((error) => error)
      if (scheduleByDefinition(jobs) && !(found instanceof CycleError)) {
        feasible++
        expectSame(found, jobs)
        continue
      }
      refused++
      expect(found).toBeInstanceOf(CycleError)
      // The library rejects a cycle of waiting jobs even if all of them are milestones.
      if (scheduleByDefinition(jobs)) expect(found.weight).toBe(0)
      else expect(found.weight).toBeGreaterThanOrEqual(0)
    }
    expect(Math.min(feasible, refused)).toBeGreaterThan(10)
  })

  // F. S. Hillier, G. J. Lieberman, Introduction to Operations Research, chapter on project management: Reliable Construction Co.
  it('equals the schedule of a construction project in Hillier and Lieberman', async () => {
    const plan = parsePlan(
      'Activity,Weeks,Immediate predecessors\nA,2,\nB,4,A\nC,10,B\nD,6,C\nE,4,C\nF,5,E\nG,7,D\nH,9,"E, G"\nI,7,C\nJ,8,"F, I"\nK,4,J\nL,5,J\nM,2,H\nN,6,"K, L"\n',
    )
    const { end, criticalPath, jobs } = await schedule(plan)
    expect(plan.unit).toBe('weeks')
    expect(end).toBe(44)
    expect(criticalPath).toEqual([...'ABCEFJLN'])
    const slack = Object.fromEntries(
      jobs.flatMap(({ id, totalSlack }) => (totalSlack > 0 ? [[id, totalSlack]] : [])),
    )
    expect(slack).toEqual({ D: 4, G: 4, H: 4, I: 2, K: 1, M: 4 })
    expect(jobs.find(({ id }) => id === 'M')!.freeFloat).toBe(4)
    expect(jobs.find(({ id }) => id === 'H')!.freeFloat).toBe(0)
  })

  it('marks two critical chains completely, and returns the one with the milestone as the path', async () => {
    const { criticalPath, jobs } = await schedule(
      parsePlan('id,days,after\n1,2,\n2,0.1,1\n3,0.2,2\n4,0.3,1\n5,0,4\n6,1,"3,5"\n'),
    )
    expect(jobs.every(({ critical, totalSlack }) => critical && totalSlack === 0)).toBe(true)
    expect(criticalPath).toHaveLength(4)
    const more = await schedule(parsePlan('id,days,after\n1,2,\n4,0.3,1\n5,0,4\n6,1,"4,5"\n'))
    expect(more.criticalPath).toEqual(['1', '4', '5', '6'])
  })

  it.each([
    ['tenths', [0.1, 0.2, 0.3]],
    ['thirds', [1 / 3, 2 / 3, 1]],
    ['sixths and cents', [11 / 6, 0.01, 11 / 6 + 0.01]],
  ])('returns no slack for chains of equal length in %s', async (_, [a, b, c]) => {
    const { jobs } = await schedule([
      { id: 'a', duration: a },
      { id: 'b', duration: b, predecessors: 'a' },
      { id: 'c', duration: c },
    ])
    expect(jobs.map(({ totalSlack }) => totalSlack)).toEqual([0, 0, 0])
  })

  it('rejects times whose common unit is too small, with advice', async () => {
    const jobs = [Math.PI, Math.E].map((duration, id) => ({ id, duration }))
    await expect(schedule(jobs)).rejects.toThrow(OverflowError)
    await expect(schedule(jobs)).rejects.toThrow(/round times to fewer decimals/)
    await expect(schedule([{ id: 1, duration: 1e300 }])).rejects.toThrow(/fewer decimals|coarser unit/)
  })

  it('names the jobs of a cycle in the order in which they wait', async () => {
    const plan = parsePlan('id,task,days,after\n1,Design,3,3\n2,Build,2,1\n3,Testing,1,2\n4,Other,1,\n')
    const error = await schedule(plan).catch((error) => error)
    expect(error).toBeInstanceOf(CycleError)
    expect(error.message).toContain('Design waits for Testing, which waits for Build, which waits for Design')
    expect(error).toMatchObject({
      code: 'ERR_MPMML_CYCLE',
      cycle: [0, 1, 2],
      keys: ['1', '2', '3'],
      weight: 6,
    })
  })

  it('rejects a job that waits for itself, and a cycle of milestones', async () => {
    await expect(schedule(parsePlan('id,days,after\n1,0,1SS\n'))).rejects.toThrow(/1 waits for 1/)
    await expect(schedule(parsePlan('id,days,after\n1,0,2\n2,0,1\n'))).rejects.toThrow(
      /1 waits for 2, which waits for 1/,
    )
  })

  it('names the jobs of a cycle whose leads are too short', async () => {
    // Job 2 must start at most 4 days after job 1, which takes 5 days.
    const error = await schedule(parsePlan('id,task,days,after\n1,A,5,2SS-4d\n2,B,2,1\n')).catch(
      (error) => error,
    )
    expect(error).toBeInstanceOf(CycleError)
    expect(error.message).toContain('A waits for B, which waits for A')
    expect(error.message).toContain('a lead of 1 days')
  })

  it('returns negative slack if a deadline is missed', async () => {
    const { end, criticalPath, jobs } = await schedule(
      parsePlan('id,days,after,deadline\n1,5,,\n2,3,1,6\n3,4,1,\n'),
    )
    expect([end, criticalPath]).toEqual([9, ['1', '3']])
    expect(jobs.map(({ totalSlack, critical }) => [totalSlack, critical])).toEqual([
      [-2, true],
      [-2, true],
      [0, true],
    ])
  })

  it('accepts plans from JSON, and plans that a program creates', async () => {
    const plan = parsePlan('id;Dauer (h);nach\n1;2,5;\n2;1t;1EA-30min\n')
    const expected = await schedule(plan)
    expect(expected.end).toBe(10)
    expect(await schedule(JSON.parse(JSON.stringify(plan)))).toEqual(expected)
    const written = {
      unit: 'hours',
      jobs: [
        { id: '1', duration: 2.5 },
        { id: '2', duration: '1d', predecessors: '1FS-0.5' },
      ],
    }
    expect(await schedule(written as never)).toEqual(expected)
  })

  it('rejects with AbortedError when the signal is aborted', async () => {
    const options = { signal: AbortSignal.abort('enough') }
    await expect(schedule([{ id: 1, duration: 2 }], options)).rejects.toMatchObject({
      code: 'ERR_MPMML_ABORTED',
      cause: 'enough',
    })
  })

  it('yields to the event loop', async () => {
    const jobs = Array.from({ length: 20_000 }, (_, id) => ({
      id,
      duration: 1,
      predecessors: id > 0 ? [id - 1] : [],
    }))
    let turns = 0
    const timer = setInterval(() => turns++, 0)
    const { end } = await schedule(jobs)
    clearInterval(timer)
    expect(end).toBe(20_000)
    expect(turns).toBeGreaterThan(2)
  })
})

describe('dates', () => {
  const house = 'id,days,after\n1,5,\n2,2.5,1\n3,0,2\n'
  const datesOf = ({ jobs }: Schedule) =>
    jobs.map(({ dates }) => [dates!.earliestStart, dates!.earliestFinish])

  it('skip weekends and holidays', async () => {
    // 2026-01-05 is a Monday.
    const plain = await schedule(parsePlan(house), { start: '2026-01-05' })
    expect(datesOf(plain)).toEqual([
      ['2026-01-05', '2026-01-09'],
      ['2026-01-12', '2026-01-14'],
      ['2026-01-14', '2026-01-14'],
    ])
    expect(plain.dates).toMatchObject({ start: '2026-01-05', end: '2026-01-14' })
    const holidays = ['2026-01-06', '2026-01-12/2026-01-13']
    const { jobs, dates } = await schedule(parsePlan(house), { start: '2026-01-03', holidays })
    expect(dates!.start).toBe('2026-01-05')
    expect(jobs[0]!.dates!.earliestFinish).toBe('2026-01-14')
    expect(dates!.end).toBe('2026-01-19')
  })

  it.each(['Asia/Tokyo', 'UTC', 'America/Los_Angeles'])('begin on the day of a Date in %s', async (zone) => {
    const before = process.env.TZ
    try {
      process.env.TZ = zone
      const dates = [new Date(2026, 0, 6), new Date('2026-01-06'), new Date(2026, 0, 6, 9, 30)]
      for (const start of dates) {
        const { dates: found } = await schedule(parsePlan(house), { start })
        expect(found!.start, `${start}`).toBe('2026-01-06')
      }
    } finally {
      if (before === undefined) delete process.env.TZ
      else process.env.TZ = before
    }
  })

  it('equal those of a loop over the working days', async () => {
    const random = new Random(7)
    for (let run = 0; run < 30; run++) {
      const weekdays = [1, 2, 3, 4, 5, 6, 7].filter(() => random.integer(0, 2) > 0)
      if (weekdays.length === 0) continue
      const day = (at: number) => new Date(Date.UTC(2026, 0, 1 + at)).toISOString().slice(0, 10)
      const holidays = Array.from({ length: random.integer(0, 8) }, () => day(random.integer(0, 60)))
      const working = Array.from({ length: 400 }, (_, at) => day(at)).filter(
        (date) => weekdays.includes(new Date(date).getUTCDay() || 7) && !holidays.includes(date),
      )
      const first = random.integer(0, 20)
      const length = random.integer(1, 40)
      const start = working[first]!
      const deadline = working[first + random.integer(0, 60)]!
      const { jobs } = await schedule([{ id: 1, duration: length, deadline }], { start, weekdays, holidays })
      expect(jobs[0]!.dates!.earliestFinish).toBe(working[first + length - 1])
      const left = working.indexOf(deadline) - first + 1 - length
      expect(jobs[0]!.totalSlack).toBe(Math.min(left, 0))
    }
  })

  it('respect a date before which jobs must not start, in hours of working days', async () => {
    const plan = parsePlan('id,Dauer (h),nicht vor,Vorgänger\n1,12,,\n2,6,12.01.2026,1\n')
    const { jobs, end } = await schedule(plan, { start: '2026-01-05' })
    expect(end).toBe(46)
    expect(jobs[1]!.dates).toMatchObject({ earliestStart: '2026-01-12', earliestFinish: '2026-01-12' })
    expect(jobs[0]!.dates!.earliestFinish).toBe('2026-01-06')
    await expect(schedule(plan)).rejects.toThrow(/option start/)
  })

  it.each([
    [{ start: '2026-02-30' }, /date such as/],
    [{ start: '2026-01-05', weekdays: [] }, /1 for Monday/],
    [{ start: '2026-01-05', weekdays: [8] }, /1 for Monday/],
    [{ start: '2026-01-05', holidays: ['x'] }, /holidays/],
    [{ start: '9999-12-30' }, /years up to 9999/],
    [{ start: new Date(8.64e15) }, /date such as/],
    [{ start: new Date(-1e14) }, /date such as/],
  ])('reject %j', async (options, message) => {
    await expect(schedule(parsePlan(house), options)).rejects.toThrow(message)
  })
})

describe('limits of plans that a program creates', () => {
  const planWith = (limit: object) => ({
    ...parsePlan('id,days\n1,3\n'),
    jobs: [{ id: '1', name: '1', duration: 3, predecessors: [], ...limit }],
  })

  it.each([['2026-02-30'], ['2026-13-01'], ['soon'], [true], [{}], [new Date(8.64e15)]])(
    'reject %o, which is no date',
    async (limit) => {
      for (const role of ['notBefore', 'deadline']) {
        const found = schedule(planWith({ [role]: limit }) as never, { start: '2026-02-02' })
        await expect(found).rejects.toThrow(/must be a date such as 2026-12-01/)
      }
    },
  )

  it('may be dates, null and undefined', async () => {
    const slackOf = async (deadline: unknown) =>
      (await schedule(planWith({ deadline }) as never, { start: '2026-02-02' })).jobs[0]!.totalSlack
    expect(await slackOf('2026-02-03')).toBe(-1)
    expect(await slackOf(new Date('2026-02-03'))).toBe(-1)
    expect(await slackOf(null)).toBe(0)
    expect(await slackOf(undefined)).toBe(0)
  })
})

describe('whatIf', () => {
  const text = 'id,days,after,deadline\n1,5,,\n2,3,1,\n3,4,1,\n4,0,"2,3",\n'

  it('equals the schedule of the changed plan, for random changes', async () => {
    const random = new Random(9)
    for (let run = 0; run < 40; run++) {
      const jobs = randomJobs(random, random.integer(2, 10), run % 4 === 0)
      if (!scheduleByDefinition(jobs)) continue
      const prepared = await prepareSchedule(recordsOf(jobs)).catch(() => null)
      if (!prepared) continue
      const job = random.integer(0, jobs.length - 1)
      const duration = random.integer(0, 40)
      const changed = jobs.map((each, at) => (at === job ? { ...each, duration } : each))
      const changes: Record<string, JobChange> = { [`J${job}`]: { duration: duration / 4 } }
      if (!scheduleByDefinition(changed)) {
        await expect(prepared.whatIf(changes)).rejects.toThrow(CycleError)
        continue
      }
      const found = await prepared.whatIf(changes)
      const whole = await found.schedule()
      expectSame(whole, changed)
      expect(found).toMatchObject({ end: whole.end, endBefore: prepared.schedule.end })
      const before = prepared.schedule.jobs
      const moved = whole.jobs.filter(
        ({ earliestStart, earliestFinish }, at) =>
          earliestStart !== before[at]!.earliestStart || earliestFinish !== before[at]!.earliestFinish,
      )
      expect(found.moved.map(({ id }) => id)).toEqual(moved.map(({ id }) => id))
    }
  })

  it('reads each name once for all changes by names', async () => {
    let reads = 0
    const jobs = Array.from({ length: 50 }, (_, id) => ({
      id,
      get name() {
        reads++
        return `job ${id}`
      },
      duration: 1,
      predecessors: [],
    }))
    const { whatIf } = await prepareSchedule({ unit: 'days', hoursPerDay: 8, daysPerWeek: 5, jobs })
    const changes = Object.fromEntries(jobs.map(({ id }) => [`job ${id}`, { duration: 2 + id }]))
    reads = 0
    expect((await whatIf(changes)).end).toBe(51)
    // Each name is read once for the index, and once for the list of moved jobs.
    expect(reads).toBe(100)
  })

  it('reports the moved jobs, accepts finer times, and keeps the prepared plan unchanged', async () => {
    const { whatIf, schedule: before } = await prepareSchedule(parsePlan(text))
    const found = await whatIf({ 2: { duration: '4.3d' }, 3: { notBefore: 4 } })
    expect(found).toMatchObject({ end: 9.3, endBefore: 9, criticalPath: ['1', '2', '4'] })
    expect(found.moved).toEqual([
      {
        id: '2',
        name: '2',
        earliestStart: 5,
        earliestFinish: 9.3,
        before: { earliestStart: 5, earliestFinish: 8 },
      },
      {
        id: '4',
        name: '4',
        earliestStart: 9.3,
        earliestFinish: 9.3,
        before: { earliestStart: 9, earliestFinish: 9 },
      },
    ])
    expect((await whatIf({})).moved).toEqual([])
    const byName = await prepareSchedule([{ id: 1, name: 'walls', duration: 2 }])
    expect((await byName.whatIf({ walls: { duration: 3 } })).end).toBe(3)
    expect(before.end).toBe(9)
  })

  it.each([
    [{ 9: { duration: 1 } }, /no job has the id '9'/],
    [{ 2: { duration: -1 } }, /0 or more/],
    [{ 2: { duration: '50%' } }, /percentage/],
    [{ 2: { days: 1 } }, /no option 'days'/],
    [{ 2: { deadline: '2026-01-01' } }, /option start/],
  ])('rejects %j', async (changes, message) => {
    const { whatIf } = await prepareSchedule(parsePlan(text))
    await expect(whatIf(changes as never)).rejects.toThrow(message)
  })

  it('rejects times without a common part of the unit, in any order', async () => {
    const { whatIf } = await prepareSchedule(parsePlan('id,days\n1,5\n2,3\n'))
    const [long, short] = [{ duration: 0.1234567890123 }, { duration: 1.5 }]
    await expect(whatIf({ 1: long, 2: short })).rejects.toThrow(/round times to fewer decimals/)
    await expect(whatIf({ 1: short, 2: long })).rejects.toThrow(/round times to fewer decimals/)
    // The product of the denominators 10^9, 999 983 and 999 979 exceeds 2^50.
    const fine = [{ duration: 1.000000001 }, { duration: 1 / 999_983, notBefore: 1 / 999_979 }]
    await expect(whatIf({ 1: fine[0]!, 2: fine[1]! })).rejects.toThrow(/round times to fewer decimals/)
  })

  it('rejects duplicate ids and unknown predecessors in plans that a program changed', async () => {
    const plan = parsePlan(text)
    plan.jobs[1]!.predecessors[0]!.id = 'x'
    await expect(schedule(plan)).rejects.toThrow(ArgumentError)
    plan.jobs[1]!.id = '1'
    await expect(schedule(plan)).rejects.toThrow(ArgumentError)
  })
})
