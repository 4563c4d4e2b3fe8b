/** Common options and results of functions on matrices. */

import { assertDevicesOnly, type Where, whereSet } from '../backend.js'
import type { PlacementRequest } from '../backend-selection.js'
import { semiring } from '../built-in-semirings.js'
import type { MatrixLike } from '../matrix.js'
import { checkedLater, Options, type OptionsOf, UNSET } from '../options.js'
import {
  type AnyResult,
  asProduct,
  longWorkSet,
  type MpmmOptions,
  type Overflow,
  overflow,
  type ReadOptions,
} from '../product/options.js'

/** The options of {@link star}, {@link plus} and {@link power}. `undefined` means the default. */
export interface AlgebraOptions<Out extends AnyResult = MatrixLike>
  extends Pick<MpmmOptions<Out>, 'semiring' | 'backend' | 'device' | 'devices' | 'signal' | 'onProgress'> {
  /**
   * Matrix of a's shape to write into, which is then the result's `c`. `out` may be `a` itself: it is written
   * only if the call succeeds. The elements of `out` must not overlap each other. If `a` is a {@link
   * DeviceMatrix}, `out` must be one on the same device.
   */
  out?: Out | undefined
  /**
   * Policy for an element of the result that is finite and outside the finite range of int32. 'throw', the
   * default, rejects with ERR_MPMML_OVERFLOW, whose message names the first such element. 'saturate' stores
   * the nearest finite value. 'wrap' stores the element modulo 2^32; an element that wraps onto the value of
   * the semiring's zero is zero. Only for integers. In {@link power} the policy applies to intermediate
   * products, too.
   */
  overflow?: Overflow | undefined
}

const algebraOptions = new Options({
  semiring,
  out: checkedLater(),
  ...whereSet,
  overflow,
  ...longWorkSet,
} satisfies OptionsOf<AlgebraOptions>)

/** Reads the options that the user passed. */
export const readAlgebraOptions = (options: unknown): ReadOptions => asProduct(algebraOptions.read(options))

/** Options of the backend, for functions whose other options aren't those of a product. */
export function placementOf({ backend, device, devices }: Where): PlacementRequest {
  const placement = { backend, device, devices, variant: UNSET }
  assertDevicesOnly(placement)
  return placement
}
