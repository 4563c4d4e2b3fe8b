/** Reading plans in the formats of spreadsheets, MS Project, Primavera and programs. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ArgumentError, FileError } from '../../lib/index.js'
import { type Plan, parsePlan, readPlan } from '../../lib/schedule.js'
import { useFolder } from '../support/folder.js'

/** Returns the links of all jobs in MS Project's notation. */
const linksOf = ({ jobs }: Plan) =>
  jobs.map(({ predecessors }) =>
    predecessors
      .map(({ id, type, lag }) => `${id}${type}${lag > 0 ? '+' : ''}${lag === 0 ? '' : lag}`)
      .join(' '),
  )

const durationsOf = ({ jobs }: Plan) => jobs.map(({ duration }) => duration)

const inFolder = useFolder()

function written(name: string, text: string | Uint8Array): string {
  writeFileSync(inFolder(name), text)
  return inFolder(name)
}

/** A CSV file of a German Excel has a byte order mark, semicolons, decimal commas and quoted cells. */
const excel = `\ufeffID;Task;Duration (d);Predecessors;Resource
1;Design;5,5;;R1
2;Tooling;8;1FS+2d;R2
3;Parts;12,5;"1SS+3d";Supplier
4;"Assembly; all";6;"2;3FS";R2
5;Test bench;4;1;R3
6;Testing;3,5;"4;5FF+1d";R3
7;Docs;7;4SS+1d;R1
8;Release;0;"6;7";
`

describe('parsePlan', () => {
  it('reads a table that Excel exports', () => {
    const plan = parsePlan(excel.replaceAll('\n', '\r\n'))
    expect(plan).toMatchObject({ unit: 'days', hoursPerDay: 8, daysPerWeek: 5 })
    expect(durationsOf(plan)).toEqual([5.5, 8, 12.5, 6, 4, 3.5, 7, 0])
    expect(linksOf(plan)).toEqual(['', '1FS+2', '1SS+3', '2FS 3FS', '1FS', '4FS 5FF+1', '4SS+1', '6FS 7FS'])
    expect(plan.jobs[3]!.name).toBe('Assembly; all')
  })

  it.each<[string, string]>([
    [
      'MS Project in English',
      'ID,Task Name,Duration,Start,Finish,Predecessors\n1,A,5 days,x,y,\n2,B,2 wks?,x,y,1FS+1 day',
    ],
    [
      'MS Project in German',
      'Nr.\tVorgangsname\tDauer\tVorgänger\n1\tA\t5 Tage\t\n2\tB\t2 Wochen\t1EA+1 Tag',
    ],
    [
      'Primavera',
      'task_code,task_name,target_drtn_hr_cnt,predecessors\nActivity ID,Activity Name,Original Duration(h),Predecessors\n1,A,40,\n2,B,80,1: FS 8',
    ],
    ['a spreadsheet', 'Depends on|Days|Job|#\n|5|A|1\n1+1d|10|B|2'],
    [
      'titles above the headings',
      'Our plan;;;\nas of today;;;\nPos;Aufgabe;Arbeitstage;Abhängig von\n1;A;5;\n2;B;10;1FS+1',
    ],
    ['no headings', '1,A,5,\n2,B,10,1FS+1d'],
    ['successors', 'id,name,days,successors\n1,A,5,2FS+1d\n2,B,10,'],
  ])('reads a table of %s', (_, text) => {
    const plan = parsePlan(text)
    const factor = plan.unit === 'hours' ? 8 : 1
    expect(durationsOf(plan).map((each) => each / factor)).toEqual([5, 10])
    expect(plan.jobs.map((job) => [job.id, job.name])).toEqual([
      ['1', 'A'],
      ['2', 'B'],
    ])
    expect(plan.jobs[1]!.predecessors).toEqual([{ id: '1', type: 'FS', lag: factor }])
  })

  it.each<[string, string]>([
    ['1', '1FS'],
    ['1.0', '1FS'],
    ['1FS', '1FS'],
    ['1 fs', '1FS'],
    ['1FS+2d', '1FS+2'],
    ['1FS + 2 days', '1FS+2'],
    ['1SS-1w', '1SS-5'],
    ['1FF+4h', '1FF+0.5'],
    ['1SF+240 min', '1SF+0.5'],
    ['1EA+2t', '1FS+2'],
    ['1AA', '1SS'],
    ['1EE−1 Tag', '1FF-1'],
    ['1AE+1 Woche', '1SF+5'],
    ['1+2d', '1FS+2'],
    ['-', ''],
    ['none', ''],
    ['1 and 2', '1FS 2FS'],
    ['a 1', '1FS'],
    ['1: SS 3', '1SS+3'],
    ['1,2', '1FS 2FS'],
    ['1;2SS', '1FS 2SS'],
    ['1 2', '1FS 2FS'],
    ['A 1;B', '1FS 2FS'],
    ['1FS+1mo', '1FS+20'],
    ['1FS+1 min', `1FS+${1 / 480}`],
  ])('reads the predecessors %j', (text, links) => {
    expect(linksOf(parsePlan(`id;task;days;after\n1;A 1;1;\n2;B;1;\n3;C;1;"${text}"`))[2]).toBe(links)
  })

  it('reads lags with decimal commas where commas are decimal points, and lists elsewhere', () => {
    const german = parsePlan('id;Tage;Vorgänger\n1;1;\n2;1;\n3;1;1EA+2,5t\n4;1;1EA+1,5;\n5;1;"1EA+0,5,2"\n')
    expect(linksOf(german).slice(2)).toEqual(['1FS+2.5', '1FS+1.5', '1FS+0.5 2FS'])
    expect(linksOf(parsePlan('id,days,after\n1,1,\n2,1,\n3,1,"1FS+2,2"\n'))[2]).toBe('1FS+2 2FS')
  })

  it('accepts ids with punctuation and letters, and names with separators', () => {
    const plan = parsePlan('id,days,after\nA-1,1,\nA-2FS,1,A-1\n"x, y",1,A-2FS\nz,1,"x, y"\nw,1,A-1FS-1d\n')
    expect(linksOf(plan)).toEqual(['', 'A-1FS', 'A-2FSFS', 'x, yFS', 'A-1FS-1'])
  })

  it('uses row numbers if jobs have names but no ids', () => {
    expect(linksOf(parsePlan('task,days,after\nwalls,1,\nroof,1,1\npaint,1,"walls, roof"\n'))).toEqual([
      '',
      'wallsFS',
      'wallsFS roofFS',
    ])
  })

  it('joins several columns of predecessors', () => {
    expect(linksOf(parsePlan('id,days,predecessor 1,predecessor 2\n1,1,,\n2,1,1,-\n3,1,1SS,2\n'))[2]).toBe(
      '1SS 2FS',
    )
  })

  it('recognizes jobs with subtasks in a work breakdown structure as summaries', () => {
    const plan = parsePlan('WBS,Task,Days,After\n1,Phase,5,\n1.1,A,2,\n1.2,B,3,1.1\n')
    expect(plan.jobs.map(({ name }) => name)).toEqual(['A', 'B'])
  })

  it('accepts names with the separators of lists', () => {
    const plan = parsePlan(
      'task,days,after\nwires and pipes,1,\n"walls, roof",1,wires and pipes\npaint,1,"wires and pipes;walls, roof"\n',
    )
    expect(linksOf(plan)[2]).toBe('wires and pipesFS walls, roofFS')
  })

  it('leaves out summaries, and empty rows', () => {
    const plan = parsePlan(
      'ID,Name,Duration,Predecessors,Outline Level\n1,Phase,9 days,,1\n,,,,\n2,A,5,,2\n3,B,4,2,2\n',
    )
    expect(plan.jobs.map(({ name }) => name)).toEqual(['A', 'B'])
    expect(() => parsePlan('ID,Name,Duration,Predecessors,Summary\n1,Phase,9,,Yes\n2,A,5,1,No\n')).toThrow(
      /'Phase' is a summary/,
    )
  })

  it('reads deadlines, earliest starts, and the constraints of MS Project', () => {
    const { jobs } = parsePlan(
      'id,days,deadline,start no earlier than,constraint type,constraint date\n1,1,2026-03-01,01.02.2026,,\n2,1,NA,3w,Finish No Later Than,2026-04-01 17:00\n',
    )
    expect(jobs[0]).toMatchObject({ deadline: '2026-03-01', notBefore: '2026-02-01' })
    expect(jobs[1]).toMatchObject({ deadline: '2026-04-01', notBefore: 15 })
    expect(() => parsePlan('id,days,constraint type\n1,1,As late as possible\n')).toThrow(/use a deadline/)
  })

  it('applies the options for names of columns and for kept columns', () => {
    const text = 'Key,Netto,Brutto,Wer\nA,2,3,Ann\nB,1,9,Bob\n'
    const { jobs } = parsePlan(text, { columns: { duration: 'Netto' }, keep: ['Wer'] })
    expect(jobs.map(({ duration, columns }) => [duration, columns])).toEqual([
      [2, { Wer: 'Ann' }],
      [1, { Wer: 'Bob' }],
    ])
    expect(parsePlan(text, { columns: { duration: 'Netto' }, keep: true }).jobs[0]!.columns).toEqual({
      Brutto: '3',
      Wer: 'Ann',
    })
    expect(() => parsePlan(text)).toThrow(/the headings must name the duration of jobs/)
    expect(() => parsePlan(text, { columns: { duration: 'Nett' } })).toThrow(/there is no 'Nett'/)
  })

  it('reads keys of JSON that objects inherit only from jobs that have them', () => {
    const text = '[{"id":1,"days":2,"__proto__":"x","constructor":"y"},{"id":2,"days":3}]'
    expect(parsePlan(text, { keep: true }).jobs.map(({ columns }) => Object.entries(columns!))).toEqual([
      [
        ['__proto__', 'x'],
        ['constructor', 'y'],
      ],
      [
        ['__proto__', ''],
        ['constructor', ''],
      ],
    ])
  })

  it('reads lists of objects, and JSON', () => {
    const jobs = [
      { id: 1, title: 'A', duration: 2, dependsOn: [] },
      { id: 2, title: 'B', duration: '4h', dependsOn: [1, '1SS+1d'] },
      { id: 3, title: 'C', duration: 0, dependsOn: [{ id: 2, type: 'ff', lag: '1d' }] },
    ]
    const plan = parsePlan(jobs)
    expect(durationsOf(plan)).toEqual([2, 0.5, 0])
    expect(linksOf(plan)).toEqual(['', '1FS 1SS+1', '2FF+1'])
    expect(plan.jobs[1]!.predecessors[0]!.id).toBe(1)
    expect(parsePlan(JSON.stringify(jobs))).toEqual(plan)
    expect(parsePlan(new TextEncoder().encode(JSON.stringify({ unit: 'days', tasks: jobs })))).toEqual(plan)
    expect(parsePlan(plan)).toEqual(plan)
  })

  it.each<[string, string, RegExp]>([
    [
      'an unknown predecessor',
      'id,days,after\n1,2,9\n',
      /line 2: '1' must wait for jobs of the plan, but '9' is none/,
    ],
    ['a percentage', 'id,days,after\n1,2,\n2,1,1FS+50%\n', /line 3: .*percentage/],
    ['elapsed time', 'id,days,after\n1,2,\n2,1,1FS+2ed\n', /elapsed time/],
    ['another unit', 'id,days,after\n1,2,\n2,1,1FS+2y\n', /minutes, hours, days, weeks or months/],
    ['a missing duration', 'id,days,after\n1,,\n', /line 2: the duration of '1' is missing: write 0/],
    ['a negative duration', 'id,days\n1,-2\n', /0 or more, but it is '-2'/],
    ['a duration that is a word', 'id,days\n1,soon\n', /number of days/],
    ['two jobs with one id', 'id,days\n1,2\n1,3\n', /line 3: there are two jobs with the id '1'/],
    ['two jobs with one name', 'task,days\nA,2\nA,3\n', /give each an id/],
    [
      'two columns of durations',
      'id,dauer,duration\n1,2,3\n',
      /one column must have the duration, but 'dauer' or 'duration' may/,
    ],
    ['no headings', 'a,b,c\nx,y,z\n', /the headings must name the duration/],
    ['too many cells', 'id,days\n1,2,5,d\n', /line 2: the row has 4 cells/],
    ['a thousands separator', 'id,days\n1,"1,500"\n', /thousands separator/],
    ['a date that is none', 'id,days,deadline\n1,2,2026-02-30\n', /date such as 2026-12-01/],
    ['no jobs', 'id,days\n', /at least one job/],
    ['no text', '', /no lines/],
  ])('rejects %s', (_, text, message) => {
    expect(() => parsePlan(text)).toThrow(message)
    expect(() => parsePlan(text)).toThrow(FileError)
  })

  it.each<[unknown, RegExp]>([
    [[], /at least one job/],
    [[3], /jobs\[0\] of the plan must be an object/],
    [{ rows: [] }, /list of jobs/],
    [null, /list of jobs/],
    [[{ id: {}, duration: 1 }], /jobs\[0\]: 'id' must be text or a number/],
    [[{ id: 1, duration: Number.NaN }], /finite number/],
    [[{ id: 1, duration: 1, after: [{ id: 7 }] }], /a predecessor has the id 7/],
    [
      [
        { id: 1, duration: 1 },
        { id: 2, duration: 1, after: [{ id: 1, type: 'XX' }] },
      ],
      /'FS', 'SS', 'FF' or 'SF'/,
    ],
    [[{ id: 1, duration: 1, after: { id: 1 } }], /must be text such as '3FS\+2d', or a list/],
  ])('rejects the list %j', (jobs, message) => {
    expect(() => parsePlan(jobs as never)).toThrow(message)
  })

  it.each<[string, string]>([
    ['predecessors', `id,days,after\n1,1,"1${' '.repeat(200_000)}x"\n`],
    ['durations', `id,days\n1,${'1'.repeat(200_000)}x\n`],
    ['limits', `id,days,deadline\n1,1,${'1'.repeat(200_000)}x\n`],
  ])('rejects long texts of %s in linear time', (_, text) => {
    expect(() => parsePlan(text)).toThrow(FileError)
  })

  it('rejects bytes in shared memory', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(8))
    expect(() => parsePlan(shared)).toThrow(/SharedArrayBuffer|shared/)
  })

  it('uses the option name in errors', () => {
    expect(() => parsePlan('id,days\n1,x\n', { name: 'house.csv' })).toThrow(/^house\.csv, line 2: /)
    expect(() => parsePlan('id,days\n1,x\n')).toThrow(/^the plan, line 2: /)
    expect(() => parsePlan('id,days\n1,x\n', { name: 5 as never })).toThrow(ArgumentError)
  })

  it('names a wrong object with ArgumentError', () => {
    expect(() => parsePlan([{ id: 1, duration: 1, after: 3 }])).toThrow(ArgumentError)
  })
})

describe('readPlan', () => {
  it('reads CSV in slices, compressed or not, with the result of parsePlan', async () => {
    expect(await readPlan(written('plan.csv', excel))).toEqual(parsePlan(excel))
    const utf16 = Buffer.from(excel, 'utf16le')
    expect(await readPlan(written('utf16.csv', utf16))).toEqual(parsePlan(excel))
  })

  it('reads the XML of MS Project', async () => {
    const task = (uid: number, name: string, duration: string, more = '') =>
      `<Task><UID>${uid}</UID><ID>${uid}</ID><Name>${name}</Name><Duration>${duration}</Duration>${more}</Task>`
    const link = (uid: number, type: number, lag: number, format = 7) =>
      `<PredecessorLink><PredecessorUID>${uid}</PredecessorUID><Type>${type}</Type><LinkLag>${lag}</LinkLag><LagFormat>${format}</LagFormat></PredecessorLink>`
    const document = (tasks: string) =>
      `<?xml version="1.0"?><Project xmlns="http://schemas.microsoft.com/project"><StartDate>2026-01-05T08:00:00</StartDate><MinutesPerDay>480</MinutesPerDay><MinutesPerWeek>2400</MinutesPerWeek><Tasks>${tasks}</Tasks></Project>`
    const tasks =
      task(0, 'project', 'PT80H0M0S', '<Summary>1</Summary>') +
      task(1, 'Phase', 'PT80H0M0S', '<Summary>1</Summary>') +
      task(2, 'A &amp; B', 'PT44H0M0S') +
      task(3, 'C', 'PT8H30M0S', link(2, 1, 9600) + link(2, 3, -4800)) +
      task(
        4,
        'D',
        'PT0H0M0S',
        `${link(3, 0, 0)}${link(2, 2, 0)}<ConstraintType>4</ConstraintType><ConstraintDate>2026-01-20T08:00:00</ConstraintDate><Deadline>2026-02-01T17:00:00</Deadline>`,
      )
    const plan = await readPlan(written('plan.xml', document(tasks)))
    expect(plan).toMatchObject({ unit: 'days', hoursPerDay: 8, daysPerWeek: 5, start: '2026-01-05' })
    expect(plan.jobs.map(({ name, duration }) => [name, duration])).toEqual([
      ['A & B', 5.5],
      ['C', 1.0625],
      ['D', 0],
    ])
    expect(linksOf(plan)).toEqual(['', '2FS+2 2SS-1', '3FF 2SF'])
    expect(plan.jobs[2]).toMatchObject({ notBefore: '2026-01-20', deadline: '2026-02-01' })
    expect(parsePlan(document(tasks))).toEqual(plan)
    // Strings are already decoded, so the encoding in their XML declaration is ignored.
    const declared = document(task(1, 'Dächer', 'PT8H0M0S')).replace('?>', ' encoding="windows-1252"?>')
    expect(parsePlan(declared).jobs[0]!.name).toBe('Dächer')
    expect(parsePlan(Buffer.from(declared, 'latin1')).jobs[0]!.name).toBe('Dächer')
    expect(() =>
      parsePlan(document(task(1, 'A', 'PT8H0M0S') + task(2, 'B', 'PT8H0M0S', link(1, 1, 50, 19)))),
    ).toThrow(/percentage/)
    expect(() => parsePlan('<graphml/>')).toThrow(/MS Project/)
  })

  it.each([
    ['<MinutesPerDay>Infinity</MinutesPerDay>', '', /MinutesPerDay must be above 0, up to 1440/],
    ['<MinutesPerDay>1441</MinutesPerDay>', '', /MinutesPerDay must be above 0, up to 1440/],
    ['<MinutesPerDay>0</MinutesPerDay>', '', /MinutesPerDay/],
    ['<MinutesPerDay>x</MinutesPerDay>', '', /MinutesPerDay/],
    ['<MinutesPerWeek>1e999</MinutesPerWeek>', '', /MinutesPerWeek above 0, up to 10080/],
    ['', '<ConstraintType>constructor</ConstraintType>', /its type is 'constructor'/],
    ['', '<ConstraintType>2</ConstraintType>', /its type is '2'/],
  ])('rejects the XML %s%s', (project, task, message) => {
    const text = `<Project>${project}<Tasks><Task><UID>1</UID><Name>A</Name><Duration>PT8H0M0S</Duration>${task}</Task></Tasks></Project>`
    expect(() => parsePlan(text)).toThrow(message)
  })

  it.each(['mpp', 'xlsx', 'xer'])('explains how to export a .%s file', async (ending) => {
    await expect(readPlan(written(`plan.${ending}`, 'x'))).rejects.toThrow(/save it|export/)
  })

  it('rejects invalid JSON, and observes the signal', async () => {
    await expect(readPlan(written('plan.json', '[{'))).rejects.toThrow(FileError)
    await expect(readPlan(written('plan.csv', excel), { signal: AbortSignal.abort() })).rejects.toMatchObject(
      { code: 'ERR_MPMML_ABORTED' },
    )
  })
})
