/** Products over semirings of logarithms, which are computed by exponentials, on a backend. */
import { afterEach, describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import { type DenseMatrix, matrix, mpmm, mpmmGrouped, openDevice } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { logSumExp, semiring } from '../../lib/semirings.js'
import { Random } from './generators.js'

/** Like `logSumExp`, but computed step by step. */
const inPairs = semiring({
  name: 'pair by pair',
  dtype: 'float32',
  zero: Number.NEGATIVE_INFINITY,
  one: 0,
  plus: (x, y, { max, log1p, exp }) =>
    max(x, y).add(log1p(exp(max(x.sub(y).abs().neg(), Number.NEGATIVE_INFINITY)))),
  times: (x, y) => x.add(y),
})

type Floats = DenseMatrix<Float32Array>
type Draw = () => number

function drawn(draw: Draw, ...shape: [number, number] | [number, number, number]): Floats {
  const length = shape.reduce((product, size) => product * size, 1)
  return { data: Float32Array.from({ length }, draw), shape } as Floats
}

/** log Σ exp(a + b) of matrices in float64, relative to the greatest sum. */
function oracle({ data: a, shape: [m, k] }: Floats, { data: b, shape }: Floats): number[] {
  const n = shape[1]!
  return Array.from({ length: m! * n }, (_, at) => {
    const [i, j] = [Math.floor(at / n), at % n]
    const sums = Array.from({ length: k! }, (_, step) => a[i * k! + step]! + b[step * n + j]!)
    const most = Math.max(...sums)
    if (!Number.isFinite(most)) return most
    return most + Math.log(sums.reduce((sum, each) => sum + Math.exp(each - most), 0))
  })
}

/** Error bound of the formula for roundings of numbers up to `scale`. */
const tolerance = (scale: number) => 2 ** -20 * Math.max(1, 2 * scale)

function expectNear(found: Float32Array, expected: readonly number[], scale: number): void {
  expect(found.length).toBe(expected.length)
  found.forEach((value, at) => {
    if (Number.isFinite(expected[at]!)) expect(Math.abs(value - expected[at]!)).toBeLessThan(tolerance(scale))
    else expect(value).toBe(expected[at])
  })
}

export function logarithmsSuite(backend: BackendName): void {
  const options = { semiring: logSumExp, backend } as const
  const random = new Random(53)
  const upTo =
    (scale: number, holes = 0): Draw =>
    () =>
      random.integer(0, 999) < 1000 * holes
        ? Number.NEGATIVE_INFINITY
        : (random.integer(-(2 ** 20), 2 ** 20) / 2 ** 20) * scale
  const ordinary = upTo(20, 0.1)

  afterEach(() => addon.pretendDevices(0))

  describe.each([0, 0.4, 0.97])('products with a share %f of zeros', (holes) => {
    it.each([1, 20, 200, 5000])('are within the error bound for elements to ±%i', async (scale) => {
      for (const [m, n, k] of [
        [37, 50, 64],
        [1, 70, 32],
        [20, 1, 333],
      ] as const) {
        const [a, b] = [drawn(upTo(scale, holes), m, k), drawn(upTo(scale, holes), k, n)]
        const { c } = await mpmm(a, b, options)
        expectNear(c.data, oracle(a, b), scale)
      }
    })
  })

  it('computes sums that exponentials can’t hold step by step', async () => {
    const [m, n, k] = [9, 70, 40]
    // Row i has its greatest elements where all columns from 3 on have their least ones.
    const a = drawn(() => 0, m, k)
    const b = drawn(() => 0, k, n)
    for (let step = 0; step < k; step++) {
      for (let i = 0; i < m; i++) a.data[i * k + step] = step < 20 ? random.integer(-5, 0) : -150
      for (let j = 3; j < n; j++) b.data[step * n + j] = step < 20 ? -150 : random.integer(-5, 0)
    }
    const { c } = await mpmm(a, b, options)
    const { c: pairs } = await mpmm(a, b, { semiring: inPairs, backend: 'cpu' })
    const isOfPairs = (_: number, at: number) => at % n >= 3
    expect(c.data.filter(isOfPairs)).toEqual(pairs.data.filter(isOfPairs))
    expect(c.data.find((value, at) => isOfPairs(value, at) && !(value > -160))).toBeUndefined()
    expectNear(c.data, oracle(a, b), 150)
  })

  it('computes infinities and NaN step by step', async () => {
    const [m, n, k] = [12, 33, 48]
    const [a, b] = [drawn(ordinary, m, k), drawn(ordinary, k, n)]
    a.data.fill(Number.NEGATIVE_INFINITY, k, 2 * k)
    a.data[2 * k + 5] = Number.POSITIVE_INFINITY
    a.data[3 * k + 7] = Number.NaN
    a.data.fill(3e38, 4 * k, 5 * k)
    b.data[9 * n + 4] = Number.POSITIVE_INFINITY
    b.data[5 * n + 6] = Number.NEGATIVE_INFINITY
    const { c } = await mpmm(a, b, options)
    const { c: pairs } = await mpmm(a, b, { semiring: inPairs, backend: 'cpu' })
    c.data.forEach((value, at) => {
      const expected = pairs.data[at]!
      if (Number.isFinite(expected) && expected < 1e38)
        expect(Math.abs(value - expected)).toBeLessThan(tolerance(40))
      else expect(value).toBe(expected)
    })
    expect([...c.data.subarray(n, 2 * n)]).toEqual(
      Array.from({ length: n }, (_, j) =>
        b.data.some((value, at) => at % n === j && value === Number.POSITIVE_INFINITY)
          ? pairs.data[n + j]
          : Number.NEGATIVE_INFINITY,
      ),
    )
    // In the row of 3e38 each sum is 3e38 up to rounding. In the row of ∞ each sum is ∞ if ∞ meets a number.
    expect(c.data[4 * n]).toBe(Math.fround(3e38))
    expect(c.data[2 * n]).toBe(Number.POSITIVE_INFINITY)
  })

  it('computes fewer than 32 steps directly', async () => {
    const [a, b] = [drawn(ordinary, 20, 31), drawn(ordinary, 31, 20)]
    const { c } = await mpmm(a, b, options)
    const { c: pairs } = await mpmm(a, b, { semiring: inPairs, backend: 'cpu' })
    expect(c.data).toEqual(pairs.data)
  })

  it('has the same bits at every target', async () => {
    const [m, n, k] = [65, 80, 70]
    const [a, b] = [drawn(ordinary, 3, m, k), drawn(upTo(300, 0.3), k, n)]
    const { c } = await mpmm(a, b, { semiring: logSumExp, backend: 'cpu' })
    const same = ({ c: found }: { c: unknown }) => expect((found as Floats).data).toEqual(c.data)
    same(await mpmm(a, b, options))
    const item = (at: number) => ({
      data: a.data.subarray(at * m * k, (at + 1) * m * k),
      shape: [m, k] as [number, number],
    })
    for (const at of [0, 1, 2]) {
      const { c: single } = await mpmm(item(at), b, options)
      expect(single.data).toEqual(c.data.subarray(at * m * n, (at + 1) * m * n))
    }
    // A single row and a single column must have the bits of the whole product.
    const row = await mpmm({ data: a.data.subarray(7 * k, 8 * k), shape: [1, k] }, b, options)
    expect(row.c.data).toEqual(c.data.subarray(7 * n, 8 * n))
    const some = { ...b, shape: [k, 3] as [number, number], strides: [n, 1] as [number, number], offset: 5 }
    const one = { ...some, shape: [k, 1] as [number, number] }
    const col = await mpmm(item(0), one, options)
    expect([...col.c.data]).toEqual(Array.from({ length: m }, (_, i) => c.data[i * n + 5]))
    const cols = await mpmm(a, some, options)
    expect([...cols.c.data]).toEqual(
      Array.from({ length: 9 * m }, (_, at) => c.data[Math.floor(at / 3) * n + 5 + (at % 3)]),
    )
    // B in column-major order.
    const transposed = new Float32Array(k * n)
    for (let step = 0; step < k; step++)
      for (let j = 0; j < n; j++) transposed[j * k + step] = b.data[step * n + j]!
    same(await mpmm(a, { data: transposed, shape: [k, n], strides: [1, k] }, options))
    const groups = await mpmmGrouped(
      [
        { a: item(2), b },
        { a: item(1), b },
      ],
      options,
    )
    expect(groups[1]!.c.data).toEqual(c.data.subarray(m * n, 2 * m * n))
    const device = await openDevice({ backend })
    try {
      const there = await mpmm(await device.upload(a), b, { semiring: logSumExp })
      same({ c: await there.c.download() })
    } finally {
      await device.close()
    }
    addon.pretendDevices(3)
    same(await mpmm(a, b, { semiring: logSumExp, devices: [0, 1, 2] }))
    const several = await openDevice({ devices: [0, 1, 2] })
    try {
      const there = await mpmm(await several.upload(a), await several.upload(b), { semiring: logSumExp })
      same({ c: await there.c.download() })
    } finally {
      await several.close()
    }
  })

  it('ignores elements outside of a structure', async () => {
    const n = 70
    const full = drawn(ordinary, n, n)
    const upper: Floats = {
      ...full,
      data: full.data.map((value, at) => (at % n < Math.floor(at / n) ? Number.NEGATIVE_INFINITY : value)),
    }
    const b = drawn(ordinary, n, n)
    const { c: expected } = await mpmm(upper, b, options)
    // Elements outside of the structure are never read.
    const poisoned: Floats = {
      ...full,
      data: full.data.map((value, at) => (at % n < Math.floor(at / n) ? Number.NaN : value)),
    }
    const { c } = await mpmm(poisoned, b, { ...options, structure: { a: 'upper' } })
    expect(c.data).toEqual(expected.data)
    const out = matrix(n, n, new Float32Array(n * n).fill(77))
    await mpmm(poisoned, b, { ...options, structure: { a: 'upper', c: { band: [2, 3] } }, out })
    out.data.forEach((value, at) => {
      const away = (at % n) - Math.floor(at / n)
      expect(value).toBe(away >= -2 && away <= 3 ? expected.data[at] : 77)
    })
  })

  it('is not affected by elements outside of a structure, not even in its bits', async () => {
    const n = 90
    const [a, b] = [drawn(upTo(20), n, n), drawn(upTo(20), n, n)]
    const none = { ...b, data: b.data.slice() }
    for (let j = 0; j < n; j++) {
      b.data[40 * n + j] = [Number.NaN, Number.POSITIVE_INFINITY][j % 2]!
      none.data[40 * n + j] = Number.NEGATIVE_INFINITY
    }
    const upper = { ...options, structure: { a: 'upper' } } as const
    const [{ c }, { c: expected }] = [await mpmm(a, b, upper), await mpmm(a, none, upper)]
    const isBelow = (_: number, at: number) => at >= 41 * n && at % 2 === 0
    expect(c.data.filter(isBelow)).toEqual(expected.data.filter(isBelow))
    // If +∞ is the greatest element of a column, all other elements have the exponential 0.
    const { c: pairs } = await mpmm(a, b, { ...upper, semiring: inPairs, backend: 'cpu' })
    const others = (_: number, at: number) => !isBelow(_, at)
    expect(c.data.filter(others)).toEqual(pairs.data.filter(others))
  })

  it('is added to the previous content', async () => {
    const [m, n, k] = [33, 47, 64]
    const [a, b, c0] = [drawn(ordinary, m, k), drawn(ordinary, k, n), drawn(upTo(50, 0.2), m, n)]
    const before = oracle(a, b)
    const expected = before.map((value, at) => {
      const most = Math.max(value, c0.data[at]!)
      return Number.isFinite(most) ? most + Math.log1p(Math.exp(-Math.abs(value - c0.data[at]!))) : most
    })
    const copy = c0.data.slice()
    const { c } = await mpmm(a, b, { ...options, accumulate: c0 })
    expectNear(c.data, expected, 50)
    expect(c0.data).toEqual(copy)
    await mpmm(a, b, { ...options, accumulate: true, out: c0 })
    expect(c0.data).toEqual(c.data)
  })
}
