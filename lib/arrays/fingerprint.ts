/** What an array on disk is made of: its files' names, sizes and times. */
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { relative } from 'node:path'
import { ChangedError, FileError } from '../errors.js'
import { systemReason } from '../files/files.js'
import { type ArraySource, filesIn } from './array-source.js'
import { atOnce } from './disk.js'
import type { PlannedInput } from './job.js'

const FILES_AT_ONCE = 16

/** The files of an array, and what they are. */
interface Files {
  readonly names: readonly string[]
  readonly fingerprint: string
  /** The time of the latest change of any of them. */
  readonly changedMs: number
}

async function look(path: string, list: () => Promise<string[]>): Promise<Files> {
  try {
    const names = (await list()).sort()
    const lines = new Array<string>(names.length)
    let changedMs = 0
    await atOnce(FILES_AT_ONCE, names.length, async (index) => {
      const { size, mtimeMs } = await stat(names[index]!)
      lines[index] = `${relative(path, names[index]!)} ${size} ${mtimeMs}`
      changedMs = Math.max(changedMs, mtimeMs)
    })
    const fingerprint = createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 32)
    return { names, fingerprint, changedMs }
  } catch (error) {
    throw new FileError(`${path} can't be read: ${systemReason(error)}`, { cause: error })
  }
}

/** What an array is, and when it was last changed. */
export async function planInput(source: ArraySource): Promise<PlannedInput> {
  const { path, shape, dtype } = source
  const { fingerprint, changedMs } = await look(path, () => source.files())
  return { path, shape: [...shape], dtype, fingerprint, changedMs }
}

/** The files that arrays had when they were planned, of the latest that were asked for. */
const known = new Map<string, Promise<Set<string>>>()
const MOST_KNOWN = 4

/**
 * Throws if a file that isn't there was when the plan was made. All files are missing while storage is away, and what they hold would
 * be taken for the fill value: also if the storage comes back, and the array is the same as before.
 */
export async function requireAbsent(file: string, { path, fingerprint }: PlannedInput): Promise<void> {
  const key = `${fingerprint} ${path}`
  let files = known.get(key)
  if (!files) {
    files = look(path, () => filesIn(path)).then((found) => {
      if (found.fingerprint === fingerprint) return new Set(found.names)
      throw new ChangedError(
        `${path} has changed since the work was begun: ${file} is not there, and other files are not what they were. ` +
          'Begin again with overwrite',
      )
    })
    known.set(key, files)
    files.catch(() => known.delete(key))
    if (known.size > MOST_KNOWN) known.delete(known.keys().next().value!)
  }
  if (!(await files).has(file)) return
  throw new FileError(`${file} is gone, or was for a moment: look after the storage, and resume`)
}
