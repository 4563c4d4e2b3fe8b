/** Cycles that gain. */

import { describe, expect, it } from 'vitest'
import { star } from '../../lib/algebra.js'
import { CycleError, type Device, DeviceMatrix } from '../../lib/index.js'
import { arrayOf } from './algebras.js'
import {
  type AnyMatrix,
  anyPlus,
  anyStar,
  type Backend,
  elementsOf,
  expectError,
  expectValues,
  square,
} from './closures.js'
import {
  better,
  type ClosureAlgebra,
  closureAlgebras,
  closureOf,
  rulesOf,
  times,
  weightsOf,
} from './expected-closures.js'
import { Random } from './generators.js'
import { caught, made } from './resident.js'

/** Checks that the error has a simple cycle of edges which gains. */
function expectCycle(
  error: unknown,
  algebra: ClosureAlgebra,
  n: number,
  weights: ArrayLike<number>,
  what: string,
): CycleError {
  const rules = rulesOf({
    ...algebra,
    type: algebra.type === 'float32' ? 'float64' : algebra.type,
  })
  const { zero, one } = rules
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
    sum = times(rules, sum, edge)
  })
  expect(better(rules, sum, one), `${what}: ${sum} gains`).toBe(true)
  expect(weight, what).toBe(sum)
  return error as CycleError
}

export function cycles(backend: Backend, open: () => Device): void {
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
        expectError(error, 'CYCLE', 'in matrix 2 of the batch')
        const { cycle, weight, batch: item } = error as CycleError
        expect(item).toBe(2)
        expect(weight).toBeLessThan(0)
        expect(cycle).toContain(1)
      }
      there.dispose()
    }
  })

  it('name a matrix of a batch that is closed some matrices at a time', async () => {
    // More than are closed at once.
    const [n, batch] = [8, 12_300]
    for (const bad of [0, 12_250, batch - 1]) {
      const data = new Int32Array(batch * n * n)
      data[bad * n * n + 3 * n + 3] = -1
      const error = await caught(anyStar(made(data, [batch, n, n]), { semiring: 'min-plus', backend }))
      expectError(error, 'CYCLE', `in matrix ${bad} of the batch`)
      const { cycle, batch: item } = error as CycleError
      expect([item, cycle.includes(3)]).toEqual([bad, true])
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
