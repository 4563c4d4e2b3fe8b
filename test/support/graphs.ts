/** Random graphs. */
import type { Random } from './generators.js'
import type { WeightedEdges } from './paths-oracle.js'

/** Graph of random edges; `weight` returns the weight of an edge between two nodes. */
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

/** Adds an edge. */
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
