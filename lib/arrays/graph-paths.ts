/** Best paths of graphs with few edges, whose distances are written as they are found: some rows at a time. */

import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { throwIfAborted } from '../abort.js'
import { CUDA, deviceName } from '../backend.js'
import { throughout } from '../borrowed.js'
import { show } from '../describe.js'
import { bytesOf, newArray, typeNameOf } from '../elements.js'
import { ChangedError, OptionError, ResumeError } from '../errors.js'
import type { FoundBy } from '../graph/options.js'
import type { AnyWeights } from '../graph/paths.js'
import { ask, type Question, sizesOf } from '../graph/question.js'
import { readGraph } from '../graph/read.js'
import { type PathSemiring, pathSemirings } from '../graph/rules.js'
import { divide, type Query, search, searchBytes } from '../graph/search.js'
import type { Edges } from '../graph-core/edges.js'
import { inSlices, type Steps } from '../graph-core/slices.js'
import { allocate } from '../matrix.js'
import { runNative } from '../run-native.js'
import type { ElementArray } from '../storage.js'
import type { Range } from './array-source.js'
import { kib } from './block-size.js'
import { complete, isFinished, type Marks, unlessFinished } from './blocks.js'
import {
  type AnyPlan,
  type ArrayType,
  blocksIn,
  type GraphPlan,
  MOST_STEPS,
  type PlannedGraph,
  rowsDone,
  rowsJob,
} from './job.js'
import { Journal } from './journal.js'
import { isZarr } from './names.js'
import { type ArraysProgress, readPath } from './options.js'
import { Pace } from './pace.js'
import {
  aligned,
  askedOf,
  beginning,
  chunkOf,
  differs,
  identified,
  type PlanRequest,
  planOutput,
  readPolicy,
  requireApart,
  requireSameOutput,
  requireUnit,
  resumeOrBegin,
  unitOf,
} from './plan.js'
import { extraBytes, writeBlock } from './target.js'
import { cut } from './tasks.js'

/** Whether a file has a graph, and no matrix, by the end of its name. */
export const isGraphName = (path: string) => /\.(gr|mtx|csv|graphml)(\.gz)?$/i.test(path)

/** Rows in memory: some are searched while others are written. */
const BUFFERS = 2

/** Of the rows of a block, if that suffices for all cores: more would be lost when work is cut off. */
const USUAL_BYTES = BUFFERS * 2 ** 28

/** Rows of a block for each core: dissection sweeps from 64 nodes at a time. */
const LEAST_ROWS = 256

/** Chunks of an output, if nothing else is asked for. */
const USUAL_CHUNK = 1024

/** What messages of work that was given up call it. */
const WORK = 'the work on arrays'

/** What is asked of a graph, besides what is asked of all work. */
export interface GraphRequest {
  readonly weights: unknown
  readonly output: string | URL
  readonly work: Parameters<typeof askedOf>[0] & { readonly memory: number }
  readonly sources: unknown
  readonly targets: unknown
  readonly limit: number | undefined
  readonly method: 'auto' | 'search' | 'dissection'
  /** The number of the backend that was asked for. */
  readonly backend: number
  readonly onProgress: ((progress: ArraysProgress) => void) | undefined
}

/** What became of it. */
export interface GraphDone {
  readonly plan: GraphPlan
  readonly resumed: number
  /** How the last rows were found; undefined if all had been done before. */
  readonly method: FoundBy | undefined
  readonly device: string
  readonly bytesRead: number
  readonly bytesWritten: number
  readonly peakBytes: number
  readonly kernelMs: number
  readonly readMs: number
  readonly writeMs: number
}

/** Finds best paths and writes their distances. */
export async function graphPaths(request: GraphRequest): Promise<GraphDone> {
  const { weights, output, work, sources, targets, limit, method, backend, onProgress } = request
  const { signal, overflow } = work
  throwIfAborted(signal, WORK)
  const asked = await askedOf(work, output, 'min-plus')
  const semiring = requirePaths(asked.semiring)
  if (backend === CUDA) {
    throw new OptionError(
      "backend 'cuda' is for the paths of matrices on disk, and those of an edge list are searched on the CPU: leave it out",
    )
  }
  const began = performance.now()
  const read = await readWeights(weights, asked)
  const options = { sources, targets, limit, method, overflow, signal }
  const question = await ask(semiring, read.weights, options)
  const a = await plannedGraph(read.path, question, limit, signal)
  const readMs = performance.now() - began
  const plan = await resumeOrBegin<GraphPlan>(asked, {
    same: (begun) => requireSame(begun, a, asked),
    make: async () => planRows(question, a, asked),
    ready: async () => {},
  })
  const pace = new Pace(plan.stages[0]!, onProgress)
  const rows = new RowsWork(plan, question, work.memory, pace)
  await rows.run(signal)
  return {
    plan,
    resumed: pace.skipped,
    method: rows.method,
    device: deviceName(-1),
    bytesRead: read.bytes,
    bytesWritten: rows.bytesWritten,
    peakBytes: rows.peakBytes,
    kernelMs: rows.kernelMs,
    readMs,
    writeMs: rows.writeMs,
  }
}

function requirePaths(semiring: string): PathSemiring {
  const known = pathSemirings.find((name) => name === semiring && name !== 'or-and')
  if (known) return known
  throw new OptionError(
    `option semiring must be 'min-plus', 'max-plus', 'max-min' or 'max-times' for paths of an edge list, but it is ${show(semiring)}`,
  )
}

interface ReadWeights {
  readonly weights: AnyWeights
  readonly path: string | null
  readonly bytes: number
}

async function readWeights(weights: unknown, { output, signal }: PlanRequest): Promise<ReadWeights> {
  if (typeof weights !== 'string' && !(weights instanceof URL)) {
    return { weights: weights as AnyWeights, path: null, bytes: 0 }
  }
  const path = readPath(weights)
  const list = await readGraph(path, { signal })
  await requireApart(output, path)
  return { weights: list, path, bytes: (await stat(path)).size }
}

const edgesOf = ({ weights }: Question): Edges => weights.edges!

/** Bytes that are hashed at once. */
const HASHED_BYTES = 1 << 20

function* hashing(head: string, arrays: readonly (ElementArray | null)[]): Steps<string> {
  const hash = createHash('sha256').update(head)
  for (const array of arrays) {
    const bytes = array ? Buffer.from(array.buffer, array.byteOffset, array.byteLength) : Buffer.alloc(0)
    hash.update(`${array ? bytes.length : 'all'};`)
    for (let at = 0; at < bytes.length; at += HASHED_BYTES) {
      hash.update(bytes.subarray(at, at + HASHED_BYTES))
      yield
    }
  }
  return hash.digest('hex').slice(0, 32)
}

/** What a graph is, and what is asked of it. */
async function plannedGraph(
  path: string | null,
  question: Question,
  limit: number | undefined,
  signal: AbortSignal | undefined,
): Promise<PlannedGraph> {
  const { nodes, from, to, weight, type, borrowed } = edgesOf(question)
  const { sources, targets } = question.query
  const dtype = typeNameOf(type) as ArrayType
  return {
    path,
    nodes,
    edges: to.length,
    dtype,
    fingerprint: await inSlices(
      throughout(borrowed, hashing(`${nodes} ${dtype};`, [from, to, weight])),
      signal,
      WORK,
    ),
    asked: await inSlices(hashing(`${limit};`, [sources, targets]), signal, WORK),
  }
}

function requireSame(begun: AnyPlan, a: PlannedGraph, asked: PlanRequest): GraphPlan {
  if (begun.kind !== 'graph-paths') throw differs('the work', begun.kind, 'paths of an edge list')
  if (begun.a.fingerprint !== a.fingerprint) {
    throw new ChangedError(
      `${a.path ?? 'the graph'} has changed since the work was begun: results of both would be mixed. Begin again with overwrite`,
    )
  }
  if (begun.a.asked !== a.asked) {
    throw new ResumeError(
      "what was begun can't be resumed: it was of other sources, targets or another limit. Ask for the same as then, or begin again with overwrite",
    )
  }
  requireSameOutput(begun, asked)
  const { rows } = asked.layout.block
  if (rows !== undefined && rows !== begun.block.rows) throw differs('block.rows', begun.block.rows, rows)
  return begun
}

/** Bytes of the graph, and of a search in it. */
function fixedBytes({ nodes, to, type }: Edges): number {
  return to.length * (8 + bytesOf(type)) + searchBytes(nodes, to.length)
}

function planRows(question: Question, a: PlannedGraph, asked: PlanRequest): GraphPlan {
  const { layout } = asked
  const [, rows, cols] = sizesOf(question)
  const { dtype } = a
  const fixed = fixedBytes(edgesOf(question))
  const perRow = BUFFERS * Math.max(1, cols) * bytesOf(question.type)
  const laidOut = (chunk: number) => {
    const chunks = layout.chunks ?? [
      chunkOf(chunk, rows, layout.block.rows),
      // A thin one is wide, so that there aren't too many files.
      chunkOf(USUAL_CHUNK ** 2 / chunk, cols, undefined),
    ]
    const made = isZarr(asked.output) && !layout.shards ? { ...layout, chunks } : layout
    const output = planOutput(asked.output, [rows, cols], dtype, made, { operand: dtype, result: dtype })
    const [unit] = unitOf(output)
    const other = fixed + extraBytes(output)
    // Dissection has as much as the rows.
    const size = Math.floor((layout.memory - other) / 2 / perRow)
    return { output, unit, size, least: other + 2 * unit * perRow }
  }
  let chunk = USUAL_CHUNK
  let { output, unit, size, least } = laidOut(chunk)
  while (size < unit && chunk > 1) {
    chunk /= 2
    ;({ output, unit, size, least } = laidOut(chunk))
  }
  if (size < unit && layout.block.rows === undefined) throw tooLittle(least)
  requireUnit(layout.block.rows, unit, rows, 'rows')
  const most = Math.ceil(Math.max(1, rows) / unit) * unit
  const wanted = Math.max(LEAST_ROWS * availableParallelism(), Math.floor(USUAL_BYTES / perRow))
  const block = layout.block.rows ?? Math.min(most, aligned(Math.min(size, wanted), unit, 1))
  if (blocksIn(rows, block) > MOST_STEPS) throw tooLittle(fixed + 2 * perRow * Math.ceil(rows / MOST_STEPS))
  return identified({
    kind: 'graph-paths' as const,
    begun: beginning(),
    semiring: asked.semiring,
    overflow: readPolicy(dtype, asked.overflow),
    a,
    output,
    block: { rows: block },
    stages: [blocksIn(rows, block)],
  })
}

const tooLittle = (least: number) =>
  new OptionError(
    `option memory must be at least ${kib(least)} for the rows of a block of this graph: give more, or fewer \`targets\` at a time`,
  )

/** The rows of a plan that aren't done, one block after the other: each is written while the next one is searched. */
class RowsWork {
  method: FoundBy | undefined
  kernelMs = 0
  writeMs = 0
  bytesWritten = 0
  /** The most host memory. */
  readonly peakBytes: number
  readonly #plan: GraphPlan
  readonly #question: Question
  readonly #pace: Pace
  /** What searches may take. */
  readonly #memory: number
  readonly #buffers: ElementArray[] = []

  constructor(plan: GraphPlan, question: Question, memory: number, pace: Pace) {
    const [, rows, cols] = sizesOf(question)
    const edges = edgesOf(question)
    const buffers =
      BUFFERS * Math.min(rows, plan.block.rows) * cols * bytesOf(question.type) + extraBytes(plan.output)
    this.peakBytes = buffers + fixedBytes(edges)
    if (this.peakBytes > memory) throw tooLittle(this.peakBytes)
    this.#memory = memory - (this.peakBytes - searchBytes(edges.nodes, edges.to.length))
    this.#plan = plan
    this.#question = question
    this.#pace = pace
  }

  run(signal: AbortSignal | undefined): Promise<void> {
    return this.#pace.run(() => this.#run(signal))
  }

  async #run(signal: AbortSignal | undefined): Promise<void> {
    const plan = this.#plan
    const isDone = await isFinished(plan, signal)
    if (isDone) this.#pace.skip(this.#pace.total)
    await unlessFinished(plan, signal, async () => {
      if (!isDone) await this.#search(new Journal(plan, signal), signal)
      await complete(plan, signal, (journal) => requireDone(plan, journal))
    })
    this.#pace.end()
  }

  async #search(journal: Journal, signal: AbortSignal | undefined): Promise<void> {
    const { block, output } = this.#plan
    const done = rowsDone(this.#plan, await journal.marked(0))
    this.#pace.skip(done.size)
    if (done.size === this.#pace.total) return
    const how = await this.#decide(signal)
    let writing: Promise<void> = Promise.resolve()
    try {
      for (let index = 0, count = 0; index < this.#pace.total; index++) {
        if (done.has(index)) continue
        const rows = cut(index, block.rows, output.shape[0])
        const data = this.#buffer(count++ % BUFFERS, (rows[1] - rows[0]) * output.shape[1])
        await this.#searchRows(rows, data, how, signal)
        const waited = performance.now()
        await writing
        this.writeMs += performance.now() - waited
        writing = this.#write(journal, index, rows, data)
        // Its error is seen when it is waited for.
        writing.catch(() => {})
      }
      await writing
    } catch (error) {
      await writing.catch(() => {})
      throw error
    }
  }

  #buffer(index: number, length: number): ElementArray {
    const { type } = this.#question
    const { block, output } = this.#plan
    const whole = Math.min(block.rows, output.shape[0]) * output.shape[1]
    this.#buffers[index] ??= allocate(whole, 'a block', type, newArray, 'begin again with less memory')
    return this.#buffers[index].subarray(0, length)
  }

  /** How all rows are found, if that can be decided once. */
  async #decide(signal: AbortSignal | undefined): Promise<Partial<Query>> {
    const { query, type } = this.#question
    const { method, targets, limit } = query
    const isEmpty = this.#pace.total === 0 || targets?.length === 0
    // If there are few targets, each block is searched from them.
    if (method === 'search' || limit !== undefined || isEmpty) return {}
    if (targets && targets.length < this.#plan.block.rows) return {}
    const forward = { direction: 'forward' as const, memory: this.#memory }
    const graph = { edges: edgesOf(this.#question) }
    const division = await runNative({ signal, what: WORK, borrowed: this.#question.borrowed }, (call) =>
      divide(graph, { ...query, ...forward }, type, call),
    )
    return division ? { ...forward, division } : { ...forward, method: 'search' }
  }

  /** Finds the distances of some of the rows. */
  async #searchRows(
    [first, end]: Range,
    distances: ElementArray,
    how: Partial<Query>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { query } = this.#question
    const sources =
      query.sources?.slice(first, end) ?? Int32Array.from({ length: end - first }, (_, at) => first + at)
    const began = performance.now()
    const onProgress = ({ done }: { done: number }) => this.#pace.began(done)
    const graph = { edges: edgesOf(this.#question) }
    const asked = { ...query, memory: this.#memory, ...how, sources }
    const results = { distances, next: null, trees: null }
    const { borrowed } = this.#question
    const found = await runNative({ signal, onProgress, what: WORK, borrowed }, (call) =>
      search(graph, asked, results, call),
    )
    this.method = found
    this.kernelMs += performance.now() - began
  }

  async #write(journal: Journal, index: number, rows: Range, data: ElementArray): Promise<void> {
    const plan = this.#plan
    this.bytesWritten += await writeBlock(plan, journal, { rows, cols: [0, plan.output.shape[1]], data })
    await journal.mark(plan, rowsJob(index))
    this.#pace.block()
  }
}

/** Throws unless all rows are there. */
async function requireDone(plan: GraphPlan, journal: Marks): Promise<void> {
  const { path } = plan.output
  if (!(await journal.isGrown())) throw new ResumeError(`there is no work on ${path} of this plan`)
  const missing = plan.stages[0]! - rowsDone(plan, await journal.marked(0)).size
  if (missing > 0)
    throw new ResumeError(`${missing} of the blocks of ${path} are not done yet: resume the work`)
}
