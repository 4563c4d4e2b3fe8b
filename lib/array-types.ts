/** Determines the kind of an array by its internal slots, independent of its prototype and realm. */

/**
 * An array of numbers over a buffer. The type is declared here because the declarations of Node.js are
 * optional for users of the package.
 */
export type TypedArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array

const tag = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Int32Array.prototype), Symbol.toStringTag)!
  .get! as (this: unknown) => string | undefined

/** Returns the name of the type of a typed array; undefined for any other value. */
export const typedArrayName = (value: unknown): string | undefined => tag.call(value)

export const isTypedArray = (value: unknown): value is TypedArray => tag.call(value) !== undefined
export const isInt32Array = (value: unknown): value is Int32Array => tag.call(value) === 'Int32Array'
export const isUint8Array = (value: unknown): value is Uint8Array => tag.call(value) === 'Uint8Array'
export const isFloat64Array = (value: unknown): value is Float64Array => tag.call(value) === 'Float64Array'

/** Returns whether an array is a Uint32Array, which only lanes of custom semirings use. */
export const isUint32Array = (value: unknown): value is Uint32Array => tag.call(value) === 'Uint32Array'

export const isBigIntArray = (value: unknown): value is BigInt64Array | BigUint64Array =>
  tag.call(value) === 'BigInt64Array' || tag.call(value) === 'BigUint64Array'
