/**
 * An experiment: a grid of measured cases, and the columns and figures that show their results. The grid runs
 * in this process (runCases), or in subprocesses (subprocesses/run.ts).
 */
import { type Spread, spread } from '../lib/lab.js'
import { duration, table } from './output.js'
import { startProgress } from './progress.js'

/** Listener of the current step of a case, and of its completed fraction, from 0 to 1. */
export type ProgressListener = (what: string, done: number) => void

/** Point of an experiment's grid. */
export interface Case<Found> {
  /** Description for the progress line. */
  what: string
  /** Estimated cost, in any unit that is roughly proportional to the time. */
  cost: number
  measure(onPart: ProgressListener): Promise<Found>
}

/** Cases that are measured for a request, one after the other. */
export interface Experiment<Request, Found> {
  grid(request: Request): Case<Found>[]
}

export const costOf = (cases: readonly Case<unknown>[]) => cases.reduce((sum, { cost }) => sum + cost, 0)

/**
 * Measures the cases one after the other and shows the progress.
 *
 * @param keep - receives the result of each case as soon as it is measured.
 * @throws the signal's reason once it is aborted.
 */
export async function runCases<Found>(
  cases: readonly Case<Found>[],
  signal: AbortSignal,
  keep: (result: Found) => Promise<void> | void = () => {},
): Promise<Found[]> {
  const progress = startProgress(costOf(cases))
  const all: Found[] = []
  let done = 0
  try {
    for (const { what, cost, measure } of cases) {
      signal.throwIfAborted()
      progress.show(what, done)
      const result = await measure(() => {})
      await keep(result)
      all.push(result)
      done += cost
    }
    return all
  } finally {
    progress.end()
  }
}

/**
 * Returns the results of repeated calls, warm-up calls excluded.
 *
 * @param warmUp - number of warm-up calls; `nth` is negative for them.
 */
export async function repeat<Sample>(
  repetitions: number,
  warmUp: number,
  call: (nth: number) => Promise<Sample> | Sample,
): Promise<Sample[]> {
  const samples: Sample[] = []
  for (let nth = -warmUp; nth < repetitions; nth++) {
    const sample = await call(nth)
    if (nth >= 0) samples.push(sample)
  }
  return samples
}

/**
 * Returns the number of repetitions that fill `budget` ms. It is odd, so that the median is a measured value.
 */
export function repetitionsFor(ms: number, budget: number): number {
  return 2 * Math.min(10, Math.max(1, Math.floor(budget / Math.max(ms, 0.01) / 2))) + 1
}

/** Returns the duration of a call in milliseconds. */
export async function elapsed(call: () => unknown): Promise<number> {
  const begin = performance.now()
  await call()
  return performance.now() - begin
}

export const median = (samples: readonly number[]) => spread(samples).median

/** Columns of a table of results: the heading of each column, and its cell for a row. */
export type Columns<Row> = readonly (readonly [head: string, cell: (row: Row) => string])[]

/** Returns the rows of a table, the headings first. */
export const rowsOf = <Row>(columns: Columns<Row>, rows: readonly Row[]): string[][] => [
  columns.map(([head]) => head),
  ...rows.map((row) => columns.map(([, cell]) => cell(row))),
]

export const tableOf = <Row>(columns: Columns<Row>, rows: readonly Row[]) => table(rowsOf(columns, rows))

/** Returns a time as text, such as "12.3 ms ± 0.4 %". */
export function timed({ median, q1, q3 }: Spread): string {
  return `${duration(median)} ± ${(median > 0 ? (50 * (q3 - q1)) / median : 0).toFixed(1)} %`
}
