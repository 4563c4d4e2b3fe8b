/** Medians and quartiles of repeated measurements. */

import { isTypedArray } from '../array-types.js'
import { showList, typeName } from '../describe.js'
import { ValueError } from '../errors.js'

/** Summary of repeated measurements of one quantity. */
export interface Spread {
  /** Median: half of the measurements lie below it. */
  median: number
  /** First quartile: a quarter of the measurements lie below it. */
  q1: number
  /** Third quartile: a quarter of the measurements lie above it. */
  q3: number
  /** Number of measurements. */
  count: number
}

/**
 * Returns the median and the quartiles, interpolated linearly between neighbouring measurements (R's type 7,
 * NumPy's default).
 *
 * @param samples - at least one finite number.
 * @throws ArgumentError (ERR_MPMML_VALUE) if `samples` is empty or has a number that isn't finite.
 * @example
 * const { median, q1, q3 } = spread([3, 1, 2, 5, 4])
 * console.log(median, q1, q3) // 3 2 4
 */
export function spread(samples: readonly number[]): Spread {
  const isList = Array.isArray(samples) || isTypedArray(samples)
  if (!isList || samples.length === 0 || ![...samples].every(Number.isFinite)) {
    const actual = isList ? showList(samples) : typeName(samples)
    throw new ValueError(`samples must be an array of finite numbers, at least one, but it is ${actual}`)
  }
  const sorted = [...samples].sort((x, y) => x - y)
  const quantile = (share: number) => {
    const at = share * (sorted.length - 1)
    const below = sorted[Math.floor(at)]!
    return below + (sorted[Math.ceil(at)]! - below) * (at - Math.floor(at))
  }
  return { median: quantile(0.5), q1: quantile(0.25), q3: quantile(0.75), count: sorted.length }
}
