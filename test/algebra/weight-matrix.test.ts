/** Edge lists as matrices. */
import { expect, it } from 'vitest'
import { star, weightMatrix } from '../../lib/algebra.js'
import { EPSILON } from '../../lib/index.js'
import { coded } from '../support/coded.js'

const graph = { nodes: 2, from: [0, 0, 1], to: [1, 1, 0], weight: [2, 5, -9] }

it('has the better of parallel edges, and zero without an edge', async () => {
  expect(weightMatrix(graph)).toMatchObject({ shape: [2, 2], data: Int32Array.of(EPSILON, 5, -9, EPSILON) })
  expect([...weightMatrix(graph, { semiring: 'min-plus' }).data]).toEqual([2 ** 31 - 1, 2, -9, 2 ** 31 - 1])
  expect(weightMatrix(graph, { semiring: 'or-and' }).data).toEqual(Uint8Array.of(0, 1, 1, 0))
  expect((await star(weightMatrix(graph))).c.data).toEqual(Int32Array.of(0, 5, -9, 0))
  expect(weightMatrix({ nodes: 0, from: [], to: [], weight: [] }).shape).toEqual([0, 0])
})

it('accepts edges without weights in or-and only', () => {
  const { weight: _, ...links } = graph
  expect(weightMatrix(links as never, { semiring: 'or-and' }).data).toEqual(Uint8Array.of(0, 1, 1, 0))
  expect(
    weightMatrix({ ...links, weight: Uint8Array.of(1, 0, 0) } as never, { semiring: 'or-and' }).data,
  ).toEqual(Uint8Array.of(0, 1, 0, 0))
  expect(() => weightMatrix(links as never)).toThrow(coded('DTYPE', 'weight must be'))
})

it('rejects invalid graphs', () => {
  expect(() => weightMatrix(graph, { semiring: 'plus' as never })).toThrow(coded('OPTION', 'semiring'))
  expect(() => weightMatrix(graph, { semiring: 'max-times' })).toThrow(coded('DTYPE', ''))
  expect(() => weightMatrix({ ...graph, to: [1, 2, 0] })).toThrow(coded('VALUE', 'to[1] is 2'))
})
