/**
 * Products of matrices over semirings: max-plus and min-plus, exact on int32, and on float32 and float64 with
 * infinities; bottlenecks (max-min and min-max), max-times, truth values, and the ordinary product. Products
 * run on a GPU with CUDA if one is available, otherwise on the CPU's SIMD units.
 *
 * @packageDocumentation
 */
import './globals.js'

export { explainBackend } from './backend.js'
export type { BackendChoice, BackendName } from './backend-name.js'
export { EPSILON, zeroOf } from './built-in-semirings.js'
export {
  Device,
  DeviceMatrix,
  type OpenOptions,
  openDevice,
} from './device/device.js'
export { pinned } from './device/pinned.js'
export type { ArrayTypes, ElementArray, KindOf, OperandArray, StoredType } from './element-types.js'
export {
  AbortedError,
  ArgumentError,
  CycleError,
  type ErrorCode,
  FileError,
  LimitError,
  MpmmlError,
  OverflowError,
  ResourceError,
} from './errors.js'
export { type Info, info } from './info.js'
export type { AddonOrigin } from './load.js'
export { type DenseMatrix, type Matrix, type MatrixLike, matrix, type Shape } from './matrix.js'
export { type GroupedOptions, type GroupedProduct, mpmmGrouped } from './product/grouped.js'
export { mpmm, mpmmSync } from './product/multiply.js'
export type { MpmmOptions, Overflow, Progress } from './product/options.js'
export { plan } from './product/plan.js'
export type { MpmmResult, Plan, WitnessedResult } from './product/result.js'
export type { MatrixStructure, ProductStructure } from './product/structure.js'
export type { ProductTrace, TracedMatrix, TracedProduct } from './product/tracing.js'
export type {
  UserGroupedOptions,
  UserGroupedProduct,
  UserOperand,
  UserProductOptions,
  UserProductResult,
} from './product/user-product.js'
export type { MatrixArray } from './storage.js'
export type { DataType, InstructionSet, Semiring, VariantName } from './variant-names.js'
export { type Variant, variants } from './variants.js'
