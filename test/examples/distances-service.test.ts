/**
 * The service of examples/distances-service, compiled and started like in its Dockerfile: without an
 * environment, as another user, in a read-only folder. Its image is tested if Docker runs. Uses the output of
 * `npm run build:ts`.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { root } from '../cli/support.js'
import { withoutBuild } from '../support/child.js'
import { useFolder } from '../support/folder.js'
import { Random } from '../support/generators.js'
import { bestFrom, pathAlgebras } from '../support/paths-oracle.js'
import { describeUnless } from '../support/skip.js'

const example = join(root, 'examples', 'distances-service')
const NOBODY = 65534

const inFolder = useFolder()
const children: ChildProcess[] = []
beforeAll(() => {
  for (const name of ['server.ts', 'tsconfig.json', 'package.json', 'stops.csv'])
    cpSync(join(example, name), inFolder(name))
  mkdirSync(inFolder('node_modules'))
  symlinkSync(root, inFolder('node_modules', 'mpmml'))
  for (const name of ['fastify', '@types'])
    symlinkSync(join(root, 'node_modules', name), inFolder('node_modules', name))
  execFileSync(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc')], {
    cwd: inFolder(),
    stdio: 'pipe',
  })
  const random = new Random(7)
  const lines = Array.from({ length: 60_000 }, () => {
    const [from, to] = [random.integer(0, 8000), random.integer(0, 8000)]
    return `s${from},s${to},${random.integer(1, 900)}`
  })
  writeFileSync(inFolder('large.csv'), `from,to,seconds\n${lines.join('\n')}\n`)
  chmodSync(inFolder(), 0o555)
}, 300_000)
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  chmodSync(inFolder(), 0o755)
})

/**
 * Options of a process of user nobody. Undefined if this user may not change to it, or if nobody can't read
 * Node.js and the project.
 */
const asNobody = () => {
  if (process.getuid?.() !== 0) return {}
  const ids = { uid: NOBODY, gid: NOBODY }
  const { status } = spawnSync(process.execPath, [join(root, 'dist', 'bench', 'cli.js'), '--version'], ids)
  return status === 0 ? ids : {}
}

interface Service {
  child: ChildProcess
  url: string
  output: () => string
  ended: Promise<number | null>
}

async function start(env: Record<string, string> = {}): Promise<Service> {
  const child = spawn(process.execPath, ['dist/server.js'], {
    cwd: inFolder(),
    // The service inherits no variable, not even HOME and PATH.
    env: { PORT: '0', LOG_LEVEL: 'fatal', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...asNobody(),
  })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  for (;;) {
    const [, url] = /listening on (\S+)/.exec(output) ?? []
    if (url) return { child, url, output: () => output, ended }
    if (child.exitCode !== null) throw new Error(output)
    await sleep(5)
  }
}

const post = async ({ url }: Service, body: unknown, init: RequestInit = {}) => {
  const response = await fetch(`${url}/table`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}
const health = async ({ url }: Service) => (await fetch(`${url}/health`)).json()
const healthy = async (service: Service, expected: object) => {
  for (;;) {
    const found = await health(service)
    if (Object.entries(expected).every(([key, value]) => found[key] === value)) return found
    await sleep(5)
  }
}

describeUnless(withoutBuild, 'the distances service', () => {
  it('returns tables by names that equal those of the oracle', async () => {
    const service = await start()
    const lines = readFileSync(join(example, 'stops.csv'), 'utf8').trim().split('\n').slice(1)
    const edges = lines.map((line) => line.split(',') as [string, string, string])
    const stops = [...new Set(edges.flatMap((edge) => edge.slice(0, 2)))]
    const list = {
      nodes: stops.length,
      from: edges.map(([from]) => stops.indexOf(from)),
      to: edges.map(([, to]) => stops.indexOf(to)),
      weight: edges.map(([, , seconds]) => Number(seconds)),
    }
    const expected = stops.map((_, source) =>
      Array.from(bestFrom(list, pathAlgebras['min-plus'], source).value, (value) => value ?? null),
    )
    for (const _ of 'ab') {
      const { status, body } = await post(service, { sources: stops, targets: stops })
      expect([status, body]).toEqual([200, { distances: expected }])
    }
    expect(await health(service)).toMatchObject({ status: 'ok', stops: stops.length, done: 2, refused: 0 })
  })

  it('rejects invalid requests with their code', async () => {
    const service = await start({ MAX_PAIRS: '4', MAX_BODY_BYTES: '1000' })
    const some = { sources: ['Depot'], targets: ['Station'] }
    const wrong: [unknown, number, string][] = [
      [{ ...some, targets: ['Nowhere'] }, 422, 'ERR_MPMML_VALUE'],
      [{ ...some, sources: new Array(5).fill('Depot') }, 413, 'TOO_LARGE'],
      [{ ...some, targets: [] }, 400, 'FST_ERR_VALIDATION'],
      [{ sources: 'Depot' }, 400, 'FST_ERR_VALIDATION'],
      ['{', 400, ''],
      [{ ...some, targets: ['x'.repeat(2000)] }, 413, 'FST_ERR_CTP_BODY_TOO_LARGE'],
    ]
    for (const [body, status, code] of wrong) {
      const answer = await post(service, body)
      expect([answer.status, answer.body.code]).toEqual([status, code || answer.body.code])
      expect(Object.keys(answer.body)).toEqual(['code', 'message'])
    }
    expect((await post(service, some)).body).toEqual({ distances: [[390]] })
    expect(await health(service)).toMatchObject({ done: 1, refused: wrong.length })
  })

  it('rejects requests beyond its limit, and stops searches of clients that disconnect', async () => {
    const service = await start({
      MAX_OPEN: '1',
      GRAPH: 'large.csv',
      MPMML_NUM_THREADS: '1',
      TABLE_BYTES: '0',
    })
    const { port, hostname } = new URL(service.url)
    // An incomplete body occupies the only slot for open requests.
    const slow = connect(Number(port), hostname)
    slow.write(
      'POST /table HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
    )
    await healthy(service, { open: 1 })
    const busy = await post(service, { sources: ['s1'], targets: ['s2'] })
    expect([busy.status, busy.body.code, busy.headers.get('retry-after')]).toEqual([503, 'BUSY', '1'])
    slow.destroy()
    await healthy(service, { open: 0 })
    const many = Array.from({ length: 300 }, (_, at) => `s${at}`)
    const controller = new AbortController()
    const left = post(service, { sources: many, targets: many }, { signal: controller.signal })
    await healthy(service, { open: 1 })
    controller.abort()
    await expect(left).rejects.toThrow()
    await healthy(service, { open: 0, abandoned: 1, done: 0 })
  })

  it('aborts a table at the time limit', async () => {
    const service = await start({ MAX_MILLISECONDS: '1', GRAPH: 'large.csv', MPMML_NUM_THREADS: '1' })
    const many = Array.from({ length: 300 }, (_, at) => `s${at}`)
    const { status, body } = await post(service, { sources: many, targets: many })
    expect([status, body.code]).toEqual([503, 'TIME_LIMIT'])
  })

  it('finishes open requests at SIGTERM and writes no file', async () => {
    const service = await start({ GRAPH: 'large.csv', MPMML_NUM_THREADS: '1', TABLE_BYTES: '0' })
    const many = Array.from({ length: 200 }, (_, at) => `s${at}`)
    const answer = post(service, { sources: many, targets: many })
    await healthy(service, { open: 1 })
    service.child.kill('SIGTERM')
    const { status, body } = await answer
    expect([status, body.distances.length]).toEqual([200, 200])
    expect(await service.ended).toBe(0)
    expect(service.output()).toContain('SIGTERM: finishing 1 requests')
  })

  it('exits before it listens if a setting or the graph is invalid', async () => {
    await expect(start({ MAX_PAIRS: 'many' })).rejects.toThrow(/MAX_PAIRS must be a whole number from 1/)
    await expect(start({ GRAPH: 'none.csv' })).rejects.toThrow(/none\.csv/)
  })
})

const hasDocker = spawnSync('docker', ['info'], { timeout: 10_000 }).status === 0
if (!hasDocker) console.warn('the image of examples/distances-service is not built: Docker does not run here')

describeUnless(
  withoutBuild ?? (!hasDocker && 'there is no Docker'),
  'the image of the distances service',
  () => {
    it('answers with a read-only root file system', async () => {
      const context = mkdtempSync(join(tmpdir(), 'mpmml-image-'))
      cpSync(example, context, { recursive: true })
      const vendor = join(context, 'vendor', 'mpmml')
      for (const part of ['dist', 'build/Release', 'package.json'])
        cpSync(join(root, part), join(vendor, part), { recursive: true })
      const { dependencies, ...described } = JSON.parse(readFileSync(join(context, 'package.json'), 'utf8'))
      const own = { ...described, dependencies: { ...dependencies, mpmml: 'file:vendor/mpmml' } }
      writeFileSync(join(context, 'package.json'), JSON.stringify(own))
      const docker = (...args: string[]) => execFileSync('docker', args, { encoding: 'utf8' }).trim()
      const image = docker('build', '-q', context)
      const id = docker('run', '-d', '--read-only', '--cap-drop', 'ALL', '-p', '127.0.0.1::3000', image)
      try {
        const url = `http://${docker('port', id, '3000')}`
        for (let isUp = false; !isUp; await sleep(50))
          isUp = await fetch(`${url}/health`).then(
            ({ ok }) => ok,
            () => false,
          )
        const { body } = await post({ url } as Service, { sources: ['Depot'], targets: ['Station'] })
        expect(body).toEqual({ distances: [[390]] })
      } finally {
        docker('rm', '-f', id)
        docker('rmi', '-f', image)
        rmSync(context, { recursive: true })
      }
    }, 600_000)
  },
)
