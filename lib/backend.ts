/** Which backend is taken, and why. */
import { cpus } from 'node:os'
import { show } from './describe.js'
import { OptionError } from './errors.js'
import { addon } from './native.js'

/** The name of the environment variable that decides in the place of `backend: 'auto'`. */
const VARIABLE = 'MPMML_BACKEND'

/** What the environment variable asks for; 'auto' where it is unset or empty. */
export function environmentBackend(): 'auto' | 'cuda' | 'cpu' {
  const value = process.env[VARIABLE]
  if (value === undefined || value === '' || value === 'auto') return 'auto'
  if (value === 'cuda' || value === 'cpu') return value
  throw new OptionError(
    `the environment variable ${VARIABLE} must be 'auto', 'cuda' or 'cpu', but it is ${show(value)}`,
  )
}

/** More devices than any machine has; native code takes no larger index. */
const MAX_DEVICES = 65536

/** The index of a CUDA device, 0 where none was given. */
export function readDevice(value: unknown): number {
  if (value === undefined) return 0
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MAX_DEVICES)
    return value + 0
  throw new OptionError(
    `option device must be the index of a CUDA device, an integer from 0 to ${MAX_DEVICES - 1}, but it is ${show(value)}`,
  )
}

/** What {@link explainBackend} tells. */
export interface Explanation {
  backend: 'cuda' | 'cpu'
  /** Why, as a clause that can follow "because". */
  reason: string
}

/**
 * Which backend `backend: 'auto'` takes, and why. A single product can still go to the CPU where it doesn't fit the
 * device: its result says so. With MPMML_BACKEND=cuda it is 'cuda' whether that is usable or not; the reason tells.
 *
 * @param options - `device`: the index of the CUDA device to ask about; 0 by default.
 * @throws OptionError (ERR_MPMML_OPTION) where the device is no index, or MPMML_BACKEND has none of its values.
 */
export function explainBackend(options: { device?: number | undefined } = {}): Explanation {
  const asked = environmentBackend()
  const { backend, reason } = addon.explain(readDevice(options.device))
  if (asked === 'cpu') return { backend: 'cpu', reason: `${VARIABLE}=cpu asks for it` }
  if (asked === 'auto') return { backend, reason }
  const usable = backend === 'cuda' ? reason : `it can't be used: ${reason}`
  return {
    backend: 'cuda',
    reason: `${VARIABLE}=cuda asks for it, ${backend === 'cuda' ? 'and' : 'but'} ${usable}`,
  }
}

const deviceNames = new Map<number, string>()

/** The name of a CUDA device by its index, or of the processor for −1. */
export function deviceName(device: number): string {
  let name = deviceNames.get(device)
  if (name === undefined) {
    name =
      device < 0
        ? cpus()[0]?.model.trim() || process.arch
        : String(addon.describe().cuda.devices[device]?.name ?? `CUDA device ${device}`)
    deviceNames.set(device, name)
  }
  return name
}
