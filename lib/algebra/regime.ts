/** Finds periodic regimes: the eventually periodic behaviour of trajectories. */
import { signal } from '../abort.js'
import { zeroOf } from '../built-in-semirings.js'
import { elementType, typeNameOf } from '../elements.js'
import { LimitError, OverflowError, ValueError } from '../errors.js'
import { fractionBits } from '../graph-core/fractions.js'
import { assertMemoryFits } from '../graph-core/memory-check.js'
import { nodeText } from '../graph-core/names.js'
import { findReachable } from '../graph-core/reached.js'
import { selectEdges, selected, transpose } from '../graph-core/rows.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { Options, type OptionsOf, whole } from '../options.js'
import type { MpmmOptions } from '../product/options.js'
import type { ElementArray } from '../storage.js'
import { prepare } from './best-cycles.js'
import { type CycleTimes, timesOf } from './cycle-mean.js'
import { initialState, MAX_STEPS } from './trajectory.js'
import { elementText, readVector, type Vector } from './vector.js'
import {
  keysOf,
  readGraph,
  type SumSemiring,
  sumSemiring,
  type WeightedGraph,
  type Weights,
} from './weights.js'

/** The options of {@link periodicRegime}. `undefined` means the default. */
export interface RegimeOptions extends Pick<MpmmOptions, 'signal'> {
  /**
   * Limit of the number of steps of the search; 100 000 by default. The search needs at most 3 · (transient +
   * period) steps, and often little more than transient + period.
   */
  maxSteps?: number | undefined
  /** 'max-plus' (default) or 'min-plus'. */
  semiring?: SumSemiring | undefined
}

/**
 * Periodic regime: x(k + period) = x(k) + growth for all k ≥ transient, where `transient` and `period` are
 * the least such numbers.
 */
export interface Regime<Key = number> {
  /** Number of steps before the regime begins. */
  transient: number
  /** Number of steps after which the regime repeats; also called its cyclicity. */
  period: number
  /**
   * Growth of each element in a period; growth / period is its cycle time. It is 0 for elements that are the
   * semiring's zero from some step on.
   */
  growth: Float64Array
  /** The names of the nodes, by their numbers, if they have names. */
  keys?: ArrayLike<Key>
}

const regimeOptions = new Options({
  maxSteps: whole(100_000, 1, MAX_STEPS),
  semiring: sumSemiring,
  signal,
} satisfies OptionsOf<RegimeOptions>)

/**
 * Finds the periodic regime of x(k + 1) = A ⊗ x(k): the least transient p and period c with x(k + c) = x(k) +
 * growth for all k ≥ p. If A is irreducible, all elements grow by c · λ per period, with the eigenvalue λ:
 * x(k + c) = λᶜ ⊗ x(k). If A is reducible, each element grows by c times its cycle time, see {@link
 * cycleTimes}.
 *
 * A periodic regime always exists if A is irreducible, or if no element of x(0) is the semiring's zero. The
 * transient depends on the weights: it is long if another cycle is nearly as good as the best. Therefore
 * `maxSteps` limits the search. If neither condition holds, an element may alternate between several growth
 * rates for ever; then `maxSteps` ends the search.
 *
 * The result is exact, for int32, and for floats that are multiples of one power of 2 if no sum is beyond
 * 2^53 times that power. Each step reads each edge once, on JavaScript's thread in slices. The search stores
 * only a few states.
 *
 * If edges have tokens, the result is the regime of x(k) = A₀ ⊗ x(k) ⊕ A₁ ⊗ x(k − 1) ⊕ …, see {@link
 * trajectory}. All states before the given ones are the semiring's zero.
 *
 * @param a - n × n, or an edge list: see {@link maximumCycleMean}.
 * @param x0 - x(0): n × 1, or an array of n elements, of A's type. If edges have tokens, it may be the last
 * states, in the form for {@link trajectory}.
 * @throws Rejects with the errors of {@link maximumCycleMean}; LimitError (ERR_MPMML_LIMIT) if the regime
 * isn't found within `maxSteps` steps; ArgumentError (ERR_MPMML_VALUE) for floats that aren't multiples of
 * one power of 2; OverflowError (ERR_MPMML_OVERFLOW) if a sum is beyond 2^53 times that power.
 * @see F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity; `maxplusmaxalgol` of Scilab's max-plus toolbox
 * @see R. P. Brent, An improved Monte Carlo factorization algorithm, BIT 20 (1980), on the detection of
 * cycles in sequences
 * @example
 * const { transient, period, growth } = await periodicRegime(matrix(2, 2, [3, 7, 2, 4]), [1, 0])
 * // So λ is 9/2.
 * console.log(transient, period, growth.join()) // 1 2 9,9
 */
export async function periodicRegime<Key = number>(
  a: Weights<Key>,
  x0: Vector,
  options?: RegimeOptions,
): Promise<Regime<Key>> {
  const { semiring, signal, maxSteps } = regimeOptions.read(options)
  const graph = await readGraph(a, semiring, signal, WHAT)
  const x = await readVector(x0, initialState(graph))
  return await inSlices(findRegime<Key>(graph, x, maxSteps), signal, WHAT)
}

const WHAT = 'the search for the periodic regime'
const EXACT = Number.MAX_SAFE_INTEGER

function* findRegime<Key>(graph: WeightedGraph, x0: ElementArray, maxSteps: number): Steps<Regime<Key>> {
  const { rows, tokens } = graph
  const { nodes } = rows
  const { weight, start: last, unit } = yield* scaled(graph, x0)
  const depth = tokens ? tokens.most : 1
  assertMemoryFits({ what: WHAT, perNode: 40 * depth, perEdge: 0 }, nodes, rows.to.length)
  const start = startOf(last, nodes, depth)
  // Elements of nodes that don't reach a nonzero element of x(0) remain the semiring's zero.
  const isThere = (i: number) => {
    for (let at = i; at < start.length; at += nodes) if (start[at] !== -Infinity) return true
    return false
  }
  const support = Int32Array.from({ length: nodes }, (_, i) => i).filter(isThere)
  const { within } = yield* findReachable(yield* transpose(rows), support)
  const among = yield* selected(rows, (k, i) => within[i] === 1 && within[rows.to[k]!] === 1)
  const { edge } = among
  const part: WeightedGraph = {
    rows: { ...among, weight: yield* selectEdges(weight, edge, new Float64Array(edge.length)) },
    semiring: 'max-plus',
    exact: true,
    list: null,
    names: graph.names,
    tokens: tokens && { ...tokens, of: yield* selectEdges(tokens.of, edge, new Int32Array(edge.length)) },
  }
  const system = new System(part, yield* timesOf(yield* prepare(part)))
  const { begin, period } = yield* findPeriod(system, start, maxSteps)
  // A state is regular as soon as all states that it depends on are.
  const transient = Math.max(0, (yield* findTransient(system, start, begin, period)) - depth + 1)
  const growth = new Float64Array(nodes)
  for (let i = 0; i < nodes; i++) growth[i] = system.growth(i, period) * unit + 0
  return { transient, period, growth, ...keysOf<Key>(graph) }
}

/** Returns `depth` states, the newest first: x(0) and the states before it. */
function startOf(last: Float64Array, nodes: number, depth: number): Float64Array {
  const start = new Float64Array(nodes * depth).fill(-Infinity)
  for (let age = 0; age < depth && (age + 1) * nodes <= last.length; age++) {
    const from = last.length - (age + 1) * nodes
    start.set(last.subarray(from, from + nodes), age * nodes)
    if (nodes === 0) break
  }
  return start
}

/** Returns weights and states as integers that are maximised, in multiples of `unit`. */
function* scaled(
  graph: WeightedGraph,
  x0: ElementArray,
): Steps<{ weight: Float64Array; start: Float64Array; unit: number }> {
  const { rows, semiring, exact } = graph
  const zero = zeroOf(semiring, typeNameOf(elementType(x0)))
  const sign = semiring === 'max-plus' ? 1 : -1
  const start = Float64Array.from(x0, (value) => (value === zero ? -Infinity : sign * value))
  const infinite = start.indexOf(Infinity)
  if (infinite >= 0) {
    throw new ValueError(
      `${elementText(initialState(graph), infinite, x0.length)} is ${x0[infinite]}, but elements must be finite, or the semiring's zero`,
    )
  }
  const weight = new Float64Array(rows.weight.length)
  for (let k = 0; k < weight.length; k++) {
    if (k % PER_SLICE === PER_SLICE - 1) yield
    weight[k] = sign * rows.weight[k]!
  }
  const finite = start.filter((value) => value !== -Infinity)
  const bits = exact ? 0 : Math.max(fractionBits(weight), fractionBits(finite))
  yield
  if (bits > 0) {
    let largest = 0
    for (const values of [weight, finite])
      for (const value of values) largest = Math.max(largest, Math.abs(value))
    if (bits > 1023 || largest * 2 ** bits > EXACT) {
      throw new ValueError(
        'weights and x0 have too many digits after the point, so that sums would be rounded and nothing would repeat exactly: ' +
          'use integers, such as times in seconds',
      )
    }
    for (let k = 0; k < weight.length; k++) weight[k]! *= 2 ** bits
    for (let i = 0; i < start.length; i++) start[i]! *= 2 ** bits
  }
  return { weight, start, unit: sign * 2 ** -bits }
}

/** A system whose rates are known. */
class System {
  readonly #graph: WeightedGraph
  readonly #times: CycleTimes<unknown>
  #looked = 0

  constructor(graph: WeightedGraph, times: CycleTimes<unknown>) {
    this.#graph = graph
    this.#times = times
  }

  /** Returns the growth of element i in a period of its regime. */
  growth(i: number, period: number): number {
    const denominator = this.#times.denominators[i]!
    return denominator === 0 ? 0 : (period / denominator) * this.#times.numerators[i]!
  }

  /**
   * Writes the state after x. Returns whether the state is regular: each element is decided by an element
   * with the same growth rate. Elements that grow more slowly decide only during the transient.
   */
  *step(x: Float64Array, next: Float64Array): Steps<boolean> {
    const { nodes, start, to, weight } = this.#graph.rows
    const { tokens } = this.#graph
    const { numerators, denominators } = this.#times
    let regular = true
    next.set(x.subarray(0, x.length - nodes), nodes)
    for (let at = 0; at < nodes; at++) {
      const i = tokens ? tokens.order[at]! : at
      const numerator = numerators[i]!
      const denominator = denominators[i]!
      let most = -Infinity
      let same = -Infinity
      const end = start[i + 1]!
      for (let k = start[i]!; k < end; k++) {
        const j = to[k]!
        const age = tokens ? tokens.of[k]! : 1
        const sum = weight[k]! + (age === 0 ? next[j]! : x[(age - 1) * nodes + j]!)
        if (sum > most) most = sum
        if (sum > same && denominators[j] === denominator && numerators[j] === numerator) same = sum
      }
      if (denominator === 0) same = -Infinity
      if (most !== same) regular = false
      if (Math.abs(most) > EXACT && most !== -Infinity) {
        throw new OverflowError(
          `element ${nodeText(i, this.#graph.names)} is beyond 2^53 before the regime begins, so that it is not exact: use smaller numbers`,
        )
      }
      next[i] = most
      this.#looked += end - start[i]! + 1
      if (this.#looked >= PER_SLICE) {
        this.#looked = 0
        yield
      }
    }
    return regular
  }

  /** Returns whether `later` follows from `earlier` after a number of steps at these rates. */
  matches(earlier: Float64Array, later: Float64Array, steps: number): boolean {
    const { numerators, denominators } = this.#times
    const { nodes } = this.#graph.rows
    for (let i = 0; i < earlier.length; i++) {
      if (later[i] === -Infinity || earlier[i] === -Infinity) {
        if (later[i] !== earlier[i]) return false
        continue
      }
      const node = i % nodes
      const denominator = denominators[node]!
      if (denominator === 0 || steps % denominator !== 0) return false
      if (later[i]! - earlier[i]! !== (steps / denominator) * numerators[node]!) return false
    }
    return true
  }
}

/**
 * Finds the period, and the first state after the last irregular step. From this state on, the next state
 * depends only on the state less the growth. So the states are periodic as soon as one repeats. Brent's cycle
 * detection stores one state, and replaces it after ever larger numbers of steps.
 */
function* findPeriod(
  system: System,
  start: Float64Array,
  maxSteps: number,
): Steps<{ begin: number; period: number }> {
  let x = start.slice()
  let next = new Float64Array(x.length)
  const copy = start.slice()
  let begin = 0
  let since = 0
  let most = 1
  for (let k = 1; k <= maxSteps; k++) {
    const regular = yield* system.step(x, next)
    ;[x, next] = [next, x]
    since++
    if (regular && system.matches(copy, x, since)) return { begin, period: since }
    if (regular && since < most) continue
    if (!regular) begin = k
    most = regular ? 2 * most : 1
    since = 0
    copy.set(x)
  }
  throw new LimitError(
    `no periodic regime was found within ${maxSteps} steps: give the option maxSteps a greater number if there must be one`,
  )
}

/** Returns the first state, from number `begin` on, that repeats after a period. */
function* findTransient(system: System, start: Float64Array, begin: number, period: number): Steps<number> {
  const advance = function* (x: Float64Array, steps: number): Steps<Float64Array> {
    let next: Float64Array = new Float64Array(x.length)
    let now: Float64Array = x.slice()
    for (let k = 0; k < steps; k++) {
      yield* system.step(now, next)
      ;[now, next] = [next, now]
    }
    return now
  }
  let earlier: Float64Array = yield* advance(start, begin)
  let later: Float64Array = yield* advance(earlier, period)
  let spare: Float64Array = new Float64Array(start.length)
  for (let k = begin; ; k++) {
    if (system.matches(earlier, later, period)) return k
    yield* system.step(earlier, spare)
    ;[earlier, spare] = [spare, earlier]
    yield* system.step(later, spare)
    ;[later, spare] = [spare, later]
  }
}
