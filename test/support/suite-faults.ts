/** Operations in which each allocation fails in turn. The tests of both backends run this suite. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import {
  type Device,
  type DeviceMatrix,
  EPSILON,
  type MatrixLike,
  type MpmmOptions,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  openDevice,
} from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { expectError, expectRejected } from './expect.js'
import { type Attempt, type Operation, same, UNTOUCHED, type Where } from './fault-attempts.js'
import { deviceClosures, hostClosures } from './fault-closures.js'
import { Random, randomMatrix } from './generators.js'
import { type Dense, dense, oracle, type Strided } from './oracle.js'
import { itIf } from './skip.js'
import { greatestSums } from './user-semirings.js'

/** Number of failing allocations if all from the nth on fail. */
const ALL = 1e15

/** Bytes by which memory that isn't leaked may grow. */
const MAX_GROWTH = 2 ** 26

/** Products of arrays, by the purpose of their memory. */
function hostProducts(where: Where): Record<string, Operation> {
  type Case = { a: MatrixLike & Strided; b: MatrixLike & Strided; options?: MpmmOptions }
  const random = (rows: number, cols: number, seed: number) => randomMatrix(rows, cols, seed) as Case['a']
  const large = (rows: number, cols: number, seed: number) => {
    const source = new Random(seed)
    return matrix(
      rows,
      cols,
      Int32Array.from({ length: rows * cols }, () => source.integer(-1e9, 1e9)),
    ) as Case['a']
  }
  const int16 = (rows: number, cols: number, seed: number) => {
    const source = new Random(seed)
    const data = Int16Array.from({ length: rows * cols }, () => source.integer(-300, 300))
    return matrix(rows, cols, data) as unknown as Case['a']
  }
  const transposed = ({ data, shape }: Case['a']) =>
    ({ data, shape: [shape[1]!, shape[0]!], strides: [1, shape[1]!] }) as unknown as Case['a']
  const batch = ({ data, shape }: Case['a'], items: number) =>
    ({ data, shape: [items, shape[0]! / items, shape[1]!] }) as unknown as Case['a']

  const cases: Record<string, Case> = {
    'a few elements': { a: random(3, 4, 1), b: random(4, 5, 2) },
    small: { a: random(40, 30, 1), b: random(30, 40, 2) },
    medium: { a: random(170, 165, 1), b: random(165, 160, 2) },
    large: { a: random(500, 300, 1), b: random(300, 400, 2) },
    'a row': { a: random(1, 1500, 1), b: random(1500, 1300, 2) },
    'a column': { a: random(1300, 1500, 1), b: random(1500, 1, 2) },
    deep: { a: random(40, 5000, 1), b: random(5000, 30, 2) },
    'a batch': { a: batch(random(600, 50, 1), 12), b: batch(random(600, 61, 2), 12) },
    'of int16': { a: int16(120, 130, 1), b: int16(130, 110, 2) },
    'transposed operands': { a: transposed(random(120, 130, 1)), b: transposed(random(110, 120, 2)) },
    'wide values': { a: large(120, 130, 1), b: large(130, 110, 2), options: { overflow: 'saturate' } },
    'wide values, checked': { a: large(120, 130, 1), b: large(130, 110, 2) },
  }
  const operations: Record<string, Operation> = {}
  for (const [name, { a, b, options = {} }] of Object.entries(cases)) {
    const expected = oracle(a, b, { overflow: options.overflow ?? 'throw' }) as Dense
    const { rows, cols, batch: items } = expected
    const shape = items > 1 ? [items, rows, cols] : [rows, cols]
    const into = (out: MatrixLike, run: (all: MpmmOptions) => unknown): Attempt => ({
      run: async () => run({ ...options, ...where, out: out as never }),
      check: () => same(out, expected),
      unchanged: () => same(out, UNTOUCHED),
    })
    const newOut = () => ({ data: new Int32Array(items * rows * cols).fill(UNTOUCHED), shape })
    const multiply = (all: MpmmOptions) => mpmm(a, b, all)
    operations[name] = async () => into(newOut(), multiply)
    operations[`${name}, at once`] = async () => into(newOut(), (all) => mpmmSync(a, b, all))
    if (items === 1)
      operations[`${name}, into a strided array`] = async () =>
        into({ ...newOut(), strides: [1, rows] } as never, multiply)
  }
  for (const name of ['a few elements', 'large', 'deep', 'a batch', 'transposed operands']) {
    const { a, b } = cases[name]!
    const expected = oracle(a, b) as Dense
    const { rows, cols, batch: items } = expected
    const shape = items > 1 ? [items, rows, cols] : [rows, cols]
    operations[`${name}, over a semiring of one’s own`] = async () => {
      const out = { data: new Int32Array(items * rows * cols).fill(UNTOUCHED), shape }
      return {
        run: () => mpmm(a as never, b as never, { semiring: greatestSums, ...where, out: out as never }),
        check: () => same(out, expected),
        unchanged: () => same(out, UNTOUCHED),
      }
    }
  }
  const members = ['a few elements', 'medium', 'of int16', 'deep'].map((name) => cases[name]!)
  const expected = members.map(({ a, b }) => oracle(a, b) as Dense)
  operations['a group'] = async () => {
    const outs = expected.map(({ rows, cols }) =>
      matrix(rows, cols, new Int32Array(rows * cols).fill(UNTOUCHED)),
    )
    return {
      run: () => mpmmGrouped(members.map(({ a, b }, index) => ({ a, b, out: outs[index]! })) as never, where),
      check: () =>
        outs.forEach((out, index) => {
          same(out, expected[index]!)
        }),
      unchanged: () =>
        outs.forEach((out, index) => {
          same(out, out.data[0] === UNTOUCHED ? UNTOUCHED : expected[index]!)
        }),
    }
  }
  return operations
}

/** Products of arrays in blocks. Their values are valid, but later blocks need memory too. */
function blockProducts(
  where: Where,
  [m, k, n]: readonly [number, number, number],
): Record<string, Operation> {
  const [a, b] = [randomMatrix(m, k, 1), randomMatrix(k, n, 2)]
  const c0 = randomMatrix(m, n, 3)
  const zeroOfFloats = (x: number) => (x === EPSILON ? Number.NEGATIVE_INFINITY : x)
  const floats = ({ data, shape }: MatrixLike) =>
    ({ data: Float32Array.from(data, zeroOfFloats), shape }) as unknown as MatrixLike
  const into = (start: MatrixLike, options: MpmmOptions, expected: Dense): Operation => {
    const isFloat = (start.data as unknown) instanceof Float32Array
    const [x, y] = isFloat ? [floats(a), floats(b)] : [a, b]
    return async () => {
      const out = { data: start.data.slice(), shape: [m, n] } as MatrixLike
      return {
        run: () => mpmm(x as never, y as never, { ...where, ...options, out: out as never }),
        check: () => same(out, expected),
        unchanged: () => same(out, dense(start as Strided)),
      }
    }
  }
  const untouched = matrix(m, n, new Int32Array(m * n).fill(UNTOUCHED))
  const product = oracle(a, b) as Dense
  const isBelow = (at: number) => at % n < Math.floor(at / n)
  const upper = { ...product, data: product.data.map((x, at) => (isBelow(at) ? UNTOUCHED : x)) }
  return {
    'of int32, saturating': into(untouched, { overflow: 'saturate' }, product),
    'of int32': into(untouched, {}, product),
    'of float32': into(
      floats(untouched),
      {},
      { ...product, data: Float32Array.from(product.data, zeroOfFloats) as never },
    ),
    'added to `out`': into(
      c0,
      { overflow: 'wrap', accumulate: true },
      oracle(a, b, { c0, overflow: 'wrap' }) as Dense,
    ),
    'of a triangle': into(untouched, { overflow: 'saturate', structure: { c: 'upper' } }, upper),
  }
}

/** Operations of a device. */
function deviceOperations(backend: BackendName, open: () => Device): Record<string, Operation> {
  const [x, y] = [randomMatrix(150, 140, 1), randomMatrix(140, 130, 2)]
  const product = oracle(x, y) as Dense
  const [wideX, wideY] = ([x, y] as const).map(({ data, shape }) =>
    matrix(
      shape[0]!,
      shape[1]!,
      (data as Int32Array).map((value) => value * 5e5),
    ),
  ) as unknown as [typeof x, typeof y]
  const saturated = oracle(wideX, wideY, { overflow: 'saturate' }) as Dense
  const is = (expected: Dense | number) => async (there: DeviceMatrix) => {
    same(await there.download(), expected)
    there.dispose()
  }
  const operands = async () => [await open().upload(x), await open().upload(y)] as const
  type Multiply = (a: DeviceMatrix, b: DeviceMatrix) => Promise<{ c: DeviceMatrix }>
  const multiplied = (multiply: Multiply, expected: Dense = product): Operation => {
    return async () => {
      const [a, b] =
        expected === product ? await operands() : [await open().upload(wideX), await open().upload(wideY)]
      return {
        run: async () => {
          try {
            return (await multiply(a, b)).c
          } finally {
            a.dispose()
            b.dispose()
          }
        },
        check: is(expected),
      }
    }
  }
  const into =
    (
      value: number,
      multiply: (a: DeviceMatrix, b: DeviceMatrix, out: DeviceMatrix) => Promise<unknown>,
      expected: Dense,
    ): Operation =>
    async () => {
      const [a, b] = await operands()
      const whole = await open().full([150, 200], value)
      const out = whole.view({ cols: [7, 137] })
      const end = async () => {
        for (const each of [a, b, out, whole]) each.dispose()
      }
      return {
        run: () => multiply(a, b, out),
        check: async () => {
          await is(expected)(out)
          await end()
        },
        unchanged: async () => {
          same(await whole.download(), value)
          await end()
        },
      }
    }
  return {
    upload: async () => ({ run: () => open().upload(x), check: is(dense(x)) }),
    'upload of a strided array': async () => {
      const transposed = { data: x.data, shape: [140, 150], strides: [1, 140] }
      return { run: () => open().upload(transposed), check: is(dense(transposed as Strided)) }
    },
    full: async () => ({ run: () => open().full([300, 300], 5), check: is(5) }),
    download: async () => {
      const [a, b] = await operands()
      b.dispose()
      const out = matrix(140, 150, new Int32Array(140 * 150).fill(9))
      return {
        run: async () => {
          using transposed = a.transpose()
          a.dispose()
          await transposed.download(out)
        },
        check: () => same(out, dense({ data: x.data, shape: [140, 150], strides: [1, 140] } as Strided)),
        unchanged: () => same(out, 9),
      }
    },
    combine: async () => {
      const [a, b] = [await open().full([90, 80], 3), await open().full([80, 90], 4)]
      return {
        run: async () => {
          using transposed = b.transpose()
          b.dispose()
          return await a.combine(transposed)
        },
        check: is(4),
        unchanged: () => is(3)(a),
      }
    },
    'a product': multiplied((a, b) => mpmm(a, b)),
    'a product at once': multiplied(async (a, b) => mpmmSync(a, b)),
    'a product of an array': multiplied((a) => mpmm(a, y)),
    'a product of transposed views': multiplied(async (a, b) => {
      using transposed = a.transpose()
      using back = transposed.transpose()
      using view = b.view()
      return await mpmm(back, view)
    }),
    'a product of wide values': multiplied((a, b) => mpmm(a, b, { overflow: 'saturate' }), saturated),
    'a product of wide values in arrays': multiplied(
      (a) => mpmm(a, wideY, { overflow: 'saturate' }),
      saturated,
    ),
    'a product into a view': into(-7, (a, b, out) => mpmm(a, b, { out }), product),
    'a product added to a view': into(
      -7,
      (a, b, out) => mpmm(a, b, { out, accumulate: true }),
      oracle(x, y, { c0: matrix(150, 130, new Int32Array(150 * 130).fill(-7)) }) as Dense,
    ),
    'a group': async () => {
      const [a, b] = await operands()
      return {
        run: async () => {
          using part = a.view({ rows: [0, 9] })
          a.dispose()
          try {
            return await mpmmGrouped([
              { a: part, b },
              { a: part, b: y },
              { a: x, b },
            ])
          } finally {
            b.dispose()
          }
        },
        check: async (results: { c: DeviceMatrix }[]) => {
          const part = { ...product, rows: 9, data: product.data.slice(0, 9 * 130) }
          for (const [index, { c }] of results.entries()) await is(index < 2 ? part : product)(c)
        },
      } as Attempt
    },
    'to open a device': async () => ({
      run: () => openDevice({ backend }),
      check: async (device: Device) => {
        await is(6)(await device.full([4, 4], 6))
        await device.close()
      },
    }),
  }
}

export function faultSuite(backend: BackendName): void {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ backend })
  })
  afterEach(() => addon.failAllocation(0))
  afterAll(() => device.close())

  /**
   * Returns whether the operation succeeded while `count` allocations from the nth on failed. The operation
   * must leave no additional memory in use on the device `of`.
   */
  async function attempt(operation: Operation, nth: number, count: number, of = device): Promise<boolean> {
    const { used } = of.memory()
    const { run, check, unchanged } = await operation()
    addon.failAllocation(nth, count)
    let result: unknown
    let failure: unknown
    try {
      result = await run()
    } catch (error) {
      failure = error
    }
    addon.failAllocation(0)
    if (failure === undefined) {
      await check(result as never)
    } else {
      expectError(failure, 'OUT_OF_MEMORY')
      await unchanged?.()
    }
    expect(of.memory().used).toBe(used)
    return failure === undefined
  }

  const operations = (kind: string): Record<string, Operation> =>
    kind === 'arrays' ? hostProducts({ backend }) : deviceOperations(backend, () => device)

  /**
   * Fails single allocations and all allocations from one on, at every `step`th position, until the
   * operations succeed.
   */
  async function expectErrorsOrResults(all: Record<string, Operation>, of = device, step = 1) {
    for (const [name, operation] of Object.entries(all)) {
      let nth = 1 - step
      do {
        nth += step
        expect(nth, `${name} never succeeds`).toBeLessThan(200 * step)
        try {
          await attempt(operation, nth, 1, of)
          expect(await attempt(operation, 1e9, 1, of), 'without a failure').toBe(true)
        } catch (error) {
          throw new Error(`${name}, allocation ${nth}: ${(error as Error).message}`, { cause: error })
        }
      } while (!(await attempt(operation, nth, ALL, of)))
    }
  }

  it.each(['arrays', 'a device'])('cause an error or the right result, without a trace, on %s', (kind) =>
    expectErrorsOrResults(operations(kind)),
  )

  it.each(['arrays', 'a device'])(
    'leaves no trace of closures, paths, witnesses, own semirings and RNA that fail, on %s',
    (kind) =>
      expectErrorsOrResults(kind === 'arrays' ? hostClosures({ backend }) : deviceClosures(() => device)),
  )

  describe('several devices', () => {
    let spread: Device
    beforeAll(async () => {
      addon.pretendDevices(3)
      spread = await openDevice({ devices: [0, 1, 2] })
    })
    afterAll(async () => {
      await spread.close()
      addon.pretendDevices(0)
    })

    it('keep no trace of closures, paths, witnesses and custom semirings that fail on one of them', async () => {
      await expectErrorsOrResults(hostClosures({ devices: [0, 1, 2] }), device, 7)
      await expectErrorsOrResults(
        deviceClosures(() => spread),
        spread,
        7,
      )
    })

    it('keep no trace of an operation that fails on one of them', async () => {
      const { 'a few elements': few, large, 'a batch': batch } = hostProducts({ devices: [0, 1, 2] })
      await expectErrorsOrResults({ few: few!, large: large!, batch: batch! })
    })
  })

  describe('blocks', () => {
    const before = process.env.MPMML_DEVICE_MEMORY_MIB
    beforeAll(() => {
      process.env.MPMML_DEVICE_MEMORY_MIB = '1'
      addon.divideProducts(2 ** 16)
    })
    afterAll(() => {
      addon.divideProducts(0)
      addon.pretendDevices(0)
      if (before === undefined) delete process.env.MPMML_DEVICE_MEMORY_MIB
      else process.env.MPMML_DEVICE_MEMORY_MIB = before
    })

    it.each([0, 3])('leave `out` unchanged if a later one fails, on %i simulated devices', async (count) => {
      addon.pretendDevices(count)
      const where = count === 0 ? { backend } : { devices: [0, 1, 2] }
      // A GPU needs more than the smallest limit.
      await expectErrorsOrResults(blockProducts(where, backend === 'cuda' ? [700, 60, 650] : [300, 40, 280]))
    })

    it('name the first result that overflows, though a block before it has a later one', async () => {
      const [m, k, n] = [700, 60, 650]
      const largest = 2 ** 31 - 1
      const [a, b] = [matrix(m, k, new Int32Array(m * k)), matrix(k, n, new Int32Array(k * n))]
      // [50, 5] is in the first block, and [3, 600] in the last one of the same rows.
      a.data[50 * k + 3] = a.data[3 * k + 4] = largest
      b.data[3 * n + 5] = b.data[4 * n + 600] = 7
      const out = matrix(m, n, new Int32Array(m * n).fill(UNTOUCHED))
      await expectRejected(mpmm(a, b, { backend, out }), 'OVERFLOW', /C\[3, 600\]/)
      same(out, UNTOUCHED)
    })

    it('name an invalid element by its position in the whole operand', async () => {
      const [m, k, n] = [700, 60, 650]
      const ones = (rows: number, cols: number) => matrix(rows, cols, new Float32Array(rows * cols).fill(1))
      const [a, b] = [ones(m, k), ones(k, n)]
      b.data[7 * n + 640] = -1
      await expectRejected(mpmm(a, b, { backend, semiring: 'max-times' }), 'VALUE', 'b[7, 640]')
    })

    it('compute products for several devices between products for one of them', async () => {
      addon.pretendDevices(3)
      const sizes: [number, number, number] = backend === 'cuda' ? [700, 60, 650] : [300, 40, 280]
      const all = [{ devices: [0, 1, 2] }, { backend }, { backend }, { devices: [0, 1, 2] }].flatMap(
        (where) => Object.values(blockProducts(where, sizes)),
      )
      const attempts = await Promise.all(all.map((operation) => operation()))
      const results = await Promise.all(attempts.map(({ run }) => run()))
      for (const [index, { check }] of attempts.entries()) await check(results[index] as never)
    })
  })

  it.each(['arrays', 'a device'])('does not grow on %s', async (kind) => {
    const all = Object.entries(operations(kind))
    const round = async () => {
      for (const [, operation] of all) {
        for (let nth = 1; nth <= 4; nth++) await attempt(operation, nth, ALL)
      }
    }
    for (let warm = 0; warm < 3; warm++) await round()
    const { reserved } = device.memory()
    // A leak grows in each batch of rounds. The heap of JavaScript and freed memory may grow in some of them.
    const growths: number[] = []
    do {
      const before = process.memoryUsage.rss()
      for (let again = 0; again < 10; again++) await round()
      growths.push(process.memoryUsage.rss() - before)
    } while (growths.at(-1)! >= MAX_GROWTH && growths.length < 5)
    expect(Math.min(...growths)).toBeLessThan(MAX_GROWTH)
    expect(device.memory().reserved - reserved).toBeLessThan(MAX_GROWTH)
  })

  it('is sufficient for many operations at once, each separately', async () => {
    const a = randomMatrix(120, 130, 1)
    const b = randomMatrix(130, 110, 2)
    const expected = oracle(a, b) as Dense
    for (let nth = 1; nth <= 30; nth += 3) {
      const there = await device.upload(a)
      addon.failAllocation(nth, 3)
      const started = [
        ...Array.from({ length: 6 }, () => mpmm(a, b, { backend })),
        ...Array.from({ length: 6 }, () => mpmm(there, b)),
      ]
      const ended = await Promise.allSettled(started)
      addon.failAllocation(0)
      for (const each of ended) {
        if (each.status === 'rejected') {
          expectError(each.reason, 'OUT_OF_MEMORY')
        } else if ('download' in each.value.c) {
          same(await each.value.c.download(), expected)
          each.value.c.dispose()
        } else {
          same(each.value.c, expected)
        }
      }
      there.dispose()
      expect(device.memory().used).toBe(0)
    }
  })

  // A GPU's memory is requested again after a failure.
  itIf(backend !== 'cuda', 'ignores calls that are not allocations', async () => {
    const a = await device.full([20, 20], 1)
    addon.failAllocation(1)
    expect(a.view().transpose().shape).toEqual([20, 20])
    expect(device.memory().used).toBeGreaterThan(0)
    await expectRejected(device.full([20, 20], 1), 'OUT_OF_MEMORY')
    a.dispose()
  })
}
