/** A result of more than 2^31 elements, which needs 64-bit indices. Needs 9 GB of memory on the host and on the GPU. */
import { freemem } from 'node:os'
import { expect, it } from 'vitest'
import { info, matrix, mpmmSync } from '../../lib/index.js'
import { expectThrown } from '../support/expect.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

const needed = 10e9
const memory = Number(info().cuda.devices[0]?.globalMemoryBytes ?? 0)
const reason =
  withoutCuda() ??
  (memory < needed || freemem() < needed ? 'the GPU or this machine has less than 10 GB free' : undefined)

describeUnless(reason, 'more than 2^31 results', () => {
  const [m, n] = [46_348, 46_351]
  const a = (row: number) => (Math.imul(row, 40503) >>> 4) % 100_000
  const b = (col: number) => (Math.imul(col, 2654435761) >>> 4) % 900_000_000
  const rows = Int32Array.from({ length: m }, (_, row) => a(row))
  const cols = Int32Array.from({ length: n }, (_, col) => b(col))

  it('are at their positions', () => {
    expect(m * n).toBeGreaterThan(2 ** 31)
    const { c } = mpmmSync(matrix(m, 1, rows), matrix(1, n, cols), { backend: 'cuda' })
    let wrong = 0
    for (let row = 0; row < m; row++) {
      const line = c.data.subarray(row * n, (row + 1) * n)
      for (let col = 0; col < n; col++) if (line[col] !== rows[row]! + cols[col]!) wrong++
    }
    expect(wrong).toBe(0)
  })

  it('name the position of an overflow', () => {
    rows[m - 1] = 2 ** 31 - 1
    cols.fill(0)
    cols[n - 2] = 1
    expectThrown(
      () => mpmmSync(matrix(m, 1, rows), matrix(1, n, cols), { backend: 'cuda' }),
      'OVERFLOW',
      /C\[46347, 46349\] is decided by the sum 2147483648,/,
    )
  })
})
