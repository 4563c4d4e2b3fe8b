/**
 * What a product must be, from the definition of the algebra alone: nothing here is shared with what it checks.
 *
 * float64 holds every sum of two int32 values exactly, and an infinity for the semiring's zero, which absorbs by
 * itself: −∞ + x = −∞.
 */

/** The semirings over int32. */
export type SemiringName = 'max-plus' | 'min-plus'
export type Policy = 'throw' | 'saturate' | 'wrap'

/** Elements in memory, as the library takes them. */
export interface Strided {
  data: Int32Array
  shape: ArrayLike<number>
  strides?: ArrayLike<number> | undefined
  offset?: number | undefined
}

/** Row-major elements of a batch. */
export interface Dense {
  batch: number
  rows: number
  cols: number
  data: Int32Array
}

export interface OracleOptions {
  semiring?: SemiringName
  overflow?: Policy
  c0?: Strided | undefined
}

/** The product, or where and by which sum the first result in row-major order overflows. */
export type Expected =
  | (Dense & { overflow?: undefined })
  | { overflow: { batch: number; row: number; col: number; sum: number } }

interface Rules {
  /** How the zero is written in int32. */
  zero: number
  infinity: number
  least: number
  most: number
}

const LOWEST = -(2 ** 31)
const HIGHEST = 2 ** 31 - 1

const rules: Record<SemiringName, Rules> = {
  'max-plus': { zero: LOWEST, infinity: Number.NEGATIVE_INFINITY, least: LOWEST + 1, most: HIGHEST },
  'min-plus': { zero: HIGHEST, infinity: Number.POSITIVE_INFINITY, least: LOWEST, most: HIGHEST - 1 },
}

export const zeroValue = (semiring: SemiringName): number => rules[semiring].zero
export const finiteRange = (semiring: SemiringName): [least: number, most: number] => [
  rules[semiring].least,
  rules[semiring].most,
]

/** The elements of any layout in row-major order. */
export function dense({ data, shape, strides, offset = 0 }: Strided): Dense {
  const [batch, rows, cols] = (shape.length === 3 ? Array.from(shape) : [1, ...Array.from(shape)]) as [
    number,
    number,
    number,
  ]
  const given = strides ? Array.from(strides) : undefined
  const [batchStride, rowStride, colStride] = (
    given ? (given.length === 3 ? given : [0, ...given]) : [rows * cols, cols, 1]
  ) as [number, number, number]
  const elements = new Int32Array(batch * rows * cols)
  let next = 0
  for (let b = 0; b < batch; b++) {
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < cols; j++) {
        const index = offset + b * batchStride + i * rowStride + j * colStride
        if (index >= data.length) throw new RangeError(`element ${index} of ${data.length}`)
        elements[next++] = data[index]!
      }
    }
  }
  return { batch, rows, cols, data: elements }
}

/** C0 ⊕ A ⊗ B. */
export function oracle(aMatrix: Strided, bMatrix: Strided, options: OracleOptions = {}): Expected {
  const { semiring = 'max-plus', overflow = 'throw' } = options
  const rule = rules[semiring]
  const a = dense(aMatrix)
  const b = dense(bMatrix)
  if (a.cols !== b.rows) throw new RangeError('inner dimensions')
  const c0 = options.c0 && dense(options.c0)
  const batch = a.batch === 1 ? b.batch : a.batch
  const result: Dense = { batch, rows: a.rows, cols: b.cols, data: new Int32Array(batch * a.rows * b.cols) }
  const left = toReal(a, rule)
  const right = toReal(b, rule)
  const start = c0 && toReal(c0, rule)
  const row = new Float64Array(b.cols)
  for (let item = 0; item < batch; item++) {
    const aStart = a.batch === 1 ? 0 : item * a.rows * a.cols
    const bStart = b.batch === 1 ? 0 : item * b.rows * b.cols
    const c0Start = c0?.batch === 1 ? 0 : item * a.rows * b.cols
    for (let i = 0; i < a.rows; i++) {
      if (start) row.set(start.subarray(c0Start + i * b.cols, c0Start + (i + 1) * b.cols))
      else row.fill(rule.infinity)
      for (let k = 0; k < a.cols; k++) {
        const x = left[aStart + i * a.cols + k]!
        if (x === rule.infinity) continue
        const from = bStart + k * b.cols
        if (overflow === 'wrap') combineWrapped(row, x, right, from, rule)
        else if (semiring === 'max-plus') combineMax(row, x, right, from)
        else combineMin(row, x, right, from)
      }
      for (let j = 0; j < b.cols; j++) {
        let value = row[j]!
        if (value === rule.infinity) value = rule.zero
        else if (value < rule.least || value > rule.most) {
          if (overflow === 'throw') return { overflow: { batch: item, row: i, col: j, sum: value } }
          value = Math.min(Math.max(value, rule.least), rule.most)
        }
        result.data[(item * a.rows + i) * b.cols + j] = value
      }
    }
  }
  return result
}

function toReal({ data }: Dense, { zero, infinity }: Rules): Float64Array {
  return Float64Array.from(data, (value) => (value === zero ? infinity : value))
}

function combineMax(row: Float64Array, x: number, right: Float64Array, from: number): void {
  for (let j = 0; j < row.length; j++) {
    const sum = x + right[from + j]!
    if (sum > row[j]!) row[j] = sum
  }
}

function combineMin(row: Float64Array, x: number, right: Float64Array, from: number): void {
  for (let j = 0; j < row.length; j++) {
    const sum = x + right[from + j]!
    if (sum < row[j]!) row[j] = sum
  }
}

/** Finite sums modulo 2^32; one that wraps onto the zero's value is zero. */
function combineWrapped(row: Float64Array, x: number, right: Float64Array, from: number, rule: Rules): void {
  for (let j = 0; j < row.length; j++) {
    const y = right[from + j]!
    if (y === rule.infinity) continue
    // | is modulo 2^32, and x + y exact.
    const sum = (x + y) | 0
    if (sum === rule.zero) continue
    if (rule.infinity < 0 ? sum > row[j]! : sum < row[j]!) row[j] = sum
  }
}
