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
  type NativeMemory,
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

/** Functions of the addon that a WebGPU device has too. They read requests before they return. */
export interface GpuFunctions
  extends Pick<
    Addon,
    | 'describeDevice'
    | 'memoryUse'
    | 'closeDevice'
    | 'upload'
    | 'download'
    | 'fill'
    | 'combine'
    | 'closeMatrix'
    | 'copyMatrix'
    | 'memoryNumber'
    | 'release'
    | 'multiply'
    | 'multiplyGroup'
    | 'giveUp'
  > {
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

const onGpu = ['describeDevice', 'memoryUse', 'closeDevice', 'upload', 'download', 'fill', 'combine'] as const
const alsoOnGpu = ['closeMatrix', 'copyMatrix'] as const
/** Calls for semirings of users, with the position of their argument `device`. */
const ofUsers = { multiplyUserSync: 7, multiplyUser: 8, multiplyUserGroup: 5, explainUser: 2 } as const

type Call = (...values: unknown[]) => unknown

/** Returns the addon with the backend 'webgpu'. */
export function withGpu<Base extends object>(base: Base, gpu: GpuFunctions): Base & AddonWithGpu {
  const addon = base as unknown as Addon & Record<string, Call>
  const choice = (addon.backendChoices as readonly string[]).indexOf('webgpu')
  const isOurs = (handle: unknown) => gpu.handleKind(handle) !== ''

  /** Calls that go by their first argument, a device or a memory. */
  const routed = (name: (typeof onGpu)[number] | (typeof alsoOnGpu)[number] | 'memoryNumber' | 'release') => {
    const [here, there] = [gpu[name] as Call, addon[name] as Call]
    return (...values: unknown[]) => (isOurs(values[0]) ? here(...values) : there(...values))
  }
  const isOnGpu = (device: NativeDevice | null | undefined, request: Float64Array) =>
    device ? isOurs(device) : choice >= 0 && request[requestAt.backend] === choice

  const refusing = (name: keyof typeof ofUsers) => {
    const there = addon[name] as Call
    return (...values: unknown[]) => {
      if (!isOurs(values[ofUsers[name]])) return there(...values)
      const error = failure(
        'ERR_MPMML_OPTION',
        "WebGPU doesn't compute semirings of users: open another device",
      )
      if (name === 'multiplyUserSync') throw error
      return Promise.reject(error)
    }
  }

  const functions: Partial<Addon> = {
    handleKind: (handle) => gpu.handleKind(handle) || addon.handleKind(handle),
    openDevice: (backend, device, deviceMemory, devices) =>
      choice >= 0 && backend === choice
        ? gpu.openDevice(deviceMemory)
        : addon.openDevice(backend, device, deviceMemory, devices),
    multiply(...values) {
      const [, , , , request, , , device] = values
      return isOnGpu(device, request) ? gpu.multiply(...values) : addon.multiply(...values)
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
      return isOnGpu(device, request) ? gpu.multiplyGroup(...values) : addon.multiplyGroup(...values)
    },
    giveUp(cancel) {
      gpu.giveUp(cancel)
      addon.giveUp(cancel)
    },
  }
  return {
    ...base,
    ...Object.fromEntries(
      [...onGpu, ...alsoOnGpu, 'memoryNumber' as const, 'release' as const].map((name) => [
        name,
        routed(name),
      ]),
    ),
    ...Object.fromEntries(
      (Object.keys(ofUsers) as (keyof typeof ofUsers)[]).map((name) => [name, refusing(name)]),
    ),
    ...functions,
    describeGpu: gpu.describeGpu,
  }
}

export type { NativeDevice, NativeMemory }
