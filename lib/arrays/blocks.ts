/** Computes block jobs one at a time, in any process. */
import { onAbort, signal, throwIfAborted } from '../abort.js'
import { optionsOf } from '../backend.js'
import { openDevice } from '../device/device.js'
import { ExistsError, FileError, ResumeError } from '../errors.js'
import { checkedLater, Options, type OptionsOf, type ReadOf } from '../options.js'
import { assertInside } from './allowed-roots.js'
import { Engine } from './block-pipeline.js'
import { inputChanged } from './disk.js'
import { planInput } from './fingerprint.js'
import {
  type AnyPlan,
  assertJob,
  assertPlan,
  assertStage,
  type BlockJob,
  type BlockPlan,
  type BlockResult,
  inputsOf,
  jobNames,
  undoneJobs,
} from './job.js'
import { Journal, Output } from './journal.js'
import { WORK } from './names.js'
import { bytes, type RunOptions, runSet } from './options.js'
import { isMadeBy } from './plan.js'
import { openSource } from './source.js'

/** The options of {@link isDone}, {@link doneJobs} and {@link finish}. */
export interface FinishOptions {
  /**
   * Allowed folders, and addresses s3://bucket/prefix. A plan that reads or writes outside of them is refused
   * with ERR_MPMML_ROOTS. Default: no restriction.
   */
  roots?: readonly string[] | undefined
  /** Aborts the call with ERR_MPMML_ABORTED. */
  signal?: AbortSignal | undefined
}

/** The options of {@link runBlock}. */
export interface RunBlockOptions extends RunOptions, FinishOptions {
  /** Limit of host memory in bytes, for which the plan was made. Default: the need of the job. */
  memory?: number | string | undefined
}

// Checked with the plan.
const roots = checkedLater<readonly string[]>()

const blockOptions = new Options({
  ...runSet,
  memory: bytes,
  roots,
} satisfies OptionsOf<RunBlockOptions>)

type ReadBlockOptions = ReadOf<typeof blockOptions>

/**
 * Computes one block job and writes its block, unless the block exists already. Concurrent calls and
 * interruptions are safe, because blocks are written atomically. All jobs of earlier stages must be done.
 *
 * @throws Rejects with an {@link MpmmlError}: ERR_MPMML_CHANGED, ERR_MPMML_CHUNK, ERR_MPMML_DISK_FULL, ERR_MPMML_FILE,
 *   ERR_MPMML_ROOTS, ERR_MPMML_RESUME and ERR_MPMML_OPTION for a plan that was changed and a job that it doesn't have,
 *   ERR_MPMML_OVERFLOW, ERR_MPMML_VALUE, ERR_MPMML_CYCLE, ERR_MPMML_ABORTED, ERR_MPMML_NO_CUDA, ERR_MPMML_CUDA,
 *   ERR_MPMML_OUT_OF_MEMORY.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * const plan = await planBlocks({ kind: 'multiply', a: 'a.npy', b: 'a.npy', c: 'c.npy', block: 1 })
 * const [job] = jobsOf(plan, 0)
 * console.log((await runBlock(plan, job)).already, (await runBlock(plan, job)).already) // false true
 */
export async function runBlock(
  plan: BlockPlan,
  job: BlockJob,
  options: RunBlockOptions = {},
): Promise<BlockResult> {
  const computer = new BlockComputer()
  try {
    return await computer.runBlock(plan, job, options)
  } finally {
    await computer.close()
  }
}

/**
 * Milliseconds for which a device and memory are retained for the next block. Other processes may need them.
 */
const RETAINED_MS = 10_000

/** Resources retained between jobs of a plan. */
interface RetainedEngine {
  /** Identifies the plan and the options. */
  readonly key: string
  readonly engine: Promise<Engine>
  /** Aborts the work of the engine. */
  readonly stop: AbortController
}

/**
 * Computes jobs one after the other and retains the device and the memory for the next job, because acquiring
 * them takes longer than most blocks.
 */
export class BlockComputer {
  #kept: RetainedEngine | undefined
  #timer: NodeJS.Timeout | undefined

  /** Calls {@link runBlock}. No other call may be running. */
  async runBlock(plan: BlockPlan, job: BlockJob, options: RunBlockOptions): Promise<BlockResult> {
    const read = blockOptions.read(options)
    clearTimeout(this.#timer)
    try {
      return await this.#run(plan, job, read)
    } finally {
      // The timer starts after failures too, because another block may need the device.
      if (this.#kept) this.#timer = setTimeout(() => void this.close().catch(() => {}), RETAINED_MS).unref()
    }
  }

  async #run(plan: BlockPlan, job: BlockJob, options: ReadBlockOptions): Promise<BlockResult> {
    const started = performance.now()
    const { roots, signal } = options
    assertPlan(plan)
    assertJob(plan, job)
    throwIfAborted(signal, `the job ${job.name}`)
    const already = () => ({
      job: job.name,
      already: true,
      backend: null,
      device: null,
      timing: { totalMs: performance.now() - started, kernelMs: 0 },
      bytesRead: 0,
      bytesWritten: 0,
    })
    if (await isDone(plan, job, { roots, signal })) return already()
    const { engine: opening, stop } = await this.#engineFor(plan, options)
    const abort = () => stop.abort(signal?.reason)
    const forget = signal && onAbort(signal, abort)
    if (signal?.aborted) abort()
    try {
      const engine = await opening
      const { bytesRead } = engine
      let kernelMs = 0
      let bytesWritten = 0
      await engine.run([job], stop.signal, {
        done(block) {
          kernelMs = block.kernelMs
          bytesWritten = block.bytesWritten
        },
      })
      return {
        job: job.name,
        already: false,
        backend: engine.backend,
        device: engine.deviceName,
        timing: { totalMs: performance.now() - started, kernelMs },
        bytesRead: engine.bytesRead - bytesRead,
        bytesWritten,
      }
    } catch (error) {
      // A device on which something failed is not used again.
      await this.close()
      // Another worker may have finished the job and removed its inputs.
      if (error instanceof FileError && (await isDone(plan, job, { roots, signal }))) return already()
      throw error
    } finally {
      forget?.()
    }
  }

  async #engineFor(plan: BlockPlan, options: ReadBlockOptions): Promise<RetainedEngine> {
    const { backend, device, memory, deviceMemory } = options
    const key = JSON.stringify([plan.id, backend, device, memory, deviceMemory])
    if (this.#kept?.key === key) return this.#kept
    await this.close()
    const stop = new AbortController()
    const opening = openDevice(optionsOf({ backend, device, devices: 0 }))
    const engine = Engine.open(plan, opening, { memory, deviceMemory, signal: stop.signal })
    // The caller that awaits the engine handles its error.
    engine.catch(() => {})
    this.#kept = { key, engine, stop }
    return this.#kept
  }

  /** Releases the device and the memory. No job may be running. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    const retained = this.#kept
    this.#kept = undefined
    const engine = await retained?.engine.catch(() => undefined)
    await engine?.close()
  }
}

/**
 * Returns whether a job is done. For a finished .npy output the answer is reliable only if its file system
 * has file ids.
 *
 * @throws Rejects with ERR_MPMML_ROOTS, and ERR_MPMML_RESUME and ERR_MPMML_OPTION for a plan that was changed and a job that it
 *   doesn't have.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * const plan = await planBlocks({ kind: 'multiply', a: 'a.npy', b: 'a.npy', c: 'c.npy', block: 1 })
 * const [job] = jobsOf(plan, 0)
 * console.log(await isDone(plan, job)) // false
 */
export async function isDone(plan: BlockPlan, job: BlockJob, options: FinishOptions = {}): Promise<boolean> {
  assertPlan(plan)
  assertJob(plan, job)
  const signal = await readFinish(plan, options)
  if (await new Journal(plan, signal).isMarked(job)) return true
  return isFinished(plan, signal)
}

/**
 * The names of the jobs of a stage that have been done, until {@link finish}.
 *
 * @throws Rejects with ERR_MPMML_ROOTS, and ERR_MPMML_RESUME and ERR_MPMML_OPTION for a plan that was changed and a stage that it
 *   doesn't have.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * const plan = await planBlocks({ kind: 'multiply', a: 'a.npy', b: 'a.npy', c: 'c.npy', block: 1 })
 * for (const job of jobsOf(plan, 0)) await runBlock(plan, job)
 * console.log((await doneJobs(plan, 0)).size) // 4
 */
export async function doneJobs(
  plan: BlockPlan,
  stage: number,
  options: FinishOptions = {},
): Promise<Set<string>> {
  assertPlan(plan)
  assertStage(plan, stage)
  const signal = await readFinish(plan, options)
  return jobNames(plan, stage, await new Journal(plan, signal).marked(stage))
}

/** Returns whether the output has its final name. */
export async function isFinished(plan: AnyPlan, signal: AbortSignal | undefined): Promise<boolean> {
  if (await new Journal(plan, signal).isUnfinished()) return false
  return isMadeBy(plan, signal)
}

const finishOptions = new Options({ roots, signal } satisfies OptionsOf<FinishOptions>)

/**
 * Reads the options; throws if they are invalid, or if the plan accesses files outside of the allowed roots.
 */
async function readFinish(plan: BlockPlan, options: FinishOptions): Promise<AbortSignal | undefined> {
  const { roots, signal } = finishOptions.read(options)
  await assertInside(plan, roots)
  return signal
}

/**
 * Renames the output to its final name when all jobs are done, and removes the folder of unfinished work.
 * With `overwrite` it replaces only the file or folder that had the name when the work began, and only if
 * that is unchanged. Anything that other programs created since then stays, and is an error. Several
 * processes may finish a plan, concurrently or one after the other; all of them succeed.
 *
 * @throws Rejects with ERR_MPMML_RESUME if a job hasn't been done or the work is gone, ERR_MPMML_CHANGED if
 * an input has changed, ERR_MPMML_EXISTS if the output's name is taken by anything that may not be replaced,
 * ERR_MPMML_FILE, ERR_MPMML_ROOTS, ERR_MPMML_OPTION, ERR_MPMML_ABORTED.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * const plan = await planBlocks({ kind: 'multiply', a: 'a.npy', b: 'a.npy', c: 'c.npy', block: 1 })
 * for (const job of jobsOf(plan, 0)) await runBlock(plan, job)
 * await finish(plan)
 * console.log((await readNpy('c.npy')).data.join()) // 5,6,7,8
 */
export async function finish(plan: BlockPlan, options: FinishOptions = {}): Promise<void> {
  assertPlan(plan)
  const signal = await readFinish(plan, options)
  await complete(plan, signal)
}

/**
 * Renames the output to its final name, if that isn't done yet, and removes the remaining files of the work.
 */
export async function complete(plan: AnyPlan, signal: AbortSignal | undefined): Promise<void> {
  const journal = new Journal(plan, signal)
  const output = new Output(plan.output.path, signal)
  await unlessFinished(plan, signal, async () => {
    if (await isFinished(plan, signal)) return
    await assertDone(plan, signal)
    await output.assertReplaceable()
    await journal.place()
  })
  // The remaining files may be of a process that ended before it removed them.
  if ((await output.begunPlan())?.id === plan.id) await journal.remove()
}

/**
 * Runs work of a plan. An error is ignored if another process completed the plan and removed its intermediate
 * files.
 */
export async function unlessFinished(
  plan: AnyPlan,
  signal: AbortSignal | undefined,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    const mayBeGone = [FileError, ResumeError, ExistsError].some((kind) => error instanceof kind)
    if (!mayBeGone || (await new Journal(plan, signal).isUnfinished())) throw error
    if (await isMadeBy(plan, signal)) return
    throw new ResumeError(
      `the work on ${plan.output.path} is gone: it was completed, begun anew or removed by another process`,
      { cause: error },
    )
  }
}

/** Throws unless all jobs are done and the inputs are unchanged since planning. */
async function assertDone(plan: AnyPlan, signal: AbortSignal | undefined): Promise<void> {
  const journal = new Journal(plan, signal)
  if (!(await journal.isUnfinished()))
    throw new ResumeError(`there is no work on ${plan.output.path} of this plan`)
  for (let stage = 0; stage < plan.stages.length; stage++) {
    const done = jobNames(plan, stage, await journal.marked(stage))
    const missing = plan.stages[stage]! - done.size
    if (missing === 0) continue
    const [example] = undoneJobs(plan, stage, done)
    throw new ResumeError(
      `${missing} of the blocks of ${plan.output.path} are not done yet, such as ${example!.name}: do them first`,
    )
  }
  for (const input of inputsOf(plan)) {
    throwIfAborted(signal, WORK)
    const { fingerprint } = await planInput(await openSource(input.path, signal))
    if (fingerprint !== input.fingerprint) {
      throw inputChanged(input.path, ': blocks of both are mixed in the result')
    }
  }
}
