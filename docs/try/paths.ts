/** Best paths between two nodes of a graph. */
import { CycleError } from 'mpmml'
import { longestPaths, mostReliablePaths, type NamedGraph, shortestPaths, widestPaths } from 'mpmml/graph'
import { InputError } from './csv.js'
import { html, shown, table } from './dom.js'
import { drawNetwork, edgeLines, type Marks, notDrawn, placesOf, readEdges, weightless } from './network.js'
import { inSlices } from './slices.js'
import { MAX_ROWS, type Tool, type Values } from './tool.js'

const kinds = {
  shortest: {
    find: shortestPaths,
    better: (x: number, y: number) => x < y,
    sum: 'The weights along it have the least sum',
  },
  longest: {
    find: longestPaths,
    better: (x: number, y: number) => x > y,
    sum: 'The weights along it have the greatest sum',
  },
  widest: {
    find: widestPaths,
    better: (x: number, y: number) => x > y,
    sum: 'Its least weight is the greatest',
  },
  'most reliable': {
    find: mostReliablePaths,
    better: (x: number, y: number) => x > y,
    sum: 'The weights along it have the greatest product',
  },
} as const

const isKind = (name: string): name is keyof typeof kinds => Object.hasOwn(kinds, name)

/** Returns the graph with each edge in both directions. */
function bothWays(graph: NamedGraph): NamedGraph {
  const Type = graph.weight.constructor as Float64ArrayConstructor
  return {
    ...graph,
    from: Int32Array.from([...graph.from, ...graph.to]),
    to: Int32Array.from([...graph.to, ...graph.from]),
    weight: Type.from([...graph.weight, ...graph.weight]),
  }
}

/** Returns the edges of a path as indices of the original graph's edges. */
function marksOf(
  graph: NamedGraph,
  path: readonly number[],
  better: (x: number, y: number) => boolean,
  count: number,
): Marks {
  const { from, to, weight } = graph
  // Paths of the library visit each node at most once.
  const after = new Map(path.slice(1).map((node, index) => [path[index]!, node]))
  const best = new Map<number, number>()
  for (let edge = 0; edge < from.length; edge++) {
    if (after.get(from[edge]!) !== to[edge]) continue
    const other = best.get(from[edge]!)
    if (other === undefined || better(weight[edge]!, weight[other]!)) best.set(from[edge]!, edge)
  }
  const edges = new Set(Array.from(best.values(), (edge) => edge % count))
  return { nodes: new Set(path), edges, bothWays: from.length > count }
}

/** Returns the selectable nodes. If the edges are invalid, these are only the selected nodes. */
const nodesOf = ({ edges, from, to }: Values): readonly string[] => {
  try {
    return readEdges(edges!).keys
  } catch {
    return [...new Set([from!, to!])]
  }
}

export const paths: Tool = {
  id: 'paths',
  title: 'Paths',
  about:
    'The best way from one node to another, and how far all others are: shortest, longest, widest, or most reliable.',
  fields: [
    {
      name: 'edges',
      label: 'Edges',
      hint: 'A line for each: from, to, weight. Or drop a file: .csv, .graphml, .gr or .mtx.',
      rows: 14,
    },
    { name: 'from', label: 'From', choices: nodesOf },
    { name: 'to', label: 'To', choices: nodesOf },
    { name: 'kind', label: 'Which path', choices: () => Object.keys(kinds) },
    { name: 'ways', label: 'Edges lead', choices: () => ['one way', 'both ways'] },
  ],
  example: {
    edges: `from,to,km
Basel,Zürich,87
Basel,Bern,105
Bern,Zürich,125
Bern,Lausanne,98
Bern,Luzern,111
Zürich,Luzern,52
Zürich,Chur,118
Luzern,Bellinzona,142
Chur,Bellinzona,115
Lausanne,Genève,64
Bellinzona,Lugano,31`,
    from: 'Genève',
    to: 'Lugano',
    kind: 'shortest',
    ways: 'both ways',
  },
  program: `import { parseGraph, shortestPaths } from 'mpmml/graph'

const text = 'Genève,Lausanne,64\\nLausanne,Bern,98\\nBern,Luzern,111\\nLausanne,Luzern,250'
const graph = parseGraph(text, { format: 'csv', keys: true })
const { path, distances } = await shortestPaths(graph, { sources: 'Genève', paths: true })
console.log(path('Genève', 'Luzern')) // [ 'Genève', 'Lausanne', 'Bern', 'Luzern' ]
console.log(distances.data.at(-1)) // 273`,
  textOf: edgeLines,
  async answer({ edges, from, to, kind, ways }, signal) {
    const read = readEdges(edges!)
    const graph = ways === 'both ways' ? bothWays(read) : read
    const [source, target] = [read.keys.indexOf(from!), read.keys.indexOf(to!)]
    if (source < 0 || target < 0)
      throw new InputError('Choose the nodes between which the path is wanted.', 'from')
    if (!isKind(kind!)) throw new InputError(`There are no ${kind} paths.`, 'kind')
    const { find, better, sum } = kinds[kind]
    const negative = kind === 'most reliable' ? read.weight.findIndex((weight) => weight < 0) : -1
    if (negative >= 0) {
      const edge = `${read.keys[read.from[negative]!]} → ${read.keys[read.to[negative]!]}`
      throw new InputError(
        `The edge ${edge} weighs ${shown(read.weight[negative]!)}: most reliable paths need weights of 0 or more.`,
      )
    }
    const { nodes, weight } = graph
    const numbered = { nodes, from: graph.from, to: graph.to, weight }
    const found = await find(numbered, { sources: source, paths: true, signal }).catch((error) => {
      if (!(error instanceof CycleError)) throw error
      const circle = [...error.cycle, error.cycle[0]!].map((node) => read.keys[node]).join(' → ')
      throw new InputError(`There is no ${kind} path: each time round ${circle} would make one better.`)
    })
    const distances = found.distances.data
    const path = found.path(source, target)
    const places = await inSlices(placesOf(read), signal)
    const marks = marksOf(graph, path ?? [], better, read.from.length)
    const words = path?.map((node) => graph.keys[node]).join(' → ')
    const rows = graph.keys.slice(0, MAX_ROWS).map((key) => [key, ''])
    await inSlices(
      (function* () {
        for (const [node, row] of rows.entries()) {
          row[1] = found.path(source, node) === null ? 'no path' : shown(distances[node]!)
          yield
        }
      })(),
      signal,
    )
    return (width) => [
      html(
        'p',
        { class: 'answer' },
        ...(words === undefined
          ? [`No path leads from ${from} to ${to}.`]
          : [`${words}: `, html('strong', {}, shown(distances[target]!)), '.']),
      ),
      weightless(edges!),
      words !== undefined && html('p', {}, `${sum} of all paths from ${from} to ${to}.`),
      places
        ? drawNetwork(read, places, marks, `The graph; the path is ${words ?? 'missing'}`, width)
        : html('p', {}, notDrawn(read)),
      table(
        graph.keys.length > MAX_ROWS ? `From ${from} to the first ${MAX_ROWS} nodes` : `From ${from}`,
        ['to', 'weight of the best path'],
        rows,
        (node) => marks.nodes.has(node),
      ),
    ]
  },
}
