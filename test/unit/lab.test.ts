/** The laboratory's API: checks of arguments, and computations from measurements. */
import { describe, expect, it } from 'vitest'
import { variants } from '../../lib/index.js'
import * as lab from '../../lib/lab.js'
import { withCuda, withoutCuda, withoutLaboratory } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

const noGpu = withoutCuda()
const noLab = withoutLaboratory()
const cudaVariant = variants().find(({ backend }) => backend === 'cuda')?.name
const sizes = { m: 64, n: 64, k: 64 }

describe('quartiles', () => {
  it('are returned with the median', () => {
    expect(lab.spread([5])).toEqual({ median: 5, q1: 5, q3: 5, count: 1 })
    expect(lab.spread([4, 1, 3, 2, 5])).toEqual({ median: 3, q1: 2, q3: 4, count: 5 })
    // numpy.quantile([1, 2, 4, 8], [0.25, 0.5, 0.75])
    expect(lab.spread([8, 2, 1, 4])).toEqual({ median: 3, q1: 1.75, q3: 5, count: 4 })
  })
  it('leave the measurements unchanged', () => {
    const samples = Object.freeze([3, 1, 2])
    expect(lab.spread(samples).median).toBe(2)
  })
  it.each([[[]], [[1, Number.NaN]], [[Number.POSITIVE_INFINITY]]])('reject %j', (samples) => {
    expect(() => lab.spread(samples)).toThrow(expect.objectContaining({ code: 'ERR_MPMML_VALUE' }))
  })
})

describe('options', () => {
  const name = cudaVariant ?? variants()[0]!.name
  it.each<[object, RegExp]>([
    [{ m: 1, n: 1 }, /option k must be a whole number from 1 to 2147483647, but it is undefined/],
    [{ ...sizes, k: 0 }, /option k must be a whole number from 1 to 2147483647, but it is 0/],
    [{ ...sizes, m: 1.5 }, /option m .* 1\.5/],
    [{ ...sizes, n: '8' }, /option n .* '8'/],
    [{ ...sizes, zeroFraction: 1.5 }, /option zeroFraction must be a number from 0 to 1/],
    [{ ...sizes, minimum: 5, maximum: 4 }, /minimum is 5, which is more than maximum/],
    [{ ...sizes, device: -1 }, /option device/],
    [{ ...sizes, repetition: 3 }, /there is no option 'repetition': expected 'm', 'n'/],
  ])('reject %j', async (options, expected) => {
    const failure = await lab.measure(name, options as typeof sizes).catch((error) => error)
    expect(failure).toMatchObject({ code: 'ERR_MPMML_OPTION', message: expect.stringMatching(expected) })
  })

  it('are checked for a microbenchmark', async () => {
    const code = (options: object) =>
      lab.microbench('reg-reg', options).then(
        () => 'done',
        (error) => error.code,
      )
    expect(await code({ max: 'both' })).toBe('ERR_MPMML_OPTION')
    expect(await code({ bsi: 2000 })).toBe('ERR_MPMML_OPTION')
    expect(await code({ gsi: 0 })).toBe('ERR_MPMML_OPTION')
  })

  it('are reported with the existing names', async () => {
    await expect(lab.measure('nonsense' as never, sizes)).rejects.toMatchObject({ code: 'ERR_MPMML_VARIANT' })
    await expect(lab.occupancy('nonsense' as never)).rejects.toMatchObject({ code: 'ERR_MPMML_VARIANT' })
    const names = lab.microbenches().map((microbench) => microbench.name)
    if (names.length === 0) return
    expect(names.slice(0, 3)).toEqual(['reg-reg', 'shared-one', 'shared-both'])
    await expect(lab.microbench('nonsense')).rejects.toMatchObject({ code: 'ERR_MPMML_VARIANT' })
  })
})

it('lists unsupported variants separately, each with its reason', () => {
  const names = new Set<string>(variants().map(({ name }) => name))
  for (const { name, reason } of lab.refusedVariants()) {
    expect(names).not.toContain(name)
    expect(reason).toMatch(/\w/)
  }
})

describeUnless(withCuda(), 'without a GPU', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['measure', () => lab.measure(cudaVariant ?? variants()[0]!.name, sizes)],
    ['microbench', () => lab.microbench('reg-reg')],
    ['ceiling', () => lab.ceiling()],
    ['occupancy', () => lab.occupancy(cudaVariant ?? variants()[0]!.name)],
    ['microbenchOccupancy', () => lab.microbenchOccupancy('reg-reg', { x: 4, y: 4 })],
  ])('rejects %s with the reason', async (_, call) => {
    await expect(call()).rejects.toMatchObject({
      code: 'ERR_MPMML_NO_CUDA',
      message: expect.stringContaining('needs a GPU'),
    })
  })
  it('throws the reason from machine', () => {
    expect(() => lab.machine()).toThrow(expect.objectContaining({ code: 'ERR_MPMML_NO_CUDA' }))
  })
})

describeUnless(noGpu ?? noLab, 'with a GPU', () => {
  it('measures a variant', async () => {
    const measured = await lab.measure(cudaVariant!, { ...sizes, repetitions: 3 })
    expect(measured).toMatchObject({ variant: cudaVariant, ...sizes, batch: 1 })
    expect(measured.kernelMs.count).toBe(3)
    expect(measured.gops.median).toBeCloseTo((2 * 64 ** 3) / measured.kernelMs.median / 1e6, 6)
  })
  it('runs every microbenchmark', async () => {
    for (const { name } of lab.microbenches()) {
      const result = await lab.microbench(name, { n: 5000 })
      expect(result.gops.median).toBeGreaterThan(0)
      expect(result.percentOfPipes).toBeGreaterThanOrEqual(0)
    }
  })
  it('computes occupancy', async () => {
    expect(await lab.occupancy(cudaVariant!)).toMatchObject({ localBytes: expect.any(Number) })
    const small = await lab.microbenchOccupancy('reg-reg', { x: 4, y: 4, bsi: 32, bsj: 32 })
    expect(small.threadsPerBlock).toBe(1024)
  })
})
