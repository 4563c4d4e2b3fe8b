/** Computes products of matrices in arrays or device memory, in blocks that fit a GPU. */
import type { ReportField } from '../native-interface.js'
import type { ElementArray, OperandArray } from '../storage.js'
import type { Gpu, Take } from './device.js'
import { failure, notExact } from './failure.js'
import {
  type Block,
  blocksOf,
  type Kind,
  type ProductTask,
  tileRowsOf,
  tileRowsOfVariant,
  variantOf,
} from './plan.js'
import { Fault, multiplyBlock } from './product.js'
import type { ReadPart } from './transfers.js'
import {
  contiguous,
  copyBetween,
  copyElements,
  countOf,
  emptyLike,
  from,
  type GpuView,
  isBindable,
  type Layout,
  receiver,
  type Sizes,
  stage,
  takeView,
} from './views.js'

/** A matrix in an array, or in memory of the device; `isNew`: only this product uses it. */
export type Matrix = (
  | { readonly array: OperandArray; readonly layout: Layout }
  | { readonly view: GpuView }
) & {
  readonly isNew?: boolean
}

/** Request of a product. */
export interface ProductRequest {
  readonly kind: Kind
  readonly batch: number
  readonly m: number
  readonly n: number
  readonly k: number
  readonly a: Matrix
  readonly b: Matrix
  /** Null if the product is only planned. */
  readonly c: Matrix | null
  readonly c0: Matrix | null
  readonly witness: Matrix | null
  readonly asksWitness: boolean
  /** Indices in the addon's lists; `variant` is −1 if none was requested by name. */
  readonly policy: number
  readonly variant: number
  /** Limit of the device's memory in bytes; 0: no limit. */
  readonly maxBytes: number
  /** Writes a field of the report. */
  readonly report: (name: ReportField, value: number) => void
}

/** Buffers of about one size that a product takes at once. */
const BUFFERS = 6

/** Computes a product and writes its results when all of it has succeeded. */
export async function multiplyBlocks(gpu: Gpu, check: () => void, request: ProductRequest): Promise<void> {
  const { variants, paths } = gpu.cpu
  const { kind, batch, m, n, k, c, witness, variant, maxBytes, report } = request
  const started = performance.now()
  if (kind.mode === 'float' && !gpu.roundsToNearest) {
    throw notExact(`sums of float32 on ${gpu.name}, which doesn't round them to nearest,`)
  }
  if (request.asksWitness && kind.mode === 'bits') throw notExact('the witness of truth values')
  const named = variants[variant]
  const rows = named ? tileRowsOfVariant(named, kind) : tileRowsOf(m, n, batch)
  report('variant', named ? variant : variantOf(variants, kind, rows))
  const reportPath = (path: string) => report('path', paths.indexOf(path))
  reportPath(kind.mode === 'offset' ? 'translated' : 'direct')
  if (!c) return

  const most = Math.min(gpu.maxBinding, (maxBytes || Number.POSITIVE_INFINITY) / BUFFERS)
  const blocks = blocksOf(batch, m, n, k, most)
  await gpu.withBuffers(async (take) => {
    const targets = [await targetOf(gpu, take, request, c, kind.bits, blocks.length > 1)]
    if (witness) targets.push(await targetOf(gpu, take, request, witness, 32, blocks.length > 1))
    let first: Fault | null = null
    let [kernelMs, h2dMs] = [0, 0]
    for (const block of blocks) {
      check()
      const computed = await gpu.withBuffers((take) =>
        computeBlock(gpu, take, request, rows, block, targets, check),
      )
      h2dMs += computed.h2dMs
      kernelMs += computed.kernelMs
      if (computed.path) reportPath(computed.path)
      const { fault } = computed
      if (fault && !(first && first.index < fault.index)) first = fault
      report('stepsDone', (block.z0 + block.items) * m * n * k)
    }
    if (first) throw overflowError(request, first)
    for (const { deliver } of targets) {
      await deliver?.()
      if (deliver) await gpu.assertValid()
    }
    report('kernelMs', kernelMs)
    report('h2dMs', h2dMs)
  })
  report('steps', batch * m * n * k)
  report('stepsDone', batch * m * n * k)
  report('totalMs', performance.now() - started)
}

function overflowError({ kind: { isMax }, batch, m, n }: ProductRequest, { index, sum }: Fault): Error {
  const [item, row, col] = [Math.floor(index / (m * n)), Math.floor(index / n) % m, index % n]
  const [least, most] = isMax ? [-(2 ** 31) + 1, 2 ** 31 - 1] : [-(2 ** 31), 2 ** 31 - 2]
  return failure(
    'ERR_MPMML_OVERFLOW',
    `C[${batch > 1 ? `${item}, ` : ''}${row}, ${col}] is decided by the sum ${sum}, outside the finite range ${least} to ${most}: ` +
      "scale the operands, or choose overflow 'saturate' or 'wrap'",
  )
}

/** A result until the whole product has succeeded: in a view on the device, or in an array. */
type Target = ({ readonly view: GpuView } | { readonly array: ElementArray; readonly layout: Layout }) & {
  /** Copies the result to its matrix. */
  readonly deliver?: () => Promise<void> | void
}

/** Returns the target of a result, which is the matrix itself if nothing else reads it before the product has succeeded. */
async function targetOf(
  gpu: Gpu,
  take: Take,
  { batch, m, n }: ProductRequest,
  matrix: Matrix,
  bits: GpuView['bits'],
  isDivided: boolean,
): Promise<Target> {
  const sizes = { batch, rows: m, cols: n }
  if (matrix.isNew) return matrix as Target
  if ('view' in matrix) {
    const view = await takeView(take, bits, sizes, gpu.device.limits.maxBufferSize)
    return { view, deliver: () => copyElements(gpu, matrix.view, view, sizes) }
  }
  const { layout } = matrix
  const array = matrix.array as ElementArray
  if (!isDivided) return { array, layout }
  const [whole, rowMajor] = [emptyLike(array, countOf(sizes)), contiguous(sizes)]
  return { array: whole, layout: rowMajor, deliver: () => copyBetween(array, layout, whole, rowMajor, sizes) }
}

interface Computed {
  readonly fault: Fault | null
  readonly path: string
  readonly kernelMs: number
  readonly h2dMs: number
}

/** Computes a block into its part of the targets. */
async function computeBlock(
  gpu: Gpu,
  take: Take,
  { kind, m, n, k, a, b, c0, policy }: ProductRequest,
  rows: ProductTask['rows'],
  { z0, i0, j0, ...size }: Block,
  targets: readonly Target[],
  check: () => void,
): Promise<Computed> {
  const sizes = { batch: size.items, rows: size.rows, cols: size.cols }
  const started = performance.now()
  const operand = async (matrix: Matrix, row: number, col: number, part: Sizes): Promise<GpuView> => {
    if ('array' in matrix)
      return stage(gpu, take, matrix.array, from(matrix.layout, z0, row, col), part, check)
    const view = from(matrix.view, z0, row, col)
    const own = view.batchStride === 0 ? { ...part, batch: 1 } : part
    if (isBindable(gpu, view, own)) return view
    const copy = await takeView(take, view.bits, own)
    await copyElements(gpu, copy, view, own)
    return copy
  }
  const left = await operand(a, i0, 0, { batch: size.items, rows: size.rows, cols: k })
  const right = await operand(b, 0, j0, { batch: size.items, rows: k, cols: size.cols })
  const before = c0 && (await operand(c0, i0, j0, sizes))
  const h2dMs = performance.now() - started

  const outputs: { result: GpuView; reads: ReadPart[]; finish?: () => Promise<void> | void }[] = []
  for (const [index, target] of targets.entries()) {
    const place = 'view' in target ? from(target.view, z0, i0, j0) : null
    if (place && isBindable(gpu, place, sizes)) {
      outputs.push({ result: place, reads: [] })
      continue
    }
    const result = await takeView(take, index === 0 ? kind.bits : 32, sizes)
    if (place) {
      outputs.push({ result, reads: [], finish: () => copyElements(gpu, place, result, sizes) })
      continue
    }
    const { array, layout } = target as Extract<Target, { array: ElementArray }>
    const { into, finish } = receiver(array, from(layout, z0, i0, j0), sizes)
    outputs.push({ result, reads: [{ buffer: result.buffer, at: 0, into }], finish })
  }
  const task: ProductTask = {
    ...{ kind, rows, policy, check, batch: size.items, m: size.rows, n: size.cols, k },
    ...{ a: left, b: right, c0: before, c: outputs[0]!.result, witness: outputs[1]?.result ?? null },
    reads: outputs.flatMap(({ reads }) => reads),
  }
  try {
    const { path, kernelMs } = await multiplyBlock(gpu, task)
    for (const { finish } of outputs) await finish?.()
    return { fault: null, path, kernelMs, h2dMs }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const { index, sum } = error
    const row = Math.floor(index / size.cols)
    const [item, i, j] = [Math.floor(row / size.rows), row % size.rows, index % size.cols]
    return { fault: new Fault(((z0 + item) * m + i0 + i) * n + j0 + j, sum), path: '', kernelMs: 0, h2dMs }
  }
}
