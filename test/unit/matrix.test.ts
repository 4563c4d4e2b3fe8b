/** Results of matrix(), and its checks of arguments. */
import { describe, expect, it } from 'vitest'
import { readingEdges } from '../../lib/graph-core/edges.js'
import { atOnce } from '../../lib/graph-core/slices.js'
import { EPSILON, MpmmlError, matrix, mpmmSync, zeroOf } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { expectThrown, thrown } from '../support/expect.js'

/** Calls with arguments that the types forbid. */
const untyped = matrix as (...values: unknown[]) => unknown

describe('matrix', () => {
  it.each([Float32Array, Float64Array])('keeps a %o without a copy', (Type) => {
    const data = Type.of(0.5, Number.NaN)
    expect(matrix(1, 2, data).data).toBe(data)
  })
  it('keeps an Int32Array without a copy', () => {
    const data = Int32Array.of(1, 6, 2, 8, 3, 4)
    const created = matrix(2, 3, data)
    expect(created).toEqual({ data, shape: [2, 3], strides: [3, 1], offset: 0 })
    expect(created.data).toBe(data)
    expect(matrix([2, 3], data).data).toBe(data)
  })
  it('copies an array', () => {
    const data = [1, -2, 2 ** 31 - 1, EPSILON, 0, -0]
    expect(matrix(3, 2, data)).toEqual({
      data: Int32Array.from(data),
      shape: [3, 2],
      strides: [2, 1],
      offset: 0,
    })
  })
  it('creates batches', () => {
    expect(matrix([2, 1, 3], [1, 2, 3, 4, 5, 6])).toEqual({
      data: Int32Array.of(1, 2, 3, 4, 5, 6),
      shape: [2, 1, 3],
      strides: [3, 3, 1],
      offset: 0,
    })
  })
  it('is full of zeros without data, and can be empty', () => {
    expect([...matrix(2, 2).data]).toEqual([0, 0, 0, 0])
    expect(matrix([3, 2, 2]).data).toHaveLength(12)
    expect(matrix(0, 5)).toEqual({ data: new Int32Array(0), shape: [0, 5], strides: [5, 1], offset: 0 })
    expect(matrix([0, 5], []).data).toHaveLength(0)
    expect(Object.is(matrix(-0, 5).shape[0], 0)).toBe(true)
  })

  const resizable = new (ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer)(8, {
    maxByteLength: 16,
  })
  const transferred = new Int32Array(2)
  structuredClone(transferred, { transfer: [transferred.buffer] })

  it.each([
    ['a negative size', [-1, 2], 'SHAPE', ['-1', 'shape']],
    ['a fraction', [1.5, 2], 'SHAPE', ['1.5']],
    ['NaN', [Number.NaN, 2], 'SHAPE', ['NaN']],
    ['infinity', [2, Number.POSITIVE_INFINITY], 'SHAPE', ['Infinity']],
    ['a size beyond 2^31 - 1', [2 ** 31, 1], 'SHAPE', ['2147483648', '2\\^31 - 1']],
    ['a string', ['2', 2], 'SHAPE', ["'2'"]],
    ['a bigint', [2n, 2], 'SHAPE', ['2n']],
    ['a missing size', [2], 'SHAPE', ['undefined']],
    ['no size at all', [], 'SHAPE', ['undefined']],
    ['a shape of one', [[4]], 'SHAPE', ['\\[4\\]', 'rows, cols']],
    ['a shape of four', [[1, 1, 1, 1]], 'SHAPE', ['\\[1, 1, 1, 1\\]']],
    ['too many elements to count', [[2 ** 30, 2 ** 30, 2 ** 30]], 'SHAPE', ['2\\^53']],
    ['too few elements', [2, 3, new Int32Array(5)], 'SHAPE', ['exactly', '6', '5', '\\[2, 3\\]', 'offset']],
    ['too many elements', [2, 3, new Int32Array(7)], 'SHAPE', ['exactly', '6', '7']],
    ['too short an array', [2, 3, [1]], 'SHAPE', ['6', '1']],
    ['a Uint16Array', [1, 2, new Uint16Array(2)], 'DTYPE', ['Uint16Array', 'Int32Array']],
    ['a Uint8ClampedArray', [1, 2, new Uint8ClampedArray(2)], 'DTYPE', ['a Uint8ClampedArray']],
    ['null', [1, 2, null], 'DTYPE', ['null']],
    ['a number', [1, 2, 5], 'DTYPE', ['number']],
    ['a fraction in an array', [1, 3, [0, 1.5, 2]], 'DTYPE', ['data\\[1\\]', '1.5']],
    ['NaN in an array', [1, 2, [0, Number.NaN]], 'DTYPE', ['data\\[1\\]', 'NaN']],
    ['minus infinity in an array', [1, 1, [Number.NEGATIVE_INFINITY]], 'DTYPE', ['-Infinity', 'zeroOf']],
    ['a value beyond int32', [1, 1, [2 ** 31]], 'DTYPE', ['2147483648']],
    ['a hole', [1, 2, new Array(2)], 'DTYPE', ['data\\[0\\]', 'undefined']],
    ['a nested array', [2, 1, [[1], [2]]], 'DTYPE', ['data\\[0\\]', 'an array']],
    ['a bigint entry', [1, 1, [1n]], 'DTYPE', ['1n']],
    [
      'shared memory',
      [1, 2, new Int32Array(new SharedArrayBuffer(8))],
      'DTYPE',
      ['SharedArrayBuffer', 'copy'],
    ],
    ['resizable memory', [1, 2, new Int32Array(resizable)], 'DTYPE', ['resizable', 'copy']],
    ['detached memory', [1, 2, transferred], 'DTYPE', ['detached']],
    ['detached memory for nothing', [0, 2, transferred], 'DTYPE', ['detached']],
    ['more than memory', [2 ** 20, 2 ** 20], 'OUT_OF_MEMORY', ['4398046511104 bytes']],
  ])('rejects %s', (_, values, code, patterns) => {
    expectThrown(() => untyped(...values), code, ...patterns.map((pattern) => new RegExp(pattern)))
  })
})

describe('long values in messages', () => {
  const huge = 'x'.repeat(10 ** 6)
  const list = Array.from({ length: 10 ** 6 }, (_, i) => i)
  it.each<[string, () => unknown]>([
    ['an array for a shape', () => untyped(list)],
    ['an Int32Array for a shape', () => untyped(Int32Array.from(list))],
    ['a length that is no length', () => untyped({ length: 2 ** 53 })],
    ['a length that is no number', () => untyped({ length: huge })],
    ['a long size', () => untyped(huge, 1)],
    ['a large size', () => untyped(10n ** 10000n, 1)],
    ['data with a long name', () => untyped(1, 1, { constructor: { name: huge } })],
    [
      'a band of many numbers',
      () => mpmmSync(matrix(1, 1), matrix(1, 1), { structure: { a: { band: list } } } as never),
    ],
    ['a semiring with a long name', () => zeroOf(huge as 'max-plus')],
    ['an element type with a long name', () => zeroOf('max-plus', huge as 'int32')],
    ['many devices', () => mpmmSync(matrix(1, 1), matrix(1, 1), { devices: huge } as never)],
  ])('are shortened: %s', (_, call) => {
    const error = thrown(call)
    expect(error).toBeInstanceOf(MpmmlError)
    expect((error as Error).message.length).toBeLessThan(300)
  })

  it('are shortened with the length of a list', () => {
    expectThrown(() => untyped(list), 'SHAPE', '[0, 1, 2, 3, 4, 5, 6, 7, … 1000000 in all]')
  })
})

describe('values that are not arrays of elements', () => {
  const advised = (data: unknown): string => (thrown(() => untyped(1, 2, data)) as Error).message
  it.each([BigInt64Array, BigUint64Array])('are rejected with advice that works: %o', (Type) => {
    const data = Type.of(1n, 2n)
    const [code] = /Int32Array\.from\([^)]*\)/.exec(advised(data))!
    expect(code).toBe('Int32Array.from(data, Number)')
    expect(matrix(1, 2, Int32Array.from(data, Number)).data).toEqual(Int32Array.of(1, 2))
    for (const call of [
      () => mpmmSync({ data, shape: [1, 2] } as never, matrix(2, 1)),
      () => atOnce(readingEdges({ nodes: 2, from: [0, 1], to: [1, 0], weight: data })),
    ]) {
      expectThrown(call, 'DTYPE', code!)
    }
  })
  it.each([
    ['numbers', new Uint16Array(2), 'Int32Array.from(data) converts'],
    ['bytes', new ArrayBuffer(8), 'new Int32Array(buffer)'],
    ['a view of bytes', new DataView(new ArrayBuffer(8)), 'new Int32Array(buffer)'],
    ['text', '12', 'put the elements into such an array'],
    ['nothing', null, 'put the elements into such an array'],
  ])('are rejected with fitting advice: %s', (_, data, advice) => {
    expect(advised(data)).toContain(advice)
  })
})

describe('the zeros of the semirings', () => {
  it('are equal to those of native code', () => {
    expect(EPSILON).toBe(-(2 ** 31))
    expect(addon.semirings.find(({ name }) => name === 'max-plus')?.zeros.int32).toBe(EPSILON)
    expect(zeroOf('max-plus')).toBe(EPSILON)
    expect(zeroOf('min-plus')).toBe(2 ** 31 - 1)
  })
  it('are infinities, or 0, among floating-point numbers', () => {
    for (const dtype of ['float32', 'float64'] as const) {
      expect(zeroOf('max-plus', dtype)).toBe(Number.NEGATIVE_INFINITY)
      expect(zeroOf('min-plus', dtype)).toBe(Number.POSITIVE_INFINITY)
      expect(zeroOf('plus-times', dtype)).toBe(0)
      expect(zeroOf('max-times', dtype)).toBe(0)
      expect(zeroOf('min-max', dtype)).toBe(Number.POSITIVE_INFINITY)
    }
    expectThrown(() => zeroOf('plus-times'), 'DTYPE', 'float32 and float64')
    expect(zeroOf('or-and', 'uint8')).toBe(0)
    expectThrown(() => zeroOf('or-and'), 'DTYPE', "or-and has the element type uint8, but not 'int32'")
  })
  it('are selected by names; other values are rejected', () => {
    const noText = { toString: 1 } as never
    expectThrown(() => zeroOf(noText), 'OPTION', 'there is no semiring an object')
    for (const dtype of [noText, 'toString' as never]) {
      expectThrown(() => zeroOf('max-plus', dtype), 'DTYPE', 'but not')
    }
  })
  it('exist for semirings only', () => {
    expectThrown(() => zeroOf('times-plus' as 'max-plus'), 'OPTION', /'max-plus', 'min-plus', .* or '/)
  })
})
