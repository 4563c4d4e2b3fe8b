/**
 * Draws charts as SVG text: lines over named values, bars, and rooflines. Attributes define the whole style,
 * so that an SVG file needs no style sheet.
 */
import { greatest, least } from '../min-max.js'
import type { Drawing } from './charts.js'
import { light } from './style.js'

/** Measured value with its quartiles. */
export interface DataPoint {
  x: string
  y: number
  q1: number
  q3: number
  series: string
  facet?: string
}

/** Reference value, such as a peak rate. */
interface Reference {
  y: number
  label: string
}

export interface LineChart {
  data: DataPoint[]
  /** Values of the x axis in order. */
  xs: string[]
  xLabel: string
  yLabel: string
  series: string[]
  facets?: string[]
  references: Reference[]
}

export interface RooflineChart {
  /** Panels from top to bottom, one per memory level whose bytes are counted. */
  facets: string[]
  /** Bandwidth rooflines, 10^9 bytes per second. */
  slopes: { facet: string; label: string; gbps: number; dashed: boolean }[]
  /** Peak rates of instructions, which every panel shows. */
  levels: { label: string; gops: number }[]
  data: { facet: string; x: number; y: number; series: string; label: string }[]
  series: readonly string[]
}

export interface BarChart {
  data: { label: string; value: number; series: string }[]
  labels: string[]
  xLabel: string
  series: string[]
  references: Reference[]
}

/**
 * Returns the colour with a name from style.ts. The page defines light and dark colours; files use the light
 * ones.
 */
type Paint = (name: string) => string
const onPage: Paint = (name) => `var(--${name})`
const inFile: Paint = (name) => light[name]!

type Attributes = Readonly<Record<string, string | number>>

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

function tag(name: string, attributes: Attributes, content = ''): string {
  const list = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === 'number' ? Number(value.toFixed(2)) : escaped(value)}"`,
  )
  return `<${name}${list.join('')}${content === '' ? '/>' : `>${content}</${name}>`}`
}

const text = (x: number, y: number, content: string, attributes: Attributes = {}) =>
  tag('text', { x, y, ...attributes }, escaped(content))

const path = (d: string, attributes: Attributes) => tag('path', { d, fill: 'none', ...attributes })

const line = (x1: number, y1: number, x2: number, y2: number, attributes: Attributes) =>
  tag('line', { x1, y1, x2, y2, ...attributes })

const star = Array.from({ length: 10 }, (_, corner) => {
  const [radius, angle] = [corner % 2 === 0 ? 6 : 2.4, (Math.PI * corner) / 5]
  return `${(radius * Math.sin(angle)).toFixed(2)},${(-radius * Math.cos(angle)).toFixed(2)}`
})

/** Symbols of the series, centred at 0. The last two symbols have no area. */
const symbols = [
  'M4.5,0A4.5,4.5,0,1,1,-4.5,0A4.5,4.5,0,1,1,4.5,0',
  'M-4,-4H4V4H-4Z',
  'M0,-5.5L4.8,3.3H-4.8Z',
  'M0,-6L4,0L0,6L-4,0Z',
  `M${star.join('L')}Z`,
  'M-5.2,-1.8H-1.8V-5.2H1.8V-1.8H5.2V1.8H1.8V5.2H-1.8V1.8H-5.2Z',
  'M0,0V5.5M0,0L-4.8,-2.8M0,0L4.8,-2.8',
  'M-4,-4L4,4M-4,4L4,-4',
]

/** Colour and symbol of series `index`. They repeat after the last one. */
const colourOf = (index: number, paint: Paint) => paint(`series-${1 + (index % symbols.length)}`)
const symbolOf = (index: number) => symbols[index % symbols.length]!

/** Symbol of a series; `fill` hides the line behind the symbol. */
const mark = (index: number, x: number, y: number, paint: Paint, fill: string) =>
  path(symbolOf(index), {
    transform: `translate(${x.toFixed(2)},${y.toFixed(2)})`,
    fill,
    stroke: colourOf(index, paint),
    'stroke-width': 2,
  })

type Scale = (value: number) => number
type Interval = readonly [from: number, to: number]

const linear =
  ([from, to]: Interval, [start, end]: Interval): Scale =>
  (value) =>
    start + ((end - start) * (value - from)) / (to - from)

const logarithmic = ([from, to]: Interval, range: Interval): Scale => {
  const scale = linear([Math.log(from), Math.log(to)], range)
  return (value) => scale(Math.log(value))
}

/** Returns about `count` round numbers. The first is at most `from`, and the last is at least `to`. */
function roundValues(from: number, to: number, count: number): number[] {
  const rough = (to - from || 1) / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999)!
  const [first, last] = [Math.floor(from / step + 1e-9), Math.ceil(to / step - 1e-9)]
  return Array.from({ length: Math.max(last, first + 1) - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  )
}

/** Returns round numbers within an interval of a logarithmic axis. */
function logValues([from, to]: Interval, isNarrow: boolean): number[] {
  const decades = Math.log10(to / from)
  const factors = decades > 4 || (isNarrow && decades > 2) ? [1] : decades > 2 ? [1, 3] : [1, 2, 5]
  const [first, last] = [Math.floor(Math.log10(from)), Math.ceil(Math.log10(to))]
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
    .flatMap((power) => factors.map((factor) => Number((factor * 10 ** power).toPrecision(3))))
    .filter((value) => value >= from && value <= to)
}

interface Panel {
  left: number
  right: number
  top: number
  bottom: number
}

interface Picture {
  height: number
  parts: string[]
}

const NARROW = 500
const GAP = 26

/** Returns the panels, one below the other. */
function panelsOf(
  count: number,
  each: number,
  width: number,
  left: number,
): { panels: Panel[]; height: number } {
  const top = 26
  const panels = Array.from({ length: count }, (_, index) => {
    const start = top + index * (each + GAP)
    return { left, right: width - 16, top: start, bottom: start + each }
  })
  return { panels, height: panels.at(-1)!.bottom + 42 }
}

/** Grid lines across a panel with their values at the left. */
const gridOfY = ({ left, right }: Panel, values: readonly number[], y: Scale, paint: Paint) =>
  values.flatMap((value) => [
    line(left, y(value), right, y(value), { stroke: paint('rule') }),
    text(left - 6, y(value) + 4, String(value), { 'text-anchor': 'end' }),
  ])

const titleOfX = ({ right, bottom }: Panel, label: string) =>
  text(right, bottom + 36, `${label} →`, { 'text-anchor': 'end' })

const dashed = (paint: Paint, dashes = '5,4') => ({ stroke: paint('muted'), 'stroke-dasharray': dashes })

/** Attributes of an outline that separates text from lines behind it. */
const halo = (paint: Paint): Attributes => ({
  fill: paint('muted'),
  stroke: paint('page'),
  'stroke-width': 4,
  'paint-order': 'stroke',
})

/** Width of a character, in pixels. */
const CHARACTER = 6.6

const longestOf = (labels: readonly string[]) => greatest([0, ...labels.map(({ length }) => length)])

/**
 * Start of the axis of values: 0, unless all lines would overlap at the top. Unlike bars, lines needn't start
 * at 0, because their height has no meaning and the axis is labelled.
 */
function lowest(data: readonly DataPoint[], top: number): number {
  const bottom = least(data.map(({ q1 }) => q1))
  return bottom > 0.9 * top ? bottom - (top - bottom) : 0
}

function lineChart(chart: LineChart, width: number, paint: Paint): Picture {
  const { data, xs, series, references } = chart
  const facets = chart.facets ?? [undefined]
  const top = greatest([0, ...data.map(({ q3 }) => q3), ...references.map(({ y }) => y)])
  const bottom = chart.facets ? 0 : lowest(data, top)
  const values = roundValues(bottom, top + 0.04 * (top - bottom), chart.facets ? 4 : 6)
  const each = chart.facets ? 130 : width < NARROW ? 190 : 270
  const { panels, height } = panelsOf(facets.length, each, width, 52)
  const [{ left, right }, last] = [panels[0]!, panels.at(-1)!]
  const padding = 0.3
  const step = (right - left) / (xs.length - 1 + 2 * padding)
  const x = (name: string) => left + step * (xs.indexOf(name) + padding)
  // The axis labels only every n-th value if the names need more space.
  const every = Math.max(1, Math.ceil((CHARACTER * (longestOf(xs) + 1)) / step))
  const from = values[0]!
  const parts = panels.flatMap((panel, index) => {
    const y = linear([from, values.at(-1)!], [panel.bottom, panel.top])
    const own = data.filter(({ facet }) => facet === facets[index])
    const levels = references.flatMap(({ y: level, label }) => [
      line(left, y(level), right, y(level), dashed(paint)),
      text(right, y(level) - 7, label, { 'text-anchor': 'end', fill: paint('muted') }),
    ])
    const drawn = series.flatMap((name, at) => {
      const points = own.filter((datum) => datum.series === name)
      const stroke = colourOf(at, paint)
      const ranges = points.map((datum) =>
        line(x(datum.x), y(datum.q1), x(datum.x), y(datum.q3), {
          stroke,
          'stroke-width': 5,
          'stroke-opacity': 0.35,
        }),
      )
      const corners = points.map((datum) => `${x(datum.x).toFixed(2)},${y(datum.y).toFixed(2)}`)
      const curve = corners.length > 1 ? [path(`M${corners.join('L')}`, { stroke, 'stroke-width': 2 })] : []
      return [...ranges, ...curve]
    })
    const marks = own.map((datum) =>
      mark(series.indexOf(datum.series), x(datum.x), y(datum.y), paint, paint('page')),
    )
    const title = facets[index] ?? `↑ ${chart.yLabel}${from > 0 ? ' (not from 0)' : ''}`
    return [
      text(left - 40, panel.top - 10, title, facets[index] === undefined ? {} : { 'font-weight': 600 }),
      ...gridOfY(panel, values, y, paint),
      line(left, panel.bottom, right, panel.bottom, { stroke: paint('muted') }),
      ...levels,
      ...drawn,
      tag('g', { 'aria-label': 'dot' }, marks.join('')),
    ]
  })
  const names = xs
    .filter((_, index) => index % every === 0)
    .map((name) => text(x(name), last.bottom + 17, name, { 'text-anchor': 'middle' }))
  const unit = chart.facets ? [text(right, panels[0]!.top - 10, chart.yLabel, { 'text-anchor': 'end' })] : []
  return { height, parts: [...parts, ...names, ...unit, titleOfX(last, chart.xLabel)] }
}

function barChart(chart: BarChart, width: number, paint: Paint): Picture {
  const { data, labels, series, references } = chart
  const most = greatest([0, ...data.map(({ value }) => value)])
  const values = roundValues(0, greatest([most, ...references.map(({ y }) => y)]), width < NARROW ? 4 : 8)
  const top = references.length > 0 ? 34 : 16
  const pitch = 30
  const panel = {
    left: Math.min(width * 0.42, CHARACTER * longestOf(labels) + 14),
    right: width - 48,
    top,
    bottom: top + pitch * labels.length,
  }
  const x = linear([0, values.at(-1)!], [panel.left, panel.right])
  const bars = data.map(({ label, value, series: name }) => {
    const y = top + pitch * labels.indexOf(label) + 4
    // Numbers are inside the bars, away from reference lines, or next to bars that are too short.
    const number = most >= 100 ? value.toFixed(0) : value.toFixed(1)
    const [at, look]: [number, Attributes] =
      value > 0.2 * most
        ? [x(value) - 6, { 'text-anchor': 'end', fill: paint('page'), 'font-weight': 600 }]
        : [x(value) + 6, {}]
    return [
      tag('rect', {
        x: panel.left,
        y,
        width: x(value) - panel.left,
        height: 22,
        fill: colourOf(series.indexOf(name), paint),
      }),
      text(at, y + 15, number, look),
    ].join('')
  })
  const most1 = Math.floor((panel.left - 10) / CHARACTER)
  const shortened = (label: string) => (label.length > most1 ? `${label.slice(0, most1 - 1)}…` : label)
  return {
    height: panel.bottom + 46,
    parts: [
      ...values.flatMap((value) => [
        line(x(value), top, x(value), panel.bottom, { stroke: paint('rule') }),
        text(x(value), panel.bottom + 17, String(value), { 'text-anchor': 'middle' }),
      ]),
      // Reference lines are drawn behind the bars, so that they don't cross the numbers.
      ...references.map(({ y }) => line(x(y), top, x(y), panel.bottom, dashed(paint))),
      ...labels.map((label, row) =>
        text(panel.left - 8, top + pitch * row + 19, shortened(label), { 'text-anchor': 'end' }),
      ),
      ...bars,
      ...references.map(({ y, label }) =>
        text(x(y), top - 10, label, { 'text-anchor': 'end', fill: paint('muted') }),
      ),
      line(panel.left, top, panel.left, panel.bottom, { stroke: paint('muted') }),
      titleOfX(panel, chart.xLabel),
    ],
  }
}

/** Draws operations per second over operations per byte, on logarithmic axes. */
function rooflineChart(chart: RooflineChart, width: number, paint: Paint): Picture {
  const { facets, slopes, levels, data, series } = chart
  const xs = data.map(({ x }) => x)
  const inX: Interval = [least(xs) / 2, greatest(xs) * 2]
  const top = greatest(levels.map(({ gops }) => gops))
  const inY: Interval = [least(data.map(({ y }) => y)) / 2, top * 1.7]
  const isNarrow = width < NARROW
  const { panels, height } = panelsOf(facets.length, isNarrow ? 230 : 300, width, 58)
  const last = panels.at(-1)!
  const x = logarithmic(inX, [last.left, last.right])
  const lowestLevel = least(levels.map(({ gops }) => gops))
  // Levels that are close together share one label.
  const low = levels.filter(({ gops }) => gops < 3 * lowestLevel)
  const names = [
    { gops: lowestLevel, label: low.map(({ label }) => label).join(', ') },
    ...levels.filter((level) => !low.includes(level)),
  ]
  const [ofX, ofY] = [logValues(inX, isNarrow), logValues(inY, false)]
  const parts = panels.flatMap((panel, index) => {
    const facet = facets[index]!
    const y = logarithmic(inY, [panel.bottom, panel.top])
    // Slopes end at the highest level or at an edge of the panel.
    const lines = slopes
      .filter((slope) => slope.facet === facet)
      .map(({ gbps, ...slope }) => ({
        ...slope,
        gbps,
        from: Math.max(inX[0], inY[0] / gbps),
        to: Math.min(inX[1], top / gbps),
      }))
      .filter(({ from, to }) => from < to)
    return [
      ...gridOfY(panel, ofY, y, paint),
      ...ofX.map((value) => line(x(value), panel.top, x(value), panel.bottom, { stroke: paint('rule') })),
      ...levels.map(({ gops }) => line(panel.left, y(gops), panel.right, y(gops), dashed(paint))),
      ...lines.map(({ gbps, from, to, dashed: isDashed }) =>
        line(
          x(from),
          y(from * gbps),
          x(to),
          y(to * gbps),
          isDashed ? dashed(paint, '2,4') : { stroke: paint('muted') },
        ),
      ),
      text(panel.left - 40, panel.top - 10, `GOPS over operations per byte of ${facet}`, {
        'font-weight': 600,
      }),
      ...names.map(({ gops, label }) => text(panel.left + 6, y(gops) + 14, label, halo(paint))),
      // Each label starts on its line and above the previous label, so that labels don't overlap.
      ...lines.map(({ label, gbps, from, to }, nth) => {
        const at = from * Math.min(1.9 ** (nth + 1), to / from)
        return text(x(at) + 5, y(at * gbps) + 7, label, halo(paint))
      }),
      tag(
        'g',
        { 'aria-label': 'dot' },
        data
          .filter((point) => point.facet === facet)
          .map(
            (point) =>
              mark(series.indexOf(point.series), x(point.x), y(point.y), paint, paint('page')) +
              text(x(point.x) + 9, y(point.y) + 5, point.label),
          )
          .join(''),
      ),
    ]
  })
  const values = ofX.map((value) =>
    text(x(value), last.bottom + 17, String(value), { 'text-anchor': 'middle' }),
  )
  return { height, parts: [...parts, ...values, titleOfX(last, 'operations per byte')] }
}

function pictureOf({ kind, chart }: Drawing, width: number, paint: Paint): Picture {
  if (kind === 'line') return lineChart(chart, width, paint)
  return kind === 'bar' ? barChart(chart, width, paint) : rooflineChart(chart, width, paint)
}

/** Draws a chart as SVG text, in the colours of the page. */
export function draw(drawing: Drawing, width: number): string {
  const { height, parts } = pictureOf(drawing, width, onPage)
  const size = { width, height, viewBox: `0 0 ${width} ${height}`, 'font-size': width < NARROW ? 11 : 12 }
  return tag('svg', { ...size, fill: onPage('text'), 'aria-hidden': 'true' }, parts.join('\n'))
}

/** Returns a legend sample: the symbol of a series, or a square in a bar's colour. */
const sample = (kind: Drawing['kind'], index: number, x: number, y: number, paint: Paint) =>
  kind === 'bar'
    ? tag('rect', { x: x - 6, y: y - 6, width: 12, height: 12, fill: colourOf(index, paint) })
    : mark(index, x, y, paint, 'none')

/** Returns the legend of a chart. */
export function legend({ kind, chart: { series } }: Drawing): string {
  const rows = series.map(
    (name, index) =>
      `<span class="legend-swatch">${tag('svg', { width: 14, height: 14, 'aria-hidden': 'true' }, sample(kind, index, 7, 7, onPage))}${escaped(name)}</span>`,
  )
  return `<div class="legend-swatches">${rows.join('')}</div>`
}

/** Returns a chart as a standalone SVG file with title, legend and light colours. */
export function svgFile(drawing: Drawing, title: string): string {
  const width = 860
  const { series } = drawing.chart
  const picture = pictureOf(drawing, width, inFile)
  const head = 44 + 20 * Math.ceil(series.length / 2)
  const height = head + picture.height
  const key = series.map((name, index) => {
    const [x, y] = [24 + (index % 2) * (width / 2), 48 + 20 * Math.floor(index / 2)]
    return sample(drawing.kind, index, x, y, inFile) + text(x + 12, y + 4, name)
  })
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    'font-family': 'system-ui, sans-serif',
    'font-size': 12,
    fill: inFile('text'),
    role: 'img',
    'aria-label': title,
  }
  const content = [
    tag('rect', { width: '100%', height: '100%', fill: inFile('page') }),
    text(16, 26, title, { 'font-size': 15, 'font-weight': 600 }),
    ...key,
    tag('g', { transform: `translate(0,${head})` }, `\n${picture.parts.join('\n')}\n`),
  ]
  return `${tag('svg', attributes, `\n${content.join('\n')}\n`)}\n`
}
