/** docs/algebra.md documents all functions. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../cli/support.js'

const guide = readFileSync(join(root, 'docs', 'algebra.md'), 'utf8')

it('names every function of mpmml/algebra', async () => {
  const names = Object.keys(await import('../../lib/algebra.js'))
  expect(names.length).toBeGreaterThan(15)
  expect(names.filter((name) => !guide.includes(`\`${name}`))).toEqual([])
})
