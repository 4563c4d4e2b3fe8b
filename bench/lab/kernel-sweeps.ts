/** Jobs and figures of the kernel sweeps: the sweeps of the thesis' chapter 4 and the sweep over borders. */
import { type Variant, variants } from '../../lib/index.js'
import { type Point, refusedVariants } from '../../lib/lab.js'
import { type Columns, rowsOf, tableOf } from '../experiment.js'
import { greatest, least } from '../min-max.js'
import { labelled } from '../output.js'
import {
  bars,
  by,
  type Figure,
  type Key,
  lines,
  mhz,
  ms,
  namesOf,
  sortedBy,
  times,
} from '../report/charts.js'
import { type Data, isMeasured, type MeasuredKernel, percent, sizeName, speed } from '../report/data.js'
import { html, tableOf as htmlTable } from '../report/html.js'
import type { Section } from '../report/section.js'
import * as thesis from '../report/thesis.js'
import { borders } from './borders.js'
import { describePoints } from './describe.js'
import { jobOf, type KernelJob } from './job.js'

/** Parameters of a kernel or a microbenchmark, by the thesis' names. */
export type Parameters = Readonly<Record<string, number | string>>

export interface KernelSweep {
  /** Line for the help of the command. */
  summary: string
  jobs(sizes: number[]): KernelJob[]
  /** Default sizes, if they differ from other sweeps. */
  sizes?: readonly number[]
  /** Returns the text about the points; without it a table of them is printed. */
  describe?(points: Point[]): string
  sections(data: Data): Section[]
}

/** Row of the variant table. `reason` states why no kernel can be built for it. */
interface Row {
  name: string
  parameters: Parameters
  reason?: string
}

/** Rows of a kernel family. Sweeps vary some parameters of `base`, the row that the planner selects. */
interface Family {
  rows: Row[]
  base: Row
}

let family: Family | undefined

/** Returns the MPMML kernels of max-plus on int32; undefined in a build without CUDA. */
function mpmml(): Family | undefined {
  if (family) return family
  const isOurs = (row: Pick<Variant, 'family' | 'semiring' | 'dtype' | 'parameters'>) =>
    row.family === 'mpmml' &&
    row.semiring === 'max-plus' &&
    row.dtype === 'int32' &&
    row.parameters.accumulator === 'int32'
  const built = variants().filter(isOurs)
  const base = built.find(({ automatic }) => automatic)
  if (base) family = { base, rows: [...built, ...refusedVariants().filter(isOurs)] }
  return family
}

/** Returns the rows that differ from the base only in the named parameters. */
export function rowsOver(...names: string[]): Row[] {
  const { base, rows } = mpmml() ?? { rows: [] }
  return rows.filter(({ parameters }) =>
    Object.entries(parameters).every(
      ([name, value]) => names.includes(name) || value === base!.parameters[name],
    ),
  )
}

const parameterNames = () => Object.keys(mpmml()?.base.parameters ?? {})

const { least: leastSpeed, most: mostSpeed } = thesis.largeMatrices
const thesisSpeeds = `${leastSpeed} to ${mostSpeed} GOPS on GTX 980, Titan X and GTX 1080 Ti (abstract)`

export function sweepJob(sweep: string, { name, parameters, reason }: Row, m: number, batch = 1): KernelJob {
  const job = jobOf('kernel', sweep, name, { ...parameters, m, n: m, k: m, batch })
  return reason === undefined ? job : { ...job, refused: reason }
}

const overSizes = (sweep: string, sizes: number[], rows: Row[]): KernelJob[] =>
  sizes.flatMap((size) => rows.map((row) => sweepJob(sweep, row, size)))

const kernelColumns: Columns<MeasuredKernel> = [
  ['ms', ({ result }) => ms(result.kernelMs.median)],
  ['clock', ({ result }) => mhz(result.clockMHz)],
  ['variant', ({ name }) => name],
]

/** Sweep over parameters and square sizes. Its figure has a line per combination of parameter values. */
interface OverSizes extends Pick<KernelSweep, 'summary'>, Pick<Section, 'exhibits' | 'title' | 'claims'> {
  /** Names of the varied parameters. */
  over: readonly string[]
  order: readonly Key[]
  caption(data: Data): Section['caption']
  line(point: MeasuredKernel): string
  lineLabel: string
  description: string
  columns?: Columns<MeasuredKernel>
}

function sweepOver(sweep: string, { summary, over, order, columns = [], ...shown }: OverSizes): KernelSweep {
  return {
    summary,
    jobs: (sizes) => overSizes(sweep, sizes, sortedBy(rowsOver(...over), ...order)),
    sections(data) {
      const { exhibits = [], title, claims = [], caption, line, lineLabel, description } = shown
      const points = data.kernels(sweep)
      const body = lines({
        points,
        x: ({ parameters }) => sizeName(Number(parameters.m)),
        xs: data.sizes(sweep).map(sizeName),
        xLabel: 'size of the square matrices',
        line,
        lines: namesOf(points, line, ...order),
        lineLabel,
        columns: [...columns, ...kernelColumns],
        ceiling: data.ceiling,
        description: `${description} on ${data.machine.gpu.name}`,
      })
      return [{ exhibits, title, caption: caption(data), claims, body, command: `npx mpmml sweep ${sweep}` }]
    },
  }
}

/** Number of threads per block. */
export const threads: Key = ({ BS_i, BS_j }) => Number(BS_i) * Number(BS_j)

/** The block pattern comes first, then block-cyclic and cyclic. */
const pattern: Key = ({ Sub_X }) => -Number(Sub_X)

export const patternOf = ({ parameters: { Sub_X, X } }: Pick<MeasuredKernel, 'parameters'>) =>
  Sub_X === X ? 'block' : Sub_X === 1 ? 'cyclic' : 'block-cyclic'

const caseNames: Readonly<Record<string, string>> = {
  '00': '00: A and B through shared memory',
  '01': '01: A through shared memory',
  '10': '10: B through shared memory',
  '11': '11: neither',
}

const cases = sweepOver('cases', {
  summary: 'cases 00, 01, 10 and 11: which operands go through shared memory (Figure 4.1)',
  over: ['MEMSEL_A', 'MEMSEL_B'],
  order: [by('MEMSEL_A'), by('MEMSEL_B')],
  exhibits: ['Figure 4.1'],
  title: 'Cases: which operands go through shared memory',
  caption: () => html`Kernel time; 8 × 8 per thread, blocks of 16 × 16 threads, S = 16.`,
  claims: ['cases', 'case11', 'large'],
  line: ({ parameters: p }) => caseNames[`${p.MEMSEL_A}${p.MEMSEL_B}`]!,
  lineLabel: 'case',
  description: 'The four cases over sizes',
})

const patterns = sweepOver('patterns', {
  summary: 'computation patterns block, block-cyclic and cyclic (Figures 4.2 to 4.4)',
  over: ['Sub_X', 'Sub_Y'],
  order: [pattern],
  exhibits: ['Figure 4.2', 'Figure 4.3', 'Figure 4.4'],
  title: 'Computation patterns',
  caption: ({
    machine,
  }) => html`Case 00. How a thread’s patch of C lies: in one block, in sub-patches of 4 × 4 (block-cyclic), or one
        element at a stride (cyclic). The thesis has one figure for each of its GPUs; this is ${String(machine.gpu.name)}.`,
  claims: ['patterns', 'patterns1k-980', 'patterns1k-titanx', 'patterns1k-1080ti'],
  line: patternOf,
  lineLabel: 'pattern',
  description: 'The three patterns over sizes',
})

const transpose = sweepOver('transpose', {
  summary: 'A as it is and stored transposed, for each pattern (Figure 4.5)',
  over: ['Sub_X', 'Sub_Y', 'Transpose'],
  order: [pattern, by('Transpose')],
  exhibits: ['Figure 4.5'],
  title: 'With and without A transposed',
  caption: () =>
    html`Kernel time, without the pass that transposes A, whose time is in the table. The thesis shows 10K.`,
  claims: ['transpose'],
  line: (point) => `${patternOf(point)}${point.parameters.Transpose === 1 ? ', A transposed' : ''}`,
  lineLabel: 'pattern',
  description: 'A as it is and transposed over sizes',
  columns: [
    ['ms to transpose', ({ result }) => (result.prepareMs.median > 0 ? ms(result.prepareMs.median) : '')],
  ],
})

const instances: KernelSweep = {
  summary:
    '1 to 20 products of the first size in one launch, and one product of each other size (Figure 4.6)',
  jobs([size, ...larger]) {
    const rows = rowsOver('Sub_X', 'Sub_Y').filter((row) => patternOf(row as MeasuredKernel) === 'block')
    return [
      ...Array.from({ length: 20 }, (_, index) =>
        rows.map((row) => sweepJob('instances', row, size!, index + 1)),
      ).flat(),
      ...overSizes('instances', larger, rows),
    ]
  },
  sections: (data) => [
    {
      exhibits: ['Figure 4.6'],
      title: 'Several products in one launch',
      caption: html`1 to 20 products as the third dimension of the grid, block pattern, beside single large products (the marks
        at the right end).`,
      claims: ['instances'],
      body: instancesFigure(data),
      command: 'npx mpmml sweep instances',
    },
  ],
}

function instancesFigure(data: Data): Figure[] {
  const points = data.kernels('instances')
  const sizeOf = ({ parameters }: MeasuredKernel) => Number(parameters.m)
  const small = least(points.map(sizeOf))
  const many = points.filter((point) => sizeOf(point) === small)
  const large = sortedBy(
    points.filter((point) => sizeOf(point) > small),
    by('m'),
  )
  const xs = many.map(({ parameters }) => String(parameters.batch))
  const line = (point: MeasuredKernel) =>
    sizeOf(point) > small ? `one of ${sizeName(sizeOf(point))}` : `Ninst products of ${sizeName(small)}`
  return lines({
    points: [...many, ...large],
    // The single large product is a reference at the end of the axis.
    x: (point) => (sizeOf(point) > small ? (xs.at(-1) ?? '1') : String(point.parameters.batch)),
    xs,
    xLabel: 'number of products, Ninst',
    line,
    lines: [...new Set([...many, ...large].map(line))],
    lineLabel: 'products',
    columns: kernelColumns,
    ceiling: data.ceiling,
    description: `Several products in one launch on ${data.machine.gpu.name}`,
  })
}

const tiles = sweepOver('tiles', {
  summary: 'rows and columns of C that a thread computes, X × Y',
  // Sub_Y follows Y, which it must divide.
  over: ['X', 'Y', 'Sub_Y'],
  order: [by('X'), by('Y')],
  title: 'Thread tiles, X × Y',
  caption: () => html`Case 00 with blocks of 16 × 16 threads: the thesis’ parameters for tuning to a GPU.`,
  line: ({ parameters: p }) => times(p.X, p.Y),
  lineLabel: 'X×Y',
  description: 'Thread tiles over sizes',
})

const blocks = sweepOver('blocks', {
  summary: 'threads of a block, BS_i × BS_j',
  over: ['BS_i', 'BS_j'],
  order: [threads, by('BS_i')],
  title: 'Thread blocks, BS_i × BS_j',
  caption: (data) => html`Case 00 with 8 × 8 per thread.${missingBlocks(data)}`,
  line: ({ parameters: p }) => times(p.BS_i, p.BS_j),
  lineLabel: 'BS_i×BS_j',
  description: 'Thread blocks over sizes',
})

/** Returns the sentence about thread blocks that weren't measured, with the reasons. */
function missingBlocks(data: Data): string {
  const reasons = data
    .failures('blocks')
    .map(({ parameters: p, failure }) => ` ${times(p.BS_i, p.BS_j)} is missing: ${failure}.`)
  return [...new Set(reasons)].join('')
}

/** Parameters of a kernel, with the thesis' finding about each. */
const dimensions: [name: string, value: (point: MeasuredKernel) => string, thesis: string][] = [
  [
    'case',
    ({ parameters: p }) => `${p.MEMSEL_A}${p.MEMSEL_B}`,
    '00 is clearly the fastest, the others are very poor (Figure 4.1)',
  ],
  [
    'pattern',
    // A block pattern along X may be split along Y, which makes it block-cyclic.
    (point) =>
      point.parameters.Sub_Y !== point.parameters.Y && patternOf(point) === 'block'
        ? 'block-cyclic'
        : patternOf(point),
    'very close to each other above 1K (Figures 4.2 to 4.4)',
  ],
  [
    'A',
    ({ parameters: p }) => (p.Transpose === 1 ? 'transposed' : 'as it is'),
    'significantly slower if transposed (Figure 4.5)',
  ],
  ['X×Y', ({ parameters: p }) => times(p.X, p.Y), 'for tuning; names no best one (section 3.2)'],
  ['BS_i×BS_j', ({ parameters: p }) => times(p.BS_i, p.BS_j), 'for tuning; names no best one (section 3.2)'],
  ['S', ({ parameters: p }) => String(p.S), 'names no value (Algorithm 5)'],
]

interface Found {
  name: string
  /** Greatest speed for each value, in descending order. */
  values: { value: string; gops: number }[]
  thesis: string
}

/**
 * Returns the points of the largest size, sorted by descending speed, and the best values of each parameter.
 */
function bestOf(points: readonly MeasuredKernel[]): { sorted: MeasuredKernel[]; found: Found[] } {
  const sizeOf = ({ parameters }: MeasuredKernel) => Number(parameters.m)
  const largest = greatest(points.map(sizeOf))
  const sorted = points
    .filter((point) => sizeOf(point) === largest)
    .sort((one, other) => other.result.gops.median - one.result.gops.median)
  const found = dimensions.map(([name, pick, thesis]) => {
    const best = new Map<string, number>()
    // Points are sorted by speed, so the first point with a value is the fastest.
    for (const point of sorted) {
      const value = pick(point)
      if (!best.has(value)) best.set(value, point.result.gops.median)
    }
    return { name, values: [...best].map(([value, gops]) => ({ value, gops })), thesis }
  })
  return { sorted, found }
}

const resultColumns: Columns<Found> = [
  ['parameter', ({ name }) => name],
  [
    'fastest kernel of each value',
    ({ values }) => values.map(({ value, gops }) => `${value}: ${speed(gops)}`).join(', '),
  ],
  ['the thesis', ({ thesis }) => thesis],
]

/** Returns a variant's name without the prefix that all int32 kernels of the family share. */
const shortName = ({ name }: Pick<MeasuredKernel, 'name'>) => name.replace('mpmml_maxplus_i32_', '')

const spaceTitle = 'All kernels of the thesis'

const space: KernelSweep & { sizes: readonly number[] } = {
  summary: 'all kernels of the family: every case, pattern, transposition, X × Y, BS_i × BS_j and S',
  sizes: [8192],
  jobs: (sizes) => overSizes('space', sizes, rowsOver(...parameterNames())),
  describe(points) {
    const { sorted, found } = bestOf(points.filter(isMeasured('kernel')))
    const [best] = sorted
    if (!best) return describePoints(points)
    const others = points.filter((point) => !sorted.some((one) => one === point))
    return [
      describePoints([...sorted, ...others]),
      labelled([
        ['best', `${speed(best.result.gops.median)} at ${sizeName(Number(best.parameters.m))}: ${best.name}`],
        ['the thesis', thesisSpeeds],
      ]),
      tableOf(resultColumns, found),
    ].join('\n\n')
  },
  sections(data) {
    const { sorted, found } = bestOf(data.kernels('space'))
    const size = sorted[0] ? ` of ${sizeName(Number(sorted[0].parameters.m))}` : ''
    const figures = bars({
      points: sorted,
      label: shortName,
      series: ({ parameters: p }) => caseNames[`${p.MEMSEL_A}${p.MEMSEL_B}`]!,
      columns: kernelColumns,
      references: data.ceiling ? [{ y: data.ceiling, label: 'measured ceiling' }] : [],
      description: `${spaceTitle}, products${size}`,
      gpu: data.machine.gpu.name,
    })
    return [
      {
        title: spaceTitle,
        caption: html`Every kernel of the family${size}, the fastest first, and the fastest kernel of each value of a parameter beside what
          the thesis found. It reached ${thesisSpeeds}.`,
        claims: ['large'],
        body: figures.length > 0 ? [...figures, htmlTable(rowsOf(resultColumns, found), 'Parameters')] : [],
        command: 'npx mpmml sweep space',
      },
    ]
  },
}

/** The kernel sweeps by name, over square sizes. */
export const kernelSweeps = { cases, patterns, transpose, instances, tiles, blocks, space, borders }

export type KernelSweepName = keyof typeof kernelSweeps

/** Returns the line with the speed of the family's best kernel. */
export function headline(data: Data): string | undefined {
  const best = data.fastestKernel()
  if (!best) return undefined
  const { ceiling } = data
  const gops = best.result.gops.median
  return (
    `${speed(gops)} at ${sizeName(Number(best.parameters.m))}` +
    (ceiling ? `, ${percent(gops / ceiling)} of the measured ceiling (${speed(ceiling)})` : '')
  )
}
