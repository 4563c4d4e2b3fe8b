/** Matrices in files: behaviour of all formats, DIMACS, and compressed text. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { parseMatrix, readMatrix, readNpz, writeMatrix, writeNpz } from '../../lib/files.js'
import { type DenseMatrix, EPSILON, matrix } from '../../lib/index.js'
import type { ElementArray } from '../../lib/storage.js'
import { coded } from '../support/coded.js'
import { expectError } from '../support/expect.js'
import { Random } from '../support/generators.js'
import { errorsAfterAbort } from '../support/in-time.js'
import { shown, temporaryFiles } from '../support/matrix-files.js'

const { file, inFolder, fresh } = temporaryFiles()
const E = EPSILON
const inf = Number.POSITIVE_INFINITY

describe('DIMACS', () => {
  it('takes the better of two arcs, and the zero for missing ones', async () => {
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

  it('rejects weights that no file can hold', async () => {
    await expect(writeMatrix(fresh('.gr'), matrix(1, 1, Float64Array.of(0.5)))).rejects.toEqual(
      coded('FILE', 'at index [0, 0] there is 0.5'),
    )
    for (const weight of [2 ** 31, -(2 ** 31) - 1]) {
      const shown = `at index [0, 0] there is ${weight}`
      await expect(writeMatrix(fresh('.gr'), matrix(1, 1, Float64Array.of(weight)))).rejects.toEqual(
        coded('FILE', shown),
      )
    }
    await expect(writeMatrix(fresh('.gr'), matrix(1, 2))).rejects.toEqual(coded('SHAPE', 'square'))
  })
})

describe('gzip', () => {
  const text = '%%MatrixMarket matrix array integer general\n2 1\n5\n6\n'
  it('is recognized by content for any name, also in several members', async () => {
    for (const ending of ['.mtx.gz', '.mtx', '.MTX.GZ']) {
      expect((await readMatrix(file(ending, gzipSync(text)))).data).toEqual(Int32Array.of(5, 6))
    }
    const members = Buffer.concat([gzipSync(text.slice(0, 50)), gzipSync(text.slice(50))])
    expect((await readMatrix(file('.mtx.gz', members))).data).toEqual(Int32Array.of(5, 6))
  })

  it('is rejected if it is truncated, damaged or not compressed', async () => {
    const long = gzipSync(`${text}${'% comment\n'.repeat(1000)}`)
    await expect(readMatrix(file('.mtx.gz', long.subarray(0, -12)))).rejects.toEqual(
      coded('FILE', "can't be decompressed: it is truncated"),
    )
    const damaged = Buffer.from(long)
    damaged[damaged.length - 6]! ^= 1
    await expect(readMatrix(file('.mtx.gz', damaged))).rejects.toEqual(coded('FILE', 'it is damaged'))
    const first = gzipSync(text.slice(0, 50))
    const second = gzipSync(text.slice(50))
    for (const padding of [1, 512, 2 ** 21]) {
      // Zeros between members end the file for zlib.
      const apart = Buffer.concat([first, Buffer.alloc(padding), second])
      await expect(readMatrix(file('.mtx.gz', apart))).rejects.toEqual(coded('FILE', 'are no gzip'))
      const padded = Buffer.concat([first, second, Buffer.alloc(padding)])
      expect((await readMatrix(file('.mtx.gz', padded))).data).toEqual(Int32Array.of(5, 6))
    }
    const garbage = Buffer.concat([gzipSync(text), Buffer.from('garbage')])
    await expect(readMatrix(file('.mtx.gz', garbage))).rejects.toEqual(coded('FILE', 'it is damaged'))
    await expect(readMatrix(file('.mtx.gz', text))).rejects.toEqual(coded('FILE', "doesn't begin as such"))
    await expect(readMatrix(file('.npy.gz', gzipSync(text)))).rejects.toEqual(
      coded('FILE', 'only text is compressed by gzip'),
    )
  })

  it('needs no memory for a count that no file of this size can have', async () => {
    const lie = gzipSync('%%MatrixMarket matrix array real general\n40000 40000\n1\n')
    await expect(readMatrix(file('.mtx.gz', lie))).rejects.toEqual(coded('FILE', 'bytes follow'))
  })

  it('is rejected for a bomb of one line, with no more than a line of it in memory', async () => {
    const bomb = gzipSync(Buffer.alloc(600 << 20, '1'))
    const before = process.memoryUsage.rss()
    await expect(readMatrix(file('.csv.gz', bomb))).rejects.toEqual(coded('FILE', 'the line has more than'))
    expect(process.memoryUsage.rss() - before).toBeLessThan(550 << 20)
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
      `keep ${dtype} in %s`,
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
          // A text file of float32 values is read as float64, which represents every float32.
          const automatic = await readMatrix(path, dtype === 'uint8' ? { semiring: 'or-and' } : {})
          const float = dtype === 'float32' && !/np[yz]$/.test(ending) ? 'float64' : dtype
          expect(automatic.data.constructor.name.toLowerCase()).toBe(`${float}array`)
        }
      },
    )
  }

  it('keep int32 in .gr, also of min-plus', async () => {
    const original = make('int32', 9, 9)
    for (const semiring of ['max-plus', 'min-plus'] as const) {
      for (const ending of ['.gr', '.gr.gz', '.csv', '.mtx']) {
        const path = fresh(ending)
        await writeMatrix(path, original, { semiring })
        expect(shown(await readMatrix(path, { semiring }))).toEqual(shown(original))
      }
    }
  })

  it('take the format from the option, for any extension', async () => {
    const original = matrix(2, 2, [E, 5, -7, E])
    for (const format of ['matrix-market', 'csv', 'tsv', 'dimacs'] as const) {
      const path = fresh('.dat')
      await writeMatrix(path, original, { format })
      expect(shown(await readMatrix(path, { format }))).toEqual(shown(original))
      const bytes = readFileSync(path)
      for (const content of [bytes, bytes.toString()])
        expect(shown(parseMatrix(content, { format }))).toEqual(shown(original))
    }
    expect(() => parseMatrix('1,2\n3\n', { format: 'csv', name: 'it' })).toThrow(
      coded('FILE', 'it, line 2: '),
    )
    expect(() => parseMatrix('7', { format: 'csv', dtype: 'float64', maxBytes: 7 })).toThrow(coded('LIMIT'))
    const long = `${'1,2\n'.repeat(1e5)}x,y\n`
    expect(() => parseMatrix(long, { format: 'csv' })).toThrow(coded('FILE', 'line 100001'))
    expect(() => parseMatrix(long, { format: 'csv', maxBytes: 1e5 })).toThrow(coded('LIMIT'))
    expect(() => parseMatrix(new Uint8Array(8), { format: 'npy' as never })).toThrow(
      coded('OPTION', "option format must be 'matrix-market', 'csv', 'tsv' or 'dimacs'"),
    )
  })

  it('keep a matrix of more than one window', async () => {
    const original = make('float64', 400, 300)
    for (const ending of ['.mtx', '.csv.gz']) {
      const path = fresh(ending)
      await writeMatrix(path, original)
      expect((await readMatrix(path)).data.length).toBe(120_000)
      expect(shown(await readMatrix(path))).toEqual(shown(original))
    }
  })

  it('write the expected text', async () => {
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
  it('keeps the zero of the semiring in typed files', async () => {
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
      coded('FILE', 'the value at index [1, 0, 1] is 0.5'),
    )
  })
})

describe('options', () => {
  it('are checked', async () => {
    const path = file('.csv', '1\n')
    const wrong = async (options: object, message: string) =>
      expect(readMatrix(path, options)).rejects.toEqual(coded('OPTION', message))
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
      coded('DTYPE', 'max-plus'),
    )
    await expect(readMatrix(inFolder('a.xls'))).rejects.toEqual(
      coded('FILE', "must end with '.npy', '.npz', '.mtx', '.csv', '.tsv' or '.gr'"),
    )
    await expect(readMatrix(inFolder('none.csv'))).rejects.toEqual(coded('FILE', 'ENOENT'))
    await expect(writeMatrix(fresh('.csv'), matrix(1, 1), { compress: true })).rejects.toEqual(
      coded('OPTION', '.gz compresses a text file'),
    )
    await expect(writeMatrix(fresh('.npy'), matrix(1, 1), { array: 'a' })).rejects.toEqual(
      coded('OPTION', 'option array is for .npz files only'),
    )
    await expect(writeMatrix(fresh('.csv'), matrix([1, 1, 1]))).rejects.toEqual(coded('SHAPE', 'a batch'))
    await expect(writeMatrix(fresh('.csv'), matrix(0, 1))).rejects.toEqual(coded('SHAPE', 'no cells'))
    await expect(writeMatrix(fresh('.csv'), 5 as never)).rejects.toEqual(coded('DTYPE', 'matrix'))
  })

  it('limit the memory of a file by maxBytes', async () => {
    const beyond = coded('LIMIT', 'but the option maxBytes allows')
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
    await expect(readMatrix(sparse, { maxBytes: -1 })).rejects.toEqual(coded('OPTION', 'option maxBytes'))
  })

  it('leave no file after an abort', async () => {
    const large = matrix(2000, 2000, new Float64Array(4_000_000).fill(0.5))
    for (const ending of ['.csv', '.mtx.gz', '.npz', '.npy']) {
      const before = readdirSync(inFolder())
      const path = fresh(ending)
      await expect(writeMatrix(path, large, { signal: AbortSignal.abort('enough') })).rejects.toMatchObject({
        code: 'ERR_MPMML_ABORTED',
        cause: 'enough',
      })
      const [error] = await errorsAfterAbort(
        (signal) => {
          rmSync(path, { force: true })
          return [writeMatrix(path, large, { signal })]
        },
        (controller) => setTimeout(() => controller.abort(new Error('enough')), 5),
      )
      expectError(error, 'ABORTED')
      expect(readdirSync(inFolder())).toEqual(before)
    }
  })

  it('keep an existing file if writing fails', async () => {
    const path = file('.gr', 'c precious\n')
    await expect(writeMatrix(path, matrix(1, 1, Float64Array.of(0.5)))).rejects.toEqual(coded('FILE', '0.5'))
    expect(readFileSync(path, 'utf8')).toBe('c precious\n')
  })
})
