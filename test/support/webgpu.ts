/** WebGPU on the machine that tests run on. */
import { lookForGpu } from '../../lib/webgpu/look.js'
import { allowSoftware } from './webgpu-adapter.js'

/** Returns why WebGPU can't be used here; undefined if it can. */
export async function withoutWebGpu(): Promise<string | undefined> {
  allowSoftware()
  const { reason } = await lookForGpu()
  return reason === '' ? undefined : reason
}
