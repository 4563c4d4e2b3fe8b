/** Calls of single products: properties of results apart from values, and special matrices. */
import ndarray from 'ndarray'
import { describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import { type MatrixLike, type MpmmOptions, matrix, mpmm, mpmmSync, pinned, plan } from '../../lib/index.js'
import { arrays } from '../../native/tools/fuzz/algebra.mjs'
import { policies, ragged, type Size, semirings } from './cases.js'
import { expectElements, expectError, expectProduct, expectThrown, thrown } from './expect.js'
import { operands, randomMatrix } from './generators.js'
import { type Dense, oracle, type Strided } from './oracle.js'
import { algebraOf, algebras, elementsOf, sourceOf } from './products/case.js'
import { expectValues } from './products/law.js'
import { compute } from './products/targets.js'
import { startFor, valuesFor } from './products/values.js'
import { edgesOfPaths } from './suite-paths.js'

export function callSuite(backend: BackendName): void {
  describe('sums at the limits of the arithmetics', () => edgesOfPaths(backend))
  describe('results', () => results(backend))
  describe('matrices', () => matrices(backend))
  describe('the content of out', () => outs(backend))
  describe('options and types', () => optionsAndTypes(backend))
  describe('int16', () => int16(backend))
}

function results(backend: BackendName): void {
  it('report backend, variant and times', () => {
    const { a, b } = operands('small', 'max-plus', [200, 200, 200])
    const result = mpmmSync(a, b, { backend })
    const { timing } = result
    expect(result.device).not.toBe('')
    expect(timing.kernelMs).toBeGreaterThan(0)
    expect(result.gops).toBeCloseTo((2 * 200 ** 3) / timing.kernelMs / 1e6, 6)
    expect(Object.keys(timing).sort()).toEqual(['analysisMs', 'd2hMs', 'h2dMs', 'kernelMs', 'totalMs'])
  })
  it('may be 700 × 703 × 697 with ε', () => {
    for (const [semiring, kind] of [
      ['max-plus', 'ε in B alone'],
      ['min-plus', 'small, ε scattered'],
    ] as const) {
      const { a, b } = operands(kind, semiring, [700, 703, 697])
      expectProduct(a, b, { backend, semiring }, semiring)
    }
  })
}

function matrices(backend: BackendName): void {
  it('may have rows that overlap in pinned memory', async () => {
    for (const [m, k, n] of [ragged, [513, 300, 257]] as Size[]) {
      for (const [stepA, stepB] of [
        [1, 1],
        [k - 1, n - 1],
        [3, n],
      ] as const) {
        const overlapping = async (rows: number, cols: number, step: number, seed: number) => {
          const data = await pinned('int32', (rows - 1) * step + cols)
          data.set(randomMatrix(1, data.length, seed).data)
          return { data, shape: [rows, cols], strides: [step, 1] }
        }
        const [a, b] = [await overlapping(m, k, stepA, 3), await overlapping(k, n, stepB, 4)]
        expectProduct(a, b, { backend }, `${stepA}, ${stepB}`)
        const accumulate = await overlapping(m, n, 2, 5)
        expectProduct(a, b, { backend, accumulate }, `${stepA}, ${stepB}, C0`)
      }
    }
  })

  it('may be objects of scijs', () => {
    const { a, b } = operands('small, ε scattered', 'max-plus', [40, 30, 20])
    const left = ndarray(a.data, [40, 30]).lo(3, 2).hi(31, 27)
    const right = ndarray(b.data, [30, 20]).transpose(1, 0).lo(1, 2).hi(17, 27).transpose(1, 0)
    const out = ndarray(new Int32Array(40 * 17), [17, 40])
      .transpose(1, 0)
      .lo(4, 0)
      .hi(31, 17)
    const result = mpmmSync(left, right, { backend, out })
    expect(result.c).toBe(out)
    const asStrided = (x: typeof left): Strided => ({
      data: x.data,
      shape: x.shape,
      strides: x.stride,
      offset: x.offset,
    })
    expectElements(asStrided(out), oracle(asStrided(left), asStrided(right)) as Dense)
    expect(out.get(2, 3)).toBe((oracle(asStrided(left), asStrided(right)) as Dense).data[2 * 17 + 3])
  })

  it('may be interleaved halves of one buffer', () => {
    const data = new Int32Array(8 * 20)
    const { a, b } = operands('small', 'max-plus', [8, 10, 10])
    for (let i = 0; i < 8; i++) data.set(a.data.subarray(i * 10, (i + 1) * 10), i * 20)
    const left = { data, shape: [8, 10], strides: [20, 1] }
    const right = { data, shape: [8, 10], strides: [20, 1], offset: 10 }
    mpmmSync(left, b, { backend, out: right })
    expectElements(right, oracle(a, b) as Dense)
    expectElements(left, { batch: 1, rows: 8, cols: 10, data: a.data })
  })
}

function outs(backend: BackendName): void {
  it('can be accumulated to in three ways', () => {
    const { a, b } = operands('small, ε scattered', 'max-plus', ragged)
    const start = randomMatrix(37, 43, 4, [-500, 3000])
    const expected = oracle(a, b, { c0: start }) as Dense
    for (const accumulate of ['true', 'out', 'the same elements'] as const) {
      const out = { ...start, data: Int32Array.from(start.data) }
      const value = accumulate === 'true' ? true : accumulate === 'out' ? out : { ...out }
      const { c } = mpmmSync(a, b, { backend, out, accumulate: value })
      expect(c).toBe(out)
      expectElements(out, expected, accumulate)
    }
  })

  it('is written, large or a batch, if a possible overflow did not occur', () => {
    const [m, n] = [1021, 530]
    const { a, b } = operands('small', 'max-plus', [m, 2, n])
    a.data[0] = 2 ** 30
    b.data.fill(2 ** 30, n)
    for (const strides of [
      [n + 3, 1],
      [1, m + 3],
    ] as const) {
      const data = new Int32Array((m + 3) * (n + 3)).fill(123456789)
      const out = { data, shape: [m, n], strides, offset: 2 }
      expect(mpmmSync(a, b, { backend, out }).arithmetic).toBe('wide')
      expectElements(out, oracle(a, b) as Dense)
      expect(out.data.filter((value) => value === 123456789)).toHaveLength(out.data.length - m * n)
    }
    const [batch, rows, cols] = [5, 19, 21]
    for (const semiring of semirings) {
      const { a, b } = operands('the best meets the worst', semiring, [rows, 24, cols], 1, batch)
      const c0 = operands('small', semiring, [rows, cols, 1], 2, batch).a
      const expected = oracle(a, b, { semiring, c0 }) as Dense
      for (const strides of [
        [rows * cols, cols, 1],
        [1, cols * batch, batch],
        [rows * cols + 7, 1, rows],
      ] as const) {
        const out = { data: new Int32Array(batch * (rows * cols + 7)), shape: [batch, rows, cols], strides }
        expect(mpmmSync(a, b, { backend, semiring, out, accumulate: c0 }).arithmetic).toBe('wide')
        expectElements(out, expected, `${semiring}, ${strides}`)
      }
    }
  })

  it('is unchanged after an overflow, also if it is accumulated to', () => {
    const out = matrix(1, 2, [5, 6])
    const call = () =>
      mpmmSync(matrix(1, 1, [2 ** 31 - 1]), matrix(1, 2, [-1, 1]), { backend, out, accumulate: true })
    expectThrown(call, 'OVERFLOW', 'C[0, 1]', '2147483648', /saturate.*wrap/)
    expect([...out.data]).toEqual([5, 6])
  })

  it.each(['float32', 'float64'] as const)(
    '%s: may be negative unless it is accumulated to',
    async (dtype) => {
      const algebra = algebraOf('max-times', dtype)
      const [a, b] = valuesFor(algebra, 'probabilities', ragged)
      const out = { data: new arrays[dtype](37 * 43).fill(-1), shape: [37, 43] }
      const options = { backend, semiring: 'max-times', out } as unknown as MpmmOptions
      const multiply = (more: object) =>
        mpmmSync(sourceOf(a) as never, sourceOf(b) as never, { ...options, ...more })
      expectThrown(() => multiply({ accumulate: true }), 'VALUE', '[0, 0]', '-1')
      expect(out.data.every((value) => value === -1)).toBe(true)
      multiply({})
      expectValues({ algebra, a, b, what: 'probabilities' }, out)
    },
  )
}

function optionsAndTypes(backend: BackendName): void {
  it.each(policies)(
    "have equal results under overflow '%s' without sums, and reject it for floats",
    async (overflow) => {
      for (const algebra of algebras.filter(({ isInteger }) => !isInteger)) {
        const { semiring, dtype, isFloat, isWhole } = algebra
        const [a, b] = valuesFor(algebra, isFloat ? 'whole numbers' : isWhole ? 'ends' : 'few bytes', ragged)
        const options = { backend, semiring, overflow } as MpmmOptions
        const multiply = (more: object) =>
          mpmmSync(sourceOf(a) as never, sourceOf(b) as never, { ...options, ...more } as MpmmOptions)
        if (isFloat) {
          expectThrown(() => multiply({}), 'OPTION', 'option overflow is for integers', dtype)
          continue
        }
        const c0 = startFor(algebra, isWhole ? 'ends' : 'few bytes', 37, 43)
        const what = `${semiring}, ${overflow}`
        expectValues({ algebra, a, b, what }, multiply({}).c)
        expectValues({ algebra, a, b, c0, what }, multiply({ accumulate: sourceOf(c0) }).c)
      }
    },
  )

  it('include every semiring with exactly its element types', () => {
    for (const { semiring } of algebras) {
      for (const [dtype, Type] of Object.entries(arrays)) {
        if (algebras.some((one) => one.semiring === semiring && one.dtype === dtype)) continue
        const one = matrix(1, 1, new Type(1) as never)
        const error = thrown(() => mpmmSync(one, one, { semiring, backend } as MpmmOptions))
        expectError(error, 'DTYPE', semiring, `of ${dtype}`)
      }
    }
  })

  it('accept a Buffer as a Uint8Array, but return none', () => {
    const a = { data: Buffer.from([0, 9, 0, 1]), shape: [2, 2] }
    const { c } = mpmmSync(a, a, { semiring: 'or-and', backend })
    expect(c.data).toEqual(Uint8Array.of(0, 1, 0, 1))
  })

  it('reject clamped bytes', () => {
    const a = { data: new Uint8ClampedArray(1), shape: [1, 1] } as never
    const error = thrown(() => mpmmSync(a, a, { semiring: 'or-and', backend } as MpmmOptions))
    expectError(error, 'DTYPE', 'a.data', 'Uint8Array', 'Uint8ClampedArray')
  })
}

/** Properties of operands in Int16Arrays only; the law of products covers the others. */
function int16(backend: BackendName): void {
  const target = { name: 'arrays of int16', options: { backend }, expectation: { backend }, narrow: true }

  it.each(['max-plus', 'min-plus', 'max-min', 'min-max'] as const)(
    '%s: may be multiplied by int32 of any values',
    async (semiring) => {
      const algebra = algebraOf(semiring)
      const [narrow, wide] = algebra.isInteger
        ? ['all of int16, ε', 'full range']
        : ['all of int16', 'any int32']
      for (const [m, k, n] of [
        [70, 90, 110],
        [2, 300, 130],
        [257, 100, 263],
      ] as Size[]) {
        const [a] = valuesFor(algebra, narrow, [m, k, n])
        const [, b] = valuesFor(algebra, wide, [m, k, n])
        const common = { algebra, overflow: 'saturate' as const, what: `${m} × ${k} × ${n}` }
        const transposed = { a: { ...b, rows: n, cols: k }, b: { ...a, rows: k, cols: m } }
        for (const one of [
          { ...common, a, b },
          { ...common, ...transposed },
        ]) {
          const outcome = await compute(target, one, 'new')
          expectValues(one, outcome.c!)
          if (algebra.isInteger) expect(outcome.result!.arithmetic).toBe('wide')
        }
      }
    },
  )

  it('report an overflow with the sum of the stored numbers', () => {
    for (const [m, k, n] of [
      [1, 1, 1],
      [2, 3, 2],
      [70, 90, 110],
    ] as const) {
      for (const row of new Set([0, m - 1])) {
        // One row of A, or column of B, has sums beyond int32: 32767 + 2147483647 = 2147516414.
        const narrow = { data: new Int16Array(m * k).fill(-5), shape: [m, k] }
        narrow.data.fill(32767, row * k, (row + 1) * k)
        const wide = { data: new Int32Array(k * n).fill(2 ** 31 - 1), shape: [k, n] }
        const message = (at: string) => `C${at} is decided by the sum 2147516414,`
        const transposed = <T extends { shape: number[] }>(x: T) => ({
          ...x,
          shape: [x.shape[1]!, x.shape[0]!],
          strides: [1, x.shape[1]!],
        })
        const options = { backend } as const
        expectThrown(() => mpmmSync(narrow, wide, options), 'OVERFLOW', message(`[${row}, 0]`))
        const across = () => mpmmSync(transposed(wide), transposed(narrow), options)
        expectThrown(across, 'OVERFLOW', message(`[0, ${row}]`))
      }
      const narrow = { data: new Int16Array(m * k).fill(-32768), shape: [m, k] }
      const wide = { data: new Int32Array(k * n).fill(2 ** 31 - 1), shape: [k, n] }
      expect(new Set(mpmmSync(narrow, wide, { backend }).c.data)).toEqual(new Set([-(2 ** 31)]))
    }
  })

  it.each(['max-min', 'min-max'] as const)(
    '%s: have one end of int16 as the zero, and the other end as a number',
    (semiring) => {
      const { zero, one } = algebraOf(semiring)
      const ends = { data: Int16Array.of(-32768, 32767), shape: [2, 1] }
      const { c } = mpmmSync(ends, { data: Int32Array.of(one), shape: [1, 1] }, { backend, semiring })
      expect([...c.data]).toEqual(zero < 0 ? [zero, 32767] : [-32768, zero])
    },
  )

  it('may be parts of a larger array, with a C0', async () => {
    const algebra = algebraOf('max-plus')
    const [{ data }] = valuesFor(algebra, 'all of int16, ε', [3, 2000, 1])
    const narrow = Int16Array.from(data, (x) => Math.max(x, -32768))
    const a = { data: narrow, shape: [2, 30, 20], strides: [2000, 1, 40], offset: 7 }
    const b = { data: narrow, shape: [20, 33], strides: [50, 1], offset: 11 }
    const c0 = startFor(algebra, 'small', 30, 33)
    const wide = (x: typeof a) => elementsOf({ ...x, data: data as Int32Array } as MatrixLike<Int32Array>)
    const { c } = await mpmm(a, b, { backend, accumulate: sourceOf(c0) as MatrixLike })
    expectValues({ algebra, a: wide(a), b: wide(b), c0, what: 'parts' }, c)
  })

  it('are planned like the same numbers in Int32Arrays', async () => {
    for (const kind of ['small', 'small, ε scattered', 'all of int16', 'all of int16, ε', 'all ε']) {
      const [{ data }] = valuesFor(algebraOf('max-plus'), kind, [600, 600, 1])
      const wide = { data: data as Int32Array, shape: [600, 600] }
      const narrow = { data: Int16Array.from(data, (x) => Math.max(x, -32768)), shape: [600, 600] }
      expect(await plan(narrow, narrow, { backend }), kind).toEqual(await plan(wide, wide, { backend }))
    }
  })
}
