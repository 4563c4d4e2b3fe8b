/** mpmml info, variants and demo. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cudaReason } from '../../lib/info.js'
import { algebras } from '../support/algebras.js'
import { useFolder } from '../support/folder.js'
import { fails, json, mpmml, root, runProgram, succeeds } from './support.js'

const path = useFolder()

describe('info', () => {
  it('prints the build and the machine as JSON', async () => {
    const info = await json(['info'])
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(info).toMatchObject({
      version,
      compiler: expect.stringMatching(/\d/),
      node: process.versions.node,
      cuda: {
        built: expect.any(Boolean),
        status: expect.stringMatching(/^built with(out)? CUDA/),
        toolkit: expect.any(String),
        architectures: expect.any(Array),
        driver: expect.any(String),
        devices: expect.any(Array),
        reason: expect.any(String),
      },
      cpu: {
        model: expect.stringMatching(/./),
        cores: availableParallelism(),
        simd: expect.stringMatching(/./),
      },
      auto: { backend: expect.stringMatching(/^(cpu|cuda)$/), reason: expect.stringMatching(/./) },
    })
    expect(info.cpu.instructionSets).toContain(info.cpu.simd)
    expect(info.cpu.threads).toBeGreaterThan(0)
    expect(info.cuda.built).toBe(info.cuda.toolkit !== '')
    expect(info.cuda.built).toBe(info.cuda.architectures.length > 0)
    expect(info.auto.backend).toBe(info.cuda.reason === '' ? 'cuda' : 'cpu')
    // The record of each GPU has the fields of the thesis' table of specifications.
    for (const device of info.cuda.devices) {
      expect(device).toMatchObject({
        name: expect.any(String),
        computeCapability: expect.stringMatching(/^\d+\.\d$/),
      })
      expect(device.threadsPerWarp).toBe(32)
      expect(device.tensorCores).toMatch(/^(exact exponents \(checked\)|no exponents: .|not checked: .)/)
    }
  })

  it('prints the build and the machine as lines', async () => {
    const { version, cuda, auto } = await json(['info'])
    const printed = await succeeds(['info'])
    expect(printed).toMatch(new RegExp(`^mpmml +${version.replaceAll('.', '\\.')}, `))
    expect(printed).toMatch(new RegExp(`^backend +${auto.backend}: `, 'm'))
    expect(printed).toContain(cuda.status)
    for (const device of cuda.devices) expect(printed).toContain(device.name)
  })

  it('follows MPMML_BACKEND', async () => {
    const { auto } = await json(['info'], { env: { MPMML_BACKEND: 'cpu' } })
    expect(auto).toEqual({ backend: 'cpu', reason: expect.stringContaining('MPMML_BACKEND') })
    expect(await fails(['info'], 1, { env: { MPMML_BACKEND: 'gpu' } })).toContain('[ERR_MPMML_OPTION]')
  })

  it('recommends a package on a machine with a GPU and a build without CUDA', () => {
    const reason = 'built without CUDA, because nvcc was not found'
    expect(cudaReason(false, reason, () => false)).toBe(reason)
    const advice = cudaReason(false, reason, (file) => file === '/dev/nvidiactl')
    expect(advice).toContain(reason)
    expect(advice).toContain('install the CUDA toolkit')
    expect(advice).toContain('npm run build')
    expect(cudaReason(true, '', () => true)).toBe('')
    const before =
      'built without CUDA, because no NVIDIA driver was found (MPMML_CUDA=ON builds it in any case)'
    expect(cudaReason(false, before, () => false)).toBe(before)
    const now = cudaReason(false, before, (file) => file === '/dev/nvidiactl')
    expect(now).toContain('This machine has an NVIDIA driver (/dev/nvidiactl): run: npm run build')
  })
})

interface Row {
  name: string
  family: string
  semiring: string
  dtype: string
  parameters: Record<string, number | string>
  backend: string
  architectures: string[]
}

/** Returns the rows that the command prints, and ignores the note about missing variants. */
async function listed(...filters: string[]): Promise<Row[]> {
  const { status, stdout } = await mpmml(['variants', '--json', ...filters])
  expect(status).toBe(0)
  return JSON.parse(stdout)
}

describe('variants', () => {
  it('are rows of JSON', async () => {
    const rows = await listed()
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
    for (const row of rows) {
      expect(Object.keys(row).sort()).toEqual(
        ['architectures', 'automatic', 'backend', 'dtype', 'family', 'name', 'parameters', 'semiring'].sort(),
      )
      expect(['int32', 'float32', 'float64', 'uint8']).toContain(row.dtype)
      expect(row.architectures.length).toBeGreaterThan(0)
    }
    const { cuda } = await json(['info'])
    expect(rows.some(({ backend }) => backend === 'cuda')).toBe(cuda.built)
    for (const semiring of new Set(algebras.map((one) => one.semiring))) {
      const expected = algebras.filter((one) => one.semiring === semiring).map(({ type }) => type)
      const types = rows
        .filter((row) => row.family === 'naive' && row.semiring === semiring)
        .map((row) => row.dtype)
      expect(types, semiring).toEqual(expected)
    }
  })

  it('are filtered', async () => {
    const all = await listed()
    const cpu = all.filter(({ backend }) => backend === 'cpu')
    expect(await json(['variants', '--backend', 'cpu'])).toEqual(cpu)
    expect(await json(['variants', '--backend', 'cpu', '--semiring', 'min-plus'])).toEqual(
      cpu.filter(({ semiring }) => semiring === 'min-plus'),
    )
    expect(await listed('--family', 'naive')).toEqual(all.filter(({ family }) => family === 'naive'))
    expect(await listed('--family', 'naive', '--backend', 'cuda')).toEqual(
      all.filter(({ family, backend }) => family === 'naive' && backend === 'cuda'),
    )
  })

  it('are a table with a head', async () => {
    const rows = await listed()
    const lines = (await mpmml(['variants'])).stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(rows.length + 1)
    expect(lines.slice(1).map((line) => line.split(' ')[0])).toEqual(rows.map(({ name }) => name))
  })

  it('are reported on stderr if another addon has them', async () => {
    // The CPU addon has no CUDA variants, like on a machine without a driver.
    const env = { MPMML_ADDON: 'cpu' }
    const { addon, cuda } = await json(['info'], { env })
    expect(addon.kind).toBe('cpu')
    const { stdout, stderr } = await mpmml(['variants', '--json'], { env })
    expect(JSON.parse(stdout).every(({ backend }: Row) => backend !== 'cuda')).toBe(true)
    const [larger] = addon.larger
    const those = larger === 'lab' ? 'kernels for GPUs and those of the thesis' : 'kernels for GPUs'
    expect(stderr).toBe(
      larger === undefined
        ? ''
        : `mpmml: ${those} are not listed, because ${cuda.reason}: MPMML_ADDON=${larger} lists them\n`,
    )
    expect(addon.larger.includes('lab')).toBe(existsSync(join(root, 'build', 'Release', 'mpmml_lab.node')))
    await succeeds(['variants', '--backend', 'cpu'], { env })
    if (larger === undefined) return
    const more = { env: { MPMML_ADDON: larger } }
    const all: Row[] = await json(['variants'], more)
    expect(all.some(({ backend }) => backend === 'cuda')).toBe(true)
    expect(all.some(({ family }) => family === 'mpmml')).toBe(larger === 'lab')
    expect((await json(['info'], more)).addon.larger).toEqual([])
  })
})

describe('demo', () => {
  it('multiplies and verifies the example of the package, from any folder', async () => {
    const printed = await succeeds(['demo'], { cwd: path('.') })
    expect(printed).toMatch(/^A +192 × 256 /m)
    expect(printed).toMatch(/^C +192 × 160 /m)
    expect(printed).toMatch(/^backend +(cpu|cuda), .+: .+$/m)
    expect(printed).toMatch(/^variant +\w+_maxplus_i32_\w+, /m)
    expect(printed).toMatch(/^kernel +[\d.]+ m?s$/m)
    expect(printed).toMatch(/^total +[\d.]+ m?s$/m)
    expect(printed).toMatch(/^speed +[\d.]+ [GT]OPS/m)
    expect(printed).toMatch(/^verified +equal to naive_maxplus_i32/m)
  })
})

it('reports in one line that the addon is missing, and what to do', async () => {
  mkdirSync(path('package'))
  writeFileSync(path('package/package.json'), readFileSync(join(root, 'package.json')))
  for (const name of ['node_modules', 'dist']) symlinkSync(join(root, name), path(`package/${name}`))
  const { status, stdout, stderr } = await runProgram(process.execPath, [
    '--preserve-symlinks',
    '--preserve-symlinks-main',
    path('package/dist/bench/cli.js'),
    'info',
  ])
  expect(stdout).toBe('')
  expect(stderr).toMatch(
    /^mpmml: [^\n]*no prebuilt package[^\n]*npm install @mpmml\/source@[^\n]* \[ERR_MPMML_ADDON\]\n$/,
  )
  expect(status).toBe(1)
})
