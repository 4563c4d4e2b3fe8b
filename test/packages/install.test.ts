/**
 * Installs and uses the packages of `npm run release` like a user, from a registry on this machine, without
 * install scripts, compilers and CMake. MPMML_TEST_NODES lists paths of other Node.js programs, separated by
 * colons. MPMML_TEST_MUSL is the path of a program for musl, such as Bun's.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itUnless } from '../support/skip.js'

interface Registry {
  environment: Record<string, string>
  names: string[]
  folder(name: string): string
  stop(): void
}

/** Parsed output of user.mjs. */
interface Said {
  c: number[]
  backend: string
  variant: string
  addon: { kind: string; from: string; file: string }
  cuda: { built: boolean; status: string; reason: string }
  variants: number
}

const { managers, modules, packages, root, startRegistry } = (await import(
  new URL('registry.mjs', import.meta.url).href
)) as {
  managers: Record<'npm' | 'npx' | 'pnpm' | 'yarn' | 'berry', string>
  modules: string
  packages: string
  root: string
  startRegistry(): Promise<Registry>
}
const { version, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string
  exports: Record<string, object>
}
const platformPackage = `@mpmml/${process.platform}-${process.arch}-gnu`
const muslPackage = `@mpmml/${process.platform}-${process.arch}-musl`
const cudaPackage = `@mpmml/cuda-${process.platform}-${process.arch}`
const labPackage = `@mpmml/lab-${process.platform}-${process.arch}`
const wasmPackage = '@mpmml/wasm'

let registry: Registry
beforeAll(async () => {
  registry = await startRegistry()
})
afterAll(() => registry?.stop())

interface Run {
  cwd: string
  env?: Record<string, string>
  program?: string
}

function run(args: string[], { cwd, env, program = process.execPath }: Run) {
  return spawnSync(program, args, { cwd, encoding: 'utf8', env: { ...registry.environment, ...env } })
}

function succeed(args: string[], options: Run): string {
  const { status, stdout, stderr } = run(args, options)
  expect(status, `${args.join(' ')}\n${stdout}${stderr}`).toBe(0)
  return stdout
}

/** Installs packages into a new folder by npm, and returns the folder. */
function installed(name: string, ...args: string[]): string {
  const cwd = registry.folder(name)
  succeed([managers.npm, 'install', '--ignore-scripts', ...args], { cwd })
  copyFileSync(new URL('user.mjs', import.meta.url), join(cwd, 'user.mjs'))
  return cwd
}

function use(options: Run, args: string[] = []): Said {
  const said = JSON.parse(succeed([...args, 'user.mjs'], options)) as Said
  expect(said.c).toEqual([9, 9, 10, 13])
  expect(said.backend).toBe('cpu')
  return said
}

/** Returns the message of the library if it can't be loaded. */
function refusal(cwd: string, env: Record<string, string> = {}, args: string[] = []): string {
  const body = `await import('mpmml').then(() => console.log('loaded'), ({ code, message }) => console.log(code, message))`
  return succeed([...args, '--input-type=module', '--eval', body], { cwd, env })
}

/** Arguments that hide glibc from Node.js, as on a system with musl. */
const asWithMusl = ['--import', 'data:text/javascript,process.report.getReport = () => ({ header: {} })']

const nodes = (process.env.MPMML_TEST_NODES ?? '').split(':').filter((path) => path)
const system = process.arch === 'arm64' ? 'aarch64' : process.arch
/** Runtimes: name, program, and the arguments before the name of a file. */
const programs: [string, string, string[]][] = [
  ['this Node.js', process.execPath, []],
  ...nodes.map((path): [string, string, string[]] => [path, path, []]),
  ['Bun', join(modules, `@oven/bun-${process.platform}-${system}/bin/bun`), []],
  ['Deno', join(modules, `@deno/${process.platform}-${process.arch}-glibc/deno`), ['run', '--allow-all']],
]

describe('installed without scripts', () => {
  it('computes with the package of this platform after npm', { timeout: 600_000 }, () => {
    const cwd = installed('npm', 'mpmml')
    for (const [name, program, args] of programs) {
      expect(existsSync(program), `${name}: ${program}`).toBe(true)
      const { addon, cuda, variant } = use({ cwd, program }, args)
      expect(addon, name).toEqual({
        kind: 'cpu',
        from: platformPackage,
        file: expect.stringContaining(cwd),
        larger: [],
      })
      expect(cuda.built).toBe(false)
      expect(variant).not.toBe('')
    }
    const printed = succeed([managers.npx, '--no', 'mpmml', 'info'], { cwd })
    expect(printed).toContain(`for the CPU, from ${platformPackage}`)
    expect(succeed([managers.npx, '--no', 'mpmml', 'demo'], { cwd })).toContain('verified')
  })

  it.each([
    ['pnpm', managers.pnpm, ['add', '--ignore-scripts', 'mpmml'], []],
    ['yarn 1', managers.yarn, ['add', '--ignore-scripts', 'mpmml'], []],
    ['yarn with node_modules', managers.berry, ['add', 'mpmml'], []],
    [
      'yarn with Plug’n’Play',
      managers.berry,
      ['add', 'mpmml'],
      ['--require', './.pnp.cjs', '--loader', './.pnp.loader.mjs'],
    ],
  ])('computes after %s', (name, manager, args, loaders) => {
    const cwd = registry.folder(name.replace(/\W+/g, '-'))
    if (manager === managers.berry) {
      // Yarn rejects packages that have just been published.
      const ageGate = 'npmMinimalAgeGate: 0\n'
      const linker = loaders.length > 0 ? 'pnp' : 'node-modules'
      writeFileSync(
        join(cwd, '.yarnrc.yml'),
        `nodeLinker: ${linker}\nenableScripts: false\nenableGlobalCache: false\n${ageGate}`,
      )
      writeFileSync(join(cwd, 'yarn.lock'), '')
    }
    succeed([manager, ...args], { cwd })
    copyFileSync(new URL('user.mjs', import.meta.url), join(cwd, 'user.mjs'))
    expect(use({ cwd }, loaders).addon).toMatchObject({ kind: 'cpu', from: platformPackage })
  })
})

describe('the tarballs of npm run release', () => {
  it('compute after the printed command, in an empty folder', async () => {
    const { installCommand } = (await import(
      new URL('../../native/tools/release/packages.mjs', import.meta.url).href
    )) as { installCommand(folder: string): string[] }
    const [npm, ...args] = installCommand(packages)
    expect(npm).toBe('npm')
    const cwd = registry.folder('tarballs')
    rmSync(join(cwd, 'package.json'))
    succeed([managers.npm, ...args], { cwd })
    const lock = JSON.parse(readFileSync(join(cwd, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { resolved?: string }>
    }
    for (const name of ['mpmml', platformPackage])
      expect(lock.packages[`node_modules/${name}`]?.resolved, name).toMatch(/^file:.*\.tgz$/)
    const first = `import { matrix, mpmm } from 'mpmml'
      const { c } = await mpmm(matrix(2, 3, [1, 6, 2, 8, 3, 4]), matrix(3, 2, [2, 5, 3, 3, 1, 6]))
      console.log(c.data.join())`
    expect(succeed(['--input-type=module', '--eval', first], { cwd })).toBe('9,9,10,13\n')
    const kernels = ['--no', 'mpmml', 'doctor', '--kernels', 'minplus_f32', '--json']
    expect(JSON.parse(succeed([managers.npx, ...kernels], { cwd }))).toMatchObject({ ok: true })
  })
})

describe('installed for musl', () => {
  const program = process.env.MPMML_TEST_MUSL
  const skipped = !program && 'MPMML_TEST_MUSL names no program that was built for musl'

  itUnless(skipped, 'computes with the package for musl', ({ skip }) => {
    if (!registry.names.includes(muslPackage)) skip('the packages were made without that for musl')
    const cwd = installed('musl', 'mpmml', '--libc=musl')
    expect(existsSync(join(cwd, 'node_modules', platformPackage))).toBe(false)
    const { addon, cuda } = use({ cwd, program: program as string })
    expect(addon).toMatchObject({ kind: 'cpu', from: muslPackage, file: expect.stringContaining(cwd) })
    expect(cuda.built).toBe(false)
  })
})

describe('missing or unfit addons', () => {
  it('are reported if the package of the platform is missing', () => {
    const cwd = installed('none', 'mpmml', '--omit=optional')
    const said = refusal(cwd)
    expect(said).toMatch(/^ERR_MPMML_ADDON /)
    expect(said).toContain(`not installed: ${platformPackage}`)
    expect(said).toContain(`npm install ${platformPackage}@${version}`)
    expect(said).toContain(`npm install @mpmml/source@${version}`)
    const { status, stderr } = run([managers.npx, '--no', 'mpmml', 'info'], { cwd })
    expect([status, stderr]).toEqual([1, expect.stringContaining(`npm install ${platformPackage}`)])
  })

  it('are reported for the C library of this system', () => {
    const cwd = installed('libc', 'mpmml')
    const file = join(cwd, 'node_modules', 'mpmml', 'package.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as {
      optionalDependencies: Record<string, string>
    }
    const name = (names: string[]) => {
      manifest.optionalDependencies = Object.fromEntries(names.map((it) => [it, version]))
      writeFileSync(file, JSON.stringify(manifest))
    }
    const folder = join(cwd, 'node_modules', platformPackage)
    const aside = join(cwd, 'aside')
    renameSync(folder, aside)
    name([platformPackage, muslPackage])
    const here = refusal(cwd)
    expect(here).toContain(`not installed: ${platformPackage}. `)
    expect(here).not.toContain('musl')
    const there = refusal(cwd, {}, asWithMusl)
    expect(there).toContain(`not installed: ${muslPackage}. `)
    expect(there).toContain(`npm install ${muslPackage}@${version} (`)
    name([platformPackage])
    const none = refusal(cwd, {}, asWithMusl)
    expect(none).toMatch(/there is no prebuilt package for linux-\w+ with musl\. /)
    expect(none).not.toContain(platformPackage)

    // Some package managers install the packages for every C library.
    renameSync(aside, folder)
    name([muslPackage, platformPackage])
    const other = join(cwd, 'node_modules', muslPackage)
    cpSync(folder, other, { recursive: true })
    writeFileSync(join(other, 'mpmml.node'), 'no library')
    expect(use({ cwd }).addon.from).toBe(platformPackage)
    expect(refusal(cwd, {}, asWithMusl)).toContain(`${muslPackage} can't be loaded`)
  })

  it('are reported if glibc is too old, its version differs, or the file is not an addon', () => {
    const cwd = installed('broken', 'mpmml')
    // Without its removal the library would load the WebAssembly package instead.
    rmSync(join(cwd, 'node_modules', wasmPackage), { recursive: true, force: true })
    const folder = join(cwd, 'node_modules', platformPackage)
    const file = join(folder, 'mpmml.node')
    const addon = readFileSync(file)
    writeFileSync(file, demandGlibc(addon, 'GLIBC_2.17', 'GLIBC_9.99'))
    const old = refusal(cwd)
    expect(old).toMatch(/it needs glibc 9\.99 or newer, and this system has \d+\.\d+/)
    expect(old).toContain('@mpmml/source')
    expect(old).not.toContain('install it again')
    writeFileSync(file, 'no library')
    const damaged = refusal(cwd)
    expect(damaged).toMatch(/^ERR_MPMML_ADDON .*mpmml\.node/)
    expect(damaged.split(`${file}`)).toHaveLength(2)
    expect(damaged).toContain(`install it again: remove the folder ${folder} and run npm install`)
    rmSync(file)
    expect(refusal(cwd)).toContain(`(${file}): the file is missing`)
    writeFileSync(file, addon)
    const manifest = join(folder, 'package.json')
    writeFileSync(
      manifest,
      readFileSync(manifest, 'utf8').replace(`"version": "${version}"`, '"version": "0.0.1"'),
    )
    expect(refusal(cwd)).toContain(
      `it has version 0.0.1, but mpmml has ${version}; install the same version: npm install mpmml@${version}`,
    )
  })

  it('are reported for values of MPMML_ADDON', () => {
    const cwd = installed('asked', 'mpmml')
    expect(refusal(cwd, { MPMML_ADDON: 'gpu' })).toContain(
      "must be 'cpu', 'cuda', 'lab' or 'wasm', but it is 'gpu'",
    )
    const named = registry.names.includes(cudaPackage)
    expect(refusal(cwd, { MPMML_ADDON: 'cuda' })).toContain(
      named ? `npm install ${cudaPackage}@${version}` : 'no prebuilt package',
    )
    expect(use({ cwd, env: { MPMML_ADDON: 'cpu' } }).cuda.reason).toContain('MPMML_ADDON=cpu')
  })
})

/**
 * Returns a copy of the addon that requires another version of glibc. The loader finds versions by the hash
 * of their name.
 */
function demandGlibc(addon: Buffer, from: string, to: string): Buffer {
  const hash = (name: string) => {
    let value = 0
    for (const byte of Buffer.from(name)) {
      value = ((value << 4) + byte) >>> 0
      value = (value ^ ((value & 0xf0000000) >>> 24)) & 0x0fffffff
    }
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(value)
    return bytes
  }
  const changed = Buffer.from(addon)
  const name = changed.indexOf(`${from}\0`)
  expect(name).toBeGreaterThan(0)
  changed.write(`${to}\0`, name)
  const at = changed.indexOf(hash(from))
  expect(at).toBeGreaterThan(0)
  hash(to).copy(changed, at)
  return changed
}

describe('the package with the sources', () => {
  it('is compiled when it is installed, and is loaded before the others', { timeout: 1_200_000 }, () => {
    const cwd = installed('source', 'mpmml', '@mpmml/source')
    // The addon of @mpmml/source doesn't exist before it is compiled.
    expect(use({ cwd }).addon.from).toBe(platformPackage)
    succeed([managers.npm, 'rebuild', '@mpmml/source', '--foreground-scripts'], {
      cwd,
      // The build includes the fewest kernels, because the test only checks that sources can be compiled.
      env: { PATH: process.env.PATH ?? '', MPMML_CUDA: 'OFF', MPMML_CPU_ISAS: 'portable' },
    })
    const { addon, cuda } = use({ cwd })
    expect(addon).toMatchObject({ kind: 'cpu', from: '@mpmml/source' })
    expect(cuda.status).toBe('built without CUDA, as MPMML_CUDA=OFF asked')
  })
})

describe('the package as WebAssembly', () => {
  it('computes if no other package is installed, with and without threads, and reports its use', {
    timeout: 600_000,
  }, ({ skip }) => {
    if (!registry.names.includes(wasmPackage)) skip('the packages were made without it')
    const cwd = installed('wasm', 'mpmml')
    expect(use({ cwd }).addon.from).toBe(platformPackage)
    expect(use({ cwd, env: { MPMML_ADDON: 'wasm' } }).addon).toMatchObject({
      kind: 'wasm',
      from: wasmPackage,
    })
    rmSync(join(cwd, 'node_modules', platformPackage), { recursive: true })
    for (const [name, program, args] of programs) {
      for (const env of [{}, { MPMML_WASM_THREADS: '0' }]) {
        const { addon, cuda } = use({ cwd, program, env }, args)
        expect(addon, name).toMatchObject({
          kind: 'wasm',
          from: wasmPackage,
          file: expect.stringContaining(cwd),
        })
        expect(cuda.reason, name).toContain(
          `there is no other addon for ${process.platform}-${process.arch} here`,
        )
      }
    }
    expect(succeed([managers.npx, '--no', 'mpmml', 'info'], { cwd })).toContain(`from ${wasmPackage}`)
  })

  it('has another entry for browsers and for workerd', ({ skip }) => {
    if (!registry.names.includes(wasmPackage)) skip('the packages were made without it')
    const cwd = installed('conditions', 'mpmml')
    const entry = (...conditions: string[]) =>
      succeed(
        [
          ...conditions.map((condition) => `--conditions=${condition}`),
          '--input-type=module',
          '--eval',
          `console.log(import.meta.resolve('${wasmPackage}'))`,
        ],
        { cwd },
      )
    expect(entry()).toMatch(/\/wasm\/addon\.cjs\n$/)
    expect(entry('browser')).toMatch(/\/wasm\/browser\.mjs\n$/)
    expect(entry('workerd', 'browser')).toMatch(/\/wasm\/workerd\.mjs\n$/)
  })
})

describe('the packages with CUDA', () => {
  const driver = existsSync('/dev/nvidiactl')
  const skipped = driver && 'this machine has an NVIDIA driver'

  itUnless(skipped, 'aren’t loaded without a driver, and the CPU computes', ({ skip }) => {
    if (!registry.names.includes(cudaPackage)) skip('the packages were made without CUDA')
    const cwd = installed('cuda', 'mpmml', cudaPackage)
    const without = use({ cwd })
    expect(without.addon).toMatchObject({ kind: 'cpu', from: platformPackage })
    expect(without.cuda.reason).toBe('no NVIDIA driver was found on this machine')
    const requested = use({ cwd, env: { MPMML_ADDON: 'cuda' } })
    expect(requested.addon).toMatchObject({ kind: 'cuda', from: cudaPackage })
    expect(requested.cuda).toMatchObject({
      built: true,
      reason: 'no NVIDIA driver was found on this machine',
    })
    expect(requested.variants).toBeGreaterThan(without.variants)
    const laboratory = succeed(
      [
        '--input-type=module',
        '--eval',
        `import { microbench } from 'mpmml/lab'
        await microbench('reg-reg').catch(({ code, message }) => console.log(code, message))`,
      ],
      { cwd, env: { MPMML_ADDON: 'cuda' } },
    )
    expect(laboratory).toMatch(/^ERR_MPMML_ADDON /)
    expect(laboratory).toContain(`npm install ${labPackage}@${version}`)

    succeed([managers.npm, 'install', '--ignore-scripts', labPackage], { cwd })
    const lab = use({ cwd, env: { MPMML_ADDON: 'lab' } })
    expect(lab.addon).toMatchObject({ kind: 'lab', from: labPackage })
    expect(lab.variants).toBeGreaterThan(requested.variants)
  })
})

describe('the library’s package', () => {
  it('has no install script, and neither have its dependencies', () => {
    const cwd = installed('scripts', 'mpmml')
    const { packages } = JSON.parse(readFileSync(join(cwd, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { hasInstallScript?: boolean }>
    }
    expect(Object.keys(packages)).toContain('node_modules/mpmml')
    expect(Object.entries(packages).filter(([, row]) => row.hasInstallScript)).toEqual([])
  })

  it('has the files that it reads at run time', () => {
    const cwd = installed('files', 'mpmml')
    const folder = join(cwd, 'node_modules', 'mpmml')
    // lib/tuning.ts reads this file. Without it products are right, but slower.
    expect(existsSync(join(folder, 'native', 'variants', 'tuning.json'))).toBe(true)
    expect(existsSync(join(folder, 'CMakeLists.txt'))).toBe(false)
  })

  it('has declarations for every setting of module resolution, which need no others', () => {
    const cwd = installed('types', 'mpmml')
    const entries = Object.keys(exports).flatMap((name) => (name === './package.json' ? [] : [name.slice(1)]))
    const program = `${entries.map((entry, index) => `import * as part${index} from 'mpmml${entry}'`).join('\n')}
      import { matrix, type MpmmOptions, mpmm } from 'mpmml'
      const options: MpmmOptions = { semiring: 'min-plus', signal: undefined }
      export const c: Promise<Int32Array> = mpmm(matrix(1, 1, [1]), matrix(1, 1, [2]), options).then(({ c }) => c.data)
      export const parts = [${entries.map((_, index) => `part${index}`).join(', ')}]\n`
    for (const name of ['user.mts', 'user.cts', 'user.ts']) writeFileSync(join(cwd, name), program)
    const both = ['user.mts', 'user.cts']
    const types = { types: ['node'], typeRoots: [join(root, 'node_modules', '@types')] }
    const programs: [object, string[], string[]][] = [
      [{ module: 'nodenext', lib: ['es2022'] }, both, ['typescript', 'typescript-6']],
      [{ module: 'node16', lib: ['es2022', 'dom'] }, both, ['typescript', 'typescript-6']],
      [{ module: 'nodenext', lib: ['esnext', 'dom'], ...types }, both, ['typescript']],
      [{ module: 'esnext', moduleResolution: 'bundler', lib: ['es2022'] }, ['user.ts'], ['typescript']],
      // Newer compilers don't support this setting.
      [
        { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0', lib: ['es2022'] },
        ['user.ts'],
        ['typescript-6'],
      ],
    ]
    for (const [options, files, compilers] of programs) {
      const usual = { strict: true, noEmit: true, target: 'es2022', skipLibCheck: false, types: [] }
      writeFileSync(
        join(cwd, 'tsconfig.json'),
        JSON.stringify({ compilerOptions: { ...usual, ...options }, files }),
      )
      for (const compiler of compilers) succeed([join(root, 'node_modules', compiler, 'bin', 'tsc')], { cwd })
    }
  })

  it('works in every folder to which it is copied', () => {
    const cwd = installed('moved', 'mpmml')
    const copy = registry.folder('copy')
    cpSync(cwd, copy, { recursive: true })
    rmSync(cwd, { recursive: true })
    expect(use({ cwd: copy }).addon.file).toContain(copy)
  })
})
