/**
 * A worker: takes jobs from the queue and computes their blocks. Two workers may get the same job, which is
 * harmless because blocks are written atomically.
 */

import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { onAbort, raceWithAbort } from '../abort.js'
import { assertRoot } from '../arrays/allowed-roots.js'
import type { BlockPlan } from '../arrays/job.js'
import {
  ALL_DEVICES,
  AUTO,
  assertDevicesOnly,
  CPU,
  CUDA,
  devicesIn,
  type Where,
  withoutWebGpu,
} from '../backend.js'
import type { BackendName } from '../backend-name.js'
import { AbortedError, NoCudaError } from '../errors.js'
import { info } from '../info.js'
import { Options, type ReadOf, UNSET } from '../options.js'
import { atMost, type Connection, connect, unusable } from './connect.js'
import { type QueueWorkerOptions, type WorkerEvent, workerSet } from './options.js'
import { readPlan } from './read.js'
import { isFinal, reasonText } from './reasons.js'
import {
  FAILURES,
  type Failure,
  isJobData,
  type JobData,
  keysOf,
  PREFIX,
  type Report,
  WEEK_S,
  type WorkerRecord,
} from './records.js'
import { blockRunner, type Computer, type Runner } from './runner.js'

/** A running worker. */
export interface QueueWorker {
  /** Its name in the queue: host, process and some letters. */
  readonly id: string
  /** Backend that it uses. */
  readonly backend: BackendName
  /** The GPUs that it uses; empty on the CPU. */
  readonly devices: readonly number[]
  /** Number of blocks that it computes at once. */
  readonly concurrency: number
  /** Number of blocks that it has completed. */
  readonly blocks: number
  /** Stops the worker: returns its blocks to the queue, and disconnects. */
  stop(): Promise<void>
  /**
   * Resolves when the worker has stopped. An exception of `onEvent` stops the worker, and rejects this
   * promise.
   */
  readonly stopped: Promise<void>
}

const workerOptions = new Options(workerSet)

/** Timeout for cancelling a block and reporting that to Redis. */
const FAREWELL_MS = 5000

/** Returns the indices of the requested GPUs; none for the CPU. */
function findDevices({ backend: requested, devices }: Pick<Where, 'backend' | 'devices'>): number[] {
  const backend = requested === AUTO ? AUTO : withoutWebGpu(requested, 'jobs of a queue')
  if (backend === CPU) return []
  const isList = devices !== 0 && devices !== ALL_DEVICES
  const { cuda, auto } = info()
  if (cuda.reason !== '') {
    if (backend === CUDA || isList) throw new NoCudaError(cuda.reason)
    return []
  }
  if (backend === AUTO && auto.backend === 'cpu' && !isList) return []
  if (!isList) return cuda.devices.map((_, index) => index)
  const request = devicesIn(devices)
  const missing = request.find((index) => index >= cuda.devices.length)
  if (missing === undefined) return request
  throw new NoCudaError(`there is no GPU ${missing}: this machine has ${cuda.devices.length}, from 0`)
}

/**
 * Starts a worker, which takes block jobs from a queue and computes them until it is stopped. Any number of
 * workers, on any number of machines, may share a queue. While the connection is lost the worker waits and
 * reconnects.
 *
 * Clients with write access to the queue decide which files a worker reads and writes, but only below its
 * `roots`.
 *
 * @throws Rejects with an {@link MpmmlError}: ERR_MPMML_OPTION; ERR_MPMML_PACKAGE if bullmq or ioredis is
 * missing; ERR_MPMML_QUEUE if the queue can't be reached, or rejects user or password; ERR_MPMML_NO_CUDA if a
 * requested GPU doesn't exist; AbortedError if the signal is aborted before the worker has started. Later errors are events: `onEvent`.
 * @example
 * ```ts
 * const worker = await startWorker({ queue: 'redis://127.0.0.1:6379', roots: ['.'], backend: 'cpu' })
 * process.once('SIGTERM', () => worker.stop())
 * console.log(worker.backend, worker.concurrency) // cpu 2
 * await worker.stop()
 * ```
 */
export function startWorker(options: QueueWorkerOptions): Promise<QueueWorker> {
  return startWorkerWith(options, blockRunner)
}

export async function startWorkerWith(options: QueueWorkerOptions, runner: Runner): Promise<QueueWorker> {
  const settings = workerOptions.read(options)
  const { roots, signal } = settings
  assertDevicesOnly({ ...settings, device: UNSET })
  // Checked once at the start, because otherwise a missing folder or a wrong key would fail every block.
  await Promise.all(roots.map((root) => assertRoot(root, signal)))
  const worker = new Worker(settings, findDevices(settings), runner)
  await worker.start()
  const stop = () => void worker.stop().catch(() => {})
  if (signal) {
    if (signal.aborted) stop()
    const forget = onAbort(signal, stop)
    worker.stopped.then(forget, forget)
  }
  return worker
}

type Settings = Readonly<ReadOf<typeof workerOptions>>

/** Device that computes blocks one after the other. */
interface JobPlacement {
  /** The index of a GPU; null for the CPU. */
  readonly device: number | null
  readonly computer: Computer
}

class Worker implements QueueWorker {
  readonly id = `${hostname()}-${process.pid}-${randomBytes(2).toString('hex')}`
  readonly backend: BackendName
  readonly devices: readonly number[]
  readonly concurrency: number
  readonly stopped: Promise<void>
  readonly #settings: Settings
  readonly #keys
  #connection!: Connection
  /** Free slots for blocks: each GPU, or the CPU, has one slot per concurrent block. */
  readonly #free: JobPlacement[]
  readonly #plans = new Map<string, Promise<BlockPlan>>()
  readonly #now = new Set<string>()
  #done = 0
  #failed = 0
  #bull!: import('bullmq').Worker<JobData, null>
  #beats: NodeJS.Timeout | undefined
  #isStopping = false
  #hasStopped!: { resolve: () => void; reject: (error: unknown) => void }
  /** Exception of the listener. */
  #thrown: { error: unknown } | undefined

  constructor(settings: Settings, devices: readonly number[], runner: Runner) {
    const { concurrency, name } = settings
    this.#settings = settings
    this.backend = devices.length > 0 ? 'cuda' : 'cpu'
    this.devices = devices
    const slots = devices.length > 0 ? devices : [null]
    // The slots alternate between the GPUs.
    this.#free = Array.from({ length: concurrency }, () =>
      slots.map((device) => ({ device, computer: runner.computer() })),
    ).flat()
    this.concurrency = this.#free.length
    this.#keys = keysOf(name)
    this.stopped = new Promise((resolve, reject) => {
      this.#hasStopped = { resolve, reject }
    })
  }

  get blocks(): number {
    return this.#done
  }

  async start(): Promise<void> {
    const { queue, signal } = this.#settings
    const events = {
      onLost: (reason: string) => this.notify({ type: 'lost', reason }),
      onBack: () => this.notify({ type: 'back' }),
    }
    this.#connection = await connect(queue, events, { signal })
    try {
      await raceWithAbort(this.#begin(), signal)
    } catch (error) {
      const force = true
      this.#bull?.close(force).catch(() => {})
      this.#connection.close()
      throw error instanceof AbortedError ? error : unusable(this.#connection.address, error)
    }
  }

  async #begin(): Promise<void> {
    const { redis, packages } = this.#connection
    const { name, lockDuration, maxStalledCount } = this.#settings
    this.#bull = new packages.bull.Worker<JobData, null>(
      name,
      (job, token, signal) => this.#work(job, token, signal ?? new AbortController().signal),
      {
        connection: redis,
        prefix: PREFIX,
        name: this.id,
        concurrency: this.concurrency,
        lockDuration,
        stalledInterval: lockDuration / 2,
        maxStalledCount,
        runRetryDelay: 1000,
      },
    )
    // Failed jobs are reported below. A lost lock is handled where its block is computed.
    this.#bull.on('error', () => {})
    this.#bull.on('lockRenewalFailed', (ids) => {
      for (const id of ids) this.#bull.cancelJob(id, 'taken over')
    })
    this.#bull.on('failed', (job, error) => {
      if (job) void this.#reportFailure(job, error)
    })
    await this.#bull.waitUntilReady()
    await this.#beat()
    this.#beats = setInterval(() => void this.#beat().catch(() => {}), Math.min(2000, lockDuration / 3))
  }

  /** Refreshes this worker's record in the queue. */
  async #beat(): Promise<void> {
    const record: WorkerRecord = {
      id: this.id,
      host: hostname(),
      pid: process.pid,
      backend: this.backend,
      devices: this.devices,
      concurrency: this.concurrency,
      blocks: this.#done,
      failed: this.#failed,
      now: [...this.#now],
    }
    await this.#connection.redis
      .multi()
      .set(this.#keys.worker(this.id), JSON.stringify(record), 'PX', this.#settings.lockDuration)
      .sadd(this.#keys.workers, this.id)
      .exec()
  }

  /** A plan is read once for all of its blocks. */
  #plan(id: string): Promise<BlockPlan> {
    let plan = this.#plans.get(id)
    if (!plan) {
      plan = readPlan(this.#connection, this.#keys, id)
      plan.catch(() => this.#plans.delete(id))
      this.#plans.set(id, plan)
      const [oldest] = this.#plans.keys()
      if (this.#plans.size > 16) this.#plans.delete(oldest!)
    }
    return plan
  }

  async #work(
    job: import('bullmq').Job<JobData, null>,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<null> {
    const { UnrecoverableError, WaitingError } = this.#connection.packages.bull
    const { roots, memory } = this.#settings
    if (!isJobData(job.data)) throw new UnrecoverableError(`the job ${job.id} of the queue is not a block`)
    const { plan: id, name, stage } = job.data
    // BullMQ delivers at most as many jobs at once as slots exist.
    const slot = this.#free.shift()!
    const { device, computer } = slot
    this.#now.add(name)
    this.notify({ type: 'begun', plan: id, job: name })
    try {
      const result = await computer.runBlock(
        await this.#plan(id),
        { name, stage },
        {
          signal,
          roots,
          ...(device === null ? { backend: 'cpu' } : { backend: 'cuda', device }),
          ...(memory !== undefined && { memory }),
        },
      )
      this.#done++
      const { already, timing } = result
      // Not awaited: on this connection the report precedes BullMQ's own update of the job.
      this.#report(id, { done: { job: name, worker: this.id, already, ...timing } }).catch(() => {})
      this.notify({ type: 'done', plan: id, ...result })
      return null
    } catch (error) {
      if (signal.aborted) {
        this.notify({ type: 'abandoned', plan: id, job: name })
        if (this.#isStopping) {
          await job.moveToWait(token)
          throw new WaitingError()
        }
        throw error
      }
      throw isFinal(error) ? new UnrecoverableError(reasonText(error)) : new Error(reasonText(error))
    } finally {
      this.#free.push(slot)
      this.#now.delete(name)
      if (this.#isStopping) await computer.close()
    }
  }

  async #report(plan: string, report: Report): Promise<void> {
    await this.#connection.redis
      .multi()
      .rpush(this.#keys.reports(plan), JSON.stringify(report))
      .expire(this.#keys.reports(plan), WEEK_S)
      .exec()
  }

  async #reportFailure(job: import('bullmq').Job<JobData, null>, error: Error): Promise<void> {
    this.#failed++
    const isBlock = isJobData(job.data)
    const { plan, name } = isBlock ? job.data : { plan: '', name: `${job.id}` }
    const failure: Failure = {
      job: name,
      worker: this.id,
      attempt: job.attemptsMade,
      final: job.finishedOn !== undefined,
      reason: error.message,
    }
    this.notify({ type: 'failed', plan, ...failure })
    if (!isBlock) return
    await this.#connection.redis
      .multi()
      .lpush(this.#keys.failures(plan), JSON.stringify(failure))
      .ltrim(this.#keys.failures(plan), 0, FAILURES - 1)
      .expire(this.#keys.failures(plan), WEEK_S)
      .exec()
      .catch(() => {})
    await this.#report(plan, { failure }).catch(() => {})
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return this.stopped
    this.#isStopping = true
    clearInterval(this.#beats)
    await atMost(FAREWELL_MS, this.#farewell())
    // Computers in use close themselves.
    await Promise.allSettled(this.#free.map(({ computer }) => computer.close()))
    this.#connection.close()
    if (this.#thrown) this.#hasStopped.reject(this.#thrown.error)
    else this.#hasStopped.resolve()
    return this.stopped
  }

  notify(event: WorkerEvent): void {
    try {
      this.#settings.onEvent?.(event)
    } catch (error) {
      this.#thrown ??= { error }
      this.stop().catch(() => {})
    }
  }

  async #farewell(): Promise<void> {
    if (this.#connection.lostMs() > 0) {
      // The queue can't be reached. Without "force" BullMQ would wait for answers.
      const force = true
      await this.#bull.pause(force)
      this.#bull.cancelAllJobs('the worker stops')
      await this.#bull.close(force)
      return
    }
    // From here on the worker takes no more jobs.
    const closing = this.#bull.close()
    this.#bull.cancelAllJobs('the worker stops')
    await closing
    const { redis } = this.#connection
    await redis.multi().del(this.#keys.worker(this.id)).srem(this.#keys.workers, this.id).exec()
  }
}
