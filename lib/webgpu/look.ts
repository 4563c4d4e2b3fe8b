/**
 * Searches for a GPU by WebGPU. The search is asynchronous, so synchronous functions use only its earlier
 * result.
 */
import { allowsWebGpuFallback } from '../environment.js'
import { NoWebGpuError, natively } from '../errors.js'
import { addon } from '../native.js'
import type { GpuDescription } from './with-gpu.js'

/** Prefix of the errors of the addon and of this module. */
const PREFIX = "WebGPU can't be used: "

let known: GpuDescription | undefined

/** Returns the description of the GPU; undefined before the first look. */
export const knownGpu = (): GpuDescription | undefined => known

/** Searches for a GPU. The addon caches a GPU until it is lost. */
export async function lookForGpu(): Promise<GpuDescription> {
  const found = await natively(() => addon.describeGpu(allowsWebGpuFallback()))
  known = { ...found, reason: found.reason.replace(PREFIX, '') }
  return known
}

/** @throws Rejects with NoWebGpuError (ERR_MPMML_NO_WEBGPU) if WebGPU can't be used. */
export async function assertGpu(): Promise<void> {
  const { reason } = await lookForGpu()
  if (reason !== '') throw new NoWebGpuError(`${PREFIX}${reason}`)
}

/** Returns the name of the GPU for people. Browsers may keep it secret. */
export function gpuName({ adapter }: Pick<GpuDescription, 'adapter'>): string {
  const { vendor = '', architecture = '', device = '', description = '' } = adapter ?? {}
  return (
    description || [vendor, architecture, device].filter((part) => part !== '').join(' ') || 'unknown GPU'
  )
}

/** Returns the name of the known GPU; a generic name if none is known. */
export const nameOfKnownGpu = (): string => gpuName(known ?? { adapter: null })
