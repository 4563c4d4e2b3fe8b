// Runs the library under the compiler's sanitizers, for the CPU alone (npm run sanitize; for one of them:
// npm run sanitize -- address, or thread; what follows -- after that goes to vitest).
//
//  - address: AddressSanitizer and UndefinedBehaviorSanitizer over the addon, with the whole test suite.
//  - thread: ThreadSanitizer over native/cpu/stress: Node itself isn't free of reports.
//
// Each has a folder of its own under build/sanitize, with a copy of the sources, because the library loads the addon
// from the build folder of its package.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Runs a command; a quiet one shows what it printed only where it fails. */
function run(command, args, { env = {}, cwd = root, quiet = false } = {}) {
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    cwd,
    stdio: quiet ? 'pipe' : 'inherit',
    env: { ...process.env, ...env },
    maxBuffer: 1 << 28,
  })
  if (error) throw error
  if (status === 0) return
  if (quiet) process.stderr.write(`${stdout}${stderr}`)
  console.error(`mpmml: ${command} ${args.join(' ')} ended with ${signal ?? `status ${status}`}`)
  process.exit(1)
}

/** A copy of what the build and the tests need. */
function copySources(name) {
  const copy = join(root, 'build', 'sanitize', name)
  mkdirSync(copy, { recursive: true })
  for (const folder of ['lib', 'bench', 'native', 'test', 'docs']) {
    rmSync(join(copy, folder), { recursive: true, force: true })
  }
  for (const path of [
    ...['lib', 'bench', 'native', 'test', 'docs', 'CMakeLists.txt', 'package.json'],
    ...['README.md', 'CHANGELOG.md', 'binding.gyp.md', 'LICENSE'],
    ...['tsconfig.json', 'tsconfig.test.json', 'vitest.config.ts'],
  ]) {
    cpSync(join(root, path), join(copy, path), { recursive: true, preserveTimestamps: true })
  }
  const packages = join(copy, 'node_modules')
  if (!existsSync(packages)) symlinkSync(join(root, 'node_modules'), packages)
  return copy
}

function compilerFile(name) {
  const compiler = process.env.CXX ?? 'g++'
  const { stdout } = spawnSync(compiler, [`-print-file-name=${name}`], { encoding: 'utf8' })
  const file = stdout?.trim() ?? ''
  if (isAbsolute(file)) return file
  console.error(`mpmml: ${compiler} has no ${name}: this needs GCC and its sanitizers`)
  process.exit(1)
}

function address(vitestArguments) {
  console.log('mpmml: AddressSanitizer and UndefinedBehaviorSanitizer, with the test suite')
  const cwd = copySources('address')
  const settings = { MPMML_CUDA: 'OFF', MPMML_SANITIZE: 'address,undefined' }
  run(process.execPath, ['native/build.mjs', '--incremental'], { cwd, env: settings })
  run('npm', ['run', '--silent', 'build:ts'], { cwd })
  run(
    process.execPath,
    [
      join(root, 'node_modules', 'vitest', 'vitest.mjs'),
      ...['run', '--pool=forks', '--maxWorkers=1', '--testTimeout=600000'],
      ...vitestArguments,
    ],
    {
      cwd,
      env: {
        ...settings,
        // The program that loads the addon isn't instrumented, so the runtime has to be there before it.
        LD_PRELOAD: `${compilerFile('libasan.so')} ${compilerFile('libstdc++.so.6')}`,
        // Leaks: Node leaves its own. Shadow gap: the tests run Node with memory limits of its own.
        ASAN_OPTIONS: 'detect_leaks=0:protect_shadow_gap=0',
        UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1',
      },
    },
  )
}

function thread(programArguments) {
  console.log('mpmml: ThreadSanitizer, with products from several threads')
  const build = join(root, 'build', 'sanitize', 'thread')
  const settings = {
    MPMML_CUDA: 'OFF',
    MPMML_SANITIZE: 'thread',
    MPMML_STRESS: 'ON',
    MPMML_NODE: process.execPath,
  }
  const definitions = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`)
  run('cmake', ['-S', root, '-B', build, '-DCMAKE_BUILD_TYPE=Release', ...definitions], { quiet: true })
  run('cmake', ['--build', build, '--parallel', String(availableParallelism())], { quiet: true })
  run(join(build, 'mpmml-stress'), programArguments, { env: { MPMML_NUM_THREADS: '3' } })
}

const sanitizers = { address, thread }
const [name, ...rest] = process.argv.slice(2)
if (name !== undefined && !(name in sanitizers)) {
  console.error(`mpmml: expected ${Object.keys(sanitizers).join(' or ')}, not ${name}`)
  process.exit(2)
}
for (const [each, sanitize] of Object.entries(sanitizers)) {
  if (name === undefined || name === each) sanitize(rest)
}
