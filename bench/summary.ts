/** Formats results and their values as text and JSON records, for all commands. */
import {
  type DataType,
  type DenseMatrix,
  type ElementArray,
  type MpmmOptions,
  type Semiring,
  zeroOf,
} from '../lib/index.js'
import { dtypeOf, hasSums } from './dtype.js'
import { shapeText } from './output.js'
import { shownInput } from './pipes.js'
import { type Values, valuesOf } from './values.js'

/** Path and shape of a matrix file. */
export interface FileRecord {
  path: string
  shape: readonly number[]
}

/** Returns a line such as "192 × 256  A.npy". */
export const fileText = ({ path, shape }: FileRecord) => `${shapeText(shape)}  ${shownInput(path)}`

/** Result with its output file, if any, a summary of its values, and the values if they are printed. */
export interface ResultRecord extends ValueSummary {
  path: string | null
  shape: readonly number[]
  values?: Values | undefined
}

/** @param all - whether the values are printed, however many. */
export const resultRecord = (
  c: DenseMatrix<ElementArray>,
  semiring: Semiring,
  output: string | undefined,
  all: boolean,
): ResultRecord => ({
  path: output ?? null,
  shape: c.shape,
  ...summarize(c, zeroOf(semiring, dtypeOf(c.data))),
  values: output === undefined ? valuesOf(c, semiring, all) : undefined,
})

export const resultText = ({ path, shape }: Pick<ResultRecord, 'path' | 'shape'>) =>
  `${shapeText(shape)}  ${path ?? '(not written; -o names a file)'}`

/** Returns the effective overflow policy; null if nothing can overflow. */
export const overflowOf = (
  semiring: Semiring,
  dtype: DataType,
  overflow: MpmmOptions['overflow'],
): string | null => (dtype === 'int32' && hasSums(semiring) ? (overflow ?? 'throw') : null)

/** Returns a phrase such as "max-plus on int32, overflow: throw". */
export const semiringText = (record: { semiring: string; dtype: DataType; overflow: string | null }) =>
  `${record.semiring} on ${record.dtype}${record.overflow ? `, overflow: ${record.overflow}` : ''}`

/** Range of values, with the numbers of NaN and infinities. */
export interface Range {
  /** Smallest and largest finite value; null without finite values. */
  min: number | null
  max: number | null
  nan: number
  infinite: number
}

/** Counts values. */
export class Counts {
  #min = Number.POSITIVE_INFINITY
  #max = Number.NEGATIVE_INFINITY
  #nan = 0
  #infinite = 0

  add(value: number): void {
    if (Number.isNaN(value)) this.#nan++
    else if (!Number.isFinite(value)) this.#infinite++
    else {
      if (value < this.#min) this.#min = value
      if (value > this.#max) this.#max = value
    }
  }

  get range(): Range {
    const none = this.#min > this.#max
    return {
      min: none ? null : this.#min,
      max: none ? null : this.#max,
      nan: this.#nan,
      infinite: this.#infinite,
    }
  }
}

/**
 * Summary of values. A finite zero counts for the minimum and maximum; an infinite zero isn't counted as an
 * infinity.
 */
export interface ValueSummary extends Range {
  /** Number of elements that are the semiring's zero. */
  zeros: number
}

/** @param matrix - dense row-major matrix, as the library returns it. */
export function summarize({ data }: DenseMatrix<ElementArray>, zero: number): ValueSummary {
  const counts = new Counts()
  let zeros = 0
  for (const value of data) {
    if (value === zero) zeros++
    if (value !== zero || zero === 0) counts.add(value)
  }
  return { ...counts.range, zeros }
}

/** "9: 2 … 17; 3 are −∞, held as -2147483648; 1 is +∞" */
export function describeValues(
  { min, max, zeros, nan, infinite }: ValueSummary,
  shape: readonly number[],
  semiring: Semiring,
  dtype: DataType,
): string {
  const finite = min === null ? 'none finite' : `${min} … ${max}`
  const zero = zeroOf(semiring, dtype)
  const isInfinite = dtype === 'int32' ? hasSums(semiring) : zero !== 0
  const name = isInfinite ? (zero < 0 ? '−∞' : '+∞') : `${zero}`
  const stored = isInfinite && dtype === 'int32' ? `, held as ${zero}` : ''
  const other = semiring === 'plus-times' ? '±∞' : zero > 0 ? '−∞' : '+∞'
  const parts = [
    `${shape.reduce((product, size) => product * size, 1)}: ${finite}`,
    countText(zeros, `${name}${stored}`),
    countText(infinite, other),
    countText(nan, 'NaN'),
  ]
  return parts.filter((part) => part !== '').join('; ')
}

const countText = (count: number, what: string) =>
  count === 0 ? '' : `${count} ${count === 1 ? 'is' : 'are'} ${what}`
