/** Bandwidths lie where the machine allows: below its data sheet's, above what no kernel should miss. */
import { describe, expect, it } from 'vitest'
import { info } from '../../lib/index.js'
import { bandwidth } from '../../lib/lab.js'
import { withoutCuda } from '../support/machine.js'

const reason = withoutCuda()

describe.skipIf(reason !== undefined)(
  reason === undefined ? 'bandwidths' : `bandwidths (skipped: ${reason})`,
  () => {
    const gbps = async (name: string, stride?: number) =>
      (await bandwidth(name, { repetitions: 5, ...(stride === undefined ? {} : { stride }) })).gbps.median

    it('of device memory: most of clock times width, two transfers a clock, and not more', async () => {
      const gpu = info().cuda.devices[0]!
      const peak = (2 * Number(gpu.memoryClockMHz) * Number(gpu.memoryBusBits)) / 8 / 1000
      const copied = await gbps('copy')
      expect(copied).toBeLessThan(peak)
      expect(copied).toBeGreaterThan(0.6 * peak)
    })

    it('of shared memory: most of 128 bytes a clock and multiprocessor, and not more', async () => {
      const result = await bandwidth('shared')
      const perClock = (1000 * result.gbps.median) / result.clockMHz / result.multiprocessors
      expect(perClock).toBeLessThan(1.02 * 128)
      expect(perClock).toBeGreaterThan(0.8 * 128)
      expect(result.bufferBytes).toBe(0)
    })

    it('of L2 lies between them', async () => {
      const l2 = await gbps('l2')
      expect(l2).toBeGreaterThan(await gbps('copy'))
      expect(l2).toBeLessThan(await gbps('shared'))
    })

    it('of strided reads falls until every word has a sector of its own', async () => {
      const [one, eight, thirtyTwo] = [
        await gbps('strided', 1),
        await gbps('strided', 8),
        await gbps('strided', 32),
      ]
      // Sectors are 32 bytes: at a stride of 8 words one of them counts of each.
      expect(one / eight).toBeGreaterThan(5)
      expect(one / eight).toBeLessThan(12)
      expect(thirtyTwo).toBeLessThan(1.2 * eight)
    })
  },
)
