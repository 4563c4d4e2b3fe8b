/**
 * Computes the slack of jobs and critical paths from earliest start times.
 *
 * An edge from i to j of weight w has the gap x[j] − (x[i] + w). The slack of a job is the least sum of gaps on a path to a job that
 * ends, plus the time from its end to its deadline. So the slack of a job on a critical path is a sum of zeros, and no rounding adds to it.
 *
 * Sums of floats are rounded, and so are decimals such as 0.1. A gap that is no wider than the rounding errors of the two sums is 0. If all
 * times are multiples of one power of 2, no sum is rounded, and no gap is changed.
 */
import { FLOAT64, INT32 } from '../elements.js'
import { findingComponents } from '../graph-core/components.js'
import { fractionBits } from '../graph-core/fractions.js'
import { markedNodes } from '../graph-core/reached.js'
import { ownersOf, selected, type WeightedRows } from '../graph-core/rows.js'
import { PER_SLICE, type Steps } from '../graph-core/slices.js'
import type { ElementArray } from '../storage.js'

/** Jobs with their earliest start times. */
interface StartedJobs {
  readonly rows: WeightedRows
  /** The number of the element type. */
  readonly type: number
  readonly release: ElementArray
  readonly durations: ElementArray
  readonly starts: ElementArray
}

/** Gaps of the edges, and of the jobs to deadlines and releases. A gap of 0 is tight. */
export class Gaps {
  readonly #jobs: StartedJobs
  /** Rounding error of one sum, relative to its result; 0 if sums are exact. */
  readonly #unit: number
  /** Bounds of the rounding errors of the start times. */
  readonly #error: Float64Array

  private constructor(jobs: StartedJobs, unit: number, error: Float64Array) {
    this.#jobs = jobs
    this.#unit = unit
    this.#error = error
  }

  static *of(jobs: StartedJobs): Steps<Gaps> {
    const { type, starts } = jobs
    const unit = (yield* isExact(jobs)) ? 0 : type === FLOAT64 ? 2 ** -53 : 2 ** -24
    const gaps = new Gaps(jobs, unit, new Float64Array(starts.length))
    if (unit > 0) yield* gaps.#boundErrors()
    return gaps
  }

  /** Gap of edge k, which leads from job i. */
  edge(k: number, i: number): number {
    const { starts, rows } = this.#jobs
    const j = rows.to[k]!
    return Math.max(0, this.#gap(starts[i]!, rows.weight[k]!, starts[j]!, this.#error[i]! + this.#error[j]!))
  }

  /** Time from the end of job i to a deadline, which may be negative. `error` bounds the rounding error of the deadline. */
  deadline(i: number, deadline: number, error = 0): number {
    const { starts, durations } = this.#jobs
    return this.#gap(starts[i]!, durations[i]!, deadline, this.#error[i]! + error)
  }

  /** Rounding error of the end of job i. */
  endError(i: number): number {
    const { starts, durations } = this.#jobs
    return this.#error[i]! + this.#rounding(starts[i]!, durations[i]!)
  }

  /** Returns whether job i starts at its release. */
  isReleased(i: number): boolean {
    const { starts, release } = this.#jobs
    return this.#gap(release[i]!, 0, starts[i]!, this.#error[i]!) <= 0
  }

  #gap(start: number, lag: number, end: number, error: number): number {
    const gap = end - (start + lag)
    if (this.#unit === 0) return gap
    return Math.abs(gap) <= error + this.#rounding(start, lag) + this.#unit * Math.abs(end) ? 0 : gap
  }

  /** Rounding error of a sum, and of its second term as a decimal. */
  #rounding(start: number, lag: number): number {
    return this.#unit * (Math.abs(lag) + Math.abs(start + lag))
  }

  /** Bounds the errors of the start times along the sums that gave them, beginning at the releases. */
  *#boundErrors(): Steps<void> {
    const { rows, starts, release } = this.#jobs
    const error = this.#error
    const unit = this.#unit
    const queue = new Int32Array(rows.nodes)
    const isQueued = new Uint8Array(rows.nodes)
    let waiting = 0
    for (let i = 0; i < rows.nodes; i++) {
      if (starts[i] !== release[i]) continue
      error[i] = unit * Math.abs(release[i]!)
      isQueued[i] = 1
      queue[waiting++] = i
    }
    let looked = 0
    for (let at = 0; at < waiting; at++) {
      const i = queue[at]!
      for (let k = rows.start[i]!; k < rows.start[i + 1]!; k++) {
        if (++looked % PER_SLICE === 0) yield
        const j = rows.to[k]!
        if (
          isQueued[j] === 1 ||
          this.#gap(starts[i]!, rows.weight[k]!, starts[j]!, unit * Math.abs(starts[i]!)) !== 0
        )
          continue
        error[j] = error[i]! + this.#rounding(starts[i]!, rows.weight[k]!)
        isQueued[j] = 1
        queue[waiting++] = j
      }
    }
  }
}

/** Returns whether all sums of times are exact: of integers, and of multiples of one power of 2 that are small enough. */
function* isExact({ rows, type, release, durations, starts }: StartedJobs): Steps<boolean> {
  if (type === INT32) return true
  let largest = 0
  let bits = 0
  for (const values of [rows.weight, release, durations, starts]) {
    let own = 0
    for (let first = 0; first < values.length; first += PER_SLICE) {
      const part = values.subarray(first, first + PER_SLICE)
      for (let at = 0; at < part.length; at++) own = Math.max(own, Math.abs(part[at]!))
      bits = Math.max(bits, fractionBits(part))
      yield
    }
    largest += own
  }
  return largest * 2 ** bits <= (type === FLOAT64 ? 2 ** 53 : 2 ** 24)
}

/** Sources, targets and gaps of the edges, for a search. */
export function* edgesWithGaps(rows: WeightedRows, gaps: Gaps): Steps<WeightedRows<Float64Array>> {
  const from = ownersOf(rows)
  const weight = new Float64Array(from.length)
  for (let k = 0; k < from.length; k++) {
    if (k % PER_SLICE === PER_SLICE - 1) yield
    weight[k] = gaps.edge(k, from[k]!)
  }
  return { ...rows, weight }
}

/**
 * Returns a critical path with the most jobs. Each job starts as soon as the previous job allows; the first
 * job starts at its release, and the last job ends when the project does. May omit jobs that start together
 * in a cycle of tight edges.
 *
 * @param isCritical - 1 for each job that is on a critical path.
 * @param isLast - 1 for each job that ends when the project does.
 */
export function* findingCriticalPath(
  rows: WeightedRows,
  gaps: Gaps,
  isCritical: Uint8Array,
  isLast: Uint8Array,
): Steps<number[]> {
  const { nodes } = rows
  const isTight = (k: number, i: number) =>
    isCritical[i] === 1 && isCritical[rows.to[k]!] === 1 && gaps.edge(k, i) === 0
  const { start, to } = yield* selected(rows, isTight)
  const roots = (yield* markedNodes(isCritical)).filter((i) => gaps.isReleased(i))
  // Members are in reverse order of discovery within components, and behind the components that they reach. So only edges that close a cycle
  // lead forward, and each job is reached by the others.
  const { members } = yield* findingComponents({ nodes, start, to }, { roots })
  const position = new Int32Array(nodes)
  for (const [at, i] of members.entries()) position[i] = at
  const count = new Int32Array(nodes)
  for (const root of roots) count[root] = 1
  const before = new Int32Array(nodes).fill(-1)
  let last = -1
  let looked = 0
  for (let at = members.length - 1; at >= 0; at--) {
    const i = members[at]!
    for (let k = start[i]!; k < start[i + 1]!; k++) {
      if (++looked % PER_SLICE === 0) yield
      const j = to[k]!
      if (position[j]! >= at || count[j]! > count[i]!) continue
      count[j] = count[i]! + 1
      before[j] = i
    }
    if (isLast[i] === 1 && (last < 0 || count[i]! > count[last]!)) last = i
  }
  const path: number[] = []
  for (let i = last; i >= 0; i = before[i]!) path.push(i)
  return path.reverse()
}
