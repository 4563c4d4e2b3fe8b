/** Arrays in buckets of S3. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { requestS3 } from '../../lib/arrays/s3.js'
import {
  type ArraysOptions,
  allJobs,
  type BlockPlan,
  finish,
  multiplyArrays,
  planBlocks,
  runBlock,
} from '../../lib/arrays.js'
import { readNpy, writeNpy } from '../../lib/files.js'
import { root } from '../cli/support.js'
import { type HandMade, type Plain, readZarr, writeByHand, writeZarr } from '../support/arrays.js'
import { coded } from '../support/coded.js'
import { useFolder } from '../support/folder.js'
import { Random, randomMatrix } from '../support/generators.js'
import { oracle, type Strided } from '../support/oracle.js'
import { download, upload } from '../support/s3-arrays.js'
import { credentials, S3Server, type Seen } from '../support/s3-server.js'

const [M, K, N] = [70, 60, 50]
const a = randomMatrix(M, K, 1) as Plain & Strided
const b = randomMatrix(K, N, 2) as Plain & Strided
const product = oracle(a, b)
const c = product.overflow ? new Int32Array() : product.data
const on: ArraysOptions = { backend: 'cpu', block: 20, chunks: [20, 20] }
const [A, B, C] = ['s3://bucket/in/a.zarr', 's3://bucket/in/b.zarr', 's3://bucket/out/c.zarr']
/** The product has 4 × 3 blocks. Its output also has zarr.json. */
const BLOCKS = 12

let server: S3Server
const inFolder = useFolder(afterEach)

beforeEach(async () => {
  server = await S3Server.start()
  for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value)
  await putArray('in/a.zarr', a, [32, 32])
  await putArray('in/b.zarr', b, [25, 16])
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await server.end()
})

async function putArray(key: string, array: Plain, chunks: [number, number]): Promise<void> {
  const path = inFolder('put.zarr')
  await writeZarr(path, array, chunks)
  upload(server, path, key)
  rmSync(path, { recursive: true })
}

function putByHand(key: string, array: Plain, handMade: HandMade): void {
  const path = inFolder('put.zarr')
  writeByHand(path, array, handMade)
  upload(server, path, key)
  rmSync(path, { recursive: true })
}

const work = (options: ArraysOptions = on) => multiplyArrays(A, B, C, options)
const result = async () => (await download(server, 'out/c.zarr')).data

async function expectDone(): Promise<void> {
  expect(await result()).toEqual(c)
  expect(server.keys('out/')).toHaveLength(BLOCKS + 1)
}

describe('products', () => {
  it('read from S3 and write to a folder, and vice versa', async () => {
    const between = inFolder('c.zarr')
    await multiplyArrays(A, B, between, on)
    expect((await readZarr(between)).data).toEqual(c)
    await writeNpy(inFolder('b.npy'), b as never)
    await multiplyArrays(A, inFolder('b.npy'), 's3://bucket/out/c.zarr/', on)
    await expectDone()
    await multiplyArrays(A, B, inFolder('c.npy'), { backend: 'cpu' })
    expect((await readNpy(inFolder('c.npy'))).data).toEqual(c)
  })

  it.each([
    ['shards and a codec', { chunks: [5, 6], shards: [35, 30], gzip: true, crc: true }],
    ['columns in the other byte order', { chunks: [9, 7], endian: 'big', byColumns: true }],
  ] as [string, HandMade][])('accept inputs with %s', async (_, handMade) => {
    putByHand('in/made.zarr', a, handMade)
    const options = { ...on, block: 40, chunks: [10, 10], shards: [20, 20], codec: 'zstd' } as const
    await multiplyArrays('s3://bucket/in/made.zarr', B, C, options)
    expect(await result()).toEqual(c)
  })

  it('use the fill value for chunks that never existed, and report removed chunks', async () => {
    putByHand('in/holes.zarr', a, { chunks: [10, 10], fill: 7, without: (row, col) => row === col })
    const values = a.data.map((value, at) =>
      Math.floor(at / K / 10) === Math.floor((at % K) / 10) ? 7 : value,
    )
    const expected = oracle({ ...a, data: values } as Strided, b)
    await multiplyArrays('s3://bucket/in/holes.zarr', B, C, on)
    expect(await result()).toEqual(expected.overflow ? null : expected.data)
    const plan = await planBlocks({ kind: 'multiply', a: 's3://bucket/in/holes.zarr', b: B, c: `${C}2.zarr` })
    server.before = ({ key, method }) => {
      if (method === 'GET' && key === 'in/holes.zarr/c/0/1') server.objects.delete(key)
    }
    await expect(runBlock(plan, [...allJobs(plan)][0]!, { backend: 'cpu' })).rejects.toEqual(
      coded('FILE', /holes.zarr\/c\/0\/1.* gone, or was for a moment/),
    )
  })

  it('name a server that ignores the header Range', async () => {
    server.ignoresRange = true
    await expect(work()).rejects.toEqual(
      coded('CHUNK', /the server sent all \d+ bytes .* supports the header Range/),
    )
  })

  it('detect damaged chunks and changed inputs', async () => {
    const { bytes } = server.objects.get('in/a.zarr/c/0/0')!
    server.put('in/a.zarr/c/0/0', bytes.subarray(1))
    await expect(work()).rejects.toEqual(coded('CHUNK', /c\/0\/0 is damaged/))
    await expect(work({ ...on, overwrite: true })).rejects.toEqual(coded('CHUNK'))
    server.put('in/a.zarr/c/0/0', bytes)
    await expect(work({ ...on, resume: true })).rejects.toEqual(coded('CHANGED', /in\/a.zarr has changed/))
    // A change during reading is detected too, even if length and time (in seconds) stay equal.
    server.before = ({ key, method }) => {
      if (method === 'GET' && key === 'in/a.zarr/c/1/1') server.put(key, Buffer.alloc(bytes.length))
    }
    await expect(work({ ...on, overwrite: true })).rejects.toEqual(coded('CHANGED', /c\/1\/1 has changed/))
    expect(server.keys('out/c.zarr/')).toEqual([])
  })
})

describe('interrupted work', () => {
  it('continues after kill −9 at any moment', async () => {
    const random = new Random(17)
    let kills = 0
    for (let round = 0; round < 6; round++) {
      // The child process is killed after `last` requests. The last round has no kill.
      const last = round < 5 ? random.integer(20 + 30 * round, 60 + 30 * round) : Number.POSITIVE_INFINITY
      let count = 0
      let child: ChildProcess | undefined
      server.before = () => {
        if (++count > last) child?.kill('SIGKILL')
      }
      const program = `import { multiplyArrays } from ${JSON.stringify(join(root, 'dist/lib/arrays.js'))}
        await multiplyArrays(...${JSON.stringify([A, B, C, { ...on, resume: true }])})`
      child = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let stderr = ''
      child.stderr!.on('data', (text) => {
        stderr += text
      })
      const [status] = await once(child, 'close')
      kills += Number(status === null)
      if (round === 5) expect([status, stderr]).toEqual([0, ''])
      else expect(status === null || status === 0, stderr).toBe(true)
      // A visible zarr.json implies that the output is complete.
      if (server.objects.has('out/c.zarr/zarr.json')) expect(await result()).toEqual(c)
    }
    expect(kills).toBeGreaterThan(1)
    await expectDone()
  })

  it('continues after the array was partly copied, or its remains partly removed', async () => {
    const count = async (options: ArraysOptions) => {
      const before = server.seen.length
      await work(options)
      return server.seen.slice(before)
    }
    const all = await count(on)
    const copying = all.findIndex(({ isCopy }) => isCopy)
    for (const at of [copying + 3, copying + BLOCKS + 1, all.length - 25, all.length - 5, all.length - 1]) {
      let requests = 0
      server.fails = () => (requests++ >= at ? 403 : undefined)
      await expect(work({ ...on, overwrite: true })).rejects.toEqual(coded('FILE'))
      server.fails = () => undefined
      const { resumed } = await work({ ...on, resume: true })
      expect(resumed).toBe(BLOCKS)
      await expectDone()
    }
  })

  it('is not completed if new work starts at the same output', async () => {
    const plan = await planBlocks({ kind: 'multiply', a: A, b: B, c: C, block: 20, chunks: [20, 20] })
    for (const job of allJobs(plan)) await runBlock(plan, job, { backend: 'cpu' })
    let other: Promise<BlockPlan> | undefined
    server.before = async ({ method, key }) => {
      if (method !== 'PUT' || key !== 'out/c.zarr/zarr.json' || other) return
      other = planBlocks({ kind: 'multiply', a: A, b: B, c: C, block: 20, chunks: [20, 20], overwrite: true })
      await other
    }
    await expect(finish(plan)).rejects.toEqual(coded('RESUME', /begun anew/))
    expect(server.keys('out/c.zarr/')).not.toContain('out/c.zarr/zarr.json')
    const anew = (await other)!
    for (const job of allJobs(anew)) await runBlock(anew, job, { backend: 'cpu' })
    await finish(anew)
    await expectDone()
  })
})

describe('a list of objects', () => {
  it.each(['objects', 'none'] as const)(
    'fails with a code if new tokens arrive without new objects: %s',
    async (kind) => {
      server.endless = kind
      await expect(work()).rejects.toEqual(coded('FILE', 'only a part of the list of its objects'))
      expect(server.seen.filter(({ isList }) => isList)).toHaveLength(2)
    },
  )
})

it('rejects an input whose list of objects lacks its metadata, because its chunks would have the fill value', async () => {
  server.lists = (key) => !key.startsWith('in/b.zarr')
  await expect(work()).rejects.toEqual(coded('FILE', /list of the files of .*b\.zarr has no zarr\.json/))
  expect(server.keys('out/')).toEqual([])
})

describe('a signal', () => {
  const cases: [string, (seen: Seen) => boolean][] = [
    ['a look at an input', ({ key }) => key === 'in/b.zarr/zarr.json'],
    ['a list', ({ isList }) => isList],
    ['the beginning', ({ method, key }) => method === 'PUT' && key.endsWith('plan.json')],
    ['a chunk that is read', ({ key }) => key === 'in/b.zarr/c/1/1'],
    ['a chunk that is written', ({ method, key }) => method === 'PUT' && key.includes('/array/c/')],
    ['a mark', ({ method, key }) => method === 'PUT' && key.includes('/done/')],
    ['a copy', ({ isCopy }) => isCopy],
    ['a removal', ({ method }) => method === 'DELETE'],
  ]
  it.each(cases)('aborts the pending request: %s', async (_, isSuch) => {
    const controller = new AbortController()
    const sockets: Promise<unknown>[] = []
    server.fails = (seen) => {
      if (!isSuch(seen)) return undefined
      // The server received this request and never answers it.
      sockets.push(seen.ended)
      setTimeout(() => controller.abort('enough'), 20)
      return 'never'
    }
    const given = expect.objectContaining({ code: 'ERR_MPMML_ABORTED', cause: 'enough' })
    await expect(work({ ...on, signal: controller.signal })).rejects.toEqual(given)
    // The client has closed all unanswered connections.
    expect(sockets.length).toBeGreaterThan(0)
    await Promise.all(sockets)
    server.fails = () => undefined
    await work({ ...on, resume: true })
    await expectDone()
  })

  it('aborts the pauses between attempts', async () => {
    const controller = new AbortController()
    server.fails = ({ key }) => (key === 'in/b.zarr/c/1/1' ? 503 : undefined)
    let attempts = 0
    server.before = ({ key }) => {
      if (key === 'in/b.zarr/c/1/1' && ++attempts === 2) setTimeout(() => controller.abort(), 20)
    }
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    await expect(work({ ...on, signal: controller.signal })).rejects.toEqual(coded('ABORTED'))
    // No timer of a retry remains.
    expect(timers()).toBeLessThanOrEqual(before)
  })

  it('has one listener for all requests', async () => {
    const { signal } = new AbortController()
    const spy = vi.spyOn(signal, 'addEventListener')
    const off = vi.spyOn(signal, 'removeEventListener')
    await work({ ...on, signal })
    expect(spy.mock.calls.length).toBeGreaterThan(0)
    expect(off.mock.calls.length).toBe(spy.mock.calls.length)
  })
})

it('accepts any characters in keys', async () => {
  const [from, to] = [
    's3://bucket/in put/ä+b%20&<c>\'"(1)!*,=@:$~;?#[]^`{}|\\ 日本 x.zarr',
    's3://bucket/%2e%2e/ö (2)+%2F&amp;.zarr',
  ]
  await putArray(from.slice('s3://bucket/'.length), a, [32, 32])
  await multiplyArrays(from, B, to, on)
  expect((await download(server, to.slice('s3://bucket/'.length))).data).toEqual(c)
  server.fails = ({ key, method }) => (method === 'PUT' && /done\/0\/c-1-1$/.test(key) ? 403 : undefined)
  await expect(multiplyArrays(from, B, to, { ...on, overwrite: true })).rejects.toEqual(coded('FILE'))
  server.fails = () => undefined
  await multiplyArrays(from, B, to, { ...on, resume: true })
  expect((await download(server, to.slice('s3://bucket/'.length))).data).toEqual(c)
  expect(server.keys('%').every((key) => key.startsWith(`${to.slice('s3://bucket/'.length)}/`))).toBe(true)
})

describe('a server that fails', () => {
  it.each([503, 429, 'reset', 'late'] as const)(
    'receives retries if it fails now and then: %s',
    async (failure) => {
      let requests = 0
      server.fails = () => (++requests % 10 === 0 ? failure : undefined)
      await work()
      await expectDone()
    },
  )

  it('receives retries if it stops answering', async () => {
    const address = { bucket: 'bucket', key: 'in/a.zarr/zarr.json' }
    const ask = () =>
      requestS3({ method: 'GET', address, purpose: 'read' }, undefined, { silenceMs: 100, firstPauseMs: 1 })
    let requests = 0
    server.fails = () => (++requests < 3 ? 'never' : undefined)
    expect((await ask()).body.toString()).toContain('"zarr_format": 3')
    expect(requests).toBe(3)
    server.fails = () => 'never'
    await expect(ask()).rejects.toEqual(
      coded('FILE', /a.zarr\/zarr.json can't be read: nothing came for 0.1 s, 6 times/),
    )
  })

  it('may lose the responses to conditional writes', async () => {
    const lost = new Set<string>()
    server.fails = ({ method, key }) => {
      const isFirst = method === 'PUT' && /(plan|c\.zarr\/zarr)\.json$/.test(key) && !lost.has(key)
      if (isFirst) lost.add(key)
      return isFirst ? 'late' : undefined
    }
    await work()
    expect([...lost].sort()).toEqual(['out/c.zarr.partial/plan.json', 'out/c.zarr/zarr.json'])
    await expectDone()
  })

  it('causes an error after the last attempt, and the work can be resumed', async () => {
    server.fails = ({ key }) => (key === 'in/b.zarr/c/1/1' ? 503 : undefined)
    await expect(work()).rejects.toEqual(coded('FILE', /in\/b.zarr\/c\/1\/1 can't be read: SlowDown.*resume/))
    server.fails = () => undefined
    await work({ ...on, resume: true })
    await expectDone()
  })

  it('is distinguished from missing objects', async () => {
    const without = (names: Record<string, string>) => {
      for (const [name, value] of Object.entries(names)) vi.stubEnv(name, value)
      return work().then(
        () => expect.fail('it was not refused'),
        (error: Error) => error,
      )
    }
    const secret = 'not/the+secret'
    const wrong = await without({ AWS_SECRET_ACCESS_KEY: secret })
    expect(wrong).toEqual(
      coded('FILE', /in\/a.zarr\/zarr.json can't be read: SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY/),
    )
    const unknown = await without({ AWS_ACCESS_KEY_ID: 'AKNOBODY' })
    expect(unknown).toEqual(coded('FILE', /InvalidAccessKeyId/))
    const token = await without({ ...server.environment, AWS_SESSION_TOKEN: 'not.the.token' })
    expect(token).toEqual(coded('FILE', /InvalidToken/))
    const none = await without({ ...server.environment, AWS_SECRET_ACCESS_KEY: '' })
    expect(none).toEqual(coded('FILE', /need credentials/))
    const endpoint = await without({
      ...server.environment,
      AWS_ENDPOINT_URL_S3: 'http://me:password@127.0.0.1:1',
    })
    expect(endpoint).toEqual(coded('OPTION', /AWS_ENDPOINT_URL_S3/))
    for (const { message } of [wrong, unknown, token, none, endpoint]) {
      for (const word of [
        secret,
        credentials.secret,
        credentials.id,
        'AKNOBODY',
        'not.the.token',
        'password@',
      ]) {
        expect(message).not.toContain(word)
      }
    }
    for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value)
    const from = (path: string) => multiplyArrays(path, B, C, on)
    await expect(from('s3://nowhere/a.zarr')).rejects.toEqual(coded('FILE', /nowhere/))
    await expect(from('s3://bucket/no.zarr')).rejects.toEqual(
      coded('FILE', /there is no s3:\/\/bucket\/no.zarr\/zarr.json/),
    )
    await expect(from('s3://bucket/in/../a.zarr')).rejects.toEqual(coded('FILE', /"\.\."/))
    await expect(from('s3://key:secret@bucket/a.zarr')).rejects.toEqual(coded('FILE', /^(?!.*secret)/))
    await expect(from('s3://bucket/a.npy')).rejects.toEqual(coded('FILE', /expected a Zarr array/))
    await expect(multiplyArrays(A, B, 's3://nowhere/c.zarr', on)).rejects.toEqual(
      coded('FILE', /there is no bucket nowhere/),
    )
    await expect(multiplyArrays(A, B, 's3://bucket/c.npy', on)).rejects.toEqual(
      coded('FILE', /ends with .zarr/),
    )
  })
})

it('rejects forged plans that mix files of this machine with URLs', async () => {
  const plan = await planBlocks({ kind: 'multiply', a: A, b: B, c: C, block: 20 })
  const forged = (output: object, a: object = {}) => {
    const { id, ...rest } = { ...plan, a: { ...plan.a, ...a }, output: { ...plan.output, ...output } }
    return { ...rest, id: createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 32) }
  }
  const [job] = allJobs(plan)
  const run = (forgery: object) =>
    runBlock(forgery as BlockPlan, job!, { backend: 'cpu', roots: ['s3://bucket'] })
  // The unchanged plan is accepted, which shows that forged() computes right ids.
  await run(forged({}))
  for (const forgery of [
    forged({ path: 's3://bucket/out/c.npy', layout: null }),
    forged({ layout: null }),
    forged({ layout: undefined }),
    forged({ path: 's3://bucket/out/c.npy' }),
    forged({ path: 's3://bucket//out/c.zarr' }),
    forged({ path: 'S3://bucket/out/c.zarr' }),
    forged({ path: 's3://bucket/../c.zarr' }),
    forged({ path: undefined }),
    forged({}, { path: 's3://bucket//in/a.zarr' }),
  ]) {
    await expect(run(forgery)).rejects.toEqual(coded('RESUME', /not as it was made/))
  }
})

it('puts no secrets into plans, and keeps plans within their roots', async () => {
  const plan = await planBlocks({ kind: 'multiply', a: A, b: B, c: C })
  const text =
    JSON.stringify(plan) + server.keys().map((key) => server.objects.get(key)!.bytes.toString('latin1'))
  for (const secret of [credentials.id, credentials.secret, credentials.token])
    expect(text).not.toContain(secret)
  const [job] = allJobs(plan)
  const run = (roots: string[]) => runBlock(plan, job!, { backend: 'cpu', roots })
  for (const roots of [
    [inFolder()],
    ['s3://bucket/in'],
    ['s3://bucket/in', 's3://bucket/ou'],
    ['s3://other', '/'],
  ]) {
    await expect(run(roots)).rejects.toEqual(coded('ROOTS'))
  }
  await run(['s3://bucket/in', 's3://bucket/out/'])
  expect((await run(['s3://bucket'])).already).toBe(true)
})
