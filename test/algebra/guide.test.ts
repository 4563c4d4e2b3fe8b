/** The examples of docs/algebra.md print what they say. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { root, runProgram } from '../cli/support.js'

const built = existsSync(join(root, 'dist', 'lib', 'algebra.js'))
const guide = readFileSync(join(root, 'docs', 'algebra.md'), 'utf8')
const examples = [...guide.matchAll(/```js\n(.+?)```/gs)].map(([, code]) => code!)
const address = (file: string) => JSON.stringify(pathToFileURL(join(root, 'dist', 'lib', file)).href)

describe.skipIf(!built)(built ? 'the guide' : 'the guide (skipped: dist/ is not built)', () => {
  it('has examples', () => expect(examples.length).toBeGreaterThan(7))

  it.each(examples.map((code, index) => [index + 1, code] as const))('example %i', async (_, code) => {
    const program = code
      .replace("'mpmml'", address('index.js'))
      .replace("'mpmml/algebra'", address('algebra.js'))
    const { stdout, stderr } = await runProgram(process.execPath, ['--input-type=module', '--eval', program])
    const said = [...code.matchAll(/console\.log\(.+\) \/\/ (.+)$/gm)].map(([, output]) => output)
    expect(stderr).toBe('')
    expect(said.length).toBeGreaterThan(0)
    expect(stdout.trimEnd().split('\n')).toEqual(said)
  })

  it('names every function of mpmml/algebra', async () => {
    const names = Object.keys(await import('../../lib/algebra.js'))
    expect(names.length).toBeGreaterThan(15)
    expect(names.filter((name) => !guide.includes(`\`${name}`))).toEqual([])
  })
})
