// The published packages: their files and their package.json.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { browserFiles } from '../../wasm/files.mjs'

export const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
export const { version } = own

const MiB = 2 ** 20

/**
 * GPU architectures of the packages with CUDA, as MPMML_CUDA_ARCHS: machine code for `sm`, and PTX. The oldest PTX serves GPUs that
 * come between, such as sm_110. The laboratory has ten times as many kernels, so most GPUs compile its PTX at first use.
 */
export const architecturesOf = ({ cuda, cpu }) =>
  cuda === 12
    ? { products: '50;52;60;61;70', lab: '50-virtual;52;61' }
    : cpu === 'arm64'
      ? { products: '87;90;110;compute_90', lab: '87-virtual;90' }
      : { products: '75;80;90;100;120;compute_90', lab: '75-virtual;90' }

/**
 * The packages with addons. An addon is built by the machine's own compiler, or, if the machine is of another platform, by the
 * compiler in `cross`. `maxBytes` is for the packed package.
 */
export const addonPackages = [
  { short: 'linux-x64-gnu', os: 'linux', cpu: 'x64', libc: 'glibc', kind: 'cpu', maxBytes: 5 * MiB },
  {
    short: 'linux-x64-musl',
    os: 'linux',
    cpu: 'x64',
    libc: 'musl',
    kind: 'cpu',
    maxBytes: 5 * MiB,
    cross: { compiler: ['zig', 'c++'], toolchain: 'native/release/musl.cmake' },
  },
  {
    short: 'linux-arm64-gnu',
    os: 'linux',
    cpu: 'arm64',
    libc: 'glibc',
    kind: 'cpu',
    maxBytes: 5 * MiB,
    cross: { compiler: ['aarch64-linux-gnu-g++'], toolchain: 'native/release/aarch64.cmake' },
  },
  { short: 'darwin-arm64', os: 'darwin', cpu: 'arm64', kind: 'cpu', maxBytes: 5 * MiB },
  { short: 'win32-x64', os: 'win32', cpu: 'x64', kind: 'cpu', maxBytes: 5 * MiB },
  ...['x64', 'arm64'].flatMap((cpu) => [
    {
      short: `cuda-linux-${cpu}`,
      os: 'linux',
      cpu,
      libc: 'glibc',
      kind: 'cuda',
      cuda: 13,
      maxBytes: 40 * MiB,
    },
    {
      short: `lab-linux-${cpu}`,
      os: 'linux',
      cpu,
      libc: 'glibc',
      kind: 'lab',
      cuda: 13,
      maxBytes: 60 * MiB,
    },
  ]),
  {
    short: 'cuda12-linux-x64',
    os: 'linux',
    cpu: 'x64',
    libc: 'glibc',
    kind: 'cuda',
    cuda: 12,
    maxBytes: 60 * MiB,
  },
  {
    short: 'lab12-linux-x64',
    os: 'linux',
    cpu: 'x64',
    libc: 'glibc',
    kind: 'lab',
    cuda: 12,
    maxBytes: 80 * MiB,
  },
  // For any system and processor.
  { short: 'wasm', kind: 'wasm', maxBytes: 1.5e6 },
].map((row) => ({
  ...row,
  name: `@mpmml/${row.short}`,
  file: row.kind === 'wasm' ? 'wasm/addon.cjs' : row.kind === 'cpu' ? 'mpmml.node' : `mpmml_${row.kind}.node`,
}))

/** The files in the folder of the WebAssembly addon (native/wasm/build.mjs). */
export const wasmFiles = ['addon.cjs', 'mpmml-single.js', ...browserFiles, 'workerd.mjs', 'package.json']

/** workerd's bundlers know the condition `browser` as well. */
const wasmExports = {
  '.': {
    workerd: './wasm/workerd.mjs',
    browser: './wasm/browser.mjs',
    node: './wasm/addon.cjs',
    default: './wasm/browser.mjs',
  },
  './package.json': './package.json',
}

/** Returns whether a package is installed with mpmml on its platforms. */
const isInstalledAlways = ({ kind }) => kind === 'cpu' || kind === 'wasm'

export const mostBytesOfMain = 1 * MiB

/** Dependencies of builds from source only. */
const buildDependencies = ['bindings', 'cmake-js', 'node-addon-api', 'node-api-headers']

const pick = (object, keys) =>
  Object.fromEntries(keys.map((key) => [key, object[key]]).filter(([, value]) => value))

const common = (repository) => ({
  version,
  license: own.license,
  ...(repository ? { repository: { type: 'git', url: repository } } : {}),
  publishConfig: { access: 'public' },
})

const split = (dependencies, required) =>
  Object.fromEntries(
    Object.entries(dependencies).filter(([name]) => buildDependencies.includes(name) === required),
  )

/** Returns the files in the `exports` of package.json; null excludes a condition. */
export const filesIn = (exported) =>
  typeof exported === 'string' ? [exported] : Object.values(exported ?? {}).flatMap(filesIn)

/**
 * Returns the fields for compilers that don't support `exports`, such as TypeScript with the module
 * resolution of Node.js 10.
 */
function withoutExports(exports) {
  const entries = Object.entries(exports).filter(([, entry]) => entry.types)
  const types = ([name, entry]) => [name.slice(2), [entry.types.require]]
  return {
    main: exports['.'].default,
    types: exports['.'].types.require,
    typesVersions: { '*': Object.fromEntries(entries.filter(([name]) => name !== '.').map(types)) },
  }
}

/** The library, with the addons that there are as dependencies. It has no install script. */
export function mainManifest(addons, repository) {
  const peers = addons.filter((row) => !isInstalledAlways(row)).map(({ name }) => name)
  return {
    name: own.name,
    ...pick(own, ['description', 'keywords']),
    ...common(repository),
    ...pick(own, ['type', 'engines', 'imports', 'exports', 'bin']),
    ...withoutExports(own.exports),
    dependencies: split(own.dependencies, false),
    optionalDependencies: {
      ...own.optionalDependencies,
      ...Object.fromEntries(addons.filter(isInstalledAlways).map(({ name }) => [name, version])),
    },
    peerDependencies: {
      ...own.peerDependencies,
      ...Object.fromEntries(peers.map((name) => [name, version])),
    },
    peerDependenciesMeta: {
      ...own.peerDependenciesMeta,
      ...Object.fromEntries(peers.map((name) => [name, { optional: true }])),
    },
  }
}

/** Guides for contributors. They stay in the repository, with the pictures that only they show. */
const guidesOfRepository = ['contributing', 'adding', 'style', 'glossary-of-code', 'notes', 'releasing'].map(
  (name) => `docs/${name}.md`,
)
const isPublishedGuide = (file) => /^docs\/[^/]+\.md$/.test(file) && !guidesOfRepository.includes(file)
const shownPictures = new Set(
  [
    'README.md',
    ...readdirSync(join(root, 'docs'))
      .map((name) => `docs/${name}`)
      .filter(isPublishedGuide),
  ].flatMap((file) => readFileSync(join(root, file), 'utf8').match(/images\/[\w.-]+\.svg/g) ?? []),
)

/**
 * Returns whether a file of the clone is in the library's package. Of dist/lib that is what is bundled; dist/types has the declarations.
 */
export function isInMain(file) {
  const entries = Object.values(own.exports).map((entry) => (entry.default ?? '').replace('./', ''))
  // The commands of dist/bench import it.
  entries.push('dist/lib/command-line.js')
  if (file.startsWith('dist/lib/')) {
    return /^dist\/lib\/(addons\.cjs|parts\/.*|[\w-]+-thread\.js)$/.test(file) || entries.includes(file)
  }
  if (file.startsWith('dist/types/') || file.startsWith('dist/browser/')) return true
  if (file.startsWith('dist/bench/')) return !file.endsWith('.d.ts')
  return (
    isPublishedGuide(file) ||
    shownPictures.has(file.replace('docs/', '')) ||
    // Guides and the README point at examples. A service is a folder of its own.
    /^examples\/([^/]+\/)?[^/]+$/.test(file) ||
    ['bench/data/a.npy', 'bench/data/b.npy', 'bench/data/README.md'].includes(file) ||
    // The library reads the measured choices when the first product runs.
    ['native/variants/tuning.json', 'CHANGELOG.md', 'README.md', 'LICENSE'].includes(file)
  )
}

const kinds = {
  cpu: 'for the CPU',
  cuda: 'with CUDA, for GPUs and the CPU',
  lab: "with CUDA and the laboratory's kernels",
  wasm: 'for the CPU, as WebAssembly',
}

export function addonManifest({ name, os, cpu, libc, kind, file }, repository) {
  return {
    name,
    description: `The compiled part of mpmml ${kinds[kind]}${os ? ` on ${os} ${cpu}` : ''}${libc ? ` with ${libc}` : ''}`,
    ...common(repository),
    main: file,
    ...(kind === 'wasm' ? { exports: wasmExports } : {}),
    ...(os ? { os: [os], cpu: [cpu] } : {}),
    ...(libc ? { libc: [libc] } : {}),
    engines: own.engines,
    // Package managers that load packages from archives can't load an addon from one.
    preferUnplugged: true,
  }
}

/** Returns the package.json of the package with the sources, which is compiled at installation. */
export function sourceManifest(repository) {
  return {
    name: '@mpmml/source',
    description: 'Compiles mpmml on the machine that it is installed on',
    ...common(repository),
    type: 'module',
    engines: own.engines,
    binary: own.binary,
    scripts: { install: 'node native/build.mjs' },
    dependencies: split(own.dependencies, true),
    preferUnplugged: true,
  }
}

/** Returns whether a file of the repository is in the package with the sources. */
export function isInSource(file) {
  if (/^native\/(tools\/|wasm\/|cpu\/stress\/|addon\/stress\/|setup\.mjs$)/.test(file)) return false
  return file.startsWith('native/') || ['CMakeLists.txt', 'binding.gyp.md', 'LICENSE'].includes(file)
}

export function readme({ name, kind }) {
  const what =
    name === '@mpmml/source'
      ? `The native sources of mpmml, compiled when this package is installed. It needs CMake
3.18 or newer, a C++17 compiler, and make or ninja; with the CUDA toolkit's nvcc it compiles for GPUs too. mpmml takes
this build before any other.`
      : `The compiled part of mpmml ${kinds[kind]}. ${
          isInstalledAlways({ kind })
            ? 'It is installed with mpmml; there is nothing to call here.'
            : `Install it beside mpmml, in the same version: \`npm install mpmml ${name}\`. CUDA's runtime is inside, under
NVIDIA's licence; of the machine it needs only the NVIDIA driver.`
        }`
  return `# ${name}\n\n${what}\n`
}

/** Returns whether this machine's native compiler builds the addon of a package. */
export function isNative({ os, cpu, libc }) {
  const here = existsSync('/etc/alpine-release') ? 'musl' : 'glibc'
  return os === process.platform && cpu === process.arch && (!libc || libc === here)
}

/**
 * Returns the command that installs the packages for this machine from a folder of tarballs. It names all of
 * them, because npm would fetch the others from its registry.
 */
export function installCommand(folder) {
  const runsHere = (row) => row.kind !== 'wasm' && isNative(row)
  const shorts = addonPackages.filter(runsHere).map(({ short }) => `${short}-`)
  const files = ['', ...shorts]
    .map((short) => join(folder, `mpmml-${short}${version}.tgz`))
    .filter(existsSync)
  return ['npm', 'install', ...files]
}
