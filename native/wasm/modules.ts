/** The compiled modules: a page (connect.ts) and the worker which computes for it (lib/remote/service.ts) start the same one. */
import type { Kind } from '../../lib/remote/messages.js'
import { type Addon, type Factory, startLater } from './module.js'
import singleFactory from './mpmml-single.js'
import threadsFactory from './mpmml-threads.js'

/** Literal addresses, so that bundlers copy the files. `worker` is what threads load. */
const files: Record<Kind, { factory: Factory; wasm: URL; worker?: URL }> = {
  single: { factory: singleFactory, wasm: new URL('./mpmml-single.wasm', import.meta.url) },
  threads: {
    factory: threadsFactory,
    wasm: new URL('./mpmml-threads.wasm', import.meta.url),
    worker: new URL('./mpmml-threads.js', import.meta.url),
  },
}

export async function compile(kind: Kind): Promise<WebAssembly.Module> {
  const url = files[kind].wasm
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url} can't be loaded: ${response.status} ${response.statusText}`)
  // Some servers don't know what it is.
  if (response.headers.get('content-type') === 'application/wasm')
    return await WebAssembly.compileStreaming(response)
  return await WebAssembly.compile(await response.arrayBuffer())
}

/** The addon of a module that has been compiled. */
export function startModule(kind: Kind, compiled: WebAssembly.Module, threads: number): Promise<Addon> {
  const { factory, worker } = files[kind]
  return startLater(factory, compiled, worker ? { threads, mainScriptUrlOrBlob: worker.href } : {})
}
