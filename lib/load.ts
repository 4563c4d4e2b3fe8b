/**
 * Selects, finds and loads the addon. Four addons exist, each complete in itself: for the CPU only, with
 * CUDA, with the laboratory's kernels too, and for the CPU as WebAssembly, for platforms without a native
 * one. Exactly one addon is loaded; an addon with CUDA only if this machine has an NVIDIA driver.
 *
 * The locations in order are a build in the package's folder (in a Git checkout), a build by the package
 * @mpmml/source, and the packages with compiled addons, which are dependencies of mpmml in package.json.
 * Addons that a bundler has put into a program, or next to it, are tried last (lib/addons.cjs).
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import * as addons from './addons.cjs'
import { AddonError, OptionError } from './errors.js'
import { driverTraces, needsCuda12 } from './nvidia.js'
import { type Manifest, manifest, readManifest, root, version } from './package.js'

/** The addon that was loaded. */
export interface AddonOrigin {
  /**
   * Kind of the addon: 'cpu' computes on the CPU, 'cuda' also on GPUs, 'lab' also has the laboratory's kernels,
   * and 'wasm' computes on the CPU as WebAssembly.
   */
  readonly kind: 'cpu' | 'cuda' | 'lab' | 'wasm'
  /** Package of the addon, or 'a build of its own'. */
  readonly from: string
  /** Path of the addon; '' if a bundler has put it into the program, so that the path is unknown. */
  readonly file: string
}

type AddonKind = AddonOrigin['kind']

export { driverTraces }

export const ownBuild = 'a build of its own'
export const sourcePackage = '@mpmml/source'
const wasmPackage = '@mpmml/wasm'
const fileNames: Record<AddonKind, string> = {
  cpu: 'mpmml.node',
  cuda: 'mpmml_cuda.node',
  lab: 'mpmml_lab.node',
  wasm: join('wasm', 'addon.cjs'),
}
const platform = `${process.platform}-${process.arch}`

/**
 * Returns a file that proves that a driver is installed, or '' without one. It is undefined if Deno forbids
 * the check; an addon with CUDA then checks itself.
 */
function driverTrace(): string | undefined {
  try {
    return driverTraces.find((file) => existsSync(file)) ?? ''
  } catch {
    return undefined
  }
}

/**
 * Replaced by bench/bundle.mjs with the names of lib/addons.cjs, because some bundlers replace that module.
 */
declare const MPMML_ADDONS: readonly string[] | undefined
const published = typeof MPMML_ADDONS === 'undefined' ? addons.names : MPMML_ADDONS

/**
 * Returns the packages of this platform with an addon of this kind, for any C library, that are published
 * with this version. package.json lists these packages, unless it was packed without some of them, or is
 * missing in a bundle.
 */
function packagesOf(kind: AddonKind): string[] {
  const names = {
    cpu: [`@mpmml/${platform}`, `@mpmml/${platform}-gnu`, `@mpmml/${platform}-musl`],
    cuda: byCudaVersion(`@mpmml/cuda12-${platform}`, `@mpmml/cuda-${platform}`),
    lab: byCudaVersion(`@mpmml/lab12-${platform}`, `@mpmml/lab-${platform}`),
    wasm: [wasmPackage],
  }[kind]
  const listed = { ...manifest?.optionalDependencies, ...manifest?.peerDependencies }
  return names.filter(
    (name) => published.includes(name) && (!manifest || name in listed || folderOf(name) !== undefined),
  )
}

/** Orders a package built with CUDA 12 and its twin built with CUDA 13 by what this machine's driver and GPUs can run. */
const byCudaVersion = (cuda12: string, cuda13: string) => (isOldGpu() ? [cuda12, cuda13] : [cuda13, cuda12])

let oldGpu: boolean | undefined
function isOldGpu(): boolean {
  oldGpu ??= process.platform === 'linux' && driverTrace() !== '' && needsCuda12()
  return oldGpu
}

/**
 * Resolves packages from this module, or from the bundle that contains it; undefined if the bundler has
 * removed its URL.
 */
const require = (() => {
  try {
    return createRequire(import.meta.url)
  } catch {
    return undefined
  }
})()

function folderOf(name: string): string | undefined {
  try {
    return require && dirname(require.resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}

/** Reason why an addon can't be loaded. */
interface Failure {
  readonly origin: AddonOrigin
  readonly why: string
  /** Whether reinstalling the package may help. */
  readonly again: boolean
}

/** Returns one line with the reason and, if known, a remedy. */
function explainFailure(origin: AddonOrigin, { message, code }: NodeJS.ErrnoException): Failure {
  const needed = /version [`'"]?GLIBC_([\d.]+)/.exec(message)?.[1]
  if (needed !== undefined) {
    const why = `it needs glibc ${needed} or newer, and this system has ${glibcVersion() ?? 'an older one'}`
    return { origin, why, again: false }
  }
  const line = message.split('\n')[0]!.replace(`${origin.file}: `, '')
  // The missing file may also be a library that the addon loads.
  const why = code === 'MODULE_NOT_FOUND' && !existsSync(origin.file) ? 'the file is missing' : line
  return { origin, why, again: true }
}

const describeFailure = ({ origin, why }: Failure) =>
  `${origin.from} can't be loaded${origin.file && ` (${origin.file})`}: ${why}`

/**
 * Returns the version of the system's glibc; undefined if the system has another C library, such as musl.
 * Takes milliseconds.
 */
function glibcVersion(): string | undefined {
  const { header } = (process.report?.getReport() ?? {}) as { header?: { glibcVersionRuntime?: string } }
  return header?.glibcVersionRuntime
}

/**
 * Returns whether a package is for this system's C library. Packages that don't name musl are for glibc.
 * Takes milliseconds.
 */
function fitsLibrary(name: string): boolean {
  if (name === wasmPackage) return true
  return process.platform !== 'linux' || name.endsWith('-musl') === (glibcVersion() === undefined)
}

/** Returns the kinds of addons to search, best first. */
function wantedKinds(requested: string | undefined, driver: boolean): AddonKind[] {
  if (requested === 'cpu' || requested === 'cuda' || requested === 'lab' || requested === 'wasm')
    return [requested]
  if (requested) {
    throw new OptionError(
      `the environment variable MPMML_ADDON must be 'cpu', 'cuda', 'lab' or 'wasm', but it is '${requested}'`,
    )
  }
  return driver ? ['lab', 'cuda', 'cpu', 'wasm'] : ['cpu', 'wasm']
}

/** Possible location of an addon. */
interface Candidate extends AddonOrigin {
  /** Defect of an addon that exists; '' without a defect. */
  readonly problem: string
}

/** Options of the package `bindings` that are used here; the package has no types. */
type Bindings = (options: { bindings: string; module_root: string; try: string[][]; path: true }) => string

/**
 * Finds an addon in the build folder of a Git checkout or of the package with the sources; undefined if it
 * wasn't built. Only the checkout and this package have a build folder and depend on `bindings`.
 */
function builtAddon(folder: string, kind: AddonKind): string | undefined {
  const file = join(folder, 'build', 'Release', fileNames[kind])
  if (!existsSync(file) || kind === 'wasm') return existsSync(file) ? file : undefined
  const find = createRequire(join(folder, 'package.json'))('bindings') as Bindings
  // The default list of `bindings` begins with build/ and build/Debug, which may have an older addon.
  const places = [['module_root', 'build', 'Release', 'bindings']]
  return find({ bindings: fileNames[kind], module_root: folder, try: places, path: true })
}

function candidates(kinds: AddonKind[]): Candidate[] {
  for (const from of [ownBuild, sourcePackage]) {
    const folder = from === ownBuild ? root : folderOf(from)
    if (!folder) continue
    const built = kinds.flatMap((kind) => {
      const file = builtAddon(folder, kind)
      return file === undefined ? [] : [{ kind, from, file, problem: '' }]
    })
    if (built.length > 0) return built
  }
  const found = kinds.flatMap((kind) => {
    const known = packagesOf(kind)
    const installed = known.filter((from) => folderOf(from) !== undefined)
    if (installed.length === 0) return inBundle(kind, known)
    // Some package managers install the packages for all C libraries.
    const fitting = installed.length > 1 ? installed.filter(fitsLibrary) : installed
    return fitting.map((from) => {
      const folder = folderOf(from)!
      return { kind, from, file: join(folder, fileNames[kind]), problem: wrongVersion(readManifest(folder)) }
    })
  })
  // The laboratory's addon for the wrong CUDA follows the products' addon for the right one.
  const rank = ({ kind, from }: Candidate) => {
    if (kind !== 'cuda' && kind !== 'lab') return 2
    return /^@mpmml\/(cuda|lab)12-/.test(from) === isOldGpu() ? 0 : 1
  }
  return found.sort((a, b) => rank(a) - rank(b))
}

/**
 * Returns the candidates inside a bundled program. Only loading one shows whether the bundler included it.
 */
const inBundle = (kind: AddonKind, names: string[]): Candidate[] =>
  names.filter(fitsLibrary).map((from) => ({ kind, from, file: '', problem: '' }))

function wrongVersion(found: Manifest | undefined): string {
  if (found?.version === version) return ''
  return (
    `it has version ${found?.version}, but mpmml has ${version}; install the same version: ` +
    `npm install mpmml@${version} ${found?.name}@${version}`
  )
}

/** Returns the message for an addon that can't be loaded, with remedies. */
function failure(kinds: AddonKind[], failed: Failure[]): string {
  const names = kinds.flatMap(packagesOf).filter(fitsLibrary)
  const here = `${platform}${process.platform === 'linux' && glibcVersion() === undefined ? ' with musl' : ''}`
  const missing = names.filter((name) => !failed.some(({ origin }) => origin.from === name))
  const contents = { cpu: '', cuda: ' with CUDA', lab: ' with the laboratory', wasm: ' as WebAssembly' }
  const content = contents[kinds.find((kind) => contents[kind] === '') ?? kinds.at(-1)!]
  const found = [
    ...failed.map(describeFailure),
    ...(missing.length > 0 ? [`not installed: ${missing.join(', ')}`] : []),
    ...(names.length > 0 || failed.length > 0 ? [] : [`there is no prebuilt package${content} for ${here}`]),
  ]
  const damaged = failed.filter(({ origin, again }) => again && origin.file && names.includes(origin.from))
  const external = `make mpmml external in the bundler's options, so that it is loaded from node_modules (docs/deploying.md)`
  const remedies = [
    ...(manifest ? [] : [external]),
    ...damaged.map(
      ({ origin }) => `install it again: remove the folder ${dirname(origin.file)} and run npm install`,
    ),
    ...(missing.length > 0
      ? [
          `install the package for this machine, ${here}: npm install ${missing.map((name) => `${name}@${version}`).join(' or ')} ` +
            '(optional dependencies must not be left out)',
        ]
      : []),
    kinds[0] === 'wasm'
      ? 'build it in a clone: npm run build:wasm, which needs Emscripten'
      : root && existsSync(join(root, 'CMakeLists.txt'))
        ? 'build it: npm run build'
        : `build it from source: npm install ${sourcePackage}@${version}, which needs CMake and a C++ compiler`,
  ]
  const place = manifest ? '' : ' by this bundle'
  return `the native addon can't be loaded${place}: ${found.join('; ')}. Ways out: ${remedies.join('; or ')}`
}

/** Returns the reason why only the WebAssembly addon is available. */
function withoutNative(failed: Failure[]): string {
  const none = `there is no other addon for ${platform} here`
  if (failed.length > 0) return `${none}, because ${failed.map(describeFailure).join('; ')}`
  const [name] = packagesOf('cpu').filter(fitsLibrary)
  if (name === undefined) return none
  return `${none}, because ${name} isn't installed. It takes less time: npm install ${name}@${version}`
}

/** Returns the reason why the loaded addon has no CUDA; undefined if the build decided that. */
function withoutCuda(
  requested: string | undefined,
  origin: AddonOrigin,
  trace: string | undefined,
  failed: Failure[],
) {
  if (origin.kind === 'wasm') {
    return `the addon is WebAssembly, which has no CUDA: ${requested === 'wasm' ? 'MPMML_ADDON=wasm asks for it' : withoutNative(failed)}`
  }
  if (origin.kind !== 'cpu') return undefined
  if (requested === 'cpu') return 'MPMML_ADDON=cpu asks for the addon without CUDA'
  if (failed.length > 0) return failed.map(describeFailure).join('; ')
  const isPackage = origin.from !== ownBuild && origin.from !== sourcePackage
  if (trace === '' && (isPackage || largerAddons(origin).length > 0)) {
    return 'no NVIDIA driver was found on this machine'
  }
  const [name] = packagesOf('cuda').filter(fitsLibrary)
  if (!isPackage || name === undefined) return undefined
  const machine = trace ? `. This machine has an NVIDIA driver (${trace})` : ''
  return `${name} isn't installed${machine}. To use a GPU, run: npm install ${name}@${version}`
}

/**
 * Returns the kinds of installed addons that have more than the loaded one; MPMML_ADDON selects one of them.
 */
export function largerAddons({ kind }: AddonOrigin): ('cuda' | 'lab')[] {
  if (kind !== 'cpu') return []
  return candidates(['lab', 'cuda'])
    .filter(({ problem, file }) => problem === '' && file !== '')
    .map((candidate) => candidate.kind as 'cuda' | 'lab')
}

/** Interface of an addon as far as the loader needs it. */
interface Loadable {
  explainWithoutCuda(reason: string): void
}

/** Returns the addon that a bundler has put into the program, or next to it; undefined without one. */
function loadBundled<Addon>(name: string): Addon | undefined {
  // In Node.js, outside bundles, this is another module: see bench/bundle.mjs.
  if (!('load' in addons)) return undefined
  const { addon, error } = addons.load(name)
  if (error !== undefined && (error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
  return addon as Addon | undefined
}

/** Loads the addon. Throws AddonError, or OptionError if MPMML_ADDON is wrong. */
export function load<Addon extends Loadable>(): { addon: Addon; origin: AddonOrigin } {
  // lib/environment.ts, which reads all other variables, needs the addon itself.
  const requested = process.env.MPMML_ADDON || undefined
  const trace = driverTrace()
  const kinds = wantedKinds(requested, trace !== '')
  const failed: Failure[] = []
  for (const { problem, ...origin } of candidates(kinds)) {
    if (problem !== '') {
      failed.push({ origin, why: problem, again: false })
      continue
    }
    try {
      const addon = origin.file ? (require!(origin.file) as Addon) : loadBundled<Addon>(origin.from)
      if (addon === undefined) continue
      const reason = withoutCuda(requested, origin, trace, failed)
      if (reason !== undefined) addon.explainWithoutCuda(reason)
      return { addon, origin: Object.freeze(origin) }
    } catch (error) {
      failed.push(explainFailure(origin, error as NodeJS.ErrnoException))
    }
  }
  throw new AddonError(failure(kinds, failed))
}
