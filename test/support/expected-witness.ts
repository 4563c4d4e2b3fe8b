/**
 * What a product and its witness must be, from the definitions alone, for every semiring whose ⊕ is idempotent: each
 * candidate by itself, in float64, as the overflow policy stores it. Nothing here is shared with what it checks.
 */
import type { MatrixLike, OperandArray, Overflow } from '../../lib/index.js'
import { type Algebra, zeroOf } from './algebras.js'
import { elements } from './resident.js'

const LEAST = -(2 ** 31)
const MOST = 2 ** 31 - 1

/** a ⊗ b. */
function times(semiring: Algebra['semiring'], a: number, b: number): number {
  switch (semiring) {
    case 'max-plus':
    case 'min-plus':
      return a + b
    case 'max-min':
      return Math.min(a, b)
    case 'min-max':
      return Math.max(a, b)
    default:
      return a * b
  }
}

/** Row-major results of all products of a batch. */
export interface Witnessed {
  shape: number[]
  values: number[]
  witness: number[]
  /** Of the first result, in row-major order, that a sum outside the finite range decides; undefined if there is none. */
  overflow?: number
}

/** C0 ⊕ A ⊗ B, and for each element the smallest k whose candidate it is. */
export function witnessOracle(
  algebra: Algebra,
  a: MatrixLike<OperandArray>,
  b: MatrixLike<OperandArray>,
  overflow: Overflow = 'throw',
  c0?: MatrixLike<OperandArray>,
): Witnessed {
  const { semiring, type } = algebra
  const zero = zeroOf(algebra)
  const isGreatest = semiring.startsWith('max') || semiring === 'or-and'
  const isSum = type === 'int32' && (semiring === 'max-plus' || semiring === 'min-plus')
  const infinity = isGreatest ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  /** What there is without candidates. */
  const none = isSum ? infinity : zero
  const [least, most] = isGreatest ? [LEAST + 1, MOST] : [LEAST, MOST - 1]
  /** The elements in row-major order; in sums of int32 zero is an infinity. */
  const read = (matrix: MatrixLike<OperandArray>) => {
    const narrowZero = matrix.data instanceof Int16Array ? (isGreatest ? -32768 : 32767) : undefined
    return Float64Array.from(elements(matrix), (value) => {
      if (semiring === 'or-and') return value === 0 ? 0 : 1
      const element = value === narrowZero ? zero : value
      return isSum && element === zero ? infinity : element
    })
  }
  /** A candidate as a result that it decides; NaN if there is none. */
  const stored = (candidate: number): number => {
    if (!isSum) return type === 'float32' ? Math.fround(candidate) : candidate
    if (candidate === infinity) return Number.NaN
    if (overflow === 'saturate') return Math.min(Math.max(candidate, least), most)
    if (overflow === 'throw') return candidate
    const wrapped = candidate | 0
    return wrapped === zero ? Number.NaN : wrapped
  }
  const sizes = (matrix: MatrixLike<OperandArray>) => {
    const shape = Array.from(matrix.shape)
    return (shape.length === 3 ? shape : [1, ...shape]) as [number, number, number]
  }
  const [batchA, m, k] = sizes(a)
  const [batchB, , n] = sizes(b)
  const batch = batchA === 1 ? batchB : batchA
  const [left, right] = [read(a), read(b)]
  const start = c0 && read(c0)
  const startItems = c0 ? sizes(c0)[0] : 0
  const batched = a.shape.length === 3 || b.shape.length === 3
  const result: Witnessed = { shape: batched ? [batch, m, n] : [m, n], values: [], witness: [] }
  const candidates = new Float64Array(k)
  for (let item = 0; item < batch; item++) {
    const fromA = batchA === 1 ? 0 : item * m * k
    const fromB = batchB === 1 ? 0 : item * k * n
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        const c0Value = start ? start[(startItems === 1 ? 0 : item * m * n) + i * n + j]! : Number.NaN
        let best = Number.isNaN(c0Value) ? none : c0Value
        for (let step = 0; step < k; step++) {
          const x = left[fromA + i * k + step]!
          const y = right[fromB + step * n + j]!
          const candidate = stored(times(semiring, x, y))
          candidates[step] = candidate
          if (isGreatest ? candidate > best : candidate < best) best = candidate
        }
        if (isSum && best !== none && (best < least || best > most)) result.overflow ??= result.values.length
        result.values.push(best === none ? zero : best)
        // indexOf takes −0 for 0.
        result.witness.push(best === none ? -1 : candidates.indexOf(best))
      }
    }
  }
  return result
}
