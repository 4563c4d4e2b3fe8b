/** Products of a small range of values within lines, on a GPU. */
import { expect, it } from 'vitest'
import { info, matrix, mpmm, plan } from '../../lib/index.js'
import { Random } from '../support/generators.js'
import { tensorCores, withoutCuda } from '../support/machine.js'
import { describeUnless, itUnless } from '../support/skip.js'
import { levelsSuite } from '../support/suite-levels.js'

const reason = withoutCuda()

describeUnless(reason, 'levels', () => {
  it('reports exponents on GPUs from Ampere on, and the reason on older ones', () => {
    const [device] = info().cuda.devices
    expect(tensorCores()).toBe(Number(device!.computeCapability) >= 8)
    if (!tensorCores())
      expect(device!.tensorCores).toMatch(/^no exponents: they need compute capability 8.0 or more$/)
  })

  /** Rows of A and columns of B have four values each, which differ between lines by more than 16 bits. */
  const operands = () => {
    const n = 1024
    const random = new Random(5)
    const a = new Int32Array(n * n).map((_, at) => Math.floor(at / n) * 1000 + random.integer(0, 3))
    const b = new Int32Array(n * n).map((_, at) => (at % n) * -1000 + random.integer(0, 3))
    return [matrix(n, n, a), matrix(n, n, b)] as const
  }

  itUnless(
    !tensorCores() && 'the GPU has no exact tensor cores',
    'has the plan that computes matrices on the host',
    async () => {
      const [a, b] = operands()
      const { arithmetic, variant } = await mpmm(a, b, { backend: 'cuda' })
      expect(arithmetic).toMatch(/^exponent/)
      expect(await plan(a, b, { backend: 'cuda' })).toMatchObject({ backend: 'cuda', arithmetic, variant })
    },
  )

  it('plans matrices that exceed the memory by the range of all their elements', async () => {
    const [a, b] = operands()
    const before = process.env.MPMML_DEVICE_MEMORY_MIB
    try {
      process.env.MPMML_DEVICE_MEMORY_MIB = '6'
      expect(await plan(a, b, { backend: 'cuda' })).toMatchObject({ backend: 'cuda', arithmetic: 'direct' })
    } finally {
      if (before === undefined) delete process.env.MPMML_DEVICE_MEMORY_MIB
      else process.env.MPMML_DEVICE_MEMORY_MIB = before
    }
  })

  levelsSuite('cuda')
})
