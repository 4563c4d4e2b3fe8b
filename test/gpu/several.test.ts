/** Products on several devices, each of which is the same GPU. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { matrix, mpmm, openDevice, variants } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { Random } from '../support/generators.js'
import { withoutCuda } from '../support/machine.js'
import { severalSuite } from '../support/suite-several.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(reason === undefined ? 'cuda' : `cuda (skipped: ${reason})`, () => {
  severalSuite('cuda')

  describe('parts of a large product', () => {
    beforeAll(() => addon.pretendDevices(4))
    afterAll(() => addon.pretendDevices(0))

    it('are computed by the family that the whole product pays for', async () => {
      const size = 6000
      const random = new Random(3)
      const integers = () =>
        matrix(
          size,
          size,
          Int32Array.from({ length: size * size }, () => random.integer(-(10 ** 8), 10 ** 8)),
        )
      const [a, b] = [integers(), integers()]
      const familyOf = (name: string) => variants().find((row) => row.name === name)?.family
      const one = await mpmm(a, b, { device: 0 })
      const several = await mpmm(a, b, { devices: 'all' })
      expect(several.devices).toEqual([0, 1, 2, 3])
      expect([familyOf(one.variant), familyOf(several.variant)]).toEqual(['ranked', 'ranked'])
      expect(Buffer.compare(Buffer.from(several.c.data.buffer), Buffer.from(one.c.data.buffer))).toBe(0)
      await using device = await openDevice({ devices: 'all' })
      const spread = await mpmm(await device.upload(a), await device.upload(b))
      expect(familyOf(spread.variant)).toBe('ranked')
      const { data } = await spread.c.download()
      expect(Buffer.compare(Buffer.from(data.buffer), Buffer.from(one.c.data.buffer))).toBe(0)
    })
  })
})
