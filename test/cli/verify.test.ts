/** Differences that --verify finds. */
import { describe, expect, it } from 'vitest'
import { firstDifference, VerificationError, verify } from '../../bench/verify.js'
import { type DenseMatrix, type ElementArray, matrix, mpmm } from '../../lib/index.js'

describe('firstDifference', () => {
  const changed = (m: DenseMatrix, ...at: number[]): DenseMatrix => {
    const data = m.data.slice()
    for (const index of at) data[index]! += 1
    return { ...m, data }
  }

  it('finds none in equal matrices', () => {
    const m = matrix(2, 3, [1, 2, 3, 4, 5, 6])
    expect(firstDifference(m, matrix(2, 3, [1, 2, 3, 4, 5, 6]))).toBeUndefined()
    expect(firstDifference(matrix(0, 3), matrix(0, 3))).toBeUndefined()
  })

  it('names the first in row-major order, with both values and their number', () => {
    const m = matrix(2, 3, [1, 2, 3, 4, 5, 6])
    expect(firstDifference(changed(m, 4, 5), m)).toEqual({ index: [1, 1], value: 6, expected: 5, count: 2 })
    expect(firstDifference(changed(m, 0), m)).toEqual({ index: [0, 0], value: 2, expected: 1, count: 1 })
    const batch = matrix([2, 2, 3], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(firstDifference(changed(batch, 8), batch)).toEqual({
      index: [1, 0, 2],
      value: 10,
      expected: 9,
      count: 1,
    })
  })
})

describe('verify', () => {
  const ones = (rows: number, cols: number) => matrix(rows, cols, new Float32Array(rows * cols).fill(1))

  /** Verifies the sums of a product, one of which is replaced. */
  async function verified(
    a: DenseMatrix<ElementArray>,
    b: DenseMatrix<ElementArray>,
    at: number,
    value: number,
  ) {
    const options = { semiring: 'plus-times' } as const
    const product = await mpmm(a, b, { ...options, backend: 'cpu' })
    product.c.data[at] = value
    return verify(a, b, options, product)
  }

  it('accepts errors of sums up to the bound for as many roundings as terms', async () => {
    // K + 2 roundings of 2^-24: 1002 of them are 5.97e-5 of the sum of magnitudes, and 3 are 1.8e-7.
    const long = await verified(ones(1, 1000), ones(1000, 1), 0, 1000 * (1 + 5e-5))
    expect(long.shareOfErrorBound).toBeCloseTo(5e-5 / (1002 * 2 ** -24), 2)
    await expect(verified(ones(1, 1000), ones(1000, 1), 0, 1000 * (1 + 7e-5))).rejects.toThrow(
      VerificationError,
    )
    await expect(verified(ones(1000, 1), ones(1, 1), 999, 1 + 5e-5)).rejects.toThrow(
      'C[999, 0], naive_plustimes_f64',
    )
  })

  it('finds a number in place of an infinity', async () => {
    const a = matrix(1, 2, Float32Array.of(Number.POSITIVE_INFINITY, 1))
    expect((await verified(a, ones(2, 1), 0, Number.POSITIVE_INFINITY)).shareOfErrorBound).toBe(0)
    await expect(verified(a, ones(2, 1), 0, 5)).rejects.toThrow(VerificationError)
  })
})
