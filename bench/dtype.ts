/** Element types of the command line, and their arrays. */
import { type DataType, type ElementArray, type Semiring, variants } from '../lib/index.js'

/** Array class of each element type. */
export const arrays = {
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
  uint8: Uint8Array,
} as const satisfies Record<DataType, unknown>

export const dataTypes = Object.keys(arrays) as DataType[]

export function dtypeOf(data: ElementArray): DataType {
  return dataTypes.find((dtype) => data instanceof arrays[dtype])!
}

/** Returns the element types that a semiring supports. */
export function typesOf(semiring: Semiring): DataType[] {
  const rows = variants().filter((row) => row.semiring === semiring)
  return dataTypes.filter((dtype) => rows.some((row) => row.dtype === dtype))
}

/** Returns whether ⊗ is a sum: sums may overflow, and the sign of their 0 is unspecified. */
export const hasSums = (semiring: Semiring) => semiring.endsWith('-plus')
