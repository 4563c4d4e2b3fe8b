/**
 * Products and paths of matrices on disk that are larger than memory: Zarr arrays, which need the optional
 * package zarrita, and .npy files. Also block jobs, for the distributed execution of these computations.
 *
 * @packageDocumentation
 */
import './globals.js'

export {
  doneJobs,
  finish,
  isDone,
  runBlock,
} from './arrays/blocks.js'
export {
  type ArrayType,
  allJobs,
  type BlockJob,
  type BlockPlan,
  type BlockResult,
  jobsOf,
  type PlannedInput,
  type PlannedOutput,
} from './arrays/job.js'
export {
  type ArraysOptions,
  multiplyArrays,
  type PathsArraysOptions,
  shortestPathsArrays,
} from './arrays/multiply.js'
export type { ArraysProgress } from './arrays/options.js'
export { planBlocks } from './arrays/plan.js'
export type { ArraysResult } from './arrays/run.js'
