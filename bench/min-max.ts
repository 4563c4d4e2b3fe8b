/** The least and the greatest of any number of values: the arguments of Math.min and Math.max are limited by the stack. */

/** Infinity if there are none. */
export const least = (values: readonly number[]) =>
  values.reduce((so, value) => Math.min(so, value), Number.POSITIVE_INFINITY)

/** −Infinity if there are none. */
export const greatest = (values: readonly number[]) =>
  values.reduce((so, value) => Math.max(so, value), Number.NEGATIVE_INFINITY)
