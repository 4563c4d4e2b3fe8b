/** Critical graphs: the cycles that have the best mean. */
import { type Components, findingComponents } from '../graph/components.js'
import { PER_STEP, type Steps } from '../graph/slices.js'
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
import type { Inner } from './inner-edges.js'
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
 * @returns null if the graph has no cycle.
 * @throws Rejects with what {@link maximumCycleMean} rejects with, and OverflowError (ERR_MPMML_OVERFLOW) for a cyclicity
 *   beyond 2^53.
 * @see F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity; `maxplusccir` of Scilab's max-plus toolbox
 * @example
 * const { mean, nodes, cyclicity } = await criticalGraph(matrix(2, 2, [3, 7, 2, 4]))
 * console.log(mean.value, nodes.join(), cyclicity) // 4.5 0,1 2
 */
export async function criticalGraph(
  weights: Weights,
  options: CycleOptions = {},
): Promise<CriticalGraph | null> {
  return await onSpectral(weights, options, 'the search for the critical graph', function* (spectral) {
    const critical = yield* findCritical(spectral)
    return critical && (yield* describeCritical(spectral, critical))
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

/** Edges in the order of their places. */
interface Tight {
  readonly from: Int32Array
  readonly edge: Int32Array
}

/** The best cycle of all, and the edges of all components that have one as good, along which values lose nothing. */
function* solveAll(spectral: Spectral): Steps<({ best: BestCycle } & Tight) | null> {
  const { components, inner, iteration } = spectral
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
      if (p % PER_STEP === PER_STEP - 1) yield
      for (let k = inner.start[p]!; k < inner.start[p + 1]!; k++) {
        if (!iteration.isTight(k, p)) continue
        from[count] = p
        edge[count++] = k
      }
    }
  }
  return best && { best, from: from.subarray(0, count), edge: edge.subarray(0, count) }
}

/** The critical graph; null if there is no cycle. */
export function* findCritical(spectral: Spectral): Steps<Critical | null> {
  const { components, inner } = spectral
  const tight = yield* solveAll(spectral)
  if (!tight) return null
  const nodes = components.members.length
  const start = startsOf(tight.from, nodes)
  const to = tight.edge.map((k) => inner.to[k]!)
  const parts = yield* findingComponents({ nodes, start, to })
  // Of these, the edges within components are on cycles.
  const from = new Int32Array(to.length)
  const edge = new Int32Array(to.length)
  const isFound = new Uint8Array(parts.count)
  let count = 0
  for (let at = 0; at < to.length; at++) {
    if (at % PER_STEP === PER_STEP - 1) yield
    const part = parts.of[tight.from[at]!]!
    if (part !== parts.of[to[at]!]) continue
    isFound[part] = 1
    from[count] = tight.from[at]!
    edge[count++] = tight.edge[at]!
  }
  const found: number[] = []
  for (let part = 0; part < parts.count; part++) if (isFound[part] === 1) found.push(part)
  const divisors = yield* cycleDivisors(parts, found, start, to)
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
    start: startsOf(from.subarray(0, count), nodes),
    from: from.subarray(0, count),
    edge: edge.subarray(0, count),
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

function* describeCritical(spectral: Spectral, critical: Critical): Steps<CriticalGraph> {
  const { members } = spectral.components
  const sets = critical.parts.map((places) => places.map((p) => members[p]!))
  const nodes = new Int32Array(sets.reduce((total, { length }) => total + length, 0))
  let at = 0
  for (const set of sets) {
    nodes.set(set, at)
    at += set.length
  }
  return {
    mean: asMean(spectral, critical.best),
    nodes: nodes.sort(),
    edges: yield* edgesOf(spectral, critical),
    components: sets,
    cyclicity: exactNumber(critical.divisors.reduce(leastMultiple, 1n), 'the cyclicity'),
  }
}

/** The numbers of the edges, ascending. They are marked, because sorting a million numbers takes a tenth of a second. */
function* edgesOf({ graph, inner }: Spectral, { edge }: Critical): Steps<number[]> {
  const { rows, listed, numberOf } = graph
  const isOn = new Uint8Array(listed ?? rows.to.length)
  for (let at = 0; at < edge.length; at++) {
    if (at % PER_STEP === PER_STEP - 1) yield
    const k = inner.edge[edge[at]!]!
    isOn[listed === null ? k : rows.edge[k]!] = 1
  }
  const edges: number[] = []
  let row = 0
  for (let k = 0; k < isOn.length; k++) {
    if (k % PER_STEP === PER_STEP - 1) yield
    if (isOn[k] === 0) continue
    if (listed === null) while (rows.start[row + 1]! <= k) row++
    edges.push(listed === null ? numberOf(k, row) : k)
  }
  return edges
}

function leastMultiple(multiple: bigint, other: number): bigint {
  let [a, b] = [multiple, BigInt(other)]
  while (b !== 0n) [a, b] = [b, a % b]
  return (multiple / a) * BigInt(other)
}

/** The greatest common divisor of the lengths of the cycles of each of the components `found`. */
function* cycleDivisors(
  parts: Components,
  found: number[],
  start: Int32Array,
  to: Int32Array,
): Steps<number[]> {
  const level = new Int32Array(parts.of.length).fill(-1)
  const queue = new Int32Array(parts.of.length)
  const divisors: number[] = []
  let looked = 0
  for (const part of found) {
    let divisor = 0
    let waiting = 0
    queue[waiting++] = parts.members[parts.start[part]!]!
    level[queue[0]!] = 0
    for (let at = 0; at < waiting; at++) {
      if (++looked % PER_STEP === 0) yield
      const p = queue[at]!
      for (let k = start[p]!; k < start[p + 1]!; k++) {
        const j = to[k]!
        if (parts.of[j] !== part) continue
        if (level[j]! < 0) {
          level[j] = level[p]! + 1
          queue[waiting++] = j
        } else if (divisor !== 1) {
          divisor = greatestDivisor(divisor, Math.abs(level[p]! + 1 - level[j]!))
        }
      }
    }
    divisors.push(divisor)
  }
  return divisors
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
