/** Reading what is in Redis. Apart from the records, whose types are public and name no package that may be missing. */
import { isAbsolute } from 'node:path'
import type { BlockPlan } from '../arrays/job.js'
import { isS3 } from '../arrays/names.js'
import { QueueError } from '../errors.js'
import type { Connection, Redis } from './connect.js'
import { type Keys, readRecord, type WorkerRecord } from './records.js'

/** Whether a name is the same in all processes. */
const isPlace = (path: string) => isAbsolute(path) || isS3(path)

/** The records of the workers that are alive. */
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
 * The plan of an id.
 *
 * @throws ERR_MPMML_QUEUE if it is gone or isn't one: anyone who may write to the queue can have put it there.
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
