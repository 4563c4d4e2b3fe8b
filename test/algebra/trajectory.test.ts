/** Trajectories and their periodic regimes, compared with loops over all elements. */
import { describe, expect, it } from 'vitest'
import type { SumSemiring } from '../../lib/algebra/weights.js'
import { eigenvectors, periodicRegime, type TrajectoryOptions, trajectory } from '../../lib/algebra.js'
import type { EdgeList } from '../../lib/graph.js'
import { type DeviceMatrix, EPSILON, matrix, openDevice, zeroOf } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'

/** Rows of numbers; −Infinity is no edge. Min-plus is computed on negated numbers. */
type Rows = number[][]
const e = -Infinity

const step = (a: Rows, x: number[]): number[] =>
  a.map((row) =>
    row.reduce((most, value, j) => (value === e || x[j] === e ? most : Math.max(most, value + x[j]!)), e),
  )

function states(a: Rows, x0: number[], steps: number): Rows {
  const all = [x0]
  for (let k = 0; k < steps; k++) all.push(step(a, all[k]!))
  return all
}

const signOf = (semiring: SumSemiring) => (semiring === 'max-plus' ? 1 : -1)

const int32 = (values: number[], semiring: SumSemiring) =>
  Int32Array.from(values, (value) => (value === e ? zeroOf(semiring) : signOf(semiring) * value))

const float = (values: number[], semiring: SumSemiring, Type: typeof Float32Array | typeof Float64Array) =>
  new Type(values.length).map((_, i) => signOf(semiring) * values[i]!)

function edgesOf(a: Rows, weight: Int32Array | Float32Array | Float64Array, zero: number) {
  const n = a.length
  const cells = Array.from(weight.keys()).filter((at) => weight[at] !== zero)
  return {
    nodes: n,
    from: cells.map((at) => Math.floor(at / n)),
    to: cells.map((at) => at % n),
    weight: weight.filter((value) => value !== zero),
  }
}

function randomRows(random: Random, n: number, share: number, most = 9): Rows {
  return Array.from({ length: n }, () =>
    Array.from({ length: n }, () => (random.chance(share) ? random.integer(-most, most) : e)),
  )
}

describe.each<SumSemiring>(['max-plus', 'min-plus'])('%s', (semiring) => {
  const random = new Random(semiring.length)
  it.each([
    [0, 3],
    [1, 0],
    [1, 4],
    [3, 5],
    [5, 20],
    [40, 7],
  ])('computes trajectories of %i elements, %i steps', async (n, steps) => {
    for (const share of [1, 0.4, 0.1]) {
      const a = randomRows(random, n, share)
      const x0 = Array.from({ length: n }, () => (random.chance(0.2) ? e : random.integer(-9, 9)))
      const expected = states(a, x0, steps).flat()
      const options = { steps, semiring }
      const whole = int32(a.flat(), semiring)
      const x = int32(x0, semiring)
      const result = await trajectory(matrix(n, n, whole), x, options)
      expect(result.shape).toEqual([steps + 1, n])
      expect(result.data).toEqual(int32(expected, semiring))
      expect((await trajectory(matrix(n, n, whole), matrix(n, 1, x), options)).data).toEqual(result.data)
      const list = edgesOf(a, whole, zeroOf(semiring))
      expect((await trajectory(list as EdgeList<Int32Array>, x, options)).data).toEqual(result.data)
      for (const Type of [Float32Array, Float64Array]) {
        const floats = float(a.flat(), semiring, Type)
        const from = float(x0, semiring, Type)
        const same = float(expected, semiring, Type)
        const one = await trajectory(matrix(n, n, floats as Float64Array), from, options)
        expect(one.data.map((value) => value + 0)).toEqual(same.map((value) => value + 0))
        const edges = edgesOf(a, floats, zeroOf(semiring, 'float64'))
        const other = await trajectory(edges as EdgeList<Float64Array>, Array.from(from), options)
        expect(other.data.map((value) => value + 0)).toEqual(same.map((value) => value + 0))
      }
    }
  })

  it('accepts x(0) as a column of int16 inside another matrix', async () => {
    const zero = semiring === 'max-plus' ? -(2 ** 15) : 2 ** 15 - 1
    const data = Int16Array.of(9, 9, 9, 4, 9, 9, zero, 9, 9, -3, 9)
    const x0 = { data, shape: [3, 1], strides: [3, 1], offset: 3 }
    const ring = { nodes: 3, from: [0, 1, 2], to: [1, 2, 0], weight: [1, 2, 5] }
    const plain = Int32Array.of(4, zeroOf(semiring), -3)
    const expected = await trajectory(ring, plain, { steps: 4, semiring })
    expect((await trajectory(ring, x0, { steps: 4, semiring })).data).toEqual(expected.data)
    expect(expected.data.subarray(3, 6)).toEqual(Int32Array.of(zeroOf(semiring), -1, 9))
    expect(await periodicRegime(ring, x0, { semiring })).toEqual(
      await periodicRegime(ring, plain, { semiring }),
    )
  })

  it('accepts inputs', async () => {
    for (const [n, m, steps] of [
      [1, 1, 1],
      [3, 2, 6],
      [20, 5, 9],
    ] as const) {
      const a = randomRows(random, n, 0.5)
      const b = Array.from({ length: n }, () =>
        Array.from({ length: m }, () => (random.chance(0.5) ? e : random.integer(0, 9))),
      )
      const u = Array.from({ length: m }, () =>
        Array.from({ length: steps }, (_, k) => (random.chance(0.3) ? e : 3 * k)),
      )
      const all = [Array.from({ length: n }, () => 0)]
      for (let k = 0; k < steps; k++) {
        const driven = step(
          b,
          u.map((row) => row[k]!),
        )
        all.push(step(a, all[k]!).map((value, i) => Math.max(value, driven[i]!)))
      }
      const of = (rows: Rows, cols: number) => matrix(rows.length, cols, int32(rows.flat(), semiring))
      const options = { steps, semiring, input: { b: of(b, m), u: of(u, steps) } }
      const { data } = await trajectory(of(a, n), new Int32Array(n), options)
      expect(data).toEqual(int32(all.flat(), semiring))
      const device = await openDevice({ backend: 'cpu' })
      try {
        const resident = await trajectory(await device.upload(of(a, n)), new Int32Array(n), options)
        expect((await resident.download()).data).toEqual(data)
      } finally {
        await device.close()
      }
    }
  })

  it('computes on a device', async () => {
    const device = await openDevice({ backend: 'cpu' })
    try {
      for (const [n, steps] of [
        [1, 0],
        [4, 3],
        [30, 600],
      ] as const) {
        const a = randomRows(random, n, 0.5)
        const x0 = Array.from({ length: n }, () => random.integer(-9, 9))
        const resident = await device.upload(matrix(n, n, int32(a.flat(), semiring)))
        const result = await trajectory(resident, int32(x0, semiring), { steps, semiring })
        expect(result.device).toBe(device)
        expect((await result.download()).data).toEqual(int32(states(a, x0, steps).flat(), semiring))
        const x = await device.upload(matrix(n, 1, int32(x0, semiring)))
        const again = await trajectory(resident, x, { steps, semiring })
        expect((await again.download()).data).toEqual((await result.download()).data)
        for (const each of [resident, result, x, again]) each.dispose()
        expect(device.memory().used).toBe(0)
      }
    } finally {
      await device.close()
    }
  })

  it('computes on a device, with inputs on the device or in arrays', async () => {
    const device = await openDevice({ backend: 'cpu' })
    try {
      const [n, inputs, steps] = [12, 3, 300]
      const [a, b] = [
        randomRows(random, n, 0.5),
        randomRows(random, n, 0.5).map((row) => row.slice(0, inputs)),
      ]
      const u = Array.from({ length: steps }, () =>
        Array.from({ length: inputs }, () => random.integer(-9, 999)),
      )
      const x0 = Array.from({ length: n }, () => random.integer(-9, 9))
      const expected = [x0]
      for (let k = 0; k < steps; k++) {
        const [own, outside] = [step(a, expected[k]!), step(b, u[k]!)]
        expected.push(own.map((value, i) => Math.max(value, outside[i]!)))
      }
      const inArrays = {
        b: matrix(n, inputs, int32(b.flat(), semiring)),
        u: { data: int32(u.flat(), semiring), shape: [inputs, steps], strides: [1, inputs] },
      }
      const there = { b: await device.upload(inArrays.b), u: await device.upload(inArrays.u) }
      const resident = await device.upload(matrix(n, n, int32(a.flat(), semiring)))
      const { used } = device.memory()
      for (const input of [inArrays, there]) {
        const result = await trajectory(resident, int32(x0, semiring), { steps, semiring, input })
        expect((await result.download()).data).toEqual(int32(expected.flat(), semiring))
        expect(device.memory().used).toBe(used + (steps + 1) * n * 4)
        result.dispose()
        expect(device.memory().used).toBe(used)
      }
    } finally {
      await device.close()
    }
  })

  it('handles overflow', async () => {
    const sign = signOf(semiring)
    const large = sign * 2 ** 30
    const graphs = [matrix(1, 1, [large]), { nodes: 1, from: [0], to: [0], weight: [large] }]
    for (const graph of graphs) {
      await expect(trajectory(graph, [0], { steps: 3, semiring })).rejects.toEqual(coded('OVERFLOW'))
      const overflow = (policy: 'saturate' | 'wrap') =>
        trajectory(graph, [0], { steps: 3, semiring, overflow: policy })
      const most = semiring === 'max-plus' ? 2 ** 31 - 1 : -(2 ** 31)
      // In min-plus −2^31 is finite: two steps reach it.
      expect([...(await overflow('saturate')).data]).toEqual([0, large, most, most])
      const wrapped = semiring === 'max-plus' ? [0, large, EPSILON, EPSILON] : [0, large, -(2 ** 31), 2 ** 30]
      expect([...(await overflow('wrap')).data]).toEqual(wrapped)
    }
  })
})

describe('published examples', () => {
  it('include Baccelli, Cohen, Olsder, Quadrat, Synchronization and Linearity: x(0) = (1, 0) becomes (7, 4)', async () => {
    const a = matrix(2, 2, [3, 7, 2, 4])
    const { data } = await trajectory(a, [1, 0], { steps: 4 })
    expect([...data]).toEqual([1, 0, 7, 4, 11, 9, 16, 13, 20, 18])
    expect(await periodicRegime(a, [1, 0])).toEqual({
      transient: 1,
      period: 2,
      growth: Float64Array.of(9, 9),
    })
    // Beginning with the eigenvector (2.5, 0), every step adds λ.
    const floats = matrix(2, 2, Float64Array.of(3, 7, 2, 4))
    expect(await periodicRegime(floats, [2.5, 0])).toEqual({
      transient: 0,
      period: 1,
      growth: Float64Array.of(4.5, 4.5),
    })
  })

  it('include maxplusmaxalgol of Scilab: period 1, and λ = 8', async () => {
    const _ = EPSILON
    const rows = [
      [_, 3, _, _, 7, _],
      [2, _, 6, _, 7, 2],
      [_, 7, 8, 9, _, _],
      [_, _, _, 1, 2, _],
      [8, _, 7, _, _, 2],
      [0, _, _, 6, 5, _],
    ]
    const a = matrix(6, 6, rows.flat())
    const { period, growth } = await periodicRegime(a, new Int32Array(6))
    expect([period, ...growth]).toEqual([1, 8, 8, 8, 8, 8, 8])
    expect(await periodicRegime(a, [15, 15, 17, 10, 16, 13])).toMatchObject({ transient: 0, period: 1 })
    expect(await periodicRegime(matrix(2, 2, [7, _, 0, 3]), [0, 0])).toMatchObject({
      period: 1,
      growth: Float64Array.of(7, 7),
    })
    expect(await periodicRegime(matrix(2, 2, [8, _, 0, 11]), [0, 0])).toMatchObject({
      growth: Float64Array.of(8, 11),
    })
  })
})

/**
 * Least p and c with x(k + c) = x(k) + growth for all k ≥ p within the computed steps; null if these show no
 * regime.
 */
function regimeOf(all: Rows): { transient: number; period: number; growth: number[] } | null {
  const last = all.length - 1
  for (let period = 1; period <= last / 4; period++) {
    // An element may be zero in some states of a period, and grow in others.
    const growth = all[last]!.map((_, i) => {
      const there = Array.from({ length: period }, (_, back) => last - back).find(
        (k) => all[k]![i] !== e && all[k - period]![i] !== e,
      )
      return there === undefined ? 0 : all[there]![i]! - all[there - period]![i]!
    })
    const fits = (k: number) =>
      growth.every((own, i) => {
        const [from, to] = [all[k]![i]!, all[k + period]![i]!]
        return from === e || to === e ? from === to : to - from === own
      })
    let transient = last - period + 1
    while (transient > 0 && fits(transient - 1)) transient--
    if (transient <= last / 2) return { transient, period, growth }
  }
  return null
}

describe('periodic regimes', () => {
  it.each(Array.from({ length: 300 }, (_, index) => index))(
    'have the period of long trajectories: graph %i',
    async (index) => {
      const random = new Random(index + 1000)
      const n = random.integer(1, 5)
      const semiring = random.pick(['max-plus', 'min-plus'] as const)
      const a = randomRows(random, n, random.pick([1, 0.6, 0.35]), random.pick([2, 9, 30]))
      const x0 = Array.from({ length: n }, () =>
        index % 3 === 0 && random.chance(0.4) ? e : random.integer(-20, 20),
      )
      const expected = regimeOf(states(a, x0, 2000))
      const call = periodicRegime(matrix(n, n, int32(a.flat(), semiring)), int32(x0, semiring), {
        semiring,
        maxSteps: 5000,
      })
      if (!expected) {
        await expect(call).rejects.toEqual(coded('LIMIT', /within 5000 steps/))
        return
      }
      const { transient, period, growth } = await call
      expect({ transient, period }).toEqual({ transient: expected.transient, period: expected.period })
      expect(growth).toEqual(Float64Array.from(expected.growth, (value) => signOf(semiring) * value + 0))
      const all = states(a, x0, transient + 2 * period)
      for (let k = transient; k < transient + period; k++) {
        for (let i = 0; i < n; i++) {
          if (all[k]![i] === e) expect(all[k + period]![i]).toBe(e)
          else expect(all[k + period]![i]! - all[k]![i]!).toBe(signOf(semiring) * growth[i]! + 0)
        }
      }
      const list = edgesOf(a, int32(a.flat(), semiring), zeroOf(semiring))
      expect(await periodicRegime(list, int32(x0, semiring), { semiring })).toEqual({
        transient,
        period,
        growth,
      })
      const halves = {
        data: float(a.flat(), semiring, Float64Array).map((value) => value / 2),
        shape: [n, n],
      }
      const from = float(x0, semiring, Float64Array).map((value) => value / 2)
      expect(await periodicRegime(halves, from, { semiring })).toEqual({
        transient,
        period,
        growth: growth.map((value) => value / 2),
      })
    },
  )

  it('ignore a slower element that decides temporarily', async () => {
    // In the first step x₁ raises x₀ by 1, which resembles growth; afterwards x₁ stays constant.
    const _ = EPSILON
    const a = matrix(3, 3, [_, 0, 0, _, 0, _, _, _, 1])
    const x0 = [9, 10, -20]
    const { data } = await trajectory(a, x0, { steps: 2 })
    expect([...data]).toEqual([9, 10, -20, 10, 10, -19, 10, 10, -18])
    expect(await periodicRegime(a, x0)).toEqual({
      transient: 31,
      period: 1,
      growth: Float64Array.of(1, 0, 1),
    })
  })

  it('have no transient for an eigenvector', async () => {
    const random = new Random(3)
    for (let round = 0; round < 20; round++) {
      const n = random.integer(1, 6)
      const a = randomRows(random, n, 1)
      const { eigenvalue, vectors } = (await eigenvectors(matrix(n, n, int32(a.flat(), 'max-plus'))))!
      const scaled = a.flat().map((value) => value * eigenvalue.denominator)
      for (const { numerators } of vectors) {
        const regime = await periodicRegime(
          matrix(n, n, Int32Array.from(scaled)),
          Int32Array.from(numerators),
        )
        expect(regime).toEqual({
          transient: 0,
          period: 1,
          growth: new Float64Array(n).fill(eigenvalue.numerator),
        })
      }
    }
  })

  it('have long transients and periods', async () => {
    // Two cycles with the means 1000 and 999; the cycle with the smaller mean begins with a lead of 5000.
    const nodes = 3
    const slow = { nodes, from: [0, 1, 2, 2], to: [0, 1, 0, 1], weight: [1000, 999, 0, 5000] }
    expect(await periodicRegime(slow, [0, 0, 0])).toEqual({
      transient: 5001,
      period: 1,
      growth: Float64Array.of(1000, 999, 1000),
    })
    await expect(periodicRegime(slow, [0, 0, 0], { maxSteps: 4000 })).rejects.toEqual(coded('LIMIT'))
    // Cycles of 7, 11 and 13 nodes.
    const from: number[] = []
    const to: number[] = []
    for (const length of [7, 11, 13]) {
      const first = from.length
      for (let i = 0; i < length; i++) {
        from.push(first + i)
        to.push(first + ((i + 1) % length))
      }
    }
    const rings = { nodes: 31, from, to, weight: from.map((_, k) => k % 5) }
    const x0 = Array.from({ length: 31 }, (_, i) => (i * i) % 17)
    expect(await periodicRegime(rings, x0)).toMatchObject({ transient: 0, period: 1001 })
  })

  it('exist for empty states, and for elements that become zero', async () => {
    expect(await periodicRegime(matrix(0, 0), [])).toEqual({
      transient: 0,
      period: 1,
      growth: new Float64Array(0),
    })
    const path = { nodes: 3, from: [0, 1], to: [1, 2], weight: [1, 1] }
    expect(await periodicRegime(path, [0, 0, 0])).toEqual({
      transient: 3,
      period: 1,
      growth: new Float64Array(3),
    })
    expect(await periodicRegime(path, [EPSILON, EPSILON, EPSILON])).toMatchObject({ transient: 0, period: 1 })
  })
})

describe('bad input', () => {
  const a = matrix(2, 2, [3, 7, 2, 4])
  const list = { nodes: 2, from: [0, 1], to: [1, 0], weight: [1, 2] }
  const run = (weights: unknown, x0: unknown, options: object = { steps: 1 }) =>
    trajectory(weights as never, x0 as never, options as TrajectoryOptions)
  const regime = (weights: unknown, x0: unknown, options: object = {}) =>
    periodicRegime(weights as never, x0 as never, options as never)

  it.each<[string, () => Promise<unknown>, string, RegExp]>([
    ['no matrix', () => run(undefined, [0]), 'DTYPE', /a must be a matrix/],
    ['a matrix that is not square', () => run(matrix(2, 3), [0, 0]), 'SHAPE', /one square matrix/],
    ['a batch', () => run(matrix([2, 2, 2]), [0, 0]), 'SHAPE', /one square matrix/],
    ['uint8', () => run(matrix(1, 1, new Uint8Array(1)), [0]), 'DTYPE', /max-plus has/],
    ['a short state', () => run(a, [0]), 'SHAPE', /x0 must have 2 elements.*has 1/],
    ['a wide state', () => run(a, matrix(1, 2)), 'SHAPE', /2 × 1 matrix.*\[1, 2\]/],
    ['no state', () => run(a, undefined), 'DTYPE', /x0 must be a matrix/],
    ['a state of another type', () => run(a, new Float64Array(2)), 'DTYPE', /x0 must be of int32.*float64/],
    [
      'a state of another type, in a matrix',
      () => run(a, matrix(2, 1, new Float64Array(2))),
      'DTYPE',
      /x0 must be of int32/,
    ],
    ['a state of an odd type', () => run(a, new Uint16Array(2)), 'DTYPE', /x0 must be of int32.*Uint16Array/],
    ['a state of halves', () => run(a, [0.5, 0]), 'DTYPE', /x0\[0\] must be an int32/],
    ['a state of words', () => run(list, ['0', 0]), 'DTYPE', /x0\[0\] must be an int32/],
    ['NaN in the state', () => run(matrix(1, 1, new Float64Array(1)), [NaN]), 'VALUE', /x0\[0\] is NaN/],
    ['no steps', () => run(a, [0, 0], {}), 'OPTION', /steps must be a whole number from 0.*undefined/],
    ['negative steps', () => run(a, [0, 0], { steps: -1 }), 'OPTION', /steps must be/],
    ['half a step', () => run(list, [0, 0], { steps: 0.5 }), 'OPTION', /steps must be/],
    ['another option', () => run(a, [0, 0], { steps: 1, k: 1 }), 'OPTION', /no option 'k'/],
    [
      'another semiring',
      () => run(a, [0, 0], { steps: 1, semiring: 'or-and' }),
      'OPTION',
      /semiring must be/,
    ],
    ['no backend', () => run(a, [0, 0], { steps: 0, backend: 'nonsense' }), 'OPTION', /backend must be/],
    ['no backend, of edges', () => run(list, [0, 0], { steps: 1, backend: 'nonsense' }), 'OPTION', /backend/],
    ['no device, of edges', () => run(list, [0, 0], { steps: 1, device: -1 }), 'OPTION', /device must be/],
    ['no policy', () => run(a, [0, 0], { steps: 0, overflow: 'nonsense' }), 'OPTION', /overflow must be/],
    [
      'a GPU for edges',
      () => run(list, [0, 0], { steps: 1, backend: 'cuda' }),
      'OPTION',
      /backend is 'cuda', but the states of an edge list are computed on the CPU/,
    ],
    [
      'an input of edges',
      () => run(list, [0, 0], { steps: 1, input: {} }),
      'DTYPE',
      /input.b must be a matrix/,
    ],
    [
      'an input without matrices',
      () => run(a, [0, 0], { steps: 1, input: {} }),
      'DTYPE',
      /input.b must be a matrix/,
    ],
    [
      'inputs of other sizes',
      () => run(a, [0, 0], { steps: 2, input: { b: matrix(2, 1), u: matrix(1, 3) } }),
      'SHAPE',
      /input.u must be 1 × 2.*\[1, 3\]/,
    ],
    [
      'inputs of another type',
      () => run(a, [0, 0], { steps: 1, input: { b: matrix(2, 1, new Float64Array(2)), u: matrix(1, 1) } }),
      'DTYPE',
      /input.b must be of int32/,
    ],
    [
      'a policy for floats',
      () => run(matrix(1, 1, new Float64Array(1)), [0], { steps: 1, overflow: 'wrap' }),
      'OPTION',
      /overflow is for integers/,
    ],
    ['a signal', () => run(a, [0, 0], { steps: 5, signal: AbortSignal.abort() }), 'ABORTED', /aborted/],
    [
      'a signal, of edges',
      () => run(list, [0, 0], { steps: 5, signal: AbortSignal.abort() }),
      'ABORTED',
      /aborted/,
    ],
    [
      'regime: no limit',
      () => regime(a, [0, 0], { maxSteps: 0 }),
      'OPTION',
      /maxSteps must be a whole number from 1 /,
    ],
    ['regime: another option', () => regime(a, [0, 0], { steps: 1 }), 'OPTION', /no option 'steps'/],
    ['regime: a short state', () => regime(a, [0]), 'SHAPE', /x0 must have 2/],
    [
      'regime: ⊤',
      () => regime(matrix(1, 1, new Float64Array(1)), [Infinity]),
      'VALUE',
      /x0\[0\] is Infinity/,
    ],
    [
      'regime: a state below −2^53',
      () => regime(matrix(1, 1, Float64Array.of(-5)), [-(2 ** 53 - 1)]),
      'OVERFLOW',
      /element 0 is beyond 2\^53/,
    ],
    [
      'regime: a state above 2^53',
      () => regime(matrix(1, 1, Float64Array.of(5)), [2 ** 53 - 1]),
      'OVERFLOW',
      /element 0 is beyond 2\^53/,
    ],
    ['regime: tenths', () => regime(matrix(1, 1, Float64Array.of(0.1)), [1e10]), 'VALUE', /too many digits/],
    [
      'regime: an infinite weight',
      () => regime(matrix(1, 1, Float64Array.of(Infinity)), [0]),
      'VALUE',
      /\[0, 0\] is Infinity/,
    ],
  ])('%s', async (_, call, code, message) => {
    await expect(call()).rejects.toEqual(coded(code, message))
  })

  it('is rejected for sums beyond 2^53', async () => {
    const graph = matrix(2, 2, Float64Array.of(2 ** 52, -Infinity, 2 ** 53 - 10, 2 ** 52 - 1))
    await expect(periodicRegime(graph, [0, 0])).rejects.toEqual(coded('OVERFLOW', /beyond 2\^53/))
  })

  it('is rejected for options that contradict the device of the matrices', async () => {
    const [device, other] = [await openDevice({ backend: 'cpu' }), await openDevice({ backend: 'cpu' })]
    try {
      const resident = await device.upload(a)
      const [b, u] = [matrix(2, 1), matrix(1, 1)]
      const [onB, onU] = [await device.upload(b), await other.upload(u)]
      for (const [weights, options] of [
        [resident, {}],
        [a, { input: { b: onB, u } }],
        [a, { input: { b, u: onU } }],
      ] as const) {
        await expect(run(weights, [0, 0], { steps: 1, backend: 'cuda', ...options })).rejects.toEqual(
          coded('OPTION', /backend is 'cuda', but the matrices are on the CPU/),
        )
        await expect(run(weights, [0, 0], { steps: 0, backend: 'nonsense', ...options })).rejects.toEqual(
          coded('OPTION', /backend must be/),
        )
      }
      await expect(run(resident, [0, 0], { steps: 1, device: 1.5 })).rejects.toEqual(
        coded('OPTION', /device must be/),
      )
      await expect(run(a, [0, 0], { steps: 1, input: { b: onB, u: onU } })).rejects.toEqual(
        coded('DEVICE', /input.u and input.b must be on one device/),
      )
      await expect(run(resident, [0, 0], { steps: 1, input: { b, u: onU } })).rejects.toEqual(
        coded('DEVICE', /input.u and a must be on one device/),
      )
      onB.dispose()
      await expect(run(a, [0, 0], { steps: 1, input: { b: onB, u } })).rejects.toEqual(
        coded('DISPOSED', /input.b has been disposed/),
      )
    } finally {
      await device.close()
      await other.close()
    }
  })

  it('does not include inputs on a device with a matrix in an array: the states are then in an array', async () => {
    const device = await openDevice({ backend: 'cpu' })
    try {
      const [b, u] = [matrix(2, 1, [0, 1]), matrix(1, 3, [50, 0, 90])]
      const expected = await trajectory(a, [1, 0], { steps: 3, input: { b, u } })
      expect([...expected.data]).toEqual([1, 0, 50, 51, 58, 55, 90, 91])
      const [onB, onU] = [await device.upload(b), await device.upload(u)]
      for (const input of [
        { b: onB, u },
        { b, u: onU },
        { b: onB, u: onU },
      ]) {
        expect(await trajectory(a, [1, 0], { steps: 3, input })).toEqual(expected)
        const states = await trajectory(await device.upload(a), [1, 0], { steps: 3, input })
        expect((await states.download()).data).toEqual(expected.data)
      }
    } finally {
      await device.close()
    }
  })

  it('leaves no memory on the device', async () => {
    const device = await openDevice({ backend: 'cpu' })
    try {
      const large: DeviceMatrix = await device.upload(matrix(1, 1, [2 ** 30]))
      const { used } = device.memory()
      const input = { b: large, u: await device.full([1, 5], 0) }
      await expect(trajectory(large, [0], { steps: 5 })).rejects.toEqual(coded('OVERFLOW'))
      await expect(trajectory(large, [0], { steps: 5, input })).rejects.toEqual(coded('OVERFLOW'))
      input.u.dispose()
      expect(device.memory().used).toBe(used)
    } finally {
      await device.close()
    }
  })
})

describe('onProgress', () => {
  /** This trajectory would take seconds, but is aborted. */
  const long = () => {
    const n = 60
    const all = matrix(n, n)
    const nodes = Array.from({ length: n }, (_, node) => node)
    const from = nodes.flatMap((node) => nodes.map(() => node))
    const list = { nodes: n, from, to: nodes.flatMap(() => nodes), weight: new Int32Array(n * n) }
    return { all, list, x0: new Int32Array(n), steps: 500_000 }
  }

  it.each(['all', 'list'] as const)('reports shares, and aborts if it throws: %s', async (kind) => {
    const { x0, steps, ...weights } = long()
    const error = new Error('the listener is gone')
    const shares: number[] = []
    const states = trajectory(weights[kind] as never, x0, {
      steps,
      backend: kind === 'all' ? 'cpu' : undefined,
      onProgress({ done }) {
        shares.push(done)
        if (done > 0) throw error
      },
    })
    await expect(states).rejects.toBe(error)
    expect(shares.at(-1)).toBeGreaterThan(0)
    expect(shares.at(-1)).toBeLessThan(1)
  })

  it('must be a function; devices are rejected for edge lists, and beside device', async () => {
    const { all, list, x0 } = long()
    const wrong = { steps: 1, onProgress: 5 } as never
    await expect(trajectory(all, x0, wrong)).rejects.toEqual(coded('OPTION', /onProgress must be a function/))
    await expect(trajectory(list, x0, { steps: 1, devices: 'all' })).rejects.toEqual(
      coded('OPTION', /devices names GPUs, but the states of an edge list/),
    )
    const both = { steps: 1, devices: 'all', device: 0 } as const
    await expect(trajectory(all, x0, both)).rejects.toEqual(coded('OPTION', /devices both say where/))
  })
})
