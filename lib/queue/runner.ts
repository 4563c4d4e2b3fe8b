/** Interface of the code that computes blocks: the library, or a replacement in tests and benchmarks. */
import { BlockComputer, doneJobs, finish, isFinished, type RunBlockOptions } from '../arrays/blocks.js'
import type { BlockJob, BlockPlan, BlockResult } from '../arrays/job.js'

interface AbortOptions {
  /** Aborts the call. */
  readonly signal?: AbortSignal | undefined
}

/** Computes jobs one after the other. */
export interface Computer {
  runBlock(plan: BlockPlan, job: BlockJob, options: RunBlockOptions): Promise<BlockResult>
  /** Releases caches that are kept between jobs. */
  close(): Promise<void>
}

export interface Runner {
  computer(): Computer
  /** Returns the names of the completed jobs of a stage. */
  doneJobs(plan: BlockPlan, stage: number, options: AbortOptions): Promise<Set<string>>
  /** Returns whether the output exists and is complete. */
  isFinished(plan: BlockPlan, options: AbortOptions): Promise<boolean>
  finish(plan: BlockPlan, options: AbortOptions): Promise<void>
}

export const blockRunner: Runner = {
  computer: () => new BlockComputer(),
  doneJobs,
  isFinished: (plan, { signal }) => isFinished(plan, signal),
  finish,
}
