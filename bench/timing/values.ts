/** Kinds of values for timed products. The values determine the arithmetic of a product. */
import {
  type DataType,
  type DenseMatrix,
  type ElementArray,
  matrix,
  type OperandArray,
  type Semiring,
  type Shape,
  zeroOf,
} from '../../lib/index.js'
import type { ProductShape } from '../arguments.js'
import { arrays } from '../dtype.js'
import { Draw } from '../random.js'

export interface Values {
  /** Element type of the values. */
  dtype: DataType
  /** Finite values are drawn evenly from [minimum, maximum]. */
  minimum: number
  maximum: number
  /** Fraction of elements that are ε. */
  zeroFraction: number
  /** Whether the operands are Int16Arrays. */
  int16?: boolean
  /** Whether neighbours along K in B differ by exactly 1. */
  bounded?: boolean
  /** Whether columns are stored one after the other, instead of rows. */
  byColumns?: boolean
  /** Whether the kind is measured by default only if ⊗ is a sum. */
  sumsAlone?: boolean
  /** Whether the kind is measured by default only on the CPU. */
  cpuAlone?: boolean
  /** Whether the kind is measured by default only on GPUs. */
  gpuAlone?: boolean
  summary: string
}

const wide = { minimum: -300_000_000, maximum: 300_000_000 }
// Range for 16-bit sums. It also suits operands with ε, which occupies half of the 16-bit range.
const narrow = { minimum: -8000, maximum: 8000 }

export const valueKinds = {
  int32: { dtype: 'int32', ...wide, zeroFraction: 0, summary: 'any int32 (±3·10⁸)' },
  'int32-eps': { dtype: 'int32', ...wide, zeroFraction: 0.1, sumsAlone: true, summary: 'any int32, 10 % ε' },
  '16bit': {
    dtype: 'int32',
    ...narrow,
    zeroFraction: 0,
    sumsAlone: true,
    summary: '16-bit spread (±8000)',
  },
  '16bit-eps': {
    dtype: 'int32',
    ...narrow,
    zeroFraction: 0.1,
    sumsAlone: true,
    summary: '16-bit spread, 10 % ε',
  },
  levels: {
    dtype: 'int32',
    minimum: 0,
    maximum: 15,
    zeroFraction: 0,
    sumsAlone: true,
    gpuAlone: true,
    summary: '16 levels',
  },
  bounded: {
    dtype: 'int32',
    minimum: -100_000_000,
    maximum: 100_000_000,
    zeroFraction: 0,
    bounded: true,
    sumsAlone: true,
    gpuAlone: true,
    summary: "B's neighbours along K differ by ±1; any A (±10⁸)",
  },
  int16: {
    dtype: 'int32',
    ...narrow,
    zeroFraction: 0,
    int16: true,
    summary: '16-bit spread, in Int16Arrays',
  },
  float32: { dtype: 'float32', ...narrow, zeroFraction: 0, summary: 'float32 (±8000)' },
  'float32-eps': {
    dtype: 'float32',
    ...narrow,
    zeroFraction: 0.1,
    sumsAlone: true,
    summary: 'float32, 10 % ε',
  },
  'float32-levels': {
    dtype: 'float32',
    minimum: 0,
    maximum: 15,
    zeroFraction: 0,
    sumsAlone: true,
    gpuAlone: true,
    summary: 'float32, 16 levels',
  },
  float64: { dtype: 'float64', ...narrow, zeroFraction: 0, summary: 'float64 (±8000)' },
  'float64-eps': {
    dtype: 'float64',
    ...narrow,
    zeroFraction: 0.1,
    sumsAlone: true,
    summary: 'float64, 10 % ε',
  },
  uint8: {
    dtype: 'uint8',
    minimum: 1,
    maximum: 1,
    zeroFraction: 0.5,
    summary: '0 and 1: as many 1 as make half of the results 1',
  },
  // No sum exceeds 2^31, but many sums are below −2^31, which int32 can't represent.
  full: {
    dtype: 'int32',
    minimum: -(2 ** 31) + 1,
    maximum: 2 ** 30 - 1,
    zeroFraction: 0.1,
    sumsAlone: true,
    cpuAlone: true,
    summary: 'nearly the whole range of int32, 10 % ε: exact 64-bit sums',
  },
  transposed: {
    dtype: 'int32',
    ...wide,
    zeroFraction: 0,
    byColumns: true,
    cpuAlone: true,
    summary: 'any int32, transposed views',
  },
} as const satisfies Record<string, Values>

export type ValueKind = keyof typeof valueKinds

/** Returns the values of operands of a kind for products over a semiring with inner dimension `k`. */
export function valuesOf(kind: ValueKind, semiring: Semiring, k: number): Values {
  const values: Values = valueKinds[kind]
  // With a share p of 1s in both operands, a result is 1 with the probability 1 − (1 − p²)^k: a half for p² = ln 2 / k.
  if (values.dtype === 'uint8') return { ...values, zeroFraction: 1 - Math.sqrt(Math.LN2 / Math.max(k, 1)) }
  // The semiring max-times has no negative elements.
  return semiring === 'max-times' ? { ...values, minimum: 0 } : values
}

/** Returns zeros of an element type. Throws ResourceError if there is no memory for them. */
export function newArray(dtype: DataType, length: number): ElementArray {
  const Type = arrays[dtype]
  const words = Math.ceil((length * Type.BYTES_PER_ELEMENT) / 4)
  // Sizes of a matrix must be less than 2^31.
  const shape: Shape = words < 2 ** 31 ? [1, words] : [Math.ceil(words / 2 ** 16), 2 ** 16]
  return new Type(matrix(shape).data.buffer, 0, length)
}

/**
 * Number of elements that are drawn before they repeat; a prime, so that repeats in longer matrices fall into
 * different columns.
 */
const MAX_DRAWN = 2 ** 22 - 3

/** Returns a matrix of random values, or a batch of matrices; equal for equal seeds. */
export function randomMatrix(
  shape: Readonly<Shape>,
  { dtype, minimum, maximum, zeroFraction }: Values,
  seed: number,
  { semiring = 'max-plus' }: { semiring?: Semiring | undefined } = {},
): DenseMatrix<ElementArray> {
  const length = shape.reduce<number>((product, size) => product * size, 1)
  const data = newArray(dtype, length)
  const zero = zeroOf(semiring, dtype)
  const spread = maximum - minimum + 1
  const zeroBelow = zeroFraction * 2 ** 32
  const draw = new Draw(seed)
  const drawn = Math.min(length, MAX_DRAWN)
  for (let index = 0; index < drawn; index++) {
    data[index] = zeroBelow > 0 && draw.word() < zeroBelow ? zero : minimum + (draw.word() % spread)
  }
  for (let filled = drawn; filled < length; filled *= 2) data.copyWithin(filled, 0, filled)
  return matrix(shape, data)
}

/** Magnitude that exceeds 16-bit arithmetic, while sums of twenty such values fit in int32. */
export const ANY_INT32 = 100_000_000

/** Returns random integers from −`limit` to `limit`, and the zero of max-plus. */
export function integers(
  shape: Readonly<Shape>,
  seed: number,
  { limit = ANY_INT32, zeroFraction = 0 } = {},
): DenseMatrix {
  const values = { dtype: 'int32', minimum: -limit, maximum: limit, zeroFraction, summary: '' } as const
  return randomMatrix(shape, values, seed) as DenseMatrix
}

/**
 * Changes all rows except the first so that neighbouring elements of each column differ by 1. Returns the
 * matrix.
 */
function withBoundedDifferences<Data extends ElementArray>(random: DenseMatrix<Data>): DenseMatrix<Data> {
  const { data, shape } = random
  const [rows, cols] = shape.slice(-2) as [number, number]
  for (let first = 0; first < data.length; first += rows * cols) {
    for (let index = first + cols; index < first + rows * cols; index++) {
      // Random elements are equally often even and odd.
      data[index] = data[index - cols]! + (data[index]! % 2 === 0 ? 1 : -1)
    }
  }
  return random
}

/** Returns a transposed view. */
function transposed<Data extends OperandArray>({
  data,
  shape,
  offset,
}: DenseMatrix<Data>): DenseMatrix<Data> {
  const [rows, cols] = shape.slice(-2) as [number, number]
  return shape.length === 3
    ? { data, shape: [shape[0], cols, rows], strides: [rows * cols, 1, cols], offset }
    : { data, shape: [cols, rows], strides: [1, cols], offset }
}

interface OperandOptions extends NonNullable<Parameters<typeof randomMatrix>[3]> {
  /** Whether the operands have the element type even if the kind uses Int16Arrays. */
  inElements?: boolean
}

/** Returns the operands of a product, which are equal in every run. */
export function operandsOf(
  product: ProductShape,
  kind: ValueKind,
  options: OperandOptions & { inElements: true },
): { a: DenseMatrix<ElementArray>; b: DenseMatrix<ElementArray> }
export function operandsOf(
  product: ProductShape,
  kind: ValueKind,
  options?: OperandOptions,
): { a: DenseMatrix<OperandArray>; b: DenseMatrix<OperandArray> }
export function operandsOf(
  { batch, m, n, k }: ProductShape,
  kind: ValueKind,
  { inElements = false, ...options }: OperandOptions = {},
): { a: DenseMatrix<OperandArray>; b: DenseMatrix<OperandArray> } {
  const values = valuesOf(kind, options.semiring ?? 'max-plus', k)
  const random = (rows: number, cols: number, seed: number): DenseMatrix<OperandArray> => {
    const random = randomMatrix(batch === 1 ? [rows, cols] : [batch, rows, cols], values, seed, options)
    if (values.bounded && seed === 2) return withBoundedDifferences(random)
    return values.int16 && !inElements ? { ...random, data: new Int16Array(random.data) } : random
  }
  if (!values.byColumns) return { a: random(m, k, 1), b: random(k, n, 2) }
  return { a: transposed(random(k, m, 1)), b: transposed(random(n, k, 2)) }
}
