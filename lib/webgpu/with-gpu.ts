/**
 * An addon whose sessions and products may be computed by a WebGPU device.
 *
 * Requests that name the backend 'webgpu', and handles that a WebGPU device has made, go to `gpu`; all else goes to the addon.
 * `gpu` refuses what it can't compute exactly with ERR_MPMML_OPTION or ERR_MPMML_DTYPE before it writes anything, so that a
 * call that doesn't name 'webgpu' may compute on the CPU instead. ERR_MPMML_NO_WEBGPU: no usable adapter;
 * ERR_MPMML_DEVICE_LOST: the device was lost, and its matrices with it.
 */
import {
  type Addon,
  type HandleKind,
  type NativeDevice,
  nativeCalls,
  requestAt,
} from '../native-interface.js'
import { failure } from './failure.js'

/** An adapter and the device that was made of it. */
export interface GpuDescription {
  /** Reason why WebGPU can't be used; '' if it can. */
  readonly reason: string
  /** Properties of the adapter; null if none was found. */
  readonly adapter: {
    readonly vendor: string
    readonly architecture: string
    readonly device: string
    readonly description: string
    /** Whether a processor computes in place of a GPU. */
    readonly isFallback: boolean
  } | null
  /** Largest buffer and binding, in bytes, and the limits of a workgroup. */
  readonly limits: Readonly<Record<string, number>>
  /** Whether sums of float32 are rounded to nearest, as a probe has found: otherwise they are refused. */
  readonly roundsToNearest: boolean
}

/** Returns the description of a host on which WebGPU can't be used for a reason. */
export const withoutAdapter = (reason: string): GpuDescription => ({
  reason,
  adapter: null,
  limits: {},
  roundsToNearest: false,
})

/** Functions of the addon that a WebGPU device has too. */
export const gpuCalls = [
  ...(['describeDevice', 'memoryUse', 'closeDevice', 'upload', 'download', 'fill', 'combine'] as const),
  ...(['closeMatrix', 'copyMatrix', 'memoryNumber', 'release', 'multiply', 'multiplyGroup'] as const),
] as const

/** Position of the device, or of memory, in the arguments of a function. */
export const handleAt = (name: string): number => Math.max(0, nativeCalls[name]!.takes.indexOf('device'))

/**
 * Functions of a WebGPU device. They read requests before they return. A product of arrays without a place for a result returns new arrays
 * of all such results.
 */
export interface GpuFunctions extends Pick<Addon, (typeof gpuCalls)[number] | 'cancelWork'> {
  /** Looks for an adapter unless one is known, and describes it. Rejects never. */
  describeGpu(allowsFallback?: boolean): Promise<GpuDescription>
  /** The kind of a handle that a WebGPU device has made; '' of any other value. */
  handleKind(handle: unknown): HandleKind | ''
  /** Opens a device. `deviceMemory`: limit in bytes of its matrices and products; 0: no limit. */
  openDevice(deviceMemory: number): Promise<NativeDevice>
}

/** Addon whose functions also run on a WebGPU device. */
export type AddonWithGpu = Pick<GpuFunctions, 'describeGpu'>

type Call = (...values: unknown[]) => unknown

/** Returns the addon with the backend 'webgpu'. */
export function withGpu<Base extends object>(base: Base, gpu: GpuFunctions): Base & AddonWithGpu {
  const addon = base as unknown as Addon & Record<string, Call>
  const choice = (addon.backendChoices as readonly string[]).indexOf('webgpu')

  /** Returns a function that calls that of the GPU for its handles, and for products of arrays whose request names it. */
  const routed = (name: string): Call => {
    const [here, there] = [addon[name] as Call, (gpu as object as Partial<Record<string, Call>>)[name]]
    const { takes, givesPromise } = nativeCalls[name]!
    const [handle, request] = [handleAt(name), takes.indexOf('request')]
    const isProduct = /^multiply(Sync|Group)?$/.test(name)
    return (...values) => {
      const isGpu = values[handle]
        ? gpu.handleKind(values[handle]) !== ''
        : isProduct && (values[request] as Float64Array)[requestAt.backend] === choice
      if (!isGpu) return here(...values)
      if (there) return there(...values)
      const error = failure('ERR_MPMML_OPTION', `WebGPU can't compute ${name}: use another backend`)
      if (givesPromise) return Promise.reject(error)
      throw error
    }
  }
  const names = [
    ...gpuCalls,
    'multiplySync',
    'multiplyUserSync',
    'multiplyUser',
    'multiplyUserGroup',
    'explainUser',
  ]
  const functions: Partial<Addon> = {
    handleKind: (handle) => gpu.handleKind(handle) || addon.handleKind(handle),
    openDevice: (backend, device, deviceMemory, devices) =>
      backend === choice
        ? gpu.openDevice(deviceMemory)
        : addon.openDevice(backend, device, deviceMemory, devices),
    cancelWork(cancel) {
      gpu.cancelWork(cancel)
      addon.cancelWork(cancel)
    },
  }
  const routedCalls = Object.fromEntries(names.map((name) => [name, routed(name)]))
  return { ...base, ...routedCalls, ...functions, describeGpu: gpu.describeGpu }
}
