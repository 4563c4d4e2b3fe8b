/** Tests of combine() on matrices of a device. */
import { expect, it } from 'vitest'
import { type Device, type DeviceMatrix, matrix, type OperandArray } from '../../lib/index.js'
import { algebras } from './algebras.js'
import { caught, expectError, expectRejected } from './expect.js'
import { randomMatrix } from './generators.js'
import { expectIs, expectMatrix, identity, random, randomInt16, widened } from './resident.js'

export function combining(open: () => Device): void {
  for (const algebra of algebras) {
    it(`combines over ${algebra.semiring} on ${algebra.type}`, async () => {
      const { semiring } = algebra
      for (const shape of [
        [1, 1],
        [33, 45],
        [128, 128],
      ]) {
        const [c, d] = [random(algebra, shape, 1), random(algebra, shape, 2)]
        const one = identity(algebra, shape[0]!)
        const C = (await open().upload(c)) as DeviceMatrix<OperandArray>
        const D = (await open().upload(d)) as DeviceMatrix<OperandArray>
        expect(await C.combine(D as never, { semiring })).toBe(C)
        expectIs(await C.download(), algebra, one, d, c)
        expectMatrix(await D.download(), d)
        // One matrix is transposed, so that the strides of the two matrices differ.
        if (shape[0] === shape[1]) {
          const transposed = { ...d, strides: [1, shape[0]!] }
          const E = (await open().upload(c)) as DeviceMatrix<OperandArray>
          await E.combine(D.transpose() as never, { semiring })
          expectIs(await E.download(), algebra, one, transposed, c)
        }
        await D.combine(D as never, { semiring })
        expectIs(await D.download(), algebra, one, d, d)
      }
    })
  }

  it('combines parts, and batches', async () => {
    const [c, d] = [randomMatrix(30, 20, 1), randomMatrix(30, 20, 2)]
    const [C, D] = [await open().upload({ ...c, shape: [3, 10, 20] }), await open().upload(d)]
    await C.combine(await open().upload({ ...d, shape: [3, 10, 20] }))
    const both = c.data.map((value, index) => Math.max(value, d.data[index]!))
    expect((await C.download()).data).toEqual(both)
    const part = { rows: [2, 5], cols: [3, 9] } as const
    await C.view({ batch: 1, ...part }).combine(D.view(part), { semiring: 'min-plus' })
    for (let i = 2; i < 5; i++) {
      for (let j = 3; j < 9; j++) {
        both[200 + i * 20 + j] = Math.min(both[200 + i * 20 + j]!, d.data[i * 20 + j]!)
      }
    }
    expect((await C.download()).data).toEqual(both)
  })

  it('combines an int16 matrix into an int32 one', async () => {
    const [c, d] = [random({ semiring: 'max-plus', type: 'int32' }, [20, 30], 1), randomInt16([20, 30], 2)]
    const C = (await open().upload(c)) as DeviceMatrix
    await C.combine((await open().upload(d)) as DeviceMatrix<Int16Array>)
    const wide = widened(d)
    expect((await C.download()).data).toEqual(
      (c.data as Int32Array).map((value, index) => Math.max(value, wide.data[index]!)),
    )
  })

  it('rejects invalid calls', async () => {
    const C = await open().full([2, 3], 0)
    const combine = C.combine.bind(C) as (...values: unknown[]) => Promise<unknown>
    const refused = async (values: unknown[], code: string, ...patterns: (string | RegExp)[]) =>
      await expectRejected(combine(...values), code, ...patterns)
    const D = await open().full([2, 3], 0)
    await refused([], 'DTYPE', /^d must be a matrix/)
    await refused([matrix(2, 3)], 'DEVICE', /^d must be on the device/, 'in an array', 'upload')
    await refused([await open().full([3, 2], 0)], 'SHAPE', /d \[3, 2\]/, /\[2, 3\]/)
    await refused([await open().full([1, 2, 3], 0)], 'SHAPE', /d \[1, 2, 3\]/)
    await refused([await open().full([2, 3], 0, 'float32')], 'DTYPE', 'float32', 'int32')
    await refused([D, { semiring: 'plus-times' }], 'DTYPE', 'plus-times')
    await refused([D, { semiring: 'plus' }], 'OPTION', "'plus'")
    await refused([D, { semirings: 'max-plus' }], 'OPTION', "'semirings'")
    await refused([D, { signal: {} }], 'OPTION', 'signal')
    const reason = new Error('no need')
    const given = await caught(C.combine(D, { signal: AbortSignal.abort(reason) }))
    expectError(given, 'ABORTED')
    expect((given as Error).cause).toBe(reason)
    const whole = await open().full([4, 4], 0)
    const [top, lower] = [whole.view({ rows: [0, 3] }), whole.view({ rows: [1, 4] })]
    await expectRejected(top.combine(lower), 'SHAPE', 'overlaps')
    await expectRejected(whole.combine(whole.transpose()), 'SHAPE', 'overlaps')
    await whole.combine(whole.view())
    const narrow = (await open().upload(randomInt16([2, 2], 1))) as unknown as DeviceMatrix
    await expectRejected(narrow.combine(narrow), 'DTYPE', 'int16')
    const negative = await open().full([2, 2], -1, 'float32')
    await expectRejected(negative.combine(negative, { semiring: 'max-times' }), 'VALUE')
  })
}
