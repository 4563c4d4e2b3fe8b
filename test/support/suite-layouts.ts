/** Elements anywhere in memory: strides, offsets, ndarrays, batches. */
import ndarray from 'ndarray'
import { expect, it } from 'vitest'
import { mpmmSync, pinnedInt32Array, zeroOf } from '../../lib/index.js'
import { layoutsOf, policies, ragged, type Size, semirings } from './cases.js'
import { expectElements, expectProduct } from './expect.js'
import { type Kind, operands, Random, randomMatrix } from './generators.js'
import { type Dense, oracle, type Strided } from './oracle.js'

export function layouts(backend: 'cpu' | 'cuda'): void {
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

  it.each([
    ['ordinary memory', (length: number) => new Int32Array(length)],
    ['pinned memory', pinnedInt32Array],
  ])('takes rows that overlap, in %s', (_, make) => {
    for (const [m, k, n] of [ragged, [513, 300, 257]] as Size[]) {
      for (const [stepA, stepB] of [
        [1, 1],
        [k - 1, n - 1],
        [3, n],
      ] as const) {
        const overlapping = (rows: number, cols: number, step: number, seed: number) => {
          const data = make((rows - 1) * step + cols)
          data.set(randomMatrix(1, data.length, seed).data)
          return { data, shape: [rows, cols], strides: [step, 1] }
        }
        const [a, b] = [overlapping(m, k, stepA, 3), overlapping(k, n, stepB, 4)]
        expectProduct(a, b, { backend }, `${stepA}, ${stepB}`)
        const accumulate = overlapping(m, n, 2, 5)
        expectProduct(a, b, { backend, accumulate }, `${stepA}, ${stepB}, C0`)
      }
    }
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

export function batches(backend: 'cpu' | 'cuda'): void {
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
  it('takes the same matrices again and again (stride 0), with a C0 for each product', () => {
    const [m, k, n] = [20, 30, 40]
    const again = (rows: number, cols: number, seed: number) => {
      return { data: randomMatrix(rows, cols, seed).data, shape: [5, rows, cols], strides: [0, cols, 1] }
    }
    const [a, b] = [again(m, k, 1), again(k, n, 2)]
    const accumulate = { data: randomMatrix(5 * m, n, 3, [500, 3000]).data, shape: [5, m, n] }
    expectProduct(a, b, { backend, accumulate })
    const out = { ...accumulate, data: Int32Array.from(accumulate.data) }
    mpmmSync(a, b, { backend, out, accumulate: true })
    expectElements(out, oracle(a, b, { c0: accumulate }) as Dense)
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
