/** The speeds of `mpmml bench` as bars. */
import { shapeName } from '../output.js'
import type { BenchRecord, TrialRecord } from '../timing/suite.js'
import type { Drawing } from './charts.js'
import { unitFor } from './data.js'

const whereOf = ({ backend, device, threads }: TrialRecord) =>
  backend === 'cuda' ? device : `CPU, ${threads} ${threads === 1 ? 'thread' : 'threads'}`

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
      // The lines of several ceilings would lie on each other.
      ...(several && trial.ceiling ? [bar(['ceiling'], trial.ceiling.gops.median)] : []),
    ]
  })
  const ceiling = several ? undefined : trials[0]?.ceiling?.gops.median
  const references = ceiling === undefined ? [] : [{ y: ceiling / divisor, label: 'ceiling' }]
  const chart = { data, labels: data.map(({ label }) => label), xLabel: unit, series, references }
  return { kind: 'bar', chart }
}
