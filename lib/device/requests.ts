/** Requests to a device other than products: copies, fills and sums of matrices. */
import { natively } from '../errors.js'
import { COPY_FIELDS, copyAt, REQUEST_FIELDS, requestAt, writeLayout } from '../fields.js'
import { type Elements, type Layout, rowMajorElements } from '../layout.js'
import { addon, type NativeMemory } from '../native.js'
import { assertAttached, assertStillAttached, type HostView } from '../view.js'
import type { Session } from './resident.js'

// One array serves all calls, because native code reads a request before the call returns.
const copy = new Float64Array(COPY_FIELDS)
const combination = new Float64Array(REQUEST_FIELDS)

function writeSizes({ batch, rows, cols, type }: Elements): void {
  copy[copyAt.batch] = batch
  copy[copyAt.rows] = rows
  copy[copyAt.cols] = cols
  copy[copyAt.dtype] = type
}

/** Returns the request to copy between an array and memory of a device. */
export function copyRequest(array: Layout, memory: Elements): Float64Array {
  writeSizes(memory)
  writeLayout(copy, 0, copyAt.array, array)
  writeLayout(copy, 0, copyAt.memory, memory)
  return copy
}

/**
 * Copies a matrix in an array to a device, row-major.
 *
 * @throws Rejects with ERR_MPMML_DTYPE for an array that is transferred away meanwhile, and with the errors of native code.
 */
export async function copyToDevice(
  session: Session,
  view: HostView,
  cancel: Int32Array,
  name: string,
): Promise<NativeMemory> {
  assertAttached(view, name)
  const request = copyRequest(view, rowMajorElements(view))
  const memory = await natively(() => addon.upload(session.native, view.data, request, cancel))
  try {
    assertStillAttached(view, name)
  } catch (error) {
    addon.release(memory)
    throw error
  }
  return memory
}

/** Returns the request to fill memory of a device. */
export function fillRequest(elements: Elements, value: number): Float64Array {
  writeSizes(elements)
  copy[copyAt.value] = value
  return copy
}

/** Returns the request for C = C ⊕ D. */
export function combineRequest(semiring: number, c: Elements, d: Layout): Float64Array {
  combination[requestAt.batch] = c.batch
  combination[requestAt.m] = c.rows
  combination[requestAt.n] = c.cols
  combination[requestAt.semiring] = semiring
  combination[requestAt.dtype] = c.type
  combination[requestAt.variant] = -1
  writeLayout(combination, 0, requestAt.c, c)
  writeLayout(combination, 0, requestAt.b, d)
  return combination
}
