/**
 * What a product over the semirings without sums must be, from their definitions alone: max-min, min-max, max-times and
 * or-and. Elements are taken into float64, which holds every element type, computed with one by one, and written back.
 */
export type OtherSemiring = 'max-min' | 'min-max' | 'max-times' | 'or-and'
export type OtherType = 'int32' | 'float32' | 'float64' | 'uint8'
export type OtherArray = Int32Array | Float32Array | Float64Array | Uint8Array

export const otherArrays = {
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
  uint8: Uint8Array,
} as const

/** The element types that each semiring has. */
export const otherTypes: Record<OtherSemiring, OtherType[]> = {
  'max-min': ['int32', 'float32', 'float64'],
  'min-max': ['int32', 'float32', 'float64'],
  'max-times': ['float32', 'float64'],
  'or-and': ['uint8'],
}

/** Elements in memory, as the library takes them. */
export interface OtherMatrix {
  data: OtherArray | Int16Array
  shape: ArrayLike<number>
  strides?: ArrayLike<number> | undefined
  offset?: number | undefined
}

/** Row-major elements of a batch. */
export interface OtherProduct {
  batch: number
  rows: number
  cols: number
  values: Float64Array
}

const LEAST = -(2 ** 31)
const GREATEST = 2 ** 31 - 1

interface Rules {
  /** x ⊕ y of numbers. */
  add(x: number, y: number): number
  /** The neutral elements of ⊕ and of ⊗, by whether the elements are int32. */
  zero(int32: boolean): number
  one(int32: boolean): number
}

const rules: Record<OtherSemiring, Rules> = {
  'max-min': {
    add: (x, y) => (y > x ? y : x),
    zero: (int32) => (int32 ? LEAST : Number.NEGATIVE_INFINITY),
    one: (int32) => (int32 ? GREATEST : Number.POSITIVE_INFINITY),
  },
  'min-max': {
    add: (x, y) => (y < x ? y : x),
    zero: (int32) => (int32 ? GREATEST : Number.POSITIVE_INFINITY),
    one: (int32) => (int32 ? LEAST : Number.NEGATIVE_INFINITY),
  },
  'max-times': {
    add: (x, y) => (y > x ? y : x),
    zero: () => 0,
    one: () => 1,
  },
  'or-and': {
    add: (x, y) => (x === 1 || y === 1 ? 1 : 0),
    zero: () => 0,
    one: () => 1,
  },
}

export const otherZero = (semiring: OtherSemiring, type: OtherType) => rules[semiring].zero(type === 'int32')
export const otherOne = (semiring: OtherSemiring, type: OtherType) => rules[semiring].one(type === 'int32')

/** What an element in memory stands for. */
function meaning(semiring: OtherSemiring, data: OtherMatrix['data']): (stored: number) => number {
  if (semiring === 'or-and') return (stored) => (stored === 0 ? 0 : 1)
  if (data instanceof Int16Array) {
    const zero = rules[semiring].zero(true)
    const narrow = zero < 0 ? -32768 : 32767
    return (stored) => (stored === narrow ? zero : stored)
  }
  // −0 counts as 0, which it equals.
  return (stored) => (stored === 0 ? 0 : stored)
}

/** The elements of any layout in row-major order. */
function otherDense(
  { data, shape, strides, offset = 0 }: OtherMatrix,
  of: (stored: number) => number = (stored) => stored,
): OtherProduct {
  const sizes = Array.from(shape)
  const [batch, rows, cols] = (sizes.length === 3 ? sizes : [1, ...sizes]) as [number, number, number]
  const given = strides && (strides.length === 3 ? Array.from(strides) : [0, ...Array.from(strides)])
  const [byItem, byRow, byCol] = (given ?? [rows * cols, cols, 1]) as [number, number, number]
  const values = new Float64Array(batch * rows * cols)
  let next = 0
  for (let item = 0; item < batch; item++) {
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < cols; j++) {
        const index = offset + item * byItem + i * byRow + j * byCol
        if (index >= data.length) throw new RangeError(`element ${index} of ${data.length}`)
        values[next++] = of(data[index]!)
      }
    }
  }
  return { batch, rows, cols, values }
}

/** row ⊕ x ⊗ each of `ys`. Most of the tests' time is spent here, so nothing is looked up in the loop. */
function addMultiples(
  row: Float64Array,
  x: number,
  ys: Float64Array,
  semiring: OtherSemiring,
  single: boolean,
): void {
  const isLeast = semiring === 'max-min' || semiring === 'or-and'
  const isGreatest = semiring === 'min-max'
  for (let j = 0; j < row.length; j++) {
    const y = ys[j]!
    // The lesser of 0 and 1 is "and", the greater is "or".
    const exact = isLeast ? (y < x ? y : x) : isGreatest ? (y > x ? y : x) : x * y
    // 0 · ∞ is no number. A product of two float32 is exact in float64, so it is rounded once.
    const candidate = single ? Math.fround(exact) : exact
    if (Number.isNaN(y) || Number.isNaN(candidate)) continue
    if (isGreatest ? candidate < row[j]! : candidate > row[j]!) row[j] = candidate
  }
}

/** C0 ⊕ A ⊗ B. */
export function otherOracle(
  aMatrix: OtherMatrix,
  bMatrix: OtherMatrix,
  semiring: OtherSemiring,
  c0Matrix?: OtherMatrix,
): OtherProduct {
  const { add, zero } = rules[semiring]
  const elements = (source: OtherMatrix) => otherDense(source, meaning(semiring, source.data))
  const [a, b] = [elements(aMatrix), elements(bMatrix)]
  const c0 = c0Matrix && elements(c0Matrix)
  if (a.cols !== b.rows) throw new RangeError('inner dimensions')
  const single = aMatrix.data instanceof Float32Array
  const integer = aMatrix.data instanceof Int32Array || aMatrix.data instanceof Int16Array
  const batch = a.batch === 1 ? b.batch : a.batch
  const values = new Float64Array(batch * a.rows * b.cols).fill(zero(integer))
  for (let item = 0; item < batch; item++) {
    for (let i = 0; i < a.rows; i++) {
      const first = (item * a.rows + i) * b.cols
      const row = values.subarray(first, first + b.cols)
      if (c0) {
        const start = c0.batch === 1 ? i * b.cols : first
        for (let j = 0; j < row.length; j++) {
          const y = c0.values[start + j]!
          if (!Number.isNaN(y)) row[j] = add(row[j]!, y)
        }
      }
      for (let k = 0; k < a.cols; k++) {
        const x = a.values[((a.batch === 1 ? 0 : item) * a.rows + i) * a.cols + k]!
        if (Number.isNaN(x)) continue
        const from = ((b.batch === 1 ? 0 : item) * b.rows + k) * b.cols
        addMultiples(row, x, b.values.subarray(from, from + row.length), semiring, single)
      }
    }
  }
  return { batch, rows: a.rows, cols: b.cols, values }
}

/** Where `c` isn't what it must be, bit for bit, in words; undefined where it is. */
export function otherMismatch(c: OtherMatrix, expected: OtherProduct): string | undefined {
  const came = otherDense(c)
  const { batch, rows, cols, values } = expected
  if (came.batch !== batch || came.rows !== rows || came.cols !== cols) return `shape ${Array.from(c.shape)}`
  for (let next = 0; next < values.length; next++) {
    const [value, should] = [came.values[next]!, values[next]!]
    if (Object.is(value, should)) continue
    const [item, i, j] = [Math.floor(next / (rows * cols)), Math.floor(next / cols) % rows, next % cols]
    const show = (x: number) => (Object.is(x, -0) ? '-0' : `${x}`)
    return `C[${item}, ${i}, ${j}] is ${show(value)} and should be ${show(should)}`
  }
  return undefined
}
