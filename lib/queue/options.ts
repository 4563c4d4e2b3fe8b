/** The options of producers, workers and status. */

import { signal } from '../abort.js'
import type { BlockResult } from '../arrays/job.js'
import { bytes } from '../arrays/options.js'
import { backend, devices } from '../backend.js'
import type { BackendChoice } from '../backend-name.js'
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { listener, type OptionsOf, option, required, whole } from '../options.js'
import type { Failure } from './records.js'

/** Where a queue is. */
export interface QueuePlace {
  /**
   * The address of Redis or Valkey: `redis://host:6379`, `redis://host:6379/1` for another database, or with TLS, user and
   * password `rediss://user:password@host:6379`. The environment variable MPMML_QUEUE_PASSWORD has the password for an
   * address without one.
   */
  queue: string
  /** The name of the queue, for several on one Redis: "blocks" by default. Letters, digits, hyphens and underscores. */
  name?: string | undefined
}

/** How those who work on a queue treat each other. */
export interface Patience {
  /**
   * After how long a worker or a producer that is silent is taken for dead, in ms: 30 000 by default, and from 500. Its
   * blocks go to others after up to twice that time.
   */
  lockDuration?: number | undefined
}

/** The address, which connecting checks, and the name. */
export const placeSet = {
  queue: required((value) => value as string),
  name: option('blocks', readQueueName),
} satisfies OptionsOf<QueuePlace>

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

/** What a worker does, as it does it. */
export type WorkerEvent =
  | { readonly type: 'begun'; readonly plan: string; readonly job: string }
  | ({ readonly type: 'done'; readonly plan: string } & BlockResult)
  /** An attempt failed. The plan is '' if the job is not a block, which anyone who may write to the queue can have put there. */
  | ({ readonly type: 'failed'; readonly plan: string } & Failure)
  /** The block was given to another worker, because this one had been silent, or back to the queue, because it stops. */
  | { readonly type: 'given-up'; readonly plan: string; readonly job: string }
  | { readonly type: 'lost'; readonly reason: string }
  | { readonly type: 'back' }

/** Options of a worker. */
export interface QueueWorkerOptions extends QueuePlace, Patience {
  /**
   * The folders that blocks may be read from and written to, with all below them, and addresses s3://bucket/prefix. A plan with a path outside is refused
   * (ERR_MPMML_ROOTS), also if symbolic links or ".." lead there.
   */
  roots: readonly string[]
  /** Where to compute: 'auto' by default. */
  backend?: BackendChoice | undefined
  /** The GPUs to use, by their indices, or 'all', which is the default. */
  devices?: 'all' | readonly number[] | undefined
  /** How many blocks to work on at once on each GPU, or on the CPU: 2 by default, so that one is computed while another is read. */
  concurrency?: number | undefined
  /** The most bytes of host memory that a block may take: a number, or a text such as '8GiB'. As much as it needs, if left out. */
  memory?: number | string | undefined
  /** How often a block may have lost its worker before it fails: 5 by default. A block that ends each process that computes it must not end them all. */
  maxStalledCount?: number | undefined
  /** Stops the worker, as {@link QueueWorker.stop} does. */
  signal?: AbortSignal | undefined
  /** Is called with what the worker does. If it throws, the worker stops, and {@link QueueWorker.stopped} rejects with that. */
  onEvent?: ((event: WorkerEvent) => void) | undefined
}

export const workerSet = {
  ...placeSet,
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
