/** mpmml ladder, mpmml sweep borders and mpmml roofline, and their part of the report. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseHTML } from 'linkedom'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reportPage } from '../../bench/report/page.js'
import { readResults, writeResults } from '../../lib/lab.js'
import { type Page, startBrowser, withoutChromium } from '../support/browser.js'
import { useFolder } from '../support/folder.js'
import { withCuda, withoutCuda, withoutLaboratory } from '../support/machine.js'
import { madeUpPoints } from '../support/made-up.js'
import { describeUnless, itUnless } from '../support/skip.js'
import { fails, json, root, succeeds } from './support.js'

const path = useFolder()
const noGpu = withoutCuda()
const noLab = withoutLaboratory()

/** Writes a results file with synthetic numbers and the description of a real machine. */
async function madeUpFile(name: string): Promise<string> {
  const { machine, ...results } = await readResults(join(root, 'test', 'cli', 'fixtures', 'h200.json'))
  await writeResults(path(name), { ...results, machine, points: madeUpPoints() })
  return path(name)
}

describe('wrong usage', () => {
  it.each<[string, string]>([
    ['ladder 5 7 8', 'dimensions inconsistent: A is 5 × 7 and B is 8 × 8'],
    ['ladder 5 7 5 9', 'dimensions inconsistent'],
    ['ladder 5 --sizes 7', '--sizes'],
    ['ladder 0', 'dim1'],
    ['ladder 5 x', 'dim2'],
    ['ladder 1 1 1 1 1', 'too many'],
    ['ladder 5 --semiring plus-times --dtype int32', 'float32'],
    ['ladder 5 --borders none', 'guards, padding'],
    ['roofline --from x.json --size 64', '--size'],
    ['roofline --from x.json --counters', '--counters'],
    ['roofline --semiring plus-times --dtype int32', 'float32'],
  ])('is reported for %s', async (command, expected) => {
    expect(await fails(command.split(' '), 2)).toContain(expected)
  })
})

describeUnless(withCuda(), 'without a GPU', () => {
  it('computes the ladder on the CPU, and names the missing part', async () => {
    const printed = await succeeds(['ladder', '40', '30', '30', '20'])
    expect(printed).toMatch(/^40 × 30 × 20 +\S+ +\S+ [GT]OPS +packed_maxplus_i32_/m)
    expect(printed).toMatch(/^The GPU's part is missing: .*none can be used/m)
    expect(printed).toContain(noGpu)
  })
  it('prints the points and the reason with ladder --json', async () => {
    const { semiring, dtype, points, missing, machine } = await json(['ladder', '--sizes', '20,30'])
    expect([semiring, dtype, machine]).toEqual(['max-plus', 'int32', null])
    expect(missing).toContain(noGpu)
    expect(
      points.map(({ parameters: { m, k, n } }: { parameters: Record<string, number> }) => [m, k, n]),
    ).toEqual([
      [20, 20, 20],
      [30, 30, 30],
    ])
    // Every point has a comparison with sums in float64.
    for (const { result } of points) expect(result).toMatchObject({ backend: 'cpu', relativeError: 0 })
  })
  it.each(['ladder 20 -o never.json', 'sweep borders', 'roofline', 'roofline -o never.svg --json'])(
    'reports in one line that %s needs a GPU',
    async (command) => {
      expect(await fails(command.split(' '), 1, { cwd: path('.') })).toContain(noGpu)
      expect(readdirSync(path('.')).filter((name) => name.startsWith('never'))).toEqual([])
    },
  )
})

describe('roofline --from', () => {
  it('prints limits and kernels, and draws them', async () => {
    const file = await madeUpFile('roofline.json')
    const printed = await succeeds(['roofline', '--from', file, '-o', path('roofline.svg')])
    expect(printed).toMatch(/^instructions: fused +33\.0 TOPS$/m)
    expect(printed).toMatch(/^device memory: copy +4000 GB\/s$/m)
    // The bound is 1/4 operation per byte · 4000 GB/s. Caches raise the speed above the bound.
    expect(printed).toMatch(
      /^one thread per cell, coalesced +0\.25 +0\.25 +3000 GOPS +1000 GOPS \(device memory\) +shared memory; above that of device memory and L2$/m,
    )
    // The bound is 2 operations per byte · 4000 GB/s.
    expect(printed).toMatch(
      /^tiles in shared memory 8×8, coalesced +2 +0\.333 +4000 GOPS +8000 GOPS \(device memory\) +device memory$/m,
    )
    const svg = readFileSync(path('roofline.svg'), 'utf8')
    expect(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg"')).toBe(true)
    expect(svg.endsWith('</svg>\n')).toBe(true)
    expect(svg).toContain('Roofline of NVIDIA H200: max-plus int32, 4096³')
    for (const text of ['device memory 4000 GB/s', 'L2 7000 GB/s', 'fused 33.0 TOPS'])
      expect(svg).toContain(text)
    expect(svg).not.toMatch(/<script|\b(href|src)=|url\(|@import/)
  })
  it('draws a file without a style sheet, because programs other than browsers ignore those', async () => {
    await succeeds(['roofline', '--from', await madeUpFile('plain.json'), '-o', path('plain.svg')])
    const svg = readFileSync(path('plain.svg'), 'utf8')
    expect(svg).not.toMatch(/<style|\b(style|class)=|var\(|currentColor/)
    const { document } = parseHTML(svg)
    const drawn = [...document.querySelectorAll('path, line, rect, circle, text')]
    expect(drawn.length).toBeGreaterThan(40)
    const strokeOf = (element: Element, attribute: string): string | null =>
      element.closest(`[${attribute}]`)?.getAttribute(attribute) ?? null
    for (const element of drawn) {
      const [fill, stroke] = [strokeOf(element, 'fill'), strokeOf(element, 'stroke') ?? 'none']
      const what = element.outerHTML.slice(0, 120)
      for (const colour of [fill, stroke]) expect(colour, what).toMatch(/^(#[0-9a-f]{6}|none)$/)
      expect([fill, stroke], what).not.toEqual(['none', 'none'])
      if (element.tagName === 'text') {
        expect(Number(strokeOf(element, 'font-size')), what).toBeGreaterThan(8)
        expect(strokeOf(element, 'font-family'), what).toContain('sans-serif')
      }
    }
    // The first rectangle is the background, whose colour differs from the text. The series differ in colour.
    expect(document.querySelector('rect')!.getAttribute('fill')).not.toBe(
      strokeOf(document.querySelector('text')!, 'fill'),
    )
    const colours = [...document.querySelectorAll('[aria-label="dot"] path')].map((dot) =>
      strokeOf(dot, 'stroke'),
    )
    expect(new Set(colours).size).toBeGreaterThan(1)
  })
  it('prints JSON', async () => {
    const { ceilings, kernels, gpu } = await json(['roofline', '--from', await madeUpFile('json.json')])
    expect(gpu).toBe('NVIDIA H200')
    expect(ceilings).toEqual({
      operations: 33000,
      deviceMemory: 4000,
      l2: 7000,
      sharedMemory: 30000,
      strided: 500,
    })
    expect(kernels).toHaveLength(4)
    expect(kernels[0].roofs[0]).toEqual({ name: 'strided', gops: 125 })
  })
  it('needs a kernel whose operations per byte are known', async () => {
    const { points, ...results } = await readResults(await madeUpFile('unknown.json'))
    const unknown = points.map((point) =>
      point.kind === 'kernel' ? { ...point, name: point.name.replace(/^[a-z]+/, 'future') } : point,
    )
    await writeResults(path('unknown.json'), { ...results, points: unknown })
    const message = await fails(['roofline', '--from', path('unknown.json'), '-o', path('unknown.svg')])
    expect(message).toContain('no roofline of max-plus int32')
    expect(reportPage({ ...results, points: unknown }).page).not.toContain('NaN')
  })
  it('rejects speeds that are not above 0', async () => {
    const { points, ...results } = await readResults(await madeUpFile('zero.json'))
    const kernel = points.find(({ kind }) => kind === 'kernel')!
    Object.assign((kernel.result as { gops: object }).gops, { median: 0, q1: 0 })
    writeFileSync(path('zero.json'), JSON.stringify({ ...results, points }))
    expect(await fails(['roofline', '--from', path('zero.json')])).toMatch(
      /has a result without gops \[ERR_MPMML_FILE\]$/m,
    )
  })
  it('reports missing points of a file', async () => {
    const h200 = join(root, 'test', 'cli', 'fixtures', 'h200.json')
    const file = await madeUpFile('other.json')
    expect(await fails(['roofline', '--from', file, '--semiring', 'min-plus'])).toContain(
      'no roofline of min-plus int32',
    )
    writeFileSync(path('empty.json'), '{}')
    expect(await fails(['roofline', '--from', path('empty.json')])).toContain('[ERR_MPMML_FILE]')
    expect(await fails(['roofline', '--from', h200, '-o', h200])).toContain('same file')
  })
})

describe('the results of an H200', () => {
  const file = join(root, 'test', 'cli', 'fixtures', 'h200-ladder.json')

  it('form a roofline: each kernel is below a limit of its kind, and the tuned ones are bound by instructions', async () => {
    const { ceilings, kernels } = await json(['roofline', '--from', file])
    const { operations, deviceMemory, l2, sharedMemory } = ceilings
    expect(deviceMemory).toBeLessThan(l2)
    expect(l2).toBeLessThan(sharedMemory)
    expect(kernels).toHaveLength(17)
    for (const { gops, roofs } of kernels as { gops: number; roofs: { name: string; gops: number }[] }[]) {
      expect(gops).toBeLessThan(operations)
      expect(gops).toBeLessThan(Math.max(...roofs.map((roof) => roof.gops)))
    }
    expect(await succeeds(['roofline', '--from', file])).toMatch(
      /^asynchronous copies, tuned .*35\.3 TOPS .*instructions$/m,
    )
  })

  it('make a page with its three sections', async () => {
    const { page } = reportPage(await readResults(file))
    for (const id of ['the-matrix-multiplication-ladder', 'borders-guards-or-padding', 'roofline']) {
      expect(page).toContain(`<section id="${id}"`)
    }
    expect(page).not.toContain('NaN')
  })
})

describe('the report', () => {
  it('has sections for the ladder, borders and the roofline if they were measured', async () => {
    const { page } = reportPage(await readResults(await madeUpFile('report.json')))
    for (const id of ['the-matrix-multiplication-ladder', 'borders-guards-or-padding', 'roofline']) {
      expect(page).toContain(`<section id="${id}"`)
      expect(page).toContain(`href="#${id}"`)
    }
    // The page shows the K20c's times next to those of the file.
    for (const text of ['Table 1: baseline', '<td>232</td><td>233</td>', '<td>7.99</td><td>9.49</td>']) {
      expect(page).toContain(text)
    }
    // The gains are 1.25 / 1 − 1 = 25 % without copies and 1.25 / 1.5 − 1 with copies.
    expect(page).toContain(
      'padding is ahead by 25.00 % (the paper, GTX 680: ahead by 15.51 %); with the copies that pad the operands, behind by 16.67 %',
    )
    expect(page).not.toContain('NaN')
  })
  it('has none of these sections without measurements', async () => {
    const results = await readResults(await madeUpFile('none.json'))
    const { page } = reportPage({ ...results, points: [] })
    for (const id of ['the-matrix', 'borders', 'roofline']) expect(page).not.toContain(`<section id="${id}`)
  })
  describeUnless(withoutChromium, 'in a browser', () => {
    let page: Page
    beforeAll(async () => {
      await succeeds(['report', '--from', await madeUpFile('browser.json'), '-o', path('browser.html')])
      await succeeds(['roofline', '--from', path('browser.json'), '-o', path('browser.svg')])
      page = await startBrowser()
    })
    afterAll(() => page?.close())
    it.each([390, 1200])('fit in %i pixels, without errors and requests', async (width) => {
      const url = pathToFileURL(path('browser.html')).href
      await page.open(url, width, 'light')
      expect(page.problems).toEqual([])
      expect(page.requests).toEqual([url])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      const marks = await page.evaluate<number>(
        `[...document.querySelectorAll('#roofline [role=img]')].filter((e) => e.getClientRects().length > 0)[0].querySelectorAll('[aria-label=dot] :is(path, circle)').length`,
      )
      // The chart has four kernels in each of two panels.
      expect(marks).toBe(8)
    })
    it('show the SVG file correctly', async () => {
      const url = pathToFileURL(path('browser.svg')).href
      await page.open(url, 900, 'dark')
      expect(page.problems).toEqual([])
      expect(page.requests).toEqual([url])
      expect(await page.evaluate<string>('document.documentElement.tagName')).toBe('svg')
    })
  })
})

describeUnless(noGpu ?? noLab, 'with a GPU', () => {
  it('times every kernel of the ladder, and compares each result with sums in float64', async () => {
    const { points, tables, missing } = await json(['ladder', '130', '70', '70', '90'])
    expect(missing).toBeNull()
    const calls = points.filter(
      ({ kind, name }: { kind: string; name: string }) => kind === 'call' && name !== 'cpu',
    )
    expect(calls.length).toBeGreaterThan(14)
    for (const { result, name } of calls) {
      expect(result, name).toMatchObject({ backend: 'cuda', variant: name, relativeError: 0 })
      expect(result.totalMs.median, name).toBeGreaterThanOrEqual(result.kernelMs.median)
    }
    expect(tables[0].rows.length).toBe(calls.length + 1)
  })
  it('resumes a ladder with padding in a file', async () => {
    const file = path('ladder.json')
    await succeeds(['ladder', '--sizes', '100,200', '--borders', 'padding', '-o', file])
    const first = await readResults(file)
    const printed = await succeeds([
      'ladder',
      '--sizes',
      '100,200',
      '--borders',
      'padding',
      '-o',
      file,
      '--resume',
    ])
    expect(await readResults(file)).toEqual({ ...first, machine: (await readResults(file)).machine })
    expect(printed).toMatch(/^Table 3: shared memory with different block sizes on 200 × 200/m)
  })
  it('compares guards and padding by sweep borders', async () => {
    const printed = await succeeds(['sweep', 'borders', '--sizes', '100,333', '--repetitions', '1'])
    expect(printed.match(/^On average padding is /gm)!.length).toBeGreaterThanOrEqual(2)
    expect(printed).toContain('the paper, GTX 680: ahead by 15.51 %')
  })
  it('measures a roofline, keeps the results and draws it', async () => {
    const found = await json([
      'roofline',
      '--size',
      '512',
      '-o',
      path('gpu.svg'),
      '--results',
      path('gpu.json'),
    ])
    const { ceilings, kernels, strided } = found
    for (const name of ['operations', 'deviceMemory', 'l2', 'sharedMemory', 'strided'])
      expect(ceilings[name], name).toBeGreaterThan(0)
    expect(strided).toHaveLength(6)
    expect(kernels.length).toBeGreaterThan(14)
    expect(readFileSync(path('gpu.svg'), 'utf8')).toContain('</svg>')
    const again = await json(['roofline', '--from', path('gpu.json')])
    expect(again.kernels).toEqual(kernels)
  })
})

itUnless(noLab, 'variants lists the ladder', async () => {
  const printed = await succeeds(['variants', '--family', 'ladder', '--semiring', 'min-plus'])
  expect(printed).toContain('ladder_minplus_i32_prefetch_32x32_coalesced_padding')
})
