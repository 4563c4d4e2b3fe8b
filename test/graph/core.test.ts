/** The graph core: edge lists, compressed rows, reachable nodes, strongly connected components. */
import { describe, expect, it } from 'vitest'
import { elementType } from '../../lib/elements.js'
import { findingComponents } from '../../lib/graph-core/components.js'
import { readingEdges } from '../../lib/graph-core/edges.js'
import { findReachable } from '../../lib/graph-core/reached.js'
import {
  inMemory,
  listRows,
  matrixRows,
  ownersOf,
  type Rows,
  restrict,
  transpose,
} from '../../lib/graph-core/rows.js'
import { atOnce, type Steps } from '../../lib/graph-core/slices.js'
import { EPSILON } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { expectSame } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { reachability } from '../support/graph-oracle.js'
import { randomGraph } from '../support/graphs.js'

const good = { nodes: 3, from: [0, 1], to: [1, 2], weight: [5, -7] }
const transferred = () => {
  const array = Int32Array.of(0, 1)
  structuredClone(array.buffer, { transfer: [array.buffer] })
  return array
}

describe('reading', () => {
  it('accepts arrays and typed arrays of any numbers', () => {
    for (const make of [Int32Array, Uint8Array, Uint32Array, Float64Array, Int16Array]) {
      const { from, to } = readEdges({ ...good, from: make.from(good.from), to: make.from(good.to) })
      expect([from, to]).toEqual([Int32Array.of(0, 1), Int32Array.of(1, 2)])
    }
    expect(readEdges(good).weight).toEqual(Int32Array.of(5, -7))
    expect(readEdges({ ...good, weight: Float32Array.of(0.5, -Infinity) }).weight).toEqual(
      Float32Array.of(0.5, -Infinity),
    )
  })

  it('copies the arrays, so that later writes to them have no effect', () => {
    const weight = Float64Array.of(1, 2)
    const edges = readEdges({ ...good, weight })
    weight[0] = 9
    expect(edges.weight[0]).toBe(1)
    const bytes = Buffer.of(1, 1)
    const links = readEdges({ ...good, weight: bytes })
    bytes[0] = 0
    expect(links.weight).toEqual(Uint8Array.of(1, 1))
  })

  it.each<[string, unknown, string, string]>([
    ['nothing', undefined, 'DTYPE', 'must be an edge list'],
    ['a number', 3, 'DTYPE', 'must be an edge list'],
    ['no nodes', { ...good, nodes: undefined }, 'SHAPE', 'nodes must be an integer from 0 to 2^31 - 1'],
    ['negative nodes', { ...good, nodes: -1 }, 'SHAPE', 'it is -1'],
    ['half a node', { ...good, nodes: 2.5 }, 'SHAPE', 'it is 2.5'],
    ['too many nodes', { ...good, nodes: 2 ** 31 }, 'SHAPE', 'it is 2147483648'],
    ['no from', { ...good, from: undefined }, 'DTYPE', 'from must be an array of node numbers'],
    ['a string for to', { ...good, to: '01' }, 'DTYPE', 'to must be an array of node numbers'],
    ['a BigInt64Array', { ...good, to: BigInt64Array.of(1n, 2n) }, 'DTYPE', 'it is a BigInt64Array'],
    ['an Int16Array of weights', { ...good, weight: Int16Array.of(1, 2) }, 'DTYPE', 'it is an Int16Array'],
    ['unequal lengths', { ...good, to: [1] }, 'SHAPE', 'they have 2, 1 and 2 entries'],
    ['too few weights', { ...good, weight: Int32Array.of(1) }, 'SHAPE', 'they have 2, 2 and 1 entries'],
    ['a node outside', { ...good, to: [1, 3] }, 'VALUE', 'to[1] is 3, but the nodes are 0 to 2'],
    ['a negative node', { ...good, from: [-1, 0] }, 'VALUE', 'from[0] is -1'],
    ['a node of none', { ...good, nodes: 0 }, 'VALUE', 'there are no nodes'],
    ['a far node', { ...good, from: [2 ** 32, 0] }, 'VALUE', 'from[0] is 4294967296'],
    ['half a node number', { ...good, from: [0, 0.5] }, 'DTYPE', 'from[1] must be the number of a node'],
    ['NaN for a node', { ...good, from: Float64Array.of(0, Number.NaN) }, 'DTYPE', 'it is NaN'],
    ['a hole', { ...good, from: new Array(2) }, 'DTYPE', 'it is undefined'],
    ['a string for a node', { ...good, from: ['0', '1'] }, 'DTYPE', "it is '0'"],
    ['half a weight', { ...good, weight: [1, 0.5] }, 'DTYPE', 'weight[1] must be an integer'],
    ['a large weight', { ...good, weight: [1, 2 ** 31] }, 'DTYPE', 'weight[1] must be an integer'],
    ['NaN for a weight', { ...good, weight: Float32Array.of(1, Number.NaN) }, 'VALUE', 'weight[1] is NaN'],
    ['detached memory', { ...good, from: transferred() }, 'DTYPE', 'detached'],
  ])('rejects %s', (_, graph, code, message) => {
    expect(() => readEdges(graph)).toThrow(coded(code, message))
  })
})

const readEdges = (graph: unknown) => atOnce(readingEdges(graph))
const componentsOf = (rows: Rows) => atOnce(findingComponents(rows))
const rowsOf = (graph: unknown, zero: number | null = null) => atOnce(listRows(readEdges(graph), zero))

const randomEdges = (random: Random, weights: number[]) =>
  randomGraph(random, random.integer(1, 6), random.integer(0, 30), () => random.pick(weights))

/** Edges of compressed rows in order: [node of the row, other end, element of `beside` at the same index]. */
const edgesIn = ({ nodes, start, to }: Rows, beside: ArrayLike<number>) =>
  Array.from({ length: nodes }, (_, i) => i).flatMap((i) =>
    Array.from(to.subarray(start[i], start[i + 1]), (j, at) => [i, j, beside[start[i]! + at]!]),
  )

const rounds = Array.from({ length: 100 }, (_, round) => round)

describe('compressed rows', () => {
  it.each([EPSILON, 2 ** 31 - 1])(
    'keep the order of the list in each row, and omit the weight %i',
    (zero) => {
      const random = new Random(5)
      for (const _ of rounds) {
        const graph = randomEdges(random, [zero, -1, 0, 1, 2])
        const edges = readEdges(graph)
        for (const [direction, own, other] of [
          ['forward', graph.from, graph.to],
          ['backward', graph.to, graph.from],
        ] as const) {
          for (const left of [zero, null]) {
            const rows = atOnce(listRows(edges, left, direction))
            const expected = own
              .map((i, e) => [i, other[e]!, e])
              .filter(([, , e]) => graph.weight[e!] !== left)
              .sort((a, b) => a[0]! - b[0]!)
            expect(edgesIn(rows, rows.edge)).toEqual(expected)
            expect(rows.to.length).toBe(expected.length)
          }
        }
      }
    },
  )

  it('contain the elements of a matrix other than zero, with any strides', () => {
    const random = new Random(6)
    for (const _ of rounds) {
      const nodes = random.integer(0, 6)
      const data = Float64Array.from({ length: 2 + 3 * nodes * nodes }, () => random.pick([0, 0, -1, 2.5]))
      const [rowStride, colStride] = random.pick([
        [nodes, 1],
        [1, nodes],
        [3 * nodes, 2],
        [0, 1],
      ] as const)
      const matrix = { data, offset: 2, rows: nodes, rowStride, colStride }
      const rows = atOnce(matrixRows(matrix, 0, elementType(data)))
      const expected = Array.from({ length: nodes * nodes }, (_, at) => {
        const [i, j] = [Math.floor(at / nodes), at % nodes]
        return [i, j, data[2 + i * rowStride + j * colStride]!]
      })
      const edges = expected.filter(([, , value]) => value !== 0)
      expect(edgesIn(rows, rows.weight)).toEqual(edges)
      expect(rows.to.length).toBe(edges.length)
    }
  })

  it('contain the edges that enter each node, in order, if they are transposed', () => {
    const random = new Random(7)
    for (const _ of rounds) {
      const rows = rowsOf(randomEdges(random, [1]))
      const entering = atOnce(transpose(rows))
      const expected = edgesIn(rows, ownersOf(rows)).map(([i, j], k) => [j!, i!, k])
      expect(edgesIn(entering, entering.edge)).toEqual(expected.sort((a, b) => a[0]! - b[0]!))
    }
  })

  it('contain the edges whose ends have equal labels, in a new order of nodes, if they are restricted', () => {
    const random = new Random(8)
    for (const _ of rounds) {
      const rows = rowsOf(randomEdges(random, [1]))
      const label = Int32Array.from({ length: rows.nodes }, () => random.integer(-1, 1))
      const within = edgesIn(rows, ownersOf(rows)).flatMap(([i, j], k) =>
        label[i!] === label[j!] && label[i!]! >= 0 ? [[i!, j!, k]] : [],
      )
      const same = atOnce(restrict(rows, label, Int32Array.from(label.keys())))
      expect(edgesIn(same, same.edge)).toEqual(within)
      const order = Int32Array.from(label.keys())
        .filter((i) => label[i]! >= 0)
        .sort((a, b) => label[a]! - label[b]! || b - a)
      const other = atOnce(restrict(rows, label, order))
      expect(other.nodes).toBe(order.length)
      expect(edgesIn(other, other.edge)).toEqual(
        within.map(([i, j, k]) => [order.indexOf(i!), order.indexOf(j!), k]).sort((a, b) => a[0]! - b[0]!),
      )
    }
  })

  it('report that the edges can’t be allocated', () => {
    const making = (function* (): Steps<Int32Array> {
      yield
      return new Int32Array(2 ** 40)
    })()
    expect(() => atOnce(inMemory(7, making))).toThrow(
      expect.objectContaining({
        code: 'ERR_MPMML_OUT_OF_MEMORY',
        message: 'out of memory: cannot allocate the edges of a graph of 7 nodes',
      }),
    )
  })
})

describe('nodes that are reachable from some roots', () => {
  it('include the roots, and are in the order of their distance', () => {
    const random = new Random(9)
    for (const _ of rounds) {
      const graph = randomEdges(random, [1])
      const reach = reachability(graph)
      const roots = Int32Array.from({ length: random.integer(0, 3) }, () =>
        random.integer(0, graph.nodes - 1),
      )
      const expected = reach.map((_, i) => (roots.some((root) => root === i || reach[root]![i]) ? 1 : 0))
      const { members, within } = atOnce(findReachable(rowsOf(graph), roots))
      expect([...within]).toEqual(expected)
      expect([...members].sort((a, b) => a - b)).toEqual(expected.flatMap((is, i) => (is ? [i] : [])))
      expect([...members.subarray(0, new Set(roots).size)]).toEqual([...new Set(roots)])
    }
  })
})

describe('strongly connected components', () => {
  it('consist of nodes that reach each other, and follow the components that they reach', () => {
    const random = new Random(6)
    for (let round = 0; round < 400; round++) {
      const nodes = random.integer(0, 12)
      const graph = randomGraph(random, nodes, nodes === 0 ? 0 : random.integer(0, 2 * nodes), () => 1)
      // Half of the searches are in the part that some roots reach, and without some nodes.
      const isPart = round % 2 === 1 && nodes > 0
      const within = Uint8Array.from({ length: nodes }, () => (!isPart || random.chance(0.7) ? 1 : 0))
      const some = () => random.integer(0, nodes - 1)
      const roots = isPart ? Int32Array.of(some(), some()) : null
      const retained = graph.from.flatMap((i, e) => (within[i] && within[graph.to[e]!] ? [e] : []))
      const reach = reachability({
        ...graph,
        from: retained.map((e) => graph.from[e]!),
        to: retained.map((e) => graph.to[e]!),
      })
      const searched = [...reach.keys()].filter(
        (i) => !roots || (within[i] && roots.some((root) => within[root] && (root === i || reach[root]![i]))),
      )
      const part = isPart ? { roots, within } : {}
      const { of, members, start, count } = atOnce(findingComponents(rowsOf(graph), part))
      expect([...members].sort((a, b) => a - b)).toEqual(searched)
      for (let i = 0; i < nodes; i++) {
        if (!searched.includes(i)) expectSame(of[i], -1)
        else {
          for (const j of searched) {
            expectSame(of[i] === of[j], i === j || (reach[i]![j]! && reach[j]![i]!))
            if (reach[i]![j]) expectSame(of[i]! >= of[j]!, true)
          }
        }
      }
      expect([start.length, start[count]]).toEqual([count + 1, searched.length])
      for (let c = 0; c < count; c++) {
        expect(start[c + 1]).toBeGreaterThan(start[c]!)
        for (const i of members.subarray(start[c], start[c + 1])) expectSame(of[i], c)
      }
    }
  })

  it('are found in a path and in a cycle of 10^6 nodes', () => {
    const nodes = 1_000_000
    const from = Int32Array.from({ length: nodes }, (_, i) => i)
    const weight = new Int32Array(nodes)
    const cycle = { nodes, from, to: from.map((i) => (i + 1) % nodes), weight }
    expect(componentsOf(rowsOf(cycle)).count).toBe(1)
    const path = {
      nodes,
      from: from.subarray(1),
      to: from.subarray(0, nodes - 1),
      weight: weight.subarray(1),
    }
    expect(componentsOf(rowsOf(path)).count).toBe(nodes)
  })
})
