/**
 * Unfinished work on an array in a bucket: objects under the prefix of its name with `.partial`. Nothing can be renamed there, so
 * the array's objects are copied by the storage when all are done, and zarr.json last: an array without zarr.json isn't there.
 *
 * Objects go under the plan's id first, and not straight to where they will be: a bucket has no folder whose absence stops a
 * process that still does work which was dropped meanwhile, and it would write into the array of the work that came after.
 */
import { ExistsError, FileError, ResumeError } from '../errors.js'
import {
  buckets,
  copyObject,
  createObject,
  hasObject,
  hasObjects,
  removeObject,
  removeObjects,
  removeUnder,
} from './bucket-storage.js'
import { atOnce } from './disk.js'
import { type BlockJob, type BlockPlan, requirePlan } from './job.js'
import { REQUESTS_AT_ONCE } from './s3.js'
import { asRow } from './storage.js'
import { markOf, type Work, type Works } from './work.js'

const prefixOf = (output: string) => `${output}.partial`
const planOf = (output: string) => `${prefixOf(output)}/plan.json`
/** Says that work was dropped: who is about to complete it must not. */
const droppedOf = (output: string, id: string) => `${prefixOf(output)}/${id}.dropped`

/** The objects of arrays of this library. */
const isChunk = (name: string) => /^c\/\d+\/\d+$/.test(name)

class WorkPrefix implements Work {
  readonly own: string
  readonly array: string
  /** Objects have their names from the start. */
  readonly temporary = ''
  readonly #output: string
  readonly #id: string

  constructor(output: string, id: string) {
    this.#output = output
    this.#id = id
    this.own = buckets.join(prefixOf(output), id)
    this.array = buckets.join(this.own, 'array')
  }

  async create(): Promise<void> {}

  async sweep(): Promise<void> {}

  async writePlan(plan: BlockPlan): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(plan))
    if (await createObject(planOf(this.#output), bytes)) return
    // It may have been written by a request whose answer was lost.
    if ((await buckets.readWhole(planOf(this.#output)))?.equals(bytes)) return
    await removeUnder(this.own)
    throw new ExistsError(
      `${prefixOf(this.#output)} was made by another process at the same moment: let one of them do the work, or name another output`,
    )
  }

  #mark(stage: number, job: string): string {
    return buckets.join(this.own, 'done', String(stage), job)
  }

  async mark(plan: BlockPlan, job: BlockJob): Promise<void> {
    const bytes = Buffer.from(markOf(plan, job))
    await buckets.write(this.#mark(job.stage, job.name), '', [asRow(bytes)])
    // What was written after the work had been removed must not stay. Whoever removes it after this finds it.
    if (await this.isGrown()) return
    await removeUnder(this.own)
    throw new FileError(`${this.own} can't be written: the work was completed or removed meanwhile`)
  }

  async isMarked(plan: BlockPlan, job: BlockJob): Promise<boolean> {
    const bytes = await buckets.readWhole(this.#mark(job.stage, job.name))
    return bytes?.toString() === markOf(plan, job)
  }

  async marked(stage: number): Promise<Set<string>> {
    const folder = buckets.join(this.own, 'done', String(stage))
    return new Set((await buckets.list(folder)).map(({ name }) => name.slice(folder.length + 1)))
  }

  step(step: number, row: number, col: number): string {
    return buckets.join(this.own, 'steps', String(step), `${row}-${col}`)
  }

  async removeStep(step: number): Promise<void> {
    await removeUnder(buckets.join(this.own, 'steps', String(step)))
  }

  isGrown(): Promise<boolean> {
    return hasObject(buckets.join(this.array, 'zarr.json'))
  }

  /** What was to be overwritten has been removed when the work was begun. */
  async place(output: string): Promise<void> {
    const made = buckets.join(output, 'zarr.json')
    const source = buckets.join(this.array, 'zarr.json')
    const metadata = await buckets.readWhole(source)
    if (!metadata)
      throw new FileError(`${source} is gone: another process has completed the work, or removed it`)
    if (await this.#isPlaced(made, metadata)) return
    const chunks = (await buckets.list(this.array)).map(({ name }) => name).filter((name) => name !== source)
    await atOnce(REQUESTS_AT_ONCE, chunks.length, (index) =>
      copyObject(chunks[index]!, buckets.join(output, chunks[index]!.slice(this.array.length + 1))),
    )
    if (!(await createObject(made, metadata)) && !(await this.#isPlaced(made, metadata))) {
      throw new FileError(
        `${made} can't be written: another process did something with it at the same moment: resume`,
      )
    }
    if (!(await hasObject(droppedOf(output, this.#id)))) return
    // The work was begun anew between the copies: some may be missing.
    await removeObject(made)
    throw new ResumeError(`the work on ${output} was begun anew by another process: this one ends`)
  }

  /** Whether the array is there. @throws ExistsError for another one. */
  async #isPlaced(made: string, metadata: Buffer): Promise<boolean> {
    const there = await buckets.readWhole(made)
    if (!there) return false
    if (there.equals(metadata)) return true
    throw new ExistsError(
      `${this.#output} was made by another process since this work was begun: remove it and resume, or begin again with overwrite`,
    )
  }

  /** The array's zarr.json goes first: without it, the work is complete. The plan goes last. */
  async remove(output: string): Promise<void> {
    await removeObject(buckets.join(this.array, 'zarr.json'))
    await removeUnder(this.own)
    await removeUnder(prefixOf(output))
  }
}

export const prefixWorks: Works = {
  open: (output, id) => new WorkPrefix(output, id),
  async begunPlan(output) {
    const bytes = await buckets.readWhole(planOf(output))
    if (!bytes) return null
    try {
      const plan = JSON.parse(bytes.toString()) as BlockPlan
      requirePlan(plan)
      return plan
    } catch (error) {
      throw new ResumeError(
        `${planOf(output)} can't be read: ${(error as Error).message}. Begin again with overwrite`,
        { cause: error },
      )
    }
  },
  isBegun: (output) => hasObjects(prefixOf(output)),
  // The plan goes first: what is left without it if the process ends here is never resumed, for it isn't whole.
  async removeBegun(output) {
    const id = await idOf(planOf(output))
    if (id !== null) await createObject(droppedOf(output, id), Buffer.from('\n'))
    await removeObject(planOf(output))
    const rest = await buckets.list(prefixOf(output))
    await removeObjects(rest.map(({ name }) => name).filter((name) => !name.endsWith('.dropped')))
  },
  isTaken: hasObjects,
  async isReplaceable(output) {
    if (await hasObject(buckets.join(output, 'zarr.json'))) return true
    // What is left of an array that was removed in part.
    return (await buckets.list(output)).every(({ name }) => isChunk(name.slice(output.length + 1)))
  },
  // Nothing takes the place of another at once. zarr.json goes first, so that no array with holes is seen.
  async clear(output) {
    await removeObject(buckets.join(output, 'zarr.json'))
    await removeUnder(output)
  },
}

/** The id in a plan that may not be whole. */
async function idOf(path: string): Promise<string | null> {
  const text = (await buckets.readWhole(path))?.toString() ?? ''
  return /"id":"([0-9a-f]{32})"/.exec(text)?.[1] ?? null
}
