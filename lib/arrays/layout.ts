/** Layout of outputs, and division of the work on them into blocks. */
import { randomBytes } from 'node:crypto'
import { assertSemiringType, readSemiring } from '../built-in-semirings.js'
import { isIntegers } from '../elements.js'
import { DTypeError, OptionError, ShapeError } from '../errors.js'
import { greatestDivisor } from '../integers.js'
import { addon } from '../native.js'
import type { Overflow } from '../product/options.js'
import { assertOrder } from '../semiring-order.js'
import type { Semiring } from '../variant-names.js'
import type { ArraySource } from './array-source.js'
import { extraBytes } from './array-writer.js'
import { type BlockTypes, blockSize, hostBytes } from './block-size.js'
import {
  type AnyPlan,
  type ArrayType,
  blocksIn,
  identity,
  MAX_STEPS,
  type MultiplyPlan,
  type PathsPlan,
  type PlannedInput,
  type PlannedOutput,
  pathStages,
  resultType,
  type ZarrLayout,
} from './job.js'
import { isNpy } from './names.js'
import type { ReadWork } from './options.js'
import { greatestWeight } from './range-of.js'

/** Default side of the output's chunks: 4 MiB of int32. */
export const USUAL_CHUNK = 1024

/** Minimum side of a default chunk: smaller files take longer to open than to read. */
const MIN_CHUNK = 64

/** Returns a plan with its id. */
export function identified<Plan extends Omit<AnyPlan, 'id'>>(
  plan: Plan & { id?: string },
): Plan & { id: string } {
  const { id: _, ...rest } = plan
  return { ...(rest as Plan), id: identity(rest) }
}

/** Validated options of any work on arrays, with their defaults. */
export interface PlanRequest extends Readonly<ReadWork> {
  readonly memory: number
  readonly semiring: Semiring
  readonly output: string
}

export function readPolicy(dtype: ArrayType, overflow: Overflow | undefined): Overflow | null {
  if (isIntegers(dtype)) return overflow ?? 'throw'
  if (overflow === undefined) return null
  throw new OptionError(
    `option overflow is for integers, but the arrays are of ${dtype}, which has infinities for what is too large: leave it out`,
  )
}

function assertType(semiring: Semiring, dtype: ArrayType): void {
  const index = addon.semirings.findIndex(({ name }) => name === semiring)
  assertSemiringType(index, addon.dataTypes.indexOf(resultType(dtype)))
}

export function planOutput(
  request: PlanRequest,
  shape: readonly [number, number],
  dtype: ArrayType,
  types: BlockTypes,
): PlannedOutput {
  const { output: path, block, shards, codec = 'none' } = request
  if (isNpy(path)) {
    for (const name of ['chunks', 'shards', 'codec'] as const) {
      if (request[name] === undefined) continue
      throw new OptionError(`option ${name} is for Zarr outputs, but the output is ${path}: leave it out`)
    }
    return { path, shape, dtype, layout: null }
  }
  const usual = usualChunk(request.memory, types)
  const chunks = request.chunks ?? [
    chunkOf(usual, shape[0], block.rows),
    chunkOf(usual, shape[1], block.cols),
  ]
  if (shards && (shards[0] % chunks[0] || shards[1] % chunks[1])) {
    throw new OptionError(`option shards must be multiples of the chunks, [${chunks}], but it is [${shards}]`)
  }
  const layout: ZarrLayout = shards ? { chunks, shards, codec } : { chunks, codec }
  return { path, shape, dtype, layout }
}

/**
 * Returns the default side of a chunk. It is smaller if memory is scarce, because a block consists of whole
 * chunks.
 */
function usualChunk(memory: number, types: BlockTypes): number {
  let size = USUAL_CHUNK
  // Half of the memory is reserved for the buffers of chunks.
  while (size > MIN_CHUNK && hostBytes(size, types) > memory / 2) size /= 2
  return size
}

/** Returns a chunk size that divides the requested block size, if one was requested. */
export function chunkOf(usual: number, length: number, block: number | undefined): number {
  const size = block === undefined || block % usual === 0 ? usual : block
  return Math.max(1, Math.min(size, length))
}

/** Returns the rows and columns of a file, which only one block may write. */
export const unitOf = ({ layout }: PlannedOutput): readonly [number, number] =>
  layout?.shards ?? layout?.chunks ?? [1, 1]

const commonMultiple = (x: number, y: number) => (x / greatestDivisor(x, y)) * y

/** Returns the greatest multiple of `unit` up to `size`; a multiple of `wish` as well if one fits. */
export function aligned(size: number, unit: number, wish: number): number {
  const both = commonMultiple(unit, wish)
  const step = both <= size ? both : unit
  return Math.max(step, Math.floor(size / step) * step)
}

/** Throws OptionError for a requested block size with which two blocks would write one file. */
export function assertMultiple(size: number | undefined, unit: number, length: number, name: string): void {
  if (size === undefined || size % unit === 0 || size >= length) return
  throw new OptionError(
    `option block: ${name} must be a multiple of ${unit}, what one file of the output has, but it is ${size}`,
  )
}

/** Throws OptionError if a block size gives too many blocks for a list. */
function assertAtMost(length: number, size: number, name: string): void {
  if (blocksIn(length, size) <= MAX_STEPS) return
  throw new OptionError(
    `option block: ${name} must be at least ${Math.ceil(length / MAX_STEPS)} for ${length} rows and columns, but it is ${size}`,
  )
}

export function planMultiply(
  [sourceA, sourceB]: readonly [ArraySource, ArraySource],
  [a, b]: readonly [PlannedInput, PlannedInput],
  request: PlanRequest,
): MultiplyPlan {
  const { block, semiring } = request
  if (a.shape[1] !== b.shape[0]) {
    throw new ShapeError(
      `${a.path} has ${a.shape[1]} columns and ${b.path} has ${b.shape[0]} rows: the inner dimensions of a product must be equal`,
    )
  }
  if (resultType(a.dtype) !== resultType(b.dtype)) {
    throw new DTypeError(
      `${a.path} is of ${a.dtype} and ${b.path} of ${b.dtype}: both must be of one type; int16 goes with int32`,
    )
  }
  assertType(semiring, a.dtype)
  const result = resultType(a.dtype)
  const types: BlockTypes = { operand: a.dtype === b.dtype ? a.dtype : 'int32', result }
  const output = planOutput(request, [a.shape[0], b.shape[1]], result, types)
  const unit = unitOf(output)
  const extra = extraBytes(output) + sourceA.extraBytes + sourceB.extraBytes
  const lengths = [output.shape[0], output.shape[1], a.shape[1]] as const
  const size = blockSize(request.memory, Math.max(...lengths, 1), Math.max(...unit), extra, types)
  assertMultiple(block.rows, unit[0], lengths[0], 'rows')
  assertMultiple(block.cols, unit[1], lengths[1], 'cols')
  const blocks = {
    rows: block.rows ?? aligned(size, unit[0], sourceA.unit[0]),
    cols: block.cols ?? aligned(size, unit[1], sourceB.unit[1]),
    depth: block.depth ?? aligned(size, 1, commonMultiple(sourceA.unit[1], sourceB.unit[0])),
  }
  assertAtMost(lengths[2], blocks.depth, 'depth')
  return identified({
    kind: 'multiply' as const,
    begun: beginning(),
    semiring,
    overflow: readPolicy(a.dtype, request.overflow),
    a,
    b,
    output,
    block: blocks,
    stages: [blocksIn(lengths[0], blocks.rows) * blocksIn(lengths[1], blocks.cols)],
  })
}

export async function planPaths(
  source: ArraySource,
  a: PlannedInput,
  request: PlanRequest,
): Promise<PathsPlan> {
  const { semiring } = request
  const [n, cols] = a.shape
  if (n !== cols) {
    throw new ShapeError(
      `${a.path} has the shape [${a.shape}], but weights must be square: row i has the edges that leave node i`,
    )
  }
  assertOrder(readSemiring(semiring))
  assertType(semiring, a.dtype)
  const policy = readPolicy(a.dtype, request.overflow)
  if (policy === 'wrap') {
    throw new OptionError("option overflow must be 'throw' or 'saturate' for paths, but it is 'wrap'")
  }
  const between = await typeBetween(source, a, request)
  const types: BlockTypes = { operand: between, result: between }
  const output = planOutput(request, [n, n], resultType(a.dtype), types)
  const unit = commonMultiple(...(unitOf(output) as [number, number]))
  const size =
    squareSize(request.block) ??
    aligned(
      blockSize(request.memory, Math.max(n, 1), unit, extraBytes(output) + source.extraBytes, types),
      unit,
      commonMultiple(...(source.unit as [number, number])),
    )
  assertMultiple(size, unit, n, 'size')
  assertAtMost(n, size, 'size')
  return identified({
    kind: 'shortest-paths' as const,
    begun: beginning(),
    semiring,
    overflow: policy,
    a,
    output,
    block: { size },
    between,
    stages: pathStages(blocksIn(n, size)),
  })
}

/** Returns the requested side of square blocks. Throws OptionError if the given sizes differ. */
function squareSize(block: PlanRequest['block']): number | undefined {
  const given = Object.entries(block).filter(([, size]) => size !== undefined)
  const [first] = given
  const other = given.find(([, size]) => size !== first![1])
  if (!other) return first?.[1]
  throw new OptionError(
    `option block: blocks of paths are square, but ${first![0]} is ${first![1]} and ${other[0]} is ${other[1]}: give one number`,
  )
}

/** Returns the type of intermediate distances. */
async function typeBetween(
  source: ArraySource,
  planned: PlannedInput,
  { semiring, memory, signal }: PlanRequest,
): Promise<PathsPlan['between']> {
  const { shape, dtype } = planned
  if (dtype === 'float32' || dtype === 'float64') return dtype
  if (semiring !== 'min-plus' && semiring !== 'max-plus') return 'int32'
  // A path has fewer edges than the graph has nodes, and a cycle at most as many.
  const greatest = await greatestWeight(source, semiring, planned, Math.min(memory, 2 ** 26), signal)
  return greatest * shape[0] < 2 ** 31 - 1 ? 'int32' : 'float64'
}

/** Returns a unique name for a start of work, so that late processes of older work can't write into it. */
export const beginning = () => randomBytes(8).toString('hex')
