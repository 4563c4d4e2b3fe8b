/** Powers of matrices. */
import { expect, it } from 'vitest'
import { power } from '../../lib/algebra.js'
import { type Device, DeviceMatrix, type MatrixLike, openDevice } from '../../lib/index.js'
import { algebras } from './algebras.js'
import { anyPower, type Backend, elementsOf } from './closures.js'
import { caught, expectElements, expectError, expectRejected } from './expect.js'
import { expectIs, identity, random as randomElements } from './resident.js'

export function powers(backend: Backend, open: () => Device): void {
  it.each(algebras)('$semiring, $type: is the product of its factors', async (algebra) => {
    const { semiring, type } = algebra
    const a = randomElements(algebra, [6, 6], 4)
    if (type !== 'uint8' && semiring !== 'max-plus' && semiring !== 'min-plus') {
      a.data.forEach((value, index) => {
        if (Number.isFinite(value) && value !== -(2 ** 31) && value !== 2 ** 31 - 1) a.data[index] = value % 3
      })
    }
    const there = await open().upload(a)
    let last = identity(algebra, 6)
    for (let n = 0; n < 10; n++) {
      const { c, backend: took } = await anyPower(a, n, { semiring, backend })
      expect(took).toBe(backend)
      // The elements are whole numbers, so that products are exact in any order.
      if (n === 0) expect((c as MatrixLike).data).toEqual(last.data)
      else expectIs(c, { semiring, type }, last, a, undefined, `the power ${n}`)
      const { c: resident } = await anyPower(there, n, { semiring })
      expect((resident as unknown) instanceof DeviceMatrix).toBe(true)
      expect(await elementsOf(resident)).toEqual((c as MatrixLike).data)
      last = c
    }
  })

  it('accepts batches, views, int16, in place', async () => {
    const data = Int32Array.from({ length: 18 }, (_, index) => (index * 7) % 11)
    const first = await power({ data: data.slice(0, 9), shape: [3, 3] }, 5, { backend })
    const second = await power({ data: data.slice(9), shape: [3, 3] }, 5, { backend })
    const both = { data: data.slice(), shape: [2, 3, 3] }
    const { c } = await power(both, 5, { backend, out: both })
    expect(c).toBe(both)
    expect([...both.data]).toEqual([...first.c.data, ...second.c.data])
    const there = await open().upload({ data, shape: [2, 3, 3] })
    const { c: same } = await power(there, 5, { out: there })
    expect(same).toBe(there)
    expect([...(await there.download()).data]).toEqual([...both.data])
    const transposed = await power({ data: data.slice(0, 9), shape: [3, 3], strides: [1, 3] }, 5, { backend })
    expectElements({ data: transposed.c.data, shape: [3, 3], strides: [1, 3] }, {
      batch: 1,
      rows: 3,
      cols: 3,
      data: [...first.c.data],
    } as never)
    const narrow = Int16Array.of(3, -32768, 2, 1)
    for (const n of [0, 1, 2, 5]) {
      const wide = Int32Array.of(3, -(2 ** 31), 2, 1)
      const { c: result } = await power({ data: narrow, shape: [2, 2] }, n, { backend })
      expect(result.data).toEqual((await power({ data: wide, shape: [2, 2] }, n, { backend })).c.data)
    }
    for (const n of [0, 1, 2]) {
      expect((await power({ data: new Int32Array(0), shape: [0, 0] }, n, { backend })).c.shape).toEqual([
        0, 0,
      ])
    }
  })

  it('treats overflow as its products do', async () => {
    const a = { data: Int32Array.of(700_000_000), shape: [1, 1] }
    expect((await power(a, 3, { backend })).c.data[0]).toBe(2_100_000_000) // A⁴ would overflow.
    await expectRejected(power(a, 4, { backend }), 'OVERFLOW')
    expect((await power(a, 4, { backend, overflow: 'saturate' })).c.data[0]).toBe(2 ** 31 - 1)
    expect((await power(a, 4, { backend, overflow: 'wrap' })).c.data[0]).toBe(2_800_000_000 | 0)
    const out = { data: Int32Array.of(5), shape: [1, 1] }
    await expectRejected(power(a, 4, { backend, out }), 'OVERFLOW')
    expect(out.data[0]).toBe(5)
  })

  it('accepts large exponents', async () => {
    const a = { data: Float64Array.of(1, -(2 ** 10), 3, -1), shape: [2, 2] }
    expect((await power(a, Number.MAX_SAFE_INTEGER, { backend })).c.data[0]).toBe(Number.MAX_SAFE_INTEGER)
  })

  it('rejects matrices without powers', async () => {
    const a = { data: new Int32Array(4), shape: [2, 2] }
    for (const n of [-1, 1.5, Number.NaN, 2 ** 53, '2', undefined, 2n]) {
      await expectRejected(anyPower(a, n, { backend }), 'OPTION', 'exponent')
    }
    await expectRejected(anyPower({ data: new Int32Array(6), shape: [2, 3] }, 2), 'SHAPE', 'square')
    await expectRejected(
      anyPower({ data: new Float64Array(4), shape: [2, 2] }, 2, { overflow: 'wrap' }),
      'OPTION',
    )
    const negative = { data: Float64Array.of(1, -2, 3, 4), shape: [2, 2] }
    for (const n of [1, 2]) {
      const error = await caught(anyPower(negative, n, { backend, semiring: 'max-times' }))
      expectError(error, 'VALUE', 'a[0, 1]')
    }
    const disposed = await open().upload(a)
    disposed.dispose()
    await expectRejected(anyPower(disposed, 2), 'DISPOSED')
  })

  it('keeps no memory afterwards, and reports its progress', async () => {
    await using device = await openDevice({ backend })
    const a = await device.upload({ data: new Float32Array(400 * 400).fill(1), shape: [400, 400] })
    const before = device.memory().used
    const reports: number[] = []
    const { c } = await power(a, 45, { semiring: 'max-min', onProgress: ({ done }) => reports.push(done) })
    c.dispose()
    expect(reports).toEqual([...reports].sort((x, y) => x - y))
    expect(device.memory().used).toBe(before)
  })
}
