/** Products of matrices on a device. */
import { expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
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
import { algebras } from './algebras.js'
import { expectElements, expectRejected, expectThrown } from './expect.js'
import { randomMatrix } from './generators.js'
import { type Dense, oracle } from './oracle.js'
import { expectIs, expectMatrix, random, randomInt16, widened } from './resident.js'

type Operand = MatrixLike<OperandArray> | DeviceMatrix<OperandArray>
/** mpmm with matrices whose types are only known at run time. */
const product = mpmm as (
  a: Operand,
  b: Operand,
  options?: object,
) => Promise<Omit<Awaited<ReturnType<typeof mpmm>>, 'c'> & { c: DeviceMatrix<OperandArray> }>

export function products(backend: BackendName, open: () => Device): void {
  for (const algebra of algebras) {
    it(`compute ${algebra.semiring} on ${algebra.type}: operands on the host and the device, C0 and out too`, async () => {
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
      expectMatrix(await A.download(), a)
      expectMatrix(await B.download(), b)
      expectMatrix(await C0.download(), c0)
    })
  }

  it('accept int16 operands', async () => {
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
    await expectRejected(product(a, b, { out: A }), 'DTYPE', /^out/, 'int16')
    await expectRejected(product(a, b, { accumulate: B }), 'DTYPE', /^accumulate/, 'int16')
  })

  it('report the variant', async () => {
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

  it('are computed by mpmmSync after earlier work', async () => {
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
    expectThrown(() => mpmmSync(A, A), 'SHAPE')
    const huge = await open().full([1, 1], 2 ** 31 - 1)
    expectThrown(() => mpmmSync(huge, huge), 'OVERFLOW')
  })

  it('are planned by plan', async () => {
    const A = await open().upload(randomMatrix(200, 200, 1))
    const { variant, arithmetic } = await mpmm(A, A)
    expect(await plan(A, A)).toMatchObject({ backend, variant, arithmetic })
  })

  it('use a variant by its name', async () => {
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

  it('may overwrite their own operands', async () => {
    const whole = await open().full([8, 8], 0)
    const left = whole.view({ cols: [0, 4] })
    const right = whole.view({ rows: [0, 4], cols: [4, 8] })
    const refused = async (
      a: DeviceMatrix,
      b: DeviceMatrix,
      options: object,
      ...patterns: (string | RegExp)[]
    ) => await expectRejected(mpmm(a, b, options), 'SHAPE', ...patterns)
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

  it('are rejected for shapes and types that fit no product', async () => {
    const A = await open().full([2, 3], 0)
    await expectRejected(mpmm(A, A), 'SHAPE', /a \[2, 3\]/, /b \[2, 3\]/, 'inner')
    const floats = await open().full([3, 2], 0, 'float32')
    await expectRejected(product(A, floats), 'DTYPE', /^b is of float32 and a of int32/)
    await expectRejected(product(A, matrix(3, 2), { semiring: 'or-and' }), 'DTYPE', 'or-and')
    await expectRejected(mpmm(A, matrix(3, 2), { out: A }), 'SHAPE', /\[2, 2\]/)
    const negative = await open().full([2, 2], Number.NEGATIVE_INFINITY, 'float64')
    await expectRejected(
      product(negative, negative, { semiring: 'max-times' }),
      'VALUE',
      /^[aA]\[/,
      '-Infinity',
    )
  })

  it.each([Float32Array, Float64Array])(
    'ignore values that are invalid in the semiring, elsewhere in the same memory: %o',
    async (Type) => {
      const data = Type.of(2, -5, -5, -5)
      const memory = await open().upload({ data, shape: [2, 2] })
      const inside = memory.view({ cols: [0, 1] })
      const A = memory.view({ rows: [0, 1], cols: [0, 1] })
      const { c } = await product(A, { data: Type.of(3, 0.25), shape: [1, 2] }, { semiring: 'max-times' })
      expect([...(await c.download()).data]).toEqual([6, 0.5])
      const B = { data: Type.of(1), shape: [1, 1] as [number, number] }
      await expectRejected(product(inside, B, { semiring: 'max-times' }), 'VALUE', /^a\[1, 0\]/, '-5')
    },
  )
}
