/** Operands in Int16Arrays: their arithmetics on the CPU, and calls that every backend rejects. */
import { describe, expect, it } from 'vitest'
import {
  type MatrixLike,
  type MpmmOptions,
  matrix,
  mpmmSync,
  type OperandArray,
  plan,
} from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { expectError, expectThrown } from '../support/expect.js'
import { randomMatrix } from '../support/generators.js'

describe('int16 operands', () => {
  it('use sums of 8 or 16 bits if these suffice', async () => {
    const path = async (limit: number, everyZero: number) => {
      const data = Int16Array.from({ length: 600 * 600 }, (_, index) =>
        everyZero > 0 && index % everyZero === 0 ? -32768 : ((index * 7919) % (2 * limit)) - limit,
      )
      const operand = { data, shape: [600, 600] }
      return (await plan(operand, operand, { backend: 'cpu' })).arithmetic
    }
    expect(await path(63, 0)).toBe('byte')
    expect(await path(64, 0)).toBe('byte')
    expect(await path(65, 0)).toBe('half')
    expect(await path(32, 10)).toBe('byte-translated')
    expect(await path(33, 10)).toBe('half-translated')
    expect(await path(16000, 0)).toBe('half')
    expect(await path(8000, 10)).toBe('half-translated')
    expect(await path(32000, 0)).toBe('direct')
    expect(await path(32000, 10)).toBe('translated')
  })

  it.each<[string, [number, number, number], MpmmOptions]>([
    ['a matrix and a vector', [300, 700, 1], {}],
    ['a vector and a matrix', [1, 700, 300], {}],
    ['a few rows, with witnesses', [3, 700, 300], { witness: true }],
    ['packed operands', [200, 100, 300], {}],
    ['packed operands with witnesses', [200, 100, 300], { witness: true }],
    ['bands', [200, 100, 300], { structure: { a: 'lower', b: { band: [20, 90] } } }],
    ['the reference', [20, 30, 40], { variant: 'naive_maxplus_i32_acc64' }],
  ])('take no more memory to work in than int32: %s', (_, [m, k, n], options) => {
    const a = randomMatrix(m, k, 1, [-15_000, 15_000])
    const b = randomMatrix(k, n, 2, [-15_000, 15_000])
    const narrow = (of: typeof a) => ({ data: Int16Array.from(of.data), shape: of.shape })
    // Number of the first attempt that succeeds, and its result. Attempt n fails the nth allocation.
    const allocations = (left: MatrixLike<OperandArray>, right: MatrixLike<OperandArray>) => {
      for (let count = 1; ; count++) {
        addon.failAllocation(count)
        try {
          return [count, [...mpmmSync(left, right, { backend: 'cpu', ...options }).c.data]]
        } catch (error) {
          expectError(error, 'OUT_OF_MEMORY')
        } finally {
          addon.failAllocation(0)
        }
      }
    }
    expect(allocations(narrow(a), narrow(b))).toEqual(allocations(a, b))
  })

  it('can be created by matrix()', () => {
    const data = Int16Array.of(1, 2, 3, 4)
    expect(matrix(2, 2, data).data).toBe(data)
  })

  it('are rejected as the destination of a result', () => {
    const a = matrix(2, 2, Int16Array.of(1, 2, 3, 4))
    for (const options of [{ out: a }, { accumulate: a }]) {
      expectThrown(
        () => mpmmSync(a, a, options as never),
        'DTYPE',
        /must be an Int32Array, .* but it is an Int16Array, which only operands may be/,
      )
    }
  })

  it('are rejected together with floats', () => {
    const a = matrix(1, 1, Int16Array.of(1)) as unknown as MatrixLike<Float32Array>
    expectThrown(() => mpmmSync(a, matrix(1, 1, Float32Array.of(1))), 'DTYPE')
  })

  it('may share a buffer with the result, but no memory', () => {
    const buffer = new ArrayBuffer(64)
    const operand = (byte: number) => ({ data: new Int16Array(buffer, byte, 4), shape: [2, 2] })
    const out = (byte: number) => ({ data: new Int32Array(buffer, byte, 4), shape: [2, 2] })
    const b = matrix(2, 2, Int16Array.of(0, -32768, -32768, 0))
    operand(0).data.set([1, 2, 3, 4])
    mpmmSync(operand(0), b, { out: out(8) })
    expect([...out(8).data]).toEqual([1, 2, 3, 4])
    for (const byte of [2, 18, 22]) {
      expectThrown(() => mpmmSync(operand(byte), b, { out: out(8) }), 'SHAPE', 'out overlaps a')
    }
    mpmmSync(operand(24), b, { out: out(8) })
    // Every other int32 of a buffer, and int16 elements in the gaps.
    const gaps = { data: new Int16Array(buffer), shape: [1, 2], strides: [1, 4], offset: 2 }
    const spread = { data: new Int32Array(buffer), shape: [1, 2], strides: [1, 2] }
    mpmmSync(gaps, b, { out: spread })
    expectThrown(() => mpmmSync({ ...gaps, offset: 1 }, b, { out: spread }), 'SHAPE', 'out overlaps a')
  })
})
