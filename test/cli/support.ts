/** Runs the command line as users do, and writes and reads .npy files without the library. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import type { EventEmitter } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, vi } from 'vitest'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const cli = join(root, 'dist', 'bench', 'cli.js')

export const EPSILON = -(2 ** 31)

export interface Outcome {
  status: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface RunOptions {
  env?: Record<string, string>
  cwd?: string
  /** Content of standard input. By default it is empty. */
  input?: string | Uint8Array
  /** Called after the start of the process. */
  started?: (child: ChildProcess) => void
}

/** Runs a program to its end. */
export function runProgram(
  command: string,
  args: string[],
  { env, cwd, input, started }: RunOptions = {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const { MPMML_BACKEND: _, ...inherited } = process.env
    const child = spawn(command, args, {
      cwd,
      env: { ...inherited, ...env },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    }) as ChildProcessByStdio<Writable | null, Readable, Readable>
    // A process that doesn't read its input fails by its exit status, so errors of the pipe are ignored.
    child.stdin?.on('error', () => {}).end(input)
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    child.on('error', reject)
    child.on('close', (status, signal) => resolve({ status, signal, stdout, stderr }))
    started?.(child)
  })
}

/** Runs mpmml in a process of its own. */
export const mpmml = (args: string[], options: RunOptions = {}) =>
  runProgram(process.execPath, [cli, ...args], options)

type Callback = (error?: Error | null) => void

let last: Promise<unknown> = Promise.resolve()

/** Runs mpmml in this process, which takes a tenth of the time, for tests that aren't about the process. Calls are sequential. */
function runHere(args: string[], options: RunOptions): Promise<Outcome> {
  const outcome = last.then(() => runAlone(args, options))
  last = outcome.catch(() => {})
  return outcome
}

async function runAlone(args: string[], { cwd = process.cwd(), input }: RunOptions): Promise<Outcome> {
  const { run } = (await import(pathToFileURL(join(root, 'dist', 'bench', 'run.js')).href)) as {
    run(args: string[]): Promise<number>
  }
  const emitters: [EventEmitter, string][] = [
    ...['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal): [EventEmitter, string] => [process, signal]),
    [process.stdout, 'error'],
    [process.stderr, 'error'],
  ]
  const before = emitters.map(([emitter, event]) => emitter.listeners(event))
  const said = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation(((text: unknown, ...more: unknown[]) => {
      said[name] += String(text)
      const done = more.find((each): each is Callback => typeof each === 'function')
      if (done) setImmediate(done)
      return true
    }) as typeof process.stdout.write),
  )
  vi.stubEnv('MPMML_BACKEND', undefined)
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  Object.defineProperty(process, 'stdin', { ...stdin, get: () => Readable.from([Buffer.from(input ?? '')]) })
  const folder = process.cwd()
  process.chdir(cwd)
  try {
    return { status: await run(args), signal: null, ...said }
  } finally {
    process.chdir(folder)
    Object.defineProperty(process, 'stdin', stdin)
    vi.unstubAllEnvs()
    for (const spy of spies) spy.mockRestore()
    for (const [index, [emitter, event]] of emitters.entries()) {
      for (const listener of emitter.listeners(event))
        if (!before[index]!.includes(listener)) emitter.off(event, listener as () => void)
    }
  }
}

/** Runs mpmml in this process, unless it needs another one. */
export const runMpmml = (args: string[], options: RunOptions = {}) =>
  options.env || options.started ? mpmml(args, options) : runHere(args, options)

/** Preloaded program that makes stderr a terminal, so that commands show their progress. */
export const onTerminal = { NODE_OPTIONS: '--import data:text/javascript,process.stderr.isTTY=true' }

/** Runs mpmml as on a terminal, and sends a signal once stderr shows progress; `said` is the remaining text. */
export async function interrupted(
  args: string[],
  begun: RegExp,
  signal: NodeJS.Signals = 'SIGINT',
): Promise<{ status: number | null; stdout: string; said: string }> {
  const { status, stdout, stderr } = await mpmml(args, {
    env: onTerminal,
    started: (child) => {
      let [shown, sent] = ['', false]
      child.stderr!.on('data', (chunk) => {
        shown += chunk
        if (sent || !begun.test(shown)) return
        sent = true
        child.kill(signal)
      })
    },
  })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is told by them what to erase.
  const said = stderr.split(/\r|\x1b(?:\[[?\d;]*[A-Za-z]|\d)/).at(-1)!
  return { status, stdout, said }
}

/** Runs mpmml and expects success, with nothing on stderr; returns its output. */
export async function succeeds(args: string[], options?: RunOptions): Promise<string> {
  const { status, stdout, stderr } = await runMpmml(args, options)
  expect(stderr).toBe('')
  expect(status).toBe(0)
  return stdout
}

/** Runs mpmml with --json and returns its only JSON value. */
export async function json(args: string[], options?: RunOptions) {
  return JSON.parse(await succeeds([...args, '--json'], options))
}

/** Runs mpmml and expects it to fail with one line on stderr and nothing on stdout; returns the line. */
export async function fails(args: string[], status = 1, options?: RunOptions): Promise<string> {
  const outcome = await runMpmml(args, options)
  expect(outcome.stdout).toBe('')
  expect(outcome.stderr).toMatch(/^mpmml: [^\n]+\n$/)
  expect(outcome.stderr).not.toMatch(/\n\s+at /)
  expect(outcome.status).toBe(status)
  return outcome.stderr
}

const sizes = { '<i4': 4, '<i8': 8, '|u1': 1, '|b1': 1 }

/** Writes a .npy file of format 1.0 by hand. */
export function writeNumbers(
  path: string,
  shape: number[],
  values: ArrayLike<number>,
  { descr = '<i4', fortran = false }: { descr?: keyof typeof sizes; fortran?: boolean } = {},
): string {
  const header = `{'descr': '${descr}', 'fortran_order': ${fortran ? 'True' : 'False'}, 'shape': (${shape.join(', ')}), }\n`
  const size = sizes[descr]
  const bytes = Buffer.alloc(10 + header.length + size * values.length)
  bytes.write(`\x93NUMPY\x01\x00`, 'latin1')
  bytes.writeUInt16LE(header.length, 8)
  bytes.write(header, 10, 'latin1')
  const start = 10 + header.length
  for (let index = 0; index < values.length; index++) {
    if (size === 1) bytes.writeUInt8(values[index]!, start + index)
    else if (size === 4) bytes.writeInt32LE(values[index]!, start + 4 * index)
    else bytes.writeBigInt64LE(BigInt(values[index]!), start + 8 * index)
  }
  writeFileSync(path, bytes)
  return path
}

/** Reads a .npy file that should be int32 in C order. */
export function readNumbers(path: string): { shape: number[]; values: number[] } {
  const bytes = readFileSync(path)
  const start = 10 + bytes.readUInt16LE(8)
  const header = bytes.toString('latin1', 10, start)
  const shape = /^\{'descr': '<i4', 'fortran_order': False, 'shape': \(([\d, ]+)\), \} *\n$/.exec(header)?.[1]
  expect(shape, header).toBeDefined()
  const values = Array.from({ length: (bytes.length - start) / 4 }, (_, i) =>
    bytes.readInt32LE(start + 4 * i),
  )
  return { shape: shape!.split(', ').map(Number), values }
}
