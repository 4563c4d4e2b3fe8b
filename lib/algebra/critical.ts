/** Critical graphs: the cycles that have the best mean. */
import { type Components, findingComponents } from '../graph/components.js'
import type { Steps } from '../graph/slices.js'
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
import { greatestDivisor } from './fractions.js'
import type { Inner } from './howard.js'
import type { Weights } from './weights.js'

/** The nodes and edges of cycles that have the best mean. */
export interface CriticalGraph {
  /** The mean of all its cycles. */
  mean: CycleMean
  /** Its nodes, ascending. */
  nodes: Int32Array
  /**
   * Its edges, ascending: indices in the edge list, of parallel edges that are equally good all; of an n × n matrix an edge from i to j is
   * i·n + j.
   */
  edges: number[]
  /** Its strongly connected components, each by its nodes; the one with the least node first. */
  components: Int32Array[]
  /**
   * The least common multiple, over its components, of the greatest common divisor of the lengths of their cycles. If the
   * whole graph is strongly connected, this is the period of the powers of its matrix.
   */
  cyclicity: number
}

/**
 * The critical graph: all cycles with the best mean of the graph.
 *
 * Its errors are those of {@link maximumCycleMean}, and OverflowError (ERR_MPMML_OVERFLOW) for a cyclicity beyond 2^53.
 *
 * @returns null if the graph has no cycle.
 * @see F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity; `maxplusccir` of Scilab's max-plus toolbox
 */
export async function criticalGraph(
  weights: Weights,
  options: CycleOptions = {},
): Promise<CriticalGraph | null> {
  return await onSpectral(weights, options, 'the search for the critical graph', function* (spectral) {
    const critical = yield* findCritical(spectral)
    return critical && describeCritical(spectral, critical)
  })
}

/** The critical graph in terms of places and inner edges. */
export interface Critical {
  readonly best: BestCycle
  /** Edges of which each is on a critical cycle: `edge[at]` leaves the place `from[at]`, and those of place p begin at `start[p]`. */
  readonly start: Int32Array
  readonly from: Int32Array
  readonly edge: Int32Array
  /** Strongly connected components, by ascending least nodes, each as its places by ascending nodes. */
  readonly parts: Int32Array[]
  /** The greatest common divisors of the lengths of their cycles. */
  readonly divisors: number[]
}

function* solveAll(spectral: Spectral): Steps<{ best: BestCycle; from: number[]; edge: number[] } | null> {
  const { components, inner, iteration } = spectral
  let best: BestCycle | null = null
  let from: number[] = []
  let edge: number[] = []
  for (let component = 0; component < components.count; component++) {
    const own: BestCycle | null = yield* solve(spectral, component)
    if (!own) continue
    const order: number = best ? compare(own, best) : 1
    if (order < 0) continue
    if (order > 0) {
      best = own
      from = []
      edge = []
    }
    // Along an edge of a critical cycle values lose nothing.
    for (let p = components.start[component]!; p < components.start[component + 1]!; p++) {
      for (let k = inner.start[p]!; k < inner.start[p + 1]!; k++) {
        if (!iteration.isTight(k, p)) continue
        from.push(p)
        edge.push(k)
      }
    }
    yield
  }
  return best && { best, from, edge }
}

/** The critical graph; null if there is no cycle. */
export function* findCritical(spectral: Spectral): Steps<Critical | null> {
  const { components, inner } = spectral
  const tight = yield* solveAll(spectral)
  if (!tight) return null
  const nodes = components.members.length
  // They are in the order of their places already.
  const start = startsOf(tight.from, nodes)
  const to = Int32Array.from(tight.edge, (k) => inner.to[k]!)
  const parts = yield* findingComponents({ nodes, start, to })
  const kept = tight.from.map((p, at) => parts.of[p] === parts.of[to[at]!])
  const from = Int32Array.from(tight.from.filter((_, at) => kept[at]))
  const edge = Int32Array.from(tight.edge.filter((_, at) => kept[at]))
  yield
  const found = [...new Set(Array.from(from, (p) => parts.of[p]!))]
  const divisors = cycleDivisors(parts, found, start, to)
  const nodeOf = (p: number) => components.members[p]!
  const sorted = found
    .map((part, at) => ({
      places: parts.members
        .slice(parts.start[part], parts.start[part + 1])
        .sort((p, q) => nodeOf(p) - nodeOf(q)),
      divisor: divisors[at]!,
    }))
    .sort((a, b) => nodeOf(a.places[0]!) - nodeOf(b.places[0]!))
  return {
    best: tight.best,
    start: startsOf(from, nodes),
    from,
    edge,
    parts: sorted.map(({ places }) => places),
    divisors: sorted.map(({ divisor }) => divisor),
  }
}

function startsOf(from: ArrayLike<number>, nodes: number): Int32Array {
  const start = new Int32Array(nodes + 1)
  for (let at = 0; at < from.length; at++) start[from[at]! + 1]!++
  for (let p = 0; p < nodes; p++) start[p + 1]! += start[p]!
  return start
}

function describeCritical(spectral: Spectral, critical: Critical): CriticalGraph {
  const { components, graph, inner } = spectral
  const { members } = components
  const sets = critical.parts.map((places) => places.map((p) => members[p]!))
  const nodes = new Int32Array(sets.reduce((total, { length }) => total + length, 0))
  let at = 0
  for (const set of sets) {
    nodes.set(set, at)
    at += set.length
  }
  const edges = Float64Array.from(critical.edge, (k, at) =>
    graph.numberOf(inner.edge[k]!, members[critical.from[at]!]!),
  )
  return {
    mean: asMean(spectral, critical.best),
    nodes: nodes.sort(),
    edges: [...edges.sort()],
    components: sets,
    cyclicity: exactNumber(critical.divisors.reduce(leastMultiple, 1n), 'the cyclicity'),
  }
}

function leastMultiple(multiple: bigint, other: number): bigint {
  let [a, b] = [multiple, BigInt(other)]
  while (b !== 0n) [a, b] = [b, a % b]
  return (multiple / a) * BigInt(other)
}

/** The greatest common divisor of the lengths of the cycles of each of the components `found`. */
function cycleDivisors(parts: Components, found: number[], start: Int32Array, to: Int32Array): number[] {
  const level = new Int32Array(parts.of.length).fill(-1)
  const queue = new Int32Array(parts.of.length)
  return found.map((part) => {
    let divisor = 0
    let waiting = 0
    queue[waiting++] = parts.members[parts.start[part]!]!
    level[queue[0]!] = 0
    for (let at = 0; at < waiting; at++) {
      const p = queue[at]!
      for (let k = start[p]!; k < start[p + 1]!; k++) {
        const j = to[k]!
        if (parts.of[j] !== part) continue
        if (level[j]! < 0) {
          level[j] = level[p]! + 1
          queue[waiting++] = j
        } else {
          divisor = greatestDivisor(divisor, Math.abs(level[p]! + 1 - level[j]!))
        }
      }
    }
    return divisor
  })
}

/** The inner edges of a critical cycle through a place: one with the fewest edges. */
export function criticalCycle({ start, edge }: Critical, inner: Inner, place: number): number[] {
  const by = new Map<number, { from: number; edge: number }>()
  const queue = [place]
  for (let at = 0; !by.has(place); at++) {
    const p = queue[at]!
    for (let k = start[p]!; k < start[p + 1]!; k++) {
      const j = inner.to[edge[k]!]!
      if (by.has(j)) continue
      by.set(j, { from: p, edge: edge[k]! })
      queue.push(j)
    }
  }
  const cycle: number[] = []
  let p = place
  do {
    const step = by.get(p)!
    cycle.push(step.edge)
    p = step.from
  } while (p !== place)
  return cycle.reverse()
}
