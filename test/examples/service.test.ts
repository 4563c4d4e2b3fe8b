/** The service of examples/service as its README starts it: a process of its own. Uses what `npm run build:ts` built. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { readNumbers, root, useFolder, writeNumbers } from '../cli/support.js'
import { Random } from '../support/generators.js'
import { oracle, type SemiringName, type Strided } from '../support/oracle.js'

const built = existsSync(join(root, 'dist', 'lib', 'index.js'))
const inFolder = useFolder()

interface Service {
  child: ChildProcess
  url: string
  /** Waits until the service has printed this. */
  printed: (pattern: RegExp) => Promise<RegExpExecArray>
  ended: Promise<{ status: number | null; signal: NodeJS.Signals | null }>
}

const services: ChildProcess[] = []
afterEach(() => {
  for (const child of services.splice(0)) child.kill('SIGKILL')
})

async function start(env: Record<string, string> = {}): Promise<Service> {
  const child = spawn(process.execPath, [join(root, 'examples', 'service', 'server.mjs')], {
    // Products take the same time with and without a GPU.
    env: { ...process.env, PORT: '0', MPMML_BACKEND: 'cpu', LOG_LEVEL: 'fatal', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  services.push(child)
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const ended = new Promise<Awaited<Service['ended']>>((resolve) => {
    child.on('close', (status, signal) => resolve({ status, signal }))
  })
  const printed = (pattern: RegExp) => until(() => pattern.exec(output))
  const [, url] = await printed(/listening on (\S+)/)
  return { child, url: url!, printed, ended }
}

/** The first answer that isn't null. */
async function until<Answer>(ask: () => Answer | null | Promise<Answer | null>): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (answer !== null) return answer
    await sleep(5)
  }
}

const health = async ({ url }: Service) => (await fetch(`${url}/health`)).json()

/** Waits until /health has these values. */
const healthy = (service: Service, expected: object) =>
  until(async () => {
    const found = await health(service)
    return Object.entries(expected).every(([key, value]) => found[key] === value) ? found : null
  })

const file = (m: Strided, options = {}) =>
  new Blob([readFileSync(writeNumbers(inFolder('made.npy'), [...Array.from(m.shape)], m.data, options))])

function form(fields: Record<string, Blob | string>): FormData {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') body.set(name, value)
    else body.set(name, value, `${name}.npy`)
  }
  return body
}

const post = ({ url }: Service, body: FormData | string, headers = {}, signal: AbortSignal | null = null) =>
  fetch(`${url}/multiply`, {
    method: 'POST',
    body,
    headers: { ...(typeof body === 'string' && { 'content-type': 'application/json' }), ...headers },
    signal,
  })

const postJson = (service: Service, body: unknown, headers = {}) =>
  post(service, JSON.stringify(body), headers)

/** Checks that a request was refused in this way. */
async function refused(
  answer: Response | Promise<Response>,
  status: number,
  expectedCode: string,
  text: string | RegExp = /./,
) {
  const response = await answer
  const { code, message, ...others } = await response.json()
  expect([response.status, code, others], message).toEqual([status, expectedCode, {}])
  expect(message).toMatch(text)
}

function random(rows: number, cols: number, seed: number, zero = 0): Strided {
  const values = new Random(seed)
  const data = Int32Array.from({ length: rows * cols }, () =>
    values.chance(0.2) ? zero : values.integer(-1000, 1000),
  )
  return { data, shape: [rows, cols] }
}

const product = (a: Strided, b: Strided, semiring: SemiringName = 'max-plus') => {
  const expected = oracle(a, b, { semiring })
  if (expected.overflow) throw new Error('overflow')
  return expected
}

const rowsOf = ({ data, shape }: Strided, zero: number) =>
  Array.from({ length: shape[0]! }, (_, i) =>
    Array.from(data.subarray(i * shape[1]!, (i + 1) * shape[1]!), (value) => (value === zero ? null : value)),
  )

const zeros = [
  ['max-plus', -(2 ** 31)],
  ['min-plus', 2 ** 31 - 1],
] as const

/** A product that takes seconds on one thread without SIMD: its values need 64-bit sums. */
const slowEnv = { MPMML_NUM_THREADS: '1', MPMML_CPU_ISA: 'portable' }
const slowSize = 3000
let slowFile: Blob | undefined
function slowForm(): FormData {
  slowFile ??= file({
    data: new Int32Array(slowSize ** 2).map((_, index) => (index % 2 ? 2 ** 31 - 1 : 1 - 2 ** 31)),
    shape: [slowSize, slowSize],
  })
  return form({ a: slowFile, b: slowFile, overflow: 'saturate' })
}

describe.skipIf(!built)(built ? 'the service' : 'the service (skipped: dist/ is not built)', () => {
  it.each(zeros)('multiplies .npy files of a form, and answers with one: %s', async (semiring, zero) => {
    const service = await start()
    const [a, b] = [random(31, 17, 1, zero), random(17, 23, 2, zero)]
    const answer = await post(service, form({ a: file(a), b: file(b), semiring }))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/octet-stream')
    expect(answer.headers.get('server-timing')).toMatch(/^kernel;dur=[\d.e-]+, product;dur=[\d.e-]+$/)
    const path = inFolder('c.npy')
    writeFileSync(path, Buffer.from(await answer.arrayBuffer()))
    expect(readNumbers(path)).toEqual({ shape: [31, 23], values: [...product(a, b, semiring).data] })
    expect(await health(service)).toMatchObject({
      status: 'ok',
      backend: 'cpu',
      done: 1,
      open: 0,
      running: 0,
    })
  })

  it.each(zeros)('multiplies rows of numbers, and answers with such: %s', async (semiring, zero) => {
    const service = await start()
    const [a, b] = [random(9, 5, 3, zero), random(5, 12, 4, zero)]
    const answer = await postJson(service, { a: rowsOf(a, zero), b: rowsOf(b, zero), semiring })
    const { c, backend, variant, timing } = await answer.json()
    const { rows, cols, data } = product(a, b, semiring)
    expect(c).toEqual(rowsOf({ data, shape: [rows, cols] }, zero))
    expect([backend, variant, timing.kernelMs]).toEqual(['cpu', expect.any(String), expect.any(Number)])
  })

  it('takes the other element types, batches and empty matrices', async () => {
    const service = await start()
    const c = async (body: object) => (await (await postJson(service, body)).json()).c
    // By hand.
    expect(await c({ a: [[0.5, null]], b: [[1.25], [9]], dtype: 'float64' })).toEqual([[1.75]])
    expect(await c({ a: [[null]], b: [[9]], dtype: 'float32' })).toEqual([[null]])
    expect(await c({ a: [[1e308]], b: [[1e308]], dtype: 'float64' })).toEqual([['Infinity']])
    expect(await c({ a: [[0, 1]], b: [[1], [0]], dtype: 'uint8', semiring: 'or-and' })).toEqual([[0]])
    expect(await c({ a: [[0.5, 0]], b: [[0], [3]], dtype: 'float64', semiring: 'max-times' })).toEqual([[0]])
    expect(await c({ a: [], b: [] })).toEqual([])
    expect(await c({ a: [[], []], b: [] })).toEqual([[], []])
    const batch = file({ data: Int32Array.of(1, 2, 3, 4), shape: [2, 1, 2] })
    const single = file({ data: Int32Array.of(10, 20), shape: [2, 1] })
    const answer = await post(service, form({ a: batch, b: single }), { accept: 'application/json' })
    expect((await answer.json()).c).toEqual([[[22]], [[24]]])
    const npy = await postJson(service, { a: [[1]], b: [[2]] }, { accept: 'application/octet-stream' })
    expect(Buffer.from(await npy.arrayBuffer()).readInt32LE(128)).toBe(3)
  })

  it('tells of wrong requests by status and code, and goes on', async () => {
    const service = await start()
    const one = { a: [[1]], b: [[2]] }
    const json = (body: unknown, ...expected: [number, string, (string | RegExp)?]) =>
      refused(postJson(service, body), ...expected)
    for (const body of [{}, null, 5, [], { a: [[1]] }, { a: 'text', b: [[1]] }, { a: [[1], 2], b: [[1]] }]) {
      await json(body, 400, 'BAD_REQUEST', 'must be a .npy file or rows')
    }
    await json({ ...one, a: [[1, 2], [3]] }, 400, 'BAD_REQUEST', 'of equal length')
    await json(
      { ...one, a: [[1.5]] },
      400,
      'BAD_REQUEST',
      'a must hold numbers of type int32, but it has 1.5',
    )
    await json({ ...one, a: [[2 ** 31]] }, 400, 'BAD_REQUEST', '2147483648')
    await json({ ...one, b: [['7']] }, 400, 'BAD_REQUEST', 'b must hold numbers')
    await json({ ...one, dtype: 'int64' }, 400, 'BAD_REQUEST', 'dtype')
    await json({ ...one, dtype: 'constructor' }, 400, 'BAD_REQUEST', 'dtype')
    await json({ ...one, a: [[1, 2]] }, 400, 'ERR_MPMML_SHAPE')
    await json({ ...one, semiring: 'max' }, 400, 'ERR_MPMML_OPTION')
    await json({ ...one, overflow: 'ignore' }, 400, 'ERR_MPMML_OPTION')
    await json({ ...one, a: [[2 ** 31 - 1]] }, 422, 'ERR_MPMML_OVERFLOW', '2147483649')
    await json({ ...one, a: [[-1]], dtype: 'float64', semiring: 'max-times' }, 422, 'ERR_MPMML_VALUE')
    await refused(post(service, '{"a":'), 400, 'FST_ERR_CTP_INVALID_JSON_BODY')
    const [a, b] = [file(random(2, 3, 5)), file(random(3, 2, 6))]
    const files = (fields: Record<string, Blob>, ...expected: [number, string, RegExp?]) =>
      refused(post(service, form(fields)), ...expected)
    await files({ a, b: new Blob(['no matrix']) }, 400, 'ERR_MPMML_FILE', /^b: .*expected a NumPy \.npy file/)
    await files({ a: a.slice(0, -1), b }, 400, 'ERR_MPMML_FILE', /^a: .*truncated/)
    await files({ a }, 400, 'BAD_REQUEST', /^b must be/)
    await files({ a, b, c: a }, 413, 'FST_FILES_LIMIT')
    await refused(post(service, 'a,b', { 'content-type': 'text/csv' }), 415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    const cut = post(service, '--x\r\n', { 'content-type': 'multipart/form-data; boundary=x' })
    expect((await cut).status).toBeGreaterThanOrEqual(400)
    expect((await fetch(`${service.url}/other`)).status).toBe(404)
    expect((await (await postJson(service, one)).json()).c).toEqual([[3]])
    expect(await health(service)).toMatchObject({ open: 0, running: 0, waiting: 0, done: 1, givenUp: 0 })
  })

  it('has limits for bodies and products', async () => {
    const service = await start({
      MAX_FILE_BYTES: '1000',
      MAX_JSON_BYTES: '500',
      MAX_JSON_ELEMENTS: '9',
      MAX_ELEMENTS: '16',
      MAX_STEPS: '64',
    })
    const files = (m: number, k: number, n: number, headers = {}) =>
      post(service, form({ a: file(random(m, k, 1)), b: file(random(k, n, 2)) }), headers)
    expect((await files(4, 4, 4)).status).toBe(200)
    await refused(files(4, 5, 4), 413, 'TOO_LARGE', 'the product takes 80 steps, the limit is 64')
    await refused(files(5, 2, 4), 413, 'TOO_LARGE', /^the product has 20 elements, the limit is 16$/)
    const asJson = files(4, 4, 4, { accept: 'application/json' })
    await refused(asJson, 413, 'TOO_LARGE', '16 elements, the limit is 9; ask for a .npy file')
    await refused(files(16, 16, 1), 413, 'FST_REQ_FILE_TOO_LARGE')
    const long = postJson(service, { a: [[1]], b: [Array(300).fill(1)] })
    await refused(long, 413, 'FST_ERR_CTP_BODY_TOO_LARGE')
  })

  it('gives a product up when its client has gone, running or waiting, and refuses what is too much', async () => {
    const service = await start({ ...slowEnv, MAX_RUNNING: '1', MAX_WAITING: '1' })
    const clients = [new AbortController(), new AbortController()]
    const answers: Promise<unknown>[] = []
    for (const [index, { signal }] of clients.entries()) {
      answers.push(post(service, slowForm(), {}, signal).catch((error: Error) => error.name))
      await healthy(service, { running: 1, waiting: index })
    }
    const busy = await postJson(service, { a: [[1]], b: [[2]] })
    expect(busy.headers.get('retry-after')).toBe('1')
    await refused(busy, 503, 'BUSY')
    clients[1]!.abort()
    await healthy(service, { open: 1, running: 1, waiting: 0, givenUp: 1 })
    clients[0]!.abort()
    expect(await Promise.all(answers)).toEqual(['AbortError', 'AbortError'])
    await healthy(service, { open: 0, running: 0, waiting: 0, givenUp: 2, done: 0 })
    expect((await (await postJson(service, { a: [[1]], b: [[2]] })).json()).c).toEqual([[3]])
  })

  it('gives a product up at the time limit', async () => {
    const service = await start({ ...slowEnv, MAX_SECONDS: '0.2' })
    const late = post(service, slowForm())
    await refused(late, 503, 'TIME_LIMIT', 'the product took longer than 0.2 s')
    await healthy(service, { open: 0, running: 0, givenUp: 1, done: 0 })
  })

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'lets running products finish at %s, and takes no others',
    async (signal) => {
      const service = await start({ ...slowEnv, MAX_RUNNING: '1' })
      const [running, waiting] = [
        post(service, slowForm()),
        healthy(service, { running: 1 }).then(() => postJson(service, { a: [[1]], b: [[2]] })),
      ]
      await healthy(service, { running: 1, waiting: 1 })
      service.child.kill(signal)
      await service.printed(/finishing 2 requests/)
      await expect(health(service)).rejects.toThrow('fetch failed')
      const values = new Int32Array((await (await running).arrayBuffer()).slice(128))
      // In even columns the best is 2^31 − 1 and its negative, in odd ones twice 2^31 − 1, which is out of range.
      expect(values.length).toBe(slowSize ** 2)
      expect(values.every((value, index) => value === (index % 2 ? 2 ** 31 - 1 : 0))).toBe(true)
      expect((await (await waiting).json()).c).toEqual([[3]])
      expect(await service.ended).toEqual({ status: 0, signal: null })
    },
  )

  it('gives everything up at the second signal', async () => {
    const service = await start(slowEnv)
    const running = expect(post(service, slowForm())).rejects.toThrow('fetch failed')
    await healthy(service, { running: 1 })
    service.child.kill('SIGTERM')
    await service.printed(/finishing 1 requests/)
    service.child.kill('SIGTERM')
    expect(await service.ended).toEqual({ status: 1, signal: null })
    await running
  })

  it('has a README with its settings, and commands that work', async () => {
    const folder = join(root, 'examples', 'service')
    const readme = readFileSync(join(folder, 'README.md'), 'utf8')
    const code = readFileSync(join(folder, 'server.mjs'), 'utf8')
    const settings = [...code.matchAll(/setting\('(\w+)'|process\.env\.(\w+)/g)].map(([, a, b]) => a ?? b)
    const listed = [...readme.matchAll(/`([A-Z]+(?:_[A-Z]+)*)`/g)].map(([, name]) => name)
    expect([...new Set(listed)].sort()).toEqual(settings.sort())
    const json = /--json '([^']+)'/.exec(readme)![1]!
    const service = await start()
    const answer = await postJson(service, JSON.parse(json))
    // The example of the library's README, without the 4 that decided nothing.
    expect((await answer.json()).c).toEqual([
      [9, 9],
      [10, 13],
    ])
    const [, a, b] = /-F a=@(\S+) -F b=@(\S+)/.exec(readme)!
    const [left, right] = [a!, b!].map((path) => new Blob([readFileSync(join(root, path))]))
    const file = await post(service, form({ a: left!, b: right!, overflow: 'saturate' }))
    expect([file.status, Buffer.from(await file.arrayBuffer()).toString('latin1', 1, 6)]).toEqual([
      200,
      'NUMPY',
    ])
  })
})
