/** Sparse matrices of scipy.sparse.save_npz: entries that are read, and files that are rejected. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isSparseFile, npzNames, readEntries, readMatrix, readNpz, writeEntries } from '../../lib/files.js'
import { EPSILON } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { temporaryFiles } from '../support/matrix-files.js'
import { bytesOf, format, int32, int64, npzOf, type Part } from '../support/scipy.js'

const { fresh } = temporaryFiles()

async function archive(parts: Record<string, Part>): Promise<string> {
  const path = fresh('.npz')
  writeFileSync(path, await npzOf(parts))
  return path
}

// [[0, 5, 0], [-7, 0, 2]], whose zeros have no entry.
const csr = {
  format: format('csr'),
  shape: int64(2, 3),
  indptr: int32(0, 1, 3),
  indices: int32(1, 0, 2),
  data: int32(5, -7, 2),
}
const csc = {
  ...csr,
  format: format('csc'),
  indptr: int32(0, 1, 2, 3),
  indices: int32(1, 0, 1),
  data: int32(-7, 5, 2),
}
const coo = {
  format: format('coo'),
  shape: int64(2, 3),
  row: int32(1, 0, 1),
  col: int32(0, 1, 2),
  data: int32(-7, 5, 2),
}
const dense = (zero: number) => [zero, 5, zero, -7, zero, 2]

describe('files of SciPy', () => {
  it('are read from SciPy 1.10', async () => {
    const path = fresh('.npz')
    writeFileSync(
      path,
      Buffer.from(
        'UEsDBBQAAAAIAAAAIQDzoLL+SgAAAIwAAAALABQAaW5kaWNlcy5ucHkBABAAjAAAAAAAAABKAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TaaKuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GsY6mjoKtQoUAC5GBghgAmIAUEsDBBQAAAAIAAAAIQBniwERTAAAAIwAAAAKABQAaW5kcHRyLm5weQEAEACMAAAAAAAAAEwAAAAAAAAAm+wX6hsQychQxlCtnpJanFykbqWgbpNpoq6joJ6WX1RSlJgXn1+UkgoSd0vMKU4FihdnJBakAvkaxjqaOgq1ChQALgYgYARiZiAGAFBLAwQUAAAACAAAACEAo8N0l0UAAACDAAAACgAUAGZvcm1hdC5ucHkBABAAgwAAAAAAAABFAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loF4TbKyuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5Gpo6CrUKFAGu5OIiAFBLAwQUAAAACAAAACEAYEh+DEoAAACQAAAACQAUAHNoYXBlLm5weQEAEACQAAAAAAAAAEoAAAAAAAAAm+wX6hsQychQxlCtnpJanFykbqWgbpNpoa6joJ6WX1RSlJgXn1+UkgoSd0vMKU4FihdnJBakAvkaRjqaOgq1ChQALiYGCGCG0gBQSwMEFAAAAAgAAAAhAJ2yBqFPAAAAjAAAAAgAFABkYXRhLm5weQEAEACMAAAAAAAAAE8AAAAAAAAAm+wX6hsQychQxlCtnpJanFykbqWgbpNpoq6joJ6WX1RSlJgXn1+UkgoSd0vMKU4FihdnJBakAvkaxjqaOgq1ChQALlYGBoaf////ZwLSAFBLAQIUAxQAAAAIAAAAIQDzoLL+SgAAAIwAAAALAAAAAAAAAAAAAACAAQAAAABpbmRpY2VzLm5weVBLAQIUAxQAAAAIAAAAIQBniwERTAAAAIwAAAAKAAAAAAAAAAAAAACAAYcAAABpbmRwdHIubnB5UEsBAhQDFAAAAAgAAAAhAKPDdJdFAAAAgwAAAAoAAAAAAAAAAAAAAIABDwEAAGZvcm1hdC5ucHlQSwECFAMUAAAACAAAACEAYEh+DEoAAACQAAAACQAAAAAAAAAAAAAAgAGQAQAAc2hhcGUubnB5UEsBAhQDFAAAAAgAAAAhAJ2yBqFPAAAAjAAAAAgAAAAAAAAAAAAAAIABFQIAAGRhdGEubnB5UEsFBgAAAAAFAAUAFgEAAJ4CAAAAAA==',
        'base64',
      ),
    )
    expect(await isSparseFile(path)).toBe(true)
    expect(await readMatrix(path)).toEqual({ data: Int32Array.from(dense(EPSILON)), shape: [2, 3] })
    expect(await readEntries(path)).toEqual({
      shape: [2, 3],
      row: Int32Array.of(0, 1, 1),
      col: Int32Array.of(1, 0, 2),
      value: Int32Array.of(5, -7, 2),
    })
  })

  it.each(Object.entries({ csr, csc, coo }))('are read in the format %s', async (_, parts) => {
    const path = await archive(parts)
    expect((await readMatrix(path)).data).toEqual(Int32Array.from(dense(EPSILON)))
    expect((await readMatrix(path, { semiring: 'min-plus' })).data).toEqual(
      Int32Array.from(dense(2 ** 31 - 1)),
    )
    const found = await readMatrix(path, { dtype: 'float64' })
    expect(found.data).toEqual(Float64Array.from(dense(Number.NEGATIVE_INFINITY)))
    const { row, col, value } = await readEntries(path)
    const places = Array.from(row, (i, e) => [i, col[e], value[e]]).sort()
    expect(places).toEqual([
      [0, 1, 5],
      [1, 0, -7],
      [1, 2, 2],
    ])
  })

  it('are read with numbers of other types and byte orders, and wide indices', async () => {
    const wide = { ...csr, indptr: int64(0, 1, 3), indices: int64(1, 0, 2), data: int64(5, -7, 2) }
    expect((await readMatrix(await archive(wide))).data).toEqual(Int32Array.from(dense(EPSILON)))
    const floats: Part = ['<f4', '(3,)', bytesOf(Float32Array.of(0.5, Number.NEGATIVE_INFINITY, 2))]
    const { value } = await readEntries(await archive({ ...csr, data: floats }))
    expect(value).toEqual(Float64Array.of(0.5, Number.NEGATIVE_INFINITY, 2))
    const swapped: Part = ['>i2', '(3,)', Uint8Array.of(0, 5, 255, 249, 0, 2)]
    expect((await readEntries(await archive({ ...csr, data: swapped }))).value).toEqual(
      Int32Array.of(5, -7, 2),
    )
    const bits = await archive({ ...csr, data: ['|b1', '(3,)', Uint8Array.of(1, 1, 1)] })
    expect((await readMatrix(bits, { semiring: 'or-and' })).data).toEqual(Uint8Array.of(0, 1, 0, 1, 0, 1))
    expect((await readEntries(bits)).value).toEqual(Int32Array.of(1, 1, 1))
  })

  it('are read as float64 with integers beyond int32, on request, and if float64 holds them', async () => {
    const path = await archive({ ...csr, data: int64(2 ** 40, 1, 2) })
    await expect(readMatrix(path)).rejects.toEqual(
      coded('FILE', 'the value of entry 0 must be from -2147483648 to 2147483647, but it is 1099511627776'),
    )
    expect((await readMatrix(path, { dtype: 'float64' })).data[1]).toBe(2 ** 40)
    const beyond = await archive({ ...csr, data: int64(2n ** 60n, 1, 2) })
    await expect(readMatrix(beyond, { dtype: 'float64' })).rejects.toEqual(coded('FILE', 'entry 0 must be'))
  })

  it('are read as arrays by name, and converted into other formats', async () => {
    const path = await archive(csr)
    expect(await npzNames(path)).toEqual(Object.keys(csr))
    expect(await readNpz(path, { arrays: ['data'] })).toEqual({
      data: { data: Int32Array.of(5, -7, 2), shape: [1, 3] },
    })
    const market = fresh('.mtx')
    await writeEntries(market, await readEntries(path))
    expect(await readEntries(market)).toEqual(await readEntries(path))
  })

  it('are read without rows and entries', async () => {
    const none = { ...csr, shape: int64(0, 3), indptr: int32(0), indices: int32(), data: int32() }
    expect(await readMatrix(await archive(none))).toEqual({ data: new Int32Array(0), shape: [0, 3] })
    const empty = { ...csr, indptr: int32(0, 0, 0), indices: int32(), data: int32() }
    expect((await readMatrix(await archive(empty))).data).toEqual(new Int32Array(6).fill(EPSILON))
  })
})

describe('files that are rejected', () => {
  it.each<[string, Record<string, Part>, string]>([
    ['other formats', { ...csr, format: format('bsr') }, "csr, csc or coo, but it is 'bsr': save it as"],
    [
      'what lacks an array',
      { format: csr.format, shape: csr.shape, data: csr.data },
      "expected an array 'indptr'",
    ],
    ['three dimensions', { ...csr, shape: int64(2, 3, 1) }, 'but it is 3-D'],
    ['a negative dimension', { ...csr, shape: int64(-2, 3) }, 'a dimension must be from 0'],
    ['a huge dimension', { ...csr, shape: int64(2n ** 62n, 3) }, 'a dimension must be from 0'],
    [
      'lines that go back',
      { ...csr, indptr: int32(0, 2, 1) },
      'the end of line 1 must be from 2 to 3, but it is 1',
    ],
    ['lines beyond the end', { ...csr, indptr: int32(0, 1, 4) }, 'the end of line 1 must be from 1 to 3'],
    [
      'lines that leave entries out',
      { ...csr, indptr: int32(0, 1, 2) },
      'its lines have 2 entries, but it has 3',
    ],
    ['lines that begin late', { ...csr, indptr: int32(1, 1, 3) }, 'damaged'],
    ['too few lines', { ...csr, indptr: int32(0, 3) }, 'expected 3 elements, but it has 2'],
    [
      'an index beyond the matrix',
      { ...csr, indices: int32(1, 0, 3) },
      'the place of entry 2 must be from 0 to 2',
    ],
    ['a negative index', { ...coo, row: int32(1, -1, 1) }, 'the place of entry 1 must be from 0 to 1'],
    ['too few indices', { ...coo, col: int32(0, 1) }, 'expected 3 elements, but it has 2'],
    [
      'indices that are no integers',
      { ...csr, indices: ['<f4', '(3,)', new Uint8Array(12)] },
      'expected integers',
    ],
    ['complex numbers', { ...csr, data: ['<c8', '(3,)', new Uint8Array(24)] }, 'which have no order'],
    ['a lying header', { ...csr, data: ['<i4', '(1000000000000,)', new Uint8Array(12)] }, '12 bytes follow'],
    ['what is no array', { ...csr, data: ['', '', new Uint8Array(0)] }, 'expected'],
  ])('include %s', async (_, parts, message) => {
    await expect(readEntries(await archive(parts))).rejects.toEqual(coded('FILE', message))
  })

  it('include archives of other arrays', async () => {
    const path = await archive({ a: int32(1) })
    expect(await isSparseFile(path)).toBe(false)
    await expect(readEntries(path)).rejects.toEqual(coded('FILE', 'but it has other arrays: use readNpz'))
  })

  it('include few compressed bytes that expand to more than maxBytes', async () => {
    const bomb = { ...csr, data: ['<i8', '(10000000,)', new Uint8Array(80_000_000)] as Part }
    await expect(readMatrix(await archive(bomb), { maxBytes: 1e6 })).rejects.toEqual(
      coded('LIMIT', 'maxBytes'),
    )
    const vast = await archive({ ...csr, shape: int64(1_000_000, 1_000_000), indptr: int32(0, 0) })
    await expect(readMatrix(vast, { maxBytes: 1e6 })).rejects.toEqual(coded('LIMIT', 'maxBytes'))
  })
})
