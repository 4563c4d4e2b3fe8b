/** What every int32 variant of the registry must do. */
import { describe, expect, it } from 'vitest'
import { type MpmmOptions, matrix, mpmmSync, type Variant } from '../../lib/index.js'
import { layoutsOf, policies, ragged, semirings, sizes } from './cases.js'
import { expectAgrees, expectError, expectProduct, thrown } from './expect.js'
import { type Kind, kindNames, operands, randomMatrix } from './generators.js'
import { oracle, type SemiringName } from './oracle.js'
import { missing, pathOn } from './table.js'

export function variantSuite(variant: Variant): void {
  const { name, backend } = variant
  const semiring = variant.semiring as SemiringName
  const cannot = missing(variant)
  if (cannot !== undefined) {
    it(`${name} is refused`, () => {
      const call = () =>
        mpmmSync(matrix(1, 1, [1]), matrix(1, 1, [1]), { variant: name, semiring, overflow: 'saturate' })
      expectError(thrown(call), 'ERR_MPMML_VARIANT', name)
    })
  }
  describe.skipIf(cannot !== undefined)(cannot === undefined ? name : `${name} (skipped: ${cannot})`, () => {
    it('runs when it is asked for, and no other', () => {
      for (const kind of kindNames) {
        for (const overflow of policies) {
          const { a, b } = operands(kind, semiring, ragged, 11)
          const path = pathOn(variant, a, b, overflow)
          const what = `${kind}, ${overflow}`
          const options = { variant: name, semiring, overflow }
          if (path === undefined) {
            const error = thrown(() => mpmmSync(a, b, options))
            expectError(error, 'ERR_MPMML_VARIANT', name, "can't run this product")
            continue
          }
          const result = expectAgrees(oracle(a, b, options), a, b, options, what)
          if (result) {
            expect([result.variant, result.backend, result.path], what).toEqual([name, backend, path])
          }
        }
      }
    })

    it('agrees with the oracle at every size', () => {
      for (const size of sizes) {
        // On every path of every accumulator that the variant may have.
        for (const kind of [
          'small',
          'small, ε scattered',
          'low + small',
          'small + high',
          'the best meets the worst',
          'far from the best',
          'spreads of 16 bits',
          'spreads of 14 bits, ε',
          '31 levels of B, any A, ε',
          '31 levels of A, any B, ε',
          '37 levels of B, any A, ε',
          '41 levels of both, ε',
          '49 levels of both, ε',
          '31 levels in columns of B, any A, ε',
          '37 levels in rows of A, rows of ε, any B, ε',
          '49 levels in lines of both, ε',
        ] as Kind[]) {
          const { a, b } = operands(kind, semiring, size, 5)
          if (pathOn(variant, a, b, 'throw') === undefined) continue
          const result = expectProduct(a, b, { variant: name, semiring }, `${kind}, ${size}`)
          expect(result!.variant).toBe(name)
        }
      }
    })

    it('takes layouts, batches and C0', () => {
      const candidates = ['small, ε scattered', 'few levels, mostly ε', 'equal elements'] as Kind[]
      const kind = candidates.find((candidate) => {
        const { a, b } = operands(candidate, semiring, ragged, 2)
        return pathOn(variant, a, b, 'throw') !== undefined
      })!
      const one = operands(kind, semiring, ragged, 2)
      for (const layout of Object.values(layoutsOf)) {
        expectProduct(layout(one.a), layout(one.b), { variant: name, semiring })
      }
      const { a, b } = operands(kind, semiring, [20, 18, 130], 3, 4)
      const accumulate = { data: randomMatrix(80, 130, 6, [-2000, 2000]).data, shape: [4, 20, 130] }
      expectProduct(a, b, { variant: name, semiring, accumulate })
      expectProduct(a, { data: b.data, shape: [18, 130] }, { variant: name, semiring, accumulate })
    })

    it('refuses the products of another semiring, and of another backend', () => {
      const other = semirings.find((candidate) => candidate !== semiring)!
      const call = (options: MpmmOptions) => () =>
        mpmmSync(matrix(1, 1), matrix(1, 1), { variant: name, ...options })
      expectError(thrown(call({ semiring: other })), 'ERR_MPMML_VARIANT', name, semiring, other)
      const elsewhere = backend === 'cpu' ? 'cuda' : 'cpu'
      expectError(thrown(call({ semiring, backend: elsewhere })), 'ERR_MPMML_VARIANT', name, 'backend')
    })
  })
}
