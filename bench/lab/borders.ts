/**
 * Compares guards in the kernel with padding before the kernel. Repeats the experiment of P. Lameski, I.
 * Mishkovski, S. Filiposka, D. Trajanov, L. Djinevski, "Comparison Of Rectangular Matrix Multiplication With
 * And Without Border Conditions" (2013), sections IV and V. The paper's inner dimension wA = hB is K here;
 * its outer dimensions hA and wB are varied. The paper's Figures 3 and 4 show the speed of the kernel with
 * guards, divided by that of the kernel on padded operands.
 */
import { type DataType, type Semiring, type Variant, variants } from '../../lib/index.js'
import type { Point } from '../../lib/lab.js'
import { type Columns, rowsOf, tableOf } from '../experiment.js'
import { duration } from '../output.js'
import { type Figure, ms } from '../report/charts.js'
import { type Data, isMeasured, type MeasuredKernel } from '../report/data.js'
import { type Html, html, tableOf as htmlTable } from '../report/html.js'
import type { KernelSweep } from './kernel-sweeps.js'
import { kernelJob } from './ladder.js'

/** The paper's values of K. */
const depths = [32, 64]

/** Average relative gain in speed by padding on the paper's GeForce GTX 680 (section V), by K. */
const paperAverages: ReadonlyMap<number, number> = new Map([
  [32, 0.1551],
  [64, 0.1024],
])

/** Sizes of C, none of which is a multiple of the block's 32. The paper shows its sizes only in figures. */
const bordersSizes: readonly number[] = Array.from({ length: 20 }, (_, index) => 500 + 400 * index)

/** The paper's elements are float32 in plus-times; max-plus is measured for comparison. */
const algebras: { semiring: Semiring; dtype: DataType }[] = [
  { semiring: 'max-plus', dtype: 'int32' },
  { semiring: 'plus-times', dtype: 'float32' },
]

/** Returns the kernels with blocks of 32 × 32 threads: with guards and with padding. */
function pairOf({ semiring, dtype }: { semiring: Semiring; dtype: DataType }): Variant[] {
  return variants().filter(
    ({ family, parameters: p, ...row }) =>
      family === 'ladder' &&
      row.semiring === semiring &&
      row.dtype === dtype &&
      p.technique === 'tiled' &&
      p.tile === 32 &&
      p.order === 'coalesced',
  )
}

export const borders: KernelSweep & { sizes: readonly number[] } = {
  summary:
    'guards in the kernel against operands that are padded before it, K = 32 and 64 (Lameski et al., 2013)',
  sizes: bordersSizes,
  jobs: (sizes) =>
    algebras.flatMap((algebra) => {
      const pair = pairOf(algebra)
      return depths.flatMap((k) =>
        sizes.flatMap((m) => pair.map((variant) => kernelJob('borders', variant, algebra, { m, k, n: m }))),
      )
    }),
  describe: describeBorders,
  sections: (data) => [
    {
      title: 'Borders: guards or padding',
      caption: html`The experiment of P. Lameski and others, “Comparison Of Rectangular Matrix Multiplication With And Without Border
        Conditions” (2013): tiles of 32 × 32 in shared memory, A with K columns, C of sizes that no tile divides. Speeds are
        normalised to that of the kernel on padded operands. As in the paper, only kernels are timed; the copies that pad the operands are shown separately.`,
      body: experiments(data.results.points).flatMap((experiment) => bordersFigure(data, experiment)),
      command: 'npx mpmml sweep borders',
    },
  ],
}

/** Times of both kernels on one product: medians in ms. */
interface BordersRow {
  size: number
  guardsMs: number
  paddingMs: number
  /**
   * Time to pad the operands before the kernel. The paper's times are kernel times and exclude it.
   */
  copiesMs: number
  /** Speed of the kernel with guards over that of the kernel on padded operands. */
  normalised: number
  normalisedWithCopies: number
}

interface BordersExperiment {
  semiring: string
  dtype: string
  k: number
  rows: BordersRow[]
  /** Relative gain in speed by padding: the mean over sizes of 1 / normalised − 1. */
  average: number
  averageWithCopies: number
}

/** Returns an experiment per algebra and K, with the sizes for which both kernels were measured. */
export function experiments(points: readonly Point[]): BordersExperiment[] {
  const measured = points.filter(isMeasured('kernel')).filter(({ sweep }) => sweep === 'borders')
  const groups = new Map<string, MeasuredKernel[]>()
  for (const point of measured) {
    const { semiring, dtype, k } = point.parameters
    const key = `${semiring} ${dtype} ${k}`
    groups.set(key, [...(groups.get(key) ?? []), point])
  }
  return [...groups.values()].map(experimentOf).filter(({ rows }) => rows.length > 0)
}

function experimentOf(points: MeasuredKernel[]): BordersExperiment {
  const { semiring, dtype, k } = points[0]!.parameters
  const find = (borders: string, m: number) =>
    points.find(({ parameters: p }) => p.borders === borders && p.m === m)?.result
  const sizes = [...new Set(points.map(({ parameters }) => parameters.m as number))].sort((x, y) => x - y)
  const rows = sizes.flatMap((size): BordersRow[] => {
    const [guards, padding] = [find('guards', size), find('padding', size)]
    if (!guards || !padding) return []
    const [guardsMs, paddingMs] = [guards.kernelMs.median, padding.kernelMs.median]
    const copiesMs = padding.prepareMs.median
    return [
      {
        size,
        guardsMs,
        paddingMs,
        copiesMs,
        normalised: paddingMs / guardsMs,
        normalisedWithCopies: (paddingMs + copiesMs) / guardsMs,
      },
    ]
  })
  const mean = (share: (row: BordersRow) => number) =>
    rows.reduce((sum, row) => sum + share(row), 0) / rows.length
  return {
    semiring: String(semiring),
    dtype: String(dtype),
    k: Number(k),
    rows,
    average: mean((row) => 1 / row.normalised - 1),
    averageWithCopies: mean((row) => 1 / row.normalisedWithCopies - 1),
  }
}

const percent = (share: number) => `${(100 * share).toFixed(2)} %`

/** Returns the sentence "Padding is ahead by …". */
export function averageText({ k, average, averageWithCopies }: BordersExperiment): string {
  const there = paperAverages.get(k)
  const ahead = (share: number) =>
    share >= 0 ? `ahead by ${percent(share)}` : `behind by ${percent(-share)}`
  return (
    `On average padding is ${ahead(average)}${there === undefined ? '' : ` (the paper, GTX 680: ahead by ${percent(there)})`}; ` +
    `with the copies that pad the operands, ${ahead(averageWithCopies)}`
  )
}

const columns: Columns<BordersRow> = [
  ['M', ({ size }) => String(size)],
  ['guards', ({ guardsMs }) => duration(guardsMs)],
  ['padding', ({ paddingMs }) => duration(paddingMs)],
  ['copies', ({ copiesMs }) => duration(copiesMs)],
  ['normalised', ({ normalised }) => normalised.toFixed(3)],
  ['with the copies', ({ normalisedWithCopies }) => normalisedWithCopies.toFixed(3)],
]

/** Describes Figures 3 and 4 of Lameski et al. and the averages, for each algebra and K. */
function describeBorders(points: readonly Point[]): string {
  return experiments(points)
    .map((experiment) => {
      const { semiring, dtype, k, rows } = experiment
      return [
        `${semiring} ${dtype}, K = ${k}: speed of guards relative to padding; C is M × M`,
        tableOf(columns, rows),
        averageText(experiment),
      ].join('\n')
    })
    .join('\n\n')
}

const figureColumns: Columns<BordersRow> = [
  ['M = N', ({ size }) => String(size)],
  ['guards, ms', ({ guardsMs }) => ms(guardsMs)],
  ['padding, ms', ({ paddingMs }) => ms(paddingMs)],
  ['its copies, ms', ({ copiesMs }) => ms(copiesMs)],
  ['normalised speed of guards', ({ normalised }) => normalised.toFixed(3)],
  ['with the copies', ({ normalisedWithCopies }) => normalisedWithCopies.toFixed(3)],
]

/** Returns the experiment as a figure of the report. */
function bordersFigure({ machine }: Data, experiment: BordersExperiment): (Html | Figure)[] {
  const { semiring, dtype, k, rows } = experiment
  const title = `Guards and padding, ${semiring} ${dtype}, K = ${k}, on ${machine.gpu.name}`
  const lines: [series: string, y: (row: BordersRow) => number][] = [
    ['padding', () => 1],
    ['guards', ({ normalised }) => normalised],
    ['padding with its copies', (row) => row.normalised / row.normalisedWithCopies],
  ]
  const xs = rows.map(({ size }) => String(size))
  const chart = {
    data: rows.flatMap((row) =>
      lines.map(([series, of]) => {
        const y = of(row)
        return { x: String(row.size), y, q1: y, q3: y, series }
      }),
    ),
    xs,
    xLabel: 'rows and columns of C',
    yLabel: 'normalised speed',
    series: lines.map(([series]) => series),
    references: [],
  }
  return [
    html`<h3>${semiring} ${dtype}, K = ${k}</h3>
<p>${averageText(experiment)}.</p>
`,
    {
      drawing: { kind: 'line', chart },
      description: `${title}. The numbers are in the table below.`,
      numbers: htmlTable(rowsOf(figureColumns, rows), title),
    },
  ]
}
