/** The addon in a browser. native/wasm/bundle.mjs makes browser.mjs of it. */
import type { Addon } from './module.js'
import { compile, startModule } from './modules.js'
import { remote } from './remote.js'

/** The addon of a page. */
export async function connect(): Promise<Addon> {
  const worker = new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module', name: 'mpmml' })
  const kind = globalThis.crossOriginIsolated ? 'threads' : 'single'
  const threads = kind === 'threads' ? (navigator.hardwareConcurrency ?? 1) : 1
  const compiled = await compile(kind)
  return remote(await startModule(kind, compiled, 0), worker, { compiled, kind, threads })
}
