/** The sweeps as jobs: those of the thesis' chapters 2 and 4, and that of borders. */
import { type Variant, variants } from '../../lib/index.js'
import { microbenches, refusedVariants } from '../../lib/lab.js'
import { greatest } from '../extremes.js'
import { bordersJobs, bordersSizes } from './borders.js'
import { futureJobs } from './future.js'
import type { Job, KernelJob, MicrobenchJob, OccupancyJob } from './jobs.js'

/** Parameters of a kernel or a microbenchmark, by the thesis' names. */
type Parameters = Readonly<Record<string, number | string>>

export const defaultSizes = [1024, 2048, 4096, 8192, 16384]

/** A row of the variant table: one that the build has, or one that no kernel can be built for, and why. */
interface Row {
  name: string
  parameters: Parameters
  reason?: string
}

/** The rows that the sweeps are over, and the one that each sweep changes some parameters of: what the planner takes. */
interface Family {
  rows: Row[]
  base: Row
}

let family: Family | undefined

/** The MPMML kernels of max-plus on int32; undefined in a build without CUDA. */
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

/** The rows that differ from the base only in these parameters. */
function rowsOver(...names: string[]): Row[] {
  const { base, rows } = mpmml() ?? { rows: [] }
  return rows.filter(({ parameters }) =>
    Object.entries(parameters).every(
      ([name, value]) => names.includes(name) || value === base!.parameters[name],
    ),
  )
}

/** In the order of these parameters, the first one first. */
const sortedBy = (rows: Row[], ...keys: ((parameters: Parameters) => number)[]): Row[] =>
  [...rows].sort((one, other) =>
    keys.reduce((order, key) => order || key(one.parameters) - key(other.parameters), 0),
  )

const value = (name: string) => (parameters: Parameters) => Number(parameters[name])
const threads = (parameters: Parameters) => Number(parameters.BS_i) * Number(parameters.BS_j)

/** Rows over the thread block, from the fewest threads up. */
const blockRows = () => sortedBy(rowsOver('BS_i', 'BS_j'), threads, value('BS_i'))

/** Rows over the computation pattern, and over another parameter: block, block-cyclic and cyclic. */
const patternRows = (...others: string[]) =>
  sortedBy(
    rowsOver('Sub_X', 'Sub_Y', ...others),
    ({ Sub_X }) => -Number(Sub_X),
    ...others.map((name) => value(name)),
  )

/** The pattern in which a thread computes a patch of neighbouring cells. */
const isBlockPattern = ({ parameters: p }: Row) => p.Sub_X === p.X && p.Sub_Y === p.Y

function kernelJob(sweep: string, { name, parameters, reason }: Row, m: number, batch = 1): KernelJob {
  const job: KernelJob = { kind: 'kernel', sweep, name, parameters: { ...parameters, m, n: m, k: m, batch } }
  return reason === undefined ? job : { ...job, refused: reason }
}

const over = (sweep: string, sizes: number[], rows: Row[]): KernelJob[] =>
  sizes.flatMap((size) => rows.map((row) => kernelJob(sweep, row, size)))

/** The kernel sweeps by name, over square sizes; `sizes` are their own defaults. */
export const kernelSweeps = {
  cases: {
    summary: 'cases 00, 01, 10 and 11: which operands go through shared memory (Figure 4.1)',
    jobs: (sizes: number[]) =>
      over('cases', sizes, sortedBy(rowsOver('MEMSEL_A', 'MEMSEL_B'), value('MEMSEL_A'), value('MEMSEL_B'))),
  },
  patterns: {
    summary: 'computation patterns block, block-cyclic and cyclic (Figures 4.2 to 4.4)',
    jobs: (sizes: number[]) => over('patterns', sizes, patternRows()),
  },
  transpose: {
    summary: 'A as it is and stored transposed, for each pattern (Figure 4.5)',
    jobs: (sizes: number[]) => over('transpose', sizes, patternRows('Transpose')),
  },
  instances: {
    summary:
      '1 to 20 products of the first size in one launch, and one product of each other size (Figure 4.6)',
    jobs: ([size, ...larger]: number[]) => {
      const rows = patternRows().filter(isBlockPattern)
      return [
        ...Array.from({ length: 20 }, (_, index) =>
          rows.map((row) => kernelJob('instances', row, size!, index + 1)),
        ).flat(),
        ...over('instances', larger, rows),
      ]
    },
  },
  tiles: {
    summary: 'rows and columns of C that a thread computes, X × Y',
    // Sub_Y goes with Y, which it has to divide.
    jobs: (sizes: number[]) =>
      over('tiles', sizes, sortedBy(rowsOver('X', 'Y', 'Sub_Y'), value('X'), value('Y'))),
  },
  blocks: {
    summary: 'threads of a block, BS_i × BS_j',
    jobs: (sizes: number[]) => over('blocks', sizes, blockRows()),
  },
  borders: {
    summary:
      'guards in the kernel against operands that are padded before it, K = 32 and 64 (Lameski et al., 2013)',
    jobs: bordersJobs,
    sizes: bordersSizes,
  },
} as const satisfies Record<
  string,
  { summary: string; jobs: (sizes: number[]) => KernelJob[]; sizes?: readonly number[] }
>

export type KernelSweep = keyof typeof kernelSweeps

/** Iterations that take a fraction of a millisecond up to a few: long against a launch. */
const iterations = { register: 4000, shared: 100 }

/**
 * Every instance of a microbenchmark over the thread blocks (Figures A.1 to A.9), and the instance that does best over
 * the number of blocks, the number of columns in shared memory, and the two ways to write the maximum.
 */
export function microbenchJobs(name: string): MicrobenchJob[] {
  const job = (parameters: Parameters): MicrobenchJob => ({
    kind: 'microbench',
    sweep: name,
    name,
    parameters,
  })
  const instances = microbenches().find((microbench) => microbench.name === name)?.instances ?? []
  if (!isAlgorithm(name)) {
    return instances.map(({ x, y }) => job({ x, y, bsi: 16, bsj: 16, n: iterations.register }))
  }
  const [first] = instances
  if (!first) return []
  const shared = name.startsWith('shared')
  const fixed: Parameters = shared ? { n: iterations.shared, m: 32 } : { n: iterations.register }
  const { x, y } = first
  const best: Parameters = { x, y, max: 'intrinsic', bsi: 16, bsj: 16, ...fixed }
  const depths = [...new Set(instances.map(({ k }) => k))]
  const kinds: Parameters[] = shared ? depths.map((k) => ({ k })) : [{}]
  const blocks = blockRows().map(({ parameters: { BS_i, BS_j } }) => ({ bsi: BS_i!, bsj: BS_j! }))
  return kinds.flatMap((kind) => [
    ...tilesOf(instances).flatMap((tile) =>
      blocks.map((block) => job({ ...best, ...kind, ...tile, ...block })),
    ),
    job({ ...best, ...kind, max: 'ternary' }),
    ...(shared ? strideJobs({ ...best, ...kind }) : gridJobs(best)).map(job),
  ])
}

/** Whether a microbenchmark is one of the thesis' algorithms; the others are instruction mixes. */
const isAlgorithm = (name: string) => name === 'reg-reg' || name.startsWith('shared')

/** X × Y of the instances, each once, in order. */
function tilesOf(instances: readonly { x: number; y: number }[]): { x: number; y: number }[] {
  const tiles = new Map(instances.map(({ x, y }) => [`${x}x${y}`, { x, y }]))
  return [...tiles.values()].sort((one, other) => one.x - other.x || one.y - other.y)
}

/**
 * Strides beside that of 32 words, which leads to bank conflicts: for the instance that reuses an element most, and for the
 * one that does least, in the block whose warps span most rows.
 */
const strideJobs = (best: Parameters): Parameters[] =>
  [{}, { x: 4, y: 4, bsi: 8, bsj: 8 }].flatMap((instance) =>
    [31, 33].map((m) => ({ ...best, ...instance, m })),
  )

/** GS_i × GS_j from a few blocks to many times what any device holds at a time. */
const gridJobs = (best: Parameters): Parameters[] =>
  [1, 2, 4, 8, 16, 32, 64].map((gs) => ({ ...best, gsi: gs, gsj: gs }))

/** The instruction mixes, in the order of the build. */
export function mixes(): string[] {
  return microbenches()
    .map(({ name }) => name)
    .filter((name) => !isAlgorithm(name))
}

/** Table 2.1: the thesis' two kernels, the other tiles at the same block, and the kernels of the other sweeps. */
function occupancyJobs(): OccupancyJob[] {
  const job = (name: string, parameters: Parameters): OccupancyJob => ({
    kind: 'occupancy',
    sweep: 'occupancy',
    name,
    parameters,
  })
  const names = [
    ...over('', [1], rowsOver()),
    ...Object.values(kernelSweeps).flatMap(({ jobs }) => jobs([1])),
  ]
    .filter(({ refused }) => refused === undefined)
    .map(({ name }) => name)
  const algorithm = microbenches().find(({ name }) => name === 'reg-reg')
  return [
    ...tilesOf(algorithm?.instances ?? []).map((tile) =>
      job('reg-reg', { ...tile, max: 'intrinsic', bsi: 32, bsj: 32 }),
    ),
    ...[...new Set(names)].map((name) => job(name, {})),
  ]
}

/** Figure 4.5 of the thesis is about 10K × 10K. */
const TRANSPOSE_SIZE = 10240

/** Everything that the report shows. */
export function reportJobs(sizes: number[] = defaultSizes): Job[] {
  const largest = greatest(sizes)
  const withTenK =
    largest >= TRANSPOSE_SIZE ? [...new Set([...sizes, TRANSPOSE_SIZE])].sort((x, y) => x - y) : sizes
  return [
    ...occupancyJobs(),
    ...['reg-reg', 'shared-one', 'shared-both', ...mixes()].flatMap(microbenchJobs),
    ...kernelSweeps.cases.jobs(sizes),
    ...kernelSweeps.patterns.jobs(sizes),
    ...kernelSweeps.transpose.jobs(withTenK),
    ...kernelSweeps.instances.jobs(
      sizes.slice(0, 1).concat(sizes.filter((size) => size === 8192 || size === largest)),
    ),
    ...kernelSweeps.tiles.jobs(sizes),
    ...kernelSweeps.blocks.jobs(sizes),
    ...bordersJobs([...bordersSizes]),
    ...futureJobs(sizes),
  ]
}
