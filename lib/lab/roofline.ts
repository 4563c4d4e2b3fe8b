/** Rooflines: which ceiling of a GPU bounds a kernel. Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009. */
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
  /** Of device memory, counting the bytes that threads ask for, if neighbouring threads read words far apart. */
  strided?: number | undefined
}

/** A ceiling over a kernel: how fast it would be, in 10^9 operations per second, if only this limited it. */
export interface Roof {
  /** The ceiling. */
  name: keyof Ceilings
  /** 10^9 operations per second. */
  gops: number
}

/**
 * The ceilings over a kernel, lowest first: the first binds it. Device memory's is one that caches can lift, because the
 * intensity counts every byte that is asked for; so a kernel may lie above it, as the tutorial found of L1.
 *
 * @param coalesced - whether neighbouring threads read neighbours; if they don't, `strided` bounds the kernel too.
 * @throws ArgumentError (ERR_MPMML_DTYPE) if they aren't ceilings and an intensity.
 * @example
 * const [binding] = roofsOver({ operations: 33_000, deviceMemory: 3_800 }, { global: 0.25, shared: 1 }, true)
 * console.log(binding.name, binding.gops) // deviceMemory 950
 */
export function roofsOver(ceilings: Ceilings, intensity: Intensity, coalesced: boolean): Roof[] {
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
    .filter((roof): roof is Roof => roof.gops !== undefined)
    .sort((one, other) => one.gops - other.gops)
}
