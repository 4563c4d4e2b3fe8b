/** Arrays in pinned memory, or ordinary ones without a GPU. */
import { describe, expect, it } from 'vitest'
import { matrix, mpmm, pinned } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { expectRejected } from '../support/expect.js'

describe('pinned', () => {
  it.each([
    ['int32', Int32Array],
    ['int16', Int16Array],
    ['float32', Float32Array],
    ['float64', Float64Array],
    ['uint8', Uint8Array],
  ] as const)('is an array of zeros of %s', async (dtype, Type) => {
    const array = await pinned(dtype, 1001)
    expect(array).toBeInstanceOf(Type)
    expect(array.length).toBe(1001)
    expect(array.every((value) => value === 0)).toBe(true)
    expect((await pinned(dtype, 0)).length).toBe(0)
  })

  it('holds operands and results', async () => {
    const [a, out] = [await pinned('float32', 4), await pinned('float32', 4)]
    a.set([1, 2, 3, 4])
    await mpmm(matrix(2, 2, a), matrix(2, 2, a), { out: matrix(2, 2, out) })
    expect([...out]).toEqual([5, 6, 7, 8])
  })

  it.each([
    ['int64', 3, 'DTYPE', /^dtype must be 'int32', .* or 'uint8', but it is 'int64'/],
    ['toString', 3, 'DTYPE', /toString/],
    [undefined, 3, 'DTYPE', /undefined/],
    ['int32', -1, 'DTYPE', /length .* -1/],
    ['int32', Number.NaN, 'DTYPE', /length .* NaN/],
    ['int32', '4', 'DTYPE', /length .* '4'/],
    ['int32', 1.5, 'DTYPE', /length .* 1\.5/],
    ['int32', undefined, 'DTYPE', /length .* undefined/],
    ['uint8', 2 ** 52, 'OUT_OF_MEMORY', /elements: create a smaller one/],
  ])('rejects %s, %s', async (dtype, length, code, message) => {
    await expectRejected(pinned(dtype as 'int32', length as number), code, message)
  })

  it('is an ordinary array if native code has no memory to share', async () => {
    expect(await addon.pinnedBuffer(0)).toBeNull()
  })
})
