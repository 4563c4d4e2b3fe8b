/** Results in large arrays without physical memory: the library requests their memory early. */
import { expect, it } from 'vitest'
import { EPSILON, matrix, mpmmSync } from '../../lib/index.js'
import { expectThrown } from '../support/expect.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

describeUnless(withoutCuda(), 'large arrays', () => {
  /** 36 MB. */
  const [m, n] = [3000, 3001]
  const rows = Int32Array.from({ length: m }, (_, row) => Math.imul(row, 40503) >>> 4)
  const cols = Int32Array.from({ length: n }, (_, col) => (col % 7 === 0 ? EPSILON : col))

  it('keep their content if a product fails, and contain the results of the next one', () => {
    const out = matrix(m, n, new Int32Array(m * n))
    const touched = [0, 12_345, m * n - 1]
    for (const at of touched) out.data[at] = 7
    const large = rows.slice()
    large[m - 1] = 2 ** 31 - 1
    expectThrown(
      () => mpmmSync(matrix(m, 1, large), matrix(1, n, cols), { backend: 'cuda', out }),
      'OVERFLOW',
    )
    expect(out.data.reduce((sum, value) => sum + value, 0)).toBe(21)
    for (const at of touched) expect(out.data[at]).toBe(7)

    mpmmSync(matrix(m, 1, rows), matrix(1, n, cols), { backend: 'cuda', out })
    let wrong = 0
    for (let row = 0; row < m; row++) {
      for (let col = 0; col < n; col++) {
        const right = cols[col] === EPSILON ? EPSILON : rows[row]! + cols[col]!
        if (out.data[row * n + col] !== right) wrong++
      }
    }
    expect(wrong).toBe(0)
  })
})
