/** What every variant of a semiring without sums must do. */
import { describe, expect, it } from 'vitest'
import { type MpmmOptions, matrix, mpmmSync, type Semiring, type Variant } from '../../lib/index.js'
import { ragged, type Size, sizes } from './cases.js'
import { expectError, thrown } from './expect.js'
import { depths, expectProduct, type Operand } from './other-expect.js'
import {
  type Algebra,
  algebras,
  decisive,
  kindsOf,
  layouts,
  mixed,
  otherOperands,
  overlappingLayouts,
  randomOther,
} from './other-operands.js'
import { type OtherProduct, otherArrays, otherOracle } from './semirings-oracle.js'
import { missing } from './table.js'

/** Products that several variants compute. */
const knownProducts = new Map<string, ReturnType<typeof otherOperands> & { expected: OtherProduct }>()

function known(kind: string, algebra: Algebra, size: Size) {
  const key = [kind, algebra.semiring, algebra.type, size].join()
  const before = knownProducts.get(key)
  if (before) return before
  const { a, b } = otherOperands(kind, algebra, size, 40)
  const product = { a, b, expected: otherOracle(a, b, algebra.semiring) }
  knownProducts.set(key, product)
  return product
}

export function variantSuite(variant: Variant): void {
  const { name, semiring } = variant
  const algebra = { semiring, type: variant.dtype } as Algebra
  const { type } = algebra
  const cannot = missing(variant)
  if (cannot !== undefined) {
    it(`${name} is refused`, () => {
      const one = matrix(1, 1, new otherArrays[type](1)) as Operand
      const call = () => mpmmSync(one, one, { variant: name, semiring } as MpmmOptions)
      expectError(thrown(call), 'ERR_MPMML_VARIANT', name)
    })
  }
  describe.skipIf(cannot !== undefined)(cannot === undefined ? name : `${name} (skipped: ${cannot})`, () => {
    it('agrees with the oracle at every size', () => {
      const all = [...sizes, ...depths.filter((k) => k < 600 || k === 2049).map((k): Size => [9, k, 17])]
      // Tiles of truth values are long: some are inside these operands, and others reach beyond.
      if (type === 'uint8') all.push([132, 1028, 260])
      for (const size of all) {
        for (const kind of [mixed(type), ...decisive(type)]) {
          const { a, b, expected } = known(kind, algebra, size)
          const result = expectProduct(a, b, algebra, { variant: name }, `${kind}, ${size}`, expected)
          expect(result.variant).toBe(name)
        }
      }
    })

    it('takes every kind of values, layouts, batches and C0', () => {
      for (const kind of Object.keys(kindsOf(type))) {
        const { a, b } = otherOperands(kind, algebra, ragged, 41)
        const accumulate = randomOther(kind, algebra, [37, 43], 42)
        expectProduct(a, b, algebra, { variant: name, accumulate }, kind)
      }
      const one = otherOperands(mixed(type), algebra, ragged, 43)
      const c0 = randomOther(mixed(type), algebra, [37, 43], 44)
      for (const layout of Object.values({ ...layouts, ...overlappingLayouts })) {
        const accumulate = layout(c0, algebra)
        expectProduct(layout(one.a, algebra), layout(one.b, algebra), algebra, { variant: name, accumulate })
      }
      const { a, b } = otherOperands(mixed(type), algebra, [20, 70, 130], 45, 4)
      const accumulate = randomOther(mixed(type), algebra, [4, 20, 130], 46)
      expectProduct(a, b, algebra, { variant: name, accumulate })
      expectProduct(a, { data: b.data, shape: [70, 130] }, algebra, { variant: name, accumulate })
      expectProduct({ data: a.data, shape: [20, 70] }, b, algebra, { variant: name, accumulate })
    })

    it('takes more products than a GPU has blocks', () => {
      const { a, b } = otherOperands(mixed(type), algebra, [3, 70, 5], 49, 600)
      expectProduct(a, b, algebra, { variant: name })
    })

    if (semiring === 'max-times') {
      it('refuses negative elements', () => {
        for (const where of ['a', 'b', 'accumulate'] as const) {
          const { a, b } = otherOperands('above 0', algebra, ragged, 47)
          const accumulate = randomOther('above 0', algebra, [37, 43], 48)
          const { data, shape } = { a, b, accumulate }[where]
          data[3 * shape[1]! + 2] = -6
          const out = { data: new otherArrays[type](37 * 43).fill(5), shape: [37, 43] }
          const options = { variant: name, semiring, accumulate, out } as unknown as MpmmOptions
          const error = thrown(() => mpmmSync(a as Operand, b as Operand, options))
          expectError(error, 'ERR_MPMML_VALUE', '[3, 2]', '-6')
          expect(out.data.every((value) => value === 5)).toBe(true)
        }
      })
    }

    it('refuses the products of another semiring', () => {
      const other = algebras.find((one) => one.type === type && one.semiring !== semiring)
      const asked: Semiring = other?.semiring ?? 'max-plus'
      const one = matrix(1, 1, new (other ? otherArrays[type] : Int32Array)(1)) as Operand
      const call = () => mpmmSync(one, one, { variant: name, semiring: asked } as MpmmOptions)
      expectError(thrown(call), 'ERR_MPMML_VARIANT', name, semiring, asked)
    })
  })
}
