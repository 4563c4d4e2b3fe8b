/** Planning of products on a WebGPU device: blocks, tiles, and bounds of the operands. */
import { describe, expect, it } from 'vitest'
import { initialStatus } from '../../lib/webgpu/kernels/arithmetic.js'
import {
  assertPolicy,
  blocksOf,
  factsOf,
  kindOf,
  spareBits,
  staysInside,
  tileRowsOf,
} from '../../lib/webgpu/plan.js'

/** Bounds of two operands with these least and greatest values. */
function facts([a0, a1]: readonly [number, number], [b0, b1]: readonly [number, number]) {
  const status = initialStatus()
  status.set([a0, a1], 8)
  status.set([b0, b1], 16)
  return [factsOf(status, 0), factsOf(status, 1)] as const
}

describe('blocks of a product', () => {
  it.each([
    [1, 1, 1, 0, 2 ** 31],
    [3, 300, 200, 50, 2 ** 20],
    [1, 5000, 7000, 900, 2 ** 24],
    [70_000, 2, 3, 4, 2 ** 27],
    [1, 300_000, 3, 4, 2 ** 31],
  ])('cover %d products of %d × %d with k = %d once, within %d bytes', (batch, m, n, k, maxBytes) => {
    const blocks = blocksOf(batch, m, n, k, maxBytes)
    const elements = blocks.reduce((sum, { items, rows, cols }) => sum + items * rows * cols, 0)
    expect(elements).toBe(batch * m * n)
    const places = new Set(blocks.map(({ z0, i0, j0 }) => `${z0} ${i0} ${j0}`))
    expect(places.size).toBe(blocks.length)
    for (const { z0, items, i0, rows, j0, cols } of blocks) {
      expect(z0 + items).toBeLessThanOrEqual(batch)
      expect(i0 + rows).toBeLessThanOrEqual(m)
      expect(j0 + cols).toBeLessThanOrEqual(n)
      expect(items).toBeLessThanOrEqual(65535)
      expect(Math.max(rows, cols)).toBeLessThanOrEqual(2 ** 17)
      expect(4 * items * Math.max(rows * cols, rows * k, cols * k)).toBeLessThanOrEqual(maxBytes)
    }
  })

  it('don’t exist for a product without elements', () => {
    expect(blocksOf(1, 0, 5, 3, 2 ** 20)).toEqual([])
  })
})

describe('the facts of two operands', () => {
  it('determine the number of free bits below their sums', () => {
    expect(spareBits(...facts([0, 0], [5, 5]))).toBe(29)
    expect(spareBits(...facts([0, 2 ** 30], [0, 2 ** 30 - 3]))).toBe(0)
    expect(spareBits(...facts([0, 2 ** 30], [0, 2 ** 30 - 2]))).toBeLessThan(0)
    expect(spareBits(...facts([-(2 ** 31) + 1, 2 ** 31 - 1], [0, 0]))).toBeLessThan(0)
  })

  it('determine whether sums stay in the finite range', () => {
    expect(staysInside(...facts([0, 2 ** 30], [0, 2 ** 30 - 1]), true)).toBe(true)
    expect(staysInside(...facts([0, 2 ** 30], [0, 2 ** 30]), true)).toBe(false)
    expect(staysInside(...facts([0, 2 ** 30], [0, 2 ** 30 - 1]), false)).toBe(false)
    // Without a finite value there is no sum.
    expect(staysInside(...facts([0x7fffffff, -0x80000000], [2 ** 30, 2 ** 31 - 1]), true)).toBe(true)
  })

  it('reject policies whose results depend on sums outside of the range', () => {
    const leaving = facts([0, 2 ** 31 - 1], [0, 1])
    const [THROW, SATURATE, WRAP] = [0, 1, 2]
    expect(() => assertPolicy(...leaving, true, THROW, true)).not.toThrow()
    expect(() => assertPolicy(...leaving, true, SATURATE, false)).not.toThrow()
    expect(() => assertPolicy(...leaving, true, SATURATE, true)).toThrow('saturate')
    expect(() => assertPolicy(...leaving, true, WRAP, false)).toThrow('wrap')
    expect(() => assertPolicy(...facts([0, 5], [0, 1]), true, WRAP, true)).not.toThrow()
  })
})

describe('the kind of a product', () => {
  it('is rejected for semirings and types that WebGPU lacks', () => {
    expect(() => kindOf('max-plus', 'float64')).toThrow(expect.objectContaining({ code: 'ERR_MPMML_DTYPE' }))
    expect(() => kindOf('plus-times', 'float32')).toThrow(
      expect.objectContaining({ code: 'ERR_MPMML_OPTION' }),
    )
  })

  it('specifies the storage of elements', () => {
    const modes = [
      ['max-plus', 'int32', 'offset'],
      ['min-plus', 'float32', 'float'],
      ['max-min', 'int32', 'plain'],
      ['min-max', 'float32', 'keys'],
      ['or-and', 'uint8', 'bits'],
    ] as const
    for (const [semiring, dtype, mode] of modes) expect(kindOf(semiring, dtype).mode).toBe(mode)
  })

  it('has small tiles for few results', () => {
    expect([tileRowsOf(1, 4000, 1), tileRowsOf(100, 100, 1), tileRowsOf(1024, 1024, 1)]).toEqual([32, 64, 64])
    expect([tileRowsOf(4096, 4096, 1), tileRowsOf(128, 128, 200)]).toEqual([128, 128])
  })
})
