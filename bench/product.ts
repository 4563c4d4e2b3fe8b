/** Reads two matrices, then multiplies, verifies, writes and describes their product. */
import { type DataType, type MpmmOptions, type MpmmResult, mpmm, type Semiring } from '../lib/index.js'
import type { CsvFlags } from './csv-kind.js'
import { dtypeOf, hasSums } from './dtype.js'
import { checkMatrixOutputs, readOperands, writeMatrixFile } from './matrix-file.js'
import { duration, labelled, rate, shapeText, withStatus } from './output.js'
import { why } from './place.js'
import { withProgress } from './progress.js'
import {
  describeValues,
  type FileRecord,
  fileText,
  overflowOf,
  type ResultRecord,
  resultRecord,
  resultText,
  semiringText,
} from './summary.js'
import { withValues } from './values.js'
import { type Verification, verify } from './verify.js'

export interface ProductRequest
  extends CsvFlags,
    Pick<MpmmOptions, 'overflow' | 'backend' | 'device' | 'devices' | 'variant'> {
  a: string
  b: string
  /** Output file of the product. Without it the product is described, and printed if it is small. */
  output: string | undefined
  /** Whether to print the whole product, however large, if no output file is given. */
  all?: boolean | undefined
  /** Input file of C0 in C0 ⊕ A⊗B. */
  accumulate: string | undefined
  /** Whether to compare with the naive product. */
  verify: boolean
  semiring: Semiring
  /** Element type that the files are converted to; undefined: no conversion. */
  dtype?: DataType | undefined
}

/** Output of `multiply --json`. */
interface ProductRecord extends Omit<MpmmResult, 'c' | 'arithmetic'> {
  /** Arithmetic of the sums. */
  path: string
  a: FileRecord
  b: FileRecord
  accumulate: FileRecord | null
  /** Summary of the product, with its values if they are printed. */
  c: ResultRecord
  semiring: Semiring
  /** Element type of the product. */
  dtype: DataType
  /** Overflow policy; null if nothing can overflow. */
  overflow: string | null
  /** Result of the comparison with the naive product; null without verification. */
  verified: Verification | null
}

/** @throws errors of all steps; the output file is renamed into place only after success. */
export async function multiplyFiles(request: ProductRequest, signal: AbortSignal): Promise<ProductRecord> {
  const { semiring, overflow } = request
  const inputs = [request.a, request.b, request.accumulate].filter((path) => path !== undefined)
  await checkMatrixOutputs([request.output], inputs)
  const [a, b, accumulate] = await readOperands(
    inputs,
    { semiring, dtype: request.dtype, edges: request.edges, matrix: request.matrix },
    signal,
  )
  if (!a || !b) throw new Error('a product has two operands')
  const options = { semiring, overflow, accumulate, signal }
  const dtype = dtypeOf(a.data)
  const { backend, device, devices, variant } = request
  const product = await withProgress(
    `multiplying ${shapeText(a.shape)} by ${shapeText(b.shape)}`,
    (onProgress) => mpmm(a, b, { ...options, backend, device, devices, variant, onProgress }),
  )
  const { c, arithmetic, ...how } = product
  const verified = request.verify ? await withStatus('verifying', () => verify(a, b, options, product)) : null
  if (request.output !== undefined) {
    await writeMatrixFile(request.output, c, semiring, signal)
  }
  return {
    a: { path: request.a, shape: a.shape },
    b: { path: request.b, shape: b.shape },
    accumulate:
      request.accumulate === undefined ? null : { path: request.accumulate, shape: accumulate!.shape },
    c: resultRecord(c, semiring, request.output, request.all === true),
    semiring,
    dtype,
    overflow: overflowOf(semiring, dtype, overflow),
    path: arithmetic,
    ...how,
    verified,
  }
}

/** Returns the record as text for people. */
export function describeProduct(record: ProductRecord, request: ProductRequest): string {
  const { c, timing } = record
  const head = labelled([
    ['A', fileText(record.a)],
    ['B', fileText(record.b)],
    ['C0', record.accumulate ? fileText(record.accumulate) : undefined],
    ['C', resultText(c)],
    ['values', describeValues(c, c.shape, record.semiring, record.dtype)],
    ['semiring', semiringText(record)],
    ['backend', `${record.backend}, ${record.device}: ${why(record, request)}`],
    ['variant', `${record.variant}, ${record.path}${hasSums(record.semiring) ? ' sums' : ''}`],
    ['kernel', duration(timing.kernelMs)],
    ['total', duration(timing.totalMs)],
    ['speed', `${rate(record.gops)} (2 operations per step, kernel time)`],
    ['verified', record.verified ? agreement(record.verified) : undefined],
  ])
  return withValues(head, c.values, request.all === true)
}

function agreement({ variant, shareOfErrorBound }: Verification): string {
  if (shareOfErrorBound === null) return `equal to ${variant} in every element`
  return `as ${variant} in every element, with errors of at most ${shareOfErrorBound.toPrecision(2)} of the bound on rounding errors`
}
