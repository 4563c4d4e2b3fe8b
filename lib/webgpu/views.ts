/** Matrices in arrays and in memory of a GPU, and copies between them. */
import type { ElementArray, OperandArray } from '../storage.js'
import { type Gpu, Recording, type Take } from './device.js'
import { failure } from './failure.js'
import type { StoredBits } from './kernels/arithmetic.js'
import { type Elementwise, elementwise } from './kernels/elementwise.js'
import { roundUp } from './transfers.js'

/** Positions of the elements of a batch of matrices. Offsets and strides count elements, and are at least 0. */
export interface Layout {
  readonly offset: number
  readonly batchStride: number
  readonly rowStride: number
  readonly colStride: number
}

/** A batch of matrices in a buffer. */
export interface GpuView extends Layout {
  readonly buffer: GPUBuffer
  readonly bits: StoredBits
}

export interface Sizes {
  readonly batch: number
  readonly rows: number
  readonly cols: number
}

export const countOf = ({ batch, rows, cols }: Sizes): number => batch * rows * cols

/** Layout of row-major matrices that follow each other. */
export const contiguous = ({ batch, rows, cols }: Sizes, offset = 0): Layout => ({
  offset,
  batchStride: batch === 1 ? 0 : rows * cols,
  rowStride: cols,
  colStride: 1,
})

export const isContiguous = ({ batchStride, rowStride, colStride }: Layout, { batch, rows, cols }: Sizes) =>
  (cols === 1 || colStride === 1) &&
  (rows === 1 || rowStride === cols) &&
  (batch === 1 || batchStride === rows * cols)

/** Array of elements that the library has allocated. */
export type NewElements =
  | Int32Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>

export function newElements(isFloat: boolean, bits: StoredBits, count: number): NewElements {
  const Type = isFloat ? Float32Array : { 8: Uint8Array, 16: Int16Array, 32: Int32Array }[bits]
  try {
    return new Type(count)
  } catch {
    const mebibytes = Math.ceil((count * bits) / 8 / 2 ** 20)
    throw failure(
      'ERR_MPMML_OUT_OF_MEMORY',
      `out of memory: cannot allocate ${mebibytes} MiB for a result: use smaller matrices`,
    )
  }
}

/** Takes a buffer for row-major matrices. `most`: limit in bytes, that of a binding by default. */
export const takeView = async (
  take: Take,
  bits: StoredBits,
  sizes: Sizes,
  most?: number,
): Promise<GpuView> => ({
  buffer: await take((countOf(sizes) * bits) / 8, most),
  bits,
  ...contiguous(sizes),
})

/** Returns the layout from an element on. */
export const from = <Of extends Layout>(layout: Of, z: number, row: number, col: number): Of => ({
  ...layout,
  offset: layout.offset + z * layout.batchStride + row * layout.rowStride + col * layout.colStride,
})

/** Returns the number of elements from the first to the last one. */
export const spanOf = ({ batchStride, rowStride, colStride }: Layout, sizes: Sizes): number =>
  countOf(sizes) === 0
    ? 0
    : 1 + (sizes.batch - 1) * batchStride + (sizes.rows - 1) * rowStride + (sizes.cols - 1) * colStride

/** Bytes at whose multiples a binding may begin. */
const ALIGNMENT = 256

/** Returns whether kernels can access a view by one binding. */
export const isBindable = (gpu: Gpu, view: GpuView, sizes: Sizes) =>
  (spanOf(view, sizes) * view.bits) / 8 + ALIGNMENT <= gpu.maxBinding

/** Returns the part of a buffer that contains a view, and the offset of the view in it. */
export function bindingOf(view: GpuView, sizes: Sizes): { binding: GPUBufferBinding; offset: number } {
  const { buffer, bits } = view
  const first = countOf(sizes) === 0 ? 0 : Math.floor((view.offset * bits) / 8 / ALIGNMENT) * ALIGNMENT
  const offset = view.offset - (first * 8) / bits
  const size = Math.max(roundUp(((offset + spanOf(view, sizes)) * bits) / 8, 4), 16)
  return { binding: { buffer, offset: first, size: Math.min(size, buffer.size - first) }, offset }
}

/** Returns a new array of the type of another one. */
export const emptyLike = <Elements extends OperandArray>(array: Elements, count: number): Elements =>
  new (array.constructor as new (length: number) => Elements)(count)

/** Copies elements from one array to another. */
export function copyBetween(
  to: OperandArray,
  toLayout: Layout,
  source: OperandArray,
  sourceLayout: Layout,
  { batch, rows, cols }: Sizes,
): void {
  const areAdjacent = toLayout.colStride === 1 && sourceLayout.colStride === 1
  for (let z = 0; z < batch; z++)
    for (let i = 0; i < rows; i++) {
      const [at, first] = [from(toLayout, z, i, 0).offset, from(sourceLayout, z, i, 0).offset]
      if (areAdjacent) to.set(source.subarray(first, first + cols), at)
      else
        for (let j = 0; j < cols; j++)
          to[at + j * toLayout.colStride] = source[first + j * sourceLayout.colStride]!
    }
}

/** Returns the elements row-major, in a copy unless the array has them so. */
export function rowMajor(array: OperandArray, layout: Layout, sizes: Sizes): OperandArray {
  const { offset } = layout
  if (isContiguous(layout, sizes)) return array.subarray(offset, offset + countOf(sizes))
  const copy = emptyLike(array, countOf(sizes))
  copyBetween(copy, contiguous(sizes), array, layout, sizes)
  return copy
}

/** Limit of the copied elements, including gaps, as a multiple of the matrix's own elements. */
const MAX_WASTE = 1.5

/** Copies a matrix in an array to a buffer: with its strides if its elements lie close together, otherwise row-major. */
export async function stage(
  gpu: Gpu,
  take: Take,
  array: OperandArray,
  layout: Layout,
  sizes: Sizes,
  check: () => void,
): Promise<GpuView> {
  const isSingle = layout.batchStride === 0
  const own = isSingle ? { ...sizes, batch: 1 } : sizes
  const span = spanOf(layout, own)
  const isDense = span <= countOf(own) * MAX_WASTE + 256
  const elements = isDense
    ? array.subarray(layout.offset, layout.offset + span)
    : rowMajor(array, layout, own)
  const buffer = await take(elements.byteLength)
  await gpu.transfers.write(elements, buffer, check)
  const inBuffer = isDense ? { ...layout, offset: 0 } : contiguous(own)
  return { buffer, bits: (array.BYTES_PER_ELEMENT * 8) as StoredBits, ...inBuffer }
}

/** Returns an array for the row-major elements of a matrix, and a function that copies them to its layout. */
export function receiver(array: ElementArray, layout: Layout, sizes: Sizes) {
  const count = countOf(sizes)
  if (isContiguous(layout, sizes))
    return { into: array.subarray(layout.offset, layout.offset + count), finish() {} }
  const into = emptyLike(array, count)
  return { into, finish: () => copyBetween(array, layout, into, contiguous(sizes), sizes) }
}

/** Elements in a dimension of one dispatch: rows of workgroups and entries of a batch are at most 65535. */
const MAX_SIDE = 2 ** 17
const MAX_BATCH = 65535

/** Returns parts of a matrix whose elements lie in one binding in each view. */
function* partsOf(gpu: Gpu, views: readonly GpuView[], { batch, rows, cols }: Sizes) {
  const all = { batch: 1, rows, cols }
  // Without its longer stride a part of any view is short.
  const limit = (stride: 'rowStride' | 'colStride', other: 'rowStride' | 'colStride') =>
    views
      .filter((view) => !isBindable(gpu, view, all) && view[stride] >= view[other])
      .map((view) => Math.max(1, Math.floor(((gpu.maxBinding - ALIGNMENT) * 8) / view.bits / view[stride])))
  const height = Math.min(MAX_SIDE, ...limit('rowStride', 'colStride'))
  const width = Math.min(MAX_SIDE, ...limit('colStride', 'rowStride'))
  const areBindable = views.every((view) => isBindable(gpu, view, { batch, rows, cols }))
  const items = areBindable ? MAX_BATCH : 1
  for (let z = 0; z < batch; z += items)
    for (let i = 0; i < rows; i += height)
      for (let j = 0; j < cols; j += width) {
        const [depth, tall, wide] = [
          Math.min(items, batch - z),
          Math.min(height, rows - i),
          Math.min(width, cols - j),
        ]
        yield { z, i, j, sizes: { batch: depth, rows: tall, cols: wide } }
      }
}

/** Copies, fills or combines matrices; `value` is the bits that fill. */
export async function copyElements(
  gpu: Gpu,
  to: GpuView,
  source: GpuView | null,
  sizes: Sizes,
  what: Elementwise = { kind: 'copy', bits: to.bits },
  value = 0,
): Promise<void> {
  const pipeline = await gpu.pipeline(`elementwise ${Object.values(what).join(' ')}`, () => elementwise(what))
  const recording = new Recording(gpu)
  for (const part of partsOf(gpu, source ? [to, source] : [to], sizes)) {
    const { batch, rows, cols } = part.sizes
    const bound = (view: GpuView) => bindingOf(from(view, part.z, part.i, part.j), part.sizes)
    const uniforms = (view: GpuView) => [bound(view).offset, view.rowStride, view.colStride, view.batchStride]
    recording.dispatch(
      pipeline,
      { 1: bound(to).binding, ...(source && { 2: bound(source).binding }) },
      [...uniforms(to), ...(source ? uniforms(source) : [0, 0, 0, 0]), rows, cols, value],
      [Math.ceil(cols / 64), Math.ceil(rows / 4), batch],
    )
  }
  recording.submit()
}
