/** The report's sections: each table and figure of the thesis, for the GPU of the results. */
import type { Spread } from '../../lib/lab.js'
import { bytes } from '../output.js'
import {
  type Data,
  inUnit,
  type MeasuredKernel,
  type MeasuredMicrobench,
  percent,
  sizeName,
  speed,
  unitFor,
} from './data.js'
import { type Html, html, raw, tableOf } from './html.js'
import { barChart, type Datum, legend, lineChart } from './plot.js'
import * as thesis from './thesis.js'

export interface Section {
  /** The exhibits of the thesis that it stands for; none where it goes beyond it. */
  exhibits: thesis.Exhibit[]
  title: string
  /** What is shown, in a sentence or two. */
  caption: Html
  /** Statements of the thesis that it bears on. */
  claims: string[]
  /** The plot, the table; undefined where nothing was measured. */
  body: Html | undefined
  /** How to measure what is missing. */
  command: string
}

/** A chart at the two widths that the page chooses from, its key, and its numbers. */
function figure(
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

function lines(f: LineFigure): Html | undefined {
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

interface BarRow {
  label: string
  series: string
  gops: Spread
  more: string[]
}

function bars(
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

const mhz = (value: number) => `${Math.round(value)} MHz`
const ms = (value: number) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

const kernelColumns = ['ms', 'clock', 'variant']
const kernelCells = ({ name, result }: MeasuredKernel) => [
  ms(result.kernelMs.median),
  mhz(result.clockMHz),
  name,
]

function bySize(
  data: Data,
  sweep: string,
  seriesOf: (point: MeasuredKernel) => string,
  series: string[],
  seriesLabel: string,
  description: string,
  extra: { columns: string[]; cells: (point: MeasuredKernel) => string[] } = { columns: [], cells: () => [] },
): Html | undefined {
  const points = data.kernels(sweep)
  return lines({
    rows: points.map((point) => ({
      x: sizeName(Number(point.parameters.m)),
      series: seriesOf(point),
      gops: point.result.gops,
      more: [...extra.cells(point), ...kernelCells(point)],
    })),
    xs: data.sizes(sweep).map(sizeName),
    xLabel: 'size of the square matrices',
    series,
    seriesLabel,
    more: [...extra.columns, ...kernelColumns],
    ceiling: data.ceiling,
    description: `${description} on ${data.machine.gpu.name}`,
  })
}

const times = (x: unknown, y: unknown) => `${x}×${y}`
const tileNames = ['4×4', '4×6', '4×8', '8×4', '8×8', '8×16', '16×8']
const blockNames = ['8×8', '16×8', '16×16', '32×8', '32×32']

/** In the thesis' order; keys such as '10' of an object would come first. */
const cases = [
  ['00', '00: A and B through shared memory'],
  ['01', '01: A through shared memory'],
  ['10', '10: B through shared memory'],
  ['11', '11: neither'],
] as const
const caseOf = ({ parameters: p }: MeasuredKernel) =>
  cases.find(([name]) => name === `${p.MEMSEL_A}${p.MEMSEL_B}`)![1]

const patternOf = ({ parameters: { Sub_X, X } }: MeasuredKernel) =>
  Sub_X === X ? 'block' : Sub_X === 1 ? 'cyclic' : 'block-cyclic'
const patternNames = ['block', 'block-cyclic', 'cyclic']

// ---- Tables ----

function globalMemory({ machine }: Data): Html {
  const here = Number(machine.gpu.globalMemoryBytes)
  return tableOf(
    ['GPU', 'Global memory'],
    [
      ...thesis.globalMemory,
      [
        html`<strong>${machine.gpu.name}</strong>`,
        html`<strong>${Math.round(here / 2 ** 20)} MBytes</strong>`,
      ],
    ],
    'Table 1.1: global memory',
  )
}

function specifications({ machine: { gpu, peak } }: Data): Html {
  const here = (name: string, key: string | null) => {
    if (name === 'CUDA cores/SM') return peak ? String(peak.cores) : 'not known'
    if (key === null) return 'not told by the CUDA runtime'
    const value = gpu[key]
    return value === undefined ? 'not told' : key.endsWith('MHz') ? `${value} MHz` : String(value)
  }
  const others: [string, string][] = Object.entries(gpu)
    .filter(([key]) => !thesis.specifications.some((row) => row[2] === key) && key !== 'name')
    .map(([key, value]) => {
      const [, name = key, unit] = /^(.*?)(Bytes|MHz|Bits)?$/.exec(key) ?? []
      const words = name.replace(
        /[A-Z]+/g,
        (capitals) => ` ${capitals.length > 1 ? capitals : capitals.toLowerCase()}`,
      )
      return [
        words,
        unit === 'Bytes'
          ? bytes(Number(value))
          : `${value}${unit ? ` ${unit === 'Bits' ? 'bits' : unit}` : ''}`,
      ]
    })
  return tableOf(
    ['', 'GTX 980', 'Titan X', 'GTX 1080 Ti', html`<strong>${gpu.name}</strong>`],
    [
      ...thesis.specifications.map(([name, values, key]) => [name, ...values, here(name, key)]),
      ...others.map(([name, value]) => [name, '', '', '', value]),
    ],
    'Table 1.2: technical specifications',
  )
}

function occupancy(data: Data): Html | undefined {
  const points = data.occupancies()
  const measured = points.filter(({ result }) => result !== undefined)
  if (measured.length === 0) return undefined
  const cells = (result: NonNullable<(typeof points)[number]['result']>) => [
    result.registersPerThread,
    result.localBytes,
    bytes(result.sharedBytesPerBlock),
    result.threadsPerBlock,
    result.activeThreads,
    result.activeWarps,
    result.activeBlocks,
    `${result.occupancyPercent.toFixed(0)} %`,
  ]
  const label = ({ name, parameters: p }: (typeof points)[number]) =>
    p.x === undefined ? name : `${name} ${times(p.x, p.y)}`
  return tableOf(
    [
      'Kernel',
      'Registers/thread',
      'Spilled bytes/thread',
      'Shared memory/block',
      'Threads/block',
      'Active threads/SM',
      'Active warps/SM',
      'Active blocks/SM',
      'Occupancy',
    ],
    [
      ...thesis.occupancy.map((row) => [
        `thesis, GTX 980: reg-reg ${times(row.x, row.y)}`,
        row.registers,
        '',
        '',
        1024,
        row.threads,
        row.warps,
        row.blocks,
        `${row.percent} %`,
      ]),
      ...points.map((point) => [
        label(point),
        ...(point.result ? cells(point.result) : [point.failure ?? '']),
      ]),
    ],
    `Table 2.1: occupancy on ${data.machine.gpu.name}`,
  )
}

// ---- Microbenchmarks ----

const instructions = ({ result }: MeasuredMicrobench) =>
  Object.entries(result.instructionsPerIteration)
    .map(([opcode, count]) => `${Number(count.toPrecision(4))} ${opcode}`)
    .join(' + ') || 'not looked at'
const share = (value: number) => (value > 0 ? `${value.toFixed(1)} %` : 'not known')
const microbenchColumns = [
  'instance',
  'steps/clock/SM',
  'of the pipes',
  'of one operation a clock and core',
  'machine code of an iteration',
  'clock',
]
const microbenchCells = (point: MeasuredMicrobench) => {
  const { parameters: p, result } = point
  return [
    `${times(p.x, p.y)}, block ${times(p.bsi, p.bsj)}${p.m === undefined ? '' : `, M = ${p.m}`}, ${p.max ?? 'intrinsic'}`,
    (result.lanesPerClock * result.lanes).toFixed(1),
    share(result.percentOfPipes),
    share(result.percentOfMachine),
    instructions(point),
    mhz(result.clockMHz),
  ]
}

function summary(data: Data): Html | undefined {
  const row = (label: string, series: string, point: MeasuredMicrobench | undefined): BarRow[] =>
    point ? [{ label, series, gops: point.result.gops, more: microbenchCells(point) }] : []
  const shared = (name: string, series: string) =>
    [10, 5, 1].flatMap((k) => row(`${name}, K = ${k}`, series, data.best(name, { k })))
  return bars(
    data,
    [
      ...row('reg-reg', 'registers', data.best('reg-reg')),
      ...shared('shared-one', 'one operand in shared memory'),
      ...shared('shared-both', 'both operands in shared memory'),
    ],
    microbenchColumns,
    'The best instance of each microbenchmark',
    data.machinePeak ? [{ y: data.machinePeak, label: 'one operation a clock and core' }] : [],
  )
}

/** A microbenchmark over thread blocks, a line for each X × Y and a panel for each K. */
function overBlocks(data: Data, name: string, description: string): Html | undefined {
  const points = data
    .microbenches(name, { max: 'intrinsic' })
    .filter(({ parameters: p }) => p.gsi === undefined && (p.m === undefined || p.m === 32))
  const shared = points.some(({ parameters }) => parameters.k !== undefined)
  return lines({
    rows: points.map((point) => ({
      x: times(point.parameters.bsi, point.parameters.bsj),
      series: times(point.parameters.x, point.parameters.y),
      gops: point.result.gops,
      more: microbenchCells(point),
      ...(shared ? { facet: `K = ${point.parameters.k}` } : {}),
    })),
    xs: blockNames,
    xLabel: 'thread block, BS_i × BS_j',
    series: tileNames,
    seriesLabel: 'X×Y',
    more: microbenchColumns,
    description: `${description} on ${data.machine.gpu.name}`,
    ...(shared ? { facets: [10, 5, 1].map((k) => `K = ${k}`) } : {}),
  })
}

function overGrids(data: Data): Html | undefined {
  const points = data.microbenches('reg-reg').filter(({ parameters }) => parameters.gsi !== undefined)
  return lines({
    rows: points.map((point) => ({
      x: times(point.parameters.gsi, point.parameters.gsj),
      series: times(point.parameters.x, point.parameters.y),
      gops: point.result.gops,
      more: microbenchCells(point),
    })),
    xs: points.map(({ parameters }) => times(parameters.gsi, parameters.gsj)),
    xLabel: 'grid, GS_i × GS_j',
    series: tileNames,
    seriesLabel: 'X×Y',
    more: microbenchColumns,
    description: `Reg-reg with blocks of 16 × 16 over the number of blocks on ${data.machine.gpu.name}`,
  })
}

function mixes(data: Data): Html | undefined {
  const names = [
    ...new Set(data.results.points.filter(({ kind }) => kind === 'microbench').map(({ name }) => name)),
  ].filter((name) => name !== 'reg-reg' && !name.startsWith('shared'))
  return bars(
    data,
    names.flatMap((name) => {
      const best = data.best(name)
      if (!best) return []
      const series = best.result.lanes > 1 ? 'two 16-bit elements a word' : '32-bit elements'
      return [{ label: name, series, gops: best.result.gops, more: microbenchCells(best) }]
    }),
    microbenchColumns,
    'Instruction mixes of a max-plus step',
    data.machinePeak ? [{ y: data.machinePeak, label: 'one operation a clock and core' }] : [],
  )
}

// ---- Kernels ----

function instancesFigure(data: Data): Html | undefined {
  const points = data.kernels('instances')
  const small = Math.min(...points.map(({ parameters }) => Number(parameters.m)))
  const many = points.filter(({ parameters }) => Number(parameters.m) === small)
  const large = points
    .filter(({ parameters }) => Number(parameters.m) > small)
    .sort((x, y) => Number(x.parameters.m) - Number(y.parameters.m))
  const row = (series: string, x: string) => (point: MeasuredKernel) => ({
    x,
    series,
    gops: point.result.gops,
    more: kernelCells(point),
  })
  const manyName = `Ninst products of ${sizeName(small)}`
  const xs = many.map(({ parameters }) => String(parameters.batch))
  return lines({
    rows: [
      ...many.map((point) => row(manyName, String(point.parameters.batch))(point)),
      // One large product is a level to compare with, at the end of the axis.
      ...large.map((point) => row(`one of ${sizeName(Number(point.parameters.m))}`, xs.at(-1) ?? '1')(point)),
    ],
    xs,
    xLabel: 'number of products, Ninst',
    series: [manyName, ...large.map(({ parameters }) => `one of ${sizeName(Number(parameters.m))}`)],
    seriesLabel: 'products',
    more: kernelColumns,
    ceiling: data.ceiling,
    description: `Several products in one launch on ${data.machine.gpu.name}`,
  })
}

/** Every section in the order of the page. */
export function sections(data: Data): Section[] {
  const gpu = String(data.machine.gpu.name)
  return [
    {
      exhibits: ['Table 1.1'],
      title: 'Global memory',
      caption: html`The thesis’ GPUs, and this one.`,
      claims: [],
      body: globalMemory(data),
      command: 'npx mpmml report',
    },
    {
      exhibits: ['Table 1.2'],
      title: 'Technical specifications',
      caption: html`The thesis’ GPUs, and what the CUDA runtime says of this one.`,
      claims: [],
      body: specifications(data),
      command: 'npx mpmml report',
    },
    {
      exhibits: ['Table 2.1'],
      title: 'Occupancy',
      caption: html`How many threads a multiprocessor holds, from the compiled code: the thesis’ two kernels, reg-reg with
        blocks of 32 × 32 threads for every X × Y, and the MPMML kernels of the figures below.`,
      claims: ['occupancy'],
      body: occupancy(data),
      command: 'npx mpmml occupancy reg-reg --x 4 --y 4 --bsi 32 --bsj 32',
    },
    {
      exhibits: ['Figure 2.1'],
      title: 'Summary of the microbenchmarks',
      caption: html`The fastest instance of each over X × Y and thread blocks, in operations as the thesis counts them: an
        addition or a maximum is one. K is the number of iterations between two reads of shared memory.`,
      claims: ['ordering', 'one', 'both'],
      body: summary(data),
      command: 'npx mpmml microbench reg-reg --sweep',
    },
    {
      exhibits: ['Figure A.1', 'Figure A.2', 'Figure A.3'],
      title: 'Reg-reg',
      caption: html`Both operands in registers, as many blocks as fill the GPU. The thesis has one figure for each of its GPUs;
        this is ${gpu}.`,
      claims: ['maximum'],
      body: overBlocks(data, 'reg-reg', 'Reg-reg over thread blocks'),
      command: 'npx mpmml microbench reg-reg --sweep',
    },
    {
      exhibits: [],
      title: 'Reg-reg over the size of the grid',
      caption: html`The same kernel, 8 × 8 steps and blocks of 16 × 16 threads, with ever more blocks.`,
      claims: [],
      body: overGrids(data),
      command: 'npx mpmml microbench reg-reg --sweep',
    },
    {
      exhibits: ['Figure A.4', 'Figure A.6', 'Figure A.8'],
      title: 'One operand in shared memory',
      caption: html`A is read from shared memory (M = 32 columns), B is in registers.`,
      claims: ['one', 'banks'],
      body: overBlocks(data, 'shared-one', 'One operand in shared memory over thread blocks'),
      command: 'npx mpmml microbench shared-one --sweep',
    },
    {
      exhibits: ['Figure A.5', 'Figure A.7', 'Figure A.9'],
      title: 'Both operands in shared memory',
      caption: html`A and B are read from shared memory (M = 32).`,
      claims: ['both'],
      body: overBlocks(data, 'shared-both', 'Both operands in shared memory over thread blocks'),
      command: 'npx mpmml microbench shared-both --sweep',
    },
    {
      exhibits: [],
      title: 'Instruction mixes',
      caption: html`Beyond the thesis: what a max-plus step can be made of on newer GPUs, in the frame of reg-reg. The ceiling
        that the kernels below are compared with is <code>fused</code>.`,
      claims: [],
      body: mixes(data),
      command: 'npx mpmml microbench fused --sweep',
    },
    {
      exhibits: ['Figure 4.1'],
      title: 'Cases: which operands go through shared memory',
      caption: html`Kernel time; 8 × 8 per thread, blocks of 16 × 16 threads, S = 16.`,
      claims: ['cases', 'case11', 'large'],
      body: bySize(
        data,
        'cases',
        caseOf,
        cases.map(([, summary]) => summary),
        'case',
        'The four cases over sizes',
      ),
      command: 'npx mpmml sweep cases',
    },
    {
      exhibits: ['Figure 4.2', 'Figure 4.3', 'Figure 4.4'],
      title: 'Computation patterns',
      caption: html`Case 00. How a thread’s patch of C lies: in one block, in sub-patches of 4 × 4 (block-cyclic), or one
        element at a stride (cyclic). The thesis has one figure for each of its GPUs; this is ${gpu}.`,
      claims: ['patterns', 'patterns1k'],
      body: bySize(data, 'patterns', patternOf, patternNames, 'pattern', 'The three patterns over sizes'),
      command: 'npx mpmml sweep patterns',
    },
    {
      exhibits: ['Figure 4.5'],
      title: 'With and without A transposed',
      caption: html`Kernel time, without the pass that transposes A; the table has that too. The thesis shows 10K.`,
      claims: ['transpose'],
      body: bySize(
        data,
        'transpose',
        (point) => `${patternOf(point)}${point.parameters.Transpose === 1 ? ', A transposed' : ''}`,
        patternNames.flatMap((name) => [name, `${name}, A transposed`]),
        'pattern',
        'A as it is and transposed over sizes',
        {
          columns: ['ms to transpose'],
          cells: ({ result }) => [result.prepareMs.median > 0 ? ms(result.prepareMs.median) : ''],
        },
      ),
      command: 'npx mpmml sweep transpose',
    },
    {
      exhibits: ['Figure 4.6'],
      title: 'Several products in one launch',
      caption: html`1 to 20 products as the third dimension of the grid, block pattern, beside single large products (the marks
        at the right end).`,
      claims: ['instances'],
      body: instancesFigure(data),
      command: 'npx mpmml sweep instances',
    },
    {
      exhibits: [],
      title: 'Thread tiles, X × Y',
      caption: html`Case 00 with blocks of 16 × 16 threads: the thesis’ parameters for tuning to a GPU.`,
      claims: [],
      body: bySize(
        data,
        'tiles',
        ({ parameters: p }) => times(p.X, p.Y),
        tileNames,
        'X×Y',
        'Thread tiles over sizes',
      ),
      command: 'npx mpmml sweep tiles',
    },
    {
      exhibits: [],
      title: 'Thread blocks, BS_i × BS_j',
      caption: html`Case 00 with 8 × 8 per thread.${failureNote(data, 'blocks')}`,
      claims: [],
      body: bySize(
        data,
        'blocks',
        ({ parameters: p }) => times(p.BS_i, p.BS_j),
        blockNames,
        'BS_i×BS_j',
        'Thread blocks over sizes',
      ),
      command: 'npx mpmml sweep blocks',
    },
  ]
}

/** Which thread blocks aren't there, and why. */
function failureNote(data: Data, sweep: string): string {
  const reasons = data
    .failures(sweep)
    .map(({ parameters: p, failure }) => ` ${times(p.BS_i, p.BS_j)} is missing: ${failure}.`)
  return [...new Set(reasons)].join('')
}

/** What the best kernel of the family reaches, in a line. */
export function headline(data: Data): string | undefined {
  const best = ['cases', 'patterns', 'tiles', 'blocks']
    .flatMap((sweep) => data.kernels(sweep))
    .sort((x, y) => y.result.gops.median - x.result.gops.median)[0]
  if (!best) return undefined
  const { ceiling } = data
  const gops = best.result.gops.median
  return (
    `${speed(gops)} at ${sizeName(Number(best.parameters.m))}` +
    (ceiling ? `, ${percent(gops / ceiling)} of the measured ceiling (${speed(ceiling)})` : '')
  )
}
