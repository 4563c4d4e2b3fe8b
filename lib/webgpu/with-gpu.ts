/**
 * An addon whose sessions and products may be computed by a WebGPU device.
 *
 * Requests that name the backend 'webgpu', and handles that a WebGPU device has made, go to `gpu`; all else goes to the addon.
 * `gpu` refuses what it can't compute exactly with ERR_MPMML_OPTION or ERR_MPMML_DTYPE before it writes anything, so that a
 * call that doesn't name 'webgpu' may compute on the CPU instead. ERR_MPMML_NO_WEBGPU: no usable adapter;
 * ERR_MPMML_DEVICE_LOST: the device was lost, and its matrices with it.
 */
import { type Addon, type HandleKind, type NativeDevice, requestAt } from '../native-interface.js'
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

/** Calls that go to a WebGPU device if their first argument is one, or memory of one. */
export const routed = [
  ...(['describeDevice', 'memoryUse', 'closeDevice', 'upload', 'download', 'fill', 'combine'] as const),
  ...(['closeMatrix', 'copyMatrix', 'memoryNumber', 'release'] as const),
] as const

/** Functions of the addon that a WebGPU device has too. They read requests before they return. */
export interface GpuFunctions
  extends Pick<Addon, (typeof routed)[number] | 'multiply' | 'multiplyGroup' | 'cancelWork'> {
  /** Looks for an adapter unless one is known, and describes it. Rejects never. */
  describeGpu(allowsFallback?: boolean): Promise<GpuDescription>
  /** The kind of a handle that a WebGPU device has made; '' of any other value. */
  handleKind(handle: unknown): HandleKind | ''
  /** Opens a device. `deviceMemory`: limit in bytes of its matrices and products; 0: no limit. */
  openDevice(deviceMemory: number): Promise<NativeDevice>
}

/** Addon whose functions also run on a WebGPU device. */
export interface AddonWithGpu {
  describeGpu(allowsFallback?: boolean): Promise<GpuDescription>
}

/** Calls for semirings of users, with the position of their argument `device`. */
const ofUsers = { multiplyUserSync: 7, multiplyUser: 8, multiplyUserGroup: 5, explainUser: 2 } as const

type Call = (...values: unknown[]) => unknown

/** Returns the addon with the backend 'webgpu'. */
export function withGpu<Base extends object>(base: Base, gpu: GpuFunctions): Base & AddonWithGpu {
  const addon = base as unknown as Addon & Record<string, Call>
  const choice = (addon.backendChoices as readonly string[]).indexOf('webgpu')
  const isOurs = (handle: unknown) => gpu.handleKind(handle) !== ''
  const isOnGpu = (device: NativeDevice | null | undefined, request: Float64Array) =>
    device ? isOurs(device) : request[requestAt.backend] === choice

  const byHandle = (name: (typeof routed)[number]): Call => {
    const [here, there] = [gpu[name] as Call, addon[name] as Call]
    return (...values) => (isOurs(values[0]) ? here(...values) : there(...values))
  }
  const refusing = (name: keyof typeof ofUsers): Call => {
    const there = addon[name] as Call
    return (...values) => {
      if (!isOurs(values[ofUsers[name]])) return there(...values)
      const text = "WebGPU doesn't compute semirings of users: open another device"
      const error = failure('ERR_MPMML_OPTION', text)
      if (name !== 'multiplyUserSync') return Promise.reject(error)
      throw error
    }
  }

  const functions: Partial<Addon> = {
    handleKind: (handle) => gpu.handleKind(handle) || addon.handleKind(handle),
    openDevice: (backend, device, deviceMemory, devices) =>
      backend === choice
        ? gpu.openDevice(deviceMemory)
        : addon.openDevice(backend, device, deviceMemory, devices),
    multiply(...values) {
      const [, , , , request, , , device] = values
      return (isOnGpu(device, request) ? gpu : addon).multiply(...values)
    },
    multiplySync(...values) {
      const [, , , , request, , device] = values
      if (!isOnGpu(device, request)) return addon.multiplySync(...values)
      throw failure(
        'ERR_MPMML_OPTION',
        'WebGPU has no call that waits: use await mpmm(…), or another backend',
      )
    },
    multiplyGroup(...values) {
      const [, request, , , , device] = values
      return (isOnGpu(device, request) ? gpu : addon).multiplyGroup(...values)
    },
    cancelWork(cancel) {
      gpu.cancelWork(cancel)
      addon.cancelWork(cancel)
    },
  }
  return {
    ...base,
    ...Object.fromEntries(routed.map((name) => [name, byHandle(name)])),
    ...Object.fromEntries(
      (Object.keys(ofUsers) as (keyof typeof ofUsers)[]).map((name) => [name, refusing(name)]),
    ),
    ...functions,
    describeGpu: gpu.describeGpu,
  }
}
