/** Types of matrices that the library accepts and returns, and their construction. */
import { isUint32Array } from './array-types.js'
import { type Name, show, showList, typeName } from './describe.js'
import {
  bytesOf,
  conversionOf,
  INT32,
  isElementArray,
  isNarrowArray,
  newArray,
  operandArrayNames,
} from './elements.js'
import { DTypeError, OutOfMemoryError, ShapeError } from './errors.js'
import { availableMemory } from './free-memory.js'
import type { ElementArray, MatrixArray, OperandArray, OrdinaryArray } from './storage.js'
import { assertOrdinaryBuffer, lengthOf } from './storage.js'

/** [rows, cols] of a matrix, or [batch, rows, cols] of a batch of them. */
export type Shape = [rows: number, cols: number] | [batch: number, rows: number, cols: number]

/**
 * A matrix, or a batch of matrices, of int32, float32, float64 or uint8: the type of the array is the element
 * type. Element (i, j) is `data[offset + i·strides[0] + j·strides[1]]`, element (b, i, j) of a batch is
 * `data[offset + b·strides[0] + i·strides[1] + j·strides[2]]`. Strides express transposes, leading dimensions
 * and sub-matrices without a copy.
 */
export interface Matrix<Data extends MatrixArray = Int32Array> {
  /** Array with the elements; it may be longer than shape and strides require. */
  data: Data
  /** [rows, cols], or [batch, rows, cols] of a batch. */
  shape: Shape
  /** Number of elements between neighbours along each dimension, never negative; row-major if omitted. */
  strides?: Shape
  /** Index in `data` of the first element; 0 if omitted. */
  offset?: number
}

/** A {@link Matrix} with all its properties, as the library returns it. */
export type DenseMatrix<Data extends MatrixArray = Int32Array> = Required<Matrix<OrdinaryArray<Data>>>

/**
 * Argument that is accepted as a matrix: a {@link Matrix}, a scijs `ndarray` (whose strides are named
 * `stride`) or a stdlib ndarray of such elements. Each property is read once.
 *
 * @see https://github.com/scijs/ndarray
 * @see https://stdlib.io/docs/api/latest/@stdlib/ndarray/ctor
 */
export interface MatrixLike<Data extends MatrixArray = Int32Array> {
  /** The elements; it may be longer than shape and strides need. */
  readonly data: Data
  /** [rows, cols], or [batch, rows, cols] of a batch. */
  readonly shape: ArrayLike<number>
  /** Number of elements between neighbours along each dimension, never negative; row-major if omitted. */
  readonly strides?: ArrayLike<number> | undefined
  /** Name of the strides in scijs. */
  readonly stride?: ArrayLike<number> | undefined
  /** Index in `data` of the first element; 0 if omitted. */
  readonly offset?: number | undefined
}

/** Type of an array of numbers that are integers, as far as types can express it. */
export type WholeNumbers<Numbers extends readonly number[]> = {
  readonly [At in keyof Numbers]: number extends Numbers[At]
    ? number
    : `${Numbers[At]}` extends `${bigint}`
      ? number
      : never
}

/** The largest number of rows, columns or matrices. */
export const MAX_DIMENSION = 2 ** 31 - 1

/**
 * Size in bytes below which an allocation isn't compared with the available memory, because reading the
 * available memory takes time.
 */
const SMALL_ALLOCATION = 16 * 2 ** 20

/**
 * Returns an array of `length` elements of a type (by its number), which `make` creates. Throws
 * OutOfMemoryError with `name` and the advice. `besides` is the size in bytes of arrays that are allocated
 * but not written yet: the system doesn't count them as used.
 */
export function allocate<Data extends OperandArray = OrdinaryArray<ElementArray>>(
  length: number,
  name: Name,
  type: number,
  make: (type: number, length: number) => Data = newArray as (type: number, length: number) => never,
  advice = 'compute it in parts, by rows of A or columns of B',
  besides = 0,
): Data {
  const bytes = length * bytesOf(type)
  // The system allocates pages at the first write, and kills the process if none are free. Small arrays
  // aren't checked, although they use some memory too.
  const available =
    bytes + besides > SMALL_ALLOCATION ? Math.max(0, availableMemory() - besides - SMALL_ALLOCATION) : bytes
  if (bytes <= available) {
    try {
      return make(type, length)
    } catch {}
  }
  const limit = bytes > available ? `, but ${available} are available` : ", which can't be allocated"
  throw new OutOfMemoryError(
    `out of memory: cannot allocate ${name}: ${length} elements need ${bytes} bytes${limit}: ${advice}`,
  )
}

/** Row-major strides. */
export function rowMajor(shape: Shape): Shape {
  return shape.length === 2 ? [shape[1], 1] : [shape[1] * shape[2], shape[2], 1]
}

/**
 * Checks one dimension of a shape, which messages call `name` and `property`. Returns it, with −0 converted
 * to 0.
 */
export function dimension(value: unknown, name: Name, shape: ArrayLike<unknown>, property = ''): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_DIMENSION) {
    throw new ShapeError(
      `${name}${property} must hold integers from 0 to 2^31 - 1, but it is ${showList(shape)}: ${show(value)} is not a size`,
    )
  }
  return value + 0
}

/**
 * Creates a row-major matrix of `rows` × `cols`.
 *
 * @param data - The elements in row-major order, exactly rows·cols of them: an Int32Array, Float32Array,
 * Float64Array or Uint8Array, which isn't copied and whose type is the element type, an Int16Array for an
 * operand of int32 elements (see {@link OperandArray}), a Uint32Array for a lane of a custom semiring, or an
 * array of int32 integers, which is copied into an Int32Array. Without data, all elements are the int32 0,
 * which is the *one* of max-plus and min-plus; {@link zeroOf} returns a semiring's zero.
 * @throws ArgumentError (ERR_MPMML_SHAPE) if a size isn't an integer from 0 to 2^31 − 1, or the number of elements
 *   isn't rows·cols; ArgumentError (ERR_MPMML_DTYPE) if data is of another type, is in shared, resizable or detached
 *   memory, or has an entry that isn't an int32 integer; ResourceError (ERR_MPMML_OUT_OF_MEMORY).
 * @example
 * const { shape, strides, data } = matrix(2, 3, Int32Array.of(1, 6, 2, 8, 3, 4))
 * console.log(shape.join(), strides.join(), data.join()) // 2,3 3,1 1,6,2,8,3,4
 */
export function matrix<const Numbers extends readonly number[] = readonly number[]>(
  rows: number,
  cols: number,
  data?: Int32Array | (Numbers & WholeNumbers<Numbers>),
): DenseMatrix
export function matrix<Data extends MatrixArray>(rows: number, cols: number, data: Data): DenseMatrix<Data>
/**
 * Creates a matrix of shape [rows, cols], or a batch of matrices of shape [batch, rows, cols].
 *
 * @throws The errors of the other overload.
 * @example
 * const batch = matrix([10, 64, 64])
 * console.log(batch.data.length) // 40960
 */
export function matrix<const Numbers extends readonly number[] = readonly number[]>(
  shape: Readonly<Shape>,
  data?: Int32Array | (Numbers & WholeNumbers<Numbers>),
): DenseMatrix
export function matrix<Data extends MatrixArray>(shape: Readonly<Shape>, data: Data): DenseMatrix<Data>
export function matrix(first: unknown, second?: unknown, third?: unknown): DenseMatrix<MatrixArray> {
  const listed = typeof first === 'object' && first !== null
  const shape = readShape(listed ? (first as ArrayLike<unknown>) : [first, second])
  const length = shape.reduce((product, size) => product * size, 1)
  return rowMajorMatrix(elements(listed ? second : third, length, shape), shape)
}

/** A row-major matrix whose elements fill an array. */
export const rowMajorMatrix = <Data extends MatrixArray>(data: Data, shape: Shape): DenseMatrix<Data> => ({
  data: data as OrdinaryArray<Data>,
  shape,
  strides: rowMajor(shape),
  offset: 0,
})

/** Checks the dimensions of a new matrix. */
export function readShape(given: ArrayLike<unknown>): Shape {
  const { length } = given
  if (length !== 2 && length !== 3) {
    const came = typeof length === 'number' ? showList(given) : typeName(given)
    throw new ShapeError(`shape must be [rows, cols] or [batch, rows, cols], but it is ${came}`)
  }
  // Each entry is read once.
  const sizes = Array.from(given)
  const shape = sizes.map((size) => dimension(size, 'shape', sizes)) as Shape
  if (!Number.isSafeInteger(shape.reduce((product, size) => product * size, 1))) {
    throw new ShapeError(`shape ${showList(shape)} has more elements than can be counted exactly (2^53 - 1)`)
  }
  return shape
}

function elements(data: unknown, length: number, shape: Shape): MatrixArray {
  if (data === undefined) return allocate(length, 'a matrix', INT32)
  if (isElementArray(data) || isNarrowArray(data) || isUint32Array(data)) {
    assertOrdinaryBuffer(data, 'data')
    assertLength(lengthOf(data), length, shape)
    return data
  }
  if (!Array.isArray(data)) {
    throw new DTypeError(
      `data must be an ${operandArrayNames}, or an array of int32 integers, but it is ${typeName(data)}: ${conversionOf(data)}`,
    )
  }
  assertLength(data.length, length, shape)
  const copy = allocate(length, 'a matrix', INT32)
  for (let i = 0; i < length; i++) {
    const value: unknown = data[i]
    if (typeof value !== 'number' || (value | 0) !== value) {
      throw new DTypeError(
        `data[${i}] must be an integer from -2^31 to 2^31 - 1, but it is ${show(value)}; ` +
          "a semiring's infinity is written as zeroOf(semiring), other numbers in a Float32Array or Float64Array",
      )
    }
    copy[i] = value
  }
  return copy
}

function assertLength(came: number, expected: number, shape: Shape): void {
  if (came === expected) return
  throw new ShapeError(
    `data must have exactly the ${expected} elements of shape ${showList(shape)}, but it has ${came}: ` +
      'for a part of a longer array pass { data, shape, strides, offset } instead',
  )
}
