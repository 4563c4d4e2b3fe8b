/** Developers' tools that run without a GPU. Uses the output of `npm run build`. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { variants } from '../../lib/index.js'
import { root } from '../../lib/native.js'
import { useFolder } from '../support/folder.js'
import { withCuda } from '../support/machine.js'
import { itUnless } from '../support/skip.js'

function run(tool: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'native', 'tools', tool), ...args],
    {
      encoding: 'utf8',
    },
  )
  return { status, stdout, stderr }
}

describe('the products that compute-sanitizer watches', () => {
  const one = ['--backend', 'cpu', '--devices', 'one', '--seed', '1', '--cases']

  it('are computed with every variant of the filter, and are right', () => {
    const { status, stdout } = run('fuzz.mjs', ...one, '4', '--variants', 'portable')
    const names = variants()
      .map(({ name }) => name)
      .filter((name) => name.includes('portable'))
    expect(names.length).toBeGreaterThan(0)
    const lines = stdout.trimEnd().split('\n')
    const ran = names.filter((name) => !lines.includes(`${name}: took none of its products`))
    expect(ran.length).toBeGreaterThan(names.length / 2)
    expect(lines.at(-1)).toMatch(/^[1-9]\d* elements of [1-9]\d* products .* all are right$/)
    expect(status).toBe(0)
  })

  it('fail if the filter fits no variant', () => {
    expect(run('fuzz.mjs', ...one, '4', '--variants', 'nothing')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('no variant of cpu has a name that contains "nothing"'),
    })
  })

  it('include closures', () => {
    const { status, stdout } = run('fuzz.mjs', ...one, '5', '--only', 'closure')
    expect(stdout).toMatch(/\n[1-9]\d* elements of [1-9]\d* products .* all are right\n$/)
    expect(status).toBe(0)
  })
})

describe('sanitize', () => {
  itUnless(withCuda(), 'cuda reports in one line that there is no GPU, and fails', () => {
    const { status, stdout, stderr } = run('sanitize.mjs', 'cuda')
    expect(stderr).toMatch(/^mpmml: compute-sanitizer needs a GPU, and none can be used: [^\n]+\n$/)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  })
})

describe('fuzz', () => {
  const line = 'npm run fuzz -- --seed 3 --case 5 --backend cpu --only group'

  it('computes one case again, and prints the compared elements', () => {
    const { status, stdout } = run('fuzz.mjs', ...line.split(' ').slice(4))
    expect(stdout).toMatch(/\n[1-9]\d* elements of [1-9]\d* products .* all are right\n$/)
    expect(run('fuzz.mjs', ...line.split(' ').slice(4)).stdout.replace(/\d+ s:/, '')).toBe(
      stdout.replace(/\d+ s:/, ''),
    )
    expect(status).toBe(0)
  })
})

it.each([
  ['sanitize other', /expected address, thread, cuda, not other/],
  ['sanitize cuda --tool other', /--tool can be memcheck, racecheck, initcheck, synccheck, not other/],
  ['sanitize cuda one two', /expected one filter, not one two/],
  ['sanitize cuda --other', /--other/],
  ['fuzz --seed x', /--seed must be a whole number/],
  ['fuzz --backend gpu', /--backend can be auto, cpu, cuda, webgpu, not gpu/],
  ['fuzz --devices 3', /--devices can be one, pretended, all, not 3/],
  ['fuzz --only nothing', /--only can be all, product/],
  ['fuzz --other', /--other/],
])('wrong usage is reported for %s', (command, message) => {
  const [tool, ...args] = command.split(' ')
  const { status, stderr } = run(`${tool}.mjs`, ...args)
  expect(stderr).toMatch(/^mpmml: [^\n]+\n$/)
  expect(stderr).toMatch(message)
  expect(status).toBe(2)
})

describe('the toolkit for older GPUs', () => {
  const inFolder = useFolder()

  it('is taken from a folder that contains it', () => {
    mkdirSync(inFolder('bin'))
    writeFileSync(inFolder('bin', 'nvcc'), '')
    const nvcc = `${inFolder('bin', 'nvcc')}\n`
    expect(run('older-toolkit.mjs', inFolder())).toEqual({ status: 0, stdout: nvcc, stderr: '' })
  })

  it('isn’t needed to reject sources that don’t exist', () => {
    expect(run('check-older-gpus.mjs', '--only', 'nothing')).toEqual({
      status: 2,
      stdout: '',
      stderr: "check-older-gpus: --only must be part of a source's name, but it is nothing\n",
    })
  })
})
