/** Random graphs. */
import type { Random } from './generators.js'
import type { WeightedEdges } from './paths-oracle.js'

/** A graph of random edges; `weight` is that of an edge from one node to another. */
export function randomGraph(
  random: Random,
  nodes: number,
  edges: number,
  weight: (from: number, to: number) => number,
): WeightedEdges {
  const graph: WeightedEdges = { nodes, from: [], to: [], weight: [] }
  const node = () => random.integer(0, nodes - 1)
  for (let e = 0; e < edges; e++) addEdge(graph, node(), node(), weight)
  return graph
}

/** One more edge. */
export function addEdge(
  graph: WeightedEdges,
  from: number,
  to: number,
  weight: number | ((from: number, to: number) => number),
): void {
  graph.from.push(from)
  graph.to.push(to)
  graph.weight.push(typeof weight === 'number' ? weight : weight(from, to))
}
