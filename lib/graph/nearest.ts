/** Finds the nearest source of each node by one search from all sources. */
import { deviceName } from '../backend.js'
import { newArray } from '../elements.js'
import { CycleError } from '../errors.js'
import { cycleError } from '../graph-core/cycles.js'
import {
  type EdgeList,
  type Edges,
  type KeyedEdgeList,
  type NamedEdgeList,
  nodeNumbers,
  numberOfNode,
} from '../graph-core/edges.js'
import { NodeNames, nodeText } from '../graph-core/names.js'
import { inSlices, type Steps } from '../graph-core/slices.js'
import { choice, Options, type OptionsOf } from '../options.js'
import type { ElementArray } from '../storage.js'
import { type SearchOptions, searchSet } from './options.js'
import { readPath } from './path-trees.js'
import type { NamedIntegers } from './paths.js'
import { readNodes } from './query.js'
import { type PathSemiring, rulesOf, weightedSemirings } from './rules.js'
import { forestOf, makeRoom, type Query, search } from './search.js'
import { keysOf, onGraph } from './structure.js'

/** The options of {@link nearestSources}. `undefined` means the default. */
export interface NearestSourcesOptions extends SearchOptions {
  /** Semiring that paths are compared in; by default 'min-plus', the semiring of {@link shortestPaths}. */
  semiring?: Exclude<PathSemiring, 'or-and'> | undefined
}

const nearestOptions = new Options({
  semiring: choice(weightedSemirings, 'min-plus'),
  ...searchSet,
} satisfies OptionsOf<NearestSourcesOptions>)

/** Result of {@link nearestSources}: arrays have an element for each node. */
export interface NearestSources<Data extends ElementArray = ElementArray, Key = number> {
  /** Value of the best path from any source to each node; the semiring's zero if no path exists. */
  readonly distances: Data
  /** Index of the node at which the best path to each node begins; −1 if no path exists. */
  readonly nearest: Int32Array
  /** The names of the nodes, by their numbers, if they have names. */
  readonly keys?: ArrayLike<Key>
  /** The backend that computed the result: searches run on the CPU. */
  readonly backend: 'cpu'
  /** The name of the processor. */
  readonly device: string
  /** Durations in milliseconds: of the whole call, and of the search. */
  readonly timing: { readonly totalMs: number; readonly kernelMs: number }
  /**
   * Returns the best path to a node, from its nearest source; null if no path exists.
   *
   * @throws ArgumentError (ERR_MPMML_VALUE) or ArgumentError (ERR_MPMML_DTYPE) for a value that isn't a node.
   */
  path(to: Key): Key[] | null
}

/**
 * Finds the nearest source of each node, such as the nearest hospital of each crossing. The distances are the
 * best over the rows that {@link shortestPaths} returns for these sources. One search finds them, for any
 * number of sources. The choice among equally near sources is deterministic.
 *
 * @param graph - an edge list.
 * @param sources - node indices, or names if nodes have names: an array, or a single one.
 * @throws Rejects with an {@link MpmmlError}, as {@link PathFunction} does.
 * @see `min_only` of SciPy's `dijkstra`, `multi_source_dijkstra` of NetworkX
 * @example
 * const roads = { nodes: ['A', 'B', 'C', 'D'], from: ['A', 'B', 'D'], to: ['B', 'C', 'C'], weight: [4, 3, 5] }
 * const { distances, path } = await nearestSources(roads, ['A', 'D'])
 * console.log(distances.join(), path('C').join(' → ')) // 0,4,5,0 D → C
 */
export function nearestSources<Key>(
  graph: NamedIntegers<Key>,
  sources: ArrayLike<NoInfer<Key>> | NoInfer<Key>,
  options?: NearestSourcesOptions,
): Promise<NearestSources<Int32Array, Key>>
export function nearestSources<Key, Data extends ElementArray>(
  graph: NamedEdgeList<Key, Data> | KeyedEdgeList<Key, Data>,
  sources: ArrayLike<NoInfer<Key>> | NoInfer<Key>,
  options?: NearestSourcesOptions,
): Promise<NearestSources<Data, Key>>
export function nearestSources<Data extends ElementArray = Int32Array>(
  graph: EdgeList<Data>,
  sources: ArrayLike<number> | number,
  options?: NearestSourcesOptions,
): Promise<NearestSources<Data>>
export async function nearestSources(
  graph: unknown,
  sources: unknown,
  options?: NearestSourcesOptions,
): Promise<NearestSources<ElementArray, unknown>> {
  const began = performance.now()
  const { semiring, limit, ...its } = nearestOptions.read(options)
  return await onGraph(graph, its, WORK, true, async (edges, calls) => {
    const rules = rulesOf(semiring!, edges.type)
    const { nodes, names } = edges
    const numbers = readNodes(sources ?? null, nodes, 'sources', names)!
    const query: Query = {
      nodes: nodes + 1,
      rules,
      sources: Int32Array.of(nodes),
      targets: null,
      paths: true,
      overflow: 'throw',
      limit,
    }
    const room = makeRoom(query, 1, edges.type)
    const list = await inSlices(withOrigin(edges, numbers, rules.one), its.signal, WORK)
    const extended = { ...edges, ...list, names: new OriginNames(nodes, names) }
    const searching = performance.now()
    await search({ edges: extended }, query, room, calls).catch((error) => {
      if (!(error instanceof CycleError)) throw error
      // No edge leads to the origin, so it is on no cycle.
      throw cycleError({ nodes: error.cycle, weight: error.weight, batch: undefined }, rules, names)
    })
    const ended = performance.now()
    const forest = forestOf(query, room)
    return {
      distances: room.distances.subarray(0, nodes),
      nearest: room.next!.subarray(0, nodes),
      ...(names && { keys: names.keys }),
      backend: 'cpu',
      device: deviceName(-1),
      timing: { totalMs: ended - began, kernelMs: ended - searching },
      path(to) {
        const target = numberOfNode(to, { nodes, names }, 'to')
        // The trees of a search are in arrays, so readPath() returns no promise.
        const path = readPath(forest, nodes + 1, { source: nodes, target, row: 0, col: target, item: 0 })
        return path && keysOf(Int32Array.from((path as number[]).slice(1)), names)
      },
    }
  })
}

const WORK = 'the search for the nearest sources'

/**
 * Returns the edges, plus an edge from an additional node, the origin, to each source. These edges have the
 * value of the empty path, so they don't change the values of paths.
 */
function* withOrigin(
  { nodes, from, to, weight, type }: Edges,
  sources: Int32Array,
  one: number,
): Steps<Omit<Edges, 'names' | 'borrowed'>> {
  const count = from.length
  const extended = {
    nodes: nodes + 1,
    from: new Int32Array(count + sources.length).fill(nodes, count),
    to: new Int32Array(count + sources.length),
    weight: newArray(type, count + sources.length).fill(one, count),
    type,
  }
  // The nodes of edges are checked here, because the search would accept the index of the origin.
  extended.from.set(yield* nodeNumbers(from, nodes, 'from'))
  extended.to.set(yield* nodeNumbers(to, nodes, 'to'))
  extended.to.set(sources, count)
  extended.weight.set(weight)
  return extended
}

/** Names of the nodes and of the origin in messages. */
class OriginNames extends NodeNames {
  readonly #origin: number
  readonly #names: NodeNames | null

  constructor(origin: number, names: NodeNames | null) {
    super(names?.keys ?? [], new Map())
    this.#origin = origin
    this.#names = names
  }

  override show(node: number): string {
    return node === this.#origin ? 'the nearest source' : nodeText(node, this.#names)
  }
}
