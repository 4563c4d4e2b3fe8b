/** Stars and pluses: their elements, and the next nodes. */

import { describe, expect, it } from 'vitest'
import { plus, star } from '../../lib/algebra.js'
import type { Device, MatrixLike } from '../../lib/index.js'
import { arrayOf } from './algebras.js'
import {
  anyPlus,
  anyStar,
  type Backend,
  elementsOf,
  expectNext,
  expectValues,
  fewSizes,
  square,
  withNext,
} from './closures.js'
import {
  closureAlgebras,
  closureOf,
  densities,
  reflexiveOf,
  roundedWeights,
  weightsOf,
  wrongWay,
} from './expected-closures.js'
import { Random } from './generators.js'
import { made } from './resident.js'

/** Around the pivots that are passed at a time (64), and their groups (256). */
const sizes = [0, 1, 2, 3, 5, 63, 64, 65, 66, 100, 128, 129, 200, 257, 321]

export function closures(backend: Backend): void {
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

export function nextNodes(backend: Backend, open: () => Device): void {
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
