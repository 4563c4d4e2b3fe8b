/** Arrays in pinned memory, or ordinary ones where there is no GPU. */
import { describe, expect, it } from 'vitest'
import { matrix, mpmm, pinnedInt32Array } from '../../lib/index.js'
import { expectError, thrown } from '../support/expect.js'

describe('pinnedInt32Array', () => {
  it('is an Int32Array of zeros', () => {
    const array = pinnedInt32Array(1000)
    expect(array).toBeInstanceOf(Int32Array)
    expect(array.length).toBe(1000)
    expect(array.every((value) => value === 0)).toBe(true)
    expect(pinnedInt32Array(0).length).toBe(0)
  })

  it('holds operands and results', async () => {
    // K. Stanczyk, Max-Plus Algebra Toolbox for MATLAB, user guide, example 2.12c
    const pinned = (values: number[]) => {
      const array = pinnedInt32Array(values.length)
      array.set(values)
      return array
    }
    const out = matrix(2, 2, pinnedInt32Array(4))
    const { c } = await mpmm(
      matrix(2, 3, pinned([1, 6, 2, 8, 3, 4])),
      matrix(3, 2, pinned([2, 5, 3, 3, 1, 6])),
      { out },
    )
    expect(c).toBe(out)
    expect([...out.data]).toEqual([9, 9, 10, 13])
  })

  it.each([-1, 1.5, Number.NaN, 2 ** 60, '4'])('refuses a length of %s', (length) => {
    expectError(
      thrown(() => pinnedInt32Array(length as number)),
      'ERR_MPMML_DTYPE',
      String(length),
    )
  })

  it('refuses more than there is memory for', () => {
    expectError(
      thrown(() => pinnedInt32Array(2 ** 50)),
      'ERR_MPMML_OUT_OF_MEMORY',
    )
  })
})
