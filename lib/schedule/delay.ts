/**
 * Delays in periodic timetables. A connection with slack s passes on a delay z as max(0, z − s), because no train leaves before its time.
 */
import { signal } from '../abort.js'
import { show } from '../describe.js'
import { OptionError } from '../errors.js'
import { numberOfNode } from '../graph-core/edges.js'
import { sorted } from '../graph-core/rows.js'
import { inSlices, PER_SLICE, type Steps } from '../graph-core/slices.js'
import { Options, type OptionsOf, required, whole } from '../options.js'
import {
  type PreparedTimetable,
  preparedTimetable,
  recovering,
  type Timetable,
  type TimetableStability,
  time,
} from './timetable.js'

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

/** Result of {@link delay}. */
export interface DelayResult extends TimetableStability {
  /**
   * Departures with their planned times in round 0 (the earliest that the period allows) and their recovery
   * times. A recovery time is the greatest delay of the late departure that doesn't reach this departure in
   * any round. It is null if no chain of departures leads here from the late one.
   */
  departures: { departure: unknown; time: number; recovery: number | null }[]
  /** Late departures, by rounds. */
  late: {
    /** Number of the round, from 0. */
    round: number
    /** Name of the departure. */
    departure: unknown
    /** Time by which it is late. */
    delay: number
    /** Name of the departure that this departure waits for; null for the initially late departure. */
    because: unknown
  }[]
  /** First round without delay; null if there is none among the rounds that are computed. */
  goneBy: number | null
}

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
 * Computes how a delay propagates through a periodic timetable: the late departures of each round, the departure that each of them waits for, and the
 * round in which the delay is gone. The trains of all earlier rounds are on time, also those of lines with several trains, whose connections have
 * tokens.
 *
 * Planned departures are the earliest that the period allows. Times are computed as exact fractions.
 *
 * @param timetable - connections of departures.
 * @throws Rejects with ArgumentError (ERR_MPMML_VALUE) for a period that the critical circuit doesn't allow, which it names, and for departures that
 *   don't exist; CycleError for circuits without tokens; ERR_MPMML_DTYPE; ERR_MPMML_OPTION; OverflowError; AbortedError.
 * @example
 * const timetable = { nodes: 2, keys: ['A', 'B'], from: [0, 0, 1, 1], to: [0, 1, 0, 1], weight: [2, 5, 3, 3] }
 * const { leastPeriod, late, goneBy } = await delay(timetable, { period: 5, at: 'A', by: 4 })
 * console.log(leastPeriod, goneBy) // 4 3
 * console.log(late.map((each) => `${each.round}${each.departure}+${each.delay}`).join()) // 0A+4,1A+1,1B+2,2A+2
 */
export async function delay(timetable: Timetable, options: DelayOptions): Promise<DelayResult> {
  const { period, at, by, rounds, signal } = delayOptions.read(options)
  const own = await preparedTimetable(timetable, period, { by }, signal)
  const { nameOf, scale } = own
  const first = numberOfNode(at, own, 'option at')
  const { data: recovery } = await recovering(own, nameOf(first) as string, signal)
  const propagation = propagating(own, first, own.inParts(by), rounds)
  const { late, isGone } = await inSlices(propagation, signal, WORK)
  return {
    ...own.stability,
    departures: Array.from(own.starts, (start, node) => ({
      departure: nameOf(node),
      time: start / scale,
      recovery: recovery[node] === Infinity ? null : recovery[node]! / scale,
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

const WORK = 'the propagation of a delay'

interface Late {
  readonly round: number
  readonly node: number
  readonly time: number
  readonly because: number
}

/** Propagates a delay, round by round: late departures of a round wait for each other along connections without tokens. */
function* propagating(
  { nodes, from, to, tokens, slack }: PreparedTimetable,
  first: number,
  by: number,
  rounds: number,
): Steps<{ late: Late[]; isGone: boolean }> {
  const { start, item: edges } = yield* sorted(to, nodes)
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
        if (++looked % PER_SLICE === 0) yield
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
