/** Closures and powers: the same for both backends. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeWeights } from '../../lib/algebra/close.js'
import { readAlgebraOptions } from '../../lib/algebra/options.js'
import { type AlgebraOptions, plus, power, star } from '../../lib/algebra.js'
import {
  CycleError,
  type Device,
  DeviceMatrix,
  type MatrixLike,
  type OperandArray,
  openDevice,
} from '../../lib/index.js'
import { readView } from '../../lib/view.js'
import { expectError as expectCoded, expectElements } from './expect.js'
import {
  arrayOf,
  type ClosureAlgebra,
  closureAlgebras,
  closureOf,
  densities,
  type Expected,
  reflexiveOf,
  roundedWeights,
  rulesOf,
  weightsOf,
  wrongWay,
} from './expected-closures.js'
import { Random } from './generators.js'
import { algebras, caught, expectIs, identity, made, random as randomElements } from './resident.js'

type Backend = 'cpu' | 'cuda'
type AnyMatrix = MatrixLike<OperandArray> | DeviceMatrix<OperandArray>
type AnyClosure = (a: AnyMatrix, options?: object) => Promise<{ c: never; backend: Backend; device: string }>

// Types that are only known at run time.
const anyStar = star as unknown as AnyClosure
const anyPlus = plus as unknown as AnyClosure
const anyPower = power as unknown as (
  a: AnyMatrix,
  n: unknown,
  options?: object,
) => Promise<{ c: never; backend: Backend }>

const expectError = (error: unknown, code: string, ...patterns: (string | RegExp)[]) =>
  expectCoded(error, `ERR_MPMML_${code}`, ...patterns)

/** Around the pivots that are passed at a time (64), and their groups (256). */
const sizes = [0, 1, 2, 3, 5, 63, 64, 65, 66, 100, 128, 129, 200, 257, 321]

/** The sizes for what is slow, or doesn't depend on them. */
const fewSizes = [1, 4, 64, 65, 130]

const square = (data: OperandArray, n: number) => made(data, [n, n])

/** Elements of a result, wherever it is. */
async function elementsOf(c: unknown): Promise<OperandArray> {
  return c instanceof DeviceMatrix ? (await c.download()).data : (c as MatrixLike<OperandArray>).data
}

function expectValues(data: ArrayLike<number>, { values, gain }: Expected, what: string): void {
  expect(gain, `${what}: no cycle gains`).toBe(-1)
  expect(data.length, what).toBe(values.length)
  // -0 and 0 are the same distance.
  const wrong = values.findIndex((value, index) => data[index] !== value)
  if (wrong >= 0) expect.fail(`${what}: element ${wrong} is ${data[wrong]} and should be ${values[wrong]}`)
}

function expectNext(data: ArrayLike<number>, { next }: Expected, what: string): void {
  expect(data.length, what).toBe(next.length)
  const wrong = next.findIndex((node, index) => data[index] !== node)
  if (wrong >= 0) expect.fail(`${what}: next[${wrong}] is ${data[wrong]} and should be ${next[wrong]}`)
}

/** The closure with `next`, as the graph functions ask for it. */
async function withNext(a: AnyMatrix, options: AlgebraOptions & { reflexive?: boolean }) {
  const { reflexive = true, ...others } = options
  const view = readView(a, 'a', 'operand')
  const { distances, next } = await closeWeights(view, readAlgebraOptions(others), { reflexive, next: true })
  return {
    distances: await elementsOf(distances),
    next: await elementsOf(next),
    resident: next instanceof DeviceMatrix,
  }
}

export function closureSuite(backend: Backend): void {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ backend })
  })
  afterAll(() => device.close())
  const open = () => device

  describe('star and plus', () => closures(backend))
  describe('next', () => nextNodes(backend, open))
  describe('matrices in and out', () => places(backend, open))
  describe('cycles that gain', () => cycles(backend, open))
  describe('integers at their limits', () => limits(backend, open))
  describe('bad input', () => badInput(backend, open))
  describe('giving up', () => givingUp(backend, open))
  describe('power', () => powers(backend, open))
}

function closures(backend: Backend): void {
  describe.each(closureAlgebras)('$semiring, $type', (algebra) => {
    const { semiring, type } = algebra

    it.each(sizes)('of %i nodes', async (n) => {
      for (const [index, density] of densities.entries()) {
        if (n > 130 && index !== n % 3) continue
        const data = weightsOf(algebra, n, density, n + index)
        const what = `${n} nodes, density ${density}`
        const options = { semiring, backend }
        const { c, ...rest } = await anyStar(square(data, n), options)
        expect(rest.backend).toBe(backend)
        const expected = closureOf(algebra, n, data, false)
        expectValues(await elementsOf(c), reflexiveOf(algebra, n, expected), `star, ${what}`)
        const { c: other } = await anyPlus(square(data, n), options)
        expectValues(await elementsOf(other), expected, `plus, ${what}`)
      }
    })

    it.skipIf(type === 'int32' || type === 'uint8')('rounds as one pivot after the other does', async () => {
      for (const n of [3, 64, 65, 130, 300]) {
        const data = roundedWeights(algebra, n, 0.3, n)
        const { c } = await anyStar(square(data, n), { semiring, backend })
        expectValues(await elementsOf(c), closureOf(algebra, n, data, true), `${n} nodes`)
      }
    })

    it('of batches', async () => {
      for (const [batch, n] of [
        [0, 3],
        [1, 70],
        [3, 0],
        [5, 70],
        [300, 9],
        [40, 64],
      ] as const) {
        const items = Array.from({ length: batch }, (_, item) => weightsOf(algebra, n, 0.3, 100 * n + item))
        const data = new arrayOf[type](batch * n * n)
        items.forEach((item, index) => {
          data.set(item, index * n * n)
        })
        const { c } = await anyPlus(made(data, [batch, n, n]), { semiring, backend })
        expect((c as MatrixLike).shape).toEqual([batch, n, n])
        const result = await elementsOf(c)
        items.forEach((item, index) => {
          const part = result.subarray(index * n * n, (index + 1) * n * n)
          expectValues(part, closureOf(algebra, n, item, false), `matrix ${index} of ${batch}`)
        })
      }
    })
  })

  it('takes infinite weights that are not zero for weights', async () => {
    const { POSITIVE_INFINITY: inf, NEGATIVE_INFINITY: none } = Number
    const a = made(Float64Array.of(none, inf, none, none, none, 3, none, none, none), [3, 3])
    expect((await star(a as MatrixLike<Float64Array>, { backend })).c.data).toEqual(
      Float64Array.of(0, inf, inf, none, 0, 3, none, none, 0),
    )
  })

  it('takes -0 for 0', async () => {
    const a = made(Float32Array.of(-0, 2, 0, -0), [2, 2]) as MatrixLike<Float32Array>
    for (const semiring of ['min-plus', 'max-times', 'max-min', 'min-max'] as const) {
      const expected = closureOf({ semiring, type: 'float32' }, 2, a.data, false)
      expectValues((await plus(a, { semiring, backend })).c.data, expected, semiring)
    }
  })
}

function nextNodes(backend: Backend, open: () => Device): void {
  it.each(closureAlgebras)(
    '$semiring, $type: leads to each node, and is the same everywhere',
    async (algebra) => {
      const { semiring } = algebra
      for (const n of [...fewSizes, 2, 66, 200, 257]) {
        for (const density of [0.03, 0.4, 1]) {
          const data = weightsOf(algebra, n, density, n)
          const what = `${n} nodes, density ${density}`
          const expected = closureOf(algebra, n, data, true)
          const { distances, next } = await withNext(square(data, n), { semiring, backend })
          expectValues(distances, expected, what)
          expect(wrongWay(algebra, n, data, distances, next), what).toBeUndefined()
          expectNext(next, expected, what)
        }
      }
    },
  )

  it('of the plus leads round best cycles', async () => {
    const algebra = { semiring: 'min-plus', type: 'int32' } as const
    for (const n of fewSizes) {
      const data = weightsOf(algebra, n, 0.2, n + 1)
      const { distances, next } = await withNext(square(data, n), {
        semiring: 'min-plus',
        backend,
        reflexive: false,
      })
      const expected = closureOf(algebra, n, data, false)
      expectValues(distances, expected, `${n} nodes`)
      expectNext(next, expected, `${n} nodes`)
    }
  })

  it('of batches, and of matrices on a device stays there', async () => {
    const algebra = { semiring: 'max-plus', type: 'int32' } as const
    const n = 70
    const items = [1, 2, 3].map((seed) => weightsOf(algebra, n, 0.1, seed))
    const data = Int32Array.from(items.flatMap((item) => Array.from(item)))
    const batch = made(data, [3, n, n])
    const resident = await open().upload(batch)
    for (const a of [batch, resident]) {
      const { next, resident: stays } = await withNext(a, a === batch ? { backend } : {})
      expect(stays).toBe(a === resident)
      items.forEach((item, index) => {
        const part = next.subarray(index * n * n, (index + 1) * n * n)
        expectNext(part, closureOf(algebra, n, item, true), `matrix ${index}`)
      })
    }
    resident.dispose()
  })

  it('is right if sums are computed in float64', async () => {
    const algebra = { semiring: 'min-plus', type: 'int32' } as const
    const n = 65
    const random = new Random(5)
    const data = new Int32Array(n * n).map(() =>
      random.chance(0.2) ? random.integer(10_000_000, 20_000_000) : 2 ** 31 - 1,
    )
    const { distances, next } = await withNext(square(data, n), { semiring: 'min-plus', backend })
    expect(wrongWay(algebra, n, data, distances, next)).toBeUndefined()
    expectNext(next, closureOf(algebra, n, data, true), 'next')
  })
}

function places(backend: Backend, open: () => Device): void {
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

/** Checks that the error has a simple cycle of edges which gains. */
function expectCycle(
  error: unknown,
  algebra: ClosureAlgebra,
  n: number,
  weights: ArrayLike<number>,
  what: string,
): CycleError {
  const { zero, one, times, better } = rulesOf({
    ...algebra,
    type: algebra.type === 'float32' ? 'float64' : algebra.type,
  })
  expect(error, what).toBeInstanceOf(CycleError)
  expectError(error, 'CYCLE', 'gains')
  const { cycle, weight } = error as CycleError
  expect(cycle.length, what).toBeGreaterThan(0)
  expect(new Set(cycle).size, `${what}: no node twice`).toBe(cycle.length)
  let sum = one
  cycle.forEach((from, k) => {
    const edge = weights[from * n + cycle[(k + 1) % cycle.length]!]!
    expect(edge, `${what}: an edge`).not.toBe(zero)
    expect(edge, `${what}: an edge`).toBeDefined()
    sum = times(sum, edge)
  })
  expect(better(sum, one), `${what}: ${sum} gains`).toBe(true)
  expect(weight, what).toBe(sum)
  return error as CycleError
}

function cycles(backend: Backend, open: () => Device): void {
  const gaining = closureAlgebras.filter(({ semiring }) =>
    ['max-plus', 'min-plus', 'max-times'].includes(semiring),
  )

  describe.each(gaining)('$semiring, $type', (algebra) => {
    const { semiring } = algebra

    it.each([1, 2, 3, 10, 64, 65, 66, 129, 260])('among %i nodes are found and walked', async (n) => {
      for (let seed = 0; seed < 4; seed++) {
        const random = new Random(1000 * n + seed)
        const weights = weightsOf(algebra, n, [0.02, 0.1, 0.5, 1][seed]!, seed)
        // A cycle through some nodes, which gains by as little as there is.
        const nodes = Array.from({ length: n }, (_, node) => node)
        const length = random.integer(1, Math.min(n, 12))
        for (let k = 0; k < length; k++) {
          const other = random.integer(k, n - 1)
          ;[nodes[k], nodes[other]] = [nodes[other]!, nodes[k]!]
        }
        for (let k = 0; k < length; k++) {
          const place = nodes[k]! * n + nodes[(k + 1) % length]!
          if (semiring === 'max-times') weights[place] = k === 0 ? 1 + 2 ** -20 : 1
          else weights[place] = (semiring === 'max-plus' ? 1 : -1) * (k === 0 ? 1 : 0)
        }
        const what = `${n} nodes, seed ${seed}`
        expect(closureOf(algebra, n, weights, false).gain, what).toBeGreaterThanOrEqual(0)
        const out = made(weights.slice(), [n, n])
        const error = await caught(anyStar(square(weights, n), { semiring, backend, out }))
        expectCycle(error, algebra, n, weights, what)
        expect((error as CycleError).batch).toBeUndefined()
        expect(out.data, `${what}: out is as it was`).toEqual(weights)
        expectCycle(
          await caught(anyPlus(square(weights, n), { semiring, backend })),
          algebra,
          n,
          weights,
          what,
        )
      }
    })

    it('are found in many random graphs', async () => {
      const random = new Random(77)
      for (let round = 0; round < 120; round++) {
        const n = random.integer(1, 9)
        const { zero } = rulesOf(algebra)
        const weights = new arrayOf[algebra.type](n * n).map(() => {
          if (random.chance(0.6)) return zero
          return semiring === 'max-times' ? random.pick([0.25, 0.5, 1, 2]) : random.integer(-4, 4)
        })
        const expected = closureOf(algebra, n, weights, true)
        const result = await anyStar(square(weights, n), { semiring, backend }).then(
          ({ c }) => c,
          (error: unknown) => error,
        )
        if (expected.gain >= 0) expectCycle(result, algebra, n, weights, `round ${round}`)
        else expectValues(await elementsOf(result), expected, `round ${round}`)
      }
    })
  })

  it('name the first matrix of a batch that has one', async () => {
    const algebra = { semiring: 'min-plus', type: 'int32' } as const
    for (const n of [3, 80]) {
      const data = new Int32Array(5 * n * n)
      for (let item = 0; item < 5; item++) data.set(weightsOf(algebra, n, 0.2, item), item * n * n)
      data[2 * n * n + n + 1] = -3
      data[3 * n * n] = -4
      const batch = made(data, [5, n, n])
      const there = await open().upload(batch)
      for (const [a, options] of [
        [batch, { backend }],
        [there, {}],
        [{ data, shape: [5, n, n], strides: [n * n, 1, n] }, { backend }],
      ] as const) {
        const error = await caught(anyStar(a as AnyMatrix, { semiring: 'min-plus', ...options }))
        expectError(error, 'CYCLE', 'of matrix 2')
        const { cycle, weight, batch: item } = error as CycleError
        expect(item).toBe(2)
        expect(weight).toBeLessThan(0)
        expect(cycle).toContain(1)
      }
      there.dispose()
    }
  })

  it('are those of the weights as they are, on devices and in int16 too', async () => {
    const algebra = { semiring: 'max-plus', type: 'int32' } as const
    const n = 70
    const data = weightsOf(algebra, n, 0.05, 8) as Int32Array
    data[69 * n + 3] = 10
    data[3 * n + 69] = -9
    const narrow = Int16Array.from(data, (value) => (value === -(2 ** 31) ? -32768 : value))
    const there = await open().upload(square(data, n))
    const thereNarrow = await open().upload(square(narrow, n))
    for (const a of [there, thereNarrow, square(narrow, n)]) {
      const options = a instanceof DeviceMatrix ? {} : { backend }
      expectCycle(await caught(anyStar(a, options)), algebra, n, data, 'int16')
    }
    const turned = there.transpose()
    const transposed = Int32Array.from(data, (_, index) => data[(index % n) * n + Math.floor(index / n)]!)
    expectCycle(await caught(anyStar(turned)), algebra, n, transposed, 'transposed')
  })

  it('have exact weights at the ends of int32', async () => {
    const a = Int32Array.of(-(2 ** 31), 2 ** 31 - 1, 2 ** 31 - 1, -(2 ** 31))
    const error = await caught(star({ data: a, shape: [2, 2] }, { backend }))
    expect((error as CycleError).weight).toBe(2 ** 32 - 2)
    expectCycle(error, { semiring: 'max-plus', type: 'int32' }, 2, a, 'ends')
    const b = Int32Array.of(2 ** 31 - 1, -(2 ** 31), 2 ** 31 - 2, 2 ** 31 - 1)
    const other = await caught(star({ data: b, shape: [2, 2] }, { backend, semiring: 'min-plus' }))
    expect((other as CycleError).weight).toBe(-2)
  })

  it.each(['min-plus', 'max-plus'] as const)(
    '%s: are found if their sums leave int32 on the way',
    async (semiring) => {
      const algebra = { semiring, type: 'int32' } as const
      const { zero } = rulesOf(algebra)
      const sign = semiring === 'min-plus' ? 1 : -1
      const far = sign * (2 ** 31 - 2)
      // 3 → 1 → 0 is beyond what stands for no edge, and 0 → 2 → 3 brings it back.
      const a = new Int32Array(16).fill(zero)
      for (const [from, to, weight] of [
        [3, 1, far],
        [1, 0, far],
        [0, 2, -far - sign],
        [2, 3, -far - sign],
        [3, 3, 5 * sign],
      ] as const) {
        a[from * 4 + to] = weight
      }
      const error = await caught(star({ data: a, shape: [4, 4] }, { backend, semiring }))
      expectCycle(error, algebra, 4, a, 'far')
      expect((error as CycleError).weight).toBe(-2 * sign)
    },
  )

  it('gain by infinite weights', async () => {
    const inf = Number.POSITIVE_INFINITY
    const a = Float64Array.of(-inf, inf, -5, -inf)
    const error = await caught(star({ data: a, shape: [2, 2] }, { backend }))
    expect((error as CycleError).weight).toBe(inf)
    expect([...(error as CycleError).cycle].sort()).toEqual([0, 1])
  })
}

function limits(backend: Backend, open: () => Device): void {
  const END = 2 ** 31

  it.each(['max-plus', 'min-plus'] as const)(
    '%s: exact where sums may leave 2^30 / 3 and int32',
    async (semiring) => {
      const algebra = { semiring, type: 'int32' } as const
      const { zero } = rulesOf(algebra)
      const sign = semiring === 'max-plus' ? -1 : 1
      const limit = semiring === 'max-plus' ? 357913941 : 357913940
      for (const n of [2, 3, 65, 100]) {
        for (const most of [
          Math.floor(limit / n),
          Math.floor(limit / n) + 1,
          Math.floor((END - 2) / n),
          1_000_000_000,
        ]) {
          const random = new Random(n + most)
          const data = new Int32Array(n * n).map(() => {
            if (random.chance(0.5)) return zero
            return sign * random.pick([most, most - 1, 0, random.integer(0, most)])
          })
          const expected = closureOf(algebra, n, data, true)
          if (expected.values.some((value) => value !== zero && Math.abs(value) > END - 2)) continue
          const { c } = await star({ data, shape: [n, n] }, { semiring, backend })
          expectValues(c.data, expected, `${n} nodes, to ${most}`)
        }
      }
    },
  )

  it.each(['max-plus', 'min-plus'] as const)(
    '%s: what leaves int32 in the end follows the policy',
    async (semiring) => {
      const { zero } = rulesOf({ semiring, type: 'int32' })
      const sign = semiring === 'max-plus' ? -1 : 1
      const [least, most] = semiring === 'max-plus' ? [-END + 1, END - 1] : [-END, END - 2]
      // A chain of 66 nodes.
      const n = 66
      const data = new Int32Array(n * n).fill(zero)
      for (let node = 0; node + 1 < n; node++) data[node * n + node + 1] = sign * 100_000_000
      const expected = closureOf({ semiring, type: 'int32' }, n, data, true)
      const resident = await open().upload({ data, shape: [n, n] })
      const out = { data: new Int32Array(n * n).fill(7), shape: [n, n] }
      const error = await caught(star({ data, shape: [n, n] }, { semiring, backend, out }))
      expectError(error, 'OVERFLOW', /\[0, 22\] is -?2200000000/)
      expect(out.data.every((value) => value === 7)).toBe(true)
      expectError(await caught(star(resident, { semiring, overflow: 'throw', out: resident })), 'OVERFLOW')
      expect((await resident.download()).data).toEqual(data)
      const clamp = expected.values.map((x) => (x === zero ? zero : Math.min(Math.max(x, least), most)))
      const wrapped = expected.values.map((x) => (x === zero ? zero : x | 0))
      for (const a of [{ data, shape: [n, n] }, resident]) {
        const options = a === resident ? { semiring } : { semiring, backend }
        for (const [overflow, values] of [
          ['saturate', clamp],
          ['wrap', wrapped],
        ] as const) {
          const { c } = await anyStar(a as AnyMatrix, { ...options, overflow })
          expectValues(await elementsOf(c), { ...expected, values }, overflow)
        }
      }
    },
  )

  it('names the element of a batch that overflows', async () => {
    const data = new Int32Array(3 * 9).fill(-END)
    data[2 * 9 + 1] = -END + 1
    data[2 * 9 + 5] = -7
    const error = await caught(star({ data, shape: [3, 3, 3] }, { backend }))
    expectError(error, 'OVERFLOW', '[2, 0, 2] is -2147483654', '-2147483647 to 2147483647')
  })

  it('what only the other way overflows is no error', async () => {
    // 0 → 1 → 2 leaves int32, but 0 → 2 is better.
    const data = Int32Array.of(-END, -END + 1, -5, -END, -END, -END + 1, -END, -END, -END)
    const { c } = await star({ data, shape: [3, 3] }, { backend })
    expect(c.data).toEqual(Int32Array.of(0, -END + 1, -5, -END, 0, -END + 1, -END, -END, 0))
  })
}

function badInput(backend: Backend, open: () => Device): void {
  const a = { data: Int32Array.of(-1, -2, -3, -4), shape: [2, 2] }
  const refused = async (
    code: string,
    matrix: unknown,
    options: object | undefined,
    ...patterns: (string | RegExp)[]
  ) => {
    for (const closure of [anyStar, anyPlus]) {
      expectError(await caught(closure(matrix as AnyMatrix, options)), code, ...patterns)
    }
  }

  it('matrices that are not square', async () => {
    const data = new Int32Array(12)
    await refused('SHAPE', { data, shape: [3, 4] }, { backend }, '[3, 4]', 'square')
    await refused('SHAPE', { data, shape: [2, 3, 2] }, { backend }, '[2, 3, 2]', 'square')
    await refused('SHAPE', { data, shape: [4, 4] }, { backend }, 'a.data')
    await refused('DTYPE', [1, 2], { backend })
  })

  it('weights that no path can be made of', async () => {
    for (const Type of [Float32Array, Float64Array]) {
      for (const n of [2, 70]) {
        const data = new Type(3 * n * n).fill(0.5)
        data[2 * n * n + n + 1] = Number.NaN
        const name = 'a[2, 1, 1] is NaN'
        await refused('VALUE', { data, shape: [3, n, n] }, { backend, semiring: 'min-plus' }, name)
        await refused('VALUE', { data, shape: [3, n, n] }, { backend, semiring: 'max-times' }, name)
        await refused('VALUE', await open().upload({ data, shape: [3, n, n] }), { semiring: 'max-min' }, name)
        await refused(
          'VALUE',
          { data: data.subarray(2 * n * n), shape: [n, n] },
          { backend },
          'a[1, 1] is NaN',
        )
      }
      const data = Type.of(0.5, 0, -0.25, 1)
      await refused(
        'VALUE',
        { data, shape: [2, 2] },
        { backend, semiring: 'max-times' },
        /^a\[1, 0\] is -0.25/,
      )
      await refused(
        'VALUE',
        await open().upload({ data, shape: [2, 2] }),
        { semiring: 'max-times' },
        'a[1, 0]',
      )
    }
  })

  it('options that are wrong', async () => {
    const floats = { data: new Float64Array(4), shape: [2, 2] }
    await refused('OPTION', floats, { backend, semiring: 'plus-times' }, 'plus-times')
    await refused('OPTION', floats, { backend, overflow: 'wrap' }, 'overflow is for integers')
    await refused('DTYPE', a, { backend, semiring: 'max-times' }, 'max-times')
    await refused('OPTION', a, { backend, variant: 'x' }, "'variant'")
    await refused('OPTION', a, { backend, accumulate: true }, "'accumulate'")
    await refused('OPTION', a, { semiring: 'min' }, "'min'")
    await refused('OPTION', a, { backend: 'gpu' }, "'gpu'")
    await refused(
      'OPTION',
      await open().upload(a),
      { backend: backend === 'cpu' ? 'cuda' : 'cpu' },
      'backend',
    )
  })

  it('out that does not fit', async () => {
    const data = new Int32Array(8)
    await refused('SHAPE', a, { backend, out: { data, shape: [2, 3] } }, 'out [2, 3]')
    await refused('SHAPE', a, { backend, out: { data, shape: [1, 2, 2] } }, 'out [1, 2, 2]')
    await refused('SHAPE', a, { backend, out: { data, shape: [2, 2], strides: [1, 1] } }, 'overlap')
    await refused(
      'DTYPE',
      a,
      { backend, out: { data: new Float64Array(4), shape: [2, 2] } },
      'float64',
      'int32',
    )
    await refused('DTYPE', a, { backend, out: { data: new Int16Array(4), shape: [2, 2] } }, 'Int16Array')
    const there = await open().upload(a)
    await refused('DEVICE', there, { out: { data, shape: [2, 2] } }, 'out is in an array')
    const other = await openDevice({ backend })
    await refused('DEVICE', there, { out: await other.full([2, 2], 0) }, 'another openDevice()')
    await other.close()
  })

  it('matrices that are gone', async () => {
    const there = await open().upload(a)
    there.dispose()
    await refused('DISPOSED', there, {}, 'a has been disposed')
    await refused('DISPOSED', a, { out: there }, 'out has been disposed')
    const data = new Int32Array(4)
    structuredClone(data, { transfer: [data.buffer] })
    await refused('DTYPE', { data, shape: [2, 2] }, { backend }, 'detached')
  })
}

function givingUp(backend: Backend, open: () => Device): void {
  const n = 1000
  const data = new Int32Array(n * n).fill(1)

  it('before it begins', async () => {
    const reason = new Error('enough')
    const signal = AbortSignal.abort(reason)
    for (const work of [star, plus]) {
      const error = await caught(work({ data, shape: [n, n] }, { semiring: 'min-plus', backend, signal }))
      expectError(error, 'ABORTED', 'the closure')
      expect((error as Error).cause).toBe(reason)
    }
    expectError(await caught(power({ data, shape: [n, n] }, 3, { backend, signal })), 'ABORTED', 'the power')
  })

  it('while it runs, and leaves out as it was', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const out = { data: new Int32Array(n * n).fill(7), shape: [n, n] }
    const resident = await open().upload({ data, shape: [n, n] })
    const works: (() => Promise<unknown>)[] = [
      () => star({ data, shape: [n, n] }, { semiring: 'min-plus', backend, signal, out }),
      () => star(resident, { semiring: 'min-plus', signal, out: resident }),
      () => power({ data, shape: [n, n] }, 1000, { semiring: 'min-plus', backend, signal, out }),
    ]
    const running = works.map((work) => caught(work()))
    controller.abort(new Error('enough'))
    for (const error of await Promise.all(running)) {
      expectError(error, 'ABORTED')
      expect((error as Error).cause).toBe(signal.reason)
    }
    expect(out.data.every((value) => value === 7)).toBe(true)
    expect((await resident.download()).data).toEqual(data)
    // The device still works.
    expect((await star(resident, { semiring: 'min-plus' })).c.shape).toEqual([n, n])
  })
}

function powers(backend: Backend, open: () => Device): void {
  it.each(algebras)('$semiring, $type: is the product of its factors', async (algebra) => {
    const { semiring, type } = algebra
    const a = randomElements(algebra, [6, 6], 4)
    if (type !== 'uint8' && semiring !== 'max-plus' && semiring !== 'min-plus') {
      a.data.forEach((value, index) => {
        if (Number.isFinite(value) && value !== -(2 ** 31) && value !== 2 ** 31 - 1) a.data[index] = value % 3
      })
    }
    const there = await open().upload(a)
    let last = identity(algebra, 6)
    for (let n = 0; n < 10; n++) {
      const { c, backend: took } = await anyPower(a, n, { semiring, backend })
      expect(took).toBe(backend)
      // Whole numbers: products are exact in any order.
      if (n === 0) expect((c as MatrixLike).data).toEqual(last.data)
      else expectIs(c, { semiring, type }, last, a, undefined, `the power ${n}`)
      const { c: resident } = await anyPower(there, n, { semiring })
      expect((resident as unknown) instanceof DeviceMatrix).toBe(true)
      expect(await elementsOf(resident)).toEqual((c as MatrixLike).data)
      last = c
    }
  })

  it('of batches, views, int16, in place', async () => {
    const data = Int32Array.from({ length: 18 }, (_, index) => (index * 7) % 11)
    const first = await power({ data: data.slice(0, 9), shape: [3, 3] }, 5, { backend })
    const second = await power({ data: data.slice(9), shape: [3, 3] }, 5, { backend })
    const both = { data: data.slice(), shape: [2, 3, 3] }
    const { c } = await power(both, 5, { backend, out: both })
    expect(c).toBe(both)
    expect([...both.data]).toEqual([...first.c.data, ...second.c.data])
    const there = await open().upload({ data, shape: [2, 3, 3] })
    const { c: same } = await power(there, 5, { out: there })
    expect(same).toBe(there)
    expect([...(await there.download()).data]).toEqual([...both.data])
    const turned = await power({ data: data.slice(0, 9), shape: [3, 3], strides: [1, 3] }, 5, { backend })
    expectElements({ data: turned.c.data, shape: [3, 3], strides: [1, 3] }, {
      batch: 1,
      rows: 3,
      cols: 3,
      data: [...first.c.data],
    } as never)
    const narrow = Int16Array.of(3, -32768, 2, 1)
    for (const n of [0, 1, 2, 5]) {
      const wide = Int32Array.of(3, -(2 ** 31), 2, 1)
      const { c: result } = await power({ data: narrow, shape: [2, 2] }, n, { backend })
      expect(result.data).toEqual((await power({ data: wide, shape: [2, 2] }, n, { backend })).c.data)
    }
    for (const n of [0, 1, 2]) {
      expect((await power({ data: new Int32Array(0), shape: [0, 0] }, n, { backend })).c.shape).toEqual([
        0, 0,
      ])
    }
  })

  it('treats overflow as its products do', async () => {
    const a = { data: Int32Array.of(700_000_000), shape: [1, 1] }
    expect((await power(a, 3, { backend })).c.data[0]).toBe(2_100_000_000) // A⁴ would overflow.
    expectError(await caught(power(a, 4, { backend })), 'OVERFLOW')
    expect((await power(a, 4, { backend, overflow: 'saturate' })).c.data[0]).toBe(2 ** 31 - 1)
    expect((await power(a, 4, { backend, overflow: 'wrap' })).c.data[0]).toBe(2_800_000_000 | 0)
    const out = { data: Int32Array.of(5), shape: [1, 1] }
    expectError(await caught(power(a, 4, { backend, out })), 'OVERFLOW')
    expect(out.data[0]).toBe(5)
  })

  it('takes large exponents', async () => {
    const a = { data: Float64Array.of(1, -(2 ** 10), 3, -1), shape: [2, 2] }
    expect((await power(a, Number.MAX_SAFE_INTEGER, { backend })).c.data[0]).toBe(Number.MAX_SAFE_INTEGER)
  })

  it('refuses what has no power', async () => {
    const a = { data: new Int32Array(4), shape: [2, 2] }
    for (const n of [-1, 1.5, Number.NaN, 2 ** 53, '2', undefined, 2n]) {
      expectError(await caught(anyPower(a, n, { backend })), 'OPTION', 'exponent')
    }
    expectError(await caught(anyPower({ data: new Int32Array(6), shape: [2, 3] }, 2)), 'SHAPE', 'square')
    expectError(
      await caught(anyPower({ data: new Float64Array(4), shape: [2, 2] }, 2, { overflow: 'wrap' })),
      'OPTION',
    )
    const negative = { data: Float64Array.of(1, -2, 3, 4), shape: [2, 2] }
    for (const n of [1, 2]) {
      const error = await caught(anyPower(negative, n, { backend, semiring: 'max-times' }))
      expectError(error, 'VALUE', 'a[0, 1]')
    }
    const disposed = await open().upload(a)
    disposed.dispose()
    expectError(await caught(anyPower(disposed, 2)), 'DISPOSED')
  })

  it('needs no memory afterwards, and tells how far it is', async () => {
    await using device = await openDevice({ backend })
    const a = await device.upload({ data: new Float32Array(400 * 400).fill(1), shape: [400, 400] })
    const before = device.memory().used
    const told: number[] = []
    const { c } = await power(a, 45, { semiring: 'max-min', onProgress: ({ done }) => told.push(done) })
    c.dispose()
    expect(told).toEqual([...told].sort((x, y) => x - y))
    expect(device.memory().used).toBe(before)
  })
}
