/** Availability of WebGPU on the machine of the tests. */
import { lookForGpu } from '../../lib/webgpu/look.js'
import { allowSoftware } from './webgpu-adapter.js'

/** Returns the reason why WebGPU can't be used on this machine; undefined if it can. */
export async function withoutWebGpu(): Promise<string | undefined> {
  allowSoftware()
  const { reason } = await lookForGpu()
  return reason === '' ? undefined : reason
}
