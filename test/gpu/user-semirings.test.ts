/** Products over custom semirings, on a GPU. */
import { afterEach, describe, expect, it } from 'vitest'
import { type DenseMatrix, mpmm } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { kBest } from '../../lib/semirings.js'
import { expectRejected } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { userSemiringSuite } from '../support/suite-user-semirings.js'
import { greatestSums } from '../support/user-semirings.js'

const random = new Random(31)
const integers = (...shape: [number, number] | [number, number, number]) => {
  const length = shape.reduce((product, size) => product * size, 1)
  const data = Int32Array.from({ length }, () => random.integer(-(10 ** 6), 10 ** 6))
  return { data, shape } as DenseMatrix<Int32Array>
}

/** Little memory for products. */
function memoryTests(): void {
  afterEach(() => {
    delete process.env.MPMML_DEVICE_MEMORY_MIB
    addon.pretendDevices(0)
  })
  it.each([1, 3, 12])('has the same bits in parts with %i MiB', async (mebibytes) => {
    const twoBest = kBest('max-plus', 2)
    const [a, b, c0] = [integers(2, 300, 400), integers(400, 501), integers(2, 300, 501)]
    const lanes = (one: DenseMatrix<Int32Array>) =>
      [one, { ...one, data: one.data.map((value) => value - 1) }] as const
    const expected = await mpmm(a, b, {
      semiring: greatestSums,
      accumulate: c0,
      witness: true,
      backend: 'cpu',
    })
    const pairs = await mpmm(lanes(a), lanes(b), { semiring: twoBest, backend: 'cpu' })
    process.env.MPMML_DEVICE_MEMORY_MIB = String(mebibytes)
    const options = { semiring: greatestSums, accumulate: c0, witness: true, backend: 'cuda' } as const
    addon.pretendDevices(3)
    for (const where of [{}, { devices: [0] }, { devices: [0, 1, 2] }]) {
      const result = await mpmm(a, b, { ...options, ...where })
      expect(result.c.data).toEqual(expected.c.data)
      expect(result.witness.data).toEqual(expected.witness.data)
    }
    const both = await mpmm(lanes(a), lanes(b), { semiring: twoBest, backend: 'cuda' })
    expect(both.c.map(({ data }) => data)).toEqual(pairs.c.map(({ data }) => data))
  })

  it('reports the memory that a part needs, and leaves it to the CPU unless a GPU was requested', async () => {
    const [a, b] = [integers(2, 2 ** 21), integers(2 ** 21, 2)]
    const { c: expected } = await mpmm(a, b, { semiring: greatestSums, backend: 'cpu' })
    process.env.MPMML_DEVICE_MEMORY_MIB = '5'
    const out = { data: new Int32Array(4).fill(77), shape: [2, 2] as [number, number] }
    await expectRejected(
      mpmm(a, b, { semiring: greatestSums, backend: 'cuda', out }),
      'OUT_OF_MEMORY',
      /a part of the product needs [\d.,]+ MiB of device memory, but device 0 has [\d.,]+ MiB for it: choose backend 'cpu'/,
    )
    expect([...out.data]).toEqual([77, 77, 77, 77])
    const { c, backend } = await mpmm(a, b, { semiring: greatestSums })
    expect([backend, ...c.data]).toEqual(['cpu', ...expected.data])
  })

  it('delays concurrent products until others release memory', async () => {
    const [a, b] = [integers(2048, 2048), integers(2048, 2048)]
    const expected = await mpmm(a, b, { backend: 'cuda' })
    process.env.MPMML_DEVICE_MEMORY_MIB = '150'
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        index % 3 === 0
          ? mpmm(a, b, { backend: 'cuda' })
          : mpmm(a, b, { semiring: greatestSums, backend: 'cuda' }),
      ),
    )
    for (const { c } of all)
      expect(Buffer.compare(Buffer.from(c.data.buffer), Buffer.from(expected.c.data.buffer))).toBe(0)
  })
}

describeUnless(withoutCuda(), 'cuda', () => {
  userSemiringSuite('cuda')
  describe('little memory', memoryTests)
})
