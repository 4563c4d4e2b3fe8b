/**
 * Computes blocks one after the other, reads their operands ahead and writes their results in the background.
 */

import { aborted, onAbort } from '../abort.js'
import type { BackendName } from '../backend-name.js'
import type { Device } from '../device/device.js'
import { AbortedError, OverflowError } from '../errors.js'
import type { FoundBy } from '../graph/options.js'
import type { BlockJob } from './job.js'
import { type Computing, lengthOf, type Result, type Task } from './job-tasks.js'
import { WORK } from './names.js'
import type { Pool } from './pool.js'
import type { ReadAhead } from './read-ahead.js'

/** Outcome of one block. */
interface BlockDone {
  readonly job: BlockJob
  readonly kernelMs: number
  readonly bytesWritten: number
}

/** Listener of the progress of jobs. */
export interface JobListener {
  /** A block is on the disk. */
  done(block: BlockDone): void
  /** Called after each step of a block with the share of the block that is computed, from 0 to 1. */
  began?: ((share: number) => void) | undefined
}

/** Computes jobs of one plan. */
export interface JobRunner {
  readonly backend: BackendName
  /** The name of the GPU or processor. */
  readonly deviceName: string
  /** Search method of the last rows of an edge list. */
  readonly method?: FoundBy | undefined
  readonly bytesRead: number
  /** Peak of the host memory in bytes. */
  readonly peakBytes: number
  /** Milliseconds that products waited for blocks to be read, and for results to be written. */
  readonly readMs: number
  readonly writeMs: number
  /** Number of rows of blocks that are computed for each column of blocks of B, so that it is read once for all of them. */
  readonly rowsTogether: number
  /** Computes jobs of one stage. */
  run(jobs: Iterable<BlockJob>, signal: AbortSignal | undefined, listener: JobListener): Promise<void>
  close(): Promise<void>
}

/** A block that is being computed. */
export interface PendingBlock {
  readonly task: Task
  /** The part of a result's memory that the block takes. */
  readonly out: Result
  /** The steps that have been started. */
  readonly steps: Promise<void>[]
  kernelMs: number
  overflow: OverflowError | null
}

/** Accumulates results on the device and writes them to disk. */
export interface Results {
  /** Device memory of results, each of the size of the largest block. */
  readonly memory: Pool<Result>
  /** Writes a result to disk and returns the number of bytes. */
  finish(block: PendingBlock, computing: Computing): Promise<number>
}

/** Limit of unfinished products on the device: two, so that a GPU starts the next product without waiting. */
const STEPS_AT_ONCE = 2

export class Batch {
  readonly #reading: ReadAhead
  readonly #results: Results
  readonly #listener: JobListener
  /** Aborts the concurrent work if one part of it fails. */
  readonly #stop = new AbortController()
  readonly #computing: Computing
  readonly #unfinished: Promise<void>[] = []
  readonly #behind = new Set<Promise<void>>()
  #failure: { error: unknown } | undefined
  /** Index of the next operand that a step takes, among all operands that are read. */
  #operand = 0
  /** Milliseconds that products waited for reads of blocks and for writes of results. */
  readMs = 0
  writeMs = 0

  constructor(device: Device, reading: ReadAhead, results: Results, listener: JobListener) {
    this.#computing = { device, signal: this.#stop.signal }
    this.#reading = reading
    this.#results = results
    this.#listener = listener
  }

  /** Runs all tasks and reads their blocks ahead; may be called once. Throws the first error. */
  async run(tasks: readonly Task[], signal: AbortSignal | undefined): Promise<void> {
    const stop = () => this.#stop.abort(signal?.reason)
    const forget = signal && onAbort(signal, stop)
    if (signal?.aborted) stop()
    for (const task of tasks) {
      if (this.#isStopped) break
      await this.#compute(task).catch(this.#failed)
    }
    await Promise.all(this.#behind)
    forget?.()
    await this.#reading.end()
    const failure = this.#failure
    if (signal?.aborted && (!failure || failure.error instanceof AbortedError)) {
      throw aborted(signal, WORK)
    }
    if (failure) throw failure.error
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted
  }

  readonly #failed = (error: unknown) => {
    this.#failure ??= { error }
    this.#stop.abort(error)
  }

  /**
   * Starts the steps of a task. Its result is written after the last step, while the next task is computed.
   */
  async #compute(task: Task): Promise<void> {
    const waitStart = performance.now()
    const memory = await this.#results.memory.take()
    this.writeMs += performance.now() - waitStart
    const [rows, cols] = [lengthOf(task.rows), lengthOf(task.cols)]
    // A view owns no memory.
    const out = memory.view({ rows: [0, rows], cols: [0, cols] }) as Result
    const block: PendingBlock = { task, out, steps: [], kernelMs: 0, overflow: null }
    try {
      for (let index = 0; index < task.steps.length && !this.#isStopped; index++) {
        await this.#start(block, index)
      }
    } catch (error) {
      this.#failed(error)
    }
    const settled = Promise.all(block.steps)
      .then(() => this.#write(block))
      .catch(this.#failed)
      .then(() => {
        out.dispose()
        this.#results.memory.give(memory)
      })
    this.#behind.add(settled)
    settled.then(() => this.#behind.delete(settled))
  }

  /** Starts a step once its operands are in memory and the device has room for it. */
  async #start(block: PendingBlock, index: number): Promise<void> {
    const { task, out } = block
    const operands = task.steps[index]!.map((_, at) => this.#operand + at)
    this.#operand += operands.length
    const waitStart = performance.now()
    const matrices = await Promise.all(operands.map((operand) => this.#reading.take(operand)))
    this.readMs += performance.now() - waitStart
    while (this.#unfinished.length >= STEPS_AT_ONCE) await this.#unfinished.shift()
    if (this.#isStopped) return
    const step = async () => {
      try {
        // The sum isn't one statement with the await, because concurrent steps add to it meanwhile.
        const kernelMs = await task.step(index, matrices, out, this.#computing)
        block.kernelMs += kernelMs
      } catch (error) {
        if (!(error instanceof OverflowError && task.exactly)) throw error
        block.overflow ??= error
      } finally {
        for (const operand of operands) this.#reading.done(operand)
      }
      this.#listener.began?.((index + 1) / task.steps.length)
    }
    const started = step().catch(this.#failed)
    this.#unfinished.push(started)
    block.steps.push(started)
  }

  async #write(block: PendingBlock): Promise<void> {
    if (this.#isStopped) return
    const bytesWritten = await this.#results.finish(block, this.#computing)
    this.#listener.done({ job: block.task.job, kernelMs: block.kernelMs, bytesWritten })
  }
}
