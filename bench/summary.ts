/** What the commands say of the values of a result. */
import { type DataType, type DenseMatrix, type ElementArray, type Semiring, zeroOf } from '../lib/index.js'
import { hasSums } from './dtype.js'

export interface ValueSummary {
  /** The smallest and the largest finite value; null if there is none. */
  min: number | null
  max: number | null
  /** How many elements are the semiring's zero. */
  zeros: number
}

/** @param matrix - dense, as the library makes it. */
export function summarize({ data }: DenseMatrix<ElementArray>, zero: number): ValueSummary {
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  let zeros = 0
  for (const value of data) {
    if (value === zero) zeros++
    // A zero that is 0 is finite; other infinities and NaN have no range.
    if (value === zero ? zero === 0 : Number.isFinite(value)) {
      if (value < min) min = value
      if (value > max) max = value
    }
  }
  return min > max ? { min: null, max: null, zeros } : { min, max, zeros }
}

/** "9: 2 … 17; 3 are −∞, held as -2147483648" */
export function describeValues(
  { min, max, zeros }: ValueSummary,
  shape: readonly number[],
  semiring: Semiring,
  dtype: DataType,
): string {
  const finite = min === null ? 'none finite' : `${min} … ${max}`
  const zero = zeroOf(semiring, dtype)
  const infinite = dtype === 'int32' ? hasSums(semiring) : zero !== 0
  const name = infinite ? (zero < 0 ? '−∞' : '+∞') : `${zero}`
  const held = infinite && dtype === 'int32' ? `, held as ${zero}` : ''
  const zeroText = zeros > 0 ? `; ${zeros} ${zeros === 1 ? 'is' : 'are'} ${name}${held}` : ''
  return `${shape.reduce((product, size) => product * size, 1)}: ${finite}${zeroText}`
}
