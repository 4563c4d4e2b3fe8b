/** Comparison of a product in a semiring without sums with the oracle. */
import { expect } from 'vitest'
import {
  type ElementArray,
  type MatrixLike,
  type MpmmOptions,
  type MpmmResult,
  mpmmSync,
  type OperandArray,
} from '../../lib/index.js'
import type { Algebra } from './other-operands.js'
import { type OtherMatrix, otherArrays, otherMismatch, otherOracle } from './semirings-oracle.js'

export type Backend = 'cpu' | 'cuda'
export type Options = Omit<MpmmOptions, 'semiring' | 'out' | 'accumulate'> & {
  accumulate?: OtherMatrix | undefined
}
export type Operand = MatrixLike<OperandArray>

/** Computes the product and compares it, bit for bit, with the oracle. */
export function expectProduct(
  a: OtherMatrix,
  b: OtherMatrix,
  { semiring, type }: Algebra,
  options: Options,
  what = '',
  expected = otherOracle(a, b, semiring, options.accumulate),
): MpmmResult<MatrixLike<ElementArray> & OtherMatrix> {
  const result = mpmmSync(a as Operand, b as Operand, { ...options, semiring } as MpmmOptions)
  const c = result.c as unknown as OtherMatrix
  expect(otherMismatch(c, expected), `${what} ${result.variant}`).toBeUndefined()
  expect(c.data.constructor, what).toBe(otherArrays[type])
  expect(result.path).toBe('direct')
  return result as never
}

/** Depths about the words that bits are packed into, and about blocks of them. */
export const depths = [31, 32, 33, 63, 64, 65, 95, 127, 128, 129, 255, 257, 511, 513, 1023, 2047, 2048, 2049]
