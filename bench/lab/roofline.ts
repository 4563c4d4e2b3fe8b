/** Roofline model: the peak rates of a GPU, and the speeds of the ladder kernels below them. */

import { variants } from '../../lib/index.js'
import {
  type BandwidthPoint,
  type Ceilings,
  ceilingName,
  type Intensity,
  intensityOf,
  type KernelPoint,
  type MicrobenchPoint,
  type Point,
  roofsOver,
} from '../../lib/lab.js'
import { greatest } from '../min-max.js'
import { type Job, jobOf } from './job.js'
import { type Algebra, isCoalesced, kernelJob, ladderKernels, sizeOf, titleOf } from './ladder.js'

const SWEEP = 'roofline'

/**
 * Strides between neighbouring threads in words: 8 words are a sector of 32 bytes, 32 words a cache line of
 * 128 bytes.
 */
export const strides = [1, 2, 4, 8, 16, 32]

/** Stride at which each thread reads a separate cache line: uncoalesced access. */
const WORST_STRIDE = 32

/** Instruction mixes that can compute a step; the fastest one is the peak rate. */
function operationCeilings({ semiring, dtype }: Algebra): string[] {
  const name = ceilingName(dtype, semiring)
  // The mix of the pipelined family can exceed the int32 peak rate, so both are measured.
  return name === undefined ? [] : dtype === 'int32' ? [name, 'mixed'] : [name]
}

/** Range of values that the exponent kernels can represent. */
const fewLevels = { minimum: 0, maximum: 15 }

/**
 * Returns the first kernel of the variant table that uses tensor cores for the algebra, if the build has one.
 */
const exponents = ({ semiring, dtype }: Algebra) =>
  variants()
    .filter(
      (row) =>
        row.family === 'exponent' &&
        row.semiring === semiring &&
        row.dtype === dtype &&
        row.parameters.accumulator === 'exponent',
    )
    .slice(0, 1)

export function rooflineJobs(algebra: Algebra, size: number): Job[] {
  const instructions = { x: 8, y: 8, bsi: 16, bsj: 16, n: 4000 }
  return [
    ...['copy', 'l2', 'shared'].map((name) => jobOf('bandwidth', SWEEP, name, {})),
    ...strides.map((stride) => jobOf('bandwidth', SWEEP, 'strided', { stride })),
    ...operationCeilings(algebra).map((name) => jobOf('microbench', SWEEP, name, instructions)),
    ...ladderKernels(algebra).map(({ variant }) => kernelJob(SWEEP, variant, algebra, sizeOf(size))),
    ...exponents(algebra).map((variant) => {
      const job = kernelJob(SWEEP, variant, algebra, sizeOf(size))
      return { ...job, parameters: { ...job.parameters, ...fewLevels } }
    }),
  ]
}

/** Kernel with its rooflines. */
interface RooflineKernel {
  name: string
  title: string
  group: Group
  /** Label of the kernel within its group: the side of its tile. */
  label: string
  intensity: Intensity
  /** Measured, 10^9 operations per second. */
  gops: number
  /** Upper bounds of the kernel, in ascending order. */
  roofs: ReturnType<typeof roofsOver>
  /** Bytes from hardware counters, if these were read. */
  counters?: KernelCounters | undefined
}

/** Bytes that one launch transfers. */
type KernelCounters = NonNullable<NonNullable<KernelPoint['result']>['counters']>

export const groups = [
  'one thread per cell',
  'one thread per cell, uncoalesced',
  'tiles',
  'tiles, uncoalesced',
  'tiles, prefetched',
  'MPMML',
  'pipelined',
  'exponents on tensor cores',
] as const
export type Group = (typeof groups)[number]

export interface Roofline {
  semiring: string
  dtype: string
  /** Rows of the square matrices. */
  size: number
  ceilings: Ceilings
  /** Peak rate of the tensor cores on bfloat16 at the highest clock, 10^9 operations per second, if known. */
  tensor?: number | undefined
  /** Peak rates of instructions by microbenchmark, 10^9 operations per second. */
  operations: { name: string; gops: number }[]
  /** Requested 10^9 bytes per second, by the stride in words between neighbouring threads. */
  strided: { stride: number; gbps: number }[]
  kernels: RooflineKernel[]
}

function groupOf(family: string, { technique, order }: KernelPoint['parameters']): Group {
  if (family === 'mpmml') return 'MPMML'
  if (family === 'pipelined') return 'pipelined'
  if (family === 'exponent') return 'exponents on tensor cores'
  if (technique === 'prefetch') return 'tiles, prefetched'
  const base = technique === 'naive' ? 'one thread per cell' : 'tiles'
  return order === 'uncoalesced' ? `${base}, uncoalesced` : base
}

/**
 * Returns the rooflines of points, one per algebra and size, if their peak rates were measured too, and a
 * kernel whose operations per byte are known.
 *
 * @param tensor - peak rate of the GPU's tensor cores, if known (tensorPeak).
 */
export function rooflines(points: readonly Point[], tensor?: number): Roofline[] {
  const mine = points.filter(({ sweep, result }) => sweep === SWEEP && result !== undefined)
  const kernels = mine.filter((point): point is KernelPoint => point.kind === 'kernel')
  const keys = new Set(kernels.map(({ parameters: p }) => `${p.semiring} ${p.dtype} ${p.m}`))
  return [...keys].flatMap((key) => {
    const [semiring, dtype, size] = key.split(' ') as [string, string, string]
    const own = kernels.filter(({ parameters: p }) => `${p.semiring} ${p.dtype} ${p.m}` === key)
    const roofline = rooflineOf(mine, own, semiring, dtype, Number(size), tensor)
    return roofline ? [roofline] : []
  })
}

function rooflineOf(
  points: Point[],
  kernels: KernelPoint[],
  semiring: string,
  dtype: string,
  size: number,
  tensor: number | undefined,
): Roofline | undefined {
  const bandwidths = points.filter((point): point is BandwidthPoint => point.kind === 'bandwidth')
  const gbps = (name: string) => bandwidths.find((point) => point.name === name)?.result?.gbps.median
  const strided = bandwidths
    .filter(({ name }) => name === 'strided')
    .map(({ parameters, result }) => ({ stride: Number(parameters.stride), gbps: result!.gbps.median }))
  const requested = operationCeilings({ semiring, dtype } as Algebra)
  const operations = points
    .filter(
      (point): point is MicrobenchPoint => point.kind === 'microbench' && requested.includes(point.name),
    )
    .map(({ name, result }) => ({ name, gops: result!.gops.median }))
  const deviceMemory = gbps('copy')
  if (deviceMemory === undefined || operations.length === 0) return undefined
  const ceilings: Ceilings = {
    operations: greatest(operations.map(({ gops }) => gops)),
    deviceMemory,
    l2: gbps('l2'),
    sharedMemory: gbps('shared'),
    strided: strided.find(({ stride }) => stride === WORST_STRIDE)?.gbps,
  }
  const shown = kernels.flatMap((point): RooflineKernel[] => {
    const family = point.name.split('_')[0]!
    const variant = { family, parameters: point.parameters }
    const intensity = intensityOf(variant)
    if (!intensity) return []
    const isTensor = family === 'exponent'
    if (isTensor && tensor === undefined) return []
    const { technique, tile } = point.parameters
    return [
      {
        name: point.name,
        title: titleOf(variant),
        group: groupOf(family, point.parameters),
        label: family === 'ladder' && technique !== 'naive' ? String(tile) : '',
        intensity,
        gops: point.result!.gops.median,
        roofs: roofsOver(
          isTensor ? { ...ceilings, operations: tensor! } : ceilings,
          intensity,
          isCoalesced(variant),
        ),
        counters: point.result!.counters,
      },
    ]
  })
  if (shown.length === 0) return undefined
  return {
    semiring,
    dtype,
    size,
    ceilings,
    tensor: kernels.some(({ name }) => name.startsWith('exponent_')) ? tensor : undefined,
    operations,
    strided,
    kernels: shown,
  }
}

export const roofNames: Readonly<Record<keyof Ceilings, string>> = {
  operations: 'instructions',
  deviceMemory: 'device memory',
  l2: 'L2',
  sharedMemory: 'shared memory',
  strided: 'coalescing',
}

/** Returns the name of the limit of a kernel: the lowest roofline that it doesn't exceed. */
export function bindingText({ roofs, gops }: Pick<RooflineKernel, 'roofs' | 'gops'>): string {
  const binding = roofs.find((roof) => roof.gops >= gops)
  const passed = roofs.filter((roof) => roof.gops < gops).map(({ name }) => roofNames[name])
  return (
    (binding ? roofNames[binding.name] : 'none of these') +
    // A kernel exceeds a memory roofline if caches serve part of its traffic.
    (passed.length > 0 ? `; above that of ${passed.join(' and ')}` : '')
  )
}
