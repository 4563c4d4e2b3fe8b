/** The option `witness` and its errors; the law of products covers its values. */
import { expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import {
  type DenseMatrix,
  type DeviceMatrix,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  openDevice,
  plan,
} from '../../lib/index.js'
import { arrays } from '../../native/tools/fuzz/algebra.mjs'
import { inTurn } from './cases.js'
import { caught, expectError, expectRejected, expectThrown, thrown } from './expect.js'
import { useDevice } from './homes.js'
import { additive, algebraOf, type Case, idempotent, nameOf, sourceOf } from './products/case.js'
import { expectValues } from './products/law.js'
import { kindNamesOf, valuesFor } from './products/values.js'
import { untyped } from './untyped.js'

const { product, productNow, group } = untyped<true>()
const algebra = algebraOf('max-plus')

/** A product with several best candidates. */
function ties(m: number, k: number, n: number, seed: number): Case {
  const [a, b] = valuesFor(algebra, 'few levels, ties', [m, k, n], undefined, seed)
  return { algebra, a, b, witness: true, what: `${m} × ${k} × ${n}` }
}

export function witnessSuite(backend: BackendName): void {
  const open = useDevice({ backend })

  const one = matrix(2, 2, [1, 2, 3, 4])

  it('is false by default', async () => {
    expect('witness' in mpmmSync(one, one, { backend })).toBe(false)
    expect('witness' in mpmmSync(one, one, { backend, witness: false })).toBe(false)
    expect('witness' in (await mpmm(one, one, { backend, witness: undefined }))).toBe(false)
    const [result] = await mpmmGrouped([{ a: one, b: one }], { backend })
    expect('witness' in result!).toBe(false)
    expect((await mpmm(one, one, { backend, witness: true })).witness).toEqual(matrix(2, 2, [1, 1, 1, 1]))
  })

  it('must be a boolean', async () => {
    for (const witness of [1, 'yes', null, one]) {
      const options = { backend, witness } as never
      expectThrown(() => mpmmSync(one, one, options), 'OPTION', 'witness', 'boolean')
      await expectRejected(mpmm(one, one, options), 'OPTION', 'witness')
      await expectRejected(mpmmGrouped([{ a: one, b: one }], options), 'OPTION', 'witness')
    }
  })

  it.each(additive.map((algebra) => [nameOf(algebra), algebra] as const))(
    'is rejected for %s, with the reason',
    async (_, { semiring, dtype }) => {
      const zeros = { data: new arrays[dtype](4), shape: [2, 2] }
      const options = { backend, semiring, witness: true } as const
      for (const error of [
        thrown(() => productNow(zeros, zeros, options)),
        await caught(product(zeros, zeros, options)),
        await caught(group([{ a: zeros, b: zeros }] as never, options)),
        await caught(product(await open().upload(zeros as never), zeros, { ...options, backend: 'auto' })),
        await caught(plan(zeros as never, zeros as never, options as never)),
      ]) {
        expectError(error, 'OPTION', 'witness', semiring, 'every k')
      }
      expect(productNow(zeros, zeros, { ...options, witness: false }).c.data).toEqual(zeros.data)
    },
  )

  it('is planned with the executed variant', async () => {
    for (const [turn, one] of idempotent.entries()) {
      for (const kind of inTurn(backend, kindNamesOf(one), turn, 4)) {
        const [a, b] = valuesFor(one, kind, [150, 300, 170], undefined, 1).map(sourceOf)
        const options = {
          semiring: one.semiring,
          witness: true,
          ...(one.isInteger && { overflow: 'saturate' }),
        }
        const planned = await plan(a as never, b as never, { ...options, backend } as never)
        const ran = await product(a!, b!, { ...options, backend } as never)
        expect(planned.variant, `${nameOf(one)}, ${kind}`).toBe(ran.variant)
        const [there, other] = [await open().upload(a as never), await open().upload(b as never)]
        const ofDevice = await plan(there as never, other as never, options as never)
        const onDevice = await product(there as never, other as never, options as never)
        expect(ofDevice.variant, `${nameOf(one)}, ${kind}`).toBe(onDevice.variant)
        for (const matrix of [there, other, onDevice.c]) (matrix as unknown as DeviceMatrix).dispose()
      }
    }
  })

  it('is right for thousands of products, and not affected by the next group', async () => {
    await using device = await openDevice({ backend })
    const count = 2500
    const squares = Array.from({ length: 5 }, (_, index) => ties(1 + index, 1 + index, 1 + index, index).a)
    const expected = squares.map((each) => ({ algebra, a: each, b: each, witness: true, what: 'a square' }))
    const uploaded = await Promise.all(squares.map((each) => device.upload(sourceOf(each) as DenseMatrix)))
    const out = await device.full([1, 1], 0)
    const { used } = device.memory()
    const products = Array.from({ length: count }, (_, index) => {
      const a = uploaded[index % 5]!
      return { a, b: a, ...(index === 2000 && { out }) }
    })
    const results = await group(products as never, { witness: true })
    expect(results[2000]!.c).toBe(out)
    for (const index of [0, 1, 255, 256, 257, 1003, 2000, 2001, count - 1]) {
      const { c, witness } = results[index] as unknown as { c: DeviceMatrix; witness: DeviceMatrix }
      expectValues(expected[index % 5]!, await c.download(), { witness: await witness.download() })
    }
    const dispose = (created: object) => (created as DeviceMatrix).dispose()
    for (const [index, { c, witness }] of results.entries()) {
      if (index !== 2000) dispose(c)
      dispose(witness)
    }
    expect(device.memory().used).toBe(used)
    for (const [index, result] of (await group(products as never)).entries()) {
      expect('witness' in result).toBe(false)
      if (index !== 2000) dispose(result.c)
    }
    expect(device.memory().used).toBe(used)
    products[2400] = { a: uploaded[0]!, b: uploaded[1]! }
    await expectRejected(group(products as never, { witness: true }), 'SHAPE', 'products[2400]')
    expect(device.memory().used).toBe(used)
  })

  it('is right for several products at once, and aborted ones', async () => {
    const tasks = Array.from({ length: 8 }, (_, index) => ties(60 + index, 150, 70 - index, index))
    const together = await Promise.all(
      tasks.map(({ a, b }) => product(sourceOf(a), sourceOf(b), { backend, witness: true })),
    )
    for (const [index, one] of tasks.entries()) {
      const { c, witness } = together[index]!
      expectValues(one, c, { witness })
    }
    const { a, b } = tasks[0]!
    const options = { backend, witness: true, signal: AbortSignal.abort() } as const
    await expectRejected(product(sourceOf(a), sourceOf(b), options), 'ABORTED')
  })
}
