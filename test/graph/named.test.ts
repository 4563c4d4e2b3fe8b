/** Nodes with names that the user chose: in edge lists, and in graphs of other libraries. */
import { Graph as GraphlibGraph, type Label } from '@dagrejs/graphlib'
import { Float64, Int64, Table, tableFromArrays, vectorFromArray } from 'apache-arrow'
import cytoscape from 'cytoscape'
import { DirectedGraph, MultiGraph, UndirectedGraph } from 'graphology'
import createGraph from 'ngraph.graph'
import { describe, expect, it } from 'vitest'
import { KeyNumbers } from '../../lib/graph/key-numbers.js'
import { longestPaths, shortestPaths, toEdgeList, transitiveClosure, verifyPaths } from '../../lib/graph.js'
import { CycleError } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'

const roads = { nodes: ['A', 'B', 'C'], from: ['A', 'B', 'A'], to: ['B', 'C', 'C'], weight: [4, -1, 9] }

it('numbers many keys of all types in the order of their first occurrence', () => {
  const random = new Random(1)
  const numbers = new KeyNumbers<unknown>()
  const known = new Map<unknown, number>()
  for (let round = 0; round < 50_000; round++) {
    const node = random.integer(0, 20_000)
    const key = random.pick([`${node}`, `Straße ${node}`, node, BigInt(node)])
    const expected = known.get(key) ?? known.size
    if (numbers.has(key) !== known.has(key)) expect.fail(`has() is wrong about ${String(key)}`)
    known.set(key, expected)
    if (numbers.number(key) !== expected) expect.fail(`the number of ${String(key)} is not ${expected}`)
  }
  expect(numbers.keys).toEqual([...known.keys()])
  expect([...known.keys()].map((key) => numbers.number(key))).toEqual([...known.values()])
})

describe('nodes with names', () => {
  it('are requested, found and returned by their names', async () => {
    const found = await shortestPaths(roads, { sources: 'A', targets: ['C', 'B'], paths: true })
    expect([...found.distances.data]).toEqual([3, 4])
    expect(found.distances.at('A', 'C')).toBe(3)
    expect(found.path('A', 'C')).toEqual(['A', 'B', 'C'])
    expect([...(found.sources ?? [])]).toEqual([0])
    expect(found.keys[2]).toBe('C')
    expect(() => found.path('B', 'C')).toThrow(
      'from is B, which is not among the sources that were asked for',
    )
    expect(() => found.distances.at('A', 'X' as 'A')).toThrow("to is 'X', which is none of the 3 nodes")
    const all = await shortestPaths(roads, { paths: true })
    expect(all.path('A', 'A')).toEqual(['A'])
    expect(all.path('C', 'A')).toBeNull()
    expect(await verifyPaths(roads, found)).toEqual({ distances: 2, paths: 2 })
    expect(await verifyPaths(roads, all)).toEqual({ distances: 9, paths: 9 })
  })

  it('may be numbered in the edges, with separate keys', async () => {
    const graph = {
      nodes: 2,
      keys: ['x', 'y'],
      from: Int32Array.of(0),
      to: [1],
      weight: Float64Array.of(0.5),
    }
    const { distances } = await shortestPaths(graph, { sources: ['x'] })
    expect(distances.at('x', 'y')).toBe(0.5)
    await expect(shortestPaths({ ...graph, keys: ['x'] })).rejects.toEqual(coded('SHAPE', 'keys must be'))
  })

  it('have keys of any type', async () => {
    const [a, b] = [{ name: 'a' }, Symbol('b')]
    const nodes = [a, b, null, Number.NaN, 7, '7', undefined]
    const graph = { nodes, from: nodes.slice(0, -1), to: nodes.slice(1), weight: nodes.slice(1).map(() => 1) }
    const { distances, path } = await shortestPaths(graph, { paths: true })
    expect(distances.at(a, undefined)).toBe(6)
    expect(path(a, '7')).toEqual([a, b, null, Number.NaN, 7, '7'])
    const ids = { nodes: BigInt64Array.of(5n, 9n), from: [5n], to: [9n], weight: [3] }
    expect((await shortestPaths(ids, { sources: 5n })).distances.at(5n, 9n)).toBe(3)
  })

  it('have their names in errors', async () => {
    const twice = { ...roads, nodes: ['A', 'B', 'A'] }
    await expect(shortestPaths(twice)).rejects.toEqual(coded('VALUE', "nodes[2] is 'A', as nodes[0] is"))
    const unknown = { ...roads, to: ['B', 'C', 'X'] }
    await expect(shortestPaths(unknown)).rejects.toEqual(coded('VALUE', "to[2] is 'X', which is none"))
    await expect(shortestPaths(roads, { sources: 'Z' as 'A' })).rejects.toEqual(
      coded('VALUE', "sources[0] is 'Z'"),
    )
    const round = { ...roads, from: ['C', 'B', 'A'], to: ['A', 'C', 'B'], weight: [-9, 1, 2] }
    for (const options of [{}, { sources: 'A' }]) {
      const error = await shortestPaths(round, options).catch((error) => error)
      expect(error).toBeInstanceOf(CycleError)
      expect(error.message).toContain('the cycle A → B → C → A has the weight -6')
      expect([error.cycle, error.keys]).toEqual([
        [0, 1, 2],
        ['A', 'B', 'C'],
      ])
    }
    const far = { nodes: ['A', 'B', 'C'], from: ['A', 'B'], to: ['B', 'C'], weight: [2 ** 31 - 2, 5] }
    for (const options of [{}, { sources: 'A' }]) {
      await expect(shortestPaths(far, options)).rejects.toEqual(
        coded('OVERFLOW', 'the distance from A to C is 2147483651'),
      )
    }
  })

  it('may be an empty list, and may have edges without weights', async () => {
    const none = await shortestPaths({ nodes: [], from: [], to: [], weight: [] })
    expect(none.distances.shape).toEqual([0, 0])
    const { distances } = await transitiveClosure({ nodes: ['a', 'b'], from: ['a'], to: ['b'] })
    expect([distances.at('a', 'b'), distances.at('b', 'a')]).toEqual([1, 0])
  })
})

it('provides at() by nodes, not by rows, for numbered graphs', async () => {
  const graph = { nodes: 3, from: [0, 1], to: [1, 2], weight: [4, 5] }
  const { distances } = await shortestPaths(graph, { sources: [1, 0], targets: 2 })
  expect([distances.at(0, 2), distances.at(1, 2)]).toEqual([9, 5])
  expect(() => distances.at(2, 2)).toThrow(coded('VALUE', 'from is 2, which is not among the sources'))
  const data = Int32Array.of(0, 7, 5, 0, 0, 1, 2, 0)
  const batch = await longestPaths({ data: data.map((value) => -value), shape: [2, 2, 2] })
  expect([batch.distances.at(0, 1), batch.distances.at(1, 0, 1)]).toEqual([-7, -2])
})

describe('graphs of other libraries', () => {
  const expected = { nodes: 3, keys: ['c', 'a', 'b'], from: Int32Array.of(1, 2), to: Int32Array.of(2, 0) }
  const both = { ...expected, from: Int32Array.of(1, 2, 2, 0), to: Int32Array.of(2, 1, 0, 2) }
  const weights = { weight: Int32Array.of(3, 1) }

  it('may be from graphology, where edges may be undirected', () => {
    const newGraph = (graph: DirectedGraph | UndirectedGraph) => {
      for (const node of ['c', 'a', 'b']) graph.addNode(node)
      graph.addEdge('a', 'b', { weight: 3 })
      graph.addEdge('b', 'c', { weight: 1 })
      return graph
    }
    expect(toEdgeList(newGraph(new DirectedGraph()))).toEqual({ ...expected, ...weights })
    expect(toEdgeList(newGraph(new UndirectedGraph()))).toEqual({
      ...both,
      weight: Int32Array.of(3, 3, 1, 1),
    })
    expect(toEdgeList(newGraph(new UndirectedGraph()), { directed: true }).from).toEqual(expected.from)
    expect(() => toEdgeList(newGraph(new DirectedGraph()), { weight: 'minutes' })).toThrow(
      coded('VALUE', "the edge from 'a' to 'b' must have a weight in 'minutes', but it has none"),
    )
    const mixed = new MultiGraph()
    for (const node of [5, 7]) mixed.addNode(node)
    mixed.addDirectedEdge(5, 7, { weight: 4 })
    mixed.addUndirectedEdge(7, 5, { weight: 0.5 })
    mixed.addUndirectedEdge(7, 7, { weight: 1 })
    expect(toEdgeList(mixed)).toEqual({
      ...{ nodes: 2, keys: ['5', '7'], from: Int32Array.of(0, 1, 0, 1), to: Int32Array.of(1, 0, 1, 1) },
      weight: Float64Array.of(4, 0.5, 0.5, 1),
    })
    expect(() => toEdgeList(newGraph(new DirectedGraph()), { from: 'a' })).toThrow(
      coded('OPTION', 'option from is for columns of a table, but graph is a graphology graph'),
    )
  })

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'graph'],
    ['an edge list', { nodes: 2, from: [0], to: [1], weight: [1] }],
    ['half of a graph', { forEachNode: () => {} }],
  ])('rejects %s', (_, graph) => {
    expect(() => toEdgeList(graph as never)).toThrow(
      coded('DTYPE', 'graph must have the methods of a graphology graph (forEachNode, forEachEdge)'),
    )
  })

  it('may be from Cytoscape', () => {
    const cy = cytoscape({
      headless: true,
      elements: [
        ...['c', 'a', 'b'].map((id) => ({ data: { id } })),
        { data: { id: 'ab', source: 'a', target: 'b', weight: 3 } },
        { data: { id: 'bc', source: 'b', target: 'c', weight: 1 } },
      ],
    })
    expect(toEdgeList(cy)).toEqual({ ...expected, ...weights })
    expect(toEdgeList(cy.elements(), { directed: false })).toMatchObject(both)
    expect(toEdgeList(cy.$('#ab'), { weight: 'weight' })).toMatchObject({ keys: ['a', 'b'], nodes: 2 })
  })

  it('may be from ngraph', () => {
    const graph = createGraph()
    graph.addNode('c')
    graph.addLink('a', 'b', 3)
    graph.addLink('b', 'c', { weight: 1 })
    expect(toEdgeList(graph)).toEqual({ ...expected, ...weights })
    graph.addLink(1, '1', 5)
    expect(toEdgeList(graph).keys).toEqual(['c', 'a', 'b', 1, '1'])
    // A visit would end if the callback returned a value other than undefined, such as 0, the number of the
    // first node.
    expect(toEdgeList(graph, { directed: false }).from).toHaveLength(6)
  })

  it('may be from graphlib', () => {
    const newGraph = (directed: boolean) => {
      const graph = new GraphlibGraph({ directed, multigraph: true })
      graph.setNode('c')
      graph.setEdge('a', 'b', 3)
      graph.setEdge('b', 'c', 1)
      return graph
    }
    expect(toEdgeList(newGraph(true))).toEqual({ ...expected, ...weights })
    expect(toEdgeList(newGraph(false))).toMatchObject(both)
    const twice = newGraph(true).setEdge('a', 'b', { weight: 2 }, 'another')
    expect(toEdgeList(twice).weight).toEqual(Int32Array.of(3, 1, 2))
  })

  it('may be from Arrow', () => {
    const table = tableFromArrays({
      from: BigInt64Array.of(5n, 7n),
      to: BigInt64Array.of(7n, 9n),
      minutes: Float64Array.of(0.5, 2),
    })
    const { keys, weight } = toEdgeList(table, { weight: 'minutes' })
    expect([keys, weight]).toEqual([[5n, 7n, 9n], Float64Array.of(0.5, 2)])
    expect(toEdgeList(table.concat(table)).weight).toEqual(Int32Array.of(1, 1, 1, 1))
    expect(toEdgeList(table.slice(1)).keys).toEqual([7n, 9n])
    expect(() => toEdgeList(table, { from: 'start' })).toThrow(coded('VALUE', "no column 'start'"))
    const columns = (to: (string | null)[], ...weight: bigint[]) =>
      new Table({
        from: vectorFromArray(['A', 'B']),
        to: vectorFromArray(to),
        weight: vectorFromArray(weight, new Int64()),
      })
    expect(toEdgeList(columns(['B', 'C'], 4n, 2n ** 60n)).weight).toEqual(Float64Array.of(4, 2 ** 60))
    expect(() => toEdgeList(columns(['B', 'C'], 4n, 2n ** 60n + 1n))).toThrow(
      coded('VALUE', "the weight of the edge from 'B' to 'C' is 1152921504606846977, which no float64 holds"),
    )
    expect(() => toEdgeList(columns(['B', null], 4n, 5n))).toThrow(
      coded('VALUE', "row 1 of the table has no node in column 'to'"),
    )
  })

  it('have edges of weight 1 if no edge has a weight, and are rejected if only some have one', () => {
    const newGraph = (...labels: unknown[]) => {
      const graph = new GraphlibGraph({ multigraph: true })
      for (const [at, label] of labels.entries()) graph.setEdge('a', 'b', label as Label, `${at}`)
      return graph
    }
    for (const none of [undefined, null, {}, { weight: null }, { minutes: 7 }, 'road']) {
      expect(toEdgeList(newGraph(none, none)).weight).toEqual(Int32Array.of(1, 1))
      for (const labels of [
        [none, 4],
        [4, none],
        [{ weight: 4 }, none],
      ]) {
        expect(() => toEdgeList(newGraph(...labels))).toThrow(
          coded(
            'VALUE',
            "the edge from 'a' to 'b' must have a weight in 'weight', but it has none: give it one",
          ),
        )
        expect(toEdgeList(newGraph(...labels), { weight: null }).weight).toEqual(Int32Array.of(1, 1))
      }
      expect(() => toEdgeList(newGraph({ km: 1 }, none), { weight: 'km' })).toThrow(coded('VALUE', "in 'km'"))
    }
    expect(toEdgeList(newGraph(0, { weight: 0 })).weight).toEqual(Int32Array.of(0, 0))
    const table = (...weight: (number | null)[]) =>
      new Table({
        from: vectorFromArray(['A', 'B']),
        to: vectorFromArray(['B', 'C']),
        weight: vectorFromArray(weight, new Float64()),
      })
    expect(toEdgeList(table(null, null)).weight).toEqual(Int32Array.of(1, 1))
    expect(() => toEdgeList(table(0, null))).toThrow(coded('VALUE', "from 'B' to 'C' must have a weight"))
    expect(() => toEdgeList(table(null, null), { weight: 'weight' })).toThrow(
      coded('VALUE', "from 'A' to 'B'"),
    )
    expect(toEdgeList(table(0, null), { weight: null }).weight).toEqual(Int32Array.of(1, 1))
    expect(() => toEdgeList(table(0, 1), { weight: 7 as never })).toThrow(
      coded('OPTION', 'option weight must'),
    )
  })

  it('are rejected if weights are not numbers', () => {
    const graph = (label: Label) => new GraphlibGraph().setEdge('a', 'b', label)
    expect(() => toEdgeList(graph({ weight: '5' }))).toThrow(coded('DTYPE', "but it is '5'"))
    expect(() => toEdgeList(graph(Number.NaN))).toThrow(coded('VALUE', 'is NaN'))
    expect(() => toEdgeList(graph({ weight: 10n ** 400n }))).toThrow(coded('VALUE', 'no float64 holds'))
  })
})
