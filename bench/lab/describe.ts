/** Points as tables. */
import type { KernelPoint, MicrobenchPoint, Occupancy, Point, Spread } from '../../lib/lab.js'
import { bytes, duration, labelled, rate, table } from '../output.js'

/** 12.3 ms ± 0.4 % */
export function timed({ median, q1, q3 }: Spread): string {
  const percent = median > 0 ? (50 * (q3 - q1)) / median : 0
  return `${duration(median)} ± ${percent.toFixed(1)} %`
}

const percent = (value: number) => (value > 0 ? `${value.toFixed(1)} %` : '')

/** The parameters that differ among points, as columns. */
function differing(points: Point[]): string[] {
  const names = [...new Set(points.flatMap(({ parameters }) => Object.keys(parameters)))]
  return names.filter((name) => new Set(points.map(({ parameters }) => parameters[name])).size > 1)
}

export function describePoints(points: Point[]): string {
  const kernels = points.filter((point): point is KernelPoint => point.kind === 'kernel')
  const microbenches = points.filter((point): point is MicrobenchPoint => point.kind === 'microbench')
  return [
    kernels.length > 0 ? kernelTable(kernels) : undefined,
    microbenches.length > 0 ? microbenchTable(microbenches) : undefined,
  ]
    .filter((text) => text !== undefined)
    .join('\n\n')
}

const cells = ({ parameters }: Point, names: string[]) => names.map((name) => String(parameters[name] ?? ''))

function kernelTable(points: KernelPoint[]): string {
  // n and k are m in every sweep.
  const names = differing(points).filter((name) => name !== 'n' && name !== 'k')
  return table([
    [...names, 'kernel', 'speed', 'before it', 'clock', 'variant'],
    ...points.map((point) => {
      const { result, failure } = point
      const measured = result
        ? [
            timed(result.kernelMs),
            rate(result.gops.median),
            result.prepareMs.median > 0 ? duration(result.prepareMs.median) : '',
            `${Math.round(result.clockMHz)} MHz`,
          ]
        : ['–', '–', '', '']
      return [
        ...cells(point, names),
        ...measured,
        failure === undefined ? point.name : `${point.name}: ${failure}`,
      ]
    }),
  ])
}

function microbenchTable(points: MicrobenchPoint[]): string {
  const names = differing(points)
  return table([
    ['name', ...names, 'time', 'speed', 'lanes/clock/SM', 'of the pipes', 'of the machine', 'clock'],
    ...points.map((point) => {
      const { result, failure } = point
      const measured = result
        ? [
            timed(result.ms),
            rate(result.gops.median),
            result.lanesPerClock.toFixed(1),
            percent(result.percentOfPipes),
            percent(result.percentOfMachine),
            `${Math.round(result.clockMHz)} MHz`,
          ]
        : ['–', '–', '', '', '', failure ?? '']
      return [point.name, ...cells(point, names), ...measured]
    }),
  ])
}

/** One microbenchmark, in full. */
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

/** Table 2.1 of the thesis for one kernel. */
export function describeOccupancy(name: string, o: Occupancy): string {
  return labelled([
    ['kernel', name],
    ['registers per thread', String(o.registersPerThread)],
    ['spilled', o.localBytes > 0 ? `${o.localBytes} bytes per thread` : 'nothing'],
    ['shared memory', `${bytes(o.sharedBytesPerBlock)} per block`],
    ['threads per block', String(o.threadsPerBlock)],
    ['active threads', `${o.activeThreads} per multiprocessor`],
    ['active warps', `${o.activeWarps} per multiprocessor`],
    ['active blocks', `${o.activeBlocks} per multiprocessor`],
    ['occupancy', o.activeBlocks > 0 ? `${o.occupancyPercent.toFixed(1)} %` : 'such a block does not fit'],
  ])
}
