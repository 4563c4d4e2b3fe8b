/** The main thread's side of the thread that computes by WebGPU in Node.js. */
import { Worker } from 'node:worker_threads'
import type { Addon } from '../native-interface.js'
import { calls as known, type Reply, type Request } from '../remote/messages.js'
import { remote, type WorkerPort } from '../remote/page.js'
import type { Exports } from '../remote/written.js'
import { failure } from './failure.js'
import type { AddonWithGpu } from './with-gpu.js'

type Call = (...values: unknown[]) => Promise<unknown>

/** Limit of the time that a process waits for the thread when it ends, in milliseconds. */
const END_MS = 5000

/**
 * Starts the thread and returns the functions of the addon in it. The thread keeps the process alive only while calls run.
 *
 * @param ended - called if the thread fails. Its devices are lost then.
 */
export function openThread(addon: Addon, file: string, ended: () => void): Addon & AddonWithGpu {
  // The thread doesn't inherit flags of this process, because some, such as --input-type, don't allow files.
  const worker = new Worker(file, { execArgv: [], name: 'mpmml-webgpu' })
  worker.unref()
  const port: WorkerPort = {
    onmessage: null,
    postMessage: (request: Request, transfer: Transferable[]) =>
      worker.postMessage(request, transfer as never),
  }
  // Dawn aborts the process if a thread ends while a promise of Dawn is pending.
  const waitForThread = () => {
    const done = new Int32Array(new SharedArrayBuffer(4))
    worker.postMessage({ end: done } satisfies Request)
    Atomics.wait(done, 0, 0, END_MS)
  }
  process.once('exit', waitForThread)
  let hasFailed = false
  const fail = (message: string) => {
    // A thread that fails also exits. Meanwhile another one may have been started.
    if (hasFailed) return
    hasFailed = true
    process.off('exit', waitForThread)
    ended()
    port.onerror?.({ message } as ErrorEvent)
  }
  worker.on('message', (data: Reply) => port.onmessage?.({ data } as MessageEvent<Reply>))
  worker.on('error', ({ message }: Error) => fail(message))
  worker.on('exit', (status) => fail(`it exited with status ${status}`))
  const start = { compiled: null, kind: 'single', threads: 1 } as const
  let error: Error | undefined
  const functions = remote(addon as unknown as Exports, port, start, ({ message }) => {
    error ??= failure('ERR_MPMML_DEVICE_LOST', `the thread of WebGPU has failed: ${message}`)
    return error
  })

  let running = 0
  const keepingAlive =
    (call: Call): Call =>
    async (...values) => {
      // The inputs of a call are copied before the call returns a promise.
      const result = call(...values)
      if (running++ === 0) worker.ref()
      try {
        return await result
      } finally {
        if (--running === 0) worker.unref()
      }
    }
  // Handles refer to these functions.
  for (const name of Object.keys(known).filter((name) => known[name]!.givesPromise))
    functions[name] = keepingAlive(functions[name] as Call)
  return functions as unknown as Addon & AddonWithGpu
}
