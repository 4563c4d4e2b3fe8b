/** The options that producers, workers and status have in common. */
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { type OptionsOf, option, required, whole } from '../options.js'

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
  lockMs?: number | undefined
}

/** The address, which connecting checks, and the name. */
export const placeSet = {
  queue: required((value) => value as string),
  name: option('blocks', (value, name) => {
    if (typeof value === 'string' && /^[\w-]{1,64}$/.test(value)) return value
    throw new OptionError(
      `option ${name} must be the name of a queue, of letters, digits, hyphens and underscores, but it is ${show(value)}`,
    )
  }),
} satisfies OptionsOf<QueuePlace>

/** A whole number from `least`. */
export const from = (least: number, usual: number) => whole(usual, least, Number.MAX_SAFE_INTEGER)

export const patienceSet = { lockMs: from(500, 30_000) } satisfies OptionsOf<Patience>
