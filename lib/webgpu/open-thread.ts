/** The main thread's side of the thread that computes by WebGPU in Node.js. */
import { Worker } from 'node:worker_threads'
import type { Addon } from '../native-interface.js'
import { calls as known } from '../remote/calls.js'
import type { Reply, Request } from '../remote/messages.js'
import { remote, type WorkerPort } from '../remote/page.js'
import type { Exports } from '../remote/written.js'
import type { AddonWithGpu } from './with-gpu.js'

type Call = (...values: unknown[]) => Promise<unknown>

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
  worker.on('message', (data: Reply) => port.onmessage?.({ data } as MessageEvent<Reply>))
  worker.on('error', (error: Error) => {
    ended()
    port.onerror?.({ message: error.message, preventDefault() {} } as ErrorEvent)
  })
  const functions = remote(addon as unknown as Exports, port, { compiled: null, kind: 'single', threads: 1 })

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
  const promising = Object.keys(known).filter((name) => known[name]!.givesPromise)
  return {
    ...functions,
    ...Object.fromEntries(promising.map((name) => [name, keepingAlive(functions[name] as Call)])),
  } as unknown as Addon & AddonWithGpu
}
