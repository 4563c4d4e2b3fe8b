// Versions of glibc and their symbols, as readelf shows them.
import { spawnSync } from 'node:child_process'

/** The oldest glibc that the published packages run with: that of Node.js 20's own. CMake has it from here too. */
export const oldestGlibc = '2.28'

/** Returns whether version a, such as "GLIBC_2.34" or "2.34", is newer than b. */
export function isNewer(a, b) {
  const numbers = (version) =>
    version
      .replace(/^[A-Z]+_/, '')
      .split('.')
      .map(Number)
  const [first, second] = [numbers(a), numbers(b)]
  for (let part = 0; part < Math.max(first.length, second.length); ++part) {
    const difference = (first[part] ?? 0) - (second[part] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return false
}

function readelf(program, ...args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28 })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
  return stdout
}

/** The symbols of a file that have a version of glibc, as { name, version, isDefault, isUndefined }. */
export function glibcSymbols(file, program = 'readelf') {
  const rows = readelf(program, '--dyn-syms', '--wide', file).matchAll(
    / (UND|\d+|ABS) +([^\s@]+)(@@?)(GLIBC_[\d.]+)(?: \(\d+\))?$/gm,
  )
  return [...rows].map(([, section, name, at, version]) => ({
    name,
    version,
    isDefault: at === '@@',
    isUndefined: section === 'UND',
  }))
}

/** The functions that a file takes from any library that has them. Node.js has those of its interface itself. */
export function undefinedWithoutVersion(file, program = 'readelf') {
  const rows = readelf(program, '--dyn-syms', '--wide', file).matchAll(/ GLOBAL +DEFAULT +UND (\S+)$/gm)
  return [...rows].map(([, name]) => name).filter((name) => !/@|^(napi|node_api)_/.test(name))
}

/** The names that others can take from a file. */
export function exportsOf(file, program = 'readelf') {
  const rows = readelf(program, '--dyn-syms', '--wide', file).matchAll(
    / (?:GLOBAL|WEAK|UNIQUE) +DEFAULT +(?:\d+|ABS) (\S+)/gm,
  )
  return [...rows].map(([, name]) => name)
}

/** The libraries that a file needs, and where it looks for them besides the system's folders. */
export function needs(file, program = 'readelf') {
  const rows = readelf(program, '--dynamic', '--wide', file)
  const values = (tag) =>
    [...rows.matchAll(new RegExp(`\\(${tag}\\).*\\[(.*)\\]`, 'g'))].map(([, value]) => value)
  return { libraries: values('NEEDED'), paths: [...values('RPATH'), ...values('RUNPATH')] }
}
