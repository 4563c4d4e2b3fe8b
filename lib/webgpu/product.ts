/** Products of matrices in memory of a GPU: scan, pack, multiply, store. */

import { type Gpu, Recording, roundUp } from './device.js'
import { notExact } from './failure.js'
import {
  arithmeticOf,
  FACTS,
  FAULT,
  initialStatus,
  NO_FAULT,
  STATUS_WORDS,
  TIMES,
  zeroBits,
} from './kernels/arithmetic.js'
import { type Elementwise, elementwise } from './kernels/elementwise.js'
import { pack } from './kernels/pack.js'
import { product, tileOf, witnessTileOf } from './kernels/product.js'
import { scan } from './kernels/scan.js'
import { store, THROW } from './kernels/store.js'
import { wide } from './kernels/wide.js'
import { assertFloats, assertPolicy, factsOf, type Kind, type ProductMode, spareBits } from './plan.js'
import { selfTest } from './self-test.js'
import type { GpuView, ProductTask, Submitted } from './task.js'

/** Buffers of an encoded product, and the size of its kernel's work. */
interface Encoded {
  readonly status: GPUBuffer
  readonly taken: GPUBuffer[]
  readonly operations: number
  /** Time of a kernel that was submitted in slices. */
  readonly slicedMs: number | undefined
}

/** Thrown by verify(): the product must be submitted again in the mode 'wide'. */
export const RETRY_WIDE = Symbol('wide')

/** Encodes a kernel for some rows of tiles and some k. */
type Slice = (recording: Recording, y0: number, height: number, k0: number, k1: number) => void

/** Pipelines of products, which are compared with the CPU when they are first used. */
export class Products {
  readonly #initial: GPUBuffer

  constructor(readonly gpu: Gpu) {
    this.#initial = gpu.device.createBuffer({
      size: STATUS_WORDS * 4,
      usage: GPU_COPIES,
      mappedAtCreation: true,
    })
    new Int32Array(this.#initial.getMappedRange()).set(initialStatus())
    this.#initial.unmap()
  }

  /** Submits a product. `mode` is the kind's or 'wide'. The pipelines that it takes have been tested. */
  async submit(task: ProductTask, mode: ProductMode = task.kind.mode, isTest = false): Promise<Submitted> {
    const { kind, rows, a, b, witness } = task
    if (mode === 'wide' && witness) throw notExact('the witness of sums of 33 bits')
    const facts = mode === 'offset' && witness ? await this.#facts(task) : null
    const shift = facts ? Math.max(0, spareBits(...facts)) : 0
    // Room for k below each value: a plain product finds the witness too.
    const isTagged =
      facts !== null && spareBits(...facts) >= 0 && 2 ** shift >= roundUp(Math.max(task.k, 1), 16)
    if (!isTest) {
      const output = witness ? (isTagged ? 'tagged' : 'witness') : ''
      const key = [kind.semiring, kind.dtype, mode, rows, a.bits, b.bits, output].join(' ')
      await this.gpu.assertTested(key, () =>
        selfTest(this.gpu, task, mode, isTagged, (test) => this.submit(test, mode, true)),
      )
    }
    return this.#encode(task, mode, isTagged ? shift : 0, isTagged)
  }

  async #facts(task: ProductTask) {
    const { gpu } = this
    const recording = new Recording(gpu)
    const status = gpu.take(STATUS_WORDS * 4)
    await this.#scan(recording, task, status)
    recording.submit()
    const words = new Int32Array(STATUS_WORDS)
    await gpu.read([{ buffer: status, at: 0, into: words }])
    gpu.give(status)
    return [factsOf(words, 0), factsOf(words, 1)] as const
  }

  #scanOf({ semiring, mode, isFloat }: Kind, { bits }: GpuView): Promise<GPUComputePipeline> {
    const zero = zeroBits(semiring, mode, bits) >>> 0
    return this.gpu.pipeline(`scan ${bits} ${isFloat} ${zero}`, () => scan(bits, isFloat, zero))
  }

  async #scan(
    recording: Recording,
    { kind, batch, m, n, k, a, b }: ProductTask,
    status: GPUBuffer,
  ): Promise<void> {
    recording.copy(this.#initial, 0, status, 0, STATUS_WORDS * 4)
    if (!hasFacts(kind)) return
    for (const [operand, view, height, width] of [
      [0, a, m, k],
      [1, b, k, n],
    ] as const) {
      const pipeline = await this.#scanOf(kind, view)
      const items = view.batchStride === 0 ? 1 : batch
      const byRows = Math.abs(view.colStride) <= Math.abs(view.rowStride)
      const [outer, inner] = byRows ? [height, width] : [width, height]
      const strides = byRows ? [view.rowStride, view.colStride] : [view.colStride, view.rowStride]
      const uniforms = [view.offset, outer, inner, ...strides, items, view.batchStride, FACTS[operand]]
      recording.dispatch(pipeline, { 0: view.buffer, 2: status }, 1, uniforms, [
        Math.min(outer * items, inner > 0 ? 1056 : 0),
      ])
    }
  }

  async #encode(task: ProductTask, mode: ProductMode, shift: number, isTagged: boolean): Promise<Submitted> {
    const { gpu } = this
    const { kind, batch, m, n, k, a, b, c, c0, check } = task
    const witness = task.witness
    const plain = witness === null || isTagged
    const arithmetic = arithmeticOf(kind.semiring, mode === 'wide' ? 'offset' : mode)!
    const tile = plain ? tileOf(task.rows, arithmetic) : witnessTileOf(task.rows)
    const [BM, BN] = mode === 'wide' ? [16, 16] : tile
    const words = kind.mode === 'bits' ? Math.ceil(k / 32) : k
    const [mp, np, kp] = [roundUp(m, BM), roundUp(n, BN), roundUp(Math.max(words, 1), 16)]
    const [ab, bb] = [a.batchStride === 0 ? 1 : batch, b.batchStride === 0 ? 1 : batch]
    const packOf = (view: GpuView) => {
      const zero = zeroBits(kind.semiring, kind.mode, view.bits) >>> 0
      return gpu.pipeline(`pack ${view.bits} ${mode} ${zero} ${kind.isMax}`, () =>
        pack(view.bits, mode, zero, kind.isMax),
      )
    }
    const kernel =
      mode === 'wide' ? `wide ${kind.isMax}` : `product ${mode} ${kind.semiring} ${tile.join()} ${plain}`
    const storeKind = { semiring: kind.semiring, mode, bits: kind.bits, witness: witness !== null }
    const [packA, packB, multiply, storing] = await Promise.all([
      packOf(a),
      packOf(b),
      gpu.pipeline(kernel, () =>
        mode === 'wide' ? wide(kind.isMax) : product(arithmetic, tile, plain ? 'none' : 'witness'),
      ),
      gpu.pipeline(`store ${Object.values(storeKind).join(' ')}`, () => store(storeKind)),
      // All that a product needs is compiled at once.
      ...(hasFacts(kind) ? [this.#scanOf(kind, a), this.#scanOf(kind, b)] : []),
    ])

    const taken: GPUBuffer[] = []
    const take = (bytes: number) => {
      const buffer = gpu.take(bytes)
      taken.push(buffer)
      return buffer
    }
    try {
      const status = take(STATUS_WORDS * 4)
      const [pa, pb, acc] = [take(ab * mp * kp * 4), take(bb * np * kp * 4), take(batch * mp * np * 4)]
      // A binding of a matrix that doesn't exist.
      const none = take(16)
      const win = witness ? (plain ? acc : take(batch * mp * np * 4)) : none
      const low = mode === 'wide' ? take(batch * mp * np * 4) : none
      let recording = new Recording(gpu)
      await this.#scan(recording, task, status)
      for (const [operand, view, pipeline, to, minor, padded, items] of [
        [0, a, packA, pa, m, mp, ab],
        [1, b, packB, pb, n, np, bb],
      ] as const) {
        const strides = operand === 0 ? [view.colStride, view.rowStride] : [view.rowStride, view.colStride]
        const uniforms = [
          view.offset,
          ...strides,
          view.batchStride,
          k,
          minor,
          kp,
          padded,
          FACTS[operand],
          shift,
          isTagged && operand === 0 ? 1 : 0,
        ]
        const buffers = { 0: view.buffer, 2: to, ...(mode === 'offset' && { 3: status }) }
        recording.dispatch(pipeline, buffers, 1, uniforms, [padded / 16, kp / 16, items])
      }
      const start = {
        offset: kind.isMax ? -(2 ** 31) : 2 ** 31 - 1,
        plain: kind.isMax ? -(2 ** 31) : 2 ** 31 - 1,
        float: kind.isMax ? 0xff000000 : 0x7f000000,
        keys: keyOfInfinity(kind.isMax),
        bits: 0,
        wide: 0,
      }[mode]
      const slice: Slice = (recording, y0, height, k0, k1) => {
        const first = k0 === 0 ? 1 : 0
        if (mode === 'wide') {
          recording.dispatch(
            multiply,
            { 0: pa, 1: pb, 2: acc, 4: low },
            3,
            [mp, np, k0, k1, y0, first, ab > 1 ? kp : 0, bb > 1 ? kp : 0],
            [np / BN, height, batch],
          )
          return
        }
        const strides = [ab > 1 ? (kp * mp) / 4 : 0, bb > 1 ? (kp * np) / 4 : 0, (mp * np) / 4]
        const uniforms = [mp / 4, np / 4, k0, k1, 0, y0, first, start, ...strides]
        recording.dispatch(multiply, { 0: pa, 1: pb, 2: acc, ...(!plain && { 4: win }) }, 3, uniforms, [
          np / BN,
          height,
          batch,
        ])
      }
      const size = { tiles: mp / BM, perTile: 2 * BM * np * batch, kp, check }
      const sliced = await this.#inSlices(recording, kernel, size, slice)
      recording = sliced.recording
      const [c0Stride, kStride] = [c0 ?? c, witness ?? c]
      const uniforms = [
        c.offset,
        c.rowStride,
        c.batchStride,
        ...[m, n, mp, np],
        ...[c0Stride.offset, c0Stride.rowStride, c0Stride.colStride, c0Stride.batchStride],
        ...[kStride.offset, kStride.rowStride, kStride.batchStride],
        ...[c0 ? 1 : 0, task.policy, shift],
      ]
      const buffers: Record<number, GPUBuffer> = { 0: acc, 2: c.buffer }
      if (mode === 'offset' || mode === 'wide') buffers[3] = status
      buffers[4] = c0?.buffer ?? none
      if (witness) Object.assign(buffers, { 5: win, 6: witness.buffer })
      if (mode === 'wide') buffers[7] = low
      recording.dispatch(storing, buffers, 1, uniforms, [Math.ceil(n / 64), Math.ceil(m / 4), batch])
      if (sliced.slicedMs === undefined) recording.copyMarks(status, TIMES * 4)
      recording.submit()
      return this.#submitted(task, mode, kernel, {
        status,
        taken,
        operations: size.perTile * size.tiles * kp,
        slicedMs: sliced.slicedMs,
      })
    } catch (error) {
      gpu.give(...taken)
      throw error
    }
  }

  /**
   * Dispatches a kernel for all rows of tiles and k, in slices that the device computes in a short time each. Returns the recording of the
   * last slice, and the time of the slices before it; undefined if there is one slice.
   */
  async #inSlices(
    first: Recording,
    kernel: string,
    { tiles: count, perTile, kp, check }: { tiles: number; perTile: number; kp: number; check: () => void },
    slice: Slice,
  ): Promise<{ recording: Recording; slicedMs: number | undefined }> {
    const { gpu } = this
    if (count * perTile * kp <= gpu.operationsAtOnce(kernel)) {
      first.beginTimed()
      slice(first, 0, count, 0, kp)
      first.endPass()
      return { recording: first, slicedMs: undefined }
    }
    let recording = first
    let slicedMs = 0
    for (let y0 = 0, height = 1; y0 < count; y0 += height) {
      height = Math.max(1, Math.min(count - y0, Math.floor(gpu.operationsAtOnce(kernel) / (perTile * kp))))
      for (let k0 = 0, k1 = 0; k0 < kp; k0 = k1) {
        const depth = Math.floor(gpu.operationsAtOnce(kernel) / (perTile * height * 16)) * 16
        k1 = Math.min(kp, k0 + Math.max(16, depth))
        check()
        const started = performance.now()
        slice(recording, y0, height, k0, k1)
        recording.submit()
        await gpu.finished()
        const ms = performance.now() - started
        gpu.noteRate(kernel, perTile * height * (k1 - k0), ms)
        slicedMs += ms
        recording = new Recording(gpu)
      }
    }
    return { recording, slicedMs }
  }

  #submitted(
    { kind, policy, witness }: ProductTask,
    mode: ProductMode,
    kernel: string,
    { status, taken, operations, slicedMs }: Encoded,
  ): Submitted {
    const { gpu } = this
    const words = new Int32Array(STATUS_WORDS)
    return {
      status: { buffer: status, at: 0, into: words },
      path: mode === 'wide' ? 'wide' : mode === 'offset' ? 'translated' : 'direct',
      verify() {
        const facts = [factsOf(words, 0), factsOf(words, 1)] as const
        if (mode === 'float') for (const operand of facts) assertFloats(operand)
        if (mode === 'offset' && spareBits(...facts) < 0) throw RETRY_WIDE
        if (kind.mode === 'offset') assertPolicy(...facts, kind.isMax, policy, witness !== null)
      },
      fault: () => (policy === THROW && words[FAULT] !== NO_FAULT ? words[FAULT]! : -1),
      kernelMs() {
        if (slicedMs !== undefined) return slicedMs
        const [start, end] = new BigUint64Array(words.buffer, TIMES * 4, 2)
        const ms = Number(end! - start!) / 1e6
        if (!gpu.timestamps || !(ms > 0)) return undefined
        gpu.noteRate(kernel, operations, ms)
        return ms
      },
      release: () => gpu.give(...taken.splice(0)),
    }
  }

  /** Returns the exact best sum of an element, by the definition. */
  async sumAt({ kind, a, b, m, n, k }: ProductTask, index: number): Promise<number> {
    const [item, row, col] = [Math.floor(index / (m * n)), Math.floor(index / n) % m, index % n]
    const offsetOf = (view: GpuView) => view.offset + item * view.batchStride
    const x = await this.#line({ ...a, offset: offsetOf(a) + row * a.rowStride, rowStride: a.colStride }, k)
    const y = await this.#line({ ...b, offset: offsetOf(b) + col * b.colStride }, k)
    const zeroOf = (view: GpuView) => zeroBits(kind.semiring, kind.mode, view.bits) | 0
    let best = kind.isMax ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
    for (let i = 0; i < k; i++) {
      if (x[i] === zeroOf(a) || y[i] === zeroOf(b)) continue
      best = kind.isMax ? Math.max(best, x[i]! + y[i]!) : Math.min(best, x[i]! + y[i]!)
    }
    return best
  }

  async #line(view: GpuView, count: number): Promise<Int32Array | Int16Array> {
    const line = view.bits === 16 ? new Int16Array(count) : new Int32Array(count)
    const copy = this.gpu.take(line.byteLength)
    const to = { buffer: copy, bits: view.bits, offset: 0, batchStride: 0, rowStride: 1, colStride: 1 }
    await copyElements(this.gpu, { kind: 'copy', bits: view.bits }, to, { ...view, colStride: 0 }, [
      1,
      count,
      1,
    ])
    await this.gpu.read([{ buffer: copy, at: 0, into: line }])
    this.gpu.give(copy)
    return line
  }
}

/** Rows and batch entries of a dispatch. */
const MAX_ROWS = 2 ** 17
const MAX_ITEMS = 65535

/** Copies, fills or combines matrices of [batch, rows, cols]; `value` is the bits that fill. */
export async function copyElements(
  gpu: Gpu,
  what: Elementwise,
  to: GpuView,
  from: GpuView | null,
  [batch, rows, cols]: readonly [batch: number, rows: number, cols: number],
  value = 0,
): Promise<void> {
  const pipeline = await gpu.pipeline(`elementwise ${Object.values(what).join(' ')}`, () => elementwise(what))
  const recording = new Recording(gpu)
  for (let z = 0; z < batch; z += MAX_ITEMS) {
    for (let i = 0; i < rows; i += MAX_ROWS) {
      const [items, height] = [Math.min(MAX_ITEMS, batch - z), Math.min(MAX_ROWS, rows - i)]
      const layout = (view: GpuView | null) =>
        view
          ? [
              view.offset + z * view.batchStride + i * view.rowStride,
              view.rowStride,
              view.colStride,
              view.batchStride,
            ]
          : [0, 0, 0, 0]
      const buffers = { 1: to.buffer, ...(from && { 2: from.buffer }) }
      const groups = [Math.ceil(cols / 64), Math.ceil(height / 4), items] as const
      recording.dispatch(pipeline, buffers, 0, [...layout(to), ...layout(from), height, cols, value], groups)
    }
  }
  recording.submit()
}

const hasFacts = ({ mode }: Kind) => mode === 'offset' || mode === 'float'
const GPU_COPIES = 4
const keyOfInfinity = (isMax: boolean) => (isMax ? 0x807fffff : 0x7f800000)
