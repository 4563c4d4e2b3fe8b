/** The element types, and the arrays that hold them. */
import { isBigIntArray, isTypedArray, typedArrayName } from './array-types.js'
import { formatAny } from './describe.js'
import {
  type ElementArray,
  type NarrowArray,
  type OrdinaryArray,
  type StoredType,
  storedArrays,
  widened,
} from './element-types.js'
import { addon, indexIn } from './native.js'
import { maxBytes, unwritten } from './platform.js'
import type { DataType } from './variant-names.js'

/** Element types by their numbers: indices into the addon's list. */
export const INT32 = indexIn(addon.dataTypes, 'int32')
export const FLOAT64 = indexIn(addon.dataTypes, 'float64')
export const UINT8 = indexIn(addon.dataTypes, 'uint8')

/** Returns whether a storage type, given by name, is an integer type. */
export const isIntegers = (name: StoredType): boolean => !name.startsWith('float')
export const bytesOfStored = (name: StoredType) => storedArrays[name].BYTES_PER_ELEMENT as 1 | 2 | 4 | 8

/** Returns the least and the greatest value of a storage type. */
export function rangeOf(name: StoredType): readonly [least: number, most: number] {
  if (!isIntegers(name)) return [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  const values = 2 ** (8 * bytesOfStored(name))
  return name.startsWith('u') ? [0, values - 1] : [-values / 2, values / 2 - 1]
}

/** Array constructors of element types, by type number. */
const arrays = addon.dataTypes.map((name) => storedArrays[name])
const sizes = addon.dataTypes.map(bytesOfStored)
const integers = addon.dataTypes.map(isIntegers)

/** The numbers of element types by the names of their arrays. */
const typesOfArrays = new Map(arrays.map(({ name }, type) => [name as string | undefined, type]))

export const arrayNames = formatAny(arrays.map(({ name }) => name))

/** Returns the number of an array's element type; -1 for all other values. */
export function elementType(data: unknown): number {
  // A Buffer is a Uint8Array too; a Uint8ClampedArray isn't.
  return typesOfArrays.get(typedArrayName(data)) ?? -1
}

export const isElementArray = (data: unknown): data is ElementArray => elementType(data) >= 0

/** Narrow types, which store operands in less memory. */
const narrowTypes = Object.keys(widened) as (keyof typeof widened)[]
/** Narrow storage types by element type number. */
const narrowed = addon.dataTypes.map((name) => narrowTypes.find((narrow) => widened[narrow] === name))
/** The numbers of the element types that narrow arrays stand for, by the names of the arrays. */
const typesOfNarrow = new Map(
  narrowTypes.map((narrow) => [
    storedArrays[narrow].name as string | undefined,
    indexIn(addon.dataTypes, widened[narrow]),
  ]),
)

/** Returns the code of the element type that a narrow array represents; −1 for any other value. */
export const narrowType = (data: unknown): number => typesOfNarrow.get(typedArrayName(data)) ?? -1

export const isNarrowArray = (data: unknown): data is NarrowArray => narrowType(data) >= 0

/** Storage of elements: type and bytes per element. */
interface Stored {
  readonly type: number
  readonly bytes: number
}

/** Returns the narrow type in which elements are stored; undefined if they are stored in their own type. */
const narrowOf = ({ type, bytes }: Stored) => (bytes === sizes[type] ? undefined : narrowed[type])

/** Returns the bytes per element of the narrow array of an element type. */
export const bytesOfNarrow = (type: number): number => bytesOfStored(narrowed[type]!)

/** Returns whether elements are stored in a narrow array. */
export const isNarrow = (stored: Stored): boolean => narrowOf(stored) !== undefined

/**
 * Returns the stored value of `zero`: the extreme of the same sign in a narrow array, and `zero` itself in
 * others.
 */
export function storedZero(zero: number, stored: Stored): number {
  const narrow = narrowOf(stored)
  return narrow ? rangeOf(narrow)[zero < 0 ? 0 : 1] : zero
}

/** Returns a new array of the narrow storage type, such as int16; undefined if elements have their own type. */
export function newNarrowArray(stored: Stored, length: number): NarrowArray | undefined {
  const narrow = narrowOf(stored)
  return narrow && new storedArrays[narrow](length)
}

/** Returns the name of the narrow array for a type name. */
export const narrowArrayNamed = (dtype: unknown): string | undefined =>
  narrowTypes.includes(dtype as keyof typeof widened)
    ? storedArrays[dtype as keyof typeof widened].name
    : undefined

/** Names of the arrays of operands, for messages. */
export const operandArrayNames = formatAny(Object.values(storedArrays).map(({ name }) => name))

const isBuffer = (data: unknown) =>
  /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(data))

/** Returns the advice for converting `data` to an array of elements, as the end of a message. */
export function conversionOf(data: unknown): string {
  if (isBigIntArray(data)) {
    return 'Int32Array.from(data, Number) converts what fits, Float64Array.from(data, Number) whole numbers up to 2^53'
  }
  if (Array.isArray(data) || isTypedArray(data)) {
    return 'Int32Array.from(data) converts whole numbers, Float64Array.from(data) any'
  }
  if (isBuffer(data) || ArrayBuffer.isView(data)) {
    return 'pass an array over its bytes, such as new Int32Array(buffer)'
  }
  return 'put the elements into such an array'
}

/** The name of an element type. */
export function typeNameOf(type: number): DataType {
  return addon.dataTypes[type]!
}

/** The name of an element type as it is stored. */
export const storedTypeName = (stored: Stored): StoredType => narrowOf(stored) ?? typeNameOf(stored.type)

/** Returns whether the elements are integers, whose arithmetic has no infinities. */
export const isInteger = (type: number): boolean => integers[type]!

/** The bytes of an element. */
export const bytesOf = (type: number): 1 | 2 | 4 | 8 => sizes[type]!

/** An array of `length` elements over the whole of a buffer. */
export const arrayOver = (type: number, buffer: ArrayBuffer): OrdinaryArray<ElementArray> =>
  new arrays[type]!(buffer)

/** Returns an array of zeros. Throws RangeError if memory doesn't suffice. */
export function newArray(type: number, length: number): OrdinaryArray<ElementArray> {
  return type === INT32 ? new Int32Array(length) : new arrays[type]!(length)
}

/** Size in bytes from which allocating zeros takes longer than allocating unwritten memory. */
const MIN_UNWRITTEN = 4096

/**
 * Size in bytes from which memory always comes from the system, which maps each page at its first write. With
 * huge pages a product of 8192 × 16 × 8192 took 90 ms on two cores instead of 110. Huge pages make no
 * difference for results of a GPU.
 */
const MIN_FRESH = 2 ** 25

/**
 * Returns an array with undefined content, for results, which are written before they are returned. Clearing
 * 256 KB took 20 of the 130 µs of a whole 256³ product on a GPU (host of an H200). The duration of products
 * on the CPU doesn't depend on clearing, within 3 % (4 KB to 600 KB): clearing would also bring the array
 * into the caches.
 */
export function newUnwrittenArray(type: number, length: number): OrdinaryArray<ElementArray> {
  const bytes = length * bytesOf(type)
  const memory = bytes < MIN_UNWRITTEN || bytes > maxBytes ? null : unwritten(bytes)
  if (memory === null) return newArray(type, length)
  const data = arrayOver(type, memory)
  if (bytes >= MIN_FRESH) addon.preferHugePages(data)
  return data
}
