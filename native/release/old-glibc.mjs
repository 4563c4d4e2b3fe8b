// Writes libraries for the linker that have what glibc's functions were called before MPMML_OLDEST_GLIBC (link.cmake):
//
//   node old-glibc.mjs --glibc 2.28 --compiler g++ --objdump objdump --to DIR libc.so.6 libm.so.6
//
// It prints their paths, as a list of CMake.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { glibcSymbols, isNewer } from './glibc.mjs'

const { values, positionals } = parseArgs({
  options: {
    glibc: { type: 'string' },
    compiler: { type: 'string' },
    objdump: { type: 'string' },
    to: { type: 'string' },
  },
  allowPositionals: true,
})

/** The library that had a function before glibc 2.34 put them into one. */
function oldLibrary(name, file) {
  if (/^(__)?(pthread_|sem_)/.test(name)) return 'libpthread.so.0'
  if (/^dl/.test(name)) return 'libdl.so.2'
  if (/^(shm|aio|timer|mq|lio)_/.test(name)) return 'librt.so.1'
  return file
}

/** Library → version → names. */
const libraries = new Map()
for (const path of positionals) {
  const file = /lib[cm]\.so\.6$/.exec(path)[0]
  const byName = new Map()
  for (const symbol of glibcSymbols(values.objdump, path)) {
    byName.set(symbol.name, [...(byName.get(symbol.name) ?? []), symbol])
  }
  for (const [name, symbols] of byName) {
    if (!symbols.some(({ version, isDefault }) => isDefault && isNewer(version, values.glibc))) continue
    const old = symbols.filter(({ version }) => !isNewer(version, values.glibc))
    if (old.length === 0) continue
    const { version } = old.reduce((best, symbol) => (isNewer(symbol.version, best.version) ? symbol : best))
    const library = oldLibrary(name, file)
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
