/** The element types, and the arrays that hold them. */
import { isBigIntArray, isTypedArray, typedArrayName } from './array-types.js'
import { mostBytes, unwritten } from './host.js'
import { addon, indexIn } from './native.js'
import type { ElementArray } from './storage.js'
import type { DataType } from './variant-names.js'

const arrays = {
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
  uint8: Uint8Array,
} as const satisfies Record<DataType, unknown>

/** Element types by their numbers: indices into the addon's list. */
export const INT32 = indexIn(addon.dataTypes, 'int32')
const FLOAT32 = indexIn(addon.dataTypes, 'float32')
export const FLOAT64 = indexIn(addon.dataTypes, 'float64')
export const UINT8 = indexIn(addon.dataTypes, 'uint8')

export const arrayNames = 'Int32Array, Float32Array, Float64Array or Uint8Array'

/** The element type of an array by its number; -1 for anything that doesn't hold elements, whatever it pretends to be. */
export function elementType(data: unknown): number {
  switch (typedArrayName(data)) {
    case 'Int32Array':
      return INT32
    case 'Float32Array':
      return FLOAT32
    case 'Float64Array':
      return FLOAT64
    // A Buffer is one too; a Uint8ClampedArray isn't.
    case 'Uint8Array':
      return UINT8
    default:
      return -1
  }
}

export const isElementArray = (data: unknown): data is ElementArray => elementType(data) >= 0

/**
 * The narrow arrays, which hold operands in less memory, by their names: what the type is called, the type of the elements that
 * it stands for, and the zeros of semirings in it: of those whose zero is negative, and of the others.
 */
const narrow = {
  Int16Array: { name: 'int16', type: INT32, Array: Int16Array, zeros: [-(2 ** 15), 2 ** 15 - 1] },
} as const
/** Of an element of any of them. */
export const NARROW_BYTES = 2
type Narrow = (typeof narrow)[keyof typeof narrow]
type NarrowArray = InstanceType<Narrow['Array']>

/** The element type that a narrow array stands for, by its number; -1 for anything else. */
export function narrowType(data: unknown): number {
  const name = typedArrayName(data)
  return name !== undefined && Object.hasOwn(narrow, name) ? narrow[name as keyof typeof narrow].type : -1
}

export const isNarrowArray = (data: unknown): data is NarrowArray => narrowType(data) >= 0

/** Whether elements are stored in a narrow array. */
export const isNarrow = ({ bytes }: { readonly bytes: number }): boolean => bytes === NARROW_BYTES

/** How elements are stored that take so many bytes; undefined if as themselves. */
const narrowOf = (type: number, bytes: number): Narrow | undefined =>
  bytes === NARROW_BYTES ? Object.values(narrow).find((it) => it.type === type) : undefined

/** What stands for `zero` in a narrow array; `zero` itself in another. */
export const storedZero = (zero: number, type: number, bytes: number): number =>
  narrowOf(type, bytes)?.zeros[zero < 0 ? 0 : 1] ?? zero

/** A new narrow array, if elements are stored in one. */
export function newNarrowArray(type: number, bytes: number, length: number): NarrowArray | undefined {
  const stored = narrowOf(type, bytes)
  return stored && new stored.Array(length)
}

/** The narrow array whose elements are called so. */
export const narrowArrayNamed = (dtype: unknown): string | undefined =>
  Object.entries(narrow).find(([, { name }]) => name === dtype)?.[0]

/** The arrays of operands. */
export const operandArrayNames = 'Int32Array, Int16Array, Float32Array, Float64Array or Uint8Array'

const isBuffer = (data: unknown) =>
  /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(data))

/** How `data`, which doesn't hold elements, is made into an array of them: what follows a message. */
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
export function storedTypeName(type: number, bytes: number): DataType | Narrow['name'] {
  return narrowOf(type, bytes)?.name ?? typeNameOf(type)
}

/** Whether the elements are integers, whose arithmetic has no infinities. */
export function isInteger(type: number): boolean {
  return type === INT32 || type === UINT8
}

/** The bytes of an element. */
export function bytesOf(type: number): 1 | 4 | 8 {
  if (type === UINT8) return 1
  return type === FLOAT64 ? 8 : 4
}

/** An array of `length` elements over the whole of a buffer. */
export const arrayOver = (type: number, buffer: ArrayBuffer): ElementArray =>
  new arrays[typeNameOf(type)](buffer)

/** Zeros. Throws RangeError if there is no memory for them. */
export function newArray(type: number, length: number): ElementArray {
  return type === INT32 ? new Int32Array(length) : new arrays[typeNameOf(type)](length)
}

/** In bytes. From here on an array of zeros takes longer to make than an unwritten one. */
const LEAST_UNWRITTEN = 4096

/**
 * In bytes. Such memory always comes from the system, which gives it out page by page when it is first written. In huge pages a
 * product of 8192 × 16 × 8192 took 90 ms on two cores instead of 110; of a GPU's results it makes no difference.
 */
const LEAST_FRESH = 2 ** 25

/**
 * As newArray, but what the array holds is undefined: for results, which are written before they are returned. Clearing
 * 256 KB took 20 of the 130 µs of a whole 256³ product on a GPU (host of an H200). Products on the CPU take the same time
 * either way, within 3 %: they write to arrays that clearing would have brought into the caches (4 KB to 600 KB).
 */
export function newUnwrittenArray(type: number, length: number): ElementArray {
  const bytes = length * bytesOf(type)
  const memory = bytes < LEAST_UNWRITTEN || bytes > mostBytes ? null : unwritten(bytes)
  if (memory === null) return newArray(type, length)
  const data = arrayOver(type, memory)
  if (bytes >= LEAST_FRESH) addon.preferHugePages(data)
  return data
}
