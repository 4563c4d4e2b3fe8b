/** What computes blocks: the library, or what a test or a benchmark puts in its place. */
import { doneJobs, finish, isFinished, type RunBlockOptions, runBlock } from '../arrays/blocks.js'
import type { BlockJob, BlockPlan, BlockResult } from '../arrays/job.js'

interface Asking {
  /** Gives up. */
  readonly signal?: AbortSignal | undefined
}

export interface Runner {
  runBlock(plan: BlockPlan, job: BlockJob, options: RunBlockOptions): Promise<BlockResult>
  /** The names of the jobs of a stage that are done. */
  doneJobs(plan: BlockPlan, stage: number, options: Asking): Promise<Set<string>>
  /** Whether the output is there, and complete. */
  isFinished(plan: BlockPlan, options: Asking): Promise<boolean>
  finish(plan: BlockPlan, options: Asking): Promise<void>
}

export const blockRunner: Runner = {
  runBlock,
  doneJobs,
  isFinished: (plan, { signal }) => isFinished(plan, signal),
  finish,
}
