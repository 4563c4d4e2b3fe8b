/**
 * Jobs and figures of the microbenchmarks of the thesis' chapter 2 and appendix A, and of the instruction
 * mixes.
 */
import { microbenches } from '../../lib/lab.js'
import type { Columns } from '../experiment.js'
import { bars, by, type Figure, type Key, lines, mhz, namesOf, sortedBy, times } from '../report/charts.js'
import { type Data, depthsOf, type MeasuredMicrobench } from '../report/data.js'
import { html } from '../report/html.js'
import type { Section } from '../report/section.js'
import { jobOf, type MicrobenchJob, type OccupancyJob } from './job.js'
import { kernelSweeps, type Parameters, rowsOver, sweepJob, threads } from './kernel-sweeps.js'

/**
 * Iterations per kernel. They take a fraction of a millisecond to a few milliseconds, much longer than a
 * launch.
 */
const iterations = { register: 4000, shared: 100 }

/** The microbenchmarks that are the thesis' algorithms; the others are instruction mixes. */
const algorithms = ['reg-reg', 'shared-one', 'shared-both']

/**
 * Returns jobs for every instance of a microbenchmark and thread block (Figures A.1 to A.9). The best
 * instance also varies in the number of blocks, the columns in shared memory, and the two forms of the
 * maximum.
 */
export function microbenchJobs(name: string): MicrobenchJob[] {
  const job = (parameters: Parameters) => jobOf('microbench', name, name, parameters)
  const instances = instancesOf(name)
  if (!algorithms.includes(name)) {
    return instances.map(({ x, y }) => job({ x, y, bsi: 16, bsj: 16, n: iterations.register }))
  }
  const [first] = instances
  if (!first) return []
  const shared = name !== 'reg-reg'
  const fixed: Parameters = shared ? { n: iterations.shared, m: 32 } : { n: iterations.register }
  const { x, y } = first
  const best: Parameters = { x, y, max: 'intrinsic', bsi: 16, bsj: 16, ...fixed }
  const depths = [...new Set(instances.map(({ k }) => k))]
  const kinds: Parameters[] = shared ? depths.map((k) => ({ k })) : [{}]
  const blocks = sortedBy(rowsOver('BS_i', 'BS_j'), threads, by('BS_i')).map(({ parameters }) => ({
    bsi: parameters.BS_i!,
    bsj: parameters.BS_j!,
  }))
  return kinds.flatMap((kind) => [
    ...tilesOf(name).flatMap((tile) => blocks.map((block) => job({ ...best, ...kind, ...tile, ...block }))),
    job({ ...best, ...kind, max: 'ternary' }),
    ...(shared ? strideJobs({ ...best, ...kind }) : gridJobs(best)).map(job),
  ])
}

const instancesOf = (name: string) => microbenches().find((one) => one.name === name)?.instances ?? []

/** Returns the distinct tiles X × Y of the instances, in ascending order. */
function tilesOf(name: string): { x: number; y: number }[] {
  const tiles = new Map(instancesOf(name).map(({ x, y }) => [`${x}x${y}`, { x, y }]))
  return [...tiles.values()].sort((one, other) => one.x - other.x || one.y - other.y)
}

/**
 * Returns jobs with strides of 31 and 33 words, next to 32 words, which cause bank conflicts. The jobs run
 * the instance that reuses elements most, and the instance that reuses them least, whose warps span most
 * rows.
 */
const strideJobs = (best: Parameters): Parameters[] =>
  [{}, { x: 4, y: 4, bsi: 8, bsj: 8 }].flatMap((instance) =>
    [31, 33].map((m) => ({ ...best, ...instance, m })),
  )

/** Returns jobs with grids GS_i × GS_j from a few blocks to many times the resident blocks of any device. */
const gridJobs = (best: Parameters): Parameters[] =>
  [1, 2, 4, 8, 16, 32, 64].map((gs) => ({ ...best, gsi: gs, gsj: gs }))

/** Returns the instruction mixes in the order of the build. */
const mixes = () =>
  microbenches()
    .map(({ name }) => name)
    .filter((name) => !algorithms.includes(name))

export const allMicrobenchJobs = () => [...algorithms, ...mixes()].flatMap(microbenchJobs)

/**
 * Returns the jobs of Table 2.1: the thesis' two kernels, other tiles with an equal block, and the swept
 * kernels.
 */
export function occupancyJobs(): OccupancyJob[] {
  const job = (name: string, parameters: Parameters) => jobOf('occupancy', 'occupancy', name, parameters)
  const names = [
    ...rowsOver().map((row) => sweepJob('', row, 1)),
    ...Object.values(kernelSweeps).flatMap(({ jobs }) => jobs([1])),
  ]
    .filter(({ refused }) => refused === undefined)
    .map(({ name }) => name)
  return [
    ...tilesOf('reg-reg').map((tile) => job('reg-reg', { ...tile, max: 'intrinsic', bsi: 32, bsj: 32 })),
    ...[...new Set(names)].map((name) => job(name, {})),
  ]
}

const instructions = ({ result }: MeasuredMicrobench) =>
  Object.entries(result.instructionsPerIteration)
    .map(([opcode, count]) => `${Number(count.toPrecision(4))} ${opcode}`)
    .join(' + ') || 'not looked at'
const share = (value: number) => (value > 0 ? `${value.toFixed(1)} %` : 'not known')

const columns: Columns<MeasuredMicrobench> = [
  [
    'instance',
    ({ parameters: p }) =>
      `${times(p.x, p.y)}, block ${times(p.bsi, p.bsj)}${p.m === undefined ? '' : `, M = ${p.m}`}, ${p.max ?? 'intrinsic'}`,
  ],
  ['steps/clock/SM', ({ result }) => (result.lanesPerClock * result.lanes).toFixed(1)],
  ['of the pipes', ({ result }) => share(result.percentOfPipes)],
  ['of one operation per clock and core', ({ result }) => share(result.percentOfMachine)],
  ['machine code of an iteration', instructions],
  ['clock', ({ result }) => mhz(result.clockMHz)],
]

const tileOf = ({ parameters: p }: MeasuredMicrobench) => times(p.x, p.y)
const blockOf = ({ parameters: p }: MeasuredMicrobench) => times(p.bsi, p.bsj)
const depthOf = ({ parameters: p }: MeasuredMicrobench) => `K = ${p.k}`
const blockThreads: Key = ({ bsi, bsj }) => Number(bsi) * Number(bsj)

const references = ({ machinePeak }: Data) =>
  machinePeak ? [{ y: machinePeak, label: 'one operation per clock and core' }] : []

/** Returns a figure of the fastest instance of each microbenchmark for each K. */
function summary(data: Data): Figure[] {
  const series: Readonly<Record<string, string>> = {
    'reg-reg': 'registers',
    'shared-one': 'one operand in shared memory',
    'shared-both': 'both operands in shared memory',
  }
  const best = algorithms.flatMap((name) => {
    const depths = depthsOf(data.microbenches(name))
    return depths.length > 0 ? depths.map((k) => data.best(name, { k })) : [data.best(name)]
  })
  return bars({
    points: best.filter((point) => point !== undefined),
    label: (point) => (point.parameters.k === undefined ? point.name : `${point.name}, ${depthOf(point)}`),
    series: ({ name }) => series[name]!,
    columns,
    references: references(data),
    description: 'The best instance of each microbenchmark',
    gpu: data.machine.gpu.name,
  })
}

/** Returns the figure of a microbenchmark over thread blocks, with a line per X × Y and a panel per K. */
function overBlocks(data: Data, name: string, description: string): Figure[] {
  const points = data
    .microbenches(name, { max: 'intrinsic' })
    .filter(({ parameters: p }) => p.gsi === undefined && (p.m === undefined || p.m === 32))
  const depths = depthsOf(points)
  return lines({
    points,
    x: blockOf,
    xs: namesOf(points, blockOf, blockThreads, by('bsi')),
    xLabel: 'thread block, BS_i × BS_j',
    line: tileOf,
    lines: namesOf(points, tileOf, by('x'), by('y')),
    lineLabel: 'X×Y',
    panel: depths.length > 0 ? { of: depthOf, all: depths.map((k) => `K = ${k}`), label: 'K' } : undefined,
    columns,
    description: `${description} on ${data.machine.gpu.name}`,
  })
}

function overGrids(data: Data): Figure[] {
  const points = data.microbenches('reg-reg').filter(({ parameters }) => parameters.gsi !== undefined)
  const gridOf = ({ parameters: p }: MeasuredMicrobench) => times(p.gsi, p.gsj)
  return lines({
    points,
    x: gridOf,
    xs: points.map(gridOf),
    xLabel: 'grid, GS_i × GS_j',
    line: tileOf,
    lines: namesOf(points, tileOf, by('x'), by('y')),
    lineLabel: 'X×Y',
    columns,
    description: `Reg-reg with blocks of 16 × 16 over the number of blocks on ${data.machine.gpu.name}`,
  })
}

function mixFigure(data: Data): Figure[] {
  const measured = data.results.points.filter(({ kind }) => kind === 'microbench').map(({ name }) => name)
  const names = [...new Set(measured)].filter((name) => !algorithms.includes(name))
  return bars({
    points: names.map((name) => data.best(name)).filter((point) => point !== undefined),
    label: ({ name }) => name,
    series({ name, result }) {
      if (name.endsWith('-f32')) return 'float32'
      return result.lanes > 1 ? 'two 16-bit elements per word' : '32-bit elements'
    },
    columns,
    references: references(data),
    description: 'Instruction mixes of a step',
    gpu: data.machine.gpu.name,
  })
}

export const microbenchSections = (data: Data): Section[] => [
  {
    exhibits: ['Figure 2.1'],
    title: 'Summary of the microbenchmarks',
    caption: html`The fastest instance of each over X × Y and thread blocks, in operations as the thesis counts them: an
        addition or a maximum is one. K is the number of iterations between two reads of shared memory.`,
    claims: ['ordering', 'peak', 'one', 'both'],
    body: summary(data),
    command: 'npx mpmml microbench reg-reg --sweep',
  },
  {
    exhibits: ['Figure A.1', 'Figure A.2', 'Figure A.3'],
    title: 'Reg-reg',
    caption: html`Both operands in registers, as many blocks as fill the GPU. The thesis has one figure for each of its GPUs;
        this is ${String(data.machine.gpu.name)}.`,
    claims: ['maximum'],
    body: overBlocks(data, 'reg-reg', 'Reg-reg over thread blocks'),
    command: 'npx mpmml microbench reg-reg --sweep',
  },
  {
    title: 'Reg-reg over the size of the grid',
    caption: html`The same kernel, 8 × 8 steps and blocks of 16 × 16 threads, with ever more blocks.`,
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
    title: 'Instruction mixes',
    caption: html`Beyond the thesis: what a max-plus step can be made of on newer GPUs, with all operands in registers. The ceiling
        that the kernels below are compared with is <code>fused</code>.`,
    body: mixFigure(data),
    command: 'npx mpmml microbench fused --sweep',
  },
]
