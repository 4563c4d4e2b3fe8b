// Builds the addon of a clone, or of the package with the sources: checks what the build needs, says what will be built and runs
// cmake-js. With --incremental a folder that is already configured isn't configured again. Options are environment
// variables: MPMML_CUDA=AUTO|ON|OFF, MPMML_CUDA_ARCHS="61;90" or all, MPMML_BUILD_DIR, MPMML_WARNINGS_AS_ERRORS=ON,
// MPMML_SANITIZE=address,undefined, MPMML_RELEASE=ON; native/tools/release.mjs also sets MPMML_CUDA_LAB_ARCHS and
// MPMML_CUDA_COMPRESS.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const buildDirectory = process.env.MPMML_BUILD_DIR ?? join(root, 'build')

const stamp = join(buildDirectory, 'mpmml-settings.json')

const fail = (message) => {
  console.error(`mpmml: ${message}`)
  process.exit(1)
}

const runs = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0

function checkTools() {
  if (!runs('cmake', '--version')) {
    fail(
      'CMake was not found. Install CMake 3.18 or newer (Debian, Ubuntu: apt-get install cmake), then run: npm rebuild mpmml',
    )
  }
  const compilers = process.env.CXX ? [process.env.CXX] : ['c++', 'g++', 'clang++']
  if (!compilers.some((compiler) => runs(compiler, '--version'))) {
    fail(
      `no C++ compiler was found (tried ${compilers.join(', ')}). Install one with C++17, GCC 9 or Clang 10 or newer ` +
        '(Debian, Ubuntu: apt-get install g++ make), then run: npm rebuild mpmml',
    )
  }
  if (!['ninja', 'make'].some((tool) => runs(tool, '--version'))) {
    fail(
      'neither ninja nor make was found. Install one (Debian, Ubuntu: apt-get install make), then run: npm rebuild mpmml',
    )
  }
}

/** Settings that CMake gets as cache variables. All are always set, because the cache would keep an earlier value. */
const defaults = {
  MPMML_CUDA: 'AUTO',
  MPMML_CUDA_ARCHS: '',
  MPMML_CUDA_LAB_ARCHS: '',
  MPMML_CUDA_COMPRESS: '',
  MPMML_WARNINGS_AS_ERRORS: 'OFF',
  MPMML_SANITIZE: '',
  MPMML_RELEASE: 'OFF',
}
const settings = {
  MPMML_VERSION: version,
  MPMML_NODE: process.execPath,
  ...Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      (process.env[name] || value).replaceAll(' ', ';'),
    ]),
  ),
}

/** Runs a command of cmake-js and returns what it printed. */
function cmakeJs(command) {
  const executable = createRequire(import.meta.url).resolve('cmake-js/bin/cmake-js')
  const args = [executable, command, '--out', buildDirectory, '--parallel', String(availableParallelism())]
  const definitions = Object.entries(settings).map(([name, value]) => `--CD${name}=${value}`)
  const verbose = process.env.MPMML_BUILD_VERBOSE !== undefined
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args, ...definitions], {
    cwd: root,
    encoding: 'utf8',
    stdio: verbose ? 'inherit' : 'pipe',
    maxBuffer: 1 << 28,
  })
  if (status !== 0) {
    if (!verbose) process.stderr.write(`${stdout}${stderr}`)
    fail('the native build failed; its output is above. Requirements and options: docs/building.md')
  }
  return stdout ?? ''
}

/** Whether the build folder was configured with these settings. A toolkit installed since then isn't noticed. */
function isConfigured() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === JSON.stringify(settings)
}

checkTools()
if (!process.argv.includes('--incremental') || !isConfigured()) {
  const lines = cmakeJs('configure').match(/mpmml: .*/g) ?? []
  for (const line of lines) console.log(line)
  if (lines.some((line) => line.includes('built with CUDA'))) {
    console.log('mpmml: compiling the kernels; that can take some minutes')
  }
  writeFileSync(stamp, JSON.stringify(settings))
}
cmakeJs('build')
