/**
 * Periodic timetables: their least period, the slack of their connections, and the delays that they recover from.
 *
 * Sources: B. Heidergott, G. J. Olsder, J. van der Woude, Max Plus at Work (2006), chapter 8; R. M. P. Goverde, Railway Timetable Stability Analysis
 * Using Max-Plus System Theory, Transportation Research B 41 (2007).
 */
import { signal } from '../abort.js'
import { readingCounts, type TokenEdgeList } from '../algebra/tokens.js'
import type { NamedWeights } from '../algebra/weights.js'
import { zeroOf } from '../built-in-semirings.js'
import { show } from '../describe.js'
import { typeNameOf } from '../elements.js'
import { DTypeError, OptionError, ValueError } from '../errors.js'
import { isEdgeList, numberOfNode, readingEdges } from '../graph-core/edges.js'
import { isKeyArray, type NodeNames, nameText } from '../graph-core/names.js'
import { sorted } from '../graph-core/rows.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { checkedLater, Options, type OptionsOf, required } from '../options.js'
import { TimeScale } from './network.js'

/**
 * Connections of a timetable as an edge list: an edge leads from a waiting departure to the departure that it
 * waits for. Its weight is the least time between both, and its tokens are the number of rounds between them,
 * 1 by default. An edge whose weight is ε (EPSILON in int32, −Infinity in floats) is no connection. With names, as `readGraph(path, { keys: true, tokens: true })` returns it, the result has the
 * names of departures.
 */
export type Timetable = TokenEdgeList | NamedWeights

/** Slack and stability of a timetable with a period. */
export interface TimetableStability {
  /** Least period that the connections allow: their greatest cycle mean. Null without circuits. */
  leastPeriod: number | null
  /** Names of the departures of the critical circuit, each of which waits for the next one. */
  criticalCircuit: unknown[]
  /** Time to spare in each round of the critical circuit: the period minus the least one. Null without circuits. */
  margin: number | null
  /**
   * Stability margin: the greatest time by which all connections may be longer at once, with the period still possible. It is the least mean slack
   * of the connections of a circuit. Null without circuits.
   */
  stabilityMargin: number | null
  /** All connections, in the order of the edges. */
  connections: {
    /** Name of the departure that waits. */
    departure: unknown
    /** Name of the departure that is waited for. */
    waitsFor: unknown
    /** Rounds between both. */
    tokens: number
    /** Delay of the departure `waitsFor` that doesn't delay `departure`. */
    slack: number
  }[]
}

/** Option that is a time above 0. */
export const time = required((value: unknown, name: string) => {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
  throw new OptionError(`option ${name} must be a finite number above 0, but it is ${show(value)}`)
})

/** Timetable that was read; times are integers of one part of its unit. */
export interface PreparedTimetable {
  readonly nodes: number
  readonly names: NodeNames | null
  readonly from: Int32Array
  readonly to: Int32Array
  readonly tokens: Int32Array
  readonly slack: Float64Array
  /** Planned departures in round 0. */
  readonly starts: Float64Array
  /** Number of parts in one unit. */
  readonly scale: number
  readonly stability: TimetableStability
  nameOf(node: number): unknown
  /** Converts one of the given times to parts. */
  inParts(time: number): number
}

const WORK = 'the slack of a timetable'

/**
 * Reads a timetable and plans its departures.
 *
 * @param others - times that are counted with those of the timetable, by the names of their options.
 * @throws The errors of `delay()`.
 */
export async function preparedTimetable(
  timetable: Timetable,
  period: number,
  others: Readonly<Record<string, number>>,
  signal: AbortSignal | undefined,
): Promise<PreparedTimetable> {
  if (!isEdgeList(timetable))
    throw new DTypeError(
      `the timetable must be an edge list { nodes, from, to, weight, tokens }, but it is ${show(timetable)}`,
    )
  // Loaded with the first timetable, because these load the addon.
  const { maximumCycleMean, minimumCycleMean } = await import('../algebra/cycle-mean.js')
  const { earliestStarts } = await import('../algebra/schedule.js')
  const { nodes, from, to, weight, tokens, names, parts } = await inSlices(
    reading(timetable, { period, ...others }),
    signal,
    WORK,
  )
  const { scale } = parts
  const list = { ...(names && { keys: names.keys }), nodes, from, to, weight, tokens }
  const mean = await maximumCycleMean(list as TokenEdgeList, { signal })
  const round = parts.of(period)
  const circuit: readonly unknown[] = mean?.cycle ?? []
  if (mean && mean.numerator > round * mean.denominator) {
    const chain = [...circuit, circuit[0]].map(nameText).join(' → ')
    throw new ValueError(
      `option period must be at least ${mean.value / scale}, which the circuit ${chain} needs, but it is ${period}: take a longer period, or one more train on this circuit`,
    )
  }
  const planned = weight.map((value, edge) => value - round * tokens[edge]!)
  const { starts } = await earliestStarts({ nodes, from: to, to: from, weight: planned }, { signal })
  const slack = planned.map((value, edge) => starts[from[edge]!]! - starts[to[edge]!]! - value)
  const least = await minimumCycleMean({ nodes, from, to, weight: slack }, { signal })
  const nameOf = (node: number): unknown => (names ? names.keys[node] : node)
  const stability = {
    leastPeriod: mean && mean.value / scale,
    criticalCircuit: [...circuit],
    margin: mean && (round - mean.value) / scale,
    stabilityMargin: least && least.value / scale,
    connections: Array.from(slack, (value, edge) => ({
      departure: nameOf(from[edge]!),
      waitsFor: nameOf(to[edge]!),
      tokens: tokens[edge]!,
      slack: value / scale,
    })),
  }
  const inParts = (time: number) => parts.of(time)
  return { nodes, names, from, to, tokens, slack, starts, scale, stability, nameOf, inParts }
}

/** Reads edges into arrays of the library, because the user's may change later, with times in parts. */
function* reading(timetable: Timetable, others: Readonly<Record<string, number>>) {
  const { nodes, from, to, weight, type, names } = yield* readingEdges(timetable)
  const tokens = (yield* readingCounts(timetable, from.length)) ?? new Int32Array(from.length).fill(1)
  const zero = zeroOf('max-plus', typeNameOf(type))
  const parts = new TimeScale()
  const connections: number[] = []
  for (const [edge, value] of weight.entries()) {
    if (edge % PER_SLICE === PER_SLICE - 1) yield
    if (value === zero) continue
    parts.add(value, () => `weight[${edge}]`)
    connections.push(edge)
  }
  for (const [name, value] of Object.entries(others)) parts.add(value, () => `option ${name}`)
  return {
    nodes,
    from: Int32Array.from(connections, (edge) => from[edge]!),
    to: Int32Array.from(connections, (edge) => to[edge]!),
    weight: Float64Array.from(connections, (edge) => parts.of(weight[edge]!)),
    tokens: Int32Array.from(connections, (edge) => tokens[edge]!),
    names,
    parts,
  }
}

/** The options of {@link recoveryTimes}. */
export interface RecoveryOptions {
  /** Time between two rounds of the timetable, at least its greatest cycle mean. */
  period: number
  /** Names of the departures that are late, or one of them; all by default. */
  sources?: ArrayLike<unknown> | string | number | undefined
  /** Ends the work with AbortedError when it is aborted. */
  signal?: AbortSignal | undefined
}

/** Matrix of recovery times: a row for each late departure, a column for each departure. */
export interface RecoveryTimes {
  /** Elements by rows; Infinity for a departure that no delay of the row's departure can reach. */
  data: Float64Array
  /** Numbers of rows and columns. */
  shape: [rows: number, cols: number]
  /**
   * Returns an element.
   *
   * @param late - name of the departure that is late.
   * @param reached - name of the departure that the delay may reach.
   */
  at(late: unknown, reached: unknown): number
}

const recoveryOptions = new Options({
  period: time,
  sources: checkedLater<RecoveryOptions['sources']>(),
  signal,
} satisfies OptionsOf<RecoveryOptions>)

/**
 * Computes the recovery times of a timetable: the greatest delay of one departure that doesn't reach another
 * one in any round, the least sum of slack on a chain of connections between both. The recovery time of a
 * departure to itself is the least slack of a circuit through it.
 *
 * @throws Rejects with what {@link delay} rejects with.
 * @example
 * const timetable = { nodes: 2, keys: ['A', 'B'], from: [0, 0, 1, 1], to: [0, 1, 0, 1], weight: [2, 5, 3, 3] }
 * const recovery = await recoveryTimes(timetable, { period: 5 })
 * console.log(recovery.data.join(), recovery.at('A', 'B')) // 2,2,0,2 2
 */
export async function recoveryTimes(timetable: Timetable, options: RecoveryOptions): Promise<RecoveryTimes> {
  const { period, sources, signal } = recoveryOptions.read(options)
  const own = await preparedTimetable(timetable, period, {}, signal)
  const found = await recovering(own, sources, signal)
  for (let at = 0; at < found.data.length; at++) found.data[at]! /= own.scale
  return found
}

/** Computes recovery times in parts. */
export async function recovering(
  timetable: PreparedTimetable,
  given: RecoveryOptions['sources'],
  signal: AbortSignal | undefined,
): Promise<RecoveryTimes> {
  const { shortestPaths } = await import('../graph/paths.js')
  const { nodes, names, from, to, slack, nameOf } = timetable
  const all = [...new Int32Array(nodes).keys()]
  const listed = isKeyArray(given)
    ? Array.from(given, (node, at) => numberOfNode(node, timetable, `option sources[${at}]`))
    : given === undefined
      ? all
      : [numberOfNode(given, timetable, 'option sources')]
  // A delay propagates from the departure that is waited for.
  const keys: ArrayLike<unknown> = names ? names.keys : all
  const list = { nodes, keys, from: to, to: from, weight: slack }
  const { distances } = await shortestPaths(list, { sources: listed.map(nameOf), signal })
  await inSlices(closingCircuits(timetable, listed, distances.data), signal, WORK)
  return distances as RecoveryTimes
}

/** Puts the least slack of a circuit in the place of the distance from a departure to itself. */
function* closingCircuits(
  { nodes, from, to, slack }: PreparedTimetable,
  sources: readonly number[],
  data: Float64Array,
): Steps<void> {
  const { start, item: edges } = yield* sorted(from, nodes)
  for (const [row, source] of sources.entries()) {
    if (row % 256 === 255) yield
    let least = Infinity
    for (let k = start[source]!; k < start[source + 1]!; k++) {
      const edge = edges[k]!
      least = Math.min(least, data[row * nodes + to[edge]!]! + slack[edge]!)
    }
    data[row * nodes + source] = least
  }
}
