/** Cycle means of sparse graphs, and what belongs to them: cycle times, eigenvectors, critical graphs. */
import { show } from '../describe.js'
import { typeNameOf } from '../elements.js'
import { OverflowError, ShapeError, ValueError } from '../errors.js'
import { type Components, strongComponents } from '../graph/components.js'
import { type CompressedRows, compressRows } from '../graph/compressed.js'
import { type EdgeList, readEdges } from '../graph/edges.js'
import { readChoice, requireNames } from '../options.js'
import { zeroOf } from '../semirings.js'
import type { DataType } from '../variant-names.js'
import { greatestDivisor, signOf, unscaled } from './fractions.js'
import { type Inner, innerEdges, PolicyIteration } from './howard.js'

/** The semirings whose ⊗ is a sum. */
export type PathSemiring = 'max-plus' | 'min-plus'

export interface CycleOptions {
  /** 'max-plus' (default) for maxima, 'min-plus' for minima. */
  semiring?: PathSemiring | undefined
}

/** The mean of a cycle: the sum of its weights divided by the number of its edges. */
export interface CycleMean {
  /** The mean is numerator / denominator. Of int32 weights they are exact and have no common divisor. */
  numerator: number
  /** At least 1. Of float weights it is the number of edges. */
  denominator: number
  /** The mean as a number. */
  value: number
  /** The nodes of a cycle that has this mean, in order; its last edge leads back to the first of them. */
  cycle: number[]
  /** The indices of its edges in the edge list; `edges[k]` leads from `cycle[k]`. */
  edges: number[]
}

/** A graph whose components' cycles are known. */
interface Solved {
  readonly rows: CompressedRows
  readonly components: Components
  readonly inner: Inner
  readonly iteration: PolicyIteration
  readonly semiring: PathSemiring
}

/** The best cycle of a component; `edges` are the indices of inner edges. */
interface BestCycle {
  readonly edges: number[]
  /** In units of 2^-bits, and negated for minima: the greater is the better. */
  readonly sum: bigint
}

const semirings = ['max-plus', 'min-plus'] as const

function prepare(graph: EdgeList, options: CycleOptions): Solved {
  requireNames(options, ['semiring'])
  const semiring = semirings[readChoice(semirings, options.semiring ?? 'max-plus', 'semiring')]!
  const edges = readEdges(graph)
  const zero = zeroOf(semiring, typeNameOf(edges.type) as DataType)
  const maximizes = semiring === 'max-plus'
  const rows = compressRows(edges, { zero, maximizes })
  requireFinite(rows)
  const components = strongComponents(rows)
  const inner = innerEdges(rows, components, maximizes)
  return { rows, components, inner, iteration: new PolicyIteration(inner), semiring }
}

function requireFinite({ weight, edge }: CompressedRows): void {
  if (weight instanceof Int32Array) return
  for (let k = 0; k < weight.length; k++) {
    if (Number.isFinite(weight[k])) continue
    throw new ValueError(
      `weight[${edge[k]}] is ${show(weight[k])}, and a cycle through it would have no mean: weights must be finite ` +
        "(the semiring's zero is no edge)",
    )
  }
}

/** The best cycle of a component, or null if it has none. */
function solve({ components, inner, iteration }: Solved, component: number): BestCycle | null {
  const first = components.start[component]!
  const end = components.start[component + 1]!
  if (inner.start[first] === inner.start[end]) return null
  const edges = iteration.solve(first, end)
  return { edges, sum: iteration.exactSum(edges) }
}

function compare(a: BestCycle, b: BestCycle): number {
  return signOf(a.sum * BigInt(b.edges.length) - b.sum * BigInt(a.edges.length))
}

function exactNumber(value: bigint, what: string): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new OverflowError(
    `${what} is ${value}, which no number holds exactly (2^53): use smaller weights, or weights in a Float64Array, whose sums are rounded`,
  )
}

function fractionOf({ inner, rows }: Solved, { edges, sum }: BestCycle): [number, number] {
  const signed = BigInt(inner.sign) * sum
  if (!(rows.weight instanceof Int32Array)) return [unscaled(signed, inner.bits), edges.length]
  const numerator = exactNumber(signed, "the sum of a cycle's weights")
  const divisor = greatestDivisor(Math.abs(numerator), edges.length)
  return [numerator / divisor, edges.length / divisor]
}

function asMean(solved: Solved, best: BestCycle): CycleMean {
  const { inner, rows, components } = solved
  const [numerator, denominator] = fractionOf(solved, best)
  // A cycle can be read from any of its nodes: from its least, so that it doesn't depend on where the search met it.
  const cycle = best.edges.map((_, at) => {
    const before = best.edges.at(at - 1)!
    return components.members[inner.to[before]!]!
  })
  let least = 0
  for (let at = 1; at < cycle.length; at++) if (cycle[at]! < cycle[least]!) least = at
  const edges = best.edges.map((k) => rows.edge[inner.edge[k]!]!)
  const turn = (list: number[]) => [...list.slice(least), ...list.slice(0, least)]
  return { numerator, denominator, value: numerator / denominator, cycle: turn(cycle), edges: turn(edges) }
}

/** The component with the best cycle of all; undefined if there are no cycles. */
function bestOfAll(solved: Solved): BestCycle | undefined {
  let best: BestCycle | undefined
  for (let component = 0; component < solved.components.count; component++) {
    const own = solve(solved, component)
    if (own && (!best || compare(own, best) > 0)) best = own
  }
  return best
}

/**
 * The maximum cycle mean of a graph; the minimum with `semiring: 'min-plus'`. It is the maximum of all components: the
 * greatest eigenvalue of the matrix, and the cycle time of a timetable.
 *
 * It is exact for int32 weights. For float weights the cycle is one of the best exactly, and its mean is rounded.
 *
 * @returns null if the graph has no cycle.
 * @throws DTypeError, ShapeError, ValueError for what isn't an edge list of finite weights; OptionError; OverflowError if
 *   the sum of a cycle's weights is beyond 2^53.
 * @see `maxplus`' howard (Scilab), `howard` (MaxPlus.jl)
 */
export function cycleMean(graph: EdgeList, options: CycleOptions = {}): CycleMean | null {
  const solved = prepare(graph, options)
  const best = bestOfAll(solved)
  return best ? asMean(solved, best) : null
}

/** The cycle means of strongly connected components. */
export interface ComponentMeans {
  /** The component of each node. Edges between components lead from higher numbers to lower ones. */
  component: Int32Array
  /** The best cycle mean of each component; null if it has no cycle: it is one node without a self-loop. */
  means: (CycleMean | null)[]
}

/** The {@link cycleMean} of each strongly connected component. */
export function componentCycleMeans(graph: EdgeList, options: CycleOptions = {}): ComponentMeans {
  const solved = prepare(graph, options)
  const means: (CycleMean | null)[] = []
  for (let component = 0; component < solved.components.count; component++) {
    const best = solve(solved, component)
    means.push(best && asMean(solved, best))
  }
  return { component: solved.components.of, means }
}

/** The cycle times of nodes: entry i of each array is node i's. */
export interface CycleTimes {
  numerators: Float64Array
  /** 0 for a node from which no cycle can be reached. */
  denominators: Float64Array
  /** numerators / denominators; the semiring's zero, −Infinity or Infinity, if no cycle can be reached. */
  values: Float64Array
}

/**
 * The cycle time of each node: the best mean of the cycles that can be reached from it. It is the limit of x(k) / k for
 * x(k + 1) = A ⊗ x(k), for any finite x(0); A[i, j] is the weight of the edge from i to j.
 *
 * Errors are those of {@link cycleMean}.
 */
export function cycleTimes(graph: EdgeList, options: CycleOptions = {}): CycleTimes {
  const solved = prepare(graph, options)
  const { rows, components, semiring } = solved
  const { nodes } = rows
  const numerators = new Float64Array(nodes)
  const denominators = new Float64Array(nodes)
  const values = new Float64Array(nodes).fill(semiring === 'max-plus' ? -Infinity : Infinity)
  const bests: (BestCycle | null)[] = []
  // What a component reaches has lower numbers.
  for (let component = 0; component < components.count; component++) {
    const members = components.members.subarray(components.start[component], components.start[component + 1])
    let best = solve(solved, component)
    let met = component
    for (const i of members) {
      for (let k = rows.start[i]!; k < rows.start[i + 1]!; k++) {
        const other = components.of[rows.to[k]!]!
        if (other === met) continue
        met = other
        const theirs = bests[other]
        if (theirs && theirs !== best && (!best || compare(theirs, best) > 0)) best = theirs
      }
    }
    bests.push(best)
    if (!best) continue
    const [numerator, denominator] = fractionOf(solved, best)
    for (const i of members) {
      numerators[i] = numerator
      denominators[i] = denominator
      values[i] = numerator / denominator
    }
  }
  return { numerators, denominators, values }
}

/** An eigenvalue and an eigenvector: A ⊗ v = λ ⊗ v. */
export interface Eigenvector {
  /** The eigenvalue, as the mean of a cycle that attains it. */
  eigenvalue: CycleMean
  /**
   * The eigenvector is numerators / denominator. They are exact for int32 weights. One of its entries is 0, that of a
   * node of the eigenvalue's cycle.
   */
  numerators: Float64Array
  denominator: number
  /** The eigenvector as numbers. */
  values: Float64Array
}

/**
 * The eigenvalue of an irreducible matrix, and an eigenvector: for each node i, the best of A[i, j] + v[j] is λ + v[i]. In
 * a timetable with x(k + 1) = A ⊗ x(k) departures at v repeat with the period λ.
 *
 * Errors are those of {@link cycleMean}, and ShapeError if the graph isn't strongly connected or has no edge.
 */
export function eigenvector(graph: EdgeList, options: CycleOptions = {}): Eigenvector {
  const solved = prepare(graph, options)
  const { components, inner, iteration, rows } = solved
  const best = components.count === 1 ? solve(solved, 0) : null
  if (!best) {
    const found = components.count === 1 ? 'one node without an edge' : `${components.count} components`
    throw new ShapeError(
      `an eigenvector needs a strongly connected graph, but this one has ${found}: ` +
        'use cycleTimes, or the edges of one component',
    )
  }
  const { nodes } = rows
  const length = best.edges.length
  const exact = rows.weight instanceof Int32Array
  const numerators = new Float64Array(nodes)
  const values = new Float64Array(nodes)
  for (let place = 0; place < nodes; place++) {
    const i = components.members[place]!
    const value = BigInt(inner.sign) * iteration.exactValue(place)
    const numerator = exact
      ? exactNumber(value, 'an entry of the eigenvector, times its denominator,')
      : unscaled(value, inner.bits)
    // Adding 0 takes the sign from -0.
    numerators[i] = numerator + 0
    values[i] = numerator / length + 0
  }
  return { eigenvalue: asMean(solved, best), numerators, denominator: length, values }
}

/** The nodes and edges of cycles that have the best mean. */
export interface CriticalGraph {
  /** The mean of all its cycles. */
  mean: CycleMean
  /** Its nodes, ascending. */
  nodes: Int32Array
  /** Its edges, ascending, by their indices in the edge list; the first of parallel edges that are equally good. */
  edges: Int32Array
  /** Its strongly connected components, each by its nodes. */
  components: Int32Array[]
  /**
   * The least common multiple, over its components, of the greatest common divisor of the lengths of their cycles. If the
   * graph is strongly connected, this is the period of the powers of its matrix.
   */
  cyclicity: number
}

/**
 * The critical graph: all cycles with the best mean of the graph.
 *
 * Errors are those of {@link cycleMean}, and OverflowError for a cyclicity beyond 2^53.
 *
 * @returns null if the graph has no cycle.
 */
export function criticalGraph(graph: EdgeList, options: CycleOptions = {}): CriticalGraph | null {
  const solved = prepare(graph, options)
  const { components, inner, iteration, rows } = solved
  let best: BestCycle | undefined
  let tight: { from: number; edge: number }[] = []
  for (let component = 0; component < components.count; component++) {
    const own = solve(solved, component)
    if (!own) continue
    const order = best ? compare(own, best) : 1
    if (order < 0) continue
    if (order > 0) {
      best = own
      tight = []
    }
    for (let p = components.start[component]!; p < components.start[component + 1]!; p++) {
      for (let k = inner.start[p]!; k < inner.start[p + 1]!; k++) {
        if (iteration.isTight(k, p)) tight.push({ from: p, edge: k })
      }
    }
  }
  if (!best) return null
  return { mean: asMean(solved, best), ...cyclesOf(tight, inner, components.members, rows) }
}

/** The part of a graph of `tight` edges that is on cycles. */
function cyclesOf(
  tight: { from: number; edge: number }[],
  inner: Inner,
  members: Int32Array,
  rows: CompressedRows,
): Omit<CriticalGraph, 'mean'> {
  const nodes = members.length
  const start = new Int32Array(nodes + 1)
  for (const { from } of tight) start[from + 1]!++
  for (let p = 0; p < nodes; p++) start[p + 1]! += start[p]!
  // They are in the order of their places already.
  const to = Int32Array.from(tight, ({ edge }) => inner.to[edge]!)
  const parts = strongComponents({ nodes, start, to })
  const kept = tight.filter(({ from, edge }) => parts.of[from] === parts.of[inner.to[edge]!])
  const divisors = cycleDivisors(parts, start, to)
  const found = [...new Set(kept.map(({ from }) => parts.of[from]!))]
  let cyclicity = 1n
  for (const part of found) {
    const divisor = BigInt(divisors[part]!)
    let [a, b] = [cyclicity, divisor]
    while (b !== 0n) [a, b] = [b, a % b]
    cyclicity *= divisor / a
  }
  const sets = found
    .map((part) => {
      const places = parts.members.subarray(parts.start[part], parts.start[part + 1])
      return Int32Array.from(places, (p) => members[p]!).sort()
    })
    .sort((a, b) => a[0]! - b[0]!)
  const all = new Int32Array(sets.reduce((total, { length }) => total + length, 0))
  let at = 0
  for (const set of sets) {
    all.set(set, at)
    at += set.length
  }
  return {
    nodes: all.sort(),
    edges: Int32Array.from(kept, ({ edge }) => rows.edge[inner.edge[edge]!]!).sort(),
    components: sets,
    cyclicity: exactNumber(cyclicity, 'the cyclicity'),
  }
}

/** The greatest common divisor of the lengths of the cycles of each component; 0 if it has none. */
function cycleDivisors(parts: Components, start: Int32Array, to: Int32Array): Float64Array {
  const divisors = new Float64Array(parts.count)
  const level = new Int32Array(parts.of.length).fill(-1)
  const queue = new Int32Array(parts.of.length)
  for (let part = 0; part < parts.count; part++) {
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
          divisors[part] = greatestDivisor(divisors[part]!, Math.abs(level[p]! + 1 - level[j]!))
        }
      }
    }
  }
  return divisors
}
