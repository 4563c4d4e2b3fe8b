/** Behaviour that only two GPUs of one host show. */
import { afterEach, expect, it } from 'vitest'
import {
  type DeviceMatrix,
  EPSILON,
  type MatrixLike,
  matrix,
  mpmm,
  openDevice,
  plan,
} from '../../lib/index.js'
import { kBest } from '../../lib/semirings.js'
import { expectRejected } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { withoutTwo } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

const random = new Random(27)
const integers = (rows: number, cols: number) =>
  matrix(
    rows,
    cols,
    Int32Array.from({ length: rows * cols }, () => random.integer(-(10 ** 8), 10 ** 8)),
  )

const expectSame = ({ data }: MatrixLike, expected: MatrixLike) => {
  const wrong = (data as Int32Array).findIndex((value, index) => value !== expected.data[index])
  expect(wrong).toBe(-1)
}

describeUnless(withoutTwo(), 'cuda', () => {
  afterEach(() => {
    delete process.env.MPMML_DEVICE_MEMORY_MIB
  })

  it('compute products of a B with fewer lines than GPUs', async () => {
    const [a, b] = [integers(256, 1), integers(1, 2 ** 21)]
    const { c } = await mpmm(a, b, { devices: 'all', backend: 'cuda' })
    for (let sample = 0; sample < 2 ** 20; sample++) {
      const [row, col] = [random.integer(0, 255), random.integer(0, 2 ** 21 - 1)]
      if (c.data[row * 2 ** 21 + col] === a.data[row]! + b.data[col]!) continue
      expect.fail(`C[${row}, ${col}] is ${c.data[row * 2 ** 21 + col]}`)
    }
  })

  it('compute products for which only one of them has memory', async () => {
    const [a, b] = [integers(512, 40_000), integers(40_000, 512)]
    const { c: expected } = await mpmm(a, b, { backend: 'cpu', overflow: 'saturate' })
    process.env.MPMML_DEVICE_MEMORY_MIB = '300'
    const options = { backend: 'cuda', overflow: 'saturate' } as const
    for (const [full, other] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const device = await openDevice({ device: full })
      // The matrix stays referenced, because a collected matrix releases its memory.
      const filling = await device.full([290, 2 ** 18], 0)
      const { c, devices } = await mpmm(a, b, { ...options, devices: [0, 1] })
      expect(devices).toEqual([other])
      expectSame(c, expected)
      expect((await plan(a, b, { ...options, devices: [0, 1] })).backend).toBe('cuda')
      // If neither GPU has the memory, CUDA can't compute the product.
      const second = await openDevice({ device: other })
      const fillingToo = await second.full([290, 2 ** 18], 0)
      await expectRejected(mpmm(a, b, { ...options, devices: [0, 1] }), 'OUT_OF_MEMORY', 'a single block')
      const automatic = await mpmm(a, b, { devices: [0, 1], overflow: 'saturate' })
      expect(automatic.backend).toBe('cpu')
      expectSame(automatic.c, expected)
      filling.dispose()
      fillingToo.dispose()
      await device.close()
      await second.close()
    }
  })

  it('compute products over a custom semiring: of arrays, and of sharded matrices', async () => {
    const [n, k] = [1100, 900]
    const lanes = (rows: number, cols: number) => {
      const first = integers(rows, cols)
      return [first, { ...first, data: first.data.map((value) => value - 7) }] as const
    }
    const [a, b, c0] = [lanes(n, k), lanes(k, n), lanes(n, n)]
    const own = kBest('max-plus', 2)
    const { c: expected } = await mpmm(a, b, { semiring: own, accumulate: c0, device: 0, backend: 'cuda' })
    const options = { semiring: own, accumulate: c0, devices: [0, 1] } as const
    const result = await mpmm(a, b, { ...options, backend: 'cuda' })
    expect(result.devices).toEqual([0, 1])
    result.c.forEach((lane, at) => {
      expectSame(lane, expected[at]!)
    })
    await using device = await openDevice({ devices: [0, 1] })
    const upload = async (both: readonly [MatrixLike<Int32Array>, MatrixLike<Int32Array>]) =>
      [await device.upload(both[0]), await device.upload(both[1])] as const
    const [A, B, C] = [await upload(a), await upload(b), await upload(c0)]
    for (const [left, right] of [
      [A, B],
      [a, B],
      [A, b],
    ] as const) {
      const { c, devices } = await mpmm(left as typeof A, right as typeof B, { semiring: own, accumulate: C })
      expect(devices).toEqual([0, 1])
      for (const [at, lane] of c.entries()) expectSame(await lane.download(), expected[at]!)
    }
    // The result is written into columns, so that no GPU has a whole row.
    const { c: alone } = await mpmm(a, b, { semiring: own, device: 0, backend: 'cuda' })
    const columns = [await device.full([n, n], 0), await device.full([n, n], 0)] as const
    await mpmm(A, B, { semiring: own, out: [columns[0].transpose(), columns[1].transpose()] })
    for (const [at, lane] of columns.entries()) {
      const { data } = await lane.download()
      const transposed = alone[at]!.data.map((_, index) => data[(index % n) * n + Math.floor(index / n)]!)
      expectSame(alone[at]!, { data: transposed, shape: [n, n] })
    }
  })

  it('copy sharded matrices, after parts of these have been written', async () => {
    const n = 512
    await using device = await openDevice({ devices: [0, 1] })
    const one = await device.upload(
      matrix(
        n,
        n,
        Int32Array.from({ length: n * n }, (_, index) => (index % (n + 1) === 0 ? 0 : EPSILON)),
      ),
    )
    const expectCopies = async (there: DeviceMatrix) => {
      const { c } = await mpmm(one, there)
      expectSame(await c.download(), await there.download())
      c.dispose()
    }
    const there = await device.upload(integers(n, n))
    const [upper, lower] = [there.view({ rows: [0, n / 2] }), there.view({ rows: [n / 2, n] })]
    for (const [part, other] of [
      [upper, lower],
      [lower, upper],
      [upper.view({ cols: [0, n / 2] }), lower.view({ cols: [n / 2, n] }).transpose()],
      [upper.view({ cols: [0, n / 2] }).transpose(), lower.view({ cols: [0, n / 2] })],
    ] as const) {
      await part.combine(other)
      await expectCopies(there)
    }
    await mpmm(there.view({ rows: [0, n / 2], cols: [0, n / 2] }), await device.upload(integers(n / 2, n)), {
      out: await device.full([n / 2, n], 0),
    })
    await expectCopies(there)
  })

  it('reject other devices for matrices of one of them', async () => {
    await using device = await openDevice({ device: 1 })
    const a = await device.full([40, 40], 1)
    expect((await mpmm(a, a, { devices: [1] })).devices).toEqual([1])
    await expectRejected(
      mpmm(a, a, { devices: 'all' }),
      'OPTION',
      /^option devices is 'all', but/,
      'device 1',
    )
    await expectRejected(mpmm(a, a, { devices: [0, 1] }), 'OPTION', /devices is \[0, 1\], but/)
  })
})
