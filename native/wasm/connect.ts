/** The addon of a page (remote.ts), and that of the worker which computes for it (worker.ts): from the same files. */
import type { Kind } from './messages.js'
import { type Addon, type Factory, startLater } from './module.js'
import singleFactory from './mpmml-single.js'
import threadsFactory from './mpmml-threads.js'
import { remote } from './remote.js'

/** Literal addresses, so that bundlers copy the files. */
const files: Record<Kind, { factory: Factory; glue: URL; wasm: URL }> = {
  single: {
    factory: singleFactory,
    glue: new URL('./mpmml-single.js', import.meta.url),
    wasm: new URL('./mpmml-single.wasm', import.meta.url),
  },
  threads: {
    factory: threadsFactory,
    glue: new URL('./mpmml-threads.js', import.meta.url),
    wasm: new URL('./mpmml-threads.wasm', import.meta.url),
  },
}

async function compile(url: URL): Promise<WebAssembly.Module> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url} can't be loaded: ${response.status} ${response.statusText}`)
  // Some servers don't know what it is.
  if (response.headers.get('content-type') === 'application/wasm')
    return await WebAssembly.compileStreaming(response)
  return await WebAssembly.compile(await response.arrayBuffer())
}

/** The addon of a module that has been compiled. */
export function startModule(kind: Kind, compiled: WebAssembly.Module, threads: number): Promise<Addon> {
  const { factory, glue } = files[kind]
  return startLater(factory, compiled, { threads, mainScriptUrlOrBlob: glue.href })
}

/** The addon of a page. */
export async function connect(): Promise<Addon> {
  const worker = new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module', name: 'mpmml' })
  const kind = globalThis.crossOriginIsolated ? 'threads' : 'single'
  const threads = kind === 'threads' ? (navigator.hardwareConcurrency ?? 1) : 1
  const compiled = await compile(files[kind].wasm)
  return remote(await startModule(kind, compiled, 0), worker, { compiled, kind, threads })
}
