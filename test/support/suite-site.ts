/** The site of the pages and the reference, in a browser. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect } from 'vitest'
import { chromium, type Page, startBrowser, withoutChromium } from './browser.js'
import { itUnless } from './skip.js'

/** Registers the tests of the site in the folder `site`. */
export function siteSuite(site: string): void {
  let browser: Page
  beforeAll(async () => {
    if (chromium) browser = await startBrowser()
  })
  afterAll(() => browser?.close())

  /** Opens a page of the site, and waits until its script shows it. */
  async function open(name: string, width: number, scheme: 'light' | 'dark') {
    await browser.open(pathToFileURL(join(site, name)).href, width, scheme)
    await expect.poll(() => browser.evaluate('document.body.style.display')).not.toBe('none')
  }

  /** The guides, and one page of the reference. */
  const pages = () => [
    'index.html',
    'functions/mpmml.mpmm.html',
    ...readdirSync(join(site, 'documents')).map((name) => `documents/${name}`),
  ]

  itUnless(
    withoutChromium,
    'is wide enough for every page on a phone and on a screen, in both themes, requests nothing from other hosts, and has links that lead to files and headings',
    async () => {
      const links = new Map<string, string[]>()
      const ids = new Map<string, string[]>()
      expect(pages().length).toBeGreaterThan(25)
      for (const name of pages()) {
        const url = pathToFileURL(join(site, name)).href
        for (const [width, scheme] of [
          [360, 'light'],
          [1440, 'dark'],
        ] as const) {
          await open(name, width, scheme)
          const { hrefs, headings, ...shown } = await browser.evaluate<{
            hrefs: string[]
            headings: string[]
          }>(`({
          width: document.documentElement.scrollWidth <= innerWidth,
          broken: [...document.images].filter((image) => !image.naturalWidth || !image.alt).map((image) => image.src),
          dark: Number(/\\d+/.exec(getComputedStyle(document.body).backgroundColor)) < 128,
          hrefs: [...document.querySelectorAll('main a[href], .col-content a[href]')].map(({ href }) => href),
          headings: [...document.querySelectorAll('[id]')].map(({ id }) => id),
        })`)
          expect({ name, ...shown }).toEqual({ name, width: true, broken: [], dark: scheme === 'dark' })
          expect(browser.problems, name).toEqual([])
          expect(browser.requests.filter((url) => !/^(file|data):/.test(url))).toEqual([])
          links.set(name, hrefs)
          ids.set(url, headings)
        }
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
            return (
              !existsSync(file) || !statSync(file).isFile() || (anchor && known && !known.includes(anchor))
            )
          })
          .map((target) => `${name}: ${target}`),
      )
      expect(dead).toEqual([])
    },
  )

  itUnless(withoutChromium, 'finds pages by keyboard', async () => {
    await open('index.html', 1440, 'light')
    await browser.press('Tab')
    const focused = 'document.activeElement !== document.body'
    expect(await browser.evaluate(focused)).toBe(true)
    await browser.press('/')
    await expect.poll(() => browser.evaluate('document.querySelector("#tsd-search").open')).toBe(true)
    for (const letter of 'timetable') await browser.press(letter)
    const found =
      '[...document.querySelectorAll("#tsd-search-results a")].map(({ textContent }) => textContent).join()'
    await expect.poll(() => browser.evaluate<string>(found)).toContain('Scheduling')
  })
}
