/** Work on arrays on disk in one process: all jobs of a plan, one after the other. */
import { optionsOf } from '../backend.js'
import { openDevice } from '../device/device.js'
import { listener, Options, type OptionsOf } from '../options.js'
import { finish, isFinished, unlessFinished } from './blocks.js'
import { Engine } from './engine.js'
import { type ArrayType, type BlockJob, type BlockPlan, jobNames, jobsOf } from './job.js'
import {
  type ArraysProgress,
  memoryOf,
  type RunOptions,
  runSet,
  type WorkOptions,
  workSet,
} from './options.js'
import { begin } from './plan.js'

/** The options of {@link multiplyArrays} and {@link shortestPathsArrays}. */
export interface ArraysOptions extends WorkOptions, RunOptions {
  /** Is called when a block is done, and when a product of a block is, at most four times per second. */
  onProgress?: ((progress: ArraysProgress) => void) | undefined
}

/** What {@link multiplyArrays} and {@link shortestPathsArrays} did. */
export interface ArraysResult {
  /** Where the result is. */
  readonly path: string
  /** Rows and columns. */
  readonly shape: readonly [number, number]
  /** The type of its elements. */
  readonly dtype: ArrayType
  /** Where blocks were computed. */
  readonly backend: 'cuda' | 'cpu'
  /** The name of the GPU or processor. */
  readonly device: string
  /** Blocks of the result, or steps of them. */
  readonly blocks: number
  /** How many of them had been done before, and were not computed again. */
  readonly resumed: number
  /** Rows, columns and depth of a block. */
  readonly block: { readonly rows: number; readonly cols: number; readonly depth: number }
  /** From files. */
  readonly bytesRead: number
  /** To files. */
  readonly bytesWritten: number
  /** The most host memory, in bytes, that blocks, buffers and codecs were given. */
  readonly peakBytes: number
  /** How long it took, in milliseconds. */
  readonly timing: {
    /** The whole call. */
    readonly totalMs: number
    /** The products of blocks. */
    readonly kernelMs: number
    /** How long products waited for blocks to be read. */
    readonly readMs: number
    /** How long products waited for results to be written. */
    readonly writeMs: number
  }
}

const arraysOptions = new Options({
  ...workSet,
  onProgress: listener<ArraysProgress>(),
  ...runSet,
} satisfies OptionsOf<ArraysOptions>)

/**
 * C = A ⊗ B of matrices on disk that needn't fit in memory: Zarr arrays of version 3 (`.zarr`, which need the package zarrita, and
 * `s3://bucket/name.zarr`, which need aws4fetch too) and NumPy files (`.npy`). Blocks are read ahead, multiplied, and written behind, in no more memory than the option `memory` says.
 *
 * C appears under its name when it is complete. Until then it grows in a folder or a prefix beside it, `C.partial`: after any end of the
 * process `resume: true` goes on there.
 *
 * @param a - M × K
 * @param b - K × N
 * @param c - the output, M × N
 * @throws Rejects with an {@link MpmmlError}: ERR_MPMML_SHAPE, ERR_MPMML_DTYPE, ERR_MPMML_OPTION, ERR_MPMML_FILE, ERR_MPMML_PACKAGE,
 *   ERR_MPMML_EXISTS, ERR_MPMML_RESUME, ERR_MPMML_CHANGED, ERR_MPMML_CHUNK, ERR_MPMML_DISK_FULL, ERR_MPMML_OVERFLOW,
 *   ERR_MPMML_VALUE, ERR_MPMML_ABORTED, ERR_MPMML_NO_CUDA, ERR_MPMML_CUDA, ERR_MPMML_OUT_OF_MEMORY.
 * @example
 * await writeNpy('a.npy', matrix(2, 2, [1, 2, 3, 4]))
 * await multiplyArrays('a.npy', 'a.npy', 'c.npy', { memory: '8GiB' })
 * console.log((await readNpy('c.npy')).data.join()) // 5,6,7,8
 */
export function multiplyArrays(
  a: string | URL,
  b: string | URL,
  c: string | URL,
  options: ArraysOptions = {},
): Promise<ArraysResult> {
  return run(options, (rest, ready) => begin({ kind: 'multiply', a, b, c, ...rest }, ready))
}

/**
 * The shortest distances between all nodes of a graph whose weights are a square matrix on disk that needn't fit in memory: element
 * [i, j] of `weights` is the weight of the edge from i to j, and the semiring's zero is no edge. The result has the distances as
 * `shortestPaths` has them. With another `semiring` it has the best paths of that one: 'max-plus' for longest, 'max-min' for widest.
 *
 * Blocked Floyd–Warshall: a step for each block of the diagonal reads and writes the whole matrix. Files and errors are as for
 * {@link multiplyArrays}; the disk needs room for the result and two intermediate matrices.
 *
 * @throws Rejects with what {@link multiplyArrays} rejects with, and ERR_MPMML_CYCLE if a cycle gains.
 * @example
 * const none = zeroOf('min-plus')
 * await writeNpy('roads.npy', matrix(3, 3, [none, 4, 9, none, none, 1, none, none, none]))
 * await shortestPathsArrays('roads.npy', 'distances.npy')
 * console.log((await readNpy('distances.npy')).data.slice(0, 3).join()) // 0,4,5
 */
export function shortestPathsArrays(
  weights: string | URL,
  distances: string | URL,
  options: ArraysOptions = {},
): Promise<ArraysResult> {
  return run(options, (rest, ready) =>
    begin({ kind: 'shortest-paths', a: weights, c: distances, ...rest }, ready),
  )
}

type PlanOptions = Omit<ArraysOptions, 'onProgress' | 'backend' | 'device' | 'deviceMemory'>

async function run(
  options: ArraysOptions,
  plan: (options: PlanOptions, ready: (plan: BlockPlan) => Promise<void>) => Promise<BlockPlan>,
): Promise<ArraysResult> {
  const started = performance.now()
  const { onProgress, deviceMemory, signal, backend, device, ...asked } = arraysOptions.read(options)
  // Once, because the default is a share of what is free.
  const memory = memoryOf(asked)
  // CUDA takes some hundred milliseconds to start.
  const opened = openDevice(optionsOf({ backend, device, devices: 0 }))
  // Its error is seen when the plan is there.
  opened.catch(() => {})
  let engine!: Engine
  let planned: BlockPlan
  try {
    planned = await plan({ ...asked, memory, signal }, async (made) => {
      engine = await Engine.open(made, opened, { memory, deviceMemory, signal })
    })
  } catch (error) {
    await opened.then((unused) => unused.close()).catch(() => {})
    throw error
  }
  const progress = new Pace(
    planned.stages.reduce((sum, count) => sum + count, 0),
    onProgress,
  )
  let spent: Spent
  try {
    spent = await compute(engine, planned, progress, signal)
  } finally {
    await engine.close()
  }
  const { output } = planned
  return {
    path: output.path,
    shape: output.shape,
    dtype: output.dtype,
    backend: engine.backend,
    device: engine.deviceName,
    blocks: progress.total,
    resumed: progress.skipped,
    block:
      planned.kind === 'multiply'
        ? planned.block
        : { rows: planned.block.size, cols: planned.block.size, depth: planned.block.size },
    bytesRead: engine.bytesRead,
    bytesWritten: spent.bytesWritten,
    peakBytes: engine.budget.peak,
    timing: {
      totalMs: performance.now() - started,
      kernelMs: spent.kernelMs,
      readMs: engine.readMs,
      writeMs: engine.writeMs,
    },
  }
}

/** What blocks have taken. */
interface Spent {
  kernelMs: number
  bytesWritten: number
}

/** Computes what isn't done of a plan, stage by stage, and completes the output. */
async function compute(
  engine: Engine,
  plan: BlockPlan,
  progress: Pace,
  signal: AbortSignal | undefined,
): Promise<Spent> {
  const spent = { kernelMs: 0, bytesWritten: 0 }
  const finished = await isFinished(plan, signal)
  if (finished) progress.skip(progress.total)
  await unlessFinished(plan, signal, async () => {
    for (let stage = 0; stage < plan.stages.length && !finished; stage++) {
      const done = jobNames(plan, stage, await engine.journal.marked(stage))
      progress.skip(done.size)
      await engine.run(
        without(jobsOf(plan, stage, engine.rowsTogether()), done),
        signal,
        (block) => {
          spent.kernelMs += block.kernelMs
          spent.bytesWritten += block.bytesWritten
          progress.block()
        },
        (share) => progress.began(share),
      )
    }
    await finish(plan, { signal })
  })
  progress.end()
  return spent
}

/** The jobs that aren't done. */
function* without(jobs: Iterable<BlockJob>, done: Set<string>): Generator<BlockJob, void> {
  for (const job of jobs) if (!done.has(job.name)) yield job
}

/** Between two calls of `onProgress`. */
const INTERVAL_MS = 250

/** How far the work is, and how long the rest takes. */
class Pace {
  /** All blocks. */
  readonly total: number
  readonly #listener: ((progress: ArraysProgress) => void) | undefined
  readonly #started = performance.now()
  #told = 0
  #blocks = 0
  #share = 0
  skipped = 0

  constructor(total: number, listener: ((progress: ArraysProgress) => void) | undefined) {
    this.total = total
    this.#listener = listener
  }

  /** Blocks that had been done before. */
  skip(count: number): void {
    this.skipped += count
  }

  /** The share of a block that is multiplied. */
  began(share: number): void {
    this.#share = share < 1 ? share : 0
    if (performance.now() - this.#told >= INTERVAL_MS) this.#tell()
  }

  block(): void {
    this.#blocks++
    this.#tell()
  }

  end(): void {
    this.#share = 0
    this.#tell()
  }

  #tell(): void {
    const now = performance.now()
    this.#told = now
    const done = Math.min(this.total, this.#blocks + this.#share)
    const { total } = this
    // What was done before says nothing of the pace.
    const left = total - this.skipped - done
    this.#listener?.({
      done: total === 0 ? 1 : Math.min(1, (this.skipped + done) / total),
      blocks: this.skipped + this.#blocks,
      total,
      secondsLeft: done > 0 ? ((now - this.#started) / 1000 / done) * Math.max(0, left) : undefined,
    })
  }
}
