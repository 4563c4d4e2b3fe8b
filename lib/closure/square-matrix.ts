/** Runs work on square matrices: checks the arguments before it, and moves the result to its destination. */
import { NEVER_CANCELLED, throwIfAborted } from '../abort.js'
import { BorrowedArrays } from '../borrowed.js'
import { assertSemiringType } from '../built-in-semirings.js'
import { DeviceMatrix } from '../device/device.js'
import { onImplicitDevice } from '../device/implicit.js'
import { copyRequest, copyToDevice } from '../device/requests.js'
import { ResidentView, type Session, SharedMemory } from '../device/resident.js'
import { bytesOf, newUnwrittenArray, typeNameOf } from '../elements.js'
import { DeviceError, DTypeError, fromNative, ShapeError, ValueError } from '../errors.js'
import { type Elements, rowMajorElements, shapeOf } from '../layout.js'
import { allocate, type DenseMatrix, rowMajorMatrix } from '../matrix.js'
import { assertCapacity } from '../memory-overlap.js'
import { addon, type NativeMemory } from '../native.js'
import { UNSET } from '../options.js'
import { assertIntegers } from '../overflow.js'
import type { ReadOptions } from '../product/options.js'
import { assertConsistent } from '../product/prepare.js'
import type { SquareWork } from '../product/webgpu.js'
import type { ElementArray } from '../storage.js'
import {
  assertAttached,
  assertShape,
  assertStillAttached,
  type HostView,
  readView,
  showShape,
  type View,
} from '../view.js'

/** Checked call with a square matrix, whose result has the shape of the matrix. */
export interface SquareRequest {
  /** Name of the matrix in messages. */
  readonly name: string
  readonly matrix: View
  readonly options: ReadOptions
  /** The view of `options.out`; null if it wasn't given. */
  readonly out: View<ElementArray> | null
  /** Borrowed arrays of the matrix and of `out`. */
  readonly borrowed: BorrowedArrays
  /** Layout of the result on the device: row-major. */
  readonly elements: Elements
  /** The device that the matrix or `out` is on, where the result stays; null if both are in arrays. */
  readonly home: Session | null
}

/**
 * Checks a square matrix, or a batch of them, and the options for it, which have been read (readView with the role 'operand',
 * readOptions).
 *
 * @param work - name of the work in messages.
 * @param why - reason why the matrix must be square, as the end of a sentence.
 */
export function checkSquare(
  name: string,
  matrix: View,
  options: ReadOptions,
  work: string,
  why: string,
): SquareRequest {
  const out = options.out === undefined ? null : readView(options.out, 'out', 'result')
  const { semiring, overflow, signal } = options
  const { type, rows, cols } = matrix
  throwIfAborted(signal, work)
  assertSemiringType(semiring, type)
  if (overflow !== UNSET) assertIntegers(type, `${name} is`)
  const borrowed = new BorrowedArrays()
  borrowed.view(matrix, name)
  if (rows !== cols) throw new ShapeError(`${showShape(matrix, name)} must be square${why}`)
  if (out) assertOut(borrowed.view(out, 'out'), matrix, name)
  const home = matrix.memory?.session ?? out?.memory?.session ?? null
  if (home) assertConsistent(options, home)
  const elements = rowMajorElements({ ...matrix, bytes: bytesOf(type) })
  return { name, matrix, options, out, borrowed, elements, home }
}

/** Returns the kind of products that the work takes the time of, with witnesses if it finds next nodes. */
export const kindOfWork = ({ options, matrix }: SquareRequest, witness: boolean): SquareWork => ({
  semiring: addon.semirings[options.semiring]!.name,
  dtype: typeNameOf(matrix.type),
  witness,
})

/** Runs the work on the device of a matrix, or on a device of the library if all matrices are in arrays. */
export function onItsDevice<Result>(
  { home, options, elements: { batch, rows } }: SquareRequest,
  kind: SquareWork | null,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  return home ? work(home) : onImplicitDevice(options, batch * rows ** 3, kind, work)
}

function assertOut(out: View<ElementArray>, matrix: View, name: string): void {
  if (out.type !== matrix.type) {
    throw new DTypeError(
      `out is of ${typeNameOf(out.type)} and ${name} of ${typeNameOf(matrix.type)}: both must be of one element type`,
    )
  }
  assertShape(out, 'out', name, matrix)
  assertCapacity(out, 'out', 'the result')
  if (!matrix.memory || out.memory?.session === matrix.memory.session) return
  const location = out.memory ? `on ${out.memory.session}, opened by another openDevice()` : 'in an array'
  throw new DeviceError(
    `out is ${location}, but ${name} is on ${matrix.memory.session}, and so is the result: leave out \`out\`, and download c`,
  )
}

/**
 * Waits for a promise of native code. Converts its error to the library's classes, and puts the name of the
 * matrix into the message.
 */
export async function settled<T>(work: Promise<T>, name: string): Promise<T> {
  try {
    return await work
  } catch (cause) {
    const error = fromNative(cause)
    if (error instanceof ValueError) error.message = error.message.replace(/^(the matrix|d)(?=\[)/, name)
    throw error
  }
}

/** Copies a matrix in an array to a device, row-major. */
export const upload = (
  session: Session,
  view: HostView,
  cancel: Int32Array,
  name: string,
): Promise<NativeMemory> => settled(copyToDevice(session, view, cancel, name), name)

/** Returns a device matrix that owns `memory`. */
export function resident<Data extends ElementArray>(
  memory: NativeMemory,
  session: Session,
  elements: Elements,
): DeviceMatrix<Data> {
  return new DeviceMatrix<Data>(new ResidentView(new SharedMemory(memory, session), elements))
}

/**
 * Moves a result out of `memory`, which only this work uses, to `out`, a device matrix or a new array. The
 * move can't be aborted, so `out` is unchanged after any error except a CUDA error.
 */
export async function deliver(
  session: Session,
  { name, out, options, elements, home }: SquareRequest,
  memory: NativeMemory,
): Promise<DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>> {
  if (!out) return home ? resident(memory, session, elements) : download(session, memory, elements)
  try {
    assertAttached(out, 'out')
    const request = copyRequest(out, elements)
    await settled(
      home
        ? addon.copyMatrix(session.native, memory, out.data as NativeMemory, request)
        : addon.download(session.native, memory, out.data as ElementArray, request, NEVER_CANCELLED),
      name,
    )
    assertStillAttached(out, 'out')
    return options.out as DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>
  } finally {
    addon.release(memory)
  }
}

/** Moves row-major elements from a device into a new array. */
export async function download(
  session: Session,
  memory: NativeMemory,
  elements: Elements,
): Promise<DenseMatrix<ElementArray>> {
  try {
    const { type, reach } = elements
    const data = allocate(reach, 'the result', type, newUnwrittenArray)
    await settled(
      addon.download(session.native, memory, data, copyRequest(elements, elements), NEVER_CANCELLED),
      'the result',
    )
    return rowMajorMatrix(data, shapeOf(elements))
  } finally {
    addon.release(memory)
  }
}
