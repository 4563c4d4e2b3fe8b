/** Jobs of the laboratory: what is to be measured, as data; running one makes a point of a results file. */
import type { DataType, MpmmlError, Semiring, VariantName } from '../../lib/index.js'
import {
  bandwidth,
  measure,
  microbench,
  microbenchOccupancy,
  occupancy,
  type Point,
  type Results,
} from '../../lib/lab.js'
import { runCall } from './calls.js'
import { costOfWork, runWork, type WorkJob } from './future.js'

interface JobBase {
  sweep: string
  name: string
  parameters: Record<string, number | string>
}

/**
 * A kernel variant on a product; `parameters` has m, n, k, batch and the variant's own, and if it isn't for any values,
 * their `minimum` and `maximum`.
 */
export interface KernelJob extends JobBase {
  kind: 'kernel'
  parameters: { m: number; n: number; k: number; batch: number } & Record<string, number | string>
  /** Why there is no such kernel, if that is known beforehand. */
  refused?: string
}

export interface MicrobenchJob extends JobBase {
  kind: 'microbench'
}

/** The occupancy of a variant, or with parameters of a microbenchmark. */
export interface OccupancyJob extends JobBase {
  kind: 'occupancy'
}

/** A bandwidth of a level of memory; `parameters` are its options. */
export interface BandwidthJob extends JobBase {
  kind: 'bandwidth'
}

/** A whole call of `mpmm`, by the variant `name`, or, for the backend 'cpu', by that of the library's choice. */
export interface CallJob extends JobBase {
  kind: 'call'
  backend: 'cuda' | 'cpu'
  parameters: { semiring: Semiring; dtype: DataType; m: number; n: number; k: number }
}

export type Job = KernelJob | MicrobenchJob | OccupancyJob | BandwidthJob | CallJob | WorkJob

/** Two jobs, or points, with the same key measure the same thing. */
export function jobKey({ kind, sweep, name, parameters }: JobBase & { kind: string }): string {
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

/** Whether a kernel reads an operand from global memory in its main loop: such a product takes several times as long. */
const fromGlobal = ({ MEMSEL_A, MEMSEL_B }: KernelJob['parameters']) => MEMSEL_A === 1 || MEMSEL_B === 1

/** Steps per second, very roughly: a ladder's first rungs are hundreds of times slower than its last. */
function paceOf({ technique, tile, ...parameters }: JobBase['parameters']): number {
  if (technique === undefined) return fromGlobal(parameters as KernelJob['parameters']) ? 2e12 : 1.2e13
  return technique === 'naive' ? 5e11 : 1e11 * Math.min(16, Number(tile)) ** 1.2
}

/** Seconds that a job takes, as far as they can be told: the estimate of the time left follows what it took so far. */
export function costOf(job: Job): number {
  if (job.kind === 'call') {
    const { m, n, k } = job.parameters
    // Making the operands and a call of a kernel in the middle of the ladder.
    return 0.2 + (m * k + k * n) / 1e8 + (m * n * k) / (job.backend === 'cpu' ? 2e10 : 1e12)
  }
  if (job.kind === 'work') return costOfWork(job)
  if (job.kind !== 'kernel') return 0.05
  if (job.refused !== undefined) return 0
  const { m, n, k, batch } = job.parameters
  const seconds = (batch * m * n * k) / paceOf(job.parameters)
  return 0.1 + seconds + (seconds > SLOW_MS / 1000 ? 0 : Math.max(BUDGET_MS / 1000, seconds * 4))
}

/** Milliseconds that the timed repetitions of a kernel fill, unless the user says how many there are. */
const BUDGET_MS = 300

/** A kernel that takes longer is run once: repeating it would say little more. */
const SLOW_MS = 2000

/** At least three, an odd number so that the median is one of them. */
const repetitionsFor = (ms: number) => 2 * Math.min(10, Math.max(1, Math.floor(BUDGET_MS / ms / 2))) + 1

export interface RunOptions {
  device: number
  /** Timed repetitions; null chooses them by the time that one takes. */
  repetitions: number | null
}

/**
 * Runs a job. What can't run on this GPU, such as a block that doesn't fit, becomes a point that says why.
 *
 * @throws what is no property of the job: CUDA errors, no GPU.
 */
export async function runJob(job: Job, options: RunOptions): Promise<Point> {
  const { sweep, name, parameters } = job
  const point = { sweep, name, parameters, measured: new Date().toISOString() }
  try {
    if (job.kind === 'kernel') {
      if (job.refused !== undefined) return { ...point, kind: 'kernel', failure: job.refused }
      return { ...point, kind: 'kernel', result: await measureKernel(job, options) }
    }
    if (job.kind === 'microbench') {
      const { device, repetitions } = options
      const { name: _, ...result } = await microbench(name, {
        ...parameters,
        device,
        ...(repetitions === null ? {} : { repetitions }),
      })
      return { ...point, kind: 'microbench', result }
    }
    if (job.kind === 'bandwidth') {
      const { name: _, ...result } = await bandwidth(name, { ...parameters, device: options.device })
      return { ...point, kind: 'bandwidth', result }
    }
    if (job.kind === 'work') {
      return { ...point, kind: 'work', result: await runWork(job, options.device, options.repetitions) }
    }
    if (job.kind === 'call') {
      const variant = job.backend === 'cpu' ? undefined : (name as VariantName)
      const result = await runCall({
        ...job.parameters,
        backend: job.backend,
        variant,
        device: options.device,
      })
      return { ...point, kind: 'call', result }
    }
    return { ...point, kind: 'occupancy', result: await askOccupancy(job, options) }
  } catch (error) {
    const { code, message } = error as MpmmlError
    if (code !== 'ERR_MPMML_VARIANT' && code !== 'ERR_MPMML_OUT_OF_MEMORY') throw error
    return { ...point, kind: job.kind, failure: message }
  }
}

async function measureKernel(job: KernelJob, { device, repetitions }: RunOptions) {
  const { m, n, k, batch, minimum, maximum } = job.parameters
  const values = minimum === undefined ? {} : { minimum: Number(minimum), maximum: Number(maximum) }
  const run = (count: number, warmup: number) =>
    measure(job.name as VariantName, { m, n, k, batch, ...values, device, repetitions: count, warmup })
  const once = repetitions === null ? await run(1, 0) : null
  const measured =
    once && once.kernelMs.median > SLOW_MS
      ? once
      : await run(repetitions ?? repetitionsFor(once!.kernelMs.median), 1)
  const { variant: _v, m: _m, n: _n, k: _k, batch: _b, ...result } = measured
  return result
}

function askOccupancy({ name, parameters }: OccupancyJob, { device }: RunOptions) {
  return Object.keys(parameters).length > 0
    ? microbenchOccupancy(name, { ...parameters, device })
    : occupancy(name as VariantName, { device })
}
