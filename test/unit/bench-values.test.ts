/** Values of the operands in `mpmml bench`. */
import { describe, expect, it } from 'vitest'
import { typesOf } from '../../bench/dtype.js'
import { operandsOf, randomMatrix, type ValueKind, valueKinds } from '../../bench/timing/values.js'
import { mpmmSync } from '../../lib/index.js'

const shape = (size: number) => ({ batch: 1, m: size, n: size, k: size })

describe('operands to be timed', () => {
  it.each([20, 100, 400])('make about half of the results of or-and 1: %i', (size) => {
    const { a, b } = operandsOf(shape(size), 'uint8', { semiring: 'or-and' })
    expect(new Set([...a.data, ...b.data])).toEqual(new Set([0, 1]))
    const { c } = mpmmSync(a, b, { semiring: 'or-and', backend: 'cpu' })
    const ones = [...c.data].reduce((sum: number, value) => sum + (value as number), 0)
    // Results in the same row depend on the same row of A, so small products deviate more from one half.
    expect(ones / c.data.length).toBeGreaterThan(0.25)
    expect(ones / c.data.length).toBeLessThan(0.75)
  })

  it('are valid elements of max-times', () => {
    for (const type of typesOf('max-times')) {
      const { a, b } = operandsOf(shape(50), type as ValueKind, { semiring: 'max-times' })
      for (const { data } of [a, b]) {
        expect(data.every((value) => value >= 0)).toBe(true)
        expect(data.some((value) => value > 1000)).toBe(true)
      }
    }
  })

  it('have 16 levels, or bounded differences along K of B', () => {
    const few = operandsOf(shape(50), 'levels')
    for (const { data } of [few.a, few.b]) expect(new Set(data).size).toBe(16)
    const { a, b } = operandsOf(shape(50), 'bounded')
    const spread = (data: ArrayLike<number>) => Math.max(...Array.from(data)) - Math.min(...Array.from(data))
    for (const { data } of [a, b]) expect(spread(data)).toBeGreaterThan(10 ** 8)
    expect(b.data.every((value, at) => at < 50 || Math.abs(value - b.data[at - 50]!) === 1)).toBe(true)
  })

  it('repeat in large matrices, in other columns', () => {
    const large = { dtype: 'int32', minimum: 0, maximum: 999, zeroFraction: 0, summary: '' } as const
    const [rows, cols] = [5000, 2000]
    const { data } = randomMatrix([rows, cols], large, 1)
    const counts = new Int32Array(1000)
    for (const value of data) counts[value]!++
    // Each value occurs 10 000 times on average.
    expect(Math.min(...counts)).toBeGreaterThan(9000)
    expect(Math.max(...counts)).toBeLessThan(11000)
    const rowsSeen = new Set<string>()
    for (let row = 0; row < rows; row++) rowsSeen.add(data.subarray(row * cols, row * cols + 8).join())
    expect(rowsSeen.size).toBe(rows)
  })

  it('exist for every element type of a semiring', () => {
    for (const semiring of ['max-plus', 'min-max', 'max-times', 'or-and', 'plus-times'] as const) {
      expect(typesOf(semiring).length).toBeGreaterThan(0)
      for (const type of typesOf(semiring)) expect(valueKinds).toHaveProperty(type)
    }
  })
})
