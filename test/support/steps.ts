/** The steps that native code counts while a product runs: what onProgress divides by the number of all. */
import { type MpmmOptions, matrix } from '../../lib/index.js'
import { addon } from '../../lib/native.js'
import { prepare } from '../../lib/product/multiply.js'
import { report as at, newReport, newRequest, writeRequest } from '../../lib/product/request.js'

/** Of `batch` products M × K by one K × N, all 0 but for the `first` elements of A. */
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
  const report = newReport()
  const request = newRequest()
  const product = prepare(a, b, { ...options, out }, () => {
    throw new Error('out was given')
  })
  writeRequest(request, product)
  await addon.multiply(a.data, b.data, out.data, null, request, report, new Int32Array(1))
  return report[at.stepsDone]!
}
