/** Matrices for the tests of devices: every semiring on every element type, and the expected products. */
import { expect } from 'vitest'
import type { DenseMatrix, MatrixLike, OperandArray } from '../../lib/index.js'
import { type Algebra, arrayOf, oneOf, zeroOf } from './algebras.js'
import { Random } from './generators.js'
import { algebraOf, elementsOf } from './products/case.js'
import { expectValues } from './products/law.js'

export type Made = DenseMatrix<OperandArray>

const rowMajor = (shape: number[]) =>
  shape.length === 2 ? [shape[1]!, 1] : [shape[1]! * shape[2]!, shape[2]!, 1]

/** A row-major matrix over an array. */
export const rowMajorMatrix = (data: OperandArray, shape: number[]): Made =>
  ({ data, shape, strides: rowMajor(shape), offset: 0 }) as Made

/** Values of the semiring, with its zero among them. */
export function random(algebra: Algebra, shape: number[], seed: number): Made {
  const source = new Random(seed)
  const length = shape.reduce((product, size) => product * size, 1)
  const least = algebra.semiring === 'max-times' || algebra.type === 'uint8' ? 0 : -60
  const data = new arrayOf[algebra.type](length)
  const zero = zeroOf(algebra)
  for (let index = 0; index < length; index++) {
    data[index] = source.chance(0.2) ? zero : source.integer(least, algebra.type === 'uint8' ? 1 : 90)
  }
  return rowMajorMatrix(data, shape)
}

/** int16, with the value of the zero of max-plus. */
export function randomInt16(shape: number[], seed: number): Made {
  const source = new Random(seed)
  const length = shape.reduce((product, size) => product * size, 1)
  return rowMajorMatrix(
    Int16Array.from({ length }, () => (source.chance(0.2) ? -32768 : source.integer(-300, 300))),
    shape,
  )
}

/** Elements of an Int16Array in max-plus. */
export const widened = ({ data, shape }: Made): Made =>
  rowMajorMatrix(
    Int32Array.from(data, (value) => (value === -32768 ? -(2 ** 31) : value)),
    [...shape],
  )

/** Identity matrix: one on the diagonal, zero elsewhere. */
export function identity(algebra: Algebra, size: number): Made {
  const data = new arrayOf[algebra.type](size * size).fill(zeroOf(algebra))
  for (let i = 0; i < size; i++) data[i * size + i] = oneOf(algebra)
  return rowMajorMatrix(data, [size, size])
}

/** Fails unless `c` is C0 ⊕ A⊗B by the definition. */
export function expectIs(
  c: MatrixLike<OperandArray>,
  { semiring, type }: Algebra,
  a: MatrixLike<OperandArray>,
  b: MatrixLike<OperandArray>,
  c0?: MatrixLike<OperandArray>,
  what = 'a product',
): void {
  const algebra = algebraOf(semiring, type)
  expectValues({ algebra, a: elementsOf(a), b: elementsOf(b), c0: c0 && elementsOf(c0), what }, c)
}

/** The elements in row-major order. */
export const elements = (source: MatrixLike<OperandArray>): number[] => Array.from(elementsOf(source).data)

/** Fails unless two matrices have the same shape and elements. */
export function expectMatrix(
  came: MatrixLike<OperandArray>,
  expected: MatrixLike<OperandArray>,
  what = '',
): void {
  expect(Array.from(came.shape), what).toEqual(Array.from(expected.shape))
  const [x, y] = [elements(came), elements(expected)]
  const wrong = x.findIndex((value, index) => !Object.is(value, y[index]))
  if (wrong >= 0) expect.fail(`${what}: element ${wrong} is ${x[wrong]} and should be ${y[wrong]}`)
}
