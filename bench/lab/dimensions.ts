/** Reads one to four dimensions from the command line, like the program in the report by J. Sun. */
import { InvalidArgumentError } from 'commander'

/** C is M × N, A is M × K, B is K × N. */
export interface Dimensions {
  m: number
  k: number
  n: number
}

/**
 * A is dim1 × dim2, and B is dim3 × dim4. Each missing dimension equals the previous one.
 *
 * @throws InvalidArgumentError, wrong usage, if A's number of columns differs from B's number of rows.
 * @see J. Sun, "CS 4444 – Report for Homework 5" (2017), main() of its listing. The report's program uses 100
 * if no dimension is given.
 */
export function readDimensions([dim1, dim2 = dim1, dim3 = dim2, dim4 = dim3]: readonly number[]): Dimensions {
  if (dim1 === undefined || dim2 === undefined || dim3 === undefined || dim4 === undefined) {
    throw new InvalidArgumentError('at least one dimension is needed')
  }
  if (dim2 !== dim3) {
    throw new InvalidArgumentError(
      `dimensions inconsistent: A is ${dim1} × ${dim2} and B is ${dim3} × ${dim4}, but A must have as many columns as B has rows`,
    )
  }
  return { m: dim1, k: dim2, n: dim4 }
}
