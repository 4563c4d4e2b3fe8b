/** mpmml doctor, and the completion of shells. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { variables } from '../../bench/commands/doctor.js'
import { variants } from '../../lib/index.js'
import { useFolder } from '../support/folder.js'
import { itUnless } from '../support/skip.js'
import { json, mpmml, succeeds } from './support.js'

const path = useFolder()

interface Check {
  name: string
  status: string
  found: string
  advice: string | null
}

describe('doctor', () => {
  it('finds that products work here', async () => {
    const { ok, checks } = (await json(['doctor'])) as { ok: boolean; checks: Check[] }
    expect(ok).toBe(true)
    const names = checks.map(({ name }) => name)
    for (const name of [
      'Node.js',
      'settings',
      'memory',
      'addon',
      'CPU',
      'backend',
      'product on the CPU',
      'GPU',
    ])
      expect(names).toContain(name)
    expect(names).toContain('CUDA toolkit')
    expect(checks.find(({ name }) => name === 'product on the CPU')!.found).toMatch(/^right, by /)
    const text = await succeeds(['doctor'])
    for (const { name, found } of checks.filter(({ name }) => name !== 'memory')) {
      expect(text).toContain(name)
      expect(text).toContain(found)
    }
    expect(text).toContain('Products work here.')
  })

  it('names a wrong setting, and fails', async () => {
    const { status, stdout, stderr } = await mpmml(['doctor'], { env: { MPMML_NUM_THREADS: 'many' } })
    expect(status).toBe(1)
    expect(stdout).toMatch(/^✗ .*MPMML_NUM_THREADS must be/m)
    expect(stdout).toContain('MPMML_NUM_THREADS=many')
    expect(stdout).toMatch(/→ correct the variable/)
    expect(stdout.match(/ settings /g)).toHaveLength(1)
    expect(stderr).toMatch(/^mpmml: [^\n]*MPMML_NUM_THREADS[^\n]*\n$/)
  })

  it('names unknown variables, and hides the password', async () => {
    const env = { MPMML_THREADS: '4', MPMML_QUEUE_PASSWORD: 'opensesame', MPMML_CUDA: 'OFF' }
    const { ok, checks } = (await json(['doctor'], { env })) as { ok: boolean; checks: Check[] }
    expect(ok).toBe(true)
    // The environment of the tests may have more variables.
    const { status, found, advice } = checks.find(({ name }) => name === 'settings')!
    expect(status).toBe('note')
    expect(found.split(', ')).toEqual(
      expect.arrayContaining(['MPMML_CUDA=OFF', 'MPMML_QUEUE_PASSWORD=…', 'MPMML_THREADS=4']),
    )
    expect(JSON.stringify(checks)).not.toContain('opensesame')
    expect(advice).toMatch(/^MPMML_THREADS is none of mpmml's variables, .*errors\.md/)
    expect(advice).toContain('did you mean MPMML_NUM_THREADS?')
  })

  it('names unknown variables also if another one is wrong, or they are spelled in small letters', async () => {
    const env = { MPMML_NUM_THREADS: 'many', MPMML_BACKENDS: 'cpu', mpmml_addon: 'wasm', MPMML_ZZZZ: '1' }
    const { stdout } = await mpmml(['doctor'], { env })
    expect(stdout).toMatch(/MPMML_BACKENDS is none of .*did you mean MPMML_BACKEND\?/)
    expect(stdout).toMatch(/mpmml_addon is none of .*did you mean MPMML_ADDON\?/)
    expect(stdout).toMatch(/MPMML_ZZZZ is none of mpmml's variables, so it changes nothing;/)
    expect(stdout).toMatch(/correct the variable/)
  })

  it('has colours in a terminal, and only there', async () => {
    const terminal = 'process.stdout.isTTY=true;process.stdout.hasColors=()=>true'
    const env = { NODE_OPTIONS: `--import "data:text/javascript,${terminal}"`, MPMML_THREADS: '1' }
    const { stdout } = await mpmml(['doctor'], { env })
    expect(stdout).toContain('\x1b[32m✓\x1b[39m Node.js')
    expect(stdout).toContain('\x1b[33m·\x1b[39m settings')
    expect((await mpmml(['doctor'])).stdout).not.toContain('\x1b')
  })

  it('recognizes the variables of the documentation, and no others', async () => {
    const listed = ['errors', 'building'].flatMap((page) =>
      [...readFileSync(`docs/${page}.md`, 'utf8').matchAll(/^\| `(MPMML_\w+)`/gm)].map(([, name]) => name!),
    )
    expect([...new Set(listed)].sort()).toEqual([...variables].sort())
    // Empty values are wrong for some variables, so the exit status is 1.
    const env = Object.fromEntries(listed.map((name) => [name, '']))
    const { stdout } = await mpmml(['doctor'], { env })
    expect(stdout).not.toContain("none of mpmml's variables")
  })

  it('recognizes every variable that the library reads', () => {
    const environment = readFileSync('lib/environment.ts', 'utf8')
    const read = [...environment.matchAll(/'(MPMML_\w+)'/g)].map(([, name]) => name!)
    expect(read.length).toBeGreaterThan(5)
    expect(read.filter((name) => !variables.includes(name))).toEqual([])
  })

  it('reports a requested backend that can’t be used as a problem, because the usual products fail', async () => {
    const env = { MPMML_BACKEND: 'cuda', CUDA_VISIBLE_DEVICES: '' }
    const { status, stdout } = await mpmml(['doctor'], { env })
    expect(stdout).toMatch(/^✗ backend +MPMML_BACKEND=cuda asks for it, but it can't be used/m)
    expect(stdout).toMatch(/→ unset MPMML_BACKEND/)
    expect(status).toBe(1)
  })

  it('reports that loading the addon ends the process', async () => {
    const preload = path('crash.mjs')
    writeFileSync(preload, "process.dlopen = () => process.kill(process.pid, 'SIGBUS')\n")
    const { status, stdout } = await mpmml(['doctor'], { env: { NODE_OPTIONS: `--import=${preload}` } })
    expect(status).toBe(1)
    expect(stdout).toMatch(/^✗ addon +loading it ends the process \(SIGBUS\)/m)
    expect(stdout).toMatch(/→ .*install it again/)
  })

  it('reports the missing part if the addon is missing', async () => {
    const preload = path('preload.mjs')
    writeFileSync(preload, "process.dlopen = () => { throw new Error('no such file') }\n")
    const env = { NODE_OPTIONS: `--import=${preload}` }
    const { status, stdout } = await mpmml(['doctor', '--json'], { env })
    expect(status).toBe(1)
    const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] }
    expect(ok).toBe(false)
    expect(checks.find(({ name }) => name === 'addon')).toMatchObject({ status: 'problem' })
  })

  it('finds the toolkit', async () => {
    mkdirSync(path('bin'))
    writeFileSync(path('bin/nvcc'), '#!/bin/sh\necho "Cuda compilation tools, release 12.9, V12.9.1"\n', {
      mode: 0o755,
    })
    const { checks } = await json(['doctor'], { env: { PATH: `${path('bin')}:${process.env.PATH}` } })
    expect((checks as Check[]).find(({ name }) => name === 'CUDA toolkit')!.found).toContain('12.9')
  })
})

describe('completion', () => {
  const has = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0

  /** Returns bash's completions of the last word of a line. */
  const completed = (words: string[]) =>
    execFileSync(
      'bash',
      [
        '-c',
        `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mpmml; printf '%s\\n' "\${COMPREPLY[@]}"`,
        'bash',
        path('completion.bash'),
        ...words,
      ],
      { encoding: 'utf8', cwd: path('files') },
    )
      .split('\n')
      .filter(Boolean)

  itUnless(!has('bash') && 'there is no bash', 'of bash', async () => {
    writeFileSync(path('completion.bash'), await succeeds(['completion', 'bash']))
    mkdirSync(path('files'))
    writeFileSync(path('files/matrix.npy'), '')
    expect(completed(['mpmml', 'mu'])).toEqual(['multiply'])
    expect(completed(['mpmml', 'c'])).toEqual(['cycle-mean', 'convert', 'completion'])
    expect(completed(['mpmml', 'multiply', '--semi'])).toEqual(['--semiring'])
    expect(completed(['mpmml', 'multiply', '--semiring', 'min'])).toEqual(['min-plus', 'min-max'])
    expect(completed(['mpmml', 'multiply', 'ma'])).toEqual(['matrix.npy'])
    expect(completed(['mpmml', 'multiply', '-o', 'ma'])).toEqual(['matrix.npy'])
    expect(completed(['mpmml', 'help', 'sho'])).toEqual(['show'])
    expect(completed(['mpmml', 'completion', ''])).toEqual(['bash', 'zsh', 'fish'])
    expect(completed(['mpmml', 'multiply', '--backend', '=', 'c'])).toEqual(['cpu', 'cuda'])
    expect(completed(['mpmml', 'multiply', '--backend', '='])).toEqual(['auto', 'cpu', 'cuda', 'webgpu'])
    writeFileSync(path('files/with blanks.npy'), '')
    expect(completed(['mpmml', 'show', 'wi'])).toEqual(['with blanks.npy'])
    expect(completed(['mpmml', 'multiply', '-o', 'wi'])).toEqual(['with blanks.npy'])
    expect(completed(['mpmml', 'microbench', 'shared'])).toEqual(['shared-one', 'shared-both'])
    expect(completed(['mpmml', 'occupancy', 'reg'])).toEqual(['reg-reg'])
    expect(completed(['mpmml', 'occupancy', '--gpu', 'sm_6'])).toEqual(['sm_60', 'sm_61', 'sm_62'])
    const names = variants().map(({ name }) => name)
    expect(completed(['mpmml', 'measure', ''])).toEqual(names)
    expect(completed(['mpmml', 'multiply', '--variant', 'naive_maxplus'])).toEqual(
      names.filter((name) => name.startsWith('naive_maxplus')),
    )
  })

  it.each(['zsh', 'fish'])('names every command and option for %s', async (shell) => {
    const script = await succeeds(['completion', shell])
    for (const word of [
      'multiply',
      'cycle-mean',
      'completion',
      'max-plus',
      'accumulate',
      'bash zsh fish',
      'fma-f32',
      variants()[0]!.name,
    ]) {
      expect(script).toContain(word)
    }
    if (!has(shell)) return
    writeFileSync(path(`completion.${shell}`), script)
    const check = spawnSync(shell, [shell === 'zsh' ? '-n' : '--no-execute', path(`completion.${shell}`)])
    expect(check.status, String(check.stderr)).toBe(0)
  })
})
