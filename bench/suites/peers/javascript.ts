/** Shortest paths by other libraries for JavaScript, if they are installed. They work in one thread. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Network } from '../sparse/networks.js'

/** A network as a library has it. */
interface Loaded {
  /** The distances from a node to all others; undefined if the library has no such function. */
  distances?: (source: number) => Float64Array
  /** The distance from a node to another; undefined if it has none that ends early. */
  between?: (source: number, target: number) => number
}

export interface Rival {
  name: string
  version: string
  load(network: Network): Loaded
}

/** Looks for packages where the command is run. */
const { resolve } = createRequire(join(process.cwd(), 'package.json'))
const folders = resolve.paths('packages') ?? []

function versionOf(name: string): string | undefined {
  for (const folder of folders) {
    try {
      return JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')).version
    } catch {
      // It may be in the next one.
    }
  }
  return undefined
}

async function load<Module>(name: string): Promise<Module> {
  const module = await import(pathToFileURL(resolve(name)).href)
  return module.default ?? module
}

type Make = (...modules: never[]) => Rival['load']

const nodesOf = ({ nodes }: Network) => Array.from({ length: nodes }, (_, node) => String(node))

interface GraphologyGraph {
  addNode(key: string): void
  addEdge(from: string, to: string, attributes: { weight: number }): void
  getEdgeAttribute(from: string, to: string, name: string): number
}
interface GraphologyPaths {
  dijkstra: {
    singleSource(graph: GraphologyGraph, source: string, weight: string): Record<string, string[]>
    bidirectional(graph: GraphologyGraph, source: string, target: string, weight: string): string[] | null
  }
}

function graphology(
  { DirectedGraph }: { DirectedGraph: new () => GraphologyGraph },
  { dijkstra }: GraphologyPaths,
): Rival['load'] {
  return (network) => {
    const graph = new DirectedGraph()
    for (const node of nodesOf(network)) graph.addNode(node)
    for (const [e, weight] of network.weight.entries())
      graph.addEdge(String(network.from[e]), String(network.to[e]), { weight })
    const lengthOf = (path: readonly string[]) => {
      let sum = 0
      for (let at = 1; at < path.length; at++)
        sum += graph.getEdgeAttribute(path[at - 1]!, path[at]!, 'weight')
      return sum
    }
    return {
      // It gives paths only, so lengths are added up.
      distances(source) {
        const distances = new Float64Array(network.nodes).fill(Number.POSITIVE_INFINITY)
        const paths = dijkstra.singleSource(graph, String(source), 'weight')
        for (const [node, path] of Object.entries(paths)) distances[Number(node)] = lengthOf(path)
        return distances
      },
      between(source, target) {
        const path = dijkstra.bidirectional(graph, String(source), String(target), 'weight')
        return path ? lengthOf(path) : Number.POSITIVE_INFINITY
      },
    }
  }
}

interface CytoscapeElement {
  data(name: string): number
}
interface CytoscapeGraph {
  elements(): {
    dijkstra(options: object): { distanceTo(node: unknown): number }
  }
  getElementById(id: string): unknown
}

function cytoscape(make: (options: object) => CytoscapeGraph): Rival['load'] {
  return (network) => {
    const cy = make({
      headless: true,
      styleEnabled: false,
      elements: {
        nodes: nodesOf(network).map((id) => ({ data: { id } })),
        edges: Array.from(network.weight, (weight, e) => ({
          data: { id: `e${e}`, source: String(network.from[e]), target: String(network.to[e]), weight },
        })),
      },
    })
    const nodes = nodesOf(network).map((id) => cy.getElementById(id))
    const weight = (edge: CytoscapeElement) => edge.data('weight')
    return {
      distances(source) {
        const found = cy.elements().dijkstra({ root: nodes[source], weight, directed: true })
        return Float64Array.from(nodes, (node) => found.distanceTo(node))
      },
    }
  }
}

interface NgraphGraph {
  addNode(id: number): void
  addLink(from: number, to: number, data: number): void
  getLink(from: number, to: number): { data: number }
}

function ngraph(
  make: () => NgraphGraph,
  paths: { nba(graph: NgraphGraph, options: object): { find(from: number, to: number): { id: number }[] } },
): Rival['load'] {
  return (network) => {
    const graph = make()
    for (let node = 0; node < network.nodes; node++) graph.addNode(node)
    for (const [e, weight] of network.weight.entries())
      graph.addLink(network.from[e]!, network.to[e]!, weight)
    const distance = (_from: unknown, _to: unknown, link: { data: number }) => link.data
    const finder = paths.nba(graph, { oriented: true, distance })
    return {
      between(source, target) {
        // From the target back.
        const path = finder.find(source, target)
        let sum = path.length === 0 ? Number.POSITIVE_INFINITY : 0
        for (let at = 1; at < path.length; at++) sum += graph.getLink(path[at]!.id, path[at - 1]!.id).data
        return sum
      },
    }
  }
}

interface GraphlibGraph {
  setNode(node: string): void
  setEdge(from: string, to: string, weight: number): void
  edge(edge: unknown): number
}

function graphlib({
  Graph,
  alg,
}: {
  Graph: new (options: object) => GraphlibGraph
  alg: {
    dijkstra(
      graph: GraphlibGraph,
      source: string,
      weight: (edge: unknown) => number,
    ): Record<string, { distance: number }>
  }
}): Rival['load'] {
  return (network) => {
    const graph = new Graph({ directed: true })
    for (const node of nodesOf(network)) graph.setNode(node)
    for (const [e, weight] of network.weight.entries())
      graph.setEdge(String(network.from[e]), String(network.to[e]), weight)
    return {
      distances(source) {
        const found = alg.dijkstra(graph, String(source), (edge) => graph.edge(edge))
        return Float64Array.from(nodesOf(network), (node) => found[node]!.distance)
      },
    }
  }
}

const known: { packages: string[]; make: Make }[] = [
  { packages: ['graphology', 'graphology-shortest-path'], make: graphology as Make },
  { packages: ['cytoscape'], make: cytoscape as Make },
  { packages: ['ngraph.graph', 'ngraph.path'], make: ngraph as Make },
  { packages: ['@dagrejs/graphlib'], make: graphlib as Make },
]

/** Those that are installed, and the names of the others. */
export async function javascriptRivals(): Promise<{ rivals: Rival[]; missing: string[] }> {
  const rivals: Rival[] = []
  const missing: string[] = []
  for (const { packages, make } of known) {
    const name = packages.at(-1)!
    const version = packages.map(versionOf)
    if (version.includes(undefined)) {
      missing.push(name)
      continue
    }
    const modules = await Promise.all(packages.map(load<never>))
    rivals.push({ name, version: version.at(-1)!, load: make(...modules) })
  }
  return { rivals, missing }
}
