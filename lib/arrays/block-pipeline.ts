/** Computes blocks: reads operands ahead, multiplies, and writes results in the background. */

import type { BackendName } from '../backend-name.js'
import { zeroOf } from '../built-in-semirings.js'
import type { Device } from '../device/device.js'
import { pinnedBytes } from '../device/pinned.js'
import { bytesOfStored } from '../elements.js'
import { OptionError, OutOfMemoryError } from '../errors.js'
import { availableMemory } from '../free-memory.js'
import { allocate } from '../matrix.js'
import { addon } from '../native.js'
import type { ElementArray } from '../storage.js'
import { type ArraySource, elementsIn } from './array-source.js'
import { extraBytes } from './array-writer.js'
import { Batch, type JobListener, type JobRunner, type PendingBlock, type Results } from './batch.js'
import {
  fixedBytes,
  kib,
  MIN_CACHED,
  packedBytes,
  READ_BUFFERS,
  RESULTS,
  WRITE_BUFFERS,
} from './block-size.js'
import { inputChanged } from './disk.js'
import type { BlockJob, BlockPlan, PlannedInput } from './job.js'
import { blocksIn } from './job.js'
import {
  type Computing,
  lengthOf,
  multiplyTask,
  pathsTask,
  type Result,
  type Task,
  typesOf,
} from './job-tasks.js'
import { Journal } from './journal.js'
import { Pool } from './pool.js'
import { type Operand, ReadAhead } from './read-ahead.js'
import { openSource } from './source.js'

/** Memory limits for the computation of blocks. */
interface EngineOptions {
  /** Host memory in bytes; undefined for the need of one job. */
  readonly memory: number | undefined
  /** Limit in bytes; undefined for most of the free memory. */
  readonly deviceMemory?: number | undefined
  /** Aborts requests to the storage. */
  readonly signal: AbortSignal | undefined
}

/** Share of a GPU's free memory that is used. CUDA and other programs need the rest. */
const DEVICE_SHARE = 0.85

/** Limit of the block uses that are planned at a time: each takes a few bytes in lists. */
const MAX_USES = 2 ** 20

/** Computes jobs of one plan on one device. */
export class Engine implements JobRunner {
  readonly plan: BlockPlan
  readonly journal: Journal
  readonly #device: Device
  readonly #sources: { a: ArraySource; b: ArraySource | undefined }
  readonly #readBuffers: Uint8Array[]
  readonly #writeBuffers: Pool<Uint8Array>
  readonly #results: Results
  readonly #onGpu: boolean
  /** Bytes of blocks on the device. */
  readonly room: number
  bytesRead = 0
  /** Bytes of buffers, codecs and products. The memory of codecs and products is counted by its upper bound. */
  #bufferBytes = 0
  /** Peak of the host memory of cached operands in bytes. */
  #cachedBytes = 0
  /** Milliseconds that products waited for reads of blocks and for writes of results. */
  readMs = 0
  writeMs = 0

  private constructor(
    plan: BlockPlan,
    device: Device,
    sources: { a: ArraySource; b: ArraySource | undefined },
    options: EngineOptions,
  ) {
    this.plan = plan
    this.journal = new Journal(plan, options.signal)
    this.#device = device
    this.#sources = sources
    const sizes = sizesOf(plan)
    const { operand, result } = sizes
    const onGpu = device.backend === 'cuda'
    this.#onGpu = onGpu
    const extra = extraBytes(plan.output) + sources.a.extraBytes + (sources.b?.extraBytes ?? 0)
    const { memory } = options
    if (onGpu) this.room = roomOnGpu(device, options.deviceMemory, sizes)
    else this.room = memory === undefined ? MIN_CACHED * operand : memory - extra - sizes.fixed
    const least = (plan.kind === 'multiply' ? 2 : 3) * operand
    const buffers = extra + READ_BUFFERS * operand + WRITE_BUFFERS * result
    if (onGpu && memory !== undefined && memory < buffers) throw tooLittle('memory', buffers)
    if (this.room < least) {
      throw onGpu
        ? tooLittle('deviceMemory', 2 * (least + operand) + RESULTS * result)
        : tooLittle('memory', extra + sizes.fixed + least)
    }
    assertMemory(onGpu ? buffers : extra + sizes.fixed + least)
    this.#bufferBytes = extra + (onGpu ? 0 : RESULTS * result + sizes.packed)
    this.#readBuffers = Array.from({ length: READ_BUFFERS }, () => this.#newBuffer(operand))
    this.#writeBuffers = new Pool(WRITE_BUFFERS, () => this.#newBuffer(result))
    const type = typesOf(plan).result as 'int32'
    this.#results = {
      memory: new Pool<Result>(
        RESULTS,
        async () => (await device.full(sizes.shape, zeroOf(plan.semiring, type), type)) as Result,
      ),
      finish: (block, computing) => this.#finish(block, computing),
    }
  }

  #newBuffer(bytes: number): Uint8Array {
    this.#bufferBytes += bytes
    if (this.#onGpu) return pinnedBytes(bytes)
    return allocate(bytes, 'a block', addon.dataTypes.indexOf('uint8'), undefined, SMALLER) as Uint8Array
  }

  /** The engine owns the device, and closes it. */
  static async open(plan: BlockPlan, device: Promise<Device>, options: EngineOptions): Promise<Engine> {
    const opened = await device
    try {
      const a = await openPlanned(plan.a, options.signal)
      const b = plan.kind === 'multiply' ? await openPlanned(plan.b, options.signal) : undefined
      return new Engine(plan, opened, { a, b }, options)
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  get backend(): BackendName {
    return this.#device.backend
  }

  get deviceName(): string {
    return this.#device.name
  }

  close(): Promise<void> {
    return this.#device.close()
  }

  async run(jobs: Iterable<BlockJob>, signal: AbortSignal | undefined, listener: JobListener): Promise<void> {
    let batch: Task[] = []
    let uses = 0
    for (const job of jobs) {
      const task = this.#task(job)
      batch.push(task)
      for (const step of task.steps) uses += step.length
      if (uses < MAX_USES) continue
      await this.#runBatch(batch, signal, listener)
      batch = []
      uses = 0
    }
    if (batch.length > 0) await this.#runBatch(batch, signal, listener)
  }

  #task(job: BlockJob): Task {
    const { plan, journal } = this
    return plan.kind === 'multiply'
      ? multiplyTask(plan, journal, this.#sources, job)
      : pathsTask(plan, journal, this.#sources, job)
  }

  async #runBatch(
    tasks: readonly Task[],
    signal: AbortSignal | undefined,
    listener: JobListener,
  ): Promise<void> {
    const operands: Operand[] = tasks.flatMap(({ steps }) => steps.flat())
    const reading = new ReadAhead(this.#device, operands, this.#readBuffers, this.room)
    const batch = new Batch(this.#device, reading, this.#results, listener)
    try {
      await batch.run(tasks, signal)
    } finally {
      this.readMs += batch.readMs
      this.writeMs += batch.writeMs
      this.bytesRead += reading.bytesRead
      // The memory of a GPU isn't host memory.
      if (!this.#onGpu) this.#cachedBytes = Math.max(this.#cachedBytes, reading.peakBytes)
    }
  }

  /** Writes a result to disk. */
  async #finish(block: PendingBlock, computing: Computing): Promise<number> {
    const { task, out, overflow } = block
    const buffer = await this.#writeBuffers.take()
    try {
      const shape: [number, number] = [lengthOf(task.rows), lengthOf(task.cols)]
      const data = elementsIn(buffer, typesOf(this.plan).result, shape[0] * shape[1]) as ElementArray
      if (overflow) {
        const kernelMs = await task.exactly!(computing, data as Int32Array)
        block.kernelMs += kernelMs
      } else await out.download({ data, shape })
      const written = await task.write(data)
      await this.journal.mark(task.job)
      return written
    } finally {
      this.#writeBuffers.give(buffer)
    }
  }

  get peakBytes(): number {
    return this.#bufferBytes + this.#cachedBytes
  }

  get rowsTogether(): number {
    if (this.plan.kind !== 'multiply') return 1
    const { block, a, b } = this.plan
    const deep = blocksIn(a.shape[1], block.depth)
    const blockOfA = block.rows * block.depth * bytesOfStored(a.dtype)
    const blockOfB = block.depth * block.cols * bytesOfStored(b.dtype)
    // Two more blocks are read ahead.
    const rest = this.room - (deep + 2) * blockOfB
    return Math.max(1, Math.floor(rest / Math.max(1, deep * blockOfA)))
  }
}

/** Opens an input and compares its shape and type with the plan, because all sizes follow from them. */
async function openPlanned(planned: PlannedInput, signal: AbortSignal | undefined): Promise<ArraySource> {
  const source = await openSource(planned.path, signal)
  const { path, shape, dtype } = source
  if (`${shape}` === `${planned.shape}` && dtype === planned.dtype) return source
  throw inputChanged(path, `: it was ${planned.dtype} of [${planned.shape}], and is ${dtype} of [${shape}]`)
}

const SMALLER = 'begin again with less memory in the plan, so that blocks are smaller'

/**
 * Throws if the minimum memory of a plan isn't available: the plan may come from a machine with more memory.
 */
function assertMemory(least: number): void {
  const available = availableMemory()
  if (least <= available) return
  throw new OutOfMemoryError(
    `blocks of this plan take ${kib(least)}, but ${kib(available)} are available: ${SMALLER}`,
  )
}

const tooLittle = (option: string, least: number) =>
  new OptionError(
    `option ${option} must be at least ${kib(least)} for blocks of this size: ` +
      'give more, or begin again with less memory in the plan, so that blocks are smaller',
  )

interface Sizes {
  /** Shape of the largest block of a result. */
  readonly shape: [number, number]
  /** Bytes of the largest block of an operand. */
  readonly operand: number
  readonly result: number
  /** Bytes that a product on the CPU packs. */
  readonly packed: number
  /** Bytes of all buffers except the operands on the device. */
  readonly fixed: number
}

function sizesOf(plan: BlockPlan): Sizes {
  const { operand, result } = typesOf(plan)
  const [a, c] = [bytesOfStored(operand), bytesOfStored(result)]
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
    shape: [tall, wide],
    operand: most * a,
    result: tall * wide * c,
    packed: largest * packedBytes(c),
    fixed: largest * fixedBytes(a, c),
  }
}

/** Returns half of the available bytes, because products also cache packed forms of blocks. */
function roomOnGpu(device: Device, limit: number | undefined, { operand, result }: Sizes): number {
  const most = Math.min(limit ?? Number.POSITIVE_INFINITY, device.memory().free * DEVICE_SHARE)
  return (most - RESULTS * result) / 2 - operand
}
