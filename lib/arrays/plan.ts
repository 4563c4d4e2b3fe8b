/** Plans: what is read, how it is cut into blocks, and where the result grows. */
import { randomBytes } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { signal } from '../abort.js'
import { readSemiring, requireSemiringType } from '../built-in.js'
import { show } from '../describe.js'
import { isIntegers } from '../elements.js'
import {
  ChangedError,
  DTypeError,
  ExistsError,
  FileError,
  OptionError,
  ResumeError,
  ShapeError,
} from '../errors.js'
import { greatestDivisor } from '../integers.js'
import { addon } from '../native.js'
import { checkedLater, Options, type OptionsOf, type ReadOf } from '../options.js'
import { requireOrder } from '../orders.js'
import type { Overflow } from '../product/options.js'
import type { Semiring } from '../variant-names.js'
import type { ArraySource } from './array-source.js'
import { type BlockTypes, blockSize, hostBytes } from './block-size.js'
import { fileIdentity, planInput } from './fingerprint.js'
import type {
  AnyPlan,
  ArrayType,
  BlockPlan,
  MultiplyPlan,
  PathsPlan,
  PlannedInput,
  PlannedOutput,
  ZarrLayout,
} from './job.js'
import { blocksIn, identity, MOST_STEPS, pathStages, resultType } from './job.js'
import { Journal, Output } from './journal.js'
import { groupsOf, isNpy, isS3, isZarr } from './names.js'
import {
  memoryOf,
  type ReadBegin,
  type ReadLayout,
  readPath,
  requireOneOf,
  type WorkOptions,
  workSet,
} from './options.js'
import { loadHashes, loadZarrita } from './packages.js'
import { greatestWeight } from './range-of.js'
import { openSource } from './source.js'
import { createTarget, extraBytes } from './target.js'
import { isArrayMetadata } from './zarr-metadata.js'

interface AnyRequest extends WorkOptions {
  /** Gives up. */
  signal?: AbortSignal | undefined
}

/** C = A ⊗ B. */
export interface MultiplyRequest extends AnyRequest {
  /** Asks for a product. */
  kind: 'multiply'
  /** The path of A, M × K. */
  a: string | URL
  /** The path of B, K × N. */
  b: string | URL
  /** The output. */
  c: string | URL
}

/** The best paths between all nodes. */
export interface PathsRequest extends AnyRequest {
  /** Asks for paths. */
  kind: 'shortest-paths'
  /** The weights: a square matrix. */
  a: string | URL
  /** The output. */
  c: string | URL
}

/** What {@link planBlocks} is asked for. */
export type BlockRequest = MultiplyRequest | PathsRequest

const requestOptions = new Options({
  // Paths, and what they are of: checked with each other.
  kind: checkedLater(),
  a: checkedLater(),
  b: checkedLater(),
  c: checkedLater(),
  ...workSet,
  signal,
} satisfies OptionsOf<MultiplyRequest>)

/** Chunks of an output, if nothing else is asked for: 4 MiB of int32. */
const USUAL_CHUNK = 1024

/** Smaller files take longer to open than to read. */
const LEAST_CHUNK = 64

/**
 * Cuts work on arrays on disk into block jobs, and makes the folder in which the output grows: its name with `.partial` at the
 * end. With `resume`, the plan that was begun is returned if it is of the same inputs and options.
 *
 * @throws Rejects with an {@link MpmmlError}: ERR_MPMML_EXISTS if the output exists, or was begun, and neither `resume` nor
 *   `overwrite` is true; ERR_MPMML_RESUME and ERR_MPMML_CHANGED if what was begun is other work, or an input has changed since;
 *   ERR_MPMML_FILE, ERR_MPMML_PACKAGE, ERR_MPMML_SHAPE, ERR_MPMML_DTYPE, ERR_MPMML_OPTION, ERR_MPMML_DISK_FULL,
 *   ERR_MPMML_ABORTED.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * const plan = await planBlocks({ kind: 'multiply', a: 'a.npy', b: 'a.npy', c: 'c.npy', block: 1 })
 * console.log(plan.output.shape.join(), plan.block.rows, plan.stages.join()) // 2,2 1 4
 */
export async function planBlocks(request: BlockRequest): Promise<BlockPlan> {
  return begin(request, async () => {})
}

/**
 * The same, if all is `ready` for the plan: otherwise nothing is made on the disk.
 *
 * @param ready - throws if it isn't.
 */
export async function begin(
  request: BlockRequest,
  ready: (plan: BlockPlan) => Promise<void>,
): Promise<BlockPlan> {
  const read = requestOptions.read(request, 'request')
  const { kind, a, b, c } = read
  if (kind !== 'multiply' && kind !== 'shortest-paths') {
    throw new OptionError(`kind must be 'multiply' or 'shortest-paths', but it is ${show(kind)}`)
  }
  if (kind === 'shortest-paths' && b !== undefined) {
    throw new OptionError(`b must be left out for paths, which are of one matrix, but it is ${show(b)}`)
  }
  const asked = await askedOf(read, c as string | URL, kind === 'multiply' ? 'max-plus' : 'min-plus')
  const inputs: ArraySource[] = [await openSource(readPath(a as string | URL), asked.signal)]
  if (kind === 'multiply') inputs.push(await openSource(readPath(b as string | URL), asked.signal))
  const planned: PlannedInput[] = []
  for (const input of inputs) planned.push(await planInput(input))
  for (const { path } of planned) await requireApart(asked.output, path)
  return resumeOrBegin(asked, {
    same: (begun) => {
      if (begun.kind === 'graph-paths') throw differs('the work', begun.kind, kind)
      requireSameWork(begun, kind, planned, asked)
      return begun
    },
    make: async () =>
      kind === 'multiply'
        ? planMultiply(inputs, planned, asked)
        : await planPaths(inputs[0]!, planned[0]!, asked),
    ready,
  })
}

/** What the options of work ask for. */
export async function askedOf(
  read: Omit<ReadOf<typeof requestOptions>, 'kind' | 'a' | 'b' | 'c'>,
  output: string | URL,
  usual: Semiring,
): Promise<PlanRequest> {
  requireOneOf(read)
  const asked = {
    begin: read,
    layout: { ...read, memory: memoryOf(read) },
    overflow: read.overflow,
    semiring: read.semiring ?? usual,
    output: await outputPath(readPath(output)),
    signal: read.signal,
  }
  // A missing package is said before any work.
  if (isZarr(asked.output)) await loadZarrita()
  if (asked.layout.shards || asked.layout.codec === 'zstd') await loadHashes()
  return asked
}

/** How work is resumed or begun. */
interface Beginning<Plan> {
  /** What was begun, if it is the same work; throws ResumeError or ChangedError if it isn't. */
  same(begun: AnyPlan): Plan
  make(): Promise<Plan>
  /** Throws if not all is ready for the plan. */
  ready(plan: Plan): Promise<void>
}

/** The plan that was begun, or a new one, with the place where its output grows. */
export async function resumeOrBegin<Plan extends AnyPlan>(
  asked: PlanRequest,
  { same, make, ready }: Beginning<Plan>,
): Promise<Plan> {
  const { begun: there, replaces } = await lookAround(asked)
  if (there) {
    const begun = same(there)
    await ready(begun)
    await new Journal(begun).sweep()
    return begun
  }
  const made = await make()
  const plan = replaces === null ? made : (identified<AnyPlan>({ ...made, replaces }) as Plan)
  await ready(plan)
  // Complete, and the process was ended before it could say so.
  const madeBy = asked.begin.resume ? await makerOf(plan, asked.signal) : undefined
  if (madeBy !== undefined) {
    await new Output(asked.output, asked.signal).removeBegun()
    return identified<AnyPlan>({ ...plan, madeBy }) as Plan
  }
  await clear(asked)
  const journal = new Journal(plan, asked.signal)
  await journal.create()
  await createTarget(plan, journal, madeFrom(plan))
  const file = plan.output.layout ? undefined : await fileIdentity(journal.array)
  const begunNow = file === undefined ? plan : { ...plan, file }
  await journal.writePlan(begunNow)
  return begunNow
}

/** A plan with the id that it then has. */
export function identified<Plan extends Omit<AnyPlan, 'id'>>(
  plan: Plan & { id?: string },
): Plan & { id: string } {
  const { id: _, ...rest } = plan
  return { ...(rest as Plan), id: identity(rest) }
}

/** What is asked of any work. */
export interface PlanRequest {
  readonly begin: ReadBegin
  readonly layout: ReadLayout
  readonly overflow: Overflow | undefined
  readonly semiring: Semiring
  readonly output: string
  readonly signal: AbortSignal | undefined
}

/** The output's path, with links to its folder followed, so that it is the same from everywhere. */
async function outputPath(path: string): Promise<string> {
  if (isS3(path)) {
    if (isZarr(path)) return path
    throw new FileError(`${path} can't be written: the name of an array on S3 ends with .zarr`)
  }
  if (!isZarr(path) && !isNpy(path)) {
    throw new FileError(`${path} can't be written: the name of an array on disk ends with .zarr or .npy`)
  }
  try {
    return join(await realpath(dirname(path)), basename(path))
  } catch (error) {
    throw new FileError(`${path} can't be written: there is no folder ${dirname(path)}`, { cause: error })
  }
}

export async function requireApart(output: string, input: string): Promise<void> {
  const real = isS3(input) ? input : await realpath(input)
  const isInside = (path: string, folder: string) => path.startsWith(`${folder}${isS3(folder) ? '/' : sep}`)
  if (output === real) throw new OptionError(`the output ${output} is also an input: name another one`)
  if (isInside(output, real)) {
    throw new OptionError(`the output ${output} is in the folder of an input, ${real}: name another one`)
  }
  if ([input, real].some((path) => isInside(path, output))) {
    throw new OptionError(
      `the input ${input} is in the folder of the output ${output}, which would be replaced: name another output`,
    )
  }
}

/** The plan that is to be resumed, null if the work begins; and the identity of what the output replaces. */
async function lookAround({
  output,
  begin,
  signal,
}: PlanRequest): Promise<{ begun: AnyPlan | null; replaces: string | null }> {
  const { resume, overwrite } = begin
  for (const group of groupsOf(output)) {
    if (!isArrayMetadata(await new Output(group, signal).metadata())) continue
    throw new OptionError(`the output ${output} is in the folder of a Zarr array, ${group}: name another one`)
  }
  const place = new Output(output, signal)
  const plan = overwrite ? null : await place.begunPlan()
  if (plan) {
    if (resume) return { begun: plan, replaces: null }
    throw new ExistsError(
      `work on ${output} was begun and not finished (${output}.partial): go on with resume, or begin again with overwrite`,
    )
  }
  const isTaken = await place.isTaken()
  if (isTaken && !overwrite && !(resume && isZarr(output))) throw exists(output, resume)
  // First the identity: so a file that others add is seen here, or has changed it at the end.
  const replaces = overwrite ? await place.identity() : null
  await requireReplaceable(output, signal)
  const stranger = overwrite ? await place.stranger() : undefined
  if (stranger !== undefined) {
    throw new ExistsError(
      `${output} is not replaced, because it has ${stranger}, which is no part of a Zarr array: move that away, or name another output`,
    )
  }
  return { begun: null, replaces }
}

const exists = (output: string, resume: boolean) =>
  new ExistsError(
    `${output} exists already${resume ? ', and nothing that was begun is left to resume' : ''}: name another output, or replace it with ` +
      'overwrite',
  )

/** Removes what is to be overwritten of unfinished work, and the output itself if another can't take its place later. */
async function clear({ output, begin, signal }: PlanRequest): Promise<void> {
  const { resume, overwrite } = begin
  const place = new Output(output, signal)
  const isTaken = await place.isTaken()
  if (!overwrite && isTaken) throw exists(output, resume)
  // Without a plan it is of a process that was ended while it made it.
  const stranger = await place.removeBegun()
  if (stranger !== null) {
    throw new ExistsError(
      `${output}.partial is in the way: it is not unfinished work of this library, but has ${stranger}: move it away, or name another ` +
        'output',
    )
  }
  if (isTaken) await place.clear()
}

/** Whether the output is there, and this plan made it. */
export async function isMadeBy(plan: AnyPlan, signal: AbortSignal | undefined): Promise<boolean> {
  const { output, file, madeBy, id } = plan
  if (output.layout) return (await makerOf(plan, signal)) === (madeBy ?? id)
  return file !== undefined && (await fileIdentity(output.path)) === file
}

/** The id of the plan that made the array that has the output's name; undefined unless it was the same work, whatever the blocks were. */
async function makerOf(plan: AnyPlan, signal: AbortSignal | undefined): Promise<string | undefined> {
  const { path, layout } = plan.output
  // Files don't say what they were made from.
  if (!layout) return undefined
  const bytes = await new Output(path, signal).metadata()
  let made: { plan?: string } | undefined
  try {
    made = JSON.parse(`${bytes}`)?.attributes?.mpmml
  } catch {
    return undefined
  }
  const stable = (what: object | undefined) => JSON.stringify({ ...what, plan: '' })
  return stable(made) === stable(madeFrom(plan)) ? made?.plan : undefined
}

/** Throws ExistsError if something has the output's name that is never replaced. */
export async function requireReplaceable(output: string, signal: AbortSignal | undefined): Promise<void> {
  const obstacle = await new Output(output, signal).obstacle()
  if (obstacle === null) return
  throw new ExistsError(`${output} exists and ${obstacle}, so it is not replaced: name another output`)
}

export const differs = (what: string, was: unknown, is: unknown) =>
  new ResumeError(
    `what was begun can't be resumed: ${what} was ${JSON.stringify(was)} and is now ${JSON.stringify(is)}. ` +
      'Ask for the same as then, or begin again with overwrite',
  )

function requireSameWork(
  begun: BlockPlan,
  kind: string,
  inputs: readonly PlannedInput[],
  asked: PlanRequest,
): void {
  if (begun.kind !== kind) throw differs('the work', begun.kind, kind)
  const before = begun.kind === 'multiply' ? [begun.a, begun.b] : [begun.a]
  for (const [index, input] of inputs.entries()) {
    const { path, shape, dtype, fingerprint } = before[index]!
    if (input.path !== path) throw differs('an input', path, input.path)
    if (input.fingerprint !== fingerprint || input.dtype !== dtype || `${input.shape}` !== `${shape}`) {
      throw new ChangedError(
        `${path} has changed since the work was begun: results of both would be mixed. Begin again with overwrite`,
      )
    }
  }
  requireSameOutput(begun, asked)
  const block: Record<string, number> =
    begun.kind === 'multiply'
      ? { ...begun.block }
      : { rows: begun.block.size, cols: begun.block.size, depth: begun.block.size }
  for (const [name, size] of Object.entries(asked.layout.block)) {
    if (size !== undefined && size !== block[name]) throw differs(`block.${name}`, block[name], size)
  }
}

/** Throws ResumeError if the same is to be done in another way, or elsewhere. */
export function requireSameOutput(begun: AnyPlan, asked: PlanRequest): void {
  if (begun.output.path !== asked.output) throw differs('the output', begun.output.path, asked.output)
  if (begun.semiring !== asked.semiring) throw differs('semiring', begun.semiring, asked.semiring)
  if ((asked.overflow ?? 'throw') !== (begun.overflow ?? 'throw')) {
    throw differs('overflow', begun.overflow ?? 'throw', asked.overflow ?? 'throw')
  }
  const { layout } = begun.output
  for (const name of ['chunks', 'shards', 'codec'] as const) {
    const is = asked.layout[name]
    if (is !== undefined && `${is}` !== `${layout?.[name]}`) throw differs(name, layout?.[name], is)
  }
}

export function readPolicy(dtype: ArrayType, overflow: Overflow | undefined): Overflow | null {
  if (isIntegers(dtype)) return overflow ?? 'throw'
  if (overflow === undefined) return null
  throw new OptionError(
    `option overflow is for integers, but the arrays are of ${dtype}, which has infinities for what is too large: leave it out`,
  )
}

function requireType(semiring: Semiring, dtype: ArrayType): void {
  const index = addon.semirings.findIndex(({ name }) => name === semiring)
  requireSemiringType(index, addon.dataTypes.indexOf(resultType(dtype)))
}

export function planOutput(
  path: string,
  shape: readonly [number, number],
  dtype: ArrayType,
  layout: ReadLayout,
  types: BlockTypes,
): PlannedOutput {
  if (isNpy(path)) {
    for (const name of ['chunks', 'shards', 'codec'] as const) {
      if (layout[name] === undefined) continue
      throw new OptionError(`option ${name} is for Zarr outputs, but the output is ${path}: leave it out`)
    }
    return { path, shape, dtype, layout: null }
  }
  const usual = usualChunk(layout, types)
  const chunks = layout.chunks ?? [
    chunkOf(usual, shape[0], layout.block.rows),
    chunkOf(usual, shape[1], layout.block.cols),
  ]
  const { shards, codec = 'none' } = layout
  if (shards && (shards[0] % chunks[0] || shards[1] % chunks[1])) {
    throw new OptionError(`option shards must be multiples of the chunks, [${chunks}], but it is [${shards}]`)
  }
  const made: ZarrLayout = shards ? { chunks, shards, codec } : { chunks, codec }
  return { path, shape, dtype, layout: made }
}

/** The usual size of a chunk, or a smaller one if there is little memory: a block has whole chunks. */
function usualChunk({ memory }: ReadLayout, types: BlockTypes): number {
  let size = USUAL_CHUNK
  // A half is left for the buffers of chunks.
  while (size > LEAST_CHUNK && hostBytes(size, types) > memory / 2) size /= 2
  return size
}

/** A size of chunks of which there are whole ones in a block, if that was asked for. */
export function chunkOf(usual: number, length: number, block: number | undefined): number {
  const size = block === undefined || block % usual === 0 ? usual : block
  return Math.max(1, Math.min(size, length))
}

/** The rows and columns that only one block may write. */
export const unitOf = ({ layout }: PlannedOutput): readonly [number, number] =>
  layout?.shards ?? layout?.chunks ?? [1, 1]

const commonMultiple = (x: number, y: number) => (x / greatestDivisor(x, y)) * y

/** The most of `size` that is a multiple of `unit`, and of `wish` too if there is room. */
export function aligned(size: number, unit: number, wish: number): number {
  const both = commonMultiple(unit, wish)
  const step = both <= size ? both : unit
  return Math.max(step, Math.floor(size / step) * step)
}

/** Refuses block sizes that were asked for and that would have two blocks write one file. */
export function requireUnit(size: number | undefined, unit: number, length: number, name: string): void {
  if (size === undefined || size % unit === 0 || size >= length) return
  throw new OptionError(
    `option block: ${name} must be a multiple of ${unit}, what one file of the output has, but it is ${size}`,
  )
}

/** Refuses blocks of which there would be too many for a list of them. */
function requireFew(length: number, size: number, name: string): void {
  if (blocksIn(length, size) <= MOST_STEPS) return
  throw new OptionError(
    `option block: ${name} must be at least ${Math.ceil(length / MOST_STEPS)} for ${length} rows and columns, but it is ${size}`,
  )
}

function planMultiply(
  sources: readonly ArraySource[],
  [a, b]: readonly PlannedInput[],
  asked: PlanRequest,
): MultiplyPlan {
  const { layout, semiring } = asked
  if (!a || !b) throw new Error('a product has two operands')
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
  requireType(semiring, a.dtype)
  const result = resultType(a.dtype)
  const types: BlockTypes = { operand: a.dtype === b.dtype ? a.dtype : 'int32', result }
  const output = planOutput(asked.output, [a.shape[0], b.shape[1]], result, layout, types)
  const unit = unitOf(output)
  const [inA, inB] = sources.map((source) => source.unit) as [
    readonly [number, number],
    readonly [number, number],
  ]
  const extra = extraBytes(output) + sources.reduce((sum, source) => sum + source.extraBytes, 0)
  const lengths = [output.shape[0], output.shape[1], a.shape[1]] as const
  const size = blockSize(layout.memory, Math.max(...lengths, 1), Math.max(...unit), extra, types)
  const { block } = layout
  requireUnit(block.rows, unit[0], lengths[0], 'rows')
  requireUnit(block.cols, unit[1], lengths[1], 'cols')
  const blocks = {
    rows: block.rows ?? aligned(size, unit[0], inA[0]),
    cols: block.cols ?? aligned(size, unit[1], inB[1]),
    depth: block.depth ?? aligned(size, 1, commonMultiple(inA[1], inB[0])),
  }
  requireFew(lengths[2], blocks.depth, 'depth')
  const plan = {
    kind: 'multiply' as const,
    begun: beginning(),
    semiring,
    overflow: readPolicy(a.dtype, asked.overflow),
    a,
    b,
    output,
    block: blocks,
    stages: [blocksIn(lengths[0], blocks.rows) * blocksIn(lengths[1], blocks.cols)],
  }
  return identified(plan)
}

async function planPaths(source: ArraySource, a: PlannedInput, asked: PlanRequest): Promise<PathsPlan> {
  const { layout, semiring } = asked
  const [n, cols] = a.shape
  if (n !== cols) {
    throw new ShapeError(
      `${a.path} has the shape [${a.shape}], but weights must be square: row i has the edges that leave node i`,
    )
  }
  requireOrder(readSemiring(semiring))
  requireType(semiring, a.dtype)
  const policy = readPolicy(a.dtype, asked.overflow)
  if (policy === 'wrap') {
    throw new OptionError("option overflow must be 'throw' or 'saturate' for paths, but it is 'wrap'")
  }
  const between = await typeBetween(source, a, asked)
  const types: BlockTypes = { operand: between, result: between }
  const output = planOutput(asked.output, [n, n], resultType(a.dtype), layout, types)
  const unit = commonMultiple(...(unitOf(output) as [number, number]))
  const size =
    squareSize(layout.block) ??
    aligned(
      blockSize(layout.memory, Math.max(n, 1), unit, extraBytes(output) + source.extraBytes, types),
      unit,
      commonMultiple(...(source.unit as [number, number])),
    )
  requireUnit(size, unit, n, 'size')
  requireFew(n, size, 'size')
  const count = blocksIn(n, size)
  const plan = {
    kind: 'shortest-paths' as const,
    begun: beginning(),
    semiring,
    overflow: policy,
    a,
    output,
    block: { size },
    between,
    stages: pathStages(count),
  }
  return identified(plan)
}

/** The size of square blocks that was asked for, in whichever of their sizes. */
function squareSize(block: ReadLayout['block']): number | undefined {
  const given = Object.entries(block).filter(([, size]) => size !== undefined)
  const [first] = given
  const other = given.find(([, size]) => size !== first![1])
  if (!other) return first?.[1]
  throw new OptionError(
    `option block: blocks of paths are square, but ${first![0]} is ${first![1]} and ${other[0]} is ${other[1]}: give one number`,
  )
}

/** The type of distances until the last step. */
async function typeBetween(
  source: ArraySource,
  planned: PlannedInput,
  { semiring, layout, signal }: PlanRequest,
): Promise<PathsPlan['between']> {
  const { shape, dtype } = planned
  if (dtype === 'float32' || dtype === 'float64') return dtype
  if (semiring !== 'min-plus' && semiring !== 'max-plus') return 'int32'
  // A path has fewer edges than there are nodes, and a cycle as many at most.
  const greatest = await greatestWeight(source, semiring, planned, Math.min(layout.memory, 2 ** 26), signal)
  return greatest * shape[0] < 2 ** 31 - 1 ? 'int32' : 'float64'
}

/** So that a process that still does what was begun before can't write into what is begun now, be it the same work. */
export const beginning = () => randomBytes(8).toString('hex')

/** What an array's attributes say of it. */
function madeFrom(plan: AnyPlan): Record<string, unknown> {
  const { id, kind, semiring, overflow } = plan
  const inputs = plan.kind === 'multiply' ? [plan.a, plan.b] : [plan.a]
  return {
    plan: id,
    kind,
    semiring,
    overflow,
    inputs: inputs.map(({ path, fingerprint }) => ({ path: path && basename(path), fingerprint })),
    ...(plan.kind === 'graph-paths' && { asked: plan.a.asked }),
  }
}
