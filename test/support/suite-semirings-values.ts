/** The values that are special to a semiring without sums: negative ones, bits, NaN, and int32 stored as int16. */
import { expect, it } from 'vitest'
import { type MpmmOptions, mpmm, mpmmSync } from '../../lib/index.js'
import { ragged, type Size } from './cases.js'
import { expectError, thrown } from './expect.js'
import { Random } from './generators.js'
import { type Backend, expectProduct, type Operand, type Options } from './other-expect.js'
import {
  type Algebra,
  algebras,
  layouts,
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

export function negativeElements(backend: Backend): void {
  const names = { a: /\ba\[/i, b: /\bb\[/i, accumulate: /\b(accumulate|c0)\[/i }

  for (const type of otherTypes['max-times'] as ('float32' | 'float64')[]) {
    const algebra: Algebra = { semiring: 'max-times', type }
    const least = type === 'float32' ? 2 ** -149 : Number.MIN_VALUE

    /** The product must be refused, with the place and the value, and leave out as it was. */
    const refused = (
      matrices: Record<'a' | 'b' | 'accumulate', OtherMatrix>,
      where: keyof typeof names,
      place: number[],
      value: number,
      options: Options = { backend },
    ) => {
      const { a, b, accumulate } = matrices
      const [m, n] = [a.shape[a.shape.length - 2]!, b.shape[b.shape.length - 1]!]
      const batch = Math.max(...[a, b].map(({ shape }) => (shape.length === 3 ? shape[0]! : 1)))
      const shape = a.shape.length === 3 || b.shape.length === 3 ? [batch, m, n] : [m, n]
      const out = { data: new otherArrays[type](batch * m * n).fill(77), shape }
      const all = { ...options, semiring: 'max-times', accumulate, out } as unknown as MpmmOptions
      const error = thrown(() => mpmmSync(a as Operand, b as Operand, all))
      expectError(error, 'ERR_MPMML_VALUE', names[where], `[${place.join(', ')}]`, 'max-times')
      const came = Number(/\] is (-\S+?)[:,;]/.exec((error as Error).message)?.[1])
      // As JavaScript writes numbers, with as many digits as tell which it is.
      expect(came === value || Math.abs(came / value - 1) < 1e-8, (error as Error).message).toBe(true)
      expect(out.data.every((element) => element === 77)).toBe(true)
    }
    const made = (size: Size, batch?: number) => {
      const { a, b } = otherOperands('anything', algebra, size, 27, batch)
      const [m, , n] = size
      const accumulate = randomOther('anything', algebra, batch === undefined ? [m, n] : [batch, m, n], 28)
      return { a, b, accumulate }
    }

    for (const where of ['a', 'b', 'accumulate'] as const) {
      it.each([-1, -2.5, -least, Number.NEGATIVE_INFINITY])(
        `${type}: %f in ${where} is an error`,
        (value) => {
          for (const size of [
            [1, 1, 1],
            [9, 10, 11],
            [70, 90, 110],
            [1, 1000, 30],
          ] as Size[]) {
            const matrices = made(size)
            const { data, shape } = matrices[where]
            for (const at of [0, Math.floor(data.length / 3), data.length - 1]) {
              const before = data[at]!
              data[at] = value
              refused(matrices, where, [Math.floor(at / shape[1]!), at % shape[1]!], value)
              data[at] = before
            }
            // As they were, they are fine.
            expectProduct(matrices.a, matrices.b, algebra, { backend, accumulate: matrices.accumulate })
          }
        },
      )

      it(`${type}: a negative element in ${where} that decides nothing is an error too`, () => {
        const size: Size = [5, 6, 7]
        const zeros = otherOperands('zero alone', algebra, size)
        const matrices = { ...zeros, accumulate: randomOther('above 0', algebra, [5, 7], 29) }
        matrices[where].data[4] = -3
        refused(matrices, where, [0, 4], -3)
      })

      it(`${type}: in ${where} of any layout, and of a batch`, () => {
        for (const [name, layout] of Object.entries(layouts)) {
          const matrices = made([37, 21, 43])
          const { data, shape } = matrices[where]
          data[2 * shape[1]! + 5] = -8
          const laidOut = { ...matrices, [where]: layout(matrices[where], algebra) }
          refused(laidOut, where, [2, 5], -8)
          expect(name).not.toBe('')
        }
        const batch = made([6, 5, 7], 4)
        const [, rows, cols] = batch[where].shape as [number, number, number]
        batch[where].data[2 * rows * cols + 3 * cols + 4] = -9
        refused(batch, where, [2, 3, 4], -9)
      })
    }

    it(`${type}: what is negative beside the elements is no concern`, () => {
      const { a, b } = otherOperands('above 0', algebra, ragged, 30)
      for (const layout of Object.values(layouts)) {
        expectProduct(layout(a, algebra), layout(b, algebra), algebra, { backend })
      }
    })

    it(`${type}: what out holds counts only where it is accumulated to`, () => {
      const { a, b } = otherOperands('probabilities', algebra, ragged, 31)
      const out = { data: new otherArrays[type](37 * 43).fill(-1), shape: [37, 43] }
      const options = { backend, semiring: 'max-times', out } as unknown as MpmmOptions
      const call = () => mpmmSync(a as Operand, b as Operand, { ...options, accumulate: true })
      expectError(thrown(call), 'ERR_MPMML_VALUE', '[0, 0]', '-1')
      expect(out.data.every((value) => value === -1)).toBe(true)
      mpmmSync(a as Operand, b as Operand, options)
      expect(otherMismatch(out, otherOracle(a, b, 'max-times'))).toBeUndefined()
    })

    it(`${type}: rejects the promise of mpmm`, async () => {
      const { a, b } = made(ragged)
      b.data[7] = -1
      const error = await mpmm(a as Operand, b as Operand, { semiring: 'max-times', backend }).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      expectError(error, 'ERR_MPMML_VALUE', names.b, '[0, 7]', '-1')
    })

    it(`${type}: one element of large operands, wherever it is`, () => {
      const [m, k, n] = [300, 1100, 900]
      const random = new Random(5)
      for (const where of ['a', 'b'] as const) {
        for (const at of [0, random.integer(1, m * k - 2), random.integer(1, m * k - 2), m * k - 1]) {
          const matrices = made([m, k, n])
          const { data, shape } = matrices[where]
          data[at] = -0.25
          refused(matrices, where, [Math.floor(at / shape[1]!), at % shape[1]!], -0.25)
        }
      }
    })
  }
}

export function bits(backend: Backend): void {
  const algebra: Algebra = { semiring: 'or-and', type: 'uint8' }
  const boolean = (rows: number, cols: number, value: (row: number, col: number) => number) => ({
    data: Uint8Array.from({ length: rows * cols }, (_, index) =>
      value(Math.floor(index / cols), index % cols),
    ),
    shape: [rows, cols],
  })

  it('every byte but 0 is true', () => {
    for (const k of [1, 70]) {
      const a = boolean(256, k, (row, col) => (col === (row * 7) % k ? row : 0))
      const b = boolean(k, 256, (row, col) => (row === (col * 7) % k ? col : 0))
      expectProduct(a, b, algebra, { backend })
      const all = boolean(k, 3, () => 1)
      const { c } = expectProduct(a, all, algebra, { backend })
      expect([...c.data]).toEqual(Array.from({ length: 768 }, (_, index) => (index < 3 ? 0 : 1)))
    }
  })

  it.each([1, 31, 33, 64, 65, 129, 300])('a single true in each of %i places of K', (k) => {
    // Row i of A is true at i, and column j of B at k − 1 − j: they meet where i + j = k − 1.
    const a = boolean(k, k, (row, col) => (row === col ? 1 + (row % 255) : 0))
    const b = boolean(k, k, (row, col) => (row === k - 1 - col ? 255 - (row % 255) : 0))
    const { c } = expectProduct(a, b, algebra, { backend })
    expect([...c.data].filter((value) => value === 1)).toHaveLength(k)
    for (let place = 0; place < k; place++) {
      const row = boolean(1, k, (_, col) => (col === place ? 128 : 0))
      const column = boolean(k, 1, (row) => (row === place ? 4 : 0))
      expectProduct(row, column, algebra, { backend }, `${place}`)
      expectProduct(
        row,
        boolean(k, 1, (at) => (at === place ? 0 : 1)),
        algebra,
        { backend },
        `${place}`,
      )
    }
  })

  it('everything is true, or nothing', () => {
    for (const k of [1, 64, 100, 2048]) {
      for (const [x, y] of [
        [255, 255],
        [0, 255],
        [255, 0],
        [0, 0],
      ] as const) {
        const { c } = expectProduct(
          boolean(66, k, () => x),
          boolean(k, 70, () => y),
          algebra,
          { backend },
        )
        expect([...new Set(c.data)]).toEqual([x && y ? 1 : 0])
      }
    }
  })

  it('results are 0 and 1 where C0 alone decides', () => {
    const none = boolean(4, 5, () => 0)
    const accumulate = boolean(4, 5, (row, col) => [0, 1, 2, 128, 255][(row + col) % 5]!)
    const { c } = expectProduct(
      boolean(4, 9, () => 0),
      boolean(9, 5, () => 1),
      algebra,
      { backend, accumulate },
    )
    expect([...new Set(c.data)].sort()).toEqual([0, 1])
    expectProduct(
      boolean(4, 0, () => 0),
      boolean(0, 5, () => 0),
      algebra,
      { backend, accumulate },
    )
    const out = { data: accumulate.data.slice(), shape: [4, 5] }
    mpmmSync(
      boolean(4, 1, () => 0),
      boolean(1, 5, () => 1),
      { semiring: 'or-and', backend, out, accumulate: true },
    )
    expect(
      otherMismatch(
        out,
        otherOracle(
          none,
          boolean(5, 5, () => 0),
          'or-and',
          accumulate,
        ),
      ),
    ).toBeUndefined()
  })

  it('closes a graph: walks of any length along a path of 200', () => {
    // A ⊕ A² ⊕ A⁴ … of the path 0 → 1 → 2 …: from every place every later one is reached.
    let reached: OtherMatrix = boolean(200, 200, (row, col) => (col === row + 1 || col === row ? 1 : 0))
    for (let step = 0; step < 8; step++) reached = expectProduct(reached, reached, algebra, { backend }).c
    expect([...reached.data]).toEqual([...boolean(200, 200, (row, col) => (col >= row ? 1 : 0)).data])
  })
}

export function notANumber(backend: Backend): void {
  it('NaN of either sign and any payload is no candidate', () => {
    for (const algebra of algebras.filter(({ type }) => type.startsWith('float'))) {
      for (const sign of [0x00, 0x80]) {
        for (const quiet of [0xf1, 0xff]) {
          for (const matrixName of ['a', 'b', 'accumulate'] as const) {
            const { a, b } = otherOperands('above 0', algebra, [70, 90, 110], 32)
            const accumulate = randomOther('above 0', algebra, [70, 110], 33)
            const { data } = { a, b, accumulate }[matrixName]
            const pattern = new Uint8Array(data.buffer)
            const last = 4321 * data.BYTES_PER_ELEMENT - 1
            pattern[last] = sign | 0x7f
            pattern[last - 1] = quiet
            expect(data[4320]).toBeNaN()
            const { c } = expectProduct(
              a,
              b,
              algebra,
              { backend, accumulate },
              `${sign}, ${quiet}, ${matrixName}`,
            )
            expect(c.data.some((value: number) => Number.isNaN(value))).toBe(false)
          }
        }
      }
    }
  })

  it('0 · ∞ is no candidate of max-times', () => {
    for (const type of ['float32', 'float64'] as const) {
      const algebra: Algebra = { semiring: 'max-times', type }
      const of = (rows: number, cols: number, ...values: number[]) =>
        ({ data: otherArrays[type].from(values), shape: [rows, cols] }) as OtherMatrix
      const only = (a: OtherMatrix, b: OtherMatrix) => [...expectProduct(a, b, algebra, { backend }).c.data]
      const [zero, infinity] = [0, Number.POSITIVE_INFINITY]
      expect(only(of(1, 1, zero), of(1, 1, infinity))).toEqual([0])
      expect(only(of(1, 2, zero, 2), of(2, 1, infinity, 3))).toEqual([6])
      expect(only(of(1, 2, -0, 2), of(2, 1, infinity, infinity))).toEqual([infinity])
      expect(only(of(1, 2, -0, -0), of(2, 1, 5, 7))).toEqual([0])
    }
  })
}

export function int16(backend: Backend): void {
  for (const semiring of otherSemirings.filter((name) => otherTypes[name].includes('int32'))) {
    const algebra: Algebra = { semiring, type: 'int32' }
    const filled = (length: number, seed: number) => {
      const random = new Random(seed)
      const ends = [-32768, -32767, 32766, 32767, 0, -1]
      return Int16Array.from({ length }, () =>
        random.chance(0.3) ? random.pick(ends) : random.integer(-32768, 32767),
      )
    }
    it(`${semiring}: both operands, or one`, () => {
      for (const [m, k, n] of [
        [1, 1, 1],
        [5, 3, 4],
        [65, 129, 67],
        [2, 300, 130],
        [257, 100, 263],
      ] as const) {
        const a = { data: filled(m * k, m), shape: [m, k] }
        const b = { data: filled(k * n, n + 1), shape: [k, n] }
        const wide = otherOperands('ends', algebra, [m, k, n], 34)
        const accumulate = randomOther('ends', algebra, [m, n], 35)
        for (const [left, right] of [
          [a, b],
          [a, wide.b],
          [wide.a, b],
        ] as [OtherMatrix, OtherMatrix][]) {
          expectProduct(left, right, algebra, { backend }, `${m} × ${k} × ${n}`)
          expectProduct(left, right, algebra, { backend, accumulate }, `${m} × ${k} × ${n}`)
        }
      }
    })

    it(`${semiring}: the value that is zero is zero, and the other end is itself`, () => {
      const ends = { data: Int16Array.of(-32768, 32767), shape: [2, 1] }
      const one = { data: Int32Array.of(otherOne(semiring, 'int32')), shape: [1, 1] }
      const { c } = expectProduct(ends, one, algebra, { backend })
      const zero = otherZero(semiring, 'int32')
      expect([...c.data]).toEqual(zero < 0 ? [zero, 32767] : [-32768, zero])
    })

    it(`${semiring}: in every layout, and in batches`, () => {
      // What stands beside the elements must fit int16.
      for (const [name, layout] of Object.entries({ ...layouts, ...overlappingLayouts })) {
        const a = layout({ data: filled(37 * 21, 36), shape: [37, 21] }, { semiring, type: 'uint8' })
        const b = layout({ data: filled(21 * 43, 37), shape: [21, 43] }, { semiring, type: 'uint8' })
        expectProduct(a, b, algebra, { backend }, name)
      }
      const data = filled(3 * 40 * 50, 38)
      const a = { data, shape: [2, 30, 20], strides: [2000, 1, 40], offset: 7 }
      const b = { data, shape: [20, 33], strides: [50, 1], offset: 11 }
      expectProduct(a, b, algebra, { backend })
    })
  }
}
