/** Figure of `mpmml bench --svg`. */
import { shapeName } from '../output.js'
import type { Figure } from '../suites/suite.js'
import type { BenchRecord, TrialRecord } from '../timing/bench.js'
import type { Drawing } from './charts.js'
import { unitFor } from './data.js'
import type { DataPoint } from './plot.js'

const whereOf = ({ backend, device, threads }: TrialRecord) =>
  backend === 'cuda' ? device : `CPU, ${threads} ${threads === 1 ? 'thread' : 'threads'}`

/** Returns the speeds of products as bars. */
export function benchFigure({ trials }: BenchRecord): Drawing {
  const speeds = trials.flatMap(({ rows, ceiling }) => [
    ...rows.map(({ gops }) => gops.median),
    ...(ceiling ? [ceiling.gops.median] : []),
  ])
  const { unit, divisor } = unitFor(speeds)
  const series = trials.map(whereOf)
  const several = series.length > 1
  const data = trials.flatMap((trial) => {
    const where = whereOf(trial)
    const bar = (parts: string[], gops: number) => ({
      label: [...parts, ...(several ? [where] : [])].join(' · '),
      value: gops / divisor,
      series: where,
    })
    return [
      ...trial.rows.map((row) => bar([shapeName(row), row.values], row.gops.median)),
      // Several peak rates are bars, because their reference lines would overlap.
      ...(several && trial.ceiling ? [bar(['ceiling'], trial.ceiling.gops.median)] : []),
    ]
  })
  const ceiling = several ? undefined : trials[0]?.ceiling?.gops.median
  const references = ceiling === undefined ? [] : [{ y: ceiling / divisor, label: 'ceiling' }]
  const chart = { data, labels: data.map(({ label }) => label), xLabel: unit, series, references }
  return { kind: 'bar', chart }
}

/**
 * Returns the chart of speed over size for the suite `levels`. Undefined if the figures contain no kernels.
 */
export function levelsFigure(figures: readonly Figure[]): Drawing | undefined {
  const data = figures.flatMap(({ of, what, value: { median, q1, q3 } }): DataPoint[] => {
    const [, size, series] = /^(\d+)³, (.*)$/.exec(of) ?? []
    return what === 'kernel' ? [{ x: `${size}³`, series: series!, y: median, q1, q3 }] : []
  })
  if (data.length === 0) return undefined
  const series = [...new Set(data.map((datum) => datum.series))]
  const chart = {
    data,
    xs: [...new Set(data.map(({ x }) => x))],
    xLabel: 'size of the product',
    yLabel: 'TOPS of the kernel',
    series,
    references: [],
  }
  return { kind: 'line', chart }
}
