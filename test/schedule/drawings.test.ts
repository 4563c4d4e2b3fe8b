/** Drawings of plans. Expected positions are computed from the times. */
import { describe, expect, it } from 'vitest'
import {
  delay,
  drawDelay,
  drawGantt,
  drawNetwork,
  parsePlan,
  type ScheduleOptions,
  schedule,
} from '../../lib/schedule.js'

const text = 'id,task,days,after\n1,Design & more,5,\n2,<Build>,4,1\n3,Docs,2,1SS+1d\n4,Release,0,"2,3FF"\n'

async function drawn(options?: ScheduleOptions, plan = parsePlan(text)) {
  return { plan, found: await schedule(plan, options) }
}

const attributes = (svg: string, element: string) =>
  [...svg.matchAll(new RegExp(`<${element}\\b([^>]*)>`, 'g'))].map(([, all]) =>
    Object.fromEntries([...all!.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value])),
  )

/** Returns whether the start and end tags of all elements nest properly. */
function isWellFormed(svg: string): boolean {
  const open: string[] = []
  for (const [, end, name, , closed] of svg.matchAll(/<(\/?)([\w-]+)((?:\s[\w:-]+="[^"<]*")*)\s*(\/?)>/g)) {
    if (end) {
      if (open.pop() !== name) return false
    } else if (!closed) open.push(name!)
  }
  return open.length === 0 && !/&(?!amp;|lt;|gt;|quot;)/.test(svg)
}

describe('drawGantt', () => {
  it('has a bar for each job at its place in percent, and a diamond for a milestone', async () => {
    const { plan, found } = await drawn()
    const svg = drawGantt(found, plan)
    expect(isWellFormed(svg)).toBe(true)
    const bars = attributes(svg, 'rect').filter(({ width }) => width?.endsWith('%') && width !== '100%')
    expect(bars.map(({ x, width, class: kind }) => [x, width, kind])).toEqual([
      ['0%', '55.556%', 'strong'],
      ['55.556%', '44.444%', 'strong'],
      ['11.111%', '22.222%', 'bar'],
    ])
    expect(svg.match(/M0-7 7 0 0 7-7 0z/g)).toHaveLength(2)
  })

  it('marks critical jobs without colour, too, and has a dark theme', async () => {
    const { plan, found } = await drawn()
    const svg = drawGantt(found, plan)
    const bold = attributes(svg, 'text').filter((each) => each['font-weight'] === '700')
    expect(bold).toHaveLength(1 + 3)
    expect(svg).toContain('@media (prefers-color-scheme:dark)')
    expect(svg).toContain('Design &amp; more')
    expect(svg).toContain('&lt;Build&gt;')
    expect(svg).not.toContain('<Build>')
  })

  it('draws slack as a line, and links as arrows on request', async () => {
    const { plan, found } = await drawn()
    const slack = attributes(drawGantt(found, plan), 'line').filter(({ class: kind }) => kind === 'slack')
    expect(slack[0]).toMatchObject({ x1: '33.333%', x2: '100%' })
    const arrows = (svg: string) => svg.match(/marker-end/g)?.length ?? 0
    expect(arrows(drawGantt(found, plan))).toBe(0)
    expect(arrows(drawGantt(found, plan, { arrows: true }))).toBe(4)
  })

  it('has dates on the axis', async () => {
    const { plan, found } = await drawn({ start: '2026-01-05' })
    const svg = drawGantt(found, plan, { title: 'House', width: 360 })
    for (const label of ['2026-01-05', '2026-01-12', 'ends 2026-01-15', '>House<'])
      expect(svg).toContain(label)
    expect(svg).toContain('width="360"')
  })

  it('draws plans of length 0, and selected jobs of a plan', async () => {
    const { plan, found } = await drawn(undefined, parsePlan('id,days\n1,0\n'))
    expect(isWellFormed(drawGantt(found, plan))).toBe(true)
    const all = await drawn()
    const some = { ...all.found, jobs: all.found.jobs.filter(({ critical }) => critical) }
    expect(drawGantt(some, all.plan, { arrows: true })).not.toContain('Docs')
  })

  it('rejects too many jobs and invalid values', async () => {
    const { plan, found } = await drawn()
    const jobs = new Array(5001).fill(found.jobs[0])
    expect(() => drawGantt({ ...found, jobs }, plan)).toThrow(/at most 5000 jobs/)
    expect(() => drawGantt(undefined as never, plan)).toThrow(/schedule must be a result/)
    expect(() => drawGantt(found, found as never)).toThrow(/plan must be the plan/)
    expect(() => drawGantt(found, plan, { width: 1 })).toThrow(/pixels from 100/)
  })
})

describe('drawNetwork', () => {
  it('has a box for each job, to the right of its predecessors, and a named arrow for each link', async () => {
    const { plan, found } = await drawn()
    const svg = drawNetwork(found, plan)
    expect(isWellFormed(svg)).toBe(true)
    const boxes = attributes(svg, 'rect').filter(({ class: kind }) => kind?.endsWith('box'))
    expect(boxes.map(({ 'stroke-width': width }) => width)).toEqual(['3', '3', '1', '3'])
    const [first, build, docs, release] = boxes.map(({ x }) => Number(x))
    expect(build).toBe(docs)
    expect(first! < build! && build! < release!).toBe(true)
    expect(svg).toContain('SS+1')
    expect(svg.match(/marker-end/g)).toHaveLength(4)
  })

  it('draws plans whose links form a cycle, and rejects more than 50 jobs', async () => {
    const plan = parsePlan('id,days,after\n1,2,2SS-4d\n2,2,1\n')
    expect(isWellFormed(drawNetwork(await schedule(plan), plan))).toBe(true)
    const many = parsePlan(Array.from({ length: 51 }, (_, id) => ({ id, duration: 1 })))
    const found = await schedule(many)
    expect(() => drawNetwork(found, many)).toThrow(/at most 50 jobs/)
  })
})

/** Relative luminance of a colour such as #fff or #16181d (WCAG 2). */
function luminance(colour: string): number {
  const digits = colour.slice(1).replace(/^(.)(.)(.)$/, '$1$1$2$2$3$3')
  const [red, green, blue] = [0, 2, 4].map((at) => {
    const part = Number.parseInt(digits.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

const contrast = (first: string, second: string) => {
  const [dark, light] = [luminance(first), luminance(second)].sort((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

describe('drawDelay', () => {
  const timetable = { nodes: 2, keys: ['A', 'B'], from: [0, 0, 1, 1], to: [0, 1, 0, 1], weight: [2, 5, 3, 3] }

  it('fits four rounds into 360 pixels, with all of its texts', async () => {
    const svg = drawDelay(await delay(timetable, { period: 5, at: 'A', by: 6, rounds: 4 }))
    expect(isWellFormed(svg)).toBe(true)
    const [frame] = attributes(svg, 'svg')
    expect(svg).toContain('round 3')
    expect(Number(frame!.width)).toBeLessThanOrEqual(360)
    expect(frame!.viewBox).toBe(`0 0 ${frame!.width} ${frame!.height}`)
    // A letter of 13 pixels is at most 8 pixels wide on average.
    for (const [, x, content] of svg.matchAll(/<text [^>]* x="([\d.]+)"[^>]*>([^<]*)</g))
      expect(Number(x) + 8 * content!.length, content).toBeLessThanOrEqual(360)
  })

  it('draws more late departures than a call takes arguments, or rejects them', () => {
    const late = Array.from({ length: 300_000 }, (_, at) => ({
      round: at % 300,
      departure: `D${at % 100}`,
      delay: 1,
      because: null,
    }))
    expect(() => drawDelay({ late, goneBy: null } as never)).toThrow(/at most 200 departures and rounds/)
    const few = late.map((each) => ({ ...each, round: each.round % 200 }))
    expect(isWellFormed(drawDelay({ late: few, goneBy: null } as never))).toBe(true)
  })

  it('has texts of a contrast of 4.5 or more, and bars of 3 or more, in both themes', async () => {
    const svg = drawDelay(await delay(timetable, { period: 5, at: 'A', by: 6 }))
    const light = (kind: string) => {
      const found = new RegExp(`class="${kind}" fill="([^"]*)" stroke="([^"]*)"`).exec(svg)
      return found!.slice(1) as [string, string]
    }
    const dark = (kind: string) =>
      new RegExp(`\\.${kind}\\{fill:([^;]*);stroke:([^}]*)\\}`).exec(svg)!.slice(1) as [string, string]
    for (const theme of [light, dark]) {
      const [paper] = theme('paper')
      for (const kind of ['ink', 'faint']) expect(contrast(theme(kind)[0], paper), kind).toBeGreaterThan(4.5)
      for (const kind of ['bar', 'strong']) expect(contrast(theme(kind)[1], paper), kind).toBeGreaterThan(3)
    }
  })
})
