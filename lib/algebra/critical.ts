/** Computes critical graphs: the cycles that have the best mean. */
import { assertTerminates } from '../graph-core/caps.js'
import { findingComponents } from '../graph-core/components.js'
import { naming } from '../graph-core/names.js'
import { markedNodes } from '../graph-core/reached.js'
import { type EdgeRows, selectEdges, selected, startsOf } from '../graph-core/rows.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import { greatestDivisor } from '../integers.js'
import {
  asMean,
  type BestCycle,
  type CycleMean,
  type CycleOptions,
  compare,
  exactNumber,
  onSpectral,
  type Spectral,
  solve,
} from './best-cycles.js'
import { numberOf, type Weights } from './weights.js'

/** Nodes and edges of the cycles that have the best mean. */
export interface CriticalGraph<Key = number> {
  /** The mean of all its cycles. */
  mean: CycleMean<Key>
  /** Its nodes, ascending by their numbers. Names if nodes have names. */
  nodes: Key[]
  /**
   * Edges of the critical graph, ascending. Edges of an edge list are its indices, equally good parallel
   * edges included. The edge from i to j of an n × n matrix is i·n + j.
   */
  edges: number[]
  /** Strongly connected components of the critical graph, each as its nodes, ordered by their least nodes. */
  components: Key[][]
  /**
   * Least common multiple of the cyclicities of the components. The cyclicity of a component is the greatest
   * common divisor of the lengths of its cycles. The length of a cycle is its number of edges, or of their
   * tokens. If the whole graph is strongly connected, the cyclicity is the period of the powers of its
   * matrix.
   */
  cyclicity: number
}

/**
 * Finds the critical graph: all cycles with the best mean of the graph.
 *
 * @returns null if the graph has no cycle.
 * @throws Rejects with the errors of {@link maximumCycleMean}, and with OverflowError (ERR_MPMML_OVERFLOW)
 * for a cyclicity beyond 2^53.
 * @see F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity; `maxplusccir` of Scilab's max-plus toolbox
 * @example
 * const { mean, nodes, cyclicity } = await criticalGraph(matrix(2, 2, [3, 7, 2, 4]))
 * console.log(mean.value, nodes.join(), cyclicity) // 4.5 0,1 2
 */
export async function criticalGraph<Key = number>(
  graph: Weights<Key>,
  options?: CycleOptions,
): Promise<CriticalGraph<Key> | null> {
  return await onSpectral(graph, options, 'the search for the critical graph', function* (spectral) {
    const critical = yield* findCritical(spectral)
    return critical && (yield* describeCritical<Key>(spectral, critical))
  })
}

/** The critical graph in terms of places and inner edges. */
export interface Critical {
  readonly best: BestCycle
  /** Inner edges that are on a critical cycle; `edge` are their indices. */
  readonly rows: EdgeRows
  /**
   * Strongly connected components, ordered by their least nodes; each is the list of its places, ordered by
   * their nodes.
   */
  readonly parts: Int32Array[]
  /** For each component, the greatest common divisor of the tokens of its cycles. */
  readonly divisors: number[]
}

/** Returns the best cycle of all, and the tight edges of all components that have an equally good cycle. */
function* solveAll(spectral: Spectral): Steps<{ best: BestCycle; rows: EdgeRows } | null> {
  const { components, inner, iteration } = spectral
  const { nodes } = inner
  const from = new Int32Array(inner.to.length)
  const edge = new Int32Array(inner.to.length)
  let count = 0
  let best: BestCycle | null = null
  for (let component = 0; component < components.count; component++) {
    const own: BestCycle | null = yield* solve(spectral, component)
    if (!own) continue
    const order: number = best ? compare(own, best) : 1
    if (order < 0) continue
    if (order > 0) {
      best = own
      count = 0
    }
    for (let p = components.start[component]!; p < components.start[component + 1]!; p++) {
      if (p % PER_SLICE === PER_SLICE - 1) yield
      for (let k = inner.start[p]!; k < inner.start[p + 1]!; k++) {
        if (!iteration.isTight(k, p)) continue
        from[count] = p
        edge[count++] = k
      }
    }
  }
  if (!best) return null
  // The edges are in the order of their places already.
  const start = yield* startsOf(from.subarray(0, count), nodes)
  const edges = edge.subarray(0, count)
  return { best, rows: { nodes, start, to: edges.map((k) => inner.to[k]!), edge: edges } }
}

/** The critical graph; null if the graph has no cycle. */
export function* findCritical(spectral: Spectral): Steps<Critical | null> {
  const { members } = spectral.components
  const tight = yield* solveAll(spectral)
  if (!tight) return null
  const parts = yield* findingComponents(tight.rows)
  // Tight edges within strong components are on cycles of tight edges.
  const within = yield* selected(tight.rows, (k, p) => parts.of[tight.rows.to[k]!] === parts.of[p])
  const edge = yield* selectEdges(tight.rows.edge, within.edge, new Int32Array(within.edge.length))
  const found: { places: Int32Array; divisor: number }[] = []
  const tokens = yield* selectEdges(spectral.inner.tokens, edge, new Int32Array(edge.length))
  const divisorOf = cycleDivisors(within, tokens)
  for (let part = 0; part < parts.count; part++) {
    const positions = parts.members.slice(parts.start[part], parts.start[part + 1])
    const [first] = positions as unknown as [number]
    if (within.start[first] === within.start[first + 1]) continue
    const divisor = yield* divisorOf(first)
    found.push({ places: positions.sort((p, q) => members[p]! - members[q]!), divisor })
  }
  found.sort((a, b) => members[a.places[0]!]! - members[b.places[0]!]!)
  return {
    best: tight.best,
    rows: { ...within, edge },
    parts: found.map(({ places }) => places),
    divisors: found.map(({ divisor }) => divisor),
  }
}

function* describeCritical<Key>(spectral: Spectral, critical: Critical): Steps<CriticalGraph<Key>> {
  const { graph, components } = spectral
  const isOn = new Uint8Array(graph.rows.nodes)
  const parts: Key[][] = []
  for (const positions of critical.parts) {
    const nodes = positions.map((p) => components.members[p]!)
    for (const node of nodes) isOn[node] = 1
    parts.push((yield* naming(nodes, graph.names)) as Key[])
  }
  return {
    mean: asMean(spectral, critical.best),
    nodes: (yield* naming(yield* markedNodes(isOn), graph.names)) as Key[],
    edges: yield* edgesOf(spectral, critical),
    components: parts,
    cyclicity: exactNumber(critical.divisors.reduce(leastMultiple, 1n), 'the cyclicity'),
  }
}

/**
 * Returns the indices of the edges, ascending. Marks edges instead of sorting, because sorting a million
 * numbers takes a tenth of a second.
 */
function* edgesOf({ graph, inner }: Spectral, { rows: { edge } }: Critical): Steps<number[]> {
  const { rows, list } = graph
  const isOn = new Uint8Array(list ? list.length : rows.to.length)
  for (let at = 0; at < edge.length; at++) {
    if (at % PER_SLICE === PER_SLICE - 1) yield
    const k = inner.edge[edge[at]!]!
    isOn[list ? list.index[k]! : k] = 1
  }
  const edges: number[] = []
  let row = 0
  for (let k = 0; k < isOn.length; k++) {
    if (k % PER_SLICE === PER_SLICE - 1) yield
    if (isOn[k] === 0) continue
    if (!list) while (rows.start[row + 1]! <= k) row++
    edges.push(list ? k : numberOf(graph, k, row))
  }
  return edges
}

function leastMultiple(multiple: bigint, other: number): bigint {
  const divisor = greatestDivisor(other, Number(multiple % BigInt(other)))
  return multiple * BigInt(other / divisor)
}

/**
 * Returns a function from a place to the greatest common divisor of the tokens of the cycles of its
 * component.
 */
function cycleDivisors({ nodes, start, to }: EdgeRows, tokens: Int32Array): (first: number) => Steps<number> {
  const level = new Float64Array(nodes).fill(-1)
  const queue = new Int32Array(nodes)
  let looked = 0
  return function* (first) {
    let divisor = 0
    let waiting = 0
    queue[waiting++] = first
    level[first] = 0
    for (let at = 0; at < waiting; at++) {
      if (++looked % PER_SLICE === 0) yield
      const p = queue[at]!
      for (let k = start[p]!; k < start[p + 1]!; k++) {
        const j = to[k]!
        if (level[j]! < 0) {
          level[j] = level[p]! + tokens[k]!
          queue[waiting++] = j
        } else if (divisor !== 1) {
          divisor = greatestDivisor(divisor, Math.abs(level[p]! + tokens[k]! - level[j]!))
        }
      }
    }
    return divisor
  }
}

/** Returns the inner edges of a critical cycle through a place, with the fewest edges. */
export function criticalCycle({ rows: { start, to, edge } }: Critical, position: number): number[] {
  const by = new Map<number, { from: number; edge: number }>()
  const queue = [position]
  for (let at = 0; !by.has(position); at++) {
    assertTerminates(at + 1, queue.length, 'the search for a critical cycle')
    const p = queue[at]!
    for (let k = start[p]!; k < start[p + 1]!; k++) {
      const j = to[k]!
      if (by.has(j)) continue
      by.set(j, { from: p, edge: edge[k]! })
      queue.push(j)
    }
  }
  const cycle: number[] = []
  let p = position
  do {
    const step = by.get(p)!
    cycle.push(step.edge)
    p = step.from
  } while (p !== position)
  return cycle.reverse()
}
