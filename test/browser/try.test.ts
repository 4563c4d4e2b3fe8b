/** The page for trying the library, tested in a browser. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { root } from '../../lib/native.js'
import { type Page, startBrowser, withoutChromium } from '../support/browser.js'
import { readOutput } from '../support/child.js'
import { useFolder } from '../support/folder.js'
import { PATIENCE } from '../support/patience.js'
import { named } from '../support/skip.js'
import { isolated, serveFolder, type WebServer } from '../support/web-server.js'
import { missingForBrowsers } from './support.js'

const missing = missingForBrowsers()
const why = withoutChromium ?? missing
const tools = ['project', 'paths', 'timetable', 'product', 'rna']

const inFolder = useFolder()

beforeAll(async () => {
  if (why) return
  const { makePage } = await import(new URL('../../docs/try.mjs', import.meta.url).href)
  await makePage(inFolder())
})

describe.skipIf(why).each([
  { name: 'alone', headers: {}, threads: '1 thread' },
  { name: 'isolated', headers: isolated, threads: 'thread' },
])(named('the page for trying mpmml, $name', why), ({ headers, threads }) => {
  let server: WebServer
  let browser: Page

  beforeAll(async () => {
    server = await serveFolder(inFolder(), headers)
    browser = await startBrowser()
  })

  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  const text = () => browser.evaluate<string>('document.querySelector("output")?.innerText ?? ""')
  const answer = (expected: string | RegExp) =>
    vi.waitFor(
      async () => {
        expect(await browser.evaluate('document.querySelector("output[aria-busy]")')).toBe(null)
        expect(await text()).toMatch(expected)
      },
      { timeout: PATIENCE, interval: 50 },
    )
  /** Message at the invalid field. */
  const refused = (field: string, expected: string) =>
    vi.waitFor(
      async () => {
        const message = `document.querySelector('#field-${field}[aria-invalid] + [role=alert]')?.textContent`
        expect(await browser.evaluate(message)).toContain(expected)
        expect(await text()).toBe('')
      },
      { timeout: PATIENCE, interval: 50 },
    )
  /**
   * Number of opened pages. It is in the query of the URL, because a change of the fragment alone doesn't
   * load the page.
   */
  let opened = 0
  const open = async (fragment: string, width = 1440, scheme: 'light' | 'dark' = 'light') => {
    await browser.open(`${server.url}/index.html?${++opened}#${fragment}`, width, scheme)
    await vi.waitFor(
      async () => expect(await browser.evaluate('!!document.querySelector("form")')).toBe(true),
      {
        timeout: PATIENCE,
      },
    )
  }
  const enter = (field: string, value: string) =>
    browser.evaluate(`{
      const input = document.querySelector('#field-${field}')
      input.value = ${JSON.stringify(value)}
      input.dispatchEvent(new Event(input.localName === 'select' ? 'change' : 'input', { bubbles: true }))
    }`)
  const drop = (field: string, name: string, content: string) =>
    browser.evaluate(`{
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File([${content}], ${JSON.stringify(name)}))
      document.querySelector('#field-${field}').dispatchEvent(
        new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }),
      )
    }`)

  it('shows each example on a phone and a screen, in both themes, without requests to other hosts', async () => {
    const answers = [
      /done after 59\./,
      /446/,
      /every 15 minutes/,
      /path translated of int32/,
      /pairs are worth \d+/,
    ]
    for (const [index, tool] of tools.entries()) {
      for (const [width, scheme] of [
        [360, 'light'],
        [1440, 'dark'],
      ] as const) {
        await open(tool, width, scheme)
        await answer(answers[index]!)
        const shown = await browser.evaluate(`({
          fits: document.documentElement.scrollWidth <= innerWidth,
          dark: Number(/\\d+/.exec(getComputedStyle(document.documentElement).backgroundColor)) < 128,
          current: document.querySelector('nav [aria-current]').hash,
          unnamed: [...document.querySelectorAll('textarea, select')].filter((field) => !field.labels.length).length,
          pictures: [...document.querySelectorAll('svg')].filter((picture) => picture.getAttribute('role') !== 'img').length,
        })`)
        expect({ tool, ...(shown as object) }).toEqual({
          tool,
          fits: true,
          dark: scheme === 'dark',
          current: `#${tool}`,
          unnamed: 0,
          pictures: 0,
        })
        expect(browser.problems).toEqual([])
        expect(
          browser.requests.filter((url) => !url.startsWith(server.url) && !url.startsWith('data:')),
        ).toEqual([])
      }
    }
    expect(await browser.evaluate('document.querySelector("#engine").textContent')).toContain(threads)
  })

  it('shows the results of its input', async () => {
    await open('project')
    await enter('plan', 'dig;2;\nbuild;5;dig\npaint;1;build,dig')
    await answer(/done after 8\.[\s\S]*dig → build → paint/)
    await enter('plan', 'a,1,b\nb,2,a')
    await refused('plan', 'a waits for b, which waits for a')
    await enter('plan', 'a,1,c')
    await refused('plan', 'wait for jobs of the plan, but ')
    await enter('plan', '')
    await refused('plan', 'a line for each job')

    await open('paths')
    await enter('edges', 'from,to,km\na,b,1\nb,c,5\na,c,4')
    await enter('from', 'a')
    await enter('to', 'c')
    await enter('ways', 'one way')
    await answer(/a → c: 4\./)
    await enter('kind', 'longest')
    await answer(/a → b → c: 6\./)
    await enter('edges', 'a,b,1\nb,c,five')
    await refused('edges', 'line 2')
    await enter('edges', 'a,b,1\nb,c,5')
    await answer(/a → b → c: 6\./)
    await enter('edges', '')
    await refused('edges', 'a line for each edge')

    await open('timetable')
    await enter('waits', 'a,b,3\nb,a,4\na,a,3')
    await answer(/every 3\.5 minutes[\s\S]*a → b → a[\s\S]*a\s+0\.5\s+b\s+0/)

    await open('product')
    await enter('a', '1 2\n3 4')
    await enter('b', '0.5 .\n. 0.5')
    await answer(/of float64[\s\S]*0\s+1\.5\s+2\.5\s+1\s+3\.5\s+4\.5/)
    await enter('a', '1 2\n3')
    await refused('a', 'Line 2: expected 2 numbers')
    await enter('a', '1 2 3')
    await refused('b', 'as many rows as A has columns')
    await enter('b', '')
    await refused('b', 'Enter matrix B')

    await open('rna')
    await enter('first', 'GGG')
    await enter('second', 'CCC')
    await answer(/worth 9/)
    await enter('second', 'CXC')
    await refused('second', 'expected a base')
  })

  it('rejects invalid input with its line and the reason', async () => {
    await open('project')
    await enter('plan', 'a,3 days\nb,2,a')
    await answer(/done after 5\./)
    await enter('plan', 'id,days\na,soon')
    await refused('plan', 'line 2: the duration of ')
    await enter('plan', 'a;1,5\nb;2;a')
    await answer(/done after 3\.5\./)
    await enter('plan', 'a,1\na,2')
    await refused('plan', 'line 2: there are two jobs ')
    await enter('plan', 'a,1\n,3')
    await refused('plan', 'line 2: the job has neither an id nor a name')
    await enter('plan', '"a, b",3\nc,4,"a, b"')
    await answer(/done after 7\.[\s\S]*a, b → c/)

    await open('paths')
    await enter('edges', 'a;b;1,5')
    await refused('edges', '1,5')
    await enter('edges', 'a,b,-0.5\nb,c,0.2')
    await enter('ways', 'one way')
    await enter('kind', 'most reliable')
    await refused('edges', 'a → b weighs -0.5: most reliable paths need weights of 0 or more')

    await open('timetable')
    await enter('waits', 'a,b,-3\nb,a,1')
    await answer(/as often as you like/)

    await open('rna')
    await enter('first', '>one\nGGG\n>two\nCCC')
    await refused('first', 'expected one strand, but found 2')
  })

  it('shows integers exactly, and fractions as fractions', async () => {
    await open('project')
    await enter('plan', 'big,1234567\nb,1.25,big')
    await answer(/done after 1234568\.25\./)
    await open('product')
    await enter('a', '2147483647')
    await enter('b', '0')
    await answer(/of int32[\s\S]*\t2147483647/)
    // The page selects float64 for this sum if no type is requested.
    await enter('b', '1')
    await answer(/of float64[\s\S]*\t2147483648/)
    await enter('type', 'int32')
    await vi.waitFor(async () => expect(await text()).toContain('choose float64'))
    await enter('b', '-inf')
    await answer(/of int32[\s\S]*\tε/)
    await enter('b', 'inf')
    await refused('b', 'It has ∞, which isn’t an int32')
    await open('paths')
    await enter('edges', 'a,b,2000000000\nb,c,2000000001')
    await enter('from', 'a')
    await enter('to', 'c')
    await answer(/a → b → c: 4000000001\./)
    await enter('kind', 'widest')
    await answer(/a → b → c: 2000000000\.[\s\S]*a\s+∞/)
    await open('timetable')
    await enter('waits', 'a,b,1\nb,c,1\nc,a,2')
    await answer(/every 4\/3 ≈ 1\.33333 minutes/)
  })

  it('reports that edges have no weights', async () => {
    for (const [tool, field] of [
      ['paths', 'edges'],
      ['timetable', 'waits'],
    ] as const) {
      await open(tool)
      await enter(field, 'from,to\na,b\nb,a')
      await answer(/have no weights: each weighs 1/)
      await enter(field, 'a,b,1\nb,a,1')
      await vi.waitFor(async () => expect(await text()).not.toContain('no weights'))
    }
  })

  it('shows the results that its programs print', async () => {
    for (const tool of tools) {
      await open(tool)
      await answer(/./)
      const program = await browser.evaluate<string>('document.querySelector("details pre").textContent')
      const stdout = readOutput(program, { cwd: root })
      const printed = [...program.matchAll(/ \/\/ (.*)$/gm)].map(([, comment]) => comment)
      expect(stdout.split('\n')).toEqual(printed)
    }
  })

  it('accepts dropped files', async () => {
    await open('product')
    const npy =
      "new Uint8Array([147, ...new TextEncoder().encode('NUMPY'), 1, 0, 118, 0, ...new TextEncoder().encode(" +
      "\"{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }\".padEnd(117) + '\\n'), ...new Uint8Array(Int32Array.of(7, -3).buffer)])"
    await drop('a', 'a.npy', npy)
    await enter('b', '1\n20')
    await answer(/C is 1 × 1[\s\S]*0\s+17/)
    // This file is in Fortran order.
    const fortran = npy
      .replace("'fortran_order': False, 'shape': (1, 2), }", "'fortran_order': True, 'shape': (2, 2), }")
      .replace('7, -3', '1, 2, 3, 4')
    await drop('a', 'f.npy', fortran)
    await vi.waitFor(async () =>
      expect(await browser.evaluate('document.querySelector("#field-a").value')).toBe('1,3\n2,4'),
    )
    // −2^31 is the zero of int32, both in files that the page saves and in files too large for the field.
    const zeros = npy.replace('7, -3', '7, -(2 ** 31)')
    await drop('a', 'zeros.npy', zeros)
    await answer(/of int32[\s\S]*0\s+8\n/)
    await enter('b', '.\n20')
    await answer(/of int32[\s\S]*0\s+ε/)
    await enter('b', '0.5\n20')
    await answer(/of float64[\s\S]*0\s+7\.5/)
    await enter('type', 'float64')
    await enter('b', '.\n20')
    await answer(/of float64[\s\S]*0\s+ε/)
    await enter('type', 'automatic')
    const large = zeros
      .replace('(1, 2)', '(1, 2600)')
      .replace('Int32Array.of(7, -(2 ** 31))', 'new Int32Array(2600).fill(-(2 ** 31))')
    await drop('a', 'large.npy', large)
    await enter('b', 'random 2600 1')
    await answer(/of int32[\s\S]*0\s+ε/)
    await drop(
      'a',
      'nan.npy',
      npy.replace('<i4', '<f4').replace('Int32Array.of(7, -3)', 'Float32Array.of(NaN, 1)'),
    )
    await refused('a', 'nan.npy has NaN')
    await drop('a', 'a.xlsx', "'PK\\0'")
    await refused('a', 'a.xlsx is no text')
    await open('paths')
    await drop('edges', 'roads.gr', "'p sp 3 2\\na 1 2 4\\na 2 3 -1\\n'")
    await refused('edges', 'round 2 → 3 → 2 would')
    await enter('ways', 'one way')
    await enter('from', '1')
    await enter('to', '3')
    await answer(/1 → 2 → 3: 3\./)
    const named = '\'<graphml><graph edgedefault="directed"><edge source="a" target="b"/></graph></graphml>\''
    await drop('edges', 'roads.graphml', named)
    await enter('from', 'a')
    await enter('to', 'b')
    await answer(/a → b: 1\./)
  })

  it('stores its input in its address, from which another page restores it', async () => {
    await open('paths')
    await answer('446')
    expect(await browser.evaluate('location.hash')).toBe('#paths')
    await enter('edges', 'Ä,"<b>x</b>",2\n"<b>x</b>",Ö,3')
    await enter('from', 'Ä')
    await enter('to', 'Ö')
    await answer(/Ä → <b>x<\/b> → Ö: 5\./)
    const hash = await vi.waitFor(async () => {
      const found = await browser.evaluate<string>('location.hash')
      expect(found.length).toBeGreaterThan('#paths='.length)
      return found
    })
    await open(hash.slice(1))
    await answer(/Ä → <b>x<\/b> → Ö: 5\./)
    expect(await browser.evaluate('document.querySelector("output b")')).toBe(null)
    await open('paths=AAAA')
    await answer('446')
    expect(await browser.evaluate('document.querySelector("#copied").textContent')).toContain('damaged')
    // The input is restored after a visit to another tool.
    await enter('edges', 'a,b,7')
    await enter('from', 'a')
    await enter('to', 'b')
    await answer(/a → b: 7\./)
    await vi.waitFor(async () => expect(await browser.evaluate('location.hash')).toContain('#paths=q'))
    await browser.evaluate('document.querySelector("nav a").click()')
    await answer('59')
    await browser.evaluate('document.querySelectorAll("nav a")[1].click()')
    await answer(/a → b: 7\./)
  })

  it('works by keyboard', async () => {
    await open('project')
    await answer('59')
    const focused = () => browser.evaluate<string>('document.activeElement.textContent.trim().slice(0, 20)')
    await browser.press('Tab')
    expect(await focused()).toBe('To the input')
    await browser.press('Enter')
    expect(await browser.evaluate('document.activeElement.id')).toBe('field-plan')
    await answer('59')
    await open('project')
    await answer('59')
    for (let times = 0; times < 3; times++) await browser.press('Tab')
    expect(await focused()).toBe('Paths')
    await browser.press('Enter')
    await answer('446')
    expect(await browser.evaluate('document.title')).toContain('Paths')
    expect(await browser.evaluate('getComputedStyle(document.activeElement).outlineStyle')).not.toBe('none')
  })
})

it.skipIf(why).each([
  ["script-src 'self'", /can’t start: .* allow 'wasm-unsafe-eval'/],
  ["script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'", /worker-src forbids it/],
])(named('the page reports what a policy of %s lacks', why), async (lacking, expected) => {
  const server = await serveFolder(inFolder(), { 'content-security-policy': lacking })
  const browser = await startBrowser()
  try {
    await browser.open(`${server.url}/index.html`, 800, 'light')
    const message = 'document.querySelector(".wrong")?.textContent'
    await vi.waitFor(async () => expect(await browser.evaluate(message)).toMatch(expected), PATIENCE)
  } finally {
    await browser.close()
    await server.close()
  }
})
