/**
 * The folder in which an array grows until it is complete, beside the place where it will be: its plan, the array, intermediate
 * blocks, and a small file for each block that is done.
 */
import { lstat, mkdir, readdir, readFile, rename, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ExistsError, FileError, ResumeError } from '../errors.js'
import { systemReason } from '../files/files.js'
import { removeAll, sweep, writeError, writeWhole } from './disk.js'
import { folders } from './folder-storage.js'
import { type BlockJob, type BlockPlan, requirePlan } from './job.js'
import { isZarr } from './names.js'
import { markOf, type Work, type Works } from './work.js'
import { isArrayMetadata } from './zarr-metadata.js'

/** The folder of unfinished work on an array. */
const folderOf = (output: string) => `${output}.partial`
const planOf = (output: string) => join(folderOf(output), 'plan.json')

/** What may be in a folder of unfinished work: the plan, and folders of what belongs to plans. */
const isOwn = (name: string) => /^[0-9a-f]{32}(\.removed)?$/.test(name)
const ownNames = ['temporary', 'array', 'done', 'steps', 'replaced']

class WorkFolder implements Work {
  readonly storage = folders
  readonly path: string
  /** Files that are being written. */
  readonly temporary: string
  /** The array, under another name. */
  readonly array: string
  /** What belongs to this plan. */
  readonly own: string
  readonly #id: string
  readonly #done: string
  readonly #steps: string

  /**
   * @param id - the plan's. What is written is in a folder of that name, so that a worker that still does jobs of another plan
   *   can't touch it.
   */
  constructor(output: string, id: string) {
    this.#id = id
    this.path = folderOf(output)
    this.own = join(this.path, id)
    this.temporary = join(this.own, 'temporary')
    this.array = join(this.own, 'array')
    this.#done = join(this.own, 'done')
    this.#steps = join(this.own, 'steps')
  }

  async create(): Promise<void> {
    try {
      // One by one, and not with all folders above them: a wrong name makes no folders.
      await mkdir(this.path)
      await mkdir(this.own)
      await mkdir(this.temporary)
      await mkdir(this.#done)
      await mkdir(this.#steps)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
        throw new ExistsError(
          `${this.path} was made by another process at the same moment: let one of them do the work, or name another output`,
          { cause: error },
        )
      }
      throw writeError(this.path, error)
    }
  }

  /** From now on the work can be resumed. */
  async writePlan(plan: BlockPlan): Promise<void> {
    await writeWhole(join(this.path, 'plan.json'), this.temporary, (file) =>
      file.writeFile(JSON.stringify(plan)),
    )
  }

  sweep(): Promise<void> {
    return sweep(this.temporary)
  }

  /** The folder of the marks of a stage, so that no folder has too many files. */
  #marks(stage: number): string {
    return join(this.#done, String(stage))
  }

  /** Says that a block is done, and of what it was made. Its files must have their names by now. */
  async mark(plan: BlockPlan, job: BlockJob): Promise<void> {
    const path = join(this.#marks(job.stage), job.name)
    await writeWhole(path, this.temporary, (file) => file.writeFile(markOf(plan, job)))
  }

  async isMarked(plan: BlockPlan, job: BlockJob): Promise<boolean> {
    let text: string
    try {
      text = await readFile(join(this.#marks(job.stage), job.name), 'utf8')
    } catch (error) {
      return isMissing(error, false)
    }
    return text === markOf(plan, job)
  }

  /** The names of the jobs of a stage that are done. */
  async marked(stage: number): Promise<Set<string>> {
    try {
      return new Set(await readdir(this.#marks(stage)))
    } catch (error) {
      return isMissing(error, new Set())
    }
  }

  /** Where an intermediate block is: that of a matrix after so many steps. */
  step(step: number, row: number, col: number): string {
    return join(this.#steps, String(step), `${row}-${col}`)
  }

  /** Intermediate blocks that nobody reads any more. */
  async removeStep(step: number): Promise<void> {
    await removeAll(join(this.#steps, String(step)))
  }

  /** Whether the array is still here. Without it, it has got its name, whatever else is left here. */
  async isGrown(): Promise<boolean> {
    return (await stat(this.array).catch(() => null)) !== null
  }

  /**
   * Gives the array its name. An array that is in the way goes aside first, and is removed at the end; a file is replaced.
   * Other processes may do the same at the same moment. So there is one place aside, which is never made free while the work is here:
   * only one process can move something there, and no process the array that another has just put in its place.
   */
  async place(output: string): Promise<void> {
    try {
      if (await moved(this.array, output)) return
      await moved(output, join(this.own, 'replaced')).catch(unlessMissing)
      if (await moved(this.array, output)) return
    } catch (error) {
      throw writeError(output, error)
    }
    throw new ExistsError(
      `${output} was made by another process since this work was begun: remove it and resume, or begin again with overwrite`,
    )
  }

  /** All that belongs to the plan goes at once: a process that is about to move something aside there finds no place. */
  async remove(output: string): Promise<void> {
    const removed = `${this.own}.removed`
    await rename(this.own, removed).catch(unlessMissing)
    await removeAll(removed)
    // Others may have begun anew, and anybody may have put something there.
    const plan = await folderWorks.begunPlan(output).catch(() => null)
    if (plan && plan.id !== this.#id) return
    await removeAll(planOf(output))
    await rmdir(this.path).catch(() => {})
  }
}

/** Renames; false if something is in the way that a file or folder can't replace. */
async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') return false
    throw error
  }
}

export const folderWorks: Works = {
  open: (output, id) => new WorkFolder(output, id),
  async begunPlan(output) {
    const path = planOf(output)
    try {
      const plan = JSON.parse(await readFile(path, 'utf8')) as BlockPlan
      requirePlan(plan)
      return plan
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT' || code === 'ENOTDIR') return null
      throw new ResumeError(
        `${path} can't be read: ${(error as Error).message}. Begin again with overwrite`,
        {
          cause: error,
        },
      )
    }
  },
  // The plan goes first: what is left without it if the process ends here is never resumed, for it isn't whole.
  async removeBegun(output) {
    const path = folderOf(output)
    const stranger = await strangerIn(path)
    if (stranger !== null) return stranger
    await removeAll(planOf(output))
    await removeAll(path)
    return null
  },
  isTaken: isThere,
  async isReplaceable(output) {
    if (!isZarr(output)) return (await stat(output).catch(() => null))?.isFile() ?? true
    const metadata = await readFile(join(output, 'zarr.json')).catch(() => null)
    // Nothing may be there any more: a process that completes the same work has moved it aside.
    return isArrayMetadata(metadata) || !(await isThere(output))
  },
  // It stays until the other takes its place.
  clear: async () => {},
}

/** Also of a link that leads nowhere. */
async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null
}

/** What isn't of this library in what has the name of a folder of unfinished work; null if all is. */
async function strangerIn(path: string): Promise<string | null> {
  const there = await lstat(path).catch((error) => isMissing(error, null))
  if (!there) return null
  if (!there.isDirectory()) return 'something else than a folder'
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const { name } = entry
    if (name === 'plan.json') continue
    if (!isOwn(name) || !entry.isDirectory()) return name
    const stranger = (await readdir(join(path, name))).find((inner) => !ownNames.includes(inner))
    if (stranger !== undefined) return join(name, stranger)
  }
  return null
}

/** Throws an error unless it says that a file isn't there. */
function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/** `answer` if an error says that a file isn't there; any other is thrown. */
function isMissing<T>(error: unknown, answer: T): T {
  const { code, path } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return answer
  throw new FileError(`${path} can't be read: ${systemReason(error)}`, { cause: error })
}
