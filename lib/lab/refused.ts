/** Variants that fit a family's pattern and that no kernel can be built for. */
import { addon } from '../native.js'

export interface RefusedVariant {
  name: string
  /** The constraint that it breaks. */
  reason: string
}

/** The combinations of parameters that can't be built, and why: no `variants()` row has these names. */
export function refusedVariants(): RefusedVariant[] {
  return addon.refusedVariants.map(({ name, reason }) => ({ name, reason }))
}
