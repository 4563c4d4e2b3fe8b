/** The product: arguments to request, report to result. */

import { deviceName } from '../backend.js'
import { show, showList } from '../describe.js'
import { bytesOf, isInteger, newUnwrittenArray, typeNameOf } from '../elements.js'
import { configureCpu } from '../environment.js'
import { AbortedError, DTypeError, fromNative, OptionError, ShapeError } from '../errors.js'
import { allocate, type DenseMatrix, type MatrixLike, rowMajor, type Shape } from '../matrix.js'
import { addon, type NativeVariant } from '../native.js'
import { requireSemiringType } from '../semirings.js'
import type { ElementArray, OperandArray } from '../storage.js'
import { loadTuning } from '../tuning.js'
import type { VariantName } from '../variant-names.js'
import { readView, requireReach, requireStillThere, showShape, type View } from '../view.js'
import { cancelOnAbort } from './abort.js'
import { type Watched, watch } from './diagnostics.js'
import { LEFT_OUT, type MpmmOptions, readOptions } from './options.js'
import { overlap, overlapsItself, sameLayout } from './overlap.js'
import { ProgressReports } from './progress.js'
import { report as at, type Layout, newReport, newRequest, type Product, writeRequest } from './request.js'

/** What a product gives. */
export interface MpmmResult<C extends MatrixLike<ElementArray> = DenseMatrix> {
  /** The product: `out` itself if it was given, otherwise a new row-major matrix. */
  c: C
  /** What computed it. */
  backend: 'cuda' | 'cpu'
  /** The name of the GPU or of the processor. */
  device: string
  /** The kernel variant that computed it. */
  variant: VariantName
  /**
   * How it was computed. The values of the operands decide; results of integers are exact on every path. 'direct': sums in
   * the element type itself, the only path for floating-point elements. 'translated': the same, with another value in place
   * of the semiring's zero. 'half' and 'half-translated': 16-bit sums, after an offset is subtracted from each operand.
   * 'wide': 64-bit sums. 'wrapping': 64-bit sums, the finite ones modulo 2^32.
   */
  path: string
  /** Milliseconds. */
  timing: {
    /** The whole work outside JavaScript. */
    totalMs: number
    /** The kernel: on the GPU without anything else, on the CPU with the packing of the operands. */
    kernelMs: number
    /** Finding the range of the values; 0 if the packing does it. */
    analysisMs: number
    /** The copy of the operands to the GPU; 0 on the CPU. */
    h2dMs: number
    /** The copy of the result from the GPU; 0 on the CPU, and for small products, whose kernels write to host memory. */
    d2hMs: number
  }
  /** 10^9 operations per second of kernel time, with 2 operations (⊗ and ⊕) in each of the batch·M·N·K steps; 0 if no kernel ran. */
  gops: number
}

/**
 * The product C = A ⊗ B over a semiring, C[i, j] = ⊕ over k of A[i, k] ⊗ B[k, j]; in max-plus the maximum of the
 * sums A[i, k] + B[k, j]. Works off the event loop; several products may run at once.
 *
 * All matrices have one element type. Over int32 and uint8 results are exact. Over float32 and float64 max-plus and
 * min-plus round each sum once, and max-times each product; max-min and min-max round nothing. A ⊗ that is NaN (an operand
 * is NaN, or it is ∞ − ∞ or 0 · ∞) is no candidate: so the semiring's zero absorbs, and a result without candidates is
 * zero. All these results are the same, bit for bit, on every backend, device and variant, with one exception: in max-plus
 * and min-plus the sign of a result that is the number 0 may differ. In the others −0 counts as 0, and no result is −0.
 * 'plus-times' is the ordinary product, with NaN and infinities as in IEEE 754. The order of its sums isn't specified, nor
 * whether a multiplication and an addition round once or twice.
 *
 * The elements of max-times are 0 or more. Those of or-and are bytes: any but 0 is true, and results are 0 and 1.
 *
 * Don't write to, transfer or detach the arrays of a product until its promise settles.
 *
 * @param a - M × K, or a batch of them as [batch, M, K].
 * @param b - K × N, or a batch of them as [batch, K, N]. If only one of a and b is a batch, or the other is a batch of one,
 *   the single matrix is an operand of every product.
 * @returns C, M × N, or [batch, M, N] if a or b is a batch, and how it was computed.
 * @throws Rejects, and never throws, with an {@link MpmmlError}: ERR_MPMML_SHAPE and ERR_MPMML_DTYPE for matrices that
 *   don't fit, ERR_MPMML_OPTION and ERR_MPMML_VARIANT for options, ERR_MPMML_OVERFLOW (see the option `overflow`),
 *   ERR_MPMML_VALUE for a negative element of max-times, ERR_MPMML_NO_CUDA, ERR_MPMML_OUT_OF_MEMORY, ERR_MPMML_ABORTED,
 *   ERR_MPMML_CUDA. The option `out` says what `out` holds after each.
 * @see K. Stanczyk, Max-Plus Algebra Toolbox for MATLAB, user guide, example 2.12c (the example's numbers)
 * @example
 * const a = matrix(2, 3, Int32Array.of(1, 6, 2, 8, 3, 4))
 * const b = matrix(3, 2, Int32Array.of(2, 5, 3, 3, 1, 6))
 * const { c } = await mpmm(a, b) // c.data = [9, 9, 10, 13]
 */
export function mpmm<Out extends MatrixLike = DenseMatrix>(
  a: MatrixLike<Int32Array | Int16Array>,
  b: MatrixLike<Int32Array | Int16Array>,
  options?: MpmmOptions<Out>,
): Promise<MpmmResult<Out>>
export function mpmm<Data extends ElementArray, Out extends MatrixLike<Data> = DenseMatrix<Data>>(
  a: MatrixLike<Data>,
  b: MatrixLike<Data>,
  options?: MpmmOptions<Out>,
): Promise<MpmmResult<Out>>
export function mpmm<Out extends MatrixLike<ElementArray> = DenseMatrix<ElementArray>>(
  a: MatrixLike<OperandArray>,
  b: MatrixLike<OperandArray>,
  options?: MpmmOptions<Out>,
): Promise<MpmmResult<Out>>
export function mpmm<Out extends MatrixLike<ElementArray>>(
  a: MatrixLike<OperandArray>,
  b: MatrixLike<OperandArray>,
  options?: MpmmOptions<Out>,
): Promise<MpmmResult<Out>> {
  const watched = watch('mpmm')
  const promise = multiply(a, b, options, watched)
  return watched ? watched.follow(promise) : promise
}

async function multiply<Out extends MatrixLike<ElementArray>>(
  a: MatrixLike<OperandArray>,
  b: MatrixLike<OperandArray>,
  options: MpmmOptions<Out> | undefined,
  watched: Watched | null,
): Promise<MpmmResult<Out>> {
  const product = prepare(a, b, options, newResult)
  watched?.checked(product)
  const { signal } = product.options
  const report = newReport()
  const cancel = new Int32Array(1)
  if (!signal) {
    await run(product, report, cancel)
    return result(product, report)
  }
  const forget = cancelOnAbort(signal, cancel)
  try {
    requireAllStillThere(product) // A signal that isn't Node's own may have run anything.
    await run(product, report, cancel)
  } catch (error) {
    throw error instanceof AbortedError ? aborted(signal) : error
  } finally {
    forget()
  }
  return result(product, report)
}

async function run(product: Product<Result>, report: Float64Array, cancel: Int32Array): Promise<void> {
  const request = newRequest()
  writeRequest(request, product)
  const { a, b, c, c0 } = product
  const progress = startProgress(product, report, cancel)
  try {
    await addon.multiply(a.data, b.data, c.data, c0 ? c0.data : null, request, report, cancel)
  } catch (error) {
    progress?.end(false)
    throw fromNative(error)
  }
  progress?.end(true)
  requireAllStillThere(product)
}

function startProgress(product: Product<Result>, report: Float64Array, cancel: Int32Array) {
  const { onProgress } = product.options
  return onProgress
    ? new ProgressReports(onProgress, product, report, () => {
        cancel[0] = 1
      })
    : null
}

const syncRequest = newRequest()
const syncReport = newReport()

/**
 * {@link mpmm}, blocking: computes before it returns, and throws what mpmm rejects with. The signal is checked only once,
 * before the work starts.
 */
export function mpmmSync<Out extends MatrixLike = DenseMatrix>(
  a: MatrixLike<Int32Array | Int16Array>,
  b: MatrixLike<Int32Array | Int16Array>,
  options?: MpmmOptions<Out>,
): MpmmResult<Out>
export function mpmmSync<Data extends ElementArray, Out extends MatrixLike<Data> = DenseMatrix<Data>>(
  a: MatrixLike<Data>,
  b: MatrixLike<Data>,
  options?: MpmmOptions<Out>,
): MpmmResult<Out>
export function mpmmSync<Out extends MatrixLike<ElementArray> = DenseMatrix<ElementArray>>(
  a: MatrixLike<OperandArray>,
  b: MatrixLike<OperandArray>,
  options?: MpmmOptions<Out>,
): MpmmResult<Out>
export function mpmmSync<Out extends MatrixLike<ElementArray>>(
  a: MatrixLike<OperandArray>,
  b: MatrixLike<OperandArray>,
  options?: MpmmOptions<Out>,
): MpmmResult<Out> {
  const watched = watch('mpmmSync')
  return watched
    ? watched.around(() => multiplySync(a, b, options, watched))
    : multiplySync(a, b, options, null)
}

function multiplySync<Out extends MatrixLike<ElementArray>>(
  a: MatrixLike<OperandArray>,
  b: MatrixLike<OperandArray>,
  options: MpmmOptions<Out> | undefined,
  watched: Watched | null,
): MpmmResult<Out> {
  const product = prepare(a, b, options, newResult)
  watched?.checked(product)
  if (product.options.onProgress) {
    throw new OptionError(
      'mpmmSync blocks the thread that option onProgress is called on: leave it out, or use mpmm',
    )
  }
  // No user code runs from here on, so one request and one report serve all calls.
  writeRequest(syncRequest, product)
  const { a: left, b: right, c, c0 } = product
  try {
    addon.multiplySync(left.data, right.data, c.data, c0 ? c0.data : null, syncRequest, syncReport)
  } catch (error) {
    throw fromNative(error)
  }
  return result(product, syncReport)
}

/** A matrix for the result. */
type Result = View<ElementArray>

/**
 * Checks the arguments of a product. `newResult` makes the result's matrix if there is no `out`; nothing else is
 * allocated for it. Throws what {@link mpmm} rejects with.
 */
export function prepare<C extends Layout>(
  aValue: unknown,
  bValue: unknown,
  optionsValue: unknown,
  newResult: (batch: number, rows: number, cols: number, batched: boolean, type: number) => C,
): Product<C | Result> {
  // Everything that can run user code comes first: after this the arguments can't change under the checks.
  const options = readOptions(optionsValue)
  const a = readView(aValue, 'a', 'operand')
  const b = readView(bValue, 'b', 'operand')
  const out = options.out === undefined ? null : readView(options.out, 'out', 'result')
  const c0 = readAccumulate(options.accumulate, options.out, out)
  if (options.signal?.aborted) throw aborted(options.signal)

  requireOneType(a, b)
  if (out) requireOneType(a, out)
  if (c0) requireOneType(a, c0)
  const { type } = a
  requireSemiringType(options.semiring, type)
  if (options.overflow !== LEFT_OUT && !isInteger(type)) {
    throw new OptionError(
      `option overflow is for integers, but the operands are of ${typeNameOf(type)}, which has infinities for what is too ` +
        'large: leave it out',
    )
  }
  requireReach(a)
  requireReach(b)
  if (a.cols !== b.rows) {
    throw new ShapeError(
      `${showShape(a)} has ${a.cols} columns and ${showShape(b)} has ${b.rows} rows: the inner dimensions of a product must be equal`,
    )
  }
  if (a.batch !== b.batch && a.batch !== 1 && b.batch !== 1) {
    throw new ShapeError(
      `${showShape(a)} is a batch of ${a.batch} and ${showShape(b)} one of ${b.batch}: batches must be of equal size, ` +
        'unless one operand is a single matrix',
    )
  }
  const batch = a.batch === 1 ? b.batch : a.batch
  const m = a.rows
  const n = b.cols
  const batched = a.batched || b.batched
  if (out) requireOut(out, a, b, batched, batch, m, n)
  if (c0 && c0 !== out) requireAccumulate(c0, out, batch, m, n)

  configureCpu()
  if (options.mayUseCuda) loadTuning()
  return {
    options,
    type,
    batch,
    m,
    n,
    k: a.cols,
    a,
    b,
    c: out ?? newResult(batch, m, n, batched, type),
    c0,
    keepsC: out !== null,
  }
}

function newResult(batch: number, rows: number, cols: number, batched: boolean, type: number): Result {
  const length = batch * rows * cols
  return {
    name: 'the result',
    // Nobody sees the array before the product has written it: after an error it is dropped.
    data: allocate(length, 'the result', type, newUnwrittenArray),
    type,
    bytes: bytesOf(type),
    batched,
    batch,
    rows,
    cols,
    batchStride: rows * cols,
    rowStride: cols,
    colStride: 1,
    offset: 0,
    reach: length,
  }
}

function requireOneType(a: View, other: View): void {
  if (a.type === other.type) return
  throw new DTypeError(
    `${other.name} is of ${typeNameOf(other.type)} and a of ${typeNameOf(a.type)}: the matrices of a product must all be of ` +
      'one element type; convert one with its array type, as in Float32Array.from(data)',
  )
}

function readAccumulate(
  value: unknown,
  outValue: unknown,
  out: View<ElementArray> | null,
): View<ElementArray> | null {
  if (value === undefined || value === false) return null
  if (value === true) {
    if (out) return out
    throw new OptionError(
      'accumulate: true needs the option out: what out holds is the matrix to accumulate to',
    )
  }
  if (typeof value !== 'object') {
    throw new OptionError(`option accumulate must be a matrix or a boolean, but it is ${show(value)}`)
  }
  return out && value === outValue ? out : readView(value, 'accumulate', 'result')
}

function requireOut(
  out: View,
  a: View,
  b: View,
  batched: boolean,
  batch: number,
  m: number,
  n: number,
): void {
  requireReach(out)
  if (out.batched !== batched || out.batch !== batch || out.rows !== m || out.cols !== n) {
    throw new ShapeError(
      `${showShape(out)} must have the shape of the result, ${showList(batched ? [batch, m, n] : [m, n])}`,
    )
  }
  if (overlapsItself(out)) {
    throw new ShapeError(
      'elements of out overlap each other, so the result has no room in it: give out strides that put each element in a place of its own',
    )
  }
  for (const operand of [a, b]) {
    if (overlap(out, operand)) {
      throw new ShapeError(
        `out overlaps ${operand.name} in memory, so the product would overwrite ${operand.name} while it reads it: write into another matrix, or copy ${operand.name}`,
      )
    }
  }
}

function requireAccumulate(c0: View, out: View | null, batch: number, m: number, n: number): void {
  requireReach(c0)
  if (c0.rows !== m || c0.cols !== n || (c0.batch !== batch && c0.batch !== 1)) {
    const expected = batch === 1 ? `[${m}, ${n}]` : `[${batch}, ${m}, ${n}] or [${m}, ${n}]`
    throw new ShapeError(`${showShape(c0)} must have the shape of the result, ${expected}`)
  }
  if (out && !(c0.batch === batch && sameLayout(c0, out)) && overlap(out, c0)) {
    throw new ShapeError(
      'out overlaps accumulate in memory without being the same matrix: accumulate into out itself (accumulate: true), or copy one of them',
    )
  }
}

function requireAllStillThere(product: Product<Result>): void {
  requireStillThere(product.a)
  requireStillThere(product.b)
  requireStillThere(product.c)
  if (product.c0) requireStillThere(product.c0)
}

function aborted(signal: AbortSignal): AbortedError {
  return new AbortedError(
    "the product was given up because its signal was aborted: `cause` is the signal's reason",
    {
      cause: signal.reason,
    },
  )
}

function result<Out extends MatrixLike<ElementArray>>(
  product: Product<Result>,
  report: Float64Array,
): MpmmResult<Out> {
  const kernelMs = report[at.kernelMs]!
  const variant = addon.variants[report[at.variant]!] as NativeVariant
  const { batch, m, n, c, options } = product
  const shape: Shape = c.batched ? [batch, m, n] : [m, n]
  const made = product.keepsC ? options.out : { data: c.data, shape, strides: rowMajor(shape), offset: 0 }
  return {
    c: made as Out,
    backend: addon.backends[report[at.backend]!]!,
    device: deviceName(report[at.device]!),
    variant: variant.name,
    path: addon.paths[report[at.path]!]!,
    timing: {
      totalMs: report[at.totalMs]!,
      kernelMs,
      analysisMs: report[at.analysisMs]!,
      h2dMs: report[at.h2dMs]!,
      d2hMs: report[at.d2hMs]!,
    },
    gops: kernelMs > 0 ? (2 * batch * m * n * product.k) / kernelMs / 1e6 : 0,
  }
}
