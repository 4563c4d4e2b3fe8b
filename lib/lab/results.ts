/** Reads and writes results files: measurements and their machine, in a versioned format. */
import type { BackendName } from '../backend-name.js'
import { show } from '../describe.js'
import { DTypeError, FileError } from '../errors.js'
import { pathOf } from '../files/files.js'
import { readWholeText, writeText } from '../files/text-file.js'
import { assertObject } from '../options.js'
import type { BandwidthResult } from './bandwidths.js'
import type { Measurement } from './kernels.js'
import type { Machine } from './machine.js'
import type { MicrobenchOptions, MicrobenchResult } from './microbenchmarks.js'
import type { Occupancy } from './occupancy.js'
import type { Spread } from './statistics.js'

/** Parameters of a point, which identify it together with its kind and name. */
export type PointParameters = Record<string, number | string>

interface PointBase {
  /** Sweep of the point: 'cases', 'patterns', …, or a microbenchmark's name. */
  sweep: string
  /** Name of the measured kernel variant or microbenchmark. */
  name: string
  /** Parameters of the request. */
  parameters: PointParameters
  /** Time of the measurement, ISO 8601. */
  measured: string
  /** Reason for the missing result of a failed measurement. */
  failure?: string
}

/** Measured time of a kernel variant. `parameters` has the parameters of the variant, and m, n, k and batch. */
export interface KernelPoint extends PointBase {
  /** Discriminator of the kinds of points. */
  kind: 'kernel'
  /** Measurement; missing if it failed. */
  result?: Omit<Measurement, 'variant' | 'm' | 'n' | 'k' | 'batch'> & {
    /** Bytes of a launch by hardware counters, if they were read. */
    counters?: { deviceMemory: number; l2: number; sharedMemory: number }
  }
}

/** A microbenchmark. Its parameters are those of {@link MicrobenchOptions}. */
export interface MicrobenchPoint extends PointBase {
  /** Discriminator of the kinds of points. */
  kind: 'microbench'
  /** Options of the request. */
  parameters: Omit<MicrobenchOptions, 'repetitions' | 'warmup' | 'device'> & PointParameters
  /** Measurement; missing if it failed. */
  result?: Omit<MicrobenchResult, 'name'>
}

/** The occupancy of a variant (without parameters) or of a microbenchmark. */
export interface OccupancyPoint extends PointBase {
  /** Discriminator of the kinds of points. */
  kind: 'occupancy'
  /** Measurement; missing if it failed. */
  result?: Occupancy
}

/** A bandwidth; its parameters are the options of {@link bandwidth} that count. */
export interface BandwidthPoint extends PointBase {
  /** Discriminator of the kinds of points. */
  kind: 'bandwidth'
  /** Measurement; missing if it failed. */
  result?: Omit<BandwidthResult, 'name'>
}

/** A whole call of `mpmm` with operands in the host's memory. Its parameters are semiring, dtype, m, n and k. */
export interface CallPoint extends PointBase {
  /** Discriminator of the kinds of points. */
  kind: 'call'
  /** Measurement; missing if it failed. */
  result?: {
    /** Backend that computed the result. */
    backend: BackendName
    /** The GPU's or the processor's name. */
    device: string
    /** The kernel variant. */
    variant: string
    /** Milliseconds outside JavaScript: allocation, transfers and kernel. */
    totalMs: Spread
    /** Milliseconds of the kernel. */
    kernelMs: Spread
    /** 10^9 operations per second of kernel time, with 2 per step. */
    gops: Spread
    /** The largest relative error of a sample of elements against sums in float64; 0 if all are equal. */
    relativeError: number
    /** Number of elements of the sample. */
    compared: number
  }
}

/** A product or a program of which only the needed steps count. Its parameters are its sizes. */
export interface WorkPoint extends PointBase {
  /** Discriminator of the kinds of points. */
  kind: 'work'
  /** Measurement; missing if it failed. */
  result?: {
    /** Backend that computed the result. */
    backend: BackendName
    /** The GPU's or the processor's name. */
    device: string
    /** The variant and the path of a product; '' for others. */
    how: string
    /** Steps of ⊗ and ⊕ that are needed. */
    steps: number
    /** Milliseconds: of the kernel of a product, or of a whole call. */
    ms: Spread
    /** 10^9 operations per second, with 2 per needed step. */
    gops: Spread
  }
}

/** Point of a results file: the request and its measurement. */
export type Point = KernelPoint | MicrobenchPoint | OccupancyPoint | BandwidthPoint | CallPoint | WorkPoint

const FORMAT = 'mpmml-lab-results'
const VERSION = 1

/** The content of a results file. */
export interface Results {
  /** Identifies the file format. */
  format: typeof FORMAT
  /** Version of the format. */
  version: typeof VERSION
  /** Machine of the measurements. */
  machine: Machine
  /** Measurements. */
  points: Point[]
}

/**
 * Returns results without points.
 *
 * @throws ArgumentError (ERR_MPMML_DTYPE) if it isn't a machine.
 * @example
 * const here = { gpu: { name: 'none' }, driver: '', toolkit: '', architectures: [], mpmml: '', commit: null, compiler: '', node: '', peak: null }
 * const results = newResults(here)
 * console.log(results.format, results.points.length) // mpmml-lab-results 0
 */
export function newResults(machine: Machine): Results {
  assertObject(machine, 'machine', 'a result of machine()', ['gpu'])
  return { format: FORMAT, version: VERSION, machine, points: [] }
}

/**
 * Writes a results file; it appears under its name only when it is complete.
 *
 * @throws FileError (ERR_MPMML_FILE) with the system's reason; ArgumentError (ERR_MPMML_DTYPE) if the value
 * isn't results.
 * @example
 * const here = { gpu: { name: 'none' }, driver: '', toolkit: '', architectures: [], mpmml: '', commit: null, compiler: '', node: '', peak: null }
 * const results = newResults(here)
 * await writeResults('results.json', results)
 * console.log((await readResults('results.json')).format) // mpmml-lab-results
 */
export async function writeResults(path: string | URL, results: Results): Promise<void> {
  assertResults(results)
  const { points, ...head } = results
  const lines = points.map((point) => `    ${JSON.stringify(point)}`)
  const text = JSON.stringify({ ...head, points: [] }, null, 2)
  await writeText(path, `${text.replace(/\[\]\n\}$/, `[\n${lines.join(',\n')}\n  ]\n}`)}\n`)
}

/**
 * Reads a results file.
 *
 * @throws FileError (ERR_MPMML_FILE) for other files and for newer versions, with the reason.
 * @example
 * await readResults('missing.json').catch(({ code }) => console.log(code)) // ERR_MPMML_FILE
 */
export async function readResults(path: string | URL): Promise<Results> {
  const name = pathOf(path)
  const text = await readWholeText(name, 'a results file of mpmml sweep')
  const wrong = (what: string) =>
    new FileError(`${name}: expected a results file of mpmml sweep or mpmml report, but ${what}`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw wrong(`it isn't JSON: ${(error as Error).message}`)
  }
  if (!isRecord(value) || value.format !== FORMAT) throw wrong(`it has no "format": "${FORMAT}"`)
  if (value.version !== VERSION) {
    throw wrong(`its version is ${show(value.version)}, and this mpmml reads version ${VERSION}`)
  }
  const problem = problemIn(value)
  if (problem) throw wrong(problem)
  return value as unknown as Results
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns whether a value has the fields of a machine that comparisons of results need. */
function isMachine(value: unknown): boolean {
  return (
    isRecord(value) &&
    isRecord(value.gpu) &&
    typeof value.gpu.name === 'string' &&
    ['driver', 'toolkit', 'mpmml'].every((name) => typeof value[name] === 'string') &&
    Array.isArray(value.architectures) &&
    (value.commit === null || typeof value.commit === 'string') &&
    (value.peak === null || (isRecord(value.peak) && Number.isFinite(value.peak.cores)))
  )
}

const isSpread = (value: unknown): value is Spread =>
  isRecord(value) && [value.median, value.q1, value.q3].every(Number.isFinite)

const isCounters = (value: unknown) =>
  isRecord(value) && [value.deviceMemory, value.l2, value.sharedMemory].every(Number.isFinite)

/** Required fields of each kind of result, as far as computations use them. */
const spreads: Record<Point['kind'], string[]> = {
  kernel: ['kernelMs', 'prepareMs', 'gops'],
  microbench: ['ms', 'gops'],
  occupancy: [],
  bandwidth: ['ms', 'gbps'],
  call: ['totalMs', 'kernelMs', 'gops'],
  work: ['ms', 'gops'],
}
const numbers: Record<Point['kind'], string[]> = {
  kernel: ['clockMHz'],
  microbench: ['clockMHz', 'lanesPerClock', 'percentOfPipes', 'percentOfMachine', 'peakOperationsPerClock'],
  occupancy: [
    'registersPerThread',
    'sharedBytesPerBlock',
    'threadsPerBlock',
    'activeThreads',
    'activeWarps',
    'activeBlocks',
    'occupancyPercent',
  ],
  bandwidth: ['bytes', 'bufferBytes', 'clockMHz'],
  call: ['relativeError', 'compared'],
  work: ['steps'],
}

const isKind = (kind: unknown): kind is Point['kind'] =>
  typeof kind === 'string' && Object.hasOwn(spreads, kind)

function problemOf(point: unknown): string | undefined {
  if (!isRecord(point)) return "isn't an object"
  const { kind } = point
  if (!isKind(kind)) return `is of kind ${show(kind)}`
  for (const field of ['sweep', 'name', 'measured']) {
    if (typeof point[field] !== 'string') return `has no ${field}`
  }
  if (!isRecord(point.parameters)) return 'has no parameters'
  for (const [name, value] of Object.entries(point.parameters)) {
    if (typeof value !== 'number' && typeof value !== 'string')
      return `has a parameter ${name} that is ${show(value)}`
  }
  const { result } = point
  if (result === undefined) {
    return typeof point.failure === 'string' ? undefined : 'has neither result nor failure'
  }
  if (!isRecord(result)) return 'has a result that is no object'
  // Only the preparation of operands may take no time.
  const isMissing = (field: string) => {
    const value = result[field]
    return !isSpread(value) || (value.median <= 0 && field !== 'prepareMs')
  }
  const spreadless = spreads[kind].find(isMissing)
  if (spreadless) return `has a result without ${spreadless}`
  const numberless = numbers[kind].find((field) => !Number.isFinite(result[field]))
  if (numberless) return `has a result without ${numberless}`
  if (kind === 'kernel' && result.counters !== undefined && !isCounters(result.counters)) {
    return 'has a result with counters that are no numbers'
  }
  if (
    kind === 'call' &&
    ['backend', 'device', 'variant'].some((field) => typeof result[field] !== 'string')
  ) {
    return 'has a result that names no backend, device or variant'
  }
  if (kind === 'work' && ['backend', 'device', 'how'].some((field) => typeof result[field] !== 'string')) {
    return 'has a result that names no backend, device or kernel'
  }
  if (kind === 'microbench' && !isRecord(result.instructionsPerIteration)) {
    return 'has a result without instructionsPerIteration'
  }
  return undefined
}

/** Returns why a machine and points can't be read again; undefined if they can be. */
function problemIn({ machine, points }: Record<string, unknown>): string | undefined {
  if (!isMachine(machine)) return 'it names no machine, or not all of it'
  if (!Array.isArray(points)) return 'it has no points'
  for (const [index, point] of points.entries()) {
    const problem = problemOf(point)
    if (problem) return `point ${index} ${problem}`
  }
  return undefined
}

/** Throws DTypeError unless the value has a machine and points that can be read again. */
function assertResults(results: unknown): asserts results is Results {
  const expected = 'what newResults or readResults gives'
  assertObject(results, 'results', expected, ['machine', 'points'])
  const problem = problemIn(results)
  if (problem) throw new DTypeError(`results must be ${expected}, but ${problem}`)
}

/** Columns of the machine in CSV, repeated in every line so that each line is complete. */
const machineColumns: [name: string, value: (machine: Machine) => unknown][] = [
  ['gpu', ({ gpu }) => gpu.name],
  ['max_clock_mhz', ({ gpu }) => gpu.maxClockMHz],
  ['memory_clock_mhz', ({ gpu }) => gpu.memoryClockMHz],
  ['driver', ({ driver }) => driver],
  ['toolkit', ({ toolkit }) => toolkit],
  ['mpmml', ({ mpmml }) => mpmml],
  ['commit', ({ commit }) => commit],
]

/**
 * Results as CSV (RFC 4180) with a head: one line a point, spreads as median, first and third quartile.
 *
 * @throws ArgumentError (ERR_MPMML_DTYPE) if the value isn't results.
 * @example
 * const here = { gpu: { name: 'none' }, driver: '', toolkit: '', architectures: [], mpmml: '', commit: null, compiler: '', node: '', peak: null }
 * const results = newResults(here)
 * const point = { kind: 'bandwidth', sweep: 'roofline', name: 'copy', parameters: {}, measured: '2026-01-01T00:00:00Z', failure: 'no GPU' }
 * results.points.push(point)
 * console.log(resultsCsv(results).trimEnd().split('\n').length) // 2
 */
export function resultsCsv(results: Results): string {
  assertResults(results)
  const { machine, points } = results
  const rows = points.map((point) => {
    const { kind, sweep, name, measured, failure } = point
    const row: Record<string, unknown> = { sweep, kind, name, ...point.parameters }
    for (const [field, value] of Object.entries(point.result ?? {})) {
      if (isSpread(value)) {
        row[field] = value.median
        row[`${field}_q1`] = value.q1
        row[`${field}_q3`] = value.q3
      } else if (isRecord(value)) {
        row[field] = Object.entries(value)
          .map(([key, count]) => `${key} ${count}`)
          .join(' + ')
      } else row[field] = value
    }
    return { ...row, failure, measured }
  })
  const first = ['sweep', 'kind', 'name']
  const last = ['failure', 'measured']
  const columns = [...new Set([...first, ...rows.flatMap(Object.keys)])].filter(
    (name) => !last.includes(name),
  )
  const head = [...columns, ...last, ...machineColumns.map(([name]) => name)]
  const lines = rows.map((row) => [
    ...[...columns, ...last].map((name) => (row as Record<string, unknown>)[name]),
    ...machineColumns.map(([, value]) => value(machine)),
  ])
  return [head, ...lines]
    .map((line) => line.map(csvCell).join(','))
    .join('\r\n')
    .concat('\r\n')
}

function csvCell(value: unknown): string {
  const text = value === undefined || value === null ? '' : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
