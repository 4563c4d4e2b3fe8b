/** Measures the bandwidths of a GPU's memory levels, which are the sloped ceilings of a roofline. */

import { natively } from '../errors.js'
import { addon, type LabBandwidth, type LabBandwidthRequest, type LabBandwidthResult } from '../native.js'
import { Options, type OptionsOf, whole } from '../options.js'
import { bandwidthNames } from '../variant-names.js'
import { assertKnown } from './machine.js'
import { given, launchesSet } from './options.js'
import { type Spread, spread } from './statistics.js'

/** A bandwidth that can be measured. */
export interface Bandwidth extends Readonly<LabBandwidth> {}

/** The options of {@link bandwidth}. `undefined` means the default. */
export interface BandwidthOptions extends Omit<LabBandwidthRequest, 'name'> {}

/** Result of {@link bandwidth}. */
export interface BandwidthResult extends Omit<LabBandwidthResult, 'ms'> {
  /** Name from {@link bandwidths}. */
  name: string
  /** Milliseconds of a launch. */
  ms: Spread
  /** 10^9 bytes per second. For strided reads only the requested words count. */
  gbps: Spread
}

const bandwidthOptions = new Options({
  stride: whole(undefined, 1, 2 ** 20),
  ...launchesSet,
} satisfies OptionsOf<BandwidthOptions>)

/**
 * Returns the bandwidths that the loaded addon can measure; none if the addon lacks the laboratory.
 *
 * @throws Nothing.
 * @example
 * console.log(bandwidths().every(({ name }) => ['copy', 'l2', 'shared', 'strided'].includes(name))) // true
 */
export function bandwidths(): Bandwidth[] {
  return addon.labBandwidths()
}

/**
 * Measures a bandwidth.
 *
 * @param name - name from {@link bandwidths}: 'copy' (device memory, read and written), 'l2', 'shared', or
 * 'strided'.
 * @throws Rejects with ERR_MPMML_NO_CUDA if no GPU can be used, ERR_MPMML_ADDON if the addon that is loaded has CUDA but
 *   not the laboratory, ERR_MPMML_VARIANT for a name that doesn't exist, ERR_MPMML_OPTION, ERR_MPMML_OUT_OF_MEMORY, ERR_MPMML_CUDA.
 * @example
 * const { gbps } = await bandwidth('strided', { stride: 32 })
 * console.log(gbps.median > 0) // true
 */
export async function bandwidth(name: string, options?: BandwidthOptions): Promise<BandwidthResult> {
  assertKnown('bandwidth', name, bandwidthNames)
  const request = given(bandwidthOptions.read(options))
  const { ms, ...facts } = await natively(() => addon.labBandwidth({ ...request, name }))
  return { name, ...facts, ms: spread(ms), gbps: spread(ms.map((time) => facts.bytes / time / 1e6)) }
}
