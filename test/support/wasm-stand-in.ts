/**
 * This platform's addon as a stand-in for the WebAssembly module, so that the code around the module can be
 * tested without Emscripten.
 */
import type { Addon } from '../../lib/native-interface.js'
import type { Port, Reply, Request } from '../../lib/remote/messages.js'
import { remote, type WorkerPort } from '../../lib/remote/page.js'
import { serve } from '../../lib/remote/service.js'
import type { Exports } from '../../lib/remote/written.js'
import { type Memory, staged } from '../../native/wasm/staging.js'

/**
 * Memory of `bytes` with the interface of a module's memory. Allocated blocks are filled with garbage, like
 * reused memory.
 */
export class StandInMemory implements Memory {
  /** Addresses and sizes of allocated blocks. */
  readonly used = new Map<number, number>()
  readonly #buffer: ArrayBuffer

  constructor(bytes = 2 ** 27) {
    this.#buffer = new ArrayBuffer(bytes)
  }

  allocate(bytes: number): number {
    // 0 is not a valid address.
    let address = 16
    for (const [start, size] of [...this.used].sort(([x], [y]) => x - y)) {
      if (address + bytes <= start) break
      address = start + Math.ceil(size / 16) * 16
    }
    if (address + bytes > this.#buffer.byteLength) return 0
    new Uint8Array(this.#buffer, address, bytes).fill(0x5a)
    this.used.set(address, bytes)
    return address
  }

  free(address: number): void {
    if (!this.used.delete(address)) throw new Error(`nothing is allocated at ${address}`)
  }

  buffer(): ArrayBuffer {
    return this.#buffer
  }

  place(): void {}
}

/** Empty module that represents the compiled module in messages. */
const compiled = new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))

export interface Page {
  addon: Exports
  /** Memory of the module in the worker. */
  memory: StandInMemory
  /** The page's side of the messages. */
  port: WorkerPort
}

/**
 * Addon of a page with a worker on this thread. Messages between them are cloned as between threads. `change`
 * may replace functions of the worker's addon.
 */
export function pageOf(addon: Addon, change: (worker: Exports) => Exports = (worker) => worker): Page {
  const { port1, port2 } = new MessageChannel()
  const memory = new StandInMemory()
  const worker = change(staged(addon as unknown as Exports, memory))
  serve(port2 as unknown as Port<Reply, Request>, async () => worker)
  // The page's instance uses the settings of the process; on a page it would have one thread.
  const local = { ...staged(addon as unknown as Exports, new StandInMemory()), configureCpu() {} }
  const port = port1 as unknown as WorkerPort
  const threads = addon.describe().cpu.threads
  const page = remote(local, port, { compiled, kind: 'threads', threads })
  for (const one of [port1, port2]) (one as unknown as { unref(): void }).unref()
  return { addon: page, memory, port }
}
