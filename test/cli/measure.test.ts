/** mpmml measure. */
import { describe, expect, it } from 'vitest'
import { operandsOf } from '../../bench/timing/values.js'
import { VerificationError, verifyRows } from '../../bench/verify.js'
import { mpmm, type Semiring, type VariantName, variants } from '../../lib/index.js'
import { withCuda, withoutCuda } from '../support/machine.js'
import { describeUnless, itUnless } from '../support/skip.js'
import { withoutWebGpu } from '../support/webgpu.js'
import { fails, json, mpmml, succeeds } from './support.js'

const noGpu = withoutCuda()
const onCpu = variants().filter(({ backend }) => backend === 'cpu')
const portable = onCpu.filter(({ parameters, family }) => family === 'naive' || parameters.isa === 'portable')

describe('measure on the CPU', () => {
  it.each(portable.map(({ name }) => name))('times and verifies %s', async (name) => {
    const args = ['measure', name, '--m', '33', '--n', '17', '--k', '40', '--ninst', '2']
    const found = await json([...args, '--repetitions', '3', '--json'])
    expect(found).toEqual({
      variant: name,
      m: 33,
      n: 17,
      k: 40,
      ninst: 2,
      kernelMs: expect.any(Number),
      gops: expect.any(Number),
      verified: true,
    })
    expect(found.kernelMs).toBeGreaterThan(0)
    // Speed is two operations per step, for batch·M·N·K steps, divided by the median time.
    expect(found.gops * found.kernelMs).toBeCloseTo((2 * 2 * 33 * 17 * 40) / 1e6, 6)
  })

  it('measures square matrices and one product if only M is given', async () => {
    const name = portable.find(({ family }) => family === 'packed')!.name
    const found = await json(['measure', name, '--m', '24', '--repetitions', '1', '--json'])
    expect(found).toMatchObject({ variant: name, m: 24, n: 24, k: 24, ninst: 1 })
  })

  it('prints kernel time, speed, peak and the reference of the verification', async () => {
    const name = portable.find(({ family }) => family === 'packed')!.name
    const printed = await succeeds(['measure', name, '--m', '64', '--repetitions', '3'])
    expect(printed).toMatch(new RegExp(`^variant +${name}$`, 'm'))
    expect(printed).toMatch(/^kernel +[\d.]+ m?s ± [\d.]+ %$/m)
    expect(printed).toMatch(/^speed +[\d.]+ [GT]OPS$/m)
    expect(printed).toMatch(/^ceiling +[\d.]+ [GT]OPS on registers; \d+ % of it$/m)
    expect(printed).toMatch(/^verified +as naive_\w+ in 64 of 64 rows$/m)
  })

  it('lists the families of the build if no variant is named', async () => {
    // stderr may name kernels of another addon, so only stdout is compared.
    const { stdout } = await mpmml(['measure', '--json'])
    const families = JSON.parse(stdout)
    const found = new Set(families.map(({ family }: { family: string }) => family))
    expect(found).toEqual(new Set(variants().map(({ family }) => family)))
    for (const { family, backend, variants: count, example } of families) {
      const rows = variants().filter((row) => row.family === family && row.backend === backend)
      expect(rows).toHaveLength(count)
      expect(rows.map(({ name }) => name)).toContain(example)
    }
    expect((await mpmml(['measure'])).stdout).toMatch(/^packed +cpu +\d+ +packed_/m)
  })

  it('rejects unknown measurements, in one line', async () => {
    expect(await fails(['measure', 'nonsense'])).toContain("there is no variant 'nonsense'")
    expect(await fails(['measure', portable[0]!.name, '--m', '1000000'])).toContain(
      '[ERR_MPMML_OUT_OF_MEMORY]',
    )
    for (const wrong of ['--m 0', '--n 1.5', '--k x', '--ninst 0', '--ninst -1', '--repetitions 0']) {
      expect(await fails(['measure', portable[0]!.name, ...wrong.split(' ')], 2)).toContain(
        wrong.split(' ')[0],
      )
    }
  })
})

describe('verifyRows', () => {
  const product = async (semiring: Semiring, variant: VariantName, batch = 2) => {
    const shape = { batch, m: 12, n: 9, k: 7 }
    const { a, b } = operandsOf(shape, 'int32', { semiring, inElements: true })
    return { a, b, found: await mpmm(a, b, { semiring, variant }) }
  }
  const packed = portable.find(({ name }) => /^packed_maxplus_i32_portable_4x\d+$/.test(name))!.name

  it.each([0, 8, 12 * 9 - 1, 12 * 9, 2 * 12 * 9 - 1])(
    'finds an element that is wrong: number %i',
    async (at) => {
      const { a, b, found } = await product('max-plus', packed)
      expect(await verifyRows(a, b, { semiring: 'max-plus' }, found)).toMatchObject({
        variant: 'naive_maxplus_i32_acc64',
        rows: 12,
      })
      found.c.data[at]! ^= 1
      await expect(verifyRows(a, b, { semiring: 'max-plus' }, found)).rejects.toThrow(VerificationError)
    },
  )

  it('compares the first and the last row of a product that is too large to compare all', async () => {
    const { a, b, found } = await product('max-plus', packed)
    const compared = (rows: number) => verifyRows(a, b, { semiring: 'max-plus' }, found, rows * 2 * 9 * 7)
    expect((await compared(0)).rows).toBe(1)
    expect((await compared(5)).rows).toBe(5)
    expect((await compared(50)).rows).toBe(12)
    for (const at of [0, 12 * 9 - 1, 12 * 9, 2 * 12 * 9 - 1]) {
      found.c.data[at]! ^= 1
      await expect(compared(2)).rejects.toThrow(/differ/)
      found.c.data[at]! ^= 1
    }
  })

  it('compares the naive variant with another one', async () => {
    const { a, b, found } = await product('max-plus', 'naive_maxplus_i32_acc64')
    const { variant } = await verifyRows(a, b, { semiring: 'max-plus' }, found)
    expect(variant).not.toBe('naive_maxplus_i32_acc64')
  })
})

describeUnless(withCuda(), 'measure of a CUDA variant without a GPU', () => {
  it('reports it in one line', async () => {
    const name = 'mpmml_maxplus_i32_8x8_16x16_s16_case00_sub4x4'
    expect(await fails(['measure', name])).toContain(noGpu)
  })
})

const noWebGpu = await withoutWebGpu()

describe('a WebGPU variant', () => {
  const name = 'wgsl_maxplus_i32_32x32'

  itUnless(noWebGpu, 'is measured and verified', async () => {
    const { status, stdout } = await mpmml(['measure', name, '--m', '33', '--repetitions', '3', '--json'])
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ variant: name, m: 33, verified: true })
    const printed = await mpmml(['measure', name, '--m', '33', '--repetitions', '1'])
    expect(printed.stdout).toMatch(/^ceiling +not known for this semiring and type$/m)
  })

  it('is listed by its backend', async () => {
    const rows = await json(['variants', '--backend', 'webgpu'])
    expect(rows).toEqual(variants().filter(({ backend }) => backend === 'webgpu'))
  })

  it('has no occupancy', async () => {
    expect(await fails(['occupancy', name])).toMatch(/must be a CUDA variant.*\[ERR_MPMML_VARIANT\]$/m)
  })
})
