/** What every backend must do, as one suite: test/cpu and test/gpu run it. */
import ndarray from 'ndarray'
import { describe, expect, it } from 'vitest'
import {
  type MpmmOptions,
  matrix,
  mpmm,
  mpmmSync,
  type Overflow,
  type Semiring,
  type Variant,
  variants,
  zeroOf,
} from '../../lib/index.js'
import { expectAgrees, expectElements, expectError, expectProduct, thrown } from './expect.js'
import {
  expectedPath,
  type Kind,
  kindNames,
  operands,
  type Plain,
  Random,
  randomMatrix,
  translatedLimit,
} from './generators.js'
import { type Dense, finiteRange, oracle, type Strided } from './oracle.js'

export const semirings: Semiring[] = ['max-plus', 'min-plus']
export const policies: Overflow[] = ['throw', 'saturate', 'wrap']

type Size = readonly [m: number, k: number, n: number]

/** Around the tiles of the kernels (8, 16, 128), primes, long and thin. */
const sizes: Size[] = [
  [1, 1, 1],
  [1, 2, 1],
  [2, 1, 3],
  [7, 8, 9],
  [15, 16, 17],
  [16, 15, 16],
  [17, 17, 15],
  [1, 300, 1],
  [1, 5, 259],
  [263, 3, 1],
  [64, 64, 64],
  [127, 17, 129],
  [128, 16, 128],
  [129, 33, 127],
  [131, 31, 257],
  [31, 509, 37],
]

/** For the tests that go over all kinds: no side a multiple of a tile's. */
const ragged: Size = [37, 21, 43]

export function productSuite(backend: 'cpu' | 'cuda'): void {
  describe('the oracle', () => {
    for (const semiring of semirings) {
      it.each(sizes)(`${semiring}, %i × %i × %i`, (...size) => {
        for (const kind of [
          'small',
          'ε in rows and columns',
          'extremes',
          'low + small',
          'high + small',
        ] as Kind[]) {
          const { a, b } = operands(kind, semiring, size)
          for (const overflow of policies) {
            expectProduct(a, b, { backend, semiring, overflow }, `${kind}, ${overflow}`)
          }
        }
      })

      it.each(kindNames)(`${semiring}, %s`, (kind) => {
        for (const overflow of policies) {
          const { a, b } = operands(kind, semiring, ragged, 3)
          const result = expectProduct(a, b, { backend, semiring, overflow }, overflow)
          if (result) {
            expect(result.path).toBe(expectedPath(a.data, b.data, semiring, overflow))
            expect(result.backend).toBe(backend)
          }
        }
      })
    }

    it('1000 × 1003 × 997 with ε', () => {
      for (const semiring of semirings) {
        const { a, b } = operands('small, ε scattered', semiring, [1000, 1003, 997])
        expectProduct(a, b, { backend, semiring }, semiring)
      }
    })
  })

  describe('edges of the paths', () => edgesOfPaths(backend))
  describe('empty products', () => emptyProducts(backend))
  describe('layouts', () => layouts(backend))
  describe('batches', () => batches(backend))
  describe('out and accumulate', () => outAndAccumulate(backend))
  describe('overflow', () => overflowing(backend))
  describe('results', () => results(backend))
  describe('every variant', () => {
    for (const variant of variants().filter((row) => row.backend === backend)) everyPath(variant)
  })
}

function edgesOfPaths(backend: 'cpu' | 'cuda'): void {
  const path = (semiring: Semiring, a: number[], b: number[], overflow?: Overflow) => {
    const [left, right] = [matrix(1, a.length, a), matrix(b.length, 1, b)]
    return expectProduct(left, right, { backend, semiring, overflow })?.path
  }

  for (const semiring of semirings) {
    const zero = zeroOf(semiring)
    const [least, most] = finiteRange(semiring)
    const limit = translatedLimit(semiring)
    describe(semiring, () => {
      it('is direct up to the ends of the finite range', () => {
        expect(path(semiring, [most - 5, 0], [5, 5])).toBe('direct')
        expect(path(semiring, [least + 5, 0], [-5, -5])).toBe('direct')
        expect(path(semiring, [most, most], [0, 0])).toBe('direct')
        expect(path(semiring, [least, least], [0, 0])).toBe('direct')
      })
      it('is wide one beyond', () => {
        expect(path(semiring, [most - 5, 0], [6, 6], 'saturate')).toBe('wide')
        expect(path(semiring, [least + 5, 0], [-6, -6], 'saturate')).toBe('wide')
      })
      it('is wide without an error where the sum beyond decides nothing', () => {
        const [good, bad] = semiring === 'max-plus' ? [0, least] : [0, most]
        const step = semiring === 'max-plus' ? -1 : 1
        expect(path(semiring, [bad, good], [step, step])).toBe('wide')
      })
      it('stays direct one beyond where sums may wrap', () => {
        expect(path(semiring, [most - 5, 0], [6, 6], 'wrap')).toBe('direct')
        expect(path(semiring, [least, least], [least, least], 'wrap')).toBe('direct')
      })
      it.each([
        ['A', limit],
        ['A', -limit],
        ['B', limit],
        ['B', -limit],
      ] as const)('is translated with zero and %s at %i, not beyond', (side, value) => {
        const place = (x: number) =>
          side === 'A'
            ? [
                [x, zero],
                [limit, -limit],
              ]
            : [
                [limit, zero],
                [x, -limit],
              ]
        const beyond = value + Math.sign(value)
        expect(path(semiring, ...(place(value) as [number[], number[]]))).toBe('translated')
        expect(path(semiring, ...(place(beyond) as [number[], number[]]))).toBe('wide')
        expect(path(semiring, ...(place(beyond) as [number[], number[]]), 'saturate')).toBe('wide')
        expect(path(semiring, ...(place(beyond) as [number[], number[]]), 'wrap')).toBe('wrapping')
      })
      it('tells zero from the worst sum of finite values', () => {
        for (const [x, y] of [
          [limit, limit],
          [-limit, -limit],
          [limit, -limit],
        ] as const) {
          expect(path(semiring, [x, zero, zero], [y, -limit, limit])).toBe('translated')
          expect(path(semiring, [zero, zero], [x, y])).toBe('translated')
          expect(path(semiring, [x, y], [zero, zero])).toBe('translated')
        }
      })
      it('has no sum that wraps onto zero become finite', () => {
        // −2^31 and 2^31 − 1 as sums modulo 2^32.
        for (const target of [2 ** 31, -(2 ** 31), 2 ** 31 - 1, -(2 ** 31) - 1]) {
          const x = Math.trunc(target / 2)
          for (const extra of [[], [zero]]) {
            path(semiring, [x, ...extra], [target - x, ...extra], 'wrap')
            path(semiring, [x, ...extra], [target - x, ...extra], 'saturate')
          }
        }
      })
    })
  }
}

function emptyProducts(backend: 'cpu' | 'cuda'): void {
  for (const semiring of semirings) {
    it(`${semiring}: K = 0 gives zero everywhere`, () => {
      const { c, gops } = expectProduct(matrix(3, 0), matrix(0, 4), { backend, semiring })!
      expect([...new Set(c.data)]).toEqual([zeroOf(semiring)])
      expect(gops).toBe(0)
    })
    it(`${semiring}: K = 0 keeps what is accumulated to`, () => {
      const accumulate = randomMatrix(3, 4, 1)
      expectProduct(matrix(3, 0), matrix(0, 4), { backend, semiring, accumulate })
      const out = { ...accumulate, data: Int32Array.from(accumulate.data) }
      mpmmSync(matrix(3, 0), matrix(0, 4), { backend, semiring, accumulate: true, out })
      expect(out.data).toEqual(accumulate.data)
    })
  }
  it.each([
    [0, 3, 4],
    [3, 4, 0],
    [0, 0, 0],
    [0, 5, 0],
  ])('%i × %i × %i has no elements', (m, k, n) => {
    const result = mpmmSync(matrix(m, k), matrix(k, n), { backend })
    expect(result.c.shape).toEqual([m, n])
    expect(result.c.data).toHaveLength(0)
    expect(result.backend).toBe(backend)
  })
  it('has batches without products, and products without elements', () => {
    expect(mpmmSync(matrix([0, 2, 3]), matrix([0, 3, 4]), { backend }).c.shape).toEqual([0, 2, 4])
    expect(mpmmSync(matrix([0, 2, 3]), matrix([3, 4]), { backend }).c.shape).toEqual([0, 2, 4])
    expect(mpmmSync(matrix([5, 2, 0]), matrix([5, 0, 4]), { backend }).c.data).toEqual(
      new Int32Array(40).fill(zeroOf('max-plus')),
    )
  })
}

/** The same elements at other places: transposed, a part of something larger, every other one, reversed in memory. */
const layoutsOf: Record<string, (source: Plain) => Strided> = {
  'row-major': (source) => source,
  transposed: ({ data, shape: [rows, cols] }) => ({
    data: Int32Array.from(data, (_, index) => data[(index % rows) * cols + Math.floor(index / rows)]!),
    shape: [rows, cols],
    strides: [1, rows],
  }),
  'in a larger matrix': ({ data, shape: [rows, cols] }) => {
    const lead = cols + 3
    const larger = new Int32Array((rows + 2) * lead).fill(123456789)
    for (let i = 0; i < rows; i++) larger.set(data.subarray(i * cols, (i + 1) * cols), 2 + (i + 1) * lead)
    return { data: larger, shape: [rows, cols], strides: [lead, 1], offset: lead + 2 }
  },
  'every other element': ({ data, shape: [rows, cols] }) => {
    const spread = new Int32Array(2 * data.length + 1).fill(123456789)
    data.forEach((value, index) => {
      spread[2 * index + 1] = value
    })
    return { data: spread, shape: [rows, cols], strides: [2 * cols, 2], offset: 1 }
  },
  'a subarray': ({ data, shape: [rows, cols] }) => {
    const longer = new Int32Array(data.length + 8).fill(123456789)
    longer.set(data, 5)
    return { data: longer.subarray(5), shape: [rows, cols] }
  },
}

function layouts(backend: 'cpu' | 'cuda'): void {
  const names = Object.keys(layoutsOf)
  const pairs = names.flatMap((x) => names.map((y) => [x, y] as const))
  it.each(pairs)('A %s, B %s', (nameA, nameB) => {
    for (const [kind, size] of [
      ['small, ε scattered', [37, 21, 43]],
      ['extremes', [33, 130, 35]],
    ] as [Kind, Size][]) {
      const { a, b } = operands(kind, 'max-plus', size)
      expectProduct(layoutsOf[nameA]!(a), layoutsOf[nameB]!(b), { backend, overflow: 'saturate' }, kind)
    }
  })

  it.each(names)('out %s, and nothing beside it is touched', (name) => {
    const { a, b } = operands('small, ε scattered', 'max-plus', ragged)
    const out = layoutsOf[name]!({ data: new Int32Array(37 * 43).fill(-5), shape: [37, 43] })
    const before = Int32Array.from(out.data)
    const { c } = mpmmSync(a, b, { backend, out })
    expect(c).toBe(out)
    expectElements(out, oracle(a, b) as Dense)
    const beside = new Int32Array(out.data.length).fill(1)
    const { strides = [43, 1], offset = 0 } = out
    for (let i = 0; i < 37; i++) {
      for (let j = 0; j < 43; j++) beside[offset + i * strides[0]! + j * strides[1]!] = 0
    }
    beside.forEach((isBeside, index) => {
      if (isBeside) expect(out.data[index], `element ${index}`).toBe(before[index])
    })
  })

  it('takes a stride of 0 as the same row or column again', () => {
    const b = randomMatrix(5, 7, 2)
    expectProduct({ data: Int32Array.of(4, 8, 15, 16, 23), shape: [6, 5], strides: [0, 1] }, b, { backend })
    expectProduct({ data: Int32Array.of(42), shape: [6, 5], strides: [0, 0] }, b, { backend })
  })

  it('takes scijs ndarrays as they are', () => {
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
}

function batches(backend: 'cpu' | 'cuda'): void {
  for (const semiring of semirings) {
    it(`${semiring}: both operands`, () => {
      for (const kind of ['small', 'translated limit, ε', 'extremes', 'low + small'] as Kind[]) {
        const { a, b } = operands(kind, semiring, [19, 23, 21], 1, 7)
        for (const overflow of policies) expectProduct(a, b, { backend, semiring, overflow }, kind)
      }
    })
  }
  it('decides by the values of the whole batch', () => {
    // Only the last matrix has an ε, and only it sums beyond int32.
    const { a, b } = operands('small', 'max-plus', [9, 17, 9], 1, 5)
    a.data.fill(2 ** 31 - 1, 4 * 9 * 17)
    a.data[5 * 9 * 17 - 1] = zeroOf('max-plus')
    for (const overflow of policies) expectProduct(a, b, { backend, overflow }, overflow)
  })
  it.each([1, 2, 20])('%i products with one A, one B, or a batch of one', (batch) => {
    const { a, b } = operands('small, ε scattered', 'max-plus', [18, 33, 17], 1, batch)
    const one = operands('small, ε scattered', 'max-plus', [18, 33, 17], 2)
    const oneBatched = operands('small, ε scattered', 'max-plus', [18, 33, 17], 2, 1)
    for (const [left, right] of [
      [a, one.b],
      [one.a, b],
      [a, oneBatched.b],
      [oneBatched.a, b],
    ] as const) {
      expect(expectProduct(left, right, { backend })!.c.shape).toEqual([batch, 18, 17])
    }
  })
  it('takes strided batches, in and out', () => {
    const random = new Random(5)
    const data = Int32Array.from({ length: 4000 }, () => random.integer(-99, 99))
    const a = { data, shape: [3, 5, 7] as const, strides: [200, 1, 9], offset: 11 }
    const b = { data, shape: [3, 7, 4] as const, strides: [0, 13, 2], offset: 1000 }
    const out = { data: new Int32Array(3 * 5 * 4), shape: [3, 5, 4] as const, strides: [1, 12, 3] }
    mpmmSync(a, b, { backend, out })
    expectElements(out, oracle(a, b) as Dense)
  })
  it('accumulates by product, or the same to each', () => {
    const { a, b } = operands('small', 'max-plus', [6, 5, 4], 1, 3)
    for (const shape of [
      [3, 6, 4],
      [6, 4],
      [1, 6, 4],
    ]) {
      const length = shape.reduce((x, y) => x * y)
      const accumulate = { data: randomMatrix(1, length, 9, [0, 2000]).data, shape }
      expectProduct(a, b, { backend, accumulate })
    }
  })
}

function outAndAccumulate(backend: 'cpu' | 'cuda'): void {
  for (const semiring of semirings) {
    it.each(kindNames)(`${semiring}: C0 ⊕ A⊗B, %s`, (kind) => {
      const { a, b } = operands(kind, semiring, ragged)
      const accumulates = [
        operands('full range, ε scattered', semiring, [37, 43, 1]).a,
        operands('extremes', semiring, [37, 43, 1]).a,
        operands('small', semiring, [37, 43, 1]).a,
        operands('all ε', semiring, [37, 43, 1]).a,
      ]
      for (const accumulate of accumulates) {
        for (const overflow of policies)
          expectProduct(a, b, { backend, semiring, overflow, accumulate }, overflow)
      }
    })
  }

  it('accumulates to what out holds', () => {
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

  it('accumulates one matrix into another, any layouts', () => {
    const { a, b } = operands('small', 'max-plus', ragged)
    const c0 = randomMatrix(37, 43, 4, [-500, 3000])
    for (const layout of Object.values(layoutsOf)) {
      const accumulate = layout(c0)
      const out = { data: new Int32Array(37 * 43), shape: [37, 43], strides: [1, 37] }
      mpmmSync(a, b, { backend, out, accumulate })
      expectElements(out, oracle(a, b, { c0 }) as Dense)
    }
  })

  it('saves an overflow by what is accumulated to, where that decides', () => {
    const a = matrix(1, 1, [-(2 ** 31) + 1])
    const b = matrix(1, 1, [-5])
    expectProduct(a, b, { backend })
    expectProduct(a, b, { backend, accumulate: matrix(1, 1, [7]) })
    expectProduct(a, b, { backend, accumulate: matrix(1, 1, [zeroOf('max-plus')]) })
    expectProduct(matrix(1, 1, [2 ** 31 - 2]), matrix(1, 1, [5]), {
      backend,
      semiring: 'min-plus',
      accumulate: matrix(1, 1, [7]),
    })
  })

  it('writes into halves of one buffer that interleave', () => {
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

function overflowing(backend: 'cpu' | 'cuda'): void {
  it('names the first result in row-major order, alone or in a batch', () => {
    for (const semiring of semirings) {
      const { a, b } = operands('small', semiring, [200, 20, 150], 1, 3)
      const spoil = (item: number, row: number) => {
        a.data.fill(2 ** 31 - 150 + (row % 100), (item * 200 + row) * 20, (item * 200 + row + 1) * 20)
      }
      b.data.forEach((value, index) => {
        b.data[index] = Math.abs(value) + 200
      })
      spoil(2, 3)
      spoil(1, 199)
      spoil(1, 150)
      expectProduct(a, b, { backend, semiring })
    }
  })
  it('keeps what out holds, also when that is accumulated to', () => {
    const out = matrix(1, 2, [5, 6])
    const call = () =>
      mpmmSync(matrix(1, 1, [2 ** 31 - 1]), matrix(1, 2, [-1, 1]), { backend, out, accumulate: true })
    expectError(thrown(call), 'ERR_MPMML_OVERFLOW', 'C[0, 1]', '2147483648', /saturate.*wrap/)
    expect([...out.data]).toEqual([5, 6])
  })
}

function results(backend: 'cpu' | 'cuda'): void {
  it('say what ran and how long it took', () => {
    const { a, b } = operands('small', 'max-plus', [200, 200, 200])
    const result = mpmmSync(a, b, { backend })
    const { timing } = result
    expect(result.backend).toBe(backend)
    expect(result.device).not.toBe('')
    expect(variants().find(({ name }) => name === result.variant)).toMatchObject({
      backend,
      semiring: 'max-plus',
    })
    for (const time of Object.values(timing)) expect(time).toBeGreaterThanOrEqual(0)
    expect(timing.kernelMs).toBeGreaterThan(0)
    expect(timing.totalMs).toBeGreaterThanOrEqual(timing.kernelMs)
    expect(result.gops).toBeCloseTo((2 * 200 ** 3) / timing.kernelMs / 1e6, 6)
    expect(Object.keys(timing).sort()).toEqual(['analysisMs', 'd2hMs', 'h2dMs', 'kernelMs', 'totalMs'])
  })
  it('are the same from mpmm and mpmmSync, several products at once', async () => {
    const tasks = Array.from({ length: 12 }, (_, index) => {
      const semiring = semirings[index % 2]!
      const { a, b } = operands(kindNames[(index * 5) % kindNames.length]!, semiring, [
        60 + index,
        50,
        70 - index,
      ])
      return { a, b, options: { backend, semiring, overflow: 'saturate' } satisfies MpmmOptions }
    })
    const together = await Promise.all(tasks.map(({ a, b, options }) => mpmm(a, b, options)))
    together.forEach(({ c }, index) => {
      const { a, b, options } = tasks[index]!
      expectElements(c, oracle(a, b, options) as Dense, `task ${index}`)
      expect(mpmmSync(a, b, options).c.data).toEqual(c.data)
    })
  })
}

/** Whether a variant with this accumulator computes on this path; undefined where the test can't know. */
function runsPath({ parameters }: Variant, path: string): boolean | undefined {
  if (parameters.accumulator === 'int64') return true
  if (parameters.accumulator === 'int32') return path === 'direct' || path === 'translated'
  return undefined
}

/** Why a variant can't run here at all (a CPU without its instruction set); undefined where it can. */
function missing(variant: Variant): string | undefined {
  const isa = variant.parameters.isa
  if (variant.backend !== 'cpu' || isa === undefined || isa === 'portable') return undefined
  try {
    const { name, semiring } = variant
    const overflow = 'saturate'
    mpmmSync(matrix(1, 1, [1]), matrix(1, 1, [1]), { variant: name, semiring, overflow })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function everyPath(variant: Variant): void {
  const { name, semiring, backend } = variant
  const cannot = missing(variant)
  describe.skipIf(cannot !== undefined)(cannot === undefined ? name : `${name} (skipped: ${cannot})`, () => {
    it('runs when it is asked for, and no other', () => {
      for (const kind of kindNames) {
        for (const overflow of policies) {
          const { a, b } = operands(kind, semiring, ragged, 11)
          const path = expectedPath(a.data, b.data, semiring, overflow)
          const runs = runsPath(variant, path)
          const what = `${kind}, ${overflow}`
          const options = { variant: name, semiring, overflow }
          if (runs === undefined) {
            try {
              mpmmSync(a, b, { ...options, overflow: 'saturate' })
            } catch (error) {
              expectError(error, 'ERR_MPMML_VARIANT', name)
              continue
            }
          }
          if (runs === false) {
            expectError(
              thrown(() => mpmmSync(a, b, options)),
              'ERR_MPMML_VARIANT',
              name,
              "can't run this product",
            )
            continue
          }
          const result = expectAgrees(oracle(a, b, options), a, b, options, what)
          if (result) {
            expect([result.variant, result.backend], what).toEqual([name, backend])
          }
        }
      }
    })

    it('agrees with the oracle at every size', () => {
      for (const size of sizes) {
        for (const kind of ['small', 'small, ε scattered', 'low + small', 'small + high'] as Kind[]) {
          const { a, b } = operands(kind, semiring, size, 5)
          const result = expectProduct(a, b, { variant: name, semiring }, `${kind}, ${size}`)
          expect(result!.variant).toBe(name)
        }
      }
    })

    it('takes layouts, batches and C0', () => {
      const one = operands('small, ε scattered', semiring, ragged, 2)
      for (const layout of Object.values(layoutsOf)) {
        expectProduct(layout(one.a), layout(one.b), { variant: name, semiring })
      }
      const { a, b } = operands('small, ε scattered', semiring, [20, 18, 130], 3, 4)
      const accumulate = { data: randomMatrix(80, 130, 6, [-2000, 2000]).data, shape: [4, 20, 130] }
      expectProduct(a, b, { variant: name, semiring, accumulate })
      expectProduct(a, { data: b.data, shape: [18, 130] }, { variant: name, semiring, accumulate })
    })

    it('refuses the products of another semiring, and of another backend', () => {
      const other = semirings.find((candidate) => candidate !== semiring)!
      const call = (options: MpmmOptions) => () =>
        mpmmSync(matrix(1, 1), matrix(1, 1), { variant: name, ...options })
      expectError(thrown(call({ semiring: other })), 'ERR_MPMML_VARIANT', name, semiring, other)
      const elsewhere = backend === 'cpu' ? 'cuda' : 'cpu'
      expectError(thrown(call({ semiring, backend: elsewhere })), 'ERR_MPMML_VARIANT', name, 'backend')
    })
  })
}
