/** Products and paths by workers on a queue, started by the command line. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect as connectTo, createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { connect } from '../../lib/queue/connect.js'
import { multiplyOnQueue, queueStatus, shortestPathsOnQueue, startWorker } from '../../lib/queue.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { floydWarshall } from '../support/graph-oracle.js'
import { freePort, RedisServer, withoutRedis } from '../support/redis.js'
import { describeUnless, itUnless } from '../support/skip.js'
import { cli, fails, json, mpmml, readNumbers, succeeds, writeNumbers } from './support.js'

const path = useFolder()
const password = 'open-sesame'
const numbers = (count: number, seed: number) =>
  Int32Array.from({ length: count }, (_, i) => (((i + seed) * 2654435761) >>> 9) % 2001)

/** Returns the max-plus product, computed by its definition. */
function product(a: Int32Array, b: Int32Array, n: number): number[] {
  const c = new Int32Array(n * n).fill(-(2 ** 31))
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) {
      for (let j = 0; j < n; j++) c[n * i + j] = Math.max(c[n * i + j]!, a[n * i + k]! + b[n * k + j]!)
    }
  }
  return [...c]
}

/** Forwards data until `hole` is called: after that, connected clients receive nothing and no error. */
async function proxyTo(port: number): Promise<{ proxy: Server; hole: () => void }> {
  const pairs: Socket[][] = []
  const proxy = createServer((socket) => {
    const other = connectTo(port, '127.0.0.1')
    pairs.push([socket, other])
    for (const one of [socket, other]) one.on('error', () => {})
    socket.pipe(other).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const hole = () => {
    for (const one of pairs.flat()) one.unpipe().resume()
  }
  return { proxy, hole }
}

describeUnless(withoutRedis, 'a queue', () => {
  let redis: RedisServer
  let workers: ChildProcess[] = []

  beforeAll(async () => {
    redis = await RedisServer.start({ password, keeps: true })
  })
  afterEach(async () => {
    for (const child of workers) child.kill('SIGKILL')
    workers = []
    const client = new Redis(redis.url)
    await client.flushall()
    client.disconnect()
  })
  afterAll(() => redis.end())

  /** Starts a worker, and collects the events that it prints. */
  function worker(root: string, ...more: string[]) {
    const args = ['worker', '--queue', redis.url, '--root', root, '--backend', 'cpu', '--json', ...more]
    const child = spawn(process.execPath, [cli, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    workers.push(child)
    // biome-ignore lint/suspicious/noExplicitAny: what it printed
    const events: any[] = []
    createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line)))
    const until = async (type: string, count = 1) => {
      while (events.filter((event) => event.type === type).length < count) {
        expect(child.exitCode).toBeNull()
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    return { child, events, until }
  }

  it('computes the right product although workers die and sleep, and the queue restarts', async () => {
    const n = 320
    mkdirSync(path('product'))
    const [a, b] = [numbers(n * n, 1), numbers(n * n, 2)]
    writeNumbers(path('product/a.npy'), [n, n], a)
    writeNumbers(path('product/b.npy'), [n, n], b)
    const all = ['1', '1', '2'].map((count) => worker(path('product'), '--lock', '1', '--concurrency', count))
    await Promise.all(all.map(({ until }) => until('started')))
    const [killed, asleep, other] = all
    const work = multiplyOnQueue(path('product/a.npy'), path('product/b.npy'), path('product/c.npy'), {
      queue: redis.url,
      block: 32,
      lockDuration: 1000,
    })
    await killed!.until('begun', 4)
    killed!.child.kill('SIGKILL')
    await asleep!.until('begun', 4)
    asleep!.child.kill('SIGSTOP')
    await redis.kill()
    await redis.start()
    await other!.until('done', 20)
    expect(await work).toMatchObject({ blocks: 100 })
    asleep!.child.kill('SIGCONT')
    expect(readNumbers(path('product/c.npy')).values).toEqual(product(a, b, n))
    expect(readdirSync(path('product')).sort()).toEqual(['a.npy', 'b.npy', 'c.npy'])
    const begun = all.flatMap(({ events }) => events.filter(({ type }) => type === 'begun'))
    // Repeated blocks: one for each of the two workers that died or slept, and one for each of four workers
    // that lost their connection.
    expect(begun.length).toBeLessThanOrEqual(100 + 2 + 4)
    const [plan] = (await queueStatus({ queue: redis.url })).plans
    expect(plan).toMatchObject({ state: 'done', done: 1, blocks: 100, total: 100, reason: '', failures: [] })
  })

  it('finds shortest paths, stage by stage', async () => {
    const n = 70
    mkdirSync(path('paths'))
    const weights = numbers(n * n, 3).map((weight, i) => (i % (n + 1) === 0 ? 0 : weight))
    writeNumbers(path('paths/a.npy'), [n, n], weights)
    const distances = [...floydWarshall(weights, n)]
    worker(path('paths'))
    worker(path('paths'))
    const work = shortestPathsOnQueue(path('paths/a.npy'), path('paths/d.npy'), {
      queue: redis.url,
      block: 32,
    })
    expect(await work).toMatchObject({ blocks: 27 })
    expect(readNumbers(path('paths/d.npy')).values).toEqual(distances)
  })

  it('is used by the commands: multiply, worker, jobs', async () => {
    mkdirSync(path('commands'))
    writeNumbers(path('commands/a.npy'), [2, 3], [1, 6, 2, 8, 3, 4])
    writeNumbers(path('commands/b.npy'), [3, 2], [2, 5, 3, 3, 1, 6])
    const one = worker(path('commands'))
    await one.until('started')
    const output = path('commands/c.npy')
    const args = ['multiply', path('commands/a.npy'), path('commands/b.npy'), '-o', output]
    const record = await json([...args, '--queue', redis.url])
    expect(record).toMatchObject({ output, blocks: 1, computed: 1, workers: 1 })
    expect(readNumbers(output).values).toEqual([9, 9, 10, 13])
    const address = redis.url.replace(`:${password}@`, '')
    const status = await json(['jobs', '--queue', redis.url])
    expect(status).toMatchObject({
      queue: address,
      plans: [{ output, blocks: 1 }],
      workers: [{ backend: 'cpu' }],
    })
    // The password can come from the environment.
    const env = { MPMML_QUEUE_PASSWORD: password }
    const text = await succeeds(['jobs', '--queue', address], { env })
    expect(text).toContain(output)
    expect(text).not.toContain(password)
    one.child.kill('SIGTERM')
    await once(one.child, 'close')
    expect(one.events.at(-1)).toEqual({ type: 'stopped', blocks: 1 })
    expect(one.child.exitCode).toBe(143)
    expect((await json(['jobs', '--queue', redis.url])).workers).toEqual([])
  })

  it('keeps interrupted work for --resume', async () => {
    mkdirSync(path('interrupted'))
    writeNumbers(path('interrupted/a.npy'), [2, 2], [1, 2, 3, 4])
    const output = path('interrupted/c.npy')
    const input = path('interrupted/a.npy')
    const args = ['multiply', input, input, '-o', output, '--queue', redis.url]
    let child: ChildProcess
    const running = mpmml(args, {
      started: (started) => {
        child = started
        // The signal is sent when stderr reports that no worker exists.
        started.stderr!.once('data', () => child.kill('SIGINT'))
      },
    })
    const { status, stderr } = await running
    expect(stderr).toBe(
      'mpmml: no worker is connected: start one with mpmml worker --queue …\nmpmml: interrupted\n',
    )
    expect(status).toBe(130)
    const left = await json(['jobs', '--queue', redis.url])
    expect(left).toMatchObject({
      waiting: 0,
      plans: [{ state: 'interrupted', producer: false, done: 0, blocks: 0, total: 1 }],
    })
    await worker(path('interrupted')).until('started')
    await json([...args, '--resume'])
    expect(readNumbers(output).values).toEqual([5, 6, 7, 8])
  })

  it('restricts reading and writing of workers to their roots', async () => {
    mkdirSync(path('inside'))
    mkdirSync(path('outside'))
    for (const folder of ['inside', 'outside']) writeNumbers(path(`${folder}/a.npy`), [1, 1], [7])
    symlinkSync(path('outside'), path('inside/link'))
    const one = worker(path('inside'))
    await one.until('started')
    const pairs = [
      ['outside/a.npy', 'inside/c.npy'],
      ['inside/a.npy', 'outside/c.npy'],
      ['inside/link/a.npy', 'inside/c.npy'],
      ['inside/a.npy', 'inside/link/c.npy'],
    ]
    for (const [input, output] of pairs) {
      const work = multiplyOnQueue(path(input!), path(input!), path(output!), {
        queue: redis.url,
        overwrite: true,
      })
      await expect(work).rejects.toEqual(coded('ROOTS', /outside/))
      expect(existsSync(path(output!))).toBe(false)
    }
    expect(one.events.filter(({ type }) => type === 'done')).toEqual([])
  })

  it("rejects plans and jobs that the library didn't make", async () => {
    mkdirSync(path('forged'))
    writeNumbers(path('forged/a.npy'), [1, 1], [7])
    const one = worker(path('forged'))
    await one.until('started')
    const client = new Redis(redis.url)
    const { Queue } = await import('bullmq')
    const options = { connection: new Redis(redis.url, { maxRetriesPerRequest: null }), prefix: 'mpmml' }
    const queue = new Queue('blocks', options)
    const array = (name: string) => ({
      path: name,
      shape: [1, 1],
      dtype: 'int32',
      fingerprint: '',
      changedMs: 0,
    })
    const id = 'a'.repeat(32)
    const plan = {
      kind: 'multiply',
      id,
      semiring: 'max-plus',
      overflow: 'throw',
      a: array(path('forged/a.npy')),
      b: array(path('forged/a.npy')),
      output: { ...array(`${path('forged')}/../escaped.npy`), layout: null },
      block: { rows: 1, cols: 1, depth: 1 },
      stages: [1],
    }
    await client.hset(`mpmml.blocks:plan:${id}`, 'plan', JSON.stringify(plan))
    await client.hset('mpmml.blocks:plan:beef', 'plan', '{"id":"beef"}')
    await queue.add('c-0-0', { plan: id, name: 'c-0-0', stage: 0 })
    await queue.add('c-0-0', { plan: id, name: '../../escaped', stage: 0 })
    await queue.add('c-0-0', { plan: 'beef', name: 'c-0-0', stage: 0 })
    await queue.add('c-0-0', { plan: 'gone', name: 'c-0-0', stage: 0 })
    await queue.add('c-0-0', 7 as never)
    await one.until('failed', 5)
    expect(one.events.filter(({ type }) => type === 'done')).toEqual([])
    expect(readdirSync(path('.')).filter((name) => name.includes('escaped'))).toEqual([])
    await queue.close()
    options.connection.disconnect()
    client.disconnect()
  })

  it('rejects another password, or none, soon and without printing it', async () => {
    const wrong = redis.url.replace(password, 'guess')
    for (const args of [['jobs'], ['worker'], ['multiply', 'a.npy', 'b.npy', '-o', 'c.npy']]) {
      const line = await fails([...args, '--queue', wrong])
      expect(line).toMatch(/WRONGPASS.*check user and password.*\[ERR_MPMML_QUEUE\]/)
      expect(line).not.toContain('guess')
    }
    const line = await fails(['jobs', '--queue', redis.url.replace(`:${password}@`, '')])
    expect(line).toMatch(/NOAUTH.*\[ERR_MPMML_QUEUE\]/)
    const gone = `redis://:${password}@127.0.0.1:${await freePort()}`
    const refused = await fails(['multiply', 'a.npy', 'b.npy', '-o', 'c.npy', '--queue', gone])
    expect(refused).toMatch(/ECONNREFUSED.*\[ERR_MPMML_QUEUE\]/)
    expect(refused).not.toContain(password)
  })

  it('is reported if it never answers', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    await expect(connect(`redis://127.0.0.1:${port}`, {}, { connectMs: 200 })).rejects.toEqual(
      coded('QUEUE', /no answer/),
    )
    silent.close()
  })

  it('counts as lost if it stops answering, and is found again', async () => {
    const { proxy, hole } = await proxyTo(redis.port)
    let lost = 0
    let back = 0
    const events = { onLost: () => lost++, onBack: () => back++ }
    const { port } = proxy.address() as { port: number }
    const url = redis.url.replace(`:${redis.port}`, `:${port}`)
    const connection = await connect(url, events, { silenceMs: 300 })
    hole()
    expect(await connection.redis.ping()).toBe('PONG')
    expect([lost > 0, back]).toEqual([true, 1])
    connection.close()
    proxy.close()
  })

  it('ends work whose listener throws', async () => {
    mkdirSync(path('listener'))
    writeNumbers(path('listener/a.npy'), [2, 2], [1, 2, 3, 4])
    const input = path('listener/a.npy')
    const enough = new Error('enough')
    const work = (output: string) =>
      multiplyOnQueue(input, input, path(output), {
        queue: redis.url,
        onProgress: ({ lost }) => {
          if (lost !== null) throw enough
        },
      })
    const client = new Redis(redis.url)
    const lost = work('listener/b.npy')
    lost.catch(() => {})
    while ((await queueStatus({ queue: redis.url })).waiting === 0) {}
    await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await expect(lost).rejects.toBe(enough)
    await client.flushall()
    client.disconnect()
    const onEvent = () => {
      throw enough
    }
    const roots = [path('listener')]
    const thrower = await startWorker({ queue: redis.url, roots, backend: 'cpu', onEvent })
    const done = work('listener/c.npy')
    await expect(thrower.stopped).rejects.toBe(enough)
    const other = await startWorker({ queue: redis.url, roots, backend: 'cpu' })
    expect(await done).toMatchObject({ blocks: 1 })
    await other.stop()
  })

  it('is reported if it is too old, or forbids needed commands', async () => {
    const answer = 'redis_version:6.0.20'
    const old = createServer((socket) => {
      socket.on('data', (data) => {
        for (const _ of `${data}`.matchAll(/^\*\d+\r$/gm)) socket.write(`$${answer.length}\r\n${answer}\r\n`)
      })
    }).listen(0, '127.0.0.1')
    await once(old, 'listening')
    const { port } = old.address() as { port: number }
    await expect(connect(`redis://127.0.0.1:${port}`)).rejects.toEqual(
      coded('QUEUE', /expected Redis 6\.2 or later, or Valkey, but it is Redis 6\.0/),
    )
    old.close()
    const client = new Redis(redis.url)
    await client.call('ACL', 'SETUSER', 'limited', 'on', '>word', '~mpmml*', '+@all', '-info')
    const limited = redis.url.replace(`:${password}@`, 'limited:word@')
    await expect(connect(limited)).rejects.toEqual(coded('QUEUE', /NOPERM.*all commands/))
    client.disconnect()
  })

  const openssl = spawnSync('openssl', ['version']).status === 0
  itUnless(!openssl && 'openssl was not found', 'speaks TLS', async () => {
    const [key, certificate] = [path('key.pem'), path('certificate.pem')]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    const certificateRequest = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
    ]
    spawnSync('openssl', [
      ...certificateRequest,
      '-keyout',
      key,
      '-out',
      certificate,
      '-days',
      '2',
      ...subject,
    ])
    const port = await freePort()
    const options = ['--tls-port', `${port}`, '--tls-cert-file', certificate, '--tls-key-file', key]
    const secure = await RedisServer.start({ password, options: [...options, '--tls-auth-clients', 'no'] })
    const args = ['jobs', '--json', '--queue', `rediss://default:${password}@localhost:${port}`]
    const { stdout, stderr } = await mpmml(args, { env: { NODE_EXTRA_CA_CERTS: certificate } })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({ queue: `rediss://localhost:${port}`, plans: [] })
    // Without NODE_EXTRA_CA_CERTS the certificate authority is not trusted.
    expect(await fails(args)).toMatch(/self-signed certificate.*NODE_EXTRA_CA_CERTS.*\[ERR_MPMML_QUEUE\]/)
    await secure.end()
  })

  it('is named by options that are checked', async () => {
    const queue = redis.url
    for (const wrong of ['http://x', 'redis:', 'nonsense', `redis://:${password}@127.0.0.1/x`, 7]) {
      const status = queueStatus({ queue: wrong as string })
      await expect(status).rejects.toEqual(coded('OPTION', new RegExp(`^(?!.*${password})`)))
    }
    const roots = ['.']
    const given: [object, RegExp][] = [
      [{ queue, roots: [] }, /roots/],
      [{ queue, roots: [path('none')] }, /roots: the folder .*none can't be used/],
      [{ queue, roots, devices: [] }, /devices/],
      [{ queue, roots, backend: 'cpu', devices: [0] }, /devices/],
      [{ queue, roots, backend: 'gpu' }, /backend/],
      [{ queue, roots, concurrency: 0 }, /concurrency/],
      [{ queue, roots, lockDuration: 1 }, /lockDuration/],
      [{ queue, roots, name: 'a:b' }, /name/],
      [{ queue, roots, room: 1 }, /room/],
    ]
    for (const [options, message] of given) {
      await expect(startWorker(options as never)).rejects.toEqual(coded('OPTION', message))
    }
    await expect(multiplyOnQueue('a', 'b', 'c', { queue, maxQueuedJobs: 0 })).rejects.toEqual(
      coded('OPTION', /maxQueuedJobs/),
    )
  })
})

it('reports the install command without its packages', async () => {
  const hook = `export const resolve = (name, context, next) => name === 'bullmq' ? Promise.reject(Object.assign(new Error('no'), { code: 'ERR_MODULE_NOT_FOUND' })) : next(name, context)`
  const script = path('hook.mjs')
  const url = `data:text/javascript,${encodeURIComponent(hook)}`
  writeFileSync(script, `import { register } from 'node:module'\nregister(${JSON.stringify(url)})\n`)
  const line = await fails(['jobs', '--queue', 'redis://127.0.0.1'], 1, {
    env: { NODE_OPTIONS: `--import ${script}` },
  })
  expect(line).toMatch(/not installed: run npm install bullmq ioredis \[ERR_MPMML_PACKAGE\]/)
})

it('rejects options that workers determine', async () => {
  const args = ['multiply', 'a.npy', 'b.npy', '-o', 'c.npy', '--queue', 'redis://127.0.0.1']
  expect(await fails([...args, '--device', '0'], 2)).toMatch(/--device is for the worker/)
  expect(await fails([...args, '--verify'], 2)).toMatch(/--verify/)
  expect(await fails(args.slice(0, 3).concat('--queue', 'redis://127.0.0.1'), 2)).toMatch(/-o/)
})
