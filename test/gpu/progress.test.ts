/** Progress of a product on a GPU. */
import { afterEach, expect, it } from 'vitest'
import { EPSILON } from '../../lib/index.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { countedSteps } from '../support/steps.js'

describeUnless(withoutCuda(), 'progress', () => {
  afterEach(() => {
    delete process.env.MPMML_DEVICE_MEMORY_MIB
  })

  it.each([
    ['one launch', 1, 90, 80, 70],
    ['panels and strips', 1, 3000, 2000, 2500],
    ['runs of instances', 40, 300, 300, 300],
  ])('counts all steps: %s', async (_, batch, m, k, n) => {
    expect(await countedSteps(batch, m, k, n, { backend: 'cuda' })).toBeCloseTo(batch * m * k * n, 0)
  })

  it('counts all steps if sums may overflow, so that nothing is downloaded before the end', async () => {
    const steps = await countedSteps(1, 3000, 2000, 2500, { backend: 'cuda' }, [EPSILON, 2 ** 30])
    expect(steps).toBeCloseTo(1.5e10, 0)
  })

  it('counts all steps of a product in blocks', async () => {
    process.env.MPMML_DEVICE_MEMORY_MIB = '96'
    expect(await countedSteps(1, 4000, 1000, 4000, { backend: 'cuda' })).toBeCloseTo(1.6e10, 0)
  })
})
