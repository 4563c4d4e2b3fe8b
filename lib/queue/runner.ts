/** What computes blocks. */
import type { BlockJob, BlockPlan, BlockResult } from '../arrays/job.js'

export interface BlockOptions {
  readonly signal?: AbortSignal
  readonly backend?: 'cuda' | 'cpu'
  readonly device?: number
  readonly memory?: number
  readonly roots?: readonly string[]
}

export interface Runner {
  runBlock(plan: BlockPlan, job: BlockJob, options: BlockOptions): Promise<BlockResult>
  isDone(plan: BlockPlan, job: BlockJob): Promise<boolean>
  finish(plan: BlockPlan, options: { readonly signal?: AbortSignal }): Promise<void>
}
