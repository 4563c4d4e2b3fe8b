/** Closures among other work of a device: order, memory, and progress. */
import { expect, it } from 'vitest'
import { star } from '../../lib/algebra.js'
import { type Device, type MatrixLike, openDevice } from '../../lib/index.js'
import { sameBits } from '../../native/tools/fuzz/layouts.mjs'
import { expectedOf, starOf, storedValue, weightsOf } from './closures/case.js'
import type { Backend } from './closures.js'
import { caught, expectError, expectRejected } from './expect.js'
import { algebraOf, elementsOf } from './products/case.js'

export function places(backend: Backend, open: () => Device): void {
  const n = 66
  const algebra = algebraOf('max-plus')
  const one = starOf(algebra, weightsOf(algebra, n, 0.2, 3))
  const data = one.a.data as Int32Array
  const expectStar = (c: MatrixLike<Int32Array>) =>
    expect(
      sameBits(
        elementsOf(c).data,
        Int32Array.from(expectedOf(one)[0]!.values, (value) => storedValue(one, value)),
      ),
    ).toBe(true)

  it('works in place, transposed', async () => {
    const { data } = one.a as { data: Int32Array<ArrayBuffer> }
    const a = { data: data.slice(), shape: [n, n] as [number, number] }
    await star(a, { backend, out: { ...a, strides: [1, n] } })
    expectStar({ ...a, strides: [1, n] })
  })

  it('goes to the device of out', async () => {
    const out = await open().full([n, n], 1)
    const { c } = await star({ data, shape: [n, n] }, { out })
    expect(c).toBe(out)
    expectStar(await out.download())
  })

  it('runs before later work of the device', async () => {
    const device = open()
    const a = await device.upload({ data, shape: [n, n] })
    const closed = star(a, { out: a })
    const download = a.download()
    a.dispose()
    expectStar(await download)
    await closed
    const gaining = await device.upload({ data: Int32Array.of(1), shape: [1, 1] })
    const failed = caught(star(gaining, { out: gaining }))
    const next = caught(gaining.download())
    expectError(await failed, 'CYCLE')
    await next
    expect([...(await gaining.download()).data]).toEqual([1])
  })

  it('keeps no memory afterwards', async () => {
    await using device = await openDevice({ backend })
    const a = await device.upload({ data, shape: [n, n] })
    const before = device.memory().used
    for (let round = 0; round < 3; round++) {
      const { c } = await star(a)
      c.dispose()
      await star(a, { out: await device.full([n, n], 0) }).then(({ c: out }) => out.dispose())
    }
    const gaining = await device.upload({
      data: data.map((value, index) => (index === 5 * n + 5 ? 1 : value)),
      shape: [n, n],
    })
    await expectRejected(star(gaining), 'CYCLE')
    gaining.dispose()
    const large = await device.upload({
      data: data.map((value) => (value === -(2 ** 31) ? value : -(2 ** 31) + 1)),
      shape: [n, n],
    })
    await star(large).then(
      ({ c }) => c.dispose(),
      () => {},
    )
    large.dispose()
    expect(device.memory().used).toBe(before)
  })

  it('completes although its matrix is disposed, or its device closed, while it runs', async () => {
    const own = await openDevice({ backend })
    const a = await own.upload({ data, shape: [n, n] })
    const running = star(a)
    a.dispose()
    expectStar(await (await running).c.download())
    const b = await own.upload({ data, shape: [n, n] })
    const last = star(b).then(
      () => 'done',
      (error: { code?: string }) => error.code,
    )
    await own.close()
    expect(['done', 'ERR_MPMML_DISPOSED']).toContain(await last)
  })

  it('reports its progress', async () => {
    const reports: number[] = []
    const size = 700
    const a = { data: new Float64Array(size * size).fill(1), shape: [size, size] }
    await star(a, { semiring: 'min-plus', backend, onProgress: ({ done }) => reports.push(done) })
    expect(reports).toEqual([...reports].sort((x, y) => x - y))
    for (const done of reports) expect(done >= 0 && done <= 1).toBe(true)
    if (reports.length > 0) expect(reports.at(-1)).toBe(1)
  })
}
