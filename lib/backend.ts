/** Which backend is taken, and why. */
import { cpus } from 'node:os'
import { show } from './describe.js'
import { environmentBackend } from './environment.js'
import { OptionError } from './errors.js'
import { addon, indexIn } from './native.js'
import { readChoice } from './options.js'

const { backendChoices } = addon
export const AUTO = indexIn(backendChoices, 'auto')
export const CPU = indexIn(backendChoices, 'cpu')

/** The option `backend` as an index into the addon's list. */
export function readBackend(value: unknown): number {
  return value === undefined ? AUTO : readChoice(backendChoices, value, 'backend')
}

/** What takes the place of AUTO, by the environment; AUTO if it doesn't say. */
export function automaticBackend(): number {
  return indexIn(backendChoices, environmentBackend())
}

/** Whether this build has the CUDA backend. */
export const builtWithCuda = addon.variants.some(({ backend }) => backend === 'cuda')

/** More devices than any machine has; native code takes no larger index. */
const MAX_DEVICES = 65536

/** The index of a CUDA device; 0 if none was given. */
export function readDevice(value: unknown): number {
  if (value === undefined) return 0
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MAX_DEVICES)
    return value + 0
  throw new OptionError(
    `option device must be the index of a CUDA device, an integer from 0 to ${MAX_DEVICES - 1}, but it is ${show(value)}`,
  )
}

/** What {@link explainBackend} returns. */
export interface Explanation {
  /** What `backend: 'auto'` takes. */
  backend: 'cuda' | 'cpu'
  /** Why, as a clause that can follow "because". */
  reason: string
}

/**
 * Which backend `backend: 'auto'` takes, and why. A single product can still go to the CPU if it is too small for the GPU
 * or doesn't fit its memory: its result says so. With MPMML_BACKEND=cuda it is 'cuda' even if CUDA can't be used; the
 * reason then says so.
 *
 * @param options - `device`: the index of the CUDA device to ask about; 0 by default.
 * @throws OptionError (ERR_MPMML_OPTION) if the device is no index, or MPMML_BACKEND isn't auto, cuda or cpu.
 * @example
 * const { backend, reason } = explainBackend()
 * console.log(`${backend}, because ${reason}`.length > 10) // true
 */
export function explainBackend(options: { device?: number | undefined } = {}): Explanation {
  const asked = environmentBackend()
  const { backend, reason } = addon.explain(readDevice(options.device))
  if (asked === 'cpu') return { backend: 'cpu', reason: 'MPMML_BACKEND=cpu asks for it' }
  if (asked === 'auto') return { backend, reason }
  const usable = backend === 'cuda' ? reason : `it can't be used: ${reason}`
  return {
    backend: 'cuda',
    reason: `MPMML_BACKEND=cuda asks for it, ${backend === 'cuda' ? 'and' : 'but'} ${usable}`,
  }
}

const deviceNames = new Map<number, string>()

/** The name of the CUDA device that a product has run on, by its index, or of the processor for −1. */
export function deviceName(device: number): string {
  let name = deviceNames.get(device)
  if (name === undefined) {
    name = device < 0 ? cpus()[0]?.model.trim() || process.arch : addon.deviceName(device)
    if (name === '') return `CUDA device ${device}`
    deviceNames.set(device, name)
  }
  return name
}
