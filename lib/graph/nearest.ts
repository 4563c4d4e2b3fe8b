/** The nearest source of each node, by one search from all sources. */
import { readSemiring, requireSemiringType } from '../built-in.js'
import { newArray } from '../elements.js'
import { CycleError } from '../errors.js'
import { cycleError } from '../graph-core/cycles.js'
import {
  type EdgeList,
  type Edges,
  type KeyedEdgeList,
  type NamedEdgeList,
  nodeNumbers,
} from '../graph-core/edges.js'
import { NodeNames, nodeText } from '../graph-core/names.js'
import { inSlices, type Steps } from '../graph-core/slices.js'
import { choice, Options, type OptionsOf, option } from '../options.js'
import { longWorkSet, type Progress } from '../product/options.js'
import type { ElementArray } from '../storage.js'
import { readLimit } from './options.js'
import type { NamedIntegers } from './paths.js'
import { Places } from './places.js'
import { readNodes } from './question.js'
import { type PathSemiring, pathSemirings, rulesOf } from './rules.js'
import { makeRoom, type Query, search, treesOf } from './search.js'
import { onGraph } from './structure.js'
import { walk } from './walk.js'

/** The options of {@link nearestSources}. `undefined` means the default. */
export interface NearestSourcesOptions {
  /** Semiring that paths are compared in: 'min-plus', that of {@link shortestPaths}, by default. */
  semiring?: Exclude<PathSemiring, 'or-and'> | undefined
  /** Paths with worse values count as none, and what is farther isn't searched. Not if an edge makes paths better. */
  limit?: number | undefined
  /** Aborts the search, with ERR_MPMML_ABORTED. */
  signal?: AbortSignal | undefined
  /** Listener of progress: `done` is the share of the search. */
  onProgress?: ((progress: Progress) => void) | undefined
}

const semirings = pathSemirings.filter((name) => name !== 'or-and')

const nearestOptions = new Options({
  semiring: choice(semirings, 'min-plus'),
  limit: option(undefined, readLimit),
  ...longWorkSet,
} satisfies OptionsOf<NearestSourcesOptions>)

/** Result of {@link nearestSources}: arrays have an element for each node. */
export interface NearestSources<Data extends ElementArray = ElementArray, Key = number> {
  /** The value of the best path from any source to each node; the semiring's zero if there is none. */
  readonly distances: Data
  /** The number of the source that this path begins at; −1 if there is no path. */
  readonly nearest: Int32Array
  /** The names of the nodes, by their numbers, if they have names. */
  readonly keys?: ArrayLike<Key>
  /**
   * The best path to a node, from its nearest source; null if there is none.
   *
   * @throws ValueError (ERR_MPMML_VALUE) or DTypeError (ERR_MPMML_DTYPE) for a value that isn't a node.
   */
  path(to: Key): Key[] | null
}

/**
 * The nearest of some sources for each node, such as the next hospital of each crossing: as the best of the rows that
 * {@link shortestPaths} gives for these sources, but by one search, whatever their number. Of sources that are equally near it is always
 * the same one.
 *
 * @param graph - an edge list.
 * @param sources - nodes by their numbers, or by their names if they have names: an array of them, or one.
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
  const { semiring, limit, ...its } = nearestOptions.read(options)
  return await onGraph(graph, its, WORK, true, async (edges, calls) => {
    requireSemiringType(readSemiring(semiring!), edges.type)
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
    await search({ edges: extended }, query, { ...room, item: undefined }, calls).catch((error) => {
      if (!(error instanceof CycleError)) throw error
      // No edge leads to the origin, so that it is on no cycle.
      throw cycleError({ nodes: error.cycle, weight: error.weight, batch: undefined }, rules, names)
    })
    const trees = treesOf(query, room, 0)!
    const places = new Places({ ...query, nodes, sources: null }, 1, names)
    return {
      distances: room.distances.subarray(0, nodes),
      nearest: room.next!.subarray(0, nodes),
      ...(names && { keys: names.keys }),
      path(to) {
        const { target } = places.of(to, to)
        const path = walk(trees, 0, nodes, target, nodes + 1)
          ?.reverse()
          .slice(1)
        return path ? path.map((node) => (names ? names.keys[node] : node)) : null
      },
    }
  })
}

const WORK = 'the search for the nearest sources'

/** The edges, and one from a further node, the origin, to each source: of the value of the empty path, which changes no path. */
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
  // Checked here, because the search takes the origin for a node.
  extended.from.set(yield* nodeNumbers(from, nodes, 'from'))
  extended.to.set(yield* nodeNumbers(to, nodes, 'to'))
  extended.to.set(sources, count)
  extended.weight.set(weight)
  return extended
}

/** The names of the nodes, and of the origin, which messages speak of. */
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
