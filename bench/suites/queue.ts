/**
 * Measures the overhead of a queue per block, with three worker processes and a Redis server that the suite
 * starts.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { writeNpy } from '../../lib/files.js'
import { multiplyOnQueue } from '../../lib/queue.js'
import { integers } from '../timing/values.js'
import { endWithProcess, withFolder } from './cleanup.js'
import type { Bench, Suite } from './suite.js'

const WORKERS = 3
const cli = fileURLToPath(new URL('../cli.js', import.meta.url))

interface Block {
  /** Time at which the worker's line arrived, in ms. */
  at: number
  timing: { totalMs: number; kernelMs: number }
}

/** Blocks of each worker, in the order of completion. */
type Blocks = Map<ChildProcess, Block[]>

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

async function startServer(program: string, folder: string): Promise<{ child: ChildProcess; queue: string }> {
  const port = await freePort()
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', folder]
  const child = spawn(program, args, { stdio: 'ignore' })
  endWithProcess(child)
  for (let attempt = 0; attempt < 100; attempt++) {
    const socket = connect(port, '127.0.0.1')
    const answered = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (answered) return { child, queue: `redis://127.0.0.1:${port}` }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${program} didn't start on port ${port}`)
}

/** Starts a worker, and resolves once the worker accepts jobs. */
async function startWorker(queue: string, folder: string, backend: string, blocks: Blocks): Promise<void> {
  const args = [cli, 'worker', '--queue', queue, '--root', folder, '--backend', backend, '--concurrency', '1']
  const child = spawn(process.execPath, [...args, '--json'], { stdio: ['ignore', 'pipe', 'pipe'] })
  endWithProcess(child)
  child.stderr.pipe(process.stderr, { end: false })
  const done: Block[] = []
  blocks.set(child, done)
  await new Promise<void>((resolve, reject) => {
    child.once('close', () => reject(new Error('a worker ended')))
    createInterface({ input: child.stdout }).on('line', (line) => {
      const event = JSON.parse(line)
      if (event.type === 'started') resolve()
      if (event.type === 'done') done.push({ ...event, at: performance.now() })
    })
  })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  // The worker's message about the interruption is expected, so it isn't shown.
  child.stderr?.unpipe(process.stderr).resume()
  child.kill('SIGTERM')
  await once(child, 'close')
}

/**
 * Returns the overhead per block, without the first block of each worker. It is the time between the ends of
 * successive blocks, minus the block's own time.
 */
function overheads(blocks: Blocks): { queue: number[]; storage: number[] } {
  const [queue, storage]: number[][] = [[], []]
  for (const done of blocks.values()) {
    for (const [i, { at, timing }] of done.entries()) {
      const { totalMs, kernelMs } = timing
      if (i === 0) continue
      queue!.push(Math.max(0, at - done[i - 1]!.at - totalMs))
      storage!.push(totalMs - kernelMs)
    }
  }
  return { queue: queue!, storage: storage! }
}

interface Work {
  block: number
  rows: number
  depth: number
}

async function measure(bench: Bench, server: string, folder: string, { block, rows, depth }: Work) {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => join(folder, `${name}${block}.npy`))
  await writeNpy(a!, integers([rows, depth], 1))
  await writeNpy(b!, integers([depth, rows], 2))
  const blocks: Blocks = new Map()
  try {
    await Promise.all(
      Array.from({ length: WORKERS }, () => startWorker(server, folder, bench.backend, blocks)),
    )
    const size = { rows: block, cols: block, depth: block }
    const { computed } = await multiplyOnQueue(a!, b!, c!, { queue: server, block: size })
    const of = `${computed} blocks of ${block}³`
    if (computed !== (rows / block) ** 2) bench.wrong(`${of} were computed`)
    const found = overheads(blocks)
    const goal = block === 2048 ? { must: 20, aim: 8 } : {}
    bench.figure(of, 'per block: queue', 'ms', found.queue, goal)
    bench.figure(of, 'per block: reading, writing', 'ms', found.storage)
  } finally {
    await Promise.all([...blocks.keys()].map(end))
  }
}

async function run(bench: Bench): Promise<void> {
  const program = ['redis-server', 'valkey-server'].find((name) => !spawnSync(name, ['--version']).error)
  if (!program) {
    const note = 'nothing was measured: install redis-server or valkey-server'
    bench.figure('redis-server', 'installed', '', 0, { note })
    return
  }
  await withFolder((folder) => runIn(folder, bench, program))
}

async function runIn(folder: string, bench: Bench, program: string): Promise<void> {
  const server = await startServer(program, folder)
  const large = bench.quick ? 256 : 2048
  // The small blocks measure the overhead, because their products take almost no time.
  const cases: Work[] = [
    { block: 16, rows: bench.quick ? 128 : 512, depth: 16 },
    { block: large, rows: 4 * large, depth: large },
  ]
  try {
    for (const [at, work] of cases.entries()) {
      bench.onPart(`${work.block}³`, at / cases.length)
      await measure(bench, server.queue, folder, work)
    }
  } finally {
    await end(server.child)
  }
}

export const queue: Suite = {
  shows: `block jobs on a queue, ${WORKERS} workers: what each costs besides its product`,
  grid: (bench) => [['blocks', () => run(bench)]],
}
