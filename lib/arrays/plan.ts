/** Creates plans of work on arrays, and begins or resumes the work. */
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { signal } from '../abort.js'
import { show } from '../describe.js'
import { ExistsError, FileError, OptionError, ResumeError } from '../errors.js'
import { checkedLater, Options, type OptionsOf } from '../options.js'
import type { Semiring } from '../variant-names.js'
import type { ArraySource } from './array-source.js'
import { createTarget } from './array-writer.js'
import { inputChanged } from './disk.js'
import { fileIdentity, planInput } from './fingerprint.js'
import { type AnyPlan, type BlockPlan, blockOf, inputsOf, type PlannedInput } from './job.js'
import { Journal, Output } from './journal.js'
import { identified, type PlanRequest, planMultiply, planPaths } from './layout.js'
import { groupsOf, isNpy, isS3, isZarr } from './names.js'
import { type ReadWork, readPath, usualMemory, type WorkOptions, workSet } from './options.js'
import { loadHashes, loadZarrita } from './packages.js'
import { openSource } from './source.js'
import { isArrayMetadata } from './zarr-metadata.js'

interface AnyRequest extends WorkOptions {
  /** Aborts the call. */
  signal?: AbortSignal | undefined
}

/** C = A ⊗ B. */
export interface MultiplyRequest extends AnyRequest {
  /** Kind of the computation: a product. */
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
  /** Kind of the computation: best paths. */
  kind: 'shortest-paths'
  /** The weights: a square matrix. */
  a: string | URL
  /** The output. */
  c: string | URL
}

/** Request of {@link planBlocks}. */
export type BlockRequest = MultiplyRequest | PathsRequest

const requestOptions = new Options({
  // The kind and the paths are checked together.
  kind: checkedLater(),
  a: checkedLater(),
  b: checkedLater(),
  c: checkedLater(),
  ...workSet,
  signal,
} satisfies OptionsOf<MultiplyRequest>)

/**
 * Partitions work on arrays on disk into block jobs, and creates the folder of the unfinished output, whose
 * name ends with `.partial`. With `resume`, an unfinished plan with the same inputs and options is returned.
 *
 * @throws Rejects with an {@link MpmmlError}: ERR_MPMML_EXISTS if the output exists, or was begun, and
 * neither `resume` nor `overwrite` is true; ERR_MPMML_RESUME and ERR_MPMML_CHANGED if the unfinished work is
 * another, or an input has changed since; ERR_MPMML_FILE, ERR_MPMML_PACKAGE, ERR_MPMML_SHAPE,
 * ERR_MPMML_DTYPE, ERR_MPMML_OPTION, ERR_MPMML_DISK_FULL, ERR_MPMML_ABORTED.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * const plan = await planBlocks({ kind: 'multiply', a: 'a.npy', b: 'a.npy', c: 'c.npy', block: 1 })
 * console.log(plan.output.shape.join(), plan.block.rows, plan.stages.join()) // 2,2 1 4
 */
export async function planBlocks(request: BlockRequest): Promise<BlockPlan> {
  const { kind, a, b, c, ...work } = requestOptions.read(request, 'request')
  if (kind !== 'multiply' && kind !== 'shortest-paths') {
    throw new OptionError(`kind must be 'multiply' or 'shortest-paths', but it is ${show(kind)}`)
  }
  if (kind === 'shortest-paths' && b !== undefined) {
    throw new OptionError(`b must be left out for paths, which are of one matrix, but it is ${show(b)}`)
  }
  return begin({ kind, a, b, c } as Matrices, work, async () => {})
}

/** Kind and paths of a computation. */
export interface Matrices {
  readonly kind: BlockRequest['kind']
  readonly a: string | URL
  readonly b?: string | URL | undefined
  readonly c: string | URL
}

/**
 * Begins the work like {@link planBlocks} if `ready` accepts the plan; otherwise creates nothing on disk.
 *
 * @param ready - throws if the work can't begin.
 */
export async function begin(
  { kind, a, b, c }: Matrices,
  work: ReadWork,
  ready: (plan: BlockPlan) => Promise<void>,
): Promise<BlockPlan> {
  const request = await completeRequest(work, c, kind === 'multiply' ? 'max-plus' : 'min-plus')
  const paths = kind === 'multiply' ? [a, b!] : [a]
  const inputs: ArraySource[] = []
  for (const path of paths) inputs.push(await openSource(readPath(path), request.signal))
  const planned: PlannedInput[] = []
  for (const input of inputs) planned.push(await planInput(input))
  for (const { path } of planned) await assertSeparate(request.output, path)
  return resumeOrBegin<BlockPlan>(request, kind, {
    assertSame(begun) {
      const before = inputsOf(begun)
      for (const [index, { path, shape, dtype, fingerprint }] of planned.entries()) {
        const was = before[index]!
        if (path !== was.path) throw differs('an input', was.path, path)
        if (fingerprint !== was.fingerprint || dtype !== was.dtype || `${shape}` !== `${was.shape}`) {
          throw inputChanged(path)
        }
      }
    },
    make: async () =>
      kind === 'multiply'
        ? planMultiply(pairOf(inputs), pairOf(planned), request)
        : await planPaths(inputs[0]!, planned[0]!, request),
    ready,
  })
}

const pairOf = <Item>([a, b]: readonly Item[]) => [a!, b!] as const

/** Returns the request that the options of work describe. */
export async function completeRequest(
  work: ReadWork,
  path: string | URL,
  usual: Semiring,
): Promise<PlanRequest> {
  const { memory = usualMemory(), semiring = usual } = work
  if (work.resume && work.overwrite) {
    throw new OptionError('options resume and overwrite contradict each other: leave one of them out')
  }
  const output = await outputPath(readPath(path))
  // A missing package is reported before any work.
  if (isZarr(output)) await loadZarrita()
  if (work.shards || work.codec === 'zstd') await loadHashes()
  return { ...work, memory, semiring, output }
}

/** Callbacks that begin or resume work of one kind. */
interface Beginning<Plan> {
  /** Throws ResumeError or ChangedError if the plan that exists is for other inputs. */
  assertSame(begun: Plan): void
  make(): Promise<Plan>
  /** Throws if the work of the plan can't begin. */
  ready(plan: Plan): Promise<void>
}

/**
 * Returns the plan of the unfinished work or a new plan, after creating the folder of the unfinished output.
 */
export async function resumeOrBegin<Plan extends AnyPlan>(
  request: PlanRequest,
  kind: Plan['kind'],
  { assertSame, make, ready }: Beginning<Plan>,
): Promise<Plan> {
  const { begun: there, replaces } = await findExisting(request)
  if (there) {
    if (there.kind !== kind) throw differs('the work', there.kind, kind)
    const begun = there as Plan
    assertSame(begun)
    assertSameOutput(begun, request)
    await ready(begun)
    return begun
  }
  const created = await make()
  const plan = replaces === null ? created : (identified<AnyPlan>({ ...created, replaces }) as Plan)
  await ready(plan)
  // The output may be complete already, if a process ended between renaming it and returning.
  const madeBy = request.resume ? await makerOf(plan, request.signal) : undefined
  if (madeBy !== undefined) {
    await new Output(request.output, request.signal).removeBegun()
    return identified<AnyPlan>({ ...plan, madeBy }) as Plan
  }
  await clear(request)
  const journal = new Journal(plan, request.signal)
  await journal.create()
  try {
    await createTarget(plan, journal, madeFrom(plan))
  } catch (error) {
    await journal.abandon()
    throw error
  }
  const file = plan.output.layout ? undefined : await fileIdentity(journal.array)
  const begunNow = file === undefined ? plan : { ...plan, file }
  await journal.writePlan(begunNow)
  return begunNow
}

/**
 * Returns the output's path with symbolic links of its folder resolved, so that all processes use equal
 * paths.
 */
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

export async function assertSeparate(output: string, input: string): Promise<void> {
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

/**
 * Returns the plan to be resumed (null for new work), and the identity of the file or folder that the output
 * replaces.
 */
async function findExisting({
  output,
  resume,
  overwrite,
  signal,
}: PlanRequest): Promise<{ begun: AnyPlan | null; replaces: string | null }> {
  for (const group of groupsOf(output)) {
    if (!isArrayMetadata(await new Output(group, signal).metadata())) continue
    throw new OptionError(`the output ${output} is in the folder of a Zarr array, ${group}: name another one`)
  }
  const location = new Output(output, signal)
  const plan = overwrite ? null : await location.begunPlan()
  if (plan) {
    if (resume) return { begun: plan, replaces: null }
    throw new ExistsError(
      `work on ${output} was begun and not finished (${output}.partial): go on with resume, or begin again with overwrite`,
    )
  }
  const isTaken = await location.store.isTaken(output)
  if (isTaken && !overwrite && !(resume && isZarr(output))) {
    // A process that ended while it completed this output may have left the empty folder.
    await location.store.remove([`${location.partial}/`])
    throw exists(output, resume)
  }
  // The identity is read first. A file that another program adds later is then either found here, or changes
  // the identity at the end.
  const replaces = overwrite ? await location.store.identity(output) : null
  await location.assertReplaceable()
  const stranger = overwrite ? await location.stranger() : undefined
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

/**
 * Removes unfinished work that is overwritten, and the output itself if the store can't replace it atomically
 * later.
 */
async function clear({ output, resume, overwrite, signal }: PlanRequest): Promise<void> {
  const location = new Output(output, signal)
  const isTaken = await location.store.isTaken(output)
  if (!overwrite && isTaken) throw exists(output, resume)
  // A folder without a plan remains from a process that ended while it began the work.
  const stranger = await location.removeBegun()
  if (stranger !== null) {
    throw new ExistsError(
      `${output}.partial is in the way: it is not unfinished work of this library, but has ${stranger}: move it away, or name another ` +
        'output',
    )
  }
  if (isTaken) await location.clear()
}

/** Returns whether the output exists and was created by this plan. */
export async function isMadeBy(plan: AnyPlan, signal: AbortSignal | undefined): Promise<boolean> {
  const { output, file, madeBy, id } = plan
  if (output.layout) return (await makerOf(plan, signal)) === (madeBy ?? id)
  return file !== undefined && (await fileIdentity(output.path)) === file
}

/**
 * Returns the id of the plan that made the existing output; undefined unless that plan had equal inputs and
 * options. Block sizes may differ.
 */
async function makerOf(plan: AnyPlan, signal: AbortSignal | undefined): Promise<string | undefined> {
  const { path, layout } = plan.output
  // A .npy file doesn't name its plan.
  if (!layout) return undefined
  const bytes = await new Output(path, signal).metadata()
  let created: { plan?: string } | undefined
  try {
    created = JSON.parse(`${bytes}`)?.attributes?.mpmml
  } catch {
    return undefined
  }
  const stable = (what: object | undefined) => JSON.stringify({ ...what, plan: '' })
  return stable(created) === stable(madeFrom(plan)) ? created?.plan : undefined
}

export const differs = (what: string, was: unknown, is: unknown) =>
  new ResumeError(
    `what was begun can't be resumed: ${what} was ${JSON.stringify(was)} and is now ${JSON.stringify(is)}. ` +
      'Ask for the same as then, or begin again with overwrite',
  )

/**
 * Throws ResumeError if the requested layout or path of the output differs from those of the unfinished work.
 */
function assertSameOutput(begun: AnyPlan, request: PlanRequest): void {
  if (begun.output.path !== request.output) throw differs('the output', begun.output.path, request.output)
  if (begun.semiring !== request.semiring) throw differs('semiring', begun.semiring, request.semiring)
  if ((request.overflow ?? 'throw') !== (begun.overflow ?? 'throw')) {
    throw differs('overflow', begun.overflow ?? 'throw', request.overflow ?? 'throw')
  }
  const { layout } = begun.output
  for (const name of ['chunks', 'shards', 'codec'] as const) {
    const is = request[name]
    if (is !== undefined && `${is}` !== `${layout?.[name]}`) throw differs(name, layout?.[name], is)
  }
  const block = blockOf(begun)
  for (const name of ['rows', 'cols', 'depth'] as const) {
    const size = request.block[name]
    // Blocks of whole rows have only the size `rows`.
    if (size === undefined || (begun.kind === 'graph-paths' && name !== 'rows')) continue
    if (size !== block[name]) throw differs(`block.${name}`, block[name], size)
  }
}

/** Returns the attributes of an array that describe its origin. */
function madeFrom(plan: AnyPlan): Record<string, unknown> {
  const { id, kind, semiring, overflow } = plan
  const inputs = plan.kind === 'graph-paths' ? [plan.a] : inputsOf(plan)
  return {
    plan: id,
    kind,
    semiring,
    overflow,
    inputs: inputs.map(({ path, fingerprint }) => ({ path: path && basename(path), fingerprint })),
    ...(plan.kind === 'graph-paths' && { asked: plan.a.asked }),
  }
}
