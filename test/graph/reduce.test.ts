/** Numbers that are made of paths: against what the distances of the definition give. */
import { describe, expect, it } from 'vitest'
import { reducePaths } from '../../lib/graph.js'
import { CycleError } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'
import { randomGraph } from '../support/graphs.js'
import { bestFrom, pathAlgebras } from '../support/paths-oracle.js'

const semirings = ['min-plus', 'max-plus', 'max-min', 'max-times'] as const

describe.each(semirings)('%s', (semiring) => {
  it.each(['search', 'dissection'] as const)('by %s', async (method) => {
    const random = new Random(51)
    const algebra = pathAlgebras[semiring]
    for (let round = 0; round < 12; round++) {
      const nodes = random.integer(1, 40)
      const weight = () => {
        const value = random.integer(1, 9)
        if (semiring === 'max-times') return 2 ** -value
        return semiring === 'max-plus' ? -value : value
      }
      const graph = randomGraph(random, nodes, random.integer(0, 3 * nodes), weight)
      const Type = semiring === 'max-times' ? Float64Array : Int32Array
      const given = { ...graph, weight: Type.from(graph.weight) }
      const some = () => Array.from({ length: random.integer(1, 90) }, () => random.integer(0, nodes - 1))
      const sources = round % 2 ? some() : undefined
      const targets = round % 3 ? some() : undefined
      const options = { semiring, method, sources, targets }
      const worst = await reducePaths(given, options)
      const mean = await reducePaths(given, { ...options, reduce: 'mean' })
      expect(worst.method).toBe(method)
      const all = Array.from({ length: nodes }, (_, node) => node)
      for (const [row, source] of (sources ?? all).entries()) {
        const { value } = bestFrom(graph, algebra, source)
        const values = (targets ?? all)
          .filter((target) => target !== source && value[target] !== null)
          .map((target) => value[target]!)
        expect(worst.reached[row]).toBe(values.length)
        expect(mean.reached[row]).toBe(values.length)
        const expected = values.reduce((a, b) => (algebra.better(a, b) ? b : a), values[0] ?? Number.NaN)
        expect(worst.values[row]).toBe(expected)
        // Sums of so few small numbers are exact.
        const sum = values.reduce((a, b) => a + b, 0)
        expect(mean.values[row]).toBe(sum / values.length)
      }
    }
  })
})

it('nothing overflows', async () => {
  const weight = new Int32Array(9).fill(2 ** 31 - 2)
  const line = { nodes: 10, from: [...weight.keys()], to: Array.from(weight, (_, i) => i + 1), weight }
  for (const method of ['search', 'dissection'] as const) {
    const { values } = await reducePaths(line, { method, sources: [0, 9] })
    expect([...values]).toEqual([9 * (2 ** 31 - 2), Number.NaN])
  }
})

it('takes names, and matrices', async () => {
  const named = { nodes: ['a', 'b', 'c'], from: ['a', 'b', 'c'], to: ['b', 'c', 'a'], weight: [4, 1, 2] }
  const { values, sources } = await reducePaths(named, { sources: ['c', 'a'] })
  expect([...values]).toEqual([6, 5])
  expect(sources).toHaveLength(2)
  const data = Float64Array.of(Infinity, 4, Infinity, Infinity)
  const matrix = await reducePaths({ data, shape: [2, 2] }, { reduce: 'mean' })
  expect([...matrix.values]).toEqual([4, Number.NaN])
  expect([...matrix.reached]).toEqual([1, 0])
})

it('has the errors of paths', async () => {
  const ring = { nodes: 2, from: [0, 1], to: [1, 0], weight: [1, -2] }
  await expect(reducePaths(ring)).rejects.toThrow(CycleError)
  const data = new Float64Array(8)
  await expect(reducePaths({ data, shape: [2, 2, 2] })).rejects.toThrow(coded('SHAPE', 'batch'))
  await expect(reducePaths(ring, { semiring: 'or-and' as 'min-plus' })).rejects.toThrow(coded('OPTION'))
  await expect(reducePaths(ring, { reduce: 'median' as 'mean' })).rejects.toThrow(coded('OPTION'))
  await expect(reducePaths(ring, { sources: [7] })).rejects.toThrow(coded('VALUE'))
  await expect(reducePaths(ring, { signal: AbortSignal.abort() })).rejects.toThrow(coded('ABORTED'))
  expect([...(await reducePaths({ ...ring, weight: [1, 2] }, { targets: [] })).values]).toEqual([
    Number.NaN,
    Number.NaN,
  ])
})
