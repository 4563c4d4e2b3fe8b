/** Products printed in published works. `null` is the semiring's zero. */
import { describe, expect, it } from 'vitest'
import { type DataType, matrix, mpmm, mpmmSync, type Semiring, zeroOf } from '../../lib/index.js'
import { arrays } from '../../native/tools/fuzz/algebra.mjs'

type Rows = (number | null)[][]

const published: { source: string; semiring: Semiring; dtype?: DataType; a: Rows; b: Rows; c: Rows }[] = [
  {
    source: 'K. Stanczyk, Max-Plus Algebra Toolbox for MATLAB, user guide, example 2.12c',
    semiring: 'max-plus',
    a: [
      [1, 6, 2],
      [8, 3, 4],
    ],
    b: [
      [2, 5],
      [3, 3],
      [1, 6],
    ],
    c: [
      [9, 9],
      [10, 13],
    ],
  },
  {
    source: 'MaxPlus.jl documentation, A*A',
    semiring: 'max-plus',
    a: [
      [4, 3],
      [7, null],
    ],
    b: [
      [4, 3],
      [7, null],
    ],
    c: [
      [10, 7],
      [11, 10],
    ],
  },
  {
    source: 'MaxPlus.jl documentation, A*A*A',
    semiring: 'max-plus',
    a: [
      [10, 7],
      [11, 10],
    ],
    b: [
      [4, 3],
      [7, null],
    ],
    c: [
      [14, 13],
      [17, 14],
    ],
  },
  {
    source:
      'F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, Synchronization and Linearity: x(k+1) = A x(k), x(0) = (1, 0)',
    semiring: 'max-plus',
    a: [
      [3, 7],
      [2, 4],
    ],
    b: [[1], [0]],
    c: [[7], [4]],
  },
  {
    source: 'K. H. Rosen, Discrete Mathematics and Its Applications, 7th edition, section 2.6, example 8',
    semiring: 'or-and',
    dtype: 'uint8',
    a: [
      [1, 0],
      [0, 1],
      [1, 0],
    ],
    b: [
      [1, 1, 0],
      [0, 1, 1],
    ],
    c: [
      [1, 1, 0],
      [0, 1, 1],
      [1, 1, 0],
    ],
  },
  {
    source:
      'codecrucks.com, Fuzzy Composition: Max-min and Max-product, the columns z1 and z2 of the max-min composition (here in tenths)',
    semiring: 'max-min',
    a: [
      [7, 6],
      [8, 3],
    ],
    b: [
      [8, 5],
      [1, 6],
    ],
    c: [
      [7, 6],
      [8, 5],
    ],
  },
  {
    source:
      'math.techqa.club, Understanding Fuzzy Composition Operations, the max-product composition of x1 and z1 (here in tenths and hundredths)',
    semiring: 'max-times',
    dtype: 'float32',
    a: [[1, 3]],
    b: [[1], [6]],
    c: [[18]],
  },
]

const toMatrix = (rows: Rows, semiring: Semiring, dtype: DataType) =>
  matrix(
    rows.length,
    rows[0]!.length,
    arrays[dtype].from(rows.flat().map((value) => value ?? zeroOf(semiring, dtype))),
  )

describe('published products', () => {
  it.each(published)('are computed: $source', async ({ semiring, dtype = 'int32', a, b, c }) => {
    const created = [a, b, c].map((rows) => toMatrix(rows, semiring, dtype))
    const [left, right, expected] = created as [never, never, never]
    expect(mpmmSync(left, right, { semiring }).c).toEqual(expected)
    expect((await mpmm(left, right, { semiring })).c).toEqual(expected)
  })
})
