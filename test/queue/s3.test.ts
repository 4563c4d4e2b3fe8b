/** Workers on a queue whose matrices are in a bucket of S3. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { multiplyOnQueue, startWorker } from '../../lib/queue.js'
import { cli } from '../cli/support.js'
import { type Plain, writeZarr } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { randomMatrix } from '../support/generators.js'
import { oracle, type Strided } from '../support/oracle.js'
import { PATIENCE } from '../support/patience.js'
import { RedisServer, withoutRedis } from '../support/redis.js'
import { download, upload } from '../support/s3-arrays.js'
import { S3Server } from '../support/s3-server.js'
import { describeUnless } from '../support/skip.js'

const n = 120
const a = randomMatrix(n, n, 3) as Plain & Strided
const b = randomMatrix(n, n, 4) as Plain & Strided
const product = oracle(a, b)
const names = ['s3://bucket/in/a.zarr', 's3://bucket/in/b.zarr', 's3://bucket/out/c.zarr'] as const

describeUnless(withoutRedis, 'a queue with a bucket', () => {
  let redis: RedisServer
  let server: S3Server
  let workers: ChildProcess[] = []

  beforeEach(async () => {
    redis = await RedisServer.start()
    server = await S3Server.start()
    for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value)
    const folder = mkdtempSync(join(tmpdir(), 'mpmml-s3-'))
    for (const [name, array] of Object.entries({ a, b })) {
      await writeZarr(join(folder, name), array, [30, 30])
      upload(server, join(folder, name), `in/${name}.zarr`)
    }
    rmSync(folder, { recursive: true })
  })
  afterEach(async () => {
    for (const child of workers) child.kill('SIGKILL')
    workers = []
    vi.unstubAllEnvs()
    await server.end()
    await redis.end()
  })

  const soon = { timeout: PATIENCE, interval: 5 }

  function worker(...more: string[]) {
    const args = ['worker', '--queue', redis.url, '--backend', 'cpu', '--lock', '1', '--json', ...more]
    const child = spawn(process.execPath, [cli, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    workers.push(child)
    const events: { type: string }[] = []
    createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line)))
    const has = (type: string, count = 1) => {
      expect(child.exitCode).toBeNull()
      return events.filter((event) => event.type === type).length >= count
    }
    return { child, has }
  }

  it('stores a product that three workers compute, one of which dies, while the storage fails sometimes', async () => {
    const roots = ['--root', 's3://bucket/in', 's3://bucket/out']
    const all = ['1', '1', '2'].map((count) => worker(...roots, '--concurrency', count))
    await vi.waitUntil(() => all.every(({ has }) => has('started')), soon)
    let requests = 0
    server.fails = () => (++requests % 40 === 0 ? 503 : undefined)
    const work = multiplyOnQueue(...names, {
      queue: redis.url,
      block: 30,
      chunks: [30, 30],
      lockDuration: 1000,
    })
    // The first worker that has begun two blocks is killed.
    const [victim] = await vi.waitUntil(() => {
      const busy = all.filter(({ has }) => has('begun', 2))
      return busy.length > 0 && busy
    }, soon)
    victim!.child.kill('SIGKILL')
    expect(await work).toMatchObject({ blocks: 16 })
    expect(product.overflow).toBeFalsy()
    expect((await download(server, 'out/c.zarr')).data).toEqual(product.overflow || product.data)
    // A slow worker may still write a block that another one has done, and removes its copy then.
    await vi.waitUntil(() => server.keys('out/').length === 16 + 1, soon)
  })

  it('restricts workers to their roots', async () => {
    const outside = worker('--root', 's3://bucket/in', tmpdir())
    await vi.waitUntil(() => outside.has('started'), soon)
    const work = multiplyOnQueue(...names, { queue: redis.url, block: 60, chunks: [60, 60] })
    await expect(work).rejects.toEqual(coded('ROOTS', /out\/c.zarr is outside/))
    const start = (root: string) => startWorker({ queue: redis.url, roots: [root], backend: 'cpu' })
    await expect(start('s3://nowhere')).rejects.toEqual(coded('FILE', /nowhere/))
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'wrong')
    await expect(start('s3://bucket')).rejects.toEqual(coded('FILE', /SignatureDoesNotMatch/))
  })
})
