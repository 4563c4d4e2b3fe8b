/**
 * Lifetime of matrices on a device and of the device itself, and effects on running and later work. Both
 * backends, one device and several devices run this suite.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  type Device,
  DeviceMatrix,
  type MatrixLike,
  type MpmmOptions,
  matrix,
  mpmm,
  mpmmGrouped,
  mpmmSync,
  plan,
} from '../../lib/index.js'
import { inDist, readOutput, withoutBuild } from './child.js'
import { caught, expectElements, expectError, expectRejected, expectThrown, thrown } from './expect.js'
import { randomMatrix } from './generators.js'
import { expectUsed, type Home, openAt, useHome } from './homes.js'
import { type Dense, oracle } from './oracle.js'
import { expectMatrix } from './resident.js'
import { describeUnless } from './skip.js'

/** Size and options of products that keep a device busy during a test. */
export interface Slow {
  size: number
  options: MpmmOptions<DeviceMatrix>
}

export function lifetimeSuite(home: Home, slow: Slow): void {
  useHome(home)
  describe('dispose', () => disposing(home, slow))
  describe('close', () => closing(home, slow))
  describeUnless(withoutBuild, 'garbage', () => garbage(home))
}

function disposing(home: Home, { size, options }: Slow): void {
  let device: Device
  beforeAll(async () => {
    device = await openAt(home)
  })
  afterEach(() => expect(device.memory().used).toBe(0))
  afterAll(() => device.close())

  it('releases memory, once', async () => {
    const [a, b] = [await device.full([100, 100], 1), await device.full([200, 100], 1)]
    const { used } = device.memory()
    expect(used).toBeGreaterThanOrEqual(120_000)
    b.dispose()
    b.dispose()
    expect(b.disposed).toBe(true)
    expect(used - device.memory().used).toBeGreaterThanOrEqual(80_000)
    expect(a.disposed).toBe(false)
    expect(new Set((await a.download()).data)).toEqual(new Set([1]))
    a.dispose()
    expect(device.memory().peak).toBeGreaterThanOrEqual(used)
  })

  it.each([[[0, 1, 2]], [[2, 1, 0]], [[1, 0, 2]], [[1, 2, 0]]])(
    'works for a matrix, its view and the view’s transpose, in the order %j',
    async (order) => {
      const source = randomMatrix(40, 30, 1)
      const whole = await device.upload(source)
      const view = whole.view({ rows: [10, 40] })
      const matrices = [whole, view, view.transpose()]
      const part = { ...source, shape: [30, 30], offset: 300 }
      const expected = [source, part, { ...part, strides: [1, 30] }]
      const { used } = device.memory()
      for (const index of order) {
        expectUsed(home, device, used)
        for (const [which, rest] of matrices.entries()) {
          if (!rest.disposed) expectMatrix(await rest.download(), expected[which]!)
        }
        matrices[index]!.dispose()
      }
    },
  )

  it('works while products use the matrices: these continue', async () => {
    const [a, b] = [randomMatrix(90, 40, 1), randomMatrix(40, 80, 2)]
    const [A, B, big] = [await device.upload(a), await device.upload(b), await device.full([size, size], 0)]
    const running = mpmm(big, big, { ...options, out: await device.full([size, size], 0) })
    const zero = big.view({ rows: [0, 90], cols: [0, 80] })
    const product = mpmm(A, B, { accumulate: zero })
    const copy = A.download()
    for (const each of [A, B, big, zero]) each.dispose()
    const { c } = await product
    expectElements(await c.download(), oracle(a, b, { c0: matrix(90, 80) }) as Dense)
    expectMatrix(await copy, a)
    for (const each of [c, (await running).c]) each.dispose()
  })

  it('works while the matrix is written', async () => {
    const [a, b] = [await device.full([size, size], 1), await device.full([size, size], 2)]
    const out = await device.full([size, size], 0)
    const running = mpmm(a, b, { ...options, out })
    out.dispose()
    const { c } = await running
    expect(c).toBe(out)
    expect(c.disposed).toBe(true)
    const combined = a.combine(b)
    a.dispose()
    b.dispose()
    expect(await combined).toBe(a)
  })

  it('works at the end of a block, with using', async () => {
    let retained: DeviceMatrix
    {
      using a = await device.full([30, 30], 1)
      using view = a.view({ rows: [0, 10] })
      const { c } = await mpmm(view, a)
      using product = c
      retained = a
      expect([...(await product.download()).data]).toEqual(new Array(300).fill(2))
    }
    expect(retained.disposed).toBe(true)
  })

  it('makes every use an error, except reading properties', async () => {
    const [a, b] = [await device.full([3, 3], 0), await device.full([3, 3], 0)]
    a.dispose()
    expect([a.shape, a.dtype, a.device]).toEqual([[3, 3], 'int32', device])
    const refused = (error: unknown, name: string) =>
      expectError(error, 'DISPOSED', new RegExp(`^${name} has been disposed`))
    refused(await caught(mpmm(a, b)), 'a')
    refused(await caught(mpmm(b, a)), 'b')
    refused(await caught(mpmm(b, b, { out: a })), 'out')
    refused(await caught(mpmm(b, b, { accumulate: a })), 'accumulate')
    refused(await caught(mpmm(matrix(3, 3), a)), 'b')
    refused(await caught(plan(a, b)), 'a')
    refused(
      await caught(
        mpmmGrouped([
          { a: b, b },
          { a: b, b: a },
        ]),
      ),
      'products\\[1\\]\\.b',
    )
    refused(
      thrown(() => mpmmSync(a, b)),
      'a',
    )
    refused(
      thrown(() => a.view()),
      'the matrix',
    )
    refused(
      thrown(() => a.transpose()),
      'the matrix',
    )
    refused(await caught(a.download()), 'the matrix')
    refused(await caught(a.combine(b)), 'the matrix')
    refused(await caught(b.combine(a)), 'd')
    b.dispose()
  })

  it('releases results of failed calls', async () => {
    const huge = await device.full([60, 60], 2 ** 31 - 1)
    for (let round = 0; round < 3; round++) {
      await expectRejected(mpmm(huge, huge), 'OVERFLOW')
      await expectRejected(mpmm(huge, matrix(60, 60, new Int32Array(3600).fill(5))), 'OVERFLOW')
      await expectRejected(mpmmGrouped([{ a: huge, b: huge }]), 'OVERFLOW')
      expectThrown(() => mpmmSync(huge, huge), 'OVERFLOW')
    }
    huge.dispose()
  })

  it('releases results whose listener throws at the end', async () => {
    const a = await device.full([60, 60], 1)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      for (const witness of [false, true]) {
        const error = new Error('the last call')
        let calls = 0
        const onProgress = ({ done }: { done: number }) => {
          calls++
          if (done === 1) throw error
        }
        const running = caught(mpmm(a, a, { onProgress, witness }))
        vi.advanceTimersByTime(250)
        expect(await running).toBe(error)
        expect(calls).toBeGreaterThan(0)
      }
    } finally {
      vi.useRealTimers()
    }
    a.dispose()
  })

  it('releases results of arrays that were transferred', async () => {
    const a = await device.full([60, 60], 1)
    for (const call of [
      (b: MatrixLike) => mpmm(a, b),
      (b: MatrixLike) => mpmm(a, b, { witness: true }),
      (b: MatrixLike) =>
        mpmmGrouped([
          { a, b: a },
          { a, b },
        ]),
      (b: MatrixLike) => device.upload(b),
    ]) {
      const b = matrix(60, 60)
      const running = caught(call(b))
      // The products that read `b` are still running.
      const copy = structuredClone(b.data, { transfer: [b.data.buffer] })
      expectError(await running, 'DTYPE', 'transferred away')
      expect(copy).toHaveLength(3600)
    }
    a.dispose()
  })
}

function closing(home: Home, { size, options }: Slow): void {
  it('waits for queued work', async () => {
    const device = await openAt(home)
    const [a, b] = [randomMatrix(90, 30, 1), randomMatrix(30, 80, 2)]
    const [A, B] = [await device.upload(a), await device.upload(b)]
    const [zero, out] = [await device.full([size, size], 0), await device.full([size, size], 0)]
    const corner = out.view({ rows: [0, 90], cols: [0, 80] })
    const host = matrix(90, 80)
    const late = mpmm(A, B)
    let done = 0
    for (const requested of [
      mpmm(zero, zero, { ...options, out }),
      mpmm(A, B, { out: corner }),
      corner.download(host),
      late,
    ]) {
      void requested.then(() => done++)
    }
    const closed = device.close()
    expect([A.disposed, corner.disposed]).toEqual([true, true])
    await closed
    await new Promise((resolve) => setImmediate(resolve))
    expect(done).toBe(4)
    expectElements(host, oracle(a, b) as Dense)
    const { c } = await late
    expect(c).toBeInstanceOf(DeviceMatrix)
    expect(c.disposed).toBe(true)
    await expectRejected(c.download(), 'DISPOSED', 'has been closed')
    c.dispose()
  })

  it('works twice, by name or by a block', async () => {
    const device = await openAt(home)
    const [first, second] = [device.close(), device.close()]
    await Promise.all([first, second])
    await device.close()
    let retained: Device
    {
      await using opened = await openAt(home)
      retained = opened
      const a = await opened.full([2, 2], 4)
      expect([...(await a.download()).data]).toEqual([4, 4, 4, 4])
    }
    expectThrown(() => retained.memory(), 'DISPOSED')
  })

  it('makes every use an error, except dispose', async () => {
    const device = await openAt(home)
    const [a, b] = [await device.full([3, 3], 0), await device.full([3, 3], 0)]
    const view = a.view({ rows: [0, 1] })
    b.dispose()
    const closed = device.close()
    for (const round of ['closing', 'closed']) {
      expectThrown(() => device.memory(), 'DISPOSED', /^the device, .* has been closed: open it again/)
      await expectRejected(device.full([1, 1], 0), 'DISPOSED', /^the device, /)
      await expectRejected(device.upload(matrix(1, 1)), 'DISPOSED', /^the device, /)
      const refused = (error: unknown, name: string) =>
        expectError(error, 'DISPOSED', new RegExp(`^${name} was on .*, which has been closed`))
      refused(await caught(mpmm(a, a)), 'a')
      refused(await caught(mpmm(matrix(3, 3), matrix(3, 3), { accumulate: a })), 'accumulate')
      refused(await caught(plan(matrix(3, 3), a)), 'b')
      refused(await caught(mpmmGrouped([{ a, b: a }])), 'products\\[0\\]\\.a')
      refused(
        thrown(() => mpmmSync(a, a)),
        'a',
      )
      refused(
        thrown(() => a.view()),
        'the matrix',
      )
      refused(await caught(a.download()), 'the matrix')
      refused(await caught(a.combine(view)), 'the matrix')
      await expectRejected(b.download(), 'DISPOSED')
      expect([a.disposed, view.disposed, a.shape, round]).toEqual([true, true, [3, 3], round])
      await closed
    }
    for (const each of [view, a, b, a]) each.dispose()
    expect([device.backend, device.name !== '']).toEqual([home.backend, true])
  })

  it('keeps other devices, and allows opening again', async () => {
    const [first, second] = [await openAt(home), await openAt(home)]
    const a = await second.full([20, 20], 7)
    await first.close()
    const third = await openAt(home)
    const { c } = await mpmm(a, a)
    expect(new Set((await c.download()).data)).toEqual(new Set([14]))
    expect((await third.full([1, 1], 0)).shape).toEqual([1, 1])
    await Promise.all([second.close(), third.close()])
  })

  it('works while a device is being opened, many times', async () => {
    for (let round = 0; round < 5; round++) {
      const opening = Array.from({ length: 4 }, () => openAt(home))
      await Promise.all(opening.map(async (device) => (await device).close()))
    }
  })
}

/** Tests in separate processes, which can request a garbage collection. */
function garbage({ where, pretended }: Home): void {
  const run = (body: string) => {
    const program = `
      import { matrix, mpmm, mpmmGrouped, openDevice } from ${inDist('lib/index.js')}
      const turn = () => new Promise((resolve) => setImmediate(resolve))
      import { addon } from ${inDist('lib/native.js')}
      addon.pretendDevices(${pretended})
      const open = () => openDevice(${JSON.stringify(where)})
      const device = await open()
      const collected = async () => {
        for (let round = 0; round < 100 && device.memory().used > 0; round++) {
          await turn()
          gc()
        }
        return device.memory().used
      }
      ${body}
    `
    return readOutput(program, { flags: ['--expose-gc'] })
  }

  it('releases memory of matrices that were not disposed', () => {
    const said = run(`
      async function use() {
        const a = await device.upload(matrix(100, 100))
        const view = a.view({ rows: [0, 50] }).transpose()
        const { c } = await mpmm(a, view)
        const results = await mpmmGrouped([{ a, b: c }, { a: c.transpose(), b: a }])
        await results[1].c.combine(results[1].c)
        return device.memory().used > 0
      }
      console.log(await use(), await collected())
    `)
    expect(said).toBe('true 0')
  })

  it('keeps the memory of a view whose matrix was collected', () => {
    const said = run(`
      const make = async () => (await device.full([30, 30], 6)).view({ rows: [0, 1], cols: [0, 3] })
      const view = await make()
      for (let round = 0; round < 10; round++) {
        await turn()
        gc()
      }
      console.log((await view.download()).data.join(), device.memory().used > 0)
    `)
    expect(said).toBe('6,6,6 true')
  })

  it('closes a device that was not closed, and its process ends', () => {
    const said = run(`
      const other = async () => {
        const device = await open()
        await device.full([10, 10], 1)
      }
      for (let round = 0; round < 20; round++) {
        await other()
        await turn()
        gc()
      }
      const a = await device.full([300, 300], 1)
      mpmm(a, a).then(({ c }) => c.download()).then(({ data }) => console.log(data[5]))
    `)
    expect(said).toBe('2')
  })
}
