/**
 * What a floating-point product must be, from the definition of the algebra alone: sums in float64, rounded to float32
 * with Math.fround (which rounds once: float64 holds more than twice float32's digits), a NaN never a candidate. Ordinary
 * products are summed in float64 and come with a bound on what any order of float32 or float64 sums may differ by.
 */
export type FloatSemiring = 'max-plus' | 'min-plus' | 'plus-times'
export type FloatType = 'float32' | 'float64'
export type FloatArray = Float32Array | Float64Array

export const floatArrays = { float32: Float32Array, float64: Float64Array } as const

/** Elements in memory, as the library takes them. */
export interface FloatMatrix {
  data: FloatArray
  shape: ArrayLike<number>
  strides?: ArrayLike<number>
  offset?: number
}

export interface FloatProduct {
  batch: number
  rows: number
  cols: number
  values: Float64Array
  /** How far each element may be away. */
  bounds: Float64Array
}

export const floatZeros: Record<FloatSemiring, number> = {
  'max-plus': Number.NEGATIVE_INFINITY,
  'min-plus': Number.POSITIVE_INFINITY,
  'plus-times': 0,
}

interface Dense {
  batch: number
  rows: number
  cols: number
  values: Float64Array
}

/** The elements of any layout in row-major order. */
function dense({ data, shape, strides, offset = 0 }: FloatMatrix): Dense {
  const [batch, rows, cols] = (shape.length === 3 ? Array.from(shape) : [1, ...Array.from(shape)]) as [
    number,
    number,
    number,
  ]
  const given = strides && (strides.length === 3 ? Array.from(strides) : [0, ...Array.from(strides)])
  const [byItem, byRow, byCol] = (given ?? [rows * cols, cols, 1]) as [number, number, number]
  const values = new Float64Array(batch * rows * cols)
  let next = 0
  for (let item = 0; item < batch; item++) {
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < cols; j++) values[next++] = data[offset + item * byItem + i * byRow + j * byCol]!
    }
  }
  return { batch, rows, cols, values }
}

/** C0 ⊕ A ⊗ B. */
export function floatOracle(
  aMatrix: FloatMatrix,
  bMatrix: FloatMatrix,
  semiring: FloatSemiring,
  c0Matrix?: FloatMatrix,
): FloatProduct {
  const [a, b, c0] = [dense(aMatrix), dense(bMatrix), c0Matrix && dense(c0Matrix)]
  const single = aMatrix.data instanceof Float32Array
  const batch = a.batch === 1 ? b.batch : a.batch
  const values = new Float64Array(batch * a.rows * b.cols).fill(floatZeros[semiring])
  const bounds = new Float64Array(values.length)
  const magnitudes = new Float64Array(b.cols)
  const unit = (a.cols + 2) * (single ? 2 ** -24 : 2 ** -52)
  const least = (a.cols + 2) * (single ? 2 ** -149 : 2 ** -1074)
  for (let item = 0; item < batch; item++) {
    for (let i = 0; i < a.rows; i++) {
      const first = (item * a.rows + i) * b.cols
      const row = values.subarray(first, first + b.cols)
      if (c0) {
        const start = c0.batch === 1 ? i * b.cols : first
        for (let j = 0; j < row.length; j++) row[j] = add(semiring, row[j]!, c0.values[start + j]!)
      }
      magnitudes.set(row.map(Math.abs))
      for (let k = 0; k < a.cols; k++) {
        const x = a.values[((a.batch === 1 ? 0 : item) * a.rows + i) * a.cols + k]!
        const from = ((b.batch === 1 ? 0 : item) * b.rows + k) * b.cols
        for (let j = 0; j < row.length; j++) {
          const y = b.values[from + j]!
          if (semiring === 'plus-times') {
            row[j]! += x * y
            magnitudes[j]! += Math.abs(x * y)
          } else row[j] = add(semiring, row[j]!, single ? Math.fround(x + y) : x + y)
        }
      }
      if (semiring !== 'plus-times') continue
      for (let j = 0; j < row.length; j++) bounds[first + j] = (unit / (1 - unit)) * magnitudes[j]! + least
    }
  }
  return { batch, rows: a.rows, cols: b.cols, values, bounds }
}

/** x ⊕ y; a NaN is no candidate of a maximum or a minimum. */
function add(semiring: FloatSemiring, x: number, y: number): number {
  if (semiring === 'plus-times') return x + y
  if (Number.isNaN(y)) return x
  return semiring === 'max-plus' ? Math.max(x, y) : Math.min(x, y)
}

/** Where `c` isn't what it must be, in words; undefined where it is. */
export function floatMismatch(c: FloatMatrix, expected: FloatProduct): string | undefined {
  const came = dense(c)
  const { batch, rows, cols, values, bounds } = expected
  if (came.batch !== batch || came.rows !== rows || came.cols !== cols) return `shape ${Array.from(c.shape)}`
  for (let next = 0; next < values.length; next++) {
    const value = came.values[next]!
    const should = values[next]!
    if (value === should || (Number.isNaN(value) && Number.isNaN(should))) continue
    if (Math.abs(value - should) <= bounds[next]!) continue
    const [item, i, j] = [Math.floor(next / (rows * cols)), Math.floor(next / cols) % rows, next % cols]
    return `C[${item}, ${i}, ${j}] is ${value} and should be ${should} ± ${bounds[next]}`
  }
  return undefined
}
