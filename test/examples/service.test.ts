/**
 * The service of examples/service, started in a separate process like in its README. Uses the output of `npm
 * run build:ts`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, expect, it } from 'vitest'
import { readNumbers, root, runProgram, writeNumbers } from '../cli/support.js'
import { withoutBuild } from '../support/child.js'
import { useFolder } from '../support/folder.js'
import { Random } from '../support/generators.js'
import { oracle, type SemiringName, type Strided } from '../support/oracle.js'
import { describeUnless } from '../support/skip.js'

const inFolder = useFolder()

const server = join(root, 'examples', 'service', 'server.mjs')

interface Service {
  child: ChildProcess
  url: string
  /** Returns the previous output, including the log. */
  output: () => string
  /** Waits until the output matches the pattern. */
  printed: (pattern: RegExp) => Promise<RegExpExecArray>
  ended: Promise<{ status: number | null; signal: NodeJS.Signals | null }>
}

const services: ChildProcess[] = []
const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const child of services.splice(0)) child.kill('SIGKILL')
})

async function start(env: Record<string, string> = {}, endsWithTest = true): Promise<Service> {
  const child = spawn(process.execPath, [server], {
    // The CPU backend makes the duration of products independent of a GPU.
    env: { ...process.env, PORT: '0', MPMML_BACKEND: 'cpu', LOG_LEVEL: 'fatal', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (endsWithTest) services.push(child)
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const ended = new Promise<Awaited<Service['ended']>>((resolve) => {
    child.on('close', (status, signal) => resolve({ status, signal }))
  })
  const printed = (pattern: RegExp) => until(() => pattern.exec(output))
  const [, url] = await printed(/listening on (\S+)/)
  return { child, url: url!, output: () => output, printed, ended }
}

let usual: Promise<Service> | undefined

/** Returns a shared service with default settings, for tests that only request products. */
function askedByAll(): Promise<Service> {
  usual ??= start({}, false)
  return usual
}
afterAll(async () => (await usual)?.child.kill('SIGKILL'))

interface Client {
  socket: Socket
  /** Received bytes, and whether the service has closed the connection. */
  answer: () => string
  closed: Promise<void>
}

/** Connects a client that sends only the given bytes, so that its request body never ends. */
function dripping({ url }: Service, text: string): Client {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  sockets.push(socket)
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve())
  })
  socket.write(text)
  return { socket, answer: () => answer, closed }
}

const head = (length: number, type = 'application/json') =>
  `POST /multiply HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`

const drip = (service: Service) => dripping(service, `${head(100)}{"a":`)

/** Calls `ask` repeatedly, and returns the first answer that isn't null. */
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

/** Checks the status, code and message of a rejected request. */
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
const slowEnv = { MPMML_NUM_THREADS: '1', MPMML_CPU_ISA: 'portable', MAX_SECONDS: '600' }
const slowSize = 3000
const slowFiles = new Map<number, Blob>()
function slowForm(size = slowSize): FormData {
  const operand =
    slowFiles.get(size) ??
    file({
      data: new Int32Array(size ** 2).map((_, index) => (index % 2 ? 2 ** 31 - 1 : 1 - 2 ** 31)),
      shape: [size, size],
    })
  slowFiles.set(size, operand)
  return form({ a: operand, b: operand, overflow: 'saturate' })
}

describeUnless(withoutBuild, 'the service', () => {
  it.each(zeros)('multiplies .npy files of a form, and returns a .npy file: %s', async (semiring, zero) => {
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

  it.each(zeros)('multiplies rows of numbers, and returns rows: %s', async (semiring, zero) => {
    const service = await askedByAll()
    const [a, b] = [random(9, 5, 3, zero), random(5, 12, 4, zero)]
    const answer = await postJson(service, { a: rowsOf(a, zero), b: rowsOf(b, zero), semiring })
    const { c, backend, variant, timing } = await answer.json()
    const { rows, cols, data } = product(a, b, semiring)
    expect(c).toEqual(rowsOf({ data, shape: [rows, cols] }, zero))
    expect([backend, variant, timing.kernelMs]).toEqual(['cpu', expect.any(String), expect.any(Number)])
  })

  it('accepts the other element types, batches and empty matrices', async () => {
    const service = await askedByAll()
    const c = async (body: object) => (await (await postJson(service, body)).json()).c
    // The expected product is computed by hand.
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

  it('rejects invalid requests with a status and a code, and continues', async () => {
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
    await json(
      { ...one, semirng: 'min-plus' },
      400,
      'BAD_REQUEST',
      /^there is no field "semirng": the fields are a, b/,
    )
    await refused(
      fetch(`${service.url}/multiply?semiring=min-plus`, {
        method: 'POST',
        body: JSON.stringify(one),
        headers: { 'content-type': 'application/json' },
      }),
      400,
      'BAD_REQUEST',
      'options are fields of the body',
    )
    // Converting these values to text overflows the stack or throws. The error message must not do that.
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const noText = '{"toString":1}'
    for (const value of [deep, noText]) {
      await refused(post(service, `{"a":[[${value}]],"b":[[1]]}`), 400, 'BAD_REQUEST', 'but it has object')
      await refused(post(service, `{"a":${value},"b":[[1]]}`), 400, 'BAD_REQUEST', /^a must/)
      await refused(post(service, `{"a":[[1]],"b":[[1]],"dtype":${value}}`), 400, 'BAD_REQUEST', 'dtype')
      for (const option of ['semiring', 'overflow']) {
        const body = `{"a":[[1]],"b":[[1]],"${option}":${value}}`
        await refused(post(service, body), 400, 'ERR_MPMML_OPTION', /semiring|overflow/)
      }
    }
    await refused(post(service, '{"a":[[1e300]],"b":[[1]],"dtype":"float32"}'), 400, 'BAD_REQUEST', '1e+300')
    await refused(
      post(service, '{"a":[[1e999]],"b":[[1]],"dtype":"float64"}'),
      400,
      'BAD_REQUEST',
      'Infinity',
    )
    await refused(post(service, '{"a":'), 400, 'FST_ERR_CTP_INVALID_JSON_BODY')
    const [a, b] = [file(random(2, 3, 5)), file(random(3, 2, 6))]
    const files = (fields: Record<string, Blob>, ...expected: [number, string, RegExp?]) =>
      refused(post(service, form(fields)), ...expected)
    await files({ a, b: new Blob(['no matrix']) }, 400, 'ERR_MPMML_FILE', /^b: .*expected a NumPy \.npy file/)
    await files({ a: a.slice(0, -1), b }, 400, 'ERR_MPMML_FILE', /^a: .*truncated/)
    await files({ a }, 400, 'BAD_REQUEST', /^b must be/)
    await files({ a, b, c: a }, 413, 'FST_FILES_LIMIT')
    await refused(post(service, 'a,b', { 'content-type': 'text/csv' }), 415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    for (const boundary of ['', '; boundary=', '; boundary=x']) {
      const cut = post(service, '--x\r\n', { 'content-type': `multipart/form-data${boundary}` })
      await refused(cut, 400, 'BAD_REQUEST')
    }
    expect((await fetch(`${service.url}/other`)).status).toBe(404)
    expect((await (await postJson(service, one)).json()).c).toEqual([[3]])
    expect(await health(service)).toMatchObject({ open: 0, running: 0, waiting: 0, done: 1, givenUp: 0 })
  })

  it('limits bodies and products', async () => {
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

  it('rejects a body with too large a Content-Length before reading it', async () => {
    const service = await start()
    for (const [type, code] of [
      ['application/json', 'FST_ERR_CTP_BODY_TOO_LARGE'],
      ['multipart/form-data; boundary=x', 'TOO_LARGE'],
    ] as const) {
      const client = dripping(service, head(1e10, type))
      await until(() => /\r\n\r\n.*}/s.exec(client.answer()))
      expect(client.answer()).toMatch(new RegExp(`^HTTP/1\\.1 413 .*"code":"${code}"`, 's'))
      // The service closes the connection without reading the whole body.
      await client.closed
    }
    await healthy(service, { open: 0, uploading: 0, refused: 2 })
  })

  it('answers while clients send slowly, and disconnects the slowest if they are too many', async () => {
    const service = await start({ MAX_RUNNING: '1', MAX_WAITING: '0', MAX_UPLOADING: '4' })
    const slow = [drip(service), drip(service), drip(service)]
    // All clients but the first send more bytes, so the first one is the slowest.
    for (const { socket } of slow.slice(1)) socket.write(' '.repeat(50))
    await healthy(service, { open: 3, uploading: 3 })
    expect((await (await postJson(service, { a: [[1]], b: [[2]] })).json()).c).toEqual([[3]])
    slow.push(dripping(service, `${head(1000)}${' '.repeat(500)}`))
    await healthy(service, { uploading: 4 })
    // The service aborts only the slowest client and accepts another request.
    const answer = await until(async () => {
      const response = await postJson(service, { a: [[1]], b: [[2]] })
      return response.ok ? response : null
    })
    expect((await answer.json()).c).toEqual([[3]])
    await slow[0]!.closed
    expect(slow.map((client) => client.answer().slice(0, 12))).toEqual(['HTTP/1.1 408', '', '', ''])
    await healthy(service, { open: 3, uploading: 3 })
  })

  it('aborts a body at its time limit', async () => {
    const service = await start({ MAX_BODY_SECONDS: '0.2' })
    const client = drip(service)
    await client.closed
    expect(client.answer()).toMatch(/^HTTP\/1\.1 408 .*"BODY_TIME_LIMIT"/s)
    await healthy(service, { open: 0, uploading: 0, refused: 1 })
  })

  it('aborts a response that the client does not read', async () => {
    const service = await start({ MAX_SEND_SECONDS: '0.3' })
    const n = 3000
    const operand = JSON.stringify({ a: Array(n).fill([1]), b: [Array(n).fill(2)] })
    const request = head(operand.length).replace('Host', 'Accept: application/octet-stream\r\nHost')
    const client = dripping(service, request + operand)
    client.socket.pause()
    await healthy(service, { done: 1, open: 0, running: 0 })
    expect((await (await postJson(service, { a: [[1]], b: [[2]] })).json()).c).toEqual([[3]])
  })

  it('aborts running and waiting products of disconnected clients, and rejects products beyond its limit', async () => {
    const service = await start({ ...slowEnv, MAX_RUNNING: '1', MAX_WAITING: '1', LOG_LEVEL: 'warn' })
    const clients = [new AbortController(), new AbortController()]
    const answers: Promise<unknown>[] = []
    for (const [index, { signal }] of clients.entries()) {
      answers.push(post(service, slowForm(), {}, signal).catch((error: Error) => error.name))
      await healthy(service, { running: 1, waiting: index })
    }
    const busy = await postJson(service, { a: [[1]], b: [[2]] })
    expect(busy.headers.get('retry-after')).toBe('1')
    await refused(busy, 503, 'BUSY')
    for (let again = 0; again < 20; again++) await refused(postJson(service, {}), 503, 'BUSY')
    // Rejected requests are not failures of the service, so the log has no warning.
    expect(service.output()).toMatch(/^listening on \S+\n$/)
    clients[1]!.abort()
    await healthy(service, { open: 1, running: 1, waiting: 0, givenUp: 1 })
    clients[0]!.abort()
    expect(await Promise.all(answers)).toEqual(['AbortError', 'AbortError'])
    await healthy(service, { open: 0, running: 0, waiting: 0, givenUp: 2, done: 0 })
    expect((await (await postJson(service, { a: [[1]], b: [[2]] })).json()).c).toEqual([[3]])
  })

  it('aborts a product at the time limit', async () => {
    const service = await start({ ...slowEnv, MAX_SECONDS: '0.2' })
    const late = post(service, slowForm())
    await refused(late, 503, 'TIME_LIMIT', 'the product took longer than 0.2 s')
    await healthy(service, { open: 0, running: 0, givenUp: 1, done: 0 })
  })

  it('finishes running products at SIGTERM, and accepts no others', async () => {
    // The product is smaller than the other slow ones, because the test waits for its result.
    const size = 2000
    const service = await start({ ...slowEnv, MAX_RUNNING: '1' })
    const [running, waiting] = [
      post(service, slowForm(size)),
      healthy(service, { running: 1 }).then(() => postJson(service, { a: [[1]], b: [[2]] })),
    ]
    await healthy(service, { running: 1, waiting: 1 })
    service.child.kill('SIGTERM')
    await service.printed(/finishing 2 requests/)
    await expect(health(service)).rejects.toThrow('fetch failed')
    const values = new Int32Array((await (await running).arrayBuffer()).slice(128))
    // The greatest sum is 0 in even columns, and 2 · (2^31 − 1) in odd columns, which saturates to 2^31 − 1.
    expect(values.length).toBe(size ** 2)
    expect(values.every((value, index) => value === (index % 2 ? 2 ** 31 - 1 : 0))).toBe(true)
    expect((await (await waiting).json()).c).toEqual([[3]])
    expect(await service.ended).toEqual({ status: 0, signal: null })
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('exits at %s despite stalled clients', async (signal) => {
    const service = await start()
    const clients = [drip(service), drip(service), dripping(service, 'POST /multiply HTTP/1.1\r\nHost:')]
    await healthy(service, { uploading: 2 })
    service.child.kill(signal)
    await service.printed(/finishing 2 requests/)
    expect(await service.ended).toEqual({ status: 0, signal: null })
    await Promise.all(clients.map(({ closed }) => closed))
  })

  it.each([
    ['MAX_RUNNING', 'abc', 'a whole number from 1 to 9007199254740991'],
    ['MAX_RUNNING', '0', 'a whole number from 1'],
    ['MAX_WAITING', '1.5', 'a whole number from 0'],
    ['MAX_FILE_BYTES', '', 'a whole number'],
    ['MAX_SECONDS', '1e9', 'a number from 0.001 to 2000000'],
    ['PORT', '65536', 'a whole number from 0 to 65535'],
    ['LOG_LEVEL', 'loud', 'one of fatal, error, warn'],
  ])('does not start with %s=%s', async (name, value, expected) => {
    const { status, stdout, stderr } = await runProgram(process.execPath, [server], {
      env: { PORT: '0', [name]: value },
    })
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^[^\n]+\n$/)
    expect(stderr).toContain(`${name} must be ${expected}`)
    expect(stderr).toContain(`but it is '${value}'`)
  })

  it('does not start on a port in use', async () => {
    const { url } = await askedByAll()
    const { port } = new URL(url)
    const { status, stderr } = await runProgram(process.execPath, [server], { env: { PORT: port } })
    expect(status).toBe(1)
    expect(stderr).toMatch(/^can't listen on 127\.0\.0\.1, port \d+: .*EADDRINUSE.*\n$/)
  })

  it('aborts all products at the second signal', async () => {
    const service = await start(slowEnv)
    const running = expect(post(service, slowForm())).rejects.toThrow('fetch failed')
    await healthy(service, { running: 1 })
    service.child.kill('SIGTERM')
    await service.printed(/finishing 1 requests/)
    service.child.kill('SIGTERM')
    expect(await service.ended).toEqual({ status: 1, signal: null })
    await running
  })

  it('has a README with its settings and working commands', async () => {
    const folder = join(root, 'examples', 'service')
    const readme = readFileSync(join(folder, 'README.md'), 'utf8')
    const code = readFileSync(join(folder, 'settings.mjs'), 'utf8')
    const settings = [...code.matchAll(/(?:setting|seconds)\('(\w+)'|\b([A-Z_]+): \w+ = '/g)].map(
      ([, a, b]) => a ?? b,
    )
    for (const name of readdirSync(folder))
      if (name !== 'README.md') expect(readme).toContain(`| \`${name}\` |`)
    const listed = [...readme.matchAll(/`([A-Z]+(?:_[A-Z]+)*)`/g)].map(([, name]) => name)
    expect([...new Set(listed)].sort()).toEqual(settings.sort())
    const json = /--json '([^']+)'/.exec(readme)![1]!
    const service = await askedByAll()
    const answer = await postJson(service, JSON.parse(json))
    // The README of the library has this example with another element 4, which doesn't affect the product.
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
