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

/** Shape and layout of a matrix, or of a batch of matrices, without memory. */
export interface Elements extends Layout {
  /** The element type, by its number. */
  readonly type: number
  /** Bytes of a stored element. */
  readonly bytes: number
  /** Whether the shape has a batch dimension. */
  readonly batched: boolean
  readonly batch: number
  readonly rows: number
  readonly cols: number
  /**
   * Number of elements that the memory must have: the index of the last one plus 1; 0 for an empty matrix.
   */
  readonly reach: number
}

/** Row-major elements. */
export function rowMajorElements(
  type: number,
  bytes: number,
  batched: boolean,
  batch: number,
  rows: number,
  cols: number,
  offset = 0,
): Elements {
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
export function stridedElements(
  type: number,
  bytes: number,
  batched: boolean,
  batch: number,
  rows: number,
  cols: number,
  { offset, batchStride, rowStride, colStride }: Layout,
): Elements {
  if (batch * rows * cols === 0) return rowMajorElements(type, bytes, batched, batch, rows, cols)
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

export function shapeOf({
  batched,
  batch,
  rows,
  cols,
}: Pick<Elements, 'batched' | 'batch' | 'rows' | 'cols'>): [number, number] | [number, number, number] {
  return batched ? [batch, rows, cols] : [rows, cols]
}
