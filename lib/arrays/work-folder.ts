/**
 * The folder in which an array grows until it is complete, beside the place where it will be: its plan, the array, intermediate
 * blocks, and a small file for each block that is done.
 */
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ResumeError } from '../errors.js'
import { writeError, writeWhole } from './disk.js'
import type { BlockJob, BlockPlan } from './job.js'

/** What a file in `done` says: of which plan the block is. */
interface Mark {
  readonly plan: string
  readonly job: string
}

/** The folder of unfinished work on an array. */
const folderOf = (output: string) => `${output}.partial`

/** The plan that was begun for an output; null if there is none. */
export async function begunPlan(output: string): Promise<BlockPlan | null> {
  const path = join(folderOf(output), 'plan.json')
  try {
    return JSON.parse(await readFile(path, 'utf8')) as BlockPlan
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new ResumeError(`${path} can't be read: ${(error as Error).message}. Begin again with overwrite`, {
      cause: error,
    })
  }
}

/** Whether there is a folder of unfinished work, with a plan or without. */
export async function isBegun(output: string): Promise<boolean> {
  return (await stat(folderOf(output)).catch(() => null)) !== null
}

export const removeBegun = (output: string) => rm(folderOf(output), { recursive: true, force: true })

export class WorkFolder {
  readonly path: string
  /** Files that are being written. */
  readonly temporary: string
  /** The array, under another name. */
  readonly array: string
  /** What belongs to this plan. */
  readonly own: string
  readonly #done: string

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
  }

  async create(): Promise<void> {
    try {
      // One by one, and not with all folders above them: a wrong name makes no folders.
      await mkdir(this.path)
      await mkdir(this.own)
      await mkdir(this.temporary)
      await mkdir(this.#done)
    } catch (error) {
      throw writeError(this.path, error)
    }
  }

  /** From now on the work can be resumed. */
  async writePlan(plan: BlockPlan): Promise<void> {
    await writeWhole(join(this.path, 'plan.json'), this.temporary, (file) =>
      file.writeFile(JSON.stringify(plan)),
    )
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true })
  }

  /** The folder of the marks of a stage, so that no folder has too many files. */
  #marks(stage: number): string {
    return join(this.#done, String(stage))
  }

  /** Says that a block is done, and of what it was made. Its files must have their names by now. */
  async mark(plan: BlockPlan, job: BlockJob): Promise<void> {
    const mark: Mark = { plan: plan.id, job: job.name }
    const path = join(this.#marks(job.stage), job.name)
    await writeWhole(path, this.temporary, (file) => file.writeFile(JSON.stringify(mark)))
  }

  async isMarked(plan: BlockPlan, job: BlockJob): Promise<boolean> {
    let text: string
    try {
      text = await readFile(join(this.#marks(job.stage), job.name), 'utf8')
    } catch {
      return false
    }
    return (JSON.parse(text) as Mark).plan === plan.id
  }

  /** The names of the jobs of a stage that are done. */
  async marked(stage: number): Promise<Set<string>> {
    try {
      return new Set(await readdir(this.#marks(stage)))
    } catch {
      return new Set()
    }
  }

  /** Where an intermediate block is: that of a matrix after so many steps. */
  step(step: number, row: number, col: number): string {
    return join(this.own, 'steps', String(step), `${row}-${col}`)
  }

  /** Intermediate blocks that nobody reads any more. */
  async removeStep(step: number): Promise<void> {
    await rm(join(this.own, 'steps', String(step)), { recursive: true, force: true })
  }

  /** Whether the array is still here. Without it another process has given it its name, and was ended before it removed the rest. */
  async isGrown(): Promise<boolean> {
    return (await stat(this.array).catch(() => null)) !== null
  }

  /** Gives the array its name, and removes the rest. */
  async complete(output: string): Promise<void> {
    if (await this.isGrown()) {
      try {
        await rename(this.array, output)
      } catch (error) {
        throw writeError(output, error)
      }
    }
    await this.remove()
  }
}
