/** Threads that decode and encode chunks: zstd and blosc in WebAssembly are slower than a disk. */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { AddonError, errorWithCode, FileError, OutOfMemoryError } from '../errors.js'
import { root } from '../native.js'
import type { CodecEntry } from './codecs.js'

/**
 * Number of threads, each of which decodes one chunk at a time. More threads aren't faster, because copying
 * chunks becomes the bottleneck.
 */
export const CODEC_THREADS = Math.max(1, Math.min(8, availableParallelism() - 1))

/** Request to encode or decode bytes. */
export interface CodecRequest {
  readonly bytes: Uint8Array
  readonly codecs: readonly CodecEntry[]
  /** Expected result of decoding; undefined to encode. */
  readonly decoded?: {
    /** In bytes. */
    readonly size: number
    /** The size of elements whose bytes must be reversed; 1 if none. */
    readonly swap: 1 | 2 | 4 | 8
  }
}

/** Response of a thread. */
export interface Answer {
  readonly id: number
  readonly bytes?: Uint8Array
  readonly error?: { readonly name: string; readonly message: string; readonly code: string | undefined }
}

interface Waiting {
  readonly resolve: (bytes: Uint8Array) => void
  readonly reject: (error: Error) => void
}

interface Thread {
  readonly worker: Worker
  readonly waiting: Map<number, Waiting>
}

const threads: Thread[] = []
let lastId = 0

function start(): Thread {
  if (root === '') {
    throw new AddonError(
      'the threads that decode chunks need a file of the package, which a bundler has left behind: make mpmml external (docs/deploying.md)',
    )
  }
  // The thread doesn't inherit flags of this process, because some, such as --input-type, don't allow files.
  const worker = new Worker(join(root, 'dist', 'lib', 'codec-thread.js'), { execArgv: [] })
  const waiting = new Map<number, Waiting>()
  const thread = { worker, waiting }
  worker.on('message', (answer: Answer) => {
    const request = waiting.get(answer.id)!
    waiting.delete(answer.id)
    if (waiting.size === 0) worker.unref()
    if (answer.error) request.reject(fromThread(answer.error))
    else request.resolve(answer.bytes!)
  })
  const fail = (error: Error) => {
    threads.splice(threads.indexOf(thread), 1)
    for (const { reject } of waiting.values()) reject(endOf(error))
    waiting.clear()
  }
  worker.once('error', fail)
  worker.unref()
  threads.push(thread)
  return thread
}

/** Returns the error that pending calls of a terminated thread reject with. */
const endOf = (error: NodeJS.ErrnoException) =>
  error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    ? new OutOfMemoryError('a thread that decodes chunks had too little memory: choose smaller chunks', {
        cause: error,
      })
    : new FileError(`a thread that decodes chunks ended: ${error.message}`, { cause: error })

function fromThread({ message, code }: NonNullable<Answer['error']>): Error {
  return errorWithCode(code, message) ?? Object.assign(new FileError(message), { cause: code })
}

/** Decodes or encodes bytes in a thread. The buffer of the bytes is transferred to the thread. */
export function codeAside(request: CodecRequest): Promise<Uint8Array> {
  let thread = threads.find(({ waiting }) => waiting.size === 0)
  if (!thread && threads.length < CODEC_THREADS) thread = start()
  thread ??= threads.reduce((least, other) => (other.waiting.size < least.waiting.size ? other : least))
  const { worker, waiting } = thread
  const id = ++lastId
  // Work keeps the process alive, an idle thread doesn't.
  if (waiting.size === 0) worker.ref()
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject })
    worker.postMessage({ id, ...request }, [request.bytes.buffer as ArrayBuffer])
  })
}
