/** Data of the report: points of the results by kind, and numbers in readable units. */
import type { OccupancyPoint, Point, Results, Spread } from '../../lib/lab.js'
import { greatest, least } from '../min-max.js'
import { type Gpu, gpuNamed } from './thesis.js'

type PointOf<Kind extends Point['kind']> = Extract<Point, { kind: Kind }>
/** Point of a kind that has a result. */
type Measured<Kind extends Point['kind']> = PointOf<Kind> & { result: NonNullable<PointOf<Kind>['result']> }

export type MeasuredKernel = Measured<'kernel'>
export type MeasuredWork = Measured<'work'>
export type MeasuredMicrobench = Measured<'microbench'>

/** Returns the predicate of points of a kind that have a result. */
export const isMeasured =
  <Kind extends Point['kind']>(kind: Kind) =>
  (point: Point): point is Measured<Kind> =>
    point.kind === kind && point.result !== undefined

/** Results, with access to the points of each kind. */
export class Data {
  constructor(readonly results: Results) {}

  get machine() {
    return this.results.machine
  }

  /** Returns the points of a sweep that match the parameters, in the order of the file. */
  private points(sweep: string, parameters: Record<string, number | string> = {}): Point[] {
    const conditions = Object.entries(parameters)
    return this.results.points.filter(
      (point) =>
        point.sweep === sweep && conditions.every(([name, value]) => point.parameters[name] === value),
    )
  }

  kernels(sweep: string, parameters?: Record<string, number | string>): MeasuredKernel[] {
    return this.points(sweep, parameters).filter(isMeasured('kernel'))
  }

  microbenches(name: string, parameters?: Record<string, number | string>): MeasuredMicrobench[] {
    return this.points(name, parameters).filter(isMeasured('microbench'))
  }

  occupancies(): OccupancyPoint[] {
    return this.points('occupancy').filter((point) => point.kind === 'occupancy')
  }

  calls(sweep: string, parameters?: Record<string, number | string>): Measured<'call'>[] {
    return this.points(sweep, parameters).filter(isMeasured('call'))
  }

  work(sweep: string): MeasuredWork[] {
    return this.points(sweep).filter(isMeasured('work'))
  }

  /** Returns points without a result, each with its reason. */
  failures(sweep: string): Point[] {
    return this.points(sweep).filter(({ failure }) => failure !== undefined)
  }

  /** Returns the fastest point of a microbenchmark. */
  best(name: string, parameters?: Record<string, number | string>): MeasuredMicrobench | undefined {
    return this.microbenches(name, parameters).reduce<MeasuredMicrobench | undefined>(
      (best, point) => (best && best.result.gops.median >= point.result.gops.median ? best : point),
      undefined,
    )
  }

  /** Measured peak rate in GOPS of additions and maxima on registers, fused if the GPU supports that. */
  get ceiling(): number | undefined {
    return this.best('fused')?.result.gops.median
  }

  /**
   * Peak rate in GOPS at one operation per clock and CUDA core at the highest clock: the usual meaning of the
   * thesis' "TMP".
   */
  get machinePeak(): number | undefined {
    const { gpu, peak } = this.machine
    if (!peak) return undefined
    return (Number(gpu.multiprocessors) * peak.cores * Number(gpu.maxClockMHz)) / 1e3
  }

  /** GPU of the thesis that equals the measured GPU; undefined for other GPUs. */
  get thesisGpu(): Gpu | undefined {
    return gpuNamed(this.machine.gpu.name)
  }

  /** Returns the fastest kernel in the sweeps of square products with at least `least` rows. */
  fastestKernel(least = 0): MeasuredKernel | undefined {
    return ['cases', 'patterns', 'tiles', 'blocks', 'space']
      .flatMap((sweep) => this.kernels(sweep))
      .filter(({ parameters }) => Number(parameters.m) >= least)
      .sort((x, y) => y.result.gops.median - x.result.gops.median)[0]
  }

  /** Returns the sizes of a sweep's square products in ascending order. */
  sizes(sweep: string): number[] {
    const sizes = this.kernels(sweep).map(({ parameters }) => Number(parameters.m))
    return [...new Set(sizes)].sort((x, y) => x - y)
  }
}

/** Returns the measured values of K in descending order, as in the thesis. */
export const depthsOf = (points: readonly MeasuredMicrobench[]): number[] =>
  [...new Set(points.flatMap(({ parameters: { k } }) => (k === undefined ? [] : [Number(k)])))].sort(
    (one, other) => other - one,
  )

/** Returns the name of a size: 1024 is "1K", 10240 is "10K", 1000 is "1000". */
export const sizeName = (size: number) => (size % 1024 === 0 ? `${size / 1024}K` : String(size))

/** Returns a speed as text, such as "3065 GOPS" or "28.9 TOPS". */
export function speed(gops: number): string {
  return gops < 10_000 ? `${gops.toFixed(0)} GOPS` : `${(gops / 1000).toFixed(1)} TOPS`
}

/** Formats speeds in the unit that suits the largest of them. */
export function speeds(values: number[]): string[] {
  const { unit, divisor } = unitFor(values)
  return values.map((value) => `${(value / divisor).toFixed(divisor === 1 ? 0 : 2)} ${unit}`)
}

/** Formats a range as "97 to 99 %", or as one percentage if both ends are equal. */
export function percentRange(shares: number[]): string {
  const [from, to] = [least(shares), greatest(shares)].map((share) => (100 * share).toFixed(1))
  return from === to ? `${from}\u00a0%` : `${from} to ${to}\u00a0%`
}

/** Returns the unit of an axis, and the divisor that converts GOPS to it. */
export function unitFor(values: number[]): { unit: string; divisor: number } {
  return greatest(values) >= 10_000 ? { unit: 'TOPS', divisor: 1000 } : { unit: 'GOPS', divisor: 1 }
}

/** Formats a median for tables, such as "28.91", with half of the interquartile range. */
export function inUnit({ median, q1, q3 }: Spread, divisor: number): string {
  const digits = divisor === 1 ? 0 : 2
  return `${(median / divisor).toFixed(digits)} ± ${((q3 - q1) / 2 / divisor).toFixed(digits)}`
}

export const percent = (share: number) => `${(100 * share).toFixed(Math.abs(share) < 0.1 ? 1 : 0)}\u00a0%`
