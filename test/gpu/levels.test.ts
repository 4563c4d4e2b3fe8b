/** Products of a small range of values within lines, on a GPU. */
import { expect, it } from 'vitest'
import { info } from '../../lib/index.js'
import { tensorCores, withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { levelsSuite } from '../support/suite-levels.js'

const reason = withoutCuda()

describeUnless(reason, 'levels', () => {
  it('reports exponents on GPUs from Ampere on, and the reason on older ones', () => {
    const [device] = info().cuda.devices
    expect(tensorCores()).toBe(Number(device!.computeCapability) >= 8)
    if (!tensorCores())
      expect(device!.tensorCores).toMatch(/^no exponents: they need compute capability 8.0 or more$/)
  })

  levelsSuite('cuda')
})
