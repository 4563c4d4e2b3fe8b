/** Reads a matrix argument once and checks it. */
import { isUint32Array } from './array-types.js'
import { type Name, show, showList, typeName } from './describe.js'
import { assertUsable, Resident, type ResidentView } from './device/resident.js'
import {
  arrayNames,
  bytesOf,
  bytesOfNarrow,
  conversionOf,
  elementType,
  INT32,
  isNarrow,
  isNarrowArray,
  narrowType,
  operandArrayNames,
  storedTypeName,
  typeNameOf,
} from './elements.js'
import { DTypeError, ShapeError } from './errors.js'
import { type Elements, type Shaped, shapeOf, stridedElements } from './layout.js'
import { dimension } from './matrix.js'
import type { ElementArray, MatrixArray, OperandArray } from './storage.js'
import { assertLength, assertOrdinaryBuffer, lengthOf } from './storage.js'
import type { LaneArray } from './user-semiring.js'

/** A matrix in an array. */
export interface HostView<Data extends MatrixArray = OperandArray> extends Elements {
  readonly data: Data
  readonly memory: null
}

/** A matrix in an array or on a device, in the form for native code. */
export type View<Data extends MatrixArray = OperandArray> = HostView<Data> | ResidentView

/** "a is 2 × 3" as a shape: `a [2, 3]`. */
export function showShape(view: View, name: Name): string {
  return `${name} ${showList(shapeOf(view))}`
}

/** Throws ShapeError unless a matrix has the expected shape, the shape of `whose`. */
export function assertShape(
  view: View,
  name: Name,
  whose: Name,
  expected: Omit<Shaped, 'type' | 'bytes'>,
): void {
  const { batched, batch, rows, cols } = expected
  if (view.batched === batched && view.batch === batch && view.rows === rows && view.cols === cols) return
  throw new ShapeError(
    `${showShape(view, name)} must have the shape of ${whose}, ${showList(shapeOf(expected))}`,
  )
}

/**
 * Role of a matrix in a product. Operands may be in an Int16Array; matrices of the result's type may not. A
 * lane of a custom semiring may be in a Uint32Array, whose bits are read as int32.
 */
export type Role = 'operand' | 'result' | 'lane'
type DataOf<R extends Role> = R extends 'result' ? ElementArray : R extends 'lane' ? LaneArray : OperandArray

/**
 * Reads the matrix that the user passed as `name`. Reads each property once, because a getter, or another
 * thread of the user, may give another value the next time. Checks only the type of the data; {@link
 * assertAttached} checks the rest when no user code can run any more.
 */
export function readView<R extends Role>(value: unknown, name: Name, role: R): View<DataOf<R>> {
  if (typeof value === 'object' && value !== null) {
    const view = Resident.viewOf(value)
    if (view) {
      if (role !== 'operand' && isNarrow(view)) refuseNarrow(name, view)
      return view
    }
  }
  return readMatrix(value, name, role)
}

/** Reads a matrix that must be in an array. */
export function readBack<R extends Role>(value: unknown, name: Name, role: R): HostView<DataOf<R>> {
  const view = readView(value, name, role)
  if (!view.memory) return view
  throw new DTypeError(
    `${name} must be in an array, but it is on ${view.memory.session}: download() copies it into one`,
  )
}

function refuseNarrow(name: Name, view: View<OperandArray>): never {
  throw new DTypeError(
    `${name} must be of an element type, but it is of ${storedTypeName(view)}, which only operands may be`,
  )
}

function readMatrix<R extends Role>(value: unknown, name: Name, role: R): HostView<DataOf<R>> {
  if (typeof value !== 'object' || value === null) {
    throw new DTypeError(
      `${name} must be a matrix { data: Int32Array, shape: [rows, cols] }, but it is ${typeName(value)}: make one with matrix()`,
    )
  }
  const {
    data,
    shape,
    strides = (value as { stride?: unknown }).stride,
    offset = 0,
  } = value as Record<string, unknown>
  const own = role === 'lane' && isUint32Array(data) ? INT32 : elementType(data)
  const type = own < 0 && role === 'operand' ? narrowType(data) : own
  const narrow = type !== own
  if (type < 0) throw new DTypeError(dataMessage(value, data, name, role))
  const sizes = readList(shape, name, '.shape')
  const batched = sizes.length === 3
  const batch = batched ? dimension(sizes[0], name, sizes, '.shape') : 1
  const rows = dimension(sizes[batched ? 1 : 0], name, sizes, '.shape')
  const cols = dimension(sizes[batched ? 2 : 1], name, sizes, '.shape')
  const count = batch * rows * cols
  if (count > Number.MAX_SAFE_INTEGER) {
    throw new ShapeError(
      `${name}.shape ${showList(sizes)} has more elements than can be counted exactly (2^53 - 1)`,
    )
  }
  let batchStride = rows * cols
  let rowStride = cols
  let colStride = 1
  if (strides !== undefined) {
    const steps = readList(strides, name, '.strides')
    if (steps.length !== sizes.length) {
      throw new ShapeError(
        `${name}.strides must have one entry for each of shape ${showList(sizes)}, but it is ${showList(steps)}`,
      )
    }
    const from = batched ? 1 : 0
    if (batched) batchStride = stride(steps[0], name, steps)
    rowStride = stride(steps[from], name, steps)
    colStride = stride(steps[from + 1], name, steps)
  }
  if (typeof offset !== 'number' || !Number.isSafeInteger(offset) || offset < 0) {
    throw new ShapeError(
      `${name}.offset must be an integer of 0 or more, in elements, but it is ${show(offset)}`,
    )
  }
  const bytes = narrow ? bytesOfNarrow(type) : bytesOf(type)
  const layout = { offset: offset + 0, batchStride, rowStride, colStride }
  const elements = stridedElements({ type, bytes, batched, batch, rows, cols }, layout)
  return {
    offset: elements.offset,
    batchStride: elements.batchStride,
    rowStride: elements.rowStride,
    colStride: elements.colStride,
    type: elements.type,
    bytes: elements.bytes,
    batched: elements.batched,
    batch: elements.batch,
    rows: elements.rows,
    cols: elements.cols,
    reach: elements.reach,
    data: data as DataOf<R>,
    memory: null,
  }
}

/**
 * Checks that the elements of the view are accessible: an array must be attached and long enough, and a
 * device-resident matrix must not be disposed. Runs no user code.
 */
export function assertAttached(view: View, name: Name): void {
  // Groups call this function for thousands of matrices. It is short, so that V8 inlines it. It compares with
  // null, because V8 would read an object's header to convert it to a boolean.
  if (view.memory !== null) assertUsable(view, name)
  else assertArrayAttached(view, name)
}

function assertArrayAttached(view: HostView, name: Name): void {
  assertOrdinaryBuffer(view.data, name, '.data')
  const length = lengthOf(view.data)
  if (view.reach <= length) return
  throw new ShapeError(
    `${name}.data must have at least ${view.reach} elements for shape ${showList(shapeOf(view))}, strides ` +
      `${showList(view.batched ? [view.batchStride, view.rowStride, view.colStride] : [view.rowStride, view.colStride])} ` +
      `and offset ${view.offset}, but it has ${length}`,
  )
}

/** Throws DTypeError if the array's memory was taken away after {@link assertAttached}. */
export function assertStillAttached(view: View, name: Name): void {
  if (!view.memory) assertLength(view.data, view.reach, name, '.data')
}

/** Two or three numbers. */
function readList(list: unknown, name: Name, property: '.shape' | '.strides'): unknown[] {
  if (typeof list === 'object' && list !== null) {
    const { length } = list as ArrayLike<unknown>
    if (length === 2) return [(list as ArrayLike<unknown>)[0], (list as ArrayLike<unknown>)[1]]
    if (length === 3) {
      const three = list as ArrayLike<unknown>
      return [three[0], three[1], three[2]]
    }
    if (typeof length === 'number') {
      throw new ShapeError(
        `${name}${property} must have 2 entries, for rows and columns, or 3, for batch, rows and columns, but it has ${show(length)}`,
      )
    }
  }
  throw new ShapeError(`${name}${property} must be an array of 2 or 3 numbers, but it is ${show(list)}`)
}

function stride(value: unknown, name: Name, steps: unknown[]): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value + 0
  const advice = (value as number) < 0 ? ': reversed views need a copy' : ''
  throw new ShapeError(
    `${name}.strides must hold integers of 0 or more, in elements, but it is ${showList(steps)}${advice}`,
  )
}

const laneArrayNames = 'Int32Array, Uint32Array or Float32Array'

function dataMessage(matrix: object, data: unknown, name: Name, role: Role): string {
  if (Array.isArray(matrix) || ArrayBuffer.isView(matrix)) {
    return (
      `${name} must be a matrix { data: Int32Array, shape: [rows, cols] }, but it is ${typeName(matrix)}: ` +
      'give it a shape with matrix(rows, cols, data)'
    )
  }
  const came = data === undefined ? 'missing' : typeName(data)
  const expected = role === 'lane' ? laneArrayNames : role === 'operand' ? operandArrayNames : arrayNames
  if (isNarrowArray(data) && role === 'result') {
    return `${name}.data must be an ${expected}, but it is ${came}, which only operands may be: results are ${typeNameOf(narrowType(data))}`
  }
  const advice = data === undefined ? '' : `: ${conversionOf(data)}`
  return `${name}.data must be an ${expected}, but it is ${came}${advice}`
}

/** Fills `out` with the view's elements in row-major order, from element `first` on. */
export function gather(view: HostView, first: number, out: ElementArray | Uint32Array): void {
  const { data, rows, cols, colStride } = view
  let row = Math.floor(first / cols)
  let col = first % cols
  for (let filled = 0; filled < out.length; row++, col = 0) {
    const start =
      view.offset +
      Math.floor(row / rows) * view.batchStride +
      (row % rows) * view.rowStride +
      col * colStride
    const count = Math.min(cols - col, out.length - filled)
    if (colStride === 1) out.set(data.subarray(start, start + count), filled)
    else for (let index = 0; index < count; index++) out[filled + index] = data[start + index * colStride]!
    filled += count
  }
}
