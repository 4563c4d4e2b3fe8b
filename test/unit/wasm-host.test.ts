/** Results and messages of the library on hosts without the package of their platform. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { root, version } from '../../lib/native.js'
import { useFolder } from '../support/folder.js'
import { PATIENCE } from '../support/patience.js'
import { describeUnless, missingFile } from '../support/skip.js'

const wasm = join(root, 'build', 'Release', 'wasm')
const missing = missingFile(join(root, 'dist', 'bench', 'cli.js'), join(wasm, 'addon.cjs'))
const native = `@mpmml/${process.platform}-${process.arch}`

describeUnless(missing, 'a host without the package of its platform', () => {
  const inFolder = useFolder()
  const modules = () => inFolder('node_modules')

  beforeAll(() => {
    const own = join(modules(), 'mpmml')
    for (const part of ['lib', 'bench'])
      cpSync(join(root, 'dist', part), join(own, 'dist', part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(own, 'node_modules'))
  })

  /** Installs mpmml with a package.json that lists packages of the given platforms. */
  function publish(...names: string[]): void {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    manifest.optionalDependencies = Object.fromEntries(names.map((name) => [name, version]))
    writeFileSync(join(modules(), 'mpmml', 'package.json'), JSON.stringify(manifest))
  }

  function install(name: string, files: (at: string) => void): void {
    const at = join(modules(), name)
    mkdirSync(at, { recursive: true })
    writeFileSync(join(at, 'package.json'), JSON.stringify({ name, version }))
    files(at)
  }

  const installWasm = () =>
    install('@mpmml/wasm', (at) => cpSync(wasm, join(at, 'wasm'), { recursive: true }))

  function run(...args: string[]) {
    const { MPMML_ADDON: _, MPMML_BACKEND: __, ...env } = process.env
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: inFolder(),
      env,
      encoding: 'utf8',
      timeout: PATIENCE,
    })
    return { status, stdout, stderr }
  }
  const command = (...args: string[]) => run(join(modules(), 'mpmml', 'dist', 'bench', 'cli.js'), ...args)
  const explained = () => {
    const program = `
      const { explainBackend, info, matrix, mpmmSync } = await import('mpmml')
      const { c } = mpmmSync(matrix(1, 1, [2]), matrix(1, 1, [3]))
      console.log(JSON.stringify({ value: c.data[0], ...explainBackend(), kind: info().addon.kind, status: info().cuda.status }))`
    const { status, stdout, stderr } = run('--input-type=module', '--eval', program)
    expect([status, stderr]).toEqual([0, ''])
    return JSON.parse(stdout)
  }

  it('computes by WebAssembly, and states the reason and how to install more', () => {
    publish('@mpmml/wasm', native)
    installWasm()
    const said = explained()
    expect(said).toMatchObject({
      value: 5,
      backend: 'cpu',
      kind: 'wasm',
      status: 'WebAssembly has no CUDA',
    })
    expect(said.reason).toBe(
      `the addon is WebAssembly, which has no CUDA: there is no other addon for ${process.platform}-${process.arch} here, because ` +
        `${native} isn't installed. It takes less time: npm install ${native}@${version}`,
    )
    const { status, stdout } = command('info')
    expect(status).toBe(0)
    expect(stdout).toMatch(/^addon +for the CPU, as WebAssembly, from @mpmml\/wasm /m)
    expect(stdout).toContain(`npm install ${native}@${version}`)
    const doctor = JSON.parse(command('doctor', '--json').stdout)
    expect(doctor.ok).toBe(true)
    const check = (name: string) => doctor.checks.find((each: { name: string }) => each.name === name)
    expect(check('addon')).toMatchObject({
      status: 'note',
      found: expect.stringContaining('as WebAssembly, from @mpmml/wasm'),
    })
    expect(check('backend').found).toContain(`npm install ${native}@${version}`)
  })

  it('computes by WebAssembly if the package was installed by hand, although package.json lists no packages', () => {
    publish()
    installWasm()
    expect(explained()).toMatchObject({ value: 5, kind: 'wasm' })
  })

  it('reports that no package for the platform exists', () => {
    publish('@mpmml/wasm', '@mpmml/plan9-mips')
    installWasm()
    const { reason } = explained()
    expect(reason).toMatch(/: there is no other addon for \S+ here$/)
    expect(reason).not.toContain('npm install')
  })

  it('reports why the package of the platform can’t be loaded', () => {
    publish('@mpmml/wasm', native)
    installWasm()
    install(native, (at) => writeFileSync(join(at, 'mpmml.node'), 'no library'))
    const { reason, kind } = explained()
    expect(kind).toBe('wasm')
    expect(reason).toContain(`here, because ${native} can't be loaded (`)
    expect(reason).not.toContain("isn't installed")
    rmSync(join(modules(), native), { recursive: true })
  })

  it('lists the solutions if no addon exists', () => {
    publish('@mpmml/wasm', native)
    rmSync(join(modules(), '@mpmml'), { recursive: true, force: true })
    const { status, stdout, stderr } = command('info')
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toContain(
      `not installed: ${native}, @mpmml/wasm. Ways out: install the package for this machine, ${process.platform}-${process.arch}: ` +
        `npm install ${native}@${version} or @mpmml/wasm@${version}`,
    )
    const { status: examined, stdout: checks } = command('doctor')
    expect(examined).toBe(1)
    expect(checks).toMatch(/^✗ addon .*not installed: /m)
    expect(command('--help').status).toBe(0)
  })
})
