/** Computes closures of int32 matrices over max-plus and min-plus in memory of a GPU. */
import { multiplyOnCpu } from './cpu.js'
import { type Gpu, Recording, type Take, tooLarge } from './device.js'
import { failure, notExact } from './failure.js'
import { arithmeticOf, FACTS, zeroBits } from './kernels/arithmetic.js'
import { cross, crossWithNext, finish, load, MAX_PATH, NO_PATH, pivot, S } from './kernels/closure.js'
import { product, type Tile, tileOf, witnessTileOf } from './kernels/product.js'
import { THROW } from './kernels/store.js'
import { factsOf, kindOf, tileRowsOf, type ValueBounds } from './plan.js'
import { randomWords } from './probe.js'
import { encodeScan, multiplyBlock, readScans } from './product.js'
import { roundUp } from './transfers.js'
import {
  bindingOf,
  copyElements,
  from,
  type GpuView,
  isBindable,
  newElements,
  spanOf,
  takeView,
} from './views.js'

/** A batch of square matrices to be closed. */
interface ClosureTask {
  readonly semiring: string
  readonly batch: number
  readonly n: number
  readonly reflexive: boolean
  readonly weights: GpuView
  /** Row-major, or any layout; may be the weights. */
  readonly distances: GpuView
  /** int32 of [batch, n, n], row-major. */
  readonly next: GPUBuffer | null
  readonly check: () => void
  readonly progress: (steps: number) => void
}

/** First node with which a cycle gains, of all items: item · n + node; −1 if none does. */
interface ClosureOutcome {
  readonly gain: number
  readonly kernelMs: number
}

/** Size from which on tiles of 128 rows compute the rest of each block's work. */
const LARGE = 1024
/** Size from which on next nodes are found by a product if each edge makes paths worse. */
const MANY = 512

const tileFor = ({ n, next }: ClosureTask): Tile => {
  const rows = n >= LARGE ? 128 : 64
  return next ? witnessTileOf(rows) : tileOf(rows, { better: '<' })
}

/**
 * Closes matrices, after a self-test of the pipelines on a small graph. The distances change only if no cycle
 * gains.
 */
export async function computeClosure(gpu: Gpu, task: ClosureTask): Promise<ClosureOutcome> {
  const { semiring, next, batch, n, weights, distances } = task
  if (semiring !== 'max-plus' && semiring !== 'min-plus') throw notExact(`closures over ${semiring}`)
  const sizes = { batch: 1, rows: n, cols: n }
  for (const view of [weights, distances])
    if (!isBindable(gpu, view, sizes)) throw tooLarge((spanOf(view, sizes) * view.bits) / 8, gpu.maxBinding)
  const { least, greatest } = await assertBound(gpu, task)
  const isWorse = semiring === 'min-plus' ? least > 0 : greatest < 0
  const isSmall = 4 * batch * roundUp(n, 128) ** 2 <= gpu.maxBinding
  if (next && isWorse && n >= MANY && isSmall) return closeThenFindNext(gpu, task, next)
  const tile = tileFor(task)
  await gpu.assertTested(`closure ${semiring} ${next !== null} ${weights.bits} ${tile.join()}`, () =>
    testClosure(gpu, task, tile),
  )
  return closeBy(gpu, task, tile)
}

/**
 * Finds next nodes by one product with the closure: the first edge of a best path decides an element of weights ⊗ closure. It is exact
 * because each edge makes a path worse, so that next nodes lead to better elements, and end. On an H200 it is estimated to take 15 to
 * 19 ms for 4096 nodes; next nodes that are carried through the closure took 23 to 25.
 */
async function closeThenFindNext(gpu: Gpu, task: ClosureTask, next: GPUBuffer): Promise<ClosureOutcome> {
  const { semiring, batch, n, reflexive, weights, distances, check } = task
  const sizes = { batch, rows: n, cols: n }
  return gpu.withBuffers(async (take) => {
    const [closure, product] = [await takeView(take, 32, sizes), await takeView(take, 32, sizes)]
    const { kernelMs } = await computeClosure(gpu, {
      ...task,
      reflexive: true,
      distances: closure,
      next: null,
    })
    const block = await multiplyBlock(gpu, {
      ...{ kind: kindOf(semiring, 'int32'), rows: tileRowsOf(n, n, batch), batch, m: n, n, k: n },
      ...{ a: weights, b: closure, c: product, policy: THROW, reads: [], check },
      // Empty paths are better than all cycles: no edge decides the diagonal.
      c0: reflexive ? closure : null,
      witness: { ...closure, buffer: next },
    })
    await copyElements(gpu, distances, product, sizes)
    return { gain: -1, kernelMs: kernelMs + block.kernelMs }
  })
}

/** Matrices while they are closed, padded to tiles. */
interface Padded {
  readonly d: GPUBuffer
  readonly next: GPUBuffer | null
  readonly state: GPUBuffer
}

const closeBy = (gpu: Gpu, task: ClosureTask, tile: Tile): Promise<ClosureOutcome> =>
  gpu.withBuffers(async (take) => {
    const { semiring, batch, n, reflexive, distances } = task
    const sizes = { batch: 1, rows: n, cols: n }
    const started = performance.now()
    const np = roundUp(n, Math.max(tile[0], tile[1]))
    // Results of all items are written only after the last one has no cycle that gains.
    const results: Padded[] = []
    for (let item = 0; item < batch; item++) {
      const padded = {
        d: await take(np * np * 4),
        next: task.next && (await take(np * np * 4)),
        state: await take(8),
      }
      results.push(padded)
      await gpu.withBuffers((take) => eliminate(gpu, take, task, tile, item, np, padded))
      const state = new Int32Array(1)
      await gpu.transfers.read([{ buffer: padded.state, at: 0, into: state }])
      if (state[0]! >= 0) return { gain: item * n + state[0]!, kernelMs: performance.now() - started }
      task.progress(n ** 3)
    }
    await gpu.assertValid()
    const isMax = semiring === 'max-plus'
    const hasNext = task.next !== null
    const storing = await gpu.pipeline(`finish ${isMax} ${hasNext}`, () => finish(isMax, hasNext))
    const recording = new Recording(gpu)
    results.forEach(({ d, next }, item) => {
      const { binding, offset } = bindingOf(from(distances, item, 0, 0), sizes)
      const { rowStride, colStride } = distances
      const uniforms = [offset, rowStride, colStride, n, np, reflexive ? 1 : 0, item * n * n]
      const buffers = { 0: d, 2: binding, ...(next && { 4: next, 5: task.next! }) }
      recording.dispatch(storing, buffers, uniforms, [Math.ceil(n / 64), Math.ceil(n / 4)])
    })
    recording.submit()
    return { gain: -1, kernelMs: performance.now() - started }
  })

/** Returns the facts of the weights. Throws unless no path can leave the range in which a closure is exact. */
async function assertBound(gpu: Gpu, { semiring, batch, n, weights }: ClosureTask): Promise<ValueBounds> {
  const [kind, sizes] = [kindOf(semiring, 'int32'), { batch: 1, rows: n, cols: n }]
  const status = await readScans(gpu, async (recording, to) => {
    for (let item = 0; item < batch; item++)
      await encodeScan(recording, kind, from(weights, item, 0, 0), sizes, to, FACTS[0])
  })
  const facts = factsOf(status, 0)
  const most = Math.max(Math.abs(facts.least), Math.abs(facts.greatest))
  if (most * n > MAX_PATH) throw notExact(`closures of ${n} nodes with weights up to ${most}`)
  return facts
}

/** Closes one matrix into padded ones, block by block. */
async function eliminate(
  gpu: Gpu,
  take: Take,
  { semiring, n, reflexive, weights, check }: ClosureTask,
  tile: Tile,
  item: number,
  np: number,
  { d, next, state }: Padded,
): Promise<void> {
  const [isMax, hasNext] = [semiring === 'max-plus', next !== null]
  const arithmetic = arithmeticOf(semiring, 'offset')!
  const restName = `closure ${semiring} ${hasNext} ${tile.join()}`
  const [loading, pivoting, crossing, rest] = await Promise.all([
    gpu.pipeline(`load ${weights.bits} ${isMax} ${hasNext}`, () => load(weights.bits, isMax, hasNext)),
    gpu.pipeline(`pivot ${semiring} ${hasNext}`, () => pivot(arithmetic, hasNext)),
    gpu.pipeline(`cross ${semiring} ${hasNext}`, () => (hasNext ? crossWithNext : cross)(arithmetic)),
    gpu.pipeline(restName, () => product(arithmetic, tile, hasNext ? 'through' : 'none')),
  ])
  const panel = () => take(S * np * 4)
  const panels = { 4: await panel(), 5: await panel() }
  const nextPanel = next && (await panel())
  await gpu.transfers.write(Int32Array.of(-1, -1), state)
  const recording = new Recording(gpu)
  const { binding, offset } = bindingOf(from(weights, item, 0, 0), { batch: 1, rows: n, cols: n })
  const uniforms = [offset, weights.rowStride, weights.colStride, n, np, reflexive ? 1 : 0]
  recording.dispatch(loading, { 0: binding, 2: d, ...(next && { 3: next }) }, uniforms, [np / 64, np / 4])
  const blocks = Math.ceil(n / S)
  const perBlock = 2 * S * np * np
  const [BM, BN] = tile
  const ofBlock = { 0: d, 2: state, ...(next && { 3: next, 6: nextPanel! }) }
  const ofRest = { 0: panels[5], 1: panels[4], 2: d, ...(next && { 4: next, 5: nextPanel! }) }
  const work = [np / 4, np / 4, 0, S, 0, 0, isMax ? -NO_PATH : NO_PATH, 0, 0, 0, 0]
  for (let block = 0; block < blocks; ) {
    const steps = [
      recording.prepare(pivoting, { ...ofBlock, ...(next && panels) }, [np], [1]),
      recording.prepare(crossing, { ...ofBlock, ...panels }, [np], [np / S, 2]),
      recording.prepare(rest, ofRest, work, [np / BN, np / BM]),
    ]
    const atOnce = Math.max(1, Math.floor(gpu.operationsAtOnce(restName) / perBlock))
    const count = Math.min(blocks - block, atOnce)
    for (let i = 0; i < count; i++) for (const step of steps) recording.repeat(step)
    block += count
    check()
    const started = performance.now()
    recording.submit()
    await gpu.finished()
    gpu.noteRate(restName, perBlock * count, performance.now() - started)
  }
}

/** Nodes of the graph of the self-test: more than a block has. */
const TEST_NODES = 130

/**
 * Throws unless the pipelines of a task close the weights of a small graph. Each edge makes paths worse, so that the closure D of the
 * weights W is the only solution of D = 1 ⊕ W ⊗ D, which the CPU computes.
 */
async function testClosure(
  gpu: Gpu,
  { semiring, next: wanted, weights: { bits } }: ClosureTask,
  tile: Tile,
): Promise<void> {
  const n = TEST_NODES
  const sizes = { batch: 1, rows: n, cols: n }
  const sign = semiring === 'max-plus' ? -1 : 1
  const noEdge = zeroBits(semiring, 'plain', bits) | 0
  const noPath = zeroBits(semiring, 'plain', 32) | 0
  const random = randomWords(1)
  const weights = newElements(false, bits, n * n).map(() => {
    const value = random() >>> 16
    return value % 8 === 0 ? sign * (1 + (value % 1000)) : noEdge
  })
  const [found, hops] = [new Int32Array(n * n), new Int32Array(n * n)]
  const gain = await gpu.withBuffers(async (take) => {
    const [source, to] = [await takeView(take, bits, sizes), await takeView(take, 32, sizes)]
    const next = wanted && (await take(hops.byteLength))
    await gpu.transfers.write(weights, source.buffer)
    const task = { semiring, batch: 1, n, reflexive: true, weights: source, distances: to, next }
    const { gain } = await closeBy(gpu, { ...task, check() {}, progress() {} }, tile)
    const hopsOf = next ? [{ buffer: next, at: 0, into: hops }] : []
    await gpu.transfers.read([{ buffer: to.buffer, at: 0, into: found }, ...hopsOf])
    await gpu.assertValid()
    return gain
  })
  const one = new Int32Array(n * n).map((_, index) => (index % (n + 1) === 0 ? 0 : noPath))
  const expected = new Int32Array(n * n)
  multiplyOnCpu(gpu.cpu, { semiring, dtype: 'int32' }, n, { a: weights, b: found, c: expected, c0: one })
  const isRight = (distance: number, index: number) => {
    if (found[index] !== distance) return false
    const [i, j] = [Math.floor(index / n), index % n]
    if (!wanted || i === j) return true
    const hop = hops[index]!
    if (distance === noPath || hop < 0) return distance === noPath && hop === -1
    const weight = weights[i * n + hop]!
    return weight !== noEdge && weight + found[hop * n + j]! === distance
  }
  if (gain < 0 && expected.every(isRight)) return
  throw failure(
    'ERR_MPMML_NO_WEBGPU',
    `the self-test of WebGPU has failed: closures over ${semiring}${wanted ? ' with next nodes' : ''} are wrong on ${gpu.name}`,
  )
}
