/** The functions of the addon on a WebGPU device: matrices that stay on it, products and closures. */
import type { Addon } from '../native-interface.js'
import { failure } from './failure.js'
import type { GpuDescription, GpuFunctions } from './with-gpu.js'

/** Lists of the addon whose indices requests and reports have. */
export type AddonLists = Pick<
  Addon,
  'semirings' | 'dataTypes' | 'paths' | 'overflowPolicies' | 'variants' | 'backends' | 'backendChoices'
>

/** Settings of {@link gpuFunctions}. */
export interface GpuSettings {
  /** Whether a software adapter may be used (MPMML_WEBGPU_FALLBACK=1): it is slower than the CPU kernels. */
  readonly allowFallback?: boolean
  /** The most bytes of GPU memory; 0 or undefined: no limit but the device's. */
  readonly mostBytes?: number
}

/**
 * Returns the functions of a WebGPU device.
 *
 * @param findGpu - gives `navigator.gpu`, or that of the package `webgpu`; null if there is none. Called when WebGPU is first needed.
 */
export function gpuFunctions(
  _lists: AddonLists,
  findGpu: () => Promise<GPU | null>,
  _settings: GpuSettings = {},
): GpuFunctions {
  const unavailable = () => Promise.reject(failure('ERR_MPMML_NO_WEBGPU', 'no WebGPU adapter was found'))
  const unknown = () => {
    throw failure('ERR_MPMML_DEVICE', 'the handle belongs to no WebGPU device')
  }
  const describeGpu = async (): Promise<GpuDescription> => ({
    reason: (await findGpu()) ? 'no WebGPU adapter was found' : 'this host has no WebGPU',
    adapter: null,
    limits: {},
    roundsToNearest: false,
  })
  return {
    describeGpu,
    handleKind: () => '',
    openDevice: unavailable,
    describeDevice: unknown,
    memoryUse: unknown,
    closeDevice: unavailable,
    upload: unavailable,
    download: unavailable,
    fill: unavailable,
    combine: unavailable,
    closeMatrix: unavailable,
    copyMatrix: unavailable,
    memoryNumber: unknown,
    release: unknown,
    multiply: unavailable,
    multiplyGroup: unavailable,
    giveUp() {},
  }
}
