/** What every backend must do in the semirings without sums: test/cpu and test/gpu run it. */
import { describe, expect, it } from 'vitest'
import {
  type ElementArray,
  type MatrixLike,
  type MpmmOptions,
  type MpmmResult,
  matrix,
  mpmm,
  mpmmSync,
  type OperandArray,
  type Semiring,
  type Variant,
  variants,
  zeroOf,
} from '../../lib/index.js'
import { policies, ragged, type Size, sizes } from './cases.js'
import { expectError, thrown } from './expect.js'
import { Random } from './generators.js'
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
  type OtherProduct,
  otherArrays,
  otherMismatch,
  otherOne,
  otherOracle,
  otherTypes,
  otherZero,
} from './semirings-oracle.js'
import { missing } from './table.js'

type Backend = 'cpu' | 'cuda'
type Options = Omit<MpmmOptions, 'semiring' | 'out' | 'accumulate'> & { accumulate?: OtherMatrix | undefined }
type Operand = MatrixLike<OperandArray>

/** Computes the product and compares it, bit for bit, with the oracle. */
function expectProduct(
  a: OtherMatrix,
  b: OtherMatrix,
  { semiring, type }: Algebra,
  options: Options,
  what = '',
  expected = otherOracle(a, b, semiring, options.accumulate),
): MpmmResult<MatrixLike<ElementArray> & OtherMatrix> {
  const result = mpmmSync(a as Operand, b as Operand, { ...options, semiring } as MpmmOptions)
  const c = result.c as unknown as OtherMatrix
  expect(otherMismatch(c, expected), `${what} ${result.variant}`).toBeUndefined()
  expect(c.data.constructor, what).toBe(otherArrays[type])
  expect(result.path).toBe('direct')
  return result as never
}

/** Depths about the words that bits are packed into, and about blocks of them. */
const depths = [31, 32, 33, 63, 64, 65, 95, 127, 128, 129, 255, 257, 511, 513, 1023, 2047, 2048, 2049]

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

function negativeElements(backend: Backend): void {
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

function bits(backend: Backend): void {
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

function notANumber(backend: Backend): void {
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

function int16(backend: Backend): void {
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

function variantSuite(variant: Variant): void {
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
