/** Compares a product with the naive one: one sum and one comparison after the other, in 64 bits, on the CPU. */
import {
  type DenseMatrix,
  type Matrix,
  type MpmmOptions,
  type MpmmResult,
  mpmm,
  variants,
} from '../lib/index.js'

/** The product isn't what the naive one is. */
export class VerificationError extends Error {}

/**
 * @param options - the product's own, without what chooses the kernel.
 * @returns the name of the naive variant.
 * @throws VerificationError naming the first element that differs.
 */
export async function verify(
  a: Matrix,
  b: Matrix,
  options: Pick<MpmmOptions, 'semiring' | 'overflow' | 'accumulate' | 'signal'>,
  product: MpmmResult,
): Promise<string> {
  const naive = naiveVariant(options.semiring!)
  if (product.variant === naive) {
    throw new VerificationError(
      `--verify compares with ${naive}, which computed this product: that would prove nothing; choose another variant`,
    )
  }
  const expected = await mpmm(a, b, { ...options, variant: naive })
  if (expected.variant !== naive) {
    throw new VerificationError(`${naive} was asked for to verify, but ${expected.variant} ran`)
  }
  const difference = firstDifference(product.c, expected.c)
  if (difference) {
    throw new VerificationError(
      `verification failed: ${product.variant} has ${difference.value} at C[${difference.index.join(', ')}], ` +
        `${naive} has ${difference.expected}; ${difference.count} of ${expected.c.data.length} elements differ`,
    )
  }
  return naive
}

function naiveVariant(semiring: string) {
  const row = variants().find(
    (variant) => variant.family === 'naive' && variant.backend === 'cpu' && variant.semiring === semiring,
  )
  if (!row) throw new VerificationError(`this build has no naive variant of ${semiring} to verify with`)
  return row.name
}

export interface Difference {
  index: number[]
  value: number
  expected: number
  /** How many elements differ. */
  count: number
}

/** The first element, in row-major order, in which two dense matrices of the same shape differ. */
export function firstDifference(c: DenseMatrix, expected: DenseMatrix): Difference | undefined {
  let first = -1
  let count = 0
  for (let at = 0; at < expected.data.length; at++) {
    if (c.data[at] === expected.data[at]) continue
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
