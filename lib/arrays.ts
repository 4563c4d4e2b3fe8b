/**
 * Products and paths of matrices on disk that are larger than memory: Zarr arrays, which need the optional
 * package zarrita, and .npy files. Also block jobs, for the distributed execution of these computations.
 *
 * @packageDocumentation
 */
import './globals.js'

export {
  doneJobs,
  type FinishOptions,
  finish,
  isDone,
  type RunBlockOptions,
  runBlock,
} from './arrays/blocks.js'
export {
  type ArrayType,
  allJobs,
  type BlockJob,
  type BlockPlan,
  type BlockResult,
  jobsOf,
  type MultiplyPlan,
  type PathsPlan,
  type PlannedInput,
  type PlannedOutput,
  type ZarrLayout,
} from './arrays/job.js'
export {
  type ArraysOptions,
  multiplyArrays,
  type PathsArraysOptions,
  shortestPathsArrays,
} from './arrays/multiply.js'
export type { ArraysProgress, RunOptions, WorkOptions } from './arrays/options.js'
export { type BlockRequest, type MultiplyRequest, type PathsRequest, planBlocks } from './arrays/plan.js'
export type { ArraysResult } from './arrays/run.js'
