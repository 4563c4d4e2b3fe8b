/**
 * Matrices in files of all formats: what is read, with known values, what is written, and what is refused. The fixtures were
 * made by SciPy 1.17 and NumPy 2.4, or are typed out here from the formats' descriptions.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync, gunzipSync, gzipSync, crc32 as systemCrc32 } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { tableCrc32 } from '../../lib/files/npz.js'
import {
  formatNpy,
  npzNames,
  readCsv,
  readDimacs,
  readMatrix,
  readMatrixMarket,
  readNpz,
  readTsv,
  writeCsv,
  writeDimacs,
  writeMatrix,
  writeMatrixMarket,
  writeNpz,
  writeTsv,
} from '../../lib/files.js'
import { type DenseMatrix, EPSILON, type Matrix, matrix } from '../../lib/index.js'
import type { ElementArray } from '../../lib/storage.js'
import { Random } from '../support/generators.js'

const folder = mkdtempSync(join(tmpdir(), 'mpmml-files-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
/** A file of this content. */
function file(ending: string, content: string | Uint8Array): string {
  const path = join(folder, `${files++}${ending}`)
  writeFileSync(path, content)
  return path
}
const fresh = (ending: string) => join(folder, `${files++}${ending}`)

/** The rows of a matrix, and its type. */
function shown({ data, shape, strides, offset = 0 }: Matrix<ElementArray>) {
  const [rows, cols] = shape.slice(-2) as [number, number]
  const [down, right] = strides ? (strides.slice(-2) as [number, number]) : [cols, 1]
  return {
    type: data.constructor.name,
    rows: Array.from({ length: rows }, (_, i) =>
      Array.from({ length: cols }, (_, j) => data[offset + i * down + j * right]),
    ),
  }
}

const refusal = (code: string, message: string | RegExp) =>
  expect.objectContaining({
    code: `ERR_MPMML_${code}`,
    message: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  })

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
  ])('%s', async (_, text, rows, type) => {
    expect(shown(await readMatrix(file('.mtx', text)))).toEqual({ type, rows })
  })

  it('what is missing is the zero of the semiring, and ⊕ joins several entries of one place', async () => {
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

  it('an integer that is too large is named as it is written', async () => {
    const large = file(
      '.mtx',
      '%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9223372036854775813\n',
    )
    await expect(readMatrix(large, { dtype: 'float64' })).rejects.toEqual(
      refusal('FILE', 'but it is 9223372036854775813'),
    )
  })

  it('a NaN stays, whatever it is joined with', async () => {
    const text = '%%MatrixMarket matrix coordinate real general\n1 2 4\n1 1 nan\n1 1 3\n1 2 3\n1 2 nan\n'
    expect(shown(await readMatrix(file('.mtx', text))).rows).toEqual([[Number.NaN, Number.NaN]])
  })

  it('other element types, exactly or not at all', async () => {
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
      refusal('DTYPE', 'has real numbers, but or-and has only bytes'),
    )
    const fraction = file('.mtx', '%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 0.1\n')
    await expect(readMatrix(fraction, { dtype: 'int32' })).rejects.toEqual(
      refusal('FILE', 'the value at index [1, 0] is 0.1, but int32 holds only integers'),
    )
    expect((await readMatrix(fraction, { dtype: 'float32' })).data[2]).toBe(Math.fround(0.1))
    const large = file('.mtx', '%%MatrixMarket matrix array integer general\n1 1\n16777217\n')
    await expect(readMatrix(large, { dtype: 'float32' })).rejects.toEqual(
      refusal('FILE', 'float32 would change it'),
    )
    const beyond = file('.mtx', '%%MatrixMarket matrix array integer general\n1 1\n2147483648\n')
    await expect(readMatrix(beyond)).rejects.toEqual(refusal('FILE', 'line 3: the element must be from'))
    expect((await readMatrix(beyond, { dtype: 'float64' })).data[0]).toBe(2147483648)
  })

  const coordinate = '%%MatrixMarket matrix coordinate integer general\n'
  const array = '%%MatrixMarket matrix array integer general\n'
  it.each<[string, string | RegExp]>([
    ['', 'line 1: expected "%%MatrixMarket'],
    ['%%MatrixMarket matrix array pattern general\n', 'entries must be integer or real'],
    ['%%MatrixMarket matrix array complex general\n', "they are 'complex', which have no order"],
    ['%%MatrixMarket matrix elemental real general\n', 'must be coordinate or array'],
    [array, 'the line "ROWS COLUMNS" is missing'],
    [`${coordinate}1000000000000 1000000000000 1\n1 1 1\n`, 'the number of rows must be from 0'],
    [`${coordinate}2147483647 2147483647 2147483647\n1 1 1\n`, 'bytes follow'],
    [`${coordinate}-2 2 1\n1 1 1\n`, 'the number of rows must be from 0'],
    [`${coordinate}2 2 -1\n`, 'the number of entries must be from 0'],
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
    ['%%MatrixMarket matrix array real symmetric\n2 3\n1\n', 'a symmetric matrix is square'],
    [Buffer.from(`\ufeff${array}`, 'utf16le').toString('latin1'), 'UTF-16'],
  ])('refuses %j', async (text, message) => {
    await expect(readMatrix(file('.mtx', Buffer.from(text, 'latin1')))).rejects.toEqual(
      refusal('FILE', message),
    )
  })

  it('refuses a matrix that there is no memory for, before it allocates any', async () => {
    const text = '%%MatrixMarket matrix coordinate real general\n2000000000 2000000000 1\n1 1 1\n'
    await expect(readMatrix(file('.mtx', text))).rejects.toEqual(
      refusal('OUT_OF_MEMORY', 'readEntries reads a sparse file'),
    )
  })
})

describe('CSV and TSV', () => {
  it.each<[string, string, unknown[][], string]>([
    [
      'what numpy.savetxt writes',
      '1.500000000000000000e+00,-inf\nnan,4.000000000000000000e+00\n',
      [
        [1.5, -inf],
        [Number.NaN, 4],
      ],
      'Float64Array',
    ],
    [
      'integers',
      '1,-2\n3,4\n',
      [
        [1, -2],
        [3, 4],
      ],
      'Int32Array',
    ],
    [
      'the zero of the semiring, in all its names',
      '-inf,ε,.,-Infinity\n1,-∞,−∞,2',
      [
        [E, E, E, E],
        [1, E, E, 2],
      ],
      'Int32Array',
    ],
    ['headings and comments', '# made by hand\n"a";b\n1; 2\n\n# end\n', [[1, 2]], 'Int32Array'],
    [
      'blanks',
      '1  2\t3\n4 5 6\n',
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      'Int32Array',
    ],
    ['one column', '1\n2\n', [[1], [2]], 'Int32Array'],
    ['integers beyond int32 are float64', '2147483648,1\n', [[2147483648, 1]], 'Float64Array'],
    ['whole numbers with a point are float64', '2.0,1\n', [[2, 1]], 'Float64Array'],
    ['the other infinity is float64', 'inf,-inf\n', [[inf, -inf]], 'Float64Array'],
  ])('%s', async (_, text, rows, type) => {
    expect(shown(await readMatrix(file('.csv', text)))).toEqual({ type, rows })
    expect(shown(await readMatrix(file('.tsv', text)))).toEqual({ type, rows })
  })

  it('the zero of other semirings', async () => {
    const text = '1,.\n0,ε\n'
    const read = async (semiring: 'min-plus' | 'max-times' | 'or-and' | 'min-max') =>
      (await readMatrix(file('.csv', text), { semiring })).data
    expect(await read('min-plus')).toEqual(Int32Array.of(1, 2147483647, 0, 2147483647))
    expect(await read('min-max')).toEqual(Int32Array.of(1, 2147483647, 0, 2147483647))
    expect(await read('max-times')).toEqual(Float64Array.of(1, 0, 0, 0))
    expect(await read('or-and')).toEqual(Uint8Array.of(1, 0, 0, 0))
    expect((await readMatrix(file('.csv', 'inf,1\n'), { semiring: 'min-plus' })).data).toEqual(
      Int32Array.of(2147483647, 1),
    )
  })

  it.each<[string, string]>([
    ['', 'it has no row'],
    ['a,b\n', 'it has no row'],
    ['1,2\n3\n', 'line 2: this row has 1 cell, but the first row has 2'],
    ['1,2\n3,4,5\n', 'line 2: this row has 3 cells'],
    ['1,,2\n', 'line 1: cell 2 is empty'],
    ['1,2,\n', 'line 1: cell 3 is empty'],
    [',1\n', 'line 1: cell 1 is empty'],
    [',a,b\n0,1,2\n', 'leave out names of rows and columns (in pandas by index=False, header=False)'],
    ['1,"2"\n', 'line 1: cell 2 is a text'],
    ['"1","2"\n3,4\n', 'line 1: cell 1 is a text'],
    ['1,2\n3,x\n', "line 2: cell 2 must be a number, but it is 'x'"],
    ['1,5 000\n', "expected ',' or the end of the line"],
    ['1,1e999\n', 'beyond the range of numbers'],
    [`1,${'9'.repeat(3000)}\n`, 'beyond the range of numbers'],
    ['1,--inf\n', 'must be a number'],
    ['1,2\r3,4\r', 'line 1: a carriage return without a line break'],
    ['1,2\n\r3,4\n', 'line 2: a carriage return without a line break'],
  ])('refuses %j', async (text, message) => {
    await expect(readMatrix(file('.csv', text))).rejects.toEqual(refusal('FILE', message))
  })

  it('headings of any length are skipped', async () => {
    // 1000 characters end behind the last comma.
    const names = `${'name,'.repeat(200)}name`
    const row = `${'7,'.repeat(200)}7`
    expect((await readMatrix(file('.csv', `${names}\n${row}\n`))).shape).toEqual([1, 201])
  })

  it('lines may end as on Windows, with more than one carriage return too', async () => {
    expect((await readMatrix(file('.csv', '1,2\r\n\r\n3,4 \r\r\n'))).data).toEqual(Int32Array.of(1, 2, 3, 4))
  })

  it('refuses bytes without a line break that are no text', async () => {
    const path = file('.csv', Buffer.alloc(3 << 20, 0xff))
    await expect(readMatrix(path)).rejects.toEqual(refusal('FILE', 'line 1'))
  })
})

describe('decimal numbers', () => {
  const read = async (words: string[]) =>
    (await readMatrix(file('.csv', `${words.join('\n')}\n0.5\n`))).data.slice(0, words.length)

  it('of all lengths and exponents are what JavaScript makes of them', async () => {
    const random = new Random(4)
    const digits = (most: number) =>
      Array.from({ length: random.integer(0, most) }, () => random.integer(0, 9)).join('')
    const words = Array.from({ length: 40_000 }, () => {
      const mantissa = `${random.integer(0, 9)}${digits(22)}${random.pick(['', '.', `.${digits(22)}`])}`
      return `${random.pick(['', '-'])}${mantissa}${random.pick(['', `e${random.integer(-345, 280)}`])}`
    })
    expect(await read(words)).toEqual(Float64Array.from(words, Number))
  })

  it('in the middle of two floats, and beside it, are rounded right', async () => {
    const halfway = '1.00000000000000011102230246251565404236316680908203125'
    const words = [
      halfway,
      `${halfway}1`,
      halfway.replace(/5$/, '4'),
      '9007199254740993',
      '9007199254740995',
      '90071992547409930e-1',
      '9007199254740993.00000000000001',
      '2.2250738585072011e-308',
      '2.4703282292062327e-324',
      '2.4703282292062328e-324',
      '8.5e22',
      '1e23',
      '00000000000000000000000000000000000000000.1',
      '0.0000000000000000000000000000000000000000000000012345678901234567',
      `${'0'.repeat(1000)}1.5`,
      `1.${'3'.repeat(1500)}`,
      '0e999999999',
      '1e-999999999',
    ]
    expect(await read(words)).toEqual(Float64Array.from(words, Number))
  })
})

describe('DIMACS', () => {
  it('arcs, the better of two, and the zero for the others', async () => {
    const path = file('.gr', 'c x\np sp 2 3\na 1 2 5\na 1 2 3\na 2 2 -1\n')
    expect(shown(await readMatrix(path, { semiring: 'min-plus' })).rows).toEqual([
      [2147483647, 3],
      [2147483647, -1],
    ])
    expect(shown(await readMatrix(path)).rows).toEqual([
      [E, 5],
      [E, -1],
    ])
  })

  it('takes what generators write: a title, and the node that paths begin at', async () => {
    // As those of the library SPLIB write them, sprand for one.
    const path = file('.gr', 'c random\nt rd_4_3_1\np  sp    3    2\n\nn      2\na   1 2   5\na   2 3  -7\n')
    expect(shown(await readMatrix(path)).rows).toEqual([
      [E, 5, E],
      [E, E, -7],
      [E, E, E],
    ])
  })

  it.each<[string, string]>([
    ['p sp 2 0\nn 3\n', 'line 2: the node that paths begin at must be from 1 to 2'],
    ['n 1\np sp 2 0\n', 'line 1: a node comes before the line "p sp NODES ARCS"'],
    ['p max 2 0\n', 'a shortest-path problem'],
    ['p sp 2 1\ne 1 2\n', 'a line must begin with a, p, n, t or c'],
  ])('refuses %j', async (text, message) => {
    await expect(readMatrix(file('.gr', text))).rejects.toEqual(refusal('FILE', message))
  })

  it('refuses weights that no file can hold', async () => {
    await expect(writeMatrix(fresh('.gr'), matrix(1, 1, Float64Array.of(0.5)))).rejects.toEqual(
      refusal('FILE', 'at index [0, 0] there is 0.5'),
    )
    await expect(writeMatrix(fresh('.gr'), matrix(1, 2))).rejects.toEqual(refusal('SHAPE', 'square'))
  })
})

describe('gzip', () => {
  const text = '%%MatrixMarket matrix array integer general\n2 1\n5\n6\n'
  it('text, whatever the name is, and in several members', async () => {
    for (const ending of ['.mtx.gz', '.mtx', '.MTX.GZ']) {
      expect((await readMatrix(file(ending, gzipSync(text)))).data).toEqual(Int32Array.of(5, 6))
    }
    const members = Buffer.concat([gzipSync(text.slice(0, 50)), gzipSync(text.slice(50))])
    expect((await readMatrix(file('.mtx.gz', members))).data).toEqual(Int32Array.of(5, 6))
  })

  it('refuses what is truncated, damaged or not compressed', async () => {
    const long = gzipSync(`${text}${'% comment\n'.repeat(1000)}`)
    await expect(readMatrix(file('.mtx.gz', long.subarray(0, -12)))).rejects.toEqual(
      refusal('FILE', "can't be decompressed: it is truncated"),
    )
    const damaged = Buffer.from(long)
    damaged[damaged.length - 6]! ^= 1
    await expect(readMatrix(file('.mtx.gz', damaged))).rejects.toEqual(refusal('FILE', 'it is damaged'))
    await expect(readMatrix(file('.mtx.gz', text))).rejects.toEqual(refusal('FILE', "doesn't begin as such"))
    await expect(readMatrix(file('.npy.gz', gzipSync(text)))).rejects.toEqual(
      refusal('FILE', 'only text is compressed by gzip'),
    )
  })

  it('a count that no file of this size can have needs no memory', async () => {
    const lie = gzipSync('%%MatrixMarket matrix array real general\n40000 40000\n1\n')
    await expect(readMatrix(file('.mtx.gz', lie))).rejects.toEqual(refusal('FILE', 'bytes follow'))
  })

  it('a bomb of one line is refused, and no more than a line of it is in memory', async () => {
    const bomb = gzipSync(Buffer.alloc(600 << 20, '1'))
    const before = process.memoryUsage.rss()
    await expect(readMatrix(file('.csv.gz', bomb))).rejects.toEqual(refusal('FILE', 'the line has more than'))
    expect(process.memoryUsage.rss() - before).toBeLessThan(550 << 20)
  }, 60_000)
})

describe('.npz', () => {
  /** numpy.savez(a=int32 [[1, 2], [3, 4]], b=float64 [[.5, 1.5]]) */
  const stored = Buffer.from(
    'UEsDBC0AAAAAAAAAIQB7yGF8//////////8FABQAYS5ucHkBABAAkAAAAAAAAACQAAAAAAAAAJNOVU1QWQEAdgB7J2Rlc2NyJzogJzxpNCcsICdmb3J0cmFuX29yZGVyJzogRmFsc2UsICdzaGFwZSc6ICgyLCAyKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAKAQAAAAIAAAADAAAABAAAAFBLAwQtAAAAAAAAACEAUZ2vu///////////BQAUAGIubnB5AQAQAJAAAAAAAAAAkAAAAAAAAACTTlVNUFkBAHYAeydkZXNjcic6ICc8ZjgnLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoMSwgMiksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgCgAAAAAAAOA/AAAAAAAA+D9QSwECLQMtAAAAAAAAACEAe8hhfJAAAACQAAAABQAAAAAAAAAAAAAAgAEAAAAAYS5ucHlQSwECLQMtAAAAAAAAACEAUZ2vu5AAAACQAAAABQAAAAAAAAAAAAAAgAHHAAAAYi5ucHlQSwUGAAAAAAIAAgBmAAAAjgEAAAAA',
    'base64',
  )
  /** numpy.savez_compressed(a=big-endian int64, f=float32 in Fortran order, bits=bool) */
  const compressed = Buffer.from(
    'UEsDBC0AAAAIAAAAIQAyq7+a//////////8FABQAYS5ucHkBABAAoAAAAAAAAABSAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6XaaGuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GkY6CkaaOgq1CmQDLgYIYITSTFCaGUqzAABQSwMELQAAAAgAAAAhALJn3SP//////////wUAFABmLm5weQEAEACYAAAAAAAAAFcAAAAAAAAAm+wX6hsQychQxlCtnpJanFykbqWgbpNmoq6joJ6WX1RSlJgXn1+UkgoSDykqTQUKF2ckFqQCuRpGOgrGmjoKtQrkAy4GhgZ7IHZgYGAA4gVA7ADEBxwAUEsDBC0AAAAIAAAAIQAQGToZ//////////8IABQAYml0cy5ucHkBABAAggAAAAAAAABIAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loF6TZKiuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GoY6CkaaOgq1CmQDLkYGAFBLAQItAy0AAAAIAAAAIQAyq7+aUgAAAKAAAAAFAAAAAAAAAAAAAACAAQAAAABhLm5weVBLAQItAy0AAAAIAAAAIQCyZ90jVwAAAJgAAAAFAAAAAAAAAAAAAACAAYkAAABmLm5weVBLAQItAy0AAAAIAAAAIQAQGToZSAAAAIIAAAAIAAAAAAAAAAAAAACAARcBAABiaXRzLm5weVBLBQYAAAAAAwADAJwAAACZAQAAAAA=',
    'base64',
  )

  it("NumPy's, stored and compressed", async () => {
    const { a, b } = await readNpz(file('.npz', stored))
    expect([shown(a!), shown(b!)]).toEqual([
      {
        type: 'Int32Array',
        rows: [
          [1, 2],
          [3, 4],
        ],
      },
      { type: 'Float64Array', rows: [[0.5, 1.5]] },
    ])
    const all = await readNpz(file('.npz', compressed))
    expect(Object.entries(all).map(([name, found]) => [name, shown(found)])).toEqual([
      [
        'a',
        {
          type: 'Int32Array',
          rows: [
            [1, 2],
            [3, 4],
          ],
        },
      ],
      [
        'f',
        {
          type: 'Float32Array',
          rows: [
            [1, 2, 3],
            [4, 5, 6],
          ],
        },
      ],
      ['bits', { type: 'Uint8Array', rows: [[1, 0]] }],
    ])
    expect(await npzNames(file('.npz', compressed))).toEqual(['a', 'f', 'bits'])
  })

  it('one array of several, by its name', async () => {
    const path = file('.npz', compressed)
    expect(shown(await readMatrix(path, { array: 'bits' })).rows).toEqual([[1, 0]])
    expect(Object.keys(await readNpz(path, { arrays: ['f'] }))).toEqual(['f'])
    expect((await readMatrix(path, { array: 'a', dtype: 'uint8' })).data).toEqual(Uint8Array.of(1, 2, 3, 4))
    await expect(readMatrix(path)).rejects.toEqual(refusal('FILE', "FILE.npz:NAME: 'a', 'f' or 'bits'"))
    await expect(readMatrix(path, { array: 'x' })).rejects.toEqual(
      refusal('FILE', "there is no array 'x': it has 'a', 'f' or 'bits'"),
    )
    await expect(readMatrix(file('.mtx', ''), { array: 'x' })).rejects.toEqual(
      refusal('OPTION', 'in a .npz file'),
    )
  })

  it('round trips, of names that objects have too', async () => {
    const arrays = {
      one: matrix(1, 2, [E, 7]),
      two: matrix([2, 1, 2], Float32Array.of(0.5, -inf, Number.NaN, -0)),
      ['__proto__']: matrix(1, 1, Uint8Array.of(255)),
      empty: matrix(0, 3),
      strided: { data: Int32Array.of(1, 2, 3, 4), shape: [2, 2], strides: [1, 2] } as Matrix,
    }
    for (const compress of [false, true]) {
      const path = fresh('.npz')
      await writeNpz(path, arrays, { compress })
      const back = await readNpz(path)
      expect(Object.keys(back)).toEqual(Object.keys(arrays))
      expect(back.one!.data).toEqual(arrays.one.data)
      expect(back.two).toMatchObject({ data: arrays.two.data, shape: [2, 1, 2] })
      expect(Object.getOwnPropertyDescriptor(back, '__proto__')!.value.data).toEqual(Int32Array.of(255))
      expect(back.empty!.shape).toEqual([0, 3])
      expect(back.strided!.data).toEqual(Int32Array.of(1, 3, 2, 4))
    }
  })

  it('the same arrays make the same file', async () => {
    const [one, two] = [fresh('.npz'), fresh('.npz')]
    for (const path of [one, two]) await writeMatrix(path, matrix(2, 2), { array: 'a' })
    expect(readFileSync(one)).toEqual(readFileSync(two))
  })

  it.each(['', '/etc/passwd', 'a\\b', '../a', 'a\nb'])('refuses the name %j', async (name) => {
    await expect(writeNpz(fresh('.npz'), { [name]: matrix(1, 1) })).rejects.toEqual(
      refusal('OPTION', 'the name of an array'),
    )
  })

  /** An archive of one file, whose central directory may say what isn't true. */
  function archive(
    name: string,
    content: Uint8Array,
    lies: { method?: number; size?: number; crc?: number; flags?: number; twice?: boolean } = {},
  ): Buffer {
    const method = lies.method ?? 8
    const packed = method === 8 ? deflateRawSync(content) : Buffer.from(content)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(lies.flags ?? 0, 2)
    fields.writeUInt16LE(method, 4)
    fields.writeUInt32LE(lies.crc ?? tableCrc32(content, 0), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(lies.size ?? content.length, 18)
    fields.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), packed])
    const central = (named: string) => {
      const head = Buffer.alloc(46)
      head.write('PK\x01\x02')
      fields.copy(head, 6)
      return Buffer.concat([head, Buffer.from(named)])
    }
    const directory = Buffer.concat(
      lies.twice ? [central(name), central(`b${name.slice(1)}`)] : [central(name)],
    )
    const end = Buffer.alloc(22)
    end.write('PK\x05\x06')
    end.writeUInt16LE(lies.twice ? 2 : 1, 8)
    end.writeUInt16LE(lies.twice ? 2 : 1, 10)
    end.writeUInt32LE(directory.length, 12)
    end.writeUInt32LE(local.length, 16)
    return Buffer.concat([local, directory, end])
  }

  const npy = Buffer.from(formatNpy(matrix(2, 2, [1, 2, 3, 4])))

  it('an archive made by hand is read', async () => {
    expect((await readMatrix(file('.npz', archive('a.npy', npy)))).data).toEqual(Int32Array.of(1, 2, 3, 4))
    expect((await readMatrix(file('.npz', archive('a.npy', npy, { method: 0 })))).data[3]).toBe(4)
  })

  const claiming = (shape: string) =>
    Buffer.from(
      `\x93NUMPY\x01\x00\x76\x00${`{'descr': '<i4', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(117)}\n`,
      'latin1',
    )

  it.each<[string, Buffer, string | RegExp]>([
    ['no archive', Buffer.from('PK and so on'), 'it is no .npz file'],
    ['nothing', Buffer.alloc(0), 'it is no .npz file'],
    ['no array', archive('readme.txt', npy), /expected one array, but the file has 0/],
    ['a wrong checksum', archive('a.npy', npy, { crc: 1 }), 'its checksum is another one'],
    [
      'more bytes than it says',
      archive('a.npy', npy, { size: npy.length - 4 }),
      /too many bytes|truncated|trailing/,
    ],
    [
      'fewer bytes than it says',
      archive('a.npy', npy, { size: npy.length + 4 }),
      /not enough bytes|trailing/,
    ],
    [
      "a size that deflate can't make",
      archive('a.npy', npy, { size: 4_000_000_000 }),
      'more than deflate can make',
    ],
    ['another method', archive('a.npy', npy, { method: 12 }), 'method 12'],
    ['encryption', archive('a.npy', npy, { flags: 1 }), 'encrypted'],
    [
      '10^12 × 10^12 elements',
      archive('a.npy', claiming('(1000000000000, 1000000000000)')),
      'dimensions of 0',
    ],
    ['a negative size', archive('a.npy', claiming('(-1, 2)')), 'dimensions of 0'],
    ['more elements than bytes', archive('a.npy', claiming('(46340, 46340)')), 'it is truncated'],
    ['a vector', archive('a.npy', claiming('(0,)')), 'a.reshape(1, -1)'],
    ['no header', archive('a.npy', Buffer.from('\x93NUM', 'latin1')), 'expected a NumPy .npy file'],
    ['half a header', archive('a.npy', claiming('(1, 1)').subarray(0, 60)), 'ends within its header'],
    ['an empty array file', archive('a.npy', Buffer.alloc(0), { method: 0 }), 'it is empty'],
  ])('refuses %s', async (_, bytes, message) => {
    await expect(readMatrix(file('.npz', bytes))).rejects.toEqual(refusal('FILE', message))
  })

  it.each([
    ['the directory, which no number holds', 0x0fffffff_ffffff00n],
    ['the directory, which a number holds', 1n << 52n],
  ])('refuses a place of %s beyond the end of the file', async (_, place) => {
    const whole = archive('a.npy', npy)
    const [front, end] = [whole.subarray(0, -22), whole.subarray(-22)]
    const locator = Buffer.alloc(20)
    locator.writeUInt32LE(0x07064b50, 0)
    locator.writeBigUInt64LE(place, 8)
    const far = file('.npz', Buffer.concat([front, locator, end]))
    await expect(readMatrix(far)).rejects.toEqual(refusal('FILE', 'it is no .npz file, or a damaged one'))
    const directory = Buffer.alloc(56)
    directory.writeUInt32LE(0x06064b50, 0)
    directory.writeBigUInt64LE(1n, 32)
    directory.writeBigUInt64LE(place, 48)
    locator.writeBigUInt64LE(BigInt(front.length), 8)
    const lying = file('.npz', Buffer.concat([front, directory, locator, end]))
    await expect(npzNames(lying)).rejects.toEqual(refusal('FILE', 'it is no .npz file, or a damaged one'))
  })

  it('refuses entries that lie on each other: a small file would be many large arrays', async () => {
    const content = Buffer.from(formatNpy(matrix(100, 100)))
    const path = file('.npz', archive('a.npy', content, { method: 0, twice: true }))
    await expect(readNpz(path)).rejects.toEqual(refusal('FILE', 'the file is damaged'))
    expect(Object.keys(await readNpz(path, { arrays: ['a', 'a'] }))).toEqual(['a'])
  })

  it('refuses a file truncated at any byte', async () => {
    for (let length = 0; length < stored.length; length++) {
      await expect(readNpz(file('.npz', stored.subarray(0, length)))).rejects.toMatchObject({
        code: 'ERR_MPMML_FILE',
      })
    }
  })

  it('a byte that is changed gives an error or the same numbers, never others', async () => {
    const random = new Random(8)
    for (let round = 0; round < 300; round++) {
      const bytes = Buffer.from(compressed)
      bytes[random.integer(0, bytes.length - 1)]! ^= 1 << random.integer(0, 7)
      const found = await readNpz(file('.npz', bytes), { arrays: ['a'] }).catch((error) => error)
      if (found instanceof Error) expect(found).toMatchObject({ code: 'ERR_MPMML_FILE' })
      else expect([...found.a.data]).toEqual([1, 2, 3, 4])
    }
  })

  it('its checksum is that of zip archives', () => {
    expect(tableCrc32(Buffer.from('123456789'), 0)).toBe(0xcbf43926)
    expect(tableCrc32(Buffer.from('56789'), tableCrc32(Buffer.from('1234'), 0))).toBe(0xcbf43926)
    expect(systemCrc32?.('123456789') ?? 0xcbf43926).toBe(0xcbf43926)
  })
})

describe('round trips', () => {
  const random = new Random(5)
  const value: Record<string, () => number> = {
    int32: () => random.pick([E, E + 1, -1, 0, 1, 2147483647, random.integer(-999, 999)]),
    float32: () => random.pick([-inf, inf, -0, Math.fround(0.1), 2 ** -149, random.integer(-9, 9)]),
    float64: () => random.pick([-inf, inf, -0, 0.1, 5e-324, -1.7976931348623157e308, 1e21, 2 / 3, 4]),
    uint8: () => random.pick([0, 0, 1, 255]),
  }
  const make = (dtype: keyof typeof value, rows: number, cols: number): DenseMatrix<ElementArray> => {
    const values = Array.from({ length: rows * cols }, value[dtype]!)
    const array = { int32: Int32Array, float32: Float32Array, float64: Float64Array, uint8: Uint8Array }
    return matrix(rows, cols, array[dtype as 'int32'].from(values)) as DenseMatrix<ElementArray>
  }

  for (const dtype of ['int32', 'float32', 'float64', 'uint8'] as const) {
    it.each(['.npy', '.npz', '.mtx', '.csv', '.tsv', '.mtx.gz', '.csv.gz'])(
      `${dtype} in %s`,
      async (ending) => {
        for (const [rows, cols] of [
          [7, 5],
          [1, 300],
          [300, 1],
        ] as const) {
          const original = make(dtype, rows, cols)
          const path = fresh(ending)
          await writeMatrix(path, original)
          const back = await readMatrix(path, { dtype })
          expect(shown(back)).toEqual(shown(original))
          // Of floats, a text file keeps that they are: float64 holds float32.
          const unasked = await readMatrix(path, dtype === 'uint8' ? { semiring: 'or-and' } : {})
          const float = dtype === 'float32' && !/np[yz]$/.test(ending) ? 'float64' : dtype
          expect(unasked.data.constructor.name.toLowerCase()).toBe(`${float}array`)
        }
      },
    )
  }

  it('int32 in .gr, and of min-plus', async () => {
    const original = make('int32', 9, 9)
    for (const semiring of ['max-plus', 'min-plus'] as const) {
      for (const ending of ['.gr', '.gr.gz', '.csv', '.mtx']) {
        const path = fresh(ending)
        await writeMatrix(path, original, { semiring })
        expect(shown(await readMatrix(path, { semiring }))).toEqual(shown(original))
      }
    }
  })

  it('by the names of the formats, whatever the name of the file is', async () => {
    const original = matrix(2, 2, [E, 5, -7, E])
    for (const [write, read] of [
      [writeMatrixMarket, readMatrixMarket],
      [writeCsv, readCsv],
      [writeTsv, readTsv],
      [writeDimacs, readDimacs],
    ] as const) {
      const path = fresh('.dat')
      await write(path, original)
      expect(shown(await read(path))).toEqual(shown(original))
    }
  })

  it('a matrix of more than one window', async () => {
    const original = make('float64', 400, 300)
    for (const ending of ['.mtx', '.csv.gz']) {
      const path = fresh(ending)
      await writeMatrix(path, original)
      expect((await readMatrix(path)).data.length).toBe(120_000)
      expect(shown(await readMatrix(path))).toEqual(shown(original))
    }
  })

  it('the text that is written', async () => {
    const text = async (
      ending: string,
      ...rest: Parameters<typeof writeMatrix> extends [unknown, ...infer R] ? R : never
    ) => {
      const path = fresh(ending)
      await writeMatrix(path, ...rest)
      return readFileSync(path, 'utf8')
    }
    expect(await text('.csv', matrix(2, 2, [1, E, 3, -4]))).toBe('1,-inf\n3,-4\n')
    expect(await text('.csv', matrix(1, 2, [1, E]), { semiring: 'min-plus' })).toBe(`1,${E}\n`)
    expect(await text('.tsv', matrix(1, 3, Float64Array.of(1, inf, 0.5)))).toBe('1.0\tinf\t0.5\n')
    expect(await text('.mtx', matrix(2, 2, [1, 2, 3, 4]))).toBe(
      '%%MatrixMarket matrix array integer general\n2 2\n1\n3\n2\n4\n',
    )
    expect(await text('.mtx', matrix(2, 2, [1, E, 3, 4]))).toBe(
      '%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 1\n2 1 3\n2 2 4\n',
    )
    expect(await text('.gr', matrix(2, 2, [E, 2, E, E]))).toBe('p sp 2 1\na 1 2 2\n')
    const compressed = fresh('.csv.gz')
    await writeMatrix(compressed, matrix(1, 1))
    expect(gunzipSync(readFileSync(compressed)).toString()).toBe('0\n')
  })
})

describe('conversion', () => {
  it('of typed files keeps the zero of the semiring', async () => {
    const path = fresh('.npy')
    await writeMatrix(path, matrix(1, 3, [E, 5, -5]))
    expect((await readMatrix(path, { dtype: 'float64' })).data).toEqual(Float64Array.of(-inf, 5, -5))
    expect((await readMatrix(path, { dtype: 'float64', semiring: 'min-plus' })).data[0]).toBe(E)
    expect((await readMatrix(path, { semiring: 'plus-times' })).data).toEqual(Float64Array.of(E, 5, -5))
    const floats = fresh('.npz')
    await writeMatrix(floats, { data: Float64Array.of(-inf, 1, 2, 3), shape: [2, 2], strides: [1, 2] })
    expect((await readMatrix(floats, { dtype: 'int32' })).data).toEqual(Int32Array.of(E, 2, 1, 3))
    const fractions = fresh('.npy')
    await writeMatrix(fractions, matrix([2, 1, 2], Float64Array.of(1, 2, 3, 0.5)))
    await expect(readMatrix(fractions, { dtype: 'int32' })).rejects.toEqual(
      refusal('FILE', 'the value at index [1, 0, 1] is 0.5'),
    )
  })
})

describe('options', () => {
  it('are checked', async () => {
    const path = file('.csv', '1\n')
    const wrong = async (options: object, message: string) =>
      expect(readMatrix(path, options)).rejects.toEqual(refusal('OPTION', message))
    await wrong({ form: 'csv' }, "there is no option 'form'")
    await wrong(
      { format: 'xls' },
      "option format must be 'npy', 'npz', 'matrix-market', 'csv', 'tsv' or 'dimacs'",
    )
    await wrong({ semiring: 'max' }, 'option semiring')
    await wrong({ dtype: 'int64' }, 'option dtype')
    await wrong({ onProgress: 5 }, 'option onProgress must be a function')
    await wrong({ signal: 5 }, 'option signal')
    await expect(readMatrix(path, { dtype: 'uint8', semiring: 'max-plus' })).rejects.toEqual(
      refusal('DTYPE', 'max-plus'),
    )
    await expect(readMatrix(join(folder, 'a.xls'))).rejects.toEqual(
      refusal('FILE', "must end with '.npy', '.npz', '.mtx', '.csv', '.tsv' or '.gr'"),
    )
    await expect(readMatrix(join(folder, 'none.csv'))).rejects.toEqual(refusal('FILE', 'ENOENT'))
    await expect(writeMatrix(fresh('.csv'), matrix(1, 1), { compress: true })).rejects.toEqual(
      refusal('OPTION', '.gz compresses a text file'),
    )
    await expect(writeMatrix(fresh('.npy'), matrix(1, 1), { array: 'a' })).rejects.toEqual(
      refusal('OPTION', 'option array is for .npz files only'),
    )
    await expect(writeMatrix(fresh('.csv'), matrix([1, 1, 1]))).rejects.toEqual(refusal('SHAPE', 'a batch'))
    await expect(writeMatrix(fresh('.csv'), matrix(0, 1))).rejects.toEqual(refusal('SHAPE', 'no cells'))
    await expect(writeMatrix(fresh('.csv'), 5 as never)).rejects.toEqual(refusal('DTYPE', 'matrix'))
  })

  it('maxBytes bounds what a file may become', async () => {
    const beyond = refusal('LIMIT', 'but the option maxBytes allows')
    const sparse = file('.mtx', '%%MatrixMarket matrix coordinate real general\n30000 30000 1\n1 1 1\n')
    await expect(readMatrix(sparse, { maxBytes: 1e6 })).rejects.toEqual(beyond)
    await expect(readMatrix(file('.gr', 'p sp 30000 0\n'), { maxBytes: 1e6 })).rejects.toEqual(beyond)
    const rows = file('.csv.gz', gzipSync('1,2,3,4,5\n'.repeat(100_000)))
    await expect(readMatrix(rows, { maxBytes: 1e6 })).rejects.toEqual(beyond)
    expect((await readMatrix(rows, { maxBytes: 2e6 })).data.length).toBe(500_000)
    for (const ending of ['.npy', '.npz', '.csv', '.mtx']) {
      const path = fresh(ending)
      await writeMatrix(path, matrix(50, 50), { compress: ending === '.npz' })
      await expect(readMatrix(path, { maxBytes: 9999 })).rejects.toEqual(beyond)
      expect((await readMatrix(path, { maxBytes: 10_000 })).data.length).toBe(2500)
    }
    const two = fresh('.npz')
    await writeNpz(two, { a: matrix(50, 50), b: matrix(50, 50) })
    await expect(readNpz(two, { maxBytes: 19_999 })).rejects.toEqual(beyond)
    expect(Object.keys(await readNpz(two, { maxBytes: 20_000 }))).toEqual(['a', 'b'])
    await expect(readMatrix(sparse, { maxBytes: -1 })).rejects.toEqual(refusal('OPTION', 'option maxBytes'))
  })

  it('a listener is told how far it is; if it throws, the work ends with that', async () => {
    const path = fresh('.csv')
    const large = matrix(3000, 500, new Float64Array(1_500_000).fill(0.123456789))
    const told: number[] = []
    await writeMatrix(path, large)
    await readMatrix(path, { onProgress: ({ done }) => told.push(done) })
    for (const done of told) expect(done).toBeGreaterThanOrEqual(0)
    expect([...told].sort((a, b) => a - b)).toEqual(told)
    expect(told.at(-1) ?? 1).toBe(1)
  })

  it('nothing is left of a file that is given up', async () => {
    const controller = new AbortController()
    const large = matrix(2000, 2000, new Float64Array(4_000_000).fill(0.5))
    for (const ending of ['.csv', '.mtx.gz', '.npz', '.npy']) {
      const before = readdirSync(folder)
      const path = fresh(ending)
      await expect(writeMatrix(path, large, { signal: AbortSignal.abort('enough') })).rejects.toMatchObject({
        code: 'ERR_MPMML_ABORTED',
        cause: 'enough',
      })
      const writing = writeMatrix(path, large, { signal: AbortSignal.timeout(5) })
      await expect(writing).rejects.toMatchObject({ code: 'ERR_MPMML_ABORTED' })
      expect(readdirSync(folder)).toEqual(before)
    }
    controller.abort()
    await expect(readMatrix(file('.csv', '1\n'), { signal: controller.signal })).rejects.toMatchObject({
      code: 'ERR_MPMML_ABORTED',
    })
  })

  it('a file that stood under the name stands there still if writing fails', async () => {
    const path = file('.gr', 'c precious\n')
    await expect(writeMatrix(path, matrix(1, 1, Float64Array.of(0.5)))).rejects.toEqual(
      refusal('FILE', '0.5'),
    )
    expect(readFileSync(path, 'utf8')).toBe('c precious\n')
  })
})
