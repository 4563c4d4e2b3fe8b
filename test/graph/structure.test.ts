/** Components, topological orders, spanning trees and k shortest paths, compared with their definitions. */
import { describe, expect, it } from 'vitest'
import { components, kShortestPaths, spanningTree, topologicalOrder } from '../../lib/graph.js'
import { CycleError } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { expectSame } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { reachability } from '../support/graph-oracle.js'
import { randomGraph } from '../support/graphs.js'
import type { WeightedEdges } from '../support/paths-oracle.js'

const both = ({ nodes, from, to, weight }: WeightedEdges): WeightedEdges => ({
  nodes,
  from: [...from, ...to],
  to: [...to, ...from],
  weight: [...weight, ...weight],
})

const smallGraph = (random: Random, least: number, most = 9) => {
  const nodes = random.integer(1, most)
  return randomGraph(random, nodes, random.integer(0, 2 * nodes), () => random.integer(least, 6))
}

describe('components', () => {
  it('consist of the nodes that reach each other, or are connected', async () => {
    const random = new Random(31)
    for (let round = 0; round < 200; round++) {
      const graph = smallGraph(random, -6)
      for (const kind of ['strong', 'weak'] as const) {
        const reach = reachability(kind === 'strong' ? graph : both(graph))
        const { count, labels, members } = await components(graph, { kind })
        expect(new Set(labels).size).toBe(count)
        for (let i = 0; i < graph.nodes; i++) {
          for (let j = 0; j < graph.nodes; j++) {
            expectSame(labels[i] === labels[j], i === j || (reach[i]![j]! && reach[j]![i]!))
            if (reach[i]![j]) expectSame(labels[i]! <= labels[j]!, true)
          }
        }
        const all = Array.from({ length: count }, (_, component) => members(component))
        expect(all.flat().sort((a, b) => a - b)).toEqual([...labels.keys()])
        for (const [component, nodes] of all.entries())
          for (const node of nodes) expectSame(labels[node], component)
      }
    }
  })

  it('ignore weights, except a 0 of a Uint8Array, which is no edge', async () => {
    const ring = { nodes: 3, from: [0, 1, 2], to: [1, 2, 0] }
    for (const weight of [undefined, Int32Array.of(0, 0, 0), Float64Array.of(0, -1, Infinity)])
      expect((await components({ ...ring, weight })).count).toBe(1)
    const cut = { ...ring, weight: Uint8Array.of(1, 0, 255) }
    expect((await components(cut)).count).toBe(3)
    expect([...(await components(cut, { kind: 'weak' })).labels]).toEqual([0, 0, 0])
    expect(await topologicalOrder(cut)).toEqual([2, 0, 1])
  })

  it('have names, and are empty for an empty graph', async () => {
    const { members, count } = await components({ nodes: ['a', 'b'], from: ['b'], to: ['a'] })
    expect([members(0), members(1), count]).toEqual([['b'], ['a'], 2])
    expect(() => members(2)).toThrow(coded('OPTION', 'from 0 to 1'))
    expect((await components({ nodes: 0, from: [], to: [] })).count).toBe(0)
    await expect(components(5 as never)).rejects.toEqual(coded('DTYPE', 'must be an edge list'))
    await expect(components({ nodes: 1, from: Int32Array.of(1), to: Int32Array.of(0) })).rejects.toEqual(
      coded('VALUE', 'from[0] is 1'),
    )
  })
})

describe('topologicalOrder', () => {
  it('returns an order in which edges lead forward, or a cycle', async () => {
    const random = new Random(32)
    const seen = { orders: 0, cycles: 0 }
    for (let round = 0; round < 300; round++) {
      const graph = smallGraph(random, 1)
      const found = await topologicalOrder(graph).catch((error: unknown) => error)
      const has = (i: number, j: number) => graph.from.some((from, e) => from === i && graph.to[e] === j)
      if (found instanceof CycleError) {
        seen.cycles++
        const { cycle } = found
        expect(new Set(cycle).size).toBe(cycle.length)
        expect(cycle[0]).toBe(Math.min(...cycle))
        for (const [at, node] of cycle.entries()) expectSame(has(node, cycle[(at + 1) % cycle.length]!), true)
        continue
      }
      seen.orders++
      const order = found as number[]
      expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: graph.nodes }, (_, node) => node))
      for (const [e, from] of graph.from.entries())
        expectSame(order.indexOf(from) < order.indexOf(graph.to[e]!), true)
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(50)
  })

  it('reports cycles by names', async () => {
    const graph = { nodes: ['x', 'y'], from: ['x', 'y'], to: ['y', 'x'] }
    await expect(topologicalOrder(graph)).rejects.toMatchObject({
      message: expect.stringContaining('the cycle x → y → x has no order'),
      cycle: [0, 1],
      keys: ['x', 'y'],
    })
  })
})

describe('spanningTree', () => {
  it('is the best of all spanning forests', async () => {
    const random = new Random(33)
    for (let round = 0; round < 150; round++) {
      const graph = smallGraph(random, -6, 6)
      const reach = reachability(both(graph))
      const parts = new Set(reach.map((row, i) => row.findIndex((is, j) => is || i === j))).size
      const size = graph.nodes - parts
      const connects = (chosen: number[]) => {
        const pick = (list: number[]) => chosen.map((e) => list[e]!)
        const own = reachability(both({ ...graph, from: pick(graph.from), to: pick(graph.to), weight: [] }))
        return reach.every((row, i) => row.every((is, j) => i === j || !is || own[i]![j]))
      }
      const subsets = function* (from: number, left: number): Generator<number[]> {
        if (left === 0) return yield []
        for (let e = from; e < graph.from.length; e++)
          for (const rest of subsets(e + 1, left - 1)) yield [e, ...rest]
      }
      for (const best of ['min', 'max'] as const) {
        const { edges, total, from } = await spanningTree(graph, { best })
        expect(connects([...edges])).toBe(true)
        expect([...from]).toEqual(Array.from(edges, (e) => graph.from[e]))
        expect(edges.length).toBe(size)
        if (graph.from.length > 9) continue
        const sums = [...subsets(0, size)]
          .filter(connects)
          .map((chosen) => chosen.reduce((sum, e) => sum + graph.weight[e]!, 0))
        expect(total).toBe(best === 'min' ? Math.min(...sums) : Math.max(...sums))
      }
    }
  })

  it('omits edges whose weight is that of no edge', async () => {
    const graph = { nodes: 3, from: [0, 1, 0], to: [1, 2, 2] }
    for (const [best, none] of [
      ['min', Number.POSITIVE_INFINITY],
      ['max', Number.NEGATIVE_INFINITY],
    ] as const) {
      const weight = Float64Array.of(none, 4, none)
      expect(await spanningTree({ ...graph, weight }, { best })).toMatchObject({
        edges: Int32Array.of(1),
        total: 4,
      })
    }
  })

  it('keeps names, selects the first of equal edges, and rejects NaN', async () => {
    const graph = { nodes: ['a', 'b'], from: ['a', 'b'], to: ['b', 'a'], weight: Float64Array.of(0.5, 0.5) }
    expect(await spanningTree(graph)).toMatchObject({ keys: ['a', 'b'], edges: Int32Array.of(0), total: 0.5 })
    await expect(spanningTree({ ...graph, weight: Float64Array.of(1, Number.NaN) })).rejects.toEqual(
      coded('VALUE', 'weight[1] is NaN'),
    )
    await expect(spanningTree({ ...graph, weight: Uint8Array.of(1, 1) as never })).rejects.toMatchObject({
      code: 'ERR_MPMML_DTYPE',
    })
  })
})

describe('kShortestPaths', () => {
  /** All paths without a repeated node, with the best of parallel edges. */
  function everyPath(graph: WeightedEdges, from: number, to: number): { length: number; path: number[] }[] {
    const best = (i: number, j: number) =>
      Math.min(
        ...graph.from.flatMap((start, e) => (start === i && graph.to[e] === j ? [graph.weight[e]!] : [])),
      )
    const found: { length: number; path: number[] }[] = []
    const go = (path: number[], length: number) => {
      const last = path.at(-1)!
      if (last === to) return found.push({ length, path })
      for (let node = 0; node < graph.nodes; node++) {
        const weight = best(last, node)
        if (!path.includes(node) && weight < Infinity) go([...path, node], length + weight)
      }
    }
    go([from], 0)
    return found
  }

  it.each([
    ['integers', 0, (list: number[]) => Int32Array.from(list)],
    ['negative integers', -2, (list: number[]) => Int32Array.from(list)],
    ['floats', 0, (list: number[]) => Float64Array.from(list, (weight) => weight / 2)],
    ['floats of 32 bits', 0, (list: number[]) => Float32Array.from(list, (weight) => weight / 2)],
    ['negative floats', -2, (list: number[]) => Float64Array.from(list, (weight) => weight / 4)],
    ['negative floats of 32 bits', -2, (list: number[]) => Float32Array.from(list, (weight) => weight / 4)],
  ])('returns the best of all paths: %s', async (_, least, typed) => {
    const random = new Random(34)
    let compared = 0
    for (let round = 0; round < 150; round++) {
      const nodes = random.integer(2, 7)
      const graph = randomGraph(random, nodes, random.integer(1, 4 * nodes), () => random.integer(least, 6))
      const weight = typed(graph.weight)
      const scaled = { ...graph, weight: [...weight] }
      const [from, to] = [0, random.integer(0, nodes - 1)]
      const all = everyPath(scaled, from, to)
      // `k` is less than, equal to or greater than the number of paths.
      const k = random.integer(1, Math.min(all.length + 1, 12))
      const lengths = all.map(({ length }) => length).sort((a, b) => a - b)
      const paths = await kShortestPaths({ ...graph, weight }, from, to, k).catch((error) => error)
      if (paths instanceof CycleError) {
        expect(least).toBeLessThan(0)
        continue
      }
      compared++
      expect(paths.map((one: { length: number }) => one.length)).toEqual(lengths.slice(0, k))
      for (const one of paths) expect(all).toContainEqual(one)
      expect(new Set(paths.map(({ path }: { path: number[] }) => path.join())).size).toBe(paths.length)
    }
    expect(compared).toBeGreaterThan(50)
  })

  it('returns all paths up to a limit, and none beyond it', async () => {
    const random = new Random(35)
    for (let round = 0; round < 120; round++) {
      const graph = randomGraph(random, 6, random.integer(5, 20), () => random.integer(0, 6))
      const all = everyPath(graph, 0, 5)
      const lengths = all.map(({ length }) => length).sort((a, b) => a - b)
      if (lengths.length === 0) continue
      const limit = random.pick(lengths) + random.pick([0, 0, 0.5, -0.5])
      const within = lengths.filter((length) => length <= limit)
      for (const Type of [Int32Array, Float64Array]) {
        const weight = Type.from(graph.weight)
        const paths = await kShortestPaths({ ...graph, weight }, 0, 5, all.length + 1, { limit })
        expect(paths.map(({ length }) => length)).toEqual(within)
        for (const one of paths) expect(all).toContainEqual(one)
      }
    }
  })

  it('uses names, ends at a limit, and rejects wrong input', async () => {
    const graph = { nodes: ['A', 'B', 'C'], from: ['A', 'B', 'A'], to: ['B', 'C', 'C'], weight: [1, 2, 5] }
    const paths = await kShortestPaths(graph, 'A', 'C', 5)
    expect(paths).toEqual([
      { length: 3, path: ['A', 'B', 'C'] },
      { length: 5, path: ['A', 'C'] },
    ])
    expect(await kShortestPaths(graph, 'A', 'C', 5, { limit: 4 })).toHaveLength(1)
    for (const weight of [[1, 2, 5], Float64Array.of(1, 2, 5)]) {
      for (const limit of [2.5, -1, -1e300, -Infinity])
        expect(await kShortestPaths({ ...graph, weight }, 'A', 'C', 5, { limit })).toEqual([])
      expect(await kShortestPaths({ ...graph, weight }, 'A', 'C', 5, { limit: Infinity })).toHaveLength(2)
    }
    expect(await kShortestPaths(graph, 'C', 'A', 5)).toEqual([])
    expect(await kShortestPaths(graph, 'B', 'B', 5)).toEqual([{ length: 0, path: ['B'] }])
    await expect(kShortestPaths(graph, 'A', 'X', 5)).rejects.toEqual(coded('VALUE', "to is 'X'"))
    expect(await kShortestPaths(graph, 'A', 'C', 0)).toEqual([])
    await expect(kShortestPaths(graph, 'A', 'X', 0)).rejects.toEqual(coded('VALUE', "to is 'X'"))
    await expect(kShortestPaths(graph, 'A', 'C', -1)).rejects.toEqual(coded('OPTION', 'k'))
    const floats = { ...graph, weight: Float64Array.of(1, -2, 5) }
    await expect(kShortestPaths(floats, 'A', 'C', 2, { limit: 3 })).rejects.toEqual(coded('OPTION', 'limit'))
    const endless = { ...graph, weight: Float64Array.of(1, -2, -Infinity) }
    await expect(kShortestPaths(endless, 'A', 'C', 2)).rejects.toEqual(coded('VALUE', /weight\[2\]/))
    const round = { nodes: 3, from: [0, 1, 2, 1], to: [1, 2, 1, 2], weight: [1, 2, -3, 5] }
    await expect(kShortestPaths(round, 0, 2, 2)).rejects.toMatchObject({ cycle: [1, 2], weight: -1 })
    const halves = { ...round, nodes: 4, weight: Float64Array.of(1, 0.5, -1, 5) }
    await expect(kShortestPaths(halves, 0, 2, 2)).rejects.toMatchObject({ cycle: [1, 2], weight: -0.5 })
    // A cycle that is on no path to the target has no effect.
    expect(
      await kShortestPaths(
        {
          ...halves,
          from: [...round.from, 0],
          to: [...round.to, 3],
          weight: Float64Array.of(1, 0.5, -1, 5, -2),
        },
        0,
        3,
        2,
      ),
    ).toEqual([{ length: -2, path: [0, 3] }])
  })
})
