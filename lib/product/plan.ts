/** Plans a product: selects its kernel without computing it. */
import type { BackendName } from '../backend-name.js'
import { OptionError, OutOfMemoryError } from '../errors.js'
import { REPORT_FIELDS } from '../fields.js'
import { runNative } from '../run-native.js'
import type { Lanes } from '../user-semiring.js'
import { assertGpu } from '../webgpu/look.js'
import type { AnyOperand, AnyResult, MpmmOptions } from './options.js'
import { prepare } from './prepare.js'
import { type Product, workOf } from './product.js'
import type { Plan } from './result.js'
import { type CallTrace, tracePromise } from './tracing.js'
import type { UserOperand, UserProductOptions } from './user-product.js'
import { isByWebGpu } from './webgpu.js'

/**
 * Plans the product that `mpmm(a, b, options)` would compute, from the sizes and a scan of the values, off
 * the event loop. Neither computes nor allocates the result.
 *
 * For a product on several devices, the plan is that of the devices' parts. If the arithmetics of the parts
 * differ, the plan has the arithmetic with the most bits.
 *
 * A GPU computes a large product in panels, each of which may use a cheaper arithmetic than the plan's. It
 * also scans the rows of A and the columns of B if few different values in each of them would allow an
 * `exponent` arithmetic, and samples a large int32 product, to select the family `ranked` if that is faster.
 * For matrices on the host, the plan copies A and B to the GPU for such a scan. If the GPU has no tensor cores
 * for it, or too little free memory, the plan predicts neither selection.
 *
 * @throws Rejects with the errors of {@link mpmm} for the same arguments, except for errors that occur only
 * during the computation.
 * @example
 * const a = matrix(64, 64, new Float32Array(64 * 64))
 * const { backend, arithmetic } = await plan(a, a, { backend: 'cpu' })
 * console.log(backend, arithmetic) // cpu direct
 */
export function plan(a: AnyOperand, b: AnyOperand, options?: MpmmOptions<AnyResult>): Promise<Plan>
/**
 * Plans a product over a custom semiring: returns the kernel and the origin of its machine code. The call may
 * compile the kernel.
 *
 * @throws The errors of the other overload.
 */
export function plan<L extends Lanes>(
  a: UserOperand<L>,
  b: UserOperand<L>,
  options: UserProductOptions<L>,
): Promise<{
  /** Backend of the planned product. */
  backend: BackendName
  /** Returns the plan as a few lines of text: the backend, the kernel, and the origin of its machine code. */
  explanation: string
}>
export function plan(a: unknown, b: unknown, options?: unknown): Promise<unknown> {
  return tracePromise('plan', (trace) => makePlan(a, b, options, trace))
}

async function makePlan(a: unknown, b: unknown, options: unknown, trace: CallTrace | null): Promise<unknown> {
  if ((options as { onProgress?: unknown } | undefined)?.onProgress !== undefined) {
    throw new OptionError(
      'plan must have no option onProgress, because it computes nothing that takes long: leave it out',
    )
  }
  const product = prepare(a, b, options, trace)
  if (isByWebGpu(product.call)) await assertGpu()
  assertCountable(product)
  const report = new Float64Array(REPORT_FIELDS)
  return runNative(workOf(product, 'the plan', report), ({ cancel }) => {
    if (product.options.signal) product.requireThere()
    return product.call.algebra.plan(product, report, cancel)
  })
}

/** Throws for a result of more elements than can be counted, which no memory can hold. */
function assertCountable({ batch, m, n }: Product): void {
  if (batch * m * n <= Number.MAX_SAFE_INTEGER) return
  throw new OutOfMemoryError(
    `the result of ${batch * m * n} elements has more than can be counted exactly (2^53 - 1): compute it in parts, by rows of A or columns of B`,
  )
}
