/** Unfinished work on an array, wherever the array will be. */
import type { BlockJob, BlockPlan } from './job.js'
import { isS3 } from './s3.js'
import * as folder from './work-folder.js'
import * as prefix from './work-prefix.js'

/** What there is of work, until the array has its name: its plan, the array, intermediate blocks, and a mark for each block that is done. */
export interface Work {
  /** Files that are being written. */
  readonly temporary: string
  /** The array, under another name. */
  readonly array: string
  /** What belongs to this plan. */
  readonly own: string
  create(): Promise<void>
  /** From now on the work can be resumed. */
  writePlan(plan: BlockPlan): Promise<void>
  /** Says that a block is done, and of what it was made. Its files must have their names by now. */
  mark(plan: BlockPlan, job: BlockJob): Promise<void>
  isMarked(plan: BlockPlan, job: BlockJob): Promise<boolean>
  /** The names of the jobs of a stage that are done. */
  marked(stage: number): Promise<Set<string>>
  /** Where an intermediate block is: that of a matrix after so many steps. */
  step(step: number, row: number, col: number): string
  /** Intermediate blocks that nobody reads any more. */
  removeStep(step: number): Promise<void>
  /** Whether the array is still here. Without it, it has got its name, whatever else is left here. */
  isGrown(): Promise<boolean>
  /** Gives the array its name. Other processes may do the same at the same moment. */
  place(output: string): Promise<void>
  /** Removes the rest once the array has its name: the plan goes last, so that whoever resumes finds what is to be removed. */
  remove(output: string): Promise<void>
}

/** @param id - the plan's */
export const openWork = (output: string, id: string): Work =>
  isS3(output) ? new prefix.WorkPrefix(output, id) : new folder.WorkFolder(output, id)

/** The plan that was begun for an output; null if there is none. */
export const begunPlan = (output: string): Promise<BlockPlan | null> =>
  isS3(output) ? prefix.begunPlan(output) : folder.begunPlan(output)

/** Whether there is unfinished work, with a plan or without. */
export const isBegun = (output: string): Promise<boolean> =>
  isS3(output) ? prefix.isBegun(output) : folder.isBegun(output)

export const removeBegun = (output: string): Promise<void> =>
  isS3(output) ? prefix.removeBegun(output) : folder.removeBegun(output)
