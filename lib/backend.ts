/** Reads the options `backend`, `device` and `devices`, and explains which backend `auto` selects. */
import type { BackendName } from './backend-name.js'
import { show } from './describe.js'
import { environmentBackend } from './environment.js'
import { OptionError } from './errors.js'
import { addon, indexIn } from './native.js'
import { Options, type OptionsOf, option, readChoice, UNSET } from './options.js'
import { architecture, processor } from './platform.js'
import { gpuName, knownGpu } from './webgpu/look.js'

const { backendChoices } = addon

export const AUTO = indexIn(backendChoices, 'auto')
export const CPU = indexIn(backendChoices, 'cpu')
export const CUDA = indexIn(backendChoices, 'cuda')
export const WEBGPU = indexIn(backendChoices, 'webgpu')

/** The option `backend` as an index into the addon's list. */
export const backend = option(AUTO, (value, name) => readChoice(backendChoices, value, name), backendChoices)

/** Returns the backend that MPMML_BACKEND selects in place of AUTO; AUTO if it selects none. */
export function automaticBackend(): number {
  return indexIn(backendChoices, environmentBackend())
}

/**
 * Returns the backend of work that WebGPU doesn't do. Returns the CPU if only the environment names 'webgpu'.
 *
 * @param work - the work in messages.
 * @throws OptionError if 'webgpu' was requested by name.
 */
export function withoutWebGpu(backend: number, work: string): number {
  if (backend === WEBGPU) {
    throw new OptionError(
      `option backend is 'webgpu', which doesn't compute ${work}: take 'auto', 'cuda' or 'cpu'`,
    )
  }
  if (backend !== AUTO) return backend
  const automatic = automaticBackend()
  return automatic === WEBGPU ? CPU : automatic
}

/** True if this build has the CUDA backend. */
export const builtWithCuda = addon.variants.some(({ backend }) => backend === 'cuda')

/** Limit of device indices, above that of any machine. Native code accepts no larger index. */
const MAX_DEVICES = 65536

/** The option `device`: the index of a CUDA device. */
export const device = option(UNSET, (value, name) => {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MAX_DEVICES)
    return value + 0
  throw new OptionError(
    `option ${name} must be the index of a CUDA device, an integer from 0 to ${MAX_DEVICES - 1}, but it is ${show(value)}`,
  )
})

/** Returns the index of the selected device; `device` may be {@link UNSET}. */
export const indexOf = (device: number): number => (device === UNSET ? 0 : device)

/** Limit of the number of devices that compute together. Native code has a bit for each device. */
const MAX_TOGETHER = 52
/** Value of the option {@link devices} for all existing devices. */
export const ALL_DEVICES = 2 ** MAX_TOGETHER - 1

/** The option `devices`: several CUDA devices as the bits of a number; 0 if omitted. */
export const devices = option(0, readDevices)

function readDevices(value: unknown, name: string): number {
  if (value === 'all') return ALL_DEVICES
  const expected = `option ${name} must be 'all' or a list of CUDA devices, as in [0, 1]`
  if (!Array.isArray(value)) throw new OptionError(`${expected}, but it is ${show(value)}`)
  const indices: unknown[] = Array.from(value)
  if (indices.length === 0) {
    throw new OptionError(`${expected}, but it is an empty list: name one, or leave the option out`)
  }
  let set = 0
  for (const index of indices) {
    if (!(typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < MAX_TOGETHER)) {
      throw new OptionError(`${expected}, integers from 0 to ${MAX_TOGETHER - 1}, but it has ${show(index)}`)
    }
    if (devicesIn(set).includes(index)) {
      throw new OptionError(`${expected}, each of them once, but it has ${index} twice`)
    }
    set += 2 ** index
  }
  return set
}

/** Options that select the backend and the devices. */
export const whereSet = { backend, device, devices }

/** Returns the indices of the bits that are set in a number. */
export function devicesIn(set: number): number[] {
  const indices: number[] = []
  for (let index = 0, rest = set; rest > 0; index++, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) indices.push(index)
  }
  return indices
}

/** Returns the index of the first device that the options name. */
export const firstDevice = ({ device, devices }: Where): number =>
  devices === 0 || devices === ALL_DEVICES ? indexOf(device) : devicesIn(devices)[0]!

/** Values of the options that select the backend and the devices. */
export interface Where {
  backend: number
  /** Index of the device; {@link UNSET} if omitted. */
  device: number
  /** Devices as the bits of a number; 0 if omitted. */
  devices: number
}

/** Returns the options in the form that public functions take. */
export const optionsOf = ({ backend, device, devices }: Where) => ({
  backend: backendChoices[backend]!,
  device: device === UNSET ? undefined : device,
  devices: devices === 0 ? undefined : devices === ALL_DEVICES ? ('all' as const) : devicesIn(devices),
})

/** Throws OptionError if `devices` contradict another option. */
export function assertDevicesOnly({ devices, device, backend }: Where): void {
  if (devices === 0) return
  if (device !== UNSET) {
    throw new OptionError('options device and devices both say where to compute: leave one of them out')
  }
  if (backend === CPU) {
    throw new OptionError("option devices names GPUs, but option backend is 'cpu': leave one of them out")
  }
  if (backend === WEBGPU) {
    throw new OptionError(
      "option devices names CUDA devices, but option backend is 'webgpu', which has one device: leave one of them out",
    )
  }
}

const explainOptions = new Options({ device } satisfies OptionsOf<{ device?: number }>)

/**
 * Returns which backend `backend: 'auto'` selects, and the reason. A single product still runs on the CPU if
 * it is too small for the GPU or doesn't fit its memory: `backend` of its result is 'cpu' then. With
 * MPMML_BACKEND=cuda it is 'cuda' even if CUDA can't be used; the reason then says so. The function never
 * waits: the first call that may use WebGPU searches for it. Before that call, the reason says that no search
 * has run. Without CUDA the result is 'cpu', although large products may run by WebGPU: `backend` of their
 * results is 'webgpu' then.
 *
 * @param options - `device`: the index of the CUDA device that `auto` would use; 0 by default.
 * @throws ArgumentError (ERR_MPMML_OPTION) if the device is no index, or MPMML_BACKEND isn't auto, cuda, webgpu or cpu.
 * @example
 * const { backend, reason } = explainBackend()
 * console.log(`${backend}, because ${reason}`.length > 10) // true
 */
export function explainBackend(options: { device?: number | undefined } = {}): {
  /** Backend that `backend: 'auto'` selects. */
  backend: BackendName
  /** Reason, as a clause that can follow "because". */
  reason: string
} {
  const { device } = explainOptions.read(options)
  const requested = environmentBackend()
  const { backend, reason } = addon.explain(indexOf(device))
  if (requested === 'cpu') return { backend: 'cpu', reason: 'MPMML_BACKEND=cpu asks for it' }
  if (requested === 'webgpu')
    return { backend: 'webgpu', reason: `MPMML_BACKEND=webgpu asks for it, ${webGpuState()}` }
  if (requested === 'auto')
    return backend === 'cpu' ? { backend, reason: `${reason}; ${webGpuState()}` } : { backend, reason }
  const usable = backend === 'cuda' ? reason : `it can't be used: ${reason}`
  return {
    backend: 'cuda',
    reason: `MPMML_BACKEND=cuda asks for it, ${backend === 'cuda' ? 'and' : 'but'} ${usable}`,
  }
}

/** Returns the state of WebGPU, as a clause. */
function webGpuState(): string {
  const gpu = knownGpu()
  if (gpu === undefined) return "and WebGPU hasn't been looked for yet"
  if (gpu.reason !== '') return `and WebGPU can't be used: ${gpu.reason}`
  return `and WebGPU has found ${gpuName(gpu)}`
}

const deviceNames = new Map<number, string>()

/** Returns the name of the CUDA device with this index, or the name of the processor for −1. */
export function deviceName(device: number): string {
  let name = deviceNames.get(device)
  if (name === undefined) {
    name = device < 0 ? processor() || architecture : addon.deviceName(device)
    if (name === '') return `CUDA device ${device}`
    deviceNames.set(device, name)
  }
  return name
}
