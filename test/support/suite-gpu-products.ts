/** Products of every semiring, element type and variant on a GPU, and equality of the bits of both backends where it is guaranteed. */
import { afterEach, describe, it } from 'vitest'
import { mpmmSync, pinned } from '../../lib/index.js'
import { policies, type Size } from './cases.js'
import { withoutCuda } from './machine.js'
import type { Part } from './parts.js'
import { expectAsOnCpu } from './products/backends.js'
import { type AnyMatrix, type Elements, idempotent, nameOf, sourceOf } from './products/case.js'
import { expectRight } from './products/law.js'
import { kindNamesOf, mixed, startFor, valuesFor } from './products/values.js'
import { describeUnless, itIf } from './skip.js'
import { drawn, productSuite } from './suite-products.js'
import { variantSuite } from './suite-variants.js'

/** A product of this number of steps is divided into panels. */
const large: Size = [2900, 2100, 2700]

export function gpuProductSuite(part: Part): void {
  describeUnless(withoutCuda(), 'cuda', () => {
    productSuite('cuda', part)
    variantSuite('cuda', part)

    describe.each(part(idempotent).map((one) => [nameOf(one), one] as const))(
      'has the bits of the CPU: %s',
      (_, algebra) => {
        afterEach(() => {
          delete process.env.MPMML_DEVICE_MEMORY_MIB
        })
        const overflow = algebra.isInteger ? 'saturate' : undefined
        const bytes = { int32: 4, float32: 4, float64: 8, uint8: 1 }[algebra.dtype as 'int32']

        it.each(kindNamesOf(algebra))('computes %s', async (kind) => {
          for (const policy of algebra.isInteger ? policies : [undefined]) {
            const c0 = startFor(algebra, kind, 301, 409)
            for (const more of [{}, { c0 }])
              await expectAsOnCpu(drawn(algebra, kind, [301, 257, 409], { overflow: policy, ...more }, 51))
            const [a, b] = valuesFor(algebra, kind, [101, 257, 109], 2, 21)
            await expectAsOnCpu({ algebra, a, b, overflow: policy, what: `two of ${kind}` })
          }
        })

        it('computes panels that overlap transfers, with a C0', async () => {
          await expectAsOnCpu(drawn(algebra, mixed(algebra), large, { overflow }, 53))
          const c0 = startFor(algebra, mixed(algebra), 2900, 2700)
          await expectAsOnCpu(drawn(algebra, mixed(algebra), large, { overflow, c0 }, 54))
          const kind = algebra.isFloat ? 'anything' : kindNamesOf(algebra)[0]!
          await expectAsOnCpu(drawn(algebra, kind, large, { overflow }, 31))
        })

        it.each([12, 25])('computes blocks of %i MiB per byte of an element', async (mebibytes) => {
          process.env.MPMML_DEVICE_MEMORY_MIB = String(mebibytes * bytes)
          await expectAsOnCpu(drawn(algebra, mixed(algebra), large, { overflow }, 55))
        })

        it('computes with operands and result in pinned memory', async () => {
          const inPinned = async (source: Elements): Promise<AnyMatrix> => {
            const { data } = source
            const copy = await pinned(
              data.constructor.name.replace(/Array$/, '').toLowerCase() as 'int32',
              data.length,
            )
            copy.set(data as Int32Array)
            return { ...sourceOf(source), data: copy }
          }
          for (const size of [
            [301, 257, 409],
            [1500, 1401, 1303],
          ] as Size[]) {
            const one = drawn(algebra, mixed(algebra), size, {}, 56)
            const out = await inPinned(startFor(algebra, mixed(algebra), size[0], size[2]))
            const options = { semiring: algebra.semiring, backend: 'cuda', out }
            const result = mpmmSync(
              (await inPinned(one.a)) as never,
              (await inPinned(one.b)) as never,
              options as never,
            )
            const c = result.c as unknown as AnyMatrix
            const outcome = { c, result, initial: null, now: null, spilled: false } as never
            expectRight(one, outcome, { backend: 'cuda', timed: true }, 'pinned')
          }
        })

        itIf(algebra.kind === 'product', 'rejects a negative element in the last panel', async () => {
          for (const where of ['a', 'b', 'c0'] as const) {
            const one = drawn(
              algebra,
              'probabilities',
              large,
              { c0: startFor(algebra, 'probabilities', 2900, 2700) },
              57,
            )
            const { data } = one[where]!
            data[data.length - 1] = -0.5
            await expectAsOnCpu(one)
          }
        })
      },
    )
  })
}
