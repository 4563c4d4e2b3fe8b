/** Queued products, copies and combinations, none of which is awaited. */
import { describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import {
  type Device,
  type DeviceMatrix,
  mpmm,
  mpmmGrouped,
  type Semiring,
  variants,
} from '../../lib/index.js'
import { algebras } from './algebras.js'
import { expectElements, expectRejected } from './expect.js'
import { Random, randomMatrix } from './generators.js'
import { type Dense, oracle, type Strided } from './oracle.js'
import { expectIs, type Made, rowMajorMatrix } from './resident.js'

export function chains(backend: BackendName, open: () => Device): void {
  const chain = (count: number, size: number) =>
    Array.from({ length: count }, (_, index) => randomMatrix(size, size, index + 1))

  it('consist of independent products', async () => {
    const sources = chain(6, 65)
    const uploaded = await Promise.all(sources.map((source) => open().upload(source)))
    const places = await Promise.all(sources.map(() => open().full([65, 65], 0)))
    let expected: Strided = sources[0]!
    const running = sources.slice(1).map((source, index) => {
      expected = { ...(oracle(expected, source) as Dense), shape: [65, 65] }
      const from = index === 0 ? uploaded[0]! : places[index - 1]!
      return mpmm(from, uploaded[index + 1]!, { out: places[index]! })
    })
    const last = places[4]!.download()
    expectElements(await last, expected as unknown as Dense)
    for (const { c } of await Promise.all(running)) expect(places).toContain(c)
  })

  it('consist of products into two alternating matrices', async () => {
    const step = randomMatrix(48, 48, 7)
    const S = await open().upload(step)
    const places = [await open().upload(step), await open().full([48, 48], 0)]
    let expected: Strided = step
    const running: Promise<unknown>[] = []
    for (let i = 0; i < 9; i++) {
      running.push(mpmm(places[i % 2]!, S, { out: places[(i + 1) % 2]! }))
      expected = { ...(oracle(expected, step) as Dense), shape: [48, 48] }
    }
    expectElements(await places[1]!.download(), expected as unknown as Dense)
    await Promise.all(running)
  })

  it('consist of accumulations, copies and combinations', async () => {
    const [a, b] = chain(2, 40)
    const [A, B] = [await open().upload(a!), await open().upload(b!)]
    const C = await open().full([40, 40], -(2 ** 31))
    void mpmm(A, B, { out: C, accumulate: true })
    void C.combine(A)
    const before = C.download()
    void mpmm(B, A, { out: C, accumulate: true })
    const after = C.download()
    const expected = oracle(a!, b!, { c0: a! }) as Dense
    expectElements(await before, expected)
    expectElements(await after, oracle(b!, a!, { c0: { ...expected, shape: [40, 40] } }) as Dense)
  })

  describe('zeros that were −0 before', () => {
    const rows = variants().filter(
      (row) =>
        row.backend === backend &&
        row.dtype === 'float32' &&
        (row.semiring === 'max-plus' || row.semiring === 'min-plus'),
    )
    const floats = (shape: [number, number], seed: number, least: number) => {
      const source = new Random(seed)
      const data = Float32Array.from({ length: shape[0] * shape[1] }, () =>
        least < 0 && source.chance(0.02) ? source.integer(least, -1) : -0,
      )
      return { data, shape }
    }

    /**
     * Fails unless products with `created` as the left or the right operand equal products with its downloaded
     * elements.
     */
    const expectProducts = async (created: DeviceMatrix<Float32Array>) => {
      const elements = await created.download()
      const [left, right] = [floats([37, created.shape[0]!], 3, -9), floats([created.shape[1]!, 45], 4, -9)]
      const [L, R] = [await open().upload(left), await open().upload(right)]
      for (const { semiring: name, name: variant } of rows) {
        const semiring = name as 'max-plus' | 'min-plus'
        const expectProduct = async (A: DeviceMatrix<Float32Array>, B: DeviceMatrix<Float32Array>) => {
          const { c } = await mpmm(A, B, { semiring, variant })
          const [a, b] = [A === created ? elements : left, B === created ? elements : right]
          expectIs(await c.download(), { semiring, type: 'float32' }, a, b, undefined, variant)
          c.dispose()
        }
        await expectProduct(created, R).catch(unlessRefused)
        await expectProduct(L, created).catch(unlessRefused)
      }
    }
    // Rethrows errors other than the rejection of values by a variant, because some variants support few
    // kinds of values.
    const unlessRefused = (error: unknown) => {
      if ((error as { code?: string }).code !== 'ERR_MPMML_VARIANT') throw error
    }

    it.each(['max-min', 'min-max'] as const)('are equal in a product, %s', async (semiring) => {
      const [A, B] = [
        await open().upload(floats([40, 60], 1, -9)),
        await open().upload(floats([60, 50], 2, -9)),
      ]
      await expectProducts((await mpmm(A, B, { semiring })).c)
    })

    it.each(['max-min', 'min-max', 'max-times'] as const)(
      'are equal in a combination, %s',
      async (semiring) => {
        const least = semiring === 'max-times' ? 0 : -9
        const [C, D] = [
          await open().upload(floats([40, 50], 1, least)),
          await open().upload(floats([40, 50], 2, least)),
        ]
        await expectProducts(await C.combine(D, { semiring }))
      },
    )

    it.each(['max-min', 'min-max'] as const)('are equal without steps, added to C0: %s', async (semiring) => {
      const [A, B] = [await open().full([40, 0], 0, 'float32'), await open().full([0, 50], 0, 'float32')]
      const accumulate = await open().upload(floats([40, 50], 1, -9))
      await expectProducts((await mpmm(A, B, { semiring, accumulate })).c)
    })
  })

  describe('alternating semirings', () => crossings(open))

  it('consist of many small products', async () => {
    const one = await open().full([4, 4], 1)
    const sum = [await open().full([4, 4], 0), await open().full([4, 4], 0)]
    const running: Promise<unknown>[] = []
    for (let i = 0; i < 1000; i++) running.push(mpmm(sum[i % 2]!, one, { out: sum[(i + 1) % 2]! }))
    expect([...(await sum[0]!.download()).data]).toEqual(new Array(16).fill(1000))
    await Promise.all(running)
  })
}

/**
 * Results of one semiring as operands of another, with NaN, −0 and infinities. The cached bounds of results
 * must be valid.
 */
function crossings(open: () => Device): void {
  const [nan, infinity] = [Number.NaN, Number.POSITIVE_INFINITY]
  const pairs = [
    [nan, nan],
    [nan, 5],
    [0, nan],
    [nan, -infinity],
    [nan, infinity],
    [infinity, -infinity],
    [infinity, -0],
    [-0, -0],
    [-3, 5],
  ] as const
  const types = ['float32', 'float64'] as const
  const floats = (type: (typeof types)[number], value: number): Made =>
    rowMajorMatrix(type === 'float32' ? Float32Array.of(value) : Float64Array.of(value), [1, 1])

  const semirings = [...new Set(algebras.filter(({ type }) => type === 'float64').map((one) => one.semiring))]
  const takes = (semiring: Semiring, value: number) => semiring !== 'max-times' || !(value < 0)

  it.each(types.flatMap((type) => semirings.map((semiring) => [semiring, type] as const)))(
    'take results of %s on %s',
    async (semiring, type) => {
      const upload = (value: number) => open().upload(floats(type, value) as never) as Promise<DeviceMatrix>
      const options = { semiring } as never
      /** Functions that compute a result of two values. */
      const methods: Record<string, (x: DeviceMatrix, y: DeviceMatrix) => Promise<DeviceMatrix>> = {
        'a product': async (x, y) => (await mpmm(x, y, options)).c,
        'a product added to C0': async (x, y) =>
          (await mpmm(x, x, { semiring, accumulate: y } as never)).c as DeviceMatrix,
        'a combination': (x, y) => x.combine(y, options),
        'a group': async (x, y) => {
          const products = [
            { a: x, b: y },
            { a: y, b: x },
          ]
          const [first, second] = (await mpmmGrouped(products as never, options)).map(
            ({ c }) => c as unknown as DeviceMatrix,
          )
          second!.dispose()
          return first!
        },
      }
      const three = await upload(3)
      for (const [name, compute] of Object.entries(methods)) {
        for (const [x, y] of pairs) {
          if (!takes(semiring, x) || !takes(semiring, y)) continue
          const [X, Y] = [await upload(x), await upload(y)]
          const C = await compute(X, Y)
          const c = await C.download()
          for (const next of semirings) {
            const what = `${name} of ${x} and ${y}, then ${next}`
            const product = mpmm(C, three, { semiring: next } as never) as unknown as Promise<{
              c: DeviceMatrix
            }>
            if (!takes(next, c.data[0]!)) {
              await expectRejected(product, 'VALUE')
              continue
            }
            const { c: result } = await product
            const algebra = { semiring: next, type }
            expectIs(await result.download(), algebra, c, floats(type, 3), undefined, what)
            result.dispose()
          }
          for (const one of new Set([X, Y, C])) one.dispose()
        }
      }
    },
  )
}
