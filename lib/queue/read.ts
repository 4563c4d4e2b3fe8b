/**
 * Reads records from Redis. Separate from records.ts, whose types are public and must not name optional
 * packages.
 */
import { isAbsolute } from 'node:path'
import type { BlockPlan } from '../arrays/job.js'
import { isS3 } from '../arrays/names.js'
import { QueueError } from '../errors.js'
import type { Connection, Redis } from './connect.js'
import { type Keys, readRecord, type WorkerRecord } from './records.js'

/** Returns whether a path names the same file in all processes. */
const isPlace = (path: string) => isAbsolute(path) || isS3(path)

/** Returns the records of the workers that are alive. */
export async function workersOf(redis: Redis, keys: Keys): Promise<WorkerRecord[]> {
  const ids = await redis.smembers(keys.workers)
  if (ids.length === 0) return []
  const records = await redis.mget(ids.map(keys.worker))
  const gone = ids.filter((_, i) => records[i] === null)
  if (gone.length > 0) await redis.srem(keys.workers, ...gone)
  return records.flatMap((text) => {
    const record = text === null ? null : readRecord<WorkerRecord>(text)
    return record?.id === undefined ? [] : [record as WorkerRecord]
  })
}

/**
 * Reads the plan with an id.
 *
 * @throws ERR_MPMML_QUEUE if the plan is gone or malformed: any client with write access to the queue can add
 * one.
 */
export async function readPlan({ redis }: Connection, keys: Keys, id: string): Promise<BlockPlan> {
  const text = /^[0-9a-z]{1,64}$/.test(id) ? await redis.hget(keys.plan(id), 'plan') : null
  if (text === null) {
    throw new QueueError(
      `the plan ${id.slice(0, 64)} is no longer in the queue: run its command again with --resume`,
    )
  }
  const plan = readRecord<BlockPlan>(text) as BlockPlan | null
  const inputs = plan?.kind === 'multiply' ? [plan.a, plan.b] : [plan?.a]
  const isPlan =
    plan?.id === id &&
    (plan.kind === 'multiply' || plan.kind === 'shortest-paths') &&
    Array.isArray(plan.stages) &&
    [...inputs, plan.output].every((array) => typeof array?.path === 'string' && isPlace(array.path))
  if (!isPlan) throw new QueueError(`what the queue has as plan ${id} isn't one`)
  return plan!
}
