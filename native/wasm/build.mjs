// Builds the addon as WebAssembly, into build/Release/wasm/ (npm run build:wasm): the module, the JavaScript of Emscripten that
// starts it, and addon.cjs, which Node.js loads. `npm install` and `npm start` never do that.
//
// It needs Emscripten 3.1.69 or newer (emcc on the PATH), CMake and ninja or make. MPMML_WASM_DIR is another folder to build in.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
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

const name = 'mpmml-threads'
const generator = output('ninja', '--version') ? ['-G', 'Ninja'] : []
rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
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
const settings = Object.entries(definitions).map(([key, value]) => `-D${key}=${value}`)
run('cmake', '-S', root, '-B', scratch, ...generator, ...settings)
run('cmake', '--build', scratch, '--parallel', String(availableParallelism()))
for (const file of [`${name}.js`, `${name}.wasm`]) cpSync(join(scratch, file), join(target, file))

// They are CommonJS, and workers load them as they are, whatever the package around them says.
writeFileSync(join(target, 'package.json'), '{ "type": "commonjs" }\n')
const bundle = await rolldown({
  input: join(root, 'native', 'wasm', 'node.ts'),
  platform: 'node',
  logLevel: 'warn',
})
await bundle.write({ file: join(target, 'addon.cjs'), format: 'cjs', comments: { legal: true } })
await bundle.close()
if (!existsSync(join(target, 'addon.cjs'))) fail('addon.cjs was not written')
await bundleForBrowsers(target)
