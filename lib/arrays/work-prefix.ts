/**
 * Unfinished work on an array in a bucket: objects under the prefix of its name with `.partial`. Nothing can be renamed there, so
 * the array's objects are copied by the storage when all are done, and zarr.json last: an array without zarr.json isn't there.
 *
 * Objects go under the plan's id first, and not straight to where they will be: a bucket has no folder whose absence stops a
 * process that still does work which was dropped meanwhile, and it would write into the array of the work that came after.
 */
import { ExistsError, FileError, ResumeError } from '../errors.js'
import type { BucketStorage } from './bucket-storage.js'
import { atOnce } from './disk.js'
import { type BlockJob, type BlockPlan, requirePlan } from './job.js'
import { REQUESTS_AT_ONCE } from './s3.js'
import { asRow } from './storage.js'
import { markOf, type Work, type Works } from './work.js'
import { isArrayMetadata } from './zarr-metadata.js'

const prefixOf = (output: string) => `${output}.partial`
const planOf = (output: string) => `${prefixOf(output)}/plan.json`
/** Says that work was dropped: who is about to complete it must not. */
const droppedOf = (output: string, id: string) => `${prefixOf(output)}/${id}.dropped`

/** What may be under the prefix of unfinished work besides the plan: what belongs to plans, and that they were dropped. */
const isOwn = (name: string) => /^[0-9a-f]{32}(\.dropped|\/(array|done|steps)\/.*)$/s.test(name)

/** The objects of arrays of this library. */
const isChunk = (name: string) => /^c\/\d+\/\d+$/.test(name)

class WorkPrefix implements Work {
  readonly own: string
  readonly array: string
  /** Objects have their names from the start. */
  readonly temporary = ''
  readonly storage: BucketStorage
  readonly #output: string
  readonly #id: string

  constructor(storage: BucketStorage, output: string, id: string) {
    this.storage = storage
    this.#output = output
    this.#id = id
    this.own = storage.join(prefixOf(output), id)
    this.array = storage.join(this.own, 'array')
  }

  async create(): Promise<void> {}

  async sweep(): Promise<void> {}

  async writePlan(plan: BlockPlan): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(plan))
    if (await this.storage.createObject(planOf(this.#output), bytes)) return
    // It may have been written by a request whose answer was lost.
    if ((await this.storage.readWhole(planOf(this.#output)))?.equals(bytes)) return
    await this.storage.removeUnder(this.own)
    throw new ExistsError(
      `${prefixOf(this.#output)} was made by another process at the same moment: let one of them do the work, or name another output`,
    )
  }

  #mark(stage: number, job: string): string {
    return this.storage.join(this.own, 'done', String(stage), job)
  }

  async mark(plan: BlockPlan, job: BlockJob): Promise<void> {
    const bytes = Buffer.from(markOf(plan, job))
    await this.storage.write(this.#mark(job.stage, job.name), '', [asRow(bytes)])
    // What was written after the work had been removed must not stay. Whoever removes it after this finds it.
    if (await this.isGrown()) return
    await this.storage.removeUnder(this.own)
    throw new FileError(`${this.own} can't be written: the work was completed or removed meanwhile`)
  }

  async isMarked(plan: BlockPlan, job: BlockJob): Promise<boolean> {
    const bytes = await this.storage.readWhole(this.#mark(job.stage, job.name))
    return bytes?.toString() === markOf(plan, job)
  }

  async marked(stage: number): Promise<Set<string>> {
    const folder = this.storage.join(this.own, 'done', String(stage))
    return new Set((await this.storage.list(folder)).map(({ name }) => name.slice(folder.length + 1)))
  }

  step(step: number, row: number, col: number): string {
    return this.storage.join(this.own, 'steps', String(step), `${row}-${col}`)
  }

  async removeStep(step: number): Promise<void> {
    await this.storage.removeUnder(this.storage.join(this.own, 'steps', String(step)))
  }

  isGrown(): Promise<boolean> {
    return this.storage.hasObject(this.storage.join(this.array, 'zarr.json'))
  }

  /** What was to be overwritten has been removed when the work was begun. */
  async place(output: string): Promise<void> {
    const made = this.storage.join(output, 'zarr.json')
    const source = this.storage.join(this.array, 'zarr.json')
    const metadata = await this.storage.readWhole(source)
    if (!metadata)
      throw new FileError(`${source} is gone: another process has completed the work, or removed it`)
    if (await this.#isPlaced(made, metadata)) return
    const chunks = (await this.storage.list(this.array))
      .map(({ name }) => name)
      .filter((name) => name !== source)
    await atOnce(REQUESTS_AT_ONCE, chunks.length, (index) =>
      this.storage.copyObject(
        chunks[index]!,
        this.storage.join(output, chunks[index]!.slice(this.array.length + 1)),
      ),
    )
    if (!(await this.storage.createObject(made, metadata)) && !(await this.#isPlaced(made, metadata))) {
      throw new FileError(
        `${made} can't be written: another process did something with it at the same moment: resume`,
      )
    }
    if (!(await this.storage.hasObject(droppedOf(output, this.#id)))) return
    // The work was begun anew between the copies: some may be missing.
    await this.storage.removeObject(made)
    throw new ResumeError(`the work on ${output} was begun anew by another process: this one ends`)
  }

  /** Whether the array is there. @throws ExistsError for another one. */
  async #isPlaced(made: string, metadata: Buffer): Promise<boolean> {
    const there = await this.storage.readWhole(made)
    if (!there) return false
    if (there.equals(metadata)) return true
    throw new ExistsError(
      `${this.#output} was made by another process since this work was begun: remove it and resume, or begin again with overwrite`,
    )
  }

  /** The array's zarr.json goes first: without it, the work is complete. The plan goes last. */
  async remove(output: string): Promise<void> {
    await this.storage.removeObject(this.storage.join(this.array, 'zarr.json'))
    await this.storage.removeUnder(this.own)
    // Others may have begun anew, and anybody may have put something there.
    const plan = await new PrefixWorks(this.storage).begunPlan(output).catch(orDamaged)
    if (plan && plan.id !== this.#id) return
    const prefix = prefixOf(output)
    const names = (await this.storage.list(prefix)).map(({ name }) => name)
    await this.storage.removeObjects(names.filter((name) => isOwn(name.slice(prefix.length + 1))))
    await this.storage.removeObject(planOf(output))
  }
}

/** Null for a plan that can't be read. */
function orDamaged(error: unknown): null {
  if (error instanceof ResumeError) return null
  throw error
}

export class PrefixWorks implements Works {
  readonly #storage: BucketStorage

  constructor(storage: BucketStorage) {
    this.#storage = storage
  }

  open(output: string, id: string): Work {
    return new WorkPrefix(this.#storage, output, id)
  }

  async begunPlan(output: string): Promise<BlockPlan | null> {
    const bytes = await this.#storage.readWhole(planOf(output))
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
  }

  /** The plan goes first: what is left without it if the process ends here is never resumed, for it isn't whole. */
  async removeBegun(output: string): Promise<string | null> {
    const prefix = prefixOf(output)
    const names = (await this.#storage.list(prefix)).map(({ name }) => name.slice(prefix.length + 1))
    const stranger = names.find((name) => name !== 'plan.json' && !isOwn(name))
    if (stranger !== undefined) return stranger
    if (names.length === 0) return null
    const plan = await this.#storage.readWhole(planOf(output))
    // It may not be whole.
    const [, id] = /"id":"([0-9a-f]{32})"/.exec(`${plan}`) ?? []
    if (id !== undefined) await this.#storage.createObject(droppedOf(output, id), Buffer.from('\n'))
    await this.#storage.removeObject(planOf(output))
    const rest = await this.#storage.list(prefix)
    await this.#storage.removeObjects(
      rest.map(({ name }) => name).filter((name) => !name.endsWith('.dropped')),
    )
    return null
  }

  isTaken(output: string): Promise<boolean> {
    return this.#storage.hasObjects(output)
  }

  async isReplaceable(output: string): Promise<boolean> {
    const metadata = await this.#storage.readWhole(this.#storage.join(output, 'zarr.json'))
    if (metadata) return isArrayMetadata(metadata)
    // What is left of an array that was removed in part.
    const names = (await this.#storage.list(output)).map(({ name }) => name.slice(output.length + 1))
    return names.every(isChunk)
  }

  /** Nothing takes the place of another at once. zarr.json goes first, so that no array with holes is seen. */
  async clear(output: string): Promise<void> {
    await this.#storage.removeObject(this.#storage.join(output, 'zarr.json'))
    await this.#storage.removeUnder(output)
  }
}
