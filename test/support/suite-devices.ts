/** Matrices that stay on a device, and their products: the same for both backends. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type DataType,
  type Device,
  DeviceMatrix,
  type MatrixLike,
  matrix,
  mpmm,
  mpmmSync,
  type OperandArray,
  openDevice,
  plan,
  type Shape,
  variants,
} from '../../lib/index.js'
import { layoutsOf, policies, ragged, semirings, sizes } from './cases.js'
import { expectElements, thrown } from './expect.js'
import { kindNames, operands, randomMatrix } from './generators.js'
import { type Dense, oracle, type Strided } from './oracle.js'
import {
  algebras,
  caught,
  elements,
  expectError,
  expectIs,
  expectSame,
  identity,
  made,
  random,
  randomInt16,
  widened,
} from './resident.js'

type Operand = MatrixLike<OperandArray> | DeviceMatrix<OperandArray>
/** mpmm with matrices whose types are only known at run time. */
export const product = mpmm as (
  a: Operand,
  b: Operand,
  options?: object,
) => Promise<Omit<Awaited<ReturnType<typeof mpmm>>, 'c'> & { c: DeviceMatrix<OperandArray> }>

export function deviceSuite(backend: 'cpu' | 'cuda'): void {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ backend })
  })
  afterAll(() => device.close())
  const open = () => device

  describe('a device', () => theDevice(backend, open))
  describe('copies', () => copies(open))
  describe('views', () => views(open))
  describe('products', () => products(backend, open))
  describe('chains', () => chains(open))
  describe('combine', () => combining(open))
}

function theDevice(backend: 'cpu' | 'cuda', open: () => Device): void {
  it('says what it is', () => {
    const device = open()
    expect(device.backend).toBe(backend)
    expect(device.index).toBe(0)
    expect(device.name).not.toBe('')
    const { used, reserved, peak, free, total } = device.memory()
    for (const bytes of [used, reserved, peak, free, total]) expect(Number.isSafeInteger(bytes)).toBe(true)
    expect(reserved).toBeGreaterThanOrEqual(used)
    expect(peak).toBeGreaterThanOrEqual(used)
    expect(total).toBeGreaterThan(free)
    expect(free).toBeGreaterThan(0)
  })

  it('is opened with options that are right', async () => {
    const refused = async (options: unknown, ...patterns: (string | RegExp)[]) =>
      expectError(await caught(openDevice(options as never)), 'OPTION', ...patterns)
    await refused({ backends: 'cpu' }, "'backends'", "'backend' or 'device'")
    await refused({ backend: 'gpu' }, 'backend', "'gpu'")
    await refused({ device: -1 }, 'device', '-1')
    await refused(null, 'options must be an object', 'null')
  })

  it('has no public constructor, and neither have its matrices', async () => {
    const device = open()
    const a = await device.full([1, 1], 0)
    for (const Class of [device.constructor, a.constructor, DeviceMatrix]) {
      const make = Class as new (...values: unknown[]) => unknown
      for (const values of [[], [{}], [device], [a]]) {
        expect(() => new make(...values)).toThrow(TypeError)
      }
    }
    a.dispose()
  })
}

const types: DataType[] = ['int32', 'float32', 'float64', 'uint8']
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

function copies(open: () => Device): void {
  it.each(types)('there and back: %s', async (type) => {
    for (const shape of shapes) {
      const source = random({ semiring: 'max-min', type }, [...shape], 1)
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

  it('int16 stays int16', async () => {
    const source = randomInt16([7, 9], 1)
    const there = await open().upload(source)
    expect(there.dtype).toBe('int16')
    const back = await there.download()
    expect(back.data).toBeInstanceOf(Int16Array)
    expect(back).toEqual(source)
  })

  it.each(Object.entries(layoutsOf))('from an array that is %s, and into one', async (name, layout) => {
    const source = randomMatrix(13, 17, 1)
    const there = await open().upload(layout(source) as MatrixLike)
    expectSame(await there.download(), source)
    const out = layout({ data: new Int32Array(13 * 17), shape: [13, 17] })
    const before = Int32Array.from(out.data)
    expect(await there.download(out as MatrixLike)).toBe(out)
    expectSame(out as MatrixLike, source)
    const places = new Set(
      elements({ ...out, data: Int32Array.from(out.data, (_, index) => index) } as never),
    )
    out.data.forEach((value, index) => {
      if (!places.has(index)) expect(value, name).toBe(before[index])
    })
  })

  it('batches with strides', async () => {
    const { data } = randomMatrix(40, 50, 2)
    const source = { data, shape: [3, 5, 7], strides: [200, 1, 9], offset: 11 }
    const there = await open().upload(source)
    expect(there.shape).toEqual([3, 5, 7])
    expectSame(await there.download(), source)
    const shared = { data, shape: [3, 5, 7], strides: [0, 7, 1] }
    expectSame(await (await open().upload(shared)).download(), shared)
  })

  it('full', async () => {
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
        const { data } = random({ semiring: 'max-min', type }, [...shape], 1)
        expect(await there.download(), `${type}, ${value}, ${shape}`).toEqual(
          made(data.fill(value as never), [...shape]),
        )
        there.dispose()
      }
    }
  })

  it('full refuses what is wrong', async () => {
    const full = open().full.bind(open()) as (...values: unknown[]) => Promise<unknown>
    const refused = async (values: unknown[], code: string, ...patterns: string[]) =>
      expectError(await caught(full(...values)), code, ...patterns)
    for (const value of [0.5, 2 ** 31, -(2 ** 31) - 1, Number.NaN, '1', 1n, undefined, null]) {
      await refused([[2, 2], value], 'DTYPE', 'value must be an integer from -2147483648')
    }
    await refused([[2, 2], 256, 'uint8'], 'DTYPE', 'from 0 to 255', '256')
    await refused([[2, 2], '1', 'float64'], 'DTYPE', 'a number', "'1'")
    await refused([[2, 2], 1, 'int16'], 'DTYPE', 'dtype', "'int16'", 'Int16Array')
    await refused([[2, 2], 1, 'int64'], 'DTYPE', "'int32', 'float32', 'float64' or 'uint8'")
    for (const shape of [undefined, null, 5, [2], [2, 2, 2, 2], [-1, 2], [1.5, 2], ['2', 2], [2 ** 31, 1]]) {
      await refused([shape, 1], 'SHAPE', 'shape must')
    }
    await refused([[2 ** 30, 2 ** 30], 1], 'SHAPE', '2\\^53')
  })

  it('full that is larger than memory', async () => {
    const before = open().memory().used
    expectError(await caught(open().full([2 ** 20, 2 ** 20, 8], 1)), 'OUT_OF_MEMORY')
    // Less, if matrices of earlier tests have been collected meanwhile.
    expect(open().memory().used).toBeLessThanOrEqual(before)
    const small = await open().full([1, 1], 1)
    expect([...(await small.download()).data]).toEqual([1])
  })

  it('upload refuses what is wrong', async () => {
    const upload = open().upload.bind(open()) as (value: unknown) => Promise<unknown>
    const refused = async (value: unknown, code: string, ...patterns: string[]) =>
      expectError(await caught(upload(value)), code, ...patterns)
    await refused(undefined, 'DTYPE', '^matrix must be a matrix', 'undefined')
    await refused({ data: [1], shape: [1, 1] }, 'DTYPE', '^matrix.data')
    await refused({ data: new Int32Array(3), shape: [2, 2] }, 'SHAPE', 'at least 4', '3')
    await refused({ data: new Int32Array(new SharedArrayBuffer(16)), shape: [2, 2] }, 'DTYPE')
    await refused(await open().full([1, 1], 1), 'DTYPE', 'download')
  })

  it('download refuses what is wrong', async () => {
    const there = await open().upload(matrix(2, 3))
    const download = there.download.bind(there) as (value: unknown) => Promise<unknown>
    const refused = async (value: unknown, code: string, ...patterns: string[]) =>
      expectError(await caught(download(value)), code, '^(out|elements of out)', ...patterns)
    await refused(null, 'DTYPE', 'null')
    await refused(matrix(3, 2), 'SHAPE', '\\[3, 2\\]', '\\[2, 3\\]')
    await refused(matrix([1, 2, 3]), 'SHAPE', '\\[1, 2, 3\\]', '\\[2, 3\\]')
    await refused(matrix(2, 3, new Float32Array(6)), 'DTYPE', 'int32', 'a Float32Array')
    await refused(matrix(2, 3, new Int16Array(6)), 'DTYPE', 'int32', 'an Int16Array')
    await refused({ data: new Int32Array(6), shape: [2, 3], strides: [1, 1] }, 'SHAPE', 'overlap')
    await refused({ data: new Int32Array(5), shape: [2, 3] }, 'SHAPE', 'at least 6')
    await refused(there, 'DTYPE', 'must be in an array')
    const narrow = await open().upload(matrix(1, 1, Int16Array.of(5)))
    expectError(await caught(narrow.download(matrix(1, 1) as never)), 'DTYPE', 'int16')
  })

  it('an array that is transferred away meanwhile is an error', async () => {
    const source = { data: new Int32Array(1 << 16), shape: [256, 256] }
    const running = caught(open().upload(source))
    structuredClone(source.data, { transfer: [source.data.buffer] })
    expectError(await running, 'DTYPE', 'matrix.data', 'detached')
  })

  it('what they hold is what was asked for when it was asked', async () => {
    const c = await open().full([300, 300], 1)
    const first = c.download()
    const d = await open().full([300, 300], 2)
    void c.combine(d)
    const second = c.download()
    expect(new Set((await first).data)).toEqual(new Set([1]))
    expect(new Set((await second).data)).toEqual(new Set([2]))
  })
}

function views(open: () => Device): void {
  const source = randomMatrix(20, 30, 3)
  const part = (rows: [number, number], cols: [number, number]) => ({
    data: source.data,
    shape: [rows[1] - rows[0], cols[1] - cols[0]],
    strides: [30, 1],
    offset: rows[0] * 30 + cols[0],
  })

  it('are parts, and parts of parts, and transposes', async () => {
    const whole = await open().upload(source)
    expectSame(await whole.view().download(), source)
    const middle = whole.view({ rows: [3, 15], cols: [4, 28] })
    expect(middle.shape).toEqual([12, 24])
    expectSame(await middle.download(), part([3, 15], [4, 28]))
    const inner = middle.view({ cols: [5, 6] })
    expectSame(await inner.download(), part([3, 15], [9, 10]))
    const turned = middle.transpose()
    expect(turned.shape).toEqual([24, 12])
    expectSame(await turned.download(), { ...part([3, 15], [4, 28]), shape: [24, 12], strides: [1, 30] })
    expectSame(await turned.transpose().download(), part([3, 15], [4, 28]))
    const corner = turned.view({ rows: [0, 2], cols: [10, 12] })
    expectSame(await corner.download(), { ...part([13, 15], [4, 6]), strides: [1, 30] })
    expectSame(await whole.view({ rows: [19, 20] }).download(), part([19, 20], [0, 30]))
    expect((await whole.view({ rows: [7, 7] }).download()).shape).toEqual([0, 30])
    expect(
      (
        await whole
          .view({ rows: [20, 20], cols: [30, 30] })
          .transpose()
          .download()
      ).shape,
    ).toEqual([0, 0])
  })

  it('of batches: one matrix, or a part of each', async () => {
    const { data } = randomMatrix(24, 5, 4)
    const batch = await open().upload({ data, shape: [4, 6, 5] })
    const one = batch.view({ batch: 2 })
    expect(one.shape).toEqual([6, 5])
    expectSame(await one.download(), { data, shape: [6, 5], offset: 60 })
    const parts = batch.view({ rows: [1, 3], cols: [2, 5] })
    expect(parts.shape).toEqual([4, 2, 3])
    expectSame(await parts.download(), { data, shape: [4, 2, 3], strides: [30, 5, 1], offset: 7 })
    const turned = batch.transpose()
    expectSame(await turned.download(), { data, shape: [4, 5, 6], strides: [30, 1, 5] })
    expectSame(await turned.view({ batch: 3, rows: [4, 5] }).download(), {
      data,
      shape: [1, 6],
      strides: [1, 5],
      offset: 94,
    })
    const single = await open().upload({ data, shape: [1, 6, 5] })
    expect(single.view().shape).toEqual([1, 6, 5])
    expect(single.view({ batch: 0 }).shape).toEqual([6, 5])
  })

  it('share memory: what is written into one is in the other', async () => {
    const whole = await open().full([4, 4], 0)
    const [one, zero] = [await open().full([2, 2], 1), await open().full([2, 2], 0)]
    await mpmm(one, zero, { out: whole.view({ rows: [1, 3], cols: [2, 4] }) })
    expect([...(await whole.download()).data]).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0])
  })

  it('of other parts than there are', async () => {
    const whole = await open().upload(source)
    const view = whole.view.bind(whole) as (part: unknown) => unknown
    const refused = (value: unknown, code: string, ...patterns: string[]) =>
      expectError(
        thrown(() => view(value)),
        code,
        ...patterns,
      )
    for (const rows of [[-1, 5], [5, 4], [0, 21], [0.5, 2], [0], [0, 1, 2], ['0', 1], 5, null, 'all']) {
      refused({ rows }, 'SHAPE', '^rows must be \\[from, to\\]', '20')
    }
    refused({ cols: [0, 31] }, 'SHAPE', '^cols', '30', '\\[0, 31\\]')
    refused({ batch: 0 }, 'SHAPE', '^batch', "isn't a batch")
    refused({ row: [0, 1] }, 'OPTION', "'row'", "'rows', 'cols' or 'batch'")
    refused(5, 'OPTION', '5')
    const batch = await open().full([3, 2, 2], 0)
    for (const index of [-1, 3, 1.5, '0', null, Number.NaN]) {
      expectError(
        thrown(() => batch.view({ batch: index as number })),
        'SHAPE',
        '^batch must be the index',
        '3',
      )
    }
  })
}

function products(backend: 'cpu' | 'cuda', open: () => Device): void {
  for (const semiring of semirings) {
    it.each(kindNames)(`${semiring}: the oracle's, %s`, async (kind) => {
      const { a, b } = operands(kind, semiring, ragged)
      const [left, right] = [await open().upload(a), await open().upload(b)]
      for (const overflow of policies) {
        const expected = oracle(a, b, { semiring, overflow })
        const running = mpmm(left, right, { semiring, overflow })
        if (expected.overflow) {
          const { row, col, sum } = expected.overflow
          const error = await caught(running)
          expectError(error, 'OVERFLOW')
          expect((error as Error).message).toContain(`C[${row}, ${col}] is decided by the sum ${sum},`)
        } else {
          const result = await running
          expect(result.backend).toBe(backend)
          expect(result.c.dtype).toBe('int32')
          expectElements(await result.c.download(), expected, overflow)
        }
      }
    })
  }

  it.each(sizes)('%i × %i × %i', async (...size) => {
    for (const semiring of semirings) {
      const { a, b } = operands('small, ε scattered', semiring, size)
      const { c } = await mpmm(await open().upload(a), await open().upload(b), { semiring })
      expectElements(await c.download(), oracle(a, b, { semiring }) as Dense)
    }
  })

  for (const algebra of algebras) {
    it(`${algebra.semiring} on ${algebra.type}: operands anywhere, C0 and out too`, async () => {
      const { semiring } = algebra
      const [a, b, c0] = [
        random(algebra, [23, 31], 1),
        random(algebra, [31, 19], 2),
        random(algebra, [23, 19], 3),
      ]
      const [A, B, C0] = [await open().upload(a), await open().upload(b), await open().upload(c0)]
      for (const [left, right, accumulate] of [
        [A, B, undefined],
        [a, B, undefined],
        [A, b, undefined],
        [A, B, C0],
        [A, B, c0],
        [a, B, c0],
        [a, b, C0],
      ]) {
        const { c } = await product(left!, right!, { semiring, accumulate })
        expect(c.shape).toEqual([23, 19])
        expect(c.dtype).toBe(algebra.type)
        expectIs(await c.download(), algebra, a, b, accumulate && c0)
      }
      const out = await open().upload(c0)
      const result = await product(A, b, { semiring, out })
      expect(result.c).toBe(out)
      expectIs(await out.download(), algebra, a, b)
      await product(a, b, { semiring, out, accumulate: C0 })
      expectIs(await out.download(), algebra, a, b, c0)
      const sum = await open().upload(c0)
      await product(A, B, { semiring, out: sum, accumulate: true })
      expectIs(await sum.download(), algebra, a, b, c0)
      await product(A, B, { semiring, out: sum, accumulate: sum })
      expectIs(await sum.download(), algebra, a, b, await out.download())
      expectSame(await A.download(), a)
      expectSame(await B.download(), b)
      expectSame(await C0.download(), c0)
    })

    it(`${algebra.semiring} on ${algebra.type}: views and transposes`, async () => {
      const { semiring } = algebra
      const [a, b] = [random(algebra, [40, 50], 4), random(algebra, [50, 40], 5)]
      const [A, B] = [await open().upload(a), await open().upload(b)]
      const left = { ...a, shape: [17, 21], strides: [50, 1], offset: 3 * 50 + 7 }
      const right = { ...b, shape: [21, 33], strides: [40, 1], offset: 40 + 2 }
      const leftView = A.view({ rows: [3, 20], cols: [7, 28] })
      const rightView = B.view({ rows: [1, 22], cols: [2, 35] })
      expectIs(await (await product(leftView, rightView, { semiring })).c.download(), algebra, left, right)
      const turnedLeft = { ...left, shape: [21, 17], strides: [1, 50] }
      const turnedRight = { ...right, shape: [33, 21], strides: [1, 40] }
      const turned = await product(rightView.transpose(), leftView.transpose(), { semiring })
      expectIs(await turned.c.download(), algebra, turnedRight, turnedLeft)
      const frame = random(algebra, [40, 40], 6)
      const out = await open().upload(frame)
      await product(leftView, rightView, { semiring, out: out.view({ rows: [5, 22], cols: [6, 39] }) })
      await product(turnedRight, turnedLeft, {
        semiring,
        out: out.view({ rows: [22, 39], cols: [0, 33] }).transpose(),
      })
      const { data } = await out.download()
      const inside = (shape: number[], strides: number[], offset: number) => ({
        data,
        shape,
        strides,
        offset,
      })
      expectIs(inside([17, 33], [40, 1], 5 * 40 + 6), algebra, left, right)
      expectIs(inside([33, 17], [1, 40], 22 * 40), algebra, turnedRight, turnedLeft)
      for (let i = 0; i < 40; i++) {
        for (let j = 0; j < 40; j++) {
          const written = (i >= 5 && i < 22 && j >= 6 && j < 39) || (i >= 22 && i < 39 && j < 33)
          if (!written) expect(data[i * 40 + j]).toBe(frame.data[i * 40 + j])
        }
      }
    })

    it(`${algebra.semiring} on ${algebra.type}: batches`, async () => {
      const { semiring } = algebra
      const [a, b] = [random(algebra, [5, 9, 11], 7), random(algebra, [5, 11, 8], 8)]
      const [one, c0] = [random(algebra, [11, 8], 9), random(algebra, [9, 8], 10)]
      const [A, B, one_, c0_] = [
        await open().upload(a),
        await open().upload(b),
        await open().upload(one),
        await open().upload(c0),
      ]
      const all = await product(A, B, { semiring })
      expect(all.c.shape).toEqual([5, 9, 8])
      expectIs(await all.c.download(), algebra, a, b)
      expectIs(await (await product(A, one_, { semiring })).c.download(), algebra, a, one)
      expectIs(await (await product(A, one, { semiring, accumulate: c0_ })).c.download(), algebra, a, one, c0)
      const item = await product(A.view({ batch: 3 }), B.view({ batch: 1 }), { semiring })
      expect(item.c.shape).toEqual([9, 8])
      expectIs(
        await item.c.download(),
        algebra,
        { ...a, shape: [9, 11], strides: [11, 1], offset: 3 * 99 },
        { ...b, shape: [11, 8], strides: [8, 1], offset: 88 },
      )
    })
  }

  it('int16 operands', async () => {
    const algebra = { semiring: 'max-plus', type: 'int32' } as const
    const [a, b] = [randomInt16([30, 40], 1), randomInt16([40, 20], 2)]
    const [A, B] = [await open().upload(a), await open().upload(b)]
    const wide = widened(b)
    for (const [left, right] of [
      [A, B],
      [A, b],
      [a, B],
      [A, wide],
      [A, await open().upload(wide)],
      [widened(a), B],
    ] as [Operand, Operand][]) {
      const { c } = await product(left, right)
      expect(c.dtype).toBe('int32')
      expectIs(await c.download(), algebra, widened(a), wide)
    }
    expectError(await caught(product(a, b, { out: A })), 'DTYPE', '^out', 'int16')
    expectError(await caught(product(a, b, { accumulate: B })), 'DTYPE', '^accumulate', 'int16')
  })

  it('without elements, and without steps', async () => {
    const [m, k, n] = [
      await open().full([0, 3], 1),
      await open().full([3, 0], 1),
      await open().full([0, 4], 1),
    ]
    expect((await (await mpmm(m, await open().full([3, 4], 1))).c.download()).shape).toEqual([0, 4])
    expect([...(await (await mpmm(k, n)).c.download()).data]).toEqual(new Array(12).fill(-(2 ** 31)))
    const c0 = await open().full([3, 4], 5)
    const { c } = await mpmm(k, n, { accumulate: c0 })
    expect([...(await c.download()).data]).toEqual(new Array(12).fill(5))
    await mpmm(k, n, { out: c0, accumulate: true, semiring: 'min-plus' })
    expect([...(await c0.download()).data]).toEqual(new Array(12).fill(5))
  })

  it('say what ran', async () => {
    const A = await open().upload(randomMatrix(200, 200, 1))
    for (const result of [await mpmm(A, A), mpmmSync(A, A)]) {
      expect(result.backend).toBe(backend)
      expect(result.device).toBe(open().name)
      expect(variants().find(({ name }) => name === result.variant)).toMatchObject({ backend })
      expect(result.timing.h2dMs).toBe(0)
      expect(result.timing.d2hMs).toBe(0)
      expect(result.timing.kernelMs).toBeGreaterThan(0)
      expect(result.gops).toBeCloseTo((2 * 200 ** 3) / result.timing.kernelMs / 1e6, 6)
    }
  })

  it('mpmmSync: the same, after what was asked for before', async () => {
    const [a, b] = [randomMatrix(60, 70, 1), randomMatrix(70, 50, 2)]
    const [A, B] = [await open().upload(a), await open().upload(b)]
    const expected = oracle(a, b) as Dense
    const first = mpmm(A, B)
    const out = await open().full([60, 50], 0)
    const running = mpmm(A, B, { out })
    const second = mpmmSync(A, b, { out, accumulate: true })
    expect(second.c).toBe(out)
    const third = mpmmSync(A, B)
    for (const { c } of [await first, await running, second, third])
      expectElements(await c.download(), expected)
    expectError(
      thrown(() => mpmmSync(A, A)),
      'SHAPE',
    )
    const huge = await open().full([1, 1], 2 ** 31 - 1)
    expectError(
      thrown(() => mpmmSync(huge, huge)),
      'OVERFLOW',
    )
  })

  it('plan: what computes them', async () => {
    const A = await open().upload(randomMatrix(200, 200, 1))
    const { variant, path } = await mpmm(A, A)
    expect(await plan(A, A)).toMatchObject({ backend, variant, path })
  })

  it('a variant by its name', async () => {
    const A = await open().upload(randomMatrix(20, 20, 1))
    const unasked = variants().find(
      (row) =>
        row.backend === backend && !row.automatic && row.semiring === 'max-plus' && row.dtype === 'int32',
    )!
    const { variant, c } = await mpmm(A, A, { variant: unasked.name })
    expect(variant).toBe(unasked.name)
    const plain = randomMatrix(20, 20, 1)
    expectElements(await c.download(), oracle(plain, plain) as Dense)
  })

  it('out after an overflow is as it was', async () => {
    const huge = await open().full([2, 2], 2 ** 31 - 1)
    const out = await open().full([2, 2], 5)
    const error = await caught(mpmm(huge, huge, { out }))
    expectError(error, 'OVERFLOW', 'C\\[0, 0\\]', '4294967294')
    expect([...(await out.download()).data]).toEqual([5, 5, 5, 5])
    expectError(await caught(mpmm(huge, huge, { out, accumulate: true })), 'OVERFLOW')
    expect([...(await out.download()).data]).toEqual([5, 5, 5, 5])
    await mpmm(huge, huge, { out, overflow: 'saturate' })
    expect([...(await out.download()).data]).toEqual(new Array(4).fill(2 ** 31 - 1))
  })

  it('over their own operands', async () => {
    const whole = await open().full([8, 8], 0)
    const left = whole.view({ cols: [0, 4] })
    const right = whole.view({ rows: [0, 4], cols: [4, 8] })
    const refused = async (a: DeviceMatrix, b: DeviceMatrix, options: object, ...patterns: string[]) =>
      expectError(await caught(mpmm(a, b, options)), 'SHAPE', ...patterns)
    await refused(whole, whole, { out: whole }, 'out overlaps a ')
    await refused(left, right, { out: whole.view({ cols: [3, 7] }) }, 'out overlaps a')
    await refused(left, right, { out: whole.view({ cols: [4, 8] }) }, 'out overlaps b')
    await refused(left, right, { out: left.view({ rows: [0, 8] }) }, 'out overlaps a')
    const lower = whole.view({ rows: [4, 8], cols: [4, 8] })
    await mpmm(left.view({ rows: [0, 4] }), right, { out: lower })
    const square = await open().full([4, 4], 0)
    await refused(square, square, { out: lower, accumulate: lower.transpose() }, 'out overlaps accumulate')
    await mpmm(square, square, { out: lower, accumulate: whole.view({ rows: [4, 8], cols: [4, 8] }) })
  })

  it('of shapes and types that fit no product', async () => {
    const A = await open().full([2, 3], 0)
    expectError(await caught(mpmm(A, A)), 'SHAPE', 'a \\[2, 3\\]', 'b \\[2, 3\\]', 'inner')
    const floats = await open().full([3, 2], 0, 'float32')
    expectError(await caught(product(A, floats)), 'DTYPE', '^b is of float32 and a of int32')
    expectError(await caught(product(A, matrix(3, 2), { semiring: 'or-and' })), 'DTYPE', 'or-and')
    expectError(await caught(mpmm(A, matrix(3, 2), { out: A })), 'SHAPE', '\\[2, 2\\]')
    const negative = await open().full([2, 2], -1, 'float64')
    expectError(
      await caught(product(negative, negative, { semiring: 'max-times' })),
      'VALUE',
      '^[aA]\\[',
      '-1',
    )
  })

  it.each([Float32Array, Float64Array])(
    'beside values that the semiring has not, in one memory: %o',
    async (Type) => {
      const data = Type.of(2, -5, -5, -5)
      const memory = await open().upload({ data, shape: [2, 2] })
      const inside = memory.view({ cols: [0, 1] })
      const A = memory.view({ rows: [0, 1], cols: [0, 1] })
      const { c } = await product(A, { data: Type.of(3, 0.25), shape: [1, 2] }, { semiring: 'max-times' })
      expect([...(await c.download()).data]).toEqual([6, 0.5])
      const B = { data: Type.of(1), shape: [1, 1] as [number, number] }
      expectError(await caught(product(inside, B, { semiring: 'max-times' })), 'VALUE', '^a\\[1, 0\\]', '-5')
    },
  )
}

function chains(open: () => Device): void {
  const chain = (count: number, size: number) =>
    Array.from({ length: count }, (_, index) => randomMatrix(size, size, index + 1))

  it('of products that wait for nothing', async () => {
    const sources = chain(6, 65)
    const uploaded = await Promise.all(sources.map((source) => open().upload(source)))
    const places = await Promise.all(sources.map(() => open().full([65, 65], 0)))
    let expected: Strided = sources[0]!
    const running = sources.slice(1).map((source, index) => {
      expected = { ...(oracle(expected, source) as Dense), shape: [65, 65] }
      const from = index === 0 ? uploaded[0]! : places[index - 1]!
      return mpmm(from, uploaded[index + 1]!, { out: places[index]! })
    })
    const last = places[4]!.download()
    expectElements(await last, expected as unknown as Dense)
    for (const { c } of await Promise.all(running)) expect(places).toContain(c)
  })

  it('of products into two places in turn', async () => {
    const step = randomMatrix(48, 48, 7)
    const S = await open().upload(step)
    const places = [await open().upload(step), await open().full([48, 48], 0)]
    let expected: Strided = step
    const running: Promise<unknown>[] = []
    for (let i = 0; i < 9; i++) {
      running.push(mpmm(places[i % 2]!, S, { out: places[(i + 1) % 2]! }))
      expected = { ...(oracle(expected, step) as Dense), shape: [48, 48] }
    }
    expectElements(await places[1]!.download(), expected as unknown as Dense)
    await Promise.all(running)
  })

  it('of accumulations, copies and combinations', async () => {
    const [a, b] = chain(2, 40)
    const [A, B] = [await open().upload(a!), await open().upload(b!)]
    const C = await open().full([40, 40], -(2 ** 31))
    void mpmm(A, B, { out: C, accumulate: true })
    void C.combine(A)
    const before = C.download()
    void mpmm(B, A, { out: C, accumulate: true })
    const after = C.download()
    const expected = oracle(a!, b!, { c0: a! }) as Dense
    expectElements(await before, expected)
    expectElements(await after, oracle(b!, a!, { c0: { ...expected, shape: [40, 40] } }) as Dense)
  })

  it('of many small ones', async () => {
    const one = await open().full([4, 4], 1)
    const sum = [await open().full([4, 4], 0), await open().full([4, 4], 0)]
    const running: Promise<unknown>[] = []
    for (let i = 0; i < 1000; i++) running.push(mpmm(sum[i % 2]!, one, { out: sum[(i + 1) % 2]! }))
    expect([...(await sum[0]!.download()).data]).toEqual(new Array(16).fill(1000))
    await Promise.all(running)
  })
}

function combining(open: () => Device): void {
  for (const algebra of algebras) {
    it(`${algebra.semiring} on ${algebra.type}`, async () => {
      const { semiring } = algebra
      for (const shape of [
        [1, 1],
        [33, 45],
        [128, 128],
      ]) {
        const [c, d] = [random(algebra, shape, 1), random(algebra, shape, 2)]
        const one = identity(algebra, shape[0]!)
        const C = (await open().upload(c)) as DeviceMatrix<OperandArray>
        const D = (await open().upload(d)) as DeviceMatrix<OperandArray>
        expect(await C.combine(D as never, { semiring })).toBe(C)
        expectIs(await C.download(), algebra, one, d, c)
        expectSame(await D.download(), d)
        // Turned, so that the strides of the two differ.
        if (shape[0] === shape[1]) {
          const turned = { ...d, strides: [1, shape[0]!] }
          const E = (await open().upload(c)) as DeviceMatrix<OperandArray>
          await E.combine(D.transpose() as never, { semiring })
          expectIs(await E.download(), algebra, one, turned, c)
        }
        await D.combine(D as never, { semiring })
        expectIs(await D.download(), algebra, one, d, d)
      }
    })
  }

  it('parts, and batches', async () => {
    const [c, d] = [randomMatrix(30, 20, 1), randomMatrix(30, 20, 2)]
    const [C, D] = [await open().upload({ ...c, shape: [3, 10, 20] }), await open().upload(d)]
    await C.combine(await open().upload({ ...d, shape: [3, 10, 20] }))
    const both = c.data.map((value, index) => Math.max(value, d.data[index]!))
    expect((await C.download()).data).toEqual(both)
    const part = { rows: [2, 5], cols: [3, 9] } as const
    await C.view({ batch: 1, ...part }).combine(D.view(part), { semiring: 'min-plus' })
    for (let i = 2; i < 5; i++) {
      for (let j = 3; j < 9; j++) {
        both[200 + i * 20 + j] = Math.min(both[200 + i * 20 + j]!, d.data[i * 20 + j]!)
      }
    }
    expect((await C.download()).data).toEqual(both)
  })

  it('an int16 matrix into an int32 one', async () => {
    const [c, d] = [random({ semiring: 'max-plus', type: 'int32' }, [20, 30], 1), randomInt16([20, 30], 2)]
    const C = (await open().upload(c)) as DeviceMatrix
    await C.combine((await open().upload(d)) as DeviceMatrix<Int16Array>)
    const wide = widened(d)
    expect((await C.download()).data).toEqual(
      (c.data as Int32Array).map((value, index) => Math.max(value, wide.data[index]!)),
    )
  })

  it('refuses what is wrong', async () => {
    const C = await open().full([2, 3], 0)
    const combine = C.combine.bind(C) as (...values: unknown[]) => Promise<unknown>
    const refused = async (values: unknown[], code: string, ...patterns: string[]) =>
      expectError(await caught(combine(...values)), code, ...patterns)
    const D = await open().full([2, 3], 0)
    await refused([], 'DTYPE', '^d must be a matrix')
    await refused([matrix(2, 3)], 'DEVICE', '^d must be on the device', 'in an array', 'upload')
    await refused([await open().full([3, 2], 0)], 'SHAPE', 'd \\[3, 2\\]', '\\[2, 3\\]')
    await refused([await open().full([1, 2, 3], 0)], 'SHAPE', 'd \\[1, 2, 3\\]')
    await refused([await open().full([2, 3], 0, 'float32')], 'DTYPE', 'float32', 'int32')
    await refused([D, { semiring: 'plus-times' }], 'DTYPE', 'plus-times')
    await refused([D, { semiring: 'plus' }], 'OPTION', "'plus'")
    await refused([D, { semirings: 'max-plus' }], 'OPTION', "'semirings'")
    await refused([D, { signal: {} }], 'OPTION', 'signal')
    const reason = new Error('no need')
    const given = await caught(C.combine(D, { signal: AbortSignal.abort(reason) }))
    expectError(given, 'ABORTED')
    expect((given as Error).cause).toBe(reason)
    const whole = await open().full([4, 4], 0)
    const [top, lower] = [whole.view({ rows: [0, 3] }), whole.view({ rows: [1, 4] })]
    expectError(await caught(top.combine(lower)), 'SHAPE', 'overlaps')
    expectError(await caught(whole.combine(whole.transpose())), 'SHAPE', 'overlaps')
    await whole.combine(whole.view())
    const narrow = (await open().upload(randomInt16([2, 2], 1))) as unknown as DeviceMatrix
    expectError(await caught(narrow.combine(narrow)), 'DTYPE', 'int16')
    const negative = await open().full([2, 2], -1, 'float32')
    expectError(await caught(negative.combine(negative, { semiring: 'max-times' })), 'VALUE')
  })
}
