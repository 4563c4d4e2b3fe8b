/** Options of producers, workers and status. */

import { signal } from '../abort.js'
import type { BlockResult } from '../arrays/job.js'
import { bytes } from '../arrays/options.js'
import { backend, devices } from '../backend.js'
import type { BackendChoice } from '../backend-name.js'
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { listener, type OptionsOf, option, required, whole } from '../options.js'
import type { Failure } from './records.js'

/** Address and name of a queue. */
export interface QueueAddress {
  /**
   * The address of Redis or Valkey: `redis://host:6379`, `redis://host:6379/1` for another database, or with TLS, user and
   * password `rediss://user:password@host:6379`. The environment variable MPMML_QUEUE_PASSWORD has the password for an
   * address without one.
   */
  queue: string
  /**
   * Name of the queue, "blocks" by default; distinguishes queues on one Redis. Letters, digits, hyphens and
   * underscores.
   */
  name?: string | undefined
}

/** Timeout that producers and workers of a queue share. */
export interface Patience {
  /**
   * Time in ms after which a silent worker or producer counts as dead: at least 500, by default 30 000. Other
   * workers get its blocks after at most twice that time.
   */
  lockDuration?: number | undefined
}

/** The address, which connecting checks, and the name. */
export const addressSet = {
  queue: required((value) => value as string),
  name: option('blocks', readQueueName),
} satisfies OptionsOf<QueueAddress>

function readQueueName(value: unknown, name: string): string {
  if (typeof value === 'string' && /^[\w-]{1,64}$/.test(value)) return value
  throw new OptionError(
    `option ${name} must be the name of a queue, of letters, digits, hyphens and underscores, but it is ${show(value)}`,
  )
}

const MOST = Number.MAX_SAFE_INTEGER

/** A whole number from `least`. */
export const from = (least: number, usual: number) => whole(usual, least, MOST)

export const patienceSet = {
  lockDuration: from(500, 30_000),
} satisfies OptionsOf<Patience>

/** Event of a worker. */
export type WorkerEvent =
  | { readonly type: 'begun'; readonly plan: string; readonly job: string }
  | ({ readonly type: 'done'; readonly plan: string } & BlockResult)
  /**
   * An attempt failed. The plan is '' if the job is not a block: any client with write access to the queue
   * can add such jobs.
   */
  | ({ readonly type: 'failed'; readonly plan: string } & Failure)
  /** The block was given to another worker, because this one had been silent, or back to the queue, because it stops. */
  | { readonly type: 'abandoned'; readonly plan: string; readonly job: string }
  | { readonly type: 'lost'; readonly reason: string }
  | { readonly type: 'back' }

/** Options of a worker. */
export interface QueueWorkerOptions extends QueueAddress, Patience {
  /**
   * Folders, and addresses s3://bucket/prefix, below which blocks may be read and written. A plan with a path
   * outside is rejected (ERR_MPMML_ROOTS), also if symbolic links or ".." lead outside.
   */
  roots: readonly string[]
  /** Backend of the blocks: 'auto' by default. */
  backend?: BackendChoice | undefined
  /** The GPUs to use, by their indices, or 'all', which is the default. */
  devices?: 'all' | readonly number[] | undefined
  /**
   * Number of blocks in progress at once on each GPU, or on the CPU: 2 by default, so that one is computed
   * while another is read.
   */
  concurrency?: number | undefined
  /** Limit of host memory per block in bytes: a number, or a string such as '8GiB'. No limit by default. */
  memory?: number | string | undefined
  /**
   * Number of times that a block may lose its worker before it fails: 5 by default. The limit keeps a block
   * that crashes its process from crashing all workers.
   */
  maxStalledCount?: number | undefined
  /**
   * Stops the worker, as {@link QueueWorker.stop} does. While the worker starts, startWorker rejects with
   * AbortedError.
   */
  signal?: AbortSignal | undefined
  /**
   * Listener of the worker's events. If it throws, the worker stops, and {@link QueueWorker.stopped} rejects
   * with the exception.
   */
  onEvent?: ((event: WorkerEvent) => void) | undefined
}

export const workerSet = {
  ...addressSet,
  ...patienceSet,
  roots: required(readRoots),
  backend,
  devices,
  concurrency: from(1, 2),
  memory: bytes,
  maxStalledCount: from(0, 5),
  signal,
  onEvent: listener<WorkerEvent>(),
} satisfies OptionsOf<QueueWorkerOptions>

function readRoots(roots: unknown): string[] {
  if (
    Array.isArray(roots) &&
    roots.length > 0 &&
    roots.every((root) => typeof root === 'string' && root !== '')
  ) {
    return [...roots]
  }
  throw new OptionError(
    `option roots must be the folders that this worker may read and write, such as ['/data'], but it is ${show(roots)}`,
  )
}
