/**
 * Plots as SVG text, by Observable Plot on linkedom's document. The one file that imports them: `npm run build:ts` bundles
 * both into it (bench/bundle.mjs), so that users of the library don't install fifty packages for a report.
 */
import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'

/** A measured value, with the quartiles around it. */
export interface Datum {
  x: string
  y: number
  q1: number
  q3: number
  series: string
  facet?: string
}

export interface LineChart {
  data: Datum[]
  /** The values of x in order. */
  xs: string[]
  xLabel: string
  yLabel: string
  series: string[]
  facets?: string[]
  /** Levels to compare with, such as a ceiling. */
  references: { y: number; label: string }[]
}

export interface BarChart {
  data: { label: string; value: number; series: string }[]
  labels: string[]
  xLabel: string
  series: string[]
  references: { y: number; label: string }[]
}

/** The page defines these for light and for dark. */
const colors = [1, 2, 3, 4, 5, 6, 7, 8].map((index) => `var(--series-${index})`)
const muted = 'var(--muted)'
const symbols = ['circle', 'square', 'triangle', 'diamond', 'star', 'cross', 'wye', 'times'] as const

const newDocument = () =>
  parseHTML('<!doctype html><html><body></body></html>').document as unknown as Document

/** Common to all: text in the page's font and size, on its background. */
const frame = (document: Document, width: number) => ({
  document,
  width,
  className: 'plot',
  style: { background: 'none', fontSize: width < 500 ? '11px' : '12px', overflow: 'visible' },
})

function finish(element: Element): string {
  // Plot's style sheet is the same in every plot; the page has it once.
  for (const style of element.querySelectorAll('style')) style.remove()
  for (const svg of element.tagName.toLowerCase() === 'svg' ? [element] : element.querySelectorAll('svg')) {
    svg.setAttribute('aria-hidden', 'true')
  }
  return element.outerHTML
}

/**
 * Where the axis of values starts: at 0, unless all lines would lie on each other at the top of it. A line says nothing by
 * its height above the axis, as a bar does, and the axis says where it starts.
 */
function lowest(data: Datum[], top: number): number {
  const least = Math.min(...data.map(({ q1 }) => q1))
  return least > 0.9 * top ? least - (top - least) : 0
}

export function lineChart(chart: LineChart, width: number): string {
  const document = newDocument()
  const { data, xs, series, facets, references } = chart
  const domain = { domain: series }
  const top = Math.max(...data.map(({ q3 }) => q3), ...references.map(({ y }) => y), 0)
  const bottom = facets ? 0 : lowest(data, top)
  const step = { x: 'x', stroke: 'series', ...(facets ? { fy: 'facet' } : {}) }
  return finish(
    Plot.plot({
      ...frame(document, width),
      height: facets ? 150 * facets.length + 60 : width < 500 ? 260 : 340,
      marginLeft: 52,
      marginRight: facets ? 44 : 16,
      marginBottom: 42,
      x: { type: 'point', domain: xs, label: chart.xLabel, padding: 0.3 },
      y: {
        domain: [bottom, top + 0.06 * (top - bottom)],
        label: bottom > 0 ? `${chart.yLabel} (not from 0)` : chart.yLabel,
        grid: true,
        ticks: facets ? 4 : 6,
        nice: true,
      },
      ...(facets ? { fy: { domain: facets, label: null, padding: 0.14 } } : {}),
      color: { ...domain, range: colors.slice(0, series.length) },
      symbol: { ...domain, range: symbols.slice(0, series.length) },
      marks: [
        Plot.ruleY([bottom], { stroke: muted }),
        Plot.ruleY(references, { y: 'y', stroke: muted, strokeDasharray: '5,4' }),
        Plot.text(references, {
          y: 'y',
          text: 'label',
          frameAnchor: 'right',
          textAnchor: 'end',
          dy: -7,
          fill: muted,
        }),
        Plot.link(data, {
          ...step,
          x1: 'x',
          x2: 'x',
          y1: 'q1',
          y2: 'q3',
          strokeWidth: 5,
          strokeOpacity: 0.35,
        }),
        Plot.line(data, { ...step, y: 'y', z: 'series', strokeWidth: 2 }),
        Plot.dot(data, { ...step, y: 'y', symbol: 'series', fill: 'var(--page)', r: 4, strokeWidth: 2 }),
      ],
    } as Plot.PlotOptions),
  )
}

export function barChart(chart: BarChart, width: number): string {
  const document = newDocument()
  const { data, labels, series, references } = chart
  const longest = Math.max(...labels.map((label) => label.length))
  const most = Math.max(...data.map(({ value }) => value))
  const text = ({ value }: { value: number }) => (most >= 100 ? value.toFixed(0) : value.toFixed(1))
  // Values stand in the bars, clear of the lines to compare with, or beside bars too short for them.
  const long = data.filter(({ value }) => value > 0.2 * most)
  const short = data.filter(({ value }) => value <= 0.2 * most)
  return finish(
    Plot.plot({
      ...frame(document, width),
      height: 30 * labels.length + 62 + (references.length > 0 ? 14 : 0),
      marginLeft: Math.min(width * 0.42, 7 * longest + 10),
      marginRight: 48,
      marginTop: references.length > 0 ? 34 : 16,
      marginBottom: 40,
      x: { label: chart.xLabel, grid: true, nice: true, ticks: width < 500 ? 4 : 8 },
      y: { type: 'band', domain: labels, label: null, padding: 0.25 },
      color: { domain: series, range: colors.slice(0, series.length) },
      marks: [
        // Behind the bars, so that it doesn't cross the numbers in them.
        Plot.ruleX(references, { x: 'y', stroke: muted, strokeDasharray: '5,4' }),
        Plot.barX(data, { x: 'value', y: 'label', fill: 'series' }),
        Plot.text(long, {
          x: 'value',
          y: 'label',
          text,
          textAnchor: 'end',
          dx: -6,
          fill: 'var(--page)',
          fontWeight: 600,
        }),
        Plot.text(short, { x: 'value', y: 'label', text, textAnchor: 'start', dx: 6 }),
        Plot.text(references, {
          x: 'y',
          text: 'label',
          frameAnchor: 'top',
          textAnchor: 'end',
          dy: -16,
          fill: muted,
        }),
        Plot.ruleX([0], { stroke: muted }),
      ],
    } as Plot.PlotOptions),
  )
}

/** The key to the series of a chart: symbols of the same colours and shapes. */
export function legend(series: string[], kind: 'line' | 'bar'): string {
  const document = newDocument()
  const range = colors.slice(0, series.length)
  const element =
    kind === 'bar'
      ? Plot.legend({
          document,
          className: 'legend',
          color: { type: 'categorical', domain: series, range },
        } as never)
      : Plot.legend({
          document,
          className: 'legend',
          symbol: { domain: series, range: symbols.slice(0, series.length) },
          color: { type: 'categorical', domain: series, range },
          stroke: 'color',
          fill: 'none',
          strokeWidth: 2,
        } as never)
  return finish(element as unknown as Element)
}
