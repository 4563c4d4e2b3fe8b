/**
 * Properties of closures in every semiring on every element type, at every target. test/cpu and test/gpu run
 * this suite.
 */
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { BackendName } from '../../lib/backend-name.js'
import { layoutNames } from '../../native/tools/fuzz/layouts.mjs'
import { inTurn, policies } from './cases.js'
import {
  type ClosureCase,
  closureAlgebras,
  gaining,
  plantCycle,
  roundedWeights,
  starOf,
  weightsBy,
  weightsOf,
} from './closures/case.js'
import { expectClosure, expectWays, type ResultTarget } from './closures/law.js'
import { Random } from './generators.js'
import { type AnyMatrix, algebraOf, elements, integerSums, nameOf } from './products/case.js'
import { type ExecutionTarget, targetsOf } from './products/targets.js'
import { itIf } from './skip.js'

/** Sizes around the number of pivots of a pass (64), and of a group of passes (256). */
const sizes = [0, 1, 2, 3, 5, 63, 64, 65, 66, 100, 129, 130, 200]

const MOST = 2 ** 31 - 1
const none = Number.NaN

export function closureLaws(backend: BackendName): void {
  const { targets, open, close } = targetsOf(backend)
  beforeAll(open)
  afterAll(close)
  const everywhere = targets.filter(({ grouped, sync }) => !grouped && !sync)
  const at = (...names: string[]) => everywhere.filter(({ name }) => names.includes(name))
  const inArrays = at('arrays')
  const few = at('arrays', 'a device', 'spread among devices')

  async function check(
    one: ClosureCase,
    where = everywhere,
    destinations: ResultTarget[] = ['new'],
  ): Promise<void> {
    for (const target of where)
      for (const destination of destinations) await expectClosure(target, one, destination)
  }
  /** Some of the targets, always including arrays; all of them on a GPU. */
  const someOf = (where: ExecutionTarget[], turn: number, share: number) => [
    ...new Set([...inArrays, ...inTurn(backend, where, turn, share)]),
  ]
  const plusOf = (one: ClosureCase): ClosureCase => ({ ...one, reflexive: false, what: `${one.what}, plus` })

  describe.each(closureAlgebras.map((algebra) => [nameOf(algebra), algebra] as const))('%s', (_, algebra) => {
    const turn = closureAlgebras.indexOf(algebra)
    const large = inTurn(backend, [257, 321], turn, 2)

    it.each([...sizes, ...large])('are closed with %i nodes', async (n) => {
      const densities = [...[0, 0.03, 0.4, 1].entries()]
      for (const [index, density] of n > 66 ? inTurn(backend, densities, turn + n, 4) : densities) {
        if (n > 200 && backend === 'cuda' && index !== 1 + (n % 2)) continue
        const one = starOf(algebra, weightsOf(algebra, n, density, n + index))
        expectWays(one)
        await check(one, inArrays, ['new', 'next'])
        await check(plusOf(one), inArrays, ['new', 'next'])
      }
    })

    it.each([1, 2, 3, 70, 265])('are closed with %i nodes, at every target', async (n) => {
      const draw = algebra.isFloat ? roundedWeights : weightsOf
      const one = starOf(algebra, draw(algebra, n, 0.2, n))
      if (n === 70) await check(one, everywhere, ['new', 'next', 'out', 'in place'])
      else await check(one, n < 70 ? everywhere : someOf(everywhere, turn, 4), ['next', 'in place'])
    })

    itIf(algebra.isFloat, 'are rounded as if the pivots were applied one after the other', async () => {
      // The test above covers the rounding of larger graphs at every target.
      for (const n of backend === 'cuda' ? [3, 64, 65, 130, 300] : [3, 64, 65, 130])
        await check(starOf(algebra, roundedWeights(algebra, n, 0.3, n)), inArrays, ['next'])
    })

    it.each([
      [0, 3],
      [1, 70],
      [3, 0],
      [5, 70],
      [300, 9],
      [backend === 'cuda' ? 40 : 9, 64],
    ])('are closed with %i of %i nodes', async (batch, n) => {
      const one = starOf(algebra, weightsOf(algebra, n, 0.3, n + batch, batch))
      await check(one, batch === 5 ? everywhere : few, ['next'])
      await check(plusOf(one), inArrays)
    })

    it.each(layoutNames)('are closed with weights that are %s, into every layout', async (name) => {
      for (const [index, other] of layoutNames.entries()) {
        const a = weightsOf(algebra, index % 2 ? 66 : 7, 0.2, index, index > 2 ? 3 : undefined)
        const where = inTurn(backend, few, turn + index + layoutNames.indexOf(name), 3)
        await check(starOf(algebra, a, { layouts: { a: name, out: other } }), where, ['out', 'in place'])
      }
    })

    itIf(algebra.isFloat, 'are closed with NaN as a weight', async () => {
      for (const n of [2, 50, 70]) {
        for (const position of [0, n + 1, n * n - 3]) {
          const one = starOf(algebra, weightsOf(algebra, n, 0.5, n, position === 0 ? 3 : undefined))
          const { data } = one.a
          data[data.length - n * n + position] = Number.NaN
          await check(one, few, ['out'])
          if (algebra.kind !== 'product') continue
          data[data.length - n * n + position] = -0.25
          await check({ ...one }, few, ['out'])
        }
      }
    })
  })

  describe.each(gaining.map((algebra) => [nameOf(algebra), algebra] as const))(
    'improving cycles: %s',
    (_, algebra) => {
      it.each([1, 2, 3, 10, 64, 65, 66, 129, 260])('are found among %i nodes', async (n) => {
        const densities = [...[0.02, 0.1, 0.5, 1].entries()]
        const turn = gaining.indexOf(algebra)
        for (const [seed, density] of n > 66 ? inTurn(backend, densities, turn, 2) : densities) {
          const random = new Random(1000 * n + seed)
          const nodes = Array.from({ length: n }, (_, node) => node)
          for (let k = 0; k < n; k++) {
            const other = random.integer(k, n - 1)
            ;[nodes[k], nodes[other]] = [nodes[other]!, nodes[k]!]
          }
          const one = starOf(algebra, weightsOf(algebra, n, density, seed))
          plantCycle(algebra, one.a, nodes.slice(0, random.integer(1, Math.min(n, 12))))
          await check(one, few, seed === 0 ? ['out', 'in place'] : ['out'])
          await check(plusOf(one), inArrays)
        }
      })

      it('are found for all nodes of the cycle, at every target', async () => {
        for (const n of backend === 'cuda' ? [5, 70, 300] : [5, 70, 265]) {
          for (const [index, nodes] of [[0], [n - 1], [1, n >> 1, n - 1], [n - 1, n - 2]].entries()) {
            const one = starOf(algebra, weightsOf(algebra, n, 0.2, n))
            plantCycle(algebra, one.a, nodes)
            const turn = gaining.indexOf(algebra) + index
            const where =
              n === 70 ? someOf(everywhere, turn, 3) : n > 70 ? inTurn(backend, few, turn, 3) : few
            await check(one, where, ['in place'])
          }
        }
      })

      it('are found in the first matrix of a batch that has one', async () => {
        for (const n of [3, 80]) {
          for (const items of [[2, 3], [4], [0]]) {
            const one = starOf(algebra, weightsOf(algebra, n, 0.2, n, 5))
            for (const item of items) plantCycle(algebra, one.a, n === 3 ? [1, 0] : [7, 60, 3, 41], item)
            await check(one, everywhere, ['in place'])
          }
        }
      })

      it('are found in many random graphs', async () => {
        const random = new Random(77)
        for (let round = 0; round < 120; round++) {
          const weight = () =>
            random.chance(0.6)
              ? none
              : algebra.kind === 'product'
                ? random.pick([0.25, 0.5, 1, 2])
                : random.integer(-4, 4)
          await check(starOf(algebra, weightsBy(algebra, random.integer(1, 9), weight)), inArrays, ['next'])
        }
      })
    },
  )

  it('are found in a batch that is closed in parts', async () => {
    // More matrices than one part has.
    const [n, batch] = [8, 12_300]
    const algebra = algebraOf('min-plus')
    for (const bad of [0, 12_250, batch - 1]) {
      const weight = (from: number, to: number, item: number) =>
        item === bad && from === 3 && to === 3 ? -1 : 0
      await check(starOf(algebra, weightsBy(algebra, n, weight, batch)), inArrays)
    }
  })

  it('accepts one matrix as a batch', async () => {
    for (const algebra of closureAlgebras) {
      const a = weightsOf(algebra, 66, 0.2, 3)
      const given = { data: a.data, shape: [3, 66, 66], strides: [0, 66, 1] } as AnyMatrix
      const all = elements(Array(3).fill(a.data).reduce(joined, a.data.slice(0, 0)), 66, 66, 3)
      await check(starOf(algebra, all, { given }), inArrays)
    }
  })

  it('accepts infinite weights that are not zero, and −0', async () => {
    const { POSITIVE_INFINITY: inf } = Number
    for (const algebra of closureAlgebras.filter(({ isFloat }) => isFloat)) {
      const far = algebra.greatest ? inf : -inf
      const ways = [
        [none, 5, none, none, none, 3, none, none, none],
        [none, -5, -inf, none, none, inf, 7, none, none],
      ]
      for (const list of algebra.kind === 'product' ? [] : ways)
        await check(
          starOf(
            algebra,
            weightsBy(algebra, 3, (from, to) => list[3 * from + to]!),
          ),
          few,
          ['next'],
        )
      if (algebra.kind === 'sum')
        await check(
          starOf(
            algebra,
            weightsBy(algebra, 2, (from, to) => (from === 0 && to === 1 ? far : none)),
          ),
          few,
        )
      await check(
        plusOf(
          starOf(
            algebra,
            weightsBy(algebra, 2, (from, to) => [-0, 2, 0, -0][2 * from + to]!),
          ),
        ),
        few,
      )
    }
  })

  describe.each(integerSums.map((algebra) => [algebra.semiring, algebra] as const))(
    'limits of int32: %s',
    (_, algebra) => {
      const { greatest, least, most } = algebra
      const sign = greatest ? -1 : 1
      const limit = greatest ? 357913941 : 357913940
      const heavy = Math.floor(357913940 / 257)
      const chain = (n: number, weight: number, batch?: number) =>
        weightsBy(algebra, n, (from, to) => (to === from + 1 ? sign * weight : none), batch)
      /** Path graph with edges in both directions, all of them heavy. */
      const line = (weight: number, from: number, to: number) =>
        to === from + 1 || from === to + 7 ? sign * (weight - (from % 3)) : none

      it.each([2, 3, 66, 130, 265])('closes edges that all make paths worse, among %i nodes', async (n) => {
        const random = new Random(n)
        const loops = [none, 0, sign * 7]
        for (const [index, most] of [1, 3, 1000, heavy, 1e9].entries()) {
          for (const [turn, density] of inTurn(backend, [...[0.02, 0.3, 1].entries()], n + index, 2)) {
            const loop = loops[(index + turn) % 3]!
            const weight = (from: number, to: number) =>
              from === to ? loop : random.chance(density) ? sign * random.integer(1, most) : none
            const one = starOf(algebra, weightsBy(algebra, n, weight), { overflow: 'saturate' })
            if (most < 1e9 && n < 200) expectWays(one)
            await check(one, n === 66 ? everywhere : few, ['next'])
          }
        }
      })

      it('closes edges that all make paths worse, in a batch, and some that do not', async () => {
        for (const n of [3, 70]) {
          for (const loses of [true, false]) {
            const weight = (from: number, to: number, item: number) =>
              (from * 5 + to * 3 + item) % 4 ? sign * (((from + to) % 3) + 1) : loses ? none : 0
            await check(starOf(algebra, weightsBy(algebra, n, weight, 5)), few, ['next'])
          }
        }
      })

      it('closes edges that all make paths worse, and are best for many pairs', async () => {
        // Complete bipartite graph: a direct edge leads to each node of the other half. Many paths of two
        // edges lead to each node of the own half.
        const n = backend === 'cuda' ? 1100 : 300
        const random = new Random(n)
        const weight = (from: number, to: number) =>
          from < n / 2 === to < n / 2 ? none : sign * random.integer(1000, 1999)
        const one = starOf(algebra, weightsBy(algebra, n, weight))
        expectWays(one)
        await check(one, few, ['next'])
      })

      it('is exact if sums may exceed 2^30 / 3 and int32', async () => {
        for (const n of [2, 3, 65, 100]) {
          for (const end of [
            Math.floor(limit / n),
            Math.floor(limit / n) + 1,
            Math.floor((MOST - 1) / n),
            1e9,
          ]) {
            const random = new Random(n + end)
            const weight = () =>
              random.chance(0.5) ? none : sign * random.pick([end, end - 1, 0, random.integer(0, end)])
            await check(starOf(algebra, weightsBy(algebra, n, weight)), n === 65 ? few : inArrays, ['next'])
          }
        }
      })

      it('applies the policy to results beyond int32', async () => {
        const a = chain(66, 100_000_000)
        for (const overflow of policies)
          await check(starOf(algebra, a, { overflow }), everywhere, ['in place'])
        await check(starOf(algebra, a, { overflow: 'saturate' }), few, ['next'])
      })

      it('has the last values inside of int32, and the first outside', async () => {
        // 0 → 1 → 2, whose sum exceeds the range of plain sums.
        for (const [end, beyond] of [
          [least, -1],
          [most, 1],
        ] as const) {
          const first = Math.trunc(end / 2)
          for (const over of [0, beyond]) {
            const list = [none, first, none, none, none, end - first + over, none, none, none]
            for (const overflow of policies)
              await check(
                starOf(
                  algebra,
                  weightsBy(algebra, 3, (i, j) => list[3 * i + j]!),
                  { overflow },
                ),
                few,
              )
          }
        }
      })

      it("accepts an overflow of a path that isn't the best", async () => {
        const list = [none, sign * (MOST - 1), sign * 5, none, none, sign * (MOST - 1), none, none, none]
        await check(
          starOf(
            algebra,
            weightsBy(algebra, 3, (from, to) => list[3 * from + to]!),
          ),
          few,
          ['next'],
        )
      })

      it('names in batches the first element that overflows, unless there is an improving cycle', async () => {
        const batch = (overflow: (typeof policies)[number], gains: boolean) => {
          const weight = (from: number, to: number, item: number) =>
            gains && item === 2 && from === 2 && to === 2
              ? -sign
              : to === from + 1 && item > 0
                ? sign * (MOST - 1 - 7 * from)
                : none
          return starOf(algebra, weightsBy(algebra, 3, weight, 3), { overflow })
        }
        for (const overflow of policies)
          for (const gains of [false, true]) await check(batch(overflow, gains), everywhere, ['in place'])
      })

      it('finds cycles with intermediate sums beyond int32', async () => {
        const far = sign * (MOST - 1)
        const edges: [from: number, to: number, weight: number][] = [
          // The sum of 3 → 1 → 0 exceeds the value of "no edge", and 0 → 2 → 3 returns it into the range.
          [3, 1, far],
          [1, 0, far],
          [0, 2, -far - sign],
          [2, 3, -far - sign],
          [3, 3, 5 * sign],
        ]
        const weight = (from: number, to: number) =>
          edges.find(([i, j]) => i === from && j === to)?.[2] ?? none
        await check(starOf(algebra, weightsBy(algebra, 4, weight)), few)
        for (const [there, back] of [
          [-sign * (MOST - 1), -sign * (MOST - 1)],
          [sign * (MOST - 1), -sign * MOST],
        ] as const) {
          const both = (from: number, to: number) => (from === to ? none : from === 0 ? there : back)
          await check(starOf(algebra, weightsBy(algebra, 2, both)), few)
        }
      })

      // Paths over the first 256 nodes stay within 2^30 / 3; paths over all nodes may exceed it. With
      // slightly larger weights both may.
      it.each([
        [heavy, 'all nodes have ways to each other', 0],
        [heavy, 'most have none', 1],
        [heavy + 3, 'most have none', 2],
      ] as const)('closes heavy weights up to %i, and %s', async (weight, kind, turn) => {
        const random = new Random(530)
        const dense = () => (random.chance(0.1) ? none : sign * random.integer(0, weight))
        const a = weightsBy(algebra, 530, kind === 'most have none' ? (i, j) => line(weight, i, j) : dense)
        await check(starOf(algebra, a), someOf(few, turn, 2), ['next'])
      })

      it('closes heavy weights of later nodes only', async () => {
        const weight = (from: number, to: number) => {
          if (from < 300) return to < 300 ? sign * ((from + to) % 5) : none
          return to === from + 1 || to >= 300 ? line(heavy, from, to) : none
        }
        await check(starOf(algebra, weightsBy(algebra, backend === 'cuda' ? 700 : 600, weight)), few, [
          'next',
        ])
      })

      itIf(!greatest, 'closes heavy weights with results beyond int32', async () => {
        // The first column whose sum exceeds int32 is among the last.
        const a = chain(Math.ceil(MOST / heavy) + 10, heavy)
        await check(starOf(algebra, a), at('a device'), ['in place'])
        await check(starOf(algebra, a, { overflow: 'saturate' }), inArrays)
      })
    },
  )

  it('closes heavy weights in a batch that is closed in parts', async () => {
    // The batch is so large that its first matrices exceed the range before the last ones have begun.
    const [n, batch, heavy] = [258, 390, Math.floor(357913940 / 257)]
    const algebra = algebraOf('min-plus')
    const weight = (from: number, to: number) =>
      to === from + 1 || from === to + 7 ? heavy - (from % 3) : none
    const one = weightsBy(algebra, n, weight)
    const data = new Int32Array(batch * n * n)
    for (let item = 0; item < batch; item++) data.set(one.data as Int32Array, item * n * n)
    await check(starOf(algebra, elements(data, n, n, batch), { areSame: true }), inArrays, ['next'])
  })

  it('uses several groups of pivots', async () => {
    const where = at('arrays', 'spread among devices')
    // Sizes with one and with two groups of pivots per device.
    const integers = algebraOf('min-plus')
    const nodes = backend === 'cuda' ? 700 : 400
    await check(starOf(integers, weightsOf(integers, nodes, 0.1, 3)), where, ['next'])
    const floats = algebraOf('max-plus', 'float32')
    await check(starOf(floats, roundedWeights(floats, 790, 0.1, 3)), where.slice(-1), ['in place'])
  })

  it('runs concurrently with others', async () => {
    const tasks = [1, 2, 3, 4, 5, 6].map((seed) => {
      const algebra = closureAlgebras[seed % closureAlgebras.length]!
      return starOf(algebra, weightsOf(algebra, 30 * seed, 0.3, seed))
    })
    await Promise.all(tasks.flatMap((one) => few.map((target) => expectClosure(target, one, 'next'))))
  })
}

const joined = (list: ClosureCase['a']['data'], more: ClosureCase['a']['data']) => {
  const all = new (list.constructor as Int32ArrayConstructor)(list.length + more.length)
  all.set(list as Int32Array)
  all.set(more as Int32Array, list.length)
  return all
}
