/**
 * Converts graphs of other libraries to edge lists. Recognizes a library by the methods of its objects, so
 * that none of these libraries is a dependency. Nodes keep their names.
 */
import { show, typeName } from '../describe.js'
import { DTypeError, OptionError, ValueError } from '../errors.js'
import { atOnce } from '../graph-core/slices.js'
import { boolean, Options, type OptionsOf, option, type ReadOf } from '../options.js'
import { edgeWeight, NamedEdges, type NamedGraph } from './named-edges.js'

/** The options of {@link toEdgeList}. `undefined` means the default. */
export interface ToEdgeListOptions {
  /**
   * Name of the attribute with the weight; null gives each edge the weight 1. By default it is 'weight', and
   * each edge has the weight 1 if no edge has this attribute. An edge without the named attribute, or without
   * 'weight' if other edges have it, is an error. The values null and undefined count as missing.
   */
  weight?: string | null | undefined
  /**
   * Whether edges are directed. By default the graph's own setting applies; graphs without one (Cytoscape,
   * ngraph, tables) count as directed.
   */
  directed?: boolean | undefined
  /** Name of the table's column with the node that each edge leaves; 'from' by default. */
  from?: string | undefined
  /** Name of the table's column with the node that each edge enters; 'to' by default. */
  to?: string | undefined
}

function readName(value: unknown, name: string): string {
  if (typeof value === 'string') return value
  throw new OptionError(`option ${name} must be a name, but it is ${show(value)}`)
}

const options = new Options({
  weight: option(undefined, (value, name) => (value === null ? null : readName(value, name))),
  directed: boolean(undefined),
  from: option(undefined, readName),
  to: option(undefined, readName),
} satisfies OptionsOf<ToEdgeListOptions>)

type Read = ReadOf<typeof options>

/** Collects edges with the weights that options name. */
class CollectedEdges<Key> {
  readonly #edges = new NamedEdges<Key>()
  readonly #weight: string | null | undefined
  readonly #directed: boolean | undefined
  #hasWeights = false
  /** First edge without a weight. */
  #lacking: (() => string) | undefined

  constructor({ weight, directed }: Read) {
    this.#weight = weight
    this.#directed = directed
  }

  node(key: Key): void {
    this.#edges.node(key)
  }

  /** Adds an edge. `attributes` contains the weight, or is the weight itself. */
  add(from: Key, to: Key, attributes: unknown, isDirected: boolean): void {
    const weight = this.#weightOf(attributes, () => `the edge from ${show(from)} to ${show(to)}`)
    const [start, end] = [this.#edges.node(from), this.#edges.node(to)]
    this.#edges.join(start, end, weight)
    if (!(this.#directed ?? isDirected) && start !== end) this.#edges.join(end, start, weight)
  }

  end(): NamedGraph<Key> {
    if (this.#lacking && this.#hasWeights) this.#refuse(this.#lacking)
    return atOnce(this.#edges.end())
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

/** The methods of a graphology graph that {@link toEdgeList} calls. */
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
   * @param callback - receives the edge's name, its attributes, the names of its ends, their attributes, and
   * whether it is undirected.
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

/** The methods of a Cytoscape.js instance, or a collection of its elements, that {@link toEdgeList} calls. */
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

/** The methods of an ngraph.graph that {@link toEdgeList} calls. */
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

/** The methods of a graphlib graph that {@link toEdgeList} calls. */
export interface GraphlibLike {
  /** The names of all nodes. */
  nodes(): string[]
  /** All edges: `v` is the node that an edge leaves, `w` the node that it enters. */
  edges(): { v: string; w: string }[]
  /** The label of an edge. */
  // biome-ignore lint/suspicious/noExplicitAny: labels are the user's.
  edge(edge: any): unknown
  /** Whether edges are directed. */
  isDirected(): boolean
}

/** The members of an Apache Arrow table that {@link toEdgeList} reads: a row for each edge. */
export interface ArrowLike {
  /** Number of rows. */
  readonly numRows: number
  /** Returns the column with a name; null if no column has it. */
  getChild(name: string): { get(row: number): unknown } | null
}

/** Adapter of a library, whose graphs are recognized by their methods. */
interface Adapter {
  /** Name of a graph of the library in messages. */
  readonly name: string
  readonly methods: readonly string[]
  /**
   * Adds all nodes and edges of a graph. Declared as a method, so that each adapter can have its own type of
   * graph.
   */
  visit(graph: unknown, adapted: CollectedEdges<unknown>, options: Read): void
}

/** All adapters. A library precedes libraries whose graphs have only some of its methods. */
const adapters: readonly Adapter[] = [
  {
    name: 'a graphology graph',
    methods: ['forEachNode', 'forEachEdge'],
    visit(graph: GraphologyLike, adapted) {
      graph.forEachNode((node) => {
        adapted.node(node)
      })
      graph.forEachEdge((_edge, attributes, source, target, _a, _b, undirected) => {
        adapted.add(source, target, attributes, !undirected)
      })
    },
  },
  {
    name: 'an ngraph.graph',
    methods: ['forEachNode', 'forEachLink'],
    visit(graph: NgraphLike, adapted) {
      // A callback that returns a truthy value ends the iteration.
      graph.forEachNode(({ id }) => {
        adapted.node(id)
        return undefined
      })
      graph.forEachLink(({ fromId, toId, data }) => {
        adapted.add(fromId, toId, data, true)
        return undefined
      })
    },
  },
  {
    name: 'a graphlib graph',
    methods: ['nodes', 'edges', 'edge', 'isDirected'],
    visit(graph: GraphlibLike, adapted) {
      for (const node of graph.nodes()) adapted.node(node)
      const directed = graph.isDirected()
      for (const edge of graph.edges()) adapted.add(edge.v, edge.w, graph.edge(edge), directed)
    },
  },
  {
    name: 'a Cytoscape instance',
    methods: ['nodes', 'edges'],
    visit(cy: CytoscapeLike, adapted) {
      cy.nodes().forEach((node) => {
        adapted.node(node.id())
      })
      cy.edges().forEach((edge) => {
        adapted.add(edge.source().id(), edge.target().id(), edge.data(), true)
      })
    },
  },
  {
    name: 'an Arrow table',
    methods: ['getChild'],
    visit(table: ArrowLike, adapted, { weight, from = 'from', to = 'to' }) {
      const column = (name: string) => {
        const found = table.getChild(name)
        if (found) return found
        throw new ValueError(`the table has no column ${show(name)}`)
      }
      const name = weight ?? 'weight'
      const [sources, targets] = [column(from), column(to)]
      const weights = typeof weight === 'string' ? column(name) : table.getChild(name)
      for (let row = 0; row < table.numRows; row++) {
        const [source, target] = [sources.get(row), targets.get(row)]
        if (source === null || target === null) {
          throw new ValueError(
            `row ${row} of the table has no node in column ${show(source === null ? from : to)}: leave such rows out`,
          )
        }
        adapted.add(source, target, { [name]: weights?.get(row) }, true)
      }
    },
  },
]

/**
 * Converts a graph of another library to an edge list: graphology, ngraph.graph, graphlib, Cytoscape.js (or
 * some of its elements), or an Apache Arrow table with a row per edge. An undirected edge becomes two edges.
 * The label of an edge of graphlib, and the data of a link of ngraph.graph, is the weight if it is a number.
 *
 * @throws ERR_MPMML_DTYPE for a value of no such library, and for weights that are no numbers; ERR_MPMML_VALUE, also for a column that doesn't
 *   exist, and for a row without a node; ERR_MPMML_OPTION.
 * @example
 * // As `new Graph()` of graphlib has them.
 * const graph = { nodes: () => ['A', 'B'], edges: () => [{ v: 'A', w: 'B' }], edge: () => 4, isDirected: () => true }
 * const { distances } = await shortestPaths(toEdgeList(graph), { sources: 'A' })
 * console.log(distances.data.join()) // 0,4
 */
export function toEdgeList(
  graph: GraphologyLike | GraphlibLike | CytoscapeLike,
  options?: ToEdgeListOptions,
): NamedGraph
export function toEdgeList(graph: NgraphLike, options?: ToEdgeListOptions): NamedGraph<string | number>
export function toEdgeList(graph: ArrowLike, options?: ToEdgeListOptions): NamedGraph<unknown>
export function toEdgeList(graph: unknown, its?: ToEdgeListOptions): NamedGraph<unknown> {
  const read = options.read(its)
  const has = (method: string) =>
    typeof (graph as Record<string, unknown> | null | undefined)?.[method] === 'function'
  const adapter = adapters.find(({ methods }) => methods.every(has))
  if (!adapter) {
    const known = adapters.map(({ name, methods }) => `${name} (${methods.join(', ')})`).join(', ')
    throw new DTypeError(`graph must have the methods of ${known}, but it is ${typeName(graph)}`)
  }
  const column = adapter.methods.includes('getChild')
    ? undefined
    : (['from', 'to'] as const).find((name) => read[name] !== undefined)
  if (column) {
    throw new OptionError(
      `option ${column} is for columns of a table, but graph is ${adapter.name}: leave it out`,
    )
  }
  const adapted = new CollectedEdges<unknown>(read)
  adapter.visit(graph, adapted, read)
  return adapted.end()
}
