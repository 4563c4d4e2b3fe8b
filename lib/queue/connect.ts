/** Connects to Redis or Valkey, and loads the optional packages for that on first use. */
import { raceWithAbort } from '../abort.js'
import { show } from '../describe.js'
import { queuePassword } from '../environment.js'
import { OptionError, QueueError } from '../errors.js'
import { optionalPackages } from '../optional-packages.js'

type Bull = typeof import('bullmq')
export type Redis = import('ioredis').Redis

export interface Packages {
  readonly bull: Bull
  readonly Redis: typeof import('ioredis').Redis
}

const loadPackages = optionalPackages('a queue needs', ['bullmq', 'ioredis'], async (): Promise<Packages> => {
  const [bull, { Redis }] = await Promise.all([import('bullmq'), import('ioredis')])
  return { bull, Redis }
})

/** Timeout of the first connection. */
const CONNECT_MS = 10_000

/**
 * Time without an answer after which the connection counts as lost. Without this limit a silently dead peer
 * is noticed only when TCP stops retransmitting, after a quarter of an hour. Blocking commands of BullMQ take
 * up to 10 s.
 */
const SILENCE_MS = 20_000

/** Oldest version with all commands that the library uses. */
const MIN_VERSION = [6, 2] as const

/** @throws ERR_MPMML_OPTION; never shows the address, which may hold a password. */
function readAddress(url: string): URL {
  const address = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (!address || !/^rediss?:$/.test(address.protocol) || address.hostname === '') {
    throw new OptionError(
      'option queue must be an address such as redis://host:6379 or, with TLS and a password, ' +
        `rediss://user:password@host:6379, but ${address ? `its beginning is ${show(address.protocol)}` : "it isn't one"}`,
    )
  }
  if (!/^\/?\d*$/.test(address.pathname)) {
    throw new OptionError(
      `after the host of a queue comes nothing or the number of a database, such as /0, but it is ${show(address.pathname)}`,
    )
  }
  return address
}

/** Returns the address without user and password, for messages. */
function shownAddress(url: string): string {
  const { protocol, host, pathname } = readAddress(url)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

/**
 * Returns the message of an error of Redis. Omits the command that was sent, because its arguments may hold a
 * password.
 */
const reasonOf = (error: unknown): string => {
  // The error of a transaction has the errors of its commands.
  const [first = error] = (error as { previousErrors?: unknown[] }).previousErrors ?? []
  const { message, code, errors } = first as NodeJS.ErrnoException & { errors?: Error[] }
  return (message || errors?.map((one) => one.message).join('; ') || code || String(error)).trim()
}

/** Returns the error for a queue that can't be used. It has no cause, because a rejected command contains its arguments. */
export const unusable = (address: string, error: unknown) =>
  new QueueError(`the queue ${address} can't be used: ${reasonOf(error)}; ${advice(error)}`)

/** Returns the QueueError for a command that the server rejected. Other errors are returned unchanged. */
export const rejected = (address: string, error: unknown): unknown =>
  (error as Error | null)?.name === 'ReplyError' ? unusable(address, error) : error

/** Waits for the last messages to a queue, but at most the given time, and ignores their error. */
export async function atMost(ms: number, messages: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([messages.catch(() => {}), enough])
  clearTimeout(timer)
}

export interface Connection {
  readonly packages: Packages
  readonly redis: Redis
  readonly address: string
  /** Returns the time since the connection was lost, in ms; 0 while it is connected. */
  lostMs(): number
  close(): void
}

/** Listeners for events of an established connection. */
interface ConnectionEvents {
  /** The connection is lost; reconnecting has begun. */
  onLost?: ((reason: string) => void) | undefined
  onBack?: (() => void) | undefined
}

/** Signal that ends connecting, and shorter timeouts for tests. */
interface Waits {
  readonly signal?: AbortSignal | undefined
  readonly connectMs?: number
  readonly silenceMs?: number
}

/**
 * Connects, and reconnects whenever the connection is lost.
 *
 * @throws ERR_MPMML_OPTION for an invalid address, ERR_MPMML_PACKAGE, ERR_MPMML_QUEUE without a connection
 * within ten seconds; AbortedError.
 */
export async function connect(
  url: string,
  { onLost, onBack }: ConnectionEvents = {},
  { signal, connectMs = CONNECT_MS, silenceMs = SILENCE_MS }: Waits = {},
): Promise<Connection> {
  const parsed = readAddress(url)
  const address = shownAddress(url)
  const packages = await loadPackages()
  let isUp = false
  const secret = parsed.password === '' ? queuePassword() : undefined
  const redis = new packages.Redis(url, {
    lazyConnect: true,
    connectTimeout: connectMs,
    disconnectTimeout: 200,
    socketTimeout: silenceMs,
    // Required by BullMQ: its commands wait until the connection is back.
    maxRetriesPerRequest: null,
    retryStrategy: (times) => (isUp ? Math.min(100 * times, 2000) : null),
    ...(secret && { password: secret }),
  })
  let last: unknown
  redis.on('error', (error) => {
    last = error
  })
  let lostAt = 0
  let timer: NodeJS.Timeout | undefined
  const failed = new Promise<never>((_, reject) => {
    const fail = (error: unknown) => reject(unusable(address, error))
    redis.once('error', fail)
    redis.once('end', () => fail(last ?? new Error('the connection was closed')))
    timer = setTimeout(() => fail(new Error(`there was no answer within ${connectMs / 1000} s`)), connectMs)
  })
  failed.catch(() => {})
  // The error of connect() has no more information than the events.
  const connected = redis.connect().catch(() => failed)
  const answered = connected
    .then(() => redis.info('server'))
    .catch(async (error) => {
      throw error instanceof QueueError ? error : unusable(address, error)
    })
  try {
    assertVersion(await raceWithAbort(Promise.race([answered, failed]), signal), address)
  } catch (error) {
    redis.disconnect()
    throw error
  } finally {
    clearTimeout(timer)
  }
  isUp = true
  redis.on('close', () => {
    if (lostAt !== 0) return
    lostAt = Date.now()
    onLost?.('the connection was closed')
  })
  redis.on('error', (error) => {
    if (lostAt !== 0) onLost?.(reasonOf(error))
  })
  redis.on('ready', () => {
    lostAt = 0
    last = undefined
    onBack?.()
  })
  return {
    packages,
    redis,
    address,
    lostMs: () => (lostAt === 0 ? 0 : Date.now() - lostAt),
    close() {
      isUp = false
      redis.removeAllListeners('close')
      redis.disconnect()
    },
  }
}

function assertVersion(server: string, address: string): void {
  const [, major, minor] = /^redis_version:(\d+)\.(\d+)/m.exec(server) ?? []
  const [leastMajor, leastMinor] = MIN_VERSION
  const isOld = Number(major) < leastMajor || (Number(major) === leastMajor && Number(minor) < leastMinor)
  if (!isOld) return
  throw new QueueError(
    `the queue ${address} can't be used: expected Redis ${MIN_VERSION.join('.')} or later, or Valkey, but it is Redis ${major}.${minor}; ` +
      'update it, or name another',
  )
}

function advice(error: unknown): string {
  const reason = reasonOf(error)
  if (/WRONGPASS|NOAUTH|invalid password/i.test(reason)) {
    return 'check user and password, in the address or in MPMML_QUEUE_PASSWORD'
  }
  if (/NOPERM/.test(reason)) return 'give this user the right to all commands on the keys mpmml*'
  if (/READONLY/.test(reason)) return 'name the primary server, because this one is a replica'
  if (/OOM/.test(reason)) return 'raise maxmemory of the server'
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|no answer/.test(reason)) {
    return 'check host and port, and that Redis or Valkey runs there'
  }
  if (/certificate|SSL|TLS/i.test(reason)) {
    return 'check the certificate; NODE_EXTRA_CA_CERTS names a file with your own authority'
  }
  return 'check the address, and whether it needs rediss:// (TLS)'
}
