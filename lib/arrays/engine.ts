/** Computes blocks: reads ahead, multiplies, and writes behind. */
import { aborted } from '../abort.js'
import { type Device, openDevice } from '../device/device.js'
import { pinnedInt32Array } from '../device/pinned.js'
import { AbortedError, OptionError, OverflowError } from '../errors.js'
import type { BackendChoice } from '../product/options.js'
import { zeroOf } from '../semirings.js'
import type { ElementArray } from '../storage.js'
import { fixedBytes, LEAST_CACHED, packedBytes, READ_BUFFERS, RESULTS, WRITE_BUFFERS } from './block-size.js'
import { Budget, Pool } from './budget.js'
import type { BlockJob, BlockPlan } from './job.js'
import { blocksIn } from './job.js'
import { type Operand, ReadAhead } from './read-ahead.js'
import { type ArraySource, elementsIn, openSource } from './source.js'
import { extraBytes } from './target.js'
import { lengthOf, multiplyTask, pathsTask, type Result, type Task, typesOf } from './tasks.js'
import { WorkFolder } from './work-folder.js'
import { bytesOfType } from './zarr-metadata.js'

/** Where blocks are computed, and in how much memory. */
export interface EngineOptions {
  readonly backend?: BackendChoice | undefined
  readonly device?: number | undefined
  /** Bytes; undefined for what one job needs. */
  readonly memory: number | undefined
  /** Bytes; undefined for most of what is free. */
  readonly deviceMemory?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** What became of a block. */
export interface BlockDone {
  readonly job: BlockJob
  readonly kernelMs: number
  readonly bytesWritten: number
}

/** The share of a GPU's free memory that is taken. The rest is for what CUDA and other programs need. */
const DEVICE_SHARE = 0.85

/** Uses of blocks that are planned at once: the lists of them take a few bytes each. */
const MOST_USES = 2 ** 20

/** Computes jobs of one plan on one device. */
export class Engine {
  readonly plan: BlockPlan
  readonly work: WorkFolder
  readonly budget = new Budget()
  readonly #device: Device
  readonly #sources: { a: ArraySource; b: ArraySource | undefined }
  readonly #readBuffers: Uint8Array[]
  readonly #writeBuffers: Pool<Uint8Array>
  /** Bytes of blocks on the device. */
  readonly room: number
  bytesRead = 0
  /** How long products waited for blocks to be read, and for results to be written. */
  readMs = 0
  writeMs = 0

  private constructor(
    plan: BlockPlan,
    device: Device,
    sources: { a: ArraySource; b: ArraySource | undefined },
    options: EngineOptions,
  ) {
    this.plan = plan
    this.work = new WorkFolder(plan.output.path, plan.id)
    this.#device = device
    this.#sources = sources
    const sizes = sizesOf(plan)
    const { operand, result } = sizes
    const onGpu = device.backend === 'cuda'
    const newBuffer = (bytes: number) => {
      this.budget.take(bytes)
      if (onGpu) return new Uint8Array(pinnedInt32Array(Math.ceil(bytes / 4)).buffer, 0, bytes)
      return new Uint8Array(bytes)
    }
    const extra = extraBytes(plan.output) + sources.a.extraBytes + (sources.b?.extraBytes ?? 0)
    const { memory } = options
    if (onGpu) this.room = roomOnGpu(device, options.deviceMemory, sizes)
    else this.room = memory === undefined ? LEAST_CACHED * operand : memory - extra - sizes.fixed
    if (this.room < 2 * operand) {
      const needed = onGpu ? 2 * (2 * operand + 2 * result) : extra + sizes.fixed + 2 * operand
      throw new OptionError(
        `option ${onGpu ? 'deviceMemory' : 'memory'} must be at least ${Math.ceil(needed / 2 ** 20)} MiB for blocks of this size: ` +
          'give more, or begin again with less memory in the plan, so that blocks are smaller',
      )
    }
    // What codecs and the CPU's products take is their most, and not measured.
    this.budget.take(extra + (onGpu ? 0 : RESULTS * result + sizes.packed))
    this.#readBuffers = Array.from({ length: READ_BUFFERS }, () => newBuffer(operand))
    this.#writeBuffers = new Pool(Array.from({ length: WRITE_BUFFERS }, () => newBuffer(result)))
  }

  static async open(plan: BlockPlan, options: EngineOptions): Promise<Engine> {
    const a = await openSource(plan.a.path)
    const b = plan.kind === 'multiply' ? await openSource(plan.b.path) : undefined
    const { backend, device } = options
    const opened = await openDevice({ backend, device })
    try {
      return new Engine(plan, opened, { a, b }, options)
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  get backend(): 'cuda' | 'cpu' {
    return this.#device.backend
  }

  get deviceName(): string {
    return this.#device.name
  }

  close(): Promise<void> {
    return this.#device.close()
  }

  /** Does jobs of one stage; tells of each when it is on the disk. */
  async run(
    jobs: Iterable<BlockJob>,
    signal: AbortSignal | undefined,
    done: (block: BlockDone) => void,
    began?: (share: number) => void,
  ): Promise<void> {
    let batch: Task[] = []
    let uses = 0
    for (const job of jobs) {
      const task = this.#task(job)
      batch.push(task)
      for (const step of task.steps) uses += step.length
      if (uses < MOST_USES) continue
      await this.#runBatch(batch, signal, done, began)
      batch = []
      uses = 0
    }
    if (batch.length > 0) await this.#runBatch(batch, signal, done, began)
  }

  #task(job: BlockJob): Task {
    const { plan, work } = this
    return plan.kind === 'multiply'
      ? multiplyTask(plan, work, this.#sources, job)
      : pathsTask(plan, work, this.#sources, job)
  }

  async #runBatch(
    tasks: readonly Task[],
    signal: AbortSignal | undefined,
    done: (block: BlockDone) => void,
    began: ((share: number) => void) | undefined,
  ): Promise<void> {
    const operands: Operand[] = tasks.flatMap(({ steps }) => steps.flat())
    const reading = new ReadAhead(this.#device, operands, this.#readBuffers, this.room, this.budget)
    // What fails while other work goes on ends that too.
    const stop = new AbortController()
    const stopped = () => stop.abort(signal?.reason)
    signal?.addEventListener('abort', stopped, { once: true })
    if (signal?.aborted) stopped()
    const results = new Pool(Array.from({ length: RESULTS }, (_, index) => index))
    const behind = new Set<Promise<void>>()
    let failure: { error: unknown } | undefined
    const failed = (error: unknown) => {
      failure ??= { error }
      stop.abort(error)
    }
    let use = 0
    try {
      for (const task of tasks) {
        const waited = performance.now()
        const place = await results.take()
        this.writeMs += performance.now() - waited
        if (stop.signal.aborted) break
        let kernelMs = 0
        const computing = {
          device: this.#device,
          signal: stop.signal,
          spent: (ms: number) => {
            kernelMs += ms
          },
        }
        let c: Result | null = null
        let overflowed: OverflowError | null = null
        for (const [index, step] of task.steps.entries()) {
          const first = use
          const asked = performance.now()
          const matrices = await Promise.all(step.map((_, at) => reading.take(first + at)))
          this.readMs += performance.now() - asked
          if (!overflowed && !stop.signal.aborted) {
            try {
              c = await task.step(index, matrices, c, computing)
            } catch (error) {
              c?.dispose()
              c = null
              if (!(error instanceof OverflowError) || !task.exactly) throw error
              overflowed = error
            }
          }
          use += step.length
          for (let at = first; at < use; at++) reading.done(at)
          began?.((index + 1) / task.steps.length)
        }
        if (stop.signal.aborted) {
          c?.dispose()
          break
        }
        const finished = this.#finish(task, c, computing).then((bytesWritten) => {
          results.give(place)
          done({ job: task.job, kernelMs, bytesWritten })
        })
        const settled = finished.catch((error) => {
          failed(error)
          // Who waits for a place must see that it is over.
          results.give(place)
        })
        behind.add(settled)
        settled.finally(() => behind.delete(settled))
      }
    } catch (error) {
      failed(error)
    }
    await Promise.all(behind)
    signal?.removeEventListener('abort', stopped)
    await reading.end()
    this.bytesRead += reading.bytesRead
    if (signal?.aborted && (!failure || failure.error instanceof AbortedError))
      throw aborted(signal, 'the work on arrays')
    if (failure) throw failure.error
  }

  /** Brings a result to the disk. */
  async #finish(
    task: Task,
    c: Result | null,
    computing: Parameters<NonNullable<Task['exactly']>>[0],
  ): Promise<number> {
    const buffer = await this.#writeBuffers.take()
    try {
      const shape: [number, number] = [lengthOf(task.rows), lengthOf(task.cols)]
      const data = elementsIn(buffer, typesOf(this.plan).result, shape[0] * shape[1]) as ElementArray
      if (c) {
        await c.download({ data, shape })
        c.dispose()
      } else if (task.steps.length === 0) {
        data.fill(this.#zero())
      } else {
        await task.exactly!(computing, data as Int32Array)
      }
      const written = await task.write(data)
      await this.work.mark(this.plan, task.job)
      return written
    } finally {
      c?.dispose()
      this.#writeBuffers.give(buffer)
    }
  }

  #zero(): number {
    return zeroOf(this.plan.semiring, typesOf(this.plan).result as 'int32')
  }

  /** How many rows of blocks are computed for each column of blocks of B, so that it is read once for all of them. */
  rowsTogether(): number {
    if (this.plan.kind !== 'multiply') return 1
    const { block, a, b } = this.plan
    const deep = blocksIn(a.shape[1], block.depth)
    const blockOfA = block.rows * block.depth * bytesOfType[a.dtype]
    const blockOfB = block.depth * block.cols * bytesOfType[b.dtype]
    // Two blocks more, which are read ahead.
    const rest = this.room - (deep + 2) * blockOfB
    return Math.max(1, Math.floor(rest / Math.max(1, deep * blockOfA)))
  }
}

interface Sizes {
  /** Bytes of the largest block of an operand. */
  readonly operand: number
  readonly result: number
  /** What a product on the CPU packs. */
  readonly packed: number
  /** All but the operands on the device. */
  readonly fixed: number
}

function sizesOf(plan: BlockPlan): Sizes {
  const { operand, result } = typesOf(plan)
  const [a, c] = [bytesOfType[operand], bytesOfType[result]]
  const [rows, cols, depth] =
    plan.kind === 'multiply'
      ? [plan.block.rows, plan.block.cols, plan.block.depth]
      : [plan.block.size, plan.block.size, plan.block.size]
  const [m, n] = plan.output.shape
  const k = plan.a.shape[1]
  const [tall, wide, deep] = [Math.min(rows, m), Math.min(cols, n), Math.min(depth, k)]
  const most = Math.max(tall * deep, deep * wide)
  const largest = Math.max(most, tall * wide)
  return {
    operand: most * a,
    result: tall * wide * c,
    packed: largest * packedBytes(c),
    fixed: largest * fixedBytes(a, c),
  }
}

/** Half of what may be taken, because products keep packed forms of blocks too. */
function roomOnGpu(device: Device, limit: number | undefined, { operand, result }: Sizes): number {
  const most = Math.min(limit ?? Number.POSITIVE_INFINITY, device.memory().free * DEVICE_SHARE)
  return (most - RESULTS * result) / 2 - operand
}
