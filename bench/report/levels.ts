/** The speed of products of few levels against their size, as the suite `levels` finds it. */
import type { Figure } from '../suites/suite.js'
import type { Drawing } from './charts.js'
import type { Datum } from './plot.js'

/** Undefined if there are no kernels among the figures. */
export function levelsFigure(figures: readonly Figure[]): Drawing | undefined {
  const data = figures.flatMap(({ of, what, value: { median, q1, q3 } }): Datum[] => {
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
