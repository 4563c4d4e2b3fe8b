/** A Redis server on a free port, with its files in a temporary folder. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const programs = ['redis-server', 'valkey-server']

/** Name of the program; undefined if neither is installed. */
export const redisProgram = programs.find((name) => spawnSync(name, ['--version']).status === 0)

/** Reason why no queue can be started; undefined if it can. */
export const withoutRedis =
  redisProgram === undefined ? 'neither redis-server nor valkey-server is installed' : undefined

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

export interface RedisOptions {
  password?: string
  /** Keeps its content over a restart. */
  keeps?: boolean
  /** Other options of the server. */
  options?: string[]
}

export class RedisServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'mpmml-redis-'))
  #child: ChildProcess | undefined

  private constructor(
    readonly port: number,
    readonly options: RedisOptions,
  ) {}

  static async start(options: RedisOptions = {}): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), options)
    await server.start()
    return server
  }

  get url(): string {
    const { password } = this.options
    return `redis://${password ? `:${password}@` : ''}127.0.0.1:${this.port}`
  }

  async start(): Promise<void> {
    const { password, keeps, options = [] } = this.options
    const args = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.folder, '--save', '']
    args.push('--appendonly', keeps ? 'yes' : 'no', '--appendfsync', 'always')
    if (password) args.push('--requirepass', password)
    this.#child = spawn(redisProgram!, [...args, ...options], { stdio: 'ignore' })
    for (let attempt = 0; attempt < 200; attempt++) {
      if (await answers(this.port)) return
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error(`${redisProgram} didn't start on port ${this.port}`)
  }

  /** Kills the server as a crash would. */
  async kill(): Promise<void> {
    const child = this.#child!
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  async end(): Promise<void> {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
