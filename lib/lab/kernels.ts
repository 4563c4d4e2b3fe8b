/** Times kernel variants without transfers. */

import { natively, OptionError } from '../errors.js'
import { MAX_INT32, MIN_INT32 } from '../integers.js'
import { addon, type LabMeasurement, type LabMeasureRequest } from '../native.js'
import { Options, type OptionsOf, whole } from '../options.js'
import type { VariantName } from '../variant-names.js'
import { nativeVariantIndex } from '../variants.js'
import { fraction, given, launchesSet, requiredSize, size } from './options.js'
import { type Spread, spread } from './statistics.js'

/** Problem on which a variant is measured. */
export interface MeasureOptions extends Omit<LabMeasureRequest, 'variant'> {}

/** Result of measuring a variant. */
export interface Measurement
  extends Pick<LabMeasureRequest, 'm' | 'n' | 'k'>,
    Omit<LabMeasurement, 'kernelMs' | 'prepareMs' | 'analysisMs'> {
  /** The variant that was measured. */
  variant: VariantName
  /** The number of products. */
  batch: number
  /** Milliseconds of the product's kernel alone. */
  kernelMs: Spread
  /**
   * Milliseconds of the kernels before the product (packing, transposing A); zeros if the variant has none.
   */
  prepareMs: Spread
  /** Milliseconds of the scan of both operands for their range of values. */
  analysisMs: Spread
  /** 10^9 operations per second of kernel time, at 2 operations for each of the batch·M·N·K steps. */
  gops: Spread
}

/** Option for an int32 that isn't the zero of any semiring. */
const finite = whole(undefined, MIN_INT32 + 1, MAX_INT32 - 1)

const measureOptions = new Options({
  m: requiredSize(),
  n: requiredSize(),
  k: requiredSize(),
  batch: size,
  ...launchesSet,
  minimum: finite,
  maximum: finite,
  zeroFraction: fraction(0, 1),
  seed: whole(undefined, 0, Number.MAX_SAFE_INTEGER),
} satisfies OptionsOf<MeasureOptions>)

/**
 * Times a CUDA variant on operands that are generated on the device, without copies from or to the host. The
 * repetitions cycle through several sets of operands, together more than twice the L2 cache if memory allows.
 *
 * @param variant - a name from {@link variants}, of the backend 'cuda'.
 * @throws Rejects with ERR_MPMML_NO_CUDA if no GPU can be used, ERR_MPMML_VARIANT for a variant that doesn't
 * exist, isn't for CUDA or can't compute this problem, ERR_MPMML_OPTION, ERR_MPMML_OUT_OF_MEMORY,
 * ERR_MPMML_CUDA.
 * @example
 * const { gops } = await measure('mpmml_maxplus_i32_8x8_16x16_s16_case00_sub4x4', { m: 4096, n: 4096, k: 4096 })
 * console.log(gops.median > 0) // true
 */
export async function measure(variant: VariantName, options: MeasureOptions): Promise<Measurement> {
  const request = given(measureOptions.read(options))
  const { m, n, k, batch = 1, minimum = -1000, maximum = 1000 } = request
  if (minimum > maximum) {
    throw new OptionError(`option minimum is ${minimum}, which is more than maximum, ${maximum}`)
  }
  const index = nativeVariantIndex(variant)
  const measured = await natively(() => addon.labMeasure({ ...request, variant: index }))
  const operations = 2 * batch * m * n * k
  return {
    variant,
    m,
    n,
    k,
    batch,
    ...measured,
    kernelMs: spread(measured.kernelMs),
    prepareMs: spread(measured.prepareMs),
    analysisMs: spread(measured.analysisMs),
    gops: spread(measured.kernelMs.map((ms) => operations / ms / 1e6)),
  }
}
