/** Charts from measured rows: the picture at both widths, its key, and its numbers as a table. */
import type { Spread } from '../../lib/lab.js'
import { type Data, inUnit, speed, unitFor } from './data.js'
import { type Html, html, raw, tableOf } from './html.js'
import { barChart, type Datum, legend, lineChart } from './plot.js'

/** A chart at the two widths that the page chooses from, its key, and its numbers. */
export function figure(
  draw: (width: number) => string,
  series: string[],
  kind: 'line' | 'bar',
  description: string,
  numbers: Html,
): Html {
  const picture = (name: string, width: number) =>
    html`<div class="${name}" role="img" aria-label="${description}">${raw(draw(width))}</div>`
  return html`<figure>
${series.length > 1 ? raw(legend(series, kind)) : undefined}
${picture('wide', 760)}${picture('narrow', 350)}
<details><summary>The numbers</summary>${numbers}</details>
</figure>`
}

interface Row {
  x: string
  series: string
  facet?: string
  gops: Spread
  /** Further columns of the table. */
  more: string[]
}

interface LineFigure {
  rows: Row[]
  xs: string[]
  xLabel: string
  series: string[]
  facets?: string[]
  seriesLabel: string
  more: string[]
  ceiling?: number | undefined
  description: string
}

export function lines(f: LineFigure): Html | undefined {
  if (f.rows.length === 0) return undefined
  const { unit, divisor } = unitFor(f.rows.map(({ gops }) => gops.median))
  const data: Datum[] = f.rows.map(({ x, series, facet, gops }) => ({
    x,
    series,
    y: gops.median / divisor,
    q1: gops.q1 / divisor,
    q3: gops.q3 / divisor,
    ...(facet === undefined ? {} : { facet }),
  }))
  const references = f.ceiling ? [{ y: f.ceiling / divisor, label: 'measured ceiling' }] : []
  const series = f.series.filter((name) => f.rows.some((row) => row.series === name))
  const chart = {
    data,
    xs: f.xs,
    xLabel: f.xLabel,
    yLabel: unit,
    series,
    references,
    ...(f.facets ? { facets: f.facets } : {}),
  }
  const best = f.rows.reduce((best, row) => (row.gops.median > best.gops.median ? row : best))
  const numbers = tableOf(
    [
      f.xLabel,
      ...(f.facets ? ['K'] : []),
      f.seriesLabel,
      `${unit}, median ± half the quartiles’ distance`,
      ...f.more,
    ],
    f.rows.map((row) => [
      row.x,
      ...(f.facets ? [row.facet] : []),
      row.series,
      inUnit(row.gops, divisor),
      ...row.more,
    ]),
    f.description,
  )
  return figure(
    (width) => lineChart(chart, width),
    series,
    'line',
    `${f.description}. Fastest: ${best.series} at ${best.x}, ${speed(best.gops.median)}. The numbers are in the table below.`,
    numbers,
  )
}

export interface BarRow {
  label: string
  series: string
  gops: Spread
  more: string[]
}

export function bars(
  data: Data,
  rows: BarRow[],
  more: string[],
  description: string,
  references: { y: number; label: string }[],
): Html | undefined {
  if (rows.length === 0) return undefined
  const { unit, divisor } = unitFor(rows.map(({ gops }) => gops.median))
  const series = [...new Set(rows.map((row) => row.series))]
  const chart = {
    data: rows.map(({ label, series, gops }) => ({ label, series, value: gops.median / divisor })),
    labels: rows.map(({ label }) => label),
    xLabel: unit,
    series,
    references: references.map(({ y, label }) => ({ y: y / divisor, label })),
  }
  const numbers = tableOf(
    ['', `${unit}, median ± half the quartiles’ distance`, ...more],
    rows.map((row) => [row.label, inUnit(row.gops, divisor), ...row.more]),
    `${description}, ${data.machine.gpu.name}`,
  )
  return figure(
    (width) => barChart(chart, width),
    series,
    'bar',
    `${description}. The numbers are in the table below.`,
    numbers,
  )
}

export const mhz = (value: number) => `${Math.round(value)} MHz`
export const ms = (value: number) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

export const times = (x: unknown, y: unknown) => `${x}×${y}`

type Pair = [x: unknown, y: unknown]

/** The names of pairs of parameters, each once, in the order of the keys, the first one first. */
function namesOf(pairs: Pair[], ...keys: ((x: number, y: number) => number)[]): string[] {
  const key = (pair: Pair, index: number) => keys[index]!(Number(pair[0]), Number(pair[1]))
  const sorted = [...pairs].sort((one, other) =>
    keys.reduce((order, _, index) => order || key(one, index) - key(other, index), 0),
  )
  return [...new Set(sorted.map(([x, y]) => times(x, y)))]
}

/** Tiles X × Y by X, then by Y. */
export const tileNames = (tiles: Pair[]) =>
  namesOf(
    tiles,
    (x) => x,
    (_, y) => y,
  )

/** Thread blocks BS_i × BS_j by their threads, then by BS_i. */
export const blockNames = (blocks: Pair[]) =>
  namesOf(
    blocks,
    (i, j) => i * j,
    (i) => i,
  )
