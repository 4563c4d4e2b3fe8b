/**
 * Distributed execution: matrices on disk are multiplied by several machines, with block jobs on a queue of
 * BullMQ, over Redis or Valkey. Needs the optional packages bullmq and ioredis.
 *
 * @packageDocumentation
 */
import './globals.js'

export type { QueueWorkerOptions, WorkerEvent } from './queue/options.js'
export type { QueueProgress, QueueResult } from './queue/producer.js'
export type { Failure, PlanState, WorkerRecord } from './queue/records.js'
export { type PlanStatus, type QueueStatus, queueStatus } from './queue/status.js'
export { multiplyOnQueue, type QueueWorkOptions, shortestPathsOnQueue } from './queue/work.js'
export { type QueueWorker, startWorker } from './queue/worker.js'
