/**
 * Files of unfinished work on an array, in the folder `NAME.partial` next to the output. The folder has the
 * plan, and under the plan's id the unfinished array, intermediate blocks, and a mark for each completed
 * block.
 *
 * Written files are in a folder named by the plan's id, so processes with jobs of another plan can't modify
 * them. Objects in a bucket can't be renamed, so the store copies the array to its final name when all jobs
 * are done.
 */
import { stat } from 'node:fs/promises'
import { ChunkError, ExistsError, FileError, ResumeError } from '../errors.js'
import { readError } from '../files/files.js'
import { storeOf } from './bucket-store.js'
import { damaged } from './disk.js'
import { type AnyPlan, assertAnyPlan, type BlockJob } from './job.js'
import { isZarr } from './names.js'
import { asRow, type Content, fileGone, rowAt, type Store } from './store.js'
import { isArrayMetadata } from './zarr-metadata.js'

const PLAN = 'plan.json'

/** Returns whether a file of the work on a plan is of this library, by its name in the plan's folder. */
const isWork = (name: string) =>
  /^(temporary\/[0-9a-f]{32}|array(\/(zarr\.json|c\/\d+\/\d+))?|done\/\d+\/[a-z\d-]+|steps\/\d+\/\d+-\d+|replaced(\/.*)?)$/s.test(
    name,
  )

/** Returns whether a name beside the plan is of this library: the work of a plan, or the mark that it was dropped. */
function isOwn(name: string): boolean {
  const [, work] = /^[0-9a-f]{32}(?:\.removed)?\/(.*)/s.exec(name) ?? []
  return work === undefined ? /^[0-9a-f]{32}\.dropped$/.test(name) : isWork(work)
}

/** Returns whether a file is a part of a Zarr array: its metadata, of this version or the one before, or a chunk. */
const isPart = (name: string) => /^(zarr\.json|\.zarray|\.zattrs|(c|\d+)([./]\d+)*)$/.test(name)

/** Bytes of the line that begins the file of an intermediate block. */
const HEADER_BYTES = 128

/** Files of an output: under its name and in its `.partial` folder. */
export class Output {
  readonly store: Store
  /** Path of the folder of unfinished work. */
  readonly partial: string
  readonly plan: string

  /** @param signal - ends the requests to a bucket. */
  constructor(
    readonly path: string,
    signal?: AbortSignal,
  ) {
    this.store = storeOf(path, signal)
    this.partial = `${path}.partial`
    this.plan = this.store.join(this.partial, PLAN)
  }

  /** Returns the plan of the unfinished work; null if there is none. */
  async begunPlan(): Promise<AnyPlan | null> {
    const bytes = await this.store.readWhole(this.plan)
    if (!bytes) return null
    try {
      const plan = JSON.parse(bytes.toString()) as AnyPlan
      assertAnyPlan(plan)
      return plan
    } catch (error) {
      throw new ResumeError(
        `${this.plan} can't be read: ${(error as Error).message}. Begin again with overwrite`,
        { cause: error },
      )
    }
  }

  /**
   * Returns the path of the marker of dropped work in stores that have no folders. A process that is about to
   * complete the work checks it.
   */
  dropped(id: string): string {
    return this.store.join(this.partial, `${id}.dropped`)
  }

  /**
   * Removes unfinished work, with a plan or without, and returns null. If anything isn't of this library,
   * nothing is removed and its name or kind is returned.
   */
  async removeBegun(): Promise<string | null> {
    const { store, partial } = this
    const names = await store.names(partial)
    if (!names) return 'something else than a folder'
    const stranger = names.find((name) => name !== PLAN && !isOwn(name))
    if (stranger !== undefined) return stranger
    if (names.length === 0 && !store.renames) return null
    if (!store.renames) {
      // The file of the plan may be incomplete.
      const [, id] = /"id":"([0-9a-f]{32})"/.exec(`${await store.readWhole(this.plan)}`) ?? []
      if (id !== undefined) await store.write(this.dropped(id), '', [asRow(Buffer.from('\n'))])
    }
    // The plan is removed first, because incomplete remains without a plan are never resumed.
    await store.remove([this.plan])
    await store.removeUnder(partial, (name) => name.endsWith('.dropped') || !isOwn(name))
    return null
  }

  /** Returns the bytes of the array's zarr.json; null if it doesn't exist. */
  metadata(): Promise<Content | null> {
    return this.store.readWhole(this.store.join(this.path, 'zarr.json'))
  }

  /**
   * Throws ExistsError unless the output's name is free, or an output of the requested kind has it (for Zarr an
   * array, not a group).
   */
  async assertReplaceable(): Promise<void> {
    const { path } = this
    const isSuch = isZarr(path)
      ? await this.#isArray()
      : ((await stat(path).catch(() => null))?.isFile() ?? true)
    if (isSuch) return
    const kind = isZarr(path) ? 'Zarr array' : 'file'
    throw new ExistsError(`${path} exists and is no ${kind}, so it is not replaced: name another output`)
  }

  async #isArray(): Promise<boolean> {
    const metadata = await this.metadata()
    if (metadata) return isArrayMetadata(metadata)
    // The metadata is missing if another process that completes this work has moved the array aside, or if an
    // array in a bucket was partly removed.
    return this.store.renames ? !(await this.store.isTaken(this.path)) : (await this.stranger()) === undefined
  }

  /**
   * Returns the name of a foreign file in the folder of a Zarr array; undefined if there is none. A symbolic
   * link is replaced itself; its target stays.
   */
  async stranger(): Promise<string | undefined> {
    if (!isZarr(this.path)) return undefined
    return (await this.store.names(this.path))?.find((name) => !isPart(name))
  }

  /**
   * Removes the old array before the work, unless the store can replace it atomically when the new one is
   * complete.
   */
  async clear(): Promise<void> {
    const { store, path } = this
    if (store.renames) return
    await store.removeUnder(path, (name) => !isPart(name), store.join(path, 'zarr.json'))
  }
}

/** Files of the work on one plan. */
export class Journal {
  readonly store: Store
  /** Path of the folder of this plan's files. */
  readonly own: string
  /** Folder of the files that are being written. */
  readonly temporary: string
  /** Path of the unfinished array. */
  readonly array: string
  readonly #output: Output
  readonly #id: string
  /** Path that exists until the array is renamed into place. */
  readonly #unfinished: string
  readonly #replaces: string | undefined

  constructor({ output: { path }, id, replaces }: AnyPlan, signal?: AbortSignal) {
    const output = new Output(path, signal)
    const { store } = output
    this.store = store
    this.own = store.join(output.partial, id)
    this.temporary = store.join(this.own, 'temporary')
    this.array = store.join(this.own, 'array')
    this.#output = output
    this.#id = id
    this.#replaces = replaces
    this.#unfinished = isZarr(path) ? store.join(this.array, 'zarr.json') : this.array
  }

  async create(): Promise<void> {
    const inner = ['temporary', 'done', 'steps'].map((name) => this.store.join(this.own, name))
    if (!(await this.store.makeFolders([this.#output.partial, this.own, ...inner]))) throw this.#another()
  }

  #another(): ExistsError {
    return new ExistsError(
      `${this.#output.partial} was made by another process at the same moment: let one of them do the work, or name another output`,
    )
  }

  /** Removes the files of work whose beginning has failed, if possible. */
  async abandon(): Promise<void> {
    await this.store.removeUnder(this.own).catch(() => {})
    await this.store.remove([`${this.#output.partial}/`])
  }

  /** Writes the plan, which makes the work resumable. */
  async writePlan(plan: AnyPlan): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(plan))
    const { plan: path } = this.#output
    if (await this.store.write(path, this.temporary, [asRow(bytes)], true)) return
    // A request whose response was lost may have written the plan.
    if ((await this.store.readWhole(path))?.equals(bytes)) return
    await this.store.removeUnder(this.own)
    throw this.#another()
  }

  /**
   * Returns the path of a stage's marks, or of one mark. Each stage has its own folder, so that no folder has
   * too many files.
   */
  #marks(stage: number, ...job: string[]): string {
    return this.store.join(this.own, 'done', String(stage), ...job)
  }

  /** Returns the content of a completed block's mark, which names the plan. */
  #markOf({ name }: BlockJob): Buffer {
    return Buffer.from(JSON.stringify({ plan: this.#id, job: name }))
  }

  /** Marks a block as done. All its files must have been renamed into place. */
  async mark(job: BlockJob): Promise<void> {
    await this.store.write(this.#marks(job.stage, job.name), this.temporary, [asRow(this.#markOf(job))])
    // A mark written after the removal of the work must be removed again. A later removal finds the mark
    // itself.
    if (this.store.renames || (await this.isUnfinished())) return
    await this.store.removeUnder(this.own)
    throw new FileError(`${this.own} can't be written: the work was completed or removed meanwhile`)
  }

  async isMarked(job: BlockJob): Promise<boolean> {
    const bytes = await this.store.readWhole(this.#marks(job.stage, job.name))
    return bytes?.equals(this.#markOf(job)) ?? false
  }

  /** Returns the names of the completed jobs of a stage. */
  async marked(stage: number): Promise<Set<string>> {
    return new Set(await this.store.names(this.#marks(stage)))
  }

  /** Returns the path of a block of the matrix after `step` steps, and the line with which its file begins. */
  #step(step: number, row: number, col: number): { path: string; header: Buffer } {
    const path = this.store.join(this.own, 'steps', String(step), `${row}-${col}`)
    const text = `mpmml block ${this.#id} ${step} ${row} ${col}`
    return { path, header: Buffer.from(text.padEnd(HEADER_BYTES - 1).concat('\n')) }
  }

  /** Writes an intermediate block and returns the number of bytes. */
  async writeStep(step: number, row: number, col: number, memory: Uint8Array): Promise<number> {
    const { path, header } = this.#step(step, row, col)
    await this.store.write(path, this.temporary, [asRow(header), asRow(memory)])
    return HEADER_BYTES + memory.length
  }

  /** Reads an intermediate block into `memory`, whose size must be that of the block. Returns the number of bytes. */
  async readStep(step: number, row: number, col: number, memory: Uint8Array): Promise<number> {
    const { path, header } = this.#step(step, row, col)
    try {
      const file = await this.store.open(path, null)
      if (!file) throw fileGone(path)
      try {
        const found = Buffer.alloc(HEADER_BYTES)
        if (file.size >= HEADER_BYTES) await file.read(rowAt(0, found))
        if (!found.equals(header)) throw new ChunkError('it is a block of something else')
        const bytes = HEADER_BYTES + memory.length
        if (file.size !== bytes) throw new ChunkError(`it has ${file.size} bytes and not ${bytes}`)
        await file.read(rowAt(HEADER_BYTES, memory))
        return bytes
      } finally {
        await file.close()
      }
    } catch (error) {
      throw readError(path, damaged(path, error, 'Begin again with overwrite'))
    }
  }

  /** Removes the intermediate blocks of a step, which are no longer read. */
  async removeStep(step: number): Promise<void> {
    await this.store.removeUnder(this.store.join(this.own, 'steps', String(step)))
  }

  /** Returns whether the array is unfinished. Otherwise it has been renamed into place, even if other files remain. */
  isUnfinished(): Promise<boolean> {
    return this.store.exists(this.#unfinished)
  }

  /**
   * Moves the array to its final name. Throws if the array is gone because another process moved it at the
   * same moment.
   */
  async place(): Promise<void> {
    const { store, array } = this
    const { path } = this.#output
    const aside = store.join(this.own, 'replaced')
    const isCopied = await store.place({ array, output: path, aside, replaces: this.#replaces })
    if (!isCopied || !(await store.exists(this.#output.dropped(this.#id)))) return
    // Other work began between the copies, so that some objects may be missing.
    await store.remove([store.join(path, 'zarr.json')])
    throw new ResumeError(`the work on ${path} was begun anew by another process: this one ends`)
  }

  /**
   * Removes the remaining files of this work after the array has its final name. The plan is removed last, so
   * that a resumed run finds the files that are still to be removed.
   */
  async remove(): Promise<void> {
    const { store } = this
    const output = this.#output
    await store.removeUnder(this.own, (name) => !isWork(name), this.#unfinished)
    // Strays are files that late processes wrote for dropped work. The listing precedes the check of the
    // plan, so that it has no files of work that begins meanwhile.
    const strays = store.renames ? [] : (await store.names(output.partial))!.filter(isOwn)
    const plan = await output.begunPlan().catch((error) => {
      if (error instanceof ResumeError) return null
      throw error
    })
    // The folder may have the plan of another run, or files of another program.
    if (plan && plan.id !== this.#id) return
    if (plan) await store.remove(strays.map((name) => store.join(output.partial, name)))
    await store.remove([output.plan, `${output.partial}/`])
  }
}
