/** From what a device has made to what the user gets. */
import { notCancelled } from '../abort.js'
import { showList } from '../describe.js'
import { DeviceMatrix } from '../device/device.js'
import { copyRequest } from '../device/requests.js'
import { ResidentView, type Session, SharedMemory } from '../device/resident.js'
import { newUnwrittenArray, typeNameOf } from '../elements.js'
import { DeviceError, DTypeError, fromNative, ShapeError, ValueError } from '../errors.js'
import { type Elements, rowMajorElements, shapeOf } from '../layout.js'
import { allocate, type DenseMatrix, rowMajor } from '../matrix.js'
import { addon, type NativeMemory } from '../native.js'
import { overlapsItself } from '../overlap.js'
import type { ElementArray } from '../storage.js'
import { requireStillThere, requireThere, showShape, type View } from '../view.js'

/** What is to be made of a matrix: a result of its shape. */
export interface Wanted {
  /** What messages call the matrix. */
  readonly name: string
  /** The view of `out`; null if it wasn't given. */
  readonly out: View<ElementArray> | null
  /** `out` as it was given. */
  readonly outValue: unknown
  /** What is made on the device: row-major. */
  readonly elements: Elements
  /** Whether the result stays on the device. */
  readonly stays: boolean
}

/** Checks `out`, if there is one. Runs no user code. */
export function want(name: string, matrix: View, out: View<ElementArray> | null, outValue: unknown): Wanted {
  const { type, bytes, batched, batch, rows, cols } = matrix
  if (out) requireOut(out, matrix, name)
  return {
    name,
    out,
    outValue,
    // What is stored as int16 is computed as int32.
    elements: rowMajorElements(type, bytes === 2 ? 4 : bytes, batched, batch, rows, cols),
    stays: (matrix.memory ?? out?.memory ?? null) !== null,
  }
}

function requireOut(out: View<ElementArray>, matrix: View, name: string): void {
  requireThere(out, 'out')
  if (out.type !== matrix.type) {
    throw new DTypeError(
      `out is of ${typeNameOf(out.type)} and ${name} of ${typeNameOf(matrix.type)}: both must be of one element type`,
    )
  }
  if (showList(shapeOf(out)) !== showList(shapeOf(matrix))) {
    throw new ShapeError(
      `${showShape(out, 'out')} must have the shape of ${name}, ${showList(shapeOf(matrix))}`,
    )
  }
  if (overlapsItself(out)) {
    throw new ShapeError(
      'elements of out overlap each other, so the result has no room in it: give out strides that put each element in a ' +
        'place of its own',
    )
  }
  if (!matrix.memory || out.memory?.session === matrix.memory.session) return
  const place = out.memory ? `on ${out.memory.session}, opened by another openDevice()` : 'in an array'
  throw new DeviceError(
    `out is ${place}, but ${name} is on ${matrix.memory.session}, and so is the result: leave out \`out\`, and download c`,
  )
}

/** What a promise of native code gives; an error is made one of the library's, and calls the matrix by its name. */
export async function settled<T>(work: Promise<T>, name: string): Promise<T> {
  try {
    return await work
  } catch (cause) {
    const error = fromNative(cause)
    if (error instanceof ValueError) error.message = error.message.replace(/^(the matrix|d)(?=\[)/, name)
    throw error
  }
}

/** A matrix in memory that nobody else knows. */
export function resident<Data extends ElementArray>(
  memory: NativeMemory,
  session: Session,
  elements: Elements,
): DeviceMatrix<Data> {
  return new DeviceMatrix<Data>(new ResidentView(new SharedMemory(memory, session), elements))
}

/**
 * Moves a result out of `memory`, which nobody else knows: to where it is wanted. It can't be given up, so that `out` is as
 * it was after any error but one of CUDA.
 */
export async function deliver(
  session: Session,
  { name, out, outValue, elements, stays }: Wanted,
  memory: NativeMemory,
): Promise<DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>> {
  if (!out) return stays ? resident(memory, session, elements) : download(session, memory, elements)
  try {
    requireThere(out, 'out')
    const request = copyRequest(out, elements)
    await settled(
      stays
        ? addon.copyMatrix(session.native, memory, out.data as NativeMemory, request)
        : addon.download(session.native, memory, out.data as ElementArray, request, notCancelled),
      name,
    )
    requireStillThere(out, 'out')
    return outValue as DenseMatrix<ElementArray> | DeviceMatrix<ElementArray>
  } finally {
    addon.release(memory)
  }
}

/** Moves row-major elements from a device into an array of their own. */
export async function download(
  session: Session,
  memory: NativeMemory,
  elements: Elements,
): Promise<DenseMatrix<ElementArray>> {
  try {
    const { type, reach } = elements
    const data = allocate(reach, 'the result', type, newUnwrittenArray)
    await settled(
      addon.download(session.native, memory, data, copyRequest(elements, elements), notCancelled),
      'the result',
    )
    const shape = shapeOf(elements)
    return { data, shape, strides: rowMajor(shape), offset: 0 }
  } finally {
    addon.release(memory)
  }
}
