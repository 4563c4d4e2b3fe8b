/**
 * Plots as SVG text, by Observable Plot on linkedom's document. The one file that imports them: `npm run build:ts` bundles
 * both into it (bench/bundle.mjs), so that users of the library don't install fifty packages for a report.
 */
import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { greatest, least } from '../extremes.js'
import type { Drawing } from './charts.js'
import { type Colours, light } from './style.js'

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
  /** The values of x in order, and those that the axis names: all if left out. */
  xs: string[]
  ticks?: string[]
  xLabel: string
  yLabel: string
  series: string[]
  facets?: string[]
  /** Levels to compare with, such as a ceiling. */
  references: { y: number; label: string }[]
}

export interface RooflineChart {
  /** The panels, top to bottom: what the bytes are of. */
  facets: string[]
  /** Ceilings that rise with intensity, 10^9 bytes per second. */
  slopes: { facet: string; label: string; gbps: number; dashed: boolean }[]
  /** Ceilings of instructions, in every panel. */
  levels: { label: string; gops: number }[]
  data: { facet: string; x: number; y: number; series: string; label: string }[]
  series: readonly string[]
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

/** The colour and the symbol of each series. */
const scalesOf = (series: readonly string[]) => ({
  color: { domain: series, range: colors.slice(0, series.length) },
  symbol: { domain: series, range: symbols.slice(0, series.length) },
})

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
  const bottom = least(data.map(({ q1 }) => q1))
  return bottom > 0.9 * top ? bottom - (top - bottom) : 0
}

function lineChart(chart: LineChart, width: number): string {
  const document = newDocument()
  const { data, xs, series, facets, references } = chart
  const top = greatest([0, ...data.map(({ q3 }) => q3), ...references.map(({ y }) => y)])
  const bottom = facets ? 0 : lowest(data, top)
  const step = { x: 'x', stroke: 'series', ...(facets ? { fy: 'facet' } : {}) }
  return finish(
    Plot.plot({
      ...frame(document, width),
      height: facets ? 150 * facets.length + 60 : width < 500 ? 260 : 340,
      marginLeft: 52,
      marginRight: facets ? 44 : 16,
      marginBottom: 42,
      x: { type: 'point', domain: xs, label: chart.xLabel, padding: 0.3, ticks: chart.ticks ?? xs },
      y: {
        domain: [bottom, top + 0.06 * (top - bottom)],
        label: bottom > 0 ? `${chart.yLabel} (not from 0)` : chart.yLabel,
        grid: true,
        ticks: facets ? 4 : 6,
        nice: true,
      },
      ...(facets ? { fy: { domain: facets, label: null, padding: 0.14 } } : {}),
      ...scalesOf(series),
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

function barChart(chart: BarChart, width: number): string {
  const document = newDocument()
  const { data, labels, series, references } = chart
  const longest = greatest(labels.map((label) => label.length))
  const most = greatest(data.map(({ value }) => value))
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
      color: scalesOf(series).color,
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

/** The part of the plane that a roofline shows. */
interface Panel {
  left: number
  right: number
  bottom: number
  top: number
}

/** The slopes of the memories as lines within a panel, each with a place for its label. */
function slopeLines(slopes: RooflineChart['slopes'], { left, right, bottom, top }: Panel) {
  // A slope ends where it meets the highest level, or at the panel's edges.
  const lines = slopes
    .map(({ gbps, ...slope }) => {
      const [x1, x2] = [Math.max(left, bottom / gbps), Math.min(right, top / gbps)]
      return { ...slope, x1, y1: x1 * gbps, x2, y2: x2 * gbps }
    })
    .filter(({ x1, x2 }) => x1 < x2)
  // Labels start on their line, each higher than the one before, so that they don't cover each other.
  return lines.map((line, index) => {
    const before = lines.slice(0, index).filter(({ facet }) => facet === line.facet).length
    const lift = Math.min(1.9 ** (before + 1), line.x2 / line.x1)
    return { ...line, x: line.x1 * lift, y: line.y1 * lift }
  })
}

/** Operations per second over operations per byte, both logarithmic. */
function rooflineChart(chart: RooflineChart, width: number): string {
  const document = newDocument()
  const { facets, slopes, levels, data, series } = chart
  const xs = data.map(({ x }) => x)
  const [left, right] = [least(xs) / 2, greatest(xs) * 2]
  const top = greatest(levels.map(({ gops }) => gops))
  const bottom = least(data.map(({ y }) => y)) / 2
  const lines = slopeLines(slopes, { left, right, bottom, top })
  const flat = facets.flatMap((facet) => levels.map((level) => ({ ...level, facet })))
  const lowest = least(levels.map(({ gops }) => gops))
  // Those that lie close together share a line of text.
  const isLow = ({ gops }: { gops: number }) => gops < 3 * lowest
  const levelNames = levels
    .filter(isLow)
    .map(({ label }) => label)
    .join(', ')
  const high = flat.filter((level) => !isLow(level))
  const halo = { fill: muted, stroke: 'var(--page)', strokeWidth: 4 }
  const narrow = width < 500
  return finish(
    Plot.plot({
      ...frame(document, width),
      height: (narrow ? 260 : 330) * facets.length + 60,
      marginLeft: 58,
      marginRight: 20,
      marginBottom: 42,
      x: {
        type: 'log',
        domain: [left, right],
        label: 'operations per byte',
        grid: true,
        ticks: narrow ? 4 : 8,
        tickFormat: 'g',
      },
      y: { type: 'log', domain: [bottom, top * 1.7], label: 'GOPS', grid: true, ticks: 5, tickFormat: 'd' },
      fy: { domain: facets, label: null, axis: null, padding: 0.1 },
      ...scalesOf(series),
      marks: [
        Plot.text(facets, {
          fy: (facet: string) => facet,
          text: (facet: string) => `operations per byte of ${facet}`,
          frameAnchor: 'top-left',
          dx: 6,
          dy: 6,
          fontWeight: 600,
        }),
        Plot.link(flat, {
          fy: 'facet',
          x1: left,
          x2: right,
          y1: 'gops',
          y2: 'gops',
          stroke: muted,
          strokeDasharray: '5,4',
        }),
        Plot.text(facets, {
          fy: (facet: string) => facet,
          x: left,
          y: lowest,
          text: () => levelNames,
          textAnchor: 'start',
          dx: 6,
          dy: 10,
          ...halo,
        }),
        Plot.text(high, {
          fy: 'facet',
          x: left,
          y: 'gops',
          text: 'label',
          textAnchor: 'start',
          dx: 6,
          dy: 10,
          ...halo,
        }),
        ...[false, true].map((dashed) =>
          Plot.link(
            lines.filter((line) => line.dashed === dashed),
            {
              fy: 'facet',
              x1: 'x1',
              x2: 'x2',
              y1: 'y1',
              y2: 'y2',
              stroke: muted,
              ...(dashed ? { strokeDasharray: '2,4' } : {}),
            },
          ),
        ),
        Plot.text(lines, {
          fy: 'facet',
          x: 'x',
          y: 'y',
          text: 'label',
          textAnchor: 'start',
          dx: 5,
          dy: 3,
          ...halo,
        }),
        Plot.dot(data, {
          fy: 'facet',
          x: 'x',
          y: 'y',
          stroke: 'series',
          symbol: 'series',
          fill: 'var(--page)',
          r: 4.5,
          strokeWidth: 2,
        }),
        Plot.text(data, { fy: 'facet', x: 'x', y: 'y', text: 'label', textAnchor: 'start', dx: 9, dy: 1 }),
      ],
    } as Plot.PlotOptions),
  )
}

/** The path of a symbol, as Plot draws it. */
function shapeOf(document: Document, symbol: string): string {
  const plot = Plot.dot([[0, 0]], { symbol: symbol as Plot.SymbolType, r: 4.5 }).plot({
    document,
    axis: null,
  } as never)
  const mark = plot.querySelector('path, circle')
  return mark?.getAttribute('d') ?? 'M4.5,0A4.5,4.5,0,1,1,-4.5,0A4.5,4.5,0,1,1,4.5,0'
}

/**
 * Makes a picture that programs without style sheets draw too (librsvg, Inkscape, LaTeX): what a browser would take from
 * CSS becomes attributes.
 */
function withoutCss(picture: Element, colours: Colours): void {
  const plain = (value: string) =>
    value
      .replace(/var\(--([\w-]+)\)/g, (whole, name: string) => colours[name] ?? whole)
      .replace(/^currentColor$/i, colours.text!)
  for (const element of [picture, ...picture.querySelectorAll('*')]) {
    for (const name of ['fill', 'stroke']) {
      const value = element.getAttribute(name)
      if (value !== null) element.setAttribute(name, plain(value))
    }
    const declarations = (element.getAttribute('style') ?? '').split(';').map((text) => text.split(':'))
    for (const [name, value] of declarations) {
      const property = name!.trim()
      if (!['font-size', 'overflow'].includes(property)) continue
      element.setAttribute(property, value!.trim().replace(/px$/, ''))
    }
    element.removeAttribute('style')
    element.removeAttribute('class')
  }
}

/** Draws a chart as SVG text. */
export function draw({ kind, chart }: Drawing, width: number): string {
  if (kind === 'line') return lineChart(chart, width)
  return kind === 'bar' ? barChart(chart, width) : rooflineChart(chart, width)
}

/** A chart as a file of its own: with its title, its key and the colours of a light page. */
export function svgFile(drawing: Drawing, title: string): string {
  const width = 860
  const { series } = drawing.chart
  const document = newDocument()
  const holder = document.createElement('div')
  holder.innerHTML = draw(drawing, width)
  const svg = holder.querySelector('svg')!
  const rows = Math.ceil(series.length / 2)
  const head = 44 + 20 * rows
  const height = Number(svg.getAttribute('height')) + head
  svg.setAttribute('y', String(head))
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  svg.removeAttribute('aria-hidden')
  svg.setAttribute('role', 'presentation')
  const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
  const key = series.map((name, index) => {
    const [x, y] = [24 + (index % 2) * (width / 2), 52 + 20 * Math.floor(index / 2)]
    const mark = shapeOf(document, symbols[index]!)
    return `<path d="${mark}" transform="translate(${x},${y - 4})" fill="none" stroke-width="2" stroke="${colors[index]}"/><text x="${x + 12}" y="${y}">${escaped(name)}</text>`
  })
  holder.innerHTML = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="currentColor" role="img" aria-label="${escaped(title)}">
<rect width="100%" height="100%" fill="var(--page)"/>
<text x="16" y="26" font-size="15" font-weight="600">${escaped(title)}</text>
${key.join('\n')}
${svg.outerHTML}
</svg>`
  const picture = holder.querySelector('svg')!
  withoutCss(picture, light)
  return `${picture.outerHTML}\n`
}

/** The key to the series of a chart: symbols of the same colours and shapes. */
export function legend({ kind, chart: { series } }: Drawing): string {
  const { color, symbol } = scalesOf(series)
  const common = {
    document: newDocument(),
    className: 'legend',
    color: { type: 'categorical', ...color },
  }
  const ofSymbols = { symbol, stroke: 'color', fill: 'none', strokeWidth: 2 }
  const element = Plot.legend((kind === 'bar' ? common : { ...common, ...ofSymbols }) as never)
  return finish(element as unknown as Element)
}
