/** The element types of .npy files: which are taken as they are, which are converted to int32, and why the others aren't. */
import { endianness } from 'node:os'
import { NpyProblem } from './npy-header.js'
import type { DataType } from './variant-names.js'

/** Converts `count` elements to `out` from `at` on; returns the index of the first that isn't an int32, or -1. */
type Convert = (bytes: Buffer, count: number, out: Int32Array, at: number) => number

export interface FileType {
  name: string
  /** What a matrix of it holds. */
  dtype: DataType
  size: 1 | 2 | 4 | 8
  /** Whether the file's byte order is the other one than this machine's. */
  swapped: boolean
  /** Undefined where its bytes are the result. */
  convert: Convert | undefined
  /** Element `index`, for a message. */
  value(bytes: Buffer, index: number): number | bigint
}

const littleEndian = endianness() === 'LE'

interface View<T> {
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): ArrayLike<T>
}

const view = <T>(View: View<T>, bytes: Buffer, length: number) =>
  new View(bytes.buffer, bytes.byteOffset, length)

/** Types that all of int32's range holds. */
const widen =
  (View: View<number>): Convert =>
  (bytes, count, out, at) => {
    out.set(view(View, bytes, count), at)
    return -1
  }

const fromUint32: Convert = (bytes, count, out, at) => {
  const values = view(Int32Array, bytes, count)
  for (let index = 0; index < count; index++) {
    if (values[index]! < 0) return index
    out[at + index] = values[index]!
  }
  return -1
}

/** 64-bit types, as halves: many times faster than BigInt. A high half of `sign(low)` makes the value an int32. */
const fromHalves =
  (fits: (high: number, low: number) => boolean): Convert =>
  (bytes, count, out, at) => {
    const halves = view(Int32Array, bytes, 2 * count)
    const [low, high] = littleEndian ? [0, 1] : [1, 0]
    for (let index = 0; index < count; index++) {
      if (!fits(halves[2 * index + high]!, halves[2 * index + low]!)) return index
      out[at + index] = halves[2 * index + low]!
    }
    return -1
  }

interface Known {
  name: string
  dtype?: DataType
  View: View<number> | View<bigint>
  convert: Convert | undefined
}

const types: Record<string, Known> = {
  i1: { name: 'int8', View: Int8Array, convert: widen(Int8Array) },
  u1: { name: 'uint8', View: Uint8Array, convert: widen(Uint8Array) },
  i2: { name: 'int16', View: Int16Array, convert: widen(Int16Array) },
  u2: { name: 'uint16', View: Uint16Array, convert: widen(Uint16Array) },
  i4: { name: 'int32', View: Int32Array, convert: undefined },
  u4: { name: 'uint32', View: Uint32Array, convert: fromUint32 },
  i8: { name: 'int64', View: BigInt64Array, convert: fromHalves((high, low) => high === low >> 31) },
  u8: { name: 'uint64', View: BigUint64Array, convert: fromHalves((high, low) => high === 0 && low >= 0) },
  f4: { name: 'float32', dtype: 'float32', View: Float32Array, convert: undefined },
  f8: { name: 'float64', dtype: 'float64', View: Float64Array, convert: undefined },
}

const names = 'int8, int16, int32, int64 or their unsigned kin, float32 or float64'

/** Why another type isn't read, by its letter. */
const refusals: Record<string, string> = {
  e: 'half precision; convert with a.astype(numpy.float32), which is exact',
  f: 'floating-point numbers of another size; convert half precision with a.astype(numpy.float32), which is exact, and long double with a.astype(numpy.float64), which rounds',
  g: 'long double, which is another format on each platform; convert with a.astype(numpy.float64)',
  c: 'complex numbers, which have no order',
  b: 'booleans: say which numbers they stand for, for example numpy.where(a, 0, -2**31).astype(numpy.int32)',
  S: 'byte strings',
  a: 'byte strings',
  U: 'strings',
  V: 'raw bytes (void)',
  O: 'pickled Python objects, which are never loaded; convert with a.astype(numpy.int32)',
  M: 'dates; convert with a.astype(numpy.int64), and make them small enough for int32',
  m: 'time spans; convert with a.astype(numpy.int64), and make them small enough for int32',
}

/** The type that `descr` names; throws NpyProblem with the reason where it can't be taken exactly. */
export function fileType(descr: string | undefined): FileType {
  if (descr === undefined) {
    throw new NpyProblem(
      `expected ${names}, but it holds records (a structured type); save one field of them`,
    )
  }
  const [, order, code, letter] = /^([<>|=]?)(([A-Za-z])(?:\d.*)?)$/.exec(descr) ?? []
  const type = code !== undefined && Object.hasOwn(types, code) ? types[code] : undefined
  if (!type) {
    const refusal =
      letter !== undefined && Object.hasOwn(refusals, letter) ? refusals[letter] : 'another type'
    throw new NpyProblem(`expected ${names}, but its type ${JSON.stringify(descr)} is ${refusal}`)
  }
  const size = Number(code![1]) as FileType['size']
  if (size > 1 && order !== '<' && order !== '>') {
    throw new NpyProblem(
      `its type ${JSON.stringify(descr)} doesn't say the byte order; expected "<${code}" or ">${code}"`,
    )
  }
  return {
    name: type.name,
    dtype: type.dtype ?? 'int32',
    size,
    swapped: size > 1 && (order === '<') !== littleEndian,
    convert: type.convert,
    value: (bytes, index) =>
      view<number | bigint>(type.View as View<number | bigint>, bytes, index + 1)[index]!,
  }
}

/** Reverses the bytes of each element in place. */
export function swapBytes(bytes: Buffer, size: FileType['size']): void {
  if (size === 2) bytes.swap16()
  if (size === 4) bytes.swap32()
  if (size === 8) bytes.swap64()
}
