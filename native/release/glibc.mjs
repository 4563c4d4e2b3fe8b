// Versions of glibc and their symbols, as objdump shows them.
import { spawnSync } from 'node:child_process'

/** Whether version a, such as "GLIBC_2.34" or "2.34", is newer than b. */
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

/** The symbols of a library that have a version of glibc, as { name, version, isDefault, isUndefined }. */
export function glibcSymbols(objdump, file) {
  const { status, stdout, stderr } = spawnSync(objdump, ['-T', file], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (status !== 0) throw new Error(`${objdump} -T ${file} failed: ${stderr}`)
  return [
    ...stdout.matchAll(
      /^[0-9a-f]+ .*? (\*UND\*|\S+)\t[0-9a-f]+ +(\(?)(GLIBC_[\d.]+)\)? +(?:\.\w+ )?(\S+)$/gm,
    ),
  ].map(([, section, hidden, version, name]) => ({
    name,
    version,
    isDefault: hidden === '',
    isUndefined: section === '*UND*',
  }))
}
