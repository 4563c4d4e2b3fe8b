/** Medians and spreads of repeated measurements. */

import { isTypedArray } from '../array-types.js'
import { showList, typeName } from '../describe.js'
import { ValueError } from '../errors.js'

/** Summary of repeated measurements of one quantity. */
export interface Spread {
  /** Half of the measurements lie below it. */
  median: number
  /** The first and the third quartile: half of the measurements lie between them. */
  q1: number
  /** See q1. */
  q3: number
  /** Number of measurements. */
  count: number
}

/**
 * Median and quartiles, interpolated linearly between the measurements next to them (R's type 7, NumPy's default).
 *
 * @param samples - at least one finite number.
 * @throws ArgumentError (ERR_MPMML_VALUE) if there is none, or one that isn't finite.
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
