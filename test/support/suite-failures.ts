/** Products on a device that fail or are aborted, and work after them: on both backends, on one device and on several. */
import { getEventListeners } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import {
  type Device,
  type DeviceMatrix,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  openDevice,
  plan,
  variants,
} from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { caught, expectError, expectRejected, expectThrown, thrown } from './expect.js'
import { expectUsed, type Home, openAt, useHome } from './homes.js'
import { errorsAfterAbort, inTime } from './in-time.js'
import type { Slow } from './suite-lifetimes.js'

const largest = 2 ** 31 - 1

export interface Busy extends Slow {
  /** Number of products that begin before the first one ends. */
  inFlight: number
  /** Whether an abort always stops a running product. */
  stops: boolean
}

export function failureSuite(home: Home, slow: Busy): void {
  useHome(home)
  let device: Device
  beforeAll(async () => {
    device = await openAt(home)
  })
  afterAll(() => device.close())
  const open = () => device

  describe('a product that depends on a failed one', () => dependents(open))
  describe('signals', () => signals(home, open, slow))
  describe('exhausted memory', () => exhausted(home))
  if (home.pretended > 0) return
  describe('other devices and contradictory options', () => contradictions(home.backend, open))
}

const values = async (matrix: DeviceMatrix) => [...new Set((await matrix.download()).data)]

function dependents(open: () => Device): void {
  const failed = (error: unknown, name: string) =>
    expectError(
      error,
      'OVERFLOW',
      new RegExp(`^${name} is the result of a product that failed: .*C\\[0, 0\\]`),
      '4294967294',
    )

  it('fails with its code if it was queued before the failure was known, and changes nothing', async () => {
    const device = open()
    const [huge, zero] = [await device.full([9, 9], largest), await device.full([9, 9], 0)]
    const [x, y, z, w] = await Promise.all([1, 2, 3, 4].map((value) => device.full([9, 9], value)))
    const first = caught(mpmm(huge, huge, { out: x! }))
    const asLeft = caught(mpmm(x!, zero, { out: y! }))
    const asRight = caught(mpmm(zero, x!))
    const asC0 = caught(mpmm(zero, zero, { out: z!, accumulate: x! }))
    const asOut = caught(mpmm(zero, zero, { out: x!, accumulate: true }))
    const next = caught(mpmm(y!.transpose(), zero, { out: w! }))
    const copy = caught(y!.download())
    const combination = caught(w!.combine(zero))
    const combined = caught(zero.combine(z!.view()))
    const group = caught(
      mpmmGrouped([
        { a: huge, b: matrix(9, 9, new Int32Array(81).fill(-5)) },
        { a: matrix(9, 9), b: w! },
      ]),
    )
    const independent = mpmm(huge, huge, { overflow: 'saturate' })
    expectError(await first, 'OVERFLOW', /^C\[0, 0\]/)
    failed(await asLeft, 'a')
    failed(await asRight, 'b')
    failed(await asC0, 'accumulate')
    failed(await asOut, 'out')
    failed(await next, 'a')
    failed(await copy, 'the matrix')
    failed(await combination, 'the matrix')
    failed(await combined, 'd')
    failed(await group, 'products\\[1\\]: b')
    expect(await values((await independent).c)).toEqual([largest])
    for (const [index, each] of [x, y, z, w].entries()) expect(await values(each!)).toEqual([index + 1])
    expect(await values(zero)).toEqual([0])
  })

  it('works if it is queued after the failure was known', async () => {
    const device = open()
    const [huge, zero] = [await device.full([9, 9], largest), await device.full([9, 9], 0)]
    const x = await device.full([9, 9], 5)
    await expectRejected(mpmm(huge, huge, { out: x }), 'OVERFLOW')
    expect(await values((await mpmm(x, zero)).c)).toEqual([5])
    await mpmm(zero, zero, { out: x })
    expect(await values(x)).toEqual([0])
  })

  it('works if the matrix has been written again in between', async () => {
    const device = open()
    const [huge, zero] = [await device.full([9, 9], largest), await device.full([9, 9], 0)]
    const x = await device.full([9, 9], 5)
    const first = caught(mpmm(huge, huge, { out: x.view({ rows: [0, 9] }) }))
    expectThrown(() => mpmmSync(x, zero), 'OVERFLOW', /^a is the result/)
    expectError(await first, 'OVERFLOW')
    expect(mpmmSync(x, zero).c.shape).toEqual([9, 9])
  })

  it('depends only by reading or writing the same elements', async () => {
    const device = open()
    const whole = await device.full([8, 8], 3)
    const [left, right] = [whole.view({ rows: [0, 4] }), whole.view({ rows: [4, 8] })]
    const [huge, zero] = [await device.full([4, 4], largest), await device.full([4, 8], 0)]
    const first = caught(mpmm(huge, await device.full([4, 8], largest), { out: left }))
    const apart = mpmm(right.view({ cols: [0, 4] }), zero)
    const touching = caught(mpmm(zero.view({ cols: [0, 4] }), whole.view({ rows: [3, 7] })))
    expectError(await first, 'OVERFLOW')
    expect(await values((await apart).c)).toEqual([3])
    expectError(await touching, 'OVERFLOW', /^b is the result/)
  })

  it('continues under saturate and wrap, where nothing fails', async () => {
    const device = open()
    const huge = await device.full([5, 5], largest)
    const zero = await device.full([5, 5], 0)
    const [x, y] = [await device.full([5, 5], 0), await device.full([5, 5], 0)]
    for (const [overflow, expected] of [
      ['saturate', largest],
      ['wrap', -2],
    ] as const) {
      const running = [mpmm(huge, huge, { out: x, overflow }), mpmm(x, zero, { out: y, overflow })]
      expect(await values(y)).toEqual([expected])
      await Promise.all(running)
    }
  })
}

function signals(home: Home, open: () => Device, { size, options, inFlight, stops }: Busy): void {
  let big: DeviceMatrix[] = []
  beforeAll(async () => {
    big = await Promise.all([0, 1, 2].map((value) => open().full([size, size], value)))
  })
  afterAll(() => {
    for (const each of big) each.dispose()
  })
  const start = (signal?: AbortSignal) => mpmm(big[0]!, big[1]!, { ...options, out: big[2]!, signal })

  it('compute nothing if they are aborted before', async () => {
    const signal = AbortSignal.abort('enough')
    const out = await open().full([2, 2], 7)
    const one = await open().full([2, 2], 1)
    for (const error of [
      await caught(mpmm(one, one, { out, signal })),
      thrown(() => mpmmSync(one, one, { out, signal })),
      await caught(mpmmGrouped([{ a: one, b: one, out }], { signal })),
      await caught(out.combine(one, { signal })),
    ]) {
      expectError(error, 'ABORTED', 'AbortSignal')
      expect((error as Error).cause).toBe('enough')
    }
    expect(await values(out)).toEqual([7])
  })

  it('end a queued product before the running one', async () => {
    const device = open()
    await inTime(async (nth) => {
      const { used } = device.memory()
      const controller = new AbortController()
      const { signal } = controller
      let ran = 0
      // With more products the queued ones wait longer.
      const count = inFlight * Math.min(nth + 1, 8)
      const running = Array.from({ length: count }, () => start().then(() => ran++))
      const waiting = [
        mpmm(big[0]!, big[1]!, { signal }).then(({ c }) => c.dispose()),
        mpmmGrouped([{ a: big[0]!, b: big[1]! }], { signal }).then(([one]) =>
          (one!.c as DeviceMatrix).dispose(),
        ),
      ]
      const after = mpmm(big[0]!.view({ rows: [0, 1] }), big[1]!)
      await new Promise((resolve) => setImmediate(resolve))
      controller.abort('enough')
      const given = await Promise.allSettled(waiting)
      const ranBefore = ran
      for (const each of given) {
        if (each.status === 'fulfilled') continue
        expectError(each.reason, 'ABORTED')
        expect(each.reason.cause).toBe('enough')
      }
      await Promise.all(running)
      expect(getEventListeners(signal, 'abort')).toHaveLength(0)
      const { c } = await after
      expect(await values(c)).toEqual([1])
      c.dispose()
      // The collector may have released more in the meantime.
      if (home.pretended === 0) expect(device.memory().used).toBeLessThanOrEqual(used)
      return ranBefore < count && given.every(({ status }) => status === 'rejected')
    })
  })

  it('end a running product, and later work continues', async () => {
    const device = open()
    await inTime(async () => {
      const { used } = device.memory()
      const controller = new AbortController()
      const running = Array.from({ length: 3 }, () => start(controller.signal))
      const waiting = mpmm(big[0]!.view({ rows: [0, 1] }), big[1]!)
      setTimeout(() => controller.abort(), 5)
      const settled = await Promise.allSettled(running)
      for (const each of settled) if (each.status === 'rejected') expectError(each.reason, 'ABORTED')
      const { c } = await waiting
      expect(await values(c)).toEqual([1])
      c.dispose()
      // The collector may have released more in the meantime.
      if (home.pretended === 0) expect(device.memory().used).toBeLessThanOrEqual(used)
      // A GPU finishes the kernels that it has begun.
      return !stops || settled.every(({ status }) => status === 'rejected')
    })
  })

  it('abort dependent work too, and later products work', async () => {
    let running: Promise<unknown>[] = []
    const [given, dependent] = await errorsAfterAbort((signal) => {
      running = Array.from({ length: inFlight }, () => start())
      return [start(signal), big[2]!.download()]
    })
    expectError(given, 'ABORTED')
    expectError(dependent, 'ABORTED', /^the matrix is the result of a product that failed/)
    await Promise.all(running)
    await start()
    expect((await big[2]!.view({ rows: [0, 1], cols: [0, 1] }).download()).data[0]).toBe(1)
  })

  it('change nothing if they are aborted too late', async () => {
    const controller = new AbortController()
    const one = await open().full([2, 2], 1)
    const { c } = await mpmm(one, one, { signal: controller.signal })
    controller.abort()
    expect(await values(c)).toEqual([2])
  })
}

function exhausted(home: Home): void {
  let device: Device
  beforeAll(async () => {
    device = await openAt(home)
  })
  afterEach(() => {
    addon.failAllocation(0)
    expect(device.memory().used).toBe(0)
  })
  afterAll(() => device.close())

  const operations: Record<string, (a: DeviceMatrix, b: DeviceMatrix) => Promise<{ dispose(): void }[]>> = {
    upload: async () => [await device.upload(matrix(300, 300))],
    full: async () => [await device.full([300, 300], 1)],
    'a product': async (a, b) => [(await mpmm(a, b)).c],
    'a product of an array': async (a) => [(await mpmm(a, matrix(300, 300))).c],
    'a product into what is there': async (a, b) => {
      using out = await device.full([300, 300], 0)
      await mpmm(a, b, { out, overflow: 'throw' })
      return []
    },
    'a combination': async (a, b) => {
      await a.combine(b)
      return []
    },
    'a copy': async (a) => {
      using transposed = a.transpose()
      await transposed.download()
      return []
    },
    'a group': async (a, b) =>
      (
        await mpmmGrouped([
          { a, b },
          { a: b, b: matrix(300, 5) },
        ])
      ).map(({ c }) => c as DeviceMatrix),
  }

  it.each(Object.keys(operations))(
    'causes an error in %s, or the work needs no memory; later work succeeds',
    async (name) => {
      for (let nth = 1; nth <= 12; nth++) {
        using a = await device.full([300, 300], 1)
        using b = await device.full([300, 300], 2)
        const { used } = device.memory()
        addon.failAllocation(nth)
        try {
          for (const created of await operations[name]!(a, b)) created.dispose()
        } catch (error) {
          expectError(error, 'OUT_OF_MEMORY')
        }
        addon.failAllocation(0)
        expectUsed(home, device, used)
        const { c } = await mpmm(a, b)
        expect(await values(c)).toEqual([name === 'a combination' ? (await values(a))[0]! + 2 : 3])
        c.dispose()
      }
    },
  )
}

function contradictions(backend: BackendName, open: () => Device): void {
  it('are rejected for matrices of two devices, with advice', async () => {
    const [first, second] = [open(), await openDevice({ backend })]
    const [a, b] = [await first.full([2, 2], 0), await second.full([2, 2], 0)]
    const location = backend === 'cpu' ? 'the CPU' : 'CUDA device 0 \\(.+\\)'
    const refused = (error: unknown, one: string, other: string) =>
      expectError(
        error,
        'DEVICE',
        new RegExp(
          `^${one} is on ${location} and ${other} on ${location}, opened by another openDevice\\(\\): .*download`,
        ),
      )
    refused(await caught(mpmm(a, b)), 'b', 'a')
    refused(await caught(mpmm(a, matrix(2, 2), { accumulate: b })), 'accumulate', 'a')
    refused(await caught(mpmm(matrix(2, 2), b, { out: a })), 'out', 'b')
    refused(await caught(plan(a, b)), 'b', 'a')
    refused(
      thrown(() => mpmmSync(a, b)),
      'b',
      'a',
    )
    const group = [
      { a, b: matrix(2, 2) },
      { a: matrix(2, 2), b },
    ]
    refused(await caught(mpmmGrouped(group as never)), 'products\\[1\\]\\.b', 'products\\[0\\]\\.a')
    await expectRejected(a.combine(b), 'DEVICE', /^d must be on the device/)
    await second.close()
  })

  it('are rejected for a result in an array', async () => {
    const a = await open().full([2, 2], 0)
    const out = matrix(2, 2) as never
    for (const error of [
      await caught(mpmm(a, a, { out })),
      await caught(mpmm(matrix(2, 2), matrix(2, 2), { out, accumulate: a })),
      thrown(() => mpmmSync(a, a, { out })),
    ]) {
      expectError(error, 'DEVICE', /^out is in an array/, 'leave out `out` and download c')
    }
    const group = [
      { a: matrix(2, 2), b: matrix(2, 2), out },
      { a, b: a },
    ]
    await expectRejected(
      mpmmGrouped(group as never),
      'DEVICE',
      /^products\[0\]\.out is in an array/,
      /products\[1\]\.a/,
    )
  })

  it('are rejected if options name another device', async () => {
    const a = await open().full([20, 20], 0)
    const other = backend === 'cpu' ? 'cuda' : 'cpu'
    const refused = (error: unknown, code: string, ...patterns: (string | RegExp)[]) =>
      expectError(error, code, ...patterns, 'the matrices are on')
    refused(
      await caught(mpmm(a, a, { backend: other })),
      'OPTION',
      new RegExp(`^option backend is '${other}'`),
    )
    refused(await caught(plan(a, a, { backend: other })), 'OPTION')
    refused(await caught(mpmmGrouped([{ a, b: a }], { backend: other })), 'OPTION')
    refused(
      thrown(() => mpmmSync(a, a, { backend: other })),
      'OPTION',
    )
    if (backend === 'cuda') {
      refused(await caught(mpmm(a, a, { device: 1 })), 'OPTION', /^option device is 1/)
    }
    const row = variants().find((each) => each.backend === other && each.semiring === 'max-plus')
    if (row) refused(await caught(mpmm(a, a, { variant: row.name })), 'VARIANT', row.name)
    for (const options of [
      { backend },
      { backend: 'auto' },
      { device: 0 },
      { backend, device: 0 },
    ] as const) {
      expect((await mpmm(a, a, options)).backend).toBe(backend)
    }
  })

  it('ignore the environment', async () => {
    const a = await open().full([20, 20], 0)
    const before = process.env.MPMML_BACKEND
    try {
      for (const value of ['cpu', 'cuda', 'auto']) {
        process.env.MPMML_BACKEND = value
        expect((await mpmm(a, a)).backend).toBe(backend)
      }
    } finally {
      if (before === undefined) delete process.env.MPMML_BACKEND
      else process.env.MPMML_BACKEND = before
    }
  })
}
