/** Runs jobs one after the other and keeps what is measured as it comes. */
import { AbortedError, FileError } from '../../lib/index.js'
import {
  type Machine,
  machine,
  newResults,
  type Point,
  type Results,
  readResults,
  resultsCsv,
  writeResults,
} from '../../lib/lab.js'
import { commit } from '../commit.js'
import { checkOutputs, writeText } from '../output-file.js'
import { startProgress } from '../progress.js'
import { addPoint, costOf, type Job, jobKey, type RunOptions, runJob } from './jobs.js'

export interface RunRequest extends RunOptions {
  jobs: Job[]
  /** The file that keeps the results; points of an earlier run stay in it. Null keeps them in memory. */
  output: string | null
  /** Also as CSV; written at the end. */
  csv: string | null
  /** Whether points that the file already has are measured again. */
  again: boolean
}

/** What has to be the same for results of an earlier run to stay beside new ones. */
const sameMachine = (one: Machine, other: Machine) =>
  one.gpu.name === other.gpu.name &&
  one.driver === other.driver &&
  one.toolkit === other.toolkit &&
  one.mpmml === other.mpmml

const machineName = ({ gpu, driver, toolkit, mpmml }: Machine) =>
  `${gpu.name}, driver ${driver}, toolkit ${toolkit}, mpmml ${mpmml}`

async function earlierResults(output: string | null, here: Machine): Promise<Results> {
  if (output === null) return newResults(here)
  let earlier: Results
  try {
    earlier = await readResults(output)
  } catch (error) {
    // No file yet; anything else of that name is not overwritten.
    const { cause } = error as { cause?: NodeJS.ErrnoException }
    if (cause?.code === 'ENOENT') return newResults(here)
    throw error
  }
  if (!sameMachine(earlier.machine, here)) {
    throw new FileError(
      `${output} has results of ${machineName(earlier.machine)}, and this is ${machineName(here)}: name another file with -o`,
    )
  }
  return { ...earlier, machine: here }
}

/** The results of a run: all that the file holds, and the points of this run's jobs in their order. */
export interface RunOutcome {
  results: Results
  points: Point[]
}

/**
 * @throws NoCudaError if no GPU can be used; AbortedError at an interrupt, when what was measured is in the file.
 */
export async function runJobs(request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
  await checkOutputs([request.output ?? undefined, request.csv ?? undefined], [])
  const here = { ...machine(request.device), commit: commit() }
  const results = await earlierResults(request.output, here)
  const known = new Map(results.points.map((point) => [jobKey(point), point]))
  const unique = [...new Map(request.jobs.map((job) => [jobKey(job), job])).values()]
  const todo = unique.filter((job) => request.again || !known.has(jobKey(job)))
  try {
    await runEach(todo, request, signal, async (point) => {
      addPoint(results, point)
      known.set(jobKey(point), point)
      if (request.output !== null) await writeResults(request.output, results)
    })
  } finally {
    if (request.csv !== null) await writeText(request.csv, resultsCsv(results))
  }
  return { results, points: unique.map((job) => known.get(jobKey(job))!) }
}

async function runEach(
  jobs: Job[],
  options: RunOptions,
  signal: AbortSignal,
  keep: (point: Point) => Promise<void> | void,
): Promise<void> {
  const progress = startProgress(jobs.reduce((sum, job) => sum + costOf(job), 0))
  let done = 0
  try {
    for (const job of jobs) {
      if (signal.aborted) throw new AbortedError('the sweep was interrupted', { cause: signal.reason })
      progress.show(describeJob(job), done)
      await keep(await runJob(job, options))
      done += costOf(job)
    }
  } finally {
    progress.end()
  }
}

/** Runs jobs that need no GPU, and keeps no file of the results. */
export async function runInMemory(jobs: Job[], options: RunOptions, signal: AbortSignal): Promise<Point[]> {
  const points: Point[] = []
  await runEach(jobs, options, signal, (point) => {
    points.push(point)
  })
  return points
}

function describeJob({ kind, sweep, name, parameters }: Job): string {
  if (kind === 'bandwidth') return `bandwidth ${name}`
  if (kind === 'call') return `${name} ${parameters.m} × ${parameters.k} × ${parameters.n}`
  if (kind === 'kernel') {
    const { m, batch } = parameters as { m: number; batch: number }
    return `${sweep} ${batch > 1 ? `${batch} × ` : ''}${m}³`
  }
  if (kind === 'work') return `${sweep}: ${name} ${Object.values(parameters).join(' × ')}`
  const { x, y, k } = parameters
  return kind === 'occupancy'
    ? `occupancy of ${name}`
    : `${name} ${x}×${y}${k === undefined ? '' : ` K=${k}`}`
}
