/**
 * Delays in periodic timetables. A connection with slack s passes on a delay z as max(0, z − s), because no train leaves before its time.
 *
 * Sources: B. Heidergott, G. J. Olsder, J. van der Woude, Max Plus at Work (2006), chapter 8; R. M. P. Goverde, Railway Timetable Stability Analysis
 * Using Max-Plus System Theory, Transportation Research B 41 (2007).
 */
import { signal } from '../abort.js'
import type { TokenEdgeList } from '../algebra/tokens.js'
import type { NamedWeights } from '../algebra/weights.js'
import { show } from '../describe.js'
import { DTypeError, OptionError, ValueError } from '../errors.js'
import { isEdgeList, numberOfNode, readingEdges } from '../graph-core/edges.js'
import { nameText } from '../graph-core/names.js'
import { inSlices, PER_STEP, type Steps } from '../graph-core/slices.js'
import { Options, type OptionsOf, required, whole } from '../options.js'
import { Parts } from './network.js'

/**
 * Connections of a timetable as an edge list: an edge leads from a departure that waits to the one that it waits for, its weight is the least time
 * between both, and its tokens are the number of rounds between them, 1 by default. With names, as `readGraph(path, { keys: true, tokens: true })`
 * returns it, the result has the names of departures.
 */
export type Timetable = TokenEdgeList | NamedWeights

/** The options of {@link delay}. */
export interface DelayOptions {
  /** Time between two rounds of the timetable, at least its greatest cycle mean. */
  period: number
  /** Name of the departure that is late in round 0. */
  at: string | number
  /** Time by which it is late. */
  by: number
  /** Most rounds that are computed; 1000 by default. */
  rounds?: number | undefined
  /** Ends the work with AbortedError when it is aborted. */
  signal?: AbortSignal | undefined
}

/** A connection of a timetable with its slack. */
export interface TimetableConnection {
  /** Name of the departure that waits. */
  departure: unknown
  /** Name of the departure that it waits for. */
  waitsFor: unknown
  /** Rounds between both. */
  tokens: number
  /** Time by which the second may be late without the first being late. */
  slack: number
}

/** A departure that is late. */
export interface LateDeparture {
  /** Round, from 0. */
  round: number
  /** Name of the departure. */
  departure: unknown
  /** Time by which it is late. */
  delay: number
  /** Name of the departure that it waits for; null for the one that is late at first. */
  because: unknown
}

/** Result of {@link delay}. */
export interface DelayResult {
  /** Least period that the connections allow: their greatest cycle mean. Null without circuits. */
  leastPeriod: number | null
  /** Names of the departures of the critical circuit, each of which waits for the next one. */
  criticalCircuit: unknown[]
  /** Stability margin: time to spare in each round of the critical circuit, the period minus the least one. Null without circuits. */
  margin: number | null
  /** Planned departure of each in round 0, the earliest that the period allows. */
  departures: { departure: unknown; time: number }[]
  /** All connections, in the order of the edges. */
  connections: TimetableConnection[]
  /** Late departures, by rounds. */
  late: LateDeparture[]
  /** First round without delay; null if there is none among the rounds that are computed. */
  goneBy: number | null
}

const time = required((value: unknown, name: string) => {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
  throw new OptionError(`option ${name} must be a finite number above 0, but it is ${show(value)}`)
})

const delayOptions = new Options({
  period: time,
  at: required((value: unknown, name: string) => {
    if (typeof value === 'string' || typeof value === 'number') return value
    throw new OptionError(`option ${name} must be the name of a departure, but it is ${show(value)}`)
  }),
  by: time,
  rounds: whole(1000, 1, 100_000),
  signal,
} satisfies OptionsOf<DelayOptions>)

/**
 * Computes how a delay spreads through a periodic timetable: the late departures of each round, the departure that each of them waits for, and the
 * round in which the delay is gone. The trains of all earlier rounds are on time, also those of lines with several trains, whose connections have
 * tokens.
 *
 * Planned departures are the earliest that the period allows. Times are computed as exact fractions.
 *
 * @param timetable - connections of departures.
 * @throws Rejects with ValueError (ERR_MPMML_VALUE) for a period that the critical circuit doesn't allow, which it names, and for departures that
 *   don't exist; CycleError for circuits without tokens; DTypeError; OptionError; OverflowError; AbortedError.
 * @example
 * const timetable = { nodes: 2, keys: ['A', 'B'], from: [0, 0, 1, 1], to: [0, 1, 0, 1], weight: [2, 5, 3, 3] }
 * const { leastPeriod, late, goneBy } = await delay(timetable, { period: 5, at: 'A', by: 4 })
 * console.log(leastPeriod, goneBy) // 4 3
 * console.log(late.map((each) => `${each.round}${each.departure}+${each.delay}`).join()) // 0A+4,1A+1,1B+2,2A+2
 */
export async function delay(timetable: Timetable, options: DelayOptions): Promise<DelayResult> {
  const { period, at, by, rounds, signal } = delayOptions.read(options)
  if (!isEdgeList(timetable))
    throw new DTypeError(
      `the timetable must be an edge list { nodes, from, to, weight, tokens }, but it is ${show(timetable)}`,
    )
  // Loaded with the first delay, because these load the addon.
  const { maximumCycleMean } = await import('../algebra/cycle-mean.js')
  const { earliestStarts } = await import('../algebra/schedule.js')
  const { nodes, from, to, weight: given, names } = await inSlices(reading(timetable), signal, WORK)
  const parts = new Parts()
  for (const value of given) parts.add(value, () => 'a weight')
  parts.add(period, () => 'option period')
  parts.add(by, () => 'option by')
  const weight = Float64Array.from(given, (value) => parts.of(value))
  const tokens = Int32Array.from(timetable.tokens ?? new Int32Array(from.length).fill(1))
  const list = { ...(names && { keys: names.keys }), nodes, from, to, weight, tokens: timetable.tokens }
  const mean = await maximumCycleMean(list as TokenEdgeList, { signal })
  const round = parts.of(period)
  const circuit: readonly unknown[] = mean?.cycle ?? []
  if (mean && mean.numerator > round * mean.denominator) {
    const chain = [...circuit, circuit[0]].map(nameText).join(' → ')
    throw new ValueError(
      `option period must be at least ${mean.value / parts.scale}, which the circuit ${chain} needs, but it is ${period}: take a longer period, or one more train on this circuit`,
    )
  }
  const first = numberOfNode(at, { nodes, names }, 'option at')
  const planned = weight.map((value, edge) => value - round * tokens[edge]!)
  const { starts } = await earliestStarts({ nodes, from: to, to: from, weight: planned }, { signal })
  const slack = planned.map((value, edge) => starts[from[edge]!]! - starts[to[edge]!]! - value)
  const { late, isGone } = await inSlices(
    spreading({ nodes, from, to, tokens, slack }, first, parts.of(by), rounds),
    signal,
    WORK,
  )
  const { scale } = parts
  const nameOf = (node: number): unknown => (names ? names.keys[node] : node)
  return {
    leastPeriod: mean && mean.value / scale,
    criticalCircuit: [...circuit],
    margin: mean && (round - mean.value) / scale,
    departures: Array.from(starts, (start, node) => ({ departure: nameOf(node), time: start / scale })),
    connections: Array.from(slack, (value, edge) => ({
      departure: nameOf(from[edge]!),
      waitsFor: nameOf(to[edge]!),
      tokens: tokens[edge]!,
      slack: value / scale,
    })),
    late: late.map(({ round, node, time, because }) => ({
      round,
      departure: nameOf(node),
      delay: time / scale,
      because: because < 0 ? null : nameOf(because),
    })),
    goneBy: isGone ? late.at(-1)!.round + 1 : null,
  }
}

const WORK = 'the spread of a delay'

/** Reads edges into arrays of the library, because the user's may change later. */
function* reading(timetable: Timetable) {
  const { nodes, from, to, weight, names } = yield* readingEdges(timetable)
  return {
    nodes,
    from: Int32Array.from(from),
    to: Int32Array.from(to),
    weight: Float64Array.from(weight),
    names,
  }
}

interface Connections {
  readonly nodes: number
  readonly from: ArrayLike<number>
  readonly to: ArrayLike<number>
  readonly tokens: Int32Array
  readonly slack: Float64Array
}

interface Late {
  readonly round: number
  readonly node: number
  readonly time: number
  readonly because: number
}

/** Spreads a delay, round by round: late departures of a round wait for each other along connections without tokens. */
function* spreading(
  { nodes, from, to, tokens, slack }: Connections,
  first: number,
  by: number,
  rounds: number,
): Steps<{ late: Late[]; isGone: boolean }> {
  // Edges by the departure that is waited for.
  const start = new Int32Array(nodes + 1)
  for (let edge = 0; edge < slack.length; edge++) start[to[edge]! + 1]!++
  for (let node = 0; node < nodes; node++) start[node + 1]! += start[node]!
  const edges = new Int32Array(slack.length)
  const next = start.slice(0, nodes)
  for (let edge = 0; edge < slack.length; edge++) edges[next[to[edge]!]!++] = edge
  const waiting = new Map<number, Map<number, { time: number; because: number }>>()
  waiting.set(0, new Map([[first, { time: by, because: -1 }]]))
  const late: Late[] = []
  let looked = 0
  for (let round = 0; round < rounds && waiting.size > 0; round++) {
    const own = waiting.get(round)
    if (!own) continue
    waiting.delete(round)
    const queue = [...own.keys()]
    for (let at = 0; at < queue.length; at++) {
      const node = queue[at]!
      const { time } = own.get(node)!
      for (let k = start[node]!; k < start[node + 1]!; k++) {
        if (++looked % PER_STEP === 0) yield
        const edge = edges[k]!
        const rest = time - slack[edge]!
        if (rest <= 0) continue
        const target = round + tokens[edge]!
        const there = target === round ? own : (waiting.get(target) ?? new Map())
        if (target !== round) waiting.set(target, there)
        if ((there.get(from[edge]!)?.time ?? 0) >= rest) continue
        there.set(from[edge]!, { time: rest, because: node })
        if (target === round) queue.push(from[edge]!)
      }
    }
    for (const [node, each] of own) late.push({ round, node, ...each })
  }
  return { late, isGone: waiting.size === 0 }
}
