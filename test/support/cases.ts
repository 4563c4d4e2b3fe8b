/** Parameters of the suites: semirings, policies, sizes, layouts. */
import type { BackendName } from '../../lib/backend-name.js'
import type { Overflow } from '../../lib/index.js'
import type { Plain } from './generators.js'
import type { SemiringName, Strided } from './oracle.js'

export const semirings: SemiringName[] = ['max-plus', 'min-plus']
export const policies: Overflow[] = ['throw', 'saturate', 'wrap']

export type Size = readonly [m: number, k: number, n: number]

/** Sizes around the tiles of the kernels (8, 16, 128), primes, skinny shapes. */
export const sizes: Size[] = [
  [1, 1, 1],
  [1, 2, 1],
  [2, 1, 3],
  [7, 8, 9],
  [15, 16, 17],
  [16, 15, 16],
  [17, 17, 15],
  [1, 300, 1],
  [1, 5, 259],
  [263, 3, 1],
  [64, 64, 64],
  [127, 17, 129],
  [128, 16, 128],
  [129, 33, 127],
  [131, 31, 257],
  [31, 509, 37],
  [3, 4099, 5],
]

/** Size for the tests of all kinds: no dimension is a multiple of a tile. */
export const ragged: Size = [37, 21, 43]

/** Layouts of a matrix in memory: transposed, a part of a larger array, every other element, reversed. */
export const layoutsOf: Record<string, (source: Plain) => Strided> = {
  'row-major': (source) => source,
  transposed: ({ data, shape: [rows, cols] }) => ({
    data: Int32Array.from(data, (_, index) => data[(index % rows) * cols + Math.floor(index / rows)]!),
    shape: [rows, cols],
    strides: [1, rows],
  }),
  'in a larger matrix': ({ data, shape: [rows, cols] }) => {
    const lead = cols + 3
    const larger = new Int32Array((rows + 2) * lead).fill(123456789)
    for (let i = 0; i < rows; i++) larger.set(data.subarray(i * cols, (i + 1) * cols), 2 + (i + 1) * lead)
    return { data: larger, shape: [rows, cols], strides: [lead, 1], offset: lead + 2 }
  },
  'every other element': ({ data, shape: [rows, cols] }) => {
    const spread = new Int32Array(2 * data.length + 1).fill(123456789)
    data.forEach((value, index) => {
      spread[2 * index + 1] = value
    })
    return { data: spread, shape: [rows, cols], strides: [2 * cols, 2], offset: 1 }
  },
  'a subarray': ({ data, shape: [rows, cols] }) => {
    const longer = new Int32Array(data.length + 8).fill(123456789)
    longer.set(data, 5)
    return { data: longer.subarray(5), shape: [rows, cols] }
  },
}

/**
 * Returns the values of a dimension that is combined with another one: on a GPU all values. On the CPU only
 * every `share`-th value is returned, so that all tests take a few minutes. The first value depends on
 * `turn`, so that several turns cover the whole list.
 */
export const inTurn = <T>(backend: BackendName, list: readonly T[], turn: number, share: number): T[] =>
  list.filter((_, index) => backend === 'cuda' || (index + turn) % share === 0)
