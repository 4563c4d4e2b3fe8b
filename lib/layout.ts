/** Layouts of the elements of matrices. */

/** Positions of elements, counted in elements. */
export interface Layout {
  /** Index of the first element. */
  readonly offset: number
  /**
   * Distance between matrices of a batch; 0 for a single matrix, which is then an operand of every product of
   * a batch.
   */
  readonly batchStride: number
  readonly rowStride: number
  readonly colStride: number
}

/** Element type and shape of a matrix, or of a batch of matrices. */
export interface Shaped {
  /** The element type, by its number. */
  readonly type: number
  /** Bytes of a stored element. */
  readonly bytes: number
  /** Whether the shape has a batch dimension. */
  readonly batched: boolean
  readonly batch: number
  readonly rows: number
  readonly cols: number
}

/** Shape and layout of a matrix, or of a batch of matrices, without memory. */
export interface Elements extends Shaped, Layout {
  /**
   * Number of elements that the memory must have: the index of the last one plus 1; 0 for an empty matrix.
   */
  readonly reach: number
}

/** Row-major elements. */
export function rowMajorElements(shaped: Shaped, offset = 0): Elements {
  const { type, bytes, batched, batch, rows, cols } = shaped
  const count = batch * rows * cols
  return {
    offset,
    batchStride: batch === 1 ? 0 : rows * cols,
    rowStride: cols,
    colStride: 1,
    type,
    bytes,
    batched,
    batch,
    rows,
    cols,
    reach: count === 0 ? 0 : offset + count,
  }
}

/**
 * Returns elements with the given strides. Strides of a dimension of size 1 are never used, and are
 * normalized to those of a row-major matrix, as are all strides of an empty matrix.
 */
export function stridedElements(shaped: Shaped, layout: Layout): Elements {
  const { type, bytes, batched, batch, rows, cols } = shaped
  const { offset, batchStride, rowStride, colStride } = layout
  if (batch * rows * cols === 0) return rowMajorElements(shaped)
  return {
    offset,
    batchStride: batch === 1 ? 0 : batchStride,
    rowStride: rows === 1 ? cols : rowStride,
    colStride: cols === 1 ? 1 : colStride,
    type,
    bytes,
    batched,
    batch,
    rows,
    cols,
    reach: offset + (batch - 1) * batchStride + (rows - 1) * rowStride + (cols - 1) * colStride + 1,
  }
}

export const shapeOf = ({
  batched,
  batch,
  rows,
  cols,
}: Omit<Shaped, 'type' | 'bytes'>): [number, number] | [number, number, number] =>
  batched ? [batch, rows, cols] : [rows, cols]
