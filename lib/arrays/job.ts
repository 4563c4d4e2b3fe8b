/**
 * Block jobs: computations on matrices on disk, divided into blocks that any number of processes on any
 * machines can compute.
 *
 * A {@link BlockPlan} is JSON. Its jobs form stages: jobs of a stage may run concurrently and in any order,
 * and a stage begins when all jobs of the previous stage are done. A job reads blocks that no longer change
 * and writes one block atomically. So two workers may compute one job concurrently, and a job may be repeated
 * after its worker died.
 */

import { createHash } from 'node:crypto'
import type { BackendName } from '../backend-name.js'
import { show } from '../describe.js'
import { widened } from '../element-types.js'
import { OptionError, ResumeError } from '../errors.js'
import { MAX_DIMENSION } from '../matrix.js'
import { addon } from '../native.js'
import type { Overflow } from '../product/options.js'
import type { DataType, Semiring } from '../variant-names.js'
import { isAddress, isS3, isZarr } from './names.js'

/** Element type of an array on disk. */
export type ArrayType = 'int16' | 'int32' | 'float32' | 'float64'
export const arrayTypes: readonly ArrayType[] = ['int16', 'int32', 'float32', 'float64']

/** Returns the type of results for operands of an element type. */
export const resultType = (dtype: ArrayType): ArrayType & DataType =>
  dtype === 'int16' ? widened[dtype] : dtype

/** State of an input array at the time of planning. */
export interface PlannedInput {
  /** Absolute path, or an address s3://bucket/name.zarr. */
  readonly path: string
  /** Rows and columns. */
  readonly shape: readonly [rows: number, cols: number]
  /** The type of its elements. */
  readonly dtype: ArrayType
  /**
   * Hash of the names, sizes and modification times (in buckets: ETags) of the array's files. It differs
   * after a change of any file.
   */
  readonly fingerprint: string
  /** Latest modification time of the array's files in ms. A file that was modified later is refused. */
  readonly changedMs: number
}

/** The array that is written. */
export interface PlannedOutput {
  /**
   * Absolute path, or an address. The output appears there when all jobs are done and {@link finish} was
   * called.
   */
  readonly path: string
  /** Rows and columns. */
  readonly shape: readonly [rows: number, cols: number]
  /** The type of its elements. */
  readonly dtype: ArrayType
  /** Layout in files; null for a .npy file. */
  readonly layout: {
    /** Rows and columns of a chunk. */
    readonly chunks: readonly [number, number]
    /** Rows and columns of a shard, a file of several chunks: multiples of the chunk's rows and columns. */
    readonly shards?: readonly [number, number]
    /** Compression of chunks. */
    readonly codec: 'none' | 'zstd' | 'gzip' | 'blosc'
  } | null
}

/** Layout of a Zarr array in files. */
export type ZarrLayout = NonNullable<PlannedOutput['layout']>

interface PlanBase {
  /** Hash of the plan and its inputs, 32 hexadecimal digits. Each block carries it. */
  readonly id: string
  /** Unique id of each start of the work, even with the same inputs and options. */
  readonly begun: string
  /** The semiring of its products. */
  readonly semiring: Semiring
  /** Treatment of int32 results outside the finite range; null for floats. */
  readonly overflow: Overflow | null
  /** Description of the output. */
  readonly output: PlannedOutput
  /** Number of jobs of each stage. */
  readonly stages: readonly number[]
  /** Id of the plan that made the output, if the output was complete when this plan was made. */
  readonly madeBy?: string
  /**
   * Identity of the file or folder that had the output's name when the work began with `overwrite`. Only that
   * one is replaced.
   */
  readonly replaces?: string
  /**
   * File system's identity of the unfinished .npy file, by which the output is recognized under its final
   * name. Omitted for a Zarr array, whose metadata names its plan, and for file systems without file ids. The
   * plan's id doesn't depend on it.
   */
  readonly file?: string
}

/** C = A ⊗ B: one stage, a job for each block of C. */
export interface MultiplyPlan extends PlanBase {
  /** Distinguishes the kinds of plans. */
  readonly kind: 'multiply'
  /** A, M × K. */
  readonly a: PlannedInput
  /** B, K × N. */
  readonly b: PlannedInput
  /** Rows and columns of a block of C, and depth (part of K) of the products that are accumulated in it. */
  readonly block: { readonly rows: number; readonly cols: number; readonly depth: number }
}

/**
 * Closure of a square matrix of weights by blocked Floyd–Warshall: each diagonal block has a stage for
 * itself, one for its row and column, and one for the remaining blocks.
 */
export interface PathsPlan extends PlanBase {
  /** Distinguishes the kinds of plans. */
  readonly kind: 'shortest-paths'
  /** The weights, N × N. */
  readonly a: PlannedInput
  /** Rows and columns of a block. */
  readonly block: { readonly size: number }
  /** Type of intermediate distances: float64 if intermediate sums of int32 weights may exceed int32. */
  readonly between: 'int32' | 'float32' | 'float64'
}

/** Plan of block jobs, as JSON that has all facts that a worker needs for any of the jobs. */
export type BlockPlan = MultiplyPlan | PathsPlan

/**
 * Best paths of a sparse graph: one stage with a job for each block of rows. One process, which has the graph
 * in memory, computes all jobs.
 */
export interface GraphPlan extends PlanBase {
  readonly kind: 'graph-paths'
  readonly a: PlannedGraph
  /** Number of rows of a block. */
  readonly block: { readonly rows: number }
}

/** State of an input graph at the time of planning. */
export interface PlannedGraph {
  /** Path of the file; null if the graph was passed as an edge list. */
  readonly path: string | null
  readonly nodes: number
  readonly edges: number
  readonly dtype: ArrayType
  /** Hash of the nodes and edges, independent of their source. */
  readonly fingerprint: string
  /** Hash of the sources, the targets and the limit. */
  readonly asked: string
}

/** Plan of any resumable work. */
export type AnyPlan = BlockPlan | GraphPlan

/** Returns the arrays on disk that a plan reads. */
export const inputsOf = (plan: AnyPlan): PlannedInput[] =>
  plan.kind === 'multiply' ? [plan.a, plan.b] : plan.kind === 'graph-paths' ? [] : [plan.a]

/**
 * Returns the sizes of the blocks of a plan, and the depth of the products that are accumulated in a block.
 */
export function blockOf(plan: AnyPlan): MultiplyPlan['block'] {
  if (plan.kind === 'multiply') return plan.block
  if (plan.kind === 'graph-paths') {
    return { rows: plan.block.rows, cols: plan.output.shape[1], depth: plan.a.nodes }
  }
  const { size } = plan.block
  return { rows: size, cols: size, depth: size }
}

/** One block of a plan. */
export interface BlockJob {
  /** Name of the job, equal in every process: letters, digits and hyphens. */
  readonly name: string
  /** Index of the job's stage, from 0. */
  readonly stage: number
}

/** Result of a job. */
export interface BlockResult {
  /** The name of the job. */
  readonly job: string
  /** Whether the block existed before, so that this call computed nothing. */
  readonly already: boolean
  /** Backend of the job; null if the job had been done before. */
  readonly backend: BackendName | null
  /** Name of the GPU or processor; null if the block existed before. */
  readonly device: string | null
  /** Durations in milliseconds. */
  readonly timing: {
    /** Duration of the whole call. */
    readonly totalMs: number
    /** Duration of the products. */
    readonly kernelMs: number
  }
  /** Bytes read from files. */
  readonly bytesRead: number
  /** Bytes written to files. */
  readonly bytesWritten: number
}

/**
 * Returns the fields that determine the id of a plan: all but the id itself and the file, whose folder is
 * named by the id.
 */
export const identity = (plan: object) =>
  createHash('sha256').update(JSON.stringify(plan)).digest('hex').slice(0, 32)

/**
 * Throws ResumeError for a plan that was modified. The plan may be untrusted: its id alone proves nothing,
 * because anyone can compute the hash.
 */
export function assertPlan(plan: AnyPlan, isTaken = isBlockPlan): void {
  const { id, file: _, ...rest } = plan ?? {}
  if (typeof id === 'string' && isIdentity(rest, id) && isTaken(plan) && isPossible(plan)) return
  throw changedPlan()
}

/** Returns whether the jobs of a plan can be done by any process. */
const isBlockPlan = ({ kind }: AnyPlan): boolean => kind === 'multiply' || kind === 'shortest-paths'

/** Throws ResumeError for a modified plan of any work. */
export const assertAnyPlan = (plan: AnyPlan): void =>
  assertPlan(plan, (made) => isBlockPlan(made) || made.kind === 'graph-paths')

function isIdentity(plan: object, id: string): boolean {
  try {
    return identity(plan) === id
  } catch {
    // The plan can't be converted to JSON.
    return false
  }
}

const changedPlan = () =>
  new ResumeError('the plan is not as it was made: pass on what planBlocks() gave, as JSON, without changes')

/**
 * Throws ResumeError unless a plan has the fields that determine its jobs. Unlike {@link assertPlan} it takes
 * constant time for any number of stages.
 */
function assertSizes(plan: BlockPlan): void {
  const { kind, output, block, stages } = (plan ?? {}) as { [Name in keyof BlockPlan]?: unknown }
  const { shape } = (output ?? {}) as Unknown
  const { rows, cols, size } = (block ?? {}) as Unknown
  const sizes = kind === 'multiply' ? [rows, cols] : kind === 'shortest-paths' ? [size] : []
  const isRight = sizes.length > 0 && sizes.every(isCount) && isPair(shape, isDimension)
  if (!isRight || !Array.isArray(stages)) throw changedPlan()
}

/** Limit of the products of a block and of the blocks of a diagonal, because both are kept in lists. */
export const MAX_STEPS = 2 ** 18

type Unknown = Record<string, unknown>

const isSize = (value: unknown, least: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least

function isPair(value: unknown, isOne: (size: unknown) => boolean): value is [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every(isOne)
}

const isDimension = (size: unknown) => isSize(size, 0) && size <= MAX_DIMENSION
const isCount = (size: unknown) => isSize(size, 1)

/**
 * Returns whether a location is valid: only Zarr arrays may be in buckets. `roots` are checked by name, so a
 * name that is an address there must not be opened as a path.
 */
const isPlace = (path: unknown): path is string =>
  typeof path === 'string' && (!isS3(path) || (isAddress(path) && isZarr(path)))

function isArray(array: PlannedInput | PlannedOutput | undefined): boolean {
  return isPlace(array?.path) && isPair(array.shape, isDimension) && arrayTypes.includes(array.dtype)
}

function isLayout(layout: unknown): layout is ZarrLayout {
  const codecs: readonly unknown[] = ['none', 'zstd', 'gzip', 'blosc'] satisfies ZarrLayout['codec'][]
  const { chunks, shards, codec } = (layout ?? {}) as Unknown
  if (!isPair(chunks, isCount) || !codecs.includes(codec)) return false
  return (
    shards === undefined || (isPair(shards, isCount) && shards.every((size, at) => size % chunks[at]! === 0))
  )
}

/** Returns whether blocks of this size never share a file. */
function isUnit(size: unknown, axis: 0 | 1, { shape, layout }: PlannedOutput): size is number {
  if (!isCount(size)) return false
  const unit = layout ? (layout.shards ?? layout.chunks)[axis] : 1
  return (size as number) % unit === 0 || (size as number) >= shape[axis]
}

/**
 * Returns whether the parts of a plan are consistent. The memory of blocks then follows from the arrays,
 * whose shapes and types are compared on opening.
 */
function isPossible(plan: AnyPlan): boolean {
  const { begun, semiring, overflow, a, output, stages } = plan
  if (!isArray(output) || typeof begun !== 'string') return false
  if (isZarr(output.path) ? !isLayout(output.layout) : output.layout !== null) return false
  if (!addon.semirings.some(({ name }) => name === semiring)) return false
  if (!arrayTypes.includes(a?.dtype) || output.dtype !== resultType(a.dtype)) return false
  const policies: readonly unknown[] = output.dtype === 'int32' ? addon.overflowPolicies : [null]
  const expected = policies.includes(overflow) ? stagesOf(plan) : null
  return expected !== null && JSON.stringify(stages) === JSON.stringify(expected)
}

/** Returns the number of jobs in each stage; null if the plan isn't possible. */
function stagesOf(plan: AnyPlan): number[] | null {
  if (plan.kind === 'graph-paths') return stagesOfGraph(plan)
  if (!isArray(plan.a)) return null
  return plan.kind === 'multiply' ? stagesOfProduct(plan) : stagesOfPaths(plan)
}

function stagesOfGraph({ a, output, block }: GraphPlan): number[] | null {
  if (typeof a.fingerprint !== 'string' || typeof a.asked !== 'string') return null
  return isUnit(block?.rows, 0, output) ? [blocksIn(output.shape[0], block.rows)] : null
}

function stagesOfProduct({ a, b, output, block }: MultiplyPlan): number[] | null {
  if (!isArray(b) || resultType(b.dtype) !== output.dtype || b.shape[0] !== a.shape[1]) return null
  if (output.shape[0] !== a.shape[0] || output.shape[1] !== b.shape[1]) return null
  const { rows, cols, depth } = (block ?? {}) as Unknown
  if (!isUnit(rows, 0, output) || !isUnit(cols, 1, output) || !isSize(depth, 1)) return null
  if (blocksIn(a.shape[1], depth) > MAX_STEPS) return null
  return [blocksIn(output.shape[0], rows) * blocksIn(output.shape[1], cols)]
}

function stagesOfPaths({ a, output, block, between }: PathsPlan): number[] | null {
  const [n] = a.shape
  if ([...a.shape, ...output.shape].some((size) => size !== n)) return null
  const { dtype } = output
  if (between !== dtype && !(dtype === 'int32' && between === 'float64')) return null
  const { size } = (block ?? {}) as Unknown
  if (!isUnit(size, 0, output) || !isUnit(size, 1, output)) return null
  const count = blocksIn(n, size)
  return count > MAX_STEPS ? null : pathStages(count)
}

/**
 * Returns the number of jobs of each stage of blocked Floyd–Warshall over `count` blocks a side: diagonal,
 * row and column, remainder.
 */
export const pathStages = (count: number): number[] =>
  Array.from({ length: count }, () => [1, 2 * (count - 1), (count - 1) ** 2]).flat()

/** Returns the number of blocks of `size` that cover `length`. */
export const blocksIn = (length: number, size: number): number => Math.ceil(length / size)

/**
 * Yields the jobs of a stage in the order that is best for one process: neighbouring jobs share inputs.
 *
 * @param together - for a product, the number of rows of blocks that are computed for each column of blocks
 * of B, which is then read once for all of them. Default 1.
 * @throws ArgumentError (ERR_MPMML_OPTION) if the plan has no such stage, or `together` isn't an integer of 1 or more; FileError
 *   (ERR_MPMML_RESUME) for any other value than a plan.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * const plan = await planBlocks({ kind: 'multiply', a: 'a.npy', b: 'a.npy', c: 'c.npy', block: 1 })
 * console.log([...jobsOf(plan, 0)].map(({ name }) => name).join()) // c-0-0,c-0-1,c-1-1,c-1-0
 */
export function jobsOf(plan: BlockPlan, stage: number, together = 1): Generator<BlockJob, void> {
  assertSizes(plan)
  assertStage(plan, stage)
  if (!isCount(together)) {
    throw new OptionError(`together must be an integer of 1 or more, but it is ${show(together)}`)
  }
  return jobsIn(plan, stage, together)
}

/** Returns the jobs of a stage of a plan that was validated. */
export function* jobsIn(plan: AnyPlan, stage: number, together = 1): Generator<BlockJob, void> {
  if (plan.kind === 'graph-paths') {
    for (let index = 0; index < plan.stages[0]!; index++) yield { name: `r-${index}`, stage }
    return
  }
  if (plan.kind === 'multiply') {
    const { output, block } = plan
    const [down, across] = [blocksIn(output.shape[0], block.rows), blocksIn(output.shape[1], block.cols)]
    for (let top = 0, group = 0; top < down; top += together, group++) {
      const rows = Array.from({ length: Math.min(together, down - top) }, (_, at) => top + at)
      for (let at = 0; at < across; at++) {
        // The direction alternates, so that the blocks that were read last are used next.
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
export function assertStage(plan: BlockPlan, stage: number): void {
  if (hasStage(plan, stage)) return
  throw new OptionError(`there is no stage ${show(stage)} in this plan: it has 0 … ${plan.stages.length - 1}`)
}

const hasStage = ({ stages }: AnyPlan, stage: unknown) => isSize(stage, 0) && stage < stages.length

const NUMBER = '(0|[1-9]\\d{0,6})'
/**
 * Each number has one spelling, because a second name of a block would have it computed and counted twice.
 */
const jobName = new RegExp(`^(?:c|r|k-${NUMBER})(?:-${NUMBER})?-${NUMBER}$`)

/** First letter of job names by kind of plan. */
const letters: Record<AnyPlan['kind'], string> = { multiply: 'c', 'shortest-paths': 'k', 'graph-paths': 'r' }

/**
 * Returns the row and the column of a block, which end the name of its job. A block of whole rows has only
 * the last number.
 */
export const placeOf = ({ name }: BlockJob) => name.split('-').slice(-2).map(Number) as [number, number]

/** Throws OptionError unless the plan has such a job: names are untrusted input and become names of files. */
export function assertJob(plan: BlockPlan, job: BlockJob): void {
  if (hasJob(plan, job)) return
  const { name, stage } = job ?? {}
  throw new OptionError(
    `there is no job ${show(name)} of stage ${show(stage)} in this plan: take jobs from jobsOf()`,
  )
}

/** Returns the names that belong to jobs of a stage, because the folder of marks may contain other files. */
export const jobNames = (plan: AnyPlan, stage: number, names: Iterable<string>): Set<string> =>
  new Set([...names].filter((name) => hasJob(plan, { name, stage })))

function hasJob(plan: AnyPlan, job: BlockJob): boolean {
  const { name, stage } = job ?? {}
  const isOfKind = typeof name === 'string' && name.startsWith(letters[plan.kind])
  const numbers = isOfKind ? jobName.exec(name)?.slice(1).map(Number) : undefined
  return numbers !== undefined && hasStage(plan, stage) && isJob(plan, stage, numbers)
}

function isJob(plan: AnyPlan, stage: number, [step, i, j]: readonly number[]): boolean {
  const [rows, cols] = plan.output.shape
  if (plan.kind === 'graph-paths') return Number.isNaN(step) && Number.isNaN(i) && j! < plan.stages[0]!
  if (plan.kind === 'multiply') {
    return Number.isNaN(step) && i! < blocksIn(rows, plan.block.rows) && j! < blocksIn(cols, plan.block.cols)
  }
  const count = blocksIn(rows, plan.block.size)
  const k = Math.floor(stage / 3)
  const crossing = Number(i === k) + Number(j === k)
  return step === k && i! < count && j! < count && crossing === 2 - (stage % 3)
}

/**
 * Yields all jobs of a plan, stage by stage.
 *
 * @throws FileError (ERR_MPMML_RESUME) for any other value than a plan.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * const plan = await planBlocks({ kind: 'multiply', a: 'a.npy', b: 'a.npy', c: 'c.npy', block: 1 })
 * console.log([...allJobs(plan)].length, plan.stages.join()) // 4 4
 */
export function allJobs(plan: BlockPlan): Generator<BlockJob, void> {
  assertSizes(plan)
  return jobsOfStages(plan)
}

function* jobsOfStages(plan: BlockPlan): Generator<BlockJob, void> {
  for (let stage = 0; stage < plan.stages.length; stage++) yield* jobsOf(plan, stage)
}
