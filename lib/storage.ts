/**
 * What the library needs to know of a typed array, read through the language's own accessors: properties of the same
 * names on the object can't deceive native code.
 */
import type { Name } from './describe.js'
import type { ElementArray, KindOf, OperandArray, OrdinaryArray } from './element-types.js'
import { DTypeError } from './errors.js'

export type { ElementArray, KindOf, OperandArray, OrdinaryArray }

/** The array of any matrix: only lanes of semirings that users write are of uint32. */
export type MatrixArray = OperandArray | Uint32Array

function getter<T>(prototype: object, name: string): (this: unknown) => T {
  return Object.getOwnPropertyDescriptor(prototype, name)!.get!
}

const typedArray = Object.getPrototypeOf(Int32Array.prototype)
const length = getter<number>(typedArray, 'length')
const byteOffset = getter<number>(typedArray, 'byteOffset')
const buffer = getter<ArrayBufferLike>(typedArray, 'buffer')
const resizable = getter<boolean>(ArrayBuffer.prototype, 'resizable')
const slice = ArrayBuffer.prototype.slice

/** Elements; 0 when the buffer is detached. */
export function lengthOf(data: MatrixArray): number {
  return length.call(data)
}

export function bufferOf(data: MatrixArray): ArrayBufferLike {
  return buffer.call(data)
}

/** Bytes before the array in its buffer. */
export function firstByteOf(data: MatrixArray): number {
  return byteOffset.call(data)
}

export function isDetached(data: MatrixArray): boolean {
  if (length.call(data) > 0) return false
  try {
    slice.call(buffer.call(data), 0, 0)
    return false
  } catch {
    return true
  }
}

/** Throws DTypeError unless the memory of `data` is an ArrayBuffer that can't be written, resized or taken away elsewhere. */
export function requireOrdinaryBuffer(data: MatrixArray, name: Name, property = ''): void {
  let resizes: boolean
  try {
    resizes = resizable.call(buffer.call(data))
  } catch {
    throw new DTypeError(
      `${name}${property} must be in an ArrayBuffer, but it is in a SharedArrayBuffer, which other threads can change ` +
        'while the product runs: copy it into an array of its own',
    )
  }
  if (resizes) {
    throw new DTypeError(
      `${name}${property} must be in an ArrayBuffer of fixed length, but its buffer is resizable and could shrink while the ` +
        'product runs: copy it into an array of its own',
    )
  }
  if (isDetached(data)) {
    throw new DTypeError(
      `${name}${property} must have its memory, but its buffer is detached (transferred to another thread or to another ` +
        'buffer): use the array that it was transferred to, or copy it before the transfer',
    )
  }
}
