/** Kernels of the ladder, and the jobs that measure them. */

import { InvalidArgumentError, Option } from 'commander'
import type { BackendName } from '../../lib/index.js'
import { type DataType, type Semiring, type Variant, type VariantName, variants } from '../../lib/index.js'
import type { Point } from '../../lib/lab.js'
import { typesOf } from '../dtype.js'
import { libraryOption } from '../flags.js'
import { greatest } from '../min-max.js'
import type { Dimensions } from './dimensions.js'
import { type CallJob, type Job, jobOf, type KernelJob } from './job.js'

export interface Algebra {
  semiring: Semiring
  dtype: DataType
}

/** Element types of the ladder's kernels. */
export const elementTypes = ['int32', 'float32'] as const satisfies DataType[]

/** Options that select the measured algebra. */
export const algebraOptions = (semirings: readonly Semiring[]) => [
  libraryOption('semiring').choices(semirings).default('max-plus'),
  new Option(
    '--dtype <name>',
    'the type of the elements (int32, or float32 if the semiring has no int32, by default)',
  ).choices(elementTypes),
]

const typesHere = (semiring: Semiring) =>
  elementTypes.filter((type) => (typesOf(semiring) as string[]).includes(type))

/**
 * Returns the requested algebra: on int32 if no type is given, or on float32 if the semiring has no int32.
 *
 * @throws InvalidArgumentError, wrong usage, if the semiring doesn't support the type.
 */
export function algebraOf({
  semiring,
  dtype,
}: {
  semiring: Semiring
  dtype?: DataType | undefined
}): Algebra {
  const types: DataType[] = typesHere(semiring)
  if (dtype !== undefined && !types.includes(dtype)) {
    throw new InvalidArgumentError(`${semiring} has no ${dtype}: --dtype can be ${types.join(' or ')}`)
  }
  return { semiring, dtype: dtype ?? types[0]! }
}

export type Borders = 'guards' | 'padding'

/** Step of the ladder with its kernel variant. */
export interface LadderKernel {
  /** The technique in words. */
  title: string
  variant: Pick<Variant, 'name' | 'family' | 'parameters'>
}

const techniques: Record<string, string> = {
  naive: 'one thread per cell',
  tiled: 'tiles in shared memory',
  prefetch: 'tiles, the next one prefetched into registers',
}

/**
 * Returns whether neighbouring threads read neighbouring elements, which holds for all kernels except the
 * ladder's with order=uncoalesced.
 */
export const isCoalesced = ({ parameters }: Pick<Variant, 'parameters'>) => parameters.order !== 'uncoalesced'

/** Returns the title of a ladder kernel for people. */
export function titleOf({ family, parameters: p }: Pick<Variant, 'family' | 'parameters'>): string {
  if (family === 'mpmml') return `tiles in registers (MPMML), ${p.X}×${p.Y} per thread`
  if (family === 'exponent') return `exponents on tensor cores, ${p.BM}×${p.BN} per block, 16 levels`
  if (family === 'pipelined') return `asynchronous copies, tuned (pipelined), ${p.TM}×${p.TN} per thread`
  const tile = p.technique === 'naive' ? '' : ` ${p.tile}×${p.tile}`
  return `${techniques[String(p.technique)]}${tile}, ${p.order}`
}

/**
 * Returns the ladder kernels of this build for an algebra, from the baseline up: the ladder family with the
 * given borders, tiles in registers, and the tuned kernel.
 */
export function ladderKernels({ semiring, dtype }: Algebra, borders: Borders = 'guards'): LadderKernel[] {
  const of = variants().filter(
    (row) => row.backend === 'cuda' && row.semiring === semiring && row.dtype === dtype,
  )
  const ladder = of.filter(({ family, parameters: p }) => {
    if (family !== 'ladder') return false
    // Order and borders don't apply to tiles of one element.
    if (p.tile === 1) return p.order === 'coalesced'
    return p.technique === 'naive' || p.borders === borders
  })
  const direct = (family: string) =>
    of.find((row) => row.family === family && row.parameters.accumulator === dtype)
  const others = [direct('mpmml'), direct('pipelined')].filter((row) => row !== undefined)
  return [...ladder, ...others]
    .map((variant) => ({ title: titleOf(variant), variant }))
    .sort((one, other) => height(one) - height(other))
}

/** Returns the ladder kernels that points were measured on, because results may come from another build. */
export function ladderKernelsOf(points: readonly Point[]): LadderKernel[] {
  const named = new Map(points.map((point) => [point.name, point]))
  return [...named.values()]
    .map(({ name, parameters }) => {
      const variant = { name: name as VariantName, family: name.split('_')[0]!, parameters }
      return { title: titleOf(variant), variant }
    })
    .sort((one, other) => height(one) - height(other))
}

/** Returns the position of a kernel on the ladder, as a sort key. */
function height({ variant: { family, parameters: p } }: LadderKernel): number {
  const families = ['ladder', 'mpmml', 'pipelined']
  return (
    1000 * families.indexOf(family) +
    100 * Object.keys(techniques).indexOf(String(p.technique)) +
    2 * Number(p.tile ?? 0) +
    (p.order === 'coalesced' ? 1 : 0)
  )
}

export const sizeOf = (m: number): Dimensions => ({ m, k: m, n: m })

export function kernelJob(
  sweep: string,
  { name, parameters }: LadderKernel['variant'],
  { semiring, dtype }: Algebra,
  d: Dimensions,
): KernelJob {
  const problem = { semiring, dtype, m: d.m, n: d.n, k: d.k, batch: 1 }
  return jobOf('kernel', sweep, name, { ...parameters, ...problem })
}

function callJob(backend: BackendName, name: string, algebra: Algebra, d: Dimensions): CallJob {
  return { ...jobOf('call', 'ladder', name, { ...algebra, m: d.m, n: d.n, k: d.k }), backend }
}

/** Returns the job of a call on the CPU, whose variant the library chooses. */
export const cpuJob = (algebra: Algebra, d: Dimensions) => callJob('cpu', 'cpu', algebra, d)

/** Returns the jobs that measure kernel time and end-to-end time of ladder kernels on a product. */
const both = (algebra: Algebra, list: LadderKernel[], d: Dimensions): Job[] =>
  list.flatMap(({ variant }) => [
    callJob('cuda', variant.name, algebra, d),
    kernelJob('ladder', variant, algebra, d),
  ])

/**
 * Returns the ladder kernels of the report's Tables 1 and 2, and the last kernel of the ladder for
 * comparison.
 */
function tableRungs(list: LadderKernel[]): LadderKernel[] {
  const isTiled = ({ variant: { parameters: p } }: LadderKernel) =>
    p.technique === 'tiled' && p.tile === 32 && p.order === 'coalesced'
  const isNaive = ({ variant: { parameters: p } }: LadderKernel) => p.technique === 'naive'
  return list.filter((rung, index) => isNaive(rung) || isTiled(rung) || index === list.length - 1)
}

/** Returns the jobs of all ladder kernels on one product. */
export const productJobs = (algebra: Algebra, borders: Borders, d: Dimensions): Job[] =>
  both(algebra, ladderKernels(algebra, borders), d)

/**
 * Returns the jobs of the report's tables: the baseline and shared memory over all sizes, and every ladder
 * kernel at the largest.
 */
export function tableJobs(algebra: Algebra, borders: Borders, sizes: number[]): Job[] {
  const list = ladderKernels(algebra, borders)
  const largest = greatest(sizes)
  return sizes.flatMap((size) => both(algebra, size === largest ? list : tableRungs(list), sizeOf(size)))
}
