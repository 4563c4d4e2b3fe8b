/** Data of the report: points of the results by kind, and numbers in readable units. */
import type {
  CallPoint,
  KernelPoint,
  MicrobenchPoint,
  OccupancyPoint,
  Point,
  Results,
  Spread,
  WorkPoint,
} from '../../lib/lab.js'
import { greatest, least } from '../min-max.js'
import { type Gpu, gpuNamed } from './thesis.js'

export type MeasuredKernel = KernelPoint & { result: NonNullable<KernelPoint['result']> }
export const isMeasuredKernel = (point: Point): point is MeasuredKernel =>
  point.kind === 'kernel' && point.result !== undefined
export type MeasuredWork = WorkPoint & { result: NonNullable<WorkPoint['result']> }
export type MeasuredMicrobench = MicrobenchPoint & { result: NonNullable<MicrobenchPoint['result']> }
export type MeasuredCall = CallPoint & { result: NonNullable<CallPoint['result']> }

/** Results, with access to the points of each kind. */
export class Data {
  constructor(readonly results: Results) {}

  get machine() {
    return this.results.machine
  }

  /** Points of a sweep whose parameters have these values, in the order of the file. */
  private points(sweep: string, parameters: Record<string, number | string> = {}): Point[] {
    const wanted = Object.entries(parameters)
    return this.results.points.filter(
      (point) => point.sweep === sweep && wanted.every(([name, value]) => point.parameters[name] === value),
    )
  }

  kernels(sweep: string, parameters?: Record<string, number | string>): MeasuredKernel[] {
    return this.points(sweep, parameters).filter(isMeasuredKernel)
  }

  microbenches(name: string, parameters?: Record<string, number | string>): MeasuredMicrobench[] {
    return this.points(name, parameters).filter(
      (point): point is MeasuredMicrobench => point.kind === 'microbench' && point.result !== undefined,
    )
  }

  occupancies(): OccupancyPoint[] {
    return this.points('occupancy').filter((point): point is OccupancyPoint => point.kind === 'occupancy')
  }

  calls(sweep: string, parameters?: Record<string, number | string>): MeasuredCall[] {
    return this.points(sweep, parameters).filter(
      (point): point is MeasuredCall => point.kind === 'call' && point.result !== undefined,
    )
  }

  work(sweep: string): MeasuredWork[] {
    return this.points(sweep).filter(
      (point): point is MeasuredWork => point.kind === 'work' && point.result !== undefined,
    )
  }

  /** Points that were tried and have no result, with the reason. */
  failures(sweep: string): Point[] {
    return this.points(sweep).filter(({ failure }) => failure !== undefined)
  }

  /** The fastest of the points of a microbenchmark. */
  best(name: string, parameters?: Record<string, number | string>): MeasuredMicrobench | undefined {
    return this.microbenches(name, parameters).reduce<MeasuredMicrobench | undefined>(
      (best, point) => (best && best.result.gops.median >= point.result.gops.median ? best : point),
      undefined,
    )
  }

  /** Measured peak rate, GOPS: additions and maxima on registers only, fused if the GPU can do that. */
  get ceiling(): number | undefined {
    return this.best('fused')?.result.gops.median
  }

  /** One operation per clock for each CUDA core at the highest clock, GOPS: how the thesis' "TMP" is usually reckoned. */
  get machinePeak(): number | undefined {
    const { gpu, peak } = this.machine
    if (!peak) return undefined
    return (Number(gpu.multiprocessors) * peak.cores * Number(gpu.maxClockMHz)) / 1e3
  }

  /** The GPU of the thesis that was measured, if it is one of them. */
  get thesisGpu(): Gpu | undefined {
    return gpuNamed(this.machine.gpu.name)
  }

  /** The fastest kernel of the sweeps of square products, from a size on. */
  fastestKernel(least = 0): MeasuredKernel | undefined {
    return ['cases', 'patterns', 'tiles', 'blocks', 'space']
      .flatMap((sweep) => this.kernels(sweep))
      .filter(({ parameters }) => Number(parameters.m) >= least)
      .sort((x, y) => y.result.gops.median - x.result.gops.median)[0]
  }

  /** The sizes of a sweep's square products, ascending. */
  sizes(sweep: string): number[] {
    const sizes = this.kernels(sweep).map(({ parameters }) => Number(parameters.m))
    return [...new Set(sizes)].sort((x, y) => x - y)
  }
}

/** 1024 is 1K, 10240 is 10K, 1000 is 1000. */
export const sizeName = (size: number) => (size % 1024 === 0 ? `${size / 1024}K` : String(size))

/** 3065 GOPS, 28.9 TOPS */
export function speed(gops: number): string {
  return gops < 10_000 ? `${gops.toFixed(0)} GOPS` : `${(gops / 1000).toFixed(1)} TOPS`
}

/** Several in the unit of the largest: "9.33, 9.84 and 10.0 TOPS" has one. */
export function speeds(values: number[]): string[] {
  const { unit, divisor } = unitFor(values)
  return values.map((value) => `${(value / divisor).toFixed(divisor === 1 ? 0 : 2)} ${unit}`)
}

/** "97 to 99 %", or one of them if they are the same. */
export function percentRange(shares: number[]): string {
  const [from, to] = [least(shares), greatest(shares)].map((share) => (100 * share).toFixed(1))
  return from === to ? `${from}\u00a0%` : `${from} to ${to}\u00a0%`
}

/** The unit of a plot's axis, and what GOPS are divided by for it. */
export function unitFor(values: number[]): { unit: string; divisor: number } {
  return greatest(values) >= 10_000 ? { unit: 'TOPS', divisor: 1000 } : { unit: 'GOPS', divisor: 1 }
}

/** "28.91" in the unit, and half the distance between the quartiles: for tables. */
export function inUnit({ median, q1, q3 }: Spread, divisor: number): string {
  const digits = divisor === 1 ? 0 : 2
  return `${(median / divisor).toFixed(digits)} ± ${((q3 - q1) / 2 / divisor).toFixed(digits)}`
}

export const percent = (share: number) => `${(100 * share).toFixed(Math.abs(share) < 0.1 ? 1 : 0)}\u00a0%`
