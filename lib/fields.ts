/** The fields of what native code reads and writes: flat arrays, whose order native code says. */
import type { Layout } from './layout.js'
import { addon, type CopyField, indexIn, type ReportField, type RequestField } from './native.js'

type Matrices<Field extends string> = Field extends `${infer Name}BatchStride` ? Name : never

/** Where the layout of a matrix is. */
function layoutIn<Field extends string>(list: readonly Field[], matrix: Matrices<Field>) {
  const at = (field: string) => indexIn<string>(list, `${matrix}${field}`)
  return {
    offset: at('Offset'),
    rowStride: at('RowStride'),
    colStride: at('ColStride'),
    batchStride: at('BatchStride'),
  }
}

const inRequest = (name: RequestField) => indexIn(addon.requestFields, name)
const inReport = (name: ReportField) => indexIn(addon.reportFields, name)
const inCopy = (name: CopyField) => indexIn(addon.copyFields, name)

/** The positions of the fields of a product's request. */
export const requestAt = {
  batch: inRequest('batch'),
  m: inRequest('m'),
  n: inRequest('n'),
  k: inRequest('k'),
  a: layoutIn(addon.requestFields, 'a'),
  b: layoutIn(addon.requestFields, 'b'),
  c: layoutIn(addon.requestFields, 'c'),
  c0: layoutIn(addon.requestFields, 'c0'),
  witness: layoutIn(addon.requestFields, 'witness'),
  semiring: inRequest('semiring'),
  dtype: inRequest('dtype'),
  overflow: inRequest('overflow'),
  backend: inRequest('backend'),
  device: inRequest('device'),
  variant: inRequest('variant'),
  planOnly: inRequest('planOnly'),
  keepsC: inRequest('keepsC'),
  deviceMemory: inRequest('deviceMemory'),
  mayWait: inRequest('mayWait'),
  asksWitness: inRequest('asksWitness'),
  aMemory: inRequest('aMemory'),
  bMemory: inRequest('bMemory'),
  cMemory: inRequest('cMemory'),
  c0Memory: inRequest('c0Memory'),
  witnessMemory: inRequest('witnessMemory'),
  structured: inRequest('structured'),
  aBelow: inRequest('aBelow'),
  aAbove: inRequest('aAbove'),
  bBelow: inRequest('bBelow'),
  bAbove: inRequest('bAbove'),
  cBelow: inRequest('cBelow'),
  cAbove: inRequest('cAbove'),
}

/** The positions of the fields of a product's report. */
export const reportAt = {
  backend: inReport('backend'),
  device: inReport('device'),
  variant: inReport('variant'),
  path: inReport('path'),
  totalMs: inReport('totalMs'),
  kernelMs: inReport('kernelMs'),
  analysisMs: inReport('analysisMs'),
  h2dMs: inReport('h2dMs'),
  d2hMs: inReport('d2hMs'),
  stepsDone: inReport('stepsDone'),
  gain: inReport('gain'),
  steps: inReport('steps'),
} as const satisfies Record<ReportField, number>

/** The positions of the fields of the request of a copy or a fill. */
export const copyAt = {
  batch: inCopy('batch'),
  rows: inCopy('rows'),
  cols: inCopy('cols'),
  dtype: inCopy('dtype'),
  value: inCopy('value'),
  array: layoutIn(addon.copyFields, 'array'),
  memory: layoutIn(addon.copyFields, 'memory'),
}

export const REQUEST_FIELDS = addon.requestFields.length
export const REPORT_FIELDS = addon.reportFields.length
export const COPY_FIELDS = addon.copyFields.length

/** Writes where the elements of a matrix are into `request`, whose fields begin at `start`. */
export function writeLayout(
  request: Float64Array,
  start: number,
  at: Readonly<Record<keyof Layout, number>>,
  layout: Layout,
): void {
  request[start + at.offset] = layout.offset
  request[start + at.rowStride] = layout.rowStride
  request[start + at.colStride] = layout.colStride
  request[start + at.batchStride] = layout.batchStride
}
