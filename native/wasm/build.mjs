// Builds the addon as WebAssembly, into build/Release/wasm/ (npm run build:wasm): a module with threads and
// one without, the JavaScript of Emscripten that starts each, and the entry points of hosts: addon.cjs for
// Node.js, workerd.mjs for workerd. `npm install` and `npm start` don't run this build.
//
// It needs Emscripten 3.1.69 or newer (emcc on the PATH), CMake and ninja or make. MPMML_WASM_DIR is another folder to build in.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { minifySync } from 'rolldown/utils'
import { bundleForBrowsers } from './bundle.mjs'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const scratch = process.env.MPMML_WASM_DIR ?? join(root, 'build', 'wasm')
const target = join(root, 'build', 'Release', 'wasm')
const require = createRequire(import.meta.url)
const folderOf = (name) => dirname(require.resolve(`${name}/package.json`))

function fail(message) {
  console.error(`mpmml: ${message}`)
  process.exit(1)
}

function output(command, ...args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) fail(`${command} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`)
}

const OLDEST = [3, 1, 69]
const found = /(\d+)\.(\d+)\.(\d+)/
  .exec(output('emcc', '--version') ?? '')
  ?.slice(1)
  .map(Number)
if (!found) {
  fail(
    'Emscripten was not found (emcc). Install Emscripten 3.1.69 or newer (Debian 13: apt-get install emscripten), then run: npm run build:wasm',
  )
}
const differs = found.findIndex((number, index) => number !== OLDEST[index])
if (differs >= 0 && found[differs] < OLDEST[differs]) {
  fail(`Emscripten ${found.join('.')} is too old: emnapi needs ${OLDEST.join('.')} or newer`)
}
const toolchain = join(
  output('em-config', 'EMSCRIPTEN_ROOT'),
  'cmake',
  'Modules',
  'Platform',
  'Emscripten.cmake',
)

const generator = output('ninja', '--version') ? ['-G', 'Ninja'] : []
const definitions = {
  CMAKE_TOOLCHAIN_FILE: toolchain,
  CMAKE_BUILD_TYPE: 'Release',
  MPMML_CUDA: 'OFF',
  MPMML_CPU_ISAS: 'all',
  MPMML_VERSION: version,
  MPMML_NODE: process.execPath,
  MPMML_EMNAPI: folderOf('emnapi'),
  MPMML_NODE_ADDON_API: folderOf('node-addon-api'),
  MPMML_WARNINGS_AS_ERRORS: process.env.MPMML_WARNINGS_AS_ERRORS ?? 'OFF',
}
const kinds = { threads: 'ON', single: 'OFF' }
for (const [name, threads] of Object.entries(kinds)) {
  const folder = join(scratch, name)
  const settings = { ...definitions, MPMML_WASM_THREADS: threads }
  const options = Object.entries(settings).map(([key, value]) => `-D${key}=${value}`)
  run('cmake', '-S', root, '-B', folder, ...generator, ...options)
  run('cmake', '--build', folder, '--parallel', String(availableParallelism()))
}

// native/wasm reads from the generated types which functions take arrays and which return promises.
run(process.execPath, join(root, 'native', 'variants', 'generate.mjs'), '--typescript', join(root, 'lib'))

rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
for (const name of Object.keys(kinds)) {
  for (const file of [`mpmml-${name}.js`, `mpmml-${name}.wasm`])
    cpSync(join(scratch, name, file), join(target, file))
}

// The files are CommonJS. Workers load them directly, so the package type must not depend on the surrounding
// package.
writeFileSync(join(target, 'package.json'), '{ "type": "commonjs" }\n')
for (const [source, file, format, platform] of [
  ['node.ts', 'addon.cjs', 'cjs', 'node'],
  ['workerd.ts', 'workerd.mjs', 'esm', 'browser'],
]) {
  const bundle = await rolldown({
    input: join(root, 'native', 'wasm', source),
    platform,
    external: [/\.wasm$/],
    resolve: { alias: { './mpmml-single.js': join(target, 'mpmml-single.js') } },
    logLevel: 'warn',
  })
  await bundle.write({ file: join(target, file), format, minify: true, comments: { legal: true } })
  await bundle.close()
}
await bundleForBrowsers(target)
for (const name of Object.keys(kinds)) {
  const file = join(target, `mpmml-${name}.js`)
  const { code, errors } = minifySync(file, readFileSync(file, 'utf8'), { module: false })
  if (errors.length > 0) fail(`${file}: ${errors[0].message}`)
  writeFileSync(file, code)
}
