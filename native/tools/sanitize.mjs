// Runs the library under sanitizers:
//
//   npm run sanitize                                 address, then thread
//   npm run sanitize -- address                      AddressSanitizer and UndefinedBehaviorSanitizer over the addon
//                                                    without CUDA, with the whole test suite; what follows goes
//                                                    to vitest
//   npm run sanitize -- thread                       ThreadSanitizer over native/testing/stress and native/addon/stress,
//                                                    because Node itself causes reports
//   npm run sanitize -- cuda [filter] [--tool NAME]  compute-sanitizer over random products with every CUDA variant, or
//                                                    with those whose names contain the filter, and over closures, if
//                                                    there is no filter or it is "closure" (native/tools/fuzz.mjs); by
//                                                    memcheck, racecheck, initcheck and synccheck, or one of them.
//                                                    Needs a GPU, and the library as `npm run build` makes it
//
// The first two build in folders of their own under build/sanitize, from a copy of the sources, because the library
// loads the addon from the build folder of its package. The last needs only Node:
// node native/tools/sanitize.mjs cuda
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** Runs a command. With `quiet`, its output is shown only on failure. */
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

/** Copies the files that the build and the tests need, and returns the folder. */
function copySources(name) {
  const copy = join(root, 'build', 'sanitize', name)
  mkdirSync(copy, { recursive: true })
  const folders = ['lib', 'bench', 'native', 'test', 'docs']
  const files = ['CMakeLists.txt', 'package.json', 'tsconfig.json', 'tsconfig.test.json', 'vitest.config.ts']
  const documents = ['README.md', 'CHANGELOG.md', 'LICENSE', 'binding.gyp.md']
  for (const folder of folders) rmSync(join(copy, folder), { recursive: true, force: true })
  for (const path of [...folders, ...files, ...documents])
    cpSync(join(root, path), join(copy, path), { recursive: true, preserveTimestamps: true })
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
  const settings = { MPMML_CPU_ISAS: 'all', MPMML_CUDA: 'OFF', MPMML_SANITIZE: 'address,undefined' }
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
        // The program that loads the addon isn't instrumented, so the sanitizer's runtime must be loaded before it.
        LD_PRELOAD: `${compilerFile('libasan.so')} ${compilerFile('libstdc++.so.6')}`,
        // Leaks: Node has some of its own. Shadow gap: some tests run Node with memory limits.
        ASAN_OPTIONS: 'detect_leaks=0:protect_shadow_gap=0',
        UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1',
      },
    },
  )
}

function thread(programArguments) {
  console.log('mpmml: ThreadSanitizer, with products and other tasks from several threads')
  const build = join(root, 'build', 'sanitize', 'thread')
  const settings = {
    MPMML_CPU_ISAS: 'all',
    MPMML_CUDA: 'OFF',
    MPMML_SANITIZE: 'thread',
    MPMML_STRESS: 'ON',
    MPMML_NODE: process.execPath,
  }
  const definitions = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`)
  run('cmake', ['-S', root, '-B', build, '-DCMAKE_BUILD_TYPE=Release', ...definitions], { quiet: true })
  run('cmake', ['--build', build, '--parallel', String(availableParallelism())], { quiet: true })
  run(join(build, 'mpmml-stress'), programArguments, { env: { MPMML_NUM_THREADS: '3' } })
  run(join(build, 'mpmml-stress-executor'), programArguments)
}

const cudaTools = ['memcheck', 'racecheck', 'initcheck', 'synccheck']

/**
 * Returns the path of compute-sanitizer, from the PATH or the toolkit's folder; undefined if it isn't
 * installed.
 */
function computeSanitizer() {
  const { CUDA_PATH, CUDA_HOME } = process.env
  const folders = [CUDA_PATH, CUDA_HOME, '/usr/local/cuda'].filter((folder) => folder)
  return ['compute-sanitizer', ...folders.map((folder) => join(folder, 'bin', 'compute-sanitizer'))].find(
    (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0,
  )
}

const fail = (message, status = 1) => {
  console.error(`mpmml: ${message}`)
  process.exit(status)
}

async function cuda(programArguments) {
  const options = { tool: { type: 'string' } }
  let parsed
  try {
    parsed = parseArgs({ args: programArguments, options, allowPositionals: true })
  } catch ({ message }) {
    fail(message, 2)
  }
  const { values, positionals } = parsed
  if (positionals.length > 1) fail(`expected one filter, not ${positionals.join(' ')}`, 2)
  if (values.tool !== undefined && !cudaTools.includes(values.tool)) {
    fail(`--tool can be ${cudaTools.join(', ')}, not ${values.tool}`, 2)
  }
  const library = join(root, 'dist', 'lib', 'index.js')
  if (!existsSync(library)) fail('the library is not built: run npm run build')
  const { info } = await import(pathToFileURL(library).href)
  const { reason } = info().cuda
  if (reason !== '') fail(`compute-sanitizer needs a GPU, and none can be used: ${reason}`)
  const sanitizer = computeSanitizer()
  if (!sanitizer) {
    fail(
      'compute-sanitizer was not found: it comes with the CUDA toolkit; put it on the PATH, or name the toolkit in CUDA_PATH',
    )
  }
  for (const tool of values.tool === undefined ? cudaTools : [values.tool]) {
    console.log(`mpmml: compute-sanitizer, ${tool}`)
    // Runs in one process, because the sanitizer returns the exit status of the process that it watches.
    const check = (...programArguments) =>
      run(sanitizer, [
        ...[
          '--tool',
          tool,
          '--error-exitcode',
          '1',
          process.execPath,
          join(root, 'native', 'tools', 'fuzz.mjs'),
        ],
        ...['--backend', 'cuda', '--devices', 'one', '--seed', '1', ...programArguments],
      ])
    // The filter selects variants of products, and "closure" selects closures.
    const [filter] = positionals
    if (filter !== 'closure') check('--variants', filter ?? '')
    if (filter === undefined || filter === 'closure') check('--only', 'closure', '--cases', '200')
  }
}

const sanitizers = { address, thread, cuda }
const [name, ...rest] = process.argv.slice(2)
if (name !== undefined && !(name in sanitizers)) {
  fail(`expected ${Object.keys(sanitizers).join(', ')}, not ${name}`, 2)
}
for (const each of name === undefined ? ['address', 'thread'] : [name]) await sanitizers[each](rest)
