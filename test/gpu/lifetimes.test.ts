/** Lifetime of matrices on a device, on a GPU. */
import { expect, it } from 'vitest'
import { openDevice } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { onOne } from '../support/homes.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { lifetimeSuite } from '../support/suite-lifetimes.js'

describeUnless(withoutCuda(), 'cuda', () => {
  lifetimeSuite(onOne('cuda'), { size: 4096, options: {} })

  it('releases copies of a matrix that has been released', async () => {
    const device = await openDevice({ backend: 'cuda' })
    const a = await device.full([40, 40], 1)
    const before = addon.rememberedReaders()
    for (let copy = 0; copy < 1000; copy++) await a.download()
    for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 50 }, () => a.download()))
    expect(addon.rememberedReaders() - before).toBeLessThanOrEqual(128)
    await a.combine(a)
    expect(addon.rememberedReaders()).toBeLessThanOrEqual(before)
    a.dispose()
    await device.close()
  })
})
