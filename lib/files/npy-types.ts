/**
 * Element types of .npy files: types that are read unchanged, types that are converted to int32 or uint8, and
 * the reasons for refusing the others.
 */
import type { ElementArray } from '../storage.js'
import type { DataType } from '../variant-names.js'
import { NpyProblem } from './npy-header.js'

/** Converts `count` elements to `out` from `at` on; returns the index of the first that `out` can't hold, or -1. */
type Convert = (bytes: Uint8Array, count: number, out: ElementArray, at: number) => number

export interface FileType {
  name: string
  /** Element type of the resulting matrix. */
  dtype: DataType
  size: 1 | 2 | 4 | 8
  /** Whether the file's byte order differs from this machine's. */
  swapped: boolean
  /** Conversion; undefined if the file's bytes are the result. */
  convert: Convert | undefined
  /** Returns the element `index` for a message. */
  value(bytes: Uint8Array, index: number): number | bigint
  /** Views aligned bytes in this machine's byte order as elements. */
  elements(bytes: Uint8Array): ArrayLike<number | bigint>
}

/** Whether this machine is little-endian, as most files are. */
export const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

interface View<T> {
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): ArrayLike<T>
}

const view = <T>(View: View<T>, bytes: Uint8Array, length: number) =>
  new View(bytes.buffer, bytes.byteOffset, length)

/** Conversion of types whose values are all int32. */
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

/**
 * Conversion of 64-bit types by their halves, many times faster than BigInt. The value is an int32 if the
 * high half is `sign(low)`.
 */
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

const isByte = (value: number) => value === (value & 255)

/** Conversion of types of up to 32 bits to uint8. */
const narrow =
  (View: View<number>): Convert =>
  (bytes, count, out, at) => {
    const values = view(View, bytes, count)
    for (let index = 0; index < count; index++) {
      if (!isByte(values[index]!)) return index
      out[at + index] = values[index]!
    }
    return -1
  }

const halvesToInt64 = fromHalves((high, low) => high === low >> 31)
const halvesToUint64 = fromHalves((high, low) => high === 0 && low >= 0)
const halvesToBytes = fromHalves((high, low) => high === 0 && isByte(low))

const fromBooleans: Convert = (bytes, count, out, at) => {
  for (let index = 0; index < count; index++) out[at + index] = bytes[index] === 0 ? 0 : 1
  return -1
}

/** No conversion: the file's bytes are the result. */
const asItIs = undefined

interface Known {
  name: string
  View: View<number> | View<bigint>
  /** Conversions by target type. The first one is the default. */
  as: Partial<Record<DataType, Convert | undefined>>
}

const types: Record<string, Known> = {
  b1: { name: 'bool', View: Uint8Array, as: { uint8: fromBooleans } },
  i1: { name: 'int8', View: Int8Array, as: { int32: widen(Int8Array), uint8: narrow(Int8Array) } },
  u1: { name: 'uint8', View: Uint8Array, as: { int32: widen(Uint8Array), uint8: asItIs } },
  i2: { name: 'int16', View: Int16Array, as: { int32: widen(Int16Array), uint8: narrow(Int16Array) } },
  u2: { name: 'uint16', View: Uint16Array, as: { int32: widen(Uint16Array), uint8: narrow(Uint16Array) } },
  i4: { name: 'int32', View: Int32Array, as: { int32: asItIs, uint8: narrow(Int32Array) } },
  u4: { name: 'uint32', View: Uint32Array, as: { int32: fromUint32, uint8: narrow(Uint32Array) } },
  i8: { name: 'int64', View: BigInt64Array, as: { int32: halvesToInt64, uint8: halvesToBytes } },
  u8: { name: 'uint64', View: BigUint64Array, as: { int32: halvesToUint64, uint8: halvesToBytes } },
  f4: { name: 'float32', View: Float32Array, as: { float32: asItIs } },
  f8: { name: 'float64', View: Float64Array, as: { float64: asItIs } },
}

const names = 'bool, int8, int16, int32, int64 or their unsigned kin, float32 or float64'

/** Reasons for refusing other types, by their letters. */
const refusals: Record<string, string> = {
  e: 'half precision; convert with a.astype(numpy.float32), which is exact',
  f: 'floating-point numbers of another size; convert half precision with a.astype(numpy.float32), which is exact, and long double with a.astype(numpy.float64), which rounds',
  g: 'long double, which is another format on each platform; convert with a.astype(numpy.float64)',
  c: 'complex numbers, which have no order',
  S: 'byte strings',
  a: 'byte strings',
  U: 'strings',
  V: 'raw bytes (void)',
  O: 'pickled Python objects, which are never loaded; convert with a.astype(numpy.int32)',
  M: 'dates; convert with a.astype(numpy.int64), and make them small enough for int32',
  m: 'time spans; convert with a.astype(numpy.int64), and make them small enough for int32',
}

/** Type codes by the names in NumPy and Zarr. */
const codes = new Map([
  ...Object.entries(types).map(([code, { name }]) => [name, code]),
  ...Object.entries({ float16: 'e2', complex64: 'c8', complex128: 'c16', string: 'U', bytes: 'S' }),
  ...Object.entries({ 'numpy.datetime64': 'M8', 'numpy.timedelta64': 'm8' }),
] as [string, string][])

/** Returns the {@link fileType} for a name such as 'int64'. */
export function namedType(name: string, isLittle: boolean): FileType {
  const code = codes.get(name) ?? (/^r\d+$/.test(name) ? 'V' : undefined)
  if (code === undefined) throw new NpyProblem(`expected ${names}, but its type is ${JSON.stringify(name)}`)
  return fileType(`${isLittle ? '<' : '>'}${code}`)
}

/** Returns the error for a file of booleans where numbers are required. */
export const booleansRefused = () =>
  new NpyProblem('expected numbers, but it holds booleans; convert with a.astype(numpy.int32)')

/**
 * Returns the file type that `descr` names, with its conversion to `requested` or by default to the nearest type.
 * Throws NpyProblem with the reason if the conversion isn't exact.
 */
export function fileType(descr: string | undefined, requested?: 'uint8'): FileType {
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
  if (requested !== undefined && !(requested in type.as)) {
    throw new NpyProblem(
      `expected integers or booleans, to read them as ${requested}, but its type ${JSON.stringify(descr)} is ${type.name}; ` +
        `convert with a.astype(numpy.${requested})`,
    )
  }
  const dtype = requested ?? (Object.keys(type.as)[0] as DataType)
  const first = (bytes: Uint8Array, count: number) =>
    view<number | bigint>(type.View as View<number | bigint>, bytes, count)
  return {
    name: type.name,
    dtype,
    size,
    swapped: size > 1 && (order === '<') !== littleEndian,
    convert: type.as[dtype],
    value: (bytes, index) => first(bytes, index + 1)[index]!,
    elements: (bytes) => first(bytes, bytes.length / size),
  }
}
