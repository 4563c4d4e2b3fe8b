/** Operands in Int16Arrays, on a GPU. */
import { expect, it } from 'vitest'
import { mpmmSync } from '../../lib/index.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

describeUnless(withoutCuda(), 'int16 operands', () => {
  it.each([
    ['half', 15000, 0],
    ['half-translated', 8000, 11],
    ['translated', 32000, 11],
  ])('are exact in blocks that overlap transfers: %s', (path, limit, everyZero) => {
    const [m, k, n] = [3300, 3001, 3203]
    const filled = (length: number, factor: number) =>
      Int16Array.from({ length }, (_, index) =>
        everyZero > 0 && index % everyZero === 0
          ? -32768
          : ((Math.imul(index + 1, factor) >>> 8) % (2 * limit)) - limit,
      )
    const a = { data: filled(m * k, 2654435761), shape: [m, k] }
    const b = { data: filled(k * n, 40503), shape: [k, n] }
    const cuda = mpmmSync(a, b, { backend: 'cuda' })
    const cpu = mpmmSync(a, b, { backend: 'cpu' })
    expect(cuda.arithmetic).toBe(path)
    expect(Buffer.from(cuda.c.data.buffer).equals(Buffer.from(cpu.c.data.buffer))).toBe(true)
  })
})
