/** Jobs of the laboratory: descriptions of measurements, as data. */
import type { BackendName, DataType, Semiring } from '../../lib/index.js'
import type { Point, Results } from '../../lib/lab.js'

/** Fields that each job shares with the point that it produces. */
interface JobOf<
  Kind extends Point['kind'],
  Parameters = Readonly<Record<string, number | string>>,
  Sweep extends string = string,
  Name extends string = string,
> {
  kind: Kind
  sweep: Sweep
  name: Name
  parameters: Parameters
}

export const jobOf = <Kind extends Point['kind'], Parameters, Sweep extends string, Name extends string>(
  kind: Kind,
  sweep: Sweep,
  name: Name,
  parameters: Parameters,
): JobOf<Kind, Parameters, Sweep, Name> => ({ kind, sweep, name, parameters })

/**
 * A kernel variant on a product; `parameters` has m, n, k, batch and the variant's own, and if it isn't for any values,
 * their `minimum` and `maximum`.
 */
export interface KernelJob
  extends JobOf<
    'kernel',
    { m: number; n: number; k: number; batch: number } & Record<string, number | string>
  > {
  /** Reason why no such kernel exists, if that is known in advance. */
  refused?: string
}

export type MicrobenchJob = JobOf<'microbench'>

/** The occupancy of a variant, or with parameters of a microbenchmark. */
export type OccupancyJob = JobOf<'occupancy'>

/** A bandwidth of a level of memory; `parameters` are its options. */
export type BandwidthJob = JobOf<'bandwidth'>

/** A whole call of `mpmm`, by the variant `name`, or, for the backend 'cpu', by that of the library's choice. */
export interface CallJob
  extends JobOf<'call', { semiring: Semiring; dtype: DataType; m: number; n: number; k: number }> {
  backend: BackendName
}

/** A product or a program of which only the needed steps count; `parameters` has the sizes: n, and batch, m or strands. */
export type WorkJob = JobOf<
  'work',
  { n: number } & Record<string, number | string>,
  'triangular' | 'bpmax',
  'whole' | 'triangles' | 'interaction' | 'folding'
>

export type Job = KernelJob | MicrobenchJob | OccupancyJob | BandwidthJob | CallJob | WorkJob

/** Two jobs, or points, with the same key measure the same thing. */
export function jobKey({
  kind,
  sweep,
  name,
  parameters,
}: Omit<JobOf<never, object>, 'kind'> & { kind: string }): string {
  const sorted = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .sort(([x], [y]) => (x < y ? -1 : 1))
  return JSON.stringify([kind, sweep, name, sorted])
}

/** Adds a point; it replaces an earlier one that measures the same thing. */
export function addPoint({ points }: Results, point: Point): void {
  const key = jobKey(point)
  const at = points.findIndex((earlier) => jobKey(earlier) === key)
  if (at < 0) points.push(point)
  else points[at] = point
}

export interface RunOptions {
  device: number
  /** Number of timed repetitions; by default chosen by the time of one. */
  repetitions?: number | undefined
}
