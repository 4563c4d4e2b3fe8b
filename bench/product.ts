/** Reads two matrices, then multiplies, verifies, writes and describes their product. */
import { type DataType, type MpmmOptions, type MpmmResult, mpmm, type Semiring } from '../lib/index.js'
import type { CsvFlags } from './csv-kind.js'
import { assertTyped, isOwn, readSemiring } from './custom-semiring.js'
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
  /** A semiring of the library, or the JSON file that defines one. */
  semiring: string
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
  /** Summary of the product, with its values if they are printed; only its file over a custom semiring. */
  c: ResultRecord | FileRecord
  /** Name of the semiring. */
  semiring: string
  /** Element type of the product. */
  dtype: DataType
  /** Overflow policy; null if nothing can overflow. */
  overflow: string | null
  /** Result of the comparison with the naive product; null without verification. */
  verified: Verification | null
}

/** @throws errors of all steps; the output file is renamed into place only after success. */
export async function multiplyFiles(request: ProductRequest, signal: AbortSignal): Promise<ProductRecord> {
  const { output, overflow, edges, matrix, backend, device, devices, variant } = request
  const own = isOwn(request.semiring) ? await readSemiring(request.semiring) : undefined
  const builtIn = own ? undefined : (request.semiring as Semiring)
  const inputs = [request.a, request.b, request.accumulate].filter((path) => path !== undefined)
  if (own) assertTyped(inputs, output)
  await checkMatrixOutputs([output], inputs)
  const flags = { semiring: builtIn, dtype: request.dtype, edges, matrix }
  const [a, b, accumulate] = await readOperands(inputs, flags, signal)
  if (!a || !b) throw new Error('a product has two operands')
  const dtype = dtypeOf(a.data)
  const place = { backend, device, devices, variant }
  const product = await withProgress(
    `multiplying ${shapeText(a.shape)} by ${shapeText(b.shape)}`,
    (onProgress) =>
      mpmm(a, b, {
        ...place,
        semiring: (own ?? builtIn) as Semiring,
        overflow,
        accumulate,
        signal,
        onProgress,
      }),
  )
  const { c, arithmetic, ...how } = product
  const verified =
    request.verify && builtIn
      ? await withStatus('verifying', () =>
          verify(a, b, { semiring: builtIn, overflow, accumulate, signal }, product),
        )
      : null
  if (output !== undefined) await writeMatrixFile(output, c, builtIn, signal)
  return {
    a: { path: request.a, shape: a.shape },
    b: { path: request.b, shape: b.shape },
    accumulate:
      request.accumulate === undefined ? null : { path: request.accumulate, shape: accumulate!.shape },
    c: builtIn ? resultRecord(c, builtIn, output, request.all === true) : { path: output!, shape: c.shape },
    semiring: own?.name ?? request.semiring,
    dtype,
    overflow: builtIn ? overflowOf(builtIn, dtype, overflow) : null,
    path: arithmetic,
    ...how,
    verified,
  }
}

/** Returns the record as text for people. */
export function describeProduct(record: ProductRecord, request: ProductRequest): string {
  const { c, timing } = record
  const summary = 'zeros' in c ? c : undefined
  const semiring = record.semiring as Semiring
  const head = labelled([
    ['A', fileText(record.a)],
    ['B', fileText(record.b)],
    ['C0', record.accumulate ? fileText(record.accumulate) : undefined],
    ['C', resultText(c)],
    ['values', summary && describeValues(summary, c.shape, semiring, record.dtype)],
    ['semiring', semiringText(record)],
    ['backend', `${record.backend}, ${record.device}: ${why(record, request)}`],
    ['variant', `${record.variant}, ${record.path}${summary && hasSums(semiring) ? ' sums' : ''}`],
    ['kernel', duration(timing.kernelMs)],
    ['total', duration(timing.totalMs)],
    ['speed', `${rate(record.gops)} (2 operations per step, kernel time)`],
    ['verified', record.verified ? agreement(record.verified) : undefined],
  ])
  return withValues(head, summary?.values, request.all === true)
}

function agreement({ variant, shareOfErrorBound }: Verification): string {
  if (shareOfErrorBound === null) return `equal to ${variant} in every element`
  return `as ${variant} in every element, with errors of at most ${shareOfErrorBound.toPrecision(2)} of the bound on rounding errors`
}
