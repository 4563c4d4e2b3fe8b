/** Measurement of one kernel variant on one product: the program of the thesis. */
import { expect, it } from 'vitest'
import { kernelSweeps } from '../../bench/lab/kernel-sweeps.js'
import { runJobs } from '../../bench/lab/runner.js'
import { measureVariant } from '../../bench/timing/variant.js'
import { type Variant, variants } from '../../lib/index.js'
import { withoutCuda, withoutLaboratory } from '../support/machine.js'
import { describeUnless } from '../support/skip.js'

const { signal } = new AbortController()

/** All int32 kernels of the thesis, and the first variant of each semiring and element type of families for any values. */
const chosen = [
  ...new Map(
    variants()
      .filter(({ family }) => ['mpmml', 'ladder', 'pipelined'].includes(family))
      .map((row): [string, Variant] => {
        const isThesis = row.family === 'mpmml' && row.semiring === 'max-plus' && row.dtype === 'int32'
        return [isThesis ? row.name : `${row.family} ${row.semiring} ${row.dtype}`, row]
      })
      .reverse(),
  ).values(),
]

describeUnless(withoutCuda() ?? withoutLaboratory(), 'measure', () => {
  it.each(chosen.map(({ name }) => name))('times and verifies %s', async (variant) => {
    const shape = { batch: 3, m: 129, n: 200, k: 67 }
    const request = { variant, shape, device: 0, repetitions: 3, wantsCeiling: false }
    const { kernelMs, gops, verified } = await measureVariant(request, signal)
    expect(kernelMs.count).toBe(3)
    expect(gops.median * kernelMs.median).toBeCloseTo((2 * 3 * 129 * 200 * 67) / 1e6, 3)
    expect(verified.rows).toBe(129)
  })

  it('sweeps all kernels of the thesis', async () => {
    const jobs = kernelSweeps.space.jobs([256])
    const { points } = await runJobs({ jobs, device: 0, repetitions: 1, again: true }, signal)
    const measured = points.filter(({ result }) => result !== undefined).map(({ name }) => name)
    expect(measured).toHaveLength(58)
    expect(chosen.map(({ name }) => name)).toEqual(expect.arrayContaining(measured))
    expect(kernelSweeps.space.describe!(points)).toMatch(/^best +\S+ [GT]OPS at 256: mpmml_/m)
  })
})
