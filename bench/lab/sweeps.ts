/** The sweeps as jobs: those of the thesis' chapters 2 and 4, and that of borders. */
import { type Variant, variants } from '../../lib/index.js'
import { microbenches, refusedVariants } from '../../lib/lab.js'
import { bordersJobs, bordersSizes } from './borders.js'
import type { Job, KernelJob, MicrobenchJob, OccupancyJob } from './jobs.js'

/** The family's parameters by the thesis' names. */
type Parameters = Record<string, number | string>

/** The thread block and the tiles of the case 00 that does best; each sweep changes some of it. */
const base: Parameters = {
  X: 8,
  Y: 8,
  BS_i: 16,
  BS_j: 16,
  S: 16,
  MEMSEL_A: 0,
  MEMSEL_B: 0,
  Sub_X: 4,
  Sub_Y: 4,
  Transpose: 0,
  accumulator: 'int32',
}

export const defaultSizes = [1024, 2048, 4096, 8192, 16384]

export const tiles = [
  [4, 4],
  [4, 6],
  [4, 8],
  [8, 4],
  [8, 8],
  [8, 16],
  [16, 8],
] as const

export const blocks = [
  [8, 8],
  [16, 8],
  [16, 16],
  [32, 8],
  [32, 32],
] as const

/** Block-cyclic sub-patches that tile X × Y. */
const subPatch = (Y: number) => ({ Sub_X: 4, Sub_Y: Y % 4 === 0 ? 4 : 2 })

/** The canonical name of such a variant: for those that can't be built there is no row to look it up in. */
function nameOf(p: Parameters): string {
  return (
    `mpmml_maxplus_i32_${p.X}x${p.Y}_${p.BS_i}x${p.BS_j}_s${p.S}_case${p.MEMSEL_A}${p.MEMSEL_B}_sub${p.Sub_X}x${p.Sub_Y}` +
    (p.Transpose ? '_at' : '')
  )
}

function kernelJob(sweep: string, changes: Parameters, m: number, batch = 1): KernelJob {
  const wanted = { ...base, ...changes }
  const name = nameOf(wanted)
  const job: KernelJob = {
    kind: 'kernel',
    sweep,
    name,
    parameters: { ...wanted, m, n: m, k: m, batch },
  }
  if (variantsByName().has(name)) return job
  const reason =
    refusedVariants().find((refused) => refused.name === name)?.reason ?? 'this build has no such variant'
  return { ...job, refused: reason }
}

let byName: Map<string, Variant> | undefined

function variantsByName(): Map<string, Variant> {
  byName ??= new Map(variants().map((variant) => [variant.name, variant]))
  return byName
}

const over = (sweep: string, sizes: number[], changes: Parameters[]): KernelJob[] =>
  sizes.flatMap((size) => changes.map((change) => kernelJob(sweep, change, size)))

/** Sub_X and Sub_Y of the three computation patterns. */
export const patterns = {
  block: { Sub_X: 8, Sub_Y: 8 },
  'block-cyclic': { Sub_X: 4, Sub_Y: 4 },
  cyclic: { Sub_X: 1, Sub_Y: 1 },
} as const

/** The kernel sweeps by name, over square sizes; `sizes` are their own defaults. */
export const kernelSweeps = {
  cases: {
    summary: 'cases 00, 01, 10 and 11: which operands go through shared memory (Figure 4.1)',
    jobs: (sizes: number[]) =>
      over(
        'cases',
        sizes,
        [0, 1].flatMap((MEMSEL_A) => [0, 1].map((MEMSEL_B) => ({ MEMSEL_A, MEMSEL_B }))),
      ),
  },
  patterns: {
    summary: 'computation patterns block, block-cyclic and cyclic (Figures 4.2 to 4.4)',
    jobs: (sizes: number[]) => over('patterns', sizes, Object.values(patterns)),
  },
  transpose: {
    summary: 'A as it is and stored transposed, for each pattern (Figure 4.5)',
    jobs: (sizes: number[]) =>
      over(
        'transpose',
        sizes,
        Object.values(patterns).flatMap((pattern) => [0, 1].map((Transpose) => ({ ...pattern, Transpose }))),
      ),
  },
  instances: {
    summary:
      '1 to 20 products of the first size in one launch, and one product of each other size (Figure 4.6)',
    jobs: ([size, ...larger]: number[]) => [
      ...Array.from({ length: 20 }, (_, index) => kernelJob('instances', patterns.block, size!, index + 1)),
      ...over('instances', larger, [patterns.block]),
    ],
  },
  tiles: {
    summary: 'rows and columns of C that a thread computes, X × Y',
    jobs: (sizes: number[]) =>
      over(
        'tiles',
        sizes,
        tiles.map(([X, Y]) => ({ X, Y, ...subPatch(Y) })),
      ),
  },
  blocks: {
    summary: 'threads of a block, BS_i × BS_j',
    jobs: (sizes: number[]) =>
      over(
        'blocks',
        sizes,
        blocks.map(([BS_i, BS_j]) => ({ BS_i, BS_j })),
      ),
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

/** The thesis' values of K, the iterations between two reads of shared memory. */
const depths = [10, 5, 1]

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
  const shared = name.startsWith('shared')
  if (name !== 'reg-reg' && !shared) {
    const instances = microbenches().find((microbench) => microbench.name === name)?.instances ?? []
    const list = instances.length > 0 ? instances : [{ x: 8, y: 8 }]
    return list.map(({ x, y }) => job({ x, y, bsi: 16, bsj: 16, n: iterations.register }))
  }
  const fixed: Parameters = shared ? { n: iterations.shared, m: 32 } : { n: iterations.register }
  const best: Parameters = { x: 8, y: 8, max: 'intrinsic', bsi: 16, bsj: 16, ...fixed }
  const kinds: Parameters[] = shared ? depths.map((k) => ({ k })) : [{}]
  return kinds.flatMap((kind) => [
    ...tiles.flatMap(([x, y]) => blocks.map(([bsi, bsj]) => job({ ...best, ...kind, x, y, bsi, bsj }))),
    job({ ...best, ...kind, max: 'ternary' }),
    ...(shared ? strideJobs({ ...best, ...kind }) : gridJobs(best)).map(job),
  ])
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
    .filter((name) => name !== 'reg-reg' && !name.startsWith('shared'))
}

/** Table 2.1: the thesis' two kernels, the other tiles at the same block, and the kernels of the other sweeps. */
export function occupancyJobs(): OccupancyJob[] {
  const job = (name: string, parameters: Parameters): OccupancyJob => ({
    kind: 'occupancy',
    sweep: 'occupancy',
    name,
    parameters,
  })
  const names = [kernelJob('', {}, 1), ...Object.values(kernelSweeps).flatMap(({ jobs }) => jobs([1]))]
    .filter(({ refused }) => refused === undefined)
    .map(({ name }) => name)
  return [
    ...tiles.map(([x, y]) => job('reg-reg', { x, y, max: 'intrinsic', bsi: 32, bsj: 32 })),
    ...[...new Set(names)].map((name) => job(name, {})),
  ]
}

/** Figure 4.5 of the thesis is about 10K × 10K. */
const TRANSPOSE_SIZE = 10240

/** Everything that the report shows. */
export function reportJobs(sizes: number[] = defaultSizes): Job[] {
  const largest = Math.max(...sizes)
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
  ]
}
