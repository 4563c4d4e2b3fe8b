/** Unfinished work on an array, wherever the array will be. */
import type { BlockJob, BlockPlan } from './job.js'
import type { Storage } from './storage.js'

/** What there is of work, until the array has its name: its plan, the array, intermediate blocks, and a mark for each block that is done. */
export interface Work {
  /** Where all this is. */
  readonly storage: Storage
  /** Files that are being written. */
  readonly temporary: string
  /** The array, under another name. */
  readonly array: string
  /** What belongs to this plan. */
  readonly own: string
  create(): Promise<void>
  /** From now on the work can be resumed. */
  writePlan(plan: BlockPlan): Promise<void>
  /** Removes what processes of this machine were writing when they were killed. */
  sweep(): Promise<void>
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
  /** Gives the array its name. Other processes may do the same at the same moment: then this throws if the array is gone. */
  place(output: string): Promise<void>
  /** Removes the rest once the array has its name, and nothing else: the plan goes last, so that whoever resumes finds what is to be removed. */
  remove(output: string): Promise<void>
}

/** The work on outputs of one storage, and what may be in its way. */
export interface Works {
  /** @param id - the plan's */
  open(output: string, id: string): Work
  /** The plan that was begun for an output; null if there is none. */
  begunPlan(output: string): Promise<BlockPlan | null>
  /** Removes unfinished work, with a plan or without; all stays if anything isn't of this library: then what that is, otherwise null. */
  removeBegun(output: string): Promise<string | null>
  /** Whether something has the output's name. */
  isTaken(output: string): Promise<boolean>
  /** Whether nothing has the output's name but one of its kind: of Zarr an array, not a group. */
  isReplaceable(output: string): Promise<boolean>
  /** Removes an output that another is to replace, if that can't be done at once when the other is complete. */
  clear(output: string): Promise<void>
}

/** What the mark of a block that is done says: of which plan it is. */
export const markOf = (plan: BlockPlan, job: BlockJob) => JSON.stringify({ plan: plan.id, job: job.name })
