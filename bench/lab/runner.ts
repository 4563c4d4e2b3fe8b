/** Runs jobs one after the other, and stores each measurement at once. */
import { writeText } from '../../lib/files.js'
import { FileError } from '../../lib/index.js'
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
import { runCases } from '../experiment.js'
import { checkOutputs } from '../output-file.js'
import { PIPE } from '../pipes.js'
import { addPoint, type Job, jobKey, type RunOptions } from './job.js'
import { caseOf } from './jobs.js'

interface RunRequest extends RunOptions {
  jobs: Job[]
  /** File for the results, to which points are added. Without it results stay in memory. */
  output?: string | undefined
  /** File for the results as CSV, which is written at the end. */
  csv?: string | undefined
  /** Whether points that the file contains already are measured again. */
  again: boolean
}

/** Returns whether machines are equal in all that must match to add results to a file. */
const sameMachine = (one: Machine, other: Machine) =>
  one.gpu.name === other.gpu.name &&
  one.driver === other.driver &&
  one.toolkit === other.toolkit &&
  one.mpmml === other.mpmml

const machineName = ({ gpu, driver, toolkit, mpmml }: Machine) =>
  `${gpu.name}, driver ${driver}, toolkit ${toolkit}, mpmml ${mpmml}`

async function earlierResults(output: string | undefined, here: Machine): Promise<Results> {
  if (output === undefined) return newResults(here)
  let earlier: Results
  try {
    earlier = await readResults(output)
  } catch (error) {
    // Only a missing file counts as empty. Other errors pass through, so that no other file is overwritten.
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

/**
 * Adds a point to results and writes their file. Points that another process has added to the file meanwhile
 * are added to the results.
 */
export async function storePoint(output: string, results: Results, point: Point): Promise<void> {
  const { points } = await earlierResults(output, results.machine)
  const known = new Set(results.points.map(jobKey))
  results.points.push(...points.filter((other) => !known.has(jobKey(other))))
  addPoint(results, point)
  await writeResults(output, results)
}

/** Runs work, and writes its results even if the work fails: then an error of writing doesn't replace that of the work. */
export async function finallyWrite(work: () => Promise<unknown>, write: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    await write().catch(() => {})
    throw error
  }
  await write()
}

/** Outcome of a run: the content of the file, and the points of this run in the order of its jobs. */
export interface RunOutcome {
  results: Results
  points: Point[]
}

/**
 * @throws ResourceError if no GPU can be used, and the signal's reason at an interrupt. Points measured until
 * then are in the file.
 */
export async function runJobs(request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
  if (request.output === PIPE || request.csv === PIPE) {
    throw new FileError(
      'results are kept in files, not on standard output: name one; --json and --csv print them',
    )
  }
  await checkOutputs([request.output, request.csv], [])
  const here = { ...machine(request.device), commit: commit() }
  const results = await earlierResults(request.output, here)
  const known = new Map(results.points.map((point) => [jobKey(point), point]))
  const unique = [...new Map(request.jobs.map((job) => [jobKey(job), job])).values()]
  const todo = unique.filter((job) => request.again || !known.has(jobKey(job)))
  const keep = async (point: Point) => {
    known.set(jobKey(point), point)
    if (request.output === undefined) addPoint(results, point)
    else await storePoint(request.output, results, point)
  }
  const cases = todo.map((job) => caseOf(job, request))
  await finallyWrite(
    () => runCases(cases, signal, keep),
    async () => {
      if (request.csv !== undefined) await writeText(request.csv, resultsCsv(results))
    },
  )
  return { results, points: unique.map((job) => known.get(jobKey(job))!) }
}
