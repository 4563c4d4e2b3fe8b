/** Cases of the suites that combine several dimensions. */
import { describe, expect, it } from 'vitest'
import { type Dimensions, pairwise } from '../support/pairwise.js'

const range = (count: number) => Array.from({ length: count }, (_, value) => value)
const dimensionsOf = (sizes: readonly number[]): Dimensions =>
  Object.fromEntries(sizes.map((size, at) => [`d${at}`, range(size)]))

describe('pairwise', () => {
  it.each([
    [[1, 7]],
    [[1, 1, 1]],
    [[3, 5]],
    [[2, 2, 2, 2, 2, 2, 2]],
    [[3, 3, 3, 3]],
    [[14, 15, 6, 5, 3]],
    [[2, 9, 1, 4, 13, 3]],
    [[6, 3, 5, 5, 5, 2]],
    [[10, 10, 10]],
  ])('covers every pair of values of any two dimensions: sizes %j', (sizes) => {
    const dimensions = dimensionsOf(sizes)
    const cases = pairwise(dimensions)
    for (const x of sizes.keys()) {
      expect(new Set(cases.map((one) => one[`d${x}`]))).toEqual(new Set(range(sizes[x]!)))
      for (const y of range(x)) {
        const met = new Set(cases.map((one) => `${one[`d${x}`]} ${one[`d${y}`]}`))
        expect(met.size).toBe(sizes[x]! * sizes[y]!)
      }
    }
    const [first, second] = [...sizes].sort((x, y) => y - x)
    const least = first! * second!
    expect(cases.length).toBeGreaterThanOrEqual(least)
    expect(cases.length).toBeLessThanOrEqual(least + Math.max(6, Math.ceil(0.3 * least)))
  })

  it('returns the same cases for each call', () => {
    const dimensions = { letter: ['a', 'b', 'c'], is: [true, false], none: [undefined, null, 0] }
    const cases = pairwise(dimensions)
    expect(pairwise(dimensions)).toEqual(cases)
    expect(cases.length).toBeLessThanOrEqual(10)
    expect(cases[0]).toEqual({ letter: 'a', is: true, none: undefined })
  })

  it('returns no cases if a dimension has no values', () => {
    expect(pairwise({ letter: ['a', 'b'], none: [] })).toEqual([])
  })
})
