/**
 * Reads properties of a typed array through the built-in accessors, so that overriding properties can't
 * mislead native code.
 */
import type { TypedArray } from './array-types.js'
import type { Name } from './describe.js'
import type { ElementArray, KindOf, OperandArray, OrdinaryArray } from './element-types.js'
import { DTypeError } from './errors.js'

export type { ElementArray, KindOf, OperandArray, OrdinaryArray }

/** Array type of any matrix. Only lanes of custom semirings are of uint32. */
export type MatrixArray = OperandArray | Uint32Array

function getter<T>(prototype: object, name: string): (this: unknown) => T {
  return Object.getOwnPropertyDescriptor(prototype, name)!.get!
}

const typedArray = Object.getPrototypeOf(Int32Array.prototype)
const length = getter<number>(typedArray, 'length')
const byteLength = getter<number>(typedArray, 'byteLength')
const byteOffset = getter<number>(typedArray, 'byteOffset')
const buffer = getter<ArrayBufferLike>(typedArray, 'buffer')
const resizable = getter<boolean>(ArrayBuffer.prototype, 'resizable')
const slice = ArrayBuffer.prototype.slice

/** Returns the number of elements; 0 if the buffer is detached. */
export function lengthOf(data: TypedArray): number {
  return length.call(data)
}

export function bufferOf(data: MatrixArray): ArrayBufferLike {
  return buffer.call(data)
}

/** Returns the bytes of the elements; 0 if the buffer is detached. */
export function bytesIn(data: TypedArray): number {
  return byteLength.call(data)
}

/** Returns the byte offset of the array in its buffer. */
export function firstByteOf(data: MatrixArray): number {
  return byteOffset.call(data)
}

function isDetached(data: TypedArray): boolean {
  if (length.call(data) > 0) return false
  try {
    slice.call(buffer.call(data), 0, 0)
    return false
  } catch {
    return true
  }
}

/** Throws DTypeError unless `data` is in an attached ArrayBuffer of fixed length, which no other thread can write or resize. */
export function assertOrdinaryBuffer(data: TypedArray, name: Name, property = ''): void {
  let resizes: boolean
  try {
    resizes = resizable.call(buffer.call(data))
  } catch {
    throw new DTypeError(
      `${name}${property} must be in an ArrayBuffer, but it is in a SharedArrayBuffer, which other threads can change ` +
        'during the call: copy it into an array of its own',
    )
  }
  if (resizes) {
    throw new DTypeError(
      `${name}${property} must be in an ArrayBuffer of fixed length, but its buffer is resizable and could shrink during ` +
        'the call: copy it into an array of its own',
    )
  }
  if (isDetached(data)) {
    throw new DTypeError(
      `${name}${property} must have its memory, but its buffer is detached (transferred to another thread or to another ` +
        'buffer): use the array that it was transferred to, or copy it before the transfer',
    )
  }
}

/** Throws DTypeError if `data` has lost elements that it had when it was borrowed: its buffer has been transferred. */
export function assertLength(data: TypedArray, least: number, name: Name, property = ''): void {
  if (length.call(data) >= least) return
  throw new DTypeError(
    `${name}${property} must keep its memory during the call, but its buffer is detached, transferred away meanwhile: ` +
      'keep the arrays of a call until its promise settles',
  )
}
