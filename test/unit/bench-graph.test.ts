/** Checks of `mpmml bench --suite graph` detect wrong results. */
import { describe, expect, it } from 'vitest'
import { randomNetwork, wrongMean } from '../../bench/suites/graph/network.js'
import { distancesFrom, wrongDistances, wrongPath, wrongWitness } from '../../bench/suites/graph/samples.js'
import { matrix } from '../../lib/index.js'

const NONE = 2 ** 31 - 1
/** The graph has the edges 0 → 1, 1 → 2 and 0 → 2. Node 3 is unreachable. */
const weights = [NONE, 4, 9, NONE, NONE, NONE, 3, NONE, NONE, NONE, NONE, NONE, 1, NONE, NONE, NONE]

describe('distances', () => {
  it('are computed from a node', () => {
    expect([...distancesFrom(weights, 4, 0)]).toEqual([0, 4, 7, Infinity])
    expect([...distancesFrom(weights, 4, 3)]).toEqual([1, 5, 8, 0])
  })

  it('are reported if they are wrong', () => {
    expect(wrongDistances(weights, 4, 0, [0, 4, 7, NONE])).toBeUndefined()
    for (const wrong of [
      [0, 4, 8, NONE],
      [0, 4, 6, NONE],
      [0, 4, 7, 0],
      [0, NONE, 7, NONE],
    ]) {
      expect(wrongDistances(weights, 4, 0, wrong)).toMatch(/must be/)
    }
  })
})

it('finds wrong paths', () => {
  const check = (path: number[] | null, ends: [number, number], length: number) =>
    wrongPath(weights, 4, path, ends, length)
  expect(check([0, 1, 2], [0, 2], 7)).toBeUndefined()
  expect(check([1], [1, 1], 0)).toBeUndefined()
  expect(check(null, [0, 3], NONE)).toBeUndefined()
  expect(check(null, [0, 2], 7)).toMatch(/missing/)
  expect(check([0, 2], [0, 2], 7)).toMatch(/length 9/)
  expect(check([0, 3, 2], [0, 2], 7)).toMatch(/no edge/)
  expect(check([1, 2], [0, 2], 3)).toMatch(/is 1, 2/)
})

it('finds wrong witnesses', () => {
  const [a, b] = [matrix(1, 3, [1, 5, 5]), matrix(3, 1, [4, 0, 0])]
  const check = (value: number, k: number) => wrongWitness(a, b, matrix(1, 1, [value]), matrix(1, 1, [k]), 3)
  expect(check(5, 0)).toBeUndefined()
  expect(check(5, 1)).toMatch(/by k = 0/)
  expect(check(6, 0)).toMatch(/must be 5/)
  const empty = matrix(1, 3, Array(3).fill(-(2 ** 31)))
  expect(wrongWitness(empty, b, matrix(1, 1, [-(2 ** 31)]), matrix(1, 1, [-1]), 3)).toBeUndefined()
})

it('finds wrong cycle means', () => {
  const network = { nodes: 3, from: [0, 1, 1, 2], to: [1, 0, 2, 0], weight: [1, 4, 3, 5] }
  const arrays = {
    nodes: 3,
    from: Int32Array.from(network.from),
    to: Int32Array.from(network.to),
    weight: Int32Array.from(network.weight),
  }
  const mean = (numerator: number, denominator: number, cycle: number[]) => ({
    numerator,
    denominator,
    value: numerator / denominator,
    cycle,
    edges: [],
  })
  expect(wrongMean(arrays, mean(3, 1, [0, 1, 2]))).toBeUndefined()
  expect(wrongMean(arrays, mean(5, 2, [0, 1]))).toMatch(/greater/)
  expect(wrongMean(arrays, mean(4, 1, [0, 1, 2]))).toMatch(/9 \/ 3/)
  expect(wrongMean(arrays, mean(3, 1, [0, 2]))).toMatch(/NaN/)
})

it('generates strongly connected random networks', () => {
  const { from, to } = randomNetwork(50, 120)
  for (let i = 0; i < 50; i++) expect([from[i], to[i]]).toEqual([i, (i + 1) % 50])
  expect(Math.max(...from, ...to)).toBeLessThan(50)
})
