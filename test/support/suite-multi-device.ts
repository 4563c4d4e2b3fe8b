/** One product on several simulated devices: all are the same GPU, or the CPU. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import {
  type DenseMatrix,
  type MpmmOptions,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  plan,
} from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { caught, expectError, expectProduct, expectRejected } from './expect.js'
import { Random } from './generators.js'
import { errorsAfterAbort } from './in-time.js'

const DEVICES = 5
const sets = [[0, 1], [3, 1, 4], 'all'] as const
const largest = 2 ** 31 - 1

const random = new Random(17)
const integers = (rows: number, cols: number, limit = 1000, batch?: number) => {
  const data = Int32Array.from({ length: (batch ?? 1) * rows * cols }, () => random.integer(-limit, limit))
  return { data, shape: batch === undefined ? [rows, cols] : [batch, rows, cols] } as DenseMatrix
}

export function multiDeviceSuite(backend: BackendName): void {
  const options = backend === 'cuda' ? ({ backend } as const) : {}
  beforeAll(() => addon.pretendDevices(DEVICES))
  afterAll(() => addon.pretendDevices(0))

  describe('a product', () => {
    it('uses the variants of plan(), which may differ from those on one device', async () => {
      const of = (m: number, n: number, element: (row: number, col: number) => number) =>
        matrix(
          m,
          n,
          Int32Array.from({ length: m * n }, (_, index) => element(Math.floor(index / n), index % n)),
        )
      const small = (row: number, col: number) => (7 * row + 3 * col) % 9
      const [large, far] = [2 ** 31 - 2, 100_000]
      // A small range in each of five shards, by rows and by columns. Then large values that no product
      // reads, and large values that only one shard reads.
      const levels = (index: number) => far * Math.floor(index / 128)
      const cases = [
        [of(640, 140, (row, col) => levels(row) + small(row, col)), of(140, 133, small), undefined],
        [of(100, 190, small), of(190, 640, (row, col) => levels(col) + small(row, col)), undefined],
        [
          of(290, 290, (row, col) => (col > row ? large : small(row, col))),
          of(290, 133, small),
          { a: 'lower' },
        ],
        [
          of(290, 290, (row, col) => (col < row ? large : small(row, col))),
          of(290, 133, small),
          { a: 'upper' },
        ],
        [of(290, 140, (row, col) => (row > 270 ? large : small(row, col))), of(140, 133, small), undefined],
      ] as const
      for (const [a, b, structure] of cases) {
        for (const devices of sets) {
          const all = { ...options, devices, structure, overflow: 'saturate' } as MpmmOptions
          const { variant, arithmetic } = await plan(a, b, all)
          expect(await mpmm(a, b, all)).toMatchObject({ variant, arithmetic })
        }
      }
    })

    it('reports the devices that computed it, as few as it needs', async () => {
      const one = await mpmm(integers(90, 90), integers(90, 90), { ...options, devices: [2] })
      expect(one.devices).toEqual(backend === 'cuda' ? [0] : [])
      const two = await mpmm(integers(90, 90), integers(90, 90), { ...options, devices: [4, 2] })
      expect(two.devices).toEqual([2, 4])
      expect(mpmmSync(integers(90, 90), integers(90, 90), { ...options, devices: [4, 2] }).devices).toEqual([
        2, 4,
      ])
      const empty = await mpmm(matrix(900, 0), matrix(0, 90), { ...options, devices: 'all' })
      expect([...new Set(empty.c.data)]).toEqual([-(2 ** 31)])
    })
  })

  describe('a product that fails', () => {
    it('names the device that failed; the next one succeeds', async () => {
      const [a, b] = [integers(300, 200, 2e9), integers(200, 200, 100)]
      addon.failAllocation(2, 1)
      try {
        const error = await caught(mpmm(a, b, { ...options, devices: 'all', overflow: 'saturate' }))
        expectError(error, 'OUT_OF_MEMORY', /device [0-4] failed, so the whole product did/)
      } finally {
        addon.failAllocation(0)
      }
      expectProduct(integers(200, 50), integers(50, 60), { ...options, devices: 'all' })
    })

    it('names the first result that overflows, in the shard of any device', async () => {
      for (const rows of [
        [280, 20],
        [30, 290, 160],
      ]) {
        const a = matrix(300, 40, new Int32Array(300 * 40))
        for (const row of rows) a.data[row * 40 + 3] = largest
        const b = matrix(40, 33, new Int32Array(40 * 33))
        for (let k = 0; k < 40; k++) b.data[k * 33 + 5] = 7
        const error = await caught(mpmm(a, b, { ...options, devices: 'all' }))
        expectError(
          error,
          'OVERFLOW',
          new RegExp(`C\\[${Math.min(...rows)}, 5\\] is decided by the sum ${largest + 7},`),
        )
      }
    })

    it('is aborted by its signal', async () => {
      const a = integers(1500, 1500)
      const [error] = await errorsAfterAbort((signal) => [mpmm(a, a, { ...options, devices: 'all', signal })])
      expectError(error, 'ABORTED')
    })

    it('is rejected if the system refuses a thread; the next one succeeds', async () => {
      const [a, b] = [integers(290, 40), integers(40, 33)]
      const products = Array.from({ length: 20 }, () => ({ a, b }))
      for (const nth of [1, 2, 4]) {
        for (const start of [
          () => mpmmSync(a, b, { ...options, devices: 'all' }),
          () => plan(a, b, { ...options, devices: 'all' }),
          () => mpmm(a, b, { ...options, devices: 'all' }),
          () => mpmmGrouped(products, { ...options, devices: 'all' }),
        ]) {
          // In this call only the shards need threads.
          expectProduct(a, b, { ...options, devices: 'all' })
          addon.failThread(nth, 1e15)
          const error = await caught((async () => start())())
          addon.failThread(0)
          expectError(error, 'OUT_OF_MEMORY', 'refused to start a thread')
        }
      }
      expectProduct(a, b, { ...options, devices: 'all' })
    })
  })

  describe('a group', () => {
    it('names the first product that fails', async () => {
      const products = Array.from({ length: 30 }, (_, index) => ({
        a: matrix(9, 9, new Int32Array(81).fill(index === 22 || index === 13 ? largest : 1)),
        b: matrix(9, 9, new Int32Array(81).fill(1)),
      }))
      const error = await caught(mpmmGrouped(products, { ...options, devices: 'all' }))
      expectError(error, 'OVERFLOW', /^products\[13\]/)
    })
  })

  it('names the first product that fails, if a later one fails after it', async () => {
    // Each device computes one run of products. The first product of the second run takes long.
    const of = (size: number) => ({
      a: matrix(size, size, new Int32Array(size * size).fill(largest)),
      b: matrix(size, size, new Int32Array(size * size).fill(1)),
    })
    const products = [of(3), ...Array.from({ length: 8 }, () => of(400))]
    for (const devices of sets) {
      const error = await caught(mpmmGrouped(products, { ...options, devices }))
      expectError(error, 'OVERFLOW', /^products\[0\]/)
    }
  })

  it('rejects invalid devices', async () => {
    const a = integers(60, 60)
    const refused = async (more: object, ...patterns: (string | RegExp)[]) =>
      await expectRejected(mpmm(a, a, more as never), 'OPTION', ...patterns)
    await refused({ devices: [] }, 'empty list')
    await refused({ devices: [0, 1, 0] }, '0 twice')
    for (const devices of [[-1], [1.5], [52], ['0'], 'some', 3, null])
      await refused({ devices }, 'devices must be')
    await refused({ devices: [0], device: 0 }, 'device and devices')
    await refused({ devices: 'all', backend: 'cpu' }, "backend is 'cpu'")
    await expectRejected(mpmm(a, a, { devices: [1, DEVICES] }), 'NO_CUDA', `no device ${DEVICES}`, 'has 5')
  })
}
