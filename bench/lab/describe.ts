/** Formats points as tables. */
import {
  type calculateOccupancy,
  type KernelPoint,
  type MicrobenchPoint,
  type Occupancy,
  type Point,
  resultsCsv,
} from '../../lib/lab.js'
import { type Columns, tableOf, timed } from '../experiment.js'
import { bytes, duration, labelled, print, printJson, rate, table } from '../output.js'
import type { RunOutcome } from './runner.js'

const percent = (value: number) => (value > 0 ? `${value.toFixed(1)} %` : '')

/** Returns columns for the parameters that differ among points, except the names in `left`. */
function differing<P extends Point>(points: readonly P[], left: readonly string[] = []): Columns<P> {
  const names = [...new Set(points.flatMap(({ parameters }) => Object.keys(parameters)))]
  return names
    .filter((name) => new Set(points.map(({ parameters }) => parameters[name])).size > 1)
    .filter((name) => !left.includes(name))
    .map((name) => [name, ({ parameters }) => String(parameters[name] ?? '')])
}

const kernelColumns: Columns<KernelPoint> = [
  ['kernel', ({ result }) => (result ? timed(result.kernelMs) : '–')],
  ['speed', ({ result }) => (result ? rate(result.gops.median) : '–')],
  [
    'before it',
    ({ result }) => (result && result.prepareMs.median > 0 ? duration(result.prepareMs.median) : ''),
  ],
  ['clock', ({ result }) => (result ? `${Math.round(result.clockMHz)} MHz` : '')],
  ['variant', ({ name, failure }) => (failure === undefined ? name : `${name}: ${failure}`)],
]

const microbenchColumns: Columns<MicrobenchPoint> = [
  ['time', ({ result }) => (result ? timed(result.ms) : '–')],
  ['speed', ({ result }) => (result ? rate(result.gops.median) : '–')],
  ['lanes/clock/SM', ({ result }) => result?.lanesPerClock.toFixed(1) ?? ''],
  ['of the pipes', ({ result }) => percent(result?.percentOfPipes ?? 0)],
  ['of the machine', ({ result }) => percent(result?.percentOfMachine ?? 0)],
  ['clock', ({ result, failure }) => (result ? `${Math.round(result.clockMHz)} MHz` : (failure ?? ''))],
]

export function describePoints(points: Point[]): string {
  const kernels = points.filter((point) => point.kind === 'kernel')
  const microbenches = points.filter((point) => point.kind === 'microbench')
  // n and k equal m in every sweep, so they have no columns.
  const ofKernels = [...differing(kernels, ['n', 'k']), ...kernelColumns]
  const ofMicrobenches: Columns<MicrobenchPoint> = [
    ['name', ({ name }) => name],
    ...differing(microbenches),
    ...microbenchColumns,
  ]
  return [
    ...(kernels.length > 0 ? [tableOf(ofKernels, kernels)] : []),
    ...(microbenches.length > 0 ? [tableOf(ofMicrobenches, microbenches)] : []),
  ].join('\n\n')
}

/**
 * Prints the points of a run as JSON, CSV or text. JSON and CSV include the environment of the measurements.
 */
export function printPoints(
  { results, points }: RunOutcome,
  { json, csv }: { json?: true; csv?: true },
  describe: (points: Point[]) => string,
): Promise<void> {
  if (json) return printJson({ ...results, points })
  return print(csv ? resultsCsv({ ...results, points }).trimEnd() : describe(points))
}

/** Describes one microbenchmark with all its values. */
export function describeMicrobench({ name, parameters, result }: MicrobenchPoint): string {
  const { ms, gops, ...r } = result!
  const opcodes = Object.entries(r.instructionsPerIteration).map(
    ([opcode, count]) => `${round(count)} ${opcode}`,
  )
  return labelled([
    ['microbenchmark', name],
    [
      'parameters',
      Object.entries(parameters)
        .map(([key, value]) => `${key} = ${value}`)
        .join(', '),
    ],
    [
      'threads',
      `${r.threads}: ${r.threads / r.threadsPerBlock} blocks of ${r.threadsPerBlock}, on ${r.multiprocessors} multiprocessors`,
    ],
    [
      'operations',
      `${round(r.operationsPerIteration)} per thread and iteration (${r.stepsPerIteration} steps), ${r.iterations} iterations`,
    ],
    [
      'machine code',
      opcodes.length > 0 ? `${opcodes.join(' + ')} for them` : 'not known for this architecture',
    ],
    ['time', timed(ms)],
    ['speed', rate(gops.median)],
    ['clock', `${Math.round(r.clockMHz)} MHz`],
    [
      'lanes',
      `${r.lanesPerClock.toFixed(1)} max-plus steps${r.lanes > 1 ? ` of ${r.lanes} elements` : ''} per clock and multiprocessor`,
    ],
    [
      'of the pipes',
      r.percentOfPipes > 0
        ? `${percent(r.percentOfPipes)} of ${round(r.peakOperationsPerClock)} operations per clock and multiprocessor, ${r.peakReason}`
        : r.peakReason,
    ],
    [
      'of the machine',
      r.percentOfMachine > 0
        ? `${percent(r.percentOfMachine)} of one operation per clock for each CUDA core`
        : 'the library knows no published number of cores for this architecture',
    ],
  ])
}

const round = (value: number) => Number(value.toPrecision(4))

/** Rows of Table 2.1 of the thesis. */
const occupancyRows: [label: string, value: (of: Omit<Occupancy, 'localBytes'>) => string][] = [
  ['registers per thread', (o) => String(o.registersPerThread)],
  ['shared memory', (o) => `${bytes(o.sharedBytesPerBlock)} per block`],
  ['threads per block', (o) => String(o.threadsPerBlock)],
  ['active threads', (o) => `${o.activeThreads} per multiprocessor`],
  ['active warps', (o) => `${o.activeWarps} per multiprocessor`],
  ['active blocks', (o) => `${o.activeBlocks} per multiprocessor`],
  [
    'occupancy',
    (o) => (o.activeBlocks > 0 ? `${o.occupancyPercent.toFixed(1)} %` : 'such a block does not fit'),
  ],
]

/** Table 2.1 of the thesis for one kernel. */
export const describeOccupancy = (name: string, occupancy: Occupancy): string =>
  labelled([
    ['kernel', name],
    ['spilled', occupancy.localBytes > 0 ? `${occupancy.localBytes} bytes per thread` : 'nothing'],
    ...occupancyRows.map(([label, value]): [string, string] => [label, value(occupancy)]),
  ])

/** Table 2.1 of the thesis with a column for each number of registers. */
export const describeCalculated = (all: readonly ReturnType<typeof calculateOccupancy>[]): string =>
  table([
    ['GPU', ...all.map(({ gpu }) => gpu)],
    ...occupancyRows.map(([label, value]) => [label, ...all.map(value)]),
    ['limited by', ...all.map(({ limitedBy }) => limitedBy.join(', '))],
  ])
