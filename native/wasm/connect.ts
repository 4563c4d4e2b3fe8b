/** The addon in a browser. native/wasm/bundle.mjs makes browser.mjs of it. */

import { remote, workerError } from '../../lib/remote/page.js'
import { withWebGpuNames } from '../../lib/webgpu/names.js'
import type { Addon } from './module.js'
import { compile, startModule } from './modules.js'

/** The addon of a page. */
export async function connect(): Promise<Addon> {
  const worker = new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module', name: 'mpmml' })
  const refused = new Promise<never>((_, reject) => {
    worker.onerror = (event) => reject(workerError(event))
  })
  const kind = globalThis.crossOriginIsolated ? 'threads' : 'single'
  const threads = kind === 'threads' ? (navigator.hardwareConcurrency ?? 1) : 1
  const starting = async () => {
    const compiled = await compile(kind)
    return { compiled, local: await startModule(kind, compiled, 0) }
  }
  try {
    const { compiled, local } = await Promise.race([starting(), refused])
    return remote(withWebGpuNames(local), worker, { compiled, kind, threads })
  } catch (error) {
    worker.terminate()
    throw error
  }
}
