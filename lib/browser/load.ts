/**
 * Loads the addon in a browser: the WebAssembly module; the counterpart of lib/load.ts for Node.js. A worker
 * computes all functions that return promises.
 */
import { connect } from '@mpmml/wasm'
import { AddonError } from '../errors.js'
import type * as inNode from '../load.js'
import type { AddonOrigin } from '../load.js'

export const ownBuild: typeof inNode.ownBuild = 'a build of its own'
export const sourcePackage: typeof inNode.sourcePackage = '@mpmml/source'
export const driverTraces: typeof inNode.driverTraces = []
export const largerAddons: typeof inNode.largerAddons = () => []

const origin: AddonOrigin = Object.freeze({ kind: 'wasm', from: '@mpmml/wasm', file: '' })

async function start(): Promise<unknown> {
  try {
    const addon = (await connect()) as { explainWithoutCuda(reason: string): void }
    addon.explainWithoutCuda('the addon is WebAssembly, which has no CUDA')
    return addon
  } catch (error) {
    throw new AddonError(
      `the WebAssembly module can't be started: ${(error as Error).message}. Serve the files of @mpmml/wasm from the page's own ` +
        "origin, and allow 'wasm-unsafe-eval' as script-src and 'self' as worker-src, if the page has a Content-Security-Policy",
      { cause: error },
    )
  }
}

const started = await start()

export const load = (() => ({ addon: started, origin })) as typeof inNode.load
