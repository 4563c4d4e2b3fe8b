/**
 * Prepares edge lists of files for searches: joins several files, adds reverse edges of two-way roads, and
 * scales decimals to integers.
 */
import { show } from '../describe.js'
import { FileError, ValueError } from '../errors.js'
import { nodeText } from '../graph-core/names.js'
import { selectEdges } from '../graph-core/rows.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import { KeyNumbers } from './key-numbers.js'
import type { ReadEdgeList } from './named-edges.js'

type Named = ReadEdgeList & { readonly keys?: readonly string[] }
type Ends = Pick<Named, 'from' | 'to' | 'weight' | 'tokens'>

/**
 * Joins several graphs; nodes with equal names or numbers become one node.
 *
 * @param twoWay - whether to add the reverse of each edge.
 * @param scale - factor of the weights, which become int32 integers.
 */
export function* joiningGraphs(
  graphs: readonly Named[],
  names: readonly string[],
  twoWay: boolean,
  scale: number | undefined,
): Steps<Named> {
  const joined = yield* joining(graphs, names)
  const graph = twoWay ? yield* bothWays(joined) : joined
  return scale === undefined ? graph : yield* scaling(graph, scale)
}

function* joining(graphs: readonly Named[], names: readonly string[]): Steps<Named> {
  if (graphs.length === 1) return graphs[0]!
  for (const [what, has] of [
    ['names of nodes', 'keys'],
    ['tokens', 'tokens'],
  ] as const) {
    const without = graphs.findIndex((graph) => !(has in graph))
    if (without >= 0 && graphs.some((graph) => has in graph)) {
      throw new FileError(
        `${names[without]}: all files of a graph must have ${what} or none, but this one has none: read each in the same way`,
      )
    }
  }
  if (!graphs.every(({ keys }) => keys)) {
    return { nodes: Math.max(...graphs.map(({ nodes }) => nodes)), ...joinedEdges(graphs) }
  }
  const numbers = new KeyNumbers<string>()
  const { keys } = numbers
  const renumbered: Ends[] = []
  for (const graph of graphs) {
    const numberOf = new Int32Array(graph.nodes)
    for (const [node, key] of graph.keys!.entries()) {
      if (node % PER_SLICE === PER_SLICE - 1) yield
      numberOf[node] = numbers.number(key)
    }
    const ends = (nodes: Int32Array) => selectEdges(numberOf, nodes, new Int32Array(nodes.length))
    renumbered.push({ ...graph, from: yield* ends(graph.from), to: yield* ends(graph.to) })
  }
  return { nodes: keys.length, keys, ...joinedEdges(renumbered) }
}

function joinedEdges(lists: readonly Ends[]): Ends {
  const integral = lists.every(({ weight }) => weight instanceof Int32Array)
  const all = <Values extends Int32Array | Float64Array>(
    make: new (length: number) => Values,
    of: (list: Ends) => Int32Array | Float64Array,
  ): Values => {
    const joined = new make(lists.reduce((sum, list) => sum + list.from.length, 0))
    let position = 0
    for (const list of lists) {
      joined.set(of(list), position)
      position += list.from.length
    }
    return joined
  }
  return {
    from: all(Int32Array, ({ from }) => from),
    to: all(Int32Array, ({ to }) => to),
    weight: integral ? all(Int32Array, ({ weight }) => weight) : all(Float64Array, ({ weight }) => weight),
    ...(lists[0]!.tokens && { tokens: all(Int32Array, ({ tokens }) => tokens!) }),
  }
}

/** Adds the opposite direction of each edge that isn't a loop. */
function* bothWays(graph: Named): Steps<Named> {
  const { from, to, weight, tokens } = graph
  const edges = new Int32Array(from.length)
  let count = 0
  for (let e = 0; e < from.length; e++) {
    if (e % PER_SLICE === PER_SLICE - 1) yield
    if (from[e] !== to[e]) edges[count++] = e
  }
  const turned = edges.subarray(0, count)
  const integers = (values: Int32Array) => selectEdges(values, turned, new Int32Array(count))
  const back: Ends = {
    from: yield* integers(to),
    to: yield* integers(from),
    weight:
      weight instanceof Int32Array
        ? yield* integers(weight)
        : yield* selectEdges(weight, turned, new Float64Array(count)),
    ...(tokens && { tokens: yield* integers(tokens) }),
  }
  return { ...graph, ...joinedEdges([graph, back]) }
}

const GREATEST = 2 ** 31 - 2

/**
 * Multiplies the weights by the factor, which must give int32 integers. Throws ValueError for a weight whose
 * product isn't one.
 */
function* scaling({ weight, ...graph }: Named, scale: number): Steps<Named> {
  const scaled = new Int32Array(weight.length)
  for (let e = 0; e < scaled.length; e++) {
    if (e % PER_SLICE === PER_SLICE - 1) yield
    const value = Math.round(weight[e]! * scale)
    // Parsing rounded the decimal in the file just as this division rounds its quotient. The two are equal
    // only if the scaled decimal is an integer.
    if (Math.abs(value) <= GREATEST && value / scale === weight[e]) scaled[e] = value
    else refuseScaled(graph, weight, e, scale)
  }
  return { ...graph, weight: scaled }
}

function refuseScaled(
  { from, to, keys }: Omit<Named, 'weight'>,
  weight: ArrayLike<number>,
  e: number,
  scale: number,
): never {
  const [source, target] = [from[e]!, to[e]!].map((node) => keys?.[node] ?? nodeText(node, null))
  const value = weight[e]!
  const isTooLarge = Math.abs(value * scale) > GREATEST
  throw new ValueError(
    `the weight of the edge from ${source} to ${target} times the scale, ${scale}, must be an integer within int32, ` +
      `but the weight is ${show(value)}: ${isTooLarge ? 'choose a smaller scale' : 'choose a scale with more decimals'}, or none`,
  )
}
