/** Rows of the variant table that no kernel can be built for. */
import { addon, type NativeRefusedVariant } from '../native.js'

/** A variant that can't be built: its computation and parameters, and the constraint that it violates. */
export interface RefusedVariant extends Readonly<NativeRefusedVariant> {}

/**
 * Returns the combinations of parameters that can't be built, with the reasons. No row of `variants()` has
 * these names.
 *
 * @throws Nothing.
 * @example
 * console.log(refusedVariants().length > 0) // true
 */
export function refusedVariants(): RefusedVariant[] {
  return addon.refusedVariants.map((row) => ({ ...row, parameters: { ...row.parameters } }))
}
