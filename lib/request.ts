/** A product in the form that native code reads, and the report that it writes. */
import { AddonError } from './errors.js'
import { addon, type ReportField, type RequestField } from './native.js'
import { LEFT_OUT, type ReadOptions } from './options.js'
import type { ElementArray } from './storage.js'
import type { View } from './view.js'

/** A checked product. */
export interface Product {
  options: ReadOptions
  batch: number
  m: number
  n: number
  k: number
  a: View
  b: View
  c: View<ElementArray>
  c0: View<ElementArray> | null
  /** Whether c must be as it was after an overflow. */
  keepsC: boolean
}

// Native code is the one source of the fields' order.
function position<Name extends string>(fields: readonly Name[], name: Name): number {
  const index = fields.indexOf(name)
  if (index >= 0) return index
  throw new AddonError(
    `the native addon doesn't know the field ${name}: it is of another version; run: npm rebuild mpmml`,
  )
}

const at = (name: RequestField) => position(addon.requestFields, name)
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
/** 1 where the product is only to be planned. */
export const PLAN_ONLY = at('planOnly')
const KEEPS_C = at('keepsC')
const A = matrixFields('a')
const B = matrixFields('b')
const C = matrixFields('c')
const C0 = matrixFields('c0')

const reportAt = (name: ReportField) => position(addon.reportFields, name)

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
} as const satisfies Record<ReportField, number>

export const newRequest = () => new Float64Array(addon.requestFields.length)
export const newReport = () => new Float64Array(addon.reportFields.length)

function writeView(request: Float64Array, fields: typeof A, view: View): void {
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
  request[DTYPE] = product.c.type
  request[OVERFLOW] = options.overflow === LEFT_OUT ? 0 : options.overflow
  request[BACKEND] = options.backend
  request[DEVICE] = options.device
  request[VARIANT] = options.variant
  request[KEEPS_C] = product.keepsC ? 1 : 0
  writeView(request, A, product.a)
  writeView(request, B, product.b)
  writeView(request, C, product.c)
  if (product.c0) writeView(request, C0, product.c0)
}
