/** Computes products of matrices in arrays or device memory, in blocks that fit a GPU. */
import type { Addon, ReportField } from '../native-interface.js'
import type { ElementArray, OperandArray } from '../storage.js'
import type { Gpu } from './device.js'
import { failure, notExact } from './failure.js'
import { contiguous, type Layout, type Sizes, scatter, spread, stage } from './layout.js'
import { type Block, blocksOf, type Kind, tileRowsOf, tileRowsOfVariant, variantOf } from './plan.js'
import { copyElements, type Products, RETRY_WIDE } from './product.js'
import type { GpuView, ProductTask, Submitted } from './task.js'

/** A matrix in an array, or in memory of the device; `isNew`: only this product uses it. */
export type Matrix =
  | { readonly array: OperandArray; readonly layout: Layout }
  | { readonly view: GpuView; readonly isNew?: boolean }

/** Request of a product. */
export interface ProductRequest extends Sizes3 {
  readonly kind: Kind
  readonly a: Matrix
  readonly b: Matrix
  /** Null if the product is only planned. */
  readonly c: Matrix | null
  readonly c0: Matrix | null
  readonly witness: Matrix | null
  /** Indices in the addon's lists; `variant` is −1 if none was requested by name. */
  readonly policy: number
  readonly variant: number
  readonly asksWitness: boolean
  readonly planOnly: boolean
  /** Limit of the device's memory in bytes; 0: no limit. */
  readonly maxBytes: number
  /** Writes a field of the report. */
  readonly report: (name: ReportField, value: number) => void
}

interface Sizes3 {
  readonly batch: number
  readonly m: number
  readonly n: number
  readonly k: number
}

/** Buffers of about one size that a product takes at once. */
const BUFFERS = 6
/** Limit of K of a product, by the dimensions of dispatches. */
const MAX_K = 2 ** 20

const sub = <Place extends Layout>(place: Place, z: number, row: number, col: number): Place => ({
  ...place,
  offset: place.offset + z * place.batchStride + row * place.rowStride + col * place.colStride,
})

/** Thrown when a result lies outside the finite range: nothing more is written. */
class Fault {
  constructor(
    readonly index: number,
    readonly sum: number,
  ) {}
}

/** Computes a product and writes its results when all of it has succeeded. */
export async function multiplyBlocks(
  { gpu, products }: { gpu: Gpu; products: Products },
  { variants, paths }: Pick<Addon, 'variants' | 'paths'>,
  check: () => void,
  request: ProductRequest,
): Promise<void> {
  const { kind, batch, m, n, k, report } = request
  const started = performance.now()
  if (kind.mode === 'float' && !gpu.roundsToNearest) {
    throw notExact(`sums of float32 on ${gpu.name}, which doesn't round them to nearest,`)
  }
  if (request.asksWitness && kind.mode === 'bits') throw notExact('the witness of truth values')
  if (k > MAX_K)
    throw failure(
      'ERR_MPMML_OUT_OF_MEMORY',
      `WebGPU computes products of up to ${MAX_K} columns of A, but there are ${k}`,
    )
  const named = request.variant < 0 ? undefined : variants[request.variant]
  const rows = named ? tileRowsOfVariant(named, kind) : tileRowsOf(m, n, batch)
  report('variant', named ? request.variant : variantOf(variants, kind, rows))
  const setPath = (path: string) => report('path', paths.indexOf(path))
  setPath(kind.mode === 'offset' ? 'translated' : 'direct')
  if (request.planOnly || !request.c) return
  const blocks = blocksOf(
    batch,
    m,
    n,
    k,
    Math.min(gpu.mostPerBuffer, (request.maxBytes || Number.POSITIVE_INFINITY) / BUFFERS),
  )
  const work = new Work(gpu, products, check, { ...request, c: request.c }, rows, blocks)
  try {
    for (const block of blocks) await work.compute(block)
    const { fault } = work
    if (fault) throw overflowError(kind, request, fault)
    await work.deliver()
  } finally {
    work.release()
  }
  setPath(work.path || (kind.mode === 'offset' ? 'translated' : 'direct'))
  report('steps', batch * m * n * k)
  report('stepsDone', batch * m * n * k)
  report('kernelMs', work.kernelMs)
  report('h2dMs', work.h2dMs)
  report('totalMs', performance.now() - started)
}

function overflowError({ isMax }: Kind, { batch, m, n }: Sizes3, { index, sum }: Fault): Error {
  const [item, row, col] = [Math.floor(index / (m * n)), Math.floor(index / n) % m, index % n]
  const [least, most] = isMax ? [-(2 ** 31) + 1, 2 ** 31 - 1] : [-(2 ** 31), 2 ** 31 - 2]
  return failure(
    'ERR_MPMML_OVERFLOW',
    `C[${batch > 1 ? `${item}, ` : ''}${row}, ${col}] is decided by the sum ${sum}, outside the finite range ${least} to ${most}: ` +
      "scale the operands, or choose overflow 'saturate' or 'wrap'",
  )
}

/** A result with its temporary and its final location. */
interface Target {
  readonly matrix: Matrix
  /** Row-major, of the whole product: a buffer, or an array of several blocks; null if one block is read to its place. */
  readonly view: GpuView | null
  readonly array: ElementArray | null
}

class Work {
  readonly #taken: GPUBuffer[] = []
  readonly #c: Target
  readonly #witness: Target | null
  fault: Fault | null = null
  path = ''
  kernelMs = 0
  h2dMs = 0

  constructor(
    readonly gpu: Gpu,
    readonly products: Products,
    readonly check: () => void,
    readonly request: ProductRequest & { c: Matrix },
    readonly rows: 32 | 64 | 128,
    readonly blocks: readonly Block[],
  ) {
    this.#c = this.#target(request.c, request.kind.bits)
    this.#witness = request.witness && this.#target(request.witness, 32)
  }

  #take(bytes: number): GPUBuffer {
    const buffer = this.gpu.take(bytes)
    this.#taken.push(buffer)
    return buffer
  }

  #target(matrix: Matrix, bits: GpuView['bits']): Target {
    const { batch, m, n } = this.request
    const count = batch * m * n
    if ('view' in matrix) {
      if (matrix.isNew) return { matrix, view: matrix.view, array: null }
      // A matrix on the device changes only when the whole product has succeeded.
      const buffer = this.#take((count * bits) / 8)
      const view = { buffer, bits, offset: 0, ...contiguous({ batch, rows: m, cols: n }) }
      return { matrix, view, array: null }
    }
    if (this.blocks.length <= 1) return { matrix, view: null, array: null }
    const Type = matrix.array.constructor as new (length: number) => ElementArray
    return { matrix, view: null, array: new Type(count) }
  }

  async #operand(
    matrix: Matrix,
    block: readonly [z: number, row: number, col: number],
    sizes: Sizes,
  ): Promise<GpuView> {
    if ('view' in matrix) return sub(matrix.view, ...block)
    const view = await stage(this.gpu, matrix.array, sub(matrix.layout, ...block), sizes, this.check)
    this.#taken.push(view.buffer)
    return view
  }

  /** Computes a block. Its results are on the device, or in arrays that no user sees, or the only block is in its place. */
  async compute(block: Block): Promise<void> {
    const { kind, k, a, b, c0, policy, batch, m, n } = this.request
    const { z0, items, i0, rows, j0, cols } = block
    const started = performance.now()
    this.check()
    const sizes = { batch: items, rows, cols }
    const left = await this.#operand(a, [z0, i0, 0], { batch: items, rows, cols: k })
    const isSame = 'array' in a && 'array' in b && a.array === b.array && a.layout === b.layout
    const right = isSame ? left : await this.#operand(b, [z0, 0, j0], { batch: items, rows: k, cols })
    const before = c0 && (await this.#operand(c0, [z0, i0, j0], sizes))
    this.h2dMs += performance.now() - started
    const place = ({ view }: Target, bits: GpuView['bits']): GpuView =>
      view
        ? { ...sub(view, z0, i0, j0), batchStride: batch === 1 ? 0 : view.batchStride }
        : { buffer: this.#take((items * rows * cols * bits) / 8), bits, offset: 0, ...contiguous(sizes) }
    const [c, witness] = [place(this.#c, kind.bits), this.#witness && place(this.#witness, 32)]
    const task: ProductTask = {
      kind,
      rows: this.rows,
      batch: items,
      m: rows,
      n: cols,
      k,
      a: left,
      b: right,
      c0: before,
      c,
      witness,
      policy,
      check: this.check,
    }
    let submitted = await this.products.submit(task)
    try {
      await this.#read(task, submitted, block)
    } catch (error) {
      if (error !== RETRY_WIDE) throw error
      submitted.release()
      submitted = await this.products.submit(task, 'wide')
      await this.#read(task, submitted, block)
    } finally {
      submitted.release()
    }
    this.path = submitted.path
    this.kernelMs += submitted.kernelMs() ?? performance.now() - started
    this.request.report('stepsDone', (z0 + items) * m * n * k)
  }

  /** Reads the status, and results that belong in arrays after the status was verified. */
  async #read(
    task: ProductTask,
    submitted: Submitted,
    { z0, i0, j0, items, rows, cols }: Block,
  ): Promise<void> {
    const { m, n } = this.request
    const verify = async () => {
      await this.gpu.assertValid()
      submitted.verify()
      const index = submitted.fault()
      if (index < 0) return
      const [item, row, col] = [
        Math.floor(index / (rows * cols)),
        Math.floor(index / cols) % rows,
        index % cols,
      ]
      throw new Fault(((z0 + item) * m + i0 + row) * n + j0 + col, await this.products.sumAt(task, index))
    }
    const sizes = { batch: items, rows, cols }
    try {
      let isVerified = false
      const once = async () => {
        if (!isVerified) await verify()
        isVerified = true
      }
      const parts = [
        [this.#c, task.c] as const,
        ...(this.#witness ? [[this.#witness, task.witness!] as const] : []),
      ]
      let earlier: Submitted['status'][] = [submitted.status]
      for (const [{ matrix, view, array }, from] of parts) {
        if (view || !('array' in matrix)) continue
        const part = { buffer: from.buffer, at: 0, before: once }
        const whole = contiguous({ batch: this.request.batch, rows: m, cols: n })
        const layout = array ? sub({ offset: 0, ...whole }, z0, i0, j0) : matrix.layout
        await scatter(
          this.gpu,
          part,
          array ?? (matrix.array as ElementArray),
          layout,
          sizes,
          this.check,
          earlier,
        )
        earlier = []
      }
      if (earlier.length > 0) {
        await this.gpu.read(earlier, this.check)
        await once()
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (!this.fault || error.index < this.fault.index) this.fault = error
    }
  }

  /** Moves results that aren't in their places yet. */
  async deliver(): Promise<void> {
    const { batch, m, n } = this.request
    const sizes = { batch, rows: m, cols: n }
    for (const target of [this.#c, this.#witness]) {
      if (!target) continue
      const { matrix, view, array } = target
      if (array && 'array' in matrix) spread(array, matrix.array as ElementArray, matrix.layout, sizes)
      if (!view || !('view' in matrix) || matrix.isNew || batch * m * n === 0) continue
      await copyElements(this.gpu, { kind: 'copy', bits: view.bits }, matrix.view, view, [batch, m, n])
      await this.gpu.assertValid()
    }
  }

  release(): void {
    this.gpu.give(...this.#taken)
  }
}
