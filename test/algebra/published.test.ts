/** Closures and powers in the documentation and the tests of other libraries. */
import { describe, expect, it } from 'vitest'
import { periodicRegime, plus, power, star, trajectory } from '../../lib/algebra.js'
import { EPSILON, matrix, zeroOf } from '../../lib/index.js'
import { coded } from '../support/coded.js'

const e = EPSILON
const none = zeroOf('min-plus', 'int32')

describe('Sage, tropical_matrix', () => {
  it('has the result of weak_transitive_closure', async () => {
    const a = matrix(4, 4, [none, 1, 10, none, none, none, 3, none, none, none, none, 2, 8, 0, none, none])
    const { c } = await plus(a, { semiring: 'min-plus' })
    expect([...c.data]).toEqual([14, 1, 4, 6, 13, 5, 3, 5, 10, 2, 5, 2, 8, 0, 3, 5])
  })

  it('has the result of weak_transitive_closure of the matrix minus its cycle mean, 5/3, in thirds', async () => {
    const a = matrix(4, 4, [none, -2, 25, none, none, none, 4, none, none, none, none, 1, 19, -5, none, none])
    const { c } = await plus(a, { semiring: 'min-plus' })
    expect([...c.data]).toEqual([22, -2, 2, 3, 24, 0, 4, 5, 20, -4, 0, 1, 19, -5, -1, 0])
  })

  it('has the result of strong_transitive_closure, which is kleene_star', async () => {
    const a = matrix(3, 3, [-5, -2, -6, 0, -3, 0, 2, -1, -2])
    expect([...(await star(a)).c.data]).toEqual([0, -2, -2, 2, 0, 0, 2, 0, 0])
    await expect(star(a, { semiring: 'min-plus' })).rejects.toEqual(coded('CYCLE'))
  })

  it('rejects a positive cycle', async () => {
    await expect(plus(matrix(2, 2, [1, 2, -2, -3]))).rejects.toEqual(coded('CYCLE'))
  })
})

describe('MaxPlus.jl', () => {
  it.each([
    [
      [-3, -2, -1, 0],
      [0, -2, -1, 0],
    ],
    [
      [-1, 2, e, -3],
      [0, 2, e, 0],
    ],
    [
      [e, 2, 3, -2, -10, -1, -5, -2, 0],
      [0, 2, 3, -2, 0, 1, -4, -2, 0],
    ],
    [
      [e, e, e, e],
      [0, e, e, 0],
    ],
  ])('has star(%j) of test/test_maxplus.jl', async (a, expected) => {
    const n = Math.sqrt(a.length)
    expect([...(await star(matrix(n, n, a))).c.data]).toEqual(expected)
  })

  // MaxPlus.jl returns ⊤ for elements that grow without bound.
  it.each([[[1, 2, 3, 4]], [[2, 3, e, -1]]])(
    'rejects star(%j), which diverges in test/test_maxplus.jl',
    async (a) => {
      await expect(star(matrix(2, 2, a))).rejects.toEqual(coded('CYCLE'))
    },
  )

  it('has the powers of the documentation: A*A and A*A*A', async () => {
    const a = matrix(2, 2, [4, 3, 7, e])
    expect([...(await power(a, 2)).c.data]).toEqual([10, 7, 11, 10])
    expect([...(await power(a, 3)).c.data]).toEqual([14, 13, 17, 14])
  })
})

// B. Heidergott, G. J. Olsder, J. van der Woude, Max Plus at Work (2006), chapter 0.
describe('Max Plus at Work', () => {
  const trains = {
    nodes: ['S1', 'S2'],
    from: ['S1', 'S1', 'S2', 'S2'],
    to: ['S1', 'S2', 'S1', 'S2'],
    weight: [2, 5, 3, 3],
  }

  it.each([
    [
      [0, 0],
      [0, 0, 5, 3, 8, 8, 13, 11, 16, 16],
    ],
    [
      [1, 0],
      [1, 0, 5, 4, 9, 8, 13, 12, 17, 16],
    ],
  ])('has departures from %j on', async (x0, expected) => {
    const { data, keys } = await trajectory(trains, x0, { steps: 4 })
    expect([...data]).toEqual(expected)
    expect(keys).toEqual(['S1', 'S2'])
    const { period, growth } = await periodicRegime(trains, x0)
    expect(growth.map((each) => each / period).join()).toBe('4,4')
  })
})
