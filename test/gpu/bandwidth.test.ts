/** Counted bytes and times of bandwidth measurements. No test asserts the values of bandwidths. */
import { expect, it } from 'vitest'
import { info } from '../../lib/index.js'
import { type BandwidthResult, bandwidth } from '../../lib/lab.js'
import { withoutCuda, withoutLaboratory } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

describeUnless(withoutCuda() ?? withoutLaboratory(), 'bandwidths', () => {
  const expectRate = ({ ms, gbps, bytes }: BandwidthResult) => {
    expect(bytes).toBeGreaterThan(0)
    expect(gbps.median).toBeCloseTo(bytes / ms.median / 1e6, 6)
  }

  it.each(['copy', 'l2', 'shared', 'strided'])('are computed as bytes over time: %s', async (name) => {
    const result = await bandwidth(name, { repetitions: 5 })
    expect(result).toMatchObject({ name, ms: { count: 5 }, gbps: { count: 5 } })
    expectRate(result)
  })

  it('use a buffer that no cache holds for device memory, and one that L2 holds for L2', async () => {
    const cache = Number(info().cuda.devices[0]!.l2CacheBytes)
    expect((await bandwidth('copy')).bufferBytes).toBeGreaterThan(cache)
    expect((await bandwidth('l2')).bufferBytes).toBeLessThan(cache)
    expect((await bandwidth('shared')).bufferBytes).toBe(0)
  })

  it.each([1, 8, 32])('count only the requested words for reads with a stride of %i', async (stride) => {
    const result = await bandwidth('strided', { stride, repetitions: 3 })
    expectRate(result)
    expect(result.bytes).toBe(Math.floor(result.bufferBytes / 4 / stride) * 4)
  })
})
