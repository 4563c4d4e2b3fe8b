/** The ladder, borders and rooflines in the report. */

import { tensorPeak } from '../../lib/lab.js'
import { experiments } from '../lab/borders.js'
import {
  averageText,
  LadderPoints,
  type LadderTable,
  reportTables,
  rungTable,
} from '../lab/describe-ladder.js'
import { rungsOf } from '../lab/ladder.js'
import { bindingText, groups, type Roofline, rooflines, roofNames } from '../lab/roofline.js'
import { figure, ms } from './charts.js'
import { type Data, speed } from './data.js'
import { type Html, html, tableOf } from './html.js'
import { lineChart, rooflineChart, standaloneSvg } from './plot.js'
import { light } from './style.js'

const tablesOf = (tables: LadderTable[]): Html =>
  html`${tables.map(({ title, rows: [head = [], ...rows] }) => tableOf(head, rows, title))}`

/** The report's tables for each algebra that was measured; undefined if none was. */
export function ladderTables({ results: { points } }: Data): Html | undefined {
  const ladder = points.filter(({ sweep, kind }) => sweep === 'ladder' && kind === 'kernel')
  const algebras = new Set(ladder.map(({ parameters: p }) => `${p.semiring} ${p.dtype}`))
  if (algebras.size === 0) return undefined
  const parts = [...algebras].map((algebra) => {
    const own = points.filter(({ parameters: p }) => `${p.semiring} ${p.dtype}` === algebra)
    const kernels = own.filter(({ sweep, kind }) => sweep === 'ladder' && kind === 'kernel')
    const squares = kernels.filter(({ parameters: p }) => p.m === p.n && p.m === p.k)
    const sizes = [...new Set(squares.map(({ parameters }) => Number(parameters.m)))].sort((x, y) => x - y)
    const list = rungsOf(kernels)
    const ladder = new LadderPoints(own)
    // The product that the most rungs were measured on, and of those the largest.
    const shapes = [...new Set(kernels.map(({ parameters: { m, k, n } }) => `${m} ${k} ${n}`))]
    const count = (shape: string) =>
      kernels.filter(({ parameters: { m, k, n } }) => `${m} ${k} ${n}` === shape).length
    const [best] = shapes.sort(
      (x, y) => count(y) - count(x) || Number(y.split(' ')[0]) - Number(x.split(' ')[0]),
    )
    const shape = best!.split(' ').map(Number) as [number, number, number]
    return html`<h3>${algebra}</h3>
${tablesOf([...(sizes.length > 0 ? reportTables(ladder, list, sizes) : []), rungTable(ladder, list, shape)])}`
  })
  return html`${parts}`
}

/** Figures 3 and 4 of the paper on borders. */
export function bordersFigures({ results, machine }: Data): Html | undefined {
  const all = experiments(results.points)
  if (all.length === 0) return undefined
  const names = ['padding', 'guards', 'padding with its copies']
  return html`${all.map((experiment) => {
    const { semiring, dtype, k, rows } = experiment
    const title = `Guards and padding, ${semiring} ${dtype}, K = ${k}, on ${machine.gpu.name}`
    const datum = (series: string, x: number, y: number) => ({ x: String(x), y, q1: y, q3: y, series })
    const data = rows.flatMap((row) => [
      datum(names[0]!, row.size, 1),
      datum(names[1]!, row.size, row.normalised),
      datum(names[2]!, row.size, row.normalised / row.normalisedWithCopies),
    ])
    const xs = rows.map(({ size }) => String(size))
    const numbers = tableOf(
      [
        'M = N',
        'guards, ms',
        'padding, ms',
        'its copies, ms',
        'normalised speed of guards',
        'with the copies',
      ],
      rows.map((row) => [
        String(row.size),
        ms(row.guardsMs),
        ms(row.paddingMs),
        ms(row.copiesMs),
        row.normalised.toFixed(3),
        row.normalisedWithCopies.toFixed(3),
      ]),
      title,
    )
    const chart = {
      data,
      xs,
      // Not every size, or the numbers would overlap.
      ticks: xs.filter((_, index) => index % Math.ceil(xs.length / 5) === 0),
      xLabel: 'rows and columns of C',
      yLabel: 'normalised speed',
      series: names,
      references: [],
    }
    return html`<h3>${semiring} ${dtype}, K = ${k}</h3>
<p>${averageText(experiment)}.</p>
${figure((width) => lineChart(chart, width), names, 'line', `${title}. The numbers are in the table below.`, numbers)}`
  })}`
}

const facets = ['global memory', 'shared memory or L1']

function chartOf({ ceilings, operations, tensor, kernels }: Roofline) {
  const rounded = (gbps: number) =>
    gbps >= 10_000 ? `${(gbps / 1000).toFixed(1)} TB/s` : `${gbps.toFixed(0)} GB/s`
  const slope = (facet: string, name: string, gbps: number | undefined, dashed = false) =>
    gbps === undefined ? [] : [{ facet, label: `${name} ${rounded(gbps)}`, gbps, dashed }]
  const shown = groups.filter((group) => kernels.some((kernel) => kernel.group === group))
  return {
    facets,
    slopes: [
      ...slope(facets[0]!, 'device memory', ceilings.deviceMemory),
      ...slope(facets[0]!, 'L2', ceilings.l2),
      ...slope(facets[0]!, 'uncoalesced', ceilings.strided, true),
      ...slope(facets[1]!, 'shared memory', ceilings.sharedMemory),
    ],
    levels: [
      ...operations.map(({ name, gops }) => ({ label: `${name} ${speed(gops)}`, gops })),
      ...(tensor === undefined ? [] : [{ label: `tensor cores ${speed(tensor)}`, gops: tensor }]),
    ],
    data: kernels.flatMap(({ group, label, intensity, gops }) => [
      { facet: facets[0]!, x: intensity.global, y: gops, series: group, label },
      { facet: facets[1]!, x: intensity.shared, y: gops, series: group, label },
    ]),
    series: shown,
  }
}

const titleOf = ({ semiring, dtype, size }: Roofline, gpu: string) =>
  `Roofline of ${gpu}: ${semiring} ${dtype}, ${size}³`

const SVG_WIDTH = 860

/** A roofline as an SVG file. */
export function rooflineSvg(roofline: Roofline, gpu: string): string {
  const chart = chartOf(roofline)
  return standaloneSvg(
    rooflineChart(chart, SVG_WIDTH),
    titleOf(roofline, gpu),
    chart.series,
    light,
    SVG_WIDTH,
  )
}

/** What `mpmml roofline` prints, and the report's tables: the kernels, and the ceilings. */
export function rooflineTables(roofline: Roofline): LadderTable[] {
  const { ceilings, operations, tensor, strided, kernels, semiring, dtype, size } = roofline
  const counted = kernels.some(({ counters }) => counters !== undefined)
  // Per step of the product, to compare with the computed operations per byte.
  const steps = 2 * size ** 3
  const measured = ({ counters }: (typeof kernels)[number]) =>
    counters
      ? [counters.deviceMemory, counters.l2, counters.sharedMemory].map((bytes) =>
          bytes > 0 ? String(Number((steps / bytes).toPrecision(3))) : '',
        )
      : ['', '', '']
  const gbps = (value: number | undefined) => (value === undefined ? '' : `${value.toFixed(0)} GB/s`)
  return [
    {
      title: `Ceilings, ${semiring} ${dtype}`,
      rows: [
        ['ceiling', 'measured'],
        ...operations.map(({ name, gops }) => [`instructions: ${name}`, speed(gops)]),
        ...(tensor === undefined
          ? []
          : [['tensor cores on bfloat16: not measured, from the highest clock', speed(tensor)]]),
        ['device memory: copy', gbps(ceilings.deviceMemory)],
        ['L2', gbps(ceilings.l2)],
        ['shared memory', gbps(ceilings.sharedMemory)],
        ...strided.map(({ stride, gbps: value }) => [
          `device memory: 32-bit words ${stride} apart, of which those that are asked for count`,
          gbps(value),
        ]),
      ],
    },
    {
      title: `Kernels on ${size} × ${size}: operations per byte, and what limits them`,
      rows: [
        [
          'kernel',
          'operations per byte of global memory',
          'of shared memory or L1',
          'measured',
          'lowest ceiling',
          'limited by',
          ...(counted ? ['counted: device memory', 'L2', 'shared memory'] : []),
        ],
        ...kernels.map((kernel) => [
          kernel.title,
          String(Number(kernel.intensity.global.toPrecision(3))),
          String(Number(kernel.intensity.shared.toPrecision(3))),
          speed(kernel.gops),
          kernel.roofs[0] ? `${speed(kernel.roofs[0].gops)} (${roofNames[kernel.roofs[0].name]})` : '',
          bindingText(kernel),
          ...(counted ? measured(kernel) : []),
        ]),
      ],
    },
  ]
}

export function rooflineFigures({ results, machine }: Data): Html | undefined {
  const all = rooflines(results.points, tensorPeak(machine))
  if (all.length === 0) return undefined
  return html`${all.map((roofline) => {
    const chart = chartOf(roofline)
    const title = titleOf(roofline, String(machine.gpu.name))
    return html`<h3>${roofline.semiring} ${roofline.dtype}, ${roofline.size} × ${roofline.size}</h3>
${figure(
  (width) => rooflineChart(chart, width),
  [...chart.series],
  'line',
  `${title}. The numbers are in the table below.`,
  tablesOf(rooflineTables(roofline)),
)}`
  })}`
}
