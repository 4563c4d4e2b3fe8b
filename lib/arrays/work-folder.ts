/**
 * The folder in which an array grows until it is complete, beside the place where it will be: its plan, the array, intermediate
 * blocks, and a small file for each block that is done.
 */
import { mkdir, readdir, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ExistsError, FileError, ResumeError } from '../errors.js'
import { systemReason } from '../files/files.js'
import { removeAll, sweep, writeError, writeWhole } from './disk.js'
import { folders } from './folder-storage.js'
import { type BlockJob, type BlockPlan, requirePlan } from './job.js'
import { isZarr } from './names.js'
import { markOf, type Work, type Works } from './work.js'

/** The folder of unfinished work on an array. */
const folderOf = (output: string) => `${output}.partial`
/** What an output replaces, until it is removed. */
const asideOf = (output: string) => `${folderOf(output)}.replaced`
const planOf = (output: string) => join(folderOf(output), 'plan.json')

class WorkFolder implements Work {
  readonly storage = folders
  readonly path: string
  /** Files that are being written. */
  readonly temporary: string
  /** The array, under another name. */
  readonly array: string
  /** What belongs to this plan. */
  readonly own: string
  readonly #done: string
  readonly #steps: string

  /**
   * @param id - the plan's. What is written is in a folder of that name, so that a worker that still does jobs of another plan
   *   can't touch it.
   */
  constructor(output: string, id: string) {
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
   * Other processes may do the same at the same moment: what one of them put there stays.
   */
  async place(output: string): Promise<void> {
    const aside = asideOf(output)
    try {
      const { ino } = await stat(this.array)
      const isPlaced = await rename(this.array, output).then(
        () => true,
        (error) => {
          if (error.code === 'ENOTEMPTY' || error.code === 'EEXIST') return false
          throw error
        },
      )
      if (!isPlaced) {
        await removeAll(aside)
        await rename(output, aside)
        const isOurs = (await stat(aside)).ino === ino
        await rename(isOurs ? aside : this.array, output)
      }
    } catch (error) {
      throw writeError(output, error)
    }
  }

  /** Removes the rest once the array has its name: the plan goes last, so that whoever resumes finds what is to be removed. */
  async remove(output: string): Promise<void> {
    await removeAll(asideOf(output))
    await removeAll(this.own)
    await removeAll(this.path)
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
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw new ResumeError(
        `${path} can't be read: ${(error as Error).message}. Begin again with overwrite`,
        {
          cause: error,
        },
      )
    }
  },
  isBegun: (output) => isThere(folderOf(output)),
  // The plan goes first: what is left without it if the process ends here is never resumed, for it isn't whole.
  async removeBegun(output) {
    await removeAll(planOf(output))
    await removeAll(folderOf(output))
  },
  isTaken: isThere,
  async isReplaceable(output) {
    const there = await stat(output).catch(() => null)
    if (!there) return true
    return isZarr(output) ? isThere(join(output, 'zarr.json')) : !there.isDirectory()
  },
  // It stays until the other takes its place.
  clear: async () => {},
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null
}

/** `answer` if an error says that a file isn't there; any other is thrown. */
function isMissing<T>(error: unknown, answer: T): T {
  const { code, path } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return answer
  throw new FileError(`${path} can't be read: ${systemReason(error)}`, { cause: error })
}
