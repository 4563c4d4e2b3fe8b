/** Computes best paths of sparse graphs and writes their distances in blocks of rows. */

import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { throwIfAborted } from '../abort.js'
import { AUTO, CPU, deviceName } from '../backend.js'
import { during } from '../borrowed.js'
import { show } from '../describe.js'
import { bytesOf, newArray, typeNameOf } from '../elements.js'
import { OptionError, ResumeError } from '../errors.js'
import type { FoundBy } from '../graph/options.js'
import type { AnyWeights } from '../graph/paths.js'
import { type PathQuery, readQuery, sizesOf } from '../graph/query.js'
import { readGraph } from '../graph/read.js'
import { type PathSemiring, pathSemirings } from '../graph/rules.js'
import { divide, type Query, search, searchBytes } from '../graph/search.js'
import type { Edges } from '../graph-core/edges.js'
import { allocate } from '../matrix.js'
import { addon } from '../native.js'
import { runNative } from '../run-native.js'
import type { ElementArray } from '../storage.js'
import { bytesIn, type Range } from './array-source.js'
import { extraBytes, writeBlock } from './array-writer.js'
import type { JobRunner } from './batch.js'
import { kib } from './block-size.js'
import { inputChanged } from './disk.js'
import { hashOf } from './hash.js'
import {
  type ArrayType,
  type BlockJob,
  blocksIn,
  type GraphPlan,
  indicesOf,
  MAX_STEPS,
  type PlannedGraph,
} from './job.js'
import { cut } from './job-tasks.js'
import { Journal } from './journal.js'
import {
  aligned,
  assertMultiple,
  beginning,
  chunkOf,
  identified,
  type PlanRequest,
  planOutput,
  readPolicy,
  USUAL_CHUNK,
  unitOf,
} from './layout.js'
import { isZarr, WORK } from './names.js'
import { type ReadWork, readPath } from './options.js'
import { assertSeparate, completeRequest, resumeOrBegin } from './plan.js'

/** Returns whether a file's extension is that of a graph format. */
export const isGraphName = (path: string) => /\.(gr|mtx|csv|graphml)(\.gz)?$/i.test(path)

/** Number of row buffers: one is searched while another is written. */
const BUFFERS = 2

/**
 * Default bytes of row buffers, if that suffices for all cores. Larger blocks would lose more work at an
 * interruption.
 */
const USUAL_BYTES = BUFFERS * 2 ** 28

/** Minimum rows of a block per core, because dissection sweeps from 64 nodes at a time. */
const MIN_ROWS = 256

/** Request for paths of a graph, in addition to the options of all work. */
interface GraphRequest {
  readonly weights: unknown
  readonly output: string | URL
  readonly work: ReadWork
  readonly sources: unknown
  readonly targets: unknown
  readonly limit: number | undefined
  readonly method: 'auto' | 'search' | 'dissection' | undefined
  /** Index of the requested backend. */
  readonly backend: number
}

/** Begins or resumes the search for best paths. */
export async function graphPaths(request: GraphRequest): Promise<{ plan: GraphPlan; runner: RowsSearch }> {
  const { weights, output, work, sources, targets, limit, method = 'auto', backend } = request
  const { signal, overflow } = work
  throwIfAborted(signal, WORK)
  const planRequest = await completeRequest(work, output, 'min-plus')
  const semiring = assertPaths(planRequest.semiring)
  if (backend !== AUTO && backend !== CPU) {
    throw new OptionError(
      `backend '${addon.backendChoices[backend]}' is for the paths of matrices on disk, and those of an edge list are searched on the CPU: leave it out`,
    )
  }
  const began = performance.now()
  const read = await readWeights(weights, planRequest)
  const options = { sources, targets, limit, method, overflow, signal }
  const question = await readQuery(semiring, read.weights, options)
  const a = await plannedGraph(read.path, question, limit, signal)
  const readMs = performance.now() - began
  const plan = await resumeOrBegin<GraphPlan>(planRequest, 'graph-paths', {
    assertSame({ a: { fingerprint, asked: before } }) {
      if (fingerprint !== a.fingerprint) throw inputChanged(a.path ?? 'the graph')
      if (before === a.asked) return
      throw new ResumeError(
        "what was begun can't be resumed: it was of other sources, targets or another limit. Ask for the same as then, or begin again with overwrite",
      )
    },
    make: async () => planRows(question, a, planRequest),
    ready: async () => {},
  })
  return { plan, runner: new RowsSearch(plan, question, planRequest.memory, read.bytes, readMs) }
}

function assertPaths(semiring: string): PathSemiring {
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
  await assertSeparate(output, path)
  return { weights: list, path, bytes: (await stat(path)).size }
}

const edgesOf = ({ weights }: PathQuery): Edges => weights.edges!

/** Returns the hash of arrays; null is an array of all nodes. */
async function arraysHash(
  head: string,
  arrays: readonly (ElementArray | null)[],
  signal: AbortSignal | undefined,
): Promise<string> {
  const pieces = arrays.flatMap((array) => (array ? [`${array.byteLength};`, bytesIn(array)] : 'all;'))
  return (await hashOf([head, ...pieces], signal)).slice(0, 32)
}

/** Returns the plan's description of a graph and of its request. */
async function plannedGraph(
  path: string | null,
  question: PathQuery,
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
    fingerprint: await during(borrowed, () => arraysHash(`${nodes} ${dtype};`, [from, to, weight], signal)),
    asked: await arraysHash(`${limit};`, [sources, targets], signal),
  }
}

/** Returns the bytes of the graph and of one search. */
function fixedBytes({ nodes, to, type }: Edges): number {
  return to.length * (8 + bytesOf(type)) + searchBytes(nodes, to.length)
}

function planRows(question: PathQuery, a: PlannedGraph, planRequest: PlanRequest): GraphPlan {
  const { block: wished, memory } = planRequest
  const [, rows, cols] = sizesOf(question)
  const { dtype } = a
  const fixed = fixedBytes(edgesOf(question))
  const perRow = BUFFERS * Math.max(1, cols) * bytesOf(question.type)
  const laidOut = (chunk: number) => {
    const chunks = planRequest.chunks ?? [
      chunkOf(chunk, rows, wished.rows),
      // A chunk of few rows is wide, which limits the number of files.
      chunkOf(USUAL_CHUNK ** 2 / chunk, cols, undefined),
    ]
    const request =
      isZarr(planRequest.output) && !planRequest.shards ? { ...planRequest, chunks } : planRequest
    const output = planOutput(request, [rows, cols], dtype, { operand: dtype, result: dtype })
    const [unit] = unitOf(output)
    const other = fixed + extraBytes(output)
    // Dissection and the rows share the memory equally.
    const size = Math.floor((memory - other) / 2 / perRow)
    return { output, unit, size, least: other + 2 * unit * perRow }
  }
  let chunk = USUAL_CHUNK
  let { output, unit, size, least } = laidOut(chunk)
  while (size < unit && chunk > 1) {
    chunk /= 2
    ;({ output, unit, size, least } = laidOut(chunk))
  }
  if (size < unit && wished.rows === undefined) throw tooLittle(least)
  assertMultiple(wished.rows, unit, rows, 'rows')
  const most = Math.ceil(Math.max(1, rows) / unit) * unit
  const suitableRows = Math.max(MIN_ROWS * availableParallelism(), Math.floor(USUAL_BYTES / perRow))
  const block = wished.rows ?? Math.min(most, aligned(Math.min(size, suitableRows), unit, 1))
  if (blocksIn(rows, block) > MAX_STEPS) throw tooLittle(fixed + 2 * perRow * Math.ceil(rows / MAX_STEPS))
  return identified({
    kind: 'graph-paths' as const,
    begun: beginning(),
    semiring: planRequest.semiring,
    overflow: readPolicy(dtype, planRequest.overflow),
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

/** Searches blocks of rows one after the other: each is written while the next one is searched. */
class RowsSearch implements JobRunner {
  readonly backend = 'cpu'
  readonly deviceName = deviceName(-1)
  readonly rowsTogether = 1
  method: FoundBy | undefined
  writeMs = 0
  readonly peakBytes: number
  readonly #plan: GraphPlan
  readonly #question: PathQuery
  /** Limit of the searches' memory in bytes. */
  readonly #memory: number
  readonly #buffers: ElementArray[] = []

  constructor(
    plan: GraphPlan,
    question: PathQuery,
    memory: number,
    readonly bytesRead: number,
    readonly readMs: number,
  ) {
    const [, rows, cols] = sizesOf(question)
    const edges = edgesOf(question)
    const buffers =
      BUFFERS * Math.min(rows, plan.block.rows) * cols * bytesOf(question.type) + extraBytes(plan.output)
    this.peakBytes = buffers + fixedBytes(edges)
    if (this.peakBytes > memory) throw tooLittle(this.peakBytes)
    this.#memory = memory - (this.peakBytes - searchBytes(edges.nodes, edges.to.length))
    this.#plan = plan
    this.#question = question
  }

  async close(): Promise<void> {}

  async run(...[jobs, signal, { done, began }]: Parameters<JobRunner['run']>): Promise<void> {
    const { block, output } = this.#plan
    const journal = new Journal(this.#plan, signal)
    const width = output.shape[1]
    let how: Partial<Query> | undefined
    let count = 0
    let writing: Promise<void> = Promise.resolve()
    const write = async (job: BlockJob, rows: Range, data: ElementArray, kernelMs: number) => {
      const bytesWritten = await writeBlock(this.#plan, journal, { rows, cols: [0, width], data })
      await journal.mark(job)
      done({ job, kernelMs, bytesWritten })
    }
    try {
      for (const job of jobs) {
        how ??= await this.#decide(signal)
        const rows = cut(indicesOf(job)[1], block.rows, output.shape[0])
        const data = this.#buffer(count++ % BUFFERS, (rows[1] - rows[0]) * width)
        const kernelMs = await this.#searchRows(rows, data, how, signal, began)
        const waited = performance.now()
        await writing
        this.writeMs += performance.now() - waited
        writing = write(job, rows, data, kernelMs)
        // The later await handles the error.
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

  /** Returns the search method of all rows, if it can be decided once. */
  async #decide(signal: AbortSignal | undefined): Promise<Partial<Query>> {
    const { query, type } = this.#question
    const { method, targets, limit } = query
    // With few targets, each block is searched backward from the targets.
    if (method === 'search' || limit !== undefined || targets?.length === 0) return {}
    if (targets && targets.length < this.#plan.block.rows) return {}
    const forward = { direction: 'forward' as const, memory: this.#memory }
    const graph = { edges: edgesOf(this.#question) }
    const division = await runNative({ signal, what: WORK, borrowed: this.#question.borrowed }, (call) =>
      divide(graph, { ...query, ...forward }, type, call),
    )
    return division ? { ...forward, division } : { ...forward, method: 'search' }
  }

  /** Computes the distances of a range of rows; returns the duration in ms. */
  async #searchRows(
    [first, end]: Range,
    distances: ElementArray,
    how: Partial<Query>,
    signal: AbortSignal | undefined,
    began: ((share: number) => void) | undefined,
  ): Promise<number> {
    const { query } = this.#question
    const sources =
      query.sources?.slice(first, end) ?? Int32Array.from({ length: end - first }, (_, at) => first + at)
    const started = performance.now()
    const graph = { edges: edgesOf(this.#question) }
    const request = { ...query, memory: this.#memory, ...how, sources }
    const results = { distances, next: null, trees: null }
    const { borrowed } = this.#question
    const progress = ({ done }: { done: number }) => began?.(done)
    this.method = await runNative({ signal, onProgress: progress, what: WORK, borrowed }, (call) =>
      search(graph, request, results, call),
    )
    return performance.now() - started
  }
}
