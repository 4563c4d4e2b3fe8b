/** What computes blocks: the library, or what a test or a benchmark puts in its place. */
import { BlockComputer, doneJobs, finish, isFinished, type RunBlockOptions } from '../arrays/blocks.js'
import type { BlockJob, BlockPlan, BlockResult } from '../arrays/job.js'

interface Asking {
  /** Gives up. */
  readonly signal?: AbortSignal | undefined
}

/** Does jobs one after the other. */
export interface Computer {
  runBlock(plan: BlockPlan, job: BlockJob, options: RunBlockOptions): Promise<BlockResult>
  /** Lets go of what it keeps between jobs. */
  close(): Promise<void>
}

export interface Runner {
  computer(): Computer
  /** The names of the jobs of a stage that are done. */
  doneJobs(plan: BlockPlan, stage: number, options: Asking): Promise<Set<string>>
  /** Whether the output is there, and complete. */
  isFinished(plan: BlockPlan, options: Asking): Promise<boolean>
  finish(plan: BlockPlan, options: Asking): Promise<void>
}

export const blockRunner: Runner = {
  computer: () => new BlockComputer(),
  doneJobs,
  isFinished: (plan, { signal }) => isFinished(plan, signal),
  finish,
}
