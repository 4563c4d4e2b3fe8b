/** The speeds of `mpmml bench` as an SVG file. */
import { shapeName } from '../output.js'
import type { BenchRecord, TrialRecord } from '../timing/suite.js'
import { unitFor } from './data.js'
import { barChart, standaloneSvg } from './plot.js'
import { light } from './style.js'

const WIDTH = 860

const whereOf = ({ backend, device, threads }: TrialRecord) =>
  backend === 'cuda' ? device : `CPU, ${threads} ${threads === 1 ? 'thread' : 'threads'}`

export function benchSvg({ semiring, dtype, trials }: BenchRecord): string {
  const rows = trials.flatMap((trial) => trial.rows.map((row) => ({ trial, row })))
  const ceilings = trials.flatMap(({ ceiling }) => (ceiling ? [ceiling.gops.median] : []))
  const { unit, divisor } = unitFor([...rows.map(({ row }) => row.gops.median), ...ceilings])
  const series = [...new Set(trials.map(whereOf))]
  const several = series.length > 1
  const data = rows.map(({ trial, row }) => ({
    label: [shapeName(row), row.values, ...(several ? [whereOf(trial)] : [])].join(' · '),
    value: row.gops.median / divisor,
    series: whereOf(trial),
  }))
  const references = trials.flatMap((trial) =>
    trial.ceiling
      ? [
          {
            y: trial.ceiling.gops.median / divisor,
            label: several ? `ceiling, ${whereOf(trial)}` : 'ceiling',
          },
        ]
      : [],
  )
  const chart = { data, labels: data.map(({ label }) => label), xLabel: unit, series, references }
  return standaloneSvg(barChart(chart, WIDTH), `Speed of ${semiring} on ${dtype}`, series, light, WIDTH)
}
