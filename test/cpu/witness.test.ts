/** Argmax indices (witnesses) of products on the CPU. */
import { describe, expect, it } from 'vitest'
import { matrix, mpmmSync } from '../../lib/index.js'
import { Random } from '../support/generators.js'
import { algebraOf, elementsOf } from '../support/products/case.js'
import { expectValues } from '../support/products/law.js'
import { witnessSuite } from '../support/suite-witness.js'

describe('cpu', () => witnessSuite('cpu'))

describe('witnesses of truth values', () => {
  const algebra = algebraOf('or-and', 'uint8')
  const filled = (random: Random, rows: number, cols: number, share: number) =>
    matrix(
      rows,
      cols,
      Uint8Array.from({ length: rows * cols }, () => (random.chance(share) ? 1 : 0)),
    )
  // Sizes with several runs of chunks of columns, and several blocks of rows of A.
  const sizes = [
    [70, 300, 1100],
    [5, 130, 4700],
    [130, 513, 40],
  ] as const
  // The densities include rows that select few rows of B, and many rows that decide few columns.
  it.each([
    [0.5, 0.5],
    [0.05, 0.05],
    [0.005, 0.005],
    [1, 0.003],
    [0.003, 1],
    [0, 0.5],
  ])('of which %d and %d are true', (shareA, shareB) => {
    for (const [m, k, n] of sizes) {
      const random = new Random(m + n)
      const [a, b] = [filled(random, m, k, shareA), filled(random, k, n, shareB)]
      const { c, witness } = mpmmSync(a, b, { semiring: 'or-and', backend: 'cpu', witness: true })
      const what = `${m} × ${k} × ${n}`
      expectValues({ algebra, a: elementsOf(a), b: elementsOf(b), witness: true, what }, c, { witness })
    }
  })
})

describe('witnesses along many k-steps', () => {
  it.each(['max-plus', 'min-plus'] as const)('are right for 8-bit sums in %s', (semiring) => {
    // More ranges of k-steps than a byte can count, and sums whose best value is rare.
    const [m, k, n] = [30, 20_000, 32]
    const random = new Random(8)
    const values = (length: number) => Int32Array.from({ length }, () => random.integer(0, 127))
    const [a, b] = [matrix(m, k, values(m * k)), matrix(k, n, values(k * n))]
    const { c, witness, arithmetic } = mpmmSync(a, b, { semiring, backend: 'cpu', witness: true })
    expect(arithmetic).toBe('byte')
    const one = {
      algebra: algebraOf(semiring),
      a: elementsOf(a),
      b: elementsOf(b),
      witness: true,
      what: arithmetic,
    }
    expectValues(one, c, { witness })
    expect(Math.max(...witness.data)).toBeGreaterThan(k / 2)
  })
})
