/** mpmmGrouped for arrays and for matrices on a device. The tests of both backends run this suite. */
import { describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import {
  type Device,
  type DeviceMatrix,
  type GroupedOptions,
  type GroupedProduct,
  type MatrixLike,
  type MpmmResult,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  type OperandArray,
  openDevice,
  plan,
  variants,
} from '../../lib/index.js'
import { algebras } from './algebras.js'
import type { Size } from './cases.js'
import { caught, expectError, expectRejected } from './expect.js'
import { Random } from './generators.js'
import { useDevice } from './homes.js'
import { errorsAfterAbort } from './in-time.js'
import { type Dense, oracle } from './oracle.js'
import { algebraOf, type Case, sourceOf } from './products/case.js'
import { expectValues } from './products/law.js'
import { kindNamesOf, valuesFor } from './products/values.js'
import { expectIs, expectMatrix, type Made, random, rowMajorMatrix } from './resident.js'
import { drawn } from './suite-products.js'

type Operand = MatrixLike<OperandArray> | DeviceMatrix<OperandArray>
interface AnyProduct {
  a: Operand
  b: Operand
  out?: Operand | undefined
  accumulate?: Operand | boolean | undefined
  structure?: GroupedProduct['structure']
}
/** mpmmGrouped with matrices whose types are only known at run time. */
const grouped = mpmmGrouped as unknown as (
  products: AnyProduct[],
  options?: GroupedOptions,
) => Promise<(Omit<MpmmResult, 'c'> & { c: DeviceMatrix<OperandArray> & Made })[]>

/** Sizes of independent products: around tiles, skinny, without elements or steps. */
const shapes = [
  [4, 4, 4],
  [16, 16, 16],
  [1, 1, 1],
  [33, 65, 17],
  [8, 300, 8],
  [0, 5, 3],
  [5, 0, 3],
  [129, 3, 127],
  [1, 70, 1],
  [4, 4, 4],
] as const

export function groupedSuite(backend: BackendName): void {
  const open = useDevice({ backend })

  describe.each(['arrays', 'a device'] as const)('on %s', (place) => {
    const there = (source: Made): Promise<Operand> =>
      place === 'arrays' ? Promise.resolve(source) : open().upload(source as never)
    const here = (c: DeviceMatrix<OperandArray> & Made) =>
      place === 'arrays' ? Promise.resolve(c) : c.download()
    const options = place === 'arrays' ? { backend } : {}
    results(backend, options, there, here)
    failures(options, there, here)
  })
  describe('on a device', () => onDevice(backend, open))
  describe('errors', () => wrong(backend, open))
}

type There = (source: Made) => Promise<Operand>
type Here = (c: DeviceMatrix<OperandArray> & Made) => Promise<Made>

function results(backend: BackendName, options: GroupedOptions, there: There, here: Here): void {
  for (const algebra of algebras) {
    const { semiring } = algebra
    it(`computes ${semiring} on ${algebra.type}: products of many shapes, in order`, async () => {
      const sources = shapes.map(([m, k, n], seed) => ({
        a: random(algebra, [m, k], seed + 1),
        b: random(algebra, [k, n], seed + 100),
        c0: random(algebra, [m, n], seed + 200),
      }))
      const products: AnyProduct[] = []
      for (const [index, { a, b, c0 }] of sources.entries()) {
        products.push({ a: await there(a), b: await there(b) })
        if (index % 2 === 0) products.at(-1)!.accumulate = await there(c0)
        if (index % 3 === 0) products.at(-1)!.out = await there(random(algebra, [...c0.shape], 3))
      }
      const results = await grouped(products, { ...options, semiring })
      expect(results).toHaveLength(sources.length)
      for (const [index, { a, b, c0 }] of sources.entries()) {
        const { c, backend: ran, variant } = results[index]!
        expect(ran).toBe(backend)
        expect(variants().find(({ name }) => name === variant)?.backend).toBe(backend)
        expect(Array.from(c.shape)).toEqual([a.shape[0], b.shape[1]])
        if (products[index]!.out) expect(c).toBe(products[index]!.out)
        expectIs(await here(c), algebra, a, b, index % 2 === 0 ? c0 : undefined, `products[${index}]`)
      }
    })
  }

  for (const semiring of ['max-plus', 'min-plus'] as const) {
    const algebra = algebraOf(semiring, 'float32')
    // Structured products share no launch with other products, so the unstructured product has a separate
    // launch.
    it.each(kindNamesOf(algebra))(
      `computes ${semiring} on floats next to a structured product: %s`,
      async (kind) => {
        for (const size of [
          [4, 1514, 8],
          [70, 90, 110],
        ] as Size[]) {
          // The other operand must not affect a result that a NaN affects.
          const one = drawn(algebra, kind, size, { b: valuesFor(algebra, 'whole numbers', size)[1] })
          const other = drawn(algebra, 'any numbers', [40, 40, 40])
          const put = async ({ a, b }: Case) => ({
            a: await there(sourceOf(a) as Made),
            b: await there(sourceOf(b) as Made),
          })
          const products = [{ ...(await put(other)), structure: { a: 'lower' } as const }, await put(one)]
          const [, second] = await grouped(products, { ...options, semiring })
          expectValues(one, await here(second!.c))
        }
      },
    )
  }

  it('returns nothing for an empty group', async () => {
    expect(await grouped([], options)).toEqual([])
  })

  it('computes thousands of small products', async () => {
    const source = new Random(1)
    const algebra = { semiring: 'max-plus', type: 'int32' } as const
    const pool = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const matrix = random(algebra, [source.integer(1, 12), source.integer(1, 12)], index)
        return { matrix, there: await there(matrix) }
      }),
    )
    const pairs = []
    while (pairs.length < 3000) {
      const [a, b] = [source.pick(pool), source.pick(pool)]
      if (a.matrix.shape[1] === b.matrix.shape[0]) pairs.push({ a, b })
    }
    const results = await grouped(
      pairs.map(({ a, b }) => ({ a: a.there, b: b.there })),
      options,
    )
    for (const [index, { a, b }] of pairs.entries()) {
      if (index % 7 === 0)
        expectIs(await here(results[index]!.c), algebra, a.matrix, b.matrix, undefined, `${index}`)
    }
  })
}

function failures(options: GroupedOptions, there: There, here: Here): void {
  it('names the product that is rejected', async () => {
    const [square, wide] = [
      await there(rowMajorMatrix(new Int32Array(4), [2, 2])),
      await there(rowMajorMatrix(new Int32Array(6), [2, 3])),
    ]
    const good = { a: square, b: square }
    const refused = async (product: unknown, code: string, ...patterns: (string | RegExp)[]) =>
      await expectRejected(grouped([good, product as AnyProduct], options), code, ...patterns)
    await refused(null, 'DTYPE', /^products\[1\] must be/, 'null')
    await refused(5, 'DTYPE', /^products\[1\] must be/)
    await refused({ a: square }, 'DTYPE', /^products\[1\]\.b must be a matrix/)
    await refused({ ...good, variant: 'x' }, 'OPTION', /'variant' of products\[1\]/, "'out'")
    await refused({ a: wide, b: wide }, 'SHAPE', /products\[1\]\.a \[2, 3\]/, /products\[1\]\.b \[2, 3\]/)
    await refused({ ...good, out: wide }, 'SHAPE', /^products\[1\]\.out \[2, 3\]/)
    await refused({ ...good, accumulate: wide }, 'SHAPE', /^products\[1\]\.accumulate \[2, 3\]/)
    await refused({ ...good, accumulate: true }, 'OPTION', /^products\[1\]\.accumulate: true/)
    await refused({ ...good, accumulate: 1 }, 'OPTION', /products\[1\]\.accumulate/, '1')
    await refused({ ...good, out: square }, 'SHAPE', /^products\[1\]\.out overlaps products\[1\]\.a /)
    const floats = await there(rowMajorMatrix(new Float32Array(4), [2, 2]))
    await refused({ a: square, b: floats }, 'DTYPE', /^products\[1\]\.b is of float32/)
    await refused(
      { a: floats, b: floats },
      'DTYPE',
      /^products\[1\]\.a is of float32 and products\[0\]\.a of int32/,
    )
  })

  it('names the product that overflows', async () => {
    const [zero, huge] = [
      await there(rowMajorMatrix(new Int32Array(9), [3, 3])),
      await there(rowMajorMatrix(new Int32Array(9).fill(2 ** 31 - 1), [3, 3])),
    ]
    const out = await there(rowMajorMatrix(new Int32Array(9).fill(5), [3, 3]))
    const error = await caught(
      grouped(
        [
          { a: zero, b: zero },
          { a: zero, b: zero },
          { a: huge, b: huge, out },
        ],
        options,
      ),
    )
    expectError(error, 'OVERFLOW', /^products\[2\]: C\[0, 0\]/, '4294967294')
    expect(new Set((await here(out as never)).data)).toEqual(new Set([5]))
    const [fine] = await grouped([{ a: huge, b: huge, out }], { ...options, overflow: 'saturate' })
    expect(new Set((await here(fine!.c)).data)).toEqual(new Set([2 ** 31 - 1]))
  })

  it('names the product with an invalid element', async () => {
    const one = await there(rowMajorMatrix(new Float64Array(4).fill(1), [2, 2]))
    const negative = await there(rowMajorMatrix(Float64Array.of(1, 1, 1, -1), [2, 2]))
    const error = await caught(
      grouped(
        [
          { a: one, b: one },
          { a: one, b: negative },
        ],
        { ...options, semiring: 'max-times' },
      ),
    )
    expectError(error, 'VALUE', /^products\[1\]: /, '-1')
  })

  it('names the product whose C0 has an invalid element', async () => {
    const a = await there({ data: Float32Array.of(2), shape: [1, 1] } as never)
    const [fine, negative] = [
      await there({ data: Float32Array.of(3), shape: [1, 1] } as never),
      await there({ data: Float32Array.of(-3), shape: [1, 1] } as never),
    ]
    const products = [fine, negative, fine].map((accumulate) => ({ a, b: a, accumulate }))
    const error = await caught(grouped(products as never, { ...options, semiring: 'max-times' }))
    expectError(error, 'VALUE', /^products\[1\]/, '-3')
  })

  it('rejects an out that overlaps a matrix of another product', async () => {
    const [a, b, c, d] = await Promise.all(
      [0, 0, 0, 0].map(() => there(rowMajorMatrix(new Int32Array(16), [4, 4]))),
    )
    const refused = async (products: AnyProduct[], one: string, other: string) =>
      await expectRejected(
        grouped(products, options),
        'SHAPE',
        new RegExp(
          `^products\\[${one} overlaps products\\[${other} in memory, and the products of a group run in any order`,
        ),
      )
    await refused(
      [
        { a: a!, b: b!, out: c! },
        { a: c!, b: d! },
      ],
      '0\\]\\.out',
      '1\\]\\.a',
    )
    await refused(
      [
        { a: a!, b: b! },
        { a: d!, b: c!, out: b! },
      ],
      '1\\]\\.out',
      '0\\]\\.b',
    )
    await refused(
      [
        { a: a!, b: b!, out: c! },
        { a: a!, b: b!, out: c! },
      ],
      '(0|1)\\]\\.out',
      '(0|1)\\]\\.out',
    )
    await refused(
      [
        { a: a!, b: b!, accumulate: c! },
        { a: a!, b: b!, out: c!, accumulate: true },
      ],
      '1\\]\\.out',
      '0\\]\\.accumulate',
    )
    await grouped(
      [
        { a: a!, b: b!, out: c!, accumulate: true },
        { a: a!, b: b!, out: d! },
      ],
      options,
    )
  })

  it('aborts the group by its signal', async () => {
    const a = await there(rowMajorMatrix(new Int32Array(4), [2, 2]))
    const signal = AbortSignal.abort('no need')
    const error = await caught(grouped([{ a, b: a }], { ...options, signal }))
    expectError(error, 'ABORTED', /^the group was aborted/)
    expect((error as Error).cause).toBe('no need')
    // The values have so many levels that no product ends before it is aborted.
    const levels = Int32Array.from({ length: 700 * 700 }, (_, index) => (index * 7919) % 200_000_000)
    const large = await there(rowMajorMatrix(levels, [700, 700]))
    const group = Array.from({ length: 2500 }, () => ({ a: large, b: large }))
    const [given] = await errorsAfterAbort(
      (signal) => [grouped(group, { ...options, signal })],
      (controller) => setImmediate(() => controller.abort('enough')),
    )
    expectError(given, 'ABORTED', /^the group was aborted/)
    expect((given as Error).cause).toBe('enough')
    expect(await grouped([{ a, b: a }], { ...options, signal: new AbortController().signal })).toHaveLength(1)
  })
}

function onDevice(backend: BackendName, open: () => Device): void {
  const algebra = { semiring: 'max-plus', type: 'int32' } as const

  it('returns all results on the device if any matrix is on it', async () => {
    const [a, b, c0] = [random(algebra, [9, 7], 1), random(algebra, [7, 8], 2), random(algebra, [9, 8], 3)]
    const A = await open().upload(a)
    const C0 = await open().upload(c0)
    for (const group of [
      [
        { a, b },
        { a: A, b },
      ],
      [
        { a, b },
        { a, b, accumulate: C0 },
      ],
      [
        { a, b },
        { a, b, out: await open().full([9, 8], 0), accumulate: C0 },
      ],
    ]) {
      const [first, second] = await grouped(group)
      expect([first!.backend, second!.backend]).toEqual([backend, backend])
      expectIs(await first!.c.download(), algebra, a, b)
      expectIs(
        await second!.c.download(),
        algebra,
        a,
        b,
        group[1] && 'accumulate' in group[1] ? c0 : undefined,
      )
    }
  })

  it('accepts views, transposes, and results in parts of one matrix', async () => {
    const [a, b] = [random(algebra, [30, 40], 1), random(algebra, [40, 30], 2)]
    const [A, B] = [await open().upload(a), await open().upload(b)]
    const whole = await open().full([30, 60], 5)
    const parts = [whole.view({ cols: [0, 30] }), whole.view({ cols: [30, 60] }).transpose()]
    await grouped([
      { a: A, b: B, out: parts[0] },
      { a: B.transpose(), b: A.transpose(), out: parts[1] },
    ])
    expectIs(await parts[0]!.download(), algebra, a, b)
    expectIs(
      await parts[1]!.download(),
      algebra,
      { ...b, shape: [30, 40], strides: [1, 30] },
      { ...a, shape: [40, 30], strides: [1, 40] },
    )
  })

  it('follows other groups without waiting, with single products in between', async () => {
    const [step, start] = [random(algebra, [12, 12], 1), random(algebra, [12, 12], 2)]
    const S = await open().upload(step)
    const places = [
      await open().upload(start),
      await open().full([12, 12], 0),
      await open().full([12, 12], 0),
    ]
    const running = [
      grouped([
        { a: places[0]!, b: S, out: places[1]! },
        { a: S, b: S, out: places[2]! },
      ]),
      mpmm(places[1]!, places[2]! as DeviceMatrix, { out: places[0]! as DeviceMatrix }),
      grouped([{ a: places[0]!, b: S, out: places[1]!, accumulate: places[2]! }]),
    ]
    const last = places[1]!.download()
    const product = (x: Made, y: Made, c0?: Made) =>
      rowMajorMatrix(
        (oracle(x as never, y as never, c0 ? { c0: c0 as never } : {}) as Dense).data as Int32Array,
        [12, 12],
      )
    const square = product(step, step)
    expectMatrix(await last, product(product(product(start, step), square), step, square))
    await Promise.all(running)
  })

  it('runs before later work of the device', async () => {
    await using device = await openDevice({ backend })
    const full = (value: number) => device.full([2, 2], value)
    const [a, b, out, next] = [await full(1), await full(5), await full(0), await full(0)]
    const products: AnyProduct[] = Array.from({ length: 2500 }, () => ({ a, b: a }))
    const writing = products.slice()
    writing[2400] = { a, b, out }
    const first = grouped(writing)
    const single = mpmm(out, a)
    products[2450] = { a: out, b: out, out: next }
    const second = grouped(products)
    const downloads = [out.download(), next.download()]
    a.dispose()
    b.dispose()
    expect(new Set((await (await single).c.download()).data)).toEqual(new Set([7]))
    expect(new Set((await downloads[0]!).data)).toEqual(new Set([6]))
    expect(new Set((await downloads[1]!).data)).toEqual(new Set([12]))
    for (const results of await Promise.all([first, second])) {
      expect(new Set((await results[2499]!.c.download()).data)).toEqual(new Set([2]))
    }
  })

  it('leaves the options of later products unchanged', async () => {
    await using device = await openDevice({ backend })
    const a = await device.upload(matrix(2, 2, [1, 2, 3, 4]))
    const b = await device.upload(matrix(2, 2, [5, 0, 7, 1]))
    const many = Array.from({ length: 2500 }, () => ({ a, b }))
    const least = { semiring: 'min-plus' } as const
    // min(1 + 5, 2 + 7), min(1 + 0, 2 + 1), min(3 + 5, 4 + 7), min(3 + 0, 4 + 1)
    const minima = [6, 1, 8, 3]
    // The largest of the sums above.
    const maxima = [9, 3, 11, 5]
    const groups = [grouped(many)]
    const single = mpmm(a, b, least)
    groups.push(grouped(many))
    const now = mpmmSync(a, b, least)
    groups.push(grouped(many))
    const planned = plan(a, b, least)
    groups.push(grouped(many))
    const witnessed = mpmm(a, b, { witness: true })
    groups.push(grouped(many), grouped([{ a, b }], least))
    expect([...(await (await single).c.download()).data]).toEqual(minima)
    expect([...(await now.c.download()).data]).toEqual(minima)
    expect((await planned).variant).toMatch(/minplus/)
    expect([...(await (await witnessed).witness.download()).data]).toEqual([1, 1, 1, 1])
    const results = await Promise.all(groups)
    const [after] = results.pop()!
    expect([...(await after!.c.download()).data]).toEqual(minima)
    for (const group of results) expect([...(await group[2499]!.c.download()).data]).toEqual(maxima)
  })

  it('computes the whole group on a device that is closed right after the call', async () => {
    const device = await openDevice({ backend })
    const a = await device.full([2, 2], 1)
    const out = matrix(2, 2)
    const running = grouped(Array.from({ length: 2500 }, () => ({ a, b: a })))
    const copied = a.download(out)
    await device.close()
    expect(await running).toHaveLength(2500)
    expect([...(await copied).data]).toEqual([1, 1, 1, 1])
  })

  it('names the product of a late overflow, and keeps none of the others', async () => {
    await using device = await openDevice({ backend })
    const [a, huge] = [await device.full([2, 2], 1), await device.full([2, 2], 2 ** 31 - 1)]
    const { used } = device.memory()
    const products = Array.from({ length: 2500 }, () => ({ a, b: a }))
    products[2400] = { a: huge, b: huge }
    await expectRejected(mpmmGrouped(products), 'OVERFLOW', /^products\[2400\]: C\[0, 0\]/)
    expect(device.memory().used).toBe(used)
    products[2400] = { a, b: huge }
    const results = await mpmmGrouped(products, { overflow: 'saturate' })
    expect([...(await results[2399]!.c.download()).data]).toEqual([2, 2, 2, 2])
    expect([...(await results[2400]!.c.download()).data]).toEqual(new Array(4).fill(2 ** 31 - 1))
  })

  it('names the product of a late error, and keeps none of the others', async () => {
    await using device = await openDevice({ backend })
    await using another = await openDevice({ backend })
    const [a, first, wide] = [
      await device.full([2, 2], 1),
      await device.full([2, 2], 3),
      await device.full([2, 9], 1),
    ]
    const elsewhere = await another.full([2, 2], 1)
    const { used } = device.memory()
    const products: AnyProduct[] = Array.from({ length: 2500 }, () => ({ a, b: a }))
    products[0] = { a: first, b: a }
    const expectWrong = async (product: AnyProduct, code: string, message: RegExp) => {
      products[2400] = product
      await expectRejected(grouped(products), code, message)
      expect(device.memory().used).toBe(used)
    }
    await expectWrong({ a: wide, b: a }, 'SHAPE', /^products\[2400\]\.a \[2, 9\] has 9 columns/)
    await expectWrong({ a, b: elsewhere }, 'DEVICE', /^products\[2400\]\.b is on .* and products\[0\]\.a on/)
    await expectWrong({ a, b: a, out: first }, 'SHAPE', /^products\[2400\]\.out overlaps products\[0\]\.a/)
    await expectWrong(
      { a, b: a, out: rowMajorMatrix(new Int32Array(4), [2, 2]) },
      'DEVICE',
      /^products\[2400\]\.out is in/,
    )
    const thrown = new Error('of the user')
    products[2400] = {
      b: a,
      get a(): never {
        throw thrown
      },
    }
    expect(await caught(grouped(products))).toBe(thrown)
    expect(device.memory().used).toBe(used)
    expect([...(await first.download()).data]).toEqual([3, 3, 3, 3])
  })

  it('rejects by name a matrix that user code disposes while a later product is read', async () => {
    for (const close of [false, true]) {
      await using device = await openDevice({ backend })
      const [a, b] = [await device.full([2, 2], 1), await device.full([2, 2], 2)]
      const { used } = device.memory()
      let closing: Promise<void> | undefined
      const products: AnyProduct[] = Array.from({ length: 600 }, () => ({ a, b: a }))
      products[20] = { a: b, b: a }
      products[40] = {
        a,
        get b() {
          if (close) closing = device.close()
          else b.dispose()
          return a
        },
      }
      const error = await caught(grouped(products))
      if (close) expectError(error, 'DISPOSED', /^products\[0\]\.a was on .*, which has been closed/)
      else expectError(error, 'DISPOSED', /^products\[20\]\.a has been disposed/)
      if (!close) expect(device.memory().used).toBeLessThan(used)
      await closing
    }
  })

  it('rejects by name an array that user code transfers while a later product is read', async () => {
    const a = await open().full([2, 2], 1)
    const array = rowMajorMatrix(new Int32Array(4), [2, 2])
    const products: AnyProduct[] = Array.from({ length: 60 }, () => ({ a, b: a }))
    products[20] = { a, b: array }
    products[40] = {
      a,
      get b() {
        structuredClone(array.data, { transfer: [array.data.buffer as ArrayBuffer] })
        return a
      },
    }
    await expectRejected(grouped(products), 'DTYPE', /^products\[20\]\.b\.data .*detached/)
  })

  it('alternates products with and without further arguments', async () => {
    const [a, c0] = [await open().full([2, 2], 1), await open().full([2, 2], 9)]
    const batch = await open().full([3, 2, 2], 2)
    const kinds: [AnyProduct, number, number[]][] = [
      [{ a, b: a }, 2, [2, 2]],
      [{ a, b: a, accumulate: c0 }, 9, [2, 2]],
      [{ a, b: a, accumulate: false }, 2, [2, 2]],
      [{ a, b: a, structure: { a: 'general' } }, 2, [2, 2]],
      [{ a: batch, b: a }, 3, [3, 2, 2]],
      [{ a: matrix(2, 2), b: a }, 1, [2, 2]],
      [{ a, b: a, out: await open().full([2, 2], 0) }, 2, [2, 2]],
    ]
    const requested = Array.from({ length: 1500 }, (_, index) => kinds[(index * index) % 6]!)
    requested.push(kinds[6]!)
    for (const witness of [false, true]) {
      const results = await grouped(
        requested.map(([product]) => product),
        { witness },
      )
      for (const [index, [, value, shape]] of requested.entries()) {
        const { c, structure } = results[index]!
        expect(c.shape).toEqual(shape)
        expect(structure === undefined).toBe(requested[index] !== kinds[3])
        if (index % 50 === 0 || index > 1490)
          expect(new Set((await c.download()).data)).toEqual(new Set([value]))
        if (index < 12 && witness) {
          const { witness: which } = results[index] as unknown as { witness: DeviceMatrix }
          const expected = requested[index] === kinds[1] ? -1 : 0
          expect(new Set((await which.download()).data)).toEqual(new Set([expected]))
        }
      }
    }
  })

  it('writes a late out', async () => {
    const [a, out] = [await open().full([2, 2], 1), await open().full([2, 2], 0)]
    const products: AnyProduct[] = Array.from({ length: 2500 }, () => ({ a, b: a }))
    products[2400] = { a, b: a, out, accumulate: true }
    const results = await grouped(products)
    expect(results[2400]!.c).toBe(out)
    for (const index of [0, 1023, 1024, 2399, 2400, 2401, 2499]) {
      expect([...(await results[index]!.c.download()).data]).toEqual([2, 2, 2, 2])
    }
  })

  it('writes thousands of results into separate matrices, or parts of one, and never into operands of others', async () => {
    const a = await open().full([2, 2], 1)
    const outs = await Promise.all(Array.from({ length: 1500 }, () => open().full([2, 2], 5)))
    const products: AnyProduct[] = outs.map((out) => ({ a, b: a, out, accumulate: true }))
    const whole = await open().full([4, 4], 3)
    products[1400]!.out = whole.view({ rows: [0, 2], cols: [0, 2] })
    await grouped(products)
    expect([...(await outs[0]!.download()).data]).toEqual([5, 5, 5, 5])
    products[10]!.out = whole.view({ rows: [2, 4], cols: [2, 4] })
    products[10]!.accumulate = false
    await grouped(products)
    expect([...(await whole.download()).data]).toEqual([3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 3, 3, 2, 2])
    for (const [change, overlapping] of [
      [{ out: outs[3] }, 'products\\[3\\]\\.out'],
      [{ out: a }, 'products\\[1450\\]\\.a'],
      [{ a: outs[3] }, 'products\\[3\\]\\.out'],
      [{ accumulate: outs[3] }, 'products\\[3\\]\\.out'],
    ] as const) {
      const wrong = products.slice()
      wrong[1450] = { ...products[1450]!, ...change } as AnyProduct
      const error = await caught(grouped(wrong))
      expectError(error, 'SHAPE', 'overlaps')
      expect((error as Error).message).toMatch(new RegExp(overlapping))
    }
  })

  it('share memory, which is released with the last of them', async () => {
    await using device = await openDevice({ backend })
    const a = await device.full([20, 20], 1)
    const { used } = device.memory()
    const out = await device.full([20, 20], 0)
    const products = [
      { a, b: a },
      { a, b: a, out },
      { a, b: matrix(20, 3) },
    ]
    const results = await mpmmGrouped(products)
    const view = results[2]!.c.view({ rows: [5, 6] })
    for (const { c } of results) {
      expect(device.memory().used).toBeGreaterThan(used)
      c.dispose()
    }
    expect(device.memory().used).toBeGreaterThan(used)
    expect([...(await view.download()).data]).toEqual([1, 1, 1])
    view.dispose()
    expect(device.memory().used).toBe(used)
  })
}

function wrong(backend: BackendName, open: () => Device): void {
  const call = mpmmGrouped as (...values: unknown[]) => Promise<unknown>

  it('include a value that is not a list of products', async () => {
    for (const value of [undefined, null, 5, 'products', { a: 1 }, new Set()]) {
      await expectRejected(
        call(value),
        'DTYPE',
        /^products must be an array of \{ a, b, out\?, accumulate\? \}/,
      )
    }
  })

  it('include options that a group does not have', async () => {
    for (const name of ['out', 'accumulate', 'variant', 'onProgress']) {
      await expectRejected(call([], { [name]: undefined }), 'OPTION', `'${name}'`, "'semiring'")
    }
    await expectRejected(call([], { semiring: 'plus' }), 'OPTION', "'plus'")
    await expectRejected(call([], { overflow: 'trap' }), 'OPTION', "'trap'")
    await expectRejected(call([], 5), 'OPTION', '5')
    const floats = { data: new Float32Array(1), shape: [1, 1] }
    await expectRejected(call([{ a: floats, b: floats }], { overflow: 'wrap' }), 'OPTION', 'overflow')
    const bytes = { data: new Uint8Array(1), shape: [1, 1] }
    await expectRejected(call([{ a: bytes, b: bytes }]), 'DTYPE', 'uint8')
  })

  it('include arrays that are transferred in the meantime', async () => {
    const a: GroupedProduct['a'] = { data: new Int32Array(1 << 16), shape: [256, 256] }
    const running = caught(
      mpmmGrouped(
        [
          { a: matrix(1, 1), b: matrix(1, 1) },
          { a, b: a },
        ] as never,
        { backend },
      ),
    )
    structuredClone(a.data, { transfer: [(a.data as Int32Array).buffer] })
    expectError(await running, 'DTYPE', /products\[1\]\.a\.data/, 'detached')
    expect(open().memory().used).toBeGreaterThanOrEqual(0)
  })

  it('pass on exceptions of user code', async () => {
    const error = new Error('of a getter')
    const trap = {
      get a(): never {
        throw error
      },
      b: matrix(1, 1),
    }
    expect(await caught(call([trap]))).toBe(error)
  })
}
