/**
 * Guards in the kernel against padding before it: the experiment of P. Lameski, I. Mishkovski, S. Filiposka, D. Trajanov,
 * L. Djinevski, "Comparison Of Rectangular Matrix Multiplication With And Without Border Conditions" (2013), sections IV
 * and V. Its inner dimension is wA = hB, K here; the outer ones, hA and wB, are varied. Its Figures 3 and 4 show the
 * speed of the kernel with guards, divided by that of the kernel on padded operands.
 */
import { type DataType, type Semiring, type Variant, variants } from '../../lib/index.js'
import type { KernelPoint, Point } from '../../lib/lab.js'
import type { KernelJob } from './jobs.js'
import { kernelJob } from './ladder.js'

/** The paper's values of K. */
const depths = [32, 64]

/** By how much padding is ahead on average, on its GeForce GTX 680 (section V). */
export const paperAverages: ReadonlyMap<number, number> = new Map([
  [32, 0.1551],
  [64, 0.1024],
])

/** Sizes of C, none of them a multiple of the block's 32; the paper's are only in its figures. */
export const bordersSizes: readonly number[] = Array.from({ length: 20 }, (_, index) => 500 + 400 * index)

/** The paper's elements are float32 in plus-times; max-plus is beside them. */
const algebras: { semiring: Semiring; dtype: DataType }[] = [
  { semiring: 'max-plus', dtype: 'int32' },
  { semiring: 'plus-times', dtype: 'float32' },
]

/** The kernel with blocks of 32 × 32 threads, with guards and with padding. */
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

export const bordersJobs = (sizes: number[]): KernelJob[] =>
  algebras.flatMap((algebra) => {
    const pair = pairOf(algebra)
    return depths.flatMap((k) =>
      sizes.flatMap((m) => pair.map((variant) => kernelJob('borders', variant, algebra, { m, k, n: m }))),
    )
  })

/** Both kernels on one product; milliseconds are medians. */
export interface BordersRow {
  size: number
  guardsMs: number
  paddingMs: number
  /** What pads the operands, before the kernel: not in the paper's times, which are of kernels. */
  copiesMs: number
  /** Speed of the kernel with guards over that of the kernel on padded operands. */
  normalised: number
  normalisedWithCopies: number
}

export interface BordersExperiment {
  semiring: string
  dtype: string
  k: number
  rows: BordersRow[]
  /** How much faster padding is, as a share: the mean over sizes of 1 / normalised − 1. */
  average: number
  averageWithCopies: number
}

type Measured = KernelPoint & { result: NonNullable<KernelPoint['result']> }

/** The sizes of which both kernels were measured, for each algebra and K. */
export function experiments(points: readonly Point[]): BordersExperiment[] {
  const measured = points.filter(
    (point): point is Measured =>
      point.kind === 'kernel' && point.sweep === 'borders' && point.result !== undefined,
  )
  const groups = new Map<string, Measured[]>()
  for (const point of measured) {
    const { semiring, dtype, k } = point.parameters
    const key = `${semiring} ${dtype} ${k}`
    groups.set(key, [...(groups.get(key) ?? []), point])
  }
  return [...groups.values()].map(experimentOf).filter(({ rows }) => rows.length > 0)
}

function experimentOf(points: Measured[]): BordersExperiment {
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
