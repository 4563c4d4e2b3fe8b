/** The option `structure`: its values, its output, and its applications. The law of products covers the results. */
import { describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import {
  type DenseMatrix,
  type DeviceMatrix,
  type GroupedProduct,
  matrix,
  mpmm,
  mpmmSync,
  openDevice,
  type ProductStructure,
  plan,
} from '../../lib/index.js'
import { caught, expectError, thrown } from './expect.js'
import { type Dense, oracle } from './oracle.js'
import {
  type AnyMatrix,
  algebraOf,
  algebras,
  type Case,
  type Elements,
  elements,
  elementsOf,
  nameOf,
  sourceOf,
  stepsOf,
} from './products/case.js'
import { expectRight, expectValues } from './products/law.js'
import { compute } from './products/targets.js'
import { mixed, startFor } from './products/values.js'
import { drawn, structures, withStructure } from './suite-products.js'
import { untyped } from './untyped.js'

const { productNow, group } = untyped<boolean>()

const maxPlus = algebraOf('max-plus')
const upper: ProductStructure = { a: 'upper', b: 'upper', c: 'upper' }

export function structureSuite(backend: BackendName): void {
  describe('the option', () => readings(backend))
  describe('programs', () => programs(backend))
}

function programs(backend: BackendName): void {
  it('accepts parts of tables, with diagonals at any position', async () => {
    // Products of rows i by columns j of one table, as in triangular recurrences.
    const n = 60
    const { a: table } = withStructure(drawn(maxPlus, 'small, ε scattered', [n, n, n]), { a: 'upper' })
    const target = { name: 'arrays', options: { backend }, expectation: { backend, timed: true } }
    for (const [row, col, size] of [
      [0, 20, 20],
      [7, 31, 13],
      [5, 30, 25],
    ] as const) {
      const part = (i: number, j: number, rows: number, cols: number): AnyMatrix => ({
        data: table.data,
        shape: [rows, cols],
        strides: [n, 1],
        offset: i * n + j,
      })
      const given = {
        a: part(row, row, size, col - row + size),
        b: part(row, col, col - row + size, size),
      }
      const structure: ProductStructure = { a: 'upper', b: { band: [col - row, Number.POSITIVE_INFINITY] } }
      const one = {
        algebra: maxPlus,
        a: elementsOf(given.a),
        b: elementsOf(given.b),
        given,
        structure,
        what: `${row}`,
      }
      for (const destination of ['new', 'out'] as const)
        expectRight(one, await compute(target, one, destination), target.expectation, destination)
    }
  })

  it.each([
    ['rows', [9, 3, 1]],
    ['columns', [9, 1, 3]],
  ] as const)(
    'stores each entry of a batch whose sums might overflow, in %s of `out`',
    async (_, strides) => {
      // Each sum is near 0, but the bounds of both operands allow sums of ±2^31.
      const ends = (sign: number, stepOf: (at: number) => number) =>
        Int32Array.from(
          { length: 18 },
          (_, at) => sign * (stepOf(at) === 1 ? -1 : 1) * 2 ** 30 + ((at * 7) % 5),
        )
      const shape = [2, 3, 3]
      const [a, b] = [
        { data: ends(1, (at) => at % 3), shape },
        { data: ends(-1, (at) => Math.floor(at / 3) % 3), shape },
      ]
      const out = { data: new Int32Array(18).fill(7), shape, strides } as never
      const { c } = await mpmm(a as never, b as never, { backend, structure: { c: 'upper' }, out })
      const { data } = oracle(a, b) as Dense
      const expected = Array.from(data, (value, at) => (at % 3 < Math.floor(at / 3) % 3 ? 7 : value))
      expect(Array.from(elementsOf(c as AnyMatrix).data)).toEqual(expected)
    },
  )

  it('multiplies a result with garbage outside by itself, as a closure of a triangle does', async () => {
    await using device = await openDevice({ backend })
    let { a: host } = withStructure(drawn(maxPlus, 'small, ε scattered', [70, 70, 70]), upper)
    for (let round = 0; round < 3; round++) {
      const D = await device.upload(sourceOf(host) as DenseMatrix<Int32Array>)
      const c = await (await mpmm(D, D, { structure: upper })).c.download()
      expectValues({ algebra: maxPlus, a: host, b: host, structure: upper, what: `round ${round}` }, c)
      host = elementsOf(c)
    }
  })

  it('computes groups, each product with its structure or that of the group', async () => {
    const tasks = Array.from({ length: 40 }, (_, index) => {
      const own = index % 3 === 0 ? Object.values(structures)[index % 10] : undefined
      const size = [20 + (index % 7), 30, 25] as const
      const one = withStructure(drawn(maxPlus, 'small, ε scattered', size, {}, index), own ?? upper)
      const initial = index % 2 === 0 ? startFor(maxPlus, 'small', size[0], size[2]) : null
      const out = initial && sourceOf({ ...initial, data: initial.data.slice() })
      return { one, own, initial, out }
    })
    const results = await group(
      tasks.map(
        ({ one, own, out }) =>
          ({
            a: sourceOf(one.a),
            b: sourceOf(one.b),
            out: out ?? undefined,
            structure: own,
          }) as GroupedProduct,
      ),
      { backend, structure: upper },
    )
    for (const [index, { one, initial }] of tasks.entries()) expectValues(one, results[index]!.c, { initial })
    const wrong = caught(group([{ a: matrix(1, 1), b: matrix(1, 1), structure: 'upper' as never }]))
    expectError(await wrong, 'OPTION', 'products[0].structure')
  })

  it.each(algebras.map((one) => [nameOf(one), one] as const))(
    'computes groups of similar products on a device: %s',
    async (_, algebra) => {
      await using device = await openDevice({ backend })
      const [m, k, n] = [41, 50, 37] as const
      const load = (source: Elements) =>
        device.upload(sourceOf(source) as DenseMatrix) as unknown as Promise<DeviceMatrix>
      /** Uploads elements as a part of a transposed matrix. */
      const inPart = async (source: Elements): Promise<DeviceMatrix> => {
        const data = source.data.slice(0, 0).constructor as Int32ArrayConstructor
        const larger = new data(2 * m * n).fill(1)
        source.data.forEach((value: number, at: number) => {
          larger[(at % n) * 2 * m + Math.floor(at / n)] = value
        })
        return (await load(elements(larger, n, 2 * m))).view({ cols: [0, m] }).transpose()
      }
      // The bounds exclude an overflow, so that a GPU needn't scan the sums.
      const outside = (one: Case): Case => {
        for (const each of [one.a, one.b, one.c0])
          each?.data.forEach((x, at) => {
            if (!(Math.abs(x) < 1e6) && x !== algebra.zero) each.data[at] = 50
          })
        return one
      }
      for (const structure of [upper, structures['narrow bands']!, { c: 'lower' } as const]) {
        const tasks = await Promise.all(
          Array.from({ length: 14 }, async (_, index) => {
            const c0 = index % 2 ? startFor(algebra, mixed(algebra), m, n, undefined, index) : undefined
            const one = outside(
              withStructure(drawn(algebra, mixed(algebra), [m, k, n], { c0 }, index), structure),
            )
            const before = startFor(algebra, mixed(algebra), m, n, undefined, 40 + index)
            const out =
              index % 3 === 0 ? await load(before) : index % 3 === 1 ? await inPart(before) : undefined
            const there = {
              a: await load(one.a),
              b: await load(one.b),
              accumulate: one.c0 && (await load(one.c0)),
            }
            return { one, there, out, initial: out ? before : null }
          }),
        )
        const results = await group(
          tasks.map(({ there, out }) => ({ ...there, out }) as unknown as GroupedProduct),
          { semiring: algebra.semiring, structure } as never,
        )
        for (const [index, { one, initial }] of tasks.entries()) {
          const c = await (results[index]!.c as unknown as DeviceMatrix).download()
          expectValues(one, c, { initial })
        }
      }
    },
  )

  it('names the product whose sum overflows among similar ones', async () => {
    await using device = await openDevice({ backend })
    const [one, huge] = [await device.full([9, 9], 1), await device.full([9, 9], 2 ** 30)]
    const products: GroupedProduct[] = Array.from({ length: 20 }, (_, index) => {
      const a = index < 17 ? one : huge
      return { a, b: a }
    })
    const error = await caught(group(products, { structure: upper }))
    expectError(error, 'OVERFLOW', 'products[17]: C[0, 0]')
    const results = await group(products, { structure: upper, overflow: 'saturate' })
    const first = async (index: number) =>
      (await (results[index]!.c as unknown as DeviceMatrix).download()).data[0]
    expect([await first(16), await first(17)]).toEqual([2, 2 ** 31 - 1])
  })
}

function readings(backend: BackendName): void {
  const one = matrix(1, 1)
  it.each([
    ['upper', /structure must be an object/],
    [null, /structure must be an object/],
    [{ d: 'upper' }, /no option 'd' of option structure/],
    [{ a: 'triangular' }, /structure\.a must be 'general'/],
    [{ a: 7 }, /structure\.a must be 'general'/],
    [{ b: {} }, /structure\.b\.band must be an array/],
    [{ b: { bands: [1, 2] } }, /no option 'bands'/],
    [{ c: { band: [1] } }, /structure\.c\.band must be two numbers/],
    [{ c: { band: [1, 2, 3] } }, /structure\.c\.band must be two numbers/],
    [{ c: { band: [1, 2.5] } }, /structure\.c\.band must be two numbers/],
    [{ c: { band: [Number.NaN, 1] } }, /structure\.c\.band must be two numbers/],
    [{ c: { band: [Number.NEGATIVE_INFINITY, 1] } }, /structure\.c\.band must be two numbers/],
    [{ c: { band: ['1', 1] } }, /structure\.c\.band must be two numbers/],
    [{ c: { band: [2 ** 53, 1] } }, /structure\.c\.band must be two numbers/],
  ])('rejects %o', async (structure, message) => {
    const options = { backend, structure } as never
    for (const error of [thrown(() => mpmmSync(one, one, options)), await caught(mpmm(one, one, options))]) {
      expectError(error, 'OPTION', message as RegExp)
    }
  })

  it('is in results and plans, and its steps are counted in gops', async () => {
    const n = 150
    const all = withStructure(drawn(maxPlus, 'small', [n, n, n]), upper)
    const [a, b] = [sourceOf(all.a), sourceOf(all.b)]
    const result = productNow(a, b, { backend, structure: upper })
    expect(result.structure).toEqual(upper)
    expect(stepsOf(all)).toBe((n * (n + 1) * (n + 2)) / 6)
    expect(result.gops).toBeCloseTo((2 * stepsOf(all)) / result.timing.kernelMs / 1e6, 6)
    const planned = await plan(a as DenseMatrix<Int32Array>, b as DenseMatrix<Int32Array>, {
      backend,
      structure: { a: { band: [-0, 3] } },
    })
    expect(planned.structure).toEqual({ a: { band: [0, 3] }, b: 'general', c: 'general' })
    expect(productNow(one, one, { backend })).not.toHaveProperty('structure')
    expect(await plan(one, one, { backend })).not.toHaveProperty('structure')
  })

  it('has equal arithmetics in plans and results', async () => {
    for (const kind of ['few levels, ties', 'spreads of 16 bits', 'full range']) {
      const one = withStructure(drawn(maxPlus, kind, [90, 100, 80]), upper)
      const [a, b] = [sourceOf(one.a), sourceOf(one.b)] as DenseMatrix<Int32Array>[]
      const options = { backend, structure: upper, overflow: 'saturate' } as const
      const { arithmetic, variant } = await plan(a!, b!, options)
      expect(productNow(a, b, options)).toMatchObject({ arithmetic, variant })
    }
  })
}
