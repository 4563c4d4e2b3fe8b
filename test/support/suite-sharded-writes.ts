/**
 * Writes into matrices that are sharded over several devices. The devices cache copies of the matrices, and
 * must not read stale copies.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { star } from '../../lib/algebra.js'
import { type Device, type DeviceMatrix, EPSILON, matrix, mpmm, openDevice } from '../../lib/index.js'
import { errorWithoutMemory } from './expect.js'
import { Random } from './generators.js'

const n = 48
const square = (element: (row: number, col: number) => number) =>
  Int32Array.from({ length: n * n }, (_, index) => element(Math.floor(index / n), index % n))
const identity = matrix(
  n,
  n,
  square((row, col) => (row === col ? 0 : EPSILON)),
)

type Rows = readonly [number, number]
type Values = Int32Array<ArrayBuffer>

export function shardedWrites(open: () => Device): void {
  const random = new Random(11)
  const values = () => square(() => random.integer(-999, 999))
  let two: Device
  beforeAll(async () => {
    two = await openDevice({ devices: [0, 1] })
  })
  afterAll(() => two.close())
  /** A device that needs half of a matrix or more copies the whole matrix. */
  const cases: { name: string; at: () => Device; rows: Rows; others: Rows }[] = [
    { name: 'two devices', at: () => two, rows: [0, n / 2], others: [n / 2, n] },
    { name: 'two devices, the other half', at: () => two, rows: [n / 2, n], others: [0, n / 2] },
    { name: 'three devices', at: open, rows: [0, n / 3], others: [n / 3, n] },
    { name: 'three devices, the last rows', at: open, rows: [(2 * n) / 3, n], others: [0, (2 * n) / 3] },
  ]
  const upload = (at: Device, data: Values) => at.upload(matrix(n, n, data))

  /**
   * Fails unless the copies of the whole matrix that devices read as an operand equal its downloaded rows.
   */
  async function expectSame(there: DeviceMatrix, expected?: Values) {
    const one = await there.device.upload(identity)
    const rows = (await there.download()).data
    const { c } = await mpmm(one, there)
    expect(Array.from((await c.download()).data)).toEqual(Array.from(rows))
    if (expected) expect(Array.from(rows)).toEqual(Array.from(expected))
    one.dispose()
    c.dispose()
  }

  it.each(cases)('$name: combines a part with others', async ({ at, rows, others }) => {
    const height = rows[1] - rows[0]
    for (const isFresh of [true, false]) {
      const host = values()
      const there = await upload(at(), host)
      if (isFresh) await expectSame(there, host)
      for (const first of [others[0], others[1] - height]) {
        await there.view({ rows }).combine(there.view({ rows: [first, first + height] }))
        for (let index = 0; index < height * n; index++) {
          const to = rows[0] * n + index
          host[to] = Math.max(host[to]!, host[first * n + index]!)
        }
        await expectSame(there, host)
      }
    }
  })

  it.each(cases)('$name: combines a part with a transpose', async ({ at, rows, others }) => {
    const [height, width] = [rows[1] - rows[0], others[1] - others[0]]
    for (const isFresh of [true, false]) {
      const host = values()
      const there = await upload(at(), host)
      if (isFresh) await expectSame(there, host)
      const combined = () => {
        for (let row = 0; row < height; row++) {
          for (let col = 0; col < width; col++) {
            const to = (rows[0] + row) * n + col
            host[to] = Math.max(host[to]!, host[(others[0] + col) * n + row]!)
          }
        }
      }
      const part = there.view({ rows, cols: [0, width] })
      const other = there.view({ rows: others, cols: [0, height] })
      await part.combine(other.transpose())
      combined()
      await expectSame(there, host)
      // The written part of a transposed matrix isn't sharded by rows.
      await other.transpose().combine(part)
      for (let row = 0; row < height; row++) {
        for (let col = 0; col < width; col++) {
          const to = (others[0] + col) * n + row
          host[to] = Math.max(host[to]!, host[(rows[0] + row) * n + col]!)
        }
      }
      await expectSame(there, host)
    }
  })

  it.each(cases)('$name: writes a part as the product of others', async ({ at, rows, others }) => {
    const depth = others[1] - others[0]
    for (const options of [{}, { accumulate: true }] as const) {
      const [host, factor] = [values(), values()]
      const [there, left] = [await upload(at(), host), await upload(at(), factor)]
      const [out, b] = [there.view({ rows }), there.view({ rows: others })]
      await mpmm(left.view({ rows, cols: [0, depth] }), b, { ...options, out })
      for (let row = rows[0]; row < rows[1]; row++) {
        for (let col = 0; col < n; col++) {
          let best = options.accumulate ? host[row * n + col]! : EPSILON
          for (let k = 0; k < depth; k++) {
            best = Math.max(best, factor[row * n + k]! + host[(others[0] + k) * n + col]!)
          }
          host[row * n + col] = best
        }
      }
      await expectSame(there, host)
    }
  })

  it('replaces a matrix by its own closure', async () => {
    const host = values().map((value) => -1000 - Math.abs(value))
    const there = await upload(open(), host)
    await expectSame(there, host)
    await star(there, { out: there })
    const expected = host.slice()
    for (let k = 0; k < n; k++) {
      for (let index = 0; index < n * n; index++) {
        const [from, to] = [index - (index % n), index % n]
        expected[index] = Math.max(expected[index]!, expected[from + k]! + expected[k * n + to]!)
      }
    }
    for (let node = 0; node < n; node++) expected[node * n + node] = 0
    await expectSame(there, expected)
  })

  it('combines all of a matrix or nothing, if a device has no memory', async () => {
    const other = await upload(two, values())
    const at = (await other.download()).data
    let failures = 0
    for (let nth = 1; nth <= 6; nth++) {
      const host = values()
      const there = await upload(two, host)
      const combined = square((row, col) => Math.max(host[row * n + col]!, at[col * n + row]!))
      const failed = (await errorWithoutMemory(() => there.combine(other.transpose()), nth)) !== undefined
      if (failed) failures++
      await expectSame(there, failed ? host : combined)
      there.dispose()
    }
    expect(failures).toBeGreaterThan(1)
    other.dispose()
  })

  it('restores copies after a write that failed', async () => {
    const [there, other] = [await upload(two, values()), await upload(two, values())]
    const writes = [
      () => there.view({ rows: [0, n / 2] }).combine(there.view({ rows: [n / 2, n] })),
      () => there.transpose().combine(other),
      () => mpmm(there, there.transpose(), { out: other, accumulate: true }),
      () => mpmm(other, other, { out: there.transpose() }),
      () => mpmm(other, other, { out: there, accumulate: true }),
    ]
    for (const write of writes) {
      for (let nth = 1; nth <= 12; nth++) {
        await expectSame(there)
        await expectSame(other)
        await errorWithoutMemory(write, nth)
        await expectSame(there)
        await expectSame(other)
      }
    }
  })
}
