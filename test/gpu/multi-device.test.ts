/** Products on several simulated devices, each of which is the same GPU. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { matrix, mpmm, openDevice, variants } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { caught, expectError } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { withoutCuda } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'
import { multiDeviceSuite } from '../support/suite-multi-device.js'

describeUnless(withoutCuda(), 'cuda', () => {
  multiDeviceSuite('cuda')

  describe('a B that the devices copy from each other', () => {
    afterAll(() => addon.pretendDevices(0))
    const random = new Random(4)
    const integers = (length: number) =>
      Int32Array.from({ length }, () => random.integer(-(10 ** 8), 10 ** 8))
    const k = 2 ** 21

    it('may have fewer lines than devices', async () => {
      for (const count of [2, 3, 5]) {
        addon.pretendDevices(count)
        const [left, right] = [integers(count * k), integers(k)]
        // One column.
        const b = { data: right, shape: [k, 1], strides: [1, k] } as const
        const { c, devices } = await mpmm(matrix(count, k, left), b, { backend: 'cuda', devices: 'all' })
        // Shards follow measured speeds, so that a slow device may get no row.
        expect(devices.length).toBeGreaterThan(1)
        for (let row = 0; row < count; row++) {
          let best = -(2 ** 31)
          for (let step = 0; step < k; step++) best = Math.max(best, left[row * k + step]! + right[step]!)
          expect(c.data[row]).toBe(best)
        }
      }
    })

    it('is computed without waiting for a shard whose thread the system refuses', async () => {
      addon.pretendDevices(3)
      const [left, right] = [
        matrix(3, k, integers(3 * k)),
        { data: integers(k), shape: [k, 1], strides: [1, k] } as const,
      ]
      const one = await mpmm(left, right, { backend: 'cuda', device: 0 })
      // The caller computes the first shard.
      for (const nth of [1, 2]) {
        addon.failThread(nth, 1e15)
        const error = await caught(mpmm(left, right, { backend: 'cuda', devices: 'all' }))
        addon.failThread(0)
        expectError(error, 'OUT_OF_MEMORY', 'refused to start a thread')
        const { c } = await mpmm(left, right, { backend: 'cuda', devices: 'all' })
        expect(c.data).toEqual(one.c.data)
      }
    })
  })

  describe('shards of a large product', () => {
    beforeAll(() => addon.pretendDevices(4))
    afterAll(() => addon.pretendDevices(0))

    it('are computed by the family of the whole product', async () => {
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
