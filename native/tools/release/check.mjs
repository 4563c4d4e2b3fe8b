// Static checks of a package: its files, its package.json, the system requirements of its addon, and its
// size.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  exportsOf,
  glibcSymbols,
  isNewer,
  needs,
  oldestGlibc,
  undefinedWithoutVersion,
} from '../../release/glibc.mjs'

/**
 * The libraries of a system that an addon may need. An addon with CUDA loads the driver itself. Linkers know musl by one of
 * two names, and its loader knows both.
 */
const allowed = {
  glibc: /^(lib(c|m|pthread|dl|rt)\.so\.\d|libgcc_s\.so\.1|ld-linux-[\w-]+\.so\.\d)$/,
  musl: /^(libc\.so|libc\.musl-\w+\.so\.1|libgcc_s\.so\.1)$/,
}

/** Symbols that Node.js looks up in an addon (native/release/exports.map). */
const entries = ['napi_register_module_v1', 'node_api_module_get_api_version_v1']

/** Returns the problems of the addon of a package. */
function addonProblems(file, { libc }) {
  if (libc === undefined) return []
  const { libraries, paths } = needs(file)
  const exported = exportsOf(file)
  const tooNew = glibcSymbols(file).filter(
    ({ isUndefined, version }) => isUndefined && isNewer(version, oldestGlibc),
  )
  return [
    ...libraries.filter((library) => !allowed[libc].test(library)).map((library) => `needs ${library}`),
    ...paths.map((path) => `looks for libraries in ${path}`),
    ...entries.filter((name) => !exported.includes(name)).map((name) => `lacks ${name}`),
    ...exported.filter((name) => !entries.includes(name)).map((name) => `exports ${name}`),
    ...(libc === 'glibc' ? undefinedWithoutVersion(file) : []).map(
      (name) => `doesn't say which ${name} it needs`,
    ),
    ...tooNew.map(({ name, version }) => `needs ${name} of ${version}, newer than ${oldestGlibc}`),
  ]
}

/** Returns the newest version of glibc that an addon needs. */
export function newestGlibc(file) {
  const versions = glibcSymbols(file)
    .filter(({ isUndefined }) => isUndefined)
    .map(({ version }) => version)
  return versions.reduce((newest, version) => (isNewer(version, newest) ? version : newest), 'GLIBC_2.0')
}

/**
 * Returns the problems of a package. `packed` is npm's report, `wanted` the required files, `maxBytes` the
 * maximum size, and `addon` the package's row if it has an addon.
 */
export function problemsOf(folder, manifest, packed, { required, maxBytes, addon }) {
  const files = packed.files.map(({ path }) => path)
  const script = ['preinstall', 'install', 'postinstall'].find((name) => manifest.scripts?.[name])
  return [
    ...required.filter((file) => !files.includes(file)).map((file) => `lacks ${file}`),
    ...files.filter((file) => /(^|\/)(node_modules|test|build)\//.test(file)).map((file) => `has ${file}`),
    ...files.filter((file) => statSync(join(folder, file)).size === 0).map((file) => `${file} is empty`),
    ...(packed.size > maxBytes ? [`is ${packed.size} bytes packed; the limit is ${maxBytes}`] : []),
    ...(script && manifest.name !== '@mpmml/source' ? [`has a script ${script}`] : []),
    ...(addon
      ? ['os', 'cpu', 'libc']
          .filter((field) => addon[field] && manifest[field]?.join() !== addon[field])
          .map((field) => `has a wrong ${field}`)
      : []),
    ...(addon ? addonProblems(join(folder, addon.file), addon) : []),
  ]
}
