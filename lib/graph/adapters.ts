/**
 * Graphs of other libraries as edge lists: by what their objects can do, so that none of these libraries is needed here. Nodes keep
 * their names.
 */
import { show, typeName } from '../describe.js'
import { DTypeError, OptionError, ValueError } from '../errors.js'
import { boolean, Options, type OptionsOf, option } from '../options.js'
import { edgeWeight, NamedEdges, type NamedGraph } from './named-edges.js'

/** The options of {@link fromGraphology} and the like. `undefined` means the default. */
export interface GraphAdapterOptions {
  /**
   * Name of the attribute that is the weight, or null for edges that weigh 1 each. By default the attribute 'weight', or 1 if no edge has
   * it. An edge that lacks the weight that others have, or that the option names, is an error; null and undefined are no weights.
   */
  weight?: string | null | undefined
  /**
   * Whether edges lead one way only. By default graphs that know whether they are directed say it themselves; others (Cytoscape,
   * ngraph, tables) are taken as directed.
   */
  directed?: boolean | undefined
}

/** The options of {@link fromArrow}. */
export interface ArrowOptions extends GraphAdapterOptions {
  /** The column of the nodes that edges leave; 'from' by default. */
  from?: string | undefined
  /** The column of the nodes that edges enter; 'to' by default. */
  to?: string | undefined
}

function readName(value: unknown, name: string): string {
  if (typeof value === 'string') return value
  throw new OptionError(`option ${name} must be a name, but it is ${show(value)}`)
}

const readWeight = (value: unknown, name: string) => (value === null ? null : readName(value, name))

const adapting = { weight: option(undefined, readWeight), directed: boolean(undefined) }
const options = new Options(adapting satisfies OptionsOf<GraphAdapterOptions>)
const arrowOptions = new Options({
  ...adapting,
  from: option('from', readName),
  to: option('to', readName),
} satisfies OptionsOf<ArrowOptions>)

/** The options of all adapters, read. */
interface Adapting {
  weight: string | null | undefined
  directed: boolean | undefined
}

/** Collects edges with the weights that options name. */
class Adapted<Key> {
  readonly #edges = new NamedEdges<Key>()
  readonly #weight: string | null | undefined
  readonly #directed: boolean | undefined
  #hasWeights = false
  /** First edge without a weight. */
  #lacking: (() => string) | undefined

  constructor({ weight, directed }: Adapting) {
    this.#weight = weight
    this.#directed = directed
  }

  node(key: Key): void {
    this.#edges.node(key)
  }

  /** Adds an edge. `attributes` has the weight, or is it. */
  add(from: Key, to: Key, attributes: unknown, isDirected: boolean): void {
    const weight = this.#weightOf(attributes, () => `the edge from ${show(from)} to ${show(to)}`)
    this.#edges.add(from, to, weight)
    if (!(this.#directed ?? isDirected) && from !== to) this.#edges.add(to, from, weight)
  }

  end(): NamedGraph<Key> {
    if (this.#lacking && this.#hasWeights) this.#refuse(this.#lacking)
    return this.#edges.end()
  }

  #weightOf(attributes: unknown, edge: () => string): number {
    if (this.#weight === null) return 1
    const isWeight = typeof attributes === 'number' && this.#weight === undefined
    const name = this.#weight ?? 'weight'
    const value = isWeight ? attributes : (attributes as Record<string, unknown> | null | undefined)?.[name]
    if (value === undefined || value === null) {
      if (this.#weight !== undefined) this.#refuse(edge)
      this.#lacking ??= edge
      return 1
    }
    this.#hasWeights = true
    return edgeWeight(value, edge)
  }

  #refuse(edge: () => string): never {
    throw new ValueError(
      `${edge()} must have a weight in ${show(this.#weight ?? 'weight')}, but it has none: give it one, or pass weight: null, and each edge weighs 1`,
    )
  }
}

/** Throws DTypeError unless `value` has these methods. */
function requireMethods(value: unknown, what: string, methods: readonly string[]): void {
  const has = (method: string) =>
    typeof (value as Record<string, unknown> | null | undefined)?.[method] === 'function'
  if (methods.every(has)) return
  throw new DTypeError(
    `this must be ${what}, which has the methods ${methods.join(', ')}, but it is ${typeName(value)}`,
  )
}

/** What {@link fromGraphology} needs of a graph. */
export interface GraphologyLike {
  /**
   * Calls a function for each node.
   *
   * @param callback - gets the name of the node.
   */
  forEachNode(callback: (node: string) => void): void
  /**
   * Calls a function for each edge.
   *
   * @param callback - gets the edge's name, its attributes, the names of its ends, their attributes, and whether it leads both ways.
   */
  forEachEdge(
    callback: (
      edge: string,
      attributes: { [name: string]: unknown },
      source: string,
      target: string,
      sourceAttributes: { [name: string]: unknown },
      targetAttributes: { [name: string]: unknown },
      undirected: boolean,
    ) => void,
  ): void
}

/**
 * The edge list of a graphology graph. Undirected edges lead both ways.
 *
 * @throws DTypeError for what is no such graph, and for weights that are no numbers; ValueError; OptionError.
 * @example
 * // As `new Graph()` of graphology has them.
 * const graph = {
 *   forEachNode: (callback) => ['A', 'B'].forEach((node) => callback(node)),
 *   forEachEdge: (callback) => callback('AB', { weight: 4 }, 'A', 'B', {}, {}, false),
 * }
 * const { distances } = await shortestPaths(fromGraphology(graph), { sources: 'A' })
 * console.log(distances.data.join()) // 0,4
 */
export function fromGraphology(graph: GraphologyLike, its?: GraphAdapterOptions): NamedGraph {
  requireMethods(graph, 'a graphology graph', ['forEachNode', 'forEachEdge'])
  const adapted = new Adapted<string>(options.read(its))
  graph.forEachNode((node) => {
    adapted.node(node)
  })
  graph.forEachEdge((_edge, attributes, source, target, _a, _b, undirected) => {
    adapted.add(source, target, attributes, !undirected)
  })
  return adapted.end()
}

/** What {@link fromCytoscape} needs. */
export interface CytoscapeLike {
  /** All nodes. */
  nodes(): { forEach(callback: (node: { id(): string }) => void): unknown }
  /** All edges. */
  edges(): {
    forEach(
      callback: (edge: { source(): { id(): string }; target(): { id(): string }; data(): unknown }) => void,
    ): unknown
  }
}

/**
 * The edge list of what a Cytoscape.js instance, or a collection of its elements, has.
 *
 * @throws as {@link fromGraphology}.
 * @example
 * // As an instance of Cytoscape.js has them.
 * const [a, b] = ['A', 'B'].map((id) => ({ id: () => id }))
 * const cy = { nodes: () => [a, b], edges: () => [{ source: () => a, target: () => b, data: () => ({ weight: 4 }) }] }
 * const { keys, weight } = fromCytoscape(cy)
 * console.log(keys.join(), weight.join()) // A,B 4
 */
export function fromCytoscape(cy: CytoscapeLike, its?: GraphAdapterOptions): NamedGraph {
  requireMethods(cy, 'a Cytoscape instance', ['nodes', 'edges'])
  const adapted = new Adapted<string>(options.read(its))
  cy.nodes().forEach((node) => {
    adapted.node(node.id())
  })
  cy.edges().forEach((edge) => {
    adapted.add(edge.source().id(), edge.target().id(), edge.data(), true)
  })
  return adapted.end()
}

/** What {@link fromNgraph} needs. */
export interface NgraphLike {
  /**
   * Calls a function for each node, until it gives something true.
   *
   * @param callback - gets the node, with its name.
   */
  forEachNode(callback: (node: { id: string | number }) => undefined): unknown
  /**
   * Calls a function for each edge, until it gives something true.
   *
   * @param callback - gets the names of the edge's ends, and its data.
   */
  forEachLink(
    // biome-ignore lint/suspicious/noExplicitAny: data is the user's.
    callback: (link: { fromId: string | number; toId: string | number; data?: any }) => undefined,
  ): unknown
}

/**
 * The edge list of an ngraph.graph. The data of a link is its weight if it is a number.
 *
 * @throws as {@link fromGraphology}.
 * @example
 * // As `createGraph()` of ngraph.graph has them.
 * const graph = {
 *   forEachNode: (callback) => ['A', 'B'].forEach((id) => callback({ id })),
 *   forEachLink: (callback) => callback({ fromId: 'A', toId: 'B', data: 4 }),
 * }
 * const { keys, weight } = fromNgraph(graph)
 * console.log(keys.join(), weight.join()) // A,B 4
 */
export function fromNgraph(graph: NgraphLike, its?: GraphAdapterOptions): NamedGraph<string | number> {
  requireMethods(graph, 'an ngraph.graph', ['forEachNode', 'forEachLink'])
  const adapted = new Adapted<string | number>(options.read(its))
  // A callback that gives something true ends the visits.
  graph.forEachNode(({ id }) => {
    adapted.node(id)
    return undefined
  })
  graph.forEachLink(({ fromId, toId, data }) => {
    adapted.add(fromId, toId, data, true)
    return undefined
  })
  return adapted.end()
}

/** What {@link fromGraphlib} needs. */
export interface GraphlibLike {
  /** The names of all nodes. */
  nodes(): string[]
  /** All edges: `v` is the node that an edge leaves, `w` the one that it enters. */
  edges(): { v: string; w: string }[]
  /** The label of an edge. */
  // biome-ignore lint/suspicious/noExplicitAny: labels are the user's.
  edge(edge: any): unknown
  /** Whether edges lead one way only. */
  isDirected(): boolean
}

/**
 * The edge list of a graphlib graph. The label of an edge is its weight if it is a number.
 *
 * @throws as {@link fromGraphology}.
 * @example
 * // As `new Graph()` of graphlib has them.
 * const graph = { nodes: () => ['A', 'B'], edges: () => [{ v: 'A', w: 'B' }], edge: () => 4, isDirected: () => true }
 * const { keys, weight } = fromGraphlib(graph)
 * console.log(keys.join(), weight.join()) // A,B 4
 */
export function fromGraphlib(graph: GraphlibLike, its?: GraphAdapterOptions): NamedGraph {
  requireMethods(graph, 'a graphlib graph', ['nodes', 'edges', 'edge', 'isDirected'])
  const adapted = new Adapted<string>(options.read(its))
  for (const node of graph.nodes()) adapted.node(node)
  const directed = graph.isDirected()
  for (const edge of graph.edges()) adapted.add(edge.v, edge.w, graph.edge(edge), directed)
  return adapted.end()
}

/** What {@link fromArrow} needs of a table. */
export interface ArrowLike {
  /** How many rows it has. */
  readonly numRows: number
  /** The column of a name; null if there is none. */
  getChild(name: string): { get(row: number): unknown } | null
}

/**
 * The edge list of an Apache Arrow table: a row for each edge.
 *
 * @throws as {@link fromGraphology}; ValueError for a column that doesn't exist, and for a row without a node.
 * @example
 * // As a table of Apache Arrow has them.
 * const columns = { from: ['A', 'B'], to: ['B', 'C'], weight: [4, 2] }
 * const table = { numRows: 2, getChild: (name) => ({ get: (row) => columns[name][row] }) }
 * const { keys, weight } = fromArrow(table)
 * console.log(keys.join(), weight.join()) // A,B,C 4,2
 */
export function fromArrow(table: ArrowLike, its?: ArrowOptions): NamedGraph<unknown> {
  requireMethods(table, 'an Arrow table', ['getChild'])
  const { from, to, ...rest } = arrowOptions.read(its)
  const adapted = new Adapted<unknown>(rest)
  const column = (name: string) => {
    const found = table.getChild(name)
    if (found) return found
    throw new ValueError(`the table has no column ${show(name)}`)
  }
  const name = rest.weight ?? 'weight'
  const ends = [column(from), column(to)] as const
  const weights = typeof rest.weight === 'string' ? column(name) : table.getChild(name)
  for (let row = 0; row < table.numRows; row++) {
    const [source, target] = [ends[0].get(row), ends[1].get(row)]
    if (source === null || target === null) {
      throw new ValueError(
        `row ${row} of the table has no node in column ${show(source === null ? from : to)}: leave such rows out`,
      )
    }
    adapted.add(source, target, { [name]: weights?.get(row) }, true)
  }
  return adapted.end()
}
