/** Encodes requests to a device other than products for native code. */
import { COPY_FIELDS, copyAt, REQUEST_FIELDS, requestAt, writeLayout } from '../fields.js'
import type { Elements, Layout } from '../layout.js'

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
