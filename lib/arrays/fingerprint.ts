/** Fingerprints of arrays on disk: names, sizes and modification times of their files. */
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { ArraySource } from './array-source.js'
import { storeOf } from './bucket-store.js'
import { inputChanged } from './disk.js'
import type { PlannedInput } from './job.js'
import { type Expected, fileGone, type Stored } from './store.js'

/** Returns the fingerprint of an array's files. */
function fingerprintOf(path: string, files: readonly Stored[]): string {
  const lines = files.map(({ name, size, version }) => `${name.slice(path.length + 1)} ${size} ${version}`)
  return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 32)
}

/**
 * Returns the file system's identity of a file, independent of its name; undefined if the file doesn't exist
 * or its file system has no reliable ids.
 */
export async function fileIdentity(path: string): Promise<string | undefined> {
  const there = await stat(path, { bigint: true }).catch(() => null)
  // File systems reuse inode numbers of removed files. The birth time distinguishes such files if the system
  // stores it.
  return there?.isFile() && there.birthtimeNs > 0n ? `${there.ino}-${there.birthtimeNs}` : undefined
}

/** Returns the description of an array with its fingerprint. */
export async function planInput(source: ArraySource): Promise<PlannedInput> {
  const { path, shape, dtype } = source
  const files = await source.files()
  const changedMs = files.reduce((latest, file) => Math.max(latest, file.changedMs), 0)
  return { path, shape: [...shape], dtype, fingerprint: fingerprintOf(path, files), changedMs }
}

/** Cache: files of the most recently used arrays at planning time. */
const known = new Map<string, Promise<Map<string, Stored>>>()
const MAX_KNOWN = 4

/**
 * Returns the files of an array at planning time. @throws ERR_MPMML_CHANGED if the files have changed since.
 */
function knownFiles({ path, fingerprint }: PlannedInput): Promise<ReadonlyMap<string, Stored>> {
  const key = `${fingerprint} ${path}`
  let files = known.get(key)
  if (!files) {
    files = storeOf(path)
      .list(path)
      .then((all) => {
        if (fingerprintOf(path, all) !== fingerprint) throw inputChanged(path)
        return new Map(all.map((file) => [file.name, file]))
      })
    known.set(key, files)
    files.catch(() => known.delete(key))
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!)
  }
  return files
}

export const expectedOf = (planned: PlannedInput): Expected => ({
  changedMs: planned.changedMs,
  files: () => knownFiles(planned),
})

/**
 * Throws if a missing file existed at planning time. While a storage is unmounted all files are missing, and
 * their elements would be read as the fill value without this check.
 */
export async function assertAbsent(file: string, planned: PlannedInput): Promise<void> {
  if ((await knownFiles(planned)).has(file)) throw fileGone(file)
}
