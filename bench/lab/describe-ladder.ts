/**
 * Formats the ladder as tables: times on this machine, and the report's times on a Tesla K20c where
 * available.
 */
import type { BackendName } from '../../lib/index.js'
import type { CallPoint, KernelPoint, Point } from '../../lib/lab.js'
import { greatest } from '../min-max.js'
import { rate, shapeText, table } from '../output.js'
import type { Data } from '../report/data.js'
import { type Html, html, tableOf } from '../report/html.js'
import type { Section } from '../report/section.js'
import * as k20 from './k20.js'
import { type LadderKernel, ladderKernelsOf } from './ladder.js'

/** Formats seconds with about three significant digits: 0.0123, 7.99, 1274. */
export const seconds = (value: number) =>
  value >= 100 ? value.toFixed(0) : value >= 0.001 ? String(Number(value.toPrecision(3))) : value.toFixed(6)

const shown = (value: number | undefined) => (value === undefined ? '' : seconds(value))

/** The ladder's points, by variant and size. */
export class LadderPoints {
  constructor(private readonly points: readonly Point[]) {}

  private find<Kind extends 'kernel' | 'call'>(kind: Kind, name: string, m: number, k?: number, n?: number) {
    return this.points.find(
      ({ kind: found, sweep, name: called, parameters: p }) =>
        found === kind &&
        sweep === 'ladder' &&
        called === name &&
        p.m === m &&
        p.k === (k ?? m) &&
        p.n === (n ?? m),
    ) as (Kind extends 'kernel' ? KernelPoint : CallPoint) | undefined
  }

  /**
   * Returns the kernel time and the whole call's time in seconds for M × K times K × N. K and N default to M.
   */
  times(name: string, m: number, k?: number, n?: number) {
    const kernel = this.find('kernel', name, m, k, n)
    const call = this.find('call', name, m, k, n)
    return {
      kernel: kernel?.result && kernel.result.kernelMs.median / 1000,
      total: call?.result && call.result.totalMs.median / 1000,
      gops: kernel?.result?.gops.median,
      failure: kernel?.failure ?? call?.failure,
      relativeError: call?.result?.relativeError,
    }
  }

  calls(backend: BackendName): CallPoint[] {
    return this.points.filter(
      (point): point is CallPoint =>
        point.kind === 'call' && point.sweep === 'ladder' && (point.name === 'cpu') === (backend === 'cpu'),
    )
  }
}

const head = ['K20c kernel', 'K20c total', 'kernel', 'total', 'K20c kernel / kernel']

function k20Cells(
  there: k20.K20Time | undefined,
  here: { kernel?: number | undefined; total?: number | undefined },
) {
  const ratio = there && here.kernel ? `${Number((there.kernel / here.kernel).toPrecision(3))}` : ''
  return [shown(there?.kernel), shown(there?.total), shown(here.kernel), shown(here.total), ratio]
}

/** Table as rows, with the header as the first row. */
export interface LadderTable {
  title: string
  rows: string[][]
}

/** Returns the report's Table 1 or 2. */
function overSizes(
  title: string,
  points: LadderPoints,
  rung: LadderKernel | undefined,
  sizes: number[],
  there: ReadonlyMap<number, k20.K20Time>,
): LadderTable[] {
  if (!rung) return []
  const rows = sizes.map((size) => [
    String(size),
    ...k20Cells(there.get(size), points.times(rung.variant.name, size)),
  ])
  return [{ title, rows: [['size', ...head], ...rows] }]
}

/**
 * Returns the report's Table 3 at the largest size. The K20c's column appears only at the size of its Table
 * 3.
 */
function overBlocks(points: LadderPoints, ladderKernels: LadderKernel[], size: number): LadderTable[] {
  const tiled = ladderKernels
    .filter(({ variant: { parameters: p } }) => p.technique === 'tiled' && p.order === 'coalesced')
    .sort((x, y) => Number(y.variant.parameters.tile) - Number(x.variant.parameters.tile))
  if (tiled.length === 0) return []
  const rows = tiled.map(({ variant: { name, parameters } }) => {
    const there = size === k20.BLOCK_SIZE_TABLE ? k20.byBlockSize.get(Number(parameters.tile)) : undefined
    return [String(parameters.tile), ...k20Cells(there, points.times(name, size))]
  })
  return [
    {
      title: `Table 3: shared memory with different block sizes on ${size} × ${size}, seconds`,
      rows: [['block', ...head], ...rows],
    },
  ]
}

/** Tables 1 to 3 of the report. */
export function reportTables(
  points: LadderPoints,
  ladderKernels: LadderKernel[],
  sizes: number[],
): LadderTable[] {
  const find = (technique: string, order: string) =>
    ladderKernels.find(
      ({ variant: { parameters: p } }) => p.technique === technique && p.order === order && p.tile === 32,
    )
  const tables12 = [
    ...overSizes(
      'Table 1: baseline with blocks of 32 × 32 threads, seconds (its threads run along columns: uncoalesced)',
      points,
      find('naive', 'uncoalesced'),
      sizes,
      k20.baseline,
    ),
    ...overSizes(
      'Table 2: shared memory with blocks of 32 × 32 threads, seconds',
      points,
      find('tiled', 'coalesced'),
      sizes,
      k20.sharedMemory,
    ),
  ]
  return [...tables12, ...overBlocks(points, ladderKernels, greatest(sizes))]
}

/** Returns the table of all ladder kernels on one product. */
export function ladderTable(
  points: LadderPoints,
  ladderKernels: LadderKernel[],
  [m, k, n]: [number, number, number],
): LadderTable {
  const times = ladderKernels.map((rung) => ({ ...rung, ...points.times(rung.variant.name, m, k, n) }))
  const first = times.find(({ kernel }) => kernel !== undefined)?.kernel
  const error = times.some(({ relativeError }) => relativeError)
  return {
    title: `Every rung on ${shapeText([m, k])} by ${shapeText([k, n])}, seconds`,
    rows: [
      ['rung', 'kernel', 'total', 'speed', '× the first', ...(error ? ['relative error'] : [])],
      ...times.map(({ title, kernel, total, gops, failure, relativeError }) => [
        title,
        failure ?? shown(kernel),
        shown(total),
        gops === undefined ? '' : rate(gops),
        kernel && first ? `${Number((first / kernel).toPrecision(3))}` : '',
        ...(error ? [relativeError === undefined ? '' : relativeError.toExponential(1)] : []),
      ]),
    ],
  }
}

/** Returns the table of products that were measured on the CPU. */
export function cpuTable(points: LadderPoints): LadderTable | undefined {
  const calls = points.calls('cpu').filter(({ result }) => result !== undefined)
  if (calls.length === 0) return undefined
  return {
    title: `The product on the CPU (${calls[0]!.result!.device}), seconds; the report's took ${k20.cpu.seconds} at ${k20.cpu.size}`,
    rows: [
      ['M × K × N', 'total', 'speed', 'variant'],
      ...calls.map(({ parameters: { m, k, n }, result }) => [
        shapeText([Number(m), Number(k), Number(n)]),
        seconds(result!.totalMs.median / 1000),
        rate(result!.gops.median),
        result!.variant,
      ]),
    ],
  }
}

export const describeTables = (tables: (LadderTable | undefined)[]) =>
  tables
    .filter((one) => one !== undefined)
    .map(({ title, rows }) => `${title}\n${table(rows)}`)
    .join('\n\n')

export const htmlTables = (tables: LadderTable[]): Html[] =>
  tables.map(({ title, rows }) => tableOf(rows, title))

/** Returns the report's tables for each measured algebra. */
function ladderTables({ results: { points } }: Data): Html[] {
  const ladder = points.filter(({ sweep, kind }) => sweep === 'ladder' && kind === 'kernel')
  const algebras = new Set(ladder.map(({ parameters: p }) => `${p.semiring} ${p.dtype}`))
  return [...algebras].map((algebra) => {
    const own = points.filter(({ parameters: p }) => `${p.semiring} ${p.dtype}` === algebra)
    const kernels = own.filter(({ sweep, kind }) => sweep === 'ladder' && kind === 'kernel')
    const squares = kernels.filter(({ parameters: p }) => p.m === p.n && p.m === p.k)
    const sizes = [...new Set(squares.map(({ parameters }) => Number(parameters.m)))].sort((x, y) => x - y)
    const list = ladderKernelsOf(kernels)
    const ladder = new LadderPoints(own)
    // The chosen product has the most measured ladder kernels; ties are resolved by size.
    const shapes = [...new Set(kernels.map(({ parameters: { m, k, n } }) => `${m} ${k} ${n}`))]
    const count = (shape: string) =>
      kernels.filter(({ parameters: { m, k, n } }) => `${m} ${k} ${n}` === shape).length
    const [best] = shapes.sort(
      (x, y) => count(y) - count(x) || Number(y.split(' ')[0]) - Number(x.split(' ')[0]),
    )
    const shape = best!.split(' ').map(Number) as [number, number, number]
    return html`<h3>${algebra}</h3>
${htmlTables([...(sizes.length > 0 ? reportTables(ladder, list, sizes) : []), ladderTable(ladder, list, shape)])}`
  })
}

export const ladderSections = (data: Data): Section[] => [
  {
    title: 'The matrix-multiplication ladder',
    caption: html`From one thread per cell to tuned tiles, one technique per rung. The tables are those of J. Sun, “CS 4444 – Report for
        Homework 5” (University of Virginia, 2017), whose times on a Tesla K20c, for plus-times on float32, are shown beside. Totals are
        whole calls with operands in the host’s memory: allocation, transfers and kernel.`,
    claims: ['tiles30', 'cpu500'],
    body: ladderTables(data),
    command: 'npx mpmml ladder',
  },
]
