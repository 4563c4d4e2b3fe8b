/** Prepares graphs once for many searches, and computes tables of distances between some of their nodes. */
import { signal } from '../abort.js'
import { bytesOf } from '../elements.js'
import { AbortedError, ValueError } from '../errors.js'
import {
  type EdgeList,
  type Edges,
  isInt32,
  type KeyedEdgeList,
  keepEdges,
  type NamedEdgeList,
  readingEdges,
} from '../graph-core/edges.js'
import { inSlices, type Steps } from '../graph-core/slices.js'
import { isFromListener } from '../listener.js'
import { rowMajorMatrix } from '../matrix.js'
import type { NativeDissection } from '../native.js'
import { Options, type OptionsOf, whole } from '../options.js'
import { type ControlOptions, runNative } from '../run-native.js'
import type { ElementArray } from '../storage.js'
import { type AbortOptions, type SearchOptions, searchSet } from './options.js'
import {
  type KeyedLinkList,
  type LinkList,
  type NamedIntegers,
  type NamedLinkList,
  shortestPaths,
} from './paths.js'
import { type PathQuery, readQuery, shapeOf, WORK } from './query.js'
import { type Distances, PairPositions, readable } from './result.js'
import { divide, makeArray, makeRoom, type Query, search } from './search.js'
import { assertEdgeList } from './structure.js'

/** The options of {@link prepareGraph}. `undefined` means the default. */
export interface PrepareOptions extends AbortOptions {
  /** Limit in bytes of the cache for tables: 2^28 by default; 0 disables the cache. */
  memory?: number | undefined
}

const prepareOptions = new Options({
  memory: whole(2 ** 28, 0, Number.MAX_SAFE_INTEGER),
  signal,
} satisfies OptionsOf<PrepareOptions>)

const tableOptions = new Options(searchSet)

/** Graph from {@link prepareGraph}: an edge list. */
export interface PreparedGraph<Data extends ElementArray = ElementArray, Key = number> {
  /** Number of nodes. */
  readonly nodes: number
  /** A copy of the numbers of the nodes that edges leave. */
  readonly from: Int32Array
  /** A copy of the numbers of the nodes that edges enter. */
  readonly to: Int32Array
  /** A copy of the weights. */
  readonly weight: Data
  /**
   * Finds the lengths of shortest paths between some nodes, as {@link shortestPaths} does: a row per source
   * and a column per target, in their order.
   *
   * The first table of int32 weights computes a nested dissection of the graph, which is cached. Without
   * small separators, and for floats, the distances from each source to all nodes are cached, as long as
   * `memory` of {@link prepareGraph} suffices.
   *
   * @param sources - node indices, or names if nodes have names: an array, or a single one; all nodes by
   * default.
   * @param targets - node indices or names, like `sources`; all nodes by default.
   * @throws Rejects with an {@link MpmmlError}, as {@link PathFunction} does.
   */
  table(
    sources?: ArrayLike<Key> | Key,
    targets?: ArrayLike<Key> | Key,
    options?: SearchOptions,
  ): Promise<Distances<Data, Key>>
}

/** {@link PreparedGraph} whose nodes have names. */
export interface PreparedNamedGraph<Key = unknown, Data extends ElementArray = ElementArray>
  extends PreparedGraph<Data, Key> {
  /** The name of each node. */
  readonly keys: ArrayLike<Key>
}

/**
 * Reads a graph once for many calls: checks it, copies its arrays and indexes its names. Every function that
 * takes an edge list accepts the result.
 *
 * Later changes of the arrays have no effect.
 *
 * @param graph - an edge list; weights may be omitted for functions that need none.
 * @throws Rejects with an {@link MpmmlError}, as {@link PathFunction} does; with ERR_MPMML_VALUE for edges with tokens.
 * @example
 * const roads = { nodes: ['A', 'B', 'C'], from: ['A', 'B', 'A'], to: ['B', 'C', 'C'], weight: [4, 3, 9] }
 * const prepared = await prepareGraph(roads)
 * const distances = await prepared.table(['A', 'B'], ['B', 'C'])
 * console.log(distances.data.join(), distances.at('A', 'C')) // 4,7,0,3 7
 */
export function prepareGraph<Key>(
  graph: NamedIntegers<Key>,
  options?: PrepareOptions,
): Promise<PreparedNamedGraph<Key, Int32Array>>
export function prepareGraph<Key, Data extends ElementArray = Uint8Array>(
  graph: NamedEdgeList<Key, Data> | KeyedEdgeList<Key, Data> | NamedLinkList<Key> | KeyedLinkList<Key>,
  options?: PrepareOptions,
): Promise<PreparedNamedGraph<Key, Data>>
export function prepareGraph(
  graph: EdgeList<never>,
  options?: PrepareOptions,
): Promise<PreparedGraph<Int32Array>>
export function prepareGraph<Data extends ElementArray = Uint8Array>(
  graph: EdgeList<Data> | LinkList,
  options?: PrepareOptions,
): Promise<PreparedGraph<Data>>
export async function prepareGraph(graph: unknown, options?: PrepareOptions): Promise<PreparedGraph> {
  const { memory, signal } = prepareOptions.read(options)
  assertEdgeList(graph)
  if ('tokens' in graph && graph.tokens !== undefined) {
    throw new ValueError(
      'the edges have tokens, but a prepared graph keeps none: leave them out, or call the functions of mpmml/algebra with the edge list',
    )
  }
  const edges = await inSlices(
    readingEdges(graph, { weightless: true }),
    signal,
    'the preparation of a graph',
  )
  const { nodes, names } = edges
  if (Array.isArray(names?.keys)) Object.freeze(names.keys)
  const copies = {
    nodes,
    ...(names && { keys: names.keys }),
    get from() {
      return edges.from.slice()
    },
    get to() {
      return edges.to.slice()
    },
    get weight() {
      return edges.weight.slice()
    },
  }
  const cache = new DistanceCache(edges, memory)
  const table: PreparedGraph['table'] = async (sources, targets, options) => {
    const requested = { sources, targets, ...tableOptions.read(options) }
    const question = await readQuery('min-plus', prepared, requested)
    const data = await cache.find(question)
    // Only requested pairs can cause errors.
    if (!data) return (await shortestPaths(prepared, requested)).distances
    return readable(rowMajorMatrix(data, shapeOf(question)), new PairPositions(question.query, 1, names))
  }
  // The methods aren't enumerable, so that a clone, such as one sent to a worker thread, is the edge list
  // alone.
  const prepared = Object.freeze(
    Object.defineProperty(copies, 'table', { value: table }),
  ) as unknown as PreparedGraph
  keepEdges(prepared, edges)
  return prepared
}

/** Number of searches per target from which searches from the targets are faster, even if rows are cached. */
const MAX_FOR_EACH_TARGET = 4

/** Number of sources whose distances one pass over a divided graph computes. */
const SWEPT_AT_ONCE = 64

/** Nested dissection of a graph, or rows of its distances, cached from table to table. */
class DistanceCache {
  readonly #edges: Edges
  readonly #memory: number
  /**
   * Nested dissection of the graph. Null if the graph isn't divided, or not yet; undefined before the first
   * attempt.
   */
  #division: NativeDissection | null | undefined
  /** Distances from nodes to all nodes, in the order of their last use. */
  readonly #rows = new Map<number, ElementArray>()

  constructor(edges: Edges, memory: number) {
    this.#edges = edges
    this.#memory = memory
    // Sums of floats differ by rounding if a division changes their order.
    if (!isInt32(edges) || memory === 0) this.#division = null
  }

  /**
   * Returns the distances of a query; null if {@link shortestPaths} is faster, or can answer it without an
   * error.
   */
  async find({ query, type, closing }: PathQuery): Promise<ElementArray | null> {
    const { nodes, sources, targets, limit } = query
    if (!sources?.length || !targets?.length || limit !== undefined) return null
    const its = { signal: closing.signal, onProgress: closing.onProgress }
    const mostSources = MAX_FOR_EACH_TARGET * targets.length
    try {
      if (this.#division === undefined) await this.#divide(query, type, its.signal)
      if (this.#division) {
        if (sources.length > Math.max(SWEPT_AT_ONCE, mostSources)) return null
        return await this.#search({ ...query, division: this.#division }, type, its)
      }
      // Other queries may evict rows while this query waits.
      const rows = new Map([...new Set(sources)].map((node) => [node, this.#rows.get(node)]))
      const missing = Int32Array.from(rows.keys()).filter((node) => !rows.get(node))
      if (missing.length > Math.min(this.#mostRows, mostSources)) return null
      if (missing.length > 0) {
        const found = await this.#search({ ...query, sources: missing, targets: null }, type, its)
        await inSlices(dividing(found, nodes, missing, rows), its.signal, WORK)
      }
      for (const [node, row] of rows as Map<number, ElementArray>) this.#keep(node, row)
      const data = makeArray('the distances', type, [1, sources.length, targets.length])
      await inSlices(reading(rows as Map<number, ElementArray>, sources, targets, data), its.signal, WORK)
      return data
    } catch (error) {
      if (error instanceof AbortedError || isFromListener(error)) throw error
      return null
    }
  }

  get #mostRows(): number {
    return Math.floor(this.#memory / (this.#edges.nodes * bytesOf(this.#edges.type)))
  }

  async #divide(query: Query, type: number, signal: AbortSignal | undefined): Promise<void> {
    const all: Query = {
      ...query,
      sources: null,
      targets: null,
      direction: 'forward',
      memory: this.#memory,
    }
    // Queries that arrive meanwhile are answered by searches.
    this.#division = null
    try {
      this.#division = await runNative({ signal, what: WORK, borrowed: null }, (call) =>
        divide({ edges: this.#edges }, all, type, call),
      )
    } catch (error) {
      if (error instanceof AbortedError) this.#division = undefined
      throw error
    }
    if (this.#division) this.#rows.clear()
  }

  async #search(query: Query, type: number, its: ControlOptions): Promise<ElementArray> {
    // Searches must not try again to divide the graph.
    const method = query.division ? query.method : 'search'
    const forward: Query = { ...query, method, direction: 'forward' }
    const room = makeRoom(forward, 1, type)
    await runNative({ ...its, what: WORK, borrowed: null }, (call) =>
      search({ edges: this.#edges }, forward, room, call),
    )
    return room.distances
  }

  #keep(node: number, row: ElementArray): void {
    this.#rows.delete(node)
    this.#rows.set(node, row)
    if (this.#rows.size > this.#mostRows) this.#rows.delete(this.#rows.keys().next().value!)
  }
}

/** Copies rows of one array to separate arrays, so that each can be removed alone. */
function* dividing(
  found: ElementArray,
  length: number,
  nodes: Int32Array,
  rows: Map<number, ElementArray | undefined>,
): Steps<void> {
  for (let row = 0; row < nodes.length; row++) {
    rows.set(nodes[row]!, found.slice(row * length, (row + 1) * length))
    yield
  }
}

/** Writes a table that consists of the selected columns of rows. */
function* reading(
  rows: ReadonlyMap<number, ElementArray>,
  sources: Int32Array,
  targets: Int32Array,
  data: ElementArray,
): Steps<void> {
  let position = 0
  for (const source of sources) {
    const row = rows.get(source)!
    for (const target of targets) data[position++] = row[target]!
    yield
  }
}
