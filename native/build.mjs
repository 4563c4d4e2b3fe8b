// Builds the addons of a Git checkout, or of the package with the sources: checks the build tools, prints the
// parts to be built and runs cmake-js.
//
//   lab            builds the laboratory's kernels too, and CUDA for them
//   lab-with-cuda  does that if CUDA is built
//   --incremental  keeps settings that aren't given as they were last built, and configures a folder only if they change
//
// A build folder of another place or with tools that no longer exist, such as that of a copied clone, is configured anew.
//
// Options are environment variables: MPMML_CPU_ISAS=native|all|"avx2", MPMML_CUDA=AUTO|ON|OFF, MPMML_CUDA_ARCHS="61;90" or all,
// MPMML_LAB=AUTO|ON|OFF, MPMML_BUILD_DIR, MPMML_WARNINGS_AS_ERRORS=ON, MPMML_SANITIZE=address,undefined, MPMML_RELEASE=ON,
// MPMML_REORDER=OFF;
// native/tools/release.mjs also sets MPMML_CUDA_LAB_ARCHS and MPMML_CUDA_COMPRESS.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const buildDirectory = process.env.MPMML_BUILD_DIR ?? join(root, 'build')

const stamp = join(buildDirectory, 'mpmml-settings.json')

const fail = (message, status = 1) => {
  console.error(`mpmml: ${message}`)
  process.exit(status)
}

const words = process.argv.slice(2)
const unknown = words.filter((word) => !['lab', 'lab-with-cuda', '--incremental'].includes(word))
if (unknown.length > 0)
  fail(`expected lab, lab-with-cuda, --incremental or nothing, not ${unknown.join(' ')}`, 2)
const incremental = words.includes('--incremental')

/** The command that repeats this build. */
const again = name === 'mpmml' ? 'npm run build:native' : `npm rebuild ${name}`

const runs = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0

function checkTools() {
  if (!runs('cmake', '--version')) {
    fail(
      `CMake was not found. Install CMake 3.18 or newer (Debian, Ubuntu: apt-get install cmake), then run: ${again}`,
    )
  }
  const compilers = process.env.CXX ? [process.env.CXX] : ['c++', 'g++', 'clang++']
  if (!compilers.some((compiler) => runs(compiler, '--version'))) {
    fail(
      `no C++ compiler was found (tried ${compilers.join(', ')}). Install one with C++17, GCC 9 or Clang 10 or newer ` +
        `(Debian, Ubuntu: apt-get install g++ make), then run: ${again}`,
    )
  }
  if (!['ninja', 'make'].some((tool) => runs(tool, '--version'))) {
    fail(
      `neither ninja nor make was found. Install one (Debian, Ubuntu: apt-get install make), then run: ${again}`,
    )
  }
}

/** Settings that CMake gets as cache variables. All are always set, because the cache would keep an earlier value. */
const defaults = {
  MPMML_CPU_ISAS: 'native',
  MPMML_CUDA: 'AUTO',
  MPMML_CUDA_ARCHS: '',
  MPMML_LAB: 'OFF',
  MPMML_CUDA_LAB_ARCHS: '',
  MPMML_CUDA_COMPRESS: '',
  MPMML_REORDER: 'ON',
  MPMML_WARNINGS_AS_ERRORS: 'OFF',
  MPMML_SANITIZE: '',
  MPMML_RELEASE: 'OFF',
}

/** The settings that the build folder was last configured with; undefined if it wasn't. */
const configured = existsSync(stamp) ? JSON.parse(readFileSync(stamp, 'utf8')) : undefined

const asked = { ...process.env }
if (words.includes('lab')) asked.MPMML_LAB = 'ON'
else if (words.includes('lab-with-cuda')) asked.MPMML_LAB ??= configured?.MPMML_LAB === 'ON' ? 'ON' : 'AUTO'
const settings = {
  ...Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      ((asked[name] ?? (incremental ? configured?.[name] : undefined)) || value).replaceAll(' ', ';'),
    ]),
  ),
  MPMML_VERSION: version,
  MPMML_NODE: process.execPath,
}

/** Runs a command of cmake-js and returns its output. */
async function cmakeJs(command) {
  const executable = createRequire(import.meta.url).resolve('cmake-js/bin/cmake-js')
  const args = [executable, command, '--out', buildDirectory, '--parallel', String(availableParallelism())]
  // cmake-js leaves empty values out.
  const definitions = Object.entries(settings).map(([name, value]) => `--CD${name}=${value || 'NONE'}`)
  const verbose = process.env.MPMML_BUILD_VERBOSE !== undefined
  const child = spawn(process.execPath, [...args, ...definitions], {
    cwd: root,
    stdio: verbose ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => {
      output += text
      showProgress(text)
    })
  }
  const status = await new Promise((resolve) => child.on('error', resolve).on('close', resolve))
  if (status !== 0) {
    process.stderr.write(output)
    fail('the native build failed; its output is above. Requirements and options: docs/building.md')
  }
  return output
}

let shownPercent = 0

/** Prints the progress that ninja ("[12/118]") or make ("[ 10%]") reports, in steps of 10 %. */
function showProgress(text) {
  const [, part, total] = text.match(/\[ *(\d+)(?:\/(\d+)|%)\]/) ?? []
  if (part === undefined) return
  const percent = 10 * Math.floor(10 * (part / (total ?? 100)))
  if (percent <= shownPercent || percent >= 100) return
  shownPercent = percent
  console.log(`mpmml: compiled ${percent} %`)
}

/** Returns why the build folder can't be continued here; undefined if it can, or is empty. */
function obsolescence() {
  const file = join(buildDirectory, 'CMakeCache.txt')
  if (!existsSync(file)) return undefined
  const cache = readFileSync(file, 'utf8')
  const entry = (name) => cache.match(new RegExp(`^${name}:[A-Z]+=(.*)$`, 'm'))?.[1]
  const home = entry('CMAKE_HOME_DIRECTORY')
  if (home !== undefined && (!existsSync(home) || realpathSync(home) !== realpathSync(root))) {
    return `was configured in ${home}`
  }
  const lost = ['CMAKE_COMMAND', 'CMAKE_MAKE_PROGRAM', 'CMAKE_CXX_COMPILER', 'MPMML_NVCC']
    .map(entry)
    .find((path) => path?.startsWith('/') && !existsSync(path))
  return lost && `was configured with ${lost}, which no longer exists`
}

/** Removes what CMake keeps in the build folder. The addons stay until their successors are linked. */
function discardConfiguration() {
  for (const entry of ['CMakeCache.txt', 'CMakeFiles'])
    rmSync(join(buildDirectory, entry), { recursive: true, force: true })
}

/** Prints CMake's summary of the build, and how to get the parts that are left out. */
function explain(lines) {
  for (const line of lines) console.log(line)
  const withCuda = lines.some((line) => line.includes('built with CUDA'))
  if (withCuda && settings.MPMML_LAB === 'OFF') {
    console.log(
      "mpmml: the laboratory's kernels are left out: MPMML_LAB=ON builds them, in a clone npm run build -- lab",
    )
  }
  console.log(`mpmml: compiling${withCuda ? ' for GPUs, too' : ''}; that can take some minutes`)
}

// `npx mpmml` in a Git checkout installs the checkout into npm's cache, which runs this script and hides its output.
if (process.env.npm_command === 'exec' && existsSync(join(buildDirectory, 'Release', 'mpmml.node')))
  process.exit()
checkTools()
const reason = obsolescence()
if (reason !== undefined) {
  console.log(`mpmml: building anew, because the build folder ${reason}`)
  discardConfiguration()
}
const isConfigured =
  existsSync(join(buildDirectory, 'CMakeCache.txt')) &&
  JSON.stringify(configured) === JSON.stringify(settings)
// A toolkit or a driver installed since the folder was configured isn't noticed.
if (!incremental || !isConfigured) {
  explain((await cmakeJs('configure')).match(/mpmml: .*/g) ?? [])
  writeFileSync(stamp, JSON.stringify(settings))
}
await cmakeJs('build')
