/** The addon in workerd (Cloudflare), which compiles modules before a program starts, and has no threads. */
import { withWebGpuNames } from '../../lib/webgpu/names.js'
import { noGpu } from '../../lib/webgpu/no-gpu.js'
import { withGpu } from '../../lib/webgpu/with-gpu.js'
import { type Addon, startLater } from './module.js'
import factory from './mpmml-single.js'
import compiled from './mpmml-single.wasm'

export async function connect(): Promise<Addon> {
  const addon = withWebGpuNames(await startLater(factory, compiled, {}))
  return { ...withGpu(addon, noGpu('workerd has no WebGPU')) }
}
