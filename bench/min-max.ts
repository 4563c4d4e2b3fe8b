/**
 * Minimum and maximum of any number of values. The stack limits the number of arguments of Math.min and
 * Math.max.
 */

/** Returns the smallest value; Infinity for an empty array. */
export const least = (values: readonly number[]) =>
  values.reduce((so, value) => Math.min(so, value), Number.POSITIVE_INFINITY)

/** Returns the largest value; −Infinity for an empty array. */
export const greatest = (values: readonly number[]) =>
  values.reduce((so, value) => Math.max(so, value), Number.NEGATIVE_INFINITY)
