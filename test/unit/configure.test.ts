/** Effects of the options of a build in CMake, and of addons of earlier builds. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { info } from '../../lib/index.js'
import { driverTraces } from '../../lib/load.js'
import { root } from '../../lib/native.js'
import { describeUnless } from '../support/skip.js'

const hasTools = spawnSync('cmake', ['--version']).status === 0

/** Returns the compiler command of each source file. */
function commandsOf(folder: string): { file: string; command: string }[] {
  const file = join(folder, 'compile_commands.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
}

/** Configured builds, which several tests share. */
const configured = new Map<string, ReturnType<typeof configureNow>>()

/** Configures a build in a folder with addons of an earlier build. */
function configure(options: Record<string, string>) {
  const key = JSON.stringify(options)
  const build = configured.get(key) ?? configureNow(options)
  configured.set(key, build)
  return build
}

function configureNow(options: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'mpmml-configure-'))
  try {
    const addons = join(folder, 'Release')
    mkdirSync(addons)
    for (const name of ['mpmml', 'mpmml_lab', 'mpmml_cuda']) writeFileSync(join(addons, `${name}.node`), '')
    // An empty launcher disables a compiler cache of the user.
    const usual = { MPMML_CUDA: 'OFF', CMAKE_CXX_COMPILER_LAUNCHER: '' }
    const all = { ...usual, ...options, CMAKE_LIBRARY_OUTPUT_DIRECTORY: addons }
    const args = Object.entries(all).map(([name, value]) => `-D${name}=${value}`)
    const { status, stdout, stderr } = spawnSync('cmake', ['-S', root, '-B', folder, ...args], {
      encoding: 'utf8',
    })
    const header = join(folder, 'generated', 'generated', 'instruction_sets.h')
    const list = existsSync(header)
      ? /kInstructionSets\[\] = \{(.*)\}/.exec(readFileSync(header, 'utf8'))
      : null
    return {
      status,
      said: stdout.match(/mpmml: .*/g) ?? [],
      error: stderr.replaceAll(/\s+/g, ' '),
      isas: list?.[1]?.replaceAll('"', '').split(', '),
      addons: readdirSync(addons),
      commands: commandsOf(folder),
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describeUnless(!hasTools && 'CMake was not found', 'a build', () => {
  const known = { x64: ['avx512', 'avx2', 'sse41', 'portable'], arm64: ['neon', 'portable'] }[
    process.arch as string
  ] ?? ['portable']

  it('removes addons that it will not rebuild', () => {
    const { status, error, addons } = configure({})
    expect(status, error).toBe(0)
    expect(addons).toEqual(['mpmml.node'])
  })

  it('includes kernels for the best instruction set of this machine and portable ones, and explains how to get the others', () => {
    const { isas, said } = configure({})
    const [best] = info().cpu.instructionSets
    expect(isas).toEqual([...new Set([isas![0], 'portable'])])
    // The tested build may have more instruction sets, but no better one.
    expect(known.indexOf(isas![0]!)).toBeLessThanOrEqual(known.indexOf(best!))
    expect(said).toContainEqual(expect.stringMatching(`for ${isas![0]}, .*MPMML_CPU_ISAS=all`))
  })

  it('includes named kernels, and always portable ones', () => {
    expect(configure({ MPMML_CPU_ISAS: 'all' }).isas).toEqual(known)
    expect(configure({ MPMML_CPU_ISAS: 'portable' }).isas).toEqual(['portable'])
    const some = [...known.slice(-2)].reverse()
    expect(configure({ MPMML_CPU_ISAS: some.join(';') }).isas).toEqual(known.slice(-2))
  })

  it('optimizes less and precompiles headers for this machine only, not for packages', () => {
    const optimized = ({ commands }: ReturnType<typeof configure>, source: RegExp) => {
      const found = commands.filter(({ file }) => source.test(file))
      expect(found.length).toBeGreaterThan(0)
      return new Set(found.map(({ command }) => command.match(/ -O\d/g)!.at(-1)!.trim()))
    }
    const precompiled = ({ commands }: ReturnType<typeof configure>) =>
      commands.filter(({ command }) => command.includes('cmake_pch'))
    const joined = ({ commands }: ReturnType<typeof configure>) =>
      commands.filter(({ file }) => file.includes('/Unity/'))
    const kernels = /packed_cpu_(?!portable)\w+?_1\.cpp$/
    const marshalling = /native\/addon\/graph\.cpp$/
    const clone = configure({ MPMML_CPU_ISAS: 'all' })
    const release = configure({ MPMML_CPU_ISAS: 'all', MPMML_RELEASE: 'ON' })
    const cached = configure({ CMAKE_CXX_COMPILER_LAUNCHER: 'env' })
    expect(optimized(clone, /mpmml_addon\.dir\/Unity\//)).toEqual(new Set(['-O1']))
    expect(optimized(cached, marshalling)).toEqual(new Set(['-O1']))
    expect(optimized(release, marshalling)).toEqual(new Set(['-O3']))
    for (const hot of [kernels, /core\/graph\/search\.cpp$/]) {
      expect(optimized(clone, hot)).toEqual(optimized(release, hot))
      expect(optimized(clone, hot)).not.toContain('-O1')
    }
    expect(precompiled(clone).length).toBeGreaterThan(30)
    expect(joined(clone).length).toBeGreaterThan(4)
    // A compiler cache misses sources with precompiled headers, and is less useful for sources that are compiled together.
    for (const build of [release, cached]) expect([...precompiled(build), ...joined(build)]).toEqual([])
  })

  it('rejects an unknown instruction set', () => {
    const { status, error } = configure({ MPMML_CPU_ISAS: 'avx2;mmx' })
    expect(status).not.toBe(0)
    expect(error).toMatch(/MPMML_CPU_ISAS must be native, all, or some of .*portable, but it names .*mmx/)
  })

  it('leaves out CUDA without a GPU, and explains how to get it', ({ skip }) => {
    if (driverTraces.some(existsSync)) skip('this machine has an NVIDIA driver')
    const { status, error, said, addons } = configure({
      MPMML_CUDA: 'AUTO',
      MPMML_CUDA_ARCHS: 'NONE',
      MPMML_LAB: 'AUTO',
    })
    expect(status, error).toBe(0)
    expect(said).toContain(
      'mpmml: built without CUDA, because no NVIDIA driver was found (MPMML_CUDA=ON builds it in any case)',
    )
    expect(addons).toEqual(['mpmml.node'])
  })

  it('reports an unknown target as wrong usage', () => {
    const program = join(root, 'native', 'build.mjs')
    const { status, stderr } = spawnSync(process.execPath, [program, 'labs'], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'mpmml: expected lab, lab-with-cuda, --incremental or nothing, not labs\n',
    })
  })

  it('rejects the laboratory without CUDA', () => {
    const { status, error } = configure({ MPMML_CUDA: 'OFF', MPMML_LAB: 'ON' })
    expect(status).not.toBe(0)
    expect(error).toMatch(/laboratory.* MPMML_CUDA=OFF/)
  })
})
