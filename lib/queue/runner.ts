/** What computes blocks: the library, or what a test or a benchmark puts in its place. */
import { finish, isDone, type RunBlockOptions, runBlock } from '../arrays/blocks.js'
import type { BlockJob, BlockPlan, BlockResult } from '../arrays/job.js'

export interface Runner {
  runBlock(plan: BlockPlan, job: BlockJob, options: RunBlockOptions): Promise<BlockResult>
  isDone(plan: BlockPlan, job: BlockJob): Promise<boolean>
  finish(plan: BlockPlan, options: { readonly signal?: AbortSignal }): Promise<void>
}

export const blockRunner: Runner = { runBlock, isDone, finish }
