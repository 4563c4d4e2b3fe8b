/**
 * Compares a product with the naive product on the CPU, which adds sequentially and sums integers in 64 bits.
 * Plus-times rounds, and its order of sums is unspecified. It is compared with the naive product in float64,
 * within the bound that holds for any order.
 */
import {
  type DataType,
  type DenseMatrix,
  type ElementArray,
  type Matrix,
  type MpmmOptions,
  type MpmmResult,
  matrix,
  mpmm,
  type Semiring,
  type Shape,
  type VariantName,
  variants,
} from '../lib/index.js'
import { dtypeOf, hasSums } from './dtype.js'

/** Error for a product that differs from the naive product. */
export class VerificationError extends Error {}

/** Result of a comparison with a naive product. */
export interface Verification {
  /** Naive variant of the comparison. */
  variant: VariantName
  /**
   * Largest error as a fraction of the error bound, for products that round; null if elements must be equal.
   */
  shareOfErrorBound: number | null
}

/** Product in arrays. */
export type Product = MpmmResult<DenseMatrix<ElementArray>>

type Options = Pick<MpmmOptions, 'semiring' | 'overflow' | 'signal'> & {
  accumulate?: Matrix<ElementArray> | undefined
}

/**
 * @param options - options of the product, except those that select the kernel.
 * @throws VerificationError naming the first element that differs.
 */
export async function verify(
  a: Matrix<ElementArray>,
  b: Matrix<ElementArray>,
  options: Options,
  product: Product,
): Promise<Verification> {
  return (await verifier(a, b, options))(product)
}

/** Computes the naive product. Returns a function that compares products with it like {@link verify}. */
export async function verifier(
  a: Matrix<ElementArray>,
  b: Matrix<ElementArray>,
  options: Options,
): Promise<(product: Product) => Verification> {
  const semiring = options.semiring!
  if (semiring === 'plus-times') return sumsVerifier(a, b, options)
  const variant = naiveVariant(semiring, dtypeOf(a.data))
  const expected = await naive(a, b, options, variant)
  return (product) => {
    assertOtherVariant(product, variant)
    // The sign of 0 is unspecified for sums only.
    const differs = hasSums(semiring)
      ? undefined
      : (at: number) => !Object.is(product.c.data[at], expected.data[at])
    assertEqual(product, variant, expected, differs)
    return { variant, shareOfErrorBound: null }
  }
}

/**
 * Compares rows of a product with the naive product: all rows of a small product, or rows at equal distances
 * of a larger product. The naive variant itself is compared with the planner's choice.
 *
 * @param a - dense, as `b` and the product.
 * @param steps - limit of the steps of the compared rows; at least one row is compared. The default takes
 * about a second.
 * @returns the reference variant, and the number of compared rows per matrix.
 * @throws VerificationError naming the first element that differs.
 */
export async function verifyRows(
  a: DenseMatrix<ElementArray>,
  b: DenseMatrix<ElementArray>,
  options: Options,
  product: MpmmResult<DenseMatrix<ElementArray>>,
  steps = 2 ** 27,
): Promise<Verification & { rows: number }> {
  const [m, k] = a.shape.slice(-2) as [number, number]
  const n = b.shape.at(-1)!
  const batch = a.shape.length === 3 ? a.shape[0] : 1
  const rows = Math.max(1, Math.min(m, Math.floor(steps / (batch * n * k))))
  const rowOf = (index: number) => (rows === 1 ? 0 : Math.round((index * (m - 1)) / (rows - 1)))
  const shapeOf = (cols: number): Shape => (a.shape.length === 3 ? [batch, rows, cols] : [rows, cols])
  const some = (all: ElementArray, cols: number) => {
    const found = all.slice(0, batch * rows * cols)
    for (let row = 0; row < batch * rows; row++) {
      const from = (Math.floor(row / rows) * m + rowOf(row % rows)) * cols
      found.set(all.subarray(from, from + cols), row * cols)
    }
    return matrix(shapeOf(cols), found)
  }
  const sample = some(a.data, k)
  const isNaive = product.variant === naiveVariant(options.semiring!, dtypeOf(a.data))
  const judged = isNaive
    ? await mpmm(sample, b, { ...options, backend: 'cpu' })
    : { ...product, c: some(product.c.data, n) }
  const verified = await verify(sample, b, options, judged)
  return { ...verified, ...(isNaive && { variant: judged.variant }), rows }
}

/**
 * |C − Ĉ| ≤ n·u/(1 − n·u) · |A||B| in any order of the sums, with n roundings of unit roundoff u per result: N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), section 3.5.
 */
async function sumsVerifier(
  a: Matrix<ElementArray>,
  b: Matrix<ElementArray>,
  options: Options,
): Promise<(product: Product) => Verification> {
  const variant = naiveVariant('plus-times', 'float64')
  const single = dtypeOf(a.data) === 'float32'
  const { accumulate, ...rest } = options
  const as64 = (source: Matrix<ElementArray>, value: (x: number) => number) => ({
    ...source,
    data: Float64Array.from(source.data, value),
  })
  const compute = (value: (x: number) => number) =>
    naive(
      as64(a, value),
      as64(b, value),
      { ...rest, accumulate: accumulate && as64(accumulate, value) },
      variant,
    )
  const expected = await compute((x) => x)
  const magnitudes = await compute(Math.abs)
  const roundings = a.shape.at(-1)! + 2
  // In float64 the naive product rounds too, so the bound is doubled.
  const relative = roundings * (single ? 2 ** -24 : 2 * 2 ** -53)
  const smallest = roundings * (single ? 2 ** -149 : 2 * Number.MIN_VALUE)
  const largest = single ? 2 ** 128 : Number.MAX_VALUE
  return (product) => {
    assertOtherVariant(product, variant)
    let share = 0
    const wrong = (at: number) => {
      const [came, should, magnitude] = [product.c.data[at]!, expected.data[at]!, magnitudes.data[at]!]
      if (came === should || (Number.isNaN(came) && Number.isNaN(should))) return false
      // Sums of float32 products never overflow float64, so only infinite or NaN operands lead here.
      if (single && !Number.isFinite(magnitude)) return true
      // Whether such a large sum overflows depends on the order, so it counts as correct.
      if (magnitude >= largest * (1 - relative)) return false
      const error = Math.abs(came - should) / ((relative / (1 - relative)) * magnitude + smallest)
      if (!(error <= 1)) return true
      share = Math.max(share, error)
      return false
    }
    assertEqual(product, variant, expected, wrong)
    return { variant, shareOfErrorBound: share }
  }
}

async function naive(
  a: Matrix<ElementArray>,
  b: Matrix<ElementArray>,
  options: Options,
  variant: VariantName,
): Promise<DenseMatrix<ElementArray>> {
  const expected = await mpmm(a, b, { ...options, variant })
  if (expected.variant === variant) return expected.c
  throw new VerificationError(`${variant} was asked for to verify, but ${expected.variant} ran`)
}

function assertOtherVariant(product: Product, variant: VariantName): void {
  if (product.variant !== variant) return
  throw new VerificationError(
    `--verify compares with ${variant}, which computed this product: that would prove nothing; choose another variant`,
  )
}

export function naiveVariant(semiring: Semiring, dtype: DataType): VariantName {
  const row = variants().find(
    (variant) =>
      variant.family === 'naive' &&
      variant.backend === 'cpu' &&
      variant.semiring === semiring &&
      variant.dtype === dtype,
  )
  if (!row) {
    throw new VerificationError(`this build has no naive variant of ${semiring} on ${dtype} to verify with`)
  }
  return row.name
}

function assertEqual(
  { c, variant: computed }: Product,
  variant: VariantName,
  should: DenseMatrix<ElementArray>,
  differs?: (at: number) => boolean,
): void {
  const difference = firstDifference(c, should, differs)
  if (!difference) return
  const { index, value, expected, count } = difference
  throw new VerificationError(
    `verification failed: ${computed} has ${value} at C[${index.join(', ')}], ` +
      `${variant} has ${expected}; ${count} of ${should.data.length} elements differ`,
  )
}

export interface Difference {
  index: number[]
  value: number
  expected: number
  /** Number of elements that differ. */
  count: number
}

/**
 * Returns the first element, in row-major order, in which two dense matrices of equal shape differ.
 *
 * @param differs - returns whether element number `at` differs; by default it compares the numbers.
 */
export function firstDifference(
  c: DenseMatrix<ElementArray>,
  expected: DenseMatrix<ElementArray>,
  differs = (at: number) => c.data[at] !== expected.data[at],
): Difference | undefined {
  let first = -1
  let count = 0
  for (let at = 0; at < expected.data.length; at++) {
    if (!differs(at)) continue
    if (first < 0) first = at
    count++
  }
  if (first < 0) return undefined
  const index = expected.shape.map((size, axis) => {
    const step = expected.shape.slice(axis + 1).reduce((product, next) => product * next, 1)
    return Math.floor(first / step) % size
  })
  return { index, value: c.data[first]!, expected: expected.data[first]!, count }
}
