/** Which kernel a product would take, without computing it. */
import { OptionError } from '../errors.js'
import { reportAt as field, REPORT_FIELDS, REQUEST_FIELDS, requestAt, writeLayout } from '../fields.js'
import { addon } from '../native.js'
import { runNative } from '../run-native.js'
import { type Lanes, userWorkOf } from '../user-semiring.js'
import type { VariantName } from '../variant-names.js'
import { variants } from '../variants.js'
import { type ObservedCall, watch } from './diagnostics.js'
import type { AnyOperand, AnyResult, MpmmOptions } from './options.js'
import { prepare } from './prepare.js'
import { workOf, writeRequest } from './request.js'
import type { ProductStructure } from './structure.js'
import type { UserOperand, UserPlan, UserProductOptions } from './user-product.js'

/** How {@link mpmm} would compute a product. */
export interface Plan {
  /** What would compute it. */
  backend: 'cuda' | 'cpu'
  /** The kernel variant. */
  variant: VariantName
  /** Its parameters, such as the tile. */
  parameters: Readonly<Record<string, number | string>>
  /**
   * How the sums are computed: 'byte' and 'byte-translated' in 8 bits, 'half' and 'half-translated' in 16 bits, 'direct' and
   * 'translated' in the element type ('translated' if the semiring's zero occurs in the operands), 'wide' and 'wrapping' in 64
   * bits, 'exponent', 'exponent-wide' and 'exponent-bounded' on tensor cores.
   */
  path: string
  /** The structure of the matrices, if the option was given. */
  structure?: Readonly<Required<ProductStructure>>
}

/**
 * The plan of the product that `mpmm(a, b, options)` would compute: chosen by the sizes and by a scan of the values,
 * off the event loop. Computes nothing, and allocates nothing for the result.
 *
 * Of a product on several devices it is the plan of their parts; if these take different paths, the one of the most bits.
 *
 * A GPU computes a large product in panels, each of which may take a cheaper path than the plan's. It also looks at a sample
 * of a large int32 product, which may take the family `ranked` then; for matrices on the host the plan doesn't know that.
 *
 * @throws Rejects with what {@link mpmm} rejects with for the same arguments, as far as that shows without computing.
 * @example
 * const a = matrix(64, 64, new Float32Array(64 * 64))
 * const { backend, path } = await plan(a, a, { backend: 'cpu' })
 * console.log(backend, path) // cpu direct
 */
export function plan(a: AnyOperand, b: AnyOperand, options?: MpmmOptions<AnyResult>): Promise<Plan>
/**
 * The plan of a product over a semiring of your own: the kernel, and where its machine code comes from. It may be compiled for that.
 *
 * @throws What the other form throws.
 */
export function plan<L extends Lanes>(
  a: UserOperand<L>,
  b: UserOperand<L>,
  options: UserProductOptions<L>,
): Promise<UserPlan>
export function plan(a: unknown, b: unknown, options?: unknown): Promise<unknown> {
  const watched = watch('plan')
  const promise = makePlan(a as AnyOperand, b as AnyOperand, options as MpmmOptions<AnyResult>, watched)
  return watched ? watched.follow(promise) : promise
}

async function makePlan(
  a: AnyOperand,
  b: AnyOperand,
  options: MpmmOptions<AnyResult> | undefined,
  watched: ObservedCall | null,
): Promise<Plan> {
  if ((options as { onProgress?: unknown } | undefined)?.onProgress !== undefined) {
    throw new OptionError(
      'plan must have no option onProgress, because it computes nothing that takes long: leave it out',
    )
  }
  const own = userWorkOf(options)
  if (own) return own.plan(a, b, options, watched) as Promise<never>
  const product = prepare(a, b, options)
  watched?.checked([product])
  const request = new Float64Array(REQUEST_FIELDS)
  const report = new Float64Array(REPORT_FIELDS)
  writeRequest(request, product)
  writeLayout(request, 0, requestAt.c, product.newElements())
  request[requestAt.planOnly] = 1
  const { a: left, b: right, c0, session } = product
  const device = session ? session.native : null
  await runNative(workOf(product, 'the plan', report), ({ cancel }) => {
    if (product.options.signal) product.requireThere()
    return addon.multiply(left.data, right.data, null, c0 ? c0.data : null, request, report, cancel, device)
  })
  const { name, parameters } = variants()[report[field.variant]!]!
  return {
    backend: addon.backends[report[field.backend]!]!,
    variant: name,
    parameters,
    path: addon.paths[report[field.path]!]!,
    ...(product.structure && { structure: product.structure.shown }),
  }
}
