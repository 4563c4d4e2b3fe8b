/** Ends of int32, and divisors of integers. */

export const MIN_INT32 = -(2 ** 31)
export const MAX_INT32 = 2 ** 31 - 1

/** Returns the greatest common divisor of two integers that aren't negative. */
export function greatestDivisor(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b]
  return a
}
