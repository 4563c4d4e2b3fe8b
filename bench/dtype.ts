/** The element types as the command line names them. */
import type { DataType, ElementArray } from '../lib/index.js'

export const dataTypes = ['int32', 'float32', 'float64'] as const satisfies DataType[]

export function dtypeOf(data: ElementArray): DataType {
  if (data instanceof Int32Array) return 'int32'
  return data instanceof Float32Array ? 'float32' : 'float64'
}
