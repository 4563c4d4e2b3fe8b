/** Products of two matrices. */

import { WEBGPU } from '../backend.js'
import type { DeviceMatrix } from '../device/device.js'
import { storedArrays } from '../element-types.js'
import { fromNative } from '../errors.js'
import { REPORT_FIELDS } from '../fields.js'
import { type MatrixLike, matrix } from '../matrix.js'
import type { NativeResult } from '../native.js'
import { type NativeCall, runNative } from '../run-native.js'
import type { OperandArray } from '../storage.js'
import type { Lanes } from '../user-semiring.js'
import type { DataType } from '../variant-names.js'
import type { ProductKind } from '../webgpu/choice.js'
import { assertGpu } from '../webgpu/look.js'
import {
  type AnyAccumulate,
  type AnyResult,
  type AnyWitness,
  type MpmmOptions,
  refuseListener,
} from './options.js'
import { allocateResult, prepare } from './prepare.js'
import { type Product, workOf } from './product.js'
import {
  adoptArrays,
  allocatedMemories,
  type Fitting,
  type MpmmResult,
  type ResultOf,
  releaseAllocated,
  resultOf,
  type WitnessedResult,
} from './result.js'
import { type CallTrace, tracePromise, traceSync } from './tracing.js'
import type { UserOperand, UserProductOptions, UserProductResult, UserResultOf } from './user-product.js'
import {
  assertBlocking,
  isByWebGpu,
  isFasterByWebGpu,
  isWebGpuByName,
  mayBeFasterByWebGpu,
  mayComputeInstead,
  onCpuInstead,
  onWebGpu,
} from './webgpu.js'

/**
 * Number of consecutive products that JavaScript's thread may compute itself. Another thread then computes
 * one product, so that the event loop runs in a program that only awaits small products.
 */
const MAX_IN_A_ROW = 64
let inARow = 0

const syncReport = new Float64Array(REPORT_FIELDS)

/**
 * Computes the product C = A ⊗ B over a semiring: C[i, j] = ⊕ over k of A[i, k] ⊗ B[k, j], in max-plus the
 * maximum of the sums A[i, k] + B[k, j]. Runs off the event loop; several products may run concurrently.
 *
 * All matrices have the same element type. Over int32 and uint8 results are exact. Over float32 and float64,
 * max-plus and min-plus round each sum once, and max-times rounds each product once; max-min and min-max
 * round nothing. If A[i, k] ⊗ B[k, j] is NaN (for a NaN operand, ∞ − ∞ or 0 · ∞), it is no candidate: so the
 * semiring's zero absorbs, and a result without candidates is zero. All these results are equal, bit for bit,
 * on every backend, device and variant, with one exception: the sign of the number 0 may differ in max-plus
 * and min-plus. In the other semirings −0 counts as 0, and no result is −0. 'plus-times' is the ordinary
 * product, with NaN and infinities as in IEEE 754. Its order of summation isn't specified, nor whether a
 * multiplication and an addition round once or twice.
 *
 * The elements of max-times must be at least 0. Bytes are truth values: any byte except 0 is true, and
 * results are 0 or 1.
 *
 * Any of the matrices may be a {@link DeviceMatrix}. Its device then computes the product, after all work
 * that was requested from the device before. The result stays on the device: c is a DeviceMatrix. Operands in
 * arrays are copied to the device for the call.
 *
 * Don't write to, transfer or detach the arrays of a product until its promise settles.
 *
 * @param a - M × K, or a batch of them as [batch, M, K].
 * @param b - K × N, or a batch of them as [batch, K, N]. If only one of a and b is a batch, or the other is a batch of one,
 *   the single matrix is an operand of every product.
 * @returns C, M × N, or [batch, M, N] if a or b is a batch, and how it was computed. With the option
 * `witness` also the k that decides each element of C.
 * @throws Rejects, and never throws, with an {@link MpmmlError}: ERR_MPMML_SHAPE and ERR_MPMML_DTYPE for
 * matrices that don't fit, ERR_MPMML_OPTION and ERR_MPMML_VARIANT for options, ERR_MPMML_OVERFLOW (see the
 * option `overflow`), ERR_MPMML_VALUE for a negative element of max-times, ERR_MPMML_DISPOSED and
 * ERR_MPMML_DEVICE for matrices of a device, ERR_MPMML_NO_CUDA, ERR_MPMML_NO_WEBGPU, ERR_MPMML_OUT_OF_MEMORY,
 * ERR_MPMML_ABORTED, ERR_MPMML_CUDA, ERR_MPMML_DEVICE_LOST. The option `out` documents the content of `out`
 * after each error.
 * @see K. Stanczyk, Max-Plus Algebra Toolbox for MATLAB, user guide, example 2.12c (the example's numbers)
 * @example
 * const a = matrix(2, 3, Int32Array.of(1, 6, 2, 8, 3, 4))
 * const b = matrix(3, 2, Int32Array.of(2, 5, 3, 3, 1, 6))
 * const { c } = await mpmm(a, b)
 * console.log(c.data.join()) // 9,9,10,13
 */
export function mpmm<
  A extends OperandArray = never,
  B extends OperandArray = never,
  ThereA extends OperandArray = never,
  ThereB extends OperandArray = never,
  C0 extends AnyAccumulate = undefined,
  Out extends AnyResult | undefined = undefined,
  Witness extends AnyWitness = undefined,
>(
  a: MatrixLike<A> | DeviceMatrix<ThereA>,
  b: MatrixLike<B> | DeviceMatrix<ThereB>,
  options?: MpmmOptions<Out, Witness, C0> & Fitting<A | ThereA, B | ThereB, C0, Out>,
): Promise<WitnessedResult<MpmmResult<ResultOf<A, B, ThereA, ThereB, C0, Out>>, Witness>>
/**
 * Computes the product over a custom semiring from `semiring()` of mpmml/semirings; otherwise like the other
 * overload. If elements have lanes, each operand is an array with one matrix per lane, and so is c. Integers
 * are computed modulo 2^32; floats are rounded in the order of k. The CPU and CUDA return equal results, bit
 * for bit, with one bit pattern for all NaNs.
 *
 * @throws The errors of the other overload.
 */
export function mpmm<
  L extends Lanes,
  A extends UserOperand<L>,
  B extends UserOperand<L>,
  C0 extends UserOperand<L> | boolean | undefined = undefined,
  Out extends UserOperand<L> | undefined = undefined,
  Witness extends AnyWitness = undefined,
>(
  a: A,
  b: B,
  options: UserProductOptions<L, Out, C0, Witness>,
): Promise<WitnessedResult<UserProductResult<UserResultOf<L, A | B | C0, Out>>, Witness>>
export function mpmm(a: unknown, b: unknown, options?: unknown): Promise<unknown> {
  return tracePromise('mpmm', (trace) => multiply(a, b, options, trace))
}

async function multiply(
  a: unknown,
  b: unknown,
  options: unknown,
  trace: CallTrace | null,
): Promise<MpmmResult<AnyResult>> {
  const product = prepare(a, b, options, trace)
  const { call } = product
  if (call.place.atOnce && ++inARow < MAX_IN_A_ROW) return computeNow(product)
  inARow = 0
  // A device computes in the order of the calls, so no `await` may precede this call.
  if (call.session) return compute(product)
  if (call.place.backend === WEBGPU) await assertGpu()
  else if (mayBeFasterByWebGpu(product) && (await isFasterByWebGpu(product, measureProduct))) {
    call.place = onWebGpu()
  }
  if (call.place.backend !== WEBGPU || isWebGpuByName(call)) return compute(product)
  try {
    return await compute(product)
  } catch (error) {
    if (!mayComputeInstead(error)) throw error
    call.place = onCpuInstead()
    return compute(product)
  }
}

/** Computes a product off the event loop. */
async function compute(product: Product): Promise<MpmmResult<AnyResult>> {
  const { call } = product
  // The thread of WebGPU allocates new results, so that this thread neither touches nor copies them.
  const isLater = isByWebGpu(call) && !call.session
  allocateResult(product, undefined, isLater)
  const report = new Float64Array(REPORT_FIELDS)
  const start = ({ cancel }: NativeCall) => {
    // A listener of the signal may have disposed a matrix.
    if (call.options.signal) product.requireThere()
    const computing = call.algebra.multiply(product, report, cancel)
    return isLater ? computing.then((arrays) => adoptArrays(product, arrays)) : computing
  }
  const nativeResult = await runNative(workOf(product, 'the product', report), start, releaseAllocated)
  return resultOf(product, allocatedMemories(nativeResult, call), report)
}

/**
 * Returns the duration of a product of the given kind on a backend, in milliseconds, for the choice of
 * `auto`.
 */
export async function measureProduct(
  { semiring, dtype, witness, m, n, k }: ProductKind,
  backend: 'webgpu' | 'cpu',
): Promise<number> {
  const operand = (rows: number, cols: number) => {
    const data = new storedArrays[dtype as DataType](rows * cols)
    for (let index = 0; index < data.length; index++) data[index] = (index * 7919) % 251
    return matrix(rows, cols, data)
  }
  const product = prepare(operand(m, k), operand(k, n), { semiring, witness, backend }, null)
  const start = performance.now()
  await compute(product)
  return performance.now() - start
}

/** Computes a product before it returns. */
function computeNow(product: Product): MpmmResult<AnyResult> {
  allocateResult(product)
  let nativeResult: NativeResult
  try {
    nativeResult = product.call.algebra.multiplySync(product, syncReport)
  } catch (error) {
    throw fromNative(error)
  }
  return resultOf(product, allocatedMemories(nativeResult, product.call), syncReport)
}

/**
 * Computes {@link mpmm} synchronously, and throws the errors of mpmm. The signal is checked only once, before
 * the work starts.
 *
 * @throws The errors of {@link mpmm}; ArgumentError (ERR_MPMML_OPTION) for onProgress.
 * @example
 * const { c } = mpmmSync(matrix(1, 2, [1, 5]), matrix(2, 1, [4, 2]), { semiring: 'min-plus' })
 * console.log(c.data.join()) // 5
 */
export function mpmmSync<
  A extends OperandArray = never,
  B extends OperandArray = never,
  ThereA extends OperandArray = never,
  ThereB extends OperandArray = never,
  C0 extends AnyAccumulate = undefined,
  Out extends AnyResult | undefined = undefined,
  Witness extends AnyWitness = undefined,
>(
  a: MatrixLike<A> | DeviceMatrix<ThereA>,
  b: MatrixLike<B> | DeviceMatrix<ThereB>,
  options?: MpmmOptions<Out, Witness, C0> & Fitting<A | ThereA, B | ThereB, C0, Out>,
): WitnessedResult<MpmmResult<ResultOf<A, B, ThereA, ThereB, C0, Out>>, Witness>
/**
 * Computes the product over a custom semiring synchronously, as {@link mpmm} does.
 *
 * @throws The errors of the other overload.
 */
export function mpmmSync<
  L extends Lanes,
  A extends UserOperand<L>,
  B extends UserOperand<L>,
  C0 extends UserOperand<L> | boolean | undefined = undefined,
  Out extends UserOperand<L> | undefined = undefined,
  Witness extends AnyWitness = undefined,
>(
  a: A,
  b: B,
  options: UserProductOptions<L, Out, C0, Witness>,
): WitnessedResult<UserProductResult<UserResultOf<L, A | B | C0, Out>>, Witness>
export function mpmmSync(a: unknown, b: unknown, options?: unknown): unknown {
  return traceSync('mpmmSync', (trace) => {
    const product = prepare(a, b, options, trace)
    refuseListener(product.options)
    assertBlocking(product.call)
    return computeNow(product)
  })
}
