/** The examples of docs/rna.md print the output that their comments state. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { errorClasses } from '../../lib/errors.js'
import * as rna from '../../lib/rna.js'
import { root, runProgram } from '../cli/support.js'

const guide = readFileSync(join(root, 'docs', 'rna.md'), 'utf8')
const library = pathToFileURL(join(root, 'dist', 'lib', 'rna.js')).href

describe('the examples of docs/rna.md', () => {
  const examples = [...guide.matchAll(/```js\n(.+?)```/gs)].map(([, code]) => code!)

  it('exist', () => expect(examples.length).toBeGreaterThan(2))

  it.each(examples.map((code, index) => [index + 1, code] as const))(
    'print the stated output: %i',
    async (_, code) => {
      const program = code.replace("'mpmml/rna'", JSON.stringify(library))
      const { stdout } = await runProgram(process.execPath, ['--input-type=module', '--eval', program])
      const said = [...code.matchAll(/console\.log\(.+\) \/\/ (.+)$/gm)].map(([, output]) => output)
      expect(said.length).toBeGreaterThan(0)
      expect(stdout.trimEnd().split('\n')).toEqual(said)
    },
  )
})

it('names every function and option, and only errors that exist', () => {
  for (const name of Object.keys(rna)) expect(guide).toContain(`\`${name}`)
  for (const [code] of guide.matchAll(/ERR_MPMML_\w+/g)) expect(errorClasses).toHaveProperty(code)
})
