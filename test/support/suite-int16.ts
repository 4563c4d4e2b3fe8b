/** Operands in Int16Arrays: the products of the same numbers in Int32Arrays, as the oracle has them. */
import { expect, it } from 'vitest'
import { type MatrixLike, mpmm, mpmmSync, plan, variants } from '../../lib/index.js'
import { semirings } from './cases.js'
import { expectAgrees, expectElements } from './expect.js'
import { type Plain, Random } from './generators.js'
import { oracle, type SemiringName, type Strided, zeroValue } from './oracle.js'
import { missing, pathOn } from './table.js'

type Int16Matrix = MatrixLike<Int16Array>

const zero16 = (semiring: SemiringName) => (semiring === 'max-plus' ? -32768 : 32767)

/** The matrix in int32, as the README says what int16 stands for. */
function inInt32({ data, ...layout }: Int16Matrix, semiring: SemiringName): Strided & MatrixLike {
  const wide = Int32Array.from(data, (value) => (value === zero16(semiring) ? zeroValue(semiring) : value))
  return { ...layout, data: wide }
}

/** Values from least to most, of which some are the zero. */
function filled(
  length: number,
  seed: number,
  least: number,
  most: number,
  zeros: number,
  semiring: SemiringName,
) {
  const random = new Random(seed)
  return Int16Array.from({ length }, () =>
    random.chance(zeros) ? zero16(semiring) : random.integer(least, most),
  )
}

const kinds: [string, [least: number, most: number, zeros: number]][] = [
  ['small', [-1000, 1000, 0]],
  ['small, ε scattered', [-1000, 1000, 0.3]],
  ['all finite values', [-32767, 32766, 0]],
  ['all finite values, ε scattered', [-32767, 32766, 0.2]],
  ['the ends', [32766, 32766, 0.5]],
  ['all ε', [0, 0, 1]],
]

export function int16Suite(backend: 'cpu' | 'cuda'): void {
  for (const semiring of semirings) {
    it.each(kinds)(`${semiring}: %s`, (name, [least, most, zeros]) => {
      for (const [m, k, n] of [
        [1, 1, 1],
        [5, 3, 4],
        [65, 129, 67],
        [2, 300, 130],
        [513, 600, 515],
      ] as const) {
        const a = { data: filled(m * k, m, least, most, zeros, semiring), shape: [m, k] }
        const b = { data: filled(k * n, n + 1, least, most, zeros, semiring), shape: [k, n] }
        const expected = oracle(inInt32(a, semiring), inInt32(b, semiring), { semiring })
        if (expected.overflow) expect.fail('sums of int16 fit int32')
        const { c } = mpmmSync(a, b, { backend, semiring })
        expect(c.data).toBeInstanceOf(Int32Array)
        expectElements(c, expected, `${name}, ${m} × ${k} × ${n}`)
      }
    })

    it(`${semiring}: beside an Int32Array of any values`, () => {
      const [m, k, n] = [70, 90, 110]
      const random = new Random(5)
      const b = {
        data: Int32Array.from({ length: k * n }, () => random.integer(-(2 ** 31) + 1, 2 ** 31 - 2)),
        shape: [k, n],
      }
      const a = { data: filled(m * k, 1, -32767, 32766, 0.1, semiring), shape: [m, k] }
      for (const [x, y] of [
        [a, b],
        [
          { ...b, shape: [n, k] },
          { ...a, shape: [k, m] },
        ],
      ] as const) {
        const widened = [x, y].map((one) =>
          one.data instanceof Int16Array ? inInt32(one as Int16Matrix, semiring) : (one as Strided),
        )
        const options = { semiring, overflow: 'saturate' } as const
        const expected = oracle(widened[0]!, widened[1]!, options)
        if (expected.overflow) expect.fail('nothing throws')
        const result = mpmmSync(x as MatrixLike, y as MatrixLike, { ...options, backend })
        expect(result.path).toBe('wide')
        expectElements(result.c, expected)
      }
    })
  }

  it('beside an Int32Array, an overflow has the sum of the numbers that stand there', () => {
    for (const [m, k, n] of [
      [1, 1, 1],
      [2, 3, 2],
      [70, 90, 110],
    ] as const) {
      for (const row of new Set([0, m - 1])) {
        // One row of A, or column of B, has sums beyond int32: 32767 + 2147483647 = 2147516414.
        const narrow = { data: new Int16Array(m * k).fill(-5), shape: [m, k] }
        narrow.data.fill(32767, row * k, (row + 1) * k)
        const wide = { data: new Int32Array(k * n).fill(2 ** 31 - 1), shape: [k, n] }
        const expected = oracle(inInt32(narrow, 'max-plus'), wide)
        expect(expected.overflow).toMatchObject({ row, col: 0, sum: 2147516414 })
        expectAgrees(expected, narrow as never, wide, { backend }, `${m} × ${k} × ${n}`)
        const turned = (x: { data: Int16Array | Int32Array; shape: number[] }) => ({
          ...x,
          shape: [x.shape[1]!, x.shape[0]!],
          strides: [1, x.shape[1]!],
        })
        const other = oracle(turned(wide) as Strided, turned(inInt32(narrow, 'max-plus') as never) as Strided)
        expectAgrees(other, turned(wide) as never, turned(narrow) as never, { backend }, 'turned')
      }
      const narrow = { data: new Int16Array(m * k).fill(-32768), shape: [m, k] }
      const wide = { data: new Int32Array(k * n).fill(-(2 ** 31)), shape: [k, n] }
      const options = { backend, semiring: 'min-plus' } as const
      const expected = oracle(inInt32(narrow, 'min-plus'), wide, options)
      expect(expected.overflow).toMatchObject({ row: 0, col: 0, sum: -2147516416 })
      expectAgrees(expected, narrow as never, wide, options)
    }
  })

  it('with strides, and in batches', async () => {
    const data = filled(3 * 40 * 50, 9, -500, 500, 0.1, 'max-plus')
    const a = { data, shape: [2, 30, 20], strides: [2000, 1, 40], offset: 7 }
    const b = { data, shape: [20, 33], strides: [50, 1], offset: 11 }
    const c0 = { data: Int32Array.from({ length: 30 * 33 }, (_, index) => index - 400), shape: [30, 33] }
    const expected = oracle(inInt32(a, 'max-plus'), inInt32(b, 'max-plus'), { c0 })
    if (expected.overflow) expect.fail('nothing throws')
    expectElements((await mpmm(a, b, { backend, accumulate: c0 })).c, expected)
  })

  it('run on every variant', () => {
    const [m, k, n] = [77, 45, 99]
    const a = { data: filled(m * k, 3, -900, 900, 0, 'max-plus'), shape: [m, k] }
    const b = { data: filled(k * n, 4, -900, 900, 0, 'max-plus'), shape: [k, n] }
    const wideA: Plain = { data: Int32Array.from(a.data), shape: [m, k] }
    const wideB: Plain = { data: Int32Array.from(b.data), shape: [k, n] }
    const expected = oracle(wideA, wideB)
    if (expected.overflow) expect.fail('nothing throws')
    const runnable = variants().filter(
      (row) =>
        row.backend === backend &&
        row.semiring === 'max-plus' &&
        row.dtype === 'int32' &&
        missing(row) === undefined &&
        pathOn(row, wideA, wideB, 'throw') !== undefined,
    )
    expect(runnable.length).toBeGreaterThan(2)
    for (const { name } of runnable) expectElements(mpmmSync(a, b, { variant: name }).c, expected, name)
  })

  it('are planned as the same numbers in Int32Arrays are', async () => {
    for (const [name, [least, most, zeros]] of kinds) {
      const operand = { data: filled(600 * 600, 2, least, most, zeros, 'max-plus'), shape: [600, 600] }
      const wide = inInt32(operand, 'max-plus')
      expect(await plan(operand, operand, { backend }), name).toEqual(await plan(wide, wide, { backend }))
    }
  })
}
