/** What every backend must do in the semirings without sums: test/cpu and test/gpu run it. */
import { describe, expect, it } from 'vitest'
import { type MpmmOptions, matrix, mpmm, mpmmSync, variants, zeroOf } from '../../lib/index.js'
import { policies, ragged, type Size, sizes } from './cases.js'
import { expectError, thrown } from './expect.js'
import { type Backend, depths, expectProduct, type Operand } from './other-expect.js'
import {
  type Algebra,
  algebras,
  decisive,
  kindsOf,
  layouts,
  mixed,
  otherOperands,
  otherSemirings,
  overlappingLayouts,
  randomOther,
} from './other-operands.js'
import {
  type OtherMatrix,
  otherArrays,
  otherMismatch,
  otherOne,
  otherOracle,
  otherTypes,
  otherZero,
} from './semirings-oracle.js'
import { bits, int16, negativeElements, notANumber } from './suite-semirings-values.js'
import { variantSuite } from './suite-semirings-variants.js'

export function semiringSuite(backend: Backend): void {
  for (const algebra of algebras) {
    describe(`${algebra.semiring} on ${algebra.type}`, () => {
      products(backend, algebra)
      elementsAnywhere(backend, algebra)
      resultsAnywhere(backend, algebra)
    })
  }
  describe('max-times', () => negativeElements(backend))
  describe('or-and', () => bits(backend))
  describe('floats', () => notANumber(backend))
  describe('Int16Arrays', () => int16(backend))
  describe('options and types', () => optionsAndTypes(backend))
  describe('every variant', () => {
    for (const row of variants()) {
      if (row.backend === backend && otherSemirings.some((name) => name === row.semiring)) variantSuite(row)
    }
  })
}

function products(backend: Backend, algebra: Algebra): void {
  const { semiring, type } = algebra

  it.each(Object.keys(kindsOf(type)))('%s', (kind) => {
    for (const size of [[70, 90, 110], ragged, [1, 333, 67], [130, 70, 1]] as Size[]) {
      const { a, b } = otherOperands(kind, algebra, size)
      expect(expectProduct(a, b, algebra, { backend }, `${size}`).backend).toBe(backend)
    }
  })

  it.each(sizes)('%i × %i × %i', (...size) => {
    for (const kind of [mixed(type), ...decisive(type)]) {
      const { a, b } = otherOperands(kind, algebra, size, 3)
      expectProduct(a, b, algebra, { backend }, kind)
    }
  })

  it.each(depths)('K = %i', (k) => {
    for (const [m, n] of [
      [1, 1],
      [5, 7],
      [33, 65],
    ] as const) {
      for (const kind of [mixed(type), ...decisive(type)]) {
        const { a, b } = otherOperands(kind, algebra, [m, k, n], 4)
        expectProduct(a, b, algebra, { backend }, `${m} × ${k} × ${n}, ${kind}`)
      }
    }
  })

  it('300 × 403 × 297', () => {
    const { a, b } = otherOperands(mixed(type), algebra, [300, 403, 297], 5)
    expectProduct(a, b, algebra, { backend })
  })

  it('one alone is the identity', () => {
    // The matrix with one on its diagonal and zero elsewhere changes nothing that is a number.
    const size = 67
    const identity = new otherArrays[type](size * size).fill(otherZero(semiring, type))
    for (let i = 0; i < size; i++) identity[i * size + i] = otherOne(semiring, type)
    const diagonal = { data: identity, shape: [size, size] }
    const kind = type === 'int32' ? 'any int32' : type === 'uint8' ? 'many bits' : 'whole numbers'
    const { a } = otherOperands(kind, algebra, [size, size, 1], 6)
    for (const [left, right] of [
      [a, diagonal],
      [diagonal, a],
    ] as const) {
      const { c } = expectProduct(left, right, algebra, { backend })
      expect([...c.data].every((value, index) => value === a.data[index])).toBe(true)
    }
  })

  it('is the same from mpmm, several at once', async () => {
    const tasks = Array.from({ length: 6 }, (_, index) =>
      otherOperands(mixed(type), algebra, [60 + index, 50, 70 - index], 7 + index),
    )
    const results = await Promise.all(
      tasks.map(({ a, b }) => mpmm(a as Operand, b as Operand, { semiring, backend })),
    )
    results.forEach(({ c }, index) => {
      const { a, b } = tasks[index]!
      expect(otherMismatch(c as OtherMatrix, otherOracle(a, b, semiring))).toBeUndefined()
    })
  })

  it('K = 0 gives zero, or the numbers of C0', () => {
    const none = (rows: number, cols: number) => matrix(rows, cols, new otherArrays[type](0))
    const { c } = expectProduct(none(3, 0), none(0, 5), algebra, { backend })
    expect([...c.data]).toEqual(Array(15).fill(otherZero(semiring, type)))
    for (const kind of Object.keys(kindsOf(type))) {
      const accumulate = randomOther(kind, algebra, [3, 5], 8)
      expectProduct(none(3, 0), none(0, 5), algebra, { backend, accumulate }, kind)
    }
  })

  it.each([
    [0, 3, 4],
    [3, 4, 0],
    [0, 5, 0],
    [0, 0, 0],
  ])('%i × %i × %i has no elements', (m, k, n) => {
    const { a, b } = otherOperands(mixed(type), algebra, [m, k, n])
    expect(expectProduct(a, b, algebra, { backend }).c.data).toHaveLength(0)
  })

  it('zero is what zeroOf says', () => expect(zeroOf(semiring, type)).toBe(otherZero(semiring, type)))
}

function elementsAnywhere(backend: Backend, algebra: Algebra): void {
  const { type } = algebra
  const all = { ...layouts, ...overlappingLayouts }

  it.each(Object.keys(all))('A is %s, B in every layout', (name) => {
    for (const other of Object.keys(all)) {
      for (const size of [ragged, [5, 130, 67], [1, 70, 33], [65, 64, 2]] as Size[]) {
        for (const kind of [mixed(type), decisive(type)[0]!]) {
          const { a, b } = otherOperands(kind, algebra, size, 9)
          expectProduct(
            all[name]!(a, algebra),
            all[other]!(b, algebra),
            algebra,
            { backend },
            `${other}, ${size}`,
          )
        }
      }
    }
  })

  it('batches of both operands, or of one', () => {
    for (const batch of [1, 2, 7]) {
      const { a, b } = otherOperands(mixed(type), algebra, [18, 33, 17], 10, batch)
      const one = otherOperands(mixed(type), algebra, [18, 33, 17], 11)
      const batchOfOne = otherOperands(mixed(type), algebra, [18, 33, 17], 12, 1)
      for (const [left, right] of [
        [a, b],
        [a, one.b],
        [one.a, b],
        [a, batchOfOne.b],
        [batchOfOne.a, b],
      ] as const) {
        const { c } = expectProduct(left, right, algebra, { backend }, `${batch}`)
        expect([...Array.from(c.shape)]).toEqual([batch, 18, 17])
      }
    }
  })

  it('batches with strides, 0 among them', () => {
    const { data } = randomOther(mixed(type), algebra, [4000], 13)
    const a = { data, shape: [3, 5, 7], strides: [200, 1, 9], offset: 11 }
    const same = { data, shape: [3, 5, 7], strides: [0, 8, 1], offset: 3 }
    const b = { data, shape: [3, 7, 4], strides: [300, 13, 2], offset: 1000 }
    const sameB = { data, shape: [3, 7, 4], strides: [0, 1, 7], offset: 1001 }
    const accumulate = randomOther(mixed(type), algebra, [3, 5, 4], 14)
    for (const left of [a, same]) {
      for (const right of [b, sameB]) {
        expectProduct(left, right, algebra, { backend })
        expectProduct(left, right, algebra, { backend, accumulate })
      }
    }
  })
}

function resultsAnywhere(backend: Backend, algebra: Algebra): void {
  const { semiring, type } = algebra

  it.each(Object.keys(kindsOf(type)))('C0 of %s', (kind) => {
    const { a, b } = otherOperands(mixed(type), algebra, ragged, 15)
    const none = otherOperands(type === 'uint8' ? 'all false' : 'zero alone', algebra, ragged, 15)
    const accumulate = randomOther(kind, algebra, [37, 43], 16)
    expectProduct(a, b, algebra, { backend, accumulate }, 'numbers')
    // C0 alone decides.
    expectProduct(none.a, none.b, algebra, { backend, accumulate }, 'zeros')
  })

  it('C0 in every layout, for each product of a batch, and for all', () => {
    const { a, b } = otherOperands(mixed(type), algebra, ragged, 17)
    const c0 = randomOther(mixed(type), algebra, [37, 43], 18)
    for (const [name, layout] of Object.entries({ ...layouts, ...overlappingLayouts })) {
      expectProduct(a, b, algebra, { backend, accumulate: layout(c0, algebra) }, name)
    }
    const batch = otherOperands(mixed(type), algebra, [6, 65, 9], 19, 3)
    for (const shape of [
      [3, 6, 9],
      [6, 9],
      [1, 6, 9],
    ]) {
      const accumulate = randomOther(mixed(type), algebra, shape, 20)
      expectProduct(batch.a, batch.b, algebra, { backend, accumulate }, `${shape}`)
    }
  })

  it.each(Object.keys(layouts))('out %s, and nothing beside it is touched', (name) => {
    const [m, k, n] = [37, 66, 43]
    const { a, b } = otherOperands(mixed(type), algebra, [m, k, n], 21)
    const start = randomOther(mixed(type), algebra, [m, n], 22)
    const another = randomOther(mixed(type), algebra, [m, n], 23)
    for (const accumulate of [undefined, true as const, another]) {
      const out = layouts[name]!({ data: start.data.slice(), shape: [m, n] }, algebra)
      const before = out.data.slice()
      const c0 = accumulate === true ? start : accumulate
      const options = { backend, semiring, out, accumulate } as unknown as MpmmOptions
      const { c } = mpmmSync(a as Operand, b as Operand, options)
      expect(c).toBe(out)
      expect(otherMismatch(out, otherOracle(a, b, semiring, c0))).toBeUndefined()
      const { strides = [n, 1], offset = 0 } = out
      const written = new Set<number>()
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) written.add(offset + i * strides[0]! + j * strides[1]!)
      }
      out.data.forEach((value, index) => {
        if (!written.has(index) && !Object.is(value, before[index])) expect.fail(`element ${index}`)
      })
    }
  })

  it('out of a batch with strides', () => {
    const { a, b } = otherOperands(mixed(type), algebra, [5, 40, 4], 24, 3)
    const out = { data: new otherArrays[type](60), shape: [3, 5, 4], strides: [1, 12, 3] }
    mpmmSync(a as Operand, b as Operand, { backend, semiring, out } as unknown as MpmmOptions)
    expect(otherMismatch(out, otherOracle(a, b, semiring))).toBeUndefined()
  })
}

function optionsAndTypes(backend: Backend): void {
  it.each(policies)(
    "overflow: '%s' makes no difference to integers, and floats don't take it",
    (overflow) => {
      for (const algebra of algebras) {
        const { semiring, type } = algebra
        const { a, b } = otherOperands(type === 'int32' ? 'ends' : mixed(type), algebra, ragged, 25)
        if (type === 'int32' || type === 'uint8') {
          const accumulate = randomOther(type === 'int32' ? 'ends' : mixed(type), algebra, [37, 43], 26)
          expectProduct(a, b, algebra, { backend, overflow })
          expectProduct(a, b, algebra, { backend, overflow, accumulate })
          continue
        }
        const options = { backend, semiring, overflow } as MpmmOptions
        const error = thrown(() => mpmmSync(a as Operand, b as Operand, options))
        expectError(error, 'ERR_MPMML_OPTION', 'option overflow is for integers', type)
      }
    },
  )

  it.each(otherSemirings)('%s has its element types and no others', (semiring) => {
    for (const [type, Type] of Object.entries(otherArrays)) {
      if ((otherTypes[semiring] as string[]).includes(type)) continue
      const one = matrix(1, 1, new Type(1)) as Operand
      const error = thrown(() => mpmmSync(one, one, { semiring, backend } as MpmmOptions))
      expectError(error, 'ERR_MPMML_DTYPE', `${semiring} has the element type`, `of ${type}`)
    }
  })

  it('a Buffer is a Uint8Array, and the result is none', () => {
    const a = { data: Buffer.from([0, 9, 0, 1]), shape: [2, 2] }
    const { c } = mpmmSync(a, a, { semiring: 'or-and', backend })
    expect(c.data).toEqual(Uint8Array.of(0, 1, 0, 1))
  })

  it('bytes clamped are refused', () => {
    const a = { data: new Uint8ClampedArray(1), shape: [1, 1] } as unknown as Operand
    const error = thrown(() => mpmmSync(a, a, { semiring: 'or-and', backend } as MpmmOptions))
    expectError(error, 'ERR_MPMML_DTYPE', 'a.data', 'Uint8Array', 'Uint8ClampedArray')
  })
}
