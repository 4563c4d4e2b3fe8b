/** Workers that die, are suspended or stop, a queue that restarts, and a producer that fails or resumes. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { queueStatus } from '../../lib/queue/status.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { PATIENCE } from '../support/patience.js'
import { RedisServer, withoutRedis } from '../support/redis.js'
import { describeUnless } from '../support/skip.js'
import { take } from './process.mjs'

const script = fileURLToPath(new URL('process.mjs', import.meta.url))
const lockDuration = 1000

// biome-ignore lint/suspicious/noExplicitAny: what a process printed
type Line = any

type Role = 'worker' | 'producer'

/** A worker or a producer, and the events that it has reported. */
class Member {
  #hasEnded = false

  constructor(
    readonly lines: readonly Line[],
    readonly ended: Promise<unknown>,
    readonly stop: () => void,
  ) {
    void ended.finally(() => {
      this.#hasEnded = true
    })
  }

  of(type: string): Line[] {
    return this.lines.filter((line) => line.type === type)
  }

  /** Waits for the `count`-th event of a type, and returns the event. */
  async says(type: string, count = 1): Promise<Line> {
    while (this.of(type).length < count) {
      if (this.#hasEnded) throw new Error(`it ended before ${type}: ${JSON.stringify(this.lines.at(-1))}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return this.of(type)[count - 1]
  }

  /** Waits until the member ends, and returns its last event. */
  async end(): Promise<Line> {
    await this.ended
    return this.lines.at(-1)
  }
}

/**
 * Starts a member in this process, because a separate process takes longer to load the queue than most tests
 * run.
 */
function beginHere(role: Role, options: object): Member {
  const lines: Line[] = []
  const controller = new AbortController()
  const say = (line: object) => lines.push(JSON.parse(JSON.stringify(line)))
  return new Member(lines, take(role, { ...options }, controller.signal, say), () => controller.abort())
}

/** A member in a separate process. */
class MemberApart extends Member {
  constructor(
    readonly child: ChildProcess,
    lines: readonly Line[],
    readonly errors: readonly string[],
  ) {
    super(lines, once(child, 'close'), () => child.kill('SIGKILL'))
  }

  static begin(role: Role, options: object): MemberApart {
    const child = spawn(process.execPath, [script, role, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [lines, errors]: [Line[], string[]] = [[], []]
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)))
    child.stderr.on('data', (chunk) => errors.push(`${chunk}`))
    return new MemberApart(child, lines, errors)
  }

  override async end(): Promise<Line> {
    const last = await super.end()
    expect(this.errors.join('')).toBe('')
    return last
  }
}

describeUnless(withoutRedis, 'blocks on a queue', () => {
  let redis: RedisServer
  const inFolder = useFolder(afterEach)
  let members: Member[] = []

  beforeEach(async () => {
    redis = await RedisServer.start({ keeps: true })
  })

  afterEach(async () => {
    for (const member of members) member.stop()
    await Promise.all(members.map(({ ended }) => ended))
    members = []
    await redis.end()
  })

  function joined<One extends Member>(begin: (role: Role, options: object) => One) {
    return (role: Role, options: object = {}): One => {
      const member = begin(role, { queue: redis.url, lockDuration, ...options })
      members.push(member)
      return member
    }
  }
  const here = joined(beginHere)
  const apart = joined(MemberApart.begin)
  const producing = (blocks: number, options: object = {}) => ({
    folder: inFolder(),
    blocks,
    retryMs: 10,
    ...options,
  })
  const worker = (options: object = {}) => here('worker', options)
  const producer = (blocks: number, options: object = {}) => here('producer', producing(blocks, options))
  const workerApart = (options: object = {}) => apart('worker', options)
  const producerApart = (blocks: number, options: object = {}) =>
    apart('producer', producing(blocks, options))
  const orders = (value: object) => writeFileSync(inFolder('orders.json'), JSON.stringify(value))

  async function withRedis(work: (client: Redis) => Promise<void>): Promise<void> {
    const client = new Redis(redis.url)
    try {
      await work(client)
    } finally {
      client.disconnect()
    }
  }

  const names = (count: number) => Array.from({ length: count }, (_, i) => `c-${i}-0`)

  /** Returns the ids of the processes that began to compute each block. */
  function computations(): Map<string, number[]> {
    const of = new Map<string, number[]>()
    for (const line of readFileSync(inFolder('log'), 'utf8').trim().split('\n')) {
      const [name, pid] = line.split(' ')
      of.set(name!, [...(of.get(name!) ?? []), Number(pid)])
    }
    return of
  }

  /**
   * Waits until a worker has read the orders of a block. A later change of the orders affects only other
   * blocks.
   */
  const begunComputing = () => vi.waitUntil(() => existsSync(inFolder('log')), { timeout: PATIENCE })

  function expectAllDone(count: number): void {
    expect([...computations().keys()].sort()).toEqual(names(count).sort())
    for (const name of names(count)) expect(readFileSync(inFolder(name), 'utf8')).toBe(name)
    expect(existsSync(inFolder('c'))).toBe(true)
  }

  const repeated = () => [...computations()].filter(([, pids]) => pids.length > 1)

  it('add only a few reactions to any promise', async () => {
    const reactions = new Map<unknown, number>()
    const { then } = Promise.prototype
    // biome-ignore lint/suspicious/noThenProperty: it counts
    Promise.prototype.then = function (this: Promise<unknown>, ...args) {
      reactions.set(this, (reactions.get(this) ?? 0) + 1)
      return then.apply(this, args) as Promise<never>
    }
    try {
      orders({ ms: 1 })
      worker()
      expect(await producer(100, { maxQueuedJobs: 4 }).end()).toMatchObject({ type: 'result', computed: 100 })
    } finally {
      // biome-ignore lint/suspicious/noThenProperty: as it was
      Promise.prototype.then = then
    }
    expect(reactions.size).toBeGreaterThan(100)
    expect(Math.max(...reactions.values())).toBeLessThan(10)
  })

  it('are all done once by three workers', async () => {
    orders({ ms: 50 })
    const workers = [workerApart(), workerApart(), workerApart({ concurrency: 2 })]
    await Promise.all(workers.map((one) => one.says('started')))
    // Redis holds at most 10 of the 60 jobs at a time, and the producer checks for lost jobs meanwhile.
    const result = await producerApart(60, { maxQueuedJobs: 10, lockDuration: 500 }).end()
    expect(result).toMatchObject({ type: 'result', blocks: 60, computed: 60, retries: 0, workers: 3 })
    expectAllDone(60)
    expect(repeated()).toEqual([])
  })

  it('survive a worker that is killed, one that falls asleep, and a restart of the queue', async () => {
    orders({ ms: 200 })
    const [killed, asleep, other] = [workerApart(), workerApart(), workerApart()]
    await Promise.all([killed, asleep, other].map((one) => one.says('started')))
    const begun = producerApart(24)
    await killed.says('begun', 2)
    killed.child.kill('SIGKILL')
    await asleep.says('begun', 3)
    asleep.child.kill('SIGSTOP')
    await other.says('done', 4)
    await redis.kill()
    await new Promise((resolve) => setTimeout(resolve, 300))
    await redis.start()
    await other.says('back')
    await other.says('done', 8)
    // Another worker takes over the block of the suspended worker, at the latest when all blocks are done.
    const isTaken = () =>
      repeated().some(([, [first]]) => first === asleep.child.pid) ||
      names(24).every((name) => existsSync(inFolder(name)))
    await vi.waitUntil(isTaken, { timeout: PATIENCE })
    asleep.child.kill('SIGCONT')
    expect(await begun.end()).toMatchObject({ type: 'result', blocks: 24, workers: 3 })
    expectAllDone(24)
    // Only the blocks of the killed and the suspended worker are computed twice, at most one block of each.
    const twice = repeated()
    expect(twice.length).toBeLessThanOrEqual(2)
    expect(twice.length).toBeGreaterThan(0)
    for (const [, pids] of twice) {
      expect(pids).toHaveLength(2)
      expect([killed.child.pid, asleep.child.pid]).toContain(pids[0])
      expect(pids[1]).not.toBe(pids[0])
    }
  })

  it('are added again if the queue has lost them', async () => {
    redis.options.keeps = false
    await redis.kill()
    await redis.start()
    orders({ ms: 50 })
    const one = worker()
    await one.says('started')
    const begun = producer(12)
    await one.says('done', 3)
    await redis.kill()
    await redis.start()
    expect(await begun.end()).toMatchObject({ type: 'result', blocks: 12 })
    expectAllDone(12)
    // At most the block in progress is computed twice.
    expect(repeated().length).toBeLessThanOrEqual(1)
  })

  it('are listed again as soon as a queue that lost everything is back', async () => {
    redis.options.keeps = false
    orders({ ms: 30_000 })
    const one = worker()
    const begun = producer(1, { lockDuration: 30_000 })
    await one.says('begun')
    await redis.kill()
    await redis.start()
    const { length } = begun.of('progress')
    await begun.says('progress', length + 1)
    await expect.poll(async () => (await queueStatus({ queue: redis.url })).plans.length).toBeGreaterThan(0)
  })

  it('need no worker if all of them are done', async () => {
    orders({ ms: 1 })
    const one = worker()
    expect(await producer(3).end()).toMatchObject({ type: 'result', computed: 3 })
    one.stop()
    await one.ended
    expect(await producer(3, { resume: true }).end()).toMatchObject({
      type: 'result',
      blocks: 3,
      computed: 0,
      workers: 0,
    })
  })

  it('are retried, and the reason of the failure is recorded', async () => {
    orders({ ms: 5, fails: { 'c-1-0': { times: 2 } } })
    worker()
    const begun = producer(3)
    expect(await begun.end()).toMatchObject({ type: 'result', retries: 2 })
    const { reason } = begun.of('progress').at(-1)
    expect(reason).toBe("attempt 2 didn't work [ERR_MPMML_FILE]")
    const { plans } = await queueStatus({ queue: redis.url })
    expect(plans).toMatchObject([
      { state: 'done', retries: 2, reason: '', failures: [{ attempt: 2 }, { attempt: 1 }] },
    ])
    expect(plans[0]!.failures[0]).toMatchObject({ job: 'c-1-0', final: false, reason })
    expect(computations().get('c-1-0')).toHaveLength(3)
    expectAllDone(3)
  })

  it('make the producer fail with the reason if they always fail, and can be resumed', async () => {
    orders({ ms: 5, fails: { 'c-2-0': { times: 99 } } })
    const one = worker()
    const failed = await producer(40, { maxQueuedJobs: 8 }).end()
    expect(failed).toEqual({
      type: 'error',
      code: 'ERR_MPMML_FILE',
      message: "block c-2-0 failed: attempt 3 didn't work",
    })
    expect(one.of('failed')).toMatchObject([
      { job: 'c-2-0', attempt: 1, final: false },
      { job: 'c-2-0', attempt: 2, final: false },
      { job: 'c-2-0', attempt: 3, final: true },
    ])
    expect(existsSync(inFolder('c'))).toBe(false)
    orders({ ms: 5 })
    expect(await producer(40, { resume: true }).end()).toMatchObject({ type: 'result', blocks: 40 })
    expectAllDone(40)
    expect(repeated()).toEqual([['c-2-0', Array(4).fill(process.pid)]])
  })

  it("aren't retried if they can't succeed", async () => {
    orders({ ms: 5, fails: { 'c-0-0': { times: 99, code: 'ERR_MPMML_OVERFLOW' } } })
    worker()
    const failed = await producer(1).end()
    expect(failed).toMatchObject({ code: 'ERR_MPMML_OVERFLOW' })
    expect(computations().get('c-0-0')).toHaveLength(1)
  })

  it('are removed from the record of a worker as soon as they are done or have failed', async () => {
    orders({ ms: 20, fails: { 'c-1-0': { times: 1 } } })
    const one = worker()
    expect(await producer(3).end()).toMatchObject({ type: 'result', retries: 1 })
    // A worker updates its record in Redis periodically.
    for (;;) {
      const [record] = (await queueStatus({ queue: redis.url })).workers
      if (record?.blocks !== 3) continue
      expect(record).toMatchObject({ failed: 1, now: [] })
      break
    }
    one.stop()
    expect(await one.end()).toEqual({ type: 'stopped', blocks: 3 })
  })

  it('fail finally if they end each process', async () => {
    orders({ ms: 5, ends: 'c-0-0' })
    const begun = producer(1)
    // The job may stall once, so the third worker reports the failure.
    for (let count = 0; count < 2; count++) await workerApart({ maxStalledCount: 1 }).ended
    workerApart({ maxStalledCount: 1 })
    const failed = await begun.end()
    expect(failed).toMatchObject({ code: 'ERR_MPMML_QUEUE' })
    expect(failed.message).toMatch(/^block c-0-0 failed: job stalled/)
  })

  it('are reassigned from a worker that was silent too long', async () => {
    orders({ ms: 3_600_000 })
    const asleep = workerApart()
    await asleep.says('started')
    const begun = producer(1)
    await begunComputing()
    asleep.child.kill('SIGSTOP')
    orders({ ms: 5 })
    const other = worker()
    await other.says('done')
    expect(await begun.end()).toMatchObject({ type: 'result', computed: 1 })
    asleep.child.kill('SIGCONT')
    // The suspended worker abandons the block, long before its wait of an hour ends.
    expect(await asleep.says('abandoned')).toMatchObject({ job: 'c-0-0' })
    expect(asleep.of('done')).toEqual([])
  })

  it('are counted once, however often and by whichever client they are reported', async () => {
    orders({ ms: 5 })
    const begun = producer(2)
    await begun.says('progress')
    await withRedis(async (client) => {
      const report = (job: string) =>
        JSON.stringify({ done: { job, worker: 'one', already: false, totalMs: 1, kernelMs: 0 } })
      const nonsense = [
        'null',
        '7',
        '[',
        '{"done":null}',
        report('c-9-0'),
        '{"failure":{"job":"c-9-0","final":true}}',
      ]
      await client.rpush(
        'mpmml.blocks:reports:cafe',
        ...nonsense,
        report('c-0-0'),
        report('c-0-0'),
        JSON.stringify({ failure: { job: 'c-0-0', reason: 'late news', final: true } }),
        report('c-1-0'),
        report('c-1-0'),
      )
    })
    expect(await begun.end()).toMatchObject({
      type: 'result',
      blocks: 2,
      computed: 2,
      workers: 1,
      retries: 0,
    })
    expect(begun.of('progress').at(-1)).toMatchObject({ done: 1, blocks: 2, total: 2 })
  })

  it('belong to a producer that has taken over the work', async () => {
    orders({ ms: 5 })
    const begun = producer(1)
    await begun.says('progress')
    const key = 'mpmml.blocks:producer:cafe'
    await withRedis(async (client) => {
      await client.set(key, 'another')
      expect(await begun.end()).toMatchObject({
        type: 'error',
        code: 'ERR_MPMML_QUEUE',
        message: expect.stringContaining('another process has taken over the work'),
      })
      // The mark and the state of the other producer stay unchanged.
      expect(await client.get(key)).toBe('another')
      expect(await client.hget('mpmml.blocks:plan:cafe', 'state')).toBe('running')
    })
  })

  it('are done despite invalid jobs and records in the queue', async () => {
    orders({ ms: 5 })
    await withRedis(async (client) => {
      const { Queue } = await import('bullmq')
      const connection = client.duplicate({ maxRetriesPerRequest: null })
      const queue = new Queue('blocks', { connection, prefix: 'mpmml' })
      const others = [null, 7, 'c-0-0', [], {}, { plan: 'cafe' }, { plan: 1, name: 'c-0-0', stage: 0 }]
      // One of the foreign jobs has the id that a failed block of this plan would have.
      for (const [at, data] of others.entries()) {
        await queue.add('c-0-0', data as never, { jobId: at === 0 ? 'cafe-c-1-0' : `other-${at}` })
      }
      await client.hset('mpmml.blocks:plan:beef', { plan: 'null', state: 'running' })
      await client.sadd('mpmml.blocks:plans', 'beef')
      await client.set('mpmml.blocks:worker:ghost', '{')
      await client.sadd('mpmml.blocks:workers', 'ghost')
      const one = worker()
      await one.says('failed', others.length)
      for (const { plan, attempt, final, reason } of one.of('failed')) {
        expect({ plan, attempt, final }).toEqual({ plan: '', attempt: 1, final: true })
        expect(reason).toMatch(/^the job (other-\d|cafe-c-1-0) of the queue is not a block/)
      }
      expect(await producer(2).end()).toMatchObject({ type: 'result', blocks: 2, computed: 2 })
      expect(await queueStatus({ queue: redis.url })).toMatchObject({
        failed: others.length - 1,
        plans: [{ id: 'cafe', state: 'done' }],
        workers: [{ pid: process.pid }],
      })
      one.stop()
      expect(await one.end()).toEqual({ type: 'stopped', blocks: 2 })
      await queue.close()
      connection.disconnect()
    })
  })

  it('go back to the queue when a worker stops', async () => {
    orders({ ms: 1500 })
    const first = workerApart()
    await first.says('started')
    const begun = producer(1, { lockDuration: 30_000 })
    await begunComputing()
    orders({ ms: 5 })
    first.child.kill('SIGINT')
    expect(await first.end()).toEqual({ type: 'stopped', blocks: 0 })
    expect(first.child.exitCode).toBe(0)
    const second = worker({ lockDuration: 30_000 })
    // The second worker gets the block long before the lock of the first one expires.
    expect(await begun.end()).toMatchObject({ type: 'result', workers: 1 })
    expect(second.of('done')).toHaveLength(1)
  })

  it('are removed from the queue when the producer aborts', async () => {
    orders({ ms: 20 })
    const one = worker()
    const begun = producer(500)
    await one.says('done', 2)
    begun.stop()
    expect(await begun.end()).toMatchObject({ type: 'error', code: 'ERR_MPMML_ABORTED' })
    const { length } = one.of('begun')
    await new Promise((resolve) => setTimeout(resolve, 300))
    // After the abort the worker begins at most two more blocks: one in progress, and one already sent.
    expect(one.of('begun').length).toBeLessThanOrEqual(length + 2)
    await one.says('done', one.of('begun').length)
    expect(one.of('done')).toHaveLength(one.of('begun').length)
  })

  it('have one producer; if it dies, the next one continues', async () => {
    orders({ ms: 30 })
    const one = worker()
    const first = producerApart(300, { lockDuration: 2000 })
    await one.says('done')
    const second = producer(300, { lockDuration: 500 })
    expect(await second.end()).toMatchObject({ type: 'error', code: 'ERR_MPMML_QUEUE' })
    first.child.kill('SIGKILL')
    orders({ ms: 1 })
    const last = producer(300, { lockDuration: 2000, resume: true })
    expect(await last.end()).toMatchObject({ type: 'result', blocks: 300 })
    expectAllDone(300)
    expect(repeated()).toEqual([])
  })

  it('have no status if the queue is lost while it is read', async () => {
    // A proxy of the queue that disappears at the first command after the connection was established.
    const proxy = createServer((socket) => {
      const upstream = connect(redis.port, '127.0.0.1')
      for (const end of [socket, upstream]) end.on('error', () => {})
      upstream.pipe(socket)
      socket.on('data', (bytes) => {
        if (!/evalsha|smembers/i.test(bytes.toString('latin1'))) upstream.write(bytes)
        else {
          proxy.close()
          for (const end of [socket, upstream]) end.destroy()
        }
      })
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const { port } = proxy.address() as { port: number }
    await expect(queueStatus({ queue: `redis://127.0.0.1:${port}` })).rejects.toEqual(
      coded('QUEUE', /was lost: the connection was closed/),
    )
  })

  it('fail with a code and advice if a user has no rights on the keys', async () => {
    await withRedis(async (client) => {
      await client.call('ACL', 'SETUSER', 'guest', 'on', '>word', '+@all', '~other*', '&*')
    })
    const queue = redis.url.replace('//', '//guest:word@')
    const advice = /can't be used: NOPERM.*rights?.*mpmml/
    await expect(queueStatus({ queue })).rejects.toEqual(coded('QUEUE', advice))
    for (const member of [producer(1, { queue }), worker({ queue })]) {
      expect(await member.end()).toMatchObject({
        code: 'ERR_MPMML_QUEUE',
        message: expect.stringMatching(advice),
      })
    }
  })

  it('are aborted if the queue is unreachable too long', async () => {
    orders({ ms: 30 })
    const one = worker()
    const begun = producer(100, { connectionTimeoutMs: 300 })
    await one.says('done')
    await redis.kill()
    expect(await begun.end()).toMatchObject({ type: 'error', code: 'ERR_MPMML_QUEUE' })
    expect(begun.of('progress').at(-1).lost).toMatch(/ECONNREFUSED|closed/)
    one.stop()
    expect(await one.end()).toMatchObject({ type: 'stopped' })
  })
})
