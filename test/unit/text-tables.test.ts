/** CSV and TSV files: known values are read, written, and rejected. */
import { describe, expect, it } from 'vitest'
import { readMatrix } from '../../lib/files.js'
import { EPSILON } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'
import { shown, temporaryFiles } from '../support/matrix-files.js'

const { file } = temporaryFiles()
const E = EPSILON
const inf = Number.POSITIVE_INFINITY

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
  ])('are read: %s', async (_, text, rows, type) => {
    expect(shown(await readMatrix(file('.csv', text)))).toEqual({ type, rows })
    expect(shown(await readMatrix(file('.tsv', text)))).toEqual({ type, rows })
  })

  it('are read with the zero of other semirings', async () => {
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
  ])('are rejected: %j', async (text, message) => {
    await expect(readMatrix(file('.csv', text))).rejects.toEqual(coded('FILE', message))
  })

  it('are read with headings of any length, which are skipped', async () => {
    // The first 1000 characters end with the last comma.
    const names = `${'name,'.repeat(200)}name`
    const row = `${'7,'.repeat(200)}7`
    expect((await readMatrix(file('.csv', `${names}\n${row}\n`))).shape).toEqual([1, 201])
  })

  it('are rejected if they are binary without a line break', async () => {
    const path = file('.csv', Buffer.alloc(3 << 20, 0xff))
    await expect(readMatrix(path)).rejects.toEqual(coded('FILE', 'line 1'))
  })
})

describe('decimal numbers', () => {
  const read = async (words: string[]) =>
    (await readMatrix(file('.csv', `${words.join('\n')}\n0.5\n`))).data.slice(0, words.length)

  it('are read like in JavaScript, in all lengths and exponents', async () => {
    const random = new Random(4)
    const digits = (most: number) =>
      Array.from({ length: random.integer(0, most) }, () => random.integer(0, 9)).join('')
    const words = Array.from({ length: 40_000 }, () => {
      const whole = `${random.integer(0, 9)}${digits(22)}`
      const rest = `${random.pick(['', '.', `.${digits(22)}`])}${random.pick(['', `e${random.integer(-345, 280)}`])}`
      return `${random.pick(['', '-'])}${whole}${rest || (BigInt(whole) > 2n ** 53n ? '.' : '')}`
    })
    expect(await read(words)).toEqual(Float64Array.from(words, Number))
  })

  it('keep integers exact, or are rejected', async () => {
    const random = new Random(5)
    const most = 10n ** 25n
    const words = Array.from({ length: 300 }, () => {
      const power = 1n << BigInt(random.integer(50, 80))
      return String(power + BigInt(random.integer(-3, 3)))
    })
    const isHeld = (word: string) => BigInt(Number(word)) === BigInt(word)
    expect(words.filter(isHeld).length).toBeGreaterThan(50)
    expect(await read(words.filter(isHeld))).toEqual(Float64Array.from(words.filter(isHeld), Number))
    for (const word of [...new Set(words), `-${2n ** 53n + 1n}`, `+000${most + 1n}`, '9'.repeat(60)]) {
      if (isHeld(word)) continue
      await expect(readMatrix(file('.csv', `1\n${word}\n`))).rejects.toEqual(
        coded(
          'FILE',
          `line 2: cell 1 must be a number that float64 holds, but it is '${word}', an integer beyond 2^53`,
        ),
      )
    }
    for (const real of ['9007199254740993.', '9007199254740993.0', '9007199254740993e0', '1e23'])
      expect(await read([real])).toEqual(Float64Array.of(Number(real)))
  })

  it('are rounded correctly in the middle of two floats, and next to it', async () => {
    const halfway = '1.00000000000000011102230246251565404236316680908203125'
    const words = [
      halfway,
      `${halfway}1`,
      halfway.replace(/5$/, '4'),
      '9007199254740993.',
      '9007199254740995.0',
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

describe('points that may separate thousands', () => {
  it.each([
    ['a.csv', '7;1,000\n2,500;3\n', "line 1: the decimal point must be clear, but '1,000' may be 1000 or 1"],
    ['b.tsv', '7\t-1,250\n', "'1,250' may be 1250 or 1.25"],
  ])('are rejected in %s: %j', async (name, text, message) => {
    await expect(readMatrix(file(name, text))).rejects.toEqual(coded('FILE', message))
  })

  it('are decimal points next to other numbers that decide it', async () => {
    expect([...(await readMatrix(file('c.csv', '1,000;0,5\n2,25;3\n'))).data]).toEqual([1, 0.5, 2.25, 3])
    expect([...(await readMatrix(file('d.tsv', '1.000\t2.125\n'))).data]).toEqual([1, 2.125])
    expect((await readMatrix(file('e.tsv', '1,5\t2,25\n'))).shape).toEqual([1, 2])
  })
})
