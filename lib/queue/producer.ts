/**
 * The producer: adds the jobs of a plan to the queue, a limited number at a time, and follows them. The
 * storage decides which jobs are done; the queue only says when to check. Jobs that Redis has lost are added
 * again, unless their block exists.
 *
 * BullMQ's QueueEvents isn't used: its stream has four entries per job of any plan, is truncated at about 10
 * 000, needs a separate connection, and reports neither the worker nor the reason of a retried attempt.
 * FlowProducer adds all jobs of a flow at once, and a plan can have millions.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { aborted, onAbort, raceWithAbort, signal, throwIfAborted } from '../abort.js'
import { atOnce } from '../arrays/disk.js'
import { type BlockJob, type BlockPlan, undoneJobs } from '../arrays/job.js'
import { QueueError } from '../errors.js'
import { listener, Options, type OptionsOf, type ReadOf } from '../options.js'
import type { Progress } from '../product/options.js'
import { atMost, type Connection, connect, rejected } from './connect.js'
import { addressSet, from, type Patience, patienceSet, type QueueAddress } from './options.js'
import { workersOf } from './read.js'
import { errorOf, reasonText } from './reasons.js'
import {
  type Failure,
  HOUR_S,
  type JobData,
  jobId,
  keysOf,
  type PlanState,
  PREFIX,
  type Report,
  readRecord,
  shareOf,
  WEEK_S,
} from './records.js'
import type { Runner } from './runner.js'

/** Progress of work on a queue. */
export interface QueueProgress extends Progress {
  /** Blocks that are done. */
  readonly blocks: number
  /** Blocks of the whole work. */
  readonly total: number
  /** Workers that are alive; null until known. */
  readonly workers: number | null
  /** Attempts that failed and are retried. */
  readonly retries: number
  /** Reason of the latest failed attempt; null if no attempt failed. */
  readonly reason: string | null
  /** Reason why the connection is lost; null while it is connected. */
  readonly lost: string | null
}

/** Options of work on a queue. */
export interface ProducerOptions extends QueueAddress, Patience {
  /** Number of attempts per block before the work fails: 3 by default. */
  attempts?: number | undefined
  /** Delay before the second attempt in ms, doubled before each later attempt: 1000 by default. */
  retryMs?: number | undefined
  /**
   * Limit of the jobs in Redis at a time: 1024 by default. Use at least four times the number of blocks that
   * all workers compute at once.
   */
  maxQueuedJobs?: number | undefined
  /**
   * Time without a connection after which the work fails, in ms: 300 000 by default. The work can be resumed.
   */
  connectionTimeoutMs?: number | undefined
  /**
   * Aborts the work: waiting blocks are removed from the queue, and workers finish the blocks that they are
   * computing. The work can be resumed.
   */
  signal?: AbortSignal | undefined
  /**
   * Listener of progress, called when blocks are done, an attempt has failed, workers come or go, and the
   * connection is lost or back.
   */
  onProgress?: ((progress: QueueProgress) => void) | undefined
}

/** Result of work on a queue. */
export interface QueueResult {
  /** The id of the plan. */
  readonly id: string
  /** Number of blocks. */
  readonly blocks: number
  /** Number of blocks that this call computed; the others existed before. */
  readonly computed: number
  /** Attempts that failed and were retried. */
  readonly retries: number
  /** Number of workers that computed blocks. */
  readonly workers: number
  /** Milliseconds. */
  readonly timing: {
    /** Time from connecting to the finished output. */
    readonly totalMs: number
  }
}

export const producerSet = {
  ...addressSet,
  ...patienceSet,
  attempts: from(1, 3),
  retryMs: from(0, 1000),
  maxQueuedJobs: from(1, 1024),
  connectionTimeoutMs: from(1, 300_000),
  signal,
  onProgress: listener<QueueProgress>(),
} satisfies OptionsOf<ProducerOptions>
export const producerOptions = new Options(producerSet)
type ProducerSettings = Readonly<ReadOf<typeof producerOptions>>

/** Number of requests to the queue in flight at a time. */
const REQUESTS_AT_ONCE = 64
const MIN_PAUSE_MS = 5
const MAX_PAUSE_MS = 100
/** Timeout of the last messages to a queue. */
const FAREWELL_MS = 2000

/**
 * Lets the workers of a queue compute the jobs of `plan`.
 *
 * @param resume - whether blocks may exist already.
 */
export async function runPlan(
  plan: BlockPlan,
  settings: ProducerSettings,
  runner: Runner,
  resume: boolean,
): Promise<QueueResult> {
  const { signal } = settings
  throwIfAborted(signal, 'the work')
  const producer = new Producer(plan, settings, runner, resume)
  let state: PlanState = 'failed'
  let reason = ''
  try {
    await producer.begin()
    if (resume && (await runner.isFinished(plan, { signal }))) producer.skip()
    else for (let stage = 0; stage < plan.stages.length; stage++) await producer.runStage(stage)
    await runner.finish(plan, { signal })
    state = 'done'
    return producer.result()
  } catch (thrown) {
    const error = signal?.aborted ? aborted(signal, 'the work') : producer.errorOf(thrown)
    if (signal?.aborted) state = 'interrupted'
    else reason = reasonText(error)
    throw error
  } finally {
    await producer.end(state, reason)
  }
}

class Producer {
  readonly #began = performance.now()
  readonly #token = randomUUID()
  readonly #keys
  readonly #total: number
  /** The jobs that are in Redis, by their names. */
  readonly #inFlight = new Map<string, BlockJob>()
  readonly #workers = new Set<string>()
  #connection!: Connection
  #queue!: import('bullmq').Queue<JobData>
  #done = 0
  #computed = 0
  #retries = 0
  #alive: number | null = null
  #reason: string | null = null
  #lost: string | null = null
  #beatAt = 0
  #checkAt = 0
  /** Whether Redis may have lost the plan, which workers need before more of its jobs are added. */
  #mustPut = false
  /** Is aborted, with { error }, when the work has to stop: every wait ends then. */
  readonly #stop = new AbortController()
  #stopWatching = () => {}

  constructor(
    readonly plan: BlockPlan,
    readonly settings: ProducerSettings,
    readonly runner: Runner,
    readonly resume: boolean,
  ) {
    this.#keys = keysOf(settings.name)
    this.#total = plan.stages.reduce((sum, count) => sum + count, 0)
  }

  /** Connects, and takes over the plan of a producer that died. */
  async begin(): Promise<void> {
    const { queue, name, lockDuration, attempts, retryMs } = this.settings
    // An exception of a listener ends the work, even where no promise awaits the call.
    const notify = () => {
      try {
        this.#tell()
      } catch (error) {
        this.#stopWith(error)
      }
    }
    this.#connection = await connect(queue, {
      onLost: (reason) => {
        this.#lost = reason
        notify()
      },
      onBack: () => {
        this.#lost = null
        this.#mustPut = true
        // Blocks in progress get time to finish before lost jobs are added again.
        this.#checkAt = performance.now() + lockDuration
        notify()
      },
    })
    this.#watch()
    const { redis, packages } = this.#connection
    this.#queue = new packages.bull.Queue<JobData>(name, {
      connection: redis,
      prefix: PREFIX,
      skipMetasUpdate: true,
      defaultJobOptions: {
        attempts,
        backoff: { type: 'exponential', delay: retryMs },
        removeOnComplete: true,
        removeOnFail: { age: WEEK_S, count: 1000 },
        stackTraceLimit: 1,
      },
    })
    this.#queue.on('error', () => {})
    await this.#within(this.#take())
    await this.#within(this.#put())
    // Records of an earlier run are removed, because its failed jobs would prevent jobs with equal ids.
    await this.#within(redis.del(this.#keys.reports(this.plan.id), this.#keys.failures(this.plan.id)))
    for (const id of await this.#within(this.#queue.getRanges(['failed'], 0, -1))) {
      if (id.startsWith(jobId(this.plan.id, ''))) await this.#within(this.#queue.remove(id))
    }
    this.#checkAt = performance.now() + lockDuration
  }

  /** Returns the error of work that has failed. */
  errorOf(thrown: unknown): unknown {
    return this.#connection ? rejected(this.#connection.address, thrown) : thrown
  }

  #watch(): void {
    const { signal, connectionTimeoutMs } = this.settings
    const forget = signal && onAbort(signal, () => this.#stopWith(aborted(signal, 'the work')))
    const timer = setInterval(
      () => {
        if (this.#connection.lostMs() < connectionTimeoutMs) return
        this.#stopWith(
          new QueueError(
            `the queue ${this.#connection.address} was lost for ${Math.round(connectionTimeoutMs / 1000)} s (${this.#lost}): ` +
              'resume the work when it is back',
          ),
        )
      },
      Math.min(1000, connectionTimeoutMs),
    )
    this.#stopWatching = () => {
      forget?.()
      clearInterval(timer)
    }
  }

  #stopWith(error: unknown): void {
    // Wrapped in an object, because abort() replaces undefined, which a listener may throw, by another
    // reason.
    this.#stop.abort({ error })
  }

  /** Commands wait while the connection is lost: none waits longer than the work runs. */
  #within<T>(work: Promise<T>): Promise<T> {
    return raceWithAbort(work, this.#stop.signal, ({ reason }) => reason.error)
  }

  /** Becomes the one producer of the plan. */
  async #take(): Promise<void> {
    const { lockDuration } = this.settings
    const { redis } = this.#connection
    const until = performance.now() + lockDuration + 1000
    const key = this.#keys.producer(this.plan.id)
    while ((await this.#within(redis.set(key, this.#token, 'PX', lockDuration, 'NX'))) !== 'OK') {
      if (performance.now() > until) {
        throw new QueueError(
          `another process is producing ${this.plan.output.path} on this queue: let it finish, or end it and wait ${lockDuration / 1000} s`,
        )
      }
      await this.#within(pause(100))
    }
  }

  /** Stores the plan in Redis for the workers. */
  async #put(): Promise<void> {
    const { plan } = this
    this.#mustPut = false
    await this.#connection.redis
      .multi()
      .hset(this.#keys.plan(plan.id), {
        plan: JSON.stringify(plan),
        state: 'running',
        done: this.#done,
        total: this.#total,
        retries: this.#retries,
        reason: '',
      })
      .expire(this.#keys.plan(plan.id), WEEK_S)
      .sadd(this.#keys.plans, plan.id)
      .exec()
  }

  /** Counts all blocks as done by earlier runs. */
  skip(): void {
    this.#done = this.#total
    this.#tell()
  }

  async runStage(stage: number): Promise<void> {
    const { maxQueuedJobs } = this.settings
    const jobs = this.#undone(stage)
    let isAllIn = false
    let pauseMs = MIN_PAUSE_MS
    while (!isAllIn || this.#inFlight.size > 0) {
      if (this.#mustPut) await this.#within(this.#put())
      if (!isAllIn && this.#inFlight.size <= maxQueuedJobs / 2) {
        const next: BlockJob[] = []
        while (next.length < maxQueuedJobs - this.#inFlight.size) {
          const { value, done } = await this.#within(jobs.next())
          if (done) {
            isAllIn = true
            break
          }
          next.push(value)
        }
        await this.#add(next)
        continue
      }
      const count = await this.#within(this.#readReports())
      if (count > 0) {
        pauseMs = MIN_PAUSE_MS
        this.#tell()
      } else {
        await this.#within(pause(pauseMs))
        pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 1.5)
      }
      if (performance.now() > this.#beatAt) await this.#within(this.#beat())
      if (performance.now() > this.#checkAt) await this.#within(this.#check())
    }
  }

  /** The jobs of a stage that aren't done. */
  async *#undone(stage: number): AsyncGenerator<BlockJob, void> {
    const done = this.resume
      ? await this.runner.doneJobs(this.plan, stage, { signal: this.settings.signal })
      : new Set<string>()
    this.#done += done.size
    yield* undoneJobs(this.plan, stage, done)
  }

  async #add(jobs: readonly BlockJob[]): Promise<void> {
    if (jobs.length === 0) return
    const { id } = this.plan
    for (const job of jobs) this.#inFlight.set(job.name, job)
    await this.#within(
      this.#queue.addBulk(
        jobs.map(({ name, stage }) => ({
          name,
          data: { plan: id, name, stage },
          opts: { jobId: jobId(id, name) },
        })),
      ),
    )
  }

  /** @throws the error of a block that has failed for good. */
  async #readReports(): Promise<number> {
    const texts = await this.#connection.redis.lpop(this.#keys.reports(this.plan.id), 1000)
    for (const text of texts ?? []) {
      const { failure, done } = readRecord<Report>(text) ?? {}
      if (failure) this.#fail(failure)
      // The block was counted already: two workers have computed it, or a check has found it.
      if (done && this.#inFlight.delete(done.job)) {
        this.#done++
        if (!done.already) this.#computed++
        this.#workers.add(done.worker)
      }
    }
    return texts?.length ?? 0
  }

  #fail({ job, reason, final }: Failure): void {
    // A late report of a block that another worker has completed is ignored.
    if (!this.#inFlight.has(job)) return
    if (final) throw errorOf(job, reason)
    this.#retries++
    this.#reason = reason
  }

  /** Refreshes the producer's entry in the queue, and its progress. */
  async #beat(): Promise<void> {
    const { lockDuration } = this.settings
    const { redis } = this.#connection
    this.#beatAt = performance.now() + Math.min(1000, lockDuration / 3)
    const key = this.#keys.producer(this.plan.id)
    const holder = await redis.get(key)
    if (holder !== null && holder !== this.#token) {
      throw new QueueError(`another process has taken over the work on ${this.plan.output.path}`)
    }
    await redis
      .multi()
      .set(key, this.#token, 'PX', lockDuration)
      .hset(this.#keys.plan(this.plan.id), { done: this.#done, retries: this.#retries })
      .exec()
    const alive = (await workersOf(redis, this.#keys)).length
    if (alive !== this.#alive) {
      this.#alive = alive
      this.#tell()
    }
  }

  /** Finds jobs that failed without a report, and jobs that Redis has lost. */
  async #check(): Promise<void> {
    this.#checkAt = performance.now() + this.settings.lockDuration
    await this.#put()
    const { id } = this.plan
    const jobs = [...this.#inFlight.values()]
    const lost: BlockJob[] = []
    await atOnce(REQUESTS_AT_ONCE, jobs.length, async (index) => {
      const job = jobs[index]!
      const state = await this.#queue.getJobState(jobId(id, job.name))
      if (state === 'unknown') lost.push(job)
      if (state !== 'failed') return
      const { failedReason } = (await this.#queue.getJob(jobId(id, job.name))) ?? {}
      throw errorOf(job.name, failedReason ?? 'for a reason that is not known')
    })
    if (lost.length === 0) return
    // Most have been done since the reports were read: a worker reports a block before it takes its job from the queue.
    while ((await this.#readReports()) > 0) {}
    const done = await this.runner.doneJobs(this.plan, lost[0]!.stage, { signal: this.settings.signal })
    const again: BlockJob[] = []
    for (const job of lost) {
      if (!this.#inFlight.has(job.name)) continue
      if (!done.has(job.name)) again.push(job)
      else if (this.#inFlight.delete(job.name)) this.#done++
    }
    await this.#add(again)
  }

  #tell(): void {
    this.settings.onProgress?.({
      done: shareOf(this.#done, this.#total),
      blocks: this.#done,
      total: this.#total,
      workers: this.#alive,
      retries: this.#retries,
      reason: this.#reason,
      lost: this.#lost,
    })
  }

  result(): QueueResult {
    return {
      id: this.plan.id,
      blocks: this.#total,
      computed: this.#computed,
      retries: this.#retries,
      workers: this.#workers.size,
      timing: { totalMs: performance.now() - this.#began },
    }
  }

  /** Removes waiting jobs from the queue and records the result of the work, if that is possible soon. */
  async end(state: PlanState, reason: string): Promise<void> {
    this.#stopWatching()
    if (!this.#connection) return
    await atMost(FAREWELL_MS, this.#farewell(state, reason))
    this.#connection.close()
  }

  async #farewell(state: PlanState, reason: string): Promise<void> {
    const { redis } = this.#connection
    const { id } = this.plan
    // Another producer may own the plan now.
    if ((await redis.get(this.#keys.producer(id))) !== this.#token) return
    // BullMQ doesn't remove active jobs, so these stay.
    await Promise.all([...this.#inFlight.keys()].map((name) => this.#queue.remove(jobId(id, name))))
    await redis
      .multi()
      .hset(this.#keys.plan(id), { state, reason, done: this.#done, retries: this.#retries })
      .expire(this.#keys.plan(id), HOUR_S)
      .expire(this.#keys.failures(id), HOUR_S)
      .del(this.#keys.producer(id), this.#keys.reports(id))
      .exec()
  }
}
