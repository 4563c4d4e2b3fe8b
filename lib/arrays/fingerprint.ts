/** Fingerprints of arrays on disk: names, sizes and modification times of their files. */
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { FileError } from '../errors.js'
import { readError } from '../files/files.js'
import type { ArraySource } from './array-source.js'
import { inputChanged } from './disk.js'
import type { PlannedInput } from './job.js'
import type { Expected, Stored } from './store.js'
import { storeOf } from './stores.js'

/** The files of an array, and what they are. */
interface Files {
  readonly all: readonly Stored[]
  readonly fingerprint: string
  /** The time of the latest change of any of them. */
  readonly changedMs: number
}

async function look(path: string, list: () => Promise<readonly Stored[]>): Promise<Files> {
  try {
    const all = await list()
    const lines = all.map(({ name, size, version }) => `${name.slice(path.length + 1)} ${size} ${version}`)
    const changedMs = all.reduce((latest, file) => Math.max(latest, file.changedMs), 0)
    const fingerprint = createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 32)
    return { all, fingerprint, changedMs }
  } catch (error) {
    throw readError(path, error)
  }
}

/**
 * Returns the file system's identity of a file, independent of its name; undefined if the file doesn't exist
 * or its file system has no reliable ids.
 */
export async function fileIdentity(path: string): Promise<string | undefined> {
  const there = await stat(path, { bigint: true }).catch(() => null)
  // The number of a file that was removed is given to another one: the time of its birth tells them apart, if the system keeps it.
  return there?.isFile() && there.birthtimeNs > 0n ? `${there.ino}-${there.birthtimeNs}` : undefined
}

/** Returns the description of an array with its fingerprint. */
export async function planInput(source: ArraySource): Promise<PlannedInput> {
  const { path, shape, dtype } = source
  const { fingerprint, changedMs } = await look(path, () => source.files())
  return { path, shape: [...shape], dtype, fingerprint, changedMs }
}

/** The files that arrays had when they were planned, of the latest that were asked for. */
const known = new Map<string, Promise<Map<string, Stored>>>()
const MAX_KNOWN = 4

/** The files of an array when the plan was made. @throws ERR_MPMML_CHANGED if they are others now. */
export function knownFiles({ path, fingerprint }: PlannedInput): Promise<ReadonlyMap<string, Stored>> {
  const key = `${fingerprint} ${path}`
  let files = known.get(key)
  if (!files) {
    files = look(path, () => storeOf(path).list(path)).then((found) => {
      if (found.fingerprint === fingerprint) return new Map(found.all.map((file) => [file.name, file]))
      throw inputChanged(path)
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
 * Throws if a file that isn't there was when the plan was made. All files are missing while storage is away, and what they hold would
 * be taken for the fill value: also if the storage comes back, and the array is the same as before.
 */
export async function assertAbsent(file: string, planned: PlannedInput): Promise<void> {
  if (!(await knownFiles(planned)).has(file)) return
  throw new FileError(`${file} is gone, or was for a moment: look after the storage, and resume`)
}
