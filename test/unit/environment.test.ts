/** The environment variables of the library. Each process reads some of them once. Uses the output of `npm run build:ts`. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { codeFolder, deviceMemoryLimit, environmentBackend, limitPinned } from '../../lib/environment.js'
import { info, variants } from '../../lib/index.js'
import { addon, root } from '../../lib/native.js'
import { inDist, readOutput, withoutBuild } from '../support/child.js'
import { expectThrown } from '../support/expect.js'
import { describeUnless } from '../support/skip.js'

/**
 * Program that calls each entry point twice, and prints 'fine' or the code, class and message of the error.
 */
const program = `
  import * as library from ${inDist('lib/index.js')}
  import { cpuCeiling, cpuNaiveLoop } from ${inDist('lib/lab.js')}
  import { semiring } from ${inDist('lib/semirings.js')}
  const { matrix, mpmm, mpmmSync, plan, info } = library
  const one = matrix(1, 1, [1])
  const calls = {
    mpmm: () => mpmm(one, one, { backend: 'cpu' }),
    mpmmSync: () => mpmmSync(one, one, { backend: 'cpu' }),
    plan: () => plan(one, one, { backend: 'cpu' }),
    info: () => info(),
    cpuCeiling: () => cpuCeiling({ milliseconds: 1 }),
    cpuNaiveLoop: () => cpuNaiveLoop({ m: 1, n: 1, k: 1, repetitions: 1 }),
    semiring: () => semiring({ name: 'sums', dtype: 'int32', zero: 0, plus: (x, y) => x.add(y), times: (x, y) => x.mul(y) }),
    threads: () => { throw new Error(String(info().cpu.threads)) },
    simd: () => { throw new Error(info().cpu.simd) },
  }
  const outcomes = []
  for (const name of [...process.argv.slice(1), ...process.argv.slice(1)]) {
    try {
      await calls[name]()
      outcomes.push('fine')
    } catch (error) {
      outcomes.push([error.code, error instanceof library.ArgumentError, error.message].join(' '))
    }
  }
  console.log(JSON.stringify(outcomes))
`

const outcomes = (env: NodeJS.ProcessEnv, ...calls: string[]): string[] =>
  JSON.parse(readOutput(`process.argv.push(...${JSON.stringify(calls)})\n${program}`, { env }))

const entryPoints = ['mpmm', 'mpmmSync', 'plan', 'info', 'cpuCeiling', 'cpuNaiveLoop']

describeUnless(withoutBuild, 'settings of the CPU backend', () => {
  it.each(entryPoints)('throw an ArgumentError from %s at each call if they are wrong', (entry) => {
    const threads = outcomes({ MPMML_NUM_THREADS: 'many' }, entry)
    const expected =
      "ERR_MPMML_OPTION true the environment variable MPMML_NUM_THREADS must be a whole number of threads from 1 to 1024, but it is 'many'"
    expect(threads).toEqual([expected, expected])
    for (const outcome of outcomes({ MPMML_CPU_ISA: 'mmx' }, entry)) {
      expect(outcome).toMatch(
        /^ERR_MPMML_OPTION true the environment variable MPMML_CPU_ISA must be .*'portable'.* 'mmx'$/,
      )
    }
  })

  it.each(['0', '-1', '1025', '2.5', '1e2', ' 2', '0x2', '3 threads'])(
    'reject MPMML_NUM_THREADS=%s',
    (value) => {
      const [first] = outcomes({ MPMML_NUM_THREADS: value }, 'mpmmSync')
      expect(first).toMatch(/^ERR_MPMML_OPTION true .*MPMML_NUM_THREADS/)
      expect(first).toContain(`'${value}'`)
    },
  )

  it('take effect if they are right, and count as unset if they are empty', () => {
    expect(outcomes({ MPMML_NUM_THREADS: '3' }, 'mpmm', 'threads')[1]).toMatch(/ 3$/)
    expect(outcomes({ MPMML_NUM_THREADS: '3' }, 'semiring', 'threads')[1]).toMatch(/ 3$/)
    expect(outcomes({ MPMML_CPU_ISA: 'portable' }, 'mpmm', 'simd')[1]).toMatch(/ portable$/)
    expect(outcomes({ MPMML_NUM_THREADS: '', MPMML_CPU_ISA: '' }, 'mpmm', 'simd')).toEqual(
      outcomes({}, 'mpmm', 'simd'),
    )
  })
})

describe('a variable', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  // The limit of pinned memory is read once, so wrong values come first.
  const mebibytes = ['-1', 'plenty', '1.5', '40MiB', String(2 ** 32 + 1)]
  it.each<[string, string[], string, () => unknown]>([
    ['MPMML_DEVICE_MEMORY_MIB', ['0', ...mebibytes], 'MiB', deviceMemoryLimit],
    ['MPMML_PINNED_MEMORY_MIB', mebibytes, 'MiB from 0', () => limitPinned()],
    ['MPMML_CACHE', ['cache', './cache', 'OFF', '~/cache'], 'absolute path', codeFolder],
    ['MPMML_BACKEND', ['CPU'], 'MPMML_BACKEND', environmentBackend],
  ])('%s rejects %j', (name, values, expected, read) => {
    for (const value of values) {
      vi.stubEnv(name, value)
      expectThrown(read, 'OPTION', name, expected, `'${value}'`)
    }
  })

  it('MPMML_DEVICE_MEMORY_MIB is a limit in MiB; without a value there is none', () => {
    vi.stubEnv('MPMML_DEVICE_MEMORY_MIB', undefined)
    expect(deviceMemoryLimit()).toBe(0)
    for (const [value, limit] of [
      ['', 0],
      ['40', 40 * 2 ** 20],
      [String(2 ** 32), 2 ** 52],
    ] as const) {
      vi.stubEnv('MPMML_DEVICE_MEMORY_MIB', value)
      expect(deviceMemoryLimit()).toBe(limit)
    }
  })

  it('MPMML_CACHE is a folder; by default the library’s folder among caches, and none for "off"', () => {
    vi.stubEnv('MPMML_CACHE', undefined)
    const usual = codeFolder()
    expect(usual).toMatch(/^$|[\\/]mpmml([\\/]Cache)?$/)
    for (const [value, folder] of [
      ['', usual],
      [root, root],
      ['off', ''],
    ] as const) {
      vi.stubEnv('MPMML_CACHE', value)
      expect(codeFolder()).toBe(folder)
    }
  })

  it('MPMML_PINNED_MEMORY_MIB is a limit in MiB, which is read once; 0 disables the pool', () => {
    addon.pretendPinned(true)
    vi.stubEnv('MPMML_PINNED_MEMORY_MIB', '0')
    limitPinned()
    expect(addon.pinnedUse().limit).toBe(0)
    vi.stubEnv('MPMML_PINNED_MEMORY_MIB', '40')
    limitPinned()
    expect(addon.pinnedUse().limit).toBe(0)
    addon.limitPinned(40 * 2 ** 20)
    expect(info().cuda.pinned).toEqual({ limit: 40 * 2 ** 20, held: 0, used: 0 })
    addon.pretendPinned(false)
  })

  it.each(['auto', 'cuda', 'cpu'])('MPMML_BACKEND accepts %s', (value) => {
    vi.stubEnv('MPMML_BACKEND', value)
    expect(environmentBackend()).toBe(value)
  })
})

it('reads the library’s variables in one file, except the one that selects the addon', () => {
  const files = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' })
  const having = (pattern: RegExp) =>
    files
      .filter((file) => file.endsWith('.ts') && pattern.test(readFileSync(join(root, 'lib', file), 'utf8')))
      .sort()
  expect(having(/\bprocess\.env\b/)).toEqual(['load.ts', 'platform.ts'])
  expect(having(/import \{[^}]*\benvironment\b[^}]*\} from '.*\/platform\.js'/)).toEqual(['environment.ts'])
})

it('lists the instruction sets of the build that the processor has and whose registers the system saves', ({
  skip,
}) => {
  if (process.platform !== 'linux' || process.arch !== 'x64') skip('only Linux on x64 lists what it can use')
  const flags = / *flags\s*: (.*)/.exec(readFileSync('/proc/cpuinfo', 'utf8'))![1]!.split(' ')
  const needed = {
    avx512: ['avx512f', 'avx512bw', 'avx512vl', 'avx512dq'],
    avx2: ['avx2', 'fma'],
    sse41: ['sse4_1'],
    portable: [],
  }
  const built = new Set(variants().flatMap(({ parameters }) => parameters.isa ?? []))
  const expected = Object.entries(needed).filter(
    ([name, all]) => built.has(name) && all.every((flag) => flags.includes(flag)),
  )
  expect(info().cpu.instructionSets).toEqual(expected.map(([name]) => name))
})

it('accepts the instruction sets of the variants', () => {
  const names = new Set(variants().flatMap(({ parameters }) => parameters.isa ?? []))
  for (const name of [info().cpu.simd, ...info().cpu.instructionSets]) expect(names).toContain(name)
})

describeUnless(withoutBuild, 'a user without a home folder', () => {
  /**
   * Returns the output of a program for which the system doesn't know the user, which happens in
   * containers.
   */
  const printed = (body: string, env: NodeJS.ProcessEnv = {}) => {
    const program = `
        import os from 'node:os'
        import { syncBuiltinESMExports } from 'node:module'
        os.homedir = () => { throw new Error('A system error occurred: uv_os_homedir returned ENOENT') }
        syncBuiltinESMExports()
        ${body}
      `
    const none = {
      HOME: undefined,
      USERPROFILE: undefined,
      LOCALAPPDATA: undefined,
      XDG_CACHE_HOME: undefined,
    }
    return readOutput(program, { env: { ...none, ...env } })
  }
  const names = readdirSync(new URL('../../lib', import.meta.url)).filter((name) => name.endsWith('.ts'))

  it('offers all functions of the library', () => {
    const files = names.map((name) => inDist(`lib/${name.replace(/ts$/, 'js')}`))
    expect(
      printed(`
          for (const file of [${files.join()}]) await import(file)
          const { matrix, mpmm } = await import(${inDist('lib/index.js')})
          const { c } = await mpmm(matrix(1, 1, [20]), matrix(1, 1, [22]), { backend: 'cpu' })
          console.log(c.data.join())
        `),
    ).toBe('42')
  })

  it('uses no measured choices of kernels without XDG_CACHE_HOME', () => {
    const body = `
        const { loadTuning, tuningPath } = await import(${inDist('lib/tuning.js')})
        loadTuning()
        console.log(tuningPath())
      `
    expect(printed(body)).toBe('null')
    // A relative path is ignored, because folders must not depend on the working directory.
    expect(printed(body, { XDG_CACHE_HOME: 'here' })).toBe('null')
    if (process.platform !== 'linux') return
    expect(printed(body, { XDG_CACHE_HOME: '/caches' })).toBe('/caches/mpmml/tuning.json')
  })
})
