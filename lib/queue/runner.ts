/** What computes blocks: the library, or what a test or a benchmark puts in its place. */
import { doneJobs, finish, isFinished, type RunBlockOptions, runBlock } from '../arrays/blocks.js'
import type { BlockJob, BlockPlan, BlockResult } from '../arrays/job.js'

export interface Runner {
  runBlock(plan: BlockPlan, job: BlockJob, options: RunBlockOptions): Promise<BlockResult>
  /** The names of the jobs of a stage that are done. */
  doneJobs(plan: BlockPlan, stage: number): Promise<Set<string>>
  /** Whether the output is there, and complete. */
  isFinished(plan: BlockPlan): Promise<boolean>
  finish(plan: BlockPlan, options: { readonly signal?: AbortSignal }): Promise<void>
}

export const blockRunner: Runner = { runBlock, doneJobs, isFinished, finish }
