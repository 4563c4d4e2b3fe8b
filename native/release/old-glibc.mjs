// Writes stub libraries for the linker with all functions of glibc in the versions of old systems
// (link.cmake). The libraries must be complete, because the linker reads only the first of two libraries with
// one name.
//
//
//   node old-glibc.mjs --compiler g++ --readelf readelf --to DIR libc.so.6 libm.so.6
//
// The script prints the paths of the libraries as a CMake list.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { glibcSymbols, isNewer, oldestGlibc } from './glibc.mjs'

const { values, positionals } = parseArgs({
  options: {
    compiler: { type: 'string' },
    readelf: { type: 'string' },
    to: { type: 'string' },
  },
  allowPositionals: true,
})

/** Returns the library that had a function before glibc 2.34 merged the libraries. */
function oldLibrary(name, file) {
  if (/^_*(pthread_|sem_|thrd_|mtx_|cnd_|tss_|call_once)/.test(name)) return 'libpthread.so.0'
  if (/^dl/.test(name)) return 'libdl.so.2'
  if (/^(shm|aio|timer|mq|lio)_/.test(name)) return 'librt.so.1'
  return file
}

/** Library → version → names. */
const libraries = new Map()
for (const path of positionals) {
  const file = /lib[cm]\.so\.6$/.exec(path)[0]
  const byName = new Map()
  for (const symbol of glibcSymbols(path, values.readelf)) {
    byName.set(symbol.name, [...(byName.get(symbol.name) ?? []), symbol])
  }
  for (const [name, symbols] of byName) {
    const old = symbols.filter(({ version }) => !isNewer(version, oldestGlibc))
    if (old.length === 0) continue
    const { version } = old.reduce((best, symbol) => (isNewer(symbol.version, best.version) ? symbol : best))
    const isNew = symbols.some((symbol) => symbol.isDefault && isNewer(symbol.version, oldestGlibc))
    const library = isNew ? oldLibrary(name, file) : file
    const versions = libraries.get(library) ?? new Map()
    versions.set(version, [...(versions.get(version) ?? []), name])
    libraries.set(library, versions)
  }
}

mkdirSync(values.to, { recursive: true })
const written = [...libraries].map(([library, versions]) => {
  const source = join(values.to, `${library}.s`)
  const script = join(values.to, `${library}.map`)
  const names = [...versions.values()].flat().sort()
  writeFileSync(source, names.map((name) => `.globl ${name}\n.type ${name}, %function\n${name}:\n`).join(''))
  writeFileSync(
    script,
    [...versions].map(([version, list]) => `${version} { global: ${list.join('; ')}; };\n`).join(''),
  )
  const path = join(values.to, library)
  const { status, stderr } = spawnSync(
    values.compiler,
    ['-shared', '-nostdlib', `-Wl,-soname,${library}`, `-Wl,--version-script,${script}`, '-o', path, source],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`${library}: ${stderr}`)
  return path
})
console.log(written.join(';'))
