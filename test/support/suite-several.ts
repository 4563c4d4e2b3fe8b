/** One product on several devices, which are pretended: all are the same GPU, or the CPU. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type DenseMatrix,
  type ElementArray,
  type MpmmOptions,
  type MpmmResult,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  type ProductStructure,
  plan,
  type Semiring,
} from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { expectProduct } from './expect.js'
import { Random } from './generators.js'
import { givenUp } from './in-time.js'
import { caught, expectError } from './resident.js'

const DEVICES = 5
const sets = [[0, 1], [3, 1, 4], 'all'] as const
const largest = 2 ** 31 - 1

const random = new Random(17)
const integers = (rows: number, cols: number, limit = 1000, batch?: number) => {
  const data = Int32Array.from({ length: (batch ?? 1) * rows * cols }, () => random.integer(-limit, limit))
  return { data, shape: batch === undefined ? [rows, cols] : [batch, rows, cols] } as DenseMatrix
}

const bytes = ({ data }: { data: ElementArray }) =>
  Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')

export function severalSuite(backend: 'cpu' | 'cuda'): void {
  const options = backend === 'cuda' ? ({ backend } as const) : {}
  beforeAll(() => addon.pretendDevices(DEVICES))
  afterAll(() => addon.pretendDevices(0))

  describe('a product', () => {
    it('is what the oracle says, by rows, columns and instances', () => {
      for (const devices of sets) {
        for (const [m, k, n] of [
          [290, 40, 33],
          [7, 90, 420],
          [1, 300, 300],
          [641, 3, 130],
        ] as const) {
          const result = expectProduct(
            integers(m, k),
            integers(k, n),
            { ...options, devices },
            `${m}×${k}×${n}`,
          )
          expect(result!.devices.length).toBeGreaterThan(1)
        }
        for (const batch of [2, 10, 23]) {
          expectProduct(
            integers(40, 50, 9, batch),
            integers(50, 40),
            { ...options, devices },
            `${batch} of 40×50×40`,
          )
          expectProduct(integers(9, 50, 9, batch), integers(50, 140, 9, batch), { ...options, devices })
        }
      }
    })

    it('has the same bits as on one, for each semiring and type, with witness, accumulate, int16 and strides', async () => {
      const compare = async (make: (more: MpmmOptions) => Promise<unknown>) => {
        const one = (await make(options)) as MpmmResult & { witness?: typeof one.c }
        for (const devices of sets) {
          const several = (await make({ ...options, devices })) as typeof one
          expect(bytes(several.c)).toBe(bytes(one.c))
          if (one.witness) expect(bytes(several.witness!)).toBe(bytes(one.witness))
        }
      }
      const kinds = new Map(
        addon.variants.map(({ semiring, dtype }) => [`${semiring} ${dtype}`, { semiring, dtype }]),
      )
      for (const { semiring, dtype } of kinds.values()) {
        const witness = semiring !== 'plus-times'
        const Type = { int32: Int32Array, float32: Float32Array, float64: Float64Array, uint8: Uint8Array }[
          dtype
        ]
        const of = (rows: number, cols: number) =>
          matrix(
            rows,
            cols,
            (Type as Int32ArrayConstructor).from({ length: rows * cols }, () =>
              random.integer(0, 7),
            ) as never,
          )
        const [a, b, c0] = [of(150, 70), of(70, 90), of(150, 90)]
        await compare((more) =>
          mpmm(a, b, { ...more, semiring: semiring as Semiring, accumulate: c0, witness } as never),
        )
      }
      const narrow = matrix(
        160,
        50,
        Int16Array.from({ length: 8000 }, () => random.integer(-99, 99)),
      )
      const right = integers(50, 70)
      await compare((more) => mpmm(narrow, right, more as never))
      const { data } = integers(200, 200)
      const transposed = { data, shape: [180, 60] as const, strides: [1, 200] as const, offset: 3 }
      const other = integers(60, 70)
      await compare((more) => mpmm(transposed as never, other, more as never))
    })

    it('leaves out what a structure leaves out, and nothing else', async () => {
      const structures: ProductStructure[] = [
        { a: 'upper', b: 'upper', c: 'upper' },
        { a: 'lower', b: 'upper' },
        { a: 'strictly-lower', b: 'strictly-lower', c: 'strictly-lower' },
        { a: { band: [9, 30] }, b: { band: [150, 2] }, c: { band: [40, 60] } },
        { c: { band: [-4, 2] } },
      ]
      // By rows, by columns and by instances.
      const shapes = [
        [290, 140, 133, undefined],
        [7, 190, 420, undefined],
        [70, 60, 50, 7],
      ] as const
      for (const structure of structures) {
        for (const [m, k, n, batch] of shapes) {
          const [a, b, c0] = [
            integers(m, k, 1000, batch),
            integers(k, n, 1000, batch),
            integers(m, n, 1000, batch),
          ]
          const compute = (more: MpmmOptions) => {
            const out = { ...c0, data: c0.data.slice() } as typeof c0
            return mpmm(a, b, {
              ...more,
              structure,
              out,
              accumulate: true,
              witness: true,
            } as never) as unknown as Promise<MpmmResult & { witness: DenseMatrix }>
          }
          const one = await compute(options)
          for (const devices of sets) {
            const several = await compute({ ...options, devices })
            expect(bytes(several.c)).toBe(bytes(one.c))
            expect(bytes(several.witness)).toBe(bytes(one.witness))
          }
        }
      }
    })

    it('takes the variants that plan() says, which may be others than on one', async () => {
      const of = (m: number, n: number, element: (row: number, col: number) => number) =>
        matrix(
          m,
          n,
          Int32Array.from({ length: m * n }, (_, index) => element(Math.floor(index / n), index % n)),
        )
      const small = (row: number, col: number) => (7 * row + 3 * col) % 9
      const [large, far] = [2 ** 31 - 2, 100_000]
      // Values that are close together in each of five parts, by rows and by columns; large ones that nobody reads, and that
      // one part reads.
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
          const { variant, path } = await plan(a, b, all)
          expect(await mpmm(a, b, all)).toMatchObject({ variant, path })
        }
      }
    })

    it('says which devices computed it, as few as it needs', async () => {
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
    it('names the least result that overflows, whichever device found it, and changes nothing', async () => {
      for (const devices of sets) {
        const [a, b] = [integers(300, 20), integers(20, 200)]
        b.data.fill(3)
        for (const row of [299, 111, 40]) {
          a.data[row * 20 + 4] = largest
          const out = matrix(300, 200, new Int32Array(60_000).fill(8))
          const error = await caught(mpmm(a, b, { ...options, devices, out }))
          expectError(error, 'OVERFLOW', `C\\[${row}, 0\\]`, `${largest + 3}`)
          expect(new Set(out.data)).toEqual(new Set([8]))
        }
        const wide = integers(20, 900, 0)
        wide.data[850] = wide.data[444] = largest
        const tall = matrix(7, 20, new Int32Array(140).fill(1))
        expectError(await caught(mpmm(tall, wide, { ...options, devices })), 'OVERFLOW', 'C\\[0, 444\\]')
      }
    })

    it('names the least result of a batch that overflows, however the batch is divided', async () => {
      for (const devices of sets) {
        // Instances, rows and columns are divided.
        for (const [batch, m, n] of [
          [23, 9, 7],
          [3, 290, 12],
          [3, 7, 420],
        ] as const) {
          const a = integers(m, 5, 9, batch)
          const b = { data: new Int32Array(5 * n).fill(9), shape: [5, n] } as DenseMatrix
          for (const [item, row] of [
            [batch - 1, 2],
            [batch - 2, m - 1],
            [batch - 2, 4],
          ] as const) {
            a.data[(item * m + row) * 5 + 3] = largest
            const error = await caught(mpmm(a, b, { ...options, devices }))
            expectError(error, 'OVERFLOW', `C\\[${item}, ${row}, 0\\]`)
          }
        }
      }
    })

    it('says which device failed; the next one succeeds', async () => {
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

    it('is given up by its signal', async () => {
      const a = integers(1500, 1500)
      const [error] = await givenUp((signal) => [mpmm(a, a, { ...options, devices: 'all', signal })])
      expectError(error, 'ABORTED')
    })

    it('is refused with its reason if a value is no element, as on one', async () => {
      const a = matrix(300, 20, new Float32Array(6000).fill(1))
      a.data[4321] = -1
      const b = matrix(20, 300, new Float32Array(6000).fill(1))
      for (const devices of sets) {
        const error = await caught(mpmm(a, b, { ...options, devices, semiring: 'max-times' } as never))
        expectError(error, 'VALUE', /^a\[216, 1\] is -1/)
      }
    })

    it('is refused only for a value that its structure has', async () => {
      const size = 300
      const structure = { a: 'lower', b: 'upper', c: { band: [40, 60] } } as const
      const ones = () => matrix(size, size, new Float32Array(size * size).fill(1))
      // Outside of each.
      const [a, b, c0] = [ones(), ones(), ones()]
      a.data[4] = b.data[299 * size] = c0.data[299] = -1
      for (const devices of sets) {
        const multiply = () =>
          mpmm(a, b, { ...options, devices, structure, accumulate: c0, semiring: 'max-times' } as never)
        const { c } = (await multiply()) as unknown as { c: DenseMatrix }
        expect(c.data[216 * size + 216]).toBe(1)
        for (const [name, { data }] of Object.entries({ a, accumulate: c0 })) {
          data[216 * size + 200] = -1
          expectError(await caught(multiply()), 'VALUE', new RegExp(`^${name}\\[216, 200\\] is -1`))
          data[216 * size + 200] = 1
        }
        b.data[200 * size + 216] = -1
        expectError(await caught(multiply()), 'VALUE', /^b\[200, 216\] is -1/)
        b.data[200 * size + 216] = 1
      }
    })

    it('is refused if the system refuses a thread; the next one succeeds', async () => {
      const [a, b] = [integers(290, 40), integers(40, 33)]
      const products = Array.from({ length: 20 }, () => ({ a, b }))
      for (const nth of [1, 2, 4]) {
        for (const start of [
          () => mpmmSync(a, b, { ...options, devices: 'all' }),
          () => plan(a, b, { ...options, devices: 'all' }),
          () => mpmm(a, b, { ...options, devices: 'all' }),
          () => mpmmGrouped(products, { ...options, devices: 'all' }),
        ]) {
          // Nothing but the parts needs a thread then.
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
    it('has the results of one device, in order', async () => {
      const products = Array.from({ length: 37 }, (_, index) => ({
        a: integers(5 + index, 30),
        b: integers(30, 20),
      }))
      const one = await mpmmGrouped(products, options)
      for (const devices of sets) {
        for (const some of [products, products.slice(0, 2)]) {
          const several = await mpmmGrouped(some, { ...options, devices })
          for (const [index, { c }] of several.entries()) expect(bytes(c)).toBe(bytes(one[index]!.c))
        }
      }
    })

    it('names the first product that fails', async () => {
      const products = Array.from({ length: 30 }, (_, index) => ({
        a: matrix(9, 9, new Int32Array(81).fill(index === 22 || index === 13 ? largest : 1)),
        b: matrix(9, 9, new Int32Array(81).fill(1)),
      }))
      const error = await caught(mpmmGrouped(products, { ...options, devices: 'all' }))
      expectError(error, 'OVERFLOW', '^products\\[13\\]')
    })
  })

  it('names the first product that fails, if a later one fails after it', async () => {
    // Each device takes one of the runs; the first product of the second run takes long.
    const of = (size: number) => ({
      a: matrix(size, size, new Int32Array(size * size).fill(largest)),
      b: matrix(size, size, new Int32Array(size * size).fill(1)),
    })
    const products = [of(3), ...Array.from({ length: 8 }, () => of(400))]
    for (const devices of sets) {
      const error = await caught(mpmmGrouped(products, { ...options, devices }))
      expectError(error, 'OVERFLOW', '^products\\[0\\]')
    }
  })

  it('refuses devices that make no sense', async () => {
    const a = integers(60, 60)
    const refused = async (more: object, ...patterns: (string | RegExp)[]) =>
      expectError(await caught(mpmm(a, a, more as never)), 'OPTION', ...patterns)
    await refused({ devices: [] }, 'empty list')
    await refused({ devices: [0, 1, 0] }, '0 twice')
    for (const devices of [[-1], [1.5], [52], ['0'], 'some', 3, null])
      await refused({ devices }, 'devices must be')
    await refused({ devices: [0], device: 0 }, 'device and devices')
    await refused({ devices: 'all', backend: 'cpu' }, "backend is 'cpu'")
    expectError(
      await caught(mpmm(a, a, { devices: [1, DEVICES] })),
      'NO_CUDA',
      `no device ${DEVICES}`,
      'has 5',
    )
  })
}
