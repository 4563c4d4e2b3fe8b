/** mpmml report: the page from a result file of an H200, from parts of it, and in a browser. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reportJobs } from '../../bench/lab/experiments.js'
import { reportPage } from '../../bench/report/page.js'
import { exhibits, sweepsOf } from '../../bench/report/thesis.js'
import { readResults, writeResults } from '../../lib/lab.js'
import { type Page, startBrowser, withoutChromium } from '../support/browser.js'
import { useFolder } from '../support/folder.js'
import { withCuda } from '../support/machine.js'
import { madeUpWork } from '../support/made-up.js'
import { describeUnless, itUnless } from '../support/skip.js'
import { fails, json, root, succeeds } from './support.js'

/** Results of `mpmml report` on one NVIDIA H200. */
const h200 = join(root, 'test', 'cli', 'fixtures', 'h200.json')

/** Results of `mpmml ladder`, `sweep borders` and `roofline` on one NVIDIA H200. */
const h200Ladder = join(root, 'test', 'cli', 'fixtures', 'h200-ladder.json')

const path = useFolder()

describe('report --from', () => {
  it('makes a page with every table and figure of the thesis', async () => {
    const printed = await succeeds(['report', '--from', h200, '-o', path('report.html')])
    expect(printed).toMatch(/^GPU +NVIDIA H200$/m)
    expect(printed).toMatch(/^thesis +16 statements: .* 3 can’t be judged on it, 0 not measured$/m)
    const page = readFileSync(path('report.html'), 'utf8')
    const shown = [...page.matchAll(/data-exhibits="([^"]*)"/g)].flatMap(([, names]) => names!.split('|'))
    expect(shown.filter((name) => name !== '').sort()).toEqual([...exhibits].sort())
    expect(page).not.toContain('Not measured')
    // The page names its machine.
    for (const text of ['NVIDIA H200', 'compute capability 9.0', 'driver for CUDA'])
      expect(page).toContain(text)
  })

  it.each([
    ['table-1.1', 'Table 1.1', []],
    ['figure-2.1', 'Figure 2.1', ['ordering', 'peak', 'one', 'both']],
    [
      'figure-4.3',
      'Figure 4.2|Figure 4.3|Figure 4.4',
      ['patterns', 'patterns1k-980', 'patterns1k-titanx', 'patterns1k-1080ti'],
    ],
    ['figure-a.5', 'Figure A.5|Figure A.7|Figure A.9', ['both']],
  ])('shows with --only %s this exhibit and the statements about it', async (flag, names, ids) => {
    const { claims } = await json(['report', '--from', h200, '--only', flag, '-o', path('only.html')])
    expect(claims.map(({ id }: { id: string }) => id).sort()).toEqual([...ids].sort())
    const page = readFileSync(path('only.html'), 'utf8')
    expect([...page.matchAll(/data-exhibits="([^"]*)"/g)].map(([, shown]) => shown)).toEqual([names])
    expect(page).not.toContain('undefined')
  })

  it('knows every exhibit for --only, and measures its points', async () => {
    const wrong = await fails(['report', '--from', h200, '--only', 'figure-5.1'], 2)
    for (const name of exhibits) expect(wrong).toContain(name.toLowerCase().replace(' ', '-'))
    const all = new Set(reportJobs().map(({ sweep }) => sweep))
    for (const name of exhibits) {
      const jobs = reportJobs(undefined, name)
      expect(new Set(jobs.map(({ sweep }) => sweep))).toEqual(
        new Set(sweepsOf[name].filter((sweep) => all.has(sweep))),
      )
    }
    // The section of an exhibit needs only points of the exhibit's sweeps.
    const results = await readResults(h200)
    for (const name of exhibits) {
      const points = results.points.filter(({ sweep }) =>
        (sweepsOf[name] as readonly string[]).includes(sweep),
      )
      expect(reportPage({ ...results, points }, name).page, name).not.toContain('Not measured')
    }
  })

  it('loads nothing and runs nothing', async () => {
    const { page } = reportPage(await readResults(h200))
    expect(page).not.toMatch(/<(script|link|img|iframe|object|embed)\b|@import|url\(|\b(src|xlink:href)=/)
    const links = [...page.matchAll(/href="([^"]*)"/g)].map(([, target]) => target!)
    expect(links.filter((target) => !target.startsWith('#'))).toEqual([])
    for (const target of links) expect(page).toContain(`id="${target.slice(1)}"`)
    expect(page).toContain("default-src 'none'")
  })

  it('prints its claims as JSON', async () => {
    const { gpu, claims } = await json(['report', '--from', h200, '-o', path('json.html')])
    expect(gpu).toBe('NVIDIA H200')
    expect(claims).toHaveLength(16)
    for (const claim of claims) expect(['agrees', 'differs', 'elsewhere']).toContain(claim.verdict)
  })

  it('marks missing measurements', async () => {
    const results = await readResults(h200)
    const some = { ...results, points: results.points.filter(({ sweep }) => sweep === 'patterns') }
    const { page, claims } = reportPage(some)
    expect(page).toContain('npx mpmml sweep cases')
    expect(page.match(/Not measured/g)!.length).toBeGreaterThan(8)
    expect(claims.find(({ id }) => id === 'patterns')!.verdict).not.toBe('missing')
    expect(claims.filter(({ verdict }) => verdict === 'missing').map(({ id }) => id)).toContain('cases')
    const none = reportPage({ ...results, points: [] })
    expect(none.claims.every(({ verdict }) => verdict === 'missing')).toBe(true)
    expect(none.page).toContain('nothing measured yet')
  })

  it('judges microbenchmarks of shared memory without K as if they were not measured', async () => {
    const { points, ...results } = await readResults(h200)
    for (const { sweep, parameters } of points) if (sweep.startsWith('shared')) delete parameters.k
    const { page, claims } = reportPage({ ...results, points })
    expect(page).not.toContain('NaN')
    for (const id of ['one', 'both']) expect(claims.find((claim) => claim.id === id)!.verdict).toBe('missing')
  })

  it('shows the thesis’ future work if it was measured', async () => {
    const results = await readResults(h200)
    const work = madeUpWork()
    const ofWork = new Set(work.map(({ sweep }) => sweep))
    const others = results.points.filter(({ sweep }) => !ofWork.has(sweep))
    expect(reportPage({ ...results, points: others }).page).not.toContain('Triangular products')
    const { page } = reportPage({ ...results, points: [...others, ...work] })
    const triangles = /<section id="triangular-products".*?<\/section>/s.exec(page)![0]
    // Triangles take 0.174 of the time of squares at both sizes. The batch has no measurement of squares.
    expect(triangles.match(/<td[^>]*>0\.174<\/td>/g)).toHaveLength(2)
    for (const text of [
      '496 × 1K',
      'tiles, translated',
      'BPMax, 16 × 750 bases',
      'Nussinov, 1000 × 500 bases',
    ]) {
      expect(page).toContain(text)
    }
    // The speed is 2 · 4.8e10 operations / 20 ms = 4800 GOPS.
    expect(page).toContain('4800')
  })

  it('escapes the content of a file', async () => {
    const results = await readResults(h200)
    const evil = '<script>alert("1")</script>'
    results.machine.gpu = { ...results.machine.gpu, name: evil }
    results.machine.toolkit = evil
    const { page } = reportPage(results)
    expect(page).not.toContain('<script')
    expect(page).toContain('&#60;script&#62;')
  })

  it('rejects files that are not results, and keeps the existing page', async () => {
    writeFileSync(path('old.html'), 'old')
    writeFileSync(path('wrong.json'), '{}')
    expect(await fails(['report', '--from', path('wrong.json'), '-o', path('old.html')])).toContain(
      '[ERR_MPMML_FILE]',
    )
    expect(await fails(['report', '--from', path('none.json'), '-o', path('old.html')])).toContain('ENOENT')
    expect(await fails(['report', '--from', h200, '-o', h200])).toContain('same file')
    expect(readFileSync(path('old.html'), 'utf8')).toBe('old')
  })

  it('reports wrong usage together with options of measurements', async () => {
    expect(await fails(['report', '--from', h200, '--again'], 2)).toContain('--again')
    expect(await fails(['report', '--from', h200, '--sizes', '64'], 2)).toContain('--sizes')
  })
})

itUnless(withCuda(), 'reports a missing GPU in one line without --from', async () => {
  expect(await fails(['report', '-o', path('never.html')])).toContain('needs a GPU')
})

it('judges the results of the H200 by its numbers', async () => {
  const { claims } = reportPage(await readResults(h200))
  const verdict = (id: string) => claims.find((claim) => claim.id === id)!.verdict
  for (const id of ['large', 'cases', 'patterns', 'instances', 'ordering', 'both']) {
    expect([id, verdict(id)]).toEqual([id, 'agrees'])
  }
  for (const id of ['one', 'transpose', 'banks', 'case11', 'peak'])
    expect([id, verdict(id)]).toEqual([id, 'differs'])
  for (const id of ['patterns1k-980', 'patterns1k-titanx', 'patterns1k-1080ti'])
    expect([id, verdict(id)]).toEqual([id, 'elsewhere'])
})

it('shows and judges other publications if their experiments were measured', async () => {
  const { page, claims } = reportPage(await readResults(h200Ladder))
  const others = claims.filter(({ source }) => source !== undefined)
  expect(others.map(({ id, verdict }) => [id, verdict])).toEqual([
    ['tiles30', 'differs'],
    ['cpu500', 'differs'],
    ['roofline32', 'differs'],
  ])
  for (const { statement } of others) expect(page.split(statement).length - 1).toBe(2)
  // The M2090's roofline: 177 GB/s at 1/4 to 8 operations per byte, at most 1331 GFLOPS.
  for (const bound of ['44 GOPS', '177 GOPS', '354 GOPS', '708 GOPS', '1331 GOPS']) {
    expect(page).toContain(`<td>${bound}</td>`)
  }
})

describeUnless(withoutChromium, 'in a browser', () => {
  let page: Page
  beforeAll(async () => {
    await succeeds(['report', '--from', h200, '-o', path('browser.html')])
    const results = await readResults(h200)
    await writeResults(path('partial.json'), { ...results, points: results.points.slice(0, 40) })
    await succeeds(['report', '--from', path('partial.json'), '-o', path('partial.html')])
    page = await startBrowser()
  })
  afterAll(() => page?.close())

  const views = [390, 1200].flatMap((width) =>
    (['light', 'dark'] as const).map((scheme) => [width, scheme] as const),
  )

  it.each(views)(
    'shows every figure within %i pixels in the %s scheme, without errors and requests',
    async (width, scheme) => {
      for (const name of ['browser.html', 'partial.html']) {
        const url = pathToFileURL(path(name)).href
        await page.open(url, width, scheme)
        expect(page.problems).toEqual([])
        expect(page.requests).toEqual([url])
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      }
      await page.open(pathToFileURL(path('browser.html')).href, width, scheme)
      // Each figure is drawn once at this width, with marks in it, and has a name for screen readers.
      const figures = await page.evaluate<{ label: string; marks: number; width: number }[]>(`
      [...document.querySelectorAll('figure')].map((figure) => {
        const [shown, ...others] = [...figure.querySelectorAll('[role=img]')].filter((e) => e.getClientRects().length > 0)
        if (others.length > 0) throw new Error('drawn twice')
        return {
          label: shown.getAttribute('aria-label'),
          marks: shown.querySelectorAll('svg rect, svg [aria-label=dot] path, svg [aria-label=dot] circle').length,
          width: shown.firstElementChild.getBoundingClientRect().width,
        }
      })`)
      expect(figures).toHaveLength(19)
      for (const figure of figures) {
        expect(figure.label).toMatch(/\. The numbers are in the table below\.$/)
        expect(figure.marks).toBeGreaterThan(4)
        expect(figure.width).toBeGreaterThan(300)
        expect(figure.width).toBeLessThanOrEqual(width)
      }
      // The text has enough contrast with the page in both colour schemes.
      const [text, background] = await page.evaluate<string[]>(
        '[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]',
      )
      const light = (color: string) =>
        color
          .match(/\d+/g)!
          .slice(0, 3)
          .reduce((sum, part) => sum + Number(part), 0)
      expect(Math.abs(light(text!) - light(background!))).toBeGreaterThan(500)
      expect(light(background!) > 382).toBe(scheme === 'light')
    },
  )
})
