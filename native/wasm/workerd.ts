/** The addon in workerd (Cloudflare), which compiles modules before a program starts and has no threads. */
import { withWebGpuNames } from '../../lib/webgpu/names.js'
import { withoutAdapter } from '../../lib/webgpu/with-gpu.js'
import { type Addon, startLater } from './module.js'
import factory from './mpmml-single.js'
import compiled from './mpmml-single.wasm'

export async function connect(): Promise<Addon> {
  const addon = withWebGpuNames(await startLater(factory, compiled, {}))
  return { ...addon, describeGpu: async () => withoutAdapter('workerd has no WebGPU') }
}
