/** Every semiring on every element type, and its neutral elements, from the definitions: nothing here is the library's. */
import type { DataType, Semiring } from '../../lib/index.js'

export interface Algebra {
  semiring: Semiring
  type: DataType
}

export const algebras: Algebra[] = (
  [
    ['max-plus', ['int32', 'float32', 'float64']],
    ['min-plus', ['int32', 'float32', 'float64']],
    ['max-min', ['int32', 'float32', 'float64']],
    ['min-max', ['int32', 'float32', 'float64']],
    ['max-times', ['float32', 'float64']],
    ['or-and', ['uint8']],
    ['plus-times', ['float32', 'float64']],
  ] as [Semiring, DataType[]][]
).flatMap(([semiring, types]) => types.map((type) => ({ semiring, type })))

export const arrayOf = {
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
  uint8: Uint8Array,
} as const

/** Of ⊕. */
export function zeroOf({ semiring, type }: Algebra): number {
  if (semiring === 'or-and' || semiring === 'plus-times' || semiring === 'max-times') return 0
  const low = semiring === 'max-plus' || semiring === 'max-min'
  if (type === 'int32') return low ? -(2 ** 31) : 2 ** 31 - 1
  return low ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

/** Of ⊗. */
export function oneOf({ semiring, type }: Algebra): number {
  if (semiring === 'or-and' || semiring === 'plus-times' || semiring === 'max-times') return 1
  if (semiring === 'max-plus' || semiring === 'min-plus') return 0
  const high = semiring === 'max-min'
  if (type === 'int32') return high ? 2 ** 31 - 1 : -(2 ** 31)
  return high ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
}
