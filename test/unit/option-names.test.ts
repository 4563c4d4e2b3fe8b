/** The tables of options in the guides agree with the interfaces. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { flags } from '../../bench/flags.js'
import { pagesWithOptions, withOptions } from '../../docs/options.mjs'

it('lists in the guides the options that npm run options writes', () => {
  expect(pagesWithOptions().length).toBeGreaterThan(5)
  for (const path of pagesWithOptions()) {
    const page = readFileSync(path, 'utf8')
    expect(withOptions(page, flags), path).toBe(page)
  }
})
