/** Computes closures of int32 matrices over max-plus and min-plus in memory of a GPU. */
import { type Gpu, Recording, roundUp } from './device.js'
import { failure, notExact } from './failure.js'
import { arithmeticOf, initialStatus, STATUS_WORDS, zeroBits } from './kernels/arithmetic.js'
import { cross, crossWithNext, finish, load, MAX_PATH, NO_PATH, pivot, S } from './kernels/closure.js'
import { product, type Tile, tileOf, witnessTileOf } from './kernels/product.js'
import { scan } from './kernels/scan.js'
import { factsOf } from './plan.js'
import type { GpuView } from './task.js'

/** A batch of square matrices to be closed. */
export interface ClosureTask {
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
export interface ClosureOutcome {
  readonly gain: number
  readonly kernelMs: number
}

/** Size from which on tiles of 128 rows compute the rest of each block's work. */
const LARGE = 1024

/**
 * Closes matrices, after a self-test of the pipelines on a small graph. The distances change only if no cycle
 * gains.
 */
export async function close(gpu: Gpu, task: ClosureTask): Promise<ClosureOutcome> {
  const { semiring, next, n, weights } = task
  if (semiring !== 'max-plus' && semiring !== 'min-plus') throw notExact(`closures over ${semiring}`)
  const tile = restTile(n, next !== null)
  await gpu.assertTested(`closure ${semiring} ${next !== null} ${weights.bits} ${tile.join()}`, () =>
    testClosure(gpu, task),
  )
  await assertBound(gpu, task)
  return closeTested(gpu, task, tile)
}

async function closeTested(gpu: Gpu, task: ClosureTask, tile: Tile): Promise<ClosureOutcome> {
  const { semiring, batch, n } = task
  let kernelMs = 0
  // Results of all items are written only after the last one has no cycle that gains.
  const results: { d: GPUBuffer; next: GPUBuffer | null; state: GPUBuffer }[] = []
  try {
    for (let item = 0; item < batch; item++) {
      const started = performance.now()
      const closed = await eliminate(gpu, task, item, tile)
      results.push(closed)
      const state = new Int32Array(1)
      await gpu.read([{ buffer: closed.state, at: 0, into: state }])
      kernelMs += performance.now() - started
      if (state[0]! >= 0) return { gain: item * n + state[0]!, kernelMs }
      task.progress(n ** 3)
    }
    await gpu.assertValid()
    const isMax = semiring === 'max-plus'
    const storing = await gpu.pipeline(`finish ${isMax} ${task.next !== null}`, () =>
      finish(isMax, task.next !== null),
    )
    const recording = new Recording(gpu)
    const np = paddedSize(n, tile)
    results.forEach(({ d, next, state }, item) => {
      const { buffer, offset, batchStride, rowStride, colStride } = task.distances
      const uniforms = [
        offset + item * batchStride,
        rowStride,
        colStride,
        n,
        np,
        task.reflexive ? 1 : 0,
        item * n * n,
      ]
      const buffers = { 0: d, 2: buffer, 3: state, ...(next && { 4: next, 5: task.next! }) }
      recording.dispatch(storing, buffers, 1, uniforms, [Math.ceil(n / 64), Math.ceil(n / 4)])
    })
    recording.submit()
    return { gain: -1, kernelMs }
  } finally {
    for (const { d, next, state } of results) gpu.give(d, next, state)
  }
}

/** Throws unless no path can leave the range in which a closure is exact. */
async function assertBound(gpu: Gpu, { semiring, batch, n, weights }: ClosureTask): Promise<void> {
  const zero = zeroBits(semiring, 'plain', weights.bits) >>> 0
  const pipeline = await gpu.pipeline(`scan ${weights.bits} false ${zero}`, () =>
    scan(weights.bits, false, zero),
  )
  const status = gpu.take(STATUS_WORDS * 4)
  const words = initialStatus()
  await gpu.write(words, status)
  const recording = new Recording(gpu)
  const { offset, rowStride, colStride, batchStride } = weights
  const uniforms = [offset, n, n, rowStride, colStride, batch, batchStride, 8]
  recording.dispatch(pipeline, { 0: weights.buffer, 2: status }, 1, uniforms, [Math.min(n * batch, 1056)])
  recording.submit()
  await gpu.read([{ buffer: status, at: 0, into: words }])
  gpu.give(status)
  const { least, greatest } = factsOf(words, 0)
  const most = Math.max(Math.abs(least), Math.abs(greatest))
  if (most * n > MAX_PATH) throw notExact(`closures of ${n} nodes with weights up to ${most}`)
}

const restTile = (n: number, withNext: boolean): Tile => {
  const rows = n >= LARGE ? 128 : 64
  return withNext ? witnessTileOf(rows) : tileOf(rows, { better: '<' })
}
const paddedSize = (n: number, [BM, BN]: Tile) => roundUp(n, Math.max(BM, BN))

async function eliminate(
  gpu: Gpu,
  { semiring, n, reflexive, weights, next: wanted, check }: ClosureTask,
  item: number,
  tile: Tile,
): Promise<{ d: GPUBuffer; next: GPUBuffer | null; state: GPUBuffer }> {
  const withNext = wanted !== null
  const isMax = semiring === 'max-plus'
  const arithmetic = arithmeticOf(semiring, 'offset')!
  const np = paddedSize(n, tile)
  const restName = `closure ${semiring} ${withNext} ${tile.join()}`
  const [loading, pivoting, crossing, rest] = await Promise.all([
    gpu.pipeline(`load ${weights.bits} ${isMax} ${withNext}`, () => load(weights.bits, isMax, withNext)),
    gpu.pipeline(`pivot ${semiring} ${withNext}`, () => pivot(arithmetic, withNext)),
    gpu.pipeline(`cross ${semiring} ${withNext}`, () =>
      withNext ? crossWithNext(arithmetic) : cross(arithmetic),
    ),
    gpu.pipeline(restName, () => product(arithmetic, tile, withNext ? 'through' : 'none')),
  ])
  const panelBytes = S * np * 4
  const [d, state, rowPanel, colPanel] = [
    gpu.take(np * np * 4),
    gpu.take(8),
    gpu.take(panelBytes),
    gpu.take(panelBytes),
  ]
  const [next, nextPanel] = withNext ? [gpu.take(np * np * 4), gpu.take(panelBytes)] : [null, null]
  try {
    await gpu.write(Int32Array.of(-1, -1), state)
    let recording = new Recording(gpu)
    const { offset, batchStride, rowStride, colStride } = weights
    const uniforms = [offset + item * batchStride, rowStride, colStride, n, np, reflexive ? 1 : 0]
    const loaded = { 0: weights.buffer, 2: d, ...(next && { 3: next }) }
    recording.dispatch(loading, loaded, 1, uniforms, [np / 64, np / 4])
    const blocks = Math.ceil(n / S)
    const perBlock = 2 * S * np * np
    const [BM, BN] = tile
    const panels = { 4: rowPanel, 5: colPanel }
    const ofBlock = { 0: d, 2: state, ...(next && { 3: next, 6: nextPanel! }) }
    const nexts = next && { 4: next, 5: nextPanel! }
    const work = [np / 4, np / 4, 0, S, 0, 0, 0, isMax ? -NO_PATH : NO_PATH, 0, 0, 0]
    for (let block = 0; block < blocks; ) {
      const steps = [
        recording.prepare(pivoting, { ...ofBlock, ...(next && panels) }, 1, [np], [1]),
        recording.prepare(crossing, { ...ofBlock, ...panels }, 1, [np], [np / S, 2]),
        recording.prepare(rest, { 0: colPanel, 1: rowPanel, 2: d, ...nexts }, 3, work, [np / BN, np / BM]),
      ]
      const count = Math.min(
        blocks - block,
        Math.max(1, Math.floor(gpu.operationsAtOnce(restName) / perBlock)),
      )
      for (let i = 0; i < count; i++) for (const step of steps) recording.repeat(step)
      block += count
      check()
      const started = performance.now()
      recording.submit()
      await gpu.finished()
      gpu.noteRate(restName, perBlock * count, performance.now() - started)
      if (block < blocks) recording = new Recording(gpu)
    }
    return { d, next, state }
  } catch (error) {
    gpu.give(d, next, state)
    throw error
  } finally {
    gpu.give(rowPanel, colPanel, nextPanel)
  }
}

/** Nodes of the graph of the self-test: more than a block has. */
const TEST_NODES = 130

/** Throws unless the pipelines of a task close the weights of a small graph as Floyd and Warshall's algorithm does. */
async function testClosure(
  gpu: Gpu,
  { semiring, next: wanted, weights: { bits }, n }: ClosureTask,
): Promise<void> {
  const [size, withNext] = [TEST_NODES, wanted !== null]
  const sign = semiring === 'max-plus' ? -1 : 1
  const zero = sign < 0 ? -(2 ** 31) : 2 ** 31 - 1
  const stored = zeroBits(semiring, 'plain', bits) | 0
  const weights = bits === 16 ? new Int16Array(size * size) : new Int32Array(size * size)
  let state = 1
  for (let i = 0; i < weights.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    const value = state >>> 16
    weights[i] = value % 8 === 0 ? sign * (value % 1000) : stored
  }
  const distances = Array.from(weights, (weight) =>
    weight === stored ? Number.POSITIVE_INFINITY : sign * weight,
  )
  for (let i = 0; i < size; i++) distances[i * size + i] = 0
  for (let k = 0; k < size; k++) {
    for (let i = 0; i < size; i++) {
      const toPivot = distances[i * size + k]!
      for (let j = 0; j < size; j++) {
        const path = toPivot + distances[k * size + j]!
        if (path < distances[i * size + j]!) distances[i * size + j] = path
      }
    }
  }
  const bytes = size * size * 4
  const view = (of: GpuView['bits']): GpuView => ({
    buffer: gpu.take(bytes),
    bits: of,
    offset: 0,
    batchStride: 0,
    rowStride: size,
    colStride: 1,
  })
  const [from, to, next] = [view(bits), view(32), withNext ? gpu.take(bytes) : null]
  await gpu.write(weights, from.buffer)
  const task = { semiring, batch: 1, n: size, reflexive: true, weights: from, distances: to, next }
  const { gain } = await closeTested(gpu, { ...task, check() {}, progress() {} }, restTile(n, withNext))
  const buffer = to.buffer
  const [found, hops] = [new Int32Array(size * size), new Int32Array(size * size)]
  await gpu.read([{ buffer, at: 0, into: found }, ...(next ? [{ buffer: next, at: 0, into: hops }] : [])])
  await gpu.assertValid()
  gpu.give(from.buffer, buffer, next)
  const isRight = (index: number) => {
    const expected = distances[index]!
    if (found[index] !== (expected === Number.POSITIVE_INFINITY ? zero : sign * expected)) return false
    const [i, j] = [Math.floor(index / size), index % size]
    if (!withNext || i === j || expected === Number.POSITIVE_INFINITY) return true
    const hop = hops[index]!
    const weight = weights[i * size + hop]
    return (
      weight !== undefined && weight !== stored && sign * weight + distances[hop * size + j]! === expected
    )
  }
  if (gain < 0 && distances.every((_, index) => isRight(index))) return
  throw failure(
    'ERR_MPMML_NO_WEBGPU',
    `the self-test of WebGPU has failed: closures over ${semiring}${withNext ? ' with next nodes' : ''} are wrong on ${gpu.name}`,
  )
}
