/** Work on matrices on disk by the workers of a queue. */
import { type WorkOptions, workSet } from '../arrays/options.js'
import { begin, type Matrices } from '../arrays/plan.js'
import { Options, type OptionsOf } from '../options.js'
import { connect } from './connect.js'
import { type ProducerOptions, producerSet, type QueueResult, runPlan } from './producer.js'
import { blockRunner } from './runner.js'

/** The options of {@link multiplyOnQueue} and {@link shortestPathsOnQueue}. */
export interface QueueWorkOptions extends ProducerOptions, WorkOptions {}

const workOptions = new Options({ ...producerSet, ...workSet } satisfies OptionsOf<QueueWorkOptions>)

/**
 * Computes C = A ⊗ B of matrices on shared storage, by the workers of a queue: see {@link startWorker}. The
 * blocks are those of `multiplyArrays` of mpmml/arrays; jobs contain only names. The paths must be the same
 * on all machines.
 *
 * The promise resolves when C is complete. Workers may start, stop or die meanwhile; without workers the call
 * waits for one. After any end of this process, the same call with `resume: true` continues the work.
 *
 * @param a - M × K
 * @param b - K × N
 * @param c - the output, M × N
 * @throws Rejects with an {@link MpmmlError}: the errors of planning in `multiplyArrays`; ERR_MPMML_PACKAGE
 * if bullmq or ioredis is missing; ERR_MPMML_QUEUE if the queue can't be reached, refuses user or password,
 * or is lost for longer than `connectionTimeoutMs`; the error of the first block that failed for good, with
 * its reason, such as ERR_MPMML_OVERFLOW or ERR_MPMML_ROOTS; ERR_MPMML_ABORTED.
 * @example
 * ```ts
 * const queue = 'redis://127.0.0.1:6379'
 * await writeNpy('a.npy', matrix(2, 3, [1, 6, 2, 8, 3, 4]))
 * await writeNpy('b.npy', matrix(3, 2, [2, 5, 3, 3, 1, 6]))
 * // Usually on other machines.
 * const worker = await startWorker({ queue, roots: ['.'] })
 * const { blocks } = await multiplyOnQueue('a.npy', 'b.npy', 'c.npy', { queue })
 * await worker.stop()
 * console.log(blocks, (await readNpy('c.npy')).data.join()) // 1 9,9,10,13
 * ```
 */
export function multiplyOnQueue(
  a: string | URL,
  b: string | URL,
  c: string | URL,
  options: QueueWorkOptions,
): Promise<QueueResult> {
  return work({ kind: 'multiply', a, b, c }, options)
}

/**
 * Computes the shortest distances between all nodes, by the workers of a queue: `shortestPathsArrays` of
 * mpmml/arrays, in stages, each of which begins after the end of the previous one. Otherwise like {@link
 * multiplyOnQueue}.
 *
 * @param weights - a square matrix
 * @param distances - the output
 * @throws Rejects as {@link multiplyOnQueue} does, and with ERR_MPMML_CYCLE if the graph has a negative
 * cycle.
 * @example
 * ```ts
 * const queue = 'redis://127.0.0.1:6379'
 * await writeNpy('roads.npy', matrix(3, 3, [0, 5, 9, 1, 0, 2, 4, 8, 0]))
 * const worker = await startWorker({ queue, roots: ['.'] })
 * await shortestPathsOnQueue('roads.npy', 'distances.npy', { queue })
 * await worker.stop()
 * console.log((await readNpy('distances.npy')).data.join()) // 0,5,7,1,0,2,4,8,0
 * ```
 */
export function shortestPathsOnQueue(
  weights: string | URL,
  distances: string | URL,
  options: QueueWorkOptions,
): Promise<QueueResult> {
  return work({ kind: 'shortest-paths', a: weights, c: distances }, options)
}

async function work(matrices: Matrices, options: QueueWorkOptions): Promise<QueueResult> {
  const settings = workOptions.read(options)
  // Connecting first, so that a missing queue is an error before anything is written to the storage.
  const { close } = await connect(settings.queue)
  close()
  const plan = await begin(matrices, settings, async () => {})
  return runPlan(plan, settings, blockRunner, settings.resume)
}
