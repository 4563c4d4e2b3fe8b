/**
 * Products on a WebGPU device at the limits of exact computation, and with drivers that compute wrong
 * results.
 */
import { afterAll, expect, it } from 'vitest'
import { addon } from '../../lib/native.js'
import {
  copyAt,
  copyFields,
  memberAt,
  memberFields,
  type NativeMemory,
  reportFields,
  requestAt,
  requestFields,
} from '../../lib/native-interface.js'
import { oracle } from '../support/oracle.js'
import { describeUnless } from '../support/skip.js'
import {
  callsOf,
  endDevices,
  type InArray,
  multiply,
  type ProductOptions,
  upload,
  withoutAdapter,
} from '../support/webgpu-calls.js'

const reason = await withoutAdapter()
const calls = callsOf()
afterAll(endDevices)
const [LEAST, MOST] = [-(2 ** 31), 2 ** 31 - 1]

const matrix = (rows: number, cols: number, values: readonly number[]): InArray<Int32Array> => ({
  data: Int32Array.from(values),
  shape: [rows, cols],
})
const one = (value: number) => matrix(1, 1, [value])

/** Values without a pattern that repeats with the tiles. */
function drawn(rows: number, cols: number, range: number, seed: number): InArray<Int32Array> {
  let state = seed
  const data = Int32Array.from({ length: rows * cols }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return ((state >>> 8) % range) - Math.floor(range / 2)
  })
  return { data, shape: [rows, cols] }
}

describeUnless(reason, 'a product on a WebGPU device', () => {
  it.each([
    ['max-plus', LEAST + 1, -1, 5, 'throw', 5],
    ['max-plus', LEAST + 1, -1, LEAST, 'throw', 'ERR_MPMML_OVERFLOW'],
    ['max-plus', LEAST + 1, -1, LEAST, 'saturate', LEAST + 1],
    ['max-plus', MOST, 1, 5, 'throw', 'ERR_MPMML_OVERFLOW'],
    ['max-plus', MOST, 1, 5, 'saturate', MOST],
    ['max-plus', LEAST, MOST, 5, 'throw', 5],
    ['max-plus', LEAST, MOST, LEAST, 'throw', LEAST],
    ['max-plus', LEAST + 1, 0, LEAST, 'throw', LEAST + 1],
    ['max-plus', LEAST + 2, -1, LEAST, 'throw', LEAST + 1],
    ['max-plus', MOST, 0, LEAST, 'throw', MOST],
    ['max-plus', MOST, MOST, undefined, 'wrap', 'ERR_MPMML_OPTION'],
    ['min-plus', MOST - 1, 1, 5, 'throw', 5],
    ['min-plus', MOST - 1, 1, MOST, 'throw', 'ERR_MPMML_OVERFLOW'],
    ['min-plus', MOST - 1, 1, MOST, 'saturate', MOST - 1],
    ['min-plus', LEAST, -1, 5, 'throw', 'ERR_MPMML_OVERFLOW'],
    ['min-plus', LEAST, -1, 5, 'saturate', LEAST],
    ['min-plus', MOST - 1, 0, MOST, 'throw', MOST - 1],
    ['min-plus', LEAST, 0, MOST, 'throw', LEAST],
    ['min-plus', MOST, LEAST, MOST, 'throw', MOST],
  ] as const)(
    'over %s of %d and %d accumulates to %s with the policy %s: %s',
    async (semiring, a, b, c0, overflow, expected) => {
      const c = one(77)
      const options: ProductOptions = { semiring, overflow, ...(c0 !== undefined && { c0: one(c0) }) }
      const error = await multiply(calls, one(a), one(b), c, options).then(
        () => undefined,
        ({ code }) => code,
      )
      expect(error ?? c.data[0]).toBe(expected)
      if (error) expect(c.data[0]).toBe(77)
    },
  )

  it('computes sums of 33 bits, and names the first sum outside of int32', async () => {
    const a = matrix(2, 2, [LEAST + 1, MOST, 0, MOST - 3])
    const b = matrix(2, 2, [MOST, LEAST + 1, 0, 3])
    const c = matrix(2, 2, [7, 7, 7, 7])
    expect(await multiply(calls, a, b, c, { overflow: 'saturate' })).toBe('wide')
    expect(oracle(a, b, { overflow: 'saturate' })).toMatchObject({ data: c.data })
    const before = c.data.slice()
    await expect(multiply(calls, a, b, c)).rejects.toMatchObject({
      code: 'ERR_MPMML_OVERFLOW',
      message: expect.stringContaining(`C[0, 1] is decided by the sum ${MOST + 3}, outside the finite range`),
    })
    expect(c.data).toEqual(before)
  })

  it('writes a product of several blocks into its destination after all blocks have succeeded', async () => {
    const [m, n, k] = [150, 140, 19]
    const [a, b] = [drawn(m, k, 1000, 1), drawn(k, n, 1000, 2)]
    const c0 = drawn(m, n, 900, 3)
    const layout = { offset: 3, batchStride: 0, rowStride: 1, colStride: m + 1 }
    const c: InArray<Int32Array> = { data: new Int32Array(3 + n * (m + 1)).fill(9), shape: [m, n], layout }
    // Six buffers of 128 × 128 elements with their padding.
    const options = { deviceMemory: 6 * 4 * 257 * 257, c0 }
    await multiply(calls, a, b, c, options)
    const expected = oracle(a, b, { c0 })
    const found = Int32Array.from(
      { length: m * n },
      (_, i) => c.data[3 + Math.floor(i / n) + (i % n) * (m + 1)]!,
    )
    expect(expected).toMatchObject({ data: found })
    expect(Array.from({ length: n }, (_, j) => c.data[3 + m + j * (m + 1)] ?? 9)).toEqual(
      new Array(n).fill(9),
    )
    // Faults in the second block of the first row, and in the first block of a later row.
    a.data.fill(0)
    a.data[0] = MOST
    a.data[140 * k] = MOST
    b.data.fill(0)
    b.data[135] = 5
    const before = c.data.slice()
    await expect(multiply(calls, a, b, c, options)).rejects.toThrow(
      `C[0, 135] is decided by the sum ${MOST + 5}`,
    )
    expect(c.data).toEqual(before)
  })

  it.each([
    ['in free bits of the sums', 5, 70],
    ['beside the sums', 2 ** 29, 70],
  ])('finds the least k that decides, %s', async (_, range, k) => {
    const [a, b] = [drawn(20, k, range, 5), drawn(k, 33, range, 6)]
    const [c, witness] = [matrix(20, 33, new Array(20 * 33).fill(0)), new Int32Array(20 * 33)]
    await multiply(calls, a, b, c, { witness })
    const expected = Array.from(c.data, (value, index) => {
      const [i, j] = [Math.floor(index / 33), index % 33]
      return Array.from({ length: k }, (_, at) => a.data[i * k + at]! + b.data[at * 33 + j]!).indexOf(value)
    })
    expect(oracle(a, b)).toMatchObject({ data: c.data })
    expect([...witness]).toEqual(expected)
  })

  it('compares sums of 33 bits by their lowest bit too', async () => {
    const [a, b] = [matrix(1, 3, [10, 11, MOST]), matrix(3, 1, [0, 0, LEAST + 1])]
    const c = one(7)
    expect(await multiply(calls, a, b, c)).toBe('wide')
    expect(c.data[0]).toBe(11)
  })

  it.each([5, 2 ** 30])(
    'returns no witness of a result without a candidate, beside values up to %d',
    async (most) => {
      const [a, b] = [matrix(2, 1, [LEAST, most]), matrix(1, 2, [-most, LEAST])]
      const [c, witness] = [matrix(2, 2, [7, 7, 7, 7]), new Int32Array(4)]
      await multiply(calls, a, b, c, { witness })
      expect([[...c.data], [...witness]]).toEqual([
        [LEAST, LEAST, 0, LEAST],
        [-1, -1, 0, -1],
      ])
    },
  )

  it('rejects the witness of sums of 33 bits', async () => {
    const c = one(7)
    const options = { witness: new Int32Array(1) }
    const [a, b] = [matrix(1, 2, [LEAST + 1, MOST]), matrix(2, 1, [MOST, LEAST + 1])]
    await expect(multiply(calls, a, b, c, options)).rejects.toMatchObject({ code: 'ERR_MPMML_OPTION' })
    expect(c.data[0]).toBe(7)
  })

  it.each([
    ['the infinity that is not the zero', Number.POSITIVE_INFINITY],
    ['beyond ±2^124', 2 ** 125],
    ['below ±2^-102', 2 ** -103],
  ])('refuses sums of float32 with %s', async (what, value) => {
    const c = { data: Float32Array.of(7), shape: [1, 1] as const }
    const a = { data: Float32Array.of(value), shape: [1, 1] as const }
    const refused = expect.objectContaining({
      code: 'ERR_MPMML_OPTION',
      message: expect.stringContaining(what),
    })
    await expect(multiply(calls, a, a, c, { dtype: 'float32' })).rejects.toEqual(refused)
    expect(c.data[0]).toBe(7)
    await multiply(calls, a, a, c, { dtype: 'float32', semiring: 'max-min' })
    expect(c.data[0]).toBe(value)
  })

  it.each([
    ['a binding', { maxStorageBufferBindingSize: 2 ** 17 }],
    ['a buffer', { maxStorageBufferBindingSize: 2 ** 17, maxBufferSize: 2 ** 17 }],
  ])('computes arrays larger than %s', async (_, limits) => {
    const small = callsOf({ limits })
    const [m, n, k] = [150, 140, 300]
    const [a, b] = [drawn(m, k, 1000, 7), drawn(k, n, 1000, 8)]
    const c = matrix(m, n, new Array(m * n).fill(9))
    await multiply(small, a, b, c)
    expect(oracle(a, b)).toMatchObject({ data: c.data })
  })

  it('computes with matrices on the device that are larger than a binding, in both orders of elements', async () => {
    const small = callsOf({ limits: { maxStorageBufferBindingSize: 2 ** 17 } })
    const [m, n, k] = [300, 260, 200]
    const [a, b, c0] = [drawn(m, k, 1000, 7), drawn(k, n, 1000, 8), drawn(m, n, 900, 9)]
    const transposed = drawn(k, m, 1000, 7)
    for (let i = 0; i < m; i++) for (let j = 0; j < k; j++) transposed.data[j * m + i] = a.data[i * k + j]!
    const layout = { offset: 0, batchStride: 0, rowStride: 1, colStride: m }
    const expected = oracle(a, b, { c0 })
    for (const left of [a, transposed]) {
      const c = matrix(m, n, new Array(m * n).fill(9))
      const operand = {
        ...(await upload(small, left)),
        shape: a.shape,
        ...(left === transposed && { layout }),
      }
      await multiply(small, operand, await upload(small, b), c, { c0: await upload(small, c0) })
      expect(expected).toMatchObject({ data: c.data })
    }
  })

  it('computes with more k than are packed at once, and finds their witnesses', async () => {
    const small = callsOf({ limits: { maxStorageBufferBindingSize: 2 ** 17 } })
    const [m, n, k] = [7, 5, 3000]
    for (const range of [5, 2 ** 29]) {
      const [a, b] = [drawn(m, k, range, 7), drawn(k, n, range, 8)]
      const [c, witness] = [matrix(m, n, new Array(m * n).fill(9)), new Int32Array(m * n)]
      await multiply(small, a, b, c, { witness })
      expect(oracle(a, b)).toMatchObject({ data: c.data })
      const expected = Array.from(c.data, (value, index) => {
        const [i, j] = [Math.floor(index / n), index % n]
        return Array.from({ length: k }, (_, at) => a.data[i * k + at]! + b.data[at * n + j]!).indexOf(value)
      })
      expect([...witness]).toEqual(expected)
    }
  })

  it('rejects a product that lacks memory, and computes the next one', async () => {
    let isShort = false
    const short = callsOf({ isOutOfMemory: (size) => isShort && size > 2 ** 16 })
    const [a, b] = [drawn(140, 130, 1000, 7), drawn(130, 150, 1000, 8)]
    const c = matrix(140, 150, new Array(140 * 150).fill(9))
    await short.describeGpu()
    isShort = true
    await expect(multiply(short, a, b, c)).rejects.toMatchObject({ code: 'ERR_MPMML_OUT_OF_MEMORY' })
    expect(c.data.every((value) => value === 9)).toBe(true)
    isShort = false
    await multiply(short, a, b, c)
    expect(oracle(a, b)).toMatchObject({ data: c.data })
    expect((await short.describeGpu()).reason).toBe('')
  })

  it('frees buffers for a product that lacks memory', async () => {
    let allocated = 0
    const short = callsOf({ isOutOfMemory: (size) => size > 2 ** 16 && ++allocated === 13 })
    for (const n of [140, 150, 160, 170, 180]) {
      const [a, b] = [drawn(140, 130, 1000, 7), drawn(130, n, 1000, 8)]
      const c = matrix(140, n, new Array(140 * n).fill(9))
      await multiply(short, a, b, c)
      expect(oracle(a, b)).toMatchObject({ data: c.data })
    }
    expect(allocated).toBeGreaterThan(13)
  })

  it('adds the products of a group to their C0 once if another one lacks memory', async () => {
    let isShort = false
    const short = callsOf({ isOutOfMemory: (size) => isShort && size > 2 ** 16 })
    const truths = (side: number) => new Uint8Array(side * side).fill(1)
    const group = (sides: readonly number[], c: readonly Uint8Array[]) => {
      const request = new Float64Array(requestFields.length)
      request[requestAt.semiring] = addon.semirings.findIndex(({ name }) => name === 'xor-and')
      request[requestAt.dtype] = addon.dataTypes.indexOf('uint8')
      request[requestAt.variant] = -1
      const members = new Float64Array(sides.length * memberFields.length)
      const arrays = sides.flatMap((side, index) => [truths(side), truths(side), c[index]!])
      for (const [index, side] of sides.entries()) {
        const base = index * memberFields.length
        for (const name of ['batch', 'm', 'n', 'k'] as const)
          members[base + memberAt[name]] = name === 'batch' ? 1 : side
        for (const [position, name] of [...'abc', 'c0'].entries()) {
          const matrix = name as 'a' | 'b' | 'c' | 'c0'
          members[base + memberAt[`${matrix}Memory`]] = -1 - (3 * index + Math.min(position, 2))
          members[base + memberAt[matrix].rowStride] = side
          members[base + memberAt[matrix].colStride] = 1
        }
      }
      const reports = new Float64Array(sides.length * reportFields.length)
      return short.multiplyGroup(arrays, request, members, reports, new Int32Array(1), null)
    }
    await group([1], [truths(1)])
    isShort = true
    const c = [truths(1), truths(700)]
    const repeated = group([1, 700], c).catch((error: unknown) => error)
    expect(await repeated).toMatchObject({ code: 'ERR_MPMML_OUT_OF_MEMORY' })
    // 1 xor (1 and 1)
    expect([...c[0]!]).toEqual([0])
    expect(c[1]).toEqual(truths(700))
  })

  it('copies a matrix of many parts although no buffer can be mapped again', async () => {
    const failing = callsOf({ failingMode: 2 })
    // 10 parts of 8 MiB: up to 8 buffers are mapped for later parts.
    const [rows, cols] = [10, 2 ** 21]
    const data = new Int32Array(rows * cols)
    for (let i = 0; i < data.length; i++) data[i] = i * 7919
    const device = await failing.openDevice(0)
    const copy = new Float64Array(copyFields.length)
    copy.set([1, rows, cols], copyAt.batch)
    for (const at of [copyAt.array, copyAt.memory]) {
      copy[at.rowStride] = cols
      copy[at.colStride] = 1
    }
    const memory = await failing.upload(device, data, copy, new Int32Array(1))
    const found = new Int32Array(data.length)
    await failing.download(device, memory as NativeMemory, found, copy, new Int32Array(1))
    expect(Buffer.compare(Buffer.from(found.buffer), Buffer.from(data.buffer))).toBe(0)
  })

  it('says what to do if results can’t be mapped, and leaves C unchanged', async () => {
    const failing = callsOf({ failingMode: 1 })
    const c = one(7)
    await expect(multiply(failing, one(1), one(2), c)).rejects.toMatchObject({
      code: 'ERR_MPMML_NO_WEBGPU',
      message: expect.stringMatching(/use .*the backend 'cpu'/),
    })
    expect(c.data[0]).toBe(7)
  })

  it('ends with ERR_MPMML_ABORTED when its flag is set', async () => {
    const c = one(7)
    await expect(multiply(calls, one(1), one(2), c, { cancel: Int32Array.of(1) })).rejects.toMatchObject({
      code: 'ERR_MPMML_ABORTED',
    })
    expect(c.data[0]).toBe(7)
  })
})

describeUnless(reason, 'a defective WebGPU device', () => {
  const isProduct = (code: string) => code.includes('first == 0u')

  it('computes nothing after its self-test has failed, and reports the reason', async () => {
    const wrong = callsOf({ code: (code) => (isProduct(code) ? code.replaceAll('max(', 'min(') : code) })
    const c = one(7)
    const refused = {
      code: 'ERR_MPMML_NO_WEBGPU',
      message: expect.stringMatching(/self-test .* max-plus of int32/),
    }
    await expect(multiply(wrong, one(1), one(2), c)).rejects.toMatchObject(refused)
    await expect(multiply(wrong, one(1), one(2), c, { semiring: 'min-plus' })).rejects.toMatchObject(refused)
    expect(c.data[0]).toBe(7)
    expect((await wrong.describeGpu()).reason).toContain('self-test')
  })

  it('leaves C unchanged if a command is rejected', async () => {
    const wrong = callsOf({ entries: (entries) => (entries.length === 4 ? entries.slice(1) : entries) })
    const c = one(7)
    await expect(multiply(wrong, one(1), one(2), c)).rejects.toMatchObject({ code: 'ERR_MPMML_NO_WEBGPU' })
    expect(c.data[0]).toBe(7)
  })

  it('computes no sums of float32 if it rounds them differently', async () => {
    const wrong = callsOf({
      code: (code) => code.replace('bitcast<f32>(pair.y))', 'bitcast<f32>(pair.y) * 1.000001f)'),
    })
    const [a, c] = [
      { data: Float32Array.of(3), shape: [1, 1] as const },
      { data: Float32Array.of(7), shape: [1, 1] as const },
    ]
    await expect(multiply(wrong, a, a, c, { dtype: 'float32' })).rejects.toThrow(
      "doesn't round them to nearest",
    )
    expect(c.data[0]).toBe(7)
    expect((await wrong.describeGpu()).roundsToNearest).toBe(false)
    await multiply(wrong, a, a, c, { dtype: 'float32', semiring: 'max-min' })
    expect(c.data[0]).toBe(3)
  })

  it('is rejected if it is software, unless software adapters are allowed', async () => {
    const { reason: why, adapter } = await callsOf({}, false).describeGpu()
    expect(adapter).not.toBeNull()
    if (adapter!.isFallback) expect(why).toContain('MPMML_WEBGPU_FALLBACK=1')
    else expect(why).toBe('')
  })
})
