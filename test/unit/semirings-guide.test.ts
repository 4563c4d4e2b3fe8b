/** The examples of docs/semirings.md print the stated output. Uses the output of `npm run build:ts`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { errorClasses } from '../../lib/errors.js'
import { operations } from '../../lib/semirings/rules.js'
import * as semirings from '../../lib/semirings.js'
import { root, runProgram } from '../cli/support.js'

const guide = readFileSync(join(root, 'docs', 'semirings.md'), 'utf8')
const fileOf = (entry: string) => JSON.stringify(pathToFileURL(join(root, 'dist', 'lib', `${entry}.js`)).href)

const programs = [...guide.matchAll(/```js\n(.+?)```/gs)].map(([, code]) => code!)

const run = async (code: string) => {
  const program = code.replace("'mpmml/semirings'", fileOf('semirings')).replace("'mpmml'", fileOf('index'))
  const { stdout, stderr } = await runProgram(process.execPath, ['--input-type=module', '--eval', program])
  expect(stderr).toBe('')
  return stdout.trimEnd()
}

describe('the examples of docs/semirings.md', () => {
  it('exist', () => expect(programs.length).toBeGreaterThan(3))

  it.each(programs.map((code, index) => [index + 1, code] as const))(
    'print the stated output: %i',
    async (_, code) => {
      const said = [...code.matchAll(/console\.log\(.+\) \/\/ (.+)$/gm)].map(([, output]) => output)
      expect(said.length).toBeGreaterThan(0)
      expect((await run(code)).split('\n')).toEqual(said)
    },
  )

  it('show a printed semiring', async () => {
    const [, shown] = /prints the expression:\n\n```\n(.+?)\n```/s.exec(guide)!
    expect(await run(`${programs[0]!.replace(/^const \{ c \}.*/ms, '')}console.log(closest)`)).toBe(shown)
  })
})

it('names every function, operation and property, and only errors that exist', () => {
  for (const name of Object.keys(semirings)) expect(guide).toContain(`\`${name}`)
  for (const { name, becomes } of operations.values()) {
    if (name !== 'argument' && becomes !== 'internal') expect(guide).toMatch(new RegExp(`\`${name}\\b`))
  }
  for (const [code] of guide.matchAll(/ERR_MPMML_\w+/g)) expect(errorClasses).toHaveProperty(code)
})
