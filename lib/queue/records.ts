/**
 * Records in Redis apart from BullMQ's own jobs: plans, reports of workers on their blocks, and the active
 * producers and workers. All keys begin with "mpmml". Matrices are never stored in Redis.
 */
import type { BackendName } from '../backend-name.js'

/** Prefix of BullMQ's keys. */
export const PREFIX = 'mpmml'

/** Data of a BullMQ job: the plan's id, the name of the block and its stage. */
export interface JobData {
  readonly plan: string
  readonly name: string
  readonly stage: number
}

/** Returns whether a job is a block. Any client with write access to the queue can add other jobs. */
export function isJobData(data: unknown): data is JobData {
  const { plan, name, stage } = (data ?? {}) as Partial<JobData>
  return typeof plan === 'string' && typeof name === 'string' && typeof stage === 'number'
}

/** Parses a record from Redis; returns null if the string is no record of this library. */
export function readRecord<T extends object>(text: string): Partial<T> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

/**
 * Returns the id of a job, which BullMQ doesn't allow colons in. BullMQ ignores a job whose id exists
 * already.
 */
export const jobId = (plan: string, name: string): string => `${plan}-${name}`

/** Returns the keys of a queue. */
export function keysOf(queue: string) {
  const base = `${PREFIX}.${queue}`
  const of = (kind: string) => (id: string) => `${base}:${kind}:${id}`
  return {
    /** A set: the ids of plans. */
    plans: `${base}:plans`,
    /** A hash: {@link PlanRecord}. */
    plan: of('plan'),
    /** A list: reports of workers, until the producer has read them. */
    reports: of('reports'),
    /** A list: the latest failures, newest first. */
    failures: of('failures'),
    /** The active producer of a plan; expires if the producer falls silent. */
    producer: of('producer'),
    /** A set: the ids of workers. */
    workers: `${base}:workers`,
    /** A {@link WorkerRecord}; expires if the worker falls silent. */
    worker: of('worker'),
  }
}

export type Keys = ReturnType<typeof keysOf>

/** State of a plan. */
export type PlanState = 'running' | 'done' | 'failed' | 'interrupted'

export interface PlanRecord {
  readonly plan: string
  readonly state: PlanState
  readonly done: string
  readonly total: string
  /** Attempts that failed and were retried. */
  readonly retries: string
  /** Reason of the failure; '' if the plan didn't fail. */
  readonly reason: string
}

/** Expiry of plans: a week without changes, or an hour after the end. */
export const WEEK_S = 7 * 24 * 3600
export const HOUR_S = 3600

/** An attempt that failed. */
export interface Failure {
  /** The name of the block. */
  readonly job: string
  /** The id of the worker. */
  readonly worker: string
  /** Number of the attempt, from 1. */
  readonly attempt: number
  /** Whether it was the last attempt. */
  readonly final: boolean
  /** The message, with the error's code in brackets. */
  readonly reason: string
}

/** A block that is done. */
export interface Done {
  readonly job: string
  readonly worker: string
  /** Whether the block existed before. */
  readonly already: boolean
  readonly totalMs: number
  readonly kernelMs: number
}

/** Report of a worker: a finished block, or a failed attempt. */
export interface Report {
  readonly done?: Done
  readonly failure?: Failure
}

/** Number of failures per plan that are stored. */
export const FAILURES = 100

/** Returns the completed fraction of the blocks; 1 if there are none. */
export const shareOf = (blocks: number, total: number): number => (total > 0 ? blocks / total : 1)

/** A worker that is alive. */
export interface WorkerRecord {
  /** Its name in the queue: host, process and some letters. */
  readonly id: string
  /** The name of its machine. */
  readonly host: string
  /** The id of its process. */
  readonly pid: number
  /** Backend that it uses. */
  readonly backend: BackendName
  /** The indices of its GPUs; empty on the CPU. */
  readonly devices: readonly number[]
  /** Number of blocks that it computes at once. */
  readonly concurrency: number
  /** Number of blocks that it has completed. */
  readonly blocks: number
  /** Number of its failed attempts. */
  readonly failed: number
  /** The blocks that it is computing. */
  readonly now: readonly string[]
}
