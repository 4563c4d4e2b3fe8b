/**
 * What a product with a structure must be, from its definition: one result at a time, one step at a time, in float64.
 * Nothing here is shared with what it checks.
 */
import type {
  MatrixLike,
  MatrixStructure,
  OperandArray,
  Overflow,
  ProductStructure,
} from '../../lib/index.js'
import { type Algebra, zeroOf } from './algebras.js'
import { elements } from './resident.js'

/** Whether element (i, j) belongs to a matrix of this structure. */
export function belongs(structure: MatrixStructure | undefined, i: number, j: number): boolean {
  switch (structure) {
    case undefined:
    case 'general':
      return true
    case 'upper':
      return j >= i
    case 'lower':
      return j <= i
    case 'strictly-upper':
      return j > i
    case 'strictly-lower':
      return j < i
    default:
      return j - i >= -structure.band[0] && j - i <= structure.band[1]
  }
}

export interface Structured {
  shape: number[]
  values: number[]
  witness: number[]
  /** Whether a finite sum outside the finite range decides a result. */
  overflows: boolean
  /** How many steps count. */
  steps: number
}

export interface Given {
  structure: ProductStructure
  overflow?: Overflow
  c0?: MatrixLike<OperandArray> | undefined
  /** What C holds before; the semiring's zero if there is none. */
  before?: MatrixLike<OperandArray> | undefined
}

/** C0 ⊕ A ⊗ B where C has results, and what it held elsewhere. */
export function structuredOracle(
  algebra: Algebra,
  a: MatrixLike<OperandArray>,
  b: MatrixLike<OperandArray>,
  { structure, overflow = 'throw', c0, before }: Given,
): Structured {
  const { semiring, type } = algebra
  const zero = zeroOf(algebra)
  const isInteger = type === 'int32' && (semiring === 'max-plus' || semiring === 'min-plus')
  const isSum = semiring === 'plus-times'
  const greatest = semiring.startsWith('max') || semiring === 'or-and'
  const [least, most] = greatest ? [-(2 ** 31) + 1, 2 ** 31 - 1] : [-(2 ** 31), 2 ** 31 - 2]
  const round = type === 'float32' ? Math.fround : (x: number) => x
  const read = (matrix: MatrixLike<OperandArray>) => {
    const narrow = matrix.data instanceof Int16Array ? (greatest ? -32768 : 32767) : Number.NaN
    return elements(matrix).map((x) => (x === narrow ? zero : semiring === 'or-and' && x !== 0 ? 1 : x))
  }
  const sizes = ({ shape }: MatrixLike<OperandArray>) =>
    (shape.length === 3 ? Array.from(shape) : [1, ...Array.from(shape)]) as [number, number, number]
  const [batchA, m, k] = sizes(a)
  const [batchB, , n] = sizes(b)
  const batch = batchA === 1 ? batchB : batchA
  const [left, right] = [read(a), read(b)]
  const start = c0 && read(c0)
  const held = before && elements(before)
  const better = (x: number, y: number) => (greatest ? x > y : x < y)
  /** a ⊗ b as it is stored; undefined if it is no candidate. */
  const candidate = (x: number, y: number): number | undefined => {
    if (semiring === 'max-min') return Math.min(x, y)
    if (semiring === 'min-max') return Math.max(x, y)
    if (semiring !== 'max-plus' && semiring !== 'min-plus') return round(x * y)
    if (x === zero || y === zero) return undefined
    if (!isInteger) return round(x + y)
    if (overflow === 'saturate') return Math.min(Math.max(x + y, least), most)
    return overflow === 'wrap' ? (x + y) | 0 : x + y
  }
  const result: Structured = {
    shape: a.shape.length === 3 || b.shape.length === 3 ? [batch, m, n] : [m, n],
    values: [],
    witness: [],
    overflows: false,
    steps: 0,
  }
  for (let item = 0; item < batch; item++) {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        const place = (item * m + i) * n + j
        if (!belongs(structure.c, i, j)) {
          result.values.push(held ? held[place]! : zero)
          result.witness.push(-1)
          continue
        }
        const from = start ? start[start.length === m * n ? i * n + j : place]! : zero
        let best = from
        let witness = -1
        for (let step = 0; step < k; step++) {
          if (!belongs(structure.a, i, step) || !belongs(structure.b, step, j)) continue
          result.steps++
          const x = left[((batchA === 1 ? 0 : item) * m + i) * k + step]!
          const y = right[((batchB === 1 ? 0 : item) * k + step) * n + j]!
          const value = candidate(x, y)
          if (isSum) best += value!
          else if (value === undefined || Number.isNaN(value) || value === zero) continue
          else if (best === zero || better(value, best)) [best, witness] = [value, step]
          else if (value === best && witness < 0) witness = step
        }
        if (isInteger && best !== zero && (best < least || best > most)) result.overflows = true
        result.values.push(isSum ? round(best) : best)
        result.witness.push(witness)
      }
    }
  }
  return result
}
