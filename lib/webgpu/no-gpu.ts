/** WebGPU where there is none. */
import { failure } from './failure.js'
import type { GpuDescription, GpuFunctions } from './with-gpu.js'

/** Returns the description of a host on which WebGPU can't be used for a reason. */
export const withoutAdapter = (reason: string): GpuDescription => ({
  reason,
  adapter: null,
  limits: {},
  roundsToNearest: false,
})

/** Returns functions that refuse every call with ERR_MPMML_NO_WEBGPU and the reason. */
export function noGpu(reason: string): GpuFunctions {
  const refuse = () => {
    throw failure('ERR_MPMML_NO_WEBGPU', reason)
  }
  const reject = async () => refuse()
  return {
    describeGpu: async () => withoutAdapter(reason),
    handleKind: () => '',
    openDevice: reject,
    describeDevice: refuse,
    memoryUse: refuse,
    closeDevice: reject,
    upload: reject,
    download: reject,
    fill: reject,
    combine: reject,
    closeMatrix: reject,
    copyMatrix: reject,
    memoryNumber: refuse,
    release: refuse,
    multiply: reject,
    multiplyGroup: reject,
    giveUp() {},
  }
}
