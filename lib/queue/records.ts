/**
 * What is in Redis besides BullMQ's own jobs: plans, what workers report of their blocks, and who is at work. All keys begin
 * with "mpmml". Matrices never go there.
 */
import type { BackendName } from '../backend-name.js'

/** Of BullMQ's keys. */
export const PREFIX = 'mpmml'

/** What a job of BullMQ carries: names and a range, which its name and stage say. */
export interface JobData {
  readonly plan: string
  readonly name: string
  readonly stage: number
}

/** Whether a job is a block. Anyone who may write to the queue can have put others there. */
export function isJobData(data: unknown): data is JobData {
  const { plan, name, stage } = (data ?? {}) as Partial<JobData>
  return typeof plan === 'string' && typeof name === 'string' && typeof stage === 'number'
}

/** What a text in Redis says; null if it isn't what this library puts there. */
export function readRecord<T extends object>(text: string): Partial<T> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

/** BullMQ takes no colons in it. A job that is there already isn't added again. */
export const jobId = (plan: string, name: string): string => `${plan}-${name}`

export interface Keys {
  /** A set: the ids of plans. */
  readonly plans: string
  /** A hash: {@link PlanRecord}. */
  readonly plan: (id: string) => string
  /** A list: what workers report, until the producer has read it. */
  readonly reports: (id: string) => string
  /** A list: the latest failures, newest first. */
  readonly failures: (id: string) => string
  /** The producer that is at work on it; runs out if it falls silent. */
  readonly producer: (id: string) => string
  /** A set: the ids of workers. */
  readonly workers: string
  /** A {@link WorkerRecord}; runs out if it falls silent. */
  readonly worker: (id: string) => string
}

export function keysOf(queue: string): Keys {
  const base = `${PREFIX}.${queue}`
  const of = (kind: string) => (id: string) => `${base}:${kind}:${id}`
  return {
    plans: `${base}:plans`,
    plan: of('plan'),
    reports: of('reports'),
    failures: of('failures'),
    producer: of('producer'),
    workers: `${base}:workers`,
    worker: of('worker'),
  }
}

/** How a plan stands. */
export type PlanState = 'running' | 'done' | 'failed' | 'interrupted'

export interface PlanRecord {
  readonly plan: string
  readonly state: PlanState
  readonly done: string
  readonly total: string
  /** Attempts that failed and were made again. */
  readonly retries: string
  /** Why it failed; '' if it didn't. */
  readonly reason: string
}

/** An untouched plan is forgotten after a week; one that has ended, after an hour. */
export const WEEK_S = 7 * 24 * 3600
export const HOUR_S = 3600

/** An attempt that failed. */
export interface Failure {
  /** The name of the block. */
  readonly job: string
  /** The id of the worker. */
  readonly worker: string
  /** From 1. */
  readonly attempt: number
  /** Whether it was the last one. */
  readonly final: boolean
  /** The message, with the error's code in brackets. */
  readonly reason: string
}

/** A block that is done. */
export interface Done {
  readonly job: string
  readonly worker: string
  /** Whether it had been done before. */
  readonly already: boolean
  readonly totalMs: number
  readonly kernelMs: number
}

/** One of both. */
export interface Report {
  readonly done?: Done
  readonly failure?: Failure
}

/** How many failures of a plan are kept. */
export const FAILURES = 100

/** The share of blocks that are done: all, if there are none. */
export const shareOf = (blocks: number, total: number): number => (total > 0 ? blocks / total : 1)

/** A worker that is alive. */
export interface WorkerRecord {
  /** Its name in the queue: host, process and some letters. */
  readonly id: string
  /** The name of its machine. */
  readonly host: string
  /** The id of its process. */
  readonly pid: number
  /** Where it computes. */
  readonly backend: BackendName
  /** The indices of its GPUs; empty on the CPU. */
  readonly devices: readonly number[]
  /** How many blocks it computes at once. */
  readonly concurrency: number
  /** How many blocks it has done. */
  readonly blocks: number
  /** How many of its attempts failed. */
  readonly failed: number
  /** The blocks that it is computing. */
  readonly now: readonly string[]
}
