/** Runs jobs of the laboratory: each produces a point of a results file. */
import type { MpmmlError, VariantName } from '../../lib/index.js'
import { bandwidth, measure, microbench, microbenchOccupancy, occupancy, type Point } from '../../lib/lab.js'
import { type Case, repetitionsFor } from '../experiment.js'
import { runCall } from './calls.js'
import { costOfWork, runWork } from './future.js'
import type { Job, KernelJob, RunOptions } from './job.js'

/** Operations on the jobs of a kind. */
interface Kind<J extends Job> {
  /** Description for the progress line. */
  what(job: J): string
  /** Estimated seconds. The remaining time is estimated from the time of the jobs so far. */
  cost(job: J): number
  measure(job: J, options: RunOptions): Promise<Extract<Point, { kind: J['kind'] }>['result']>
}

const QUICK = 0.05

const kinds: { [K in Job['kind']]: Kind<Extract<Job, { kind: K }>> } = {
  kernel: {
    what({ sweep, parameters: { m, batch } }) {
      return `${sweep} ${batch > 1 ? `${batch} × ` : ''}${m}³`
    },
    cost({ refused, parameters }) {
      if (refused !== undefined) return 0
      const { m, n, k, batch } = parameters
      const seconds = (batch * m * n * k) / paceOf(parameters)
      return 0.1 + seconds + (seconds > SLOW_MS / 1000 ? 0 : Math.max(BUDGET_MS / 1000, seconds * 4))
    },
    measure: measureKernel,
  },
  microbench: {
    what({ name, parameters: { x, y, k } }) {
      return `${name} ${x}×${y}${k === undefined ? '' : ` K=${k}`}`
    },
    cost: () => QUICK,
    async measure({ name, parameters }, { device, repetitions }) {
      const options = { ...parameters, device, repetitions }
      const { name: _, ...result } = await microbench(name, options)
      return result
    },
  },
  occupancy: {
    what: ({ name }) => `occupancy of ${name}`,
    cost: () => QUICK,
    measure: ({ name, parameters }, { device }) =>
      Object.keys(parameters).length > 0
        ? microbenchOccupancy(name, { ...parameters, device })
        : occupancy(name as VariantName, { device }),
  },
  bandwidth: {
    what: ({ name }) => `bandwidth ${name}`,
    cost: () => QUICK,
    async measure({ name, parameters }, { device }) {
      const { name: _, ...result } = await bandwidth(name, { ...parameters, device })
      return result
    },
  },
  call: {
    what: ({ name, parameters: { m, k, n } }) => `${name} ${m} × ${k} × ${n}`,
    // Estimate for the creation of operands and a kernel from the middle of the ladder.
    cost: ({ backend, parameters: { m, n, k } }) =>
      0.2 + (m * k + k * n) / 1e8 + (m * n * k) / (backend === 'cpu' ? 2e10 : 1e12),
    measure({ backend, name, parameters }, { device }) {
      const variant = backend === 'cpu' ? undefined : (name as VariantName)
      return runCall({ ...parameters, backend, variant, device })
    },
  },
  work: {
    what: ({ sweep, name, parameters }) => `${sweep}: ${name} ${Object.values(parameters).join(' × ')}`,
    cost: costOfWork,
    measure: runWork,
  },
}

/**
 * Returns a job as a case that produces a point. A job that can't run on this GPU, such as a block that
 * doesn't fit, produces a point with the reason. Errors that aren't properties of the job are thrown: CUDA
 * errors, no GPU.
 */
export function caseOf(job: Job, options: RunOptions): Case<Point> {
  const kind = kinds[job.kind] as Kind<Job>
  return {
    what: kind.what(job),
    cost: kind.cost(job),
    async measure() {
      const { sweep, name, parameters } = job
      const point = { sweep, name, parameters, measured: new Date().toISOString(), kind: job.kind }
      if ('refused' in job) return { ...point, failure: job.refused } as Point
      try {
        return { ...point, result: await kind.measure(job, options) } as Point
      } catch (error) {
        const { code, message } = error as MpmmlError
        if (code !== 'ERR_MPMML_VARIANT' && code !== 'ERR_MPMML_OUT_OF_MEMORY') throw error
        return { ...point, failure: message } as Point
      }
    },
  }
}

/**
 * Returns whether a kernel reads an operand from global memory in its main loop, which makes it several times
 * slower.
 */
const fromGlobal = ({ MEMSEL_A, MEMSEL_B }: KernelJob['parameters']) => MEMSEL_A === 1 || MEMSEL_B === 1

/**
 * Returns a rough estimate of steps per second: the first ladder kernels are hundreds of times slower than
 * the last one.
 */
function paceOf(parameters: KernelJob['parameters']): number {
  const { technique, tile } = parameters
  if (technique === undefined) return fromGlobal(parameters) ? 2e12 : 1.2e13
  return technique === 'naive' ? 5e11 : 1e11 * Math.min(16, Number(tile)) ** 1.2
}

/** Total time in ms of the timed repetitions of a kernel, unless the user sets their number. */
const BUDGET_MS = 300

/** Time in ms from which a kernel runs only once, because repetitions would add little information. */
const SLOW_MS = 2000

async function measureKernel(job: KernelJob, { device, repetitions }: RunOptions) {
  const { m, n, k, batch, minimum, maximum } = job.parameters
  const values = minimum === undefined ? {} : { minimum: Number(minimum), maximum: Number(maximum) }
  const run = (count: number, warmup: number) =>
    measure(job.name as VariantName, { m, n, k, batch, ...values, device, repetitions: count, warmup })
  const once = repetitions === undefined ? await run(1, 0) : null
  const measured =
    once && once.kernelMs.median > SLOW_MS
      ? once
      : await run(repetitions ?? repetitionsFor(once!.kernelMs.median, BUDGET_MS), 1)
  const { variant: _v, m: _m, n: _n, k: _k, batch: _b, ...result } = measured
  return result
}
