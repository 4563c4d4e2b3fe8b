/** The networks of `mpmml bench --suite sparse`, and its comparison of distances. */
import { describe, expect, it } from 'vitest'
import {
  grid,
  hexagonal,
  layered,
  type Network,
  networks,
  random,
  roads,
} from '../../bench/suites/sparse/networks.js'
import { differing } from '../../bench/suites/sparse.js'
import { topologicalOrder } from '../../lib/graph.js'
import { expectSame } from '../support/expect.js'

const degrees = ({ nodes, from }: Network) => {
  const degree = new Array<number>(nodes).fill(0)
  for (const node of from) degree[node]!++
  return degree
}

const pairs = ({ from, to }: Network) => Array.from(from, (node, e) => `${node},${to[e]}`)

describe.each(Object.entries({ ...networks, roads, random }))('%s', (name, make) => {
  it.each([1, 4, 100, 1024])(
    'has no parallel edges, no loops, and weights from 1 on, with %i nodes',
    (nodes) => {
      const network = make(nodes)
      expect(network.nodes).toBe(nodes)
      expect(new Set(pairs(network)).size).toBe(network.from.length)
      for (const [e, from] of network.from.entries()) {
        expectSame(network.to[e] !== from, true)
        expectSame(network.weight[e]! >= 1, true)
      }
      for (const node of [...network.from, ...network.to]) expectSame(node >= 0 && node < nodes, true)
      if (name === 'layered' || name === 'random') return
      // Each edge exists in both directions.
      const there = new Set(pairs(network))
      for (const [e, from] of network.from.entries()) expectSame(there.has(`${network.to[e]},${from}`), true)
    },
  )

  it('is the same for each call', () => {
    expect(make(400)).toEqual(make(400))
  })
})

it('gives inner nodes degree 4 in grids, 3 in bricks, and 4 on average in random networks', () => {
  const inside = (network: Network, side: number) =>
    degrees(network).filter((_, node) =>
      [Math.floor(node / side), node % side].every((at) => at > 0 && at < side - 1),
    )
  expect(new Set(inside(grid(100), 10))).toEqual(new Set([4]))
  expect(new Set(inside(hexagonal(100), 10))).toEqual(new Set([3]))
  expect(new Set(degrees(random(100)))).toEqual(new Set([4]))
})

it('generates layers without a cycle', async () => {
  expect(await topologicalOrder(layered(1000))).toHaveLength(1000)
})

it('generates scale-free networks with hubs', () => {
  const most = Math.max(...degrees(networks['scale-free'](2000)))
  expect(most).toBeGreaterThan(10 * 6)
})

it('finds distances that differ', () => {
  const ours = Int32Array.of(0, 5, 2 ** 31 - 1)
  expect(differing([0, 5, Infinity], ours)).toBeUndefined()
  expect(differing([0, 6, Infinity], ours)).toBe('distance 1 is 6, but 5 here')
  expect(differing([0, 5, 7], ours)).toBe('distance 2 is 7, but Infinity here')
  expect(differing([0, 5, Number.NaN], ours)).toMatch(/is NaN/)
  expect(differing([0, 5], ours)).toBe('it gives 2 distances, not 3')
})
