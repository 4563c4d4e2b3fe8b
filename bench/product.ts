/** The product of two files: read, multiplied, verified, written, and described. */
import {
  type DataType,
  type DenseMatrix,
  type ElementArray,
  explainBackend,
  type MpmmOptions,
  type MpmmResult,
  mpmm,
  readNpy,
  type Semiring,
  writeNpy,
  zeroOf,
} from '../lib/index.js'
import { dtypeOf, fileOptions, hasSums } from './dtype.js'
import { duration, labelled, rate, shapeText, withStatus } from './output.js'
import { checkOutput } from './output-file.js'
import { type Verification, verify } from './verify.js'

export interface ProductRequest {
  a: string
  b: string
  /** The file that the product is written to; without it the product is only described. */
  output: string | undefined
  /** The file of C0 in C0 ⊕ A⊗B. */
  accumulate: string | undefined
  /** Whether to compare with the naive product. */
  verify: boolean
  semiring: Semiring
  overflow: MpmmOptions['overflow']
  backend: MpmmOptions['backend']
  device: MpmmOptions['device']
  variant: MpmmOptions['variant']
}

interface FileRecord {
  path: string
  shape: readonly number[]
}

/** What `multiply --json` prints. */
export interface ProductRecord extends Omit<MpmmResult, 'c'> {
  a: FileRecord
  b: FileRecord
  accumulate: FileRecord | null
  c: ValueSummary & { path: string | null; shape: readonly number[] }
  semiring: Semiring
  /** The type of the elements. */
  dtype: DataType
  /** Null if nothing can overflow. */
  overflow: string | null
  /** What the product was found to agree with; null if nobody asked. */
  verified: Verification | null
}

interface ValueSummary {
  /** The smallest and the largest finite value; null if there is none. */
  min: number | null
  max: number | null
  /** How many elements are the semiring's zero. */
  zeros: number
}

/** @throws anything that goes wrong; the output file appears under its name only if everything went right. */
export async function multiplyFiles(request: ProductRequest, signal: AbortSignal): Promise<ProductRecord> {
  const { semiring, overflow } = request
  const inputs = [request.a, request.b, request.accumulate].filter((path) => path !== undefined)
  if (request.output !== undefined) await checkOutput(request.output, inputs)
  const read = (path: string) =>
    withStatus(`reading ${path}`, () => readNpy(path, { ...fileOptions(semiring), signal }))
  const a = await read(request.a)
  const b = await read(request.b)
  const accumulate = request.accumulate === undefined ? undefined : await read(request.accumulate)
  const options = { semiring, overflow, accumulate, signal }
  const dtype = dtypeOf(a.data)
  const { c, ...how } = await withStatus(`multiplying ${shapeText(a.shape)} by ${shapeText(b.shape)}`, () =>
    mpmm(a, b, { ...options, backend: request.backend, device: request.device, variant: request.variant }),
  )
  const verified = request.verify
    ? await withStatus('verifying', () => verify(a, b, options, { ...how, c }))
    : null
  if (request.output !== undefined) {
    const path = request.output
    await withStatus(`writing ${path}`, () => writeNpy(path, c, { signal }))
  }
  return {
    a: { path: request.a, shape: a.shape },
    b: { path: request.b, shape: b.shape },
    accumulate:
      request.accumulate === undefined ? null : { path: request.accumulate, shape: accumulate!.shape },
    c: { path: request.output ?? null, shape: c.shape, ...summarize(c, zeroOf(semiring, dtype)) },
    semiring,
    dtype,
    overflow: dtype === 'int32' && hasSums(semiring) ? (overflow ?? 'throw') : null,
    ...how,
    verified,
  }
}

/** @param matrix - dense, as mpmm makes it. */
function summarize({ data }: DenseMatrix<ElementArray>, zero: number): ValueSummary {
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  let zeros = 0
  for (const value of data) {
    if (value === zero) zeros++
    // A zero that is 0 is finite; other infinities and NaN have no range.
    if (value === zero ? zero === 0 : Number.isFinite(value)) {
      if (value < min) min = value
      if (value > max) max = value
    }
  }
  return min > max ? { min: null, max: null, zeros } : { min, max, zeros }
}

/** The record as a person reads it. */
export function describeProduct(record: ProductRecord, request: ProductRequest): string {
  const { c, timing } = record
  const file = ({ path, shape }: FileRecord) => `${shapeText(shape)}  ${path}`
  const finite = c.min === null ? 'none finite' : `${c.min} … ${c.max}`
  const zero = zeroOf(record.semiring, record.dtype)
  const infinite = record.dtype === 'int32' ? hasSums(record.semiring) : zero !== 0
  const name = infinite ? (zero < 0 ? '−∞' : '+∞') : `${zero}`
  const held = infinite && record.dtype === 'int32' ? `, held as ${zero}` : ''
  const zeros = `; ${c.zeros} ${c.zeros === 1 ? 'is' : 'are'} ${name}${held}`
  return labelled([
    ['A', file(record.a)],
    ['B', file(record.b)],
    ['C0', record.accumulate ? file(record.accumulate) : undefined],
    ['C', `${shapeText(c.shape)}  ${c.path ?? '(not written; -o names a file)'}`],
    ['values', `${c.shape.reduce((product, size) => product * size)}: ${finite}${c.zeros > 0 ? zeros : ''}`],
    [
      'semiring',
      `${record.semiring} on ${record.dtype}${record.overflow ? `, overflow: ${record.overflow}` : ''}`,
    ],
    ['backend', `${record.backend}, ${record.device}: ${why(record, request)}`],
    ['variant', `${record.variant}, ${record.path}${hasSums(record.semiring) ? ' sums' : ''}`],
    ['kernel', duration(timing.kernelMs)],
    ['total', duration(timing.totalMs)],
    ['speed', `${rate(record.gops)} (2 operations per step, kernel time)`],
    ['verified', record.verified ? agreement(record.verified) : undefined],
  ])
}

function agreement({ variant, shareOfErrorBound }: Verification): string {
  if (shareOfErrorBound === null) return `equal to ${variant} in every element`
  return `as ${variant} in every element, with errors of at most ${shareOfErrorBound.toPrecision(2)} of the bound on rounding errors`
}

function why(record: ProductRecord, request: ProductRequest): string {
  if (request.variant !== undefined) return 'as --variant asks'
  if (request.backend !== undefined && request.backend !== 'auto') return 'as --backend asks'
  const { backend, reason } = explainBackend({ device: request.device })
  return backend === record.backend ? reason : `this product doesn't fit the ${backend} backend`
}
