/** README.md keeps step with the code. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { errorClasses } from '../../lib/errors.js'
import { matrix, mpmm } from '../../lib/index.js'
import { root, succeeds } from './support.js'

const readme = readFileSync(join(root, 'README.md'), 'utf8')

it('lists every error, with its class, and no other', () => {
  const listed = [...readme.matchAll(/^\| `(ERR_MPMML_\w+)` \| `(\w+)` \|/gm)].map(([, code, name]) => [
    code,
    name,
  ])
  expect(listed).toEqual(Object.entries(errorClasses).map(([code, { name }]) => [code, name]))
  for (const [code, ErrorClass] of Object.entries(errorClasses)) {
    const error = new ErrorClass('message')
    expect(error.code).toBe(code)
    expect(error.name).toBe(ErrorClass.name)
  }
})

it('names the commands that exist', async () => {
  const help = await succeeds(['--help'])
  const named = new Set([...readme.matchAll(/^npx mpmml (\w+)/gm)].map(([, command]) => command))
  for (const command of named) expect(help).toMatch(new RegExp(`^ +${command}\\b`, 'm'))
  expect(named.size).toBeGreaterThan(3)
})

it("has an example whose numbers are the library's", async () => {
  const [, a, b, c] =
    /Int32Array\.of\(([\d, ]+)\).*\n.*Int32Array\.of\(([\d, ]+)\).*\n.*c\.data = (\[[\d, ]+\])/.exec(readme)!
  const numbers = (list: string) => list.split(', ').map(Number)
  const result = await mpmm(matrix(2, 3, numbers(a!)), matrix(3, 2, numbers(b!)))
  expect([...result.c.data]).toEqual(JSON.parse(c!))
})
