/**
 * Finds the best cycle of each strongly connected component of a graph: the basis of cycle means and spectra.
 */
import { signal } from '../abort.js'
import { OverflowError } from '../errors.js'
import { type Components, findingComponents } from '../graph-core/components.js'
import { leastOf, rotated } from '../graph-core/cycles.js'
import { signOf, unscaled } from '../graph-core/fractions.js'
import { assertMemoryFits, type MemoryRequirement } from '../graph-core/memory-check.js'
import { naming } from '../graph-core/names.js'
import { atOnce, inSlices, type Steps } from '../graph-core/slices.js'
import { greatestDivisor } from '../integers.js'
import { Options, type OptionsOf } from '../options.js'
import type { MpmmOptions } from '../product/options.js'
import { type Inner, innerEdges } from './component-edges.js'
import { PolicyIteration } from './howard.js'
import {
  numberOf,
  readGraph,
  type SumSemiring,
  sumSemiring,
  type WeightedGraph,
  type Weights,
} from './weights.js'

/** Options of functions that search cycles. */
export interface CycleOptions extends Pick<MpmmOptions, 'signal'> {
  /** 'max-plus' (default) for maxima, 'min-plus' for minima. */
  semiring?: SumSemiring | undefined
}

/**
 * Mean of a cycle: the sum of its weights divided by the number of its edges. If edges have tokens, the
 * divisor is the number of their tokens.
 */
export interface CycleMean<Key = number> {
  /**
   * Numerator of the mean, which is numerator / denominator. For int32 weights both are exact and have no
   * common divisor.
   */
  numerator: number
  /**
   * Denominator of the mean, at least 1. For float weights it is the number of edges, or of their tokens; or 1
   * with the mean as numerator, if the sum of the weights is beyond the range of float64.
   */
  denominator: number
  /** The mean as a number. */
  value: number
  /**
   * Nodes of a cycle that has this mean, in order; an edge leads from the last node to the first. Names if
   * nodes have names.
   */
  cycle: Key[]
  /**
   * Edges of the cycle: `edges[k]` leads from `cycle[k]`. Edges of an edge list are its indices; the edge
   * from i to j of an n × n matrix is i·n + j.
   */
  edges: number[]
}

/** A graph in the form that the search of cycles reads. */
export interface Spectral {
  readonly graph: WeightedGraph
  readonly components: Components
  readonly inner: Inner
  readonly iteration: PolicyIteration
}

/** The best cycle of a component; `edges` are the indices of inner edges. */
export interface BestCycle {
  readonly edges: number[]
  /** Number of the edges' tokens; the number of edges if the graph has no tokens. */
  readonly tokens: number
  /** Sum of the weights in units of 2^-bits, negated for minima: a greater sum is better. */
  readonly sum: bigint
}

const cycleOptions = new Options({ semiring: sumSemiring, signal } satisfies OptionsOf<CycleOptions>)

/** Reads a graph, and runs work on it in slices. */
export async function onSpectral<Result>(
  graph: Weights,
  options: CycleOptions | undefined,
  what: string,
  work: (spectral: Spectral) => Steps<Result>,
): Promise<Result> {
  const { semiring, signal } = cycleOptions.read(options)
  const read = await readGraph(graph, semiring, signal, what)
  const steps = function* () {
    return yield* work(yield* prepare(read))
  }
  return await inSlices(steps(), signal, what)
}

const CYCLES: MemoryRequirement = { what: 'the search for the best cycles', perNode: 200, perEdge: 56 }

export function* prepare(graph: WeightedGraph): Steps<Spectral> {
  const { rows } = graph
  assertMemoryFits(CYCLES, rows.nodes, rows.to.length)
  yield
  const components = yield* findingComponents(rows)
  const inner = yield* innerEdges(graph, components)
  return { graph, components, inner, iteration: new PolicyIteration(inner) }
}

/** The best cycle of a component, or null if it has none. */
export function* solve(
  { components, inner, iteration }: Spectral,
  component: number,
): Steps<BestCycle | null> {
  const first = components.start[component]!
  const end = components.start[component + 1]!
  if (inner.start[first] === inner.start[end]) return null
  const edges = yield* iteration.solve(first, end)
  return bestCycle(inner, iteration, edges)
}

/** Returns a best cycle, given by its inner edges. */
export const bestCycle = ({ tokens }: Inner, iteration: PolicyIteration, edges: number[]): BestCycle => ({
  edges,
  tokens: edges.reduce((sum, k) => sum + tokens[k]!, 0),
  sum: iteration.exactSum(edges),
})

/** Positive if `a` has the better mean. */
export function compare(a: BestCycle, b: BestCycle): number {
  return signOf(a.sum * BigInt(b.tokens) - b.sum * BigInt(a.tokens))
}

/** Returns the component with the best cycle of all; null if the graph has no cycles. */
export function* bestOfAll(spectral: Spectral): Steps<BestCycle | null> {
  let best: BestCycle | null = null
  for (let component = 0; component < spectral.components.count; component++) {
    const own: BestCycle | null = yield* solve(spectral, component)
    if (own && (!best || compare(own, best) > 0)) best = own
  }
  return best
}

/** Binary digits of a mean beyond those of its weights. */
const MEAN_BITS = 64n

export function exactNumber(value: bigint, what: string): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new OverflowError(
    `${what} is ${value}, which no number holds exactly (2^53): use smaller weights, or weights in a Float64Array, whose sums are rounded`,
  )
}

/**
 * Returns `value / 2^bits` as a number: exactly if the weights are int32, else rounded.
 *
 * @throws OverflowError for an integer beyond 2^53.
 */
export const numeratorOf = ({ exact }: WeightedGraph, value: bigint, bits: number, what: string): number =>
  exact ? exactNumber(value, what) : unscaled(value, bits)

/**
 * The mean of a cycle: its numerator and its denominator. If a sum of float weights is beyond the range of
 * float64, the numerator is the rounded mean, and the denominator is 1.
 */
export function fractionOf(
  { inner, graph }: Pick<Spectral, 'inner' | 'graph'>,
  { tokens, sum }: BestCycle,
): [numerator: number, denominator: number] {
  const signed = BigInt(inner.sign) * sum
  const numerator = numeratorOf(graph, signed, inner.bits, "the sum of a cycle's weights")
  if (!graph.exact) {
    if (Number.isFinite(numerator)) return [numerator, tokens]
    const mean = unscaled((signed << MEAN_BITS) / BigInt(tokens), inner.bits + Number(MEAN_BITS))
    return [mean, 1]
  }
  const divisor = greatestDivisor(Math.abs(numerator), tokens)
  return [numerator / divisor, tokens / divisor]
}

/** Returns the mean of a cycle, with the user's names or numbers of its nodes. */
export function asMean<Key>(spectral: Spectral, best: BestCycle): CycleMean<Key> {
  const { inner, graph, components } = spectral
  const [numerator, denominator] = fractionOf(spectral, best)
  const cycle = best.edges.map((_, at) => components.members[inner.to[best.edges.at(at - 1)!]!]!)
  const edges = best.edges.map((k, at) => numberOf(graph, inner.edge[k]!, cycle[at]!))
  const first = leastOf(cycle)
  return {
    numerator,
    denominator,
    value: numerator / denominator,
    cycle: atOnce(naming(rotated(cycle, first), graph.names)) as Key[],
    edges: rotated(edges, first),
  }
}
