/** Special values of semirings: single bits at every position, NaN of every bit pattern, 0 · ∞. */
import { describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import { mpmmSync } from '../../lib/index.js'
import { arrays } from '../../native/tools/fuzz/algebra.mjs'
import { algebraOf, algebras, type Case, type Elements, elements, nameOf, sourceOf } from './products/case.js'
import { expectRight } from './products/law.js'
import { compute } from './products/places.js'
import { startFor, valuesFor } from './products/values.js'

export function semiringSuite(backend: BackendName): void {
  const place = { name: 'arrays', options: { backend }, expectation: { backend, timed: true } }
  /** Elements of C, after a check against the definition. */
  async function product(one: Case): Promise<number[]> {
    const outcome = await compute(place, one, 'new')
    expectRight(one, outcome, place.expectation)
    return Array.from(outcome.c!.data)
  }

  describe('or-and', () => bits(backend, product))
  describe('xor-and', () => parities(product))
  describe('floats', () => notANumber(product))
}

type Product = (one: Case) => Promise<number[]>

function bits(backend: BackendName, product: Product): void {
  const algebra = algebraOf('or-and', 'uint8')
  const boolean = (rows: number, cols: number, value: (row: number, col: number) => number) =>
    elements(
      Uint8Array.from({ length: rows * cols }, (_, index) => value(Math.floor(index / cols), index % cols)),
      rows,
      cols,
    )
  const multiply = (a: Elements, b: Elements, c0?: Elements) => product({ algebra, a, b, c0, what: 'bits' })

  it('treats every byte but 0 as true', async () => {
    for (const k of [1, 70]) {
      const a = boolean(256, k, (row, col) => (col === (row * 7) % k ? row : 0))
      await multiply(
        a,
        boolean(k, 256, (row, col) => (row === (col * 7) % k ? col : 0)),
      )
      const data = await multiply(
        a,
        boolean(k, 3, () => 1),
      )
      expect(data).toEqual(Array.from({ length: 768 }, (_, index) => (index < 3 ? 0 : 1)))
    }
  })

  it.each([1, 31, 33, 64, 65, 129, 300])(
    'finds a single true element at each of %i positions of K',
    async (k) => {
      // Row i of A is true at i, and column j of B at k − 1 − j. C[i, j] is true if i + j = k − 1.
      const a = boolean(k, k, (row, col) => (row === col ? 1 + (row % 255) : 0))
      const b = boolean(k, k, (row, col) => (row === k - 1 - col ? 255 - (row % 255) : 0))
      expect((await multiply(a, b)).filter((value) => value === 1)).toHaveLength(k)
      for (let at = 0; at < k; at++) {
        const row = boolean(1, k, (_, col) => (col === at ? 128 : 0))
        await multiply(
          row,
          boolean(k, 1, (step) => (step === at ? 4 : 0)),
        )
        await multiply(
          row,
          boolean(k, 1, (step) => (step === at ? 0 : 1)),
        )
      }
    },
  )

  it('is right if everything is true, or nothing', async () => {
    for (const k of [1, 64, 100, 2048]) {
      for (const [x, y] of [
        [255, 255],
        [0, 255],
        [255, 0],
        [0, 0],
      ] as const) {
        const data = await multiply(
          boolean(66, k, () => x),
          boolean(k, 70, () => y),
        )
        expect([...new Set(data)]).toEqual([x && y ? 1 : 0])
      }
    }
  })

  it('returns 0 and 1 where C0 alone decides', async () => {
    const c0 = boolean(4, 5, (row, col) => [0, 1, 2, 128, 255][(row + col) % 5]!)
    const data = await multiply(
      boolean(4, 9, () => 0),
      boolean(9, 5, () => 1),
      c0,
    )
    expect([...new Set(data)].sort()).toEqual([0, 1])
  })

  it('closes a graph: walks of any length along a path of 200', () => {
    // A ⊕ A² ⊕ A⁴ … of the path 0 → 1 → 2 …: every node reaches every later one.
    let reached = sourceOf(boolean(200, 200, (row, col) => (col === row + 1 || col === row ? 1 : 0)))
    for (let step = 0; step < 8; step++)
      reached = mpmmSync(reached as never, reached as never, { semiring: 'or-and', backend }).c as never
    expect([...reached.data]).toEqual([...boolean(200, 200, (row, col) => (col >= row ? 1 : 0)).data])
  })
}

/** Tests of the field of two elements, with rows and columns as integers of many bits. */
function parities(product: Product): void {
  const algebra = algebraOf('xor-and', 'uint8')
  const word = (values: ArrayLike<number>) =>
    BigInt(`0b${Array.from(values, (value) => (value ? 1 : 0)).join('') || 0}`)
  /** Returns the parity of up to 4096 bits: each half of them is folded onto the other. */
  function isOdd(bits: bigint): number {
    let folded = bits
    for (let half = 2048n; half > 0n; half >>= 1n) folded ^= folded >> half
    return Number(folded & 1n)
  }
  const row = ({ data, cols }: Elements, i: number) => data.subarray(i * cols, (i + 1) * cols)
  const col = ({ data, rows, cols }: Elements, j: number) =>
    Array.from({ length: rows }, (_, k) => data[k * cols + j]!)

  it.each([
    [1, 1, 1],
    [3, 63, 5],
    [17, 64, 33],
    [40, 65, 24],
    [130, 1025, 70],
    [150, 3000, 140],
  ] as const)('are right for %i × %i × %i', async (...size) => {
    const [m, , n] = size
    for (const kind of ['few bits', 'any bytes', 'all true']) {
      const [a, b] = valuesFor(algebra, kind, size)
      const c0 = startFor(algebra, 'any bytes', m, n)
      const [rows, cols] = [
        Array.from({ length: m }, (_, i) => word(row(a, i))),
        Array.from({ length: n }, (_, j) => word(col(b, j))),
      ]
      const expected = rows.flatMap((x) => cols.map((y) => isOdd(x & y)))
      expect(await product({ algebra, a, b, what: kind })).toEqual(expected)
      const added = expected.map((value, index) => (c0.data[index] ? 1 - value : value))
      expect(await product({ algebra, a, b, c0, what: `${kind}, onto C0` })).toEqual(added)
    }
  })
}

function notANumber(product: Product): void {
  it.each(algebras.filter(({ isFloat }) => isFloat).map((one) => [nameOf(one), one] as const))(
    '%s: NaN of either sign and any payload',
    async (_, algebra) => {
      for (const kind of ['from 0 up', 'from 0 down', 'above 0']) {
        for (const [sign, quiet] of [0x00, 0x80].flatMap((sign) =>
          [0xf1, 0xff].map((quiet) => [sign, quiet] as const),
        )) {
          for (const name of ['a', 'b', 'c0'] as const) {
            const [a, b] = valuesFor(algebra, kind, [70, 90, 110])
            const one = {
              algebra,
              a,
              b,
              c0: startFor(algebra, kind, 70, 110),
              what: `${kind}, ${sign}, ${quiet}, ${name}`,
            }
            const { data } = one[name]
            const pattern = new Uint8Array(data.buffer)
            const last = 4321 * data.BYTES_PER_ELEMENT - 1
            pattern[last] = sign | 0x7f
            pattern[last - 1] = quiet
            expect(data[4320]).toBeNaN()
            const found = await product(one)
            if (algebra.kind !== 'ordinary') expect(found.some(Number.isNaN)).toBe(false)
          }
        }
      }
    },
  )

  it.each(['float32', 'float64'] as const)(
    'ignore 0 · ∞ as a candidate of max-times on %s',
    async (dtype) => {
      const algebra = algebraOf('max-times', dtype)
      const of = (rows: number, cols: number, ...values: number[]) =>
        elements(arrays[dtype].from(values), rows, cols)
      const only = (a: Elements, b: Elements) => product({ algebra, a, b, what: '0 · ∞' })
      const [zero, infinity] = [0, Number.POSITIVE_INFINITY]
      expect(await only(of(1, 1, zero), of(1, 1, infinity))).toEqual([0])
      expect(await only(of(1, 2, zero, 2), of(2, 1, infinity, 3))).toEqual([6])
      expect(await only(of(1, 2, -0, 2), of(2, 1, infinity, infinity))).toEqual([infinity])
      expect(await only(of(1, 2, -0, -0), of(2, 1, 5, 7))).toEqual([0])
    },
  )
}
