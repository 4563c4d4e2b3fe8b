/** What --verify finds. */
import { describe, expect, it } from 'vitest'
import { firstDifference } from '../../bench/verify.js'
import { type DenseMatrix, matrix } from '../../lib/index.js'

describe('firstDifference', () => {
  const changed = (m: DenseMatrix, ...at: number[]): DenseMatrix => {
    const data = m.data.slice()
    for (const index of at) data[index]! += 1
    return { ...m, data }
  }

  it('finds none in equal matrices', () => {
    const m = matrix(2, 3, [1, 2, 3, 4, 5, 6])
    expect(firstDifference(m, matrix(2, 3, [1, 2, 3, 4, 5, 6]))).toBeUndefined()
    expect(firstDifference(matrix(0, 3), matrix(0, 3))).toBeUndefined()
  })

  it('names the first in row-major order, with both values and how many there are', () => {
    const m = matrix(2, 3, [1, 2, 3, 4, 5, 6])
    expect(firstDifference(changed(m, 4, 5), m)).toEqual({ index: [1, 1], value: 6, expected: 5, count: 2 })
    expect(firstDifference(changed(m, 0), m)).toEqual({ index: [0, 0], value: 2, expected: 1, count: 1 })
    const batch = matrix([2, 2, 3], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(firstDifference(changed(batch, 8), batch)).toEqual({
      index: [1, 0, 2],
      value: 10,
      expected: 9,
      count: 1,
    })
  })
})
