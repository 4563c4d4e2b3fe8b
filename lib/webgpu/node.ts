/**
 * WebGPU in Node.js: the package `webgpu`, in a thread of its own (lib/webgpu-thread.ts), because its event loop is busy while a GPU
 * computes. Nothing is loaded before WebGPU is requested. In browsers lib/browser/webgpu/node.ts takes the place of this module.
 */

import type { Addon } from '../native-interface.js'
import { root } from '../package.js'
import { join } from '../platform.js'
import type { MadeHandle } from '../remote/messages.js'
import { withoutAdapter } from './no-gpu.js'
import { type AddonWithGpu, type GpuFunctions, withGpu } from './with-gpu.js'

type Call = (...values: never[]) => unknown
type Calls = Addon & AddonWithGpu

/** Thread that computes. */
interface Thread {
  /** Functions of the addon there. */
  readonly calls: Calls
  isRemote(handle: unknown): handle is { made: MadeHandle }
}

/** Functions of a device that give promises. */
const promising = [
  ...(['closeDevice', 'upload', 'download', 'fill', 'combine', 'closeMatrix'] as const),
  ...(['copyMatrix', 'multiply', 'multiplyGroup'] as const),
] as const

/** Returns the addon with the backend 'webgpu', which a thread computes. The addon of a page has it already. */
export function withWebGpu(addon: Addon): Calls {
  if ('describeGpu' in addon) return addon as Calls
  let thread: Thread | undefined
  let starting: Promise<Thread> | undefined

  async function start(): Promise<Thread> {
    starting ??= startThread(addon, () => {
      thread = undefined
      starting = undefined
    })
    thread = await starting
    return thread
  }
  const calls = (): Calls => {
    if (!thread) throw new Error('the thread of WebGPU has not been started')
    return thread.calls
  }
  const gpu: GpuFunctions = {
    async describeGpu(allowsFallback) {
      try {
        return await (await start()).calls.describeGpu(allowsFallback)
      } catch (error) {
        return withoutAdapter((error as Error).message)
      }
    },
    handleKind: (handle) => (thread?.isRemote(handle) ? handle.made.kind : ''),
    openDevice: async (deviceMemory) => {
      const { calls } = await start()
      return calls.openDevice(addon.backendChoices.indexOf('webgpu'), 0, deviceMemory, 0)
    },
    describeDevice: (device) => calls().describeDevice(device),
    memoryUse: (device) => calls().memoryUse(device),
    memoryNumber: (memory) => calls().memoryNumber(memory),
    release: (memory) => calls().release(memory),
    giveUp: (cancel) => thread?.calls.giveUp(cancel),
    ...(Object.fromEntries(
      promising.map((name) => [name, (...values: never[]) => (calls()[name] as Call)(...values)]),
    ) as Pick<GpuFunctions, (typeof promising)[number]>),
  }
  return withGpu(addon, gpu)
}

async function startThread(addon: Addon, ended: () => void): Promise<Thread> {
  if (root === '') {
    throw new Error(
      'WebGPU needs a file of the package mpmml, which a bundler has left behind: make mpmml external (docs/deploying.md)',
    )
  }
  const [{ openThread }, { Remote }] = await Promise.all([
    import('./open-thread.js'),
    import('../remote/handles.js'),
  ])
  const calls = openThread(addon, join(root, 'dist', 'lib', 'webgpu-thread.js'), ended)
  return { calls, isRemote: (handle): handle is InstanceType<typeof Remote> => handle instanceof Remote }
}
