/**
 * WebGPU in Node.js: the package `webgpu`, in a thread of its own (lib/webgpu-thread.ts), because its event loop is busy while a GPU
 * computes. Nothing is loaded before WebGPU is requested. In browsers lib/browser/webgpu/node.ts takes the place of this module.
 */
import type { Addon } from '../native-interface.js'
import { root } from '../package.js'
import { join } from '../platform.js'
import type { Remote } from '../remote/page.js'
import {
  type AddonWithGpu,
  type GpuFunctions,
  gpuCalls,
  handleAt,
  withGpu,
  withoutAdapter,
} from './with-gpu.js'

type Call = (...values: unknown[]) => unknown
type Calls = Addon & AddonWithGpu

/** Returns the addon with the backend 'webgpu', which a thread computes. The addon of a page has it already. */
export function withWebGpu(addon: Addon): Calls {
  if ('describeGpu' in addon) return addon as Calls
  let isRemote: ((handle: unknown) => handle is Remote) | undefined
  let current: Calls | undefined
  let starting: Promise<Calls> | undefined

  /** Starts the thread, again if it has failed. Its devices are lost then: their calls are rejected by the old thread's functions. */
  const start = () => {
    starting ??= startThread()
    return starting
  }
  async function startThread(): Promise<Calls> {
    if (root === '') {
      throw new Error(
        'WebGPU needs a file of the package mpmml, which a bundler has left behind: make mpmml external (docs/deploying.md)',
      )
    }
    const [{ openThread }, { Remote }] = await Promise.all([
      import('./open-thread.js'),
      import('../remote/page.js'),
    ])
    isRemote = (handle): handle is Remote => handle instanceof Remote
    current = openThread(addon, join(root, 'dist', 'lib', 'webgpu-thread.js'), () => {
      starting = undefined
    })
    return current
  }
  const ofThread = (device: unknown) => (device ? ((device as Remote).addon as unknown as Calls) : current!)
  const call =
    (name: (typeof gpuCalls)[number]): Call =>
    (...values) =>
      (ofThread(values[handleAt(name)])[name] as Call)(...values)
  const gpu: GpuFunctions = {
    ...(Object.fromEntries(gpuCalls.map((name) => [name, call(name)])) as Pick<
      GpuFunctions,
      (typeof gpuCalls)[number]
    >),
    async describeGpu(allowsFallback) {
      try {
        return await (await start()).describeGpu(allowsFallback)
      } catch (error) {
        return withoutAdapter((error as Error).message)
      }
    },
    handleKind: (handle) => (isRemote?.(handle) ? handle.info.kind : ''),
    openDevice: async (deviceMemory) =>
      (await start()).openDevice(addon.backendChoices.indexOf('webgpu'), 0, deviceMemory, 0),
    cancelWork: (cancel) => current?.cancelWork(cancel),
  }
  return withGpu(addon, gpu)
}
