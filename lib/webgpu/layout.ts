/** Copies matrices in strided arrays to a GPU, and results back. */
import type { ElementArray, OperandArray } from '../storage.js'
import type { Gpu, ReadPart } from './device.js'
import type { StoredBits } from './kernels/arithmetic.js'
import type { GpuView } from './task.js'

/** Places of the elements of a batch of matrices. Offsets and strides count elements. */
export interface Layout {
  readonly offset: number
  readonly batchStride: number
  readonly rowStride: number
  readonly colStride: number
}

export interface Sizes {
  readonly batch: number
  readonly rows: number
  readonly cols: number
}

/** Strides of row-major matrices that follow each other. */
export const contiguous = ({ batch, rows, cols }: Sizes): Omit<Layout, 'offset'> => ({
  batchStride: batch === 1 ? 0 : rows * cols,
  rowStride: cols,
  colStride: 1,
})

const isContiguous = ({ batchStride, rowStride, colStride }: Layout, { batch, rows, cols }: Sizes) =>
  (cols === 1 || colStride === 1) &&
  (rows === 1 || rowStride === cols) &&
  (batch === 1 || batchStride === rows * cols)

const newArray = (like: OperandArray, length: number): OperandArray => {
  const Type =
    [Int32Array, Float32Array, Float64Array, Int16Array].find((type) => like instanceof type) ?? Uint8Array
  return new Type(length)
}

/** Calls `run` for each row: the index of its first element in the strided array, and in a row-major one. */
function forEachRow(
  layout: Layout,
  { batch, rows, cols }: Sizes,
  run: (from: number, to: number) => void,
): void {
  for (let z = 0; z < batch; z++) {
    for (let i = 0; i < rows; i++)
      run(layout.offset + z * layout.batchStride + i * layout.rowStride, (z * rows + i) * cols)
  }
}

/** Returns a row-major copy. */
function gather(array: OperandArray, layout: Layout, sizes: Sizes): OperandArray {
  const { batch, rows, cols } = sizes
  const copy = newArray(array, batch * rows * cols)
  const { colStride } = layout
  forEachRow(layout, sizes, (from, to) => {
    if (colStride === 1) copy.set(array.subarray(from, from + cols), to)
    else for (let j = 0; j < cols; j++) copy[to + j] = array[from + j * colStride]!
  })
  return copy
}

/** Copies a matrix in an array to a buffer, row-major. */
export async function upload(
  gpu: Gpu,
  array: OperandArray,
  layout: Layout,
  sizes: Sizes,
  buffer: GPUBuffer,
  check: () => void,
): Promise<void> {
  const { batch, rows, cols } = sizes
  const count = batch * rows * cols
  if (count === 0) return
  const elements = isContiguous(layout, sizes)
    ? array.subarray(layout.offset, layout.offset + count)
    : gather(array, layout, sizes)
  await gpu.write(elements, buffer, check)
}

/** Limit of the copied elements, including gaps, as a multiple of the matrix's own elements. */
const MAX_WASTE = 1.5

/** Copies a matrix in an array to a new buffer: with its strides if its elements lie close together, otherwise row-major. */
export async function stage(
  gpu: Gpu,
  array: OperandArray,
  layout: Layout,
  sizes: Sizes,
  check: () => void,
): Promise<GpuView> {
  const bits = (array.BYTES_PER_ELEMENT * 8) as StoredBits
  const items = layout.batchStride === 0 ? 1 : sizes.batch
  const own = { ...sizes, batch: items }
  const count = items * sizes.rows * sizes.cols
  const steps = [
    (items - 1) * layout.batchStride,
    (sizes.rows - 1) * layout.rowStride,
    (sizes.cols - 1) * layout.colStride,
  ]
  const first = layout.offset + steps.reduce((sum, step) => sum + Math.min(step, 0), 0)
  const end = layout.offset + steps.reduce((sum, step) => sum + Math.max(step, 0), 1)
  const isDense = count > 0 && end - first <= count * MAX_WASTE + 256
  const buffer = gpu.take((isDense ? end - first : count) * array.BYTES_PER_ELEMENT)
  try {
    if (isDense) {
      await gpu.write(array.subarray(first, end), buffer, check)
      return { buffer, bits, ...layout, offset: layout.offset - first }
    }
    await upload(gpu, array, layout, own, buffer, check)
    const row = contiguous(own)
    return { buffer, bits, offset: 0, ...row, batchStride: layout.batchStride === 0 ? 0 : row.batchStride }
  } catch (error) {
    gpu.give(buffer)
    throw error
  }
}

/** Reads row-major elements from a buffer into an array with strides. */
export async function scatter(
  gpu: Gpu,
  from: Omit<ReadPart, 'into'>,
  array: ElementArray,
  layout: Layout,
  sizes: Sizes,
  check: () => void,
  earlier: readonly ReadPart[] = [],
): Promise<void> {
  const { batch, rows, cols } = sizes
  const count = batch * rows * cols
  const isDirect = isContiguous(layout, sizes)
  const into = isDirect ? array.subarray(layout.offset, layout.offset + count) : newArray(array, count)
  await gpu.read([...earlier, { ...from, into }], check)
  if (!isDirect) spread(into as ElementArray, array, layout, sizes)
}

/** Copies row-major elements to their places. */
export function spread(from: ElementArray, array: ElementArray, layout: Layout, sizes: Sizes): void {
  const { cols } = sizes
  const { colStride } = layout
  forEachRow(layout, sizes, (to, at) => {
    if (colStride === 1) array.set(from.subarray(at, at + cols), to)
    else for (let j = 0; j < cols; j++) array[to + j * colStride] = from[at + j]!
  })
}
