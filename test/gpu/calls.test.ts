/** Calls of single products on a GPU, and the choice of the backend by auto. */
import { expect, it } from 'vitest'
import { mpmm, mpmmSync } from '../../lib/index.js'
import { expectElements, expectError, expectThrown, thrown } from '../support/expect.js'
import { operands } from '../support/generators.js'
import { withCuda, withoutCuda } from '../support/machine.js'
import { type Dense, dense, oracle } from '../support/oracle.js'
import { describeUnless } from '../support/skip.js'
import { callSuite } from '../support/suite-calls.js'

const reason = withoutCuda()

describeUnless(reason, 'cuda', () => {
  callSuite('cuda')

  it('is the choice of auto, unless the product is too small', async () => {
    const large = operands('small', 'max-plus', [1500, 1500, 1500])
    expect((await mpmm(large.a, large.b)).backend).toBe('cuda')
    const small = operands('small', 'max-plus', [16, 16, 16])
    expect((await mpmm(small.a, small.b)).backend).toBe('cpu')
  })

  it('is not the choice of auto for a row by a column, which a GPU would pack to whole tiles', async () => {
    for (const kind of ['small', 'small, ε scattered', 'full range'] as const) {
      const { a, b } = operands(kind, 'max-plus', [1, 2 ** 22, 1])
      const { c, backend } = await mpmm(a, b, { overflow: 'saturate' })
      expect(backend).toBe('cpu')
      expectElements(c, dense(mpmmSync(a, b, { overflow: 'saturate', backend: 'cuda' }).c), kind)
      expectElements(c, oracle(a, b, { overflow: 'saturate' }) as Dense, kind)
    }
  })

  it('rejects an unknown device', () => {
    const { a, b } = operands('small', 'max-plus', [2, 2, 2])
    expectThrown(() => mpmmSync(a, b, { backend: 'cuda', device: 4711 }), 'NO_CUDA', '4711')
    expect(mpmmSync(a, b, { device: 4711 }).backend).toBe('cpu')
  })

  it('works after a product that failed', () => {
    const { a, b } = operands('high + high', 'max-plus', [64, 64, 64])
    for (let round = 0; round < 3; round++) {
      expectThrown(() => mpmmSync(a, b, { backend: 'cuda' }), 'OVERFLOW')
      expect(mpmmSync(a, b, { backend: 'cuda', overflow: 'saturate' }).c.data[5]).toBe(2 ** 31 - 1)
    }
  })
})

describeUnless(withCuda(), 'without a usable GPU', () => {
  it("rejects backend 'cuda' with the reason", () => {
    const { a, b } = operands('small', 'max-plus', [2, 2, 2])
    const error = thrown(() => mpmmSync(a, b, { backend: 'cuda' }))
    expectError(error, 'NO_CUDA')
    expect((error as Error).message).toContain(reason)
  })
  it("computes on the CPU with 'auto'", () => {
    const { a, b } = operands('small', 'max-plus', [2, 2, 2])
    expect(mpmmSync(a, b).backend).toBe('cpu')
  })
})
