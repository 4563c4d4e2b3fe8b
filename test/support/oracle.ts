/**
 * Expected products of int32 by the definition of the fuzzer, for tests without a case. The fuzzer shares no
 * code with the library.
 */
import { type AnyMatrix, algebraOf, cellsOf, elementsOf, problemOf } from './products/case.js'

/** The semirings over int32. */
export type SemiringName = 'max-plus' | 'min-plus'
export type Policy = 'throw' | 'saturate' | 'wrap'

/** Elements in memory, in the form of an argument. */
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

/** Product, or the position and the sum of the first result in row-major order that overflows. */
export type Expected =
  | (Dense & { overflow?: undefined })
  | { overflow: { batch: number; row: number; col: number; sum: number } }

export const zeroValue = (semiring: SemiringName): number => algebraOf(semiring).zero
export const finiteRange = (semiring: SemiringName): [least: number, most: number] => {
  const { least, most } = algebraOf(semiring)
  return [least, most]
}

/** Elements of a matrix in any layout, in row-major order. */
export function dense(matrix: Strided): Dense {
  const { batch, rows, cols, data } = elementsOf(matrix as AnyMatrix)
  return { batch, rows, cols, data: data as Int32Array }
}

/** C0 ⊕ A ⊗ B. */
export function oracle(
  a: Strided,
  b: Strided,
  options: { semiring?: SemiringName; overflow?: Policy; c0?: Strided | undefined } = {},
): Expected {
  const { semiring = 'max-plus', overflow = 'throw', c0 } = options
  const of = (matrix: Strided) => elementsOf(matrix as AnyMatrix)
  if (of(a).cols !== of(b).rows) throw new RangeError('inner dimensions')
  const one = {
    algebra: algebraOf(semiring),
    a: of(a),
    b: of(b),
    c0: c0 && of(c0),
    overflow,
    what: 'a product',
  }
  const { batch, m: rows, n: cols } = problemOf(one)
  const data = new Int32Array(batch * rows * cols)
  for (let item = 0; item < batch; item++) {
    const { values, leaves } = cellsOf(one, item)
    const first = leaves.indexOf(1)
    if (first >= 0) {
      const position = { batch: item, row: Math.floor(first / cols), col: first % cols }
      return { overflow: { ...position, sum: values[first]! } }
    }
    data.set(values, item * rows * cols)
  }
  return { batch, rows, cols, data }
}
