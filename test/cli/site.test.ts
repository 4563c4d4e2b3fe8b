/** The site of the pages and the reference, as a browser shows it. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { chromium, type Page, startBrowser } from '../support/browser.js'
import { root, runProgram, useFolder } from './support.js'

const folder = useFolder()
const skipped = chromium ? '' : ' (skipped: there is no Chromium)'
let browser: Page

beforeAll(async () => {
  if (!chromium) return
  const made = await runProgram(process.execPath, [
    '--disable-warning=DEP0205',
    join(root, 'docs/reference.mjs'),
    '--out',
    folder('site'),
  ])
  // The page to try the library needs the WebAssembly build, which has tests of its own (test/browser).
  const hasPage = existsSync(folder('site/try/index.html'))
  expect(made.status).toBe(0)
  expect(made.stderr).toMatch(
    hasPage ? /^$/ : /^The page to try the library isn't in the site: .+ makes what it needs\.\n$/,
  )
  browser = await startBrowser()
}, 600_000)

afterAll(() => browser?.close())

/** Opens a page of the site, and waits until its script shows it. */
async function open(name: string, width: number, scheme: 'light' | 'dark') {
  await browser.open(pathToFileURL(folder(`site/${name}`)).href, width, scheme)
  await expect
    .poll(() => browser.evaluate('document.body.style.display'), { timeout: 10_000 })
    .not.toBe('none')
}

/** The pages that people write, and one of the reference. */
const pages = () => [
  'index.html',
  'functions/mpmml.mpmm.html',
  ...readdirSync(folder('site/documents')).map((name) => `documents/${name}`),
]

it.skipIf(skipped)(
  `is wide enough for every page on a phone and on a screen, in both themes, and asks no other host${skipped}`,
  async () => {
    expect(pages().length).toBeGreaterThan(25)
    for (const name of pages()) {
      for (const [width, scheme] of [
        [360, 'light'],
        [1440, 'dark'],
      ] as const) {
        await open(name, width, scheme)
        const shown = await browser.evaluate(`({
          width: document.documentElement.scrollWidth <= innerWidth,
          broken: [...document.images].filter((image) => !image.naturalWidth || !image.alt).map((image) => image.src),
          dark: Number(/\\d+/.exec(getComputedStyle(document.body).backgroundColor)) < 128,
        })`)
        expect({ name, ...(shown as object) }).toEqual({
          name,
          width: true,
          broken: [],
          dark: scheme === 'dark',
        })
        expect(browser.problems, name).toEqual([])
        expect(browser.requests.filter((url) => !/^(file|data):/.test(url))).toEqual([])
      }
    }
  },
  300_000,
)

it.skipIf(skipped)(
  `has links that lead to files and headings${skipped}`,
  async () => {
    const links = new Map<string, string[]>()
    const ids = new Map<string, string[]>()
    for (const name of pages()) {
      const url = pathToFileURL(folder(`site/${name}`)).href
      await open(name, 1440, 'light')
      links.set(
        name,
        await browser.evaluate(
          `[...document.querySelectorAll('main a[href], .col-content a[href]')].map(({ href }) => href)`,
        ),
      )
      ids.set(url, await browser.evaluate('[...document.querySelectorAll("[id]")].map(({ id }) => id)'))
    }
    const dead = [...links].flatMap(([name, targets]) =>
      targets
        .filter((target) => {
          const url = new URL(target)
          if (url.protocol !== 'file:') return false
          const anchor = decodeURIComponent(url.hash.slice(1))
          url.hash = ''
          const file = fileURLToPath(url)
          const known = ids.get(url.href)
          return !existsSync(file) || !statSync(file).isFile() || (anchor && known && !known.includes(anchor))
        })
        .map((target) => `${name}: ${target}`),
    )
    expect(dead).toEqual([])
  },
  300_000,
)

it.skipIf(skipped)(
  `finds pages by keyboard${skipped}`,
  async () => {
    await open('index.html', 1440, 'light')
    await browser.press('Tab')
    const focused = 'document.activeElement !== document.body'
    expect(await browser.evaluate(focused)).toBe(true)
    await browser.press('/')
    await expect.poll(() => browser.evaluate('document.querySelector("#tsd-search").open')).toBe(true)
    for (const letter of 'timetable') await browser.press(letter)
    const found =
      '[...document.querySelectorAll("#tsd-search-results a")].map(({ textContent }) => textContent).join()'
    await expect.poll(() => browser.evaluate<string>(found), { timeout: 20_000 }).toContain('Scheduling')
  },
  60_000,
)
