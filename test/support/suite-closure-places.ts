/** Where the operands and results of closures are, and what else runs there. */
import { expect, it } from 'vitest'
import { star } from '../../lib/algebra.js'
import { type Device, type MatrixLike, openDevice } from '../../lib/index.js'
import { anyStar, type Backend, elementsOf, expectError, expectValues, square } from './closures.js'
import { type ClosureAlgebra, closureOf, rulesOf, weightsOf } from './expected-closures.js'
import { Random } from './generators.js'
import { caught, made } from './resident.js'

export function places(backend: Backend, open: () => Device): void {
  const algebra: ClosureAlgebra = { semiring: 'max-plus', type: 'int32' }
  const n = 66
  const data = weightsOf(algebra, n, 0.2, 3) as Int32Array
  const expected = () => closureOf(algebra, n, data, true)
  const transposed = Int32Array.from(data, (_, index) => data[(index % n) * n + Math.floor(index / n)]!)

  it('reads matrices with any strides', async () => {
    const { c } = await star({ data: transposed, shape: [n, n], strides: [1, n] }, { backend })
    expectValues(c.data, expected(), 'transposed')
    const spread = new Int32Array(2 * n * (n + 3) + 5).fill(99)
    for (let index = 0; index < data.length; index++) {
      spread[5 + 2 * (Math.floor(index / n) * (n + 3) + (index % n))] = data[index]!
    }
    const part = {
      data: spread,
      shape: [n, n] as [number, number],
      strides: [2 * (n + 3), 2] as [number, number],
      offset: 5,
    }
    expectValues((await star(part, { backend })).c.data, expected(), 'a part')
  })

  it('reads one matrix as a batch', async () => {
    const { c } = await star({ data, shape: [3, n, n], strides: [0, n, 1] }, { backend })
    for (let item = 0; item < 3; item++) {
      expectValues(c.data.subarray(item * n * n, (item + 1) * n * n), expected(), `matrix ${item}`)
    }
  })

  it('takes int16 exactly', async () => {
    for (const semiring of ['max-plus', 'min-plus'] as const) {
      const none = semiring === 'max-plus' ? -32768 : 32767
      const sign = semiring === 'max-plus' ? -1 : 1
      const random = new Random(9)
      const narrow = new Int16Array(n * n).map(() =>
        random.chance(0.3) ? sign * random.integer(0, 32000) : none,
      )
      const { zero } = rulesOf({ semiring, type: 'int32' })
      const wide = Int32Array.from(narrow, (value) => (value === none ? zero : value))
      const right = closureOf({ semiring, type: 'int32' }, n, wide, true)
      const { c } = await star(square(narrow, n) as MatrixLike<Int16Array>, { semiring, backend })
      expectValues(c.data, right, 'in an array')
      const resident = await open().upload(square(narrow, n) as MatrixLike<Int16Array>)
      const { c: there } = await star(resident, { semiring })
      expect(there.dtype).toBe('int32')
      expectValues((await there.download()).data, right, 'on a device')
    }
  })

  it('writes into out, and leaves what is between its elements', async () => {
    const out = { data: new Int32Array(2 * n * n + 3).fill(7), shape: [n, n], strides: [2, 2 * n], offset: 3 }
    const { c } = await star({ data, shape: [n, n] }, { backend, out })
    expect(c).toBe(out)
    const values = Int32Array.from(
      data,
      (_, index) => out.data[3 + 2 * (Math.floor(index / n) + n * (index % n))]!,
    )
    expectValues(values, expected(), 'out')
    expect(
      out.data.filter((_, index) => index < 3 || (index - 3) % 2 === 1).every((value) => value === 7),
    ).toBe(true)
  })

  it('works in place', async () => {
    const a = made(data.slice(), [n, n]) as MatrixLike<Int32Array>
    const { c } = await star(a, { backend, out: a })
    expect(c).toBe(a)
    expectValues(a.data, expected(), 'in place')
    const turned = { data: data.slice(), shape: [n, n] }
    await star(turned, { backend, out: { data: turned.data, shape: [n, n], strides: [1, n] } })
    const back = Int32Array.from(data, (_, index) => turned.data[(index % n) * n + Math.floor(index / n)]!)
    expectValues(back, expected(), 'in place, transposed')
  })

  it('leaves operands as they are', async () => {
    const copy = data.slice()
    const resident = await open().upload(square(data, n) as MatrixLike<Int32Array>)
    await star({ data, shape: [n, n] }, { backend })
    await star(resident)
    expect(data).toEqual(copy)
    expect((await resident.download()).data).toEqual(copy)
    resident.dispose()
  })

  it('stays on the device of its operand', async () => {
    const device = open()
    const a = await device.upload({ data: transposed, shape: [n, n] })
    const { c, backend: took, device: name } = await star(a.transpose())
    expect(took).toBe(backend)
    expect(name).toBe(device.name)
    expect(c.device).toBe(device)
    expectValues((await c.download()).data, expected(), 'transposed')
    const whole = await device.full([n + 4, 2 * n], 5)
    const out = whole.view({ rows: [3, n + 3], cols: [9, n + 9] })
    const { c: written } = await star(a.transpose(), { out })
    expect(written).toBe(out)
    expectValues((await out.download()).data, expected(), 'out')
    const around = (await whole.download()).data
    expect(around.filter((value) => value === 5).length).toBeGreaterThanOrEqual((n + 4) * 2 * n - n * n)
    const { c: same } = await star(a, { out: a })
    expect(same).toBe(a)
    expectValues((await a.transpose().download()).data, expected(), 'in place')
  })

  it('goes to the device of out', async () => {
    const out = await open().full([n, n], 1)
    const { c } = await star({ data, shape: [n, n] }, { out })
    expect(c).toBe(out)
    expectValues((await out.download()).data, expected(), 'out')
  })

  it('comes before what is asked of the device afterwards', async () => {
    const device = open()
    const a = await device.upload({ data, shape: [n, n] })
    const closed = star(a, { out: a })
    const download = a.download()
    a.dispose()
    expectValues((await download).data, expected(), 'a copy that was asked for at once')
    await closed
    const gaining = await device.upload({ data: Int32Array.of(1), shape: [1, 1] })
    const failed = caught(star(gaining, { out: gaining }))
    const next = caught(gaining.download())
    expectError(await failed, 'CYCLE')
    await next
    expect([...(await gaining.download()).data]).toEqual([1])
  })

  it('needs no memory afterwards', async () => {
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
    expectError(await caught(star(gaining)), 'CYCLE')
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

  it('is disposed, or its device closed, while it is closed', async () => {
    const own = await openDevice({ backend })
    const a = await own.upload({ data, shape: [n, n] })
    const running = star(a)
    a.dispose()
    expectValues((await (await running).c.download()).data, expected(), 'disposed')
    const b = await own.upload({ data, shape: [n, n] })
    const last = star(b).then(
      () => 'done',
      (error: { code?: string }) => error.code,
    )
    await own.close()
    expect(['done', 'ERR_MPMML_DISPOSED']).toContain(await last)
  })

  it('runs beside others', async () => {
    const results = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async (seed) => {
        const size = 30 * seed
        const weights = weightsOf(algebra, size, 0.3, seed)
        const { c } = await anyStar(square(weights, size), { backend })
        return [await elementsOf(c), closureOf(algebra, size, weights, true)] as const
      }),
    )
    for (const [values, right] of results) expectValues(values, right, 'one of several')
  })

  it('tells how far it is', async () => {
    const told: number[] = []
    const size = 700
    const a = { data: new Float64Array(size * size).fill(1), shape: [size, size] }
    await star(a, { semiring: 'min-plus', backend, onProgress: ({ done }) => told.push(done) })
    expect(told).toEqual([...told].sort((x, y) => x - y))
    for (const done of told) expect(done >= 0 && done <= 1).toBe(true)
    if (told.length > 0) expect(told.at(-1)).toBe(1)
  })
}
