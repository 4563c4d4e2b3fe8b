/** The option onProgress, and the steps that native code counts. */
import { describe, expect, it } from 'vitest'
import { matrix, mpmm, mpmmSync, variants } from '../../lib/index.js'
import { expectThrown } from '../support/expect.js'
import { countedSteps } from '../support/steps.js'

const naive = variants().find(({ family, semiring }) => family === 'naive' && semiring === 'max-plus')!.name

/** Operands whose product takes at least a minute. Tests abort the product. */
const slow = () => [matrix(6000, 6000), matrix(6000, 6000)] as const

describe('onProgress', () => {
  it('is called with the completed share while the product runs', async () => {
    const controller = new AbortController()
    const shares: number[] = []
    const product = mpmm(...slow(), {
      variant: naive,
      signal: controller.signal,
      onProgress({ done }) {
        shares.push(done)
        if (done > 0) controller.abort()
      },
    })
    await expect(product).rejects.toMatchObject({ code: 'ERR_MPMML_ABORTED' })
    // The listener may be called again on a busy machine before the work stops.
    expect(shares).toEqual([...shares].sort((x, y) => x - y))
    expect(shares.at(-1)).toBeGreaterThan(0)
    expect(shares.at(-1)).toBeLessThan(1)
  })

  it('ends with 1 if it was called at all', async () => {
    const shares: number[] = []
    let last = 0
    const size = 900
    await mpmm(matrix(size, size), matrix(size, size), {
      variant: naive,
      onProgress: ({ done }) => {
        last = done
        shares.push(done)
      },
    })
    expect(last).toBe(shares.length > 0 ? 1 : 0)
    expect(shares.filter((done) => done < 0 || done > 1)).toEqual([])
  })

  it('aborts the product if it throws, and the product is rejected with the thrown value', async () => {
    const error = new Error('the listener is gone')
    let calls = 0
    const product = mpmm(...slow(), {
      variant: naive,
      onProgress() {
        calls++
        throw error
      },
    })
    await expect(product).rejects.toBe(error)
    expect(calls).toBe(1)
  })

  it('is rejected by mpmmSync', () => {
    const one = matrix(1, 1)
    expectThrown(() => mpmmSync(one, one, { onProgress() {} }), 'OPTION', 'onProgress', 'use mpmm')
  })
})

describe('the counted steps', () => {
  it.each([
    [1, 300, 300, 300],
    [3, 65, 5000, 33],
    [1, 1, 100_000, 40],
    [2, 700, 1, 900],
    [1, 5, 3000, 2000],
  ])('equal the steps of the product: %i × [%i × %i × %i]', async (batch, m, k, n) => {
    expect(await countedSteps(batch, m, k, n, { backend: 'cpu' })).toBeCloseTo(batch * m * k * n, 0)
  })

  it('equal the steps of the product with each variant of the CPU', async () => {
    const rows = variants().filter(
      ({ backend, semiring, dtype }) => backend === 'cpu' && semiring === 'max-plus' && dtype === 'int32',
    )
    expect(rows.length).toBeGreaterThan(2)
    for (const { name } of rows) {
      const steps = await countedSteps(2, 70, 300, 50, { variant: name }).catch((error: { code: string }) => {
        // This processor may not have the variant's instructions.
        expect(error.code, name).toBe('ERR_MPMML_VARIANT')
        return 2 * 70 * 300 * 50
      })
      expect(steps, name).toBeCloseTo(2 * 70 * 300 * 50, 0)
    }
  })
})
