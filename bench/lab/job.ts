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
 * Kernel variant on a product. `parameters` contains m, n, k, batch and the variant's parameters, and
 * `minimum` and `maximum` if the variant restricts values.
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

/** Occupancy of a variant, or of a microbenchmark with the given parameters. */
export type OccupancyJob = JobOf<'occupancy'>

/** Bandwidth of a memory level; `parameters` are the options of the measurement. */
type BandwidthJob = JobOf<'bandwidth'>

/** Whole call of `mpmm` by the variant `name`. The library chooses the variant for the backend 'cpu'. */
export interface CallJob
  extends JobOf<'call', { semiring: Semiring; dtype: DataType; m: number; n: number; k: number }> {
  backend: BackendName
}

/**
 * Product or program whose speed counts only the needed steps. `parameters` contains the sizes: n, and batch,
 * m or strands.
 */
export type WorkJob = JobOf<
  'work',
  { n: number } & Record<string, number | string>,
  'triangular' | 'bpmax',
  'whole' | 'triangles' | 'interaction' | 'folding'
>

export type Job = KernelJob | MicrobenchJob | OccupancyJob | BandwidthJob | CallJob | WorkJob

/** Returns a key that is equal for jobs or points of the same measurement. */
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

/** Adds a point, which replaces an earlier point with an equal key. */
export function addPoint({ points }: Results, point: Point): void {
  const key = jobKey(point)
  const at = points.findIndex((earlier) => jobKey(earlier) === key)
  if (at < 0) points.push(point)
  else points[at] = point
}

export interface RunOptions {
  device: number
  /** Number of timed repetitions; by default it follows from the time of one repetition. */
  repetitions?: number | undefined
}
