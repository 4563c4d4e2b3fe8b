/** Occupancy: Table 2.1 of the thesis, for any kernel of the build. */

import { natively } from '../errors.js'
import { addon, type LabOccupancy, type LabOccupancyRequest } from '../native.js'
import { Options, type OptionsOf } from '../options.js'
import type { VariantName } from '../variant-names.js'
import { nativeVariantIndex } from '../variants.js'
import { type MicrobenchOptions, readMicrobench } from './microbenchmarks.js'
import { deviceOrFirst } from './options.js'

/** Occupancy of a multiprocessor by a kernel, which the CUDA runtime computes from the compiled code. */
export interface Occupancy extends Readonly<LabOccupancy> {}

const ask = (request: LabOccupancyRequest) => natively(() => addon.labOccupancy(request))

const occupancyOptions = new Options({ device: deviceOrFirst } satisfies OptionsOf<{ device?: number }>)

/**
 * Returns the occupancy of a CUDA variant.
 *
 * @param options - `device`: the index of the CUDA device; 0 by default.
 * @throws Rejects with ERR_MPMML_NO_CUDA if no GPU can be used, ERR_MPMML_VARIANT for a variant that doesn't exist or
 *   isn't for CUDA, ERR_MPMML_OPTION, ERR_MPMML_CUDA.
 * @example
 * const { activeBlocks } = await occupancy('mpmml_maxplus_i32_8x8_16x16_s16_case00_sub4x4')
 * console.log(activeBlocks > 0) // true
 */
export async function occupancy(
  variant: VariantName,
  options?: { device?: number | undefined },
): Promise<Occupancy> {
  return ask({ ...occupancyOptions.read(options), variant: nativeVariantIndex(variant) })
}

/**
 * Returns the occupancy of a microbenchmark's kernel. Only its compile-time parameters and the options `m`,
 * `bsi` and `bsj` matter.
 *
 * @throws Rejects as {@link occupancy} does.
 * @example
 * const { activeBlocks } = await microbenchOccupancy('reg-reg', { x: 4, y: 4, bsi: 32, bsj: 32 })
 * console.log(activeBlocks > 0) // true
 */
export async function microbenchOccupancy(
  name: string,
  options?: Pick<MicrobenchOptions, 'x' | 'y' | 'k' | 'max' | 'm' | 'bsi' | 'bsj' | 'device'>,
): Promise<Occupancy> {
  const { device, ...microbench } = readMicrobench(name, options)
  return ask(device === undefined ? { microbench } : { device, microbench })
}
