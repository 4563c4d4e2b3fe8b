/** Reads the status of a queue. */
import { raceWithAbort } from '../abort.js'
import type { BlockPlan } from '../arrays/job.js'
import { QueueError } from '../errors.js'
import { Options } from '../options.js'
import { type Connection, connect, rejected } from './connect.js'
import { addressSet, type QueueAddress } from './options.js'
import { workersOf } from './read.js'
import {
  type Failure,
  keysOf,
  type PlanRecord,
  type PlanState,
  PREFIX,
  readRecord,
  shareOf,
  type WorkerRecord,
} from './records.js'

/** Work on a queue. */
export interface PlanStatus {
  /** Hash of the plan and its inputs, as 32 hexadecimal digits. */
  readonly id: string
  /** Kind of the computation. */
  readonly kind: BlockPlan['kind']
  /** The array that is written. */
  readonly output: string
  /** State of the plan. */
  readonly state: PlanState
  /**
   * Whether its producer is alive. Without one, workers complete the blocks in the queue, and no blocks are
   * added.
   */
  readonly producer: boolean
  /** Completed fraction of the blocks, from 0 to 1. */
  readonly done: number
  /** Blocks that are done. */
  readonly blocks: number
  /** Blocks of the whole work. */
  readonly total: number
  /** Attempts that failed and were retried. */
  readonly retries: number
  /** Reason of the failure; '' if the plan didn't fail. */
  readonly reason: string
  /** The latest failures, at most 100, newest first. */
  readonly failures: readonly Failure[]
}

/** Status of a queue. */
export interface QueueStatus {
  /** Its address, without user and password. */
  readonly queue: string
  /** The name of the queue. */
  readonly name: string
  /** Blocks that wait for a worker. */
  readonly waiting: number
  /** Blocks that are being computed. */
  readonly active: number
  /** Blocks that wait for their next attempt. */
  readonly delayed: number
  /** Blocks that failed permanently within the last week. */
  readonly failed: number
  /** Plans on the queue, including plans that ended within the last hour. */
  readonly plans: readonly PlanStatus[]
  /** The workers that are alive. */
  readonly workers: readonly WorkerRecord[]
}

const statusOptions = new Options(addressSet)

/**
 * Reads the status of a queue: plans and their progress, workers and their blocks, and failures.
 *
 * @throws ERR_MPMML_OPTION if an option is invalid, ERR_MPMML_PACKAGE if bullmq or ioredis is missing,
 * ERR_MPMML_QUEUE if the queue can't be used.
 *
 * @example
 * ```ts
 * const { queue, waiting, workers } = await queueStatus({ queue: 'redis://127.0.0.1:6379' })
 * console.log(queue, waiting, workers.length) // redis://127.0.0.1:6379 0 0
 * ```
 */
export async function queueStatus(options: QueueAddress): Promise<QueueStatus> {
  const { queue: url, name } = statusOptions.read(options)
  // Commands wait for a lost connection, so its loss ends the call.
  const lost = new AbortController()
  const connection = await connect(url, { onLost: (reason) => lost.abort(reason) })
  const { address } = connection
  try {
    return await raceWithAbort(
      readStatus(connection, name),
      lost.signal,
      ({ reason }) => new QueueError(`the queue ${address} was lost: ${reason}: try again when it is back`),
    )
  } catch (error) {
    throw rejected(address, error)
  } finally {
    connection.close()
  }
}

async function readStatus({ redis, packages, address }: Connection, name: string): Promise<QueueStatus> {
  const keys = keysOf(name)
  const queue = new packages.bull.Queue(name, { connection: redis, prefix: PREFIX, skipMetasUpdate: true })
  queue.on('error', () => {})
  const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
  const plans: PlanStatus[] = []
  for (const id of (await redis.smembers(keys.plans)).sort()) {
    const record = (await redis.hgetall(keys.plan(id))) as unknown as PlanRecord
    if (!record.plan) {
      await redis.srem(keys.plans, id)
      continue
    }
    const { kind, output } = readRecord<BlockPlan>(record.plan) ?? {}
    // Entries that this library hasn't written aren't plans.
    if (kind === undefined || typeof output?.path !== 'string') continue
    const failures = await redis.lrange(keys.failures(id), 0, -1)
    plans.push({
      id,
      kind,
      output: output.path,
      state: record.state,
      producer: (await redis.exists(keys.producer(id))) === 1,
      done: shareOf(Number(record.done), Number(record.total)),
      blocks: Number(record.done),
      total: Number(record.total),
      retries: Number(record.retries),
      reason: record.reason,
      failures: failures.flatMap((text) => {
        const failure = readRecord<Failure>(text)
        return failure?.job === undefined ? [] : [failure as Failure]
      }),
    })
  }
  return {
    queue: address,
    name,
    waiting: counts.waiting ?? 0,
    active: counts.active ?? 0,
    delayed: counts.delayed ?? 0,
    failed: counts.failed ?? 0,
    plans,
    workers: (await workersOf(redis, keys)).sort((a, b) => (a.id < b.id ? -1 : 1)),
  }
}
