/** Runs the jobs of a plan in one process, and completes its output. */
import type { BackendName } from '../backend-name.js'
import type { FoundBy } from '../graph/options.js'
import { INTERVAL_MS, ProgressListener } from '../product/progress.js'
import type { JobRunner } from './batch.js'
import { complete, isFinished, unlessFinished } from './blocks.js'
import { type AnyPlan, type ArrayType, blockOf, jobNames, undoneJobs } from './job.js'
import { Journal } from './journal.js'
import type { ArraysProgress } from './options.js'

/** Result of {@link multiplyArrays} and {@link shortestPathsArrays}. */
export interface ArraysResult {
  /** The path of the result. */
  readonly path: string
  /** Rows and columns. */
  readonly shape: readonly [number, number]
  /** The type of its elements. */
  readonly dtype: ArrayType
  /** Search method of the last rows, for paths of an edge list. Omitted if all rows existed before. */
  readonly method?: FoundBy
  /** The backend that computed blocks. */
  readonly backend: BackendName
  /** The name of the GPU or processor. */
  readonly device: string
  /** Number of jobs of the work, each of which computes a block of the result or of an intermediate step. */
  readonly blocks: number
  /** Number of blocks that an earlier run had computed. */
  readonly resumed: number
  /** Rows, columns and depth of a block. */
  readonly block: { readonly rows: number; readonly cols: number; readonly depth: number }
  /** Bytes read from files. */
  readonly bytesRead: number
  /** Bytes written to files. */
  readonly bytesWritten: number
  /** Peak host memory of blocks, buffers and codecs in bytes. */
  readonly peakBytes: number
  /** Milliseconds of the work. */
  readonly timing: {
    /** Duration of the whole call. */
    readonly totalMs: number
    /** Duration of the products of blocks. */
    readonly kernelMs: number
    /** Time that products waited for reads of blocks. */
    readonly readMs: number
    /** Time that products waited for writes of results. */
    readonly writeMs: number
  }
}

interface Running {
  /** The time at which the call began. */
  readonly started: number
  readonly onProgress: ((progress: ArraysProgress) => void) | undefined
  readonly signal: AbortSignal | undefined
}

/** Computes the jobs of a plan that aren't done, stage by stage, completes the output, and closes the runner. */
export async function runJobs(
  plan: AnyPlan,
  runner: JobRunner,
  { started, onProgress, signal }: Running,
): Promise<ArraysResult> {
  const progress = new ProgressTracker(
    plan.stages.reduce((sum, count) => sum + count, 0),
    onProgress,
  )
  let [kernelMs, bytesWritten] = [0, 0]
  const compute = async () => {
    const journal = new Journal(plan, signal)
    const finished = await isFinished(plan, signal)
    if (finished) progress.skipped = progress.total
    await unlessFinished(plan, signal, async () => {
      for (let stage = 0; stage < plan.stages.length && !finished; stage++) {
        const done = jobNames(plan, stage, await journal.marked(stage))
        progress.skipped += done.size
        await runner.run(undoneJobs(plan, stage, done, runner.rowsTogether), signal, {
          done(block) {
            kernelMs += block.kernelMs
            bytesWritten += block.bytesWritten
            progress.block()
          },
          began: (share) => progress.began(share),
        })
      }
      await complete(plan, signal)
    })
    progress.report()
  }
  try {
    await progress.run(compute)
  } finally {
    await runner.close()
  }
  const { path, shape, dtype } = plan.output
  const { backend, deviceName, method, bytesRead, peakBytes, readMs, writeMs } = runner
  return {
    path,
    shape,
    dtype,
    ...(method && { method }),
    backend,
    device: deviceName,
    blocks: progress.total,
    resumed: progress.skipped,
    block: blockOf(plan),
    bytesRead,
    bytesWritten,
    peakBytes,
    timing: { totalMs: performance.now() - started, kernelMs, readMs, writeMs },
  }
}

/** Progress of the work and estimate of the remaining time. */
class ProgressTracker {
  /** The number of all blocks. */
  readonly total: number
  readonly #listener: ProgressListener<ArraysProgress>
  readonly #started = performance.now()
  #reported = 0
  #blocks = 0
  /** Greatest number of blocks that was reported, with the share of the current block. */
  #done = 0
  /** Number of blocks of earlier runs. */
  skipped = 0

  constructor(total: number, listener: ((progress: ArraysProgress) => void) | undefined) {
    this.total = total
    this.#listener = new ProgressListener(listener)
  }

  /** Runs the work, and rejects with exactly what the listener threw. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#listener.run(work)
  }

  /** Reports the share of the current block that is computed. */
  began(share: number): void {
    if (performance.now() - this.#reported >= INTERVAL_MS) this.report(share)
  }

  /** Reports that a block is done. */
  block(): void {
    this.#blocks++
    this.report()
  }

  report(share = 0): void {
    const { total, skipped } = this
    const now = performance.now()
    this.#reported = now
    // A block may begin before the previous one is written. Blocks of an earlier run don't count for the rate.
    this.#done = Math.min(total, Math.max(this.#done, this.#blocks + share))
    const done = this.#done
    const left = Math.max(0, total - skipped - done)
    this.#listener.notify({
      done: total === 0 ? 1 : Math.min(1, (skipped + done) / total),
      blocks: skipped + this.#blocks,
      total,
      secondsLeft: done > 0 ? ((now - this.#started) / 1000 / done) * left : undefined,
    })
  }
}
