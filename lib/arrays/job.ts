/**
 * Block jobs: work on matrices on disk, cut into blocks that can be computed anywhere, in any number of processes.
 *
 * A {@link BlockPlan} is JSON. Its jobs come in stages: those of a stage may run in any order and at once, and each stage
 * begins when the one before it is done. A job reads blocks that nobody changes any more and writes one block, under another
 * name first: so it may be done twice, by two workers at once, or be begun again after a worker died.
 */
import { createHash } from 'node:crypto'
import { show } from '../describe.js'
import { OptionError, ResumeError } from '../errors.js'
import type { Overflow } from '../product/options.js'
import type { Semiring } from '../variant-names.js'
import { isAddress, isS3, isZarr } from './names.js'

/** The types of the elements of arrays on disk. */
export type ArrayType = 'int16' | 'int32' | 'float32' | 'float64'

/** An array that is read: what it was when the plan was made. */
export interface PlannedInput {
  /** Absolute, or an address s3://bucket/name.zarr. */
  readonly path: string
  /** Rows and columns. */
  readonly shape: readonly [rows: number, cols: number]
  /** The type of its elements. */
  readonly dtype: ArrayType
  /** Of its files' names, sizes and times, or ETags: it is another one once any of them has changed. */
  readonly fingerprint: string
  /** The time of its latest change, in ms: a file that has changed since is another one. */
  readonly changedMs: number
}

/** How a Zarr array is laid out in files. */
export interface ZarrLayout {
  /** Rows and columns of a chunk. */
  readonly chunks: readonly [number, number]
  /** Rows and columns of a shard, a file of several chunks: multiples of the chunk's. */
  readonly shards?: readonly [number, number]
  /** How chunks are compressed. */
  readonly codec: 'none' | 'zstd' | 'gzip' | 'blosc'
}

/** The array that is written. */
export interface PlannedOutput {
  /** Absolute, or an address. It appears there when all jobs are done and {@link finish} was called. */
  readonly path: string
  /** Rows and columns. */
  readonly shape: readonly [rows: number, cols: number]
  /** The type of its elements. */
  readonly dtype: ArrayType
  /** Null for .npy. */
  readonly layout: ZarrLayout | null
}

interface AnyPlan {
  /** What the plan and its inputs are, as 32 hexadecimal digits: blocks carry it. */
  readonly id: string
  /** Another one each time that work is begun, also with the same inputs and options. */
  readonly begun: string
  /** The semiring of its products. */
  readonly semiring: Semiring
  /** What becomes of int32 results outside of the finite range; null for floats. */
  readonly overflow: Overflow | null
  /** What is written. */
  readonly output: PlannedOutput
  /** How many jobs there are in each stage. */
  readonly stages: readonly number[]
  /** The id of the plan that made the output, if it was complete when this one was made. */
  readonly madeBy?: string
  /**
   * The file in which a .npy output grows, as its file system tells it from others: so the output is known once it has its name. Left
   * out for a Zarr array, which says itself what made it, and if the file system doesn't tell files apart. It isn't in the id.
   */
  readonly file?: string
}

/** C = A ⊗ B: one stage, a job for each block of C. */
export interface MultiplyPlan extends AnyPlan {
  /** Tells it from the other plans. */
  readonly kind: 'multiply'
  /** M × K. */
  readonly a: PlannedInput
  /** K × N. */
  readonly b: PlannedInput
  /** Rows and columns of a block of C, and how deep the products are that it is accumulated from. */
  readonly block: { readonly rows: number; readonly cols: number; readonly depth: number }
}

/** The closure of a square matrix of weights: for each of its blocks on the diagonal that block, then its row and column, then the rest. */
export interface PathsPlan extends AnyPlan {
  /** Tells it from the other plans. */
  readonly kind: 'shortest-paths'
  /** The weights, N × N. */
  readonly a: PlannedInput
  /** Rows and columns of a block. */
  readonly block: { readonly size: number }
  /** What distances are held in until the last step: float64 if sums of int32 weights may leave int32 on the way. */
  readonly between: 'int32' | 'float32' | 'float64'
}

/** JSON: what any worker needs to do any of the jobs. */
export type BlockPlan = MultiplyPlan | PathsPlan

/** One block of a plan. */
export interface BlockJob {
  /** The same in every process: letters, digits and hyphens. */
  readonly name: string
  /** The stage that it belongs to, from 0. */
  readonly stage: number
}

/** What a job did. */
export interface BlockResult {
  /** The name of the job. */
  readonly job: string
  /** Whether it had been done before; then nothing else was done. */
  readonly already: boolean
  /** Where it was computed; null if it had been done before. */
  readonly backend: 'cuda' | 'cpu' | null
  /** The name of the GPU or processor; null if it had been done before. */
  readonly device: string | null
  /** Of the whole call, in milliseconds. */
  readonly totalMs: number
  /** Of its products, in milliseconds. */
  readonly kernelMs: number
  /** From files. */
  readonly bytesRead: number
  /** To files. */
  readonly bytesWritten: number
}

/** What the id of a plan is made from: all the rest of it, but for the file, which is made in a folder of that name. */
export const identity = (plan: object) =>
  createHash('sha256').update(JSON.stringify(plan)).digest('hex').slice(0, 32)

/** Throws ResumeError for a plan that isn't as it was made. It may have come through other hands. */
export function requirePlan(plan: BlockPlan): void {
  const { id, file: _, ...rest } = plan ?? {}
  if (identity(rest) === id && arePlaces(plan)) return
  throw new ResumeError(
    'the plan is not as it was made: pass on what planBlocks() gave, as JSON, without changes',
  )
}

/**
 * Whether only Zarr arrays are in buckets. What `roots` allow is decided by names: one that is taken for an address there must not be
 * taken for a path when it is opened.
 */
function arePlaces({ output, ...plan }: BlockPlan): boolean {
  const inputs = plan.kind === 'multiply' ? [plan.a, plan.b] : [plan.a]
  const isPlace = (path: unknown) =>
    typeof path === 'string' && (!isS3(path) || (isAddress(path) && isZarr(path)))
  if (![...inputs, output].every((array) => isPlace(array?.path))) return false
  return !isS3(output.path) || Boolean(output.layout)
}

/** How many blocks of `size` cover `length`. */
export const blocksIn = (length: number, size: number): number => Math.ceil(length / size)

/**
 * The jobs of a stage, in the order in which one process had best do them: neighbours share what they read.
 *
 * @param together - of a product: so many rows of blocks are done for each column of blocks of B, which then is read once for all of
 *   them; 1 if left out.
 * @throws Nothing.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * const plan = await planBlocks({ kind: 'multiply', a: 'a.npy', b: 'a.npy', c: 'c.npy', block: 1 })
 * console.log([...jobsOf(plan, 0)].map(({ name }) => name).join()) // c-0-0,c-0-1,c-1-1,c-1-0
 */
export function* jobsOf(plan: BlockPlan, stage: number, together = 1): Generator<BlockJob, void> {
  if (plan.kind === 'multiply') {
    const { output, block } = plan
    const [down, across] = [blocksIn(output.shape[0], block.rows), blocksIn(output.shape[1], block.cols)]
    for (let top = 0, group = 0; top < down; top += together, group++) {
      const rows = Array.from({ length: Math.min(together, down - top) }, (_, at) => top + at)
      for (let at = 0; at < across; at++) {
        // There and back, so that what was read last is what comes next.
        const j = group % 2 ? across - 1 - at : at
        for (const i of at % 2 ? [...rows].reverse() : rows) yield { name: `c-${i}-${j}`, stage }
      }
    }
    return
  }
  const count = blocksIn(plan.output.shape[0], plan.block.size)
  const k = Math.floor(stage / 3)
  const others = Array.from({ length: count }, (_, i) => i).filter((i) => i !== k)
  const name = (i: number, j: number) => ({ name: `k-${k}-${i}-${j}`, stage })
  if (stage % 3 === 0) yield name(k, k)
  else if (stage % 3 === 1) {
    for (const i of others) yield name(i, k)
    for (const j of others) yield name(k, j)
  } else {
    for (const [at, i] of others.entries()) {
      for (const j of at % 2 ? [...others].reverse() : others) yield name(i, j)
    }
  }
}

/** Throws OptionError unless the plan has such a stage. */
export function requireStage({ stages }: BlockPlan, stage: number): void {
  if (Number.isInteger(stage) && stage >= 0 && stage < stages.length) return
  throw new OptionError(`there is no stage ${show(stage)} in this plan: it has 0 … ${stages.length - 1}`)
}

/** Throws OptionError unless the plan has such a job: names come from elsewhere, and become names of files. */
export function requireJob(plan: BlockPlan, job: BlockJob): void {
  const { name, stage } = job ?? {}
  const numbers = /^(?:c|k-(\d{1,7}))-(\d{1,7})-(\d{1,7})$/.exec(name)?.slice(1).map(Number)
  const among = Number.isInteger(stage) && stage >= 0 && stage < plan.stages.length
  if (among && numbers && isJob(plan, stage, numbers)) return
  throw new OptionError(
    `there is no job ${show(name)} of stage ${show(stage)} in this plan: take jobs from jobsOf()`,
  )
}

function isJob(plan: BlockPlan, stage: number, [step, i, j]: readonly number[]): boolean {
  const [rows, cols] = plan.output.shape
  if (plan.kind === 'multiply') {
    return Number.isNaN(step) && i! < blocksIn(rows, plan.block.rows) && j! < blocksIn(cols, plan.block.cols)
  }
  const count = blocksIn(rows, plan.block.size)
  const k = Math.floor(stage / 3)
  const crossing = Number(i === k) + Number(j === k)
  return step === k && i! < count && j! < count && crossing === 2 - (stage % 3)
}

/**
 * All jobs, stage by stage.
 *
 * @throws Nothing.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * const plan = await planBlocks({ kind: 'multiply', a: 'a.npy', b: 'a.npy', c: 'c.npy', block: 1 })
 * console.log([...allJobs(plan)].length, plan.stages.join()) // 4 4
 */
export function* allJobs(plan: BlockPlan): Generator<BlockJob, void> {
  for (let stage = 0; stage < plan.stages.length; stage++) yield* jobsOf(plan, stage)
}
