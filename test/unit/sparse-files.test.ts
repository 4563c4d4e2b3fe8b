/** Sparse matrices as lists of entries: combination of duplicate entries, and file formats by name. */
import { describe, expect, it, vi } from 'vitest'
import { combineDuplicates, fileFormatOf, type SparseEntries } from '../../lib/files.js'
import type { Semiring } from '../../lib/index.js'
import { Random } from '../support/generators.js'

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

  it('equals a join by a map for many entries, without Map, Set or BigInt', () => {
    const random = new Random(16)
    const length = 20_000
    const draw = () =>
      Int32Array.from({ length }, () => random.pick([0, 1000, 2 ** 31 - 65]) + random.integer(0, 63))
    const entries = { shape: [2 ** 31 - 1, 2 ** 31 - 1] as [number, number], row: draw(), col: draw() }
    const value = Int32Array.from({ length }, () => random.integer(-1000, 1000))
    const best = new Map<string, number>()
    for (const [e, each] of value.entries()) {
      const key = `${entries.row[e]},${entries.col[e]}`
      best.set(key, Math.max(best.get(key) ?? -Infinity, each))
    }
    expect(best.size).toBeLessThan(length)
    // V8 limits both to 2^24 elements.
    const tooLarge = () => {
      throw new RangeError('Set maximum size exceeded')
    }
    const spies = [vi.spyOn(Map.prototype, 'set'), vi.spyOn(Set.prototype, 'add')]
    let joined: SparseEntries
    try {
      for (const spy of spies) spy.mockImplementation(tooLarge)
      joined = combineDuplicates({ ...entries, value }, 'max-plus')
    } finally {
      for (const spy of spies) spy.mockRestore()
    }
    const found = [...joined.value].map((each, e) => [`${joined.row[e]},${joined.col[e]}`, each])
    expect(found).toEqual([...best])
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
    expect(() => fileFormatOf('')).toThrow('the name of a file must not be empty: give its path')
    expect(() => fileFormatOf('x.npy.gz')).toThrow('only text is compressed by gzip')
    expect(() => fileFormatOf(5 as never)).toThrow('expected a path')
    expect(() => fileFormatOf({ toString: 1 } as never)).toThrow('file: URL, but got an object')
  })
})
