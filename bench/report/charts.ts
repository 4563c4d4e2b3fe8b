/** Builds charts and tables from measured points, as data that plot.ts draws. */
import type { Spread } from '../../lib/lab.js'
import { type Columns, rowsOf } from '../experiment.js'
import { inUnit, speed, unitFor } from './data.js'
import { type Html, tableOf } from './html.js'
import type { BarChart, LineChart, RooflineChart } from './plot.js'

/** Kinds of charts that plot.ts draws. */
export type Drawing =
  | { kind: 'line'; chart: LineChart }
  | { kind: 'bar'; chart: BarChart }
  | { kind: 'roofline'; chart: RooflineChart }

/** Chart of the page. */
export interface Figure {
  drawing: Drawing
  /** Alternative text for screen readers. */
  description: string
  numbers: Html
}

/** Point with the speed that a chart shows. */
interface Fast {
  result: { gops: Spread }
}

interface LineFigure<Point extends Fast> {
  points: readonly Point[]
  x(point: Point): string
  /** Values of the x axis in order. */
  xs: string[]
  xLabel: string
  line(point: Point): string
  /** Names of the lines in order. Lines without points are omitted. */
  lines: string[]
  lineLabel: string
  /** Panel of each point, and all panels in order. */
  panel?: { of(point: Point): string; all: string[]; label: string } | undefined
  /** Additional columns of the table of numbers. */
  columns: Columns<Point>
  ceiling?: number | undefined
  description: string
}

const SPEED = 'median ± half the quartiles’ distance'

/** Returns a chart with a line per name; nothing without points. */
export function lines<Point extends Fast>(figure: LineFigure<Point>): Figure[] {
  const { points, x, line, panel, description } = figure
  if (points.length === 0) return []
  const { unit, divisor } = unitFor(points.map(({ result }) => result.gops.median))
  const best = points.reduce((best, point) =>
    point.result.gops.median > best.result.gops.median ? point : best,
  )
  const chart: LineChart = {
    data: points.map((point) => {
      const { median, q1, q3 } = point.result.gops
      return {
        x: x(point),
        series: line(point),
        y: median / divisor,
        q1: q1 / divisor,
        q3: q3 / divisor,
        ...(panel && { facet: panel.of(point) }),
      }
    }),
    xs: figure.xs,
    xLabel: figure.xLabel,
    yLabel: unit,
    series: figure.lines.filter((name) => points.some((point) => line(point) === name)),
    references: figure.ceiling ? [{ y: figure.ceiling / divisor, label: 'measured ceiling' }] : [],
    ...(panel && { facets: panel.all }),
  }
  const columns: Columns<Point> = [
    [figure.xLabel, x],
    ...(panel ? ([[panel.label, panel.of]] as const) : []),
    [figure.lineLabel, line],
    [`${unit}, ${SPEED}`, ({ result }) => inUnit(result.gops, divisor)],
    ...figure.columns,
  ]
  const fastest = `Fastest: ${line(best)} at ${x(best)}, ${speed(best.result.gops.median)}`
  return [
    {
      drawing: { kind: 'line', chart },
      description: `${description}. ${fastest}. The numbers are in the table below.`,
      numbers: tableOf(rowsOf(columns, points), description),
    },
  ]
}

interface BarFigure<Point extends Fast> {
  points: readonly Point[]
  label(point: Point): string
  series(point: Point): string
  columns: Columns<Point>
  /** Reference speeds in GOPS. */
  references: { y: number; label: string }[]
  description: string
  /** The GPU's name, for the table. */
  gpu: unknown
}

/** Returns a chart with a bar per point; nothing without points. */
export function bars<Point extends Fast>(figure: BarFigure<Point>): Figure[] {
  const { points, label, series, references, description } = figure
  if (points.length === 0) return []
  const { unit, divisor } = unitFor(points.map(({ result }) => result.gops.median))
  const columns: Columns<Point> = [
    ['', label],
    [`${unit}, ${SPEED}`, ({ result }) => inUnit(result.gops, divisor)],
    ...figure.columns,
  ]
  const chart: BarChart = {
    data: points.map((point) => ({
      label: label(point),
      series: series(point),
      value: point.result.gops.median / divisor,
    })),
    labels: points.map(label),
    xLabel: unit,
    series: [...new Set(points.map(series))],
    references: references.map((reference) => ({ ...reference, y: reference.y / divisor })),
  }
  return [
    {
      drawing: { kind: 'bar', chart },
      description: `${description}. The numbers are in the table below.`,
      numbers: tableOf(rowsOf(columns, points), `${description}, ${figure.gpu}`),
    },
  ]
}

export const mhz = (value: number) => `${Math.round(value)} MHz`
export const ms = (value: number) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

export const times = (x: unknown, y: unknown) => `${x}×${y}`

/** A number by which points and rows are sorted. */
export type Key = (parameters: Readonly<Record<string, unknown>>) => number

interface Sorted {
  parameters: Readonly<Record<string, unknown>>
}

/** Returns a sort key that reads a parameter. */
export const by =
  (name: string): Key =>
  (parameters) =>
    Number(parameters[name])

/** Returns rows sorted by the given keys, the first key first. */
export const sortedBy = <Row extends Sorted>(rows: readonly Row[], ...keys: Key[]): Row[] =>
  [...rows].sort((one, other) =>
    keys.reduce((order, key) => order || key(one.parameters) - key(other.parameters), 0),
  )

/** Returns the distinct names of rows, sorted by the given keys. */
export const namesOf = <Row extends Sorted>(
  rows: readonly Row[],
  nameOf: (row: Row) => string,
  ...keys: Key[]
): string[] => [...new Set(sortedBy(rows, ...keys).map(nameOf))]
