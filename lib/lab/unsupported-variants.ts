/** Rows of the variant table that no kernel can be built for. */
import { addon, type NativeRefusedVariant } from '../native.js'

/** Such a row: what the variant would compute, how, and the constraint that it breaks. */
export interface RefusedVariant extends Readonly<NativeRefusedVariant> {}

/**
 * The combinations of parameters that can't be built, and why: no `variants()` row has these names.
 *
 * @throws Nothing.
 * @example
 * console.log(refusedVariants().length > 0) // true
 */
export function refusedVariants(): RefusedVariant[] {
  return addon.refusedVariants.map((row) => ({ ...row, parameters: { ...row.parameters } }))
}
