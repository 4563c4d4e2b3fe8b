/** Products of matrices on a device. */

import { expect, it } from 'vitest'
import {
  type Device,
  type DeviceMatrix,
  type MatrixLike,
  matrix,
  mpmm,
  mpmmSync,
  type OperandArray,
  plan,
  variants,
} from '../../lib/index.js'
import { type Algebra, algebras } from './algebras.js'
import { policies, ragged, semirings, sizes } from './cases.js'
import { expectElements, thrown } from './expect.js'
import { kindNames, operands, randomMatrix } from './generators.js'
import { type Dense, oracle } from './oracle.js'
import {
  caught,
  expectError,
  expectIs,
  expectSame,
  type Made,
  random,
  randomInt16,
  widened,
} from './resident.js'

type Operand = MatrixLike<OperandArray> | DeviceMatrix<OperandArray>
/** mpmm with matrices whose types are only known at run time. */
const product = mpmm as (
  a: Operand,
  b: Operand,
  options?: object,
) => Promise<Omit<Awaited<ReturnType<typeof mpmm>>, 'c'> & { c: DeviceMatrix<OperandArray> }>

export function products(backend: 'cpu' | 'cuda', open: () => Device): void {
  for (const semiring of semirings) {
    it.each(kindNames)(`${semiring}: the oracle's, %s`, async (kind) => {
      const { a, b } = operands(kind, semiring, ragged)
      const [left, right] = [await open().upload(a), await open().upload(b)]
      for (const overflow of policies) {
        const expected = oracle(a, b, { semiring, overflow })
        const running = mpmm(left, right, { semiring, overflow })
        if (expected.overflow) {
          const { row, col, sum } = expected.overflow
          const error = await caught(running)
          expectError(error, 'OVERFLOW')
          expect((error as Error).message).toContain(`C[${row}, ${col}] is decided by the sum ${sum},`)
        } else {
          const result = await running
          expect(result.backend).toBe(backend)
          expect(result.c.dtype).toBe('int32')
          expectElements(await result.c.download(), expected, overflow)
        }
      }
    })
  }

  it.each(sizes)('%i × %i × %i', async (...size) => {
    for (const semiring of semirings) {
      const { a, b } = operands('small, ε scattered', semiring, size)
      const { c } = await mpmm(await open().upload(a), await open().upload(b), { semiring })
      expectElements(await c.download(), oracle(a, b, { semiring }) as Dense)
    }
  })

  for (const algebra of algebras) {
    it(`${algebra.semiring} on ${algebra.type}: operands anywhere, C0 and out too`, async () => {
      const { semiring } = algebra
      const [a, b, c0] = [
        random(algebra, [23, 31], 1),
        random(algebra, [31, 19], 2),
        random(algebra, [23, 19], 3),
      ]
      const [A, B, C0] = [await open().upload(a), await open().upload(b), await open().upload(c0)]
      for (const [left, right, accumulate] of [
        [A, B, undefined],
        [a, B, undefined],
        [A, b, undefined],
        [A, B, C0],
        [A, B, c0],
        [a, B, c0],
        [a, b, C0],
      ]) {
        const { c } = await product(left!, right!, { semiring, accumulate })
        expect(c.shape).toEqual([23, 19])
        expect(c.dtype).toBe(algebra.type)
        expectIs(await c.download(), algebra, a, b, accumulate && c0)
      }
      const out = await open().upload(c0)
      const result = await product(A, b, { semiring, out })
      expect(result.c).toBe(out)
      expectIs(await out.download(), algebra, a, b)
      await product(a, b, { semiring, out, accumulate: C0 })
      expectIs(await out.download(), algebra, a, b, c0)
      const sum = await open().upload(c0)
      await product(A, B, { semiring, out: sum, accumulate: true })
      expectIs(await sum.download(), algebra, a, b, c0)
      await product(A, B, { semiring, out: sum, accumulate: sum })
      expectIs(await sum.download(), algebra, a, b, await out.download())
      expectSame(await A.download(), a)
      expectSame(await B.download(), b)
      expectSame(await C0.download(), c0)
    })

    it(`${algebra.semiring} on ${algebra.type}: views and transposes`, async () => {
      const { semiring } = algebra
      const [a, b] = [random(algebra, [40, 50], 4), random(algebra, [50, 40], 5)]
      const [A, B] = [await open().upload(a), await open().upload(b)]
      const left = { ...a, shape: [17, 21], strides: [50, 1], offset: 3 * 50 + 7 }
      const right = { ...b, shape: [21, 33], strides: [40, 1], offset: 40 + 2 }
      const leftView = A.view({ rows: [3, 20], cols: [7, 28] })
      const rightView = B.view({ rows: [1, 22], cols: [2, 35] })
      expectIs(await (await product(leftView, rightView, { semiring })).c.download(), algebra, left, right)
      const turnedLeft = { ...left, shape: [21, 17], strides: [1, 50] }
      const turnedRight = { ...right, shape: [33, 21], strides: [1, 40] }
      const turned = await product(rightView.transpose(), leftView.transpose(), { semiring })
      expectIs(await turned.c.download(), algebra, turnedRight, turnedLeft)
      const frame = random(algebra, [40, 40], 6)
      const out = await open().upload(frame)
      await product(leftView, rightView, { semiring, out: out.view({ rows: [5, 22], cols: [6, 39] }) })
      await product(turnedRight, turnedLeft, {
        semiring,
        out: out.view({ rows: [22, 39], cols: [0, 33] }).transpose(),
      })
      const { data } = await out.download()
      const inside = (shape: number[], strides: number[], offset: number) => ({
        data,
        shape,
        strides,
        offset,
      })
      expectIs(inside([17, 33], [40, 1], 5 * 40 + 6), algebra, left, right)
      expectIs(inside([33, 17], [1, 40], 22 * 40), algebra, turnedRight, turnedLeft)
      for (let i = 0; i < 40; i++) {
        for (let j = 0; j < 40; j++) {
          const written = (i >= 5 && i < 22 && j >= 6 && j < 39) || (i >= 22 && i < 39 && j < 33)
          if (!written) expect(data[i * 40 + j]).toBe(frame.data[i * 40 + j])
        }
      }
    })

    it(`${algebra.semiring} on ${algebra.type}: batches`, async () => {
      const { semiring } = algebra
      const [a, b] = [random(algebra, [5, 9, 11], 7), random(algebra, [5, 11, 8], 8)]
      const [one, c0] = [random(algebra, [11, 8], 9), random(algebra, [9, 8], 10)]
      const [A, B, one_, c0_] = [
        await open().upload(a),
        await open().upload(b),
        await open().upload(one),
        await open().upload(c0),
      ]
      const all = await product(A, B, { semiring })
      expect(all.c.shape).toEqual([5, 9, 8])
      expectIs(await all.c.download(), algebra, a, b)
      expectIs(await (await product(A, one_, { semiring })).c.download(), algebra, a, one)
      expectIs(await (await product(A, one, { semiring, accumulate: c0_ })).c.download(), algebra, a, one, c0)
      const item = await product(A.view({ batch: 3 }), B.view({ batch: 1 }), { semiring })
      expect(item.c.shape).toEqual([9, 8])
      expectIs(
        await item.c.download(),
        algebra,
        { ...a, shape: [9, 11], strides: [11, 1], offset: 3 * 99 },
        { ...b, shape: [11, 8], strides: [8, 1], offset: 88 },
      )
    })
  }

  it('int16 operands', async () => {
    const algebra = { semiring: 'max-plus', type: 'int32' } as const
    const [a, b] = [randomInt16([30, 40], 1), randomInt16([40, 20], 2)]
    const [A, B] = [await open().upload(a), await open().upload(b)]
    const wide = widened(b)
    for (const [left, right] of [
      [A, B],
      [A, b],
      [a, B],
      [A, wide],
      [A, await open().upload(wide)],
      [widened(a), B],
    ] as [Operand, Operand][]) {
      const { c } = await product(left, right)
      expect(c.dtype).toBe('int32')
      expectIs(await c.download(), algebra, widened(a), wide)
    }
    expectError(await caught(product(a, b, { out: A })), 'DTYPE', '^out', 'int16')
    expectError(await caught(product(a, b, { accumulate: B })), 'DTYPE', '^accumulate', 'int16')
  })

  it('without elements, and without steps', async () => {
    const [m, k, n] = [
      await open().full([0, 3], 1),
      await open().full([3, 0], 1),
      await open().full([0, 4], 1),
    ]
    expect((await (await mpmm(m, await open().full([3, 4], 1))).c.download()).shape).toEqual([0, 4])
    expect([...(await (await mpmm(k, n)).c.download()).data]).toEqual(new Array(12).fill(-(2 ** 31)))
    const c0 = await open().full([3, 4], 5)
    const { c } = await mpmm(k, n, { accumulate: c0 })
    expect([...(await c.download()).data]).toEqual(new Array(12).fill(5))
    await mpmm(k, n, { out: c0, accumulate: true, semiring: 'min-plus' })
    expect([...(await c0.download()).data]).toEqual(new Array(12).fill(5))
  })

  it('without steps, by any variant', async () => {
    const algebraOf = ({ semiring, dtype }: (typeof rows)[number]) => ({ semiring, type: dtype }) as Algebra
    const rows = variants().filter((row) => row.backend === backend)
    for (const row of rows) {
      const { semiring, name: variant } = row
      const [a, b, c0] = [
        [5, 0],
        [0, 7],
        [5, 7],
      ].map((shape) => random(algebraOf(row), shape, 1)) as [Made, Made, Made]
      const [A, B, out] = [await open().upload(a), await open().upload(b), await open().upload(c0)]
      const added = await product(A, B, { semiring, variant, out, accumulate: true })
      expect(added.variant).toBe(variant)
      expectIs(await out.download(), algebraOf(row), a, b, c0, variant)
      expect(await plan(A, B, { semiring, variant } as object)).toMatchObject({ variant })
      await product(A, B, { semiring, variant, out })
      expectIs(await out.download(), algebraOf(row), a, b, undefined, variant)
      for (const each of [A, B, out]) each.dispose()
    }
  })

  it('say what ran', async () => {
    const A = await open().upload(randomMatrix(200, 200, 1))
    for (const result of [await mpmm(A, A), mpmmSync(A, A)]) {
      expect(result.backend).toBe(backend)
      expect(result.device).toBe(open().name)
      expect(variants().find(({ name }) => name === result.variant)).toMatchObject({ backend })
      expect(result.timing.h2dMs).toBe(0)
      expect(result.timing.d2hMs).toBe(0)
      expect(result.timing.kernelMs).toBeGreaterThan(0)
      expect(result.gops).toBeCloseTo((2 * 200 ** 3) / result.timing.kernelMs / 1e6, 6)
    }
  })

  it('mpmmSync: the same, after what was asked for before', async () => {
    const [a, b] = [randomMatrix(60, 70, 1), randomMatrix(70, 50, 2)]
    const [A, B] = [await open().upload(a), await open().upload(b)]
    const expected = oracle(a, b) as Dense
    const first = mpmm(A, B)
    const out = await open().full([60, 50], 0)
    const running = mpmm(A, B, { out })
    const second = mpmmSync(A, b, { out, accumulate: true })
    expect(second.c).toBe(out)
    const third = mpmmSync(A, B)
    for (const { c } of [await first, await running, second, third])
      expectElements(await c.download(), expected)
    expectError(
      thrown(() => mpmmSync(A, A)),
      'SHAPE',
    )
    const huge = await open().full([1, 1], 2 ** 31 - 1)
    expectError(
      thrown(() => mpmmSync(huge, huge)),
      'OVERFLOW',
    )
  })

  it('plan: what computes them', async () => {
    const A = await open().upload(randomMatrix(200, 200, 1))
    const { variant, path } = await mpmm(A, A)
    expect(await plan(A, A)).toMatchObject({ backend, variant, path })
  })

  it('a variant by its name', async () => {
    const A = await open().upload(randomMatrix(20, 20, 1))
    const unasked = variants().find(
      (row) =>
        row.backend === backend && !row.automatic && row.semiring === 'max-plus' && row.dtype === 'int32',
    )!
    const { variant, c } = await mpmm(A, A, { variant: unasked.name })
    expect(variant).toBe(unasked.name)
    const plain = randomMatrix(20, 20, 1)
    expectElements(await c.download(), oracle(plain, plain) as Dense)
  })

  it('out after an overflow is as it was', async () => {
    const huge = await open().full([2, 2], 2 ** 31 - 1)
    const out = await open().full([2, 2], 5)
    const error = await caught(mpmm(huge, huge, { out }))
    expectError(error, 'OVERFLOW', 'C\\[0, 0\\]', '4294967294')
    expect([...(await out.download()).data]).toEqual([5, 5, 5, 5])
    expectError(await caught(mpmm(huge, huge, { out, accumulate: true })), 'OVERFLOW')
    expect([...(await out.download()).data]).toEqual([5, 5, 5, 5])
    await mpmm(huge, huge, { out, overflow: 'saturate' })
    expect([...(await out.download()).data]).toEqual(new Array(4).fill(2 ** 31 - 1))
  })

  it('over their own operands', async () => {
    const whole = await open().full([8, 8], 0)
    const left = whole.view({ cols: [0, 4] })
    const right = whole.view({ rows: [0, 4], cols: [4, 8] })
    const refused = async (a: DeviceMatrix, b: DeviceMatrix, options: object, ...patterns: string[]) =>
      expectError(await caught(mpmm(a, b, options)), 'SHAPE', ...patterns)
    await refused(whole, whole, { out: whole }, 'out overlaps a ')
    await refused(left, right, { out: whole.view({ cols: [3, 7] }) }, 'out overlaps a')
    await refused(left, right, { out: whole.view({ cols: [4, 8] }) }, 'out overlaps b')
    await refused(left, right, { out: left.view({ rows: [0, 8] }) }, 'out overlaps a')
    const lower = whole.view({ rows: [4, 8], cols: [4, 8] })
    await mpmm(left.view({ rows: [0, 4] }), right, { out: lower })
    const square = await open().full([4, 4], 0)
    await refused(square, square, { out: lower, accumulate: lower.transpose() }, 'out overlaps accumulate')
    await mpmm(square, square, { out: lower, accumulate: whole.view({ rows: [4, 8], cols: [4, 8] }) })
  })

  it('of shapes and types that fit no product', async () => {
    const A = await open().full([2, 3], 0)
    expectError(await caught(mpmm(A, A)), 'SHAPE', 'a \\[2, 3\\]', 'b \\[2, 3\\]', 'inner')
    const floats = await open().full([3, 2], 0, 'float32')
    expectError(await caught(product(A, floats)), 'DTYPE', '^b is of float32 and a of int32')
    expectError(await caught(product(A, matrix(3, 2), { semiring: 'or-and' })), 'DTYPE', 'or-and')
    expectError(await caught(mpmm(A, matrix(3, 2), { out: A })), 'SHAPE', '\\[2, 2\\]')
    const negative = await open().full([2, 2], -1, 'float64')
    expectError(
      await caught(product(negative, negative, { semiring: 'max-times' })),
      'VALUE',
      '^[aA]\\[',
      '-1',
    )
  })

  it.each([Float32Array, Float64Array])(
    'beside values that the semiring has not, in one memory: %o',
    async (Type) => {
      const data = Type.of(2, -5, -5, -5)
      const memory = await open().upload({ data, shape: [2, 2] })
      const inside = memory.view({ cols: [0, 1] })
      const A = memory.view({ rows: [0, 1], cols: [0, 1] })
      const { c } = await product(A, { data: Type.of(3, 0.25), shape: [1, 2] }, { semiring: 'max-times' })
      expect([...(await c.download()).data]).toEqual([6, 0.5])
      const B = { data: Type.of(1), shape: [1, 1] as [number, number] }
      expectError(await caught(product(inside, B, { semiring: 'max-times' })), 'VALUE', '^a\\[1, 0\\]', '-5')
    },
  )
}
