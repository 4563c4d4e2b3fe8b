/**
 * Finds the ceilings of a GPU that bound a kernel. Williams, Waterman, Patterson, "Roofline", CACM 52(4),
 * 2009.
 */
import { assertObject } from '../options.js'
import type { Intensity } from './intensity.js'

/** Measured peaks of a GPU. Bandwidths in 10^9 bytes per second, operations in 10^9 per second. */
export interface Ceilings {
  /** Operations on registers. */
  operations: number
  /** The bandwidth of device memory. */
  deviceMemory: number
  /** The bandwidth of the L2 cache, if it was measured. */
  l2?: number | undefined
  /** The bandwidth of shared memory, if it was measured. */
  sharedMemory?: number | undefined
  /**
   * Bandwidth of device memory for uncoalesced access (neighbouring threads read distant words), in requested
   * bytes.
   */
  strided?: number | undefined
}

/**
 * Returns the ceilings over a kernel, lowest first, each with the kernel's rate in 10^9 operations per second if
 * nothing else limited it: the first one bounds the kernel. Caches can lift the
 * ceiling of device memory, because the intensity counts every requested byte. So a kernel may exceed this
 * ceiling, as the tutorial shows for L1.
 *
 * @param coalesced - whether neighbouring threads read neighbouring words. If false, `strided` bounds the
 * kernel too.
 * @throws ArgumentError (ERR_MPMML_DTYPE) if the values aren't ceilings and an intensity.
 * @example
 * const [binding] = roofsOver({ operations: 33_000, deviceMemory: 3_800 }, { global: 0.25, shared: 1 }, true)
 * console.log(binding.name, binding.gops) // deviceMemory 950
 */
export function roofsOver(
  ceilings: Ceilings,
  intensity: Intensity,
  coalesced: boolean,
): {
  /** The ceiling. */
  name: keyof Ceilings
  /** 10^9 operations per second. */
  gops: number
}[] {
  assertObject(ceilings, 'ceilings', 'an object { operations, deviceMemory }', ['operations', 'deviceMemory'])
  assertObject(intensity, 'intensity', 'a result of intensityOf, or { global, shared }', ['global', 'shared'])
  const { global, shared } = intensity
  const roofs: { name: keyof Ceilings; gops: number | undefined }[] = [
    { name: 'operations', gops: ceilings.operations },
    { name: 'deviceMemory', gops: ceilings.deviceMemory * global },
    { name: 'l2', gops: ceilings.l2 === undefined ? undefined : ceilings.l2 * global },
    {
      name: 'sharedMemory',
      gops: ceilings.sharedMemory === undefined ? undefined : ceilings.sharedMemory * shared,
    },
    {
      name: 'strided',
      gops: coalesced || ceilings.strided === undefined ? undefined : ceilings.strided * global,
    },
  ]
  return roofs
    .filter((roof): roof is { name: keyof Ceilings; gops: number } => roof.gops !== undefined)
    .sort((one, other) => one.gops - other.gops)
}
