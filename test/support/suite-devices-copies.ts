/** Copies to a device and back. */
import { expect, it } from 'vitest'
import {
  type DataType,
  type Device,
  DeviceMatrix,
  type MatrixLike,
  matrix,
  type Shape,
} from '../../lib/index.js'
import { arrays } from '../../native/tools/fuzz/algebra.mjs'
import { algebras } from './algebras.js'
import { layoutsOf } from './cases.js'
import { caught, expectError, expectRejected } from './expect.js'
import { randomMatrix } from './generators.js'
import { elements, expectMatrix, random, randomInt16, rowMajorMatrix } from './resident.js'

const algebraOn = (type: DataType) => algebras.find((algebra) => algebra.type === type)!
const types = Object.keys(arrays) as DataType[]
const shapes: Shape[] = [
  [1, 1],
  [3, 5],
  [64, 64],
  [1, 300],
  [257, 3],
  [4, 5, 6],
  [1, 2, 3],
  [0, 4],
  [4, 0],
  [0, 2, 3],
  [2, 0, 3],
]

export function copies(open: () => Device): void {
  it.each(types)('are exact in both directions: %s', async (type) => {
    for (const shape of shapes) {
      const source = random(algebraOn(type), [...shape], 1)
      const there = await open().upload(source)
      expect(there).toBeInstanceOf(DeviceMatrix)
      expect(there.shape).toEqual(shape)
      expect(there.dtype).toBe(type)
      expect(there.device).toBe(open())
      expect(there.disposed).toBe(false)
      const back = await there.download()
      expect(back.data.constructor).toBe(source.data.constructor)
      expect(back).toEqual(source)
      there.dispose()
    }
  })

  it('keep int16', async () => {
    const source = randomInt16([7, 9], 1)
    const there = await open().upload(source)
    expect(there.dtype).toBe('int16')
    const back = await there.download()
    expect(back.data).toBeInstanceOf(Int16Array)
    expect(back).toEqual(source)
  })

  it.each(Object.entries(layoutsOf))('read an array that is %s, and write into one', async (name, layout) => {
    const source = randomMatrix(13, 17, 1)
    const there = await open().upload(layout(source) as MatrixLike)
    expectMatrix(await there.download(), source)
    const out = layout({ data: new Int32Array(13 * 17), shape: [13, 17] })
    const before = Int32Array.from(out.data)
    expect(await there.download(out as MatrixLike)).toBe(out)
    expectMatrix(out as MatrixLike, source)
    const places = new Set(
      elements({ ...out, data: Int32Array.from(out.data, (_, index) => index) } as never),
    )
    out.data.forEach((value, index) => {
      if (!places.has(index)) expect(value, name).toBe(before[index])
    })
  })

  it('accept batches with strides', async () => {
    const { data } = randomMatrix(40, 50, 2)
    const source = { data, shape: [3, 5, 7], strides: [200, 1, 9], offset: 11 }
    const there = await open().upload(source)
    expect(there.shape).toEqual([3, 5, 7])
    expectMatrix(await there.download(), source)
    const shared = { data, shape: [3, 5, 7], strides: [0, 7, 1] }
    expectMatrix(await (await open().upload(shared)).download(), shared)
  })

  it('include full', async () => {
    const device = open()
    expect(await (await device.full([2, 3], -7)).download()).toEqual(matrix(2, 3, [-7, -7, -7, -7, -7, -7]))
    for (const [type, value] of [
      ['int32', -(2 ** 31)],
      ['int32', 2 ** 31 - 1],
      ['float32', 0.1],
      ['float32', Number.NEGATIVE_INFINITY],
      ['float32', 1e300],
      ['float64', 0.1],
      ['float64', Number.NaN],
      ['float64', -0],
      ['uint8', 255],
      ['uint8', 0],
    ] as const) {
      for (const shape of shapes) {
        const there = await device.full(shape, value, type)
        expect(there.dtype).toBe(type)
        const { data } = random(algebraOn(type), [...shape], 1)
        expect(await there.download(), `${type}, ${value}, ${shape}`).toEqual(
          rowMajorMatrix(data.fill(value as never), [...shape]),
        )
        there.dispose()
      }
    }
  })

  it('reject invalid calls of full', async () => {
    const full = open().full.bind(open()) as (...values: unknown[]) => Promise<unknown>
    const refused = async (values: unknown[], code: string, ...patterns: (string | RegExp)[]) =>
      await expectRejected(full(...values), code, ...patterns)
    for (const value of [0.5, 2 ** 31, -(2 ** 31) - 1, Number.NaN, '1', 1n, undefined, null]) {
      await refused([[2, 2], value], 'DTYPE', 'value must be an integer from -2147483648')
    }
    await refused([[2, 2], 256, 'uint8'], 'DTYPE', 'from 0 to 255', '256')
    await refused([[2, 2], '1', 'float64'], 'DTYPE', 'a number', "'1'")
    await refused([[2, 2], 1, 'int16'], 'DTYPE', 'dtype', "'int16'", 'Int16Array')
    await refused([[2, 2], 1, 'int64'], 'DTYPE', ...types.map((type) => `'${type}'`))
    for (const shape of [undefined, null, 5, [2], [2, 2, 2, 2], [-1, 2], [1.5, 2], ['2', 2], [2 ** 31, 1]]) {
      await refused([shape, 1], 'SHAPE', 'shape must')
    }
    await refused([[2 ** 30, 2 ** 30], 1], 'SHAPE', /2\^53/)
  })

  it('report a full that exceeds the memory', async () => {
    const before = open().memory().used
    await expectRejected(open().full([2 ** 20, 2 ** 20, 8], 1), 'OUT_OF_MEMORY')
    // The used memory is less if matrices of earlier tests have been collected in the meantime.
    expect(open().memory().used).toBeLessThanOrEqual(before)
    const small = await open().full([1, 1], 1)
    expect([...(await small.download()).data]).toEqual([1])
  })

  it('reject invalid uploads', async () => {
    const upload = open().upload.bind(open()) as (value: unknown) => Promise<unknown>
    const refused = async (value: unknown, code: string, ...patterns: (string | RegExp)[]) =>
      await expectRejected(upload(value), code, ...patterns)
    await refused(undefined, 'DTYPE', /^matrix must be a matrix/, 'undefined')
    await refused({ data: [1], shape: [1, 1] }, 'DTYPE', /^matrix.data/)
    await refused({ data: new Int32Array(3), shape: [2, 2] }, 'SHAPE', 'at least 4', '3')
    await refused({ data: new Int32Array(new SharedArrayBuffer(16)), shape: [2, 2] }, 'DTYPE')
    await refused(await open().full([1, 1], 1), 'DTYPE', 'download')
  })

  it('reject invalid downloads', async () => {
    const there = await open().upload(matrix(2, 3))
    const download = there.download.bind(there) as (value: unknown) => Promise<unknown>
    const refused = async (value: unknown, code: string, ...patterns: (string | RegExp)[]) =>
      await expectRejected(download(value), code, /^(out|elements of out)/, ...patterns)
    await refused(null, 'DTYPE', 'null')
    await refused(matrix(3, 2), 'SHAPE', /\[3, 2\]/, /\[2, 3\]/)
    await refused(matrix([1, 2, 3]), 'SHAPE', /\[1, 2, 3\]/, /\[2, 3\]/)
    await refused(matrix(2, 3, new Float32Array(6)), 'DTYPE', 'int32', 'a Float32Array')
    await refused(matrix(2, 3, new Int16Array(6)), 'DTYPE', 'int32', 'an Int16Array')
    await refused({ data: new Int32Array(6), shape: [2, 3], strides: [1, 1] }, 'SHAPE', 'overlap')
    await refused({ data: new Int32Array(5), shape: [2, 3] }, 'SHAPE', 'at least 6')
    await refused(there, 'DTYPE', 'must be in an array')
    const narrow = await open().upload(matrix(1, 1, Int16Array.of(5)))
    await expectRejected(narrow.download(matrix(1, 1) as never), 'DTYPE', 'int16')
  })

  it('report that an array was transferred in the meantime', async () => {
    const source = { data: new Int32Array(1 << 16), shape: [256, 256] }
    const running = caught(open().upload(source))
    structuredClone(source.data, { transfer: [source.data.buffer] })
    expectError(await running, 'DTYPE', /matrix.data/, 'detached')
  })

  it('have the content at the time of the call', async () => {
    const c = await open().full([300, 300], 1)
    const first = c.download()
    const d = await open().full([300, 300], 2)
    void c.combine(d)
    const second = c.download()
    expect(new Set((await first).data)).toEqual(new Set([1]))
    expect(new Set((await second).data)).toEqual(new Set([2]))
  })
}
