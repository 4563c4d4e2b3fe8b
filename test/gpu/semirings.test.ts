/** Special values of a semiring, on a GPU, and its tensor cores for truth values. */
import { expect, it } from 'vitest'
import { info } from '../../lib/index.js'
import { withoutCuda } from '../support/machine.js'
import { expectAsOnCpu } from '../support/products/backends.js'
import { algebraOf } from '../support/products/case.js'
import { describeUnless } from '../support/skip.js'
import { drawn } from '../support/suite-products.js'
import { semiringSuite } from '../support/suite-semirings.js'

describeUnless(withoutCuda(), 'cuda', () => {
  semiringSuite('cuda')

  it('uses tensor cores for large products over or-and on Hopper', async () => {
    const isHopper = info().cuda.devices[0]!.computeCapability === '9.0'
    for (const kind of ['few bits', 'few bytes', 'all false']) {
      const { result } = await expectAsOnCpu(drawn(algebraOf('or-and', 'uint8'), kind, [2048, 2100, 2200]))
      expect(result!.variant.startsWith('boolean_')).toBe(isHopper)
    }
  })
})
