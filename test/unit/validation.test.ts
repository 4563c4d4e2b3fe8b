/** Bad input to mpmm and mpmmSync: an error with a code that names the argument, the expectation and the received value. */
import { runInNewContext } from 'node:vm'
import ndarray from 'ndarray'
import { describe, expect, it } from 'vitest'
import { matrix, mpmm, mpmmSync, plan } from '../../lib/index.js'
import { expectRejected, expectThrown, thrown } from '../support/expect.js'

/** Calls with arguments that the types forbid. */
const sync = mpmmSync as (...values: unknown[]) => ReturnType<typeof mpmmSync>
const promising = mpmm as (...values: unknown[]) => ReturnType<typeof mpmm>

const square = () => matrix(2, 2, [1, 2, 3, 4])
const ints = (length: number) => new Int32Array(length)

/** Both calls throw this error; mpmm never throws synchronously. */
async function expectRefused(values: unknown[], code: string, ...patterns: string[]): Promise<void> {
  const expressions = patterns.map((pattern) => new RegExp(pattern))
  expectThrown(() => sync(...values), code, ...expressions)
  let promise: Promise<unknown> | undefined
  expect(() => {
    promise = promising(...values)
  }).not.toThrow()
  await expectRejected(promise!, code, ...expressions)
}

type Case = [what: string, value: unknown, code: string, patterns: string[]]

const resizable = new (ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer)(16, {
  maxByteLength: 64,
})
const detached = ints(4)
structuredClone(detached, { transfer: [detached.buffer] })

describe('operands', () => {
  const cases: Case[] = [
    ['nothing', undefined, 'DTYPE', ['undefined', 'matrix\\(\\)']],
    ['null', null, 'DTYPE', ['null']],
    ['a number', 5, 'DTYPE', ['a number']],
    ['a string', 'abc', 'DTYPE', ['a string']],
    ['a function', () => 5, 'DTYPE', ['a function']],
    ['an array of rows', [[1, 2]], 'DTYPE', ['an array', 'matrix\\(rows, cols, data\\)']],
    ['a bare Int32Array', ints(4), 'DTYPE', ['it is an Int32Array', 'shape']],
    ['an empty object', {}, 'DTYPE', ['\\.data', 'missing']],
    ['a Promise', Promise.resolve(), 'DTYPE', ['\\.data', 'missing']],
    ['null data', { data: null, shape: [2, 2] }, 'DTYPE', ['\\.data', 'null']],
    [
      'a plain array as data',
      { data: [1, 2, 3, 4], shape: [2, 2] },
      'DTYPE',
      ['\\.data', 'an array', 'Int32Array'],
    ],
    ...[Int8Array, Uint8ClampedArray, Uint32Array, BigInt64Array].map(
      (Type): Case => [
        `${Type.name} data`,
        { data: new Type(4), shape: [2, 2] },
        'DTYPE',
        ['\\.data', Type.name],
      ],
    ),
    [
      'a DataView as data',
      { data: new DataView(new ArrayBuffer(16)), shape: [2, 2] },
      'DTYPE',
      ['a DataView'],
    ],
    ['an ArrayBuffer as data', { data: new ArrayBuffer(16), shape: [2, 2] }, 'DTYPE', ['an ArrayBuffer']],
    [
      'an impostor as data',
      { data: Object.create(Int32Array.prototype), shape: [2, 2] },
      'DTYPE',
      ['\\.data'],
    ],
    ['an ndarray of int8', ndarray(new Int8Array(4), [2, 2]), 'DTYPE', ['Int8Array']],
    ['an ndarray of numbers', ndarray([1, 2, 3, 4], [2, 2]), 'DTYPE', ['an array']],
    [
      'shared memory',
      { data: new Int32Array(new SharedArrayBuffer(16)), shape: [2, 2] },
      'DTYPE',
      ['SharedArrayBuffer'],
    ],
    ['resizable memory', { data: new Int32Array(resizable), shape: [2, 2] }, 'DTYPE', ['resizable', 'copy']],
    [
      'resizable memory of fixed view',
      { data: new Int32Array(resizable, 0, 4), shape: [2, 2] },
      'DTYPE',
      ['resizable'],
    ],
    ['detached memory', { data: detached, shape: [2, 2] }, 'DTYPE', ['\\.data', 'detached']],
    ['no shape', { data: ints(4) }, 'SHAPE', ['\\.shape', 'undefined']],
    ['a number as shape', { data: ints(4), shape: 4 }, 'SHAPE', ['\\.shape', '4']],
    ['a string as shape', { data: ints(4), shape: '22' }, 'SHAPE', ['\\.shape', "'22'"]],
    [
      'an object as shape',
      { data: ints(4), shape: { rows: 2, cols: 2 } },
      'SHAPE',
      ['\\.shape', 'an object'],
    ],
    ['a shape of one', { data: ints(4), shape: [4] }, 'SHAPE', ['\\.shape', '1']],
    ['a shape of four', { data: ints(4), shape: [1, 1, 2, 2] }, 'SHAPE', ['\\.shape', '4']],
    ['a vector as ndarray', ndarray(ints(4)), 'SHAPE', ['\\.shape']],
    ['NaN rows', { data: ints(4), shape: [Number.NaN, 2] }, 'SHAPE', ['\\.shape', 'NaN']],
    ['fractional columns', { data: ints(4), shape: [2, 1.5] }, 'SHAPE', ['\\.shape', '1.5']],
    ['negative rows', { data: ints(4), shape: [-2, 2] }, 'SHAPE', ['\\.shape', '-2']],
    ['infinite rows', { data: ints(4), shape: [Number.POSITIVE_INFINITY, 2] }, 'SHAPE', ['Infinity']],
    ['rows as text', { data: ints(4), shape: ['2', 2] }, 'SHAPE', ["'2'"]],
    ['rows as bigint', { data: ints(4), shape: [2n, 2] }, 'SHAPE', ['2n']],
    ['null rows', { data: ints(4), shape: [null, 2] }, 'SHAPE', ['null']],
    [
      '2^31 rows',
      { data: ints(4), shape: [2 ** 31, 2], strides: [0, 0] },
      'SHAPE',
      ['2147483648', '2\\^31 - 1'],
    ],
    ['a NaN batch', { data: ints(4), shape: [Number.NaN, 2, 2] }, 'SHAPE', ['NaN']],
    [
      'elements beyond counting',
      { data: ints(4), shape: [2 ** 30, 2 ** 30], strides: [0, 0] },
      'SHAPE',
      ['2\\^53'],
    ],
    ['strides that are no array', { data: ints(4), shape: [2, 2], strides: 2 }, 'SHAPE', ['\\.strides', '2']],
    ['null strides', { data: ints(4), shape: [2, 2], strides: null }, 'SHAPE', ['\\.strides', 'null']],
    [
      'too few strides',
      { data: ints(8), shape: [2, 2, 2], strides: [2, 1] },
      'SHAPE',
      ['\\.strides', '\\[2, 1\\]'],
    ],
    ['too many strides', { data: ints(8), shape: [2, 2], strides: [4, 2, 1] }, 'SHAPE', ['\\.strides']],
    [
      'a negative stride',
      { data: ints(8), shape: [2, 2], strides: [-2, 1], offset: 2 },
      'SHAPE',
      ['-2', 'copy'],
    ],
    ['a reversed ndarray', ndarray(ints(4), [2, 2]).step(-1, 1), 'SHAPE', ['\\.strides', 'reversed']],
    ['a fractional stride', { data: ints(8), shape: [2, 2], strides: [2.5, 1] }, 'SHAPE', ['2.5']],
    ['a NaN stride', { data: ints(8), shape: [2, 2], strides: [2, Number.NaN] }, 'SHAPE', ['NaN']],
    [
      'an infinite stride',
      { data: ints(8), shape: [2, 2], strides: [2, Number.POSITIVE_INFINITY] },
      'SHAPE',
      ['Infinity'],
    ],
    ['a stride as text', { data: ints(8), shape: [2, 2], strides: ['2', 1] }, 'SHAPE', ["'2'"]],
    ['a negative offset', { data: ints(8), shape: [2, 2], offset: -1 }, 'SHAPE', ['\\.offset', '-1']],
    ['a fractional offset', { data: ints(8), shape: [2, 2], offset: 0.5 }, 'SHAPE', ['\\.offset', '0.5']],
    ['a NaN offset', { data: ints(8), shape: [2, 2], offset: Number.NaN }, 'SHAPE', ['NaN']],
    ['an offset as text', { data: ints(8), shape: [2, 2], offset: '1' }, 'SHAPE', ["'1'"]],
    ['a null offset', { data: ints(8), shape: [2, 2], offset: null }, 'SHAPE', ['null']],
    ['data too short', { data: ints(3), shape: [2, 2] }, 'SHAPE', ['\\.data', 'at least 4', '3']],
    ['no data at all', { data: ints(0), shape: [2, 2] }, 'SHAPE', ['at least 4', '0']],
    [
      'strides past the data',
      { data: ints(8), shape: [2, 2], strides: [8, 1] },
      'SHAPE',
      ['at least 10', '\\[8, 1\\]', '8'],
    ],
    [
      'an offset past the data',
      { data: ints(8), shape: [2, 2], offset: 5 },
      'SHAPE',
      ['at least 9', 'offset 5'],
    ],
    ['a huge stride', { data: ints(8), shape: [2, 2], strides: [2 ** 53 - 1, 1] }, 'SHAPE', ['at least']],
    ['a batch past the data', { data: ints(7), shape: [2, 2, 2] }, 'SHAPE', ['at least 8', '7']],
  ]

  for (const name of ['a', 'b', 'out', 'accumulate'] as const) {
    it.each(cases.filter(([what]) => !(name === 'out' && what === 'nothing')))(
      `${name}: %s`,
      async (what, value, code, patterns) => {
        if (name === 'a') return expectRefused([value, square()], code, '^a\\b', ...patterns)
        if (name === 'b') return expectRefused([square(), value], code, '^b\\b', ...patterns)
        // undefined disables accumulation. Other values that are not objects are rejected as options.
        if (name === 'accumulate' && (typeof value !== 'object' || value === null)) {
          if (value === undefined) return
          if (value !== null)
            return expectRefused([square(), square(), { accumulate: value }], 'OPTION', 'accumulate')
        }
        expect(what).not.toBe('')
        return expectRefused([square(), square(), { [name]: value }], code, `^${name}\\b`, ...patterns)
      },
    )
  }

  it('are required', () => expectRefused([], 'DTYPE', '^a must be a matrix'))

  it('are rejected with both shapes if inner dimensions differ', () =>
    expectRefused(
      [matrix(2, 3), matrix(4, 5)],
      'SHAPE',
      'a \\[2, 3\\]',
      'b \\[4, 5\\]',
      '3 columns',
      '4 rows',
    ))

  it('are rejected if batches have different sizes', () =>
    expectRefused(
      [matrix([2, 2, 2]), matrix([3, 2, 2])],
      'SHAPE',
      'a \\[2, 2, 2\\]',
      'b \\[3, 2, 2\\]',
      'batch',
    ))

  it('are rejected with wrong lengths', () => {
    const data = ints(2)
    Object.defineProperty(data, 'length', { value: 1e9 })
    Object.defineProperty(data, 'buffer', { value: new ArrayBuffer(4e3) })
    return expectRefused(
      [{ data, shape: [1000, 2] }, square()],
      'SHAPE',
      'at least 2000 elements',
      'it has 2',
    )
  })

  it('pass on an exception of a user’s getter', async () => {
    const own = new Error('mine')
    const a = {
      get data(): Int32Array {
        throw own
      },
      shape: [1, 1],
    }
    expect(thrown(() => mpmmSync(a, a))).toBe(own)
    await expect(mpmm(a, a)).rejects.toBe(own)
  })

  it('are rejected if the result exceeds the memory', () => {
    const column = { data: ints(1), shape: [2 ** 20, 1], strides: [0, 0] }
    const row = { data: ints(1), shape: [1, 2 ** 20], strides: [0, 0] }
    return expectRefused([column, row], 'OUT_OF_MEMORY', 'the result', '4398046511104 bytes')
  })

  it('are rejected if the result has more elements than can be counted', () => {
    const column = { data: ints(1), shape: [2 ** 31 - 1, 1], strides: [0, 0] }
    const row = { data: ints(1), shape: [1, 2 ** 31 - 1], strides: [0, 0] }
    return expectRefused([column, row], 'OUT_OF_MEMORY', 'the result')
  })
})

describe('element types', () => {
  const float32 = (...values: number[]) => matrix(1, values.length, Float32Array.from(values))
  const float64 = (...values: number[]) => matrix(1, values.length, Float64Array.from(values))
  const call = (a: unknown, b: unknown, options = {}) => [a, b, options]

  it('must be equal for all matrices of a product', async () => {
    const one = matrix(1, 1, [1])
    await expectRefused(call(one, float32(1)), 'DTYPE', '^b is of float32 and a of int32', 'one element type')
    await expectRefused(call(float32(1), float64(1)), 'DTYPE', '^b is of float64 and a of float32')
    await expectRefused(call(one, one, { out: float32(1) }), 'DTYPE', '^out is of float32 and a of int32')
    await expectRefused(call(float64(1), float64(1), { accumulate: one }), 'DTYPE', '^accumulate is of int32')
  })
  it('must be supported by the semiring', async () => {
    const one = matrix(1, 1, [1])
    const message = ['^plus-times has the element types float32 and float64', 'int32']
    await expectRefused(call(one, one, { semiring: 'plus-times' }), 'DTYPE', ...message)
    for (const bytes of [Uint8Array.of(1), Buffer.of(1)]) {
      await expectRefused(
        [matrix(1, 1, bytes), matrix(1, 1, bytes)],
        'DTYPE',
        '^max-plus has the element types int32, float32 and float64, but the operands are of uint8',
      )
    }
    await expectRefused(
      call(one, one, { semiring: 'or-and' }),
      'DTYPE',
      '^or-and has the element type uint8,',
    )
  })
  it('determine whether the option overflow exists', async () => {
    for (const overflow of ['throw', 'saturate', 'wrap']) {
      await expectRefused(call(float32(1), float32(1), { overflow }), 'OPTION', 'overflow', 'float32')
    }
    expect(mpmmSync(float32(1), float32(2), { overflow: undefined }).c.data).toEqual(Float32Array.of(3))
  })
  it('determine the array of the result', async () => {
    expect(mpmmSync(float32(0.1), float32(0.2)).c.data).toEqual(
      Float32Array.of(Math.fround(0.1) + Math.fround(0.2)),
    )
    expect((await mpmm(float64(0.1), float64(0.2))).c.data).toEqual(Float64Array.of(0.1 + 0.2))
  })
  it('have separate variants', async () => {
    await expectRefused(
      call(float32(1), float32(1), { variant: 'naive_maxplus_i32_acc64' }),
      'VARIANT',
      'naive_maxplus_i32_acc64 computes max-plus on int32',
      'max-plus on float32',
    )
  })
  it('may share a buffer', () => {
    const buffer = new ArrayBuffer(64)
    const a = { data: new Float64Array(buffer, 0, 2), shape: [1, 2] }
    const out = { data: new Float64Array(buffer, 16, 2), shape: [1, 2] }
    a.data.set([1, 2])
    expect(mpmmSync(float64(1), a, { out }).c.data).toEqual(Float64Array.of(2, 3))
    expect(() =>
      mpmmSync(float64(1), a, { out: { data: new Float64Array(buffer, 8, 2), shape: [1, 2] } }),
    ).toThrow('overlaps')
  })
})

describe('valid operands', () => {
  it('include data longer than needed, offset 0, undefined strides and offset', () => {
    const a = { data: Int32Array.of(1, 2, 3, 4, 99), shape: [2, 2], strides: undefined, offset: undefined }
    expect([...mpmmSync(a, square()).c.data]).toEqual([5, 6, 7, 8])
  })
  it('include typed arrays as shape and strides', () => {
    const a = { data: Int32Array.of(1, 2, 3, 4), shape: Uint8Array.of(2, 2), strides: Int32Array.of(2, 1) }
    expect([...mpmmSync(a, square()).c.data]).toEqual([5, 6, 7, 8])
  })
  it('include an Int32Array of another realm, a subclass, a frozen matrix', () => {
    const foreign = runInNewContext('Int32Array.of(1, 2, 3, 4)') as Int32Array
    class Mine extends Int32Array {}
    for (const data of [foreign, Mine.of(1, 2, 3, 4)]) {
      expect([...mpmmSync(Object.freeze({ data, shape: Object.freeze([2, 2]) }), square()).c.data]).toEqual([
        5, 6, 7, 8,
      ])
    }
  })
  it('include stdlib’s ndarray: properties are getters on the prototype, shape and strides are copies', () => {
    // The interface of https://stdlib.io/docs/api/latest/@stdlib/ndarray/ctor.
    class StdlibNdarray {
      #buffer: Int32Array
      #shape: number[]
      #strides: number[]
      #offset: number
      constructor(dtype: 'int32', buffer: Int32Array, shape: number[], strides: number[], offset: number) {
        expect(dtype).toBe('int32')
        this.#buffer = buffer
        this.#shape = shape
        this.#strides = strides
        this.#offset = offset
      }
      get data() {
        return this.#buffer
      }
      get shape() {
        return this.#shape.slice()
      }
      get strides() {
        return this.#strides.slice()
      }
      get offset() {
        return this.#offset
      }
      get dtype() {
        return 'int32'
      }
      get order() {
        return 'column-major'
      }
    }
    const a = new StdlibNdarray('int32', Int32Array.of(0, 1, 3, 2, 4), [2, 2], [1, 2], 1)
    const out = new StdlibNdarray('int32', ints(5), [2, 2], [1, 2], 1)
    const { c } = mpmmSync(a, square(), { out })
    expect(c).toBe(out)
    expect([...out.data]).toEqual([0, 5, 7, 6, 8])
  })

  it.each([
    [
      [2, 2 ** 30, 1],
      [2, 1, 2 ** 30],
    ],
    [
      [2 ** 27, 1],
      [1, 2 ** 27],
    ],
  ])('are not planned if the result has more elements than can be counted: %j and %j', (one, other) => {
    const view = (shape: number[]) => ({ data: ints(1), shape, strides: shape.map(() => 0) }) as never
    return expectRejected(plan(view(one), view(other)), 'OUT_OF_MEMORY', /^the result .* compute it in parts/)
  })

  it('name a proxy of an array', () => {
    const data = new Proxy(ints(4), {})
    const message = 'but it is an object with the prototype of an Int32Array, such as a Proxy'
    expect(() => matrix(2, 2, data)).toThrow(message)
    expect(() => mpmmSync({ data, shape: [2, 2] }, square())).toThrow(message)
  })

  it('are read once per property', async () => {
    const reads: string[] = []
    const watched = (name: string, target: object): never =>
      new Proxy(target, {
        get(object, key) {
          const value = Reflect.get(object, key) as unknown
          reads.push(`${name}.${String(key)}`)
          return Array.isArray(value) ? watched(`${name}.${String(key)}`, value) : value
        },
      }) as never
    const options = {
      out: watched('out', { data: ints(4), shape: [2, 2], strides: [2, 1], offset: 0 }),
      accumulate: watched('accumulate', { data: ints(4), shape: [2, 2], strides: [2, 1], offset: 0 }),
      semiring: 'max-plus',
      overflow: 'throw',
      backend: 'cpu',
      device: 0,
      variant: undefined,
      signal: undefined,
    }
    for (const call of [sync, promising]) {
      reads.length = 0
      await call(watched('a', square()), watched('b', square()), watched('options', options))
      expect(reads.length).toBeGreaterThan(30)
      expect(reads.filter((read, index) => reads.indexOf(read) !== index)).toEqual([])
    }
  })

  it('are checked by the values that were read, not by later values of a getter', () => {
    const victim = ints(10000)
    const b = {
      get data() {
        structuredClone(victim, { transfer: [victim.buffer] })
        return ints(10000)
      },
      shape: [100, 100],
    }
    expectThrown(() => mpmmSync({ data: victim, shape: [100, 100] }, b), 'DTYPE', 'a.data', 'detached')
  })

  it('may be computed by a call in a getter of another one', () => {
    const b = {
      get data() {
        expect([...mpmmSync(matrix(1, 1, [7]), matrix(1, 1, [8]), { semiring: 'min-plus' }).c.data]).toEqual([
          15,
        ])
        return Int32Array.of(1, 2, 3, 4)
      },
      shape: [2, 2],
    }
    expect([...mpmmSync(square(), b).c.data]).toEqual([5, 6, 7, 8])
  })
})

describe('out', () => {
  const a = matrix(2, 3)
  const b = matrix(3, 4)
  it.each([
    [[4, 2], '\\[2, 4\\]'],
    [[2, 3], '\\[2, 4\\]'],
    [[1, 2, 4], '\\[2, 4\\]'],
    [[8, 1], '\\[2, 4\\]'],
  ])('is checked for shape %j', (shape, expected) =>
    expectRefused(
      [a, b, { out: { data: ints(100), shape } }],
      'SHAPE',
      'out',
      'shape of the result',
      expected,
    ),
  )
  it('is rejected with shape [2, 4] for a batch', () =>
    expectRefused([matrix([3, 2, 3]), b, { out: matrix(2, 4) }], 'SHAPE', 'out \\[2, 4\\]', '\\[3, 2, 4\\]'))
  it('is accepted with shape [1, 2, 4] for a batch of one', () =>
    expect(mpmmSync(matrix([1, 2, 3]), b, { out: matrix([1, 2, 4]) }).c.shape).toEqual([1, 2, 4]))

  it('is accepted with a stride of 0 along one element', () => {
    const out = { data: ints(4), shape: [1, 4], strides: [0, 1] }
    expect(mpmmSync(matrix(1, 3), b, { out }).c).toBe(out)
  })
  it('is rejected with overlapping matrices of a batch', () =>
    expectRefused(
      [matrix([3, 2, 3]), b, { out: { data: ints(100), shape: [3, 2, 4], strides: [4, 4, 1] } }],
      'SHAPE',
      'overlap each other',
    ))

  const buffer = () => ints(64)
  it.each([
    ['the same elements', 0, [4, 1]],
    ['one element', 15, [4, 1]],
    ['interleaved rows that meet', 2, [4, 1]],
    ['the transpose', 0, [1, 4]],
  ])('is rejected over a: %s', async (_, offset, strides) => {
    const data = buffer()
    const left = { data, shape: [4, 4] }
    const out = { data, shape: [4, 4], offset, strides }
    await expectRefused([left, matrix(4, 4), { out }], 'SHAPE', 'out overlaps a ')
    await expectRefused([matrix(4, 4), left, { out }], 'SHAPE', 'out overlaps b ')
  })
  it('is rejected over a through another Int32Array of the same buffer', () => {
    const data = buffer()
    const out = { data: new Int32Array(data.buffer, 60), shape: [4, 4] }
    return expectRefused([{ data, shape: [4, 4] }, matrix(4, 4), { out }], 'SHAPE', 'out overlaps a')
  })
  it('is accepted next to a in the same buffer', () => {
    const data = buffer()
    const beside: [string, object, object][] = [
      ['after', { shape: [4, 4] }, { shape: [4, 4], offset: 16 }],
      ['before', { shape: [4, 4], offset: 16 }, { shape: [4, 4] }],
      ['right half', { shape: [4, 4], strides: [8, 1] }, { shape: [4, 4], strides: [8, 1], offset: 4 }],
      ['left half', { shape: [4, 4], strides: [8, 1], offset: 4 }, { shape: [4, 4], strides: [8, 1] }],
      ['odd rows', { shape: [4, 4], strides: [8, 1] }, { shape: [4, 4], strides: [1, 8], offset: 4 }],
      ['odd columns', { shape: [4, 4], strides: [8, 2] }, { shape: [4, 4], strides: [8, 2], offset: 1 }],
      [
        'odd columns, transposed',
        { shape: [4, 4], strides: [8, 2] },
        { shape: [4, 4], strides: [2, 8], offset: 1 },
      ],
      ['by the diagonal', { shape: [2, 2], strides: [8, 1] }, { shape: [2, 2], strides: [8, 1], offset: 18 }],
      ['other strides', { shape: [2, 2], strides: [12, 3] }, { shape: [2, 2], strides: [24, 6], offset: 1 }],
    ]
    for (const [what, left, right] of beside) {
      const operand = { data, shape: [0, 0], ...left }
      const out = { data, shape: [0, 0], ...right }
      const size = operand.shape[0]!
      expect(mpmmSync(operand, matrix(size, size), { out }).c, what).toBe(out)
      expect(mpmmSync(matrix(size, size), operand, { out }).c, what).toBe(out)
    }
  })
  it('is rejected over a in a batch', () => {
    const data = buffer()
    const operand = { data, shape: [2, 2, 2], strides: [8, 2, 1] }
    const fine = { data, shape: [2, 2, 2], strides: [8, 2, 1], offset: 4 }
    expect(mpmmSync(operand, matrix(2, 2), { out: fine }).c).toBe(fine)
    return expectRefused([operand, matrix(2, 2), { out: { ...fine, offset: 6 } }], 'SHAPE', 'out overlaps a')
  })
})

describe('accumulate', () => {
  it('is rejected with another shape', () =>
    expectRefused(
      [matrix(2, 3), matrix(3, 4), { accumulate: matrix(4, 2) }],
      'SHAPE',
      'accumulate \\[4, 2\\]',
      '\\[2, 4\\]',
    ))
  it('is rejected with another batch', () =>
    expectRefused(
      [matrix([2, 2, 3]), matrix(3, 4), { accumulate: matrix([3, 2, 4]) }],
      'SHAPE',
      'accumulate \\[3, 2, 4\\]',
      '\\[2, 2, 4\\] or \\[2, 4\\]',
    ))
  it('is rejected as true without out', () =>
    expectRefused([square(), square(), { accumulate: true }], 'OPTION', 'accumulate', 'out'))
  it('is rejected as a part of out', () => {
    const data = ints(40)
    const out = { data, shape: [4, 4] }
    const calls = [
      { data, shape: [4, 4], offset: 1 },
      { data, shape: [4, 4], strides: [1, 4] },
      { data, shape: [4, 4], strides: [0, 0] },
    ].map((accumulate) =>
      expectRefused(
        [matrix(4, 4), matrix(4, 4), { out, accumulate }],
        'SHAPE',
        'out overlaps accumulate',
        'copy',
      ),
    )
    return Promise.all(calls)
  })
  it('is rejected as one matrix for a batch that is a part of out', () => {
    const out = matrix([2, 2, 2])
    const accumulate = { data: out.data, shape: [2, 2] }
    return expectRefused(
      [matrix([2, 2, 2]), square(), { out, accumulate }],
      'SHAPE',
      'out overlaps accumulate',
    )
  })
  it('is accepted as an operand, which is only read', () => {
    const a = square()
    expect([...mpmmSync(a, square(), { accumulate: a }).c.data]).toEqual([5, 6, 7, 8])
  })
  it('is ignored if it is false', () => {
    expect([...mpmmSync(square(), square(), { accumulate: false }).c.data]).toEqual([5, 6, 7, 8])
  })
})

describe('options', () => {
  const refused = (options: unknown, code: string, ...patterns: string[]) =>
    expectRefused([square(), square(), options], code, ...patterns)

  it.each([[null], [5], ['min-plus'], [true]])('are rejected: %j', (options) =>
    refused(options, 'OPTION', 'options must be an object'),
  )
  it('are rejected with an unknown name', () =>
    refused({ semirings: 'max-plus' }, 'OPTION', "'semirings'", "'semiring'.*'out'.*'signal'"))
  it.each([
    ['semiring', 'times-plus', "'max-plus', 'min-plus', .* or '"],
    ['semiring', 0, "'max-plus', 'min-plus', .* or '"],
    ['semiring', null, 'null'],
    ['overflow', 'ignore', "'throw', 'saturate' or 'wrap'"],
    ['overflow', 'toString', "'throw', 'saturate' or 'wrap'"],
    ['overflow', 1, '1'],
    ['backend', 'gpu', "'auto', 'cpu', 'cuda' or 'webgpu'"],
    ['backend', ['cpu'], 'an array'],
    ['device', -1, '-1'],
    ['device', 0.5, '0.5'],
    ['device', '0', "'0'"],
    ['device', Number.NaN, 'NaN'],
    ['device', 2 ** 40, '1099511627776'],
    ['signal', {}, 'an object'],
    ['signal', new AbortController(), 'AbortController.*controller.signal'],
    ['signal', null, 'null'],
    ['onProgress', 'yes', "'yes'"],
    ['onProgress', {}, 'an object'],
    ['accumulate', 5, '5'],
    ['accumulate', 'yes', "'yes'"],
  ])('are rejected: %s: %j', (name, value, pattern) => refused({ [name]: value }, 'OPTION', name, pattern))

  it('are rejected with an unknown variant, and similar names are listed', async () => {
    await refused(
      { variant: 'naive_maxplus_i32_acc46' },
      'VARIANT',
      "'naive_maxplus_i32_acc46'",
      'naive_maxplus_i32_acc64',
      'variants\\(\\)',
    )
    await refused({ variant: 'zzz' }, 'VARIANT', "'zzz'", 'variants\\(\\)')
    await refused({ variant: 7 }, 'VARIANT', '7')
    await refused({ variant: 'x'.repeat(1e6) }, 'VARIANT', 'xxx…')
  })

  it('are the default if they are undefined', () => {
    const options = Object.fromEntries(
      [
        'semiring',
        'out',
        'accumulate',
        'backend',
        'device',
        'variant',
        'overflow',
        'signal',
        'onProgress',
      ].map((name) => [name, undefined]),
    )
    expect([...mpmmSync(square(), square(), options).c.data]).toEqual([5, 6, 7, 8])
  })

  it('are rejected without any change of the arguments', () => {
    const out = matrix(2, 2, [9, 9, 9, 9])
    expectThrown(() => sync(square(), matrix(3, 2), { out }), 'SHAPE')
    expect([...out.data]).toEqual([9, 9, 9, 9])
    expect([...mpmmSync(square(), square(), { out }).c.data]).toEqual([5, 6, 7, 8])
  })
})
