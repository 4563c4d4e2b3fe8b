/** Shortest paths by other JavaScript libraries, if these are installed. All of them use one thread. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Network } from '../sparse/networks.js'

/** Network that was converted to a library's graph. */
interface Loaded {
  /** Returns the distances from a node to all others; undefined if the library has no such function. */
  distances?: (source: number) => ArrayLike<number>
  /**
   * Returns the distance from a node to another; undefined if the library has no search that stops at the
   * target.
   */
  between?: (source: number, target: number) => number
}

export interface PeerLibrary {
  name: string
  version: string
  load(network: Network): Loaded
}

/** Exports of a library, which has no types here. */
// biome-ignore lint/suspicious/noExplicitAny: packages that may be installed
type Library = any

/** Packages are resolved from the working directory. */
const { resolve } = createRequire(join(process.cwd(), 'package.json'))
const folders = resolve.paths('packages') ?? []

function versionOf(name: string): string | undefined {
  for (const folder of folders) {
    try {
      return JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')).version
    } catch {
      // The package may be in the next folder.
    }
  }
  return undefined
}

async function load(name: string): Promise<Library> {
  const module = await import(pathToFileURL(resolve(name)).href)
  return module.default ?? module
}

const nodesOf = ({ nodes }: Network) => Array.from({ length: nodes }, (_, node) => String(node))

const edgesOf = ({ from, to, weight }: Network) =>
  Array.from(weight, (each, e) => [String(from[e]), String(to[e]), each] as const)

/** Returns the sum of weights along a path, for libraries that return only the path. */
function lengthOf<Node>(path: readonly Node[], weightOf: (from: Node, to: Node) => number): number {
  return path.slice(1).reduce((sum, node, at) => sum + weightOf(path[at]!, node), 0)
}

function graphology({ DirectedGraph }: Library, { dijkstra }: Library): PeerLibrary['load'] {
  return (network) => {
    const graph = new DirectedGraph()
    for (const node of nodesOf(network)) graph.addNode(node)
    for (const [from, to, weight] of edgesOf(network)) graph.addEdge(from, to, { weight })
    const length = (path: string[]) => lengthOf(path, (i, j) => graph.getEdgeAttribute(i, j, 'weight'))
    return {
      distances(source) {
        const distances = new Float64Array(network.nodes).fill(Number.POSITIVE_INFINITY)
        const paths: Record<string, string[]> = dijkstra.singleSource(graph, String(source), 'weight')
        for (const [node, path] of Object.entries(paths)) distances[Number(node)] = length(path)
        return distances
      },
      between(source, target) {
        const path = dijkstra.bidirectional(graph, String(source), String(target), 'weight')
        return path ? length(path) : Number.POSITIVE_INFINITY
      },
    }
  }
}

function cytoscape(make: Library): PeerLibrary['load'] {
  return (network) => {
    const edges = edgesOf(network).map(([source, target, weight], e) => ({
      data: { id: `e${e}`, source, target, weight },
    }))
    const elements = { nodes: nodesOf(network).map((id) => ({ data: { id } })), edges }
    const cy = make({ headless: true, styleEnabled: false, elements })
    const nodes: Library[] = nodesOf(network).map((id) => cy.getElementById(id))
    const weight = (edge: Library) => edge.data('weight')
    return {
      distances(source) {
        const found = cy.elements().dijkstra({ root: nodes[source], weight, directed: true })
        return nodes.map((node) => found.distanceTo(node))
      },
    }
  }
}

function ngraph(make: Library, paths: Library): PeerLibrary['load'] {
  return (network) => {
    const graph = make()
    for (const node of nodesOf(network)) graph.addNode(node)
    for (const edge of edgesOf(network)) graph.addLink(...edge)
    const distance = (_from: unknown, _to: unknown, link: Library) => link.data
    const finder = paths.nba(graph, { oriented: true, distance })
    return {
      between(source, target) {
        // The library returns the path in reverse, from the target to the source.
        const path: string[] = finder.find(String(source), String(target)).map(({ id }: Library) => id)
        if (path.length === 0) return Number.POSITIVE_INFINITY
        return lengthOf(path.reverse(), (i, j) => graph.getLink(i, j).data)
      },
    }
  }
}

function graphlib({ Graph, alg }: Library): PeerLibrary['load'] {
  return (network) => {
    const graph = new Graph({ directed: true })
    for (const node of nodesOf(network)) graph.setNode(node)
    for (const edge of edgesOf(network)) graph.setEdge(...edge)
    return {
      distances(source) {
        const found = alg.dijkstra(graph, String(source), (edge: unknown) => graph.edge(edge))
        return nodesOf(network).map((node) => found[node].distance)
      },
    }
  }
}

const known: { packages: string[]; make: (...libraries: Library[]) => PeerLibrary['load'] }[] = [
  { packages: ['graphology', 'graphology-shortest-path'], make: graphology },
  { packages: ['cytoscape'], make: cytoscape },
  { packages: ['ngraph.graph', 'ngraph.path'], make: ngraph },
  { packages: ['@dagrejs/graphlib'], make: graphlib },
]

/** Finds the libraries that are installed, and the names of the others. */
export async function javascriptRivals(): Promise<{ rivals: PeerLibrary[]; missing: string[] }> {
  const rivals: PeerLibrary[] = []
  const missing: string[] = []
  for (const { packages, make } of known) {
    const name = packages.at(-1)!
    const versions = packages.map(versionOf)
    if (versions.includes(undefined)) missing.push(name)
    else
      rivals.push({ name, version: versions.at(-1)!, load: make(...(await Promise.all(packages.map(load)))) })
  }
  return { rivals, missing }
}
