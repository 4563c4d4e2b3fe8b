/** Converts between matrices and the header and elements of .npy files. */
import { show } from '../describe.js'
import { bytesOf, newArray, typeNameOf } from '../elements.js'
import { OptionError } from '../errors.js'
import { shapeOf } from '../layout.js'
import { MAX_DIMENSION, type Matrix, type Shape } from '../matrix.js'
import { option } from '../options.js'
import { swapBytes } from '../platform.js'
import { bufferOf, type ElementArray, firstByteOf } from '../storage.js'
import { assertStillAttached, gather, type HostView } from '../view.js'
import { formatHeader, type NpyHeader, NpyProblem } from './npy-header.js'
import { type FileType, fileType, littleEndian } from './npy-types.js'

/** Option `dtype` of functions that read. */
export const bytesType = option(undefined, (value, name): 'uint8' => {
  if (value === 'uint8') return value
  throw new OptionError(`option ${name} must be 'uint8' or left out, but it is ${show(value)}`)
})

/** Checks a header against the bytes of data that follow it, and returns its content. */
export function checkedContent(
  header: NpyHeader,
  present: number,
  requested: 'uint8' | undefined,
): { type: FileType; shape: Shape; count: number } {
  const type = fileType(header.descr, requested)
  const text = shapeText(header.shape)
  const shape = checkedShape(header.shape, text)
  return { type, shape, count: checkedCount(shape, text, type, BigInt(present)) }
}

/** Formats a shape as a Python tuple. */
const shapeText = (shape: readonly bigint[]) => `(${shape.join(', ')}${shape.length === 1 ? ',' : ''})`

/** Checks a shape and returns it as that of a matrix or a batch. A vector is a row. */
function checkedShape(claimed: bigint[], text: string): Shape {
  if (claimed.length < 1 || claimed.length > 3) {
    const advice =
      claimed.length === 0
        ? 'make it a matrix with a.reshape(1, 1)'
        : 'make it a batch with a.reshape(-1, *a.shape[-2:])'
    throw new NpyProblem(
      `expected a matrix (2-D), a row (1-D) or a batch of matrices (3-D), but its shape is ${text}, ${claimed.length}-D; ${advice}`,
    )
  }
  if (claimed.some((dimension) => dimension < 0n || dimension > MAX_DIMENSION)) {
    throw new NpyProblem(
      `expected dimensions of 0 … ${MAX_DIMENSION}, but its header claims ${text}; it is damaged`,
    )
  }
  const shape = claimed.map(Number)
  return (shape.length === 1 ? [1, ...shape] : shape) as Shape
}

/** Returns the number of elements after checking that the header agrees with the number of bytes. */
function checkedCount(shape: number[], text: string, type: FileType, present: bigint): number {
  const count = shape.map(BigInt).reduce((product, dimension) => product * dimension)
  const claimed = count * BigInt(type.size)
  if (claimed !== present) {
    throw new NpyProblem(
      `its header claims ${text} ${type.name}, ${claimed} bytes of data, but ${present} follow it; ` +
        (present < claimed ? 'it is truncated' : 'it has trailing bytes'),
    )
  }
  return Number(count)
}

/** Returns the error for an element whose value the type of the result can't represent. */
export const valueRefused = (value: number | bigint, type: FileType, index: readonly number[]) =>
  new NpyProblem(
    `its ${type.name} value ${value} at index [${index.join(', ')}] ` +
      `is outside the range of ${type.dtype === 'uint8' ? 'uint8, 0 … 255' : 'int32, −2147483648 … 2147483647'}; ` +
      'scale or clip the values first',
  )

/** Returns the matrix whose elements are `data` in the file's order. */
export function asMatrix(data: ElementArray, shape: Shape, header: NpyHeader): Matrix<ElementArray> {
  return header.fortranOrder ? { data, shape, strides: fortranStrides(shape) } : { data, shape }
}

/** Returns the index in the matrix of element `linear` of the file. */
export function elementIndex(linear: number, shape: readonly number[], fortranOrder: boolean): number[] {
  const result = shape.map(() => 0)
  const order = shape.map((_, axis) => axis)
  if (!fortranOrder) order.reverse()
  let rest = linear
  for (const axis of order) {
    result[axis] = rest % shape[axis]!
    rest = Math.floor(rest / shape[axis]!)
  }
  return result
}

function fortranStrides(shape: Shape): Shape {
  return shape.length === 2 ? [1, shape[0]] : [1, shape[0], shape[0] * shape[1]]
}

/** Bytes of one write: enough for the full speed of a disk, few enough to stop soon after a signal. */
const PIECE_BYTES = 1 << 22

/** Number of elements that are gathered between two turns of the event loop, in at most a few ms. */
const PER_TURN = 1 << 18

/**
 * Returns the bytes of a file in pieces, each valid until the next one. `reached` is called with the
 * completed share.
 */
export function* npyPieces(
  view: HostView<ElementArray>,
  reached: (share: number) => void,
  pieceBytes = PIECE_BYTES,
): Generator<Uint8Array, void> {
  const { data, type, batch, rows, cols, batchStride, rowStride, colStride } = view
  const size = bytesOf(type)
  const count = batch * rows * cols
  yield formatHeader(shapeOf(view), typeNameOf(type))
  const isRowMajor = colStride === 1 && rowStride === cols && (batch < 2 || batchStride === rows * cols)
  const isFile = isRowMajor && littleEndian
  const step = Math.min(count, pieceBytes / size, isFile ? count : PER_TURN)
  const chunk = isFile ? null : newArray(type, step)
  for (let done = 0; done < count; done += step) {
    reached(done / count)
    assertStillAttached(view, 'matrix')
    const length = Math.min(step, count - done)
    if (chunk) gather(view, done, chunk.subarray(0, length))
    const bytes = chunk
      ? new Uint8Array(chunk.buffer, 0, length * size)
      : new Uint8Array(bufferOf(data), firstByteOf(data) + (view.offset + done) * size, length * size)
    if (!littleEndian) swapBytes(bytes, size)
    yield bytes
  }
  assertStillAttached(view, 'matrix')
}
