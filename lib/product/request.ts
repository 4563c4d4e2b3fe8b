/** A product in the form that native code reads, and the report that it writes. */
import { addon, indexIn, type ReportField, type RequestField } from '../native.js'
import type { ElementArray } from '../storage.js'
import type { View } from '../view.js'
import { LEFT_OUT, type ReadOptions, THROW } from './options.js'

/** Where the elements of a matrix are in its array. */
export type Layout = Pick<View, 'offset' | 'rowStride' | 'colStride' | 'batchStride'>

/** A checked product. */
export interface Product<C extends Layout = Layout> {
  options: ReadOptions
  /** The element type, by its number. */
  type: number
  batch: number
  m: number
  n: number
  k: number
  a: View
  b: View
  c: C
  c0: View<ElementArray> | null
  /** Whether c must be as it was after an overflow. */
  keepsC: boolean
}

const at = (name: RequestField) => indexIn(addon.requestFields, name)
const matrixFields = (name: 'a' | 'b' | 'c' | 'c0') => ({
  offset: at(`${name}Offset`),
  rowStride: at(`${name}RowStride`),
  colStride: at(`${name}ColStride`),
  batchStride: at(`${name}BatchStride`),
})

const BATCH = at('batch')
const M = at('m')
const N = at('n')
const K = at('k')
const SEMIRING = at('semiring')
const DTYPE = at('dtype')
const OVERFLOW = at('overflow')
const BACKEND = at('backend')
const DEVICE = at('device')
const VARIANT = at('variant')
/** 1 if the product is only planned. */
export const PLAN_ONLY = at('planOnly')
const KEEPS_C = at('keepsC')
const DEVICE_MEMORY = at('deviceMemory')
const A = matrixFields('a')
const B = matrixFields('b')
const C = matrixFields('c')
const C0 = matrixFields('c0')

const reportAt = (name: ReportField) => indexIn(addon.reportFields, name)

/** The positions of a report's fields. */
export const report = {
  backend: reportAt('backend'),
  device: reportAt('device'),
  variant: reportAt('variant'),
  path: reportAt('path'),
  totalMs: reportAt('totalMs'),
  kernelMs: reportAt('kernelMs'),
  analysisMs: reportAt('analysisMs'),
  h2dMs: reportAt('h2dMs'),
  d2hMs: reportAt('d2hMs'),
  stepsDone: reportAt('stepsDone'),
} as const satisfies Record<ReportField, number>

export const newRequest = () => new Float64Array(addon.requestFields.length)
export const newReport = () => new Float64Array(addon.reportFields.length)

function writeLayout(request: Float64Array, fields: typeof A, view: Layout): void {
  request[fields.offset] = view.offset
  request[fields.rowStride] = view.rowStride
  request[fields.colStride] = view.colStride
  request[fields.batchStride] = view.batchStride
}

/** Writes `product` into `request`. */
export function writeRequest(request: Float64Array, product: Product): void {
  const { options } = product
  request[BATCH] = product.batch
  request[M] = product.m
  request[N] = product.n
  request[K] = product.k
  request[SEMIRING] = options.semiring
  request[DTYPE] = product.type
  request[OVERFLOW] = options.overflow === LEFT_OUT ? THROW : options.overflow
  request[BACKEND] = options.backend
  request[DEVICE] = options.device
  request[VARIANT] = options.variant
  request[KEEPS_C] = product.keepsC ? 1 : 0
  request[DEVICE_MEMORY] = options.deviceMemory
  writeLayout(request, A, product.a)
  writeLayout(request, B, product.b)
  writeLayout(request, C, product.c)
  if (product.c0) writeLayout(request, C0, product.c0)
}
