/** Medians and spreads of repeated measurements. */

/** What repeated measurements of one quantity say. */
export interface Spread {
  median: number
  /** The first and the third quartile: half of the measurements lie between them. */
  q1: number
  q3: number
  /** How many measurements there were. */
  count: number
}

/**
 * Median and quartiles, interpolated linearly between the measurements next to them (R's type 7, NumPy's default).
 *
 * @param samples - at least one finite number.
 * @throws RangeError if there is none.
 */
export function spread(samples: readonly number[]): Spread {
  if (samples.length === 0 || !samples.every(Number.isFinite)) {
    throw new RangeError(`a spread needs finite measurements, at least one, not [${samples.join(', ')}]`)
  }
  const sorted = [...samples].sort((x, y) => x - y)
  const quantile = (share: number) => {
    const at = share * (sorted.length - 1)
    const below = sorted[Math.floor(at)]!
    return below + (sorted[Math.ceil(at)]! - below) * (at - Math.floor(at))
  }
  return { median: quantile(0.5), q1: quantile(0.25), q3: quantile(0.75), count: sorted.length }
}
