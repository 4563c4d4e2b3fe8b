/**
 * Measurements of a report on a Tesla K20c in 2017, in seconds: plus-times on float32, square matrices.
 *
 * Source: J. Sun, "CS 4444 – Report for Homework 5" (University of Virginia, 2017), Tables 1 to 3.
 */

export interface K20Time {
  kernel: number
  /** Total time, with allocation and transfers. */
  total: number
}

const byThousands = (kernel: number[], total: number[]): ReadonlyMap<number, K20Time> =>
  new Map(kernel.map((seconds, index) => [1000 * (index + 1), { kernel: seconds, total: total[index]! }]))

/**
 * Table 1: the baseline with blocks of 32 × 32 threads, by size. The baseline's threadIdx.x runs along the
 * rows of C.
 */
export const baseline = byThousands(
  [0.23, 1.85, 6.27, 14.85, 29.0, 50.13, 79.62, 118.86, 168.48, 231.67],
  [1.04, 2.65, 7.07, 15.73, 29.89, 51.06, 80.61, 119.97, 169.66, 232.94],
)

/** Table 2: shared memory with blocks of 32 × 32 threads, by size. */
export const sharedMemory = byThousands(
  [0.01, 0.06, 0.22, 0.48, 1.02, 1.73, 2.78, 3.87, 5.93, 7.99],
  [0.73, 0.87, 1.03, 1.29, 1.91, 2.63, 3.83, 5.0, 7.13, 9.49],
)

/** Matrix size of Table 3. */
export const BLOCK_SIZE_TABLE = 10000

/** Table 3: shared memory on 10000 × 10000, by the side of a block. */
export const byBlockSize: ReadonlyMap<number, K20Time> = new Map([
  [32, { kernel: 7.99, total: 9.49 }],
  [16, { kernel: 9.68, total: 11.02 }],
  [8, { kernel: 16.92, total: 18.17 }],
  [4, { kernel: 75.27, total: 76.58 }],
  [2, { kernel: 486.55, total: 487.82 }],
  [1, { kernel: 1273.66, total: 1274.96 }],
])

/** Section 1: product of 3000 × 3000 on the report's CPU, an AMD 6276. */
export const cpu = { size: 3000, seconds: 93.79 }
