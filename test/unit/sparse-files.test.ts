/** Sparse matrices as lists of entries: combination of duplicate entries, and file formats by name. */
import { describe, expect, it } from 'vitest'
import { combineDuplicates, fileFormatOf, type SparseEntries } from '../../lib/files.js'
import type { Semiring } from '../../lib/index.js'

const list = (value: Int32Array | Float64Array): SparseEntries => ({
  shape: [3, 2 ** 31 - 1],
  row: Int32Array.of(2, 0, 2, 1, 2),
  col: Int32Array.of(7, 1, 7, 2 ** 31 - 2, 7),
  value,
})

describe('combineDuplicates', () => {
  const joined = (semiring: Semiring, ...values: number[]) => [
    ...combineDuplicates(list(Float64Array.from(values)), semiring).value,
  ]

  it('combines duplicate entries by ⊕, and keeps the order of the others', () => {
    expect(combineDuplicates(list(Int32Array.of(5, 4, -9, 3, 6)), 'max-plus')).toEqual({
      shape: [3, 2 ** 31 - 1],
      row: Int32Array.of(2, 0, 1),
      col: Int32Array.of(7, 1, 2 ** 31 - 2),
      value: Int32Array.of(6, 4, 3),
    })
    expect(joined('min-plus', 5, 4, -9, 3, 6)).toEqual([-9, 4, 3])
    expect(joined('min-max', 5, 4, -9, 3, 6)).toEqual([-9, 4, 3])
    expect(joined('max-min', 5, 4, -9, 3, 6)).toEqual([6, 4, 3])
    expect(joined('max-times', 5, 4, 1, 3, 6)).toEqual([6, 4, 3])
    expect(joined('or-and', 0, 1, 1, 0, 0)).toEqual([1, 1, 0])
    expect(joined('xor-and', 1, 1, 7, 0, 0.5)).toEqual([1, 1, 0])
    expect(joined('xor-and', 1, 1, 7, 0, 0)).toEqual([0, 1, 0])
    expect(joined('plus-times', 5, 4, -9, 3, 6)).toEqual([2, 4, 3])
  })

  it('combines duplicate entries that follow other duplicates', () => {
    const [row, col] = [Int32Array.of(0, 0, 1, 1, 2), Int32Array.of(0, 0, 1, 1, 2)]
    expect(
      combineDuplicates({ shape: [3, 3], row, col, value: Int32Array.of(1, 2, 3, 9, 5) }, 'max-plus'),
    ).toEqual({
      shape: [3, 3],
      row: Int32Array.of(0, 1, 2),
      col: Int32Array.of(0, 1, 2),
      value: Int32Array.of(2, 9, 5),
    })
  })

  it('keeps a NaN in combination with every value', () => {
    for (const semiring of ['max-plus', 'min-plus', 'plus-times', 'xor-and'] as const) {
      expect(joined(semiring, Number.NaN, 4, 1, 3, 2)).toEqual([Number.NaN, 4, 3])
      expect(joined(semiring, 1, 4, Number.NaN, 3, 2)).toEqual([Number.NaN, 4, 3])
    }
  })

  it('returns sums of int32 entries beyond int32', () => {
    const { value } = combineDuplicates(list(Int32Array.of(2 ** 31 - 1, 4, 2 ** 31 - 1, 3, 1)), 'plus-times')
    expect(value).toEqual(Float64Array.of(2 ** 32 - 1, 4, 3))
  })

  it('leaves its argument unchanged', () => {
    const entries = list(Int32Array.of(1, 2, 3, 4, 5))
    combineDuplicates(entries, 'max-plus')
    expect(entries).toEqual(list(Int32Array.of(1, 2, 3, 4, 5)))
  })

  it('rejects values that are not lists of entries, and an unknown semiring', () => {
    const wrong = { ...list(Int32Array.of(1, 2, 3, 4, 5)), col: Int32Array.of(0) }
    expect(() => combineDuplicates(wrong, 'max-plus')).toThrow('must have one entry each')
    expect(() => combineDuplicates(list(Int32Array.of(1, 2, 3, 4, 5)), 'max' as never)).toThrow(
      'option semiring',
    )
  })
})

describe('fileFormatOf', () => {
  it('returns the format of the extension', () => {
    const formats = ['a.npy', 'b/c.NPZ', 'x.mtx', 'x.mtx.gz', 'x.csv', 'x.tsv.GZ', new URL('file:///x.gr')]
    expect(formats.map(fileFormatOf)).toEqual([
      'npy',
      'npz',
      'matrix-market',
      'matrix-market',
      'csv',
      'tsv',
      'dimacs',
    ])
  })

  it('rejects a name without a known extension', () => {
    for (const name of ['x.xls', 'x', 'folder.csv/x', 'x.gz']) {
      expect(() => fileFormatOf(name)).toThrow(
        `${name}: the name must end with '.npy', '.npz', '.mtx', '.csv', '.tsv' or '.gr'`,
      )
    }
    expect(() => fileFormatOf('x.npy.gz')).toThrow('only text is compressed by gzip')
    expect(() => fileFormatOf(5 as never)).toThrow('expected a path')
    expect(() => fileFormatOf({ toString: 1 } as never)).toThrow('file: URL, but got an object')
  })
})
