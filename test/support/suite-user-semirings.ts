/** Products over custom semirings, on one backend. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { power, star } from '../../lib/algebra.js'
import type { BackendName } from '../../lib/backend-name.js'
import {
  type DenseMatrix,
  type Device,
  type DeviceMatrix,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  plan,
} from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import {
  counting,
  hamming,
  kBest,
  type LaneArray,
  type LaneType,
  lexicographic,
  semiring,
} from '../../lib/semirings.js'
import { errorWithoutMemory, expectError, expectRejected, expectThrown } from './expect.js'
import { type Home, onOne, openAt, useHome } from './homes.js'
import { itIf } from './skip.js'
import {
  type Element,
  type ElementMatrix,
  type OracleOptions,
  type OracleResult,
  userOracle,
} from './user-oracle.js'
import { greatestSums, type Written, written } from './user-semirings.js'

const arrays = { int32: Int32Array, uint32: Uint32Array, float32: Float32Array }

/** Generator of numbers from 0 to 1. */
function randoms(seed: number): () => number {
  let state = seed * 2 + 1
  return () => {
    state = (Math.imul(state, 48271) >>> 0) % 2147483647
    return state / 2147483647
  }
}

interface Lane {
  data: LaneArray
  shape: [number, number] | [number, number, number]
  strides: [number, number] | [number, number, number]
  offset: number
}

/** Matrix of elements in arrays, and in the form of the oracle. */
interface Elements extends ElementMatrix {
  readonly lanes: readonly Lane[]
  readonly types: readonly LaneType[]
}

/** Layout of a matrix in its arrays, which differs between lanes. */
type ResultTarget = 'rows' | 'columns' | 'spread'

function laneOf(type: LaneType, sizes: readonly number[], layout: ResultTarget): Lane {
  const [batch, rows, cols] =
    sizes.length === 3 ? (sizes as [number, number, number]) : [1, ...(sizes as [number, number])]
  const [row, col, item] =
    layout === 'rows'
      ? [cols, 1, rows * cols]
      : layout === 'columns'
        ? [1, rows, rows * cols]
        : [3 * cols + 5, 3, rows * (3 * cols + 5) + 7]
  const offset = layout === 'spread' ? 11 : 0
  const data = new arrays[type](offset + batch * item + 1).fill(77)
  return {
    data,
    shape: [...sizes] as Lane['shape'],
    strides: (sizes.length === 3 ? [item, row, col] : [row, col]) as Lane['strides'],
    offset,
  }
}

function placeOf({ strides, offset }: Lane, item: number, row: number, col: number): number {
  const [batchStride, rowStride, colStride] = strides.length === 3 ? strides : [0, ...strides]
  return offset + item * batchStride! + row * rowStride! + col * colStride!
}

function elementsIn(lanes: readonly Lane[], types: readonly LaneType[]): Elements {
  const { shape } = lanes[0]!
  const [batch, rows, cols] = shape.length === 3 ? shape : [1, ...shape]
  return {
    lanes,
    types,
    batch,
    rows,
    cols,
    at: (item, row, col) => lanes.map((lane) => lane.data[placeOf(lane, item, row, col)]!),
  }
}

const layouts: readonly ResultTarget[] = ['rows', 'columns', 'spread']

/** Elements by batch entry, row and column, in matrices of different layouts. */
function drawElements(
  types: readonly LaneType[],
  sizes: readonly number[],
  element: ElementMatrix['at'],
  layout = 0,
): Elements {
  const all = elementsIn(
    types.map((type, lane) =>
      laneOf(type, sizes, layouts[(layout + (layout === 0 ? 0 : lane)) % layouts.length]!),
    ),
    types,
  )
  for (let item = 0; item < all.batch; item++) {
    for (let row = 0; row < all.rows; row++) {
      for (let col = 0; col < all.cols; col++) {
        element(item, row, col).forEach((value, lane) => {
          const to = all.lanes[lane]!
          to.data[placeOf(to, item, row, col)] = value
        })
      }
    }
  }
  return all
}

const make = (
  { types, draw }: Pick<Written, 'types' | 'draw'>,
  sizes: readonly number[],
  random: () => number,
  layout = 0,
): Elements => drawElements(types, sizes, () => draw(random), layout)

/** Argument of products: a matrix, or one per lane. */
const given = ({ semiring }: Pick<Written, 'semiring'>, { lanes }: Elements): never =>
  (Array.isArray(semiring.dtype) ? lanes : lanes[0]) as never

/** Result of a product in the form of the oracle. */
async function read({ semiring, types }: Written, c: unknown): Promise<Elements> {
  const lanes = (Array.isArray(semiring.dtype) ? c : [c]) as (
    | Lane
    | DeviceMatrix<Int32Array | Float32Array>
  )[]
  const host = await Promise.all(
    lanes.map(async (lane, index) => {
      if (!('download' in lane)) return lane
      const { data, shape, strides, offset } = await lane.download()
      const type = arrays[types[index]!]
      return {
        data: new type(data.buffer as ArrayBuffer, data.byteOffset, data.length),
        shape,
        strides,
        offset,
      } as Lane
    }),
  )
  return elementsIn(host, types)
}

function expectSame(
  { tolerance = 0, semiring }: Written,
  c: Elements,
  expected: OracleResult,
  what: string,
): void {
  expect([c.batch, c.rows, c.cols], what).toEqual([expected.batch, expected.rows, expected.cols])
  const isSame = (came: Element, element: Element) =>
    came.every((value, lane) => {
      const right = element[lane]!
      return Object.is(value, right) || Math.abs(value - right) <= tolerance * Math.max(1, Math.abs(right))
    })
  expected.elements.forEach((element, index) => {
    if (element === null) return
    const position = [
      Math.floor(index / (c.rows * c.cols)),
      Math.floor(index / c.cols) % c.rows,
      index % c.cols,
    ] as const
    const came = c.at(...position)
    if (isSame(came, element)) return
    expect.fail(`${semiring.name}, ${what}: C[${position}] is ${came} and should be ${element}`)
  })
}

const sizesOf = (m: number, k: number, n: number) => ({ a: [m, k], b: [k, n], c: [m, n] })

const named = written.map((each) => [each.semiring.name, each] as const)

export function userSemiringSuite(backend: BackendName): void {
  const where = { backend } as const

  describe.each(named)('products over %s', (_, each) => {
    const { semiring } = each
    const random = randoms(7)

    it.each([
      [1, 1, 1],
      [3, 0, 2],
      [0, 5, 3],
      [5, 7, 3],
      [17, 33, 65],
      [65, 31, 130],
      [1, 500, 1],
      [129, 3, 2],
    ])('are right for %i × %i by %i', async (m, k, n) => {
      const sizes = sizesOf(m, k, n)
      const [drawnA, drawnB] = [make(each, sizes.a, random), make(each, sizes.b, random)]
      const expected = userOracle(each, drawnA, drawnB)
      for (const layout of [0, 1, 2]) {
        const a = drawElements(each.types, sizes.a, drawnA.at, layout)
        const b = drawElements(each.types, sizes.b, drawnB.at, (layout * 2) % 3)
        const result = await mpmm(given(each, a), given(each, b), { semiring, ...where })
        expect(result.backend).toBe(backend)
        expectSame(each, await read(each, result.c), expected, `way ${layout}`)
        const { c } = mpmmSync(given(each, a), given(each, b), { semiring, ...where })
        expectSame(each, await read(each, c), expected, `way ${layout}, sync`)
      }
    })

    it('are right for batches, added to C0, written into strided matrices', async () => {
      for (const [left, right, plain] of [
        [
          [3, 9, 8],
          [3, 8, 7],
          [3, 9, 7],
        ],
        [
          [9, 8],
          [3, 8, 7],
          [9, 7],
        ],
        [
          [3, 9, 8],
          [8, 7],
          [3, 9, 7],
        ],
        [
          [1, 9, 8],
          [3, 8, 7],
          [1, 9, 7],
        ],
      ]) {
        const a = make(each, left!, random, 1)
        const b = make(each, right!, random, 2)
        const c0 = make(each, plain!, random, 2)
        const expected = userOracle(each, a, b, { c0 })
        const result = await mpmm(given(each, a), given(each, b), {
          semiring,
          accumulate: given(each, c0),
          ...where,
        })
        expectSame(each, await read(each, result.c), expected, `${left} ⊗ ${right}`)
        const out = make(each, [3, 9, 7], random, 1)
        const into = await mpmm(given(each, a), given(each, b), {
          semiring,
          accumulate: given(each, c0),
          out: given(each, out),
          ...where,
        })
        expect(into.c).toBe(given(each, out))
        expectSame(each, out, expected, 'out')
        // C is also the operand C0 of an accumulation in place.
        const again = userOracle(each, a, b, { c0: out })
        await mpmm(given(each, a), given(each, b), {
          semiring,
          accumulate: true,
          out: given(each, out),
          ...where,
        })
        expectSame(each, out, again, 'accumulate: true')
      }
    })

    it('are right for structured matrices', async () => {
      const structures = [
        [
          { a: 'upper', b: 'lower' },
          { a: [0, 1e9], b: [1e9, 0] },
        ],
        [
          { a: { band: [3, 5] }, b: { band: [2, -1] }, c: 'strictly-upper' },
          { a: [3, 5], b: [2, -1], c: [-1, 1e9] },
        ],
      ] as const
      for (const [structure, bands] of structures) {
        const a = make(each, [37, 41], random)
        const b = make(each, [41, 33], random, 1)
        const out = make(each, [37, 33], random, 2)
        const before = elementsIn(
          out.lanes.map((lane) => ({ ...lane, data: lane.data.slice() as LaneArray })),
          each.types,
        )
        const expected = userOracle(each, a, b, { bands: bands as never })
        const { c } = await mpmm(given(each, a), given(each, b), { semiring, structure, ...where } as never)
        expectSame(each, await read(each, c), expected, JSON.stringify(structure))
        await mpmm(given(each, a), given(each, b), {
          semiring,
          structure,
          out: given(each, out),
          ...where,
        } as never)
        const retained: OracleOptions['c0'] = before
        const all = expected.elements.map(
          (element, index) => element ?? retained.at(0, Math.floor(index / 33), index % 33),
        )
        expectSame(each, out, { ...expected, elements: all }, 'what out holds outside')
      }
    })

    itIf(semiring.selective, 'have a witness', async () => {
      const a = make(each, [19, 23], random, 1)
      const b = make(each, [23, 21], random)
      for (const c0 of [undefined, make(each, [19, 21], random)]) {
        const expected = userOracle(each, a, b, { c0 })
        const options = {
          semiring,
          witness: true,
          ...(c0 && { accumulate: given(each, c0) }),
          ...where,
        } as const
        const { witness } = (await mpmm(given(each, a), given(each, b), options as never)) as never as {
          witness: Lane
        }
        expect([...witness.data]).toEqual(expected.witness)
      }
    })

    itIf(!semiring.selective, 'have no witness', async () => {
      const a = make(each, [2, 2], random)
      await expectRejected(
        mpmm(given(each, a), given(each, a), { semiring, witness: true } as never),
        'OPTION',
        /isn't selective/,
      )
    })

    it('are right in groups', async () => {
      const products = [
        [4, 5, 6],
        [33, 1, 2],
        [0, 3, 3],
        [8, 0, 8],
        [65, 66, 3],
      ].map(([m, k, n], index) => {
        const sizes = sizesOf(m!, k!, n!)
        const a = make(each, sizes.a, random, index)
        const b = make(each, sizes.b, random)
        const c0 = index % 2 ? make(each, sizes.c, random, 1) : undefined
        const out = index === 4 ? make(each, sizes.c, random, 2) : undefined
        return { a, b, c0, out, expected: userOracle(each, a, b, { c0 }) }
      })
      const results = await mpmmGrouped(
        products.map(({ a, b, c0, out }) => ({
          a: given(each, a),
          b: given(each, b),
          ...(c0 && { accumulate: given(each, c0) }),
          ...(out && { out: given(each, out) }),
        })),
        { semiring, ...where },
      )
      expect(results).toHaveLength(products.length)
      for (const [index, { c }] of results.entries()) {
        expectSame(each, await read(each, c), products[index]!.expected, `product ${index}`)
      }
    })
  })

  // The results are so many that a GPU selects kernels that copy packed operands, although these are empty.
  it('are right without steps, for many results', async () => {
    const [m, n] = [900, 770]
    const none = { a: matrix(m, 0), b: matrix(0, n) }
    const c0 = matrix(
      m,
      n,
      Int32Array.from({ length: m * n }, (_, at) => at % 1000),
    )
    const { c } = await mpmm(none.a, none.b, { semiring: greatestSums, ...where })
    const isSame = (one: Int32Array, other: Int32Array) =>
      Buffer.compare(Buffer.from(one.buffer), Buffer.from(other.buffer)) === 0
    expect(isSame(c.data, new Int32Array(m * n).fill(greatestSums.zero))).toBe(true)
    const { c: same } = await mpmm(none.a, none.b, { semiring: greatestSums, accumulate: c0, ...where })
    expect(isSame(same.data, c0.data)).toBe(true)
    const lanes = (one: DenseMatrix<Int32Array>, other = one) => [one, other] as const
    const { c: pairs } = await mpmm(lanes(none.a), lanes(none.b), {
      semiring: kBest('max-plus', 2),
      accumulate: lanes(c0, c),
      ...where,
    })
    expect(pairs.map(({ data }, lane) => isSame(data, [c0, c][lane]!.data))).toEqual([true, true])
  })

  it.each<[string, object, number]>([
    ['on one device', where, 0],
    ['divided among several devices', { devices: [0, 1, 2] }, 3],
  ])('%s leave out unchanged if an allocation fails', async (_place, place, devices) => {
    const random = randoms(9)
    for (const lanes of [1, 2]) {
      const each = written.find(({ types }) => types.length === lanes)!
      const a = make(each, [40, 50], random)
      const b = make(each, [50, 30], random)
      const c0 = make(each, [40, 30], random)
      const expected = userOracle(each, a, b, { c0 })
      const unchanged = {
        ...expected,
        elements: expected.elements.map((_, at) => c0.at(0, Math.floor(at / 30), at % 30)),
      }
      addon.pretendDevices(devices)
      try {
        for (let nth = 1, failed = true; failed; nth++) {
          expect(nth, 'it never succeeds').toBeLessThan(200)
          const out = drawElements(each.types, [40, 30], c0.at)
          const options = {
            semiring: each.semiring,
            out: given(each, out),
            accumulate: true,
            ...place,
          }
          const error = await errorWithoutMemory(
            () => mpmm(given(each, a), given(each, b), options as never),
            nth,
          )
          expectSame(each, out, error ? unchanged : expected, `allocation ${nth}`)
          failed = error !== undefined
          if (failed) expectError(error, 'OUT_OF_MEMORY')
        }
      } finally {
        addon.pretendDevices(0)
      }
    }
  })

  describe('matrices on a device', () => residentUserSemirings(onOne(backend)))

  it('finds the best paths of n − 1 edges, and no others, by a star', async () => {
    const shortest = semiring({
      name: 'shortest',
      dtype: 'float32',
      zero: Infinity,
      one: 0,
      plus: (x, y) => x.min(y),
      times: (x, y) => x.add(y),
      selective: true,
    })
    for (let n = 1; n <= 17; n++) {
      const a = matrix(n, n, new Float32Array(n * n).fill(Infinity))
      for (let i = 1; i < n; i++) a.data[(i - 1) * n + i] = 1
      const { c } = await star(a, { semiring: shortest, ...where })
      const ways = Array.from({ length: n * n }, (_, at) => (at % n) - Math.floor(at / n))
      expect([...c.data], `${n} nodes`).toEqual(ways.map((edges) => (edges < 0 ? Infinity : edges)))
    }
  })

  it('computes powers and stars of arrays', async () => {
    const values = matrix(3, 3, [
      -(2 ** 31),
      1,
      1,
      -(2 ** 31),
      -(2 ** 31),
      1,
      -(2 ** 31),
      -(2 ** 31),
      -(2 ** 31),
    ])
    const counts = {
      data: Uint32Array.from(values.data, (value) => (value === 1 ? 1 : 0)),
      shape: [3, 3] as [number, number],
    }
    const both = [values, counts] as const
    const own = counting('max-plus')
    const { c, backend: used } = await power(both, 2, { semiring: own, ...where })
    expect(used).toBe(backend)
    expect(c[1]).toMatchObject({ data: Uint32Array.of(0, 0, 1, 0, 0, 0, 0, 0, 0) })
    expect((await power(both, 0, { semiring: own, ...where })).c[1]!.data.join()).toBe('1,0,0,0,1,0,0,0,1')
    expect((await power(both, 1, { semiring: own, ...where })).c[0]!.data.join()).toBe(values.data.join())
    const gains = matrix(1, 1, [-1])
    await expectRejected(
      star([gains, gains], { semiring: lexicographic('min-plus', 'min-plus'), ...where }),
      'CYCLE',
      /some cycle gains/,
    )
    await expectRejected(
      power({ data: new Uint32Array(4), shape: [2, 2] }, 2, { semiring: hamming }),
      'OPTION',
      /⊗ is associative/,
    )
  })

  it('rejects wrong matrices', async () => {
    const [floats, ints] = [matrix(2, 2, new Float32Array(4)), matrix(2, 2)]
    const unsigned = matrix(2, 2, new Uint32Array(4))
    const pair = counting('max-plus')
    const refusals: [a: unknown, options: object, code: string, message: RegExp][] = [
      [
        ints,
        { semiring: pair },
        'DTYPE',
        /a must be an array of 2 matrices, one for each lane \(int32, uint32\), but it is an object/,
      ],
      [[ints], { semiring: pair }, 'DTYPE', /but it is one of 1/],
      [[ints, ints], { semiring: pair }, 'DTYPE', /a\[1\]\.data must be a Uint32Array.*an Int32Array/],
      [[ints, floats], { semiring: pair }, 'DTYPE', /a\[1\]\.data must be a Uint32Array/],
      [[ints, matrix(2, 3, new Uint32Array(6))], { semiring: pair }, 'SHAPE', /a\[1\] \[2, 3\]/],
      [[unsigned], { semiring: hamming }, 'DTYPE', /a must be a matrix .* but it is an array/],
      [ints, { semiring: hamming }, 'DTYPE', /Uint32Array/],
      [matrix(2, 2, new Int16Array(4)), { semiring: hamming }, 'DTYPE', /a\.data must be/],
      [matrix(2, 2, new Float64Array(4)), { semiring: hamming }, 'DTYPE', /a\.data must be/],
      [unsigned, { semiring: hamming, out: unsigned }, 'SHAPE', /out overlaps a/],
      [unsigned, { semiring: hamming, accumulate: true }, 'OPTION', /needs the option out/],
      [unsigned, { semiring: hamming, accumulate: ints }, 'DTYPE', /accumulate\.data must be/],
      [
        unsigned,
        { semiring: hamming, out: matrix(3, 3, new Uint32Array(9)) },
        'SHAPE',
        /out \[3, 3\] must have the shape/,
      ],
      [
        [ints, unsigned],
        { semiring: pair, out: [matrix(2, 2), unsigned] },
        'SHAPE',
        /out\[1\] overlaps a\[1\]/,
      ],
    ]
    for (const [a, options, code, message] of refusals) {
      await expectRejected(mpmm(a as never, a as never, { ...where, ...options } as never), code, message)
      expectThrown(() => mpmmSync(a as never, a as never, { ...where, ...options } as never), code, message)
    }
    const shared = matrix(2, 2)
    const twice = kBest('min-plus', 2)
    await expectRejected(
      mpmm([ints, ints], [ints, ints], { semiring: twice, out: [shared, shared] }),
      'SHAPE',
      /out\[.\] overlaps out\[.\] in memory, and the lanes of a product are computed together/,
    )
  })

  it('aborts by signals', async () => {
    const a = matrix(2, 2, new Uint32Array(4))
    const signal = AbortSignal.abort('enough')
    await expectRejected(mpmm(a, a, { semiring: hamming, signal, ...where }), 'ABORTED')
    const large = matrix(1500, 1500, new Uint32Array(1500 ** 2))
    const running = new AbortController()
    const product = mpmm(large, large, { semiring: hamming, signal: running.signal, ...where })
    running.abort()
    await expectRejected(product, 'ABORTED')
  })

  it('has plans', async () => {
    const a = matrix(64, 64, new Uint32Array(64 ** 2))
    const { explanation } = await plan(a, a, { semiring: hamming, ...where })
    expect(explanation).toContain(backend)
  })

  it('computes the same after JSON', async () => {
    const a = {
      data: Uint32Array.from({ length: 100 }, (_, i) => i * 2654435761),
      shape: [10, 10] as [number, number],
    }
    const again = semiring.from(JSON.stringify(hamming))
    const [first, second] = [
      await mpmm(a, a, { semiring: hamming, ...where }),
      await mpmm(a, a, { semiring: again as typeof hamming, ...where }),
    ]
    expect(second.c.data).toEqual(first.c.data)
  })
}

/** Products of matrices on a device, or sharded over several. */
export function residentUserSemirings(home: Home): void {
  let device: Device
  useHome(home)
  beforeAll(async () => {
    device = await openAt(home)
  })
  afterAll(() => device.close())

  const upload = async (each: Written, elements: Elements): Promise<never> => {
    const lanes = await Promise.all(
      elements.lanes.map((lane) => {
        const { buffer, byteOffset, length } = lane.data
        const data = lane.data instanceof Uint32Array ? new Int32Array(buffer, byteOffset, length) : lane.data
        return device.upload({ ...lane, data: data as Int32Array })
      }),
    )
    return (Array.isArray(each.semiring.dtype) ? lanes : lanes[0]) as never
  }

  it.each(named)('are multiplied over %s', async (_, each) => {
    const random = randoms(11)
    const { semiring } = each
    const a = make(each, [2, 21, 34], random, 1)
    const b = make(each, [34, 19], random)
    const c0 = make(each, [2, 21, 19], random, 2)
    const [A, B, C0] = [await upload(each, a), await upload(each, b), await upload(each, c0)]
    const expected = userOracle(each, a, b, { c0 })
    const { c, devices } = (await mpmm(A, B, {
      semiring,
      accumulate: C0,
      witness: semiring.selective,
    } as never)) as never as { c: unknown; devices: number[] }
    expect(devices).toEqual(home.where.devices ?? (home.backend === 'cpu' ? [] : [0]))
    expectSame(each, await read(each, c), expected, 'resident')
    // Some operands are in arrays.
    const mixed = await mpmm(given(each, a), B, { semiring, accumulate: C0 } as never)
    expectSame(each, await read(each, mixed.c), expected, 'a in arrays')
    await mpmm(A, B, { semiring, accumulate: true, out: C0 } as never)
    expectSame(each, await read(each, C0), expected, 'out')
    const [{ c: grouped }] = (await mpmmGrouped([{ a: A, b: B }], { semiring } as never)) as never as [
      { c: unknown },
    ]
    expectSame(each, await read(each, grouped), userOracle(each, a, b), 'grouped')
    if (!semiring.selective) return
    const { witness } = (await mpmm(A, B, { semiring, witness: true } as never)) as never as {
      witness: DeviceMatrix
    }
    expect([...(await witness.download()).data]).toEqual(userOracle(each, a, b).witness)
  })

  it('are rejected on another device, and with `out` in arrays', async () => {
    const each = written[0]!
    const random = randoms(3)
    const a = make(each, [3, 3], random)
    const A = await upload(each, a)
    await using other = await openAt(home)
    const B = (await other.upload(matrix(3, 3))) as never
    const { semiring } = each
    await expectRejected(mpmm(A, B, { semiring }), 'DEVICE')
    const out = given(each, a)
    await expectRejected(mpmm(A, A, { semiring, out }), 'DEVICE', /out/)
  })

  it('have powers and stars', async () => {
    const pairs = lexicographic('min-plus', 'max-min')
    const none = [2 ** 31 - 1, -(2 ** 31)] as const
    const lengths = matrix(3, 3, [none[0], 4, 1, none[0], none[0], none[0], none[0], 3, none[0]])
    const widths = matrix(3, 3, [none[1], 9, 5, none[1], none[1], none[1], none[1], 7, none[1]])
    const a = [await device.upload(lengths), await device.upload(widths)] as const
    const { c } = await star(a, { semiring: pairs })
    const [length, width] = await Promise.all(c.map((lane) => lane.download()))
    const zero = 2 ** 31 - 1
    expect([...length!.data]).toEqual([0, 4, 1, zero, 0, zero, zero, 3, 0])
    expect([...width!.data]).toEqual([zero, 9, 5, -(zero + 1), zero, -(zero + 1), -(zero + 1), 7, zero])
    const two = await power(a, 2, { semiring: pairs })
    expect((await two.c[0].download()).data[1]).toBe(4)
    expect((await two.c[1].download()).data[1]).toBe(5)
  })

  /**
   * Stores the lanes of elements in one matrix, one lane after the other, in rows from `first` on. With
   * `isTransposed` each lane is a transpose of its rows.
   */
  async function inOneMatrix(each: Written, elements: Elements, isTransposed: boolean, first: number) {
    const { rows, cols, types } = elements
    const [height, width] = isTransposed ? [cols, rows] : [rows, cols]
    const type = types[0] === 'float32' ? Float32Array : Int32Array
    const data = new type((first + types.length * height) * width)
    for (let row = 0; row < rows; row++) {
      for (let col = 0; col < cols; col++) {
        elements.at(0, row, col).forEach((value, lane) => {
          const at = isTransposed ? col * width + row : row * width + col
          data[(first + lane * height) * width + at] = value
        })
      }
    }
    const whole = await device.upload({ data: data as Int32Array, shape: [data.length / width, width] })
    const lanes = types.map((_, lane) => {
      const view = whole.view({ rows: [first + lane * height, first + (lane + 1) * height] })
      return isTransposed ? view.transpose() : view
    })
    return { whole, lanes, given: (Array.isArray(each.semiring.dtype) ? lanes : lanes[0]) as never }
  }

  it('may be parts of other matrices, whose remaining elements stay unchanged', async () => {
    const random = randoms(5)
    for (const each of [written.find(({ types }) => types.length === 2)!, written[0]!]) {
      const { semiring, types } = each
      if (new Set(types.map((type) => type === 'float32')).size > 1) continue
      const [a, b] = [make(each, [31, 17], random), make(each, [17, 23], random, 1)]
      const c0 = make(each, [31, 23], random)
      const bands = [{ c: [4, 9] }, undefined] as const
      for (const [isTransposed, of] of [true, false].flatMap((transposed) =>
        bands.map((one) => [transposed, one] as const),
      )) {
        const out = await inOneMatrix(each, c0, isTransposed, 3)
        const before = (await out.whole.download()).data
        const expected = userOracle(each, a, b, { c0, ...(of && { bands: of as never }) })
        const retained = expected.elements.map(
          (element, index) => element ?? c0.at(0, Math.floor(index / 23), index % 23),
        )
        const structure = of && { c: { band: of.c } }
        const options = { semiring, out: out.given, accumulate: true, structure } as never
        await mpmm((await inOneMatrix(each, a, !isTransposed, 1)).given, await upload(each, b), options)
        expectSame(
          each,
          await read(each, out.given),
          { ...expected, elements: retained },
          `turned: ${isTransposed}`,
        )
        const after = (await out.whole.download()).data
        const ahead = 3 * (isTransposed ? 31 : 23)
        expect([...after.subarray(0, ahead)]).toEqual([...before.subarray(0, ahead)])
      }
    }
  })

  it('are unchanged if a product has too little memory', async () => {
    const random = randoms(8)
    const each = written.find(({ types }) => types.length === 2)!
    const { semiring } = each
    const [a, b, c0] = [
      make(each, [40, 30], random),
      make(each, [30, 50], random),
      make(each, [40, 50], random),
    ]
    const [A, out] = [await upload(each, a), await upload(each, c0)]
    const expected = userOracle(each, a, b, { c0 })
    const unchanged = {
      ...expected,
      elements: expected.elements.map((_, at) => c0.at(0, Math.floor(at / 50), at % 50)),
    }
    let failures = 0
    for (let nth = 1; ; nth++) {
      expect(nth, 'it never succeeds').toBeLessThan(200)
      const error = await errorWithoutMemory(
        () => mpmm(A, given(each, b), { semiring, out, accumulate: true } as never),
        nth,
      )
      expectSame(each, await read(each, out), error ? unchanged : expected, `allocation ${nth}`)
      if (!error) break
      failures++
      expectError(error, 'OUT_OF_MEMORY')
    }
    expect(failures).toBeGreaterThan(0)
  })

  it('are unchanged after an abort by a signal', async () => {
    const { semiring } = written[0]!
    const large = await upload(written[0]!, make(written[0]!, [900, 900], randoms(2)))
    const running = new AbortController()
    const product = mpmm(large, large, { semiring, signal: running.signal })
    running.abort()
    await expectRejected(product, 'ABORTED')
  })
}
