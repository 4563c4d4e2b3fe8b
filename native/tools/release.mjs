// Makes the packages that are published, into dist-packages/, and checks each:
//
//   npm run release                          all that this machine can make; the others it names, and why
//   npm run release -- main linux-x64-gnu    these
//
//   --archs "80;90"   the GPU architectures; by default those of native/tools/release/packages.mjs, which take about an hour
//   --build DIR       takes this machine's addons from a build folder, and compiles nothing for it. It was built with
//                     MPMML_RELEASE=ON and MPMML_CPU_ISAS=all
//   --repository URL  for package.json: publishing with provenance needs it
//   --to DIR          another folder
//
// docs/releasing.md tells the rest.
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { minifySync } from 'rolldown/utils'
import { newestGlibc, problemsOf } from './release/check.mjs'
import {
  addonManifest,
  addonPackages,
  architecturesOf,
  filesIn,
  installCommand,
  isInMain,
  isInSource,
  isNative,
  mainManifest,
  mostBytesOfMain,
  readme,
  root,
  sourceManifest,
  version,
  wasmFiles,
} from './release/packages.mjs'

const { values, positionals: requested } = parseArgs({
  options: {
    archs: { type: 'string' },
    build: { type: 'string' },
    repository: { type: 'string' },
    to: { type: 'string', default: join(root, 'dist-packages') },
  },
  allowPositionals: true,
})
const target = resolve(values.to)

function fail(message) {
  console.error(`mpmml: ${message}`)
  process.exit(1)
}

const runs = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0

function run(command, args, env = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  })
  if (status !== 0) fail(`${command} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`)
}

const isCross = (row) => row.cross !== undefined && !isNative(row)

/** Returns the reason why this machine can't build a package with an addon; undefined if it can. */
function obstacle(row) {
  if (isCross(row)) {
    const [program] = row.cross.compiler
    return runs(...row.cross.compiler, '--version') ? undefined : `${program} was not found`
  }
  if (row.kind === 'wasm') return runs('emcc', '--version') || values.build ? undefined : 'emcc was not found'
  if (!isNative(row)) return 'it has to be made on a machine of its platform'
  if (row.cuda === undefined || values.build) return undefined
  const cuda = versionOfNvcc()
  if (cuda === undefined) return 'nvcc was not found'
  if (cuda !== row.cuda)
    return `it needs CUDA ${row.cuda}, and nvcc is of CUDA ${cuda}: name another in CUDACXX`
  return undefined
}

/** Returns the major version of nvcc; undefined if it isn't installed. */
function versionOfNvcc() {
  const { stdout } = spawnSync(process.env.CUDACXX ?? 'nvcc', ['--version'], { encoding: 'utf8' })
  const release = /release (\d+)\./.exec(stdout ?? '')?.[1]
  return release && Number(release)
}

/** Returns the folder of the WebAssembly addon, and builds it if it is missing. */
function wasmFolder() {
  if (!values.build) {
    run(process.execPath, ['native/wasm/build.mjs'])
    return join(root, 'build', 'Release', 'wasm')
  }
  const folder = join(resolve(values.build), 'Release', 'wasm')
  if (!existsSync(folder)) fail(`${folder} was not found: build it with npm run build:wasm`)
  return folder
}

/** Returns the addon of a package, and builds it if it is missing. */
function addonOf(row) {
  if (values.build && !isCross(row)) {
    const file = join(resolve(values.build), 'Release', row.file)
    const settings = join(resolve(values.build), 'mpmml-settings.json')
    const needed = {
      MPMML_RELEASE: 'ON',
      MPMML_CPU_ISAS: 'all',
      ...(row.kind === 'lab' ? { MPMML_LAB: 'ON' } : {}),
    }
    const how = Object.entries(needed)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')
    if (!existsSync(file) || !existsSync(settings)) fail(`${file} was not found: build it with ${how}`)
    const built = JSON.parse(readFileSync(settings, 'utf8'))
    for (const [name, value] of Object.entries(needed)) {
      if (built[name] !== value) fail(`${file} was built with ${name}=${built[name]}: build it with ${how}`)
    }
    return file
  }
  const folder = join(root, 'build', `release-${isCross(row) ? row.short : 'here'}`)
  // One build makes the addons of all packages that this machine's compilers build.
  const withCuda = isCross(row) ? undefined : rows.find(({ cuda }) => cuda !== undefined)
  const archs = withCuda && architecturesOf(withCuda)
  run(process.execPath, ['native/build.mjs', '--incremental'], {
    MPMML_BUILD_DIR: folder,
    MPMML_RELEASE: 'ON',
    MPMML_CPU_ISAS: 'all',
    MPMML_CUDA: withCuda ? 'ON' : 'OFF',
    MPMML_LAB: withCuda ? 'ON' : 'OFF',
    MPMML_CUDA_ARCHS: withCuda ? (values.archs ?? archs.products) : '',
    MPMML_CUDA_LAB_ARCHS: withCuda ? archs.lab : '',
    // nvcc 12.4 doesn't have the option.
    MPMML_CUDA_COMPRESS: withCuda?.cuda === 13 ? 'size' : '',
    ...(isCross(row) ? { CMAKE_TOOLCHAIN_FILE: join(root, row.cross.toolchain) } : {}),
  })
  return join(folder, 'Release', row.file)
}

/** Creates an empty folder for a package. */
function folderOf(name) {
  const folder = join(target, 'folders', name.replace('@mpmml/', ''))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  return folder
}

const filesUnder = (place) =>
  readdirSync(join(root, place), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .replaceAll('\\', '/'),
    )

function copyFiles(folder, files) {
  for (const file of files) cpSync(join(root, file), join(folder, file))
}

const failures = []

/** Packs a folder, checks the package and prints its size. */
function pack(folder, manifest, rules) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  const npm = spawnSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', target], {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (npm.status !== 0) fail(`npm pack failed for ${manifest.name}:\n${npm.stderr}`)
  // Newer versions of npm print an object by name, others a list.
  const [packed] = Object.values(JSON.parse(npm.stdout))
  const problems = problemsOf(folder, manifest, packed, rules)
  const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(2)} MiB`
  const glibc = rules.addon?.libc === 'glibc' ? `, ${newestGlibc(join(folder, rules.addon.file))}` : ''
  console.log(
    `${manifest.name} ${version}: ${megabytes(packed.size)} packed, ${megabytes(packed.unpackedSize)} unpacked, ` +
      `${packed.files.length} files${glibc}`,
  )
  for (const problem of problems) console.error(`  ${problem}`)
  failures.push(...problems)
}

const shorts = ['main', 'source', ...addonPackages.map(({ short }) => short)]
for (const name of requested) {
  if (!shorts.includes(name)) fail(`there is no package ${name}: expected some of ${shorts.join(', ')}`)
}
const isRequested = (short) => requested.length === 0 || requested.includes(short)
const rows = addonPackages.filter((row) => {
  if (!isRequested(row.short)) return false
  const why = obstacle(row)
  if (why === undefined) return true
  if (requested.length > 0) fail(`${row.name} can't be made here: ${why}`)
  console.log(`${row.name}: not made, because ${why}`)
  return false
})

mkdirSync(target, { recursive: true })
for (const row of rows) {
  const folder = folderOf(row.name)
  const files = row.kind === 'wasm' ? wasmFiles.map((name) => `wasm/${name}`) : [row.file]
  if (row.kind === 'wasm') cpSync(wasmFolder(), join(folder, 'wasm'), { recursive: true })
  else cpSync(addonOf(row), join(folder, row.file))
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(join(folder, 'README.md'), readme(row))
  pack(folder, addonManifest(row, values.repository), {
    required: [...files, 'LICENSE', 'README.md', 'package.json'],
    maxBytes: row.maxBytes,
    addon: row,
  })
}

if (isRequested('source')) {
  const folder = folderOf('@mpmml/source')
  const files = [...filesUnder('native'), 'CMakeLists.txt', 'binding.gyp.md', 'LICENSE'].filter(isInSource)
  copyFiles(folder, files)
  writeFileSync(join(folder, 'README.md'), readme({ name: '@mpmml/source' }))
  pack(folder, sourceManifest(values.repository), { required: files, maxBytes: mostBytesOfMain })
}

if (isRequested('main')) {
  if (!values.build) run('npm', ['run', '--silent', 'build:ts'])
  const folder = folderOf('mpmml')
  const files = [
    ...['dist', 'docs', 'examples', 'bench/data', 'native/variants'].flatMap(filesUnder),
    'CHANGELOG.md',
    'README.md',
    'LICENSE',
  ].filter(isInMain)
  copyFiles(folder, files)
  // The command line is minified in a package, to half of its size.
  for (const file of files.filter((name) => /^dist\/bench\/.*\.js$/.test(name))) {
    const path = join(folder, file)
    const { code } = minifySync(file, readFileSync(path, 'utf8'), { compress: true, mangle: true })
    writeFileSync(path, code)
  }
  // Packages of this call or of earlier ones, also from machines of other platforms. Missing packages aren't
  // listed.
  const there = addonPackages.filter(({ short }) => existsSync(join(target, `mpmml-${short}-${version}.tgz`)))
  const manifest = mainManifest(there, values.repository)
  const required = [...files, ...filesIn(manifest.exports), ...Object.values(manifest.bin)].map((file) =>
    file.replace('./', ''),
  )
  pack(folder, manifest, { required, maxBytes: mostBytesOfMain })
  const names = there.map(({ short }) => short).join(', ')
  console.log(`mpmml takes its addons from: ${names || 'no package, because none is in the folder'}`)
}
const total = readdirSync(target).filter((file) => file.endsWith('.tgz'))
console.log(
  `${total.length} packages in ${target}, ${total.reduce((sum, file) => sum + statSync(join(target, file)).size, 0)} bytes`,
)
if (failures.length > 0) fail(`${failures.length} things are wrong with these packages; they are above`)
console.log(`To install them in another folder: ${installCommand(target).join(' ')}`)
