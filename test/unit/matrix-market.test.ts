/** Matrix Market files: known values are read, written, and rejected. The fixtures were made by SciPy 1.17. */
import { describe, expect, it } from 'vitest'
import { readMatrix } from '../../lib/files.js'
import { EPSILON } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { shown, temporaryFiles } from '../support/matrix-files.js'

const { file } = temporaryFiles()
const E = EPSILON
const inf = Number.POSITIVE_INFINITY

describe('Matrix Market', () => {
  const int32 = 'Int32Array'
  const float64 = 'Float64Array'
  it.each<[string, string, unknown[][], string]>([
    [
      'real',
      '%%MatrixMarket matrix coordinate real general\n%\n3 4 3\n1 2 1.5\n3 1 -2\n2 4 3E-5\n',
      [
        [-inf, 1.5, -inf, -inf],
        [-inf, -inf, -inf, 3e-5],
        [-2, -inf, -inf, -inf],
      ],
      float64,
    ],
    [
      'integer',
      '%%MatrixMarket matrix coordinate integer general\n%\n2 2 2\n1 2 7\n2 2 -9\n',
      [
        [E, 7],
        [E, -9],
      ],
      int32,
    ],
    [
      'pattern',
      '%%MatrixMarket matrix coordinate pattern general\n%\n2 2 2\n1 2\n2 2\n',
      [
        [E, 1],
        [E, 1],
      ],
      int32,
    ],
    [
      'skew-symmetric',
      '%%MatrixMarket matrix coordinate integer skew-symmetric\n%\n3 3 3\n2 1 2\n3 1 -3\n3 2 6\n',
      [
        [E, -2, 3],
        [2, E, -6],
        [-3, 6, E],
      ],
      int32,
    ],
    [
      'symmetric',
      '%%MatrixMarket matrix coordinate real symmetric\n%\n3 3 6\n1 1 1\n2 1 2\n2 2 5\n3 1 3\n3 2 6\n3 3 9\n',
      [
        [1, 2, 3],
        [2, 5, 6],
        [3, 6, 9],
      ],
      float64,
    ],
    [
      'infinities and NaN',
      '%%MatrixMarket matrix coordinate real general\n%\n2 2 3\n1 1 Infinity\n1 2 NaN\n2 2 -Infinity\n',
      [
        [inf, Number.NaN],
        [-inf, -inf],
      ],
      float64,
    ],
    [
      'an array, column after column',
      '%%MatrixMarket matrix array integer general\n%\n2 3\n1\n4\n2\n5\n3\n6\n',
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      int32,
    ],
    [
      'a symmetric array',
      '%%MatrixMarket matrix array real symmetric\n%\n3 3\n1\n2\n3\n5\n6\n9\n',
      [
        [1, 2, 3],
        [2, 5, 6],
        [3, 6, 9],
      ],
      float64,
    ],
    [
      'a skew-symmetric array',
      '%%MatrixMarket matrix array integer skew-symmetric\n%\n3 3\n2\n-3\n6\n',
      [
        [0, -2, 3],
        [2, 0, -6],
        [-3, 6, 0],
      ],
      int32,
    ],
    [
      'an array in one line, with Windows line ends',
      '%%MatrixMarket matrix array real general\r\n2 2\r\n1 2 3\r\n4\r\n',
      [
        [1, 3],
        [2, 4],
      ],
      float64,
    ],
    ['a matrix without rows', '%%MatrixMarket matrix array real general\n0 3\n', [], float64],
  ])('reads %s', async (_, text, rows, type) => {
    expect(shown(await readMatrix(file('.mtx', text)))).toEqual({ type, rows })
  })

  it('reads missing entries as the zero of the semiring, and combines duplicate entries by ⊕', async () => {
    const text = '%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 0.5\n1 1 0.25\n2 2 -1\n1 1 0.75\n'
    const read = async (semiring: 'max-plus' | 'min-plus' | 'plus-times') =>
      shown(await readMatrix(file('.mtx', text), { semiring })).rows
    expect(await read('max-plus')).toEqual([
      [0.75, -inf],
      [-inf, -1],
    ])
    expect(await read('min-plus')).toEqual([
      [0.25, inf],
      [inf, -1],
    ])
    expect(await read('plus-times')).toEqual([
      [1.5, 0],
      [0, -1],
    ])
  })

  it('quotes an integer that is too large in its original notation', async () => {
    const large = file(
      '.mtx',
      '%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9223372036854775813\n',
    )
    await expect(readMatrix(large, { dtype: 'float64' })).rejects.toEqual(
      coded('FILE', 'but it is 9223372036854775813'),
    )
  })

  it('keeps a NaN in combination with every value', async () => {
    const text = '%%MatrixMarket matrix coordinate real general\n1 2 4\n1 1 nan\n1 1 3\n1 2 3\n1 2 nan\n'
    expect(shown(await readMatrix(file('.mtx', text))).rows).toEqual([[Number.NaN, Number.NaN]])
  })

  it('converts to other element types exactly or not at all', async () => {
    const pattern = file('.mtx', '%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n')
    expect(shown(await readMatrix(pattern, { semiring: 'or-and' }))).toEqual({
      type: 'Uint8Array',
      rows: [
        [0, 1],
        [0, 0],
      ],
    })
    expect((await readMatrix(pattern, { dtype: 'float32' })).data).toEqual(
      Float32Array.of(-inf, 1, -inf, -inf),
    )
    expect((await readMatrix(pattern, { semiring: 'plus-times' })).data).toEqual(Float64Array.of(0, 1, 0, 0))
    const real = file('.mtx', '%%MatrixMarket matrix array real general\n2 1\n3.0\n-inf\n')
    expect((await readMatrix(real, { dtype: 'int32' })).data).toEqual(Int32Array.of(3, E))
    await expect(readMatrix(real, { semiring: 'or-and' })).rejects.toEqual(
      coded('DTYPE', 'has real numbers, but or-and has only bytes'),
    )
    const fraction = file('.mtx', '%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 0.1\n')
    await expect(readMatrix(fraction, { dtype: 'int32' })).rejects.toEqual(
      coded('FILE', 'the value at index [1, 0] is 0.1, but int32 holds only integers'),
    )
    expect((await readMatrix(fraction, { dtype: 'float32' })).data[2]).toBe(Math.fround(0.1))
    const large = file('.mtx', '%%MatrixMarket matrix array integer general\n1 1\n16777217\n')
    await expect(readMatrix(large, { dtype: 'float32' })).rejects.toEqual(
      coded('FILE', 'float32 would change it'),
    )
    const beyond = file('.mtx', '%%MatrixMarket matrix array integer general\n1 1\n2147483648\n')
    await expect(readMatrix(beyond)).rejects.toEqual(coded('FILE', 'line 3: the element must be from'))
    expect((await readMatrix(beyond, { dtype: 'float64' })).data[0]).toBe(2147483648)
  })

  const coordinate = '%%MatrixMarket matrix coordinate integer general\n'
  const array = '%%MatrixMarket matrix array integer general\n'
  it.each<[string, string | RegExp]>([
    ['', 'line 1: expected "%%MatrixMarket'],
    ['%%MatrixMarket matrix array pattern general\n', 'entries must be integer or real'],
    ['%%MatrixMarket matrix array complex general\n', "they are 'complex', which have no order"],
    ['1 1 1\n', 'line 1: expected "%%MatrixMarket'],
    [coordinate, 'the line "ROWS COLUMNS ENTRIES" is missing'],
    ['%%MatrixMarket matrix elemental real general\n', 'must be coordinate or array'],
    [array, 'the line "ROWS COLUMNS" is missing'],
    [`${coordinate}1000000000000 1000000000000 1\n1 1 1\n`, 'the number of rows must be from 0'],
    [`${coordinate}2147483647 2147483647 2147483647\n1 1 1\n`, 'bytes follow'],
    [`${coordinate}-2 2 1\n1 1 1\n`, 'the number of rows must be from 0'],
    [`${coordinate}2 2 -1\n`, 'the number of entries must be from 0'],
    [`${coordinate}2 2 1\n1 3 1\n`, 'line 3: the column must be from 1 to 2, but it is 3'],
    [`${coordinate}2 2 1\n0 1 1\n`, 'the row must be from 1 to 2, but it is 0'],
    [`${coordinate}2 2 1\n-1 1 1\n`, 'the row must be from 1 to 2, but it is -1'],
    [`${coordinate}2 2 1\n1 1 NaN\n`, "the entry must be a number, but it is 'NaN'"],
    [`${coordinate}2 2 1\n1 1 inf\n`, 'must be a number'],
    [`${coordinate}2 2 1\n1 1 1.5\n`, 'must be an integer'],
    [`${coordinate}2 2 2\n1 1 1      \n`, 'has 2 entries, but there are only 1'],
    [`${coordinate}2 2 1\n1 1 1\n2 2 2\n`, 'has 1 entries, but there are more'],
    [`${coordinate}2 2 1\n1 1\n`, /line 3: the entry is missing/],
    [`${array}1000000000 1000000000\n1\n`, 'bytes follow: it is not complete'],
    [`${array}2 2\n1\n2\n3000\n`, 'has 4 elements, but there are only 3'],
    [`${array}1 1\n1\n2\n`, 'has 1 elements, but there are more'],
    [
      '%%MatrixMarket matrix array integer skew-symmetric\n2 2\n-2147483648\n',
      'line 3: the entry −2^31 has no negative in int32',
    ],
    [`${array}1 1\n3000000000\n`, "but it is 3000000000: read it with dtype: 'float64'"],
    ['%%MatrixMarket matrix array real symmetric\n2 3\n1\n', 'a symmetric matrix is square'],
  ])('rejects %j', async (text, message) => {
    await expect(readMatrix(file('.mtx', Buffer.from(text, 'latin1')))).rejects.toEqual(
      coded('FILE', message),
    )
  })

  it('reads integers beyond int32 as float64, and −2^31 where it has a negative', async () => {
    const large = file('.mtx', `${coordinate}1 2 2\n1 1 3000000000\n1 2 -2147483648\n`)
    expect(shown(await readMatrix(large, { dtype: 'float64' })).rows).toEqual([[3000000000, -2147483648]])
    const skew = file('.mtx', '%%MatrixMarket matrix array integer skew-symmetric\n2 2\n-2147483648\n')
    expect(shown(await readMatrix(skew, { dtype: 'float64' })).rows).toEqual([
      [0, 2147483648],
      [-2147483648, 0],
    ])
  })

  it('rejects a matrix that exceeds the memory before it allocates any', async () => {
    const text = '%%MatrixMarket matrix coordinate real general\n2000000000 2000000000 1\n1 1 1\n'
    await expect(readMatrix(file('.mtx', text))).rejects.toEqual(
      coded('OUT_OF_MEMORY', 'readEntries reads a sparse file'),
    )
  })
})
