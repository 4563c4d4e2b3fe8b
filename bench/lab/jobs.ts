/** Jobs of the laboratory: what is to be measured, as data; running one makes a point of a results file. */
import type { MpmmlError, VariantName } from '../../lib/index.js'
import { measure, microbench, microbenchOccupancy, occupancy, type Point, pointKey } from '../../lib/lab.js'

interface JobBase {
  sweep: string
  name: string
  parameters: Record<string, number | string>
}

/** A kernel variant on a product; `parameters` has m, n, k, batch and the variant's own. */
export interface KernelJob extends JobBase {
  kind: 'kernel'
  parameters: { m: number; n: number; k: number; batch: number } & Record<string, number | string>
  /** Why there is no such kernel, where it is known beforehand. */
  refused?: string
}

export interface MicrobenchJob extends JobBase {
  kind: 'microbench'
}

/** The occupancy of a variant, or with parameters of a microbenchmark. */
export interface OccupancyJob extends JobBase {
  kind: 'occupancy'
}

export type Job = KernelJob | MicrobenchJob | OccupancyJob

/** Two jobs with the same key measure the same thing. */
export const jobKey: (job: Job) => string = pointKey

/** What of a kernel's parameters says where its operands are: such a product takes several times as long. */
const fromGlobal = ({ MEMSEL_A, MEMSEL_B }: KernelJob['parameters']) => MEMSEL_A === 1 || MEMSEL_B === 1

/** Seconds that a job takes, as far as they can be told: the estimate of the time left follows what it took so far. */
export function costOf(job: Job): number {
  if (job.kind !== 'kernel') return 0.05
  if (job.refused !== undefined) return 0
  const { m, n, k, batch } = job.parameters
  const seconds = (batch * m * n * k) / (fromGlobal(job.parameters) ? 2e12 : 1.2e13)
  return 0.1 + seconds * 2 + Math.max(BUDGET_MS / 1000, seconds * 3)
}

/** Milliseconds that the timed repetitions of a kernel fill, unless the user says how many there are. */
const BUDGET_MS = 300

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
    return { ...point, kind: 'occupancy', result: await askOccupancy(job, options) }
  } catch (error) {
    const { code, message } = error as MpmmlError
    if (code !== 'ERR_MPMML_VARIANT' && code !== 'ERR_MPMML_OUT_OF_MEMORY') throw error
    return { ...point, kind: job.kind, failure: message }
  }
}

async function measureKernel(job: KernelJob, { device, repetitions }: RunOptions) {
  const { m, n, k, batch } = job.parameters
  const variant = job.name as VariantName
  const once =
    repetitions === null ? await measure(variant, { m, n, k, batch, device, repetitions: 1 }) : null
  const measured = await measure(variant, {
    m,
    n,
    k,
    batch,
    device,
    repetitions: repetitions ?? repetitionsFor(once!.kernelMs.median),
  })
  const { variant: _v, m: _m, n: _n, k: _k, batch: _b, ...result } = measured
  return result
}

function askOccupancy({ name, parameters }: OccupancyJob, { device }: RunOptions) {
  return Object.keys(parameters).length > 0
    ? microbenchOccupancy(name, { ...parameters, device })
    : occupancy(name as VariantName, { device })
}
