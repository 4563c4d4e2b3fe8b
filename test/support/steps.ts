/** Steps that native code counts while a product runs: the numerator of onProgress. */

import { reportAt as at, REPORT_FIELDS } from '../../lib/fields.js'
import { type MpmmOptions, matrix } from '../../lib/index.js'
import { allocateResult, prepare } from '../../lib/product/prepare.js'

/**
 * Counts the steps of `batch` products of M × K matrices by one K × N matrix. All elements are 0 except for
 * the `first` elements of A.
 */
export async function countedSteps(
  batch: number,
  m: number,
  k: number,
  n: number,
  options: MpmmOptions,
  first: readonly number[] = [],
): Promise<number> {
  const a = { data: new Int32Array(batch * m * k), shape: [batch, m, k] }
  a.data.set(first)
  const b = matrix(k, n)
  const out = { data: new Int32Array(batch * m * n), shape: [batch, m, n] }
  const report = new Float64Array(REPORT_FIELDS)
  const product = prepare(a, b, { ...options, out }, null)
  allocateResult(product)
  await product.call.algebra.multiply(product, report, new Int32Array(1))
  return report[at.stepsDone]!
}
