/** Special values of semirings: single bits at every position, NaN of every bit pattern, 0 · ∞. */
import { describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import { arrays } from '../../native/tools/fuzz/algebra.mjs'
import { algebraOf, algebras, type Case, type Elements, elements, nameOf } from './products/case.js'
import { expectRight } from './products/law.js'
import { compute } from './products/targets.js'
import { startFor, valuesFor } from './products/values.js'

export function semiringSuite(backend: BackendName): void {
  const target = { name: 'arrays', options: { backend }, expectation: { backend, timed: true } }
  /** Elements of C, after a check against the definition. */
  async function product(one: Case): Promise<number[]> {
    const outcome = await compute(target, one, 'new')
    expectRight(one, outcome, target.expectation)
    return Array.from(outcome.c!.data)
  }

  describe('or-and', () => bits(product))
  describe('floats', () => notANumber(product))
}

type Product = (one: Case) => Promise<number[]>

function bits(product: Product): void {
  const algebra = algebraOf('or-and', 'uint8')
  const boolean = (rows: number, cols: number, value: (row: number, col: number) => number) =>
    elements(
      Uint8Array.from({ length: rows * cols }, (_, index) => value(Math.floor(index / cols), index % cols)),
      rows,
      cols,
    )
  const multiply = (a: Elements, b: Elements) => product({ algebra, a, b, what: 'bits' })

  it.each([1, 31, 33, 64, 65, 129, 300])(
    'finds a single true element at each of %i positions of K',
    async (k) => {
      // Row i of A is true at i, and column j of B at k − 1 − j. C[i, j] is true if i + j = k − 1.
      const a = boolean(k, k, (row, col) => (row === col ? 1 + (row % 255) : 0))
      const b = boolean(k, k, (row, col) => (row === k - 1 - col ? 255 - (row % 255) : 0))
      expect((await multiply(a, b)).filter((value) => value === 1)).toHaveLength(k)
      for (let at = 0; at < k; at++) {
        const row = boolean(1, k, (_, col) => (col === at ? 128 : 0))
        await multiply(
          row,
          boolean(k, 1, (step) => (step === at ? 4 : 0)),
        )
        await multiply(
          row,
          boolean(k, 1, (step) => (step === at ? 0 : 1)),
        )
      }
    },
  )
}

function notANumber(product: Product): void {
  it.each(algebras.filter(({ isFloat }) => isFloat).map((one) => [nameOf(one), one] as const))(
    '%s: NaN of either sign and any payload',
    async (_, algebra) => {
      for (const kind of ['from 0 up', 'from 0 down', 'above 0']) {
        for (const [sign, quiet] of [0x00, 0x80].flatMap((sign) =>
          [0xf1, 0xff].map((quiet) => [sign, quiet] as const),
        )) {
          for (const name of ['a', 'b', 'c0'] as const) {
            const [a, b] = valuesFor(algebra, kind, [70, 90, 110])
            const one = {
              algebra,
              a,
              b,
              c0: startFor(algebra, kind, 70, 110),
              what: `${kind}, ${sign}, ${quiet}, ${name}`,
            }
            const { data } = one[name]
            const pattern = new Uint8Array(data.buffer)
            const last = 4321 * data.BYTES_PER_ELEMENT - 1
            pattern[last] = sign | 0x7f
            pattern[last - 1] = quiet
            expect(data[4320]).toBeNaN()
            const found = await product(one)
            if (algebra.kind !== 'ordinary') expect(found.some(Number.isNaN)).toBe(false)
          }
        }
      }
    },
  )

  it.each(['float32', 'float64'] as const)(
    'ignore 0 · ∞ as a candidate of max-times on %s',
    async (dtype) => {
      const algebra = algebraOf('max-times', dtype)
      const of = (rows: number, cols: number, ...values: number[]) =>
        elements(arrays[dtype].from(values), rows, cols)
      const only = (a: Elements, b: Elements) => product({ algebra, a, b, what: '0 · ∞' })
      const [zero, infinity] = [0, Number.POSITIVE_INFINITY]
      expect(await only(of(1, 1, zero), of(1, 1, infinity))).toEqual([0])
      expect(await only(of(1, 2, zero, 2), of(2, 1, infinity, 3))).toEqual([6])
      expect(await only(of(1, 2, -0, 2), of(2, 1, infinity, infinity))).toEqual([infinity])
      expect(await only(of(1, 2, -0, -0), of(2, 1, 5, 7))).toEqual([0])
    },
  )
}
